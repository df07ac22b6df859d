//! Drift: what the artifact stands for changes its mind, and the artifact cannot know. So tier 0
//! is asked for a share of what the artifact answered, behind the caller's back and on the
//! server's money, and both answers are compared. What tier 0 says is recorded as always, so the
//! next compile knows it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use auto_json::Canonical;
use auto_schema::digest::Digest;

use super::app::App;
use super::caller::Caller;
use super::catalog::Artifact;

const MILLION: u64 = 1_000_000;

/// When and how much.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The share of the artifact's answers that tier 0 is asked for too, in parts per million.
    pub sample: u32,
    /// The share of those that may differ, in parts per million.
    pub limit: u32,
    /// How many are compared before anything is said.
    pub fewest: u64,
    /// What is done when more differ.
    pub then: Then,
}

/// What is done about an artifact that drifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// An alarm, and nothing else.
    Alarm,
    /// The artifact is not asked any more until its name stands for another: tier 0 answers.
    Suspend,
    /// Its name stands for the artifact before it again; where there is none, as with `Suspend`.
    RollBack,
}

/// What was compared of an artifact since the last alarm.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    all: u64,
    differ: u64,
    suspended: bool,
}

/// What is known of the artifacts' drift.
pub struct Drift {
    settings: Settings,
    /// Counts up by the share for each answer; a sample is due at each million.
    due: AtomicU64,
    compared: Mutex<HashMap<Digest, Compared>>,
}

impl Drift {
    pub(super) fn new(settings: Settings) -> Drift {
        Drift { settings, due: AtomicU64::new(0), compared: Mutex::default() }
    }

    /// Whether the next answer is one of the sample: evenly, so that no luck is in it.
    fn is_due(&self) -> bool {
        let sample = u64::from(self.settings.sample);
        let before = self.due.fetch_add(sample, Relaxed) % MILLION;
        before + sample >= MILLION
    }

    /// Takes in a comparison; whether it is time to do something.
    fn add(&self, artifact: Digest, differs: bool) -> bool {
        let mut all = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        let compared = all.entry(artifact).or_default();
        compared.all += 1;
        compared.differ += u64::from(differs);
        let too_many = compared.differ * MILLION > compared.all * u64::from(self.settings.limit);
        if compared.all < self.settings.fewest || !too_many || compared.suspended {
            return false;
        }
        *compared = Compared { suspended: self.settings.then != Then::Alarm, ..Compared::default() };
        true
    }

    fn is_suspended(&self, artifact: Digest) -> bool {
        let all = self.compared.lock().unwrap_or_else(PoisonError::into_inner);
        all.get(&artifact).is_some_and(|compared| compared.suspended)
    }
}

impl App {
    /// Whether tier 0 answers in an artifact's place because that drifted.
    pub fn suspended(&self, artifact: &Artifact) -> bool {
        self.drift.as_ref().is_some_and(|drift| {
            drift.settings.then != Then::Alarm
                && drift.is_suspended(artifact.program.id())
                && self.backing.has_tier0(&artifact.name)
        })
    }

    /// Asks tier 0 too, if this answer is one of the sample. The caller does not wait for it.
    pub(super) fn sample(self: &Arc<App>, artifact: &Arc<Artifact>, input: String, answer: &str) {
        let Some(drift) = &self.drift else { return };
        if !self.backing.has_tier0(&artifact.name) || !drift.is_due() {
            return;
        }
        let (app, asked, answer) = (self.clone(), artifact.clone(), answer.to_owned());
        let taken = self.waiting.submit(move |_| app.compare(&asked, &input, &answer));
        if taken.is_err() {
            artifact.counts.unsampled.fetch_add(1, Relaxed);
        }
    }

    fn compare(&self, artifact: &Artifact, input: &str, answer: &str) {
        let counts = &artifact.counts;
        let server = Caller { name: "drift".to_owned(), ..Caller::anybody() };
        let Ok(said) = self.ask_tier0(artifact, &server, input, "drift") else {
            counts.unsampled.fetch_add(1, Relaxed);
            return;
        };
        counts.spent.fetch_add(said.cost.unwrap_or(0), Relaxed);
        let differs = Canonical::of(answer).ok() != Canonical::of(&said.output).ok();
        counts.sampled.fetch_add(1, Relaxed);
        counts.agreed.fetch_add(u64::from(!differs), Relaxed);
        let Some(drift) = self.drift.as_ref().filter(|drift| drift.add(artifact.program.id(), differs)) else { return };
        let share = drift.settings.limit;
        let message = format!("tier 0 differs from {} in more than {share} of a million answers", artifact.id);
        self.events.alarm(&artifact.name, "drift", &message);
        match drift.settings.then {
            Then::Alarm => {}
            Then::Suspend => self.events.note(&artifact.name, "suspended", "tier 0 answers in its place"),
            Then::RollBack => match self.catalog.roll_back(artifact) {
                Ok(Some(id)) => self.events.note(&artifact.name, "rolled-back", &format!("{id} answers again")),
                Ok(None) => self.events.note(
                    &artifact.name,
                    "suspended",
                    "there is no artifact before it; tier 0 answers in its place",
                ),
                Err(why) => {
                    self.events.alarm(&artifact.name, &why.code, &format!("it is not rolled back: {}", why.message))
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drift(sample: u32, then: Then) -> Drift {
        Drift::new(Settings { sample, limit: 100_000, fewest: 10, then })
    }

    #[test]
    fn as_many_are_compared_as_the_share_says_and_evenly() {
        for (sample, of_a_thousand) in [(0, 0), (1_000, 1), (10_000, 10), (333_333, 333), (1_000_000, 1_000)] {
            let drift = drift(sample, Then::Alarm);
            let due: Vec<bool> = (0..1_000).map(|_| drift.is_due()).collect();
            let count = due.iter().filter(|due| **due).count();
            assert!(count.abs_diff(of_a_thousand) <= 1, "{sample}: {count}");
            let half = due[..500].iter().filter(|due| **due).count();
            assert!((half * 2).abs_diff(count) <= 2, "{sample}");
        }
    }

    #[test]
    fn an_alarm_needs_enough_comparisons_and_more_differences_than_the_limit() {
        let (one, other) = (Digest::of(b"one"), Digest::of(b"other"));
        let drift_ = drift(1, Then::Alarm);
        assert!((0..9).all(|_| !drift_.add(one, true)), "too few");
        assert!(drift_.add(one, true));
        assert!((0..9).all(|_| !drift_.add(one, true)), "counted anew after an alarm");
        assert!((0..100).all(|number| !drift_.add(other, number % 10 == 9)), "exactly the limit is no alarm");
        let suspending = drift(1, Then::Suspend);
        assert!((0..10).filter(|_| suspending.add(one, true)).count() == 1 && suspending.is_suspended(one));
        assert!(!suspending.is_suspended(other));
    }
}
