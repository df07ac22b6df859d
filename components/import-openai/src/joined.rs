//! Streamed answers, put together to what the interface would have answered at once.

use std::collections::BTreeMap;

use auto_importer::stream::events;
use auto_importer::{Record, Value};

/// The answer that a stream of events is.
pub fn stream(text: &str) -> Value {
    let data: Vec<Value> = events(text)
        .into_iter()
        .filter(|event| event.data.trim() != "[DONE]")
        // Garbage in a stream is no reason to lose the rest; what it cuts off does not end.
        .filter_map(|event| Value::parse(&event.data).ok())
        .collect();
    chunks(&data)
}

/// The answer that a list of events is, each already read.
pub fn chunks(data: &[Value]) -> Value {
    let kind = |event: &Value| event.get("type").and_then(Value::as_text).unwrap_or_default().to_owned();
    if data.iter().any(|event| kind(event).starts_with("response.")) { responses(data) } else { chat(data) }
}

/// The responses interface says the whole answer again in its last event.
fn responses(data: &[Value]) -> Value {
    let ends = ["response.completed", "response.incomplete", "response.failed"];
    let kind = |event: &Value| event.get("type").and_then(Value::as_text).unwrap_or_default().to_owned();
    let last = data.iter().rev().find(|event| ends.contains(&kind(event).as_str()));
    if let Some(response) = last.and_then(|event| event.get("response")) {
        return response.clone();
    }
    let message = data.iter().find(|event| kind(event) == "error").and_then(|event| event.get("message"));
    let message = message.and_then(Value::as_text).unwrap_or("the stream ended before the answer did");
    Record::new().with("error", Record::new().with("message", message)).into()
}

/// A choice as far as it was streamed.
#[derive(Default)]
struct Choice {
    message: Record,
    calls: BTreeMap<u64, Call>,
    text: Option<String>,
    finish: Option<Value>,
}

#[derive(Default)]
struct Call {
    id: Option<Value>,
    name: String,
    arguments: String,
}

fn chat(data: &[Value]) -> Value {
    let mut whole = Record::new();
    let mut choices: BTreeMap<u64, Choice> = BTreeMap::new();
    for chunk in data {
        for (key, value) in chunk.as_record().into_iter().flat_map(Record::iter) {
            match key {
                "choices" => value.as_list().into_iter().flatten().for_each(|choice| {
                    let index = choice.get("index").and_then(Value::as_u64).unwrap_or(0);
                    choices.entry(index).or_default().add(choice);
                }),
                "object" => {}
                _ if *value == Value::Null => {}
                _ => whole.set(key, value.clone()),
            }
        }
    }
    if choices.is_empty() && whole.get("error").is_none() {
        whole.set("error", Record::new().with("message", "the stream ended before the answer did"));
    }
    whole.with("choices", choices.into_values().map(Choice::value).collect::<Vec<_>>()).into()
}

impl Choice {
    fn add(&mut self, choice: &Value) {
        for (key, value) in choice.get("delta").and_then(Value::as_record).into_iter().flat_map(Record::iter) {
            match (key, value) {
                ("tool_calls", Value::List(calls)) => {
                    for (place, call) in (0_u64..).zip(calls) {
                        let index = call.get("index").and_then(Value::as_u64).unwrap_or(place);
                        self.calls.entry(index).or_default().add(call);
                    }
                }
                (_, Value::Null) => {}
                ("role", value) => self.message.set("role", value.clone()),
                (key, Value::Text(more)) => {
                    let before = self.message.get(key).and_then(Value::as_text).unwrap_or_default();
                    let text = format!("{before}{more}");
                    self.message.set(key, text);
                }
                (key, value) => self.message.set(key, value.clone()),
            }
        }
        if let Some(more) = choice.get("text").and_then(Value::as_text) {
            self.text.get_or_insert_default().push_str(more);
        }
        if let Some(finish) = choice.get("finish_reason").filter(|finish| **finish != Value::Null) {
            self.finish = Some(finish.clone());
        }
    }

    fn value(mut self) -> Value {
        if !self.calls.is_empty() {
            self.message.set("tool_calls", self.calls.into_values().map(Call::value).collect::<Vec<_>>());
        }
        let choice = Record::new().with("finish_reason", self.finish).with("message", self.message);
        match self.text {
            Some(text) => choice.with("text", text).into(),
            None => choice.into(),
        }
    }
}

impl Call {
    fn add(&mut self, call: &Value) {
        if let Some(id) = call.get("id").filter(|id| **id != Value::Null) {
            self.id = Some(id.clone());
        }
        let part = |key: &str| call.get("function").and_then(|function| function.get(key)).and_then(Value::as_text);
        // Some servers say the name with every piece.
        if let Some(name) = part("name").filter(|name| !name.is_empty()) {
            self.name = name.to_owned();
        }
        self.arguments.push_str(part("arguments").unwrap_or_default());
    }

    fn value(self) -> Value {
        let function = Record::new().with("name", self.name).with("arguments", self.arguments);
        Record::new().with("id", self.id).with("type", "function").with("function", function).into()
    }
}
