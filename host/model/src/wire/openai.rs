//! Chat completions: OpenAI, and everybody who speaks the same.

use auto_json::{Record, Value};

use super::{Read, Request, conversation, usage};

pub(super) fn write(request: &Request, official: bool) -> (&'static str, Value) {
    // OpenAI's newer models refuse the old name, and other servers may not know the new one.
    let limit = if official { "max_completion_tokens" } else { "max_tokens" };
    let body = Record::new()
        .with("model", request.model.name.as_str())
        .with("messages", conversation(request, true))
        .with(limit, request.max_output_tokens)
        .with("stream", false);
    ("/chat/completions", body.into())
}

pub(super) fn read(body: &Value) -> Result<Read, &'static str> {
    let choice = body.get("choices").and_then(Value::as_list).and_then(<[Value]>::first);
    let choice = choice.ok_or("it has no choices")?;
    let text = choice.get("message").and_then(|message| message.get("content")).and_then(Value::as_text);
    let counts = body.get("usage");
    let count = |key: &str| counts.and_then(|counts| counts.get(key));
    Ok(Read {
        text: text.ok_or("its message has no text")?.to_owned(),
        usage: usage(count("prompt_tokens"), count("completion_tokens")),
        cut_off: choice.get("finish_reason").and_then(Value::as_text) == Some("length"),
    })
}
