//! The importer of `anthropic`: requests to the Messages interface with their answers,
//! recorded as `{"request", "response"}` (what `proxy` records), whole or streamed, and
//! batches with their results.

mod joined;

use auto_importer::chat::{self, Message};
use auto_importer::exchange::{self, Exchange, Joined, Part, cut_off, is_anthropic};
use auto_importer::{
    Batch, Document, Fault, Importer, Notes, Record, Source, Value, as_json, bad, batch, check_text, documents, first,
};

/// The task where the caller names none.
const TASK: &str = "anthropic";

/// The pass.
pub struct Component;

impl Importer for Component {
    const FORMAT: &'static str = "anthropic";

    fn detect(head: &str) -> bool {
        match first(head) {
            Some(one) => is_ours(&one),
            None => {
                let start = head.trim_start_matches(['[', ' ', '\n', '\r', '\t', '\u{feff}']);
                start.starts_with('{') && head.contains("\"request\"") && head.contains("\"anthropic")
            }
        }
    }

    fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
        check_text(source)?;
        let task = source.task.as_deref().unwrap_or(TASK);
        let mut notes = Notes::default();
        let parts = documents(&source.text)?.iter().map(part).collect::<Result<Vec<_>, Fault>>()?;
        let joined = exchange::join(parts, Self::FORMAT, task, &mut notes);
        let mut traces = Vec::new();
        for one in &joined {
            let Some(exchange) = read(one) else {
                notes.unusable("unknown-document", "requests without messages", &one.place);
                continue;
            };
            traces.push(one.trace(exchange, Self::FORMAT, task, &mut notes));
        }
        Ok(batch(traces, from, notes))
    }
}

auto_importer::component!(Component);

fn is_ours(one: &Value) -> bool {
    if one.get("custom_id").is_some() {
        return one.get("params").is_some() || one.get("result").is_some();
    }
    let Some(request) = one.get("request").cloned().map(as_json) else { return false };
    request.get("messages").is_some() && is_anthropic(&request, one.get("response"), one.get("path"))
}

/// What a document says about an exchange.
fn part(document: &Document<'_>) -> Result<(String, Part), Fault> {
    let value = document.value()?;
    let place = document.place();
    let Value::Record(mut record) = value else {
        return Err(bad(&place, format!("{} where an object belongs", value.kind())));
    };
    if let Some(request) = record.remove("request") {
        let request = as_json(request);
        let response = record.remove("response").filter(|response| *response != Value::Null).map(answer);
        return Ok((place, Part::Whole { request, response, about: record }));
    }
    let id = record.get("custom_id").and_then(Value::as_text).map(str::to_owned);
    let part = match (id, record.remove("params"), record.remove("result")) {
        (Some(id), Some(params), _) => Part::Asked(id, params),
        (Some(id), None, Some(result)) => {
            let failed = || {
                Record::new()
                    .with("type", "error")
                    .with("error", result.get("error").cloned().or_else(|| result.get("type").cloned()))
            };
            Part::Answered(id, result.get("message").cloned().unwrap_or_else(|| failed().into()))
        }
        _ => Part::Unknown("documents of no shape that the format has"),
    };
    Ok((place, part))
}

/// An answer as one object: streamed ones are put together.
fn answer(response: Value) -> Value {
    match response {
        Value::Text(text) if auto_importer::stream::is_stream(&text) => joined::stream(&text),
        Value::List(events) => joined::events(&events),
        other => as_json(other),
    }
}

fn read(joined: &Joined) -> Option<Exchange> {
    let request = joined.request.as_record()?;
    let system = request.get("system").filter(|system| **system != Value::Null);
    let mut history: Vec<Message> =
        system.map(|system| Message::new("system", chat::content(system))).into_iter().collect();
    for message in request.get("messages")?.as_list()? {
        history.extend(chat::anthropic(message.get("role")?.as_text()?, message.get("content")?)?);
    }
    let mut exchange = Exchange::asked(request, history, &["model", "messages", "system"]);
    if let Some(response) = &joined.response {
        answered(&mut exchange, response);
    }
    Some(exchange)
}

fn answered(exchange: &mut Exchange, response: &Value) {
    exchange.about(response, &["content", "type", "role"]);
    let said = response.get("content").and_then(|content| chat::anthropic("assistant", content));
    exchange.answer = said.and_then(|said| said.into_iter().next_back()).map(|said| said.said().into());
    let reason = response.get("stop_reason").and_then(Value::as_text);
    if exchange.error.is_none() {
        exchange.error = match (reason, &exchange.answer) {
            (_, None) => Some("the answer holds no content".into()),
            (None, _) => Some("the answer does not say that it ended".into()),
            (reason, _) => cut_off(reason),
        };
    }
}
