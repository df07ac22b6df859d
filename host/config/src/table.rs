//! Tables of the file, whose every refusal says where.

use std::fmt;
use std::ops::RangeInclusive;

use auto_json::{Number, Record, Value};
use toml::de::{DeTable, DeValue};

/// Why the file is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// What and why.
    pub message: String,
    /// `FILE:LINE:COLUMN` and the key; empty where there is no place.
    pub at: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConfigError {}

/// A parsed file.
pub(crate) struct Source<'a> {
    text: &'a str,
    file: &'a str,
    root: DeTable<'a>,
}

/// A table in it.
pub struct Table<'a> {
    source: &'a Source<'a>,
    path: String,
    members: &'a DeTable<'a>,
}

type Result<T> = core::result::Result<T, ConfigError>;

impl<'a> Source<'a> {
    pub(crate) fn parse(text: &'a str, file: &'a str) -> Result<Source<'a>> {
        let root = DeTable::parse(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            ConfigError { code: "bad-toml", message: error.message().to_owned(), at: place(text, file, offset) }
        })?;
        Ok(Source { text, file, root: root.into_inner() })
    }

    pub(crate) fn root(&'a self) -> Table<'a> {
        Table { source: self, path: String::new(), members: &self.root }
    }
}

impl<'a> Table<'a> {
    /// Refuses every other key.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        let Some((key, _)) = self.members.iter().find(|(key, _)| !known.contains(&key.get_ref().as_ref())) else {
            return Ok(());
        };
        let message = format!("the key `{}` is not known here; known are {}", key.get_ref(), known.join(", "));
        Err(self.refuse("unknown-key", key.get_ref(), key.span().start, message))
    }

    /// Its keys, sorted.
    pub fn keys(&self) -> Vec<String> {
        let mut keys: Vec<String> = self.members.iter().map(|(key, _)| key.get_ref().to_string()).collect();
        keys.sort();
        keys
    }

    /// All of it as it stands; numbers keep their digits. Dates, and numbers that are none, are
    /// refused.
    pub fn to_record(&self) -> Result<Record> {
        let mut record = Record::new();
        for key in self.keys() {
            if let Some(value) = self.read(&key, "a text, number, truth value, list or table", json)? {
                record.set(key, value);
            }
        }
        Ok(record)
    }

    /// A table in this one.
    pub fn table(&self, key: &str) -> Result<Option<Table<'a>>> {
        let table = |value: &'a DeValue<'a>| match value {
            DeValue::Table(members) => Some(Table { source: self.source, path: self.child(key), members }),
            _ => None,
        };
        self.read(key, "a table", table)
    }

    /// A text.
    pub fn text(&self, key: &str) -> Result<Option<String>> {
        self.read(key, "text in quotes", |value| match value {
            DeValue::String(text) => Some(text.as_ref().to_owned()),
            _ => None,
        })
    }

    /// Texts.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<String>>> {
        self.read(key, "a list of texts in quotes", |value| match value {
            DeValue::Array(items) => {
                let text = |item: &toml::Spanned<DeValue<'a>>| match item.get_ref() {
                    DeValue::String(text) => Some(text.as_ref().to_owned()),
                    _ => None,
                };
                items.iter().map(text).collect()
            }
            _ => None,
        })
    }

    /// `true` or `false`.
    pub fn bool(&self, key: &str) -> Result<Option<bool>> {
        self.read(key, "true or false", |value| match value {
            DeValue::Boolean(value) => Some(*value),
            _ => None,
        })
    }

    /// A whole number within a range.
    pub fn number(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let number = self.read(key, "a whole number", |value| match value {
            DeValue::Integer(number) => Some(i128::from_str_radix(number.as_str(), number.radix()).ok()),
            _ => None,
        })?;
        let Some(number) = number else { return Ok(None) };
        let within = number.and_then(|number| u64::try_from(number).ok()).filter(|number| range.contains(number));
        match within {
            Some(number) => Ok(Some(number)),
            None => Err(self.bad(key, format!("it is not from {} to {}", range.start(), range.end()))),
        }
    }

    /// A whole or decimal number in millionths, exact: one with more decimals, or written with an
    /// exponent, is refused.
    pub fn micros(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>> {
        let number = self.read(key, "a number", |value| match value {
            DeValue::Integer(number) if number.radix() == 10 => Some(millionths(number.as_str())),
            DeValue::Float(number) => Some(millionths(number.as_str())),
            _ => None,
        })?;
        let Some(number) = number else { return Ok(None) };
        match number.filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                let [least, most] =
                    [range.start(), range.end()].map(|n| format!("{}.{:06}", n / 1_000_000, n % 1_000_000));
                Err(self.bad(key, format!("it is not from {least} to {most} with at most six decimals")))
            }
        }
    }

    /// The refusal of a key that has to be there.
    pub fn absent(&self, key: &str) -> ConfigError {
        let offset = self.members.iter().map(|(name, _)| name.span().start).min().unwrap_or(0);
        self.refuse("missing-key", key, offset, format!("there is no `{key}`, and it has to be there"))
    }

    /// The refusal of a value that is there.
    pub fn bad(&self, key: &str, message: impl Into<String>) -> ConfigError {
        let offset = self.members.get(key).map_or(0, |value| value.span().start);
        self.refuse("bad-value", key, offset, message)
    }

    fn read<T>(&self, key: &str, expected: &str, read: impl FnOnce(&'a DeValue<'a>) -> Option<T>) -> Result<Option<T>> {
        let Some(value) = self.members.get(key) else { return Ok(None) };
        match read(value.get_ref()) {
            Some(read) => Ok(Some(read)),
            None => Err(self.refuse("wrong-type", key, value.span().start, format!("`{key}` has to be {expected}"))),
        }
    }

    fn refuse(&self, code: &'static str, key: &str, offset: usize, message: impl Into<String>) -> ConfigError {
        let place = place(self.source.text, self.source.file, offset);
        ConfigError { code, message: message.into(), at: format!("{place} {}", self.child(key)) }
    }

    fn child(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// A decimal number as JSON has it; neither `inf` nor `nan`.
fn decimal(text: &str) -> Option<Number> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let finite = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    finite.then(|| Number::from_lexeme(text.as_bytes()).ok()).flatten()
}

/// A value as JSON.
fn json(value: &DeValue<'_>) -> Option<Value> {
    Some(match value {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Integer(number) => {
            Value::Number(Number::integer(i128::from_str_radix(number.as_str(), number.radix()).ok()?)?)
        }
        DeValue::Float(number) => Value::Number(decimal(number.as_str())?),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Array(items) => Value::List(items.iter().map(|item| json(item.get_ref())).collect::<Option<_>>()?),
        DeValue::Table(members) => {
            let mut record = Record::new();
            for (key, value) in members.iter() {
                record.set(key.get_ref().as_ref(), json(value.get_ref())?);
            }
            record.into()
        }
        DeValue::Datetime(_) => return None,
    })
}

/// A decimal text in millionths; none where it does not come out even, or is none.
fn millionths(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 6 {
        return None;
    }
    format!("{whole}{decimals:0<6}").parse().ok()
}

/// `FILE:LINE:COLUMN`
fn place(text: &str, file: &str, offset: usize) -> String {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    format!("{file}:{line}:{column}")
}
