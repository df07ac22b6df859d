//! What commands cost, as they say themselves: one that may spend money leaves `spent.json`, which
//! holds `{"micro_usd": NUMBER}`. Nobody else can know it, so a command that is to stay under a cap
//! has to tell.

use auto_json::Value;

use crate::blobs::Blobs;
use crate::experiment::{Experiment, Outcome};

/// What such a command leaves in its folder.
const SPENT: &str = "spent.json";

/// What experiments cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Micro-USD, of all that told.
    pub micro_usd: u64,
    /// How many told it.
    pub told: u32,
    /// How many left something else in its place.
    pub unreadable: u32,
}

/// An experiment that is asked what it cost, where it may cost something. What it is known by is
/// that of the one without.
pub(crate) fn asked_for(experiment: &Experiment) -> Experiment {
    let mut experiment = experiment.clone();
    if experiment.costs && !experiment.collect.iter().any(|path| path == SPENT) {
        experiment.collect.push(SPENT.to_owned());
    }
    experiment
}

/// The one that was asked.
pub(crate) fn without(experiment: &Experiment) -> Experiment {
    let mut experiment = experiment.clone();
    if experiment.costs && experiment.collect.last().is_some_and(|path| path == SPENT) {
        experiment.collect.pop();
    }
    experiment
}

impl Cost {
    /// With that of one more.
    pub(crate) fn with(self, outcome: &Outcome, blobs: &Blobs) -> Cost {
        let Some(file) = outcome.files.iter().find(|file| file.path == SPENT) else { return self };
        let value = blobs.get(file.digest).ok().and_then(|bytes| Value::parse(bytes).ok());
        match value.and_then(|value| value.get("micro_usd")?.as_u64()) {
            Some(micros) => {
                Cost { micro_usd: self.micro_usd.saturating_add(micros), told: self.told.saturating_add(1), ..self }
            }
            None => Cost { unreadable: self.unreadable.saturating_add(1), ..self },
        }
    }
}
