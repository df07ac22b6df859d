//! Streamed answers, put together to what the interface would have answered at once.

use std::collections::BTreeMap;

use auto_importer::{Record, Value, at, stream};

/// The answer that a stream of events is.
pub fn stream(text: &str) -> Value {
    let data: Vec<Value> = stream::events(text).iter().filter_map(|event| Value::parse(&event.data).ok()).collect();
    events(&data)
}

/// A block of content as far as it was streamed.
#[derive(Default)]
struct Block {
    start: Record,
    text: String,
    /// The arguments of a call, as JSON in pieces.
    arguments: String,
}

/// The answer that a list of events is, each already read.
pub fn events(data: &[Value]) -> Value {
    let mut whole = Record::new();
    let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
    let mut ended = false;
    for event in data {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        match event.get("type").and_then(Value::as_text) {
            Some("message_start") => {
                whole = event.get("message").and_then(Value::as_record).cloned().unwrap_or_default();
            }
            Some("content_block_start") => {
                let start = event.get("content_block").and_then(Value::as_record).cloned().unwrap_or_default();
                blocks.insert(index, Block { start, ..Block::default() });
            }
            Some("content_block_delta") => blocks.entry(index).or_default().add(event),
            Some("message_delta") => {
                let delta = event.get("delta").and_then(Value::as_record);
                delta.into_iter().flat_map(Record::iter).for_each(|(key, value)| whole.set(key, value.clone()));
                // The counts of the end; those of the start stay where the end has none.
                let mut usage = whole.get("usage").and_then(Value::as_record).cloned().unwrap_or_default();
                let more = event.get("usage").and_then(Value::as_record);
                more.into_iter().flat_map(Record::iter).for_each(|(key, value)| usage.set(key, value.clone()));
                whole.set("usage", usage);
            }
            Some("message_stop") => ended = true,
            Some("error") => whole.set("error", event.get("error").cloned()),
            _ => {}
        }
    }
    if !ended && whole.get("error").is_none() {
        whole.set("error", Record::new().with("message", "the stream ended before the answer did"));
    }
    whole.with("content", blocks.into_values().map(Block::value).collect::<Vec<_>>()).into()
}

impl Block {
    fn add(&mut self, event: &Value) {
        let text = |key: &str| at(event, &format!("/delta/{key}")).and_then(Value::as_text).unwrap_or_default();
        self.text.push_str(text("text"));
        self.arguments.push_str(text("partial_json"));
    }

    fn value(mut self) -> Value {
        match self.start.get("type").and_then(Value::as_text) {
            Some("text") => {
                let before = self.start.get("text").and_then(Value::as_text).unwrap_or_default();
                let text = format!("{before}{}", self.text);
                self.start.set("text", text);
            }
            Some("tool_use") if !self.arguments.is_empty() => {
                let arguments = Value::parse(&self.arguments).unwrap_or(Value::Text(self.arguments));
                self.start.set("input", arguments);
            }
            _ => {}
        }
        self.start.into()
    }
}
