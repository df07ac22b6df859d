//! Texts that somebody gave. They are evidence of what they say and of nothing else: they may be
//! quoted by name, and no number or name in them proves anything of the run.

use auto_schema::digest::Digest;

use super::given::is_name;
use super::{Making, quotable, who};
use crate::artifacts::{LARGEST_TEXT, Literature};
use crate::evidence::{Category, Typed};
use crate::tokens::{Token, tokens};
use crate::unit::{self, Kind, Unit};

/// The most sentences of one text.
const MOST: usize = 2_000;

pub fn read(making: &mut Making<'_>, literature: &[Literature]) {
    for (at, given) in literature.iter().enumerate() {
        let taken = making.lexicon.knows(&given.name);
        let name = if is_name(&given.name) && !taken { given.name.clone() } else { format!("text-{}", at + 1) };
        let text = match std::str::from_utf8(&given.bytes) {
            _ if given.bytes.len() > LARGEST_TEXT => {
                making.left_out.push(format!("{name}: it has more than {LARGEST_TEXT} bytes"));
                continue;
            }
            Err(_) => {
                making.left_out.push(format!("{name}: it is not UTF-8"));
                continue;
            }
            Ok(text) => text,
        };
        making.lexicon.add(&name, Category::Who, &name);
        let digest = Digest::of(&given.bytes);
        let origin = making.origin(&name, digest, true);
        for (place, sentence) in sentences(text).take(MOST) {
            let values = numbers(&sentence);
            making.say(&origin, &format!("sentence {place}"), sentence, &[who(&name)], values);
        }
    }
}

/// Its sentences, each with its number, so far as they can be quoted.
fn sentences(text: &str) -> impl Iterator<Item = (usize, String)> {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
    let split = paragraphs.flat_map(|paragraph| {
        let mut parts = Vec::new();
        let mut rest = paragraph.as_str();
        while let Some(at) = rest.find(". ") {
            parts.push(rest[..=at].to_owned());
            rest = &rest[at + 2..];
        }
        parts.push(rest.to_owned());
        parts
    });
    split
        .filter(|part| part.split(' ').count() >= 4)
        .enumerate()
        .filter_map(|(at, part)| Some((at + 1, quotable(&part)?)))
}

/// The numbers in it.
fn numbers(sentence: &str) -> Vec<Typed> {
    let all = tokens(sentence);
    let mut values = Vec::new();
    for (at, token) in all.iter().enumerate() {
        let Token::Number(_, number) = token else { continue };
        let words: Vec<&str> = all[at + 1..]
            .iter()
            .take(2)
            .map_while(|token| match token {
                Token::Word(word) => Some(word.as_str()),
                Token::Sign('%') => Some("%"),
                _ => None,
            })
            .collect();
        let unit = match unit::after(&words).map(|shown| shown.of) {
            Some(Kind::Percent) => Unit::Percent,
            Some(Kind::Points) => Unit::Points,
            Some(Kind::Times) => Unit::Times,
            Some(Kind::Bytes) => Unit::Bytes,
            Some(Kind::Seconds) => Unit::Seconds,
            Some(Kind::Dollars) => Unit::Dollars,
            None => Unit::Plain,
        };
        values.push(Typed::new(&format!("n{}", values.len() + 1), number.clone(), unit));
    }
    values
}
