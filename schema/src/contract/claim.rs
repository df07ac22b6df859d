//! What a property can claim of the values at a place, and what that means. A value of the
//! wrong shape breaks a claim; nothing is skipped.

use core::cmp::Ordering;

use auto_json::{Number, Record, Value};
use regex_lite::Regex;

use super::place::Place;
use super::set_option;
use crate::digest::Digest;
use crate::types::Type;

/// A claim about the values that a property's place meets.
#[derive(Clone, Debug, PartialEq)]
pub enum Claim {
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
    /// There is a value, and it is not null.
    Present,
    /// A list, or the values met through `*`, in rising order: texts by their UTF-8 bytes,
    /// numbers by value.
    Sorted,
    /// No two of a list's items, or of the values met through `*`, are equal.
    Unique,
    /// Stands in a relation to what is at another place.
    Related(Relation, Place),
    /// A component says so: it exports `auto:pass/predicate` and is the one with this
    /// digest. Who gathers evidence asks it; nothing here can.
    Predicate(Digest),
}

/// How the values at one place relate to those at another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Each text is part of some text there, each other value equals one there or is an
    /// item of a list there.
    OccursIn {
        /// Whether upper and lower case are the same.
        ignore_case: bool,
    },
    /// As many values as there, each equal to the one there.
    Equals {
        /// Whether upper and lower case are the same.
        ignore_case: bool,
    },
    /// The one number is the exact sum of the numbers there, by value.
    SumOf,
    /// The one number is how many values are there.
    CountOf,
    /// The values are found there in the same order, perhaps with others between them.
    InOrderOf,
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

impl Relation {
    /// The kind of property that claims it.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Relation::OccursIn { .. } => "occurs_in",
            Relation::Equals { .. } => "equals",
            Relation::SumOf => "sum_of",
            Relation::CountOf => "count_of",
            Relation::InOrderOf => "in_order_of",
        }
    }

    /// Whether some values of these types stand in it, as far as the types tell.
    pub(super) fn can_hold(self, ty: &Type, other: &Type) -> bool {
        let texts = |ty: &Type| matches!(bare(ty), Type::Text | Type::Bytes | Type::Enum(_));
        match (self, bare(other)) {
            (Relation::OccursIn { .. }, _) if texts(ty) && texts(other) => true,
            (Relation::OccursIn { ignore_case }, Type::List(item)) if !matches!(bare(ty), Type::List(_)) => {
                ty.overlaps(item, ignore_case)
            }
            (Relation::OccursIn { ignore_case } | Relation::Equals { ignore_case }, _) => {
                ty.overlaps(other, ignore_case)
            }
            (Relation::SumOf, other) => matches!(other, Type::Int | Type::Number | Type::Json),
            (Relation::CountOf, _) => true,
            (Relation::InOrderOf, _) => ty.overlaps(other, false),
        }
    }

    /// Whether it is about the items of the lists that are there.
    pub(super) fn is_of_items(self) -> bool {
        matches!(self, Relation::SumOf | Relation::InOrderOf)
    }

    fn ignores_case(self) -> bool {
        matches!(self, Relation::OccursIn { ignore_case: true } | Relation::Equals { ignore_case: true })
    }

    /// Whether it holds; if not, how it is broken.
    pub(super) fn check(
        self,
        (place, values): (&Place, &[&Value]),
        (other, others): (&Place, &[&Value]),
    ) -> Result<(), String> {
        match self {
            Relation::OccursIn { ignore_case } => {
                values.iter().try_for_each(|value| occurs(value, others, ignore_case))
            }
            Relation::Equals { ignore_case } => {
                let (values, others) = (values.iter(), others.iter());
                if values.len() != others.len() {
                    return Err(format!("there are {} values, and {} there", values.len(), others.len()));
                }
                let mut pairs = values.zip(others);
                match pairs.find(|(value, other)| !same(value, other, ignore_case)) {
                    None => Ok(()),
                    Some((value, other)) => Err(format!("{} is not {}", brief(value), brief(other))),
                }
            }
            Relation::SumOf => {
                let numbers = items(others, other)?.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
                let total = sum(&numbers).ok_or("the sum there has more than 38 digits")?;
                equals_number(single(values)?, &total, "the sum there")
            }
            Relation::CountOf => {
                let count =
                    Number::integer(items(others, other)?.len() as i128).ok_or("there are too many to count")?;
                equals_number(single(values)?, &count, "the count there")
            }
            Relation::InOrderOf => {
                let others = items(others, other)?;
                let mut rest = others.iter();
                match items(values, place)?.into_iter().find(|value| !rest.any(|other| other == value)) {
                    None => Ok(()),
                    Some(value) => Err(format!("{} does not come in the order there", brief(value))),
                }
            }
        }
    }
}

impl Claim {
    /// What it claims of the values met at a property's place. Relations and predicates
    /// need more than the values and are not decided here.
    pub(super) fn check(&self, place: &Place, values: &[&Value]) -> Result<(), String> {
        match self {
            Claim::Sorted => sorted(&items(values, place)?),
            Claim::Unique => unique(&items(values, place)?),
            _ => values.iter().try_for_each(|value| self.check_one(value)),
        }
    }

    fn check_one(&self, value: &Value) -> Result<(), String> {
        match self {
            Claim::Length { min, max } => check_length(value, *min, *max),
            Claim::Regex(pattern) => {
                let text = value.as_text().ok_or_else(|| wrong_shape("text", value))?;
                if pattern.found_in(text) { Ok(()) } else { Err("the pattern is not found in it".to_owned()) }
            }
            Claim::NumberRange { min, max } => check_range(value, min.as_ref(), max.as_ref()),
            Claim::HasKeys(keys) => {
                let record = value.as_record().ok_or_else(|| wrong_shape("an object", value))?;
                match keys.iter().find(|key| record.get(key).is_none()) {
                    None => Ok(()),
                    Some(key) => Err(format!("it has no key {}", quoted(key))),
                }
            }
            Claim::OneOf(values) if values.contains(value) => Ok(()),
            Claim::OneOf(values) => Err(format!("it is none of the {} allowed values", values.len())),
            Claim::Present if *value == Value::Null => Err("it is null".to_owned()),
            Claim::Present | Claim::Sorted | Claim::Unique | Claim::Related(..) | Claim::Predicate(_) => Ok(()),
        }
    }

    /// What it claims, after "every output" or "every output at /x".
    pub(super) fn says(&self) -> String {
        match self {
            Claim::Length { min, max } => format!("has {} characters or elements", span(min, max)),
            Claim::Regex(pattern) => format!("contains the pattern {}", quoted(pattern.as_str())),
            Claim::NumberRange { min, max } => {
                let text = |bound: &Option<Number>| bound.as_ref().map(Number::text);
                format!("is a number, {}", span(&text(min), &text(max)))
            }
            Claim::HasKeys(keys) => {
                let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
                format!("is an object with {}", keys.join(", "))
            }
            Claim::OneOf(values) => format!("is one of {}", Value::from(values.clone())),
            Claim::Present => "is there and not null".to_owned(),
            Claim::Sorted => "is in rising order".to_owned(),
            Claim::Unique => "has no two equal items".to_owned(),
            Claim::Related(relation, other) => {
                let case = if relation.ignores_case() { ", up to case" } else { "" };
                match relation {
                    Relation::OccursIn { .. } => format!("occurs in {other}{case}"),
                    Relation::Equals { .. } => format!("equals {other}{case}"),
                    Relation::SumOf => format!("is the sum of {other}"),
                    Relation::CountOf => format!("is the count of {other}"),
                    Relation::InOrderOf => format!("keeps the order of {other}"),
                }
            }
            Claim::Predicate(digest) => format!("is what the predicate {} asks for", &digest.to_string()[..12]),
        }
    }

    /// Adds itself to the canonical form of a property.
    pub(super) fn write(&self, record: Record) -> Record {
        match self {
            Claim::Length { min, max } => bounds(record.with("kind", "len_range"), *min, *max),
            Claim::Regex(pattern) => record.with("kind", "regex").with("pattern", pattern.as_str()),
            Claim::NumberRange { min, max } => bounds(record.with("kind", "num_range"), *min, *max),
            Claim::HasKeys(keys) => {
                let keys = keys.iter().map(|key| key.as_str().into()).collect::<Vec<Value>>();
                record.with("kind", "json_has_keys").with("keys", keys)
            }
            Claim::OneOf(values) => record.with("kind", "one_of").with("values", values.clone()),
            Claim::Present => record.with("kind", "present"),
            Claim::Sorted => record.with("kind", "sorted"),
            Claim::Unique => record.with("kind", "unique"),
            Claim::Related(relation, other) => {
                let record = record.with("kind", relation.kind()).with("other", other.to_record());
                if relation.ignores_case() { record.with("ignore_case", true) } else { record }
            }
            Claim::Predicate(digest) => record.with("kind", "predicate").with("sha256", digest.to_string()),
        }
    }

    /// Whether it is about the items of a list at its own place; and at the other one.
    pub(super) fn counts_items(&self) -> (bool, bool) {
        match self {
            Claim::Sorted | Claim::Unique => (true, false),
            Claim::Related(Relation::InOrderOf, _) => (true, true),
            Claim::Related(Relation::SumOf | Relation::CountOf, _) => (false, true),
            _ => (false, false),
        }
    }

    /// Whether any value of a type could keep it, as far as the type tells.
    pub(super) fn can_hold_of(&self, ty: &Type) -> bool {
        match (self, ty) {
            (_, Type::Json) => true,
            (claim, Type::Optional(inner)) => claim.can_hold_of(inner),
            (Claim::Length { .. }, ty) => matches!(ty, Type::Text | Type::Bytes | Type::Enum(_) | Type::List(_)),
            (Claim::Regex(_), ty) => matches!(ty, Type::Text | Type::Bytes | Type::Enum(_)),
            (Claim::NumberRange { .. }, ty) => matches!(ty, Type::Int | Type::Number),
            (Claim::HasKeys(keys), Type::Record(fields)) => {
                keys.iter().all(|key| fields.iter().any(|field| field.name == *key))
            }
            (Claim::HasKeys(_), ty) => matches!(ty, Type::Map(_)),
            (Claim::OneOf(values), ty) => values.iter().any(|value| ty.accepts(value).is_ok()),
            (Claim::Related(Relation::SumOf | Relation::CountOf, _), ty) => matches!(ty, Type::Int | Type::Number),
            _ => true,
        }
    }
}

/// The type without `null`.
fn bare(ty: &Type) -> &Type {
    match ty {
        Type::Optional(inner) => bare(inner),
        ty => ty,
    }
}

/// What a claim about several values is about: the values met through a `*`, or else the
/// items of the list that is there.
fn items<'v>(values: &[&'v Value], place: &Place) -> Result<Vec<&'v Value>, String> {
    if place.is_many() {
        return Ok(values.to_vec());
    }
    match single(values)? {
        Value::List(items) => Ok(items.iter().collect()),
        other => Err(wrong_shape("a list", other)),
    }
}

fn single<'v>(values: &[&'v Value]) -> Result<&'v Value, String> {
    match values {
        [value] => Ok(value),
        values => Err(format!("there are {} values where one is needed", values.len())),
    }
}

fn occurs(value: &Value, others: &[&Value], ignore_case: bool) -> Result<(), String> {
    let within = |other: &&Value| match (value, other) {
        (Value::Text(text), Value::Text(other)) => {
            other.contains(text.as_str()) || ignore_case && folded(other).contains(&folded(text))
        }
        (value, Value::List(items)) if !matches!(value, Value::List(_)) => {
            items.iter().any(|item| same(value, item, ignore_case))
        }
        (value, other) => same(value, other, ignore_case),
    };
    if others.iter().any(within) { Ok(()) } else { Err(format!("{} does not occur there", brief(value))) }
}

fn same(value: &Value, other: &Value, ignore_case: bool) -> bool {
    match (value, other) {
        (Value::Text(text), Value::Text(other)) if ignore_case => folded(text) == folded(other),
        (value, other) => value == other,
    }
}

fn folded(text: &str) -> String {
    text.to_lowercase()
}

fn number(value: &Value) -> Result<Number, String> {
    value.as_number().copied().ok_or_else(|| wrong_shape("a number", value))
}

fn equals_number(value: &Value, expected: &Number, what: &str) -> Result<(), String> {
    match number(value)?.compare(expected) {
        Ordering::Equal => Ok(()),
        _ => Err(format!("it is {}, {what} is {}", brief(value), expected.text())),
    }
}

/// How far two numbers are apart, exactly; none where that has more than 38 digits.
pub(super) fn distance(a: &Number, b: &Number) -> Option<Number> {
    let (mantissa, scale) = b.parts()?;
    let minus = Number::decimal(mantissa.checked_neg()?, scale)?;
    let (difference, scale) = sum(&[*a, minus])?.parts()?;
    Number::decimal(difference.checked_abs()?, scale)
}

/// The exact sum; none where it has more than 38 digits.
fn sum(numbers: &[Number]) -> Option<Number> {
    let parts = numbers.iter().map(Number::parts).collect::<Option<Vec<_>>>()?;
    let scale = parts.iter().map(|(_, scale)| *scale).max().unwrap_or(0);
    let mut total = 0i128;
    for (mantissa, own) in parts {
        let shifted = 10i128.checked_pow(u32::from(scale - own)).and_then(|power| mantissa.checked_mul(power))?;
        total = total.checked_add(shifted)?;
    }
    if scale == 0 { Number::integer(total) } else { Number::decimal(total, scale) }
}

fn sorted(values: &[&Value]) -> Result<(), String> {
    for pair in values.windows(2) {
        let order = match (pair[0], pair[1]) {
            (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Value::Number(a), Value::Number(b)) => a.compare(b),
            (a, b) => return Err(format!("{} and {} have no order", brief(a), brief(b))),
        };
        if order == Ordering::Greater {
            return Err(format!("{} comes before {}", brief(pair[0]), brief(pair[1])));
        }
    }
    Ok(())
}

fn unique(values: &[&Value]) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    match values.iter().find(|value| !seen.insert(value.canonical().into_string())) {
        None => Ok(()),
        Some(value) => Err(format!("{} is there twice", brief(value))),
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

/// A value for a sentence: its canonical text, cut after 80 characters.
fn brief(value: &Value) -> String {
    let text = value.canonical().into_string();
    match text.char_indices().nth(80) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
