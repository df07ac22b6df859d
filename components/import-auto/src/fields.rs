//! A record's fields, each taken by name and type, none left over; and the faults that
//! say on which line something else was found.

use auto_json::{Canonical, Record, Value};

use crate::Fault;

/// The fields of one line that were not taken yet.
pub(crate) struct Fields {
    line: usize,
    version: u32,
    what: &'static str,
    record: Record,
}

impl Fields {
    pub(crate) fn new(line: usize, record: Record) -> Fields {
        Fields { line, version: 0, what: "line", record }
    }

    /// The fields of a line of another version of the format.
    pub(crate) fn of_version(version: u32, line: usize, record: Record) -> Fields {
        Fields { version, ..Fields::new(line, record) }
    }

    /// What the line turned out to be, for messages.
    pub(crate) fn is(&mut self, what: &'static str) {
        self.what = what;
    }

    pub(crate) fn line(&self) -> usize {
        self.line
    }

    pub(crate) fn refuse(&self, why: impl core::fmt::Display) -> Fault {
        bad(self.line, why)
    }

    /// The field's value; `null` counts as absent.
    pub(crate) fn optional(&mut self, key: &str) -> Option<Value> {
        self.record.remove(key).filter(|value| *value != Value::Null)
    }

    pub(crate) fn required(&mut self, key: &str) -> Result<Value, Fault> {
        let missing = || bad(self.line, format!("the {} has no field {key:?}, which every one has", self.what));
        self.record.remove(key).ok_or_else(missing)
    }

    fn wrong(&self, key: &str, expected: &str, got: &Value) -> Fault {
        self.refuse(format!("field {key:?} of the {} is {}; it must be {expected}", self.what, got.kind()))
    }

    pub(crate) fn text(&mut self, key: &str) -> Result<String, Fault> {
        match self.required(key)? {
            Value::Text(text) => Ok(text),
            other => Err(self.wrong(key, "text", &other)),
        }
    }

    pub(crate) fn optional_text(&mut self, key: &str) -> Result<Option<String>, Fault> {
        match self.optional(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, "text or null", &other)),
        }
    }

    fn to_integer(&self, key: &str, value: &Value) -> Result<u64, Fault> {
        value.as_u64().ok_or_else(|| {
            self.refuse(format!(
                "field {key:?} of the {} is {value}; it must be an integer from 0 to 2^64-1",
                self.what
            ))
        })
    }

    pub(crate) fn integer(&mut self, key: &str) -> Result<u64, Fault> {
        let value = self.required(key)?;
        self.to_integer(key, &value)
    }

    pub(crate) fn optional_integer(&mut self, key: &str) -> Result<Option<u64>, Fault> {
        self.optional(key).map(|value| self.to_integer(key, &value)).transpose()
    }

    /// Milliseconds, as microseconds.
    pub(crate) fn micros(&mut self, key: &str) -> Result<u64, Fault> {
        let millis = self.integer(key)?;
        millis.checked_mul(1_000).ok_or_else(|| {
            self.refuse(format!("field {key:?} of the {} is {millis} ms, which is beyond any clock", self.what))
        })
    }

    pub(crate) fn attributes(&mut self) -> Result<Vec<(String, String)>, Fault> {
        let Value::Record(record) = self.required("attrs")? else {
            return Err(self.refuse(format!("field \"attrs\" of the {} must be an object of texts", self.what)));
        };
        let pair = |(key, value): (String, Value)| match value {
            Value::Text(text) => Ok((key, text)),
            other => Err(self.refuse(format!("attribute {key:?} is {}; attributes are texts", other.kind()))),
        };
        record.into_iter().map(pair).collect()
    }

    /// A value that may be left out; `null` is a value.
    pub(crate) fn value(&mut self, key: &str) -> Option<Canonical> {
        self.record.remove(key).map(|value| value.canonical())
    }

    pub(crate) fn truth(&mut self, key: &str) -> Result<bool, Fault> {
        let value = self.required(key)?;
        value.as_bool().ok_or_else(|| self.wrong(key, "true or false", &value))
    }

    /// A value to keep; absent is `null`.
    pub(crate) fn value_or_null(&mut self, key: &str) -> Canonical {
        self.record.remove(key).unwrap_or(Value::Null).canonical()
    }

    /// A value that is there and not `null`.
    pub(crate) fn not_null(&mut self, key: &str) -> Result<Option<Canonical>, Fault> {
        match self.record.remove(key) {
            None => Ok(None),
            Some(Value::Null) => {
                Err(self
                    .refuse(format!("field {key:?} of the {} is null, which says nothing; leave it out", self.what)))
            }
            Some(value) => Ok(Some(value.canonical())),
        }
    }

    /// Refuses what is left.
    pub(crate) fn finish(self) -> Result<(), Fault> {
        match self.record.iter().next() {
            None => Ok(()),
            Some((key, _)) => Err(self.refuse(format!(
                "the {} has a field {key:?} that format version {} does not know; put notes of your own under \"attrs\"",
                self.what, self.version
            ))),
        }
    }
}

/// A fault of code `bad-trace`.
pub(crate) fn bad(line: usize, why: impl core::fmt::Display) -> Fault {
    Fault { code: "bad-trace".into(), message: format!("line {line}: {why}"), at: Some(format!("line {line}")) }
}

/// A fault of code `torn-trace`.
pub(crate) fn torn(line: usize, why: impl core::fmt::Display) -> Fault {
    Fault {
        code: "torn-trace".into(),
        message: format!("line {line}: {why}; --recover-partial keeps what was written before, marked as partial"),
        at: Some(format!("line {line}")),
    }
}
