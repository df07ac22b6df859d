//! Contract files: TOML text to a checked contract. Finds the line and column of whatever
//! is refused and inlines the eval sets; what a contract may say is decided in `read`.

use std::io;
use std::path::Path;

use auto_json::{Number, Record, Value};
use toml::de::{DeArray, DeTable, DeValue};

use super::read::{self, child, item, refuse, unknown_key, wrong_type};
use super::{Contract, ContractError};

type Result<T> = core::result::Result<T, ContractError>;

impl Contract {
    /// Reads a contract file and the eval sets it names (relative to it). Feature `toml`.
    ///
    /// Codes: those of [`Contract::from_value`], `unreadable`, `bad-toml`, `datetime`,
    /// `non-finite`, `bad-eval-set`.
    pub fn load(path: &Path) -> Result<Contract> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|error| refuse("unreadable", name.clone(), format!("the contract cannot be read: {error}")))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Contract::from_toml(&text, &name, |set| std::fs::read_to_string(folder.join(set)))
    }

    /// [`Contract::load`] of a text: `file` is what errors call it, `read` gives an eval
    /// set by the path written in the contract.
    pub fn from_toml(text: &str, file: &str, read: impl Fn(&str) -> io::Result<String>) -> Result<Contract> {
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
        let mut lines = Vec::new();
        if let Some(sets) = root.remove("eval_sets") {
            let cases = eval_sets(&sets, &mut lines, &places, read)?;
            root.set("eval_cases", cases);
        }
        let root = Value::Record(root);
        // TOML may nest deeper than a value may; the canonical text must read back.
        Value::parse(root.canonical().as_str())
            .map_err(|error| refuse("bad-value", file.to_owned(), error.kind.message()))?;
        read::contract(&root, &read::FILE).map_err(|error| places.locate_case(error, &lines))
    }
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
    read: impl Fn(&str) -> io::Result<String>,
) -> Result<Vec<Value>> {
    let located = |error| places.locate(error);
    let sets = sets.as_list().ok_or_else(|| located(wrong_type("eval_sets".to_owned(), "a list of paths", sets)))?;
    let mut cases = Vec::new();
    for (index, set) in sets.iter().enumerate() {
        let at = item("eval_sets", index);
        let name = set.as_text().ok_or_else(|| located(wrong_type(at.clone(), "a path", set)))?;
        let text = read(name).map_err(|error| {
            located(refuse("unreadable", at, format!("the eval set {name} cannot be read: {error}")))
        })?;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let place = format!("{name}:{}", number + 1);
            let bad = |error: auto_json::Error| refuse("bad-eval-set", place.clone(), error.to_string());
            cases.push(Value::parse(line).map_err(bad)?);
            lines.push(place);
        }
    }
    Ok(cases)
}
