//! The importer of `langfuse`: traces as Langfuse exports them, `{trace, observations}`, a
//! trace of its API with the observations inside, or observations of a table, one a line or
//! in a list, or as CSV ([`table`]). [`observation`] says what one observation records.

mod observation;
mod table;

use std::collections::HashMap;

use auto_importer::{
    Batch, Fault, Importer, Notes, Record, Source, Trace, Value, as_json, bad, batch, check_text, documents, first,
    json, micros, pairs, text_of, tree,
};

/// The task where neither the caller nor a trace names one.
const TASK: &str = "langfuse";

/// The pass.
pub struct Component;

impl Importer for Component {
    const FORMAT: &'static str = "langfuse";

    fn detect(head: &str) -> bool {
        if table::is_table(head) {
            return true;
        }
        match first(head) {
            Some(one) => is_ours(&one),
            None => {
                let start = head.trim_start_matches(['[', ' ', '\n', '\r', '\t', '\u{feff}']);
                let names = ["\"traceId\"", "\"projectId\"", "\"observations\"", "\"parentObservationId\""];
                start.starts_with('{') && names.iter().filter(|name| head.contains(*name)).count() >= 2
            }
        }
    }

    fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
        check_text(source)?;
        let mut file = File::default();
        let mut notes = Notes::default();
        let is_table = table::is_table(&source.text);
        for (place, row) in if is_table { table::read(&source.text)? } else { Vec::new() } {
            file.row(row, &place, &mut notes);
        }
        for document in if is_table { Vec::new() } else { documents(&source.text)? } {
            let place = document.place();
            match document.value()? {
                Value::Record(record) => file.document(record, &place, &mut notes),
                other => return Err(bad(&place, format!("{} where an object belongs", other.kind()))),
            }
        }
        let File { order, mut traces } = file;
        let found: Vec<Found> = order.iter().filter_map(|id| traces.remove(id)).collect();
        let traces = found.into_iter().map(|found| found.into_trace(source, &mut notes)).collect();
        Ok(batch(traces, from, notes))
    }
}

auto_importer::component!(Component);

fn is_ours(one: &Value) -> bool {
    let has = |key: &str| one.get(key).is_some();
    let listed = one.get("observations").is_some_and(|list| list.as_list().is_some());
    (listed && (has("trace") || has("projectId") || has("timestamp")))
        || (has("traceId") && has("startTime") && has("type") && !has("spanId"))
}

/// A trace as far as it was found.
#[derive(Default)]
struct Found {
    id: String,
    trace: Record,
    observations: Vec<(String, Record)>,
}

#[derive(Default)]
struct File {
    order: Vec<String>,
    traces: HashMap<String, Found>,
}

impl File {
    fn document(&mut self, mut record: Record, place: &str, notes: &mut Notes) {
        let Some(Value::List(observations)) = record.remove("observations") else {
            return self.observation(record, place.to_owned(), notes);
        };
        let trace = match record.remove("trace") {
            Some(Value::Record(trace)) => trace,
            _ => record,
        };
        let of_first = observations.first().and_then(|one| one.get("traceId")).and_then(Value::as_text);
        let Some(id) = trace.get("id").and_then(Value::as_text).or(of_first).map(str::to_owned) else {
            return notes.unusable("bad-trace", "traces without an id", place);
        };
        self.of(&id).trace = trace;
        for (number, one) in observations.into_iter().enumerate() {
            let place = format!("{place}/observations/{number}");
            match one {
                Value::Record(mut one) => {
                    one.set("traceId", id.as_str());
                    self.observation(one, place, notes);
                }
                _ => notes.unusable("bad-span", "observations that are no objects", &place),
            }
        }
    }

    /// A row of a table: an observation, or a trace.
    fn row(&mut self, mut row: Record, place: &str, notes: &mut Notes) {
        if row.get("traceId").is_none() && row.get("startTime").is_none() {
            match row.get("id").and_then(Value::as_text).map(str::to_owned) {
                Some(id) => self.of(&id).trace = row,
                None => notes.unusable("bad-trace", "traces without an id", place),
            }
            return;
        }
        // A table of observations says what the trace is called in each.
        let named = row.remove("traceName");
        if let (Some(id), Some(name)) = (row.get("traceId").and_then(Value::as_text), named) {
            let trace = &mut self.of(id).trace;
            if trace.get("name").is_none() {
                trace.set("name", name);
            }
        }
        self.observation(row, place.to_owned(), notes);
    }

    fn observation(&mut self, one: Record, place: String, notes: &mut Notes) {
        match one.get("traceId").and_then(Value::as_text).map(str::to_owned) {
            Some(trace) if one.get("id").is_some() => self.of(&trace).observations.push((place, one)),
            _ => notes.unusable("bad-span", "observations without an id or a trace", &place),
        }
    }

    fn of(&mut self, id: &str) -> &mut Found {
        self.traces.entry(id.to_owned()).or_insert_with(|| {
            self.order.push(id.to_owned());
            Found { id: id.to_owned(), ..Found::default() }
        })
    }
}

/// Members of a trace that have a meaning here, or are a sum of what its observations say.
const KNOWN: [&str; 14] = [
    "id",
    "name",
    "input",
    "output",
    "metadata",
    "timestamp",
    "createdAt",
    "updatedAt",
    "latency",
    "totalCost",
    "projectId",
    "bookmarked",
    "public",
    "htmlPath",
];

impl Found {
    fn into_trace(self, source: &Source, notes: &mut Notes) -> Trace {
        let trace = Value::Record(self.trace);
        let mut spans = Vec::with_capacity(self.observations.len());
        for (place, one) in &self.observations {
            spans.push(observation::span(one, place, notes));
        }
        let spans = tree::settle(spans, source.piece, notes, &self.id);
        let started = trace.get("timestamp").and_then(micros);
        let name = text_of(&trace, "/name");
        let task = source.task.as_deref().or(name).unwrap_or(TASK).to_owned();
        let kept = |(key, _): &(&str, &Value)| !KNOWN.contains(key);
        let members = trace.as_record().into_iter().flat_map(Record::iter).filter(kept);
        let mut attributes = pairs(
            &members
                .filter(|(_, value)| !is_empty(value))
                .map(|(key, value)| (key.to_owned(), value.clone()))
                .collect(),
        );
        observation::metadata(trace.get("metadata"), &mut attributes);
        let value = |key: &str| {
            let value = trace.get(key).cloned().map(as_json).filter(|value| *value != Value::Null)?;
            Some(json(&value))
        };
        Trace {
            task,
            recorder: Component::FORMAT.into(),
            started: started.or_else(|| spans.first().map(|span| span.started)).unwrap_or(0),
            attributes,
            input: value("input"),
            output: value("output"),
            partial: false,
            spans,
            id: self.id,
        }
    }
}

fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Null) || value.as_list().is_some_and(<[Value]>::is_empty)
}
