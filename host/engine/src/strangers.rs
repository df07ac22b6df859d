//! Inputs that are unlike everything that was recorded, to see a guard at work before a file
//! says that it has one.
//!
//! A stranger is a recorded input in which every text is longer than any recording and of
//! other characters, and every number greater than any recorded. It is of the contract's
//! type, so that only a guard has a reason to say no; types without such places (booleans,
//! enums) have no strangers.

use std::collections::BTreeSet;

use auto_json::{Number, Record, Value};
use auto_schema::evidence::Observation;
use auto_schema::types::Type;

/// Lower, upper, digit, space, punctuation, control, and letters and signs beyond ASCII.
const ALPHABET: &str = "qZ7 ;\u{1}Ж☃";

/// Strangers of the contract's input type, as canonical texts.
pub(crate) fn strangers(observations: &[Observation], ty: &Type) -> BTreeSet<String> {
    let longest = observations.iter().map(|seen| seen.input.as_str().len()).max().unwrap_or(0);
    let recorded: Vec<Value> = observations.iter().map(|seen| seen.input.value()).collect();
    // Margins are at most as wide as what was recorded, so twice as much is beyond them.
    let far = Far {
        text: ALPHABET.repeat(longest / 4 + 8),
        number: recorded
            .iter()
            .map(greatest)
            .max()
            .unwrap_or(0)
            .checked_mul(4)
            .and_then(|most| most.checked_add(1_000)),
    };
    let ends = recorded.first().into_iter().chain(recorded.last());
    let made = ends.map(|input| (input, far.from(input, ty)));
    let strange = made.filter(|(input, made)| made != *input && ty.accepts(made).is_ok());
    strange.map(|(_, made)| made.canonical().into_string()).collect()
}

struct Far {
    text: String,
    /// None where recorded numbers leave no room above them.
    number: Option<i128>,
}

impl Far {
    fn from(&self, value: &Value, ty: &Type) -> Value {
        match (value, ty) {
            (Value::Text(_), Type::Text | Type::Json) => self.text.as_str().into(),
            (Value::Number(_), Type::Int | Type::Number | Type::Json) => {
                self.number.and_then(Number::integer).map_or_else(|| value.clone(), Value::Number)
            }
            (Value::List(items), Type::List(item)) => {
                items.iter().map(|value| self.from(value, item)).collect::<Vec<_>>().into()
            }
            (Value::List(items), Type::Json) => {
                items.iter().map(|value| self.from(value, ty)).collect::<Vec<_>>().into()
            }
            (Value::Record(record), _) => {
                let member = |(key, value): (&str, &Value)| match member(ty, key) {
                    Some(ty) => (key.to_owned(), self.from(value, ty)),
                    None => (key.to_owned(), value.clone()),
                };
                record.iter().map(member).collect::<Record>().into()
            }
            (value, Type::Optional(item)) => self.from(value, item),
            (value, _) => value.clone(),
        }
    }
}

/// The type of a member of a record of that type.
fn member<'t>(ty: &'t Type, key: &str) -> Option<&'t Type> {
    match ty {
        Type::Record(fields) => fields.iter().find(|field| field.name == key).map(|field| &field.ty),
        Type::Map(item) => Some(item),
        Type::Optional(item) => member(item, key),
        Type::Json => Some(ty),
        _ => None,
    }
}

/// The greatest absolute value of the numbers in it, rounded up.
fn greatest(value: &Value) -> i128 {
    let all = |values: &mut dyn Iterator<Item = &Value>| values.map(greatest).max().unwrap_or(0);
    match value {
        Value::Number(number) => match number.parts() {
            Some((mantissa, scale)) => {
                let unit = 10i128.checked_pow(u32::from(scale)).unwrap_or(i128::MAX);
                (mantissa.unsigned_abs() / unit.unsigned_abs())
                    .try_into()
                    .map_or(i128::MAX, |whole: i128| whole.saturating_add(1))
            }
            None => i128::MAX,
        },
        Value::List(items) => all(&mut items.iter()),
        Value::Record(record) => all(&mut record.iter().map(|(_, value)| value)),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use auto_json::Canonical;

    fn of(ty: &str, inputs: &[&str]) -> Vec<Value> {
        let seen = |input: &&str| Observation { input: Canonical::of(input).unwrap(), outputs: Vec::new(), errors: 0 };
        let observations: Vec<Observation> = inputs.iter().map(seen).collect();
        strangers(&observations, &ty.parse().unwrap()).iter().map(|text| Value::parse(text).unwrap()).collect()
    }

    #[test]
    fn a_stranger_is_far_from_every_recording_and_of_the_contract_s_type() {
        let ty = r#"record{amount: int, body: text, queue: enum{"a", "b"}, seen: bool, tags: list<text>}"#;
        let inputs = [
            r#"{"amount":-5000,"body":"a","queue":"a","seen":true,"tags":["x"]}"#,
            r#"{"amount":7,"body":"somewhat longer than the other","queue":"b","seen":true,"tags":[]}"#,
        ];
        let strange = of(ty, &inputs);
        assert_eq!(strange.len(), 2);
        for stranger in strange {
            assert!(stranger.get("amount").unwrap().as_i64().unwrap() > 2 * 5000);
            assert!(stranger.get("body").unwrap().as_text().unwrap().chars().count() > 2 * inputs[1].len());
            let tags = stranger.get("tags").unwrap().as_list().unwrap();
            assert!(tags.iter().all(|tag| tag.as_text().unwrap().chars().count() > 60));
        }
    }

    #[test]
    fn what_cannot_be_unlike_has_no_strangers() {
        assert_eq!(of("bool", &["true", "false"]), []);
        assert_eq!(of(r#"enum{"a", "b"}"#, &[r#""a""#]), []);
        assert_eq!(of("list<text>", &["[]"]), []);
        assert_eq!(of("int", &["18446744073709551615"]).len(), 1);
        assert_eq!(of("number", &["99999999999999999999999999999999999999"]), []);
        assert_eq!(of("text", &[]), []);
    }
}
