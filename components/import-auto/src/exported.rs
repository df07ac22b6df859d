//! Version 1 of `auto-jsonl`: what `auto-host store export` writes. A file holds any number of
//! traces, each a header that says how many spans follow it, and these in order of opening. It says
//! all that a store knows of a trace, so that what comes back is the same trace.
//!
//! As strict as version 0. Because a header counts its spans, a file that was cut off anywhere,
//! also between two lines, is told from a whole one; `recover-partial` keeps what there is of the
//! last trace, marked as partial.

use std::collections::BTreeSet;

use auto_importer::BATCH;
use auto_json::{Canonical, Value};

use crate::fields::{Fields, bad, torn};
use crate::parse::any_kind;
use crate::{Batch, Fault, Source, Span, Trace};

/// The version of the format that is read here.
const VERSION: u32 = 1;

/// Whether a text that starts so is of this version.
pub fn detect(text: &str) -> bool {
    let Some(first) = text.lines().find(|line| !line.trim().is_empty()) else { return false };
    let is = |value: &Value| value.get("t").and_then(Value::as_text) == Some("trace");
    Value::parse(first).is_ok_and(|value| is(&value) && value.get("v").and_then(Value::as_u64) == Some(VERSION.into()))
}

/// Reads the traces that begin on the `from`-th line (from 0 on) and behind it, as many as fill a
/// batch.
pub fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
    let cut_in_character = source.undecodable > 0;
    let ended = source.text.ends_with('\n') && !cut_in_character;
    let last = source.text.split('\n').count();
    let mut reading = Reading { recover: source.recover_partial, ..Reading::default() };
    let mut size = 0;
    for (number, line) in (1..).zip(source.text.split('\n')).skip(from as usize) {
        if line.trim_ascii().is_empty() && !(cut_in_character && number == last) {
            continue;
        }
        // A batch ends where a trace does.
        if reading.missing == 0 && size >= BATCH {
            return Ok(reading.batch(u32::try_from(number - 1).ok()));
        }
        size += line.len();
        match Value::parse(line) {
            Ok(value) if !(cut_in_character && number == last) => reading.line(number, value)?,
            // What follows the last line end was never finished.
            _ if number == last && !ended => {
                reading.torn(number)?;
                break;
            }
            Ok(_) => return Err(bad(number, "a character is cut off")),
            Err(error) => return Err(bad(number, format!("not JSON: {error}"))),
        }
    }
    if reading.missing > 0 {
        reading.torn(last)?;
    }
    Ok(reading.batch(None))
}

/// What was read so far.
#[derive(Default)]
struct Reading {
    recover: bool,
    traces: Vec<Trace>,
    /// How many spans of the last trace are still to come.
    missing: u64,
    ids: BTreeSet<u64>,
}

impl Reading {
    fn line(&mut self, number: usize, value: Value) -> Result<(), Fault> {
        let Value::Record(record) = value else {
            return Err(bad(number, format!("{} where an object belongs", value.kind())));
        };
        let mut fields = Fields::of_version(VERSION, number, record);
        let version = fields.required("v")?;
        if version.as_u64() != Some(VERSION.into()) {
            return Err(fields.refuse(format!("format version {version} in a file of version {VERSION}: split it")));
        }
        let kind = fields.text("t")?;
        match (kind.as_str(), self.missing) {
            ("trace", 0) => self.header(fields),
            ("trace", missing) => {
                Err(fields.refuse(format!("the trace before this header says that {missing} more spans follow")))
            }
            ("span", 0) => Err(fields.refuse("one span more than the header before it says")),
            ("span", _) => self.span(fields),
            (other, _) => {
                Err(fields.refuse(format!("a line of type {other:?}; version 1 knows \"trace\" and \"span\"")))
            }
        }
    }

    fn header(&mut self, mut fields: Fields) -> Result<(), Fault> {
        fields.is("header");
        let trace = Trace {
            id: fields.text("trace_id")?,
            task: fields.text("task")?,
            recorder: fields.text("recorder")?,
            started: fields.integer("started_at_us")?,
            attributes: fields.attributes()?,
            input: fields.value("task_input").map(Canonical::into_string),
            output: fields.value("task_output").map(Canonical::into_string),
            partial: fields.truth("partial")?,
            spans: Vec::new(),
        };
        if trace.id.is_empty() {
            return Err(fields.refuse("the trace id is empty"));
        }
        self.missing = fields.integer("spans")?;
        self.ids.clear();
        self.traces.push(trace);
        fields.finish()
    }

    fn span(&mut self, mut fields: Fields) -> Result<(), Fault> {
        fields.is("span");
        let span = Span {
            id: fields.integer("span_id")?,
            parent: fields.optional_integer("parent_span_id")?,
            sequence: fields.integer("seq")?,
            kind: any_kind(&fields.text("kind")?),
            name: fields.text("name")?,
            input: fields.required("input")?.canonical().into_string(),
            output: fields.required("output")?.canonical().into_string(),
            error: fields.optional_text("error")?,
            started: fields.integer("started_at_us")?,
            duration: fields.optional_integer("duration_us")?,
            attributes: fields.attributes()?,
        };
        // A span follows a header.
        let spans = self.traces.last_mut().map(|trace| &mut trace.spans);
        let spans = spans.ok_or_else(|| fields.refuse("the first line must be a header (\"t\": \"trace\")"))?;
        if spans.last().is_some_and(|before| before.sequence >= span.sequence) {
            return Err(fields.refuse(format!("sequence number {} does not rise", span.sequence)));
        }
        if let Some(parent) = span.parent.filter(|parent| !self.ids.contains(parent)) {
            return Err(fields.refuse(format!("parent {parent} did not open before span {}", span.id)));
        }
        if !self.ids.insert(span.id) {
            return Err(fields.refuse(format!("span id {} is there twice", span.id)));
        }
        spans.push(span);
        self.missing -= 1;
        fields.finish()
    }

    /// Leaves out a line that is not whole, and what should have followed it.
    fn torn(&mut self, number: usize) -> Result<(), Fault> {
        if !self.recover {
            return Err(torn(number, "the file is cut off"));
        }
        if self.missing > 0 {
            self.traces.last_mut().into_iter().for_each(|trace| trace.partial = true);
        }
        self.missing = 0;
        Ok(())
    }

    fn batch(self, next: Option<u32>) -> Batch {
        Batch { traces: self.traces, notes: Vec::new(), next }
    }
}
