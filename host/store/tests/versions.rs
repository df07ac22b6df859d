//! Stores of older versions: read as they are, brought up to date when written to, and
//! never left in between.

use std::path::{Path, PathBuf};

use auto_store::{Scope, Store, Trace};
use rusqlite::Connection;

/// A store that a program of version 1 made.
fn old_store(folder: &Path) -> PathBuf {
    let path = folder.join("old.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(include_str!("fixtures/version-1.sql")).unwrap();
    old.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).unwrap();
    path
}

fn version(path: &Path) -> i64 {
    Connection::open(path).unwrap().query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap()
}

/// What the program of version 1 said of it.
fn check(store: &Store) {
    let tasks: Vec<_> = store.tasks().unwrap().into_iter().map(|t| (t.task, t.traces, t.partial, t.spans)).collect();
    assert_eq!(tasks, [("other task".to_owned(), 1, 0, 2), ("toy".to_owned(), 2, 1, 8)]);
    let census = store.census("toy").unwrap();
    let total = &census.total;
    assert_eq!((total.all.spans, total.witnessed.spans, total.deterministic.spans), (6, 4, 4));
    assert_eq!((total.errors, census.structural, census.partial), (1, 2, 1));
    let runs = store.observations("toy", &Scope::Task).unwrap();
    let outputs: Vec<_> = runs[0].outputs.iter().map(|(output, count)| (output.as_str(), *count)).collect();
    assert_eq!((runs.len(), &outputs[..]), (1, &[("{\"o\":1}", 1), ("{\"o\":2}", 1)][..]));
    let trace = store.trace(&"a".repeat(32)).unwrap().unwrap();
    assert_eq!((trace.spans.len(), trace.spans[1].input.as_str()), (5, "{\"q\":\"é 1\"}"));
    store.verify().unwrap();
}

fn more() -> Trace {
    Trace {
        id: "more".into(),
        task: "toy".into(),
        recorder: "test".into(),
        started: 0,
        attributes: Vec::new(),
        input: None,
        output: None,
        partial: false,
        spans: Vec::new(),
    }
}

#[test]
fn a_reader_reads_an_older_store_and_leaves_it_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = old_store(folder.path());
    let before = std::fs::read(&path).unwrap();
    check(&Store::open_read(&path).unwrap());
    assert_eq!((std::fs::read(&path).unwrap(), version(&path)), (before, 1));
}

#[test]
fn a_writer_brings_an_older_store_up_to_date() {
    let folder = tempfile::tempdir().unwrap();
    let path = old_store(folder.path());
    check(&Store::create_or_open(&path).unwrap());
    assert_eq!(version(&path), 4);
    check(&Store::open_read(&path).unwrap());
    let mut store = Store::create_or_open(&path).unwrap();
    store.ingest(&[more()]).unwrap();
    assert_eq!(Store::open_read(&path).unwrap().tasks().unwrap()[1].traces, 3);
}

#[test]
fn an_older_store_that_is_damaged_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = old_store(folder.path());
    Connection::open(&path).unwrap().execute_batch("UPDATE span SET name = 'x' WHERE trace = 3").unwrap();
    for error in [Store::create_or_open(&path).unwrap_err(), Store::open_read(&path).unwrap_err()] {
        assert!(error.code == "store-damaged" && error.message.contains("cccc"), "{error}");
    }
    assert_eq!(version(&path), 1);
}

#[test]
fn an_update_that_is_cut_off_never_happened() {
    let folder = tempfile::tempdir().unwrap();
    let path = old_store(folder.path());
    let held = Connection::open(&path).unwrap();
    held.query_row("SELECT count(*) FROM trace", [], |_| Ok(())).unwrap();
    drop(Store::create_or_open(&path).unwrap());
    // The log holds all of the update. A kill leaves it whole or cut off at any place; the
    // file itself is still the old one.
    let beside = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let (file, log) = (std::fs::read(&path).unwrap(), std::fs::read(beside("-wal")).unwrap());
    assert!(log.len() > 3 * 4096, "the log was taken in: {}", log.len());
    let torn = folder.path().join("torn.db");
    for length in (0..log.len()).step_by(509).chain([log.len()]) {
        std::fs::write(&torn, &file).unwrap();
        std::fs::write(folder.path().join("torn.db-wal"), &log[..length]).unwrap();
        let _ = std::fs::remove_file(folder.path().join("torn.db-shm"));
        check(&Store::open_read(&torn).unwrap());
        check(&Store::create_or_open(&torn).unwrap());
        assert_eq!(version(&torn), 4, "{length} of {} bytes of the log", log.len());
    }
    drop(held);
}

#[test]
fn a_store_that_a_newer_program_updates_meanwhile_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut store = Store::create_or_open(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 5").unwrap();
    let error = store.ingest(&[more()]).unwrap_err();
    assert_eq!(error.code, "store-version", "{error}");
}
