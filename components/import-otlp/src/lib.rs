//! The importer of `otlp-json`: OpenTelemetry spans and log records as exporters write them, in JSON
//! (one request, a list, or one a line) or in protobuf. [`json`] and [`proto`] read the two
//! encodings into one form, [`meaning`] says which operation a span records, [`content`] what
//! it was given and gave, by the conventions that are about.

mod content;
mod json;
mod meaning;
mod proto;

use std::collections::HashMap;

use auto_importer::{
    Batch, Fault, Importer, Notes, Record, Source, Trace, Value, bad, batch, check_text, documents, first, pairs, tree,
};

/// The task where neither the caller nor a resource names one.
const TASK: &str = "otlp";

/// The pass.
pub struct Component;

impl Importer for Component {
    const FORMAT: &'static str = "otlp-json";

    fn detect(head: &str) -> bool {
        const KEYS: [&str; 6] =
            ["resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "scopeSpans", "scope_spans"];
        match first(head) {
            Some(one) => KEYS.iter().any(|key| one.get(key).is_some()),
            None => {
                let start = head.trim_start_matches(['[', ' ', '\n', '\r', '\t', '\u{feff}']);
                start.starts_with('{') && KEYS[..4].iter().any(|key| start.contains(&format!("\"{key}\"")))
            }
        }
    }

    fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
        let mut notes = Notes::default();
        let mut read = Read::default();
        match &source.binary {
            Some(text) => proto::read(&auto_kit::bytes(text, "")?, &mut read, &mut notes)?,
            // Protobuf may happen to be text.
            None if is_binary(&source.text) => proto::read(source.text.as_bytes(), &mut read, &mut notes)?,
            None => {
                check_text(source)?;
                for document in documents(&source.text)? {
                    let value = document.value()?;
                    let place = document.place();
                    if value.as_record().is_none() {
                        return Err(bad(&place, format!("{} where an object belongs", value.kind())));
                    }
                    json::read(&value, &place, &mut read, &mut notes);
                }
            }
        }
        Ok(batch(traces(read, source, &mut notes), from, notes))
    }
}

auto_importer::component!(Component);

/// Whether a text is no JSON from its first character on.
fn is_binary(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_ascii_start();
    !start.is_empty() && !start.starts_with(['{', '['])
}

/// What was read of a file.
#[derive(Default)]
pub(crate) struct Read {
    spans: Vec<Raw>,
    /// Events that came as log records, by trace and span.
    logs: HashMap<(String, u64), Vec<Log>>,
}

impl Read {
    /// Takes in a log record of a span.
    fn log(&mut self, trace: String, span: u64, log: Log) {
        self.logs.entry((trace, span)).or_default().push(log);
    }
}

/// An event that came as a log record, apart from its span.
pub(crate) struct Log {
    event: Event,
    /// Microseconds since 1970.
    at: u64,
    resource: Record,
    scope: String,
    place: String,
}

impl Log {
    /// The span of a model call that is told by its log record alone; none of a record that does not
    /// tell all of it.
    fn alone(logs: Vec<Log>, trace: String, id: u64, notes: &mut Notes) -> Option<Raw> {
        if !logs.iter().any(|log| content::tells_all(&log.event)) {
            let place = logs.first().map_or("", |log| log.place.as_str());
            notes.unusable(
                "log-record",
                "spans of which only log records are in the file, which do not tell all",
                place,
            );
            return None;
        }
        let told = logs.iter().find(|log| content::tells_all(&log.event))?;
        Some(Raw {
            trace,
            id,
            parent: None,
            name: told.event.name.clone(),
            started: told.at,
            ended: 0,
            attributes: told.event.attributes.clone(),
            error: told.event.attributes.get("error.type").and_then(Value::as_text).map(str::to_owned),
            resource: told.resource.clone(),
            scope: told.scope.clone(),
            place: told.place.clone(),
            events: logs.into_iter().map(|log| log.event).collect(),
        })
    }
}

/// A span in the one form of both encodings.
pub(crate) struct Raw {
    trace: String,
    id: u64,
    parent: Option<u64>,
    name: String,
    /// Microseconds since 1970.
    started: u64,
    ended: u64,
    attributes: Record,
    events: Vec<Event>,
    error: Option<String>,
    /// What it was recorded by: the attributes of its resource, the name of its scope.
    resource: Record,
    scope: String,
    place: String,
}

/// Something that happened in a span.
pub(crate) struct Event {
    name: String,
    attributes: Record,
    body: Value,
}

/// The traces in the order of their first span.
fn traces(read: Read, source: &Source, notes: &mut Notes) -> Vec<Trace> {
    let Read { spans, mut logs } = read;
    let mut order: Vec<String> = Vec::new();
    let mut by_trace: HashMap<String, Vec<Raw>> = HashMap::new();
    let mut all = Vec::with_capacity(spans.len());
    for mut raw in spans {
        let more = logs.remove(&(raw.trace.clone(), raw.id)).into_iter().flatten();
        raw.events.extend(more.map(|log| log.event));
        all.push(raw);
    }
    let mut left: Vec<_> = logs.into_iter().collect();
    left.sort_by(|(one, _), (other, _)| one.cmp(other));
    for ((trace, id), logs) in left {
        all.extend(Log::alone(logs, trace, id, notes));
    }
    for raw in all {
        by_trace.entry(raw.trace.clone()).or_insert_with_key(|id| {
            order.push(id.clone());
            Vec::new()
        });
        by_trace.entry(raw.trace.clone()).or_default().push(raw);
    }
    order.into_iter().filter_map(|id| Some(trace(by_trace.remove(&id)?, id, source, notes))).collect()
}

fn trace(raws: Vec<Raw>, id: String, source: &Source, notes: &mut Notes) -> Trace {
    let first = &raws[0];
    let service = first.resource.get("service.name").and_then(Value::as_text).filter(|name| !name.is_empty());
    let task = source.task.as_deref().or(service).unwrap_or(TASK).to_owned();
    let mut attributes = pairs(&first.resource);
    if !first.scope.is_empty() {
        auto_importer::set(&mut attributes, "otel.scope", first.scope.clone());
    }
    let place = first.place.clone();
    let mut captured = HashMap::new();
    let mut spans = Vec::with_capacity(raws.len());
    for raw in raws {
        let (span, whole) = meaning::span(raw, notes);
        if let Some(whole) = whole {
            captured.insert(span.id, whole);
        }
        spans.push(span);
    }
    let spans = tree::settle(spans, source.piece, notes, &place);
    let started = spans.iter().map(|span| span.started).min().unwrap_or(0);
    // The run is its only root, where that says what went in and what came out.
    let mut roots = spans.iter().filter(|span| span.parent.is_none());
    let whole = match (roots.next(), roots.next()) {
        (Some(root), None) => captured.remove(&root.id),
        _ => None,
    };
    let (input, output) = whole.unwrap_or_default();
    Trace { id, task, recorder: Component::FORMAT.into(), started, attributes, input, output, partial: false, spans }
}
