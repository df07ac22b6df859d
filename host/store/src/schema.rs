//! The tables, and how a store of an older version becomes one of this version.

use rusqlite::{Connection, TransactionBehavior};

use crate::seal::Seals;
use crate::{Store, StoreError};

/// `AUTO` in ASCII; tells our files from other people's (SQLite file header, offset 68).
pub(crate) const APPLICATION_ID: i64 = 0x4155_544f;

/// The version this program writes.
pub(crate) const VERSION: usize = MIGRATIONS.len();

/// The first version that has seals.
const SEALED: usize = 2;

/// One step per version; a store of version n has had the first n applied. Version 2 adds
/// the seals, and reads operations by trace alone, because only a whole trace can be held
/// against its fingerprint. Version 3 adds key policies.
const MIGRATIONS: &[&str] = &[
    "
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
",
    "
    CREATE TABLE task (
        name TEXT PRIMARY KEY,
        traces INTEGER NOT NULL,
        partial INTEGER NOT NULL,
        spans INTEGER NOT NULL,
        sum BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE seal (
        id INTEGER PRIMARY KEY,
        sum BLOB NOT NULL
    ) STRICT;
    DROP INDEX span_by_operation;
",
    "
    CREATE TABLE policy (
        task TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        key TEXT NOT NULL,
        PRIMARY KEY (task, kind, name)
    ) STRICT, WITHOUT ROWID;
",
];

/// The tables of older versions, in the order in which they came.
const TABLE_NAMES: [&str; 5] = ["value", "trace", "span", "task", "seal"];

/// The tables of a version as SQLite tells them.
type Tables = Vec<(String, String, String, Option<String>)>;

const TABLES: &str = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name, tbl_name";

impl Store {
    /// Brings an older or empty file to the current version, all or nothing.
    pub(crate) fn migrate(&self) -> Result<(), StoreError> {
        if self.version()? == VERSION {
            return self.check_tables();
        }
        let transaction = self.begin(TransactionBehavior::Immediate)?;
        // Somebody else may have been first.
        let version = self.version()?;
        self.check_tables()?;
        for step in MIGRATIONS.iter().skip(version) {
            self.connection.execute_batch(step).map_err(|error| self.error(error))?;
        }
        if version < SEALED {
            self.seal()?;
        }
        let stamp = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}");
        self.connection.execute_batch(&stamp).map_err(|error| self.error(error))?;
        transaction.commit().map_err(|error| self.error(error))
    }

    /// Seals what an older version recorded, if it is whole.
    fn seal(&self) -> Result<(), StoreError> {
        let mut seals = Seals::new();
        for row in self.rows()? {
            let trace = self.row(row)?;
            seals.entry(trace.task).or_default().add(&trace.fingerprint, trace.spans.len(), trace.partial);
        }
        self.write_seals(&seals, seals.keys())
    }

    /// Refuses a file whose tables are not those of its version.
    pub(crate) fn check_tables(&self) -> Result<(), StoreError> {
        let expected = tables_of(self.version()?).map_err(|error| self.error(error))?;
        if tables(&self.connection).map_err(|error| self.error(error))? == expected {
            return Ok(());
        }
        Err(self.damaged("its tables are not those of its version"))
    }

    /// Whether its tables are those of some version, whatever it says of itself.
    pub(crate) fn has_our_tables(&self) -> Result<bool, StoreError> {
        let has = || {
            let own = tables(&self.connection)?;
            for version in 1..=VERSION {
                if own == tables_of(version)? {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        has().map_err(|error| self.error(error))
    }

    /// Copies a store of an older version, which may be only for reading, into memory.
    pub(crate) fn copy_to_memory(&self, uri: &str, version: usize) -> Result<Connection, StoreError> {
        let copy = || {
            let connection = Connection::open_in_memory()?;
            MIGRATIONS.iter().take(version).try_for_each(|step| connection.execute_batch(step))?;
            connection.execute_batch(&format!("PRAGMA user_version = {version}"))?;
            connection.execute("ATTACH ?1 AS old", [uri])?;
            let tables = if version < SEALED { &TABLE_NAMES[..3] } else { &TABLE_NAMES[..] };
            for table in tables {
                connection.execute_batch(&format!("INSERT INTO main.{table} SELECT * FROM old.{table}"))?;
            }
            connection.execute_batch("DETACH old")?;
            Ok(connection)
        };
        copy().map_err(|error| self.error(error))
    }
}

fn tables(connection: &Connection) -> rusqlite::Result<Tables> {
    let mut statement = connection.prepare(TABLES)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?.collect()
}

fn tables_of(version: usize) -> rusqlite::Result<Tables> {
    let connection = Connection::open_in_memory()?;
    MIGRATIONS.iter().take(version).try_for_each(|step| connection.execute_batch(step))?;
    tables(&connection)
}
