//! The digest of everything a trace says; what "the same trace" means, and what a trace is
//! held against whenever it is read.
//!
//! It is the SHA-256 of a canonical JSON text in which values are named by their digests.
//! The text is written straight into the hash, so that a store of any size is checked in
//! about the time it takes to read it.

use core::fmt::Write as _;

use auto_json::Canonical;
use auto_schema::digest::Hasher;

use crate::{Digest, Span, Trace};

/// What a trace says beside its spans.
pub(crate) struct Head<'a> {
    pub id: &'a str,
    pub task: &'a str,
    pub recorder: &'a str,
    pub started: u64,
    /// The canonical text of the attributes.
    pub attributes: &'a str,
    pub input: Option<Digest>,
    pub output: Option<Digest>,
    pub partial: bool,
}

/// What a span says.
pub(crate) struct Line<'a> {
    pub id: u64,
    pub parent: Option<u64>,
    pub sequence: u64,
    pub kind: &'a str,
    pub name: &'a str,
    pub input: Digest,
    pub output: Digest,
    pub error: Option<&'a str>,
    pub started: u64,
    pub duration: Option<u64>,
    /// The canonical text of the attributes.
    pub attributes: &'a str,
}

/// The fingerprint of a trace in memory.
pub(crate) fn of_trace(trace: &Trace) -> Digest {
    let digest = |text: &Canonical| Digest::of(text.as_str().as_bytes());
    let own = attributes(&trace.attributes);
    let head = Head {
        id: &trace.id,
        task: &trace.task,
        recorder: &trace.recorder,
        started: trace.started,
        attributes: own.as_str(),
        input: trace.input.as_ref().map(digest),
        output: trace.output.as_ref().map(digest),
        partial: trace.partial,
    };
    let mut writing = Writing::start(&head);
    for span in &trace.spans {
        let attributes = attributes(&span.attributes);
        writing.span(&line(span, attributes.as_str(), digest(&span.input), digest(&span.output)));
    }
    writing.finish(&head)
}

fn line<'a>(span: &'a Span, attributes: &'a str, input: Digest, output: Digest) -> Line<'a> {
    Line {
        id: span.id,
        parent: span.parent,
        sequence: span.sequence,
        kind: span.kind.name(),
        name: &span.name,
        input,
        output,
        error: span.error.as_deref(),
        started: span.started,
        duration: span.duration,
        attributes,
    }
}

/// Attributes as the value they are kept as.
pub(crate) fn attributes(pairs: &[(String, String)]) -> Canonical {
    let record = pairs.iter().map(|(key, value)| (key.clone(), auto_json::Value::from(value.as_str()))).collect();
    auto_json::Value::Record(record).canonical()
}

/// A fingerprint being taken: the head, then each span in order. Members are written in
/// the order of their keys, as canonical JSON has them.
pub(crate) struct Writing {
    hasher: Hasher,
    line: String,
    spans: usize,
}

impl Writing {
    pub(crate) fn start(head: &Head<'_>) -> Writing {
        let mut writing = Writing { hasher: Hasher::new(), line: String::new(), spans: 0 };
        writing.raw("{\"attributes\":").raw(head.attributes);
        writing.raw(",\"id\":").string(head.id);
        writing.raw(",\"input\":").digest(head.input);
        writing.raw(",\"output\":").digest(head.output);
        writing.raw(",\"partial\":").raw(if head.partial { "true" } else { "false" });
        writing.raw(",\"recorder\":").string(head.recorder);
        writing.raw(",\"spans\":[");
        writing
    }

    pub(crate) fn span(&mut self, span: &Line<'_>) {
        if self.spans > 0 {
            self.raw(",");
        }
        self.spans += 1;
        self.raw("{\"attributes\":").raw(span.attributes);
        self.raw(",\"duration\":").number(span.duration);
        self.raw(",\"error\":");
        match span.error {
            Some(error) => self.string(error),
            None => self.raw("null"),
        };
        self.raw(",\"id\":").number(Some(span.id));
        self.raw(",\"input\":").digest(Some(span.input));
        self.raw(",\"kind\":").string(span.kind);
        self.raw(",\"name\":").string(span.name);
        self.raw(",\"output\":").digest(Some(span.output));
        self.raw(",\"parent\":").number(span.parent);
        self.raw(",\"sequence\":").number(Some(span.sequence));
        self.raw(",\"started\":").number(Some(span.started)).raw("}");
        self.hasher.update(&self.line);
        self.line.clear();
    }

    pub(crate) fn finish(mut self, head: &Head<'_>) -> Digest {
        self.raw("],\"started\":").number(Some(head.started));
        self.raw(",\"task\":").string(head.task).raw("}");
        self.hasher.update(&self.line);
        self.hasher.finish()
    }

    fn raw(&mut self, text: &str) -> &mut Writing {
        self.line.push_str(text);
        self
    }

    fn string(&mut self, text: &str) -> &mut Writing {
        if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
            return self.raw("\"").raw(text).raw("\"");
        }
        let escaped = auto_json::Value::from(text).canonical();
        self.raw(escaped.as_str())
    }

    fn number(&mut self, number: Option<u64>) -> &mut Writing {
        match number {
            // Writing to a text cannot fail.
            Some(number) => drop(write!(self.line, "{number}")),
            None => self.line.push_str("null"),
        }
        self
    }

    fn digest(&mut self, digest: Option<Digest>) -> &mut Writing {
        const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let Some(digest) = digest else { return self.raw("null") };
        self.line.push('"');
        for byte in digest.as_bytes() {
            self.line.push(HEX[usize::from(byte >> 4)]);
            self.line.push(HEX[usize::from(byte & 15)]);
        }
        self.line.push('"');
        self
    }
}

#[cfg(test)]
mod tests {
    use auto_json::{Record, Value};

    use super::*;
    use crate::SpanKind;

    /// The text as the format defines it, by way of values.
    fn defined(trace: &Trace) -> String {
        let digest = |text: &Canonical| Value::from(Digest::of(text.as_str().as_bytes()).to_string());
        let span = |span: &Span| {
            Value::Record(
                Record::new()
                    .with("id", span.id)
                    .with("parent", span.parent)
                    .with("sequence", span.sequence)
                    .with("kind", span.kind.name())
                    .with("name", span.name.as_str())
                    .with("input", digest(&span.input))
                    .with("output", digest(&span.output))
                    .with("error", span.error.as_deref())
                    .with("started", span.started)
                    .with("duration", span.duration)
                    .with("attributes", attributes(&span.attributes).value()),
            )
        };
        let whole = Record::new()
            .with("id", trace.id.as_str())
            .with("task", trace.task.as_str())
            .with("recorder", trace.recorder.as_str())
            .with("started", trace.started)
            .with("attributes", attributes(&trace.attributes).value())
            .with("input", trace.input.as_ref().map(digest))
            .with("output", trace.output.as_ref().map(digest))
            .with("partial", trace.partial)
            .with("spans", trace.spans.iter().map(span).collect::<Vec<_>>());
        Value::Record(whole).canonical().into_string()
    }

    #[test]
    fn what_is_hashed_is_the_canonical_text() {
        let span = |id: u64, name: &str, error: Option<&str>| Span {
            id,
            parent: (id > 1).then_some(1),
            sequence: u64::MAX - 9 + id,
            kind: SpanKind::Other("user\u{1}".into()),
            name: name.into(),
            input: Canonical::of("[1,{\"é\":2.50}]").unwrap(),
            output: Canonical::of("null").unwrap(),
            error: error.map(str::to_owned),
            started: u64::MAX,
            duration: error.is_none().then_some(0),
            attributes: vec![("b\"".into(), "\u{10000}".into()), ("a".into(), "\\\n".into())],
        };
        let mut trace = Trace {
            id: "\u{7f}\"id".into(),
            task: "täsk\t".into(),
            recorder: String::new(),
            started: 0,
            attributes: Vec::new(),
            input: None,
            output: Some(Canonical::of("\"x\"").unwrap()),
            partial: false,
            spans: vec![span(1, "\"quoted\\\"", None), span(2, "", Some("bad\u{0}"))],
        };
        assert_eq!(of_trace(&trace), Digest::of(defined(&trace).as_bytes()));
        (trace.spans, trace.partial, trace.input) = (Vec::new(), true, trace.output.take());
        assert_eq!(of_trace(&trace), Digest::of(defined(&trace).as_bytes()));
    }
}
