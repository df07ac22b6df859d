//! Ollama's own chat, whose `num_predict` bounds the reply for every model it runs.

use auto_json::{Record, Value};

use super::{Read, Request, conversation, usage};

pub(super) fn write(request: &Request) -> (&'static str, Value) {
    let body = Record::new()
        .with("model", request.model.name.as_str())
        .with("messages", conversation(request, true))
        .with("options", Record::new().with("num_predict", request.max_output_tokens))
        .with("stream", false);
    ("/api/chat", body.into())
}

pub(super) fn read(body: &Value) -> Result<Read, &'static str> {
    let text = body.get("message").and_then(|message| message.get("content")).and_then(Value::as_text);
    Ok(Read {
        text: text.ok_or("its message has no text")?.to_owned(),
        usage: usage(body.get("prompt_eval_count"), body.get("eval_count")),
        cut_off: body.get("done_reason").and_then(Value::as_text) == Some("length"),
    })
}
