//! GateOK as a policy of `auto:pass/admit`: every targeted cluster gains more than the least
//! improvement, no other loses more than epsilon, and none has drifted further from where the
//! search began than it may. The types are those of `wit/pass/admit.wit`; who decides is the pass.

/// The metric that is judged.
pub const SCORE: &str = "score";

/// The stratum of tasks that belong to no cluster.
pub const REST: &str = "_rest";

/// A mean over the samples of a stratum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What was measured.
    pub metric: String,
    /// A cluster, or [`REST`].
    pub stratum: String,
    /// Millionths.
    pub mean: i64,
    /// How many tasks it is over.
    pub n: u32,
}

/// What was measured of one spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The digest of the spec.
    pub subject: String,
    /// The digest of what scores.
    pub evaluator: String,
    /// The digest of tasks, order, seeds and clusters.
    pub sample: String,
    /// One for each stratum.
    pub measures: Vec<Measure>,
}

/// A claim about one stratum's gain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What is measured.
    pub metric: String,
    /// Where; not read of the axis for the rest.
    pub stratum: String,
    /// Whether the gain has to be greater than the bound, and not at least as much.
    pub strict: bool,
    /// Millionths.
    pub bound: i64,
}

/// How far the whole search may drift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drift {
    /// The spec that the search began with, on the same sample.
    pub anchor: Snapshot,
    /// The most that a stratum may have lost, in millionths.
    pub loss: i64,
}

/// What has to hold of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The targets.
    pub axes: Vec<Axis>,
    /// Every other stratum.
    pub rest: Option<Axis>,
    /// The fewest tasks of a stratum.
    pub min_n: u32,
    /// Against the beginning.
    pub drift: Option<Drift>,
}

/// Why a step was not admitted; as the pass says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// `score/cluster`.
    pub axis: String,
    /// Millionths, where there is one.
    pub gain: Option<i64>,
    /// `bound`, `drift`, `missing`, `few`, `evaluator`, `sample`, …
    pub code: String,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It stands.
    Accept,
    /// It does not, and why.
    Reject(Vec<Reason>),
    /// It could not be told: neither accepted nor a regression.
    Unmeasurable(Vec<Reason>),
}

/// How much may be lost, and how much has to be gained; in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// `max_regression`: epsilon.
    pub epsilon: i64,
    /// `min_improvement`: a target has to gain more than that.
    pub least: i64,
    /// `max_drift`: since the beginning.
    pub drift: i64,
}

/// GateOK for some targets.
pub fn policy(targets: &[String], bounds: Bounds, anchor: Snapshot) -> Policy {
    let axis =
        |stratum: &str, strict, bound| Axis { metric: SCORE.to_owned(), stratum: stratum.to_owned(), strict, bound };
    Policy {
        axes: targets.iter().map(|target| axis(target, true, bounds.least)).collect(),
        rest: Some(axis("", false, -bounds.epsilon)),
        min_n: 1,
        drift: Some(Drift { anchor, loss: bounds.drift }),
    }
}

impl Reason {
    /// `score/cluster bound -0.02`.
    pub fn text(&self) -> String {
        let gain = self.gain.map(|gain| format!(" {}", crate::amount::decimal(gain).text())).unwrap_or_default();
        format!("{} {}{gain}", self.axis, self.code)
    }
}
