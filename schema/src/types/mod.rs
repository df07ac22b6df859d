//! Types of JSON values: what a contract promises and a port carries.
//!
//! One text form ([`Display`](core::fmt::Display), [`FromStr`](core::str::FromStr)),
//! canonical: fields and labels are in canonical key order, so equal types have equal
//! texts. The expression language has its own rules about expressions; it uses these
//! types.

mod infer;
mod text;

use auto_json::write::compare_keys;
use auto_json::{NumberKind, Value};

use crate::violation::brief;

pub use text::BadType;

/// How deep a type may nest: enough for [`Type::infer`] of any JSON value, which may be
/// optional at each of its levels.
pub const MAX_DEPTH: usize = 2 * auto_json::MAX_DEPTH + 2;

/// A set of JSON values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Type {
    /// `null`.
    Unit,
    /// `true` and `false`.
    Bool,
    /// Numbers written as integers: `3`, not `3.0`.
    Int,
    /// All numbers.
    Number,
    /// Strings.
    Text,
    /// Strings that stand for bytes; how is the contract's business.
    Bytes,
    /// Everything.
    Json,
    /// Arrays of one type.
    List(Box<Type>),
    /// `null`, or a value of the type.
    Optional(Box<Type>),
    /// Objects with these fields and no others. The text form and [`Type::canonical`]
    /// sort them; no two have the same name.
    Record(Vec<Field>),
    /// These strings; at least one, no two equal.
    Enum(Vec<String>),
    /// Objects with any keys and values of one type.
    Map(Box<Type>),
}

/// A field of a [`Type::Record`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Field {
    /// The key.
    pub name: String,
    /// Whether it may be absent. A field that may be `null` has a [`Type::Optional`].
    pub optional: bool,
    /// What it holds.
    pub ty: Type,
}

impl Field {
    /// A field that is always there.
    pub fn new(name: impl Into<String>, ty: Type) -> Field {
        Field { name: name.into(), optional: false, ty }
    }
}

/// Why a value is not of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// A JSON pointer to the value that is wrong or missing; empty for the whole.
    pub path: String,
    /// What the type wants there.
    pub expected: String,
    /// What is there.
    pub got: String,
}

impl Mismatch {
    fn here(expected: &Type, got: &Value) -> Mismatch {
        Mismatch::new(brief(expected), kind(got))
    }

    fn new(expected: impl Into<String>, got: impl Into<String>) -> Mismatch {
        Mismatch { path: String::new(), expected: expected.into(), got: got.into() }
    }

    fn under(mut self, segment: &str) -> Mismatch {
        self.path = format!("/{}{}", segment.replace('~', "~0").replace('/', "~1"), self.path);
        self
    }
}

impl core::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let place = if self.path.is_empty() { "the value" } else { &self.path };
        write!(f, "{place}: expected {}, got {}", self.expected, self.got)
    }
}

impl core::error::Error for Mismatch {}

impl Type {
    /// A list of `item`.
    pub fn list(item: Type) -> Type {
        Type::List(Box::new(item))
    }

    /// `item` or `null`.
    pub fn optional(item: Type) -> Type {
        Type::Optional(Box::new(item))
    }

    /// An object of `item`s.
    pub fn map(item: Type) -> Type {
        Type::Map(Box::new(item))
    }

    /// The same type with fields and labels in canonical order, so that `==` compares
    /// what types mean. Reading a text gives this form.
    #[must_use]
    pub fn canonical(mut self) -> Type {
        self.sort();
        self
    }

    pub(crate) fn sort(&mut self) {
        match self {
            Type::List(item) | Type::Optional(item) | Type::Map(item) => item.sort(),
            Type::Record(fields) => {
                fields.iter_mut().for_each(|field| field.ty.sort());
                fields.sort_by(|a, b| compare_keys(a.name.as_bytes(), b.name.as_bytes()));
            }
            Type::Enum(labels) => labels.sort_by(|a, b| compare_keys(a.as_bytes(), b.as_bytes())),
            _ => {}
        }
    }

    /// Whether it keeps the rules of its parts: no field or label twice, at least one
    /// label, nested at most [`MAX_DEPTH`] deep. Everything read from a text does.
    pub fn check(&self) -> Result<(), &'static str> {
        self.check_within(MAX_DEPTH)
    }

    fn check_within(&self, depth: usize) -> Result<(), &'static str> {
        let depth = depth.checked_sub(1).ok_or(text::TOO_DEEP)?;
        match self {
            Type::List(item) | Type::Optional(item) | Type::Map(item) => item.check_within(depth),
            Type::Record(fields) => {
                distinct(fields.iter().map(|field| &field.name), text::FIELD_TWICE)?;
                fields.iter().try_for_each(|field| field.ty.check_within(depth))
            }
            Type::Enum(labels) if labels.is_empty() => Err(text::NO_LABELS),
            Type::Enum(labels) => distinct(labels.iter(), text::LABEL_TWICE),
            _ => Ok(()),
        }
    }

    /// Whether some value is of both types. Lists and maps of any types have the empty one in common.
    pub fn overlaps(&self, other: &Type, ignore_case: bool) -> bool {
        let folded = |label: &String| if ignore_case { label.to_lowercase() } else { label.clone() };
        match (self, other) {
            (Type::Json, _) | (_, Type::Json) => true,
            (Type::Optional(item), other) | (other, Type::Optional(item)) => {
                other.accepts(&Value::Null).is_ok() || item.overlaps(other, ignore_case)
            }
            (Type::Int | Type::Number, Type::Int | Type::Number) => true,
            (Type::Enum(own), Type::Enum(others)) => {
                own.iter().any(|label| others.iter().any(|other| folded(label) == folded(other)))
            }
            (Type::Text | Type::Bytes | Type::Enum(_), Type::Text | Type::Bytes | Type::Enum(_)) => true,
            (Type::List(_), Type::List(_)) | (Type::Map(_), Type::Map(_)) => true,
            (Type::Record(fields), Type::Map(item)) | (Type::Map(item), Type::Record(fields)) => {
                fields.iter().all(|field| field.optional || field.ty.overlaps(item, ignore_case))
            }
            (Type::Record(own), Type::Record(others)) => records_overlap(own, others, ignore_case),
            (own, other) => own == other,
        }
    }

    /// Whether `value` is of this type, and where not.
    pub fn accepts(&self, value: &Value) -> Result<(), Mismatch> {
        match (self, value) {
            (Type::Json, _) => Ok(()),
            (Type::Unit, Value::Null) => Ok(()),
            (Type::Bool, Value::Bool(_)) => Ok(()),
            (Type::Int, Value::Number(number)) if number.kind() == NumberKind::Integer => Ok(()),
            (Type::Number, Value::Number(_)) => Ok(()),
            (Type::Text | Type::Bytes, Value::Text(_)) => Ok(()),
            (Type::Enum(labels), Value::Text(text)) if labels.contains(text) => Ok(()),
            (Type::Enum(_), Value::Text(text)) => Err(Mismatch::new(brief(self), quoted(text))),
            (Type::Optional(_), Value::Null) => Ok(()),
            (Type::Optional(item), value) => item.accepts(value),
            (Type::List(item), Value::List(values)) => values.iter().enumerate().try_for_each(|(index, value)| {
                item.accepts(value).map_err(|mismatch| mismatch.under(&index.to_string()))
            }),
            (Type::Map(item), Value::Record(record)) => {
                record.iter().try_for_each(|(key, value)| item.accepts(value).map_err(|mismatch| mismatch.under(key)))
            }
            (Type::Record(fields), Value::Record(record)) => accepts_record(fields, record),
            (_, value) => Err(Mismatch::here(self, value)),
        }
    }
}

fn records_overlap(own: &[Field], others: &[Field], ignore_case: bool) -> bool {
    let fits = |fields: &[Field], others: &[Field]| {
        fields.iter().all(|field| match others.iter().find(|other| other.name == field.name) {
            Some(other) => field.optional && other.optional || field.ty.overlaps(&other.ty, ignore_case),
            None => field.optional,
        })
    };
    fits(own, others) && fits(others, own)
}

fn accepts_record(fields: &[Field], record: &auto_json::Record) -> Result<(), Mismatch> {
    let mut known = 0;
    for field in fields {
        match record.get(&field.name) {
            Some(value) => {
                field.ty.accepts(value).map_err(|mismatch| mismatch.under(&field.name))?;
                known += 1;
            }
            None if field.optional => {}
            None => return Err(Mismatch::new(brief(&field.ty), "nothing").under(&field.name)),
        }
    }
    if known == record.len() {
        return Ok(());
    }
    let unknown = record.iter().find(|(key, _)| !fields.iter().any(|field| field.name == *key));
    unknown.map_or(Ok(()), |(key, value)| Err(Mismatch::new("no such field", kind(value)).under(key)))
}

/// What a value is, in words, telling integers from other numbers.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Number(number) if number.kind() == NumberKind::Integer => "an integer",
        Value::Number(_) => "a number that is not an integer",
        other => other.kind(),
    }
}

/// A text as JSON has it, cut where it is long. Artifacts say it in the same words.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((cut, _)) => format!("{}…", Value::from(&text[..cut])),
        None => Value::from(text).to_string(),
    }
}

fn distinct<'a>(names: impl Iterator<Item = &'a String>, otherwise: &'static str) -> Result<(), &'static str> {
    let mut names: Vec<&String> = names.collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) { Err(otherwise) } else { Ok(()) }
}
