//! What positions are told by: where tokens and literals occur in a text, and which literals
//! recur in the texts of a source.

use std::collections::HashMap;

use auto_lang::pattern::{Item, Pattern};
use auto_rt::kernels::class::{self, Class, Kinds};

/// The most literals of a source's vocabulary.
const MAX_LITERALS: usize = 24;

pub(super) fn occurrences(pattern: &Pattern, text: &str, each: &mut impl FnMut(usize, usize)) {
    match pattern.0.as_slice() {
        [item] => tokens(item, text, each),
        [first, second] => {
            let mut ends: HashMap<usize, usize> = HashMap::new();
            tokens(second, text, &mut |start, end| {
                ends.insert(start, end);
            });
            tokens(first, text, &mut |start, joint| {
                if let Some(&end) = ends.get(&joint) {
                    each(start, end);
                }
            });
        }
        _ => {}
    }
}

fn tokens(item: &Item, text: &str, each: &mut impl FnMut(usize, usize)) {
    match item {
        Item::Class(class @ (Class::LineStart | Class::LineEnd)) => {
            // Of one line these are the ends of the text.
            if text.contains('\n') {
                (0..=text.len()).filter(|&at| class.is_at(text, at)).for_each(|at| each(at, at));
            }
        }
        Item::Class(class) => {
            let mut from = 0;
            while let Some((start, end)) = class::next::<{ Kinds::ALL }>(text, *class, from) {
                each(start, end);
                from = end;
            }
        }
        Item::Literal(literal) => {
            let mut from = 0;
            while let Some(at) = text.get(from..).and_then(|rest| rest.find(literal.as_str())) {
                each(from + at, from + at + literal.len());
                from += at + text[from + at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        Item::Set(_) => {}
    }
}

/// What naming a literal costs: a word that labels what follows it, little.
pub(super) fn literal_cost(text: &str) -> u32 {
    let label = text.trim_end().ends_with([':', '=']) && text.chars().any(char::is_alphabetic);
    if label { 2 } else { 1 + text.chars().count().min(12) as u32 }
}

/// Texts that recur: punctuation in a third of the rows at least, alone, repeated or with a
/// space; words in nearly all.
pub(super) fn literals(texts: &[Option<String>]) -> Vec<String> {
    let mut counts: HashMap<String, usize> = HashMap::new();
    let rows = texts.iter().flatten().count();
    for text in texts.iter().flatten() {
        let mut own = candidates(text);
        own.sort();
        own.dedup();
        own.into_iter().for_each(|literal| *counts.entry(literal).or_default() += 1);
    }
    let is_word = |literal: &str| literal.chars().any(char::is_alphanumeric);
    let mut frequent: Vec<(usize, String)> = counts
        .into_iter()
        .filter(
            |(literal, count)| {
                if is_word(literal) { *count * 10 >= rows * 8 && *count >= 2 } else { *count * 3 >= rows }
            },
        )
        .map(|(literal, count)| (count, literal))
        .collect();
    frequent.sort_by(|a, b| {
        (is_word(&a.1), std::cmp::Reverse(a.0), a.1.len(), &a.1).cmp(&(
            is_word(&b.1),
            std::cmp::Reverse(b.0),
            b.1.len(),
            &b.1,
        ))
    });
    let words = frequent.iter().filter(|(_, literal)| is_word(literal)).count().min(MAX_LITERALS / 2);
    let marks = frequent.iter().filter(|(_, literal)| !is_word(literal)).take(MAX_LITERALS - words);
    let words = frequent.iter().filter(|(_, literal)| is_word(literal)).take(words);
    marks.chain(words).map(|(_, literal)| literal.clone()).collect()
}

fn candidates(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let characters: Vec<(usize, char)> = text.char_indices().take(4000).collect();
    let mark = |character: char| !character.is_alphanumeric() && character != '\n' && !character.is_control();
    for (index, &(at, character)) in characters.iter().enumerate() {
        if !mark(character) {
            continue;
        }
        found.push(character.to_string());
        if let Some(&(next_at, next)) = characters.get(index + 1)
            && mark(next)
        {
            found.push(text[at..next_at + next.len_utf8()].to_owned());
            if let Some(&(last_at, last)) = characters.get(index + 2)
                && mark(last)
            {
                found.push(text[at..last_at + last.len_utf8()].to_owned());
            }
        }
    }
    // Words, and words with what stands before them.
    let mut from = 0;
    while let Some((start, end)) = class::next::<{ Kinds::ALL }>(text, Class::Word, from) {
        from = end;
        if (2..=24).contains(&(end - start)) && found.len() < 2000 {
            let word = &text[start..end];
            found.push(word.to_owned());
            if word.ends_with([':', '=']) && text[end..].starts_with(' ') {
                found.push(format!("{word} "));
            }
            found.push(word.trim_matches(|character: char| !character.is_alphanumeric()).to_owned());
        }
    }
    found.retain(|literal| !literal.is_empty());
    found
}
