//! What is put in comes out, once, however often and by however many it is put in.

use auto_json::{Canonical, Value};
use auto_schema::contract::SpanKind as Kind;
use auto_store::{Ingested, Reference, Scope, Share, Span, SpanKind, Store, Trace, evidence_id};
use proptest::prelude::*;

fn json(text: &str) -> Canonical {
    Canonical::of(text).unwrap()
}

fn span(sequence: u64, input: &str, output: &str) -> Span {
    Span {
        id: sequence,
        parent: None,
        sequence,
        kind: SpanKind::ModelCall,
        name: "m".into(),
        input: json(input),
        output: json(output),
        error: None,
        started: 10,
        duration: Some(5),
        attributes: Vec::new(),
    }
}

fn trace(id: &str, spans: Vec<Span>) -> Trace {
    Trace {
        id: id.into(),
        task: "toy".into(),
        recorder: "test".into(),
        started: 10,
        attributes: vec![("host".into(), "here".into())],
        input: None,
        output: None,
        partial: false,
        spans,
    }
}

fn model_calls() -> Scope {
    Scope::Span { kind: Kind::ModelCall, name: "m".into() }
}

struct Folder {
    folder: tempfile::TempDir,
}

impl Folder {
    fn new() -> Folder {
        Folder { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> std::path::PathBuf {
        self.folder.path().join("a store?#%.db")
    }

    fn store(&self) -> Store {
        Store::create_or_open(self.path()).unwrap()
    }
}

#[test]
fn traces_never_change() {
    let folder = Folder::new();
    let mut store = folder.store();
    let first = trace("a", vec![span(1, "1", "2"), span(2, "1", "2")]);
    assert_eq!(
        store.ingest(std::slice::from_ref(&first)).unwrap(),
        Ingested { added: 1, spans: 2, ..Ingested::default() }
    );
    assert_eq!(store.ingest(std::slice::from_ref(&first)).unwrap(), Ingested { already: 1, ..Ingested::default() });
    let other = Trace { spans: vec![span(1, "1", "3")], ..first.clone() };
    let error = store.ingest(&[trace("b", Vec::new()), other]).unwrap_err();
    assert_eq!((error.code, error.is_integrity()), ("trace-conflict", false));
    // All or nothing.
    assert_eq!(store.trace("b").unwrap(), None);
    assert_eq!(store.trace("a").unwrap(), Some(first));
}

#[test]
fn an_importer_at_fault_is_named_and_nothing_kept() {
    let folder = Folder::new();
    let mut store = folder.store();
    let twice = vec![("k".to_owned(), "1".to_owned()), ("k".to_owned(), "2".to_owned())];
    let bad = [
        trace("", Vec::new()),
        trace("a", vec![span(2, "1", "1"), span(1, "1", "1")]),
        trace("a", vec![span(1, "1", "1"), span(1, "1", "1")]),
        trace("a", vec![span(1, "1", "1"), Span { id: 1, ..span(2, "1", "1") }]),
        trace("a", vec![Span { parent: Some(2), ..span(1, "1", "1") }, span(2, "1", "1")]),
        trace("a", vec![Span { attributes: twice.clone(), ..span(1, "1", "1") }]),
        Trace { attributes: twice, ..trace("a", Vec::new()) },
    ];
    for trace in bad {
        assert_eq!(store.ingest(std::slice::from_ref(&trace)).unwrap_err().code, "bad-trace", "{trace:?}");
    }
    assert!(store.tasks().unwrap().is_empty());
}

#[test]
fn observations_are_sorted_and_partial_traces_show_nothing() {
    let folder = Folder::new();
    let mut store = folder.store();
    let failed = Span { error: Some("timeout".into()), ..span(4, r#"{"q":2}"#, "null") };
    let spans =
        vec![span(1, r#"{"q":2}"#, r#""b""#), span(2, r#"{"q":1}"#, r#""x""#), span(3, r#"{"q":2}"#, r#""a""#), failed];
    let other_task = Trace { task: "other".into(), ..trace("c", vec![span(1, "0", "0")]) };
    let torn = Trace { partial: true, ..trace("b", vec![span(1, r#"{"q":1}"#, r#""y""#)]) };
    store.ingest(&[trace("a", spans.clone()), torn, other_task]).unwrap();
    let seen = store.observations("toy", &model_calls()).unwrap();
    let shown: Vec<_> = seen.iter().map(|o| (o.input.as_str(), o.outputs.clone(), o.errors)).collect();
    assert_eq!(
        shown,
        [
            (r#"{"q":1}"#, vec![(json(r#""x""#), 1)], 0),
            (r#"{"q":2}"#, vec![(json(r#""a""#), 1), (json(r#""b""#), 1)], 1),
        ]
    );
    // Neither the run nor the order matters to the evidence, only what was seen.
    let again = Folder::new();
    let mut reversed = again.store();
    let reversed_spans = spans.iter().rev().zip(1..).map(|(span, n)| Span { id: n, sequence: n, ..span.clone() });
    reversed.ingest(&[trace("z", reversed_spans.collect())]).unwrap();
    let same = reversed.observations("toy", &model_calls()).unwrap();
    assert_eq!(evidence_id(&seen), evidence_id(&same));
    reversed.ingest(&[trace("y", vec![span(1, r#"{"q":1}"#, r#""x""#)])]).unwrap();
    assert_ne!(evidence_id(&seen), evidence_id(&reversed.observations("toy", &model_calls()).unwrap()));
    // The digest is that of the canonical text of the documented value.
    let text = r#"[{"errors":0,"input":{"q":1},"outputs":[{"count":1,"output":"x"}]},{"errors":1,"input":{"q":2},"outputs":[{"count":1,"output":"a"},{"count":1,"output":"b"}]}]"#;
    assert_eq!(json(text).as_str(), text);
    assert_eq!(evidence_id(&seen), auto_store::Digest::of(text.as_bytes()));
}

#[test]
fn a_task_is_observed_from_its_input_to_its_output() {
    let folder = Folder::new();
    let mut store = folder.store();
    let run = |id: &str, input: Option<&str>, output: Option<&str>| Trace {
        input: input.map(json),
        output: output.map(json),
        ..trace(id, vec![Span { started: 100, duration: Some(50), ..span(1, "1", "1") }])
    };
    store.ingest(&[run("a", Some("1"), Some("2")), run("b", Some("1"), Some("2")), run("c", Some("1"), None)]).unwrap();
    let seen = store.observations("toy", &Scope::Task).unwrap();
    assert_eq!((seen.len(), &seen[0].outputs), (1, &vec![(json("2"), 2)]));
    let reference = store.reference("toy", &Scope::Task).unwrap();
    assert_eq!(reference.durations, [Some(140), Some(140)]);
    let runs = store.census("toy").unwrap().runs.unwrap();
    assert_eq!((runs.row.all.spans, runs.row.deterministic.spans, runs.one_sided), (2, 2, 1));
}

#[test]
fn costs_are_what_agents_declare() {
    let folder = Folder::new();
    let mut store = folder.store();
    let declared = |sequence, pairs: &[(&str, &str)]| Span {
        attributes: pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        ..span(sequence, "1", "1")
    };
    let spans = vec![
        declared(1, &[("cost_usd_micros", "30"), ("tokens", "12")]),
        declared(2, &[("cost_usd_micros", "10")]),
        declared(3, &[("cost_usd_micros", "-1"), ("tokens", "many")]),
        Span { duration: None, ..declared(4, &[]) },
    ];
    let tool = Span { kind: SpanKind::ToolCall, name: "t".into(), ..span(2, "1", "1") };
    let whole = |id: &str, spans| Trace { input: Some(json("1")), output: Some(json("1")), ..trace(id, spans) };
    store.ingest(&[trace("a", spans)]).unwrap();
    let reference = store.reference("toy", &model_calls()).unwrap();
    assert_eq!(
        reference,
        Reference {
            durations: vec![None, Some(5), Some(5), Some(5)],
            costs: vec![None, None, Some(10), Some(30)],
            tokens: vec![None, None, None, Some(12)],
            malformed: 1,
        }
    );
    // A run costs the sum over its operations, known only where every model call says.
    store
        .ingest(&[
            whole("b", vec![declared(1, &[("cost_usd_micros", "30"), ("tokens", "12")]), tool.clone()]),
            whole("c", vec![declared(1, &[("cost_usd_micros", "1")]), tool, declared(3, &[("tokens", "1")])]),
        ])
        .unwrap();
    let runs = store.reference("toy", &Scope::Task).unwrap();
    assert_eq!((runs.costs, runs.tokens, runs.malformed), (vec![None, Some(30)], vec![None, Some(12)], 0));
}

#[test]
fn a_census_counts_and_says_where_it_has_no_data() {
    let folder = Folder::new();
    let mut store = folder.store();
    let kind = |kind, name: &str, span: Span| Span { kind, name: name.into(), ..span };
    let spans = vec![
        kind(SpanKind::Structural, "run", span(1, "{}", "null")),
        span(2, "1", "1"),
        span(3, "1", "1"),
        Span { duration: Some(15), ..span(4, "2", "1") },
        span(5, "2", "3"),
        span(6, "3", "3"),
        Span { error: Some("e".into()), ..kind(SpanKind::ToolCall, "t", span(7, "1", "null")) },
        kind(SpanKind::ToolCall, "t", span(8, "1", "1")),
        kind(SpanKind::Other("user_call".into()), "user", span(9, "1", "1")),
    ];
    store.ingest(&[trace("a", spans), Trace { partial: true, ..trace("b", vec![span(1, "1", "9")]) }]).unwrap();
    let census = store.census("toy").unwrap();
    assert_eq!((census.traces, census.partial, census.structural), (1, 1, 1));
    let total = &census.total;
    assert_eq!((total.all.spans, total.all.inputs, total.errors), (8, 5, 1));
    assert_eq!((total.witnessed.inputs, total.witnessed.spans), (3, 6));
    assert_eq!((total.deterministic.inputs, total.deterministic.spans), (1, 2));
    assert_eq!(total.coverage().0, Some(750_000));
    let model = &census.operations[0];
    assert_eq!((model.kind.as_str(), model.name.as_deref()), ("model_call", Some("m")));
    assert_eq!(model.deterministic_by_spans().0, Some(500_000));
    assert_eq!(model.deterministic_by_time().0, Some(333_333));
    let divergent: Vec<_> =
        census.divergent.iter().map(|one| (one.kind.as_str(), one.input.as_str(), one.outputs, one.errors)).collect();
    assert_eq!(divergent, [("model_call", "2", 2, 0), ("tool_call", "1", 1, 1)]);
    assert!(census.runs.is_none());
    let text = census.to_string();
    for part in [
        "census of task \"toy\": 1 whole trace\n",
        "nothing: 1 torn trace\n",
        "no data",
        "33.3%",
        "75.0%",
        "1 structural span\n",
        "divergent inputs: 2",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    let value = census.to_value();
    let share = |row: &Value| row.get("shares").and_then(|shares| shares.get("deterministic_spans_ppm")).cloned();
    assert_eq!(share(value.get("total").unwrap()), Some(Value::integer(333_333)));
    let user = &value.get("operations").and_then(Value::as_list).unwrap()[2];
    assert_eq!((user.get("kind").and_then(Value::as_text), share(user)), (Some("user_call"), Some(Value::Null)));
    let error = store.census("absent").unwrap_err();
    assert!(error.code == "no-task" && error.message.contains("toy"), "{error}");
}

#[test]
fn shares_are_rounded_but_never_to_all_or_from_nothing() {
    let shown = |part, whole| Share::of(part, whole).to_string();
    assert_eq!((shown(810, 816).as_str(), shown(1, 3).as_str(), shown(0, 3).as_str()), ("99.3%", "33.3%", "0.0%"));
    assert_eq!(
        (shown(99_999, 100_000).as_str(), shown(7, 7).as_str(), shown(0, 0).as_str()),
        ("99.9%", "100.0%", "no data")
    );
    assert_eq!(Share::of(u64::MAX, u64::MAX).0, Some(1_000_000));
}

#[test]
fn names_cannot_write_to_the_terminal() {
    let folder = Folder::new();
    let mut store = folder.store();
    let named = |n, output: &str| Span { name: "\u{1b}[2J\n".into(), ..span(n, "\"\u{7f}\u{9b}\"", output) };
    store.ingest(&[Trace { task: "\u{1b}[31m".into(), ..trace("a", vec![named(1, "1"), named(2, "2")]) }]).unwrap();
    let text = store.census("\u{1b}[31m").unwrap().to_string();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn many_recorders_at_once_lose_nothing() {
    let folder = Folder::new();
    let path = folder.path();
    // Each makes its own connection, the first of which also makes the file.
    let recorders: Vec<_> = (0..24)
        .map(|recorder| {
            let path = path.clone();
            std::thread::spawn(move || {
                for run in 0..5 {
                    let spans = (1..20).map(|n| span(n, &format!("{n}"), "1")).collect();
                    let mut store = Store::create_or_open(&path).unwrap();
                    store.ingest(&[trace(&format!("{recorder}-{run}"), spans)]).unwrap();
                    Store::open_read(&path).unwrap().tasks().unwrap();
                }
            })
        })
        .collect();
    recorders.into_iter().for_each(|recorder| recorder.join().unwrap());
    let tasks = Store::open_read(&path).unwrap().tasks().unwrap();
    assert_eq!((tasks.len(), tasks[0].traces, tasks[0].spans), (1, 120, 120 * 19));
}

fn value() -> impl Strategy<Value = Canonical> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Value::from))
        .prop_map(|value| value.canonical())
}

fn attributes() -> impl Strategy<Value = Vec<(String, String)>> {
    // In canonical key order, as importers give them.
    prop::collection::btree_map("[a-z\\x00]{0,4}", any::<String>(), 0..3).prop_map(|map| map.into_iter().collect())
}

fn kinds() -> impl Strategy<Value = SpanKind> {
    "model_call|tool_call|env_read|memory_op|branch|span|user_call".prop_map(|name| SpanKind::from_name(&name))
}

prop_compose! {
    fn spans()(parts in prop::collection::vec((kinds(), any::<String>(), value(), value(), any::<Option<String>>(), any::<(u64, Option<u64>)>(), attributes()), 0..6), ids: u64, first: bool)
        -> Vec<Span> {
        let spans = parts.into_iter().zip(0_u64..);
        spans.map(|((kind, name, input, output, error, (started, duration), attributes), n)| Span {
            id: ids.wrapping_add(n),
            parent: (first && n > 0).then_some(ids),
            sequence: u64::MAX - 100 + n,
            kind, name, input, output, error, started, duration, attributes,
        }).collect()
    }
}

prop_compose! {
    fn traces()(id in "[a-z]{1,9}", task: String, recorder: String, started: u64, attributes in attributes(),
                input in prop::option::of(value()), output in prop::option::of(value()), partial: bool, spans in spans()) -> Trace {
        Trace { id, task, recorder, started, attributes, input, output, partial, spans }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_goes_in_comes_out(trace in traces()) {
        let folder = Folder::new();
        folder.store().ingest(std::slice::from_ref(&trace)).unwrap();
        prop_assert_eq!(Store::open_read(folder.path()).unwrap().trace(&trace.id).unwrap(), Some(trace.clone()));
        prop_assert_eq!(folder.store().ingest(&[trace]).unwrap().already, 1);
    }
}

/// An operation named like its kind's first letter and more.
fn operation(sequence: u64, name: &str, input: &str, output: &str) -> Span {
    let kind = match name.chars().next() {
        Some('t') => SpanKind::ToolCall,
        Some('s') => SpanKind::Structural,
        _ => SpanKind::ModelCall,
    };
    Span { kind, name: name.into(), ..span(sequence, input, output) }
}

#[test]
fn a_region_is_observed_from_its_first_input_to_its_last_output() {
    let folder = Folder::new();
    let mut store = folder.store();
    let run = |id: &str, word: &str, tool: &str| {
        let inside = Span { parent: Some(4), ..operation(5, "m4", "1", "1") };
        trace(
            id,
            vec![
                operation(1, "m0", "0", "0"),
                operation(2, "m1", word, word),
                operation(3, "span", "null", "null"),
                operation(4, "t1", word, tool),
                inside,
                operation(6, "m2", tool, tool),
                operation(7, "m1x", "0", "0"),
            ],
        )
    };
    let failed = {
        let mut trace = run("f", "2", "3");
        trace.spans[5].error = Some("refused".into());
        trace
    };
    let torn = Trace { partial: true, ..run("p", "9", "9") };
    let (mut twice, mut turned, mut nested) = (run("t", "1", "2"), run("u", "1", "2"), run("n", "1", "2"));
    twice.spans[6].name = "m1".into();
    turned.spans[1].name = "m2".into();
    turned.spans[5].name = "m1".into();
    nested.spans[3].parent = Some(2);
    let short = trace("s", vec![operation(1, "m1", "1", "1")]);
    store
        .ingest(&[
            run("a", "1", "2"),
            run("b", "1", "2"),
            run("c", "1", "4"),
            failed,
            torn,
            twice,
            turned,
            nested,
            short,
        ])
        .unwrap();
    let region = Scope::Region { from: "m1".into(), to: "m2".into() };
    let recorded = store.runs("toy", &region).unwrap();
    let shown: Vec<_> = recorded
        .runs
        .iter()
        .map(|run| {
            let steps: Vec<&str> = run.steps.iter().map(|step| step.name.as_str()).collect();
            (run.input.as_str(), run.output.as_str(), run.error.as_deref(), steps.join(" "))
        })
        .collect();
    let steps = "m1 t1 m2".to_owned();
    assert_eq!(
        shown,
        [
            ("1", "2", None, steps.clone()),
            ("1", "4", None, steps.clone()),
            ("1", "null", Some("it did not come to \"m2\""), "m1".to_owned()),
            ("2", "3", Some("refused"), steps),
        ]
    );
    assert_eq!(
        recorded.left_out,
        [
            r#"1 recording has no operation named "m2""#,
            r#"1 recording has several operations named "m1""#,
            r#"1 recording has "m2" before "m1""#,
            r#"1 recording has "t1" inside the model call "m1", which so is no single step"#,
        ]
    );
    let seen = store.observations("toy", &region).unwrap();
    let shown: Vec<_> = seen.iter().map(|seen| (seen.input.as_str(), seen.outputs.len(), seen.errors)).collect();
    assert_eq!(shown, [("1", 2, 0), ("2", 0, 1)]);
    assert_eq!(seen[0].outputs[0].1, 2);
    assert_eq!(store.reference("toy", &region).unwrap().durations, [Some(5); 4]);
    assert!(store.runs("toy", &model_calls()).unwrap().runs.is_empty());

    let nowhere = Scope::Region { from: "m1".into(), to: "m9".into() };
    let error = store.observations("toy", &nowhere).unwrap_err();
    assert_eq!(error.code, "no-region");
    assert!(error.message.contains(r#"7 recordings have no operation named "m9""#), "{}", error.message);
    assert_eq!(store.observations("another", &nowhere).unwrap(), []);
}

#[test]
fn a_run_of_a_task_has_its_operations_in_order() {
    let folder = Folder::new();
    let mut store = folder.store();
    let whole = Trace {
        input: Some(json("1")),
        output: Some(json("3")),
        ..trace("a", vec![operation(1, "t1", "1", "2"), operation(2, "m1", "2", "3")])
    };
    let silent = Trace { output: None, ..Trace { id: "b".into(), ..whole.clone() } };
    store.ingest(&[whole.clone(), Trace { id: "c".into(), ..whole }, silent]).unwrap();
    let recorded = store.runs("toy", &Scope::Task).unwrap();
    let [run, unfinished] = &recorded.runs[..] else { panic!("{recorded:?}") };
    assert_eq!((unfinished.error.is_some(), run.error.is_some()), (true, false));
    assert_eq!((&unfinished.steps, unfinished.output.as_str()), (&run.steps, "null"));
    let capabilities: Vec<_> = run.steps.iter().map(|step| step.capability()).collect();
    assert_eq!((run.input.as_str(), run.output.as_str()), ("1", "3"));
    assert_eq!(capabilities, [Some("tool:t1".into()), Some("model:m1".into())]);
    assert_eq!(recorded.left_out, ["1 recording has no task input or no task output"]);
}
