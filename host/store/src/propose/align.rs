//! Candidates for a key: recorded inputs are laid over one another. What is the same in all of
//! them is no part of a key; nor is what is another in each, since then nothing repeats. Of
//! messages the last ones are what a decision is mostly about; of a text that is made by a
//! template, what stands in its holes.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::Value;
use auto_schema::key::{Part, Pointer, Template};

/// How far down members are looked at.
const DEPTH: usize = 3;

/// How many members are looked at.
const MEMBERS: usize = 64;

/// How long texts may be, in words, and how many are aligned.
const WORDS: usize = 1_500;
const ALIGNED: usize = 60;

/// What a template must have at least that is fixed, in characters.
const FIXED: usize = 8;

/// The candidates with what each is, in words.
pub fn candidates(sample: &[Value]) -> Vec<(Part, String)> {
    if sample.len() < 2 {
        return Vec::new();
    }
    let mut found = match ["", "/messages"].iter().find(|place| are_messages(sample, place)) {
        Some(place) => of_messages(place),
        None => of_members(sample),
    };
    for (part, what) in found.clone() {
        let texts: Vec<Value> = sample.iter().filter_map(|input| part.of(input)).collect();
        if let Some(template) = template(&texts) {
            let what = format!("the holes of the template {what} is made by");
            found.push((Part::Template { template, of: Box::new(part) }, what));
        }
    }
    found
}

fn pointer(text: &str) -> Pointer {
    text.split('/').skip(1).fold(Pointer::default(), |pointer, name| pointer.child(name))
}

fn are_messages(sample: &[Value], place: &str) -> bool {
    let place = pointer(place);
    let is = |input: &&Value| {
        let list = place.of(input).and_then(Value::as_list);
        list.is_some_and(|list| !list.is_empty() && list.iter().all(|one| one.get("role").is_some()))
    };
    sample.iter().filter(is).count() * 10 >= sample.len() * 9
}

fn of_messages(place: &str) -> Vec<(Part, String)> {
    let of = pointer(place);
    let at = |path: &str| Part::Pointer(pointer(&format!("{place}{path}")));
    let roles =
        |roles: &[&str]| Part::Roles { roles: roles.iter().map(|role| (*role).to_owned()).collect(), of: of.clone() };
    let last = |role: &str| Part::Last { role: Some(role.to_owned()), of: of.clone() };
    vec![
        (at("/-1"), "the last message".into()),
        (at("/-1/content"), "the text of the last message".into()),
        (last("user"), "the last message of the user".into()),
        (roles(&["user"]), "the messages of the user".into()),
        (roles(&["user", "tool"]), "the messages of the user and of tools".into()),
        (
            Part::Fields(vec![("user".into(), last("user")), ("last".into(), at("/-1"))]),
            "the last message of the user and the last of all".into(),
        ),
        (of_whole(&of), "the messages without the parameters".into()),
    ]
}

fn of_whole(of: &Pointer) -> Part {
    Part::Pointer(of.clone())
}

/// The members that vary, all together and each alone.
fn of_members(sample: &[Value]) -> Vec<(Part, String)> {
    let mut values: BTreeMap<String, BTreeSet<&Value>> = BTreeMap::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for input in sample {
        walk(input, String::new(), DEPTH, &mut |path, value| {
            if values.len() < MEMBERS || values.contains_key(&path) {
                values.entry(path.clone()).or_default().insert(value);
                *seen.entry(path).or_default() += 1;
            }
        });
    }
    let everywhere = |path: &String| seen.get(path) == Some(&sample.len());
    let varying: Vec<(String, usize)> = values
        .into_iter()
        .filter(|(path, distinct)| !path.is_empty() && everywhere(path) && distinct.len() > 1)
        .map(|(path, distinct)| (path, distinct.len()))
        .collect();
    let repeating: Vec<&String> =
        varying.iter().filter(|(_, distinct)| *distinct < sample.len()).map(|(path, _)| path).collect();
    let part = |path: &str| Part::Pointer(pointer(path));
    let fields = |paths: &[&String]| {
        let name = |path: &str| path[1..].replace('/', "_");
        Part::Fields(paths.iter().map(|path| (name(path), part(path))).collect())
    };
    let mut found: Vec<(Part, String)> = varying.iter().map(|(path, _)| (part(path), path.clone())).collect();
    if repeating.len() > 1 {
        let names: Vec<&str> = repeating.iter().map(|path| path.as_str()).collect();
        found.push((fields(&repeating), format!("what varies and repeats: {}", names.join(", "))));
    }
    if sample.iter().all(|input| input.as_text().is_some()) {
        found.push((Part::Pointer(Pointer::default()), "the text".into()));
    }
    found
}

/// Every member that is no object, with its path.
fn walk<'v>(value: &'v Value, path: String, depth: usize, see: &mut impl FnMut(String, &'v Value)) {
    match value.as_record().filter(|_| depth > 0) {
        Some(record) => record.iter().for_each(|(key, value)| {
            let key = key.replace('~', "~0").replace('/', "~1");
            walk(value, format!("{path}/{key}"), depth - 1, see);
        }),
        None => see(path, value),
    }
}

/// The template that texts were made by, where most of them fit one.
fn template(values: &[Value]) -> Option<Template> {
    let texts: Vec<&str> = values.iter().filter_map(Value::as_text).collect();
    let distinct: BTreeSet<&str> = texts.iter().copied().collect();
    if texts.len() * 10 < values.len() * 9 || distinct.len() < 3 {
        return None;
    }
    let aligned: Vec<Vec<&str>> = distinct.iter().take(ALIGNED).map(|text| words(text)).collect();
    if aligned.iter().any(|words| words.len() > WORDS) {
        return None;
    }
    let first = &aligned[0];
    let mut common: Vec<usize> = (0..first.len()).collect();
    for other in &aligned[1..] {
        common = longest_common(first, &common, other);
    }
    let template = of_runs(first, &common)?;
    let fits = distinct.iter().filter(|text| template.of(text).is_some()).count();
    (fits * 10 >= distinct.len() * 9).then_some(template)
}

/// Words, runs of blanks, and single other characters.
fn words(text: &str) -> Vec<&str> {
    let class = |one: char| {
        if one.is_alphanumeric() {
            0
        } else if one.is_whitespace() {
            1
        } else {
            2
        }
    };
    let mut found = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, one) in text.char_indices() {
        if before.is_some_and(|before| before != class(one) || before == 2) {
            found.push(&text[start..at]);
            start = at;
        }
        before = Some(class(one));
    }
    if start < text.len() {
        found.push(&text[start..]);
    }
    found
}

/// The places of `first` among `places` whose words are, in this order, in `other` too: a longest
/// common subsequence.
fn longest_common(first: &[&str], places: &[usize], other: &[&str]) -> Vec<usize> {
    let width = other.len() + 1;
    let mut length = vec![0_u16; (places.len() + 1) * width];
    for (row, place) in places.iter().enumerate().rev() {
        for (column, word) in other.iter().enumerate().rev() {
            length[row * width + column] = if first[*place] == *word {
                length[(row + 1) * width + column + 1] + 1
            } else {
                length[(row + 1) * width + column].max(length[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column, mut kept) = (0, 0, Vec::new());
    while row < places.len() && column < other.len() {
        if first[places[row]] == other[column] {
            kept.push(places[row]);
            (row, column) = (row + 1, column + 1);
        } else if length[(row + 1) * width + column] >= length[row * width + column + 1] {
            row += 1;
        } else {
            column += 1;
        }
    }
    kept
}

/// The template of the words at the common places, with a hole wherever another word stands. A
/// fixed piece of blanks or marks alone is part of the hole around it: it would be found anywhere.
fn of_runs(words: &[&str], common: &[usize]) -> Option<Template> {
    let mut fixed = vec![false; words.len()];
    common.iter().for_each(|place| fixed[*place] = true);
    let mut pieces: Vec<(bool, String)> = Vec::new();
    for (word, fixed) in words.iter().zip(&fixed) {
        match pieces.last_mut() {
            Some((kind, piece)) if kind == fixed => piece.push_str(word),
            _ => pieces.push((*fixed, (*word).to_owned())),
        }
    }
    let last = pieces.len().checked_sub(1)?;
    for (number, (fixed, piece)) in pieces.iter_mut().enumerate() {
        let inner = number != 0 && number != last;
        *fixed = *fixed && (!inner || piece.chars().any(char::is_alphanumeric));
    }
    let mut start = String::new();
    let mut holes: Vec<(String, String)> = Vec::new();
    for (fixed, piece) in pieces {
        match (fixed, holes.last_mut()) {
            (true, None) => start = piece,
            (true, Some((_, after))) => *after = piece,
            (false, Some((_, after))) if after.is_empty() => {}
            (false, _) => holes.push((format!("h{}", holes.len() + 1), String::new())),
        }
    }
    let characters = start.chars().count() + holes.iter().map(|(_, after)| after.chars().count()).sum::<usize>();
    Template::new(start, holes).ok().filter(|_| characters >= FIXED)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(texts: &[&str]) -> Vec<Value> {
        texts.iter().map(|text| Value::from(*text)).collect()
    }

    #[test]
    fn the_template_of_texts_is_what_they_share() {
        let made = texts(&[
            "Classify the ticket: where is my order? Answer with one word.",
            "Classify the ticket: refund please Answer with one word.",
            "Classify the ticket: it broke, twice! Answer with one word.",
        ]);
        let template = template(&made).unwrap();
        assert_eq!(template.to_string(), "Classify the ticket: {h1} Answer with one word.");
        assert_eq!(
            template.of(made[1].as_text().unwrap()).unwrap().get("h1").and_then(Value::as_text),
            Some("refund please")
        );
        assert_eq!(super::template(&texts(&["one thing", "another", "and something else"])), None);
    }

    #[test]
    fn members_that_never_change_and_ids_are_no_key() {
        let input = |id: usize, text: &str| {
            Value::parse(format!(r#"{{"app":"x","request":{{"id":"{id}","text":"{text}"}},"lang":"{}"}}"#, id % 2))
                .unwrap()
        };
        let sample: Vec<Value> = (0..20).map(|id| input(id, ["a", "b", "c"][id % 3])).collect();
        let found: Vec<String> = candidates(&sample).into_iter().map(|(part, _)| part.to_string()).collect();
        assert!(
            found.contains(&r#"{"fields":{"lang":"/lang","request_text":"/request/text"}}"#.to_owned()),
            "{found:?}"
        );
        assert!(!found.iter().any(|part| part.contains("/app")), "{found:?}");
    }
}
