//! How a store of an older version becomes one of this version. The tables themselves are in the words of
//! each database.

use crate::seal::Seals;
use crate::summary::Tallies;
use crate::{Store, StoreError};

/// The version this program writes.
pub(crate) const VERSION: usize = 4;

/// The first version that has seals.
const SEALED: usize = 2;

/// The first version that has summaries.
const SUMMED: usize = 4;

impl Store {
    /// Brings an older or empty store to the current version, all or nothing.
    pub(crate) fn migrate(&self) -> Result<(), StoreError> {
        if self.version()? == VERSION {
            return self.database.check_tables();
        }
        let transaction = self.writing()?;
        // Somebody else may have been first.
        let version = self.version()?;
        self.database.check_tables()?;
        (version + 1..=VERSION).try_for_each(|next| self.database.step_to(next))?;
        if version < SEALED {
            self.seal()?;
        }
        if version < SUMMED {
            self.sum_up()?;
        }
        self.database.stamp(VERSION)?;
        transaction.commit()
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

    /// Sums up what an older version recorded, if it is whole.
    fn sum_up(&self) -> Result<(), StoreError> {
        let mut tallies = Tallies::none(self);
        for task in self.seals()?.keys() {
            self.whole_traces(task, |trace| tallies.add(trace))?;
        }
        tallies.write()
    }
}
