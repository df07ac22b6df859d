//! Contract files: TOML text to a checked contract. Finds the line and column of whatever
//! is refused and inlines the eval sets; what a contract may say is decided in `read`.

use std::io;
use std::path::Path;

use auto_json::{Number, Record, Value};
use toml::de::{DeArray, DeTable, DeValue};

use super::read;
use super::spot::{child, item, refuse, unknown_key, wrong_type};
use super::{Contract, ContractError};
use crate::digest::Digest;
use crate::shown_path;

type Result<T> = core::result::Result<T, ContractError>;

impl Contract {
    /// Reads a contract file and the eval sets it names (relative to it). Feature `toml`.
    ///
    /// Codes: those of [`Contract::from_value`], `unreadable`, `bad-toml`, `datetime`,
    /// `non-finite`, `bad-eval-set`.
    pub fn load(path: &Path) -> Result<Contract> {
        let name = shown_path(path);
        let text = std::fs::read_to_string(path)
            .map_err(|error| refuse("unreadable", name.clone(), format!("the contract cannot be read: {error}")))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Contract::from_toml(&text, &name, |file| std::fs::read(folder.join(file)))
    }

    /// [`Contract::load`] of a text: `file` is what errors call it, `read` gives the bytes
    /// of an eval set or a predicate by the path written in the contract.
    pub fn from_toml(text: &str, file: &str, read: impl Fn(&str) -> io::Result<Vec<u8>>) -> Result<Contract> {
        from_toml(text, file, read).map(|(contract, _)| contract)
    }

    /// [`Contract::from_toml`], with the components that its predicates name, each once.
    ///
    /// Code beside: `digest-mismatch`, where a component is not the one that is pinned.
    pub fn from_toml_with_predicates(
        text: &str,
        file: &str,
        read: impl Fn(&str) -> io::Result<Vec<u8>>,
    ) -> Result<(Contract, Vec<Predicate>)> {
        from_toml(text, file, read)
    }
}

/// A component that decides a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Predicate {
    /// The path as written in the contract.
    pub file: String,
    /// Where the contract names it: `file:line:column`, and the key path.
    pub place: String,
    /// SHA-256 of the bytes, as the contract pins it.
    pub digest: Digest,
    /// The component.
    pub bytes: Vec<u8>,
}

fn from_toml(text: &str, file: &str, read: impl Fn(&str) -> io::Result<Vec<u8>>) -> Result<(Contract, Vec<Predicate>)> {
    let table = DeTable::parse(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        refuse("bad-toml", place(text, file, offset, ""), error.message().to_owned())
    })?;
    let places = Places { text, file, root: table.get_ref() };
    let mut root = self::table(places.root).map_err(|error| places.locate(error))?;
    if root.get("eval_cases").is_some() {
        let error = unknown_key("eval_cases".to_owned(), "eval_cases", &["eval_sets"]);
        return Err(places.locate(error));
    }
    let mut predicates = predicates(&mut root, &read).map_err(|error| places.locate(error))?;
    predicates.iter_mut().for_each(|one| one.place = places.of(&one.place));
    let mut lines = Vec::new();
    if let Some(sets) = root.remove("eval_sets") {
        let cases = eval_sets(&sets, &mut lines, &places, &read)?;
        root.set("eval_cases", cases);
    }
    let root = Value::Record(root);
    // TOML may nest deeper than a value may; the canonical text must read back.
    Value::parse(root.canonical().as_str())
        .map_err(|error| refuse("bad-value", file.to_owned(), error.kind.message()))?;
    let contract = read::contract(&root, &read::FILE).map_err(|error| places.locate_case(error, &lines))?;
    Ok((contract, predicates))
}

/// Takes the `file` of each predicate out of the properties, which know it by its digest.
fn predicates(root: &mut Record, read: &impl Fn(&str) -> io::Result<Vec<u8>>) -> Result<Vec<Predicate>> {
    let Some(Value::List(mut properties)) = root.get("property").cloned() else { return Ok(Vec::new()) };
    let mut found: Vec<Predicate> = Vec::new();
    for (index, property) in properties.iter_mut().enumerate() {
        let at = item("property", index);
        let Value::Record(record) = property else { continue };
        if record.get("kind").and_then(Value::as_text) != Some("predicate") {
            continue;
        }
        let file = record.remove("file").ok_or_else(|| {
            refuse("missing-key", at.clone(), "the key `file` is missing: the path of the predicate's component")
        })?;
        let file = file.as_text().ok_or_else(|| wrong_type(child(&at, "file"), "a path", &file))?;
        let bytes = read(file).map_err(|error| {
            refuse("unreadable", child(&at, "file"), format!("the predicate {file} cannot be read: {error}"))
        })?;
        let digest = Digest::of(&bytes);
        let Some(pinned) = record.get("sha256").and_then(Value::as_text) else {
            let message = format!(
                "a predicate is pinned by its digest: write sha256 = \"{digest}\" if {file} is the one you mean"
            );
            return Err(refuse("missing-key", at, message));
        };
        if Digest::parse(pinned).is_some_and(|pinned| pinned != digest) {
            let message = format!("{file} is another component: its SHA-256 is {digest}");
            return Err(refuse("digest-mismatch", child(&at, "sha256"), message));
        }
        if !found.iter().any(|known| known.digest == digest) {
            let place = child(&at, "file");
            found.push(Predicate { file: file.to_owned(), place, digest, bytes });
        }
    }
    root.set("property", properties);
    Ok(found)
}

/// The values of a table. What is refused is named by its key path.
fn table(table: &DeTable<'_>) -> Result<Record> {
    let mut members = Vec::with_capacity(table.len());
    for (key, value) in table {
        let key = key.get_ref();
        let value = self::value(value.get_ref()).map_err(|error| under(&child("", key), error))?;
        members.push((key.as_ref().to_owned(), value));
    }
    Ok(members.into_iter().collect())
}

fn value(value: &DeValue<'_>) -> Result<Value> {
    let here = String::new;
    match value {
        DeValue::String(text) => Ok(Value::Text(text.as_ref().to_owned())),
        DeValue::Boolean(value) => Ok(Value::Bool(*value)),
        DeValue::Integer(integer) => {
            let value = i128::from_str_radix(integer.as_str(), integer.radix()).ok().and_then(Number::integer);
            value.map(Value::Number).ok_or_else(|| refuse("bad-value", here(), "the integer has more than 38 digits"))
        }
        DeValue::Float(float) => decimal(float.as_str()),
        DeValue::Datetime(_) => {
            Err(refuse("datetime", here(), "a date is not a JSON value; write it in quotes, as text"))
        }
        DeValue::Array(items) => {
            let items = items.iter().enumerate();
            let items = items
                .map(|(index, value)| self::value(value.get_ref()).map_err(|error| under(&item("", index), error)));
            items.collect::<Result<Vec<_>>>().map(Value::List)
        }
        DeValue::Table(table) => self::table(table).map(Value::Record),
    }
}

/// Puts the part of a key path in front that the caller knows.
fn under(part: &str, error: ContractError) -> ContractError {
    let dot = if error.at.is_empty() || error.at.starts_with('[') { "" } else { "." };
    ContractError { at: format!("{part}{dot}{}", error.at), ..error }
}

/// Finds the places of keys and values in the file. It walks the file's tables when it is
/// asked, once for an error, so that nothing is kept for each key.
struct Places<'a> {
    text: &'a str,
    file: &'a str,
    root: &'a DeTable<'a>,
}

impl Places<'_> {
    /// Puts the place in front of a key path, or of the nearest part of it that is written.
    fn locate(&self, error: ContractError) -> ContractError {
        let spans = self.walk(&error.at);
        let offset = spans.map_or(0, |(key, value)| if error.code == "unknown-key" { key } else { value });
        ContractError { at: place(self.text, self.file, offset, &error.at), ..error }
    }

    /// The place of the value of a key.
    fn of(&self, path: &str) -> String {
        place(self.text, self.file, self.walk(path).map_or(0, |(_, value)| value), path)
    }

    /// Where the key and the value start of the last part of a key path that is written.
    fn walk(&self, path: &str) -> Option<(usize, usize)> {
        let (mut found, mut rest) = (None, path);
        let mut members = Members::Table(self.root);
        loop {
            let next = match members {
                Members::Table(table) => table.iter().find_map(|(key, value)| {
                    let after = rest.strip_prefix(child("", key.get_ref()).as_str())?;
                    let whole = after.is_empty() || after.starts_with(['.', '[']);
                    whole.then_some((key.span().start, value, after))
                }),
                Members::Array(items) => {
                    rest.strip_prefix('[').and_then(|rest| rest.split_once(']')).and_then(|(index, after)| {
                        let value = items.get(index.parse::<usize>().ok()?)?;
                        Some((value.span().start, value, after))
                    })
                }
            };
            let Some((key, value, after)) = next else { return found };
            found = Some((key, value.span().start));
            rest = after.strip_prefix('.').unwrap_or(after);
            members = match value.get_ref() {
                DeValue::Table(table) => Members::Table(table),
                DeValue::Array(items) => Members::Array(items),
                _ => return found,
            };
        }
    }

    /// As [`Places::locate`]; an eval case is not in this file but on a line of its own.
    fn locate_case(&self, error: ContractError, lines: &[String]) -> ContractError {
        let case = error.at.strip_prefix("eval_cases[").and_then(|rest| rest.split_once(']'));
        match case.and_then(|(index, key)| Some((lines.get(index.parse::<usize>().ok()?)?, key))) {
            Some((line, key)) => {
                let at = format!("{line} {}", key.trim_start_matches('.')).trim_end().to_owned();
                ContractError { at, ..error }
            }
            None => self.locate(error),
        }
    }
}

/// What a key path may go on into.
enum Members<'a> {
    Table(&'a DeTable<'a>),
    Array(&'a DeArray<'a>),
}

/// `file:line:column`, and the key path where there is one.
fn place(text: &str, file: &str, offset: usize, path: &str) -> String {
    let before = text.get(..offset).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let place = format!("{file}:{line}:{column}");
    if path.is_empty() { place } else { format!("{place} {path}") }
}

/// A TOML float, exactly. Its grammar is JSON's but for a sign and the non-finite ones.
fn decimal(text: &str) -> Result<Value> {
    let here = String::new;
    let text = text.strip_prefix('+').unwrap_or(text);
    if text.ends_with("inf") || text.ends_with("nan") {
        return Err(refuse("non-finite", here(), "numbers are finite; leave the key out where there is no bound"));
    }
    let lexeme: String = text.chars().filter(|digit| *digit != '_').collect();
    match Value::parse(&lexeme) {
        Ok(value @ Value::Number(_)) => Ok(value),
        Ok(_) => Err(refuse("bad-value", here(), "not a number")),
        Err(error) => Err(refuse("bad-value", here(), error.kind.message())),
    }
}

/// The cases of every set, in order; `lines` gets the place of each.
fn eval_sets(
    sets: &Value,
    lines: &mut Vec<String>,
    places: &Places<'_>,
    read: impl Fn(&str) -> io::Result<Vec<u8>>,
) -> Result<Vec<Value>> {
    let located = |error| places.locate(error);
    let sets = sets.as_list().ok_or_else(|| located(wrong_type("eval_sets".to_owned(), "a list of paths", sets)))?;
    let mut cases = Vec::new();
    for (index, set) in sets.iter().enumerate() {
        let at = item("eval_sets", index);
        let name = set.as_text().ok_or_else(|| located(wrong_type(at.clone(), "a path", set)))?;
        let unreadable = |why: String| {
            located(refuse("unreadable", at.clone(), format!("the eval set {name} cannot be read: {why}")))
        };
        let bytes = read(name).map_err(|error| unreadable(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))?;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = format!("{name}:{}", number + 1);
            let bad = |error: auto_json::Error| refuse("bad-eval-set", place.clone(), error.to_string());
            cases.push(Value::parse(line).map_err(bad)?);
            lines.push(place);
        }
    }
    Ok(cases)
}
