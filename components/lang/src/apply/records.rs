//! What operators do to records.

use auto_json::{Record, Value};
use auto_rt::kernels::{fields, text};

use super::Bytes;

/// A record of members none of which has the name of another.
fn distinct(members: impl IntoIterator<Item = (String, Value)>) -> Option<Value> {
    let mut record = Record::new();
    for (key, value) in members {
        if record.get(&key).is_some() {
            return None;
        }
        record.set(key, value);
    }
    Some(Value::Record(record))
}

pub(super) fn entries(record: &Record) -> Value {
    let entry =
        |(key, value): (&str, &Value)| Value::Record(Record::new().with("key", key).with("value", value.clone()));
    Value::List(record.iter().map(entry).collect())
}

pub(super) fn gather(entries: &[Value]) -> Option<Value> {
    let members = entries.iter().map(|entry| {
        let record = entry.as_record().filter(|record| record.len() == 2)?;
        Some((record.get("key")?.as_text()?.to_owned(), record.get("value")?.clone()))
    });
    distinct(members.collect::<Option<Vec<_>>>()?)
}

pub(super) fn merge(a: &Record, b: &Record) -> Value {
    Value::Record(a.iter().chain(b.iter()).map(|(key, value)| (key.to_owned(), value.clone())).collect())
}

/// The members that are named, or those that are not.
pub(super) fn chosen(record: &Record, names: &[Value], named: bool) -> Option<Value> {
    let names: Option<Vec<&str>> = names.iter().map(Value::as_text).collect();
    let names = names?;
    let kept = record.iter().filter(|(key, _)| names.contains(key) == named);
    Some(Value::Record(kept.map(|(key, value)| (key.to_owned(), value.clone())).collect()))
}

pub(super) fn rename(record: &Record, from: &str, to: &str) -> Option<Value> {
    let mut record = record.clone();
    let value = record.remove(from)?;
    if record.get(to).is_some() {
        return None;
    }
    record.set(to, value);
    Some(Value::Record(record))
}

pub(super) fn read_pairs(text: &str, separator: &str, assign: &str) -> Option<Value> {
    let mut members = Vec::new();
    fields::pairs(text, separator, assign, &mut |key, value| members.push((key.to_owned(), value.into())))?;
    distinct(members)
}

pub(super) fn read_query(text: &str) -> Option<Value> {
    let mut members = Vec::new();
    fields::query(text, &mut |key, value| members.push((key, value)))?;
    let decoded = |part: &str| match Bytes::collect(|out| fields::decoded(part, &mut out.sink()))? {
        Value::Text(text) => Some(text),
        _ => None,
    };
    let members = members.into_iter().map(|(key, value)| Some((decoded(key)?, decoded(value)?.into())));
    distinct(members.collect::<Option<Vec<_>>>()?)
}

pub(super) fn read_csv(line: &str, separator: &str) -> Option<Value> {
    let mut items = Vec::new();
    fields::csv(line, separator, &mut |field, doubled| {
        let mut bytes = Vec::new();
        fields::undoubled(field, &mut |byte| bytes.push(byte));
        let undoubled = || String::from_utf8(bytes).unwrap_or_default();
        items.push(Value::Text(if doubled { undoubled() } else { field.to_owned() }));
    })?;
    Some(Value::List(items))
}

pub(super) fn index_of(items: &[Value], item: &Value) -> Option<Value> {
    items.iter().position(|other| other == item).map(Value::from)
}

pub(super) fn print_json(value: &Value) -> Option<Value> {
    Bytes::collect(|out| {
        value.canonical().as_str().bytes().for_each(out.sink());
        Some(())
    })
}

pub(super) fn read_json(text: &str) -> Option<Value> {
    Value::parse(text).ok()
}

/// Where a part first occurs.
pub(super) fn find(text: &str, part: &str) -> Option<Value> {
    text::position(text, part).map(Value::from)
}
