//! A store in a database of PostgreSQL's, for many recorders of one fleet. Its tables are in the schema
//! `auto`. Writers come one after the other, as in a file; readers wait for nobody.
//!
//! PostgreSQL's texts have no NUL, and a trace's may: U+0000 and U+0001 are written as two characters
//! each, which keeps texts apart and in order.

mod tables;

use core::fmt;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator as _;
use postgres::types::private::BytesMut;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, NoTls, Statement};

use crate::StoreError;
use crate::database::{Broken, Cell, Database, Purpose, Row, See};

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What every connection begins with: what is acknowledged is on the disk, and a writer waits a minute
/// for others.
const BEGIN: &str = "SET search_path TO auto; SET synchronous_commit TO on; SET lock_timeout TO '60s'; \
                     SET client_min_messages TO warning";

/// The lock that writers hold, one after the other: `AUTO` in ASCII.
const WRITERS: i64 = 0x4155_544f;

/// How many statements are kept ready.
const STATEMENTS: usize = 64;

/// A database of a server.
pub(crate) struct Postgres {
    client: RefCell<Client>,
    statements: RefCell<HashMap<String, Statement>>,
    name: PathBuf,
}

impl Postgres {
    /// Connects to what a URL names. The password may be in it, or in `PGPASSWORD`.
    pub(crate) fn connect(url: &str, name: &str, purpose: Purpose) -> Result<Postgres, StoreError> {
        let unable = |error: postgres::Error| StoreError::new("store-io", format!("{name}: {}", words(&error)));
        let mut config: Config = url.parse().map_err(unable)?;
        if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
            config.password(password);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        config.application_name("auto-host");
        let mut client = config.connect(NoTls).map_err(unable)?;
        client.batch_execute(BEGIN).map_err(unable)?;
        if purpose == Purpose::Reading {
            client.batch_execute("SET default_transaction_read_only TO on").map_err(unable)?;
        }
        Ok(Postgres { client: client.into(), statements: RefCell::default(), name: name.into() })
    }

    fn run(&self, statements: &str) -> Result<(), StoreError> {
        self.client.borrow_mut().batch_execute(statements).map_err(|error| self.error(&error))
    }

    fn number(&self, query: &str) -> Result<i64, StoreError> {
        let row = self.client.borrow_mut().query_one(query, &[]).map_err(|error| self.error(&error))?;
        row.try_get::<_, Option<i64>>(0).map(Option::unwrap_or_default).map_err(|error| self.error(&error))
    }

    fn statement(&self, text: &str) -> Result<Statement, postgres::Error> {
        if let Some(statement) = self.statements.borrow().get(text) {
            return Ok(statement.clone());
        }
        let theirs = text.replace(" NOT INDEXED", "").replace('?', "$");
        let statement = self.client.borrow_mut().prepare(&theirs)?;
        let mut kept = self.statements.borrow_mut();
        if kept.len() >= STATEMENTS {
            kept.clear();
        }
        kept.insert(text.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Sorts the server's errors by what a person can do about them.
    fn error(&self, error: &postgres::Error) -> StoreError {
        let (name, words) = (self.name.display(), words(error));
        let code = error.code().cloned();
        let class = code.as_ref().map_or("", |code| code.code().get(..2).unwrap_or_default());
        match code {
            Some(SqlState::LOCK_NOT_AVAILABLE) => StoreError::new(
                "store-busy",
                format!("{name}: another recorder kept the store locked for too long; try again when it is done"),
            ),
            Some(SqlState::DISK_FULL) => StoreError::new(
                "store-full",
                format!("{name}: the server's disk is full; the store is as it was: free some space and try again"),
            ),
            // What is told apart by an index, as names are, has to fit into a third of a page.
            Some(SqlState::PROGRAM_LIMIT_EXCEEDED) => StoreError::new(
                "bad-trace",
                format!("{name}: {words}; ids and names of more than 2,600 bytes need a store in a file"),
            ),
            // What is not there, is there twice or is broken; our statements are right.
            _ if matches!(class, "23" | "42" | "XX") => self.damaged(&words),
            _ => StoreError::new("store-io", format!("{name}: {words}")),
        }
    }
}

/// What the server said, or else what became of the connection.
fn words(error: &postgres::Error) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
    let own = error.to_string();
    if own.ends_with(&cause) { own } else { own + &cause }
}

impl fmt::Debug for Postgres {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Postgres").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Database for Postgres {
    fn name(&self) -> &Path {
        &self.name
    }

    fn damaged(&self, what: &dyn fmt::Display) -> StoreError {
        let way_out = "the store was changed by something else: take the database back from a backup";
        StoreError::new("store-damaged", format!("{}: {what}; {way_out}", self.name.display()))
    }

    fn begin(&self, purpose: Purpose) -> Result<(), StoreError> {
        if purpose == Purpose::Reading {
            return self.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        }
        // Each statement sees what was committed before it; whoever was before has committed.
        let begun = self
            .run(&format!("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; SELECT pg_advisory_xact_lock({WRITERS})"));
        begun.inspect_err(|_| self.roll_back())
    }

    fn commit(&self) -> Result<(), StoreError> {
        self.run("COMMIT")
    }

    fn roll_back(&self) {
        let _ = self.client.borrow_mut().batch_execute("ROLLBACK");
    }

    fn each(&self, statement: &str, parameters: &[Cell<'_>], see: &mut See<'_>) -> Result<(), StoreError> {
        let mut run = || -> Result<Result<(), Broken>, postgres::Error> {
            let statement = self.statement(statement)?;
            let mut client = self.client.borrow_mut();
            let parameters = parameters.iter().map(|cell| cell as &(dyn ToSql + Sync));
            let mut rows = client.query_raw(&statement, parameters)?;
            while let Some(row) = rows.next()? {
                if let Err(broken) = see(&Found::of(&row)) {
                    return Ok(Err(broken));
                }
            }
            Ok(Ok(()))
        };
        match run().map_err(|error| self.error(&error))? {
            Ok(()) => Ok(()),
            Err(Broken::Store(error)) => Err(error),
            Err(Broken::Column(column)) => {
                Err(self.damaged(&format_args!("column {} of a row is not what belongs there", column + 1)))
            }
        }
    }

    fn version(&self) -> Result<usize, StoreError> {
        if self.number("SELECT count(*) FROM pg_tables WHERE schemaname = 'auto' AND tablename = 'meta'")? == 0 {
            return Ok(0);
        }
        let version = self.number("SELECT max(version) FROM auto.meta")?;
        Ok(usize::try_from(version).unwrap_or(usize::MAX))
    }

    fn check_tables(&self) -> Result<(), StoreError> {
        let columns = "SELECT count(*) FROM information_schema.columns WHERE table_schema = 'auto'";
        if self.number(columns)? == tables::COLUMNS[self.version()?.min(tables::COLUMNS.len() - 1)] {
            return Ok(());
        }
        Err(self.damaged(&"its tables are not those of its version"))
    }

    fn step_to(&self, version: usize) -> Result<(), StoreError> {
        self.run(tables::STEPS[version - 1])
    }

    fn stamp(&self, version: usize) -> Result<(), StoreError> {
        self.run(&format!("DELETE FROM auto.meta; INSERT INTO auto.meta (version) VALUES ({version})"))
    }

    fn compact(&self) -> Result<(), StoreError> {
        self.run("VACUUM (FULL, ANALYZE) auto.value, auto.trace, auto.span, auto.operation, auto.tally")
    }

    /// The bytes that its tables and indexes take.
    fn bytes(&self) -> Result<u64, StoreError> {
        let query = "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c \
                     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'auto' AND c.relkind = 'r'";
        self.number(query).map(i64::cast_unsigned)
    }
}

/// A row of the server's, with the texts that are not as they lie there.
struct Found<'r> {
    row: &'r postgres::Row,
    texts: Vec<Option<String>>,
}

impl<'r> Found<'r> {
    fn of(row: &'r postgres::Row) -> Found<'r> {
        let read = |column: usize| {
            let text = row.try_get::<_, Option<&str>>(column).ok().flatten()?;
            text.contains(MARK).then(|| plain(text))
        };
        Found { row, texts: (0..row.len()).map(read).collect() }
    }
}

impl Row for Found<'_> {
    fn cell(&self, column: usize) -> Option<Cell<'_>> {
        let kind = self.row.columns().get(column)?.type_();
        let found = match *kind {
            Type::INT8 => self.row.try_get::<_, Option<i64>>(column).ok()?.map(Cell::Integer),
            Type::INT4 => self.row.try_get::<_, Option<i32>>(column).ok()?.map(|value| Cell::Integer(value.into())),
            Type::BYTEA => self.row.try_get::<_, Option<&[u8]>>(column).ok()?.map(Cell::Bytes),
            Type::TEXT => match &self.texts[column] {
                Some(text) => Some(Cell::Text(text)),
                None => self.row.try_get::<_, Option<&str>>(column).ok()?.map(Cell::Text),
            },
            _ => return None,
        };
        Some(found.unwrap_or(Cell::Null))
    }
}

impl ToSql for Cell<'_> {
    fn to_sql(&self, kind: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Cell::Null => Ok(IsNull::Yes),
            Cell::Integer(value) => value.to_sql(kind, out),
            Cell::Text(text) => written(text).to_sql(kind, out),
            Cell::Bytes(bytes) => bytes.to_sql(kind, out),
        }
    }

    fn accepts(kind: &Type) -> bool {
        matches!(*kind, Type::INT8 | Type::TEXT | Type::BYTEA)
    }

    to_sql_checked!();
}

/// Begins the two characters that stand for one that a text may not have.
const MARK: char = '\u{1}';

/// A text as PostgreSQL keeps it.
fn written(text: &str) -> Cow<'_, str> {
    if text.contains(['\0', MARK]) { text.replace(MARK, "\u{1}1").replace('\0', "\u{1}0").into() } else { text.into() }
}

/// A text as it was.
fn plain(text: &str) -> String {
    text.replace("\u{1}0", "\0").replace("\u{1}1", "\u{1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_comes_back_and_none_has_a_nul() {
        for text in ["", "plain", "\0", "\u{1}", "\u{1}0", "\0\u{1}0\u{1}1\0", "1\u{1}\u{1}0"] {
            let there = written(text);
            assert!(!there.contains('\0') && plain(&there) == text, "{text:?} {there:?}");
        }
        assert!(written("\0") < written("\u{1}") && written("\u{1}") < written("\u{2}"));
    }
}
