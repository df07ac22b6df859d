//! What answering came to, by name: how many, by which tier, why not, how fast, for how much.
//!
//! Counters only grow; everything here is cheap enough to do for every input.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::curve::Curve;

/// The most distinct reasons that are kept apart: they come from artifacts.
const REASONS: usize = 64;

/// Upper ends of the buckets of latencies, in microseconds.
pub(super) const BUCKETS: [u64; 14] =
    [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 100_000, 1_000_000, 10_000_000];

/// Who gave an answer, or that nobody did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The artifact.
    Tier1,
    /// Who stands behind it.
    Tier0,
    /// Nobody.
    Nobody,
}

/// Counters of a name. They stay when another artifact takes the name.
#[derive(Debug, Default)]
pub struct Counts {
    /// Answered by the artifact.
    pub tier1: AtomicU64,
    /// Answered by tier 0.
    pub tier0: AtomicU64,
    /// The artifact abstained, by reason.
    pub trips: Tally,
    /// The artifact failed, or refused its input, by code.
    pub failures: Tally,
    /// Tier 0 gave no answer, by code.
    pub tier0_failures: Tally,
    /// What tier 0 cost, in micro-USD.
    pub spent: AtomicU64,
    /// What recorded answers of tier 0 cost that did not have to be asked for, in micro-USD:
    /// answers of the artifact times the median recorded price.
    pub saved: AtomicU64,
    /// How long answers took, within the server.
    pub latency: Latency,
    /// Answers of the artifact that tier 0 was asked for too, and how many of those agreed.
    pub sampled: AtomicU64,
    /// See `sampled`.
    pub agreed: AtomicU64,
    /// Samples that were not taken: there was no room for them, or tier 0 gave no answer.
    pub unsampled: AtomicU64,
    /// How the share of tier 1 went.
    pub curve: Mutex<Curve>,
}

impl Counts {
    /// An answer was given, or none, in so much time.
    pub fn answered(&self, side: Side, took: Duration) {
        match side {
            Side::Tier1 => self.tier1.fetch_add(1, Relaxed),
            Side::Tier0 => self.tier0.fetch_add(1, Relaxed),
            Side::Nobody => 0,
        };
        self.latency.add(took);
        self.curve.lock().unwrap_or_else(PoisonError::into_inner).add(side);
    }
}

/// Counts by a short text.
#[derive(Debug, Default)]
pub struct Tally(Mutex<BTreeMap<String, u64>>);

impl Tally {
    /// One more.
    pub fn add(&self, what: &str) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(what) {
            *count += 1;
            return;
        }
        let what = if counts.len() < REASONS { what } else { "other" };
        *counts.entry(what.to_owned()).or_default() += 1;
    }

    /// All of them.
    pub fn all(&self) -> Vec<(String, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|(what, count)| (what.clone(), *count)).collect()
    }

    /// Their sum.
    pub fn total(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

/// How long something took, in buckets.
#[derive(Debug, Default)]
pub struct Latency {
    buckets: [AtomicU64; BUCKETS.len() + 1],
    micros: AtomicU64,
}

impl Latency {
    /// One more.
    pub fn add(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let at = BUCKETS.partition_point(|end| *end < micros);
        self.buckets[at].fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
    }

    /// How many took at most each of [`BUCKETS`]; all of them; and the sum in microseconds.
    pub(super) fn read(&self) -> (Vec<u64>, u64, u64) {
        let mut total = 0;
        let mut below: Vec<u64> = self
            .buckets
            .iter()
            .map(|bucket| {
                total += bucket.load(Relaxed);
                total
            })
            .collect();
        below.pop();
        (below, total, self.micros.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_the_bucket_whose_end_they_do_not_pass() {
        let latency = Latency::default();
        for micros in [0, 5, 6, 100, 101, 20_000_000] {
            latency.add(Duration::from_micros(micros));
        }
        let (below, total, sum) = latency.read();
        assert_eq!((below[0], below[1], below[4], below[5], below[13], total), (2, 3, 4, 5, 5, 6));
        assert_eq!(sum, 20_000_212);
    }

    #[test]
    fn reasons_that_somebody_makes_up_do_not_pile_up() {
        let tally = Tally::default();
        (0..1_000).for_each(|number| tally.add(&number.to_string()));
        tally.add("7");
        assert_eq!((tally.all().len(), tally.total()), (REASONS + 1, 1_001));
        assert!(tally.all().contains(&("other".to_owned(), 1_000 - REASONS as u64)));
    }
}
