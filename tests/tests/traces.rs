//! From trace files through the importers into the store: the public recordings give the
//! figures that are published for them, and our own recorder writes what our importer
//! reads. Where the public data is not there, its tests say so and pass.

use std::path::{Path, PathBuf};
use std::process::Command;

use auto_importer::Source;
use auto_json::{Canonical, Value};
use auto_store::{Ingested, Scope, SpanKind, Store, StoreError};
use proptest::prelude::*;

/// The root of this repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A file of the public data, `$AUTO_SHARED_DATA` or beside the repository.
fn shared(file: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("AUTO_SHARED_DATA").map_or_else(|| root().join("../shared/data"), PathBuf::from);
    let path = folder.join(file);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: no {}; set AUTO_SHARED_DATA to the folder of public data", path.display());
    None
}

/// Turns an importer's trace into the store's, as the host does.
fn stored(trace: auto_importer::Trace) -> auto_store::Trace {
    let json = |text: String| {
        let canonical = Canonical::of(&text).unwrap();
        assert_eq!(canonical.as_str(), text, "importers give canonical texts");
        canonical
    };
    let kind = |kind: &auto_importer::SpanKind| SpanKind::from_name(auto_importer::kind_name(kind));
    let span = |span: auto_importer::Span| auto_store::Span {
        id: span.id,
        parent: span.parent,
        sequence: span.sequence,
        kind: kind(&span.kind),
        name: span.name,
        input: json(span.input),
        output: json(span.output),
        error: span.error,
        started: span.started,
        duration: span.duration,
        attributes: span.attributes,
    };
    auto_store::Trace {
        id: trace.id,
        task: trace.task,
        recorder: trace.recorder,
        started: trace.started,
        attributes: trace.attributes,
        input: trace.input.map(json),
        output: trace.output.map(json),
        partial: trace.partial,
        spans: trace.spans.into_iter().map(span).collect(),
    }
}

fn jsonl(path: &Path, recover_partial: bool) -> Result<auto_store::Trace, auto_import_auto::Fault> {
    let bytes = std::fs::read(path).unwrap();
    let valid = std::str::from_utf8(&bytes).map_or_else(|error| error.valid_up_to(), str::len);
    let source = Source {
        undecodable: u32::try_from(bytes.len() - valid).unwrap(),
        recover_partial,
        ..Source::of(&path.display().to_string(), String::from_utf8(bytes[..valid].to_vec()).unwrap())
    };
    assert!(auto_import_auto::detect(&source.text));
    Ok(stored(auto_import_auto::parse(&source)?))
}

fn new_store() -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::create_or_open(folder.path().join("s.db")).unwrap();
    (folder, store)
}

fn import_tau_bench(store: &mut Store, path: &Path) -> Result<Ingested, StoreError> {
    let text = std::fs::read_to_string(path).unwrap();
    let source = Source { task: Some("airline".into()), ..Source::of(&path.display().to_string(), text) };
    assert!(auto_import_tau_bench::detect(&source.text[..1000]));
    let (mut total, mut from) = (Ingested::default(), Some(0));
    while let Some(start) = from {
        let batch = auto_import_tau_bench::parse(&source, start).unwrap();
        let traces: Vec<_> = batch.traces.into_iter().map(stored).collect();
        total += store.ingest(&traces)?;
        from = batch.next;
    }
    Ok(total)
}

/// What a store exports, read back by the importer.
fn exported(store: &Store) -> Vec<auto_store::Trace> {
    let mut text = String::new();
    for task in store.tasks().unwrap() {
        store
            .each_trace(&task.task, |trace| {
                text += &auto_store::jsonl(&trace);
                Ok(())
            })
            .unwrap();
    }
    read_back(&text)
}

fn read_back(text: &str) -> Vec<auto_store::Trace> {
    let source = Source::of("export.jsonl", text);
    let (mut traces, mut from) = (Vec::new(), Some(0));
    while let Some(start) = from {
        let batch = auto_import_auto::exported::parse(&source, start).unwrap();
        traces.extend(batch.traces.into_iter().map(stored));
        from = batch.next;
    }
    traces
}

#[test]
fn what_is_exported_and_imported_again_is_the_same_evidence() {
    let Some(path) = shared("traces/tau-bench-gpt-4o-airline.json") else { return };
    let (_folder, mut store) = new_store();
    import_tau_bench(&mut store, &path).unwrap();
    let (_other, mut again) = new_store();
    again.ingest(&exported(&store)).unwrap();
    assert_eq!(again.census("airline").unwrap(), store.census("airline").unwrap());
    assert_eq!(again.traces_of("airline").unwrap(), store.traces_of("airline").unwrap());
    let scope = Scope::Span { kind: auto_store_kind("tool_call"), name: "get_user_details".into() };
    let seen = store.observations("airline", &scope).unwrap();
    assert!(!seen.is_empty());
    assert_eq!(again.observations("airline", &scope).unwrap(), seen);
}

/// Traces with anything in them that a trace may hold.
fn any_trace() -> impl Strategy<Value = auto_store::Trace> {
    let text = || prop_oneof!["[a-c]{0,3}", "\\PC{0,6}", Just("\u{0}\r\n\",\u{2028}".to_owned())];
    let json = || {
        prop_oneof![
            Just("null".to_owned()),
            Just("[1.50,{\"\":\"é\"}]".to_owned()),
            text().prop_map(|text| Value::from(text).to_string())
        ]
        .prop_map(|text| Canonical::of(&text).unwrap())
    };
    // Attributes are a set, kept in the order of canonical JSON: that of UTF-16, where U+1F77B is before U+FF01.
    let notes = || {
        let key = prop_oneof![text(), Just("\u{ff01}".to_owned()), Just("\u{1f77b}".to_owned())];
        proptest::collection::btree_map(key, text(), 0..3).prop_map(|notes| {
            let mut notes: Vec<_> = notes.into_iter().collect();
            notes.sort_by(|one, other| one.0.encode_utf16().cmp(other.0.encode_utf16()));
            notes
        })
    };
    let kind = proptest::sample::select(vec!["model_call", "tool_call", "span", "user", ""]);
    let span =
        (kind, text(), json(), json(), proptest::option::of(text()), any::<u64>(), any::<Option<u64>>(), notes());
    let spans = proptest::collection::vec(span, 0..4).prop_map(|spans| {
        let whole = |(place, (kind, name, input, output, error, started, duration, attributes))| auto_store::Span {
            id: u64::MAX - place,
            parent: (place > 1).then_some(u64::MAX - 1),
            sequence: place * place,
            kind: SpanKind::from_name(kind),
            name,
            input,
            output,
            error,
            started,
            duration,
            attributes,
        };
        (1..).zip(spans).map(whole).collect::<Vec<auto_store::Span>>()
    });
    let option = || proptest::option::of(json());
    (text(), text(), any::<u64>(), notes(), option(), option(), any::<bool>(), spans).prop_map(
        |(task, recorder, started, attributes, input, output, partial, spans)| auto_store::Trace {
            id: "a".into(),
            task,
            recorder,
            started,
            attributes,
            input,
            output,
            partial,
            spans,
        },
    )
}

/// The cells of a CSV text (RFC 4180).
fn cells(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut cell, mut quoted) = (vec![vec![]], String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        match one {
            '"' if quoted && rest.peek() == Some(&'"') => cell.extend(rest.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => rows.last_mut().unwrap().push(std::mem::take(&mut cell)),
            '\r' if !quoted => {
                assert_eq!(rest.next(), Some('\n'));
                rows.last_mut().unwrap().push(std::mem::take(&mut cell));
                rows.push(Vec::new());
            }
            other => cell.push(other),
        }
    }
    assert!(!quoted && rows.pop() == Some(Vec::new()));
    rows
}

proptest! {
    #[test]
    fn every_trace_comes_back_from_its_lines_as_it_was(traces in proptest::collection::vec(any_trace(), 0..3)) {
        let text: String = traces.iter().map(auto_store::jsonl).collect();
        prop_assert_eq!(read_back(&text), traces);
    }

    #[test]
    fn a_row_of_csv_holds_what_its_span_says(trace in any_trace()) {
        let rows = cells(&(auto_store::CSV_HEAD.to_owned() + &auto_store::csv(&trace)));
        prop_assert_eq!(rows.len(), trace.spans.len() + 2);
        prop_assert!(rows.iter().all(|row| row.len() == rows[0].len()));
        for (row, span) in rows[2..].iter().zip(&trace.spans) {
            let is = |column: &str| row[rows[0].iter().position(|own| own == column).unwrap()].as_str();
            prop_assert_eq!((is("trace"), is("name"), is("input")), ("a", span.name.as_str(), span.input.as_str()));
            prop_assert_eq!(is("duration_us"), span.duration.map_or(String::new(), |micros| micros.to_string()));
            prop_assert_eq!(is("error"), span.error.as_deref().unwrap_or_default());
        }
    }
}

#[test]
fn tau_bench_gives_its_published_figures() {
    let Some(path) = shared("traces/tau-bench-gpt-4o-airline.json") else { return };
    let (_folder, mut store) = new_store();
    let ingested = import_tau_bench(&mut store, &path).unwrap();
    assert_eq!((ingested.added, ingested.already, ingested.spans), (200, 0, 2_454 + 1_164 + 1_290));
    let census = store.census("airline").unwrap();
    println!("{census}");
    let [model, tool, user] = &census.kinds[..] else { panic!("{:?}", census.kinds) };
    let counts = |row: &auto_store::Row| {
        let pair = |tally: auto_store::Tally| (tally.inputs, tally.spans);
        (pair(row.all), pair(row.witnessed), pair(row.deterministic))
    };
    assert_eq!(counts(model), ((2_446, 2_454), (7, 15), (7, 15)));
    assert_eq!(counts(tool), ((568, 1_164), (220, 816), (218, 810)));
    assert_eq!(counts(user), ((1_282, 1_290), (7, 15), (0, 0)));
    assert_eq!(tool.deterministic_by_spans().to_string(), "99.3%");
    assert_eq!(tool.deterministic_by_spans().0, Some(992_647));
    assert!(census.divergent.iter().any(|one| one.name == "book_reservation"));
    assert!(census.runs.is_none() && census.partial == 0);
    assert_eq!(census.total.deterministic_by_time().0, None);
    let again = import_tau_bench(&mut store, &path).unwrap();
    assert_eq!((again.added, again.already), (0, 200));
}

#[test]
fn keyed_on_the_last_message_tau_bench_repeats_itself_as_published() {
    let Some(path) = shared("traces/tau-bench-gpt-4o-airline.json") else { return };
    let (_folder, mut store) = new_store();
    import_tau_bench(&mut store, &path).unwrap();
    let (whole, proposals) = store.propose_keys("airline", "model_call", "assistant").unwrap();
    assert_eq!((whole.row.all.spans, whole.row.witnessed.spans, whole.row.witnessed.inputs), (2_454, 15, 7));
    assert_eq!(whole.row.coverage().to_string(), "0.6%");
    let last = proposals.iter().find(|one| one.what == "the last message").unwrap();
    println!("{proposals:#?}");
    assert_eq!((last.row.witnessed.inputs, last.row.witnessed.spans), (234, 989));
    // Set, the census and the evidence for compiling say the same; what was recorded stays.
    store.set_key("airline", "model_call", None, Some(&last.key)).unwrap();
    let census = store.census("airline").unwrap();
    assert_eq!((census.kinds[0].witnessed.inputs, census.kinds[0].witnessed.spans), (234, 989));
    assert_eq!(census.kinds[1].witnessed.inputs, 220, "tools have no key policy");
    let scope = Scope::Span { kind: auto_store_kind("model_call"), name: "assistant".into() };
    let seen = store.observations("airline", &scope).unwrap();
    let witnessed = |one: &&auto_store::Observation| one.outputs.iter().map(|(_, count)| count).sum::<u32>() > 1;
    assert_eq!(seen.iter().filter(witnessed).count(), 234);
    store.verify().unwrap();
    store.set_key("airline", "model_call", None, None).unwrap();
    assert_eq!(store.census("airline").unwrap().kinds[0].witnessed.spans, 15);
}

#[test]
fn the_peers_recordings_load_unchanged() {
    let Some(folder) = shared("peer-v0") else { return };
    let (_folder, mut store) = new_store();
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files
        .retain(|path| path.extension().is_some_and(|extension| extension == "jsonl") && !path.ends_with("torn.jsonl"));
    for path in &files {
        store.ingest(&[jsonl(path, false).unwrap()]).unwrap();
    }
    let census = store.census("toy-agent").unwrap();
    println!("{census}");
    let runs = census.runs.unwrap();
    assert_eq!((census.traces, runs.row.all.inputs, runs.row.deterministic.inputs, runs.one_sided), (8, 4, 4, 0));
    let shares: Vec<_> = census.operations.iter().map(|row| (row.name.as_deref(), row.deterministic.inputs)).collect();
    assert!(shares.contains(&(Some("fake-frontier"), 4)) && shares.contains(&(Some("clock.now_ms"), 0)), "{shares:?}");
    let scope = Scope::Span { kind: auto_store_kind("model_call"), name: "fake-frontier".into() };
    let seen = store.observations("toy-agent", &scope).unwrap();
    assert_eq!(seen.len(), 4);
    assert!(seen.iter().all(|one| one.outputs.len() == 1 && one.outputs[0].1 == 2 && one.errors == 0));
    assert_eq!(store.reference("toy-agent", &scope).unwrap().durations.len(), 8);
    let tasks: Vec<_> = store.tasks().unwrap().into_iter().map(|summary| (summary.task, summary.traces)).collect();
    assert_eq!(tasks, [("pipeline-agent".into(), 2), ("tool-agent".into(), 5), ("toy-agent".into(), 8)]);
}

fn auto_store_kind(name: &str) -> auto_schema::contract::SpanKind {
    auto_schema::contract::SpanKind::parse(name).unwrap()
}

#[test]
fn a_torn_recording_is_kept_apart() {
    let Some(path) = shared("peer-v0/torn.jsonl") else { return };
    let fault = jsonl(&path, false).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("torn-trace", Some("line 8")));
    let trace = jsonl(&path, true).unwrap();
    assert!(trace.partial && trace.output.is_none() && trace.spans.len() == 6);
    let (_folder, mut store) = new_store();
    store.ingest(std::slice::from_ref(&trace)).unwrap();
    let census = store.census("toy-agent").unwrap();
    assert_eq!((census.traces, census.partial, census.total.all.spans), (0, 1, 0));
    assert!(census.to_string().contains("1 torn trace") && census.to_string().contains("no data"));
    // The whole recording of the same run takes its place.
    if let Some(path) = shared("peer-v0/toy-1.jsonl") {
        let whole = jsonl(&path, false).unwrap();
        assert_eq!(whole.id, trace.id);
        assert_eq!(store.ingest(&[whole]).unwrap().completed, 1);
        let census = store.census("toy-agent").unwrap();
        assert_eq!((census.traces, census.partial), (1, 0));
    }
}

const AGENT: &str = r#"
import asyncio, os, sys, threading
import auto_sdk

@auto_sdk.tool_call("lookup")
async def lookup(text):
    await asyncio.sleep(0)
    if not text:
        raise ValueError("nothing to look up")
    return {"text": text, "parts": [1, 2.5, 1e300, 10**37, None, True, "\u00e4\u2028\U0001f600\x00\""]}

@auto_sdk.span("worker")
async def worker(n):
    with auto_sdk.model_call("m", {"n": n}) as call:
        call.output, call.tokens, call.cost_usd_micros = "even" if n % 2 == 0 else "odd", 5, 40
    try:
        await lookup("x" * (n % 3))
    except ValueError:
        pass

async def agent():
    with auto_sdk.span("run"):
        await asyncio.gather(*(worker(n) for n in range(20)))

with auto_sdk.trace("sdk-agent", {"doc": "d"}, {"build": "7"}) as run:
    asyncio.run(agent())
    threads = [threading.Thread(target=lambda: auto_sdk.branch("b", {}, "left")) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    auto_sdk.env_read("PATH")
    with auto_sdk.span("last"):
        with auto_sdk.memory_op("append", {"key": "k"}) as call:
            call.output = [0.1, -0.0, 3.0, 3]
        if sys.argv[1:] == ["die"]:
            os._exit(9)
    run.task_output({"done": True})
"#;

/// Runs the agent above with our recorder; `None` where there is no Python.
fn recorded_agent(trace: &Path, arguments: &[&str]) -> Option<bool> {
    let mut python = Command::new("python3");
    python.args(["-B", "-c", AGENT]).args(arguments).env("AUTO_TRACE_FILE", trace);
    python.env("PYTHONPATH", root().join("tools/sdk/python"));
    match python.output() {
        Ok(output) => {
            let success = output.status.success();
            assert!(success || !arguments.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(success)
        }
        Err(error) => {
            eprintln!("skipped: python3 cannot be run: {error}");
            None
        }
    }
}

#[test]
fn our_importer_reads_what_our_recorder_writes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let Some(true) = recorded_agent(&file, &[]) else { return };
    let trace = jsonl(&file, false).unwrap();
    let (_folder, mut store) = new_store();
    store.ingest(std::slice::from_ref(&trace)).unwrap();
    assert_eq!((trace.task.as_str(), trace.partial, trace.attributes.len()), ("sdk-agent", false, 1));
    assert_eq!(trace.output.as_ref().map(Canonical::as_str), Some(r#"{"done":true}"#));
    assert_eq!(trace.spans.len(), 1 + 20 * 3 + 4 + 1 + 2);
    // Microseconds: the run took some, and nothing is left among the attributes.
    assert!(trace.spans.iter().all(|span| span.duration.is_some() && span.started >= trace.started));
    assert!(trace.spans.iter().any(|span| span.duration.is_some_and(|micros| micros % 1_000 != 0)));
    assert!(trace.spans.iter().all(|span| span.attributes.iter().all(|(key, _)| !key.ends_with("_us"))));
    let census = store.census("sdk-agent").unwrap();
    let [lookup] = &census.operations.iter().filter(|row| row.kind == "tool_call").collect::<Vec<_>>()[..] else {
        panic!("{census}")
    };
    assert_eq!((lookup.all.inputs, lookup.witnessed.spans, lookup.deterministic.inputs, lookup.errors), (3, 20, 2, 7));
    let scope = Scope::Span { kind: auto_store_kind("model_call"), name: "m".into() };
    let reference = store.reference("sdk-agent", &scope).unwrap();
    assert_eq!((reference.costs, reference.malformed), (vec![Some(40); 20], 0));
    assert_eq!(store.reference("sdk-agent", &Scope::Task).unwrap().tokens, [Some(100)]);
    let lookups =
        store.observations("sdk-agent", &Scope::Span { kind: auto_store_kind("tool_call"), name: "lookup".into() });
    let parts = lookups.unwrap()[1].outputs[0].0.value().get("parts").cloned().unwrap();
    assert_eq!(parts.as_list().map(<[Value]>::len), Some(7));
    let memory = trace.spans.iter().find(|span| span.kind == SpanKind::MemoryOp).unwrap();
    assert_eq!(memory.output.as_str(), "[0.1,0.0,3.0,3]");
}

#[test]
fn a_recorder_that_was_killed_leaves_what_can_be_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let Some(false) = recorded_agent(&file, &["die"]) else { return };
    assert_eq!(jsonl(&file, false).unwrap_err().code, "torn-trace");
    let trace = jsonl(&file, true).unwrap();
    assert!(trace.partial && trace.output.is_none());
    let memory = trace.spans.iter().find(|span| span.kind == SpanKind::MemoryOp).unwrap();
    assert_eq!(memory.parent, None);
}
