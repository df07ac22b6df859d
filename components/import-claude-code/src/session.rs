//! What the lines of a session say together: answers that are spread over several lines, and the tools
//! that they call, paired with their results by id.

use std::collections::{HashMap, HashSet};

use auto_importer::chat::{self, Call, Message};
use auto_importer::exchange::tokens;
use auto_importer::{
    Importer as _, Notes, Record, Span, SpanKind, Trace, UNCAPTURED, Value, identity, json, micros, set, span,
};

use crate::Component;

/// Lines that say nothing of what the agent did.
const SILENT: [&str; 9] = [
    "summary",
    "system",
    "file-history-snapshot",
    "attachment",
    "progress",
    "queue-operation",
    "custom-title",
    "last-prompt",
    "permission-mode",
];

/// The sessions of a file, in the order in which they begin.
#[derive(Default)]
pub struct Sessions {
    order: Vec<String>,
    by_id: HashMap<String, Session>,
    seen: HashSet<String>,
}

/// One agent's part of a session.
#[derive(Default)]
struct Session {
    attributes: Vec<(String, String)>,
    spans: Vec<Span>,
    /// The span of each answer, by the id of the message.
    answers: HashMap<String, usize>,
    /// What each answer said so far.
    said: HashMap<usize, Message>,
    /// The span of each call that has no result yet, by its id.
    open: HashMap<String, usize>,
    /// What was said to the model since its last answer.
    told: Vec<Message>,
    started: u64,
}

impl Sessions {
    /// Takes in a line.
    pub fn line(&mut self, line: Record, place: &str, notes: &mut Notes) {
        let text = |key: &str| line.get(key).and_then(Value::as_text);
        let kind = text("type").unwrap_or_default();
        if SILENT.contains(&kind) {
            return;
        }
        let (Some(session), true) = (text("sessionId"), matches!(kind, "user" | "assistant")) else {
            return notes.unusable("unknown-line", "lines of a kind that is not known", place);
        };
        if text("uuid").is_some_and(|id| !self.seen.insert(id.to_owned())) {
            return notes.remark("duplicate", "lines that are there twice", place);
        }
        let helper = line.get("isSidechain").and_then(Value::as_bool) == Some(true);
        let own = if helper { text("agentId").unwrap_or("sidechain") } else { "" };
        let id = identity(&[Component::FORMAT, session, own]);
        let one = self.by_id.entry(id.clone()).or_insert_with(|| {
            self.order.push(id);
            Session::default()
        });
        one.about(&line, session, own);
        let at = line.get("timestamp").and_then(micros).unwrap_or(0);
        one.started = if one.started == 0 { at } else { one.started };
        let Some(message) = line.get("message").filter(|message| message.get("content").is_some()) else {
            return notes.unusable("unknown-line", "lines without a message", place);
        };
        match kind {
            "assistant" => one.answer(message, &line, at, place, notes),
            _ => one.told(message, at, place, notes),
        }
    }

    /// The traces; what was asked for and has no result is said.
    pub fn traces(mut self, task: &str, partial: bool, notes: &mut Notes) -> Vec<Trace> {
        let order = std::mem::take(&mut self.order);
        let found = order.into_iter().filter_map(|id| Some((self.by_id.remove(&id)?, id)));
        found.map(|(session, id)| session.into_trace(id, task, partial, notes)).collect()
    }
}

impl Session {
    fn about(&mut self, line: &Record, session: &str, helper: &str) {
        for key in ["cwd", "version", "gitBranch"] {
            if let Some(text) = line.get(key).and_then(Value::as_text).filter(|text| !text.is_empty())
                && self.attributes.iter().all(|(own, _)| own != key)
            {
                set(&mut self.attributes, key, text);
            }
        }
        set(&mut self.attributes, "session", session);
        if !helper.is_empty() {
            set(&mut self.attributes, "agent", helper);
        }
    }

    /// A line of an answer; one answer may be several lines with the same id.
    fn answer(&mut self, message: &Value, line: &Record, at: u64, place: &str, notes: &mut Notes) {
        let text = |key: &str| message.get(key).and_then(Value::as_text).filter(|text| !text.is_empty());
        let model = text("model").unwrap_or("unknown");
        if model == "<synthetic>" {
            return notes.remark("synthetic", "answers that the agent made up itself, which no model gave", place);
        }
        let said = message.get("content").and_then(|content| chat::anthropic("assistant", content));
        let Some(said) = said.and_then(|said| said.into_iter().next_back()) else {
            return notes.unusable("unknown-line", "answers of a form that is not known", place);
        };
        let own = self.spans.len().to_string();
        let id = text("id").unwrap_or(&own).to_owned();
        let number = *self.answers.entry(id).or_insert(self.spans.len());
        if number == self.spans.len() {
            notes.remark("uncaptured", "answers of the model, of whose requests a session does not hold all", place);
            let mut asked = span(SpanKind::Structural, model);
            let input = Record::new().with("messages", chat::list(&std::mem::take(&mut self.told)));
            asked.input = json(&input.into());
            set(&mut asked.attributes, UNCAPTURED, "model_call");
            self.push(asked, at);
        }
        let calls = said.calls.clone();
        let whole = self.said.entry(number).or_insert_with(|| Message::new("assistant", Value::Null));
        join(whole, said);
        let asked = &mut self.spans[number];
        asked.output = json(&whole.said().into());
        asked.duration = at.checked_sub(asked.started);
        if let Some(tokens) = message.get("usage").and_then(tokens).filter(|tokens| *tokens > 0) {
            set(&mut asked.attributes, "tokens", tokens.to_string());
        }
        if line.get("isApiErrorMessage").and_then(Value::as_bool) == Some(true) {
            asked.error = Some("the provider answered with an error".to_owned());
        }
        calls.into_iter().for_each(|call| self.call(call, number, at, place, notes));
    }

    fn call(&mut self, call: Call, answer: usize, at: u64, place: &str, notes: &mut Notes) {
        let Some(id) = call.id.filter(|id| !self.open.contains_key(id)) else {
            return notes.unusable("bad-call", "calls without an id, or with that of another", place);
        };
        let mut tool = span(SpanKind::ToolCall, call.name);
        tool.input = json(&call.arguments);
        tool.parent = Some(answer as u64 + 1);
        self.open.insert(id, self.spans.len());
        self.push(tool, at);
    }

    /// What the model is told: by somebody, or by a tool.
    fn told(&mut self, message: &Value, at: u64, place: &str, notes: &mut Notes) {
        let content = message.get("content").cloned().unwrap_or(Value::Null);
        let Some(messages) = chat::anthropic("user", &content) else {
            return notes.unusable("unknown-line", "messages of a form that is not known", place);
        };
        for mut message in messages {
            match &message.answers {
                None => self.told.push(message),
                Some(id) => match self.open.remove(id) {
                    Some(tool) => {
                        let tool = &mut self.spans[tool];
                        message.name = Some(tool.name.clone());
                        tool.output = json(&message.content);
                        tool.duration = at.checked_sub(tool.started);
                        if message.more.get("is_error").is_some() {
                            tool.error =
                                Some(message.content.as_text().unwrap_or("the tool says that it failed").to_owned());
                        }
                        self.told.push(message);
                    }
                    None => notes.unusable("no-call", "results of tools whose call is not in the file", place),
                },
            }
        }
    }

    fn push(&mut self, mut span: Span, at: u64) {
        (span.id, span.sequence, span.started) = (self.spans.len() as u64 + 1, self.spans.len() as u64 + 1, at);
        self.spans.push(span);
    }

    fn into_trace(mut self, id: String, task: &str, partial: bool, notes: &mut Notes) -> Trace {
        let mut open: Vec<usize> = self.open.into_values().collect();
        open.sort_unstable();
        for number in open {
            notes.unusable("no-result", "calls of tools without a result; they witness nothing", &id);
            self.spans[number].error = Some("the session holds no result".to_owned());
        }
        Trace {
            id,
            task: task.to_owned(),
            recorder: Component::FORMAT.into(),
            started: self.started,
            attributes: self.attributes,
            input: None,
            output: None,
            partial,
            spans: self.spans,
        }
    }
}

/// Adds what a further line of an answer says.
fn join(whole: &mut Message, more: Message) {
    whole.calls.extend(more.calls);
    whole.reasoned |= more.reasoned;
    whole.content = match (std::mem::replace(&mut whole.content, Value::Null), more.content) {
        (before, Value::Null) => before,
        (Value::Null, content) => content,
        (Value::List(before), content) => Value::List(before.into_iter().chain(parts(content)).collect()),
        (before, content) => parts(before).into_iter().chain(parts(content)).collect::<Vec<_>>().into(),
    };
}

fn parts(content: Value) -> Vec<Value> {
    match content {
        Value::List(parts) => parts,
        text => vec![Record::new().with("type", "text").with("text", text).into()],
    }
}
