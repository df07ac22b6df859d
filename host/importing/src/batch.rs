//! What an importer returns, from values to traces; none where it is not of the interface.

use auto_json::{Canonical, Value};
use auto_store::{Span, SpanKind, Trace};

use crate::Note;

/// Some of a file's traces.
pub(crate) struct Batch {
    pub traces: Vec<Trace>,
    pub notes: Vec<Note>,
    pub next: Option<i64>,
}

/// Reads a batch.
pub(crate) fn read(value: &Value) -> Option<Batch> {
    Some(Batch {
        traces: value.get("traces")?.as_list()?.iter().map(trace).collect::<Option<_>>()?,
        notes: value.get("notes")?.as_list()?.iter().map(note).collect::<Option<_>>()?,
        next: value.get("next").and_then(Value::as_i64),
    })
}

fn note(value: &Value) -> Option<Note> {
    Some(Note {
        code: text(value, "code")?,
        message: text(value, "message")?,
        usable: value.get("usable")?.as_bool()?,
        count: value.get("count")?.as_u64()?,
        at: value.get("at")?.as_text().map(str::to_owned),
    })
}

/// About the bytes that a trace takes.
pub(crate) fn weight(trace: &Trace) -> usize {
    let length = |text: &Option<Canonical>| text.as_ref().map_or(0, |text| text.as_str().len());
    let notes =
        |notes: &[(String, String)]| notes.iter().map(|(key, value)| key.len() + value.len() + 48).sum::<usize>();
    let span = |span: &Span| {
        let error = span.error.as_ref().map_or(0, String::len);
        size_of::<Span>()
            + span.name.len()
            + span.input.as_str().len()
            + span.output.as_str().len()
            + error
            + notes(&span.attributes)
    };
    size_of::<Trace>()
        + length(&trace.input)
        + length(&trace.output)
        + notes(&trace.attributes)
        + trace.spans.iter().map(span).sum::<usize>()
}

fn trace(value: &Value) -> Option<Trace> {
    Some(Trace {
        id: text(value, "id")?,
        task: text(value, "task")?,
        recorder: text(value, "recorder")?,
        started: value.get("started")?.as_u64()?,
        attributes: attributes(value)?,
        input: json(value.get("input")?)?,
        output: json(value.get("output")?)?,
        partial: value.get("partial")?.as_bool()?,
        spans: value.get("spans")?.as_list()?.iter().map(span).collect::<Option<_>>()?,
    })
}

fn span(value: &Value) -> Option<Span> {
    Some(Span {
        id: value.get("id")?.as_u64()?,
        parent: number(value.get("parent")?)?,
        sequence: value.get("sequence")?.as_u64()?,
        kind: kind(value.get("kind")?)?,
        name: text(value, "name")?,
        input: json(value.get("input")?)??,
        output: json(value.get("output")?)??,
        error: match value.get("error")? {
            Value::Null => None,
            other => Some(other.as_text()?.to_owned()),
        },
        started: value.get("started")?.as_u64()?,
        duration: number(value.get("duration")?)?,
        attributes: attributes(value)?,
    })
}

fn kind(value: &Value) -> Option<SpanKind> {
    match value {
        Value::Text(case) if case == "structural" => Some(SpanKind::Structural),
        Value::Text(case) => Some(SpanKind::from_name(&case.replace('-', "_"))),
        other => Some(SpanKind::from_name(other.get("other")?.as_text()?)),
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_text().map(str::to_owned)
}

/// `Some(None)` for null, `None` for what is neither null nor a number.
fn number(value: &Value) -> Option<Option<u64>> {
    if *value == Value::Null { Some(None) } else { value.as_u64().map(Some) }
}

/// The same for a JSON text.
fn json(value: &Value) -> Option<Option<Canonical>> {
    if *value == Value::Null { Some(None) } else { Canonical::of(value.as_text()?).ok().map(Some) }
}

fn attributes(value: &Value) -> Option<Vec<(String, String)>> {
    let pair = |pair: &Value| match pair.as_list()? {
        [key, value] => Some((key.as_text()?.to_owned(), value.as_text()?.to_owned())),
        _ => None,
    };
    value.get("attributes")?.as_list()?.iter().map(pair).collect()
}
