//! The importer of `openai`: requests to OpenAI's interfaces with their answers. Read are
//! recorded exchanges (`{"request", "response"}`; what `proxy` records), whole or streamed,
//! of chat completions, responses and the older completions; batch files; and files for
//! fine-tuning. This file says what a document is; [`chat`] and [`responses`] read the two
//! interfaces, [`joined`] puts streamed answers together.

mod chat;
mod joined;
mod responses;

use auto_importer::exchange::{self, Joined, Part, conversation, is_anthropic};
use auto_importer::{
    Batch, Document, Fault, Importer, Notes, Record, Source, Trace, Value, as_json, at, bad, batch, check_text,
    documents, first, identity,
};

/// The task where the caller names none.
const TASK: &str = "openai";

/// The pass.
pub struct Component;

impl Importer for Component {
    const FORMAT: &'static str = "openai";

    fn detect(head: &str) -> bool {
        match first(head) {
            Some(one) => is_ours(&one),
            // A document longer than the head: only its outline can be seen.
            None => {
                let start = head.trim_start_matches(['[', ' ', '\n', '\r', '\t', '\u{feff}']);
                let keys = ["{\"request\"", "{\"messages\"", "{\"custom_id\"", "{\"model\""];
                keys.iter().any(|key| start.replacen("{ ", "{", 1).starts_with(key)) && !head.contains("\"anthropic")
            }
        }
    }

    fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
        check_text(source)?;
        let task = source.task.as_deref().unwrap_or(TASK);
        let mut reading = Reading { task, notes: Notes::default(), parts: Vec::new(), traces: Vec::new() };
        for document in documents(&source.text)? {
            reading.document(&document)?;
        }
        reading.finish(from)
    }
}

auto_importer::component!(Component);

/// Whether a document is one that this importer knows, and no other.
fn is_ours(one: &Value) -> bool {
    let has = |key: &str| one.get(key).is_some();
    let request = one.get("request").cloned().map(as_json);
    if let Some(request) = &request {
        // Anthropic's exchanges have their own importer.
        return !is_anthropic(request, one.get("response"), one.get("path")) && asks(body(request));
    }
    if has("custom_id") {
        return has("body") || has("response");
    }
    let roles = |list: &Value| list.as_list().is_some_and(|all| all.iter().all(|item| item.get("role").is_some()));
    let messages = one.get("messages").is_some_and(roles);
    (messages && !has("run_type") && !has("traj")) || (has("prompt") && has("completion")) || has("preferred_output")
}

/// Whether a request is one to a model.
fn asks(request: &Value) -> bool {
    ["messages", "input", "prompt"].iter().any(|key| request.get(key).is_some())
}

/// The body of a request that is told with its method and address.
fn body(request: &Value) -> &Value {
    request.get("body").unwrap_or(request)
}

struct Reading<'s> {
    task: &'s str,
    notes: Notes,
    parts: Vec<(String, Part)>,
    traces: Vec<Trace>,
}

impl Reading<'_> {
    fn document(&mut self, document: &Document<'_>) -> Result<(), Fault> {
        let value = document.value()?;
        let place = document.place();
        let Value::Record(record) = value else {
            return Err(bad(&place, format!("{} where an object belongs", value.kind())));
        };
        if record.get("request").is_none() && (record.get("messages").is_some() || record.get("prompt").is_some()) {
            self.example(&record, &place);
        } else if record.get("preferred_output").is_some() {
            self.preference(&record, &place);
        } else {
            self.parts.push((place, part(record)));
        }
        Ok(())
    }

    /// A line of a file for fine-tuning: a conversation, or a prompt and its completion.
    fn example(&mut self, record: &Record, place: &str) {
        let more = |taken: &[&str]| -> Record {
            record.clone().into_iter().filter(|(key, _)| !taken.contains(&key.as_str())).collect()
        };
        let spans = match record.get("messages").and_then(auto_importer::chat::messages) {
            Some(messages) => {
                conversation(messages, &more(&["messages", "parallel_tool_calls"]), "assistant", &mut self.notes, place)
            }
            None => {
                let input = more(&["completion"]);
                let Some(completion) = record.get("completion") else {
                    return self.notes.unusable("no-answer", "prompts without a completion", place);
                };
                let answer = Record::new().with("content", completion.clone());
                vec![model_call("assistant", input.into(), answer.into())]
            }
        };
        self.conversation(record, spans, place);
    }

    /// A line of a file for preference tuning; only what was preferred teaches.
    fn preference(&mut self, record: &Record, place: &str) {
        let input = record.get("input").cloned().unwrap_or(Value::Null);
        let both = [at(&input, "/messages"), record.get("preferred_output")];
        let messages: Option<Vec<_>> = both.into_iter().map(|list| auto_importer::chat::messages(list?)).collect();
        let Some([history, answer]) = messages.as_deref() else {
            return self.notes.unusable("unknown-document", "documents of no shape that the format has", place);
        };
        let messages = [history.clone(), answer[..answer.len().min(1)].to_vec()].concat();
        let more = input.as_record().cloned().unwrap_or_default();
        let more =
            more.into_iter().filter(|(key, _)| !["messages", "parallel_tool_calls"].contains(&key.as_str())).collect();
        let spans = conversation(messages, &more, "assistant", &mut self.notes, place);
        self.conversation(record, spans, place);
    }

    fn conversation(&mut self, record: &Record, spans: Vec<auto_importer::Span>, place: &str) {
        if spans.is_empty() {
            return self.notes.unusable("no-calls", "conversations without an answer of the assistant", place);
        }
        // The same example twice in a file is two examples.
        let content = Value::from(record.clone()).to_string();
        let before = self.traces.len();
        self.traces.push(Trace {
            id: identity(&[Component::FORMAT, self.task, &content, &before.to_string()]),
            task: self.task.to_owned(),
            recorder: Component::FORMAT.into(),
            started: 0,
            attributes: Vec::new(),
            input: None,
            output: None,
            partial: false,
            spans,
        });
    }

    fn finish(mut self, from: u32) -> Result<Batch, Fault> {
        let joined = exchange::join(self.parts, Component::FORMAT, self.task, &mut self.notes);
        let chain = responses::Chain::of(&joined);
        for one in &joined {
            if let Some(exchange) = read(one, &chain, &mut self.notes) {
                self.traces.push(one.trace(exchange, Component::FORMAT, self.task, &mut self.notes));
            }
        }
        Ok(batch(self.traces, from, self.notes))
    }
}

fn model_call(name: &str, input: Value, output: Value) -> auto_importer::Span {
    let mut span = auto_importer::span(auto_importer::SpanKind::ModelCall, name);
    (span.id, span.sequence) = (1, 1);
    span.input = auto_importer::json(&input);
    span.output = auto_importer::json(&output);
    span
}

/// What a document says about an exchange.
fn part(mut record: Record) -> Part {
    if let Some(request) = record.remove("request") {
        let request = as_json(request);
        let response = record.remove("response").filter(|response| *response != Value::Null);
        record.remove("recorder_version");
        return Part::Whole { request: body(&request).clone(), response: response.map(answer), about: record };
    }
    let id = record.get("custom_id").and_then(Value::as_text).map(str::to_owned);
    match (id, record.remove("body"), record.remove("response"), record.remove("error")) {
        (Some(id), Some(body), _, _) => Part::Asked(id, body),
        (Some(id), None, Some(response @ Value::Record(_)), _) => {
            Part::Answered(id, response.get("body").cloned().unwrap_or(Value::Null))
        }
        (Some(id), None, _, Some(error)) => Part::Answered(id, Record::new().with("error", error).into()),
        _ if record.get("choices").is_some() || record.get("output").is_some() => {
            Part::Unknown("answers without their requests")
        }
        _ => Part::Unknown("documents of no shape that the format has"),
    }
}

/// An answer as one object: streamed ones are put together.
fn answer(response: Value) -> Value {
    match response {
        Value::Text(text) if auto_importer::stream::is_stream(&text) => joined::stream(&text),
        Value::Text(text) => as_json(Value::Text(text)),
        Value::List(chunks) => joined::chunks(&chunks),
        other => other.get("body").filter(|_| other.get("choices").is_none()).cloned().unwrap_or(other),
    }
}

fn read(joined: &Joined, chain: &responses::Chain<'_>, notes: &mut Notes) -> Option<exchange::Exchange> {
    let request = joined.request.as_record()?;
    let exchange = if request.get("messages").is_some() {
        chat::exchange(request, joined.response.as_ref())
    } else if request.get("input").is_some() {
        responses::exchange(request, joined.response.as_ref(), chain)
    } else if request.get("prompt").is_some() {
        chat::completion(request, joined.response.as_ref())
    } else {
        notes.unusable("unknown-document", "requests that ask no model", &joined.place);
        return None;
    };
    Some(exchange)
}
