//! Opening the file: whether it is ours and whole, before anything is written to it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use auto_schema::shown_path;
use rusqlite::{Connection, OpenFlags};

use super::tables::{self, APPLICATION_ID};
use super::{PATIENCE, STATEMENTS, Sqlite};
use crate::database::Database as _;
use crate::log::{beside, lost_something};
use crate::open::{check_version, no_store};
use crate::schema::VERSION;
use crate::{StoreError, owner};

/// How much of the file's pages a writer keeps in memory: 64 MiB.
const WRITERS_PAGES: &str = "PRAGMA cache_size = -65536";

/// How much of the write-ahead log's file is kept for the next writer, in bytes.
const LOG_KEPT: u64 = 1 << 20;

/// The smallest file that SQLite writes, in bytes: one page.
const SMALLEST: u64 = 512;

impl Sqlite {
    /// Opens the store at `path` for recording, making it where there is none.
    ///
    /// Codes: `not-a-store`, `store-version`, `store-damaged`, `store-busy`, `store-io`.
    pub(crate) fn create_or_open(path: &Path) -> Result<Sqlite, StoreError> {
        check_kind(path)?;
        check_files(path)?;
        // An absolute path means a file and nothing else: to SQLite, `:memory:`, `file:…?…` and
        // an empty name are places that are gone with the process.
        let place = std::path::absolute(path).map_err(|_| StoreError::no_store("a store without a name"))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(place, flags);
        let connection = opened.map_err(|error| StoreError::sqlite(error, path))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let store = Sqlite { connection, path: path.to_owned() };
        store.behave()?;
        store.check_owner()?;
        store.enter_wal()?;
        // A new value may belong anywhere in the index of values.
        store.connection.execute_batch(WRITERS_PAGES).map_err(|error| store.error(error))?;
        Ok(store)
    }

    /// Opens the store at `path` for reading; works on a read-only medium too.
    ///
    /// Codes: `no-store` where there is no file or an empty one, else as
    /// [`Sqlite::create_or_open`].
    pub(crate) fn open_read(path: &Path) -> Result<Sqlite, StoreError> {
        check_kind(path)?;
        if std::fs::metadata(path).map_or(true, |file| file.len() == 0) {
            return Err(no_store(path));
        }
        check_files(path)?;
        match Sqlite::open_read_only(path, false) {
            // Where SQLite's side files cannot be made, nobody can be writing either; the
            // file alone is the whole store unless a log was left beside it.
            Err(error) if matches!(error.code, "store-io" | "store-full") && !has_log(path) => {
                Sqlite::open_read_only(path, true)
            }
            result => result,
        }
    }

    /// Opens the file for reading, whatever it holds.
    pub(crate) fn open_unchecked(path: &Path, immutable: bool) -> Result<Sqlite, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let opened = Connection::open_with_flags(uri(path, immutable), flags);
        let connection = opened.map_err(|error| StoreError::sqlite(error, path))?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        let store = Sqlite { connection, path: path.to_owned() };
        store.behave()?;
        Ok(store)
    }

    fn open_read_only(path: &Path, immutable: bool) -> Result<Sqlite, StoreError> {
        let mut store = Sqlite::open_unchecked(path, immutable)?;
        store.check_owner()?;
        let version = store.version()?;
        if version == 0 {
            return Err(no_store(path));
        }
        store.check_tables()?;
        if version < VERSION {
            // The file may be only for reading: a copy of it is brought up to date.
            store.connection = tables::copy(&uri(path, immutable), version).map_err(|error| store.error(error))?;
        }
        Ok(store)
    }

    /// How this connection behaves: waits for others, is done when the disk is, and does
    /// not trust the file. Rows that name others are held against digests when they are read, so
    /// SQLite need not look them up when they are written, nor search all spans for a value that goes.
    fn behave(&self) -> Result<(), StoreError> {
        let pragmas = format!(
            "PRAGMA synchronous = FULL; PRAGMA cell_size_check = ON; PRAGMA trusted_schema = OFF;
             PRAGMA journal_size_limit = {LOG_KEPT}; PRAGMA foreign_keys = OFF"
        );
        let settle = || {
            self.connection.busy_timeout(PATIENCE)?;
            self.connection.execute_batch(&pragmas)
        };
        settle().map_err(|error| self.error(error))
    }

    /// Whether its tables are those of some version, whatever it says of itself.
    pub(crate) fn has_our_tables(&self) -> Result<bool, StoreError> {
        let has = || {
            let own = tables::of(&self.connection)?;
            for version in 1..=VERSION {
                if own == tables::of_version(version)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        has().map_err(|error| self.error(error))
    }

    /// Refuses files of other programs and of newer versions of this one, before
    /// anything is written to them.
    fn check_owner(&self) -> Result<(), StoreError> {
        let path = shown_path(&self.path);
        // One transaction, so that a store that is just being made is seen whole or not at all.
        let snapshot = self.connection.unchecked_transaction().map_err(|error| self.error(error))?;
        let owner = self.pragma("application_id")?;
        let has_tables = self.number("SELECT count(*) FROM sqlite_schema")? != 0;
        let version = self.version()?;
        snapshot.finish().map_err(|error| self.error(error))?;
        if owner != APPLICATION_ID && has_tables && self.has_our_tables()? {
            return Err(self.damaged(&"its header does not say that it is a store, and its tables do"));
        }
        if owner != APPLICATION_ID && (owner != 0 || has_tables) {
            return Err(StoreError::new(
                "not-a-store",
                format!(
                    "{path} is an SQLite file of another program; import its trace files into a store of their own"
                ),
            ));
        }
        if version == 0 && has_tables {
            return Err(self.damaged(&"its version is not there"));
        }
        check_version(version, &self.path)
    }

    /// Write-ahead logging, so that readers and a writer do not wait for each other.
    /// SQLite does not wait when several processes ask for the change at once, so we do.
    fn enter_wal(&self) -> Result<(), StoreError> {
        let start = Instant::now();
        loop {
            let changed = self.connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0));
            match changed.map_err(|error| self.error(error)) {
                Ok(_) => return Ok(()),
                Err(error) if error.code == "store-busy" && start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Refuses what is no file: a pipe would keep SQLite waiting, also one in the place of the
/// files that it has beside the store.
pub(crate) fn check_kind(path: &Path) -> Result<(), StoreError> {
    let places = ["", "-wal", "-shm", "-journal"].map(|suffix| beside(path, suffix));
    let irregular = |path: &&PathBuf| std::fs::metadata(path).is_ok_and(|found| !found.is_file());
    let Some(wrong) = places.iter().find(irregular) else { return Ok(()) };
    let what = if wrong.is_dir() { "is a folder" } else { "is no regular file" };
    let message = format!("{} {what}; a trace store is a file, with files beside it", shown_path(wrong));
    Err(StoreError::new("not-a-store", message))
}

/// Refuses what SQLite would take for an empty file, and a store whose log lost something,
/// before SQLite forgets it.
fn check_files(path: &Path) -> Result<(), StoreError> {
    if std::fs::metadata(path).is_ok_and(|file| (1..SMALLEST).contains(&file.len())) {
        let name = shown_path(path);
        return Err(match owner::claims(path) {
            true => StoreError::damaged(format!("{name} has lost its end")),
            false => StoreError::no_store(&name),
        });
    }
    let gone = std::fs::metadata(path).map_or(true, |file| file.len() == 0);
    if (gone && has_log(path)) || lost_something(path) {
        let log = beside(path, "-wal");
        return Err(StoreError::damaged(format!("{} is not what was written", shown_path(&log))));
    }
    Ok(())
}

/// Whether a write-ahead log with anything in it lies beside the file.
fn has_log(path: &Path) -> bool {
    std::fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0)
}

/// The path as an SQLite URI (https://sqlite.org/uri.html).
fn uri(path: &Path, immutable: bool) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut uri = String::from("file:");
    for byte in absolute.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            other => uri.push_str(&format!("%{other:02X}")),
        }
    }
    uri.push_str(if immutable { "?immutable=1" } else { "?mode=ro" });
    uri
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use crate::{Store, Trace};

    #[test]
    fn a_store_that_another_process_keeps_locked_is_busy_and_then_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.db");
        let mut store = Store::create_or_open(&path).unwrap();
        let (id, task, recorder) = ("a".into(), "toy".into(), "test".into());
        let (attributes, spans) = (Vec::new(), Vec::new());
        let trace =
            Trace { id, task, recorder, started: 0, attributes, input: None, output: None, partial: false, spans };
        // Another connection is to SQLite what another process is.
        let other = Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let error = store.ingest(std::slice::from_ref(&trace)).unwrap_err();
        assert!(error.code == "store-busy" && error.message.contains("s.db") && !error.is_integrity(), "{error}");
        assert_eq!(Store::open_read(&path).unwrap().tasks().unwrap(), [], "readers do not wait for writers");
        drop(other);
        assert_eq!(store.ingest(&[trace]).unwrap().added, 1);
    }
}
