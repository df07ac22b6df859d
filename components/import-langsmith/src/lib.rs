//! The importer of `langsmith`: runs as LangSmith exports them, one a line, in a list, or
//! nested by `child_runs`. Messages may be LangChain's own serialisation.

mod run;

use std::collections::HashMap;

use auto_importer::{
    Batch, Fault, Importer, Notes, Record, Source, Trace, Value, bad, batch, check_text, documents, first, json, tree,
};

/// The task where neither the caller nor a run names one.
const TASK: &str = "langsmith";

/// The pass.
pub struct Component;

impl Importer for Component {
    const FORMAT: &'static str = "langsmith";

    fn detect(head: &str) -> bool {
        match first(head) {
            Some(one) => {
                one.get("run_type").is_some() && (one.get("inputs").is_some() || one.get("trace_id").is_some())
            }
            None => {
                let start = head.trim_start_matches(['[', ' ', '\n', '\r', '\t', '\u{feff}']);
                start.starts_with('{') && (head.contains("\"run_type\"") || head.contains("\"dotted_order\""))
            }
        }
    }

    fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
        check_text(source)?;
        let mut file = File::default();
        let mut notes = Notes::default();
        for document in documents(&source.text)? {
            let place = document.place();
            match document.value()? {
                Value::Record(record) => file.run(record, None, &place, &mut notes),
                other => return Err(bad(&place, format!("{} where an object belongs", other.kind()))),
            }
        }
        let File { order, mut traces } = file;
        let found: Vec<_> = order.into_iter().filter_map(|id| Some((traces.remove(&id)?, id))).collect();
        let traces = found.into_iter().map(|(runs, id)| trace(&runs, id, source, &mut notes)).collect();
        Ok(batch(traces, from, notes))
    }
}

auto_importer::component!(Component);

/// A run and where it is.
struct Run {
    place: String,
    record: Record,
}

#[derive(Default)]
struct File {
    order: Vec<String>,
    traces: HashMap<String, Vec<Run>>,
}

impl File {
    fn run(&mut self, mut record: Record, above: Option<&str>, place: &str, notes: &mut Notes) {
        let text = |key: &str| record.get(key).and_then(Value::as_text).map(str::to_owned);
        let Some(id) = text("id") else {
            return notes.unusable("bad-span", "runs without an id", place);
        };
        let trace = text("trace_id").or_else(|| above.map(str::to_owned)).unwrap_or_else(|| id.clone());
        let children = record.remove("child_runs");
        self.traces.entry(trace.clone()).or_insert_with(|| {
            self.order.push(trace.clone());
            Vec::new()
        });
        self.traces.entry(trace.clone()).or_default().push(Run { place: place.to_owned(), record });
        for (number, child) in children.iter().filter_map(Value::as_list).flatten().enumerate() {
            let Some(child) = child.as_record() else { continue };
            let mut child = child.clone();
            if child.get("parent_run_id").is_none() {
                child.set("parent_run_id", id.as_str());
            }
            self.run(child, Some(&trace), &format!("{place}/child_runs/{number}"), notes);
        }
    }
}

fn trace(runs: &[Run], id: String, source: &Source, notes: &mut Notes) -> Trace {
    let is_root = |run: &&Run| run.record.get("parent_run_id").is_none_or(|parent| *parent == Value::Null);
    let root = runs.iter().find(is_root);
    let text =
        |key: &str| root.and_then(|root| root.record.get(key)).and_then(Value::as_text).filter(|text| !text.is_empty());
    let task = source.task.as_deref().or(text("session_name")).or(text("name")).unwrap_or(TASK).to_owned();
    let spans = runs.iter().map(|run| run::span(&run.record, &run.place, notes)).collect();
    let spans = tree::settle(spans, source.piece, notes, &id);
    // A root that is itself an operation is no run around operations.
    let around = root.filter(|root| run::is_structure(&root.record));
    let value = |key: &str| {
        let value =
            around?.record.get(key).filter(|value| value.as_record().is_some_and(|record| !record.is_empty()))?;
        Some(json(value))
    };
    Trace {
        task,
        recorder: Component::FORMAT.into(),
        started: spans.iter().map(|span| span.started).min().unwrap_or(0),
        attributes: Vec::new(),
        input: value("inputs"),
        output: value("outputs"),
        partial: false,
        spans,
        id,
    }
}
