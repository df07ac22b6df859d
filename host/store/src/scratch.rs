//! What has to be put in order and may be more than fits into memory: a table that only this process
//! sees. SQLite sorts it in temporary files, and keeps a bounded part of them in memory.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::summary::{Place, Tallied};
use crate::{Digest, StoreError};

/// What is said of it where it cannot be used.
const NAME: &str = "a temporary file";

/// Rows of summaries, to be put in the order of keys that their inputs have, and then of outputs.
pub(crate) struct Scratch(Connection);

impl Scratch {
    pub(crate) fn new() -> Result<Scratch, StoreError> {
        let make = || {
            // SQLite gives a file without a name to nobody else, and removes it.
            let connection = Connection::open("")?;
            connection.execute_batch(
                "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -65536;
                 CREATE TABLE keyed (key BLOB NOT NULL, output INTEGER NOT NULL, input INTEGER NOT NULL,
                 mark INTEGER NOT NULL, spans INTEGER NOT NULL, priced INTEGER NOT NULL, micros INTEGER NOT NULL,
                 cost INTEGER NOT NULL, tokens INTEGER NOT NULL) STRICT; BEGIN",
            )?;
            Ok(Scratch(connection))
        };
        make().map_err(error)
    }

    /// Adds a row of an input that has this key.
    pub(crate) fn add(&self, key: &Digest, place: Place, tallied: Tallied) -> Result<(), StoreError> {
        let counts = [tallied.spans, tallied.priced, tallied.micros, tallied.cost, tallied.tokens];
        let [spans, priced, micros, cost, tokens] = counts.map(u64::cast_signed);
        let row = params![
            key.as_bytes(),
            place.output().unwrap_or(0),
            place.input,
            tallied.mark,
            spans,
            priced,
            micros,
            cost,
            tokens
        ];
        let add =
            || self.0.prepare_cached("INSERT INTO keyed VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?.execute(row);
        add().map(drop).map_err(error)
    }

    /// Hands over what was added: key, output, input and what is counted.
    pub(crate) fn in_order(&self, mut see: impl FnMut(Digest, Option<i64>, i64, Tallied)) -> Result<(), StoreError> {
        let mut read = || -> rusqlite::Result<()> {
            let query = "SELECT key, output, input, mark, spans, priced, micros, cost, tokens FROM keyed \
                         ORDER BY key, output, mark, input";
            let mut statement = self.0.prepare(query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let count = |column: usize| row.get::<_, i64>(column).map(i64::cast_unsigned);
                let output = Some(row.get(1)?).filter(|output| *output != 0);
                let (mark, spans, priced) = (row.get(3)?, count(4)?, count(5)?);
                let (micros, cost, tokens) = (count(6)?, count(7)?, count(8)?);
                let tallied = Tallied { mark, spans, priced, micros, cost, tokens };
                see(Digest(row.get(0)?), output, row.get(2)?, tallied);
            }
            Ok(())
        };
        read().map_err(error)
    }
}

fn error(error: rusqlite::Error) -> StoreError {
    StoreError::sqlite(error, Path::new(NAME))
}
