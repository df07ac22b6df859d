//! A trace as text, for programs that are not ours and for other stores: JSON Lines that the
//! importer of `auto-jsonl` reads back as the same trace (version 1 of the format), and rows of CSV
//! (RFC 4180). Both hold all that the store holds of a trace.

use auto_json::{Canonical, Record, Value};

use crate::{Span, Trace};

/// The version of the format that is written here.
const VERSION: u32 = 1;

/// The first line of a CSV file.
pub const CSV_HEAD: &str = "trace,task,recorder,kind,name,span,parent,sequence,input,output,error,started_us,duration_us,attributes,partial\r\n";

/// A trace as lines: what it says itself, then a line for each of its spans.
pub fn jsonl(trace: &Trace) -> String {
    let mut head = Record::new()
        .with("v", VERSION)
        .with("t", "trace")
        .with("trace_id", trace.id.as_str())
        .with("task", trace.task.as_str())
        .with("recorder", trace.recorder.as_str())
        .with("started_at_us", trace.started)
        .with("attrs", record(&trace.attributes))
        .with("partial", trace.partial)
        .with("spans", trace.spans.len());
    for (key, value) in [("task_input", &trace.input), ("task_output", &trace.output)] {
        if let Some(value) = value {
            head.set(key, value.value());
        }
    }
    let mut text = line(head);
    trace.spans.iter().for_each(|span| text.push_str(&line(span_record(span))));
    text
}

fn span_record(span: &Span) -> Record {
    Record::new()
        .with("v", VERSION)
        .with("t", "span")
        .with("span_id", span.id)
        .with("parent_span_id", span.parent)
        .with("seq", span.sequence)
        .with("kind", span.kind.name())
        .with("name", span.name.as_str())
        .with("input", span.input.value())
        .with("output", span.output.value())
        .with("error", span.error.as_deref())
        .with("started_at_us", span.started)
        .with("duration_us", span.duration)
        .with("attrs", record(&span.attributes))
}

fn line(record: Record) -> String {
    Value::from(record).canonical().into_string() + "\n"
}

fn record(attributes: &[(String, String)]) -> Record {
    attributes.iter().map(|(key, value)| (key.clone(), value.as_str().into())).collect()
}

/// A trace as rows: one of the kind `trace` for the run itself, then one for each span.
pub fn csv(trace: &Trace) -> String {
    let json = |value: &Option<Canonical>| value.as_ref().map_or_else(String::new, |value| value.as_str().to_owned());
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    let attributes = |pairs: &[(String, String)]| Value::from(record(pairs)).canonical().into_string();
    let mut text = row(
        [
            "trace".to_owned(),
            String::new(),
            String::new(),
            String::new(),
            String::new(),
            json(&trace.input),
            json(&trace.output),
            String::new(),
            trace.started.to_string(),
            String::new(),
            attributes(&trace.attributes),
        ],
        trace,
    );
    for span in &trace.spans {
        text += &row(
            [
                span.kind.name().to_owned(),
                span.name.clone(),
                span.id.to_string(),
                number(span.parent),
                span.sequence.to_string(),
                span.input.as_str().to_owned(),
                span.output.as_str().to_owned(),
                span.error.clone().unwrap_or_default(),
                span.started.to_string(),
                number(span.duration),
                attributes(&span.attributes),
            ],
            trace,
        );
    }
    text
}

fn row(cells: [String; 11], trace: &Trace) -> String {
    let partial = if trace.partial { "true" } else { "false" };
    let own = [trace.id.as_str(), &trace.task, &trace.recorder].map(field);
    let cells: Vec<String> = own.into_iter().chain(cells.iter().map(|cell| field(cell))).collect();
    format!("{},{partial}\r\n", cells.join(","))
}

fn field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
