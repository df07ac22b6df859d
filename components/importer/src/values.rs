//! Small readers of JSON values that every format needs.

use sha2::{Digest, Sha256};

use crate::{Record, Value};

/// The value at a JSON pointer (RFC 6901); none where there is none.
pub fn at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    let step = |value: &'v Value, key: &str| {
        let key = key.replace("~1", "/").replace("~0", "~");
        match value {
            Value::Record(record) => record.get(&key),
            Value::List(items) => items.get(key.parse::<usize>().ok()?),
            _ => None,
        }
    };
    pointer.split('/').skip(1).try_fold(value, step)
}

/// The text at a pointer, where it is text and not empty.
pub fn text_of<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    at(value, pointer)?.as_text().filter(|text| !text.is_empty())
}

/// The whole number at a pointer, also where it is written as text.
pub fn number_of(value: &Value, pointer: &str) -> Option<u64> {
    match at(value, pointer)? {
        Value::Text(text) => text.parse().ok(),
        other => other.as_u64(),
    }
}

/// The canonical text of a value. One that nests deeper than readers follow, as JSON in text may
/// where it is unpacked, becomes a text that holds it.
pub fn json(value: &Value) -> String {
    fn within(value: &Value, depth: usize) -> bool {
        match value {
            Value::List(items) => depth > 0 && items.iter().all(|item| within(item, depth - 1)),
            Value::Record(record) => depth > 0 && record.iter().all(|(_, member)| within(member, depth - 1)),
            _ => true,
        }
    }
    let text = value.canonical();
    if within(value, DEEPEST) { text.into_string() } else { Value::from(text.into_string()).canonical().into_string() }
}

/// How deep a value may nest.
const DEEPEST: usize = 60;

/// A text that holds a JSON object or list, as what it holds; anything else as it is. Recorders
/// write structure as text where their storage knows only text.
pub fn as_json(value: Value) -> Value {
    let Value::Text(text) = &value else { return value };
    match text.trim_ascii_start().as_bytes().first() {
        Some(b'{' | b'[' | b'"') => Value::parse(text).map_or_else(|_| value.clone(), as_json),
        _ => value,
    }
}

/// The members of a record as attributes: texts as they are, all else as JSON.
pub fn pairs(record: &Record) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_text().map_or_else(|| value.to_string(), str::to_owned);
    record
        .iter()
        .filter(|(_, value)| **value != Value::Null)
        .map(|(key, value)| (key.to_owned(), text(value)))
        .collect()
}

/// An id made of texts: half of a SHA-256 in hex. The same content is the same trace in
/// whatever file.
pub fn identity(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Dollars as whole millionths, rounded up: a cost is never said too small. None for what is
/// no amount.
pub fn micro_usd(value: &Value) -> Option<u64> {
    let (mantissa, scale) = value.as_number()?.parts()?;
    let mantissa = u128::try_from(mantissa).ok()?.checked_mul(1_000_000)?;
    let micros = match 10_u128.checked_pow(scale.into()) {
        Some(divisor) => mantissa.div_ceil(divisor),
        None => u128::from(mantissa > 0),
    };
    u64::try_from(micros).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_up_and_never_guessed() {
        let cases = [
            ("0.00387", Some(3_870)),
            ("2.5e-05", Some(25)),
            ("1e-9", Some(1)),
            ("0", Some(0)),
            ("-1", None),
            ("\"1\"", None),
        ];
        for (text, micros) in cases {
            assert_eq!(micro_usd(&Value::parse(text).unwrap()), micros, "{text}");
        }
    }

    #[test]
    fn pointers_and_texts_that_hold_json_are_followed() {
        let value = Value::parse(r#"{"a/b":[{"~":"x"}],"t":"\"{\\\"k\\\":1}\""}"#).unwrap();
        assert_eq!(text_of(&value, "/a~1b/0/~0"), Some("x"));
        assert_eq!(at(&value, "/a~1b/1"), None);
        assert_eq!(as_json(value.get("t").cloned().unwrap()).to_string(), r#"{"k":1}"#);
        assert_eq!(as_json("{no".into()), "{no".into());
    }
}
