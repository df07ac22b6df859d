//! Contract files: TOML text to a checked contract. Finds the line and column of whatever
//! is refused and inlines the eval sets; what a contract may say is decided in `read`.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use auto_json::{Number, Record, Value};
use toml::de::{DeTable, DeValue};

use super::read::{child, item, refuse, unknown_key, wrong_type};
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
        let places = Places { text, file, keys: BTreeMap::new(), values: BTreeMap::new() };
        let root = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            refuse("bad-toml", places.at(offset, ""), error.message().to_owned())
        })?;
        let mut reader = places;
        let mut root = reader.table(root.get_ref(), "").map_err(|error| reader.locate(error))?;
        if root.get("eval_cases").is_some() {
            let error = unknown_key("eval_cases".to_owned(), "eval_cases", &["eval_sets"]);
            return Err(reader.locate(error));
        }
        let mut lines = Vec::new();
        if let Some(sets) = root.remove("eval_sets") {
            let cases = eval_sets(&sets, &mut lines, &reader, read)?;
            root.set("eval_cases", cases);
        }
        let root = Value::Record(root);
        // TOML may nest deeper than a value may; the canonical text must read back.
        Value::parse(root.canonical().as_str())
            .map_err(|error| refuse("bad-value", file.to_owned(), error.kind.message()))?;
        Contract::from_value(&root).map_err(|error| reader.locate_case(error, &lines))
    }
}

/// Where each key and value of the file is.
struct Places<'a> {
    text: &'a str,
    file: &'a str,
    keys: BTreeMap<String, usize>,
    values: BTreeMap<String, usize>,
}

impl Places<'_> {
    fn table(&mut self, table: &DeTable<'_>, at: &str) -> Result<Record> {
        let mut record = Record::new();
        for (key, value) in table {
            let path = child(at, key.get_ref());
            self.keys.insert(path.clone(), key.span().start);
            let value = self.value(value.get_ref(), value.span(), path)?;
            record.set(key.get_ref().as_ref(), value);
        }
        Ok(record)
    }

    fn value(&mut self, value: &DeValue<'_>, span: Range<usize>, at: String) -> Result<Value> {
        self.values.insert(at.clone(), span.start);
        match value {
            DeValue::String(text) => Ok(Value::Text(text.as_ref().to_owned())),
            DeValue::Boolean(value) => Ok(Value::Bool(*value)),
            DeValue::Integer(integer) => {
                let value = i128::from_str_radix(integer.as_str(), integer.radix()).ok().and_then(Number::integer);
                value.map(Value::Number).ok_or_else(|| refuse("bad-value", at, "the integer has more than 38 digits"))
            }
            DeValue::Float(float) => decimal(float.as_str(), at),
            DeValue::Datetime(_) => {
                Err(refuse("datetime", at, "a date is not a JSON value; write it in quotes, as text"))
            }
            DeValue::Array(items) => {
                let items = items.iter().enumerate();
                let items = items.map(|(index, value)| self.value(value.get_ref(), value.span(), item(&at, index)));
                items.collect::<Result<Vec<_>>>().map(Value::List)
            }
            DeValue::Table(table) => self.table(table, &at).map(Value::Record),
        }
    }

    /// Puts the place in front of a key path, or of the nearest part of it that is written.
    fn locate(&self, error: ContractError) -> ContractError {
        let known = if error.code == "unknown-key" { &self.keys } else { &self.values };
        let mut path = error.at.as_str();
        let offset = loop {
            match known.get(path) {
                Some(offset) => break *offset,
                None if path.is_empty() => break 0,
                None => path = &path[..path.rfind(['.', '[']).unwrap_or(0)],
            }
        };
        ContractError { at: self.at(offset, &error.at), ..error }
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

    fn at(&self, offset: usize, path: &str) -> String {
        let before = self.text.get(..offset).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        let place = format!("{}:{line}:{column}", self.file);
        if path.is_empty() { place } else { format!("{place} {path}") }
    }
}

/// A TOML float, exactly. Its grammar is JSON's but for a sign and the non-finite ones.
fn decimal(text: &str, at: String) -> Result<Value> {
    let text = text.strip_prefix('+').unwrap_or(text);
    if text.ends_with("inf") || text.ends_with("nan") {
        return Err(refuse("non-finite", at, "numbers are finite; leave the key out where there is no bound"));
    }
    let lexeme: String = text.chars().filter(|digit| *digit != '_').collect();
    match Value::parse(&lexeme) {
        Ok(value @ Value::Number(_)) => Ok(value),
        Ok(_) => Err(refuse("bad-value", at, "not a number")),
        Err(error) => Err(refuse("bad-value", at, error.kind.message())),
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
