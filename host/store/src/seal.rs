//! What must be there: a seal per task over its traces, and one over the tasks and the key
//! policies. A row that
//! damage hid, moved or doubled is missing from a sum, and reading refuses.
//!
//! A sum is the exclusive or of SHA-256 digests: it can be carried on by whoever adds a
//! trace, in any order. It guards against accidents, not against somebody who rewrites the
//! file; that is what file permissions are for.

use std::collections::BTreeMap;

use auto_json::Value;

use crate::database::{Broken, Row, cells};
use crate::{Digest, KeyPolicy, Store, StoreError};

/// Where the seal over the tasks and the key policies is.
const SEAL: i64 = 1;

/// The exclusive or of digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum(pub(crate) [u8; 32]);

impl Sum {
    /// Adds what was not in it, or takes out what was.
    pub(crate) fn toggle(&mut self, digest: &Digest) {
        self.0.iter_mut().zip(digest.as_bytes()).for_each(|(sum, byte)| *sum ^= byte);
    }
}

/// What a store holds of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seal {
    /// Whole traces.
    pub traces: u64,
    /// Traces that were cut off.
    pub partial: u64,
    /// Spans of the whole traces.
    pub spans: u64,
    /// Over the fingerprints of all traces.
    pub sum: Sum,
}

impl Seal {
    /// Takes in a trace.
    pub(crate) fn add(&mut self, fingerprint: &Digest, spans: usize, partial: bool) {
        self.sum.toggle(fingerprint);
        if partial {
            self.partial += 1;
        } else {
            self.traces += 1;
            self.spans += spans as u64;
        }
    }

    /// Takes out a trace that it was given.
    pub(crate) fn remove(&mut self, fingerprint: &Digest, spans: usize, partial: bool) {
        self.sum.toggle(fingerprint);
        if partial {
            self.partial = self.partial.saturating_sub(1);
        } else {
            self.traces = self.traces.saturating_sub(1);
            self.spans = self.spans.saturating_sub(spans as u64);
        }
    }

    /// Whether it is of no trace at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.traces + self.partial == 0
    }

    fn digest(&self, task: &str) -> Digest {
        let counts = [self.traces, self.partial, self.spans].map(Value::from).to_vec();
        let sum = Digest(self.sum.0).to_string();
        let list = Value::List(vec![task.into(), Value::List(counts), sum.into()]);
        Digest::of(list.canonical().as_str().as_bytes())
    }
}

/// Every task's seal, by the task's name.
pub(crate) type Seals = BTreeMap<String, Seal>;

fn over(seals: &Seals, policies: &[KeyPolicy]) -> Sum {
    let mut sum = Sum::default();
    policies.iter().for_each(|policy| sum.toggle(&policy.digest()));
    seals.iter().for_each(|(task, seal)| sum.toggle(&seal.digest(task)));
    sum
}

impl Store {
    /// The seals, checked against the one over all of them.
    pub(crate) fn seals(&self) -> Result<Seals, StoreError> {
        let read = |row: &dyn Row| -> Result<(String, Seal), Broken> {
            let (traces, partial, spans) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, Seal { traces, partial, spans, sum: Sum(row.get(4)?) }))
        };
        let rows: Vec<(String, Seal)> = self.all("SELECT name, traces, partial, spans, sum FROM task", &[], read)?;
        let count = rows.len();
        let seals: Seals = rows.into_iter().collect();
        let sums = self.all("SELECT sum FROM seal WHERE id = ?1", cells![SEAL], |row| Ok(Sum(row.get(0)?)))?;
        if sums != [over(&seals, &self.policies()?)] || seals.len() != count {
            return Err(self.damaged("its list of tasks or of key policies is not what it was"));
        }
        Ok(seals)
    }

    /// Writes the seals of `changed` tasks, and the one over all. A task without a seal is none
    /// any more.
    pub(crate) fn write_seals<'a>(
        &self,
        seals: &Seals,
        changed: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), StoreError> {
        for task in changed {
            let Some(seal) = seals.get(task) else {
                self.execute("DELETE FROM task WHERE name = ?1", cells![task])?;
                continue;
            };
            self.execute(
                "INSERT INTO task (name, traces, partial, spans, sum) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (name) DO UPDATE SET traces = excluded.traces, partial = excluded.partial,
                 spans = excluded.spans, sum = excluded.sum",
                cells![task, seal.traces, seal.partial, seal.spans, &seal.sum.0],
            )?;
        }
        self.write_seal(SEAL, &over(seals, &self.policies()?))
    }

    pub(crate) fn write_seal(&self, id: i64, sum: &Sum) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO seal (id, sum) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET sum = excluded.sum",
            cells![id, &sum.0],
        )
    }
}
