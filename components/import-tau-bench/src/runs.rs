//! Chat histories as spans.
//!
//! Of each run, every assistant message becomes a `model_call` (input: the messages
//! before it; output: the message), every tool message a `tool_call` (input: the parsed
//! arguments; output: the content, also where it reports an error: the tool answered),
//! and every message of the simulated user after the first a `user_call`. Call ids are
//! random, so they pair calls with replies and are kept nowhere; arguments are parsed, so
//! that their layout does not count. The format records no times and no task name.

use std::collections::HashMap;

use auto_importer::{BATCH, Document, Notes, bad, check_text, documents};
use auto_json::{Record, Value};

use crate::{Batch, Fault, Source, Span, SpanKind, Trace};

/// The task where the caller names none.
const TASK: &str = "tau-bench";

/// Whether a file that starts like this is a list of tau-bench runs.
pub fn detect(head: &str) -> bool {
    let inside = head.trim_ascii_start().strip_prefix('[').map(str::trim_ascii_start);
    inside.is_some_and(|inside| inside.starts_with('{'))
        && head.contains("\"task_id\"")
        && (head.contains("\"reward\"") || head.contains("\"traj\""))
}

/// The traces from the `from`-th run on, as many as fill a batch.
pub fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
    check_text(source)?;
    if !source.text.trim_ascii_start().starts_with('[') {
        return Err(bad("", "the file is not a list of runs"));
    }
    let task = source.task.as_deref().unwrap_or(TASK);
    let mut batch = Batch { traces: Vec::new(), notes: Vec::new(), next: None };
    let (mut size, mut notes) = (0, Notes::default());
    for (number, document) in (0..).zip(documents(&source.text)?).skip(from as usize) {
        if size >= BATCH {
            batch.next = Some(number);
            break;
        }
        let trace = run(&document, task, &mut notes)?;
        size += trace.spans.iter().map(|span| span.input.len() + span.output.len()).sum::<usize>();
        batch.traces.push(trace);
    }
    batch.notes = notes.finish();
    Ok(batch)
}

fn run(document: &Document<'_>, task: &str, notes: &mut Notes) -> Result<Trace, Fault> {
    let place = document.place();
    let run = document.value()?;
    let messages = run.get("traj").and_then(Value::as_list);
    let messages = messages.ok_or_else(|| bad(&place, "the run has no list \"traj\" of messages"))?;
    let mut history = History::default();
    for (index, message) in messages.iter().enumerate() {
        history.add(message).map_err(|why| bad(&format!("{place}/traj/{index}"), why))?;
    }
    if history.spans.is_empty() {
        notes.unusable("no-calls", "runs without an answer of the assistant", &place);
    }
    let note = |key: &str| run.get(key).map(|value| (key.to_owned(), as_note(value)));
    Ok(Trace {
        id: auto_importer::identity(&[task, run.canonical().as_str()]),
        task: task.to_owned(),
        recorder: "tau-bench".into(),
        started: 0,
        attributes: ["reward", "task_id", "trial"].into_iter().filter_map(note).collect(),
        input: None,
        output: None,
        partial: false,
        spans: history.spans,
    })
}

fn as_note(value: &Value) -> String {
    value.as_text().map_or_else(|| value.to_string(), str::to_owned)
}

/// A run as far as it was read.
#[derive(Default)]
struct History {
    /// The canonical texts of the messages so far, with commas between.
    messages: String,
    /// Tool calls that were asked for, by id.
    calls: HashMap<String, (String, Value)>,
    answered: bool,
    spans: Vec<Span>,
}

impl History {
    fn add(&mut self, message: &Value) -> Result<(), String> {
        let record =
            message.as_record().ok_or_else(|| format!("a message must be an object, not {}", message.kind()))?;
        let role = record.get("role").and_then(Value::as_text).ok_or("the message has no role")?;
        let mut kept = record.clone();
        match role {
            "assistant" => {
                if let Some(calls) = record.get("tool_calls").and_then(Value::as_list) {
                    let calls: Result<Vec<Value>, String> = calls.iter().map(|call| self.call(call)).collect();
                    kept.set("tool_calls", calls?);
                }
                let mut output = kept.clone();
                output.remove("role");
                self.span(SpanKind::ModelCall, "assistant", self.so_far(), Value::Record(output));
                self.answered = true;
            }
            "tool" => {
                let id = kept.remove("tool_call_id").ok_or("the tool message has no tool_call_id")?;
                let call = id.as_text().and_then(|id| self.calls.get(id)).cloned();
                let (name, arguments) = call.ok_or_else(|| format!("no message before it asks for the call {id}"))?;
                let input = arguments.canonical().into_string();
                self.span(SpanKind::ToolCall, &name, input, content(record));
            }
            "user" if self.answered => {
                self.span(SpanKind::Other("user_call".into()), "user", self.so_far(), content(record));
            }
            "user" | "system" | "developer" => {}
            other => return Err(format!("role {other:?}; known are system, developer, user, assistant and tool")),
        }
        if !self.messages.is_empty() {
            self.messages.push(',');
        }
        self.messages.push_str(Value::Record(kept).canonical().as_str());
        Ok(())
    }

    /// Remembers a call by its id and gives it without.
    fn call(&mut self, call: &Value) -> Result<Value, String> {
        let function = call.get("function").ok_or("a tool call has no function")?;
        let name = function.get("name").and_then(Value::as_text).ok_or("a tool call has no function name")?;
        let written = function.get("arguments").cloned().unwrap_or(Value::Null);
        // Models do write arguments that are no JSON; then the text is what was called with.
        let arguments = written.as_text().and_then(|text| Value::parse(text).ok()).unwrap_or(written);
        if let Some(id) = call.get("id").and_then(Value::as_text) {
            self.calls.insert(id.to_owned(), (name.to_owned(), arguments.clone()));
        }
        Ok(Record::new().with("name", name).with("arguments", arguments).into())
    }

    fn so_far(&self) -> String {
        format!("[{}]", self.messages)
    }

    fn span(&mut self, kind: SpanKind, name: &str, input: String, output: Value) {
        let sequence = self.spans.len() as u64 + 1;
        self.spans.push(Span {
            id: sequence,
            parent: None,
            sequence,
            kind,
            name: name.to_owned(),
            input,
            output: output.canonical().into_string(),
            error: None,
            started: 0,
            duration: None,
            attributes: Vec::new(),
        });
    }
}

fn content(message: &Record) -> Value {
    message.get("content").cloned().unwrap_or(Value::Null)
}
