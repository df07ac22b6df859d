//! What a flipped bit or a lost end can do to a store: nothing, or have it refused. Never
//! something else that is read as if it had been recorded.
//!
//! Of each byte that is not zero, and of some that are, one bit is flipped;
//! `AUTO_EVERY_BIT=1` flips every bit of every byte, which takes some minutes.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use auto_json::Canonical;
use auto_schema::contract::SpanKind as Kind;
use auto_store::{Census, Observation, Reference, Scope, Span, SpanKind, Store, StoreError, TaskSummary, Trace};

fn trace(id: &str, task: &str, answers: &[&str]) -> Trace {
    let json = |text: &str| Canonical::of(text).unwrap();
    let span = |(sequence, answer): (u64, &&str)| Span {
        id: sequence,
        parent: (sequence > 1).then_some(1),
        sequence,
        kind: if sequence == 1 { SpanKind::Structural } else { SpanKind::ModelCall },
        name: if sequence == 1 { "run" } else { "m" }.into(),
        input: json(&format!("{{\"question\":{sequence}}}")),
        output: json(answer),
        error: (*answer == "null").then(|| "timeout".into()),
        started: 1_000 + sequence,
        duration: Some(5),
        attributes: vec![("tokens".into(), (sequence * 10).to_string())],
    };
    Trace {
        id: id.into(),
        task: task.into(),
        recorder: "test".into(),
        started: 1_000,
        attributes: vec![("host".into(), "here".into())],
        input: Some(json("[\"given\"]")),
        output: Some(json("[\"made\"]")),
        partial: id == "torn",
        spans: (1..).zip(answers).map(span).collect(),
    }
}

fn traces() -> Vec<Trace> {
    vec![
        trace("a", "toy", &["null", "\"yes\"", "\"no\""]),
        trace("b", "toy", &["null", "\"yes\"", "\"perhaps\""]),
        trace("c", "other", &["null", "\"yes\""]),
        trace("torn", "toy", &["null", "\"no\""]),
    ]
}

/// Everything that can be asked of a store.
#[derive(Debug, PartialEq)]
struct Answers {
    tasks: Vec<TaskSummary>,
    censuses: Vec<Census>,
    observations: Vec<Vec<Observation>>,
    references: Vec<Reference>,
    traces: Vec<Option<Trace>>,
}

fn ask(path: &Path) -> Result<Answers, StoreError> {
    let store = Store::open_read(path)?;
    let scopes = [Scope::Task, Scope::Span { kind: Kind::ModelCall, name: "m".into() }];
    let mut answers = Answers {
        tasks: store.tasks()?,
        censuses: Vec::new(),
        observations: Vec::new(),
        references: Vec::new(),
        traces: ["a", "b", "c", "torn"].iter().map(|id| store.trace(id)).collect::<Result<_, _>>()?,
    };
    for task in ["toy", "other"] {
        answers.censuses.push(store.census(task)?);
        for scope in &scopes {
            answers.observations.push(store.observations(task, scope)?);
            answers.references.push(store.reference(task, scope)?);
        }
    }
    Ok(answers)
}

/// Copies of a store's files, as one finds them after a kill.
struct Snapshot {
    folder: tempfile::TempDir,
    files: Vec<(&'static str, Vec<u8>)>,
}

impl Snapshot {
    fn of(path: &Path, suffixes: &[&'static str]) -> Snapshot {
        let read = |suffix: &&'static str| (*suffix, fs::read(beside(path, suffix)).unwrap());
        Snapshot { folder: tempfile::tempdir().unwrap(), files: suffixes.iter().map(read).collect() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("s.db")
    }

    fn file(&self, suffix: &str) -> &[u8] {
        &self.files.iter().find(|(own, _)| *own == suffix).unwrap().1
    }

    /// Asks with one file changed.
    fn ask_with(&self, changed: &str, bytes: &[u8]) -> Result<Answers, StoreError> {
        for suffix in ["", "-wal", "-shm"] {
            let path = beside(&self.path(), suffix);
            match self.files.iter().find(|(own, _)| *own == suffix) {
                Some((_, whole)) => fs::write(path, if suffix == changed { bytes } else { whole }).unwrap(),
                None => drop(fs::remove_file(path)),
            }
        }
        ask(&self.path())
    }

    /// Flips bits of a file, each alone: how many, and how many were noticed.
    fn flip(&self, suffix: &str, range: Range<usize>, good: &Answers) -> (usize, usize) {
        let every = std::env::var_os("AUTO_EVERY_BIT").is_some();
        let mut bytes = self.file(suffix).to_vec();
        let (mut flipped, mut refused) = (0, 0);
        for at in range {
            if !every && bytes[at] == 0 && at % 61 != 0 {
                continue;
            }
            // Without a pattern, and the same in every run.
            let one = (at.wrapping_mul(2_654_435_761) >> 7) % 8;
            for bit in if every { 0..8 } else { one..one + 1 } {
                bytes[at] ^= 1 << bit;
                flipped += 1;
                match self.ask_with(suffix, &bytes) {
                    Ok(answers) => assert!(answers == *good, "bit {bit} of byte {at} of {suffix:?} changed an answer"),
                    // The number of its version has no second place: another is a newer one.
                    Err(error) if suffix.is_empty() && (60..64).contains(&at) && error.code == "store-version" => {
                        refused += 1;
                    }
                    Err(error) => {
                        assert!(error.is_integrity(), "bit {bit} of byte {at} of {suffix:?}: {} {error}", error.code);
                        refused += 1;
                    }
                }
                bytes[at] ^= 1 << bit;
            }
        }
        (flipped, refused)
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

#[test]
fn a_flipped_bit_in_the_file_is_harmless_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    Store::create_or_open(&path).unwrap().ingest(&traces()).unwrap();
    let good = ask(&path).unwrap();
    assert_eq!(good.traces.iter().flatten().count(), 4);
    let length = fs::metadata(&path).unwrap().len() as usize;
    let halves = [0..length / 2, length / 2..length];
    let refused = std::thread::scope(|scope| {
        let (path, good) = (&path, &good);
        let threads = halves.map(|half| scope.spawn(move || Snapshot::of(path, &[""]).flip("", half, good)));
        threads.map(|thread| thread.join().unwrap().1).iter().sum::<usize>()
    });
    assert!(refused > 1_000, "only {refused} flips were noticed");
}

#[test]
fn a_flipped_bit_in_the_log_of_a_killed_recorder_is_harmless_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut store = Store::create_or_open(&path).unwrap();
    for trace in traces() {
        store.ingest(&[trace]).unwrap();
    }
    // As a kill leaves them: the log was not taken into the file.
    let killed = Snapshot::of(&path, &["", "-wal", "-shm"]);
    let good = ask(&path).unwrap();
    let frames = killed.file("-wal").len() / (4096 + 24);
    assert!(frames > 20, "{frames} frames: the log was taken in");
    assert_eq!(killed.ask_with("", killed.file("")).unwrap(), good);
    let mut refused = 0;
    let every = std::env::var_os("AUTO_EVERY_BIT").is_some();
    for frame in 0..frames {
        let start = 32 + frame * (4096 + 24);
        let end = if every { start + 4096 + 24 } else { start + 40 };
        refused += killed.flip("-wal", start..end, &good).1;
    }
    assert!(refused > frames * 8, "only {refused} flips were noticed");
    let (flipped, refused) = killed.flip("-wal", 0..32, &good);
    assert!(flipped >= 20 && refused == flipped, "{refused} of {flipped} in the header of the log");
    assert_eq!(killed.flip("-shm", 0..136, &good).1, 0, "the index can be made anew");
    for cut in [1, 24, 4096 + 24, 3 * (4096 + 24)] {
        let log = killed.file("-wal");
        let error = killed.ask_with("-wal", &log[..log.len() - cut]).unwrap_err();
        assert!(error.is_integrity(), "{cut} bytes less: {error}");
    }
}

#[test]
fn after_a_power_cut_what_was_not_finished_is_dropped_and_what_was_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut store = Store::create_or_open(&path).unwrap();
    store.ingest(&traces()[..3]).unwrap();
    let before = Snapshot::of(&path, &["", "-wal"]);
    store.ingest(&traces()[3..]).unwrap();
    let after = Snapshot::of(&path, &["", "-wal"]);
    let (kept, log) = (before.file("-wal").len(), after.file("-wal"));
    let good = before.ask_with("", before.file("")).unwrap();
    let finished = after.ask_with("", after.file("")).unwrap();
    assert!(log.len() > kept && good != finished);
    // The index is gone with the power; the last transaction was not yet on the disk.
    for length in (kept..log.len()).step_by(1021) {
        assert_eq!(after.ask_with("-wal", &log[..length]).unwrap(), good, "{length} bytes of the log");
    }
    // The first transaction was: it cannot be lost without notice.
    let mut torn = log.to_vec();
    torn[kept - 1] ^= 1;
    let error = after.ask_with("-wal", &torn).unwrap_err();
    assert!(error.is_integrity() && error.message.contains("-wal"), "{error}");
}

#[test]
fn a_store_that_lost_its_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    Store::create_or_open(&path).unwrap().ingest(&traces()).unwrap();
    let whole = Snapshot::of(&path, &[""]);
    let bytes = whole.file("");
    for length in (1..bytes.len()).step_by(509).chain((1..8).map(|page| page * 4096)) {
        let error = whole.ask_with("", &bytes[..length]).unwrap_err();
        assert!(error.is_integrity(), "{length} bytes: {} {error}", error.code);
    }
    assert_eq!(whole.ask_with("", &[]).unwrap_err().code, "no-store");
    // Nothing of the file, but a log of it: something was there.
    fs::write(beside(&whole.path(), "-wal"), [1; 5000]).unwrap();
    assert!(Store::create_or_open(whole.path()).unwrap_err().is_integrity());
    assert_eq!(fs::read(beside(&whole.path(), "-wal")).unwrap().len(), 5000, "the log was thrown away");
}

#[test]
fn rows_that_went_came_or_changed_are_noticed() {
    let changes = [
        "DELETE FROM trace WHERE name = 'a'",
        "DELETE FROM span WHERE trace = 1 AND place = 2",
        "DELETE FROM task WHERE name = 'toy'",
        "DELETE FROM seal",
        "DELETE FROM value WHERE text = '\"yes\"'",
        "UPDATE trace SET task = 'other' WHERE name = 'a'",
        "UPDATE trace SET partial = 0",
        "UPDATE trace SET digest = (SELECT digest FROM trace WHERE name = 'b') WHERE name = 'a'",
        "UPDATE span SET output = 1 WHERE trace = 1 AND place = 1",
        "UPDATE span SET place = 5 WHERE trace = 1 AND place = 1",
        "UPDATE span SET error = NULL",
        "UPDATE task SET traces = traces + 1 WHERE name = 'other'",
        "INSERT INTO span SELECT trace, place + 9, name, kind, span + 9, parent, sequence + 9, input, output, error, started, duration, attributes FROM span WHERE trace = 1",
        "CREATE TABLE more (x)",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = 1",
    ];
    for change in changes {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        Store::create_or_open(&path).unwrap().ingest(&traces()).unwrap();
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.execute_batch(&format!("PRAGMA foreign_keys = OFF; {change}")).unwrap();
        drop(connection);
        let error = ask(&path).expect_err(change);
        assert!(error.code == "store-damaged" && error.message.contains("s.db"), "{change}: {error}");
    }
}

#[test]
fn nothing_is_taken_in_through_an_index_that_leads_astray() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    Store::create_or_open(&path).unwrap().ingest(&traces()).unwrap();
    rusqlite::Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE value SET text = '\"nay\"' WHERE text = '\"no\"'")
        .unwrap();
    let more = trace("d", "toy", &["null", "\"no\""]);
    let error = Store::create_or_open(&path).unwrap().ingest(&[more]).unwrap_err();
    assert_eq!(error.code, "store-damaged", "{error}");
    assert!(Store::open_read(&path).unwrap().tasks().unwrap().iter().all(|task| task.traces < 3));
}
