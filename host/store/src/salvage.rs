//! What is whole of a damaged store: every trace that is still what its fingerprint says, one by one,
//! into another store. Nothing is repaired and nothing guessed, and the damaged file is only read.

use std::path::Path;

use auto_schema::shown_path;

use crate::database::{Database as _, cells};
use crate::sqlite::{Sqlite, check_kind};
use crate::{Ingested, Store, StoreError, Trace, owner};

/// How much is put into the new store at once.
const BATCH_SPANS: usize = 4_096;

/// Rows that are tried behind the last that is known of, where nothing tells how many there are.
const BLIND: i64 = 100_000;

/// What became of a damaged store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// What was taken over.
    pub ingested: Ingested,
    /// Traces that are lost; none where the store does not tell any more how many it had.
    pub lost: Option<u64>,
    /// Rows that hold something and cannot be read as a trace that was recorded.
    pub unreadable: u64,
    /// Key policies that were taken over; none where they cannot be trusted.
    pub policies: Option<usize>,
}

impl Store {
    /// Takes into this store what is whole of the damaged one at `from`.
    ///
    /// Codes: `no-store`, `not-a-store` and `store-damaged` where nothing of it can be read, and
    /// those of [`Store::ingest`].
    pub fn salvage(&mut self, from: &Path) -> Result<Salvaged, StoreError> {
        check_kind(from)?;
        let damaged = open(from)?;
        let mut salvaged = Salvaged::default();
        let mut whole: Vec<Trace> = Vec::new();
        let (mut taken, mut waiting) = (0, 0);
        for row in 1..=damaged.last_row() {
            match damaged.salvaged(row) {
                Ok(None) => {}
                Ok(Some(trace)) => {
                    taken += 1;
                    waiting += trace.spans.len() + 1;
                    whole.push(trace);
                }
                Err(error) if error.is_integrity() => salvaged.unreadable += 1,
                Err(error) => return Err(error),
            }
            if waiting >= BATCH_SPANS {
                salvaged.ingested += self.ingest(&whole)?;
                whole.clear();
                waiting = 0;
            }
        }
        salvaged.ingested += self.ingest(&whole)?;
        if let Ok(seals) = damaged.seals() {
            let recorded: u64 = seals.values().map(|seal| seal.traces + seal.partial).sum();
            salvaged.lost = Some(recorded.saturating_sub(taken));
            let policies = damaged.policies()?;
            for policy in &policies {
                self.set_key(&policy.task, &policy.kind, policy.name.as_deref(), Some(&policy.key))?;
            }
            salvaged.policies = Some(policies.len());
        }
        Ok(salvaged)
    }

    /// The trace in a row; none where there is no such row.
    fn salvaged(&self, row: i64) -> Result<Option<Trace>, StoreError> {
        let there = self.all("SELECT 1 FROM trace WHERE id = ?1", cells![row], |row| row.get::<i64>(0))?;
        if there.is_empty() {
            return Ok(None);
        }
        self.whole(self.row(row)?).map(Some)
    }

    /// The last row that any part of the store tells of; of which some may be damaged.
    fn last_row(&self) -> i64 {
        let queries = [
            "SELECT max(id) FROM trace NOT INDEXED",
            "SELECT max(id) FROM trace INDEXED BY trace_by_task WHERE task >= ''",
            "SELECT max(trace) FROM span",
            "SELECT sum(traces + partial) FROM task",
        ];
        let last = |query: &&str| {
            let found = self.all(query, &[], |row| row.get::<Option<i64>>(0)).ok()?;
            found.first().copied().flatten()
        };
        let told: Vec<Option<i64>> = queries.iter().map(last).collect();
        let most = told.iter().flatten().copied().max().unwrap_or(0);
        // Where the table itself does not say, there may be rows behind what the others know of.
        let blind = if told[0].is_some() { 0 } else { BLIND };
        most.clamp(0, i64::from(u32::MAX)) + blind
    }
}

/// Opens the damaged file, with what is whole of its log; without the log where it cannot be read.
fn open(path: &Path) -> Result<Store, StoreError> {
    let readable = |sqlite: Sqlite| match owner::claims(path) || sqlite.has_our_tables()? {
        true => {
            sqlite.each("SELECT count(*) FROM trace WHERE id = 1", cells![], &mut |_| Ok(()))?;
            Ok(Store { database: Box::new(sqlite) })
        }
        false => Err(StoreError::no_store(&shown_path(path))),
    };
    match std::fs::metadata(path) {
        Ok(file) if file.len() > 0 => {}
        _ => return Err(StoreError::new("no-store", format!("there is no trace store at {}", shown_path(path)))),
    }
    let opened = Sqlite::open_unchecked(path, false).and_then(readable);
    opened.or_else(|error| Sqlite::open_unchecked(path, true).and_then(readable).map_err(|_| error))
}
