//! The write-ahead log stays small, whoever reads meanwhile.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use auto_json::{Canonical, Value};
use auto_store::{Scope, Span, SpanKind, Store, Trace};

const MIB: u64 = 1 << 20;

/// A trace whose one answer is that large.
fn trace(number: usize, bytes: usize) -> Trace {
    let text = |text: String| -> Canonical { Value::from(text.as_str()).canonical() };
    Trace {
        id: format!("trace {number}"),
        task: "toy".into(),
        recorder: "test".into(),
        started: 0,
        attributes: Vec::new(),
        input: Some(text(number.to_string())),
        output: Some(text("done".into())),
        partial: false,
        spans: vec![Span {
            id: 1,
            parent: None,
            sequence: 1,
            kind: SpanKind::ModelCall,
            name: "m".into(),
            input: text(number.to_string()),
            output: text(format!("{number}{}", "x".repeat(bytes))),
            error: None,
            started: 0,
            duration: None,
            attributes: Vec::new(),
        }],
    }
}

fn log_size(path: &Path) -> u64 {
    std::fs::metadata(PathBuf::from(format!("{}-wal", path.display()))).map_or(0, |log| log.len())
}

#[test]
fn readers_that_never_leave_all_at_once_do_not_let_the_log_grow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut writer = Store::create_or_open(&path).unwrap();
    writer.ingest(&[trace(0, 100_000)]).unwrap();
    let done = AtomicBool::new(false);
    let (mut largest, mut written) = (0, 0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let store = Store::open_read(&path).unwrap();
                while !done.load(Ordering::Relaxed) {
                    assert!(!store.observations("toy", &Scope::Task).unwrap().is_empty());
                }
            });
        }
        for number in 1..300 {
            writer.ingest(&[trace(number, 100_000)]).unwrap();
            written += 100_000;
            largest = largest.max(log_size(&path));
        }
        done.store(true, Ordering::Relaxed);
    });
    println!("{written} bytes written, the log had at most {largest}");
    assert!(largest < 9 * MIB && written > 3 * 9 * MIB, "{largest} of {written}");
}

#[test]
fn a_reader_that_stays_holds_the_log_no_longer_than_it_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    let mut writer = Store::create_or_open(&path).unwrap();
    writer.ingest(&[trace(0, 10)]).unwrap();
    let reader = rusqlite::Connection::open(&path).unwrap();
    let count = || reader.query_row("SELECT count(*) FROM trace", [], |row| row.get::<_, u64>(0)).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(count(), 1);
    for number in 1..4 {
        // Nobody's recording fails for the reader's sake.
        writer.ingest(&[trace(number, 3_000_000)]).unwrap();
    }
    let held = log_size(&path);
    assert!(held > 8 * MIB && count() == 1, "the log has {held} bytes");
    reader.execute_batch("COMMIT").unwrap();
    writer.ingest(&[trace(9, 10)]).unwrap();
    assert_eq!((log_size(&path), count()), (0, 5));
}
