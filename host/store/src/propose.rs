//! Proposals for a key policy: the recorded inputs of an operation are aligned, what is the same
//! in all of them is set against what varies, and each candidate is counted as the census would
//! count it. A proposal is shown, and somebody decides: a key that leaves out what mattered shows
//! as inputs with several outputs, and is worse than none.

mod align;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use auto_json::Value;
use auto_schema::key::{Part, Pointer};

use crate::census::Row;
use crate::{Digest, Share, Store, StoreError};

/// How many inputs are looked at to find candidates.
const SAMPLE: usize = 400;

/// How much text of them, in bytes.
const SAMPLE_BYTES: usize = 16 << 20;

/// How many proposals are given.
const GIVEN: usize = 5;

/// A part of an operation's input, and what the census would say of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The part.
    pub key: Part,
    /// In words.
    pub what: String,
    /// What the census would count.
    pub row: Row,
    /// Of the witnessed spans, those whose output is the most frequent one of their input.
    pub modal: u64,
    /// Spans that the part does not fit.
    pub unkeyed: u64,
}

impl Proposal {
    /// Spans with the most frequent output of their input, of the witnessed ones.
    pub fn agreement(&self) -> Share {
        Share::of(self.modal, self.row.witnessed.spans)
    }
}

impl Store {
    /// The whole input of an operation as a key, and parts of it that more recordings share,
    /// best first: those with the most deterministic spans, then with the most that agree.
    ///
    /// Codes as for [`Store::observations`].
    pub fn propose_keys(&self, task: &str, kind: &str, name: &str) -> Result<(Proposal, Vec<Proposal>), StoreError> {
        let _snapshot = self.snapshot()?;
        let whole = Part::Pointer(Pointer::default());
        let sample = self.sample(task, kind, name)?;
        let mut candidates = vec![(whole, "the whole input".to_owned())];
        candidates.extend(align::candidates(&sample));
        let mut counted = self.count_keys(task, kind, name, candidates)?;
        let whole = counted.remove(0);
        counted
            .retain(|one| one.row.witnessed.spans > whole.row.witnessed.spans && one.unkeyed * 2 < one.row.all.spans);
        // The smallest key of those that are as good: what it leaves out makes no difference here.
        let size = |one: &Proposal| {
            let keys = sample.iter().filter_map(|input| one.key.of(input));
            keys.map(|key| key.canonical().as_str().len()).sum::<usize>()
        };
        counted.sort_by_cached_key(|one| (Reverse((one.row.deterministic.spans, one.agreement().0)), size(one)));
        // Two keys that part recordings alike are one.
        let mut seen = BTreeSet::new();
        counted.retain(|one| {
            seen.insert((one.row.witnessed.spans, one.row.witnessed.inputs, one.row.deterministic.spans, one.modal))
        });
        counted.truncate(GIVEN);
        Ok((whole, counted))
    }

    /// Distinct inputs of an operation, spread over the task.
    fn sample(&self, task: &str, kind: &str, name: &str) -> Result<Vec<Value>, StoreError> {
        let mut rows: Vec<i64> = Vec::new();
        self.summed(task, |operation, number, sum| {
            let wanted = operation.is(kind, name);
            self.tallies_of(number, sum, |place, _| {
                if wanted && rows.last() != Some(&place.input) {
                    rows.push(place.input);
                }
            })
        })?;
        let (mut sample, mut bytes) = (Vec::new(), 0);
        for row in rows.iter().step_by(rows.len().div_ceil(SAMPLE).max(1)) {
            let text = self.text(*row)?;
            bytes += text.as_str().len();
            if bytes > SAMPLE_BYTES && !sample.is_empty() {
                break;
            }
            sample.push(text.value());
        }
        Ok(sample)
    }

    fn count_keys(
        &self,
        task: &str,
        kind: &str,
        name: &str,
        candidates: Vec<(Part, String)>,
    ) -> Result<Vec<Proposal>, StoreError> {
        let mut groups: Vec<HashMap<Digest, Group>> = candidates.iter().map(|_| HashMap::new()).collect();
        let mut unkeyed = vec![0_u64; candidates.len()];
        self.summed(task, |operation, number, sum| {
            if !operation.is(kind, name) {
                return self.tallies_of(number, sum, |_, _| {});
            }
            let mut last: Option<(i64, Vec<Option<Digest>>)> = None;
            self.tallies_with_texts(number, sum, |text, place, tallied| {
                if last.as_ref().is_none_or(|(input, _)| *input != place.input) {
                    let value = text.value();
                    let digest = |key: &Part| Some(Digest::of(key.of(&value)?.canonical().as_str().as_bytes()));
                    last = Some((place.input, candidates.iter().map(|(key, _)| digest(key)).collect()));
                }
                for (number, key) in last.iter().flat_map(|(_, keys)| keys.iter().enumerate()) {
                    match key {
                        None => unkeyed[number] += tallied.spans,
                        Some(key) => groups[number].entry(*key).or_default().add(place.output(), tallied.spans),
                    }
                }
                Ok(())
            })
        })?;
        let mut counted = Vec::with_capacity(candidates.len());
        for (number, (key, what)) in candidates.into_iter().enumerate() {
            let (mut row, mut modal) =
                (Row { kind: kind.to_owned(), name: Some(name.to_owned()), ..Row::default() }, 0);
            groups[number].values().for_each(|group| modal += group.tally(&mut row));
            row.all.spans += unkeyed[number];
            counted.push(Proposal { key, what, row, modal, unkeyed: unkeyed[number] });
        }
        Ok(counted)
    }
}

/// What was recorded under one key.
#[derive(Default)]
struct Group {
    outputs: HashMap<i64, u64>,
    errors: u64,
}

impl Group {
    fn add(&mut self, output: Option<i64>, spans: u64) {
        match output {
            None => self.errors += spans,
            Some(output) => *self.outputs.entry(output).or_default() += spans,
        }
    }

    /// Adds the group to a row; gives the spans of its most frequent output, where it is
    /// witnessed.
    fn tally(&self, row: &mut Row) -> u64 {
        let spans = self.outputs.values().sum::<u64>() + self.errors;
        let add = |tally: &mut crate::Tally| {
            tally.inputs += 1;
            tally.spans += spans;
        };
        add(&mut row.all);
        row.errors += self.errors;
        if spans < 2 {
            return 0;
        }
        add(&mut row.witnessed);
        if self.errors == 0 && self.outputs.len() == 1 {
            add(&mut row.deterministic);
        }
        self.outputs.values().copied().max().unwrap_or(0)
    }
}
