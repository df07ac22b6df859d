//! Opening the file: who it belongs to, which version it is, and how to share it.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::StoreError;

/// How long a writer waits for others; many parallel recorders each take milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// `AUTO` in ASCII; tells our files from other people's (SQLite file header, offset 68).
const APPLICATION_ID: i64 = 0x4155_544f;

/// One step per version; a store of version n has had the first n applied.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE value (
        id INTEGER PRIMARY KEY,
        digest BLOB NOT NULL UNIQUE,
        text TEXT NOT NULL
    ) STRICT;
    CREATE TABLE trace (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        digest BLOB NOT NULL,
        task TEXT NOT NULL,
        recorder TEXT NOT NULL,
        started INTEGER NOT NULL,
        attributes INTEGER NOT NULL REFERENCES value,
        input INTEGER REFERENCES value,
        output INTEGER REFERENCES value,
        partial INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX trace_by_task ON trace (task);
    CREATE TABLE span (
        trace INTEGER NOT NULL REFERENCES trace,
        place INTEGER NOT NULL,
        name TEXT NOT NULL,
        kind TEXT NOT NULL,
        span INTEGER NOT NULL,
        parent INTEGER,
        sequence INTEGER NOT NULL,
        input INTEGER NOT NULL REFERENCES value,
        output INTEGER NOT NULL REFERENCES value,
        error TEXT,
        started INTEGER NOT NULL,
        duration INTEGER,
        attributes INTEGER NOT NULL REFERENCES value,
        PRIMARY KEY (trace, place)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX span_by_operation ON span (kind, name, trace);
"];

/// A store of recorded traces: one SQLite file.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store at `path` for recording, making it where there is none.
    ///
    /// Codes: `not-a-store`, `store-version`, `store-damaged`, `store-busy`, `store-io`.
    pub fn create_or_open(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        let connection = Connection::open(path).map_err(|error| StoreError::sqlite(error, path))?;
        let mut store = Store { connection, path: path.to_owned() };
        store.wait_for_others()?;
        store.check_owner()?;
        store.enter_wal()?;
        store.migrate()?;
        Ok(store)
    }

    /// Opens the store at `path` for reading; works on a read-only medium too.
    ///
    /// Codes: `no-store` where there is no file or an empty one, else as
    /// [`Store::create_or_open`].
    pub fn open_read(path: impl AsRef<Path>) -> Result<Store, StoreError> {
        let path = path.as_ref();
        if std::fs::metadata(path).is_ok_and(|file| file.is_dir()) {
            return Err(StoreError::new("not-a-store", format!("{} is a folder, not a trace store", path.display())));
        }
        if std::fs::metadata(path).map_or(true, |file| file.len() == 0) {
            return Err(no_store(path));
        }
        match Store::open_read_only(path, false) {
            // Where SQLite's side files cannot be made, nobody can be writing either; the
            // file alone is the whole store unless a log was left beside it.
            Err(error) if error.code == "store-io" && !has_log(path) => Store::open_read_only(path, true),
            result => result,
        }
    }

    fn open_read_only(path: &Path, immutable: bool) -> Result<Store, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let opened = Connection::open_with_flags(uri(path, immutable), flags);
        let connection = opened.map_err(|error| StoreError::sqlite(error, path))?;
        let store = Store { connection, path: path.to_owned() };
        store.wait_for_others()?;
        store.check_owner()?;
        match store.version()? {
            0 => Err(no_store(path)),
            _ => Ok(store),
        }
    }

    /// Where the store is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn error(&self, error: rusqlite::Error) -> StoreError {
        StoreError::sqlite(error, &self.path)
    }

    fn wait_for_others(&self) -> Result<(), StoreError> {
        self.connection.busy_timeout(PATIENCE).map_err(|error| self.error(error))
    }

    fn pragma(&self, name: &str) -> Result<i64, StoreError> {
        self.connection.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).map_err(|error| self.error(error))
    }

    fn version(&self) -> Result<usize, StoreError> {
        Ok(usize::try_from(self.pragma("user_version")?).unwrap_or(usize::MAX))
    }

    /// Refuses files of other programs and of newer versions of this one, before
    /// anything is written to them.
    fn check_owner(&self) -> Result<(), StoreError> {
        let path = self.path.display();
        // One transaction, so that a store that is just being made is seen whole or not at all.
        let snapshot = self.connection.unchecked_transaction().map_err(|error| self.error(error))?;
        let owner = self.pragma("application_id")?;
        let has_tables = self.count("SELECT count(*) FROM sqlite_schema")? != 0;
        let version = self.version()?;
        snapshot.finish().map_err(|error| self.error(error))?;
        if owner != APPLICATION_ID && (owner != 0 || has_tables) {
            return Err(StoreError::new(
                "not-a-store",
                format!(
                    "{path} is an SQLite file of another program; import its trace files into a store of their own"
                ),
            ));
        }
        if version > MIGRATIONS.len() {
            return Err(StoreError::new(
                "store-version",
                format!(
                    "{path} has store version {version}, this program knows versions up to {}; use the newer auto-host that made it",
                    MIGRATIONS.len()
                ),
            ));
        }
        Ok(())
    }

    pub(crate) fn count(&self, query: &str) -> Result<i64, StoreError> {
        self.connection.query_row(query, [], |row| row.get(0)).map_err(|error| self.error(error))
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

    /// Brings an older or empty file to the current version, all or nothing.
    fn migrate(&mut self) -> Result<(), StoreError> {
        if self.version()? == MIGRATIONS.len() {
            return Ok(());
        }
        let path = self.path.clone();
        let wrap = |error| StoreError::sqlite(error, &path);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(wrap)?;
        // Somebody else may have been first.
        let version: usize = transaction.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(wrap)?;
        for step in MIGRATIONS.iter().skip(version) {
            transaction.execute_batch(step).map_err(wrap)?;
        }
        let stamp = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {}", MIGRATIONS.len());
        transaction.execute_batch(&stamp).map_err(wrap)?;
        transaction.commit().map_err(wrap)
    }
}

/// Whether a write-ahead log with anything in it lies beside the file.
fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|log| log.len() > 0)
}

fn no_store(path: &Path) -> StoreError {
    StoreError::new(
        "no-store",
        format!(
            "there is no trace store at {}; make one with `auto-host record` or `auto-host import`, or name another with --store",
            path.display()
        ),
    )
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
