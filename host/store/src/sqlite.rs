//! A store in one file of SQLite's: who the file belongs to, which version it is, and how to share it.

mod opening;
mod tables;

pub(crate) use opening::check_kind;
pub(crate) use tables::APPLICATION_ID;

use core::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use auto_schema::shown_path;
use rusqlite::types::{ToSqlOutput, Value, ValueRef};
use rusqlite::{Connection, ToSql, params_from_iter};

use crate::StoreError;
use crate::database::{Broken, Cell, Database, Purpose, Row, See};
use crate::log::beside;

/// How long a writer waits for others; many parallel recorders each take milliseconds.
const PATIENCE: Duration = if cfg!(test) { Duration::from_millis(300) } else { Duration::from_secs(60) };

/// The size of the log beyond which a writer waits for readers to make it small again.
const LOG_BOUND: u64 = 8 << 20;
const LOG_PATIENCE: Duration = Duration::from_secs(2);

/// How many statements are kept ready.
const STATEMENTS: usize = 64;

/// A file of SQLite's.
#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    path: PathBuf,
}

impl Sqlite {
    fn error(&self, error: rusqlite::Error) -> StoreError {
        StoreError::sqlite(error, &self.path)
    }

    fn pragma(&self, name: &str) -> Result<i64, StoreError> {
        self.number(&format!("PRAGMA {name}"))
    }

    fn number(&self, query: &str) -> Result<i64, StoreError> {
        self.connection.query_row(query, [], |row| row.get(0)).map_err(|error| self.error(error))
    }

    fn run(&self, statements: &str) -> Result<(), StoreError> {
        self.connection.execute_batch(statements).map_err(|error| self.error(error))
    }
}

impl Database for Sqlite {
    fn name(&self) -> &Path {
        &self.path
    }

    fn damaged(&self, what: &dyn fmt::Display) -> StoreError {
        StoreError::damaged(format!("{}: {what}", shown_path(&self.path)))
    }

    fn begin(&self, purpose: Purpose) -> Result<(), StoreError> {
        self.run(match purpose {
            Purpose::Reading => "BEGIN DEFERRED",
            Purpose::Writing => "BEGIN IMMEDIATE",
        })
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.run("COMMIT")
    }

    fn roll_back(&self) {
        // SQLite may have done so itself.
        let _ = self.connection.execute_batch("ROLLBACK");
    }

    fn each(&self, statement: &str, parameters: &[Cell<'_>], see: &mut See<'_>) -> Result<(), StoreError> {
        let mut run = || -> Result<Result<(), Broken>, rusqlite::Error> {
            let mut statement = self.connection.prepare_cached(statement)?;
            let mut rows = statement.query(params_from_iter(parameters))?;
            while let Some(row) = rows.next()? {
                if let Err(broken) = see(row) {
                    return Ok(Err(broken));
                }
            }
            Ok(Ok(()))
        };
        match run().map_err(|error| self.error(error))? {
            Ok(()) => Ok(()),
            Err(Broken::Store(error)) => Err(error),
            Err(Broken::Column(column)) => {
                Err(self.damaged(&format_args!("column {} of a row is not what belongs there", column + 1)))
            }
        }
    }

    fn version(&self) -> Result<usize, StoreError> {
        Ok(usize::try_from(self.pragma("user_version")?).unwrap_or(usize::MAX))
    }

    fn check_tables(&self) -> Result<(), StoreError> {
        let expected = tables::of_version(self.version()?).map_err(|error| self.error(error))?;
        if tables::of(&self.connection).map_err(|error| self.error(error))? == expected {
            return Ok(());
        }
        Err(self.damaged(&"its tables are not those of its version"))
    }

    fn step_to(&self, version: usize) -> Result<(), StoreError> {
        self.run(tables::STEPS[version - 1])
    }

    fn stamp(&self, version: usize) -> Result<(), StoreError> {
        self.run(&format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}"))
    }

    /// Keeps the write-ahead log from growing with every recording. A checkpoint can only
    /// start the log anew when no reader is in it, so where readers never leave all at once,
    /// it waits for them; a reader that stays longer than that is for the next writer.
    fn settle(&self) {
        let size = std::fs::metadata(beside(&self.path, "-wal")).map_or(0, |log| log.len());
        if size > LOG_BOUND {
            let _ = self.connection.busy_timeout(LOG_PATIENCE);
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = self.connection.busy_timeout(PATIENCE);
        }
    }

    fn compact(&self) -> Result<(), StoreError> {
        self.run("VACUUM")?;
        // A reader that stays keeps the log; the next writer makes it small.
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        Ok(())
    }

    /// The bytes that the pages of the store take.
    fn bytes(&self) -> Result<u64, StoreError> {
        let (pages, size) = (self.pragma("page_count")?, self.pragma("page_size")?);
        Ok(pages.cast_unsigned().saturating_mul(size.cast_unsigned()))
    }
}

impl Row for rusqlite::Row<'_> {
    fn cell(&self, column: usize) -> Option<Cell<'_>> {
        Some(match self.get_ref(column).ok()? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(value) => Cell::Integer(value),
            ValueRef::Text(text) => Cell::Text(core::str::from_utf8(text).ok()?),
            ValueRef::Blob(bytes) => Cell::Bytes(bytes),
            ValueRef::Real(_) => return None,
        })
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match *self {
            Cell::Null => ToSqlOutput::Owned(Value::Null),
            Cell::Integer(value) => ToSqlOutput::Owned(Value::Integer(value)),
            Cell::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Cell::Bytes(bytes) => ToSqlOutput::Borrowed(ValueRef::Blob(bytes)),
        })
    }
}
