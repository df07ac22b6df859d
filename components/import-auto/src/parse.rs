//! Reads one `auto-jsonl` file: a header, then spans and at most one task output.
//!
//! Strict: whatever version 0 does not define refuses the whole file with the line. The
//! one lenience, asked for by `recover-partial`, is for recorders that were killed: a
//! last line that was cut off is dropped, and a parent whose line was never written (lines
//! are written when a span closes) is forgotten. Such a trace is partial.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Canonical, Value};

use crate::fields::{Fields, bad, torn};
use crate::{Fault, Source, Span, SpanKind, Trace};

/// Whether a file that starts like this is an `auto-jsonl` trace.
pub fn detect(head: &str) -> bool {
    let Some(first) = head.lines().find(|line| !line.trim().is_empty()) else { return false };
    match Value::parse(first) {
        Ok(line) => line.get("t").and_then(Value::as_text) == Some("trace") && line.get("v").is_some(),
        // A header longer than the head: only its outline can be seen.
        Err(_) => first.trim_start().starts_with('{') && first.contains("\"trace_id\"") && !head.trim().contains('\n'),
    }
}

/// Reads the file's trace.
pub fn parse(source: &Source) -> Result<Trace, Fault> {
    let mut reading = Reading::default();
    let last = source.text.split('\n').count();
    for (number, line) in (1..).zip(source.text.split('\n')) {
        let cut_in_character = number == last && source.undecodable > 0;
        if line.trim_ascii().is_empty() && !cut_in_character {
            continue;
        }
        // What follows the last newline is a line that was never finished.
        match Value::parse(line) {
            Ok(_) | Err(_) if cut_in_character => reading.torn(number, source.recover_partial)?,
            Ok(value) => reading.line(number, value)?,
            Err(_) if number == last => reading.torn(number, source.recover_partial)?,
            Err(error) => return Err(bad(number, format!("not JSON: {error}"))),
        }
    }
    reading.finish(source.recover_partial)
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    header: Option<Header>,
    /// By sequence number, with the line they are on.
    spans: BTreeMap<u64, (usize, Span)>,
    ids: BTreeSet<u64>,
    output: Option<Canonical>,
    partial: bool,
}

struct Header {
    id: String,
    task: String,
    recorder: String,
    started: u64,
    attributes: Vec<(String, String)>,
    input: Option<Canonical>,
}

impl Reading {
    fn line(&mut self, number: usize, value: Value) -> Result<(), Fault> {
        let Value::Record(record) = value else {
            return Err(bad(number, format!("{} where an object belongs", value.kind())));
        };
        let mut fields = Fields::new(number, record);
        let version = fields.required("v")?;
        if version.as_u64() != Some(0) {
            return Err(fields.refuse(format!(
                "format version {version}; this importer reads version 0 and, in files of its own, version 1"
            )));
        }
        let kind = fields.text("t")?;
        match (kind.as_str(), &self.header) {
            ("trace", None) => self.header(fields),
            ("trace", Some(_)) => Err(fields.refuse("a second header; a file holds one trace: split it")),
            ("span" | "task_output", None) => {
                Err(fields.refuse("the first line must be the header (\"t\": \"trace\")"))
            }
            ("span", Some(_)) => self.span(fields),
            ("task_output", Some(_)) => self.task_output(fields),
            (other, _) => Err(fields
                .refuse(format!("a line of type {other:?}; version 0 knows \"trace\", \"span\" and \"task_output\""))),
        }
    }

    fn header(&mut self, mut fields: Fields) -> Result<(), Fault> {
        fields.is("header");
        let id = fields.text("trace_id")?;
        if id.is_empty() {
            return Err(fields.refuse("the trace id is empty"));
        }
        let started = fields.micros("started_at_ms")?;
        let mut attributes = fields.attributes()?;
        let started = take_micros(&mut attributes, "started_at_us").unwrap_or(started);
        self.header = Some(Header {
            id,
            task: fields.text("task")?,
            recorder: fields.text("sdk")?,
            started,
            attributes,
            input: fields.not_null("task_input")?,
        });
        fields.finish()
    }

    fn own_trace(&self, fields: &mut Fields) -> Result<(), Fault> {
        let id = fields.text("trace_id")?;
        match &self.header {
            Some(header) if header.id == id => Ok(()),
            _ => Err(fields.refuse(format!("belongs to another trace, {id:?}; a file holds one trace: split it"))),
        }
    }

    fn span(&mut self, mut fields: Fields) -> Result<(), Fault> {
        fields.is("span");
        self.own_trace(&mut fields)?;
        let kind = fields.text("kind")?;
        let kind = span_kind(&kind).ok_or_else(|| {
            fields.refuse(format!(
                "kind {kind:?}; version 0 knows model_call, tool_call, env_read, memory_op, branch and span"
            ))
        })?;
        let started = fields.micros("started_at_ms")?;
        let duration = fields.micros("duration_ms")?;
        let mut attributes = fields.attributes()?;
        let span = Span {
            id: fields.integer("span_id")?,
            parent: fields.optional_integer("parent_span_id")?,
            sequence: fields.integer("seq")?,
            kind,
            name: fields.text("name")?,
            input: fields.required("input")?.canonical().into_string(),
            output: fields.value_or_null("output").into_string(),
            error: fields.optional_text("error")?,
            started: take_micros(&mut attributes, "started_at_us").unwrap_or(started),
            duration: Some(take_micros(&mut attributes, "duration_us").unwrap_or(duration)),
            attributes,
        };
        if !self.ids.insert(span.id) {
            return Err(fields.refuse(format!("span id {} is there twice", span.id)));
        }
        if let Some((earlier, _)) = self.spans.get(&span.sequence) {
            return Err(fields.refuse(format!("sequence number {} is already that of line {earlier}", span.sequence)));
        }
        self.spans.insert(span.sequence, (fields.line(), span));
        fields.finish()
    }

    fn task_output(&mut self, mut fields: Fields) -> Result<(), Fault> {
        fields.is("task output");
        self.own_trace(&mut fields)?;
        fields.integer("recorded_at_ms")?;
        let output = fields.not_null("output")?;
        let output = output.ok_or_else(|| fields.refuse("the task output has no field \"output\""))?;
        if self.output.replace(output).is_some() {
            return Err(fields.refuse("a second task output; a run has one"));
        }
        fields.finish()
    }

    /// Drops the last line, which is not whole.
    fn torn(&mut self, number: usize, recover: bool) -> Result<(), Fault> {
        if self.header.is_none() {
            return Err(bad(number, "the header itself is cut off, so nothing can be recovered; record the run again"));
        }
        if !recover {
            return Err(torn(number, "the last line is cut off: the recorder was stopped while writing it"));
        }
        self.partial = true;
        Ok(())
    }

    fn finish(mut self, recover: bool) -> Result<Trace, Fault> {
        let header = self.header.take().ok_or_else(|| bad(1, "the file is empty; a trace starts with its header"))?;
        let mut opened = BTreeSet::new();
        let mut spans = Vec::with_capacity(self.spans.len());
        for (line, mut span) in self.spans.into_values() {
            if let Some(parent) = span.parent.filter(|parent| !opened.contains(parent)) {
                if self.ids.contains(&parent) {
                    return Err(bad(line, format!("parent {parent} did not open before span {}", span.id)));
                }
                if !recover {
                    return Err(torn(line, format!("parent {parent} of span {} was never written", span.id)));
                }
                span.parent = None;
                self.partial = true;
            }
            opened.insert(span.id);
            spans.push(span);
        }
        Ok(Trace {
            id: header.id,
            task: header.task,
            recorder: header.recorder,
            started: header.started,
            attributes: header.attributes,
            input: header.input.map(Canonical::into_string),
            output: self.output.map(Canonical::into_string),
            partial: self.partial,
            spans,
        })
    }
}

/// The kind of that name, which may be one of another format's own.
pub(crate) fn any_kind(name: &str) -> SpanKind {
    span_kind(name).unwrap_or_else(|| SpanKind::Other(name.to_owned()))
}

fn span_kind(name: &str) -> Option<SpanKind> {
    Some(match name {
        "model_call" => SpanKind::ModelCall,
        "tool_call" => SpanKind::ToolCall,
        "env_read" => SpanKind::EnvRead,
        "memory_op" => SpanKind::MemoryOp,
        "branch" => SpanKind::Branch,
        "span" => SpanKind::Structural,
        _ => return None,
    })
}

/// Takes a finer time than the format's milliseconds out of the attributes. An attribute
/// of that name that is not a decimal number is somebody else's, and stays.
fn take_micros(attributes: &mut Vec<(String, String)>, key: &str) -> Option<u64> {
    let at = attributes.iter().position(|(own, _)| own == key)?;
    let text = &attributes[at].1;
    let micros = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()?;
    attributes.remove(at);
    Some(micros)
}
