//! One request to a model and its answer, as a trace: the results of tools that came in with
//! the request, each a `tool_call`, then the `model_call`.

use std::collections::{HashMap, HashSet};

use crate::chat::{self, Message};
use crate::{Notes, Record, SpanKind, Trace, Value, identity, json, set, span, uncaptured};

/// A request to a model and what came of it.
#[derive(Debug)]
pub struct Exchange {
    /// The model that was asked; the name of the operation.
    pub model: String,
    /// The messages of the request.
    pub history: Vec<Message>,
    /// What else the request says that an answer may depend on.
    pub more: Record,
    /// What was answered; none where that was not recorded.
    pub answer: Option<Value>,
    /// How the request failed, if it did. Such a call witnesses no output.
    pub error: Option<String>,
    /// What is no content: ids, tokens, the provider's notes.
    pub attributes: Vec<(String, String)>,
    /// Microseconds since 1970.
    pub started: u64,
    /// Microseconds.
    pub duration: Option<u64>,
}

/// Members of a request that say who asks or how the answer travels, and not what is asked.
const DELIVERY: [&str; 14] = [
    "stream",
    "stream_options",
    "user",
    "metadata",
    "store",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "prompt_cache_retention",
    "prediction",
    "background",
    "include",
    "previous_response_id",
    "conversation",
];

impl Exchange {
    /// The exchange as far as its request says it; `taken` are the members that are told in `history`.
    pub fn asked(request: &Record, history: Vec<Message>, taken: &[&str]) -> Exchange {
        let mut exchange = Exchange {
            model: request.get("model").and_then(Value::as_text).unwrap_or("unknown").to_owned(),
            history,
            more: Record::new(),
            answer: None,
            error: None,
            attributes: Vec::new(),
            started: 0,
            duration: None,
        };
        exchange.rest(request, taken);
        exchange
    }

    /// What an answer says beside what was said (`taken`): ids, tokens, the provider's notes; and an
    /// error.
    pub fn about(&mut self, response: &Value, taken: &[&str]) {
        let Some(record) = response.as_record() else {
            self.error = Some("the answer is no object".into());
            return;
        };
        if let Some(error) = record.get("error").filter(|error| **error != Value::Null) {
            let said = error.get("message").unwrap_or(error);
            self.error = Some(said.as_text().map_or_else(|| said.to_string(), str::to_owned));
        }
        if let Some(tokens) = record.get("usage").and_then(tokens) {
            set(&mut self.attributes, "tokens", tokens.to_string());
        }
        for (key, value) in crate::pairs(record).into_iter().filter(|(key, _)| !taken.contains(&key.as_str())) {
            // The model's own name is dated; the request's is what one asks for.
            let key = match key.as_str() {
                "object" | "error" | "created" | "created_at" => continue,
                "id" => "response_id",
                "model" => "response_model",
                "stop_reason" => "finish_reason",
                other => other,
            };
            set(&mut self.attributes, key, value);
        }
    }

    /// Sorts what a request says beside its messages: what an answer depends on goes into the
    /// input, the rest into the attributes.
    fn rest(&mut self, request: &Record, taken: &[&str]) {
        for (key, value) in request.iter().filter(|(key, value)| !taken.contains(key) && **value != Value::Null) {
            if DELIVERY.contains(&key) {
                let text = value.as_text().map_or_else(|| value.to_string(), str::to_owned);
                set(&mut self.attributes, key, text);
            } else {
                self.more.set(key, value.clone());
            }
        }
    }

    /// The trace of the exchange, with that id.
    fn into_trace(mut self, id: String, task: &str, recorder: &str, notes: &mut Notes, place: &str) -> Trace {
        chat::pair(&mut self.history);
        let mut spans = Vec::new();
        for (call, said) in chat::fresh(&self.history, notes, place) {
            let mut tool = span(SpanKind::ToolCall, call.name.as_str());
            tool.input = json(&call.arguments);
            tool.output = json(&said.content);
            spans.push(tool);
        }
        if self.history.iter().any(|message| message.reasoned) {
            notes.remark("reasoning", "histories with reasoning of the model, which is left out", place);
        }
        let mut asked = span(SpanKind::ModelCall, self.model);
        let input = self.more.with("messages", chat::list(&self.history));
        asked.input = json(&input.into());
        asked.attributes = self.attributes;
        asked.duration = self.duration;
        match (self.answer, self.error) {
            (answer, Some(error)) => {
                asked.output = json(&answer.unwrap_or(Value::Null));
                notes.unusable("failed-call", "model calls that failed or were cut off; they witness nothing", place);
                asked.error = Some(error);
            }
            (Some(answer), None) => asked.output = json(&answer),
            (None, None) => uncaptured(&mut asked, notes, place),
        }
        spans.push(asked);
        for (number, span) in (1..).zip(&mut spans) {
            (span.id, span.sequence, span.started) = (number, number, self.started);
        }
        Trace {
            id,
            task: task.to_owned(),
            recorder: recorder.to_owned(),
            started: self.started,
            attributes: Vec::new(),
            input: None,
            output: None,
            partial: false,
            spans,
        }
    }
}

/// A whole conversation as a trace: each answer of the assistant is a `model_call` whose input
/// is what stands before it, each result of a tool a `tool_call`.
pub fn conversation(
    mut messages: Vec<Message>,
    more: &Record,
    model: &str,
    notes: &mut Notes,
    place: &str,
) -> Vec<crate::Span> {
    chat::pair(&mut messages);
    let mut spans = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let before = &messages[..at];
        let (kind, name, input, output) = if message.role == "assistant" {
            let input = more.clone().with("messages", chat::list(before));
            (SpanKind::ModelCall, model.to_owned(), Value::from(input), Value::from(message.said()))
        } else if let Some(call) = chat::asked(before, message, notes, place) {
            (SpanKind::ToolCall, call.name.clone(), call.arguments.clone(), message.content.clone())
        } else {
            continue;
        };
        let mut one = span(kind, name);
        (one.input, one.output) = (json(&input), json(&output));
        (one.id, one.sequence) = (spans.len() as u64 + 1, spans.len() as u64 + 1);
        spans.push(one);
    }
    spans
}

/// The answer of a model that may have been cut off: why, in the provider's word.
pub fn cut_off(reason: Option<&str>) -> Option<String> {
    match reason {
        Some("length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS" | "model_length") => {
            Some(format!("the answer was cut off: {}", reason.unwrap_or_default()))
        }
        Some("content_filter" | "SAFETY") => Some(format!("the answer was withheld: {}", reason.unwrap_or_default())),
        _ => None,
    }
}

/// The sum of the tokens that a provider's `usage` names, whatever its words.
pub fn tokens(usage: &Value) -> Option<u64> {
    let number = |keys: &[&str]| keys.iter().find_map(|key| usage.get(key).and_then(Value::as_u64));
    let total = number(&["total_tokens", "total", "totalTokens", "total_token_count", "totalTokenCount"]);
    let input = number(&["prompt_tokens", "input_tokens", "input", "promptTokens", "prompt_token_count"]);
    let output =
        number(&["completion_tokens", "output_tokens", "output", "completionTokens", "candidates_token_count"]);
    // Anthropic counts what it has from its cache apart.
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let cached = cached.iter().filter_map(|key| usage.get(key).and_then(Value::as_u64)).fold(0, u64::saturating_add);
    total.or_else(|| Some(input?.saturating_add(output.unwrap_or(0)).saturating_add(cached)))
}

/// Whether an exchange is one with Anthropic's Messages interface, by its path, or by what was asked and
/// answered.
pub fn is_anthropic(request: &Value, response: Option<&Value>, path: Option<&Value>) -> bool {
    let path = path.and_then(Value::as_text).unwrap_or_default();
    let kind = response.and_then(|response| response.get("type")).and_then(Value::as_text);
    let streamed = response.and_then(Value::as_text).is_some_and(|text| text.contains("message_start"));
    path.split('?').next().is_some_and(|path| path.ends_with("/messages"))
        || kind == Some("message")
        || streamed
        || (request.get("max_tokens").is_some() && request.get("system").is_some())
}

/// What a document of a file says about an exchange.
#[derive(Debug)]
pub enum Part {
    /// A request, the answer where there is one, and what is told about both.
    Whole {
        /// The request.
        request: Value,
        /// The answer.
        response: Option<Value>,
        /// What else the document says.
        about: Record,
    },
    /// A request whose answer is in a document of the same id.
    Asked(String, Value),
    /// An answer whose request is in a document of the same id.
    Answered(String, Value),
    /// Nothing that the format knows; why.
    Unknown(&'static str),
}

/// A request with its answer.
#[derive(Debug)]
pub struct Joined {
    /// Where it is.
    pub place: String,
    /// The id of the trace that becomes of it.
    pub id: String,
    /// The request.
    pub request: Value,
    /// The answer.
    pub response: Option<Value>,
    /// What is told about both.
    pub about: Record,
}

/// Puts requests and answers together by their ids, and gives each pair an id of its own: of
/// its content, and of how many alike were before it, where no answer has an id.
pub fn join(parts: Vec<(String, Part)>, format: &str, task: &str, notes: &mut Notes) -> Vec<Joined> {
    let mut asked: HashMap<String, Value> = HashMap::new();
    for (place, part) in &parts {
        if let Part::Asked(id, request) = part
            && asked.insert(id.clone(), request.clone()).is_some_and(|before| before != *request)
        {
            notes.unusable("conflicting-request", "requests with the id of another; the last one counts", place);
        }
    }
    let answered: HashSet<String> = parts.iter().filter_map(|(_, part)| answered_id(part)).collect();
    let mut seen: HashMap<String, u32> = HashMap::new();
    let mut joined = Vec::new();
    for (place, part) in parts {
        let (request, response, about) = match part {
            Part::Whole { request, response, about } => (request, response, about),
            Part::Answered(id, response) => match asked.get(&id) {
                Some(request) => (request.clone(), Some(response), Record::new().with("custom_id", id)),
                None => {
                    let message = "answers whose request is not in the file: put both files into one";
                    notes.unusable("no-request", message, &place);
                    continue;
                }
            },
            Part::Asked(id, request) if !answered.contains(&id) => (request, None, Record::new().with("custom_id", id)),
            Part::Asked(..) => continue,
            Part::Unknown(why) => {
                notes.unusable("unknown-document", why, &place);
                continue;
            }
        };
        let content = Record::new().with("request", request.clone()).with("response", response.clone());
        let content = Value::from(content.with("about", about.clone())).to_string();
        let before = seen.entry(content.clone()).or_default();
        let told = about.get("id").or_else(|| response.as_ref().and_then(|response| response.get("id")));
        if *before > 0 && told.is_some() {
            notes.remark("duplicate", "exchanges that are there twice, id and all", &place);
            continue;
        }
        let id = match about.get("id").and_then(Value::as_text) {
            // A recorder that gives ids of its own says which exchange it is.
            Some(own) => own.to_owned(),
            None => identity(&[format, task, &content, &before.to_string()]),
        };
        *before += 1;
        joined.push(Joined { place, id, request, response, about });
    }
    joined
}

fn answered_id(part: &Part) -> Option<String> {
    if let Part::Answered(id, _) = part { Some(id.clone()) } else { None }
}

/// Members of a document about an exchange that have a meaning; the others become attributes.
const ABOUT: [&str; 9] =
    ["id", "status", "complete", "started_us", "duration_us", "created", "task", "started_at", "duration_ms"];

impl Joined {
    /// The task it belongs to, where it says so.
    fn task<'t>(&'t self, or: &'t str) -> &'t str {
        self.about.get("task").and_then(Value::as_text).unwrap_or(or)
    }

    /// The trace of the exchange that this is, for a format and the task that the caller names.
    pub fn trace(&self, mut exchange: Exchange, format: &str, task: &str, notes: &mut Notes) -> Trace {
        self.tell(&mut exchange);
        let recorder = self.about.get("recorder").and_then(Value::as_text).unwrap_or(format);
        exchange.into_trace(self.id.clone(), self.task(task), recorder, notes, &self.place)
    }

    /// Takes over what is told about an exchange: times, how it ended, notes.
    fn tell(&self, exchange: &mut Exchange) {
        let number = |key: &str| self.about.get(key).and_then(Value::as_u64);
        let created = || self.about.get("started_at").or_else(|| self.about.get("created"));
        let response = || self.response.as_ref().and_then(|response| response.get("created"));
        let started = number("started_us").or_else(|| created().or_else(response).and_then(crate::micros));
        exchange.started = started.unwrap_or(0);
        exchange.duration = number("duration_us").or_else(|| number("duration_ms")?.checked_mul(1_000));
        let failed = number("status").filter(|status| *status >= 400);
        if exchange.error.is_none() {
            exchange.error = failed.map(|status| format!("status {status}"));
        }
        // Whatever else is wrong with an answer that did not come to its end, this is why.
        if self.about.get("complete").and_then(Value::as_bool) == Some(false) {
            exchange.error = Some("the connection ended before the answer did".into());
        }
        for (key, value) in crate::pairs(&self.about).into_iter().filter(|(key, _)| !ABOUT.contains(&key.as_str())) {
            set(&mut exchange.attributes, &key, value);
        }
    }
}
