//! A value of a contract that knows where it is: every refusal names the key path it is
//! about, and what would be known there.

use auto_json::{Number, Record, Value};

use super::ContractError;

pub(super) type Result<T> = core::result::Result<T, ContractError>;

/// A table and the key path to it.
pub(super) struct Table<'a> {
    pub(super) at: String,
    pub(super) members: &'a Record,
}

/// A value and the key path to it.
pub(super) struct Spot<'a> {
    pub(super) at: String,
    pub(super) value: &'a Value,
}

impl<'a> Table<'a> {
    pub(super) fn open(value: &'a Value, at: String) -> Result<Table<'a>> {
        match value {
            Value::Record(members) => Ok(Table { at, members }),
            other => Err(wrong_type(at, "a table", other)),
        }
    }

    pub(super) fn only(&self, known: &[&str]) -> Result<()> {
        match self.members.iter().find(|(key, _)| !known.contains(key)) {
            None => Ok(()),
            Some((key, _)) => Err(unknown_key(child(&self.at, key), key, known)),
        }
    }

    pub(super) fn optional(&self, key: &str) -> Option<Spot<'a>> {
        self.members.get(key).map(|value| Spot { at: child(&self.at, key), value })
    }

    pub(super) fn required(&self, key: &str) -> Result<Spot<'a>> {
        self.optional(key).ok_or_else(|| self.missing(key))
    }

    pub(super) fn missing(&self, key: &str) -> ContractError {
        refuse("missing-key", self.at.clone(), format!("the key `{key}` is missing"))
    }

    /// A text that is not empty.
    pub(super) fn named(&self, key: &str) -> Result<String> {
        let spot = self.required(key)?;
        match spot.text()? {
            "" => Err(refuse("bad-value", spot.at, format!("`{key}` is empty"))),
            text => Ok(text.to_owned()),
        }
    }

    pub(super) fn items(&self, key: &str) -> Result<Option<Vec<Spot<'a>>>> {
        let Some(place) = self.optional(key) else { return Ok(None) };
        let items = place.value.as_list().ok_or_else(|| wrong_type(place.at.clone(), "a list", place.value))?;
        let places = items.iter().enumerate().map(|(index, value)| Spot { at: item(&place.at, index), value });
        Ok(Some(places.collect()))
    }

    /// A list that must be there and not be empty.
    pub(super) fn filled(&self, key: &str) -> Result<Vec<Spot<'a>>> {
        self.required(key)?;
        let items = self.items(key)?.unwrap_or_default();
        if items.is_empty() {
            return Err(refuse("bad-value", child(&self.at, key), format!("`{key}` is empty")));
        }
        Ok(items)
    }
}

impl<'a> Spot<'a> {
    pub(super) fn table(&self) -> Result<Table<'a>> {
        Table::open(self.value, self.at.clone())
    }

    pub(super) fn text(&self) -> Result<&'a str> {
        self.value.as_text().ok_or_else(|| wrong_type(self.at.clone(), "text", self.value))
    }

    pub(super) fn bool(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| wrong_type(self.at.clone(), "a boolean", self.value))
    }

    pub(super) fn number(&self) -> Result<Number> {
        self.value.as_number().copied().ok_or_else(|| wrong_type(self.at.clone(), "a number", self.value))
    }

    pub(super) fn unsigned(&self) -> Result<u64> {
        // The store keeps signed 64-bit integers, so no count may be larger.
        let value = self.number()?.as_u64().filter(|value| i64::try_from(*value).is_ok());
        value.ok_or_else(|| {
            refuse("bad-value", self.at.clone(), format!("{} is not a whole number from 0 to 2^63-1", self.value))
        })
    }

    pub(super) fn within(&self, least: u32, most: u32) -> Result<u32> {
        let value = u32::try_from(self.unsigned()?).ok().filter(|value| (least..=most).contains(value));
        value.ok_or_else(|| {
            refuse("bad-value", self.at.clone(), format!("{} is not from {least} to {most}", self.value))
        })
    }

    pub(super) fn unknown(&self, what: &str, known: &[&str]) -> ContractError {
        let text = self.value.as_text().unwrap_or_default();
        refuse("bad-value", self.at.clone(), format!("`{text}` is no {what}; {}", suggestion(text, known)))
    }
}

pub(super) fn refuse(code: &'static str, at: String, message: impl Into<String>) -> ContractError {
    ContractError { code, at, message: message.into() }
}

pub(super) fn unknown_key(at: String, key: &str, known: &[&str]) -> ContractError {
    refuse("unknown-key", at, format!("the key `{key}` is not known here; {}", suggestion(key, known)))
}

pub(super) fn wrong_type(at: String, expected: &str, got: &Value) -> ContractError {
    refuse("wrong-type", at, format!("expected {expected}, got {}", got.kind()))
}

/// The key path of a member.
pub(super) fn child(at: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    let key = if plain { key.to_owned() } else { Value::from(key).to_string() };
    if at.is_empty() { key } else { format!("{at}.{key}") }
}

/// The key path of an element.
pub(super) fn item(at: &str, index: usize) -> String {
    format!("{at}[{index}]")
}

/// The nearest known word if one is near, else all of them.
fn suggestion(word: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|name| (edits(word, name), name)).min();
    match nearest {
        Some((edits, name)) if edits <= word.chars().count().max(3) / 3 + 1 => format!("did you mean `{name}`?"),
        _ => format!("known are {}", known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")),
    }
}

/// Edit distance (Levenshtein 1966) by rows. A key longer than any of ours is far from all.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = (diagonal + usize::from(x != *y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = core::mem::replace(&mut row[j + 1], cost);
        }
    }
    row[b.len()]
}
