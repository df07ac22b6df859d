//! What a run was given: its settings, and what the authors of its files wrote beside the code.

use auto_json::Value;
use auto_schema::digest::Digest;

use super::{Making, RUN, codable, list, quotable, text, who};
use crate::artifacts::{Unreadable, blob_name};
use crate::evidence::{Category, Typed};
use crate::exact::Exact;
use crate::unit::Unit;

/// How deep settings are told.
const DEEPEST: usize = 4;
/// The most remarks of one file.
const MOST_REMARKS: usize = 40;

pub fn read(making: &mut Making<'_>) -> Result<(), Unreadable> {
    let record = making.whole.record.clone();
    if let Some(settings) = record.get("settings") {
        setting(making, "", settings, 0);
    }
    for input in ["files", "code"] {
        let digest = record.get("inputs").and_then(|inputs| inputs.get(input)?.as_text()).and_then(Digest::parse);
        if let Some(digest) = digest {
            files(making, digest)?;
        }
    }
    Ok(())
}

fn setting(making: &mut Making<'_>, path: &str, value: &Value, depth: usize) {
    if let Some(record) = value.as_record().filter(|_| depth < DEEPEST) {
        for (key, value) in record.iter() {
            let path = if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            setting(making, &path, value, depth + 1);
        }
        return;
    }
    if let Some(values) =
        value.as_list().filter(|values| depth < DEEPEST && values.iter().any(|one| one.as_record().is_some()))
    {
        for (at, value) in values.iter().enumerate() {
            setting(making, &format!("{path}.{at}"), value, depth + 1);
        }
        return;
    }
    let Some(name) = codable(path) else { return };
    let (said, values) = match value {
        Value::Number(number) => match Exact::of(number) {
            Some(number) => (number.to_string(), vec![Typed::new("value", number, Unit::Plain)]),
            None => return,
        },
        Value::Text(text) => match codable(text) {
            Some(text) => (format!("`{text}`"), Vec::new()),
            None => return,
        },
        other => match codable(other.canonical().as_str()) {
            Some(text) => (format!("`{text}`"), Vec::new()),
            None => return,
        },
    };
    let origin = making.origin_of_given();
    let said = format!("The setting `{name}` of the run is {said}.");
    making.say(&origin, &format!("/settings/{}", path.replace('.', "/")), said, &[who(RUN)], values);
}

/// The remarks in the files that a run was given.
fn files(making: &mut Making<'_>, list_of: Digest) -> Result<(), Unreadable> {
    let bytes = making.artifacts.blob(list_of)?;
    let Ok(Value::List(files)) = Value::parse(&bytes) else { return Ok(()) };
    for file in &files {
        let (path, Some(digest)) = (text(file, "path").to_owned(), Digest::parse(text(file, "digest"))) else {
            continue;
        };
        let bytes = making.artifacts.blob(digest)?;
        let name = path.rsplit('/').next().unwrap_or(&path);
        let (Ok(source), true) = (String::from_utf8(bytes), is_name(name)) else { continue };
        let origin = making.origin(&blob_name(digest), digest, false);
        making.lexicon.add(name, Category::Who, name);
        let mut told = 0;
        for (line, remark) in remarks(&source) {
            let Some(remark) = quotable(remark).filter(|_| told < MOST_REMARKS) else { continue };
            told += 1;
            let said = format!("A remark in {name} says: “{remark}”.");
            making.say(&origin, &format!("line {line}"), said, &[who(name)], Vec::new());
        }
    }
    Ok(())
}

/// Whether a name can stand in a sentence as a word.
pub fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.chars().all(|one| one.is_ascii_alphanumeric() || "._-".contains(one))
        && name.ends_with(|last: char| last.is_ascii_alphanumeric())
        && name.len() <= 60
}

/// Lines that are remarks, each with its number.
fn remarks(source: &str) -> impl Iterator<Item = (usize, &str)> {
    source.lines().enumerate().filter_map(|(at, line)| {
        let line = line.trim();
        let remark = line.strip_prefix("# ").or_else(|| line.strip_prefix("// ")).or_else(|| line.strip_prefix("/// "));
        let opening = line.strip_prefix("\"\"\"").filter(|rest| !rest.is_empty() && at < 5);
        Some((at + 1, remark.or(opening)?))
    })
}

/// How the elements of a list of texts are told.
pub fn told(value: &Value, key: &str) -> Option<String> {
    let texts: Vec<&str> = list(value, key).iter().filter_map(Value::as_text).collect();
    if texts.is_empty() { None } else { codable(&texts.join(", ")) }
}
