//! What goes from a store and what stays: retention, compaction, and what is saved of a damaged one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use auto_json::Canonical;
use auto_schema::contract::SpanKind as Kind;
use auto_schema::key::Part;
use auto_store::{Pin, Pruned, Retention, Salvaged, Scope, Span, SpanKind, Store, Trace};
use rusqlite::Connection;

fn json(text: &str) -> Canonical {
    Canonical::of(text).unwrap()
}

/// A run that asked a model once and a tool once.
fn trace(number: u64, task: &str) -> Trace {
    let span = |sequence, kind, name: &str| Span {
        id: sequence,
        parent: None,
        sequence,
        kind,
        name: name.into(),
        input: json(&format!("{{\"{name}\":{number}}}")),
        output: json("\"yes\""),
        error: None,
        started: number,
        duration: Some(1),
        attributes: Vec::new(),
    };
    Trace {
        id: format!("{task}-{number}"),
        task: task.into(),
        recorder: "test".into(),
        started: number * 1_000,
        attributes: vec![("host".into(), "here".into())],
        input: Some(json(&format!("[{number}]"))),
        output: Some(json("[\"made\"]")),
        partial: false,
        spans: vec![span(1, SpanKind::ModelCall, "ask"), span(2, SpanKind::ToolCall, "look")],
    }
}

fn store(folder: &Path, traces: &[Trace]) -> (PathBuf, Store) {
    let path = folder.join("s.db");
    let mut store = Store::create_or_open(&path).unwrap();
    store.ingest(traces).unwrap();
    (path, store)
}

fn ids(store: &Store, task: &str) -> Vec<String> {
    store.traces_of(task).unwrap().into_iter().map(|trace| trace.id).collect()
}

fn values(path: &Path) -> u64 {
    Connection::open(path).unwrap().query_row("SELECT count(*) FROM value", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_trace_goes_where_all_that_is_said_holds_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut traces: Vec<Trace> = (1..=6).map(|number| trace(number, "toy")).collect();
    traces[1].partial = true;
    traces.push(trace(1, "other"));
    let (path, mut store) = store(folder.path(), &traces);
    let before = values(&path);
    let old = Retention { task: Some("toy".into()), before: Some(4_000), ..Retention::default() };
    let dry = store.prune(&old, true).unwrap();
    assert_eq!(dry, Pruned { traces: 3, partial: 1, spans: 6, values: 0, pinned: 0, kept: 3 });
    assert_eq!((ids(&store, "toy").len(), values(&path)), (6, before), "nothing goes when it is only asked");
    // Of those that are old, the last five of the task stay.
    let few = Retention { keep: Some(5), ..old.clone() };
    assert_eq!(store.prune(&few, false).unwrap().traces, 1);
    assert_eq!(ids(&store, "toy"), ["toy-2", "toy-3", "toy-4", "toy-5", "toy-6"]);
    let cut = Retention { partial: true, ..Retention::default() };
    assert_eq!(store.prune(&cut, false).unwrap().partial, 1);
    assert_eq!(ids(&store, "toy"), ["toy-3", "toy-4", "toy-5", "toy-6"]);
    // What the first had in common with another task's stays.
    let gone = store.prune(&old, false).unwrap();
    assert_eq!((gone.traces, gone.kept, ids(&store, "other").len()), (1, 3, 1));
    store.verify().unwrap();
    let again = Store::open_read(&path).unwrap();
    assert_eq!(again.census("toy").unwrap().traces, 3);
}

#[test]
fn a_task_of_which_everything_went_is_no_task_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut store) = store(folder.path(), &[trace(1, "toy"), trace(2, "other")]);
    let all = Retention { task: Some("toy".into()), ..Retention::default() };
    store.prune(&all, false).unwrap();
    let tasks: Vec<String> = store.tasks().unwrap().into_iter().map(|task| task.task).collect();
    assert_eq!(tasks, ["other"]);
    assert_eq!(store.census("toy").unwrap_err().code, "no-task");
    // It may come again.
    assert_eq!(store.ingest(&[trace(1, "toy")]).unwrap().added, 1);
    Store::open_read(&path).unwrap().verify().unwrap();
}

#[test]
fn what_something_rests_on_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut traces: Vec<Trace> = (1..=3).map(|number| trace(number, "toy")).collect();
    traces[1].spans.pop();
    traces[2].input = None;
    let pruned = |scope: &str, folder: &str, traces: &[Trace]| {
        let pinned = BTreeSet::from([Pin { task: "toy".into(), scope: scope.into() }]);
        let folder = tempfile::tempdir_in(folder).unwrap();
        let (_, mut store) = store(folder.path(), traces);
        let pruned = store.prune(&Retention { pinned, ..Retention::default() }, false).unwrap();
        (ids(&store, "toy"), pruned.pinned)
    };
    let folder = folder.path().to_str().unwrap();
    let stays = |scope: &str| pruned(scope, folder, &traces).0;
    assert_eq!(stays(&Scope::Task.to_string()), ["toy-1", "toy-2"]);
    let span = |name: &str| Scope::Span { kind: Kind::ToolCall, name: name.into() }.to_string();
    assert_eq!(stays(&span("look")), ["toy-1", "toy-3"]);
    assert_eq!(stays(&span("ask")), [""; 0], "that is a model's name");
    assert_eq!(stays(&Scope::Region { from: "ask".into(), to: "look".into() }.to_string()), ["toy-1", "toy-3"]);
    assert_eq!(stays(&Scope::Region { from: "ask".into(), to: "else".into() }.to_string()), [""; 0]);
    assert_eq!(
        pruned("what a later version says", folder, &traces),
        (ids_of(&traces), 3),
        "what is not understood keeps all"
    );
    // What was cut off shows nothing, and something of another task is nothing to it.
    traces[0].partial = true;
    assert_eq!(pruned(&span("look"), folder, &traces), (vec!["toy-3".to_owned()], 1));
}

fn ids_of(traces: &[Trace]) -> Vec<String> {
    traces.iter().map(|trace| trace.id.clone()).collect()
}

#[test]
fn a_compacted_store_says_the_same_in_less_space() {
    let folder = tempfile::tempdir().unwrap();
    let traces: Vec<Trace> = (1..=400).map(|number| trace(number, "toy")).collect();
    let (path, mut store) = store(folder.path(), &traces);
    let key = Part::parse("/ask").unwrap();
    store.set_key("toy", "model_call", None, Some(&key)).unwrap();
    store.prune(&Retention { keep: Some(20), ..Retention::default() }, false).unwrap();
    let (census, left) = (store.census("toy").unwrap(), store.traces_of("toy").unwrap());
    let (before, after) = store.compact().unwrap();
    assert!(after * 4 < before && std::fs::metadata(&path).unwrap().len() == after, "{before} {after}");
    let again = Store::open_read(&path).unwrap();
    assert_eq!((again.census("toy").unwrap(), again.traces_of("toy").unwrap()), (census, left));
    again.verify().unwrap();
}

#[test]
fn a_damaged_store_is_neither_pruned_nor_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = store(folder.path(), &[trace(1, "toy"), trace(2, "toy")]);
    drop(store);
    Connection::open(&path).unwrap().execute_batch("UPDATE span SET name = 'x' WHERE trace = 1").unwrap();
    let before = std::fs::read(&path).unwrap();
    let mut damaged = Store::create_or_open(&path).unwrap();
    assert_eq!(damaged.prune(&Retention::default(), false).unwrap_err().code, "store-damaged");
    assert_eq!(damaged.compact().unwrap_err().code, "store-damaged");
    drop(damaged);
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

fn salvaged(from: &Path) -> (Salvaged, Vec<Trace>, Store) {
    let folder = tempfile::tempdir().unwrap();
    let mut into = Store::create_or_open(folder.path().join("new.db")).unwrap();
    let salvaged = into.salvage(from).unwrap();
    let traces = into.tasks().unwrap().iter().flat_map(|task| into.traces_of(&task.task).unwrap()).collect();
    (salvaged, traces, into)
}

#[test]
fn what_is_whole_of_a_damaged_store_is_taken_over_and_the_rest_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let traces: Vec<Trace> = (1..=5).map(|number| trace(number, "toy")).collect();
    let (path, mut store) = store(folder.path(), &traces);
    store.set_key("toy", "model_call", None, Some(&Part::parse("/ask").unwrap())).unwrap();
    drop(store);
    let broken = Connection::open(&path).unwrap();
    broken.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    broken.execute_batch("UPDATE span SET name = 'x' WHERE trace = 2; DELETE FROM trace WHERE id = 4").unwrap();
    broken.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(broken);
    let before = std::fs::read(&path).unwrap();
    let (result, found, into) = salvaged(&path);
    assert_eq!((result.ingested.added, result.lost, result.unreadable, result.policies), (3, Some(2), 1, Some(1)));
    assert_eq!(found, [traces[0].clone(), traces[2].clone(), traces[4].clone()]);
    assert_eq!(into.key_policies().unwrap().len(), 1);
    assert_eq!(std::fs::read(&path).unwrap(), before, "the damaged file is only read");
    // Where the list of tasks is damaged, nobody can tell how many there were, nor trust the policies.
    Connection::open(&path).unwrap().execute_batch("UPDATE task SET traces = 9").unwrap();
    let (result, found, into) = salvaged(&path);
    assert_eq!((found.len(), result.lost, result.policies), (3, None, None));
    assert!(into.key_policies().unwrap().is_empty());
}

#[test]
fn whatever_is_damaged_nothing_is_salvaged_that_was_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let traces: Vec<Trace> = (1..=40).map(|number| trace(number, "toy")).collect();
    let (path, mut store) = store(folder.path(), &traces);
    store.compact().unwrap();
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    let mut most = 0;
    for start in (100..whole.len()).step_by(1_531) {
        let mut bytes = whole.clone();
        bytes[start..].iter_mut().take(64).for_each(|byte| *byte ^= 0x5a);
        let copy = folder.path().join("copy.db");
        std::fs::write(&copy, bytes).unwrap();
        let into = folder.path().join(format!("{start}.db"));
        let mut into = Store::create_or_open(into).unwrap();
        let Ok(salvaged) = into.salvage(&copy) else { continue };
        let found: Vec<Trace> =
            into.tasks().unwrap().iter().flat_map(|task| into.traces_of(&task.task).unwrap()).collect();
        assert!(found.iter().all(|trace| traces.contains(trace)), "{start}");
        assert_eq!(found.len(), salvaged.ingested.added, "{start}");
        most = most.max(found.len().min(39));
    }
    assert_eq!(most, 39, "somewhere most of it is saved");
}

#[test]
fn what_is_no_store_is_not_salvaged() {
    let folder = tempfile::tempdir().unwrap();
    let mut into = Store::create_or_open(folder.path().join("new.db")).unwrap();
    let code =
        |result: Result<Salvaged, auto_store::StoreError>| result.map_or_else(|error| error.code, |_| "salvaged");
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "hello, this is no database at all".repeat(50)).unwrap();
    assert_eq!(code(into.salvage(&text)), "not-a-store");
    assert_eq!(code(into.salvage(&folder.path().join("absent.db"))), "no-store");
    assert_eq!(code(into.salvage(folder.path())), "not-a-store");
    let foreign = folder.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
    assert_eq!(code(into.salvage(&foreign)), "not-a-store");
}
