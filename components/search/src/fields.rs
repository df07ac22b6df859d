//! Strict reading of a JSON object: what is missing, of another kind, out of its range or unknown
//! is refused at its place.

use core::ops::RangeInclusive;

use auto_json::{Record, Value};

use crate::Refusal;
use crate::amount;

/// An object and where it stands.
#[derive(Clone, Debug)]
pub struct Fields<'v> {
    record: &'v Record,
    place: String,
    code: &'static str,
}

impl<'v> Fields<'v> {
    /// The value as an object; `code` is that of every refusal about it.
    pub fn of(value: &'v Value, place: impl Into<String>, code: &'static str) -> Result<Fields<'v>, Refusal> {
        let place = place.into();
        match value.as_record() {
            Some(record) => Ok(Fields { record, place, code }),
            None => Err(Refusal::new(code, format!("{} stands where an object has to", value.kind())).at(place)),
        }
    }

    /// Refuses every key that is not among these.
    pub fn only(&self, keys: &[&str]) -> Result<(), Refusal> {
        match self.record.iter().find(|(key, _)| !keys.contains(key)) {
            None => Ok(()),
            Some((key, _)) => {
                Err(self.refuse(key, format!("the key `{key}` is not known; known are: {}", keys.join(", "))))
            }
        }
    }

    /// A refusal at a key.
    pub fn refuse(&self, key: &str, message: impl Into<String>) -> Refusal {
        Refusal::new(self.code, message).at(self.place_of(key))
    }

    /// The JSON pointer of a key.
    pub fn place_of(&self, key: &str) -> String {
        format!("{}/{key}", self.place)
    }

    /// All members.
    pub fn iter(&self) -> impl Iterator<Item = (&'v str, &'v Value)> {
        self.record.iter()
    }

    /// A member, where there is one that is not null.
    pub fn get(&self, key: &str) -> Option<&'v Value> {
        self.record.get(key).filter(|value| **value != Value::Null)
    }

    /// A member that has to be there.
    pub fn need(&self, key: &str) -> Result<&'v Value, Refusal> {
        self.get(key).ok_or_else(|| self.refuse(key, format!("`{key}` is missing")))
    }

    fn wrong(&self, key: &str, value: &Value, wanted: &str) -> Refusal {
        self.refuse(key, format!("`{key}` is {}, and {wanted} is wanted", value.kind()))
    }

    /// A text, where there is one.
    pub fn text(&self, key: &str) -> Result<Option<&'v str>, Refusal> {
        self.get(key).map(|value| value.as_text().ok_or_else(|| self.wrong(key, value, "a text"))).transpose()
    }

    /// A text that has to be there.
    pub fn need_text(&self, key: &str) -> Result<&'v str, Refusal> {
        let value = self.need(key)?;
        value.as_text().ok_or_else(|| self.wrong(key, value, "a text"))
    }

    /// True or false, where it is said.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Refusal> {
        self.get(key).map(|value| value.as_bool().ok_or_else(|| self.wrong(key, value, "true or false"))).transpose()
    }

    /// A whole number in a range, where there is one.
    pub fn whole(&self, key: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.get(key) else { return Ok(None) };
        match value.as_number().and_then(|number| number.as_i128()) {
            None => Err(self.wrong(key, value, "a whole number")),
            Some(number) => match u64::try_from(number) {
                Ok(number) if range.contains(&number) => Ok(Some(number)),
                _ => Err(self.refuse(
                    key,
                    format!("`{key}` is {number}, and has to be from {} to {}", range.start(), range.end()),
                )),
            },
        }
    }

    /// A decimal in millionths, in a range of millionths, where there is one.
    pub fn micros(&self, key: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, Refusal> {
        let Some(value) = self.get(key) else { return Ok(None) };
        let number = value.as_number().ok_or_else(|| self.wrong(key, value, "a number"))?;
        match amount::exact(number) {
            Some(micros) if range.contains(&micros) => Ok(Some(micros)),
            Some(_) => Err(self.refuse(
                key,
                format!(
                    "`{key}` is {}, and has to be from {} to {}",
                    number.text(),
                    amount::decimal(*range.start()).text(),
                    amount::decimal(*range.end()).text()
                ),
            )),
            None => Err(self.refuse(key, format!("`{key}` is {}: six places at most", number.text()))),
        }
    }

    /// A list, where there is one.
    pub fn list(&self, key: &str) -> Result<Option<&'v [Value]>, Refusal> {
        self.get(key).map(|value| value.as_list().ok_or_else(|| self.wrong(key, value, "a list"))).transpose()
    }

    /// A list of texts, where there is one.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<String>>, Refusal> {
        let Some(list) = self.list(key)? else { return Ok(None) };
        let texts: Option<Vec<String>> = list.iter().map(|item| item.as_text().map(str::to_owned)).collect();
        texts.map(Some).ok_or_else(|| self.refuse(key, format!("`{key}` has an item that is no text")))
    }

    /// An object, where there is one.
    pub fn fields(&self, key: &str) -> Result<Option<Fields<'v>>, Refusal> {
        self.get(key).map(|value| Fields::of(value, self.place_of(key), self.code)).transpose()
    }

    /// An object that has to be there.
    pub fn need_fields(&self, key: &str) -> Result<Fields<'v>, Refusal> {
        Fields::of(self.need(key)?, self.place_of(key), self.code)
    }

    /// The object itself.
    pub fn record(&self) -> &'v Record {
        self.record
    }
}
