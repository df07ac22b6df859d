//! What goes from a store: traces that a rule of retention lets go, values that nothing names any
//! more, and the space that both took. A trace goes whole or not at all, and what is pinned stays.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::database::{Purpose, Transaction, cells};
use crate::rows::Recorded;
use crate::summary::Tallies;
use crate::{Digest, Store, StoreError};

/// Which traces may go: those of which everything holds that is said here.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    /// Only those of this task.
    pub task: Option<String>,
    /// Only those that began before this, in microseconds since 1970.
    pub before: Option<u64>,
    /// Only those that are not among so many of their task that began last.
    pub keep: Option<usize>,
    /// Only those that were cut off, which witness nothing.
    pub partial: bool,
    /// What stays whatever is said above.
    pub pinned: BTreeSet<Pin>,
}

/// A scope whose evidence something rests on: what shows anything of it stays.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pin {
    /// The task.
    pub task: String,
    /// The scope, as manifests and records of eval runs write it.
    pub scope: String,
}

/// What went, or would go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Traces.
    pub traces: u64,
    /// Those of them that were cut off.
    pub partial: u64,
    /// Spans of all of them.
    pub spans: u64,
    /// Values that nothing names any more; not counted where nothing was to be removed.
    pub values: u64,
    /// Traces that stay only because they are pinned.
    pub pinned: u64,
    /// Traces that stay in all.
    pub kept: u64,
}

/// A trace that may have to go.
struct Candidate {
    row: i64,
    started: u64,
    fingerprint: Digest,
    spans: usize,
    partial: bool,
    pinned: bool,
}

impl Pin {
    /// Whether a trace of its task shows anything of its scope. What was cut off shows nothing.
    fn holds(&self, trace: &Recorded) -> bool {
        if trace.partial {
            return false;
        }
        if self.scope == "task" {
            return trace.input.is_some() && trace.output.is_some();
        }
        if let Some(ends) = self.scope.strip_prefix("region ") {
            let begins = trace.spans.iter().any(|span| ends.starts_with(&format!("{}..", span.name)));
            let ended = trace.spans.iter().any(|span| ends.ends_with(&format!("..{}", span.name)));
            return begins && ended;
        }
        let span = self.scope.strip_prefix("span ").and_then(|rest| rest.split_once(' '));
        // A scope that is not understood keeps everything.
        span.is_none_or(|(kind, name)| trace.spans.iter().any(|span| span.is(kind, name)))
    }
}

impl Store {
    /// Removes what a rule of retention lets go, and then what no trace names any more; with
    /// `dry_run` nothing, and says what would go. All or nothing.
    ///
    /// Codes as for [`Store::ingest`].
    pub fn prune(&mut self, retention: &Retention, dry_run: bool) -> Result<Pruned, StoreError> {
        let purpose = if dry_run { Purpose::Reading } else { Purpose::Writing };
        let transaction = Transaction::begin(&*self.database, purpose)?;
        self.check_version()?;
        // What is damaged is not made less of: something may be saved of it.
        self.check()?;
        let mut seals = self.seals()?;
        let of_it = |task: &&String| retention.task.as_ref().is_none_or(|own| own == *task);
        let tasks: Vec<String> = seals.keys().filter(of_it).cloned().collect();
        let mut pruned = Pruned::default();
        let mut changed = BTreeSet::new();
        for task in tasks {
            for trace in self.that_go(&task, retention, &mut pruned)? {
                pruned.traces += 1;
                pruned.partial += u64::from(trace.partial);
                pruned.spans += trace.spans as u64;
                let seal = seals.entry(task.clone()).or_default();
                seal.remove(&trace.fingerprint, trace.spans, trace.partial);
                changed.insert(task.clone());
                if !dry_run {
                    self.remove_trace(trace.row)?;
                }
            }
        }
        if dry_run {
            return Ok(pruned);
        }
        seals.retain(|_, seal| !seal.is_empty());
        self.write_seals(&seals, &changed)?;
        let mut tallies = Tallies::of(self)?;
        changed.iter().try_for_each(|task| tallies.again(task))?;
        tallies.write()?;
        pruned.values = self.remove_unnamed()?;
        transaction.commit()?;
        self.database.settle();
        Ok(pruned)
    }

    /// The traces of a task that go, after all of them were held against the seal.
    fn that_go(&self, task: &str, retention: &Retention, pruned: &mut Pruned) -> Result<Vec<Candidate>, StoreError> {
        let pins: Vec<&Pin> = retention.pinned.iter().filter(|pin| pin.task == task).collect();
        let mut traces = Vec::new();
        self.recordings(task, |trace| {
            traces.push(Candidate {
                row: trace.row,
                started: trace.started,
                fingerprint: trace.fingerprint,
                spans: trace.spans.len(),
                partial: trace.partial,
                pinned: pins.iter().any(|pin| pin.holds(trace)),
            });
            Ok(())
        })?;
        let all = traces.len();
        // The last ones first; of those that began at once, the one that was recorded last.
        traces.sort_by_key(|trace| Reverse((trace.started, trace.row)));
        let mut going: Vec<Candidate> = traces.into_iter().skip(retention.keep.unwrap_or(0)).collect();
        going.retain(|trace| {
            retention.before.is_none_or(|before| trace.started < before) && (trace.partial || !retention.partial)
        });
        let (pinned, free): (Vec<_>, Vec<_>) = going.into_iter().partition(|trace| trace.pinned);
        pruned.pinned += pinned.len() as u64;
        pruned.kept += (all - free.len()) as u64;
        Ok(free)
    }

    /// Takes a trace out; its values stay.
    pub(crate) fn remove_trace(&self, row: i64) -> Result<(), StoreError> {
        self.execute("DELETE FROM span WHERE trace = ?1", cells![row])?;
        self.execute("DELETE FROM trace WHERE id = ?1", cells![row])
    }

    /// Removes the values that no trace names. One bit a value is kept in memory.
    fn remove_unnamed(&self) -> Result<u64, StoreError> {
        let last = self.all("SELECT coalesce(max(id), 0) FROM value", &[], |row| row.get::<i64>(0))?;
        let mut named = Bits::up_to(last.first().copied().unwrap_or(0));
        for query in
            ["SELECT attributes, input, output FROM trace NOT INDEXED", "SELECT attributes, input, output FROM span"]
        {
            self.each(query, &[], |row| {
                (0..3)
                    .try_for_each(|at| row.get::<Option<i64>>(at).map(|id| id.into_iter().for_each(|id| named.set(id))))
            })?;
        }
        let mut unnamed = Vec::new();
        self.each("SELECT id FROM value NOT INDEXED", &[], |row| {
            let id = row.get(0)?;
            if !named.get(id) {
                unnamed.push(id);
            }
            Ok(())
        })?;
        unnamed.iter().try_for_each(|id: &i64| self.execute("DELETE FROM value WHERE id = ?1", cells![*id]))?;
        Ok(unnamed.len() as u64)
    }

    /// Writes the file anew without what is free in it, after everything was held against its
    /// digests. Takes about as much space again until it is done. Gives the bytes before and
    /// after.
    ///
    /// Codes as for [`Store::ingest`].
    pub fn compact(&mut self) -> Result<(u64, u64), StoreError> {
        self.verify()?;
        let before = self.database.bytes()?;
        let transaction = self.writing()?;
        self.check_version()?;
        self.remove_unnamed()?;
        transaction.commit()?;
        self.database.compact()?;
        Ok((before, self.database.bytes()?))
    }
}

/// Which ids of a table something names.
struct Bits(Vec<u64>);

impl Bits {
    fn up_to(last: i64) -> Bits {
        Bits(vec![0; usize::try_from(last / 64 + 1).unwrap_or(1)])
    }

    /// Where the bit of an id is; nowhere for one that no row can have.
    fn place(id: i64) -> Option<(usize, u64)> {
        let at = usize::try_from(id.div_euclid(64)).ok()?;
        Some((at, 1 << id.rem_euclid(64)))
    }

    fn set(&mut self, id: i64) {
        if let Some((word, bit)) = Bits::place(id).and_then(|(at, bit)| Some((self.0.get_mut(at)?, bit))) {
            *word |= bit;
        }
    }

    fn get(&self, id: i64) -> bool {
        Bits::place(id).is_some_and(|(at, bit)| self.0.get(at).is_some_and(|word| word & bit != 0))
    }
}
