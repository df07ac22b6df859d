//! The closed set of claims a contract can make about an output, and their meaning for a
//! single value. A value of the wrong shape breaks the claim; nothing is skipped.

use core::cmp::Ordering;

use auto_json::{Number, Record, Value};
use regex_lite::Regex;

use super::set_option;

/// A claim about every output.
#[derive(Clone, Debug, PartialEq)]
pub enum Property {
    /// A text has that many code points, a list that many elements. At least one bound.
    Length {
        /// The fewest.
        min: Option<u64>,
        /// The most.
        max: Option<u64>,
    },
    /// A text in which the pattern is found.
    Regex(Pattern),
    /// A number between the bounds, both included. At least one bound.
    NumberRange {
        /// The least.
        min: Option<Number>,
        /// The greatest.
        max: Option<Number>,
    },
    /// An object that has all these keys.
    HasKeys(Vec<String>),
    /// Equal to one of these values.
    OneOf(Vec<Value>),
}

/// A regular expression that was compiled when the contract was read; its matching is
/// linear in text and pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles a pattern; the error says what is wrong with it.
    pub fn new(text: &str) -> Result<Pattern, String> {
        let regex = Regex::new(text).map_err(|error| error.to_string())?;
        Ok(Pattern { text: text.to_owned(), regex })
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it is found anywhere in a text.
    pub fn found_in(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

impl Property {
    /// Whether an output keeps the claim; if not, how it breaks it.
    pub fn check(&self, output: &Value) -> Result<(), String> {
        match self {
            Property::Length { min, max } => check_length(output, *min, *max),
            Property::Regex(pattern) => {
                let text = output.as_text().ok_or_else(|| wrong_shape("text", output))?;
                if pattern.found_in(text) { Ok(()) } else { Err("the pattern is not found in it".to_owned()) }
            }
            Property::NumberRange { min, max } => check_range(output, min.as_ref(), max.as_ref()),
            Property::HasKeys(keys) => {
                let record = output.as_record().ok_or_else(|| wrong_shape("an object", output))?;
                match keys.iter().find(|key| record.get(key).is_none()) {
                    None => Ok(()),
                    Some(key) => Err(format!("it has no key {}", quoted(key))),
                }
            }
            Property::OneOf(values) if values.contains(output) => Ok(()),
            Property::OneOf(values) => Err(format!("it is none of the {} allowed values", values.len())),
        }
    }

    /// The claim in a sentence.
    pub fn claim(&self) -> String {
        match self {
            Property::Length { min, max } => format!("every output has {} characters or elements", span(min, max)),
            Property::Regex(pattern) => format!("the pattern {} is found in every output", quoted(pattern.as_str())),
            Property::NumberRange { min, max } => {
                let text = |bound: &Option<Number>| bound.as_ref().map(Number::text);
                format!("every output is a number, {}", span(&text(min), &text(max)))
            }
            Property::HasKeys(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
                format!("every output is an object with {}", keys.join(", "))
            }
            Property::OneOf(values) => format!("every output is one of {}", Value::from(values.clone())),
        }
    }

    /// The canonical form.
    pub(super) fn to_value(&self) -> Value {
        let of = |kind: &str| Record::new().with("kind", kind).with("target", "output");
        let record = match self {
            Property::Length { min, max } => bounds(of("len_range"), *min, *max),
            Property::Regex(pattern) => of("regex").with("pattern", pattern.as_str()),
            Property::NumberRange { min, max } => bounds(of("num_range"), *min, *max),
            Property::HasKeys(keys) => {
                of("json_has_keys").with("keys", keys.iter().map(|key| key.as_str().into()).collect::<Vec<Value>>())
            }
            Property::OneOf(values) => of("one_of").with("values", values.clone()),
        };
        record.into()
    }
}

fn check_length(output: &Value, min: Option<u64>, max: Option<u64>) -> Result<(), String> {
    let (length, unit) = match output {
        Value::Text(text) => (text.chars().count() as u64, "characters"),
        Value::List(items) => (items.len() as u64, "elements"),
        _ => return Err(wrong_shape("text or a list", output)),
    };
    if min.is_some_and(|min| length < min) || max.is_some_and(|max| length > max) {
        return Err(format!("it has {length} {unit}"));
    }
    Ok(())
}

fn check_range(output: &Value, min: Option<&Number>, max: Option<&Number>) -> Result<(), String> {
    let number = output.as_number().ok_or_else(|| wrong_shape("a number", output))?;
    let below = min.is_some_and(|min| number.compare(min) == Ordering::Less);
    let above = max.is_some_and(|max| number.compare(max) == Ordering::Greater);
    if below || above { Err(format!("it is {}", number.text())) } else { Ok(()) }
}

fn bounds(mut record: Record, min: Option<impl Into<Value>>, max: Option<impl Into<Value>>) -> Record {
    set_option(&mut record, "min", min);
    set_option(&mut record, "max", max);
    record
}

fn span<T: core::fmt::Display>(min: &Option<T>, max: &Option<T>) -> String {
    match (min, max) {
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("{min} or more"),
        (None, Some(max)) => format!("{max} or less"),
        (None, None) => "any number".to_owned(),
    }
}

fn wrong_shape(expected: &str, got: &Value) -> String {
    format!("it is {}, not {expected}", got.kind())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
