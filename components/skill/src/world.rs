//! What a search is given, what it asks of the world, and what it comes to.

use crate::document::Unit;
use crate::edit::Level;
use crate::matrix::{Cell, Coordinate, Micros, Reading};

/// What may be spent, and what counts.
#[derive(Clone, Debug)]
pub struct Config {
    pub dimensions: Vec<String>,
    /// Rollouts of a candidate; the seeds are 0, 1, and so on.
    pub rollouts: u32,
    pub section_iterations: u32,
    pub paragraph_iterations: u32,
    /// Generations of an edit until one keeps the shape of the document.
    pub attempts: u32,
    /// Gaps above it are worked on, in micros.
    pub threshold: Micros,
    /// Rejections of a cell until it is exhausted.
    pub rejections: u32,
    /// A section is looked at by paragraphs only up to this score.
    pub descend_at: Micros,
    /// How often.
    pub descents: u32,
    /// The least gain of the cell.
    pub accept: Micros,
    pub reading: Reading,
    /// The most bytes of the document.
    pub most_bytes: usize,
}

impl Default for Config {
    fn default() -> Config {
        let names = [
            "Trigger Fit",
            "Procedure Completeness",
            "Tool Accuracy",
            "Constraint Clarity",
            "Error Recovery",
            "Output Verification",
            "Economy",
        ];
        Config {
            dimensions: names.map(str::to_owned).to_vec(),
            rollouts: 3,
            section_iterations: 6,
            paragraph_iterations: 3,
            attempts: 3,
            threshold: 375_000,
            rejections: 2,
            descend_at: 3_500_000,
            descents: 1,
            accept: 500_000,
            reading: Reading::CellMax,
            most_bytes: 64 << 10,
        }
    }
}

/// One run of the agent with a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    pub id: String,
    pub seed: u32,
    pub timed_out: bool,
    /// What the task's own verifier said, where there is one.
    pub passed: Option<bool>,
}

/// What a judge made of two versions of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub incumbent: Micros,
    pub candidate: Micros,
    /// Whether the unit matters to the task at all.
    pub relevant: bool,
    /// What runs worse.
    pub regressions: Vec<String>,
    /// Traces that it rests on, by id.
    pub evidence: Vec<String>,
    pub reason: String,
}

/// Something that was measured of the incumbent and of the candidate: a mean in micros, and of how
/// many. The gain, turned round where lower is better, is to be at least `bound`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    pub metric: &'static str,
    pub stratum: String,
    pub before: Option<(Micros, u32)>,
    pub after: Option<(Micros, u32)>,
    pub higher_is_better: bool,
    pub bound: Micros,
}

/// What a candidate is admitted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub measures: Vec<Measure>,
    /// What must hold of it: name, whether it does.
    pub checks: Vec<(String, bool)>,
}

/// Whether it may stand; if not, by which axes (`metric/stratum`) and checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    Accept,
    Reject(Vec<String>),
    Unmeasurable(Vec<String>),
}

/// An edit that was tried and not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub reason: String,
    /// The text; empty where none kept the shape of the document.
    pub text: String,
    pub delta: Micros,
}

/// Everything outside: models and runs. An error ends the search, and the incumbent stands.
pub trait World {
    type Error: From<String>;

    /// A score for each unit in a dimension.
    fn score(
        &mut self,
        document: &str,
        units: &[Unit],
        dimension: &str,
        traces: &[Trace],
    ) -> Result<Vec<Cell>, Self::Error>;

    /// A new text for a unit; `feedback` is what was refused before, and why.
    fn edit(
        &mut self,
        document: &str,
        unit: &Unit,
        at: &Coordinate,
        cell: &Cell,
        feedback: &[String],
    ) -> Result<String, Self::Error>;

    /// Runs the agent with the skill, once for each seed.
    fn rollouts(&mut self, document: &str, seeds: &[u32]) -> Result<Vec<Trace>, Self::Error>;

    /// Whether a step may stand.
    fn admit(&mut self, step: &Step) -> Result<Admission, Self::Error>;

    /// What was decided; `document` is the incumbent after it. What is kept here is kept for good.
    fn decided(&mut self, document: &str, decision: &Decision) -> Result<(), Self::Error>;

    /// Compares two versions of a unit.
    fn compare(
        &mut self,
        old: &str,
        new: &str,
        at: &Coordinate,
        incumbent: &[Trace],
        candidate: &[Trace],
    ) -> Result<Comparison, Self::Error>;
}

/// What became of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    pub level: Level,
    pub at: Coordinate,
    pub accepted: bool,
    pub reason: String,
    pub delta: Micros,
    /// Bytes of the document after it.
    pub bytes: usize,
    pub old: String,
    pub new: String,
}

/// How a level ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub level: Level,
    pub iterations: u32,
    pub refreshes: u32,
    /// `normalized_gap_converged`, `available_coordinates_exhausted`, `coordinate_exhausted`,
    /// `max_iterations_after_accept`, `max_iterations`.
    pub reason: &'static str,
    pub exhausted: Option<Coordinate>,
}

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Report<E> {
    /// The incumbent.
    pub document: String,
    /// The runs that it was looked at by first.
    pub first: Vec<Trace>,
    /// Those of the incumbent.
    pub traces: Vec<Trace>,
    pub decisions: Vec<Decision>,
    pub levels: Vec<Ended>,
    /// What ended it early; all the rest is as it was then.
    pub error: Option<E>,
}
