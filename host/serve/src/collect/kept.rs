//! Pieces of traces as they lie on the disk until their traces are whole: what the importer gave,
//! scrubbed where that is wanted, so that what must not be written is not written here either.

use auto_json::{Canonical, Record, Value};
use auto_store::{Span, SpanKind, Trace};

/// The text of some pieces.
pub fn written(pieces: &[Trace]) -> String {
    Value::List(pieces.iter().map(trace).collect()).canonical().into_string()
}

/// The pieces of a text; none where it is damaged.
pub fn read(text: &[u8]) -> Option<Vec<Trace>> {
    Value::parse(text).ok()?.as_list()?.iter().map(trace_of).collect()
}

fn trace(trace: &Trace) -> Value {
    let text = |text: &Option<Canonical>| text.as_ref().map(|text| text.as_str().to_owned());
    Record::new()
        .with("id", trace.id.as_str())
        .with("task", trace.task.as_str())
        .with("recorder", trace.recorder.as_str())
        .with("started", trace.started)
        .with("attributes", notes(&trace.attributes))
        .with("input", text(&trace.input))
        .with("output", text(&trace.output))
        .with("spans", trace.spans.iter().map(span).collect::<Vec<_>>())
        .into()
}

fn span(span: &Span) -> Value {
    Record::new()
        .with("id", span.id)
        .with("parent", span.parent)
        .with("sequence", span.sequence)
        .with("kind", span.kind.name())
        .with("name", span.name.as_str())
        .with("input", span.input.as_str())
        .with("output", span.output.as_str())
        .with("error", span.error.as_deref())
        .with("started", span.started)
        .with("duration", span.duration)
        .with("attributes", notes(&span.attributes))
        .into()
}

fn notes(notes: &[(String, String)]) -> Value {
    notes
        .iter()
        .map(|(key, text)| Value::List(vec![key.as_str().into(), text.as_str().into()]))
        .collect::<Vec<_>>()
        .into()
}

fn trace_of(value: &Value) -> Option<Trace> {
    Some(Trace {
        id: text(value, "id")?,
        task: text(value, "task")?,
        recorder: text(value, "recorder")?,
        started: value.get("started")?.as_u64()?,
        attributes: notes_of(value)?,
        input: json(value.get("input")?)?,
        output: json(value.get("output")?)?,
        partial: false,
        spans: value.get("spans")?.as_list()?.iter().map(span_of).collect::<Option<_>>()?,
    })
}

fn span_of(value: &Value) -> Option<Span> {
    let number = |key: &str| match value.get(key)? {
        Value::Null => Some(None),
        other => other.as_u64().map(Some),
    };
    Some(Span {
        id: value.get("id")?.as_u64()?,
        parent: number("parent")?,
        sequence: value.get("sequence")?.as_u64()?,
        kind: SpanKind::from_name(value.get("kind")?.as_text()?),
        name: text(value, "name")?,
        input: json(value.get("input")?)??,
        output: json(value.get("output")?)??,
        error: value.get("error")?.as_text().map(str::to_owned),
        started: value.get("started")?.as_u64()?,
        duration: number("duration")?,
        attributes: notes_of(value)?,
    })
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_text().map(str::to_owned)
}

/// `Some(None)` for null, `None` for what is no JSON text.
fn json(value: &Value) -> Option<Option<Canonical>> {
    match value {
        Value::Null => Some(None),
        other => Canonical::of(other.as_text()?).ok().map(Some),
    }
}

fn notes_of(value: &Value) -> Option<Vec<(String, String)>> {
    let pair = |pair: &Value| match pair.as_list()? {
        [key, text] => Some((key.as_text()?.to_owned(), text.as_text()?.to_owned())),
        _ => None,
    };
    value.get("attributes")?.as_list()?.iter().map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back() {
        let json = |text: &str| Canonical::of(text).unwrap();
        let one = |number: u64| Span {
            id: u64::MAX - number,
            parent: (number > 0).then_some(u64::MAX),
            sequence: number + 1,
            kind: SpanKind::from_name(if number > 0 { "retrieval" } else { "model_call" }),
            name: "m\"é".into(),
            input: json(r#"{"a":[1.50,"x"]}"#),
            output: json("null"),
            error: (number > 0).then(|| "late".into()),
            started: 5,
            duration: (number == 0).then_some(7),
            attributes: vec![("k".into(), "v".into())],
        };
        let piece = Trace {
            id: "t".into(),
            task: "x".into(),
            recorder: "r".into(),
            started: 5,
            attributes: vec![("a".into(), "b".into())],
            input: Some(json("1")),
            output: None,
            partial: false,
            spans: vec![one(0), one(1)],
        };
        assert_eq!(read(written(std::slice::from_ref(&piece)).as_bytes()), Some(vec![piece]));
        assert_eq!(read(b"[{}]"), None);
        assert_eq!(read(b"[]"), Some(Vec::new()));
    }
}
