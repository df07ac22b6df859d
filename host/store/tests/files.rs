//! Which files are opened, which are refused, and with what word.

use std::path::Path;

use auto_store::{Store, StoreError, Trace};
use rusqlite::Connection;

fn code<T>(result: Result<T, StoreError>) -> &'static str {
    result.map_or_else(|error| error.code, |_| "opened")
}

fn both(path: &Path) -> (&'static str, &'static str) {
    (code(Store::open_read(path)), code(Store::create_or_open(path)))
}

fn some_store(path: &Path) {
    let trace = Trace {
        id: "a".into(),
        task: "toy".into(),
        recorder: "test".into(),
        started: 0,
        attributes: Vec::new(),
        input: None,
        output: None,
        partial: false,
        spans: Vec::new(),
    };
    Store::create_or_open(path).unwrap().ingest(&[trace]).unwrap();
}

#[test]
fn nothing_is_read_where_nothing_was_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    assert_eq!(code(Store::open_read(&path)), "no-store");
    assert!(!path.exists(), "reading must not make a file");
    std::fs::write(&path, "").unwrap();
    let error = Store::open_read(&path).unwrap_err();
    assert!(error.code == "no-store" && error.message.contains("s.db") && !error.is_integrity());
    assert_eq!(both(&path), ("no-store", "opened"));
    assert_eq!(code(Store::open_read(&path)), "opened");
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "hello, this is no database at all".repeat(50)).unwrap();
    assert_eq!(both(&text), ("not-a-store", "not-a-store"));
    // Also one that is shorter than the smallest file of SQLite.
    for short in ["hello", "S", "SQLite"] {
        std::fs::write(&text, short).unwrap();
        let expected = if short == "hello" { "not-a-store" } else { "store-damaged" };
        assert_eq!(both(&text), (expected, expected), "{short}");
    }
    let foreign = folder.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x); PRAGMA user_version = 3").unwrap();
    let before = std::fs::read(&foreign).unwrap();
    assert_eq!(both(&foreign), ("not-a-store", "not-a-store"));
    assert_eq!(std::fs::read(&foreign).unwrap(), before);
    assert_eq!(both(folder.path()), ("not-a-store", "not-a-store"));
    assert_eq!(code(Store::create_or_open(folder.path().join("absent/s.db"))), "store-io");
}

#[test]
fn a_store_of_a_newer_version_is_refused_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    some_store(&path);
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    assert_eq!(both(&path), ("store-version", "store-version"));
    let error = Store::open_read(&path).unwrap_err();
    assert!(!error.is_integrity() && error.message.contains("99"), "{error}");
}

#[test]
fn every_name_is_that_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:s.db?mode=memory", "file:s.db", "s.db?mode=ro", "a b%20c.db"] {
        // Relative, as a person types it; nobody else in this process looks at the folder.
        std::env::set_current_dir(folder.path()).unwrap();
        some_store(Path::new(name));
        assert_eq!(Store::open_read(name).unwrap().tasks().unwrap().len(), 1, "{name}");
        assert!(folder.path().join(name).is_file(), "{name}");
    }
    assert_eq!(both(Path::new("")), ("no-store", "not-a-store"));
}

#[test]
fn a_store_whose_header_was_damaged_is_damaged_and_not_foreign() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    some_store(&path);
    let whole = std::fs::read(&path).unwrap();
    // Of what every SQLite file begins with, and of what makes it ours.
    for at in (0..18).chain(68..72) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(both(&path), ("store-damaged", "store-damaged"), "byte {at}");
    }
}

#[test]
fn pipes_and_devices_are_no_stores_and_keep_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    some_store(&path);
    for beside in ["", "-wal", "-shm"] {
        let pipe = folder.path().join(format!("s.db{beside}"));
        let _ = std::fs::remove_file(&pipe);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
        assert!(made.success());
        assert_eq!(both(&path), ("not-a-store", "not-a-store"), "{beside:?}");
        std::fs::remove_file(&pipe).unwrap();
        some_store(&folder.path().join("s.db"));
    }
    assert_eq!(both(Path::new("/dev/zero")), ("not-a-store", "not-a-store"));
}

#[test]
fn values_that_were_changed_are_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    some_store(&path);
    Connection::open(&path).unwrap().execute_batch("UPDATE value SET text = '{\"x\":1}'").unwrap();
    let error = Store::open_read(&path).unwrap().trace("a").unwrap_err();
    assert!(error.code == "store-damaged" && error.is_integrity(), "{error}");
}

#[test]
fn damaged_pages_are_damage_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    some_store(&path);
    let whole = std::fs::read(&path).unwrap();
    for offset in (100..whole.len()).step_by(97) {
        let mut bytes = whole.clone();
        bytes[offset..].iter_mut().take(40).for_each(|byte| *byte ^= 0x5a);
        let copy = folder.path().join(format!("{offset}.db"));
        std::fs::write(&copy, bytes).unwrap();
        if let Ok(store) = Store::open_read(&copy) {
            let _ = store.trace("a");
            let _ = store.census("toy");
        }
        let _ = std::fs::remove_file(copy);
    }
    let cut = folder.path().join("cut.db");
    std::fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let read = Store::open_read(&cut).and_then(|store| store.trace("a"));
    assert!(read.is_err_and(|error| error.is_integrity()));
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_can_still_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.db");
    some_store(&path);
    let allow = |mode| std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(mode)).unwrap();
    allow(0o555);
    let tasks = Store::open_read(&path).and_then(|store| store.tasks());
    allow(0o755);
    assert_eq!(tasks.unwrap().len(), 1);
}
