//! The baselines: what an engineer would write by hand instead of an artifact. Each takes
//! the same JSON bytes, checks the same type, applies the same guard and the same rule, and
//! returns JSON bytes; each is checked against the artifact before it is timed.

use anyhow::bail;
use auto_json::Value;
use auto_runtime::Program;

pub mod demo;

/// A function written by hand.
pub trait Native {
    /// Answers one JSON text.
    fn call(&self, input: &[u8]) -> Reply;
}

/// What a baseline says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The answer, a JSON text.
    Answer(String),
    /// The guard says no.
    Abstain {
        /// What its loudest check measured, in parts per million.
        score: u32,
        /// The most it may be.
        limit: u32,
    },
    /// Not JSON, or not of the input type.
    BadInput,
}

/// The baseline of that name, with the guard's tables taken from the artifact.
pub fn named(name: &str, program: &Program) -> anyhow::Result<Box<dyn Native>> {
    match name {
        "demo" => Ok(Box::new(demo::Demo::new(program)?)),
        other => bail!("no native baseline is called {other}; there is: demo"),
    }
}

/// Copies of an input with something wrong or unusual about each: not JSON, another type, a
/// member less or more, texts that are empty, long, far away, or not ASCII.
pub fn damaged(input: &str) -> Vec<String> {
    let mut copies = vec![
        String::new(),
        format!("{input}]"),
        input.chars().take(input.chars().count() / 2).collect(),
        format!(" {input} "),
    ];
    copies.extend(["null", "[]", "{}", "3", "\"text\""].map(str::to_owned));
    if let Ok(Value::Record(record)) = Value::parse(input) {
        copies.push(Value::Record(record.clone().with("unknown", 1u32)).to_string());
        let keys: Vec<String> = record.iter().map(|(key, _)| key.to_owned()).collect();
        for key in keys {
            let mut less = record.clone();
            less.remove(&key);
            copies.push(Value::Record(less).to_string());
            let values = variations(record.get(&key).unwrap_or(&Value::Null));
            copies.extend(
                values.into_iter().map(|value| Value::Record(record.clone().with(key.as_str(), value)).to_string()),
            );
        }
    }
    copies
}

fn variations(value: &Value) -> Vec<Value> {
    let mut others = vec![Value::Null, Value::Bool(true), Value::integer(-7), Value::from("")];
    match value {
        Value::Text(text) => {
            others.push(Value::from(text.to_uppercase()));
            others.push(Value::from(format!("{text} ")));
            others.push(Value::from(format!("{text} Zxqj wvüß \u{1F980} \n\t\"quoted\"")));
            others.push(Value::from(text.repeat(40)));
            others.push(Value::from(text.chars().rev().collect::<String>()));
        }
        Value::Number(number) => {
            others.push(Value::integer(number.as_i64().unwrap_or_default().wrapping_add(1)));
            others.push(Value::integer(i64::MAX));
        }
        _ => {}
    }
    others
}
