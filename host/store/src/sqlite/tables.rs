//! The tables in SQLite's words, version by version.

use rusqlite::Connection;

/// `AUTO` in ASCII; tells our files from other people's (SQLite file header, offset 68).
pub(crate) const APPLICATION_ID: i64 = 0x4155_544f;

/// One step per version; a store of version n has had the first n applied. Version 2 adds
/// the seals, and reads operations by trace alone, because only a whole trace can be held
/// against its fingerprint. Version 3 adds key policies.
pub(super) const STEPS: &[&str] = &[
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
    "
    CREATE TABLE operation (
        id INTEGER PRIMARY KEY,
        task TEXT NOT NULL,
        run INTEGER NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        UNIQUE (task, run, kind, name)
    ) STRICT;
    CREATE TABLE tally (
        operation INTEGER NOT NULL REFERENCES operation,
        input INTEGER NOT NULL REFERENCES value,
        output INTEGER NOT NULL,
        mark INTEGER NOT NULL,
        spans INTEGER NOT NULL,
        priced INTEGER NOT NULL,
        micros INTEGER NOT NULL,
        cost INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        PRIMARY KEY (operation, input, output)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE summary (
        task TEXT PRIMARY KEY,
        structural INTEGER NOT NULL,
        uncaptured INTEGER NOT NULL,
        one_sided INTEGER NOT NULL,
        sum BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
",
];

/// The tables of older versions, in the order in which they came.
const NAMES: [&str; 6] = ["value", "trace", "span", "task", "seal", "policy"];

/// How many of them each version had.
const HAD: [usize; 4] = [0, 3, 5, 6];

/// The tables of a version as SQLite tells them.
type Tables = Vec<(String, String, String, Option<String>)>;

const TABLES: &str = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name, tbl_name";

/// The tables that are there.
pub(super) fn of(connection: &Connection) -> rusqlite::Result<Tables> {
    let mut statement = connection.prepare(TABLES)?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?.collect()
}

/// The tables that a version has.
pub(super) fn of_version(version: usize) -> rusqlite::Result<Tables> {
    let connection = Connection::open_in_memory()?;
    STEPS.iter().take(version).try_for_each(|step| connection.execute_batch(step))?;
    of(&connection)
}

/// A copy of a store of an older version, in a file that is gone with the process: SQLite keeps as much of
/// it in memory as it keeps of any.
pub(super) fn copy(uri: &str, version: usize) -> rusqlite::Result<Connection> {
    let connection = Connection::open("")?;
    STEPS.iter().take(version).try_for_each(|step| connection.execute_batch(step))?;
    connection.execute_batch(&format!("PRAGMA user_version = {version}"))?;
    connection.execute("ATTACH ?1 AS old", [uri])?;
    for table in NAMES.iter().take(HAD.get(version).copied().unwrap_or(NAMES.len())) {
        connection.execute_batch(&format!("INSERT INTO main.{table} SELECT * FROM old.{table}"))?;
    }
    connection.execute_batch("DETACH old")?;
    Ok(connection)
}
