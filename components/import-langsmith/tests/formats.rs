//! A fixture of the export's form, nested and flat, and what becomes of it.

use auto_import_langsmith::Component;
use auto_importer::{Importer as _, Note, Record, Source, Trace, Value, kind_name};

const RUNS: &str = include_str!("fixtures/runs.jsonl");

fn read(text: &str) -> (Vec<Trace>, Vec<Note>) {
    assert!(Component::detect(text), "not detected");
    let batch = Component::parse(&Source::of("f", text), 0).unwrap();
    (batch.traces, batch.notes)
}

#[test]
fn runs_become_operations_under_their_root() {
    let (traces, notes) = read(RUNS);
    let [trace] = &traces[..] else { panic!("{traces:?}") };
    assert_eq!(trace.task, "tickets");
    assert_eq!(trace.input.as_deref(), Some(r#"{"ticket":"Where is order A-17?"}"#));
    assert_eq!(trace.output.as_deref(), Some(r#"{"status":"shipped"}"#));
    let shown: Vec<_> = trace
        .spans
        .iter()
        .map(|span| (kind_name(&span.kind), span.name.as_str(), span.input.as_str(), span.output.as_str()))
        .collect();
    let asked = r#"{"messages":[{"content":"Where is order A-17?","role":"user"}],"temperature":0.0}"#;
    let call = r#"{"content":null,"tool_calls":[{"arguments":{"order":"A-17"},"name":"lookup"}]}"#;
    assert_eq!(shown[1], ("model_call", "gpt-4o", asked, call));
    assert_eq!(shown[2], ("tool_call", "lookup", r#"{"order":"A-17"}"#, r#""shipped""#));
    assert_eq!((shown[0].0, shown[3].0, shown.len()), ("span", "span", 4));
    let attributes = &trace.spans[1].attributes;
    assert!(
        attributes.contains(&("tokens".into(), "49".into()))
            && attributes.contains(&("revision_id".into(), "7".into()))
    );
    assert!(trace.spans[1..].iter().all(|span| span.parent == Some(trace.spans[0].id)));
    assert_eq!(notes.iter().map(|note| note.code.as_str()).collect::<Vec<_>>(), ["uncaptured"]);
}

#[test]
fn nested_runs_are_the_same_runs() {
    let runs: Vec<Record> = RUNS.lines().map(|line| Value::parse(line).unwrap().as_record().unwrap().clone()).collect();
    let children: Vec<Value> = [0, 1, 3].map(|at| runs[at].clone().into()).to_vec();
    let nested = Value::from(runs[2].clone().with("child_runs", children)).to_string();
    let (flat, _) = read(RUNS);
    let (nested, _) = read(&nested);
    assert_eq!(flat, nested);
}
