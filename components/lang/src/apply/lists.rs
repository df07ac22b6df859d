//! What operators do to lists.

use std::collections::BTreeMap;

use auto_json::{Number, Record, Value};
use auto_rt::kernels::text;

pub(super) fn nth(items: &[Value], index: i64) -> Option<&Value> {
    let index = if index < 0 { index.checked_add(items.len() as i64)? } else { index };
    items.get(usize::try_from(index).ok()?)
}

pub(super) fn slice(items: &[Value], from: i64, to: Option<i64>) -> Option<Value> {
    let (from, to) = text::range(items.len() as i64, from, to)?;
    Some(Value::List(items.get(from..to)?.to_vec()))
}

pub(super) fn dedup(items: &[Value]) -> Vec<Value> {
    let mut distinct: Vec<Value> = Vec::new();
    for item in items {
        if !distinct.contains(item) {
            distinct.push(item.clone());
        }
    }
    distinct
}

/// Texts and numbers only, not mixed; the order of `Value` is by bytes and by value then.
pub(super) fn sort(items: &[Value]) -> Option<Value> {
    let texts = items.iter().all(|item| item.as_text().is_some());
    let numbers = items.iter().all(|item| item.as_number().is_some());
    if !texts && !numbers {
        return None;
    }
    let mut items = items.to_vec();
    items.sort();
    Some(Value::List(items))
}

pub(super) fn numbers(list: &Value) -> Option<impl Iterator<Item = Option<&Number>>> {
    Some(list.as_list()?.iter().map(Value::as_number))
}

pub(super) fn extreme(list: &Value, better: impl Fn(&Number, &Number) -> bool) -> Option<Value> {
    let mut best: Option<&Number> = None;
    for item in numbers(list)? {
        let item = item?;
        if best.is_none_or(|best| better(best, item)) {
            best = Some(item);
        }
    }
    best.map(|best| Value::Number(*best))
}

/// Items in rising order of their keys, which are texts or numbers, not mixed.
pub(crate) fn sorted_by(items: &[Value], keys: Vec<Value>) -> Option<Vec<Value>> {
    let texts = keys.iter().all(|key| key.as_text().is_some());
    let numbers = keys.iter().all(|key| key.as_number().is_some());
    if !texts && !numbers {
        return None;
    }
    let mut keyed: Vec<(Value, &Value)> = keys.into_iter().zip(items).collect();
    keyed.sort_by(|(a, _), (b, _)| a.cmp(b));
    Some(keyed.into_iter().map(|(_, item)| item.clone()).collect())
}

/// A record for each distinct key, where it first occurs.
pub(crate) fn grouped_by(items: &[Value], keys: Vec<Value>) -> Vec<Value> {
    let mut places: BTreeMap<Value, usize> = BTreeMap::new();
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for (key, item) in keys.into_iter().zip(items) {
        let place = *places.entry(key.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((key, Vec::new()));
        }
        if let Some((_, group)) = groups.get_mut(place) {
            group.push(item.clone());
        }
    }
    let record = |(key, items)| Value::Record(Record::new().with("key", key).with("items", Value::List(items)));
    groups.into_iter().map(record).collect()
}

pub(super) fn flatten(lists: &[Value]) -> Option<Value> {
    let lists: Option<Vec<&[Value]>> = lists.iter().map(Value::as_list).collect();
    Some(Value::List(lists?.concat()))
}

/// The columns of rows that are all as long as the first.
pub(super) fn transposed(rows: &[Value]) -> Option<Value> {
    let rows: Vec<&[Value]> = rows.iter().map(Value::as_list).collect::<Option<_>>()?;
    let width = rows.first().map_or(0, |row| row.len());
    let column =
        |at: usize| rows.iter().map(|row| row.get(at).cloned()).collect::<Option<Vec<Value>>>().map(Value::List);
    let columns: Option<Vec<Value>> = (0..width).map(column).collect();
    columns.filter(|_| rows.iter().all(|row| row.len() == width)).map(Value::List)
}

pub(super) fn zip(a: &[Value], b: &[Value]) -> Value {
    Value::List(a.iter().zip(b).map(|(a, b)| Value::List(vec![a.clone(), b.clone()])).collect())
}
