//! Messages: Anthropic.

use auto_json::{Record, Value};

use super::{Read, Request, Usage, conversation};

pub(super) fn write(request: &Request) -> (&'static str, Value) {
    let mut body = Record::new()
        .with("model", request.model.name.as_str())
        .with("messages", conversation(request, false))
        .with("max_tokens", request.max_output_tokens)
        .with("stream", false);
    if !request.system.is_empty() {
        body.set("system", request.system.as_str());
    }
    ("/v1/messages", body.into())
}

pub(super) fn read(body: &Value) -> Result<Read, &'static str> {
    let blocks = body.get("content").and_then(Value::as_list).ok_or("it has no content")?;
    let texts = blocks.iter().filter(|block| block.get("type").and_then(Value::as_text) == Some("text"));
    let texts: Vec<&str> = texts.filter_map(|block| block.get("text").and_then(Value::as_text)).collect();
    if texts.is_empty() {
        return Err("its content has no text");
    }
    Ok(Read {
        text: texts.concat(),
        usage: body.get("usage").and_then(counted),
        cut_off: body.get("stop_reason").and_then(Value::as_text) == Some("max_tokens"),
    })
}

/// What was written to a cache or read from one is input too.
fn counted(counts: &Value) -> Option<Usage> {
    let number = |key: &str| counts.get(key).and_then(Value::as_u64);
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"].map(|key| number(key).unwrap_or(0));
    let input = cached.into_iter().fold(number("input_tokens")?, u64::saturating_add);
    Some(Usage { input, output: number("output_tokens")? })
}
