//! A JSON value in memory, and the text form that is known to be canonical.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::read::unescaped;
use crate::write::compare_keys;
use crate::{Error, ErrorKind, Number, Sink, read, write};

/// A JSON value. Equality is that of the canonical text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// `null`, also what an absent value is taken for.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An exact number.
    Number(Number),
    /// A string.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object.
    Record(Record),
}

/// An object: unique keys in canonical order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Record(Vec<(String, Value)>);

impl Record {
    /// An empty record.
    pub fn new() -> Record {
        Record::default()
    }

    /// Sets a member, replacing one of the same key.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        let key = key.into();
        match self.position(&key) {
            Ok(at) => self.0[at].1 = value.into(),
            Err(at) => self.0.insert(at, (key, value.into())),
        }
    }

    /// [`Record::set`], for building in one expression.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Record {
        self.set(key, value);
        self
    }

    /// The member of that key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).ok().map(|at| &self.0[at].1)
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.position(key).ok().map(|at| self.0.remove(at).1)
    }

    /// The members in canonical order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn position(&self, key: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| compare_keys(own.as_bytes(), key.as_bytes()))
    }
}

impl IntoIterator for Record {
    type Item = (String, Value);
    type IntoIter = alloc::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, Value)> for Record {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Record {
        let mut members: Vec<(String, Value)> = members.into_iter().collect();
        // Stable, so that of members with the same key the last one comes last, and stays.
        members.sort_by(|(a, _), (b, _)| compare_keys(a.as_bytes(), b.as_bytes()));
        members.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                core::mem::swap(&mut later.1, &mut earlier.1);
            }
            same
        });
        Record(members)
    }
}

impl Value {
    /// Reads a JSON text, strictly ([`crate::read`]).
    pub fn parse(text: impl AsRef<[u8]>) -> Result<Value, Error> {
        let mut sink = Tree::default();
        read(text.as_ref(), &mut sink)?;
        Ok(sink.done.unwrap_or(Value::Null))
    }

    /// The canonical text.
    pub fn canonical(&self) -> Canonical {
        let mut bytes = Vec::new();
        write::value(self, &mut |byte| bytes.push(byte));
        // The writer copies UTF-8 and adds ASCII, so this never replaces anything.
        Canonical(String::from_utf8(bytes).unwrap_or_default())
    }

    /// An integer value.
    pub fn integer(value: i64) -> Value {
        // At most 19 digits, so it is never `None`.
        Number::integer(value.into()).map_or(Value::Null, Value::Number)
    }

    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }

    /// The boolean, if it is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = self { Some(*value) } else { None }
    }

    /// The number, if it is one.
    pub fn as_number(&self) -> Option<&Number> {
        if let Value::Number(number) = self { Some(number) } else { None }
    }

    /// The number as `u64`, if it is an integer that fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// The number as `i64`, if it is an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        if let Value::List(items) = self { Some(items) } else { None }
    }

    /// The members, if it is a record.
    pub fn as_record(&self) -> Option<&Record> {
        if let Value::Record(record) = self { Some(record) } else { None }
    }

    /// The member of that key, if it is a record that has it.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_record().and_then(|record| record.get(key))
    }

    /// What it is, in a word, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Record(_) => "an object",
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Value::Null => 0,
            Value::Bool(_) => 1,
            Value::Number(_) => 2,
            Value::Text(_) => 3,
            Value::List(_) => 4,
            Value::Record(_) => 5,
        }
    }
}

impl Ord for Value {
    /// A total order that agrees with `Eq`: by kind, then by content. Not the order of
    /// the canonical texts.
    fn cmp(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
            (Value::Number(a), Value::Number(b)) => a.cmp(b),
            (Value::Text(a), Value::Text(b)) => a.cmp(b),
            (Value::List(a), Value::List(b)) => a.cmp(b),
            (Value::Record(a), Value::Record(b)) => a.0.cmp(&b.0),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl core::fmt::Display for Value {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.canonical().as_str())
    }
}

macro_rules! from {
    ($($source:ty => $make:expr;)*) => {$(
        impl From<$source> for Value {
            fn from(value: $source) -> Value {
                $make(value)
            }
        }
    )*};
}

from! {
    bool => Value::Bool;
    Number => Value::Number;
    String => Value::Text;
    &str => |text: &str| Value::Text(text.to_owned());
    Vec<Value> => Value::List;
    Record => Value::Record;
    i64 => Value::integer;
    u32 => |value: u32| Value::integer(value.into());
    i32 => |value: i32| Value::integer(value.into());
    u64 => |value: u64| Number::integer(value.into()).map_or(Value::Null, Value::Number);
    usize => |value: usize| Number::integer(value as i128).map_or(Value::Null, Value::Number);
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// A JSON text that is known to be canonical, so that comparing bytes compares values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Canonical(String);

impl Canonical {
    /// Reads and rewrites a text in canonical form.
    pub fn of(text: impl AsRef<[u8]>) -> Result<Canonical, Error> {
        Ok(Value::parse(text)?.canonical())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }

    /// The value it stands for.
    pub fn value(&self) -> Value {
        // Canonical text always reads back.
        Value::parse(&self.0).unwrap_or(Value::Null)
    }
}

impl core::fmt::Display for Canonical {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Builds a [`Value`] from the reader's events.
#[derive(Default)]
struct Tree {
    open: Vec<Open>,
    done: Option<Value>,
}

enum Open {
    List(Vec<Value>),
    Record(Vec<(String, Value)>, Option<String>),
}

impl Tree {
    fn add(&mut self, value: Value) -> Result<(), ErrorKind> {
        match self.open.last_mut() {
            None => self.done = Some(value),
            Some(Open::List(items)) => items.push(value),
            Some(Open::Record(members, key)) => {
                members.push((key.take().ok_or(ErrorKind::UnexpectedCharacter)?, value));
            }
        }
        Ok(())
    }
}

impl Sink for Tree {
    fn null(&mut self) -> Result<(), ErrorKind> {
        self.add(Value::Null)
    }

    fn boolean(&mut self, value: bool) -> Result<(), ErrorKind> {
        self.add(Value::Bool(value))
    }

    fn number(&mut self, lexeme: &[u8]) -> Result<(), ErrorKind> {
        self.add(Value::Number(Number::from_lexeme(lexeme)?))
    }

    fn text(&mut self, raw: &[u8], escaped: bool) -> Result<(), ErrorKind> {
        self.add(Value::Text(unescaped(raw, escaped)?))
    }

    fn key(&mut self, raw: &[u8], escaped: bool) -> Result<(), ErrorKind> {
        if let Some(Open::Record(_, key)) = self.open.last_mut() {
            *key = Some(unescaped(raw, escaped)?);
        }
        Ok(())
    }

    fn begin_list(&mut self) -> Result<(), ErrorKind> {
        self.open.push(Open::List(Vec::new()));
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), ErrorKind> {
        match self.open.pop() {
            Some(Open::List(items)) => self.add(Value::List(items)),
            _ => Err(ErrorKind::UnexpectedCharacter),
        }
    }

    fn begin_record(&mut self) -> Result<(), ErrorKind> {
        self.open.push(Open::Record(Vec::new(), None));
        Ok(())
    }

    fn end_record(&mut self) -> Result<(), ErrorKind> {
        let Some(Open::Record(mut members, _)) = self.open.pop() else {
            return Err(ErrorKind::UnexpectedCharacter);
        };
        members.sort_by(|(a, _), (b, _)| compare_keys(a.as_bytes(), b.as_bytes()));
        if members.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(ErrorKind::DuplicateKey);
        }
        self.add(Value::Record(Record(members)))
    }
}
