//! An individual: what it is, where it came from, and what became of it.

use std::collections::BTreeMap;

use auto_json::{Record, Value};

use crate::genome::Genome;
use crate::measure::Measured;
use crate::settings::Metric;

/// How one is made of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operator {
    /// The first one.
    Baseline,
    /// Of nobody.
    Fresh,
    /// Of one, changed.
    Mutation,
    /// Of two.
    Crossover,
    /// Of one that was invalid and the one it came from.
    Repair,
    /// Of one, smaller.
    Simplify,
}

impl Operator {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Operator::Baseline => "baseline",
            Operator::Fresh => "fresh",
            Operator::Mutation => "mutation",
            Operator::Crossover => "crossover",
            Operator::Repair => "repair",
            Operator::Simplify => "simplify",
        }
    }
}

/// What became of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// It was measured, whole.
    Valid,
    /// It was measured on a part of the rows, and was too far behind.
    Dropped,
    /// Its run did not count.
    Invalid,
    /// It broke a hard constraint; nothing was spent.
    Refused,
    /// It was there before, or one like it; nothing was spent.
    Known,
    /// It cheats, or what it gains is not real: never a parent, never what counts.
    Quarantined,
}

impl Status {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Status::Valid => "valid",
            Status::Dropped => "dropped",
            Status::Invalid => "invalid",
            Status::Refused => "refused",
            Status::Known => "known",
            Status::Quarantined => "quarantined",
        }
    }
}

/// What somebody proposes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What it is.
    pub genome: Genome,
    /// Their numbers.
    pub parents: Vec<usize>,
    /// How it was made.
    pub operator: Operator,
    /// Which kind of idea it is: `functional`, `structural`, `combination`, or a teacher's own.
    pub idea: String,
    /// Who made it: `built-in`, or the name of a model.
    pub by: String,
    /// The digest of what the model was asked.
    pub prompt: Option<String>,
}

/// A run that was made with one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOf {
    /// What for: a stage, `whole`, a check.
    pub purpose: String,
    /// What was measured.
    pub measured: Measured,
}

/// An individual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Individual {
    /// Its place in the lineage, from 0.
    pub number: usize,
    /// What it is.
    pub genome: Genome,
    /// The digest of that.
    pub digest: String,
    /// Their numbers.
    pub parents: Vec<usize>,
    /// When it was made; 0 is the baseline.
    pub generation: u32,
    /// Where it was born.
    pub island: usize,
    /// How it was made.
    pub operator: Operator,
    /// Which kind of idea.
    pub idea: String,
    /// Who made it.
    pub by: String,
    /// The digest of what a model was asked for it.
    pub prompt: Option<String>,
    /// What makes it of its first parent.
    pub patch: String,
    /// What became of it.
    pub status: Status,
    /// Why; a code and words.
    pub reason: String,
    /// What its run said last, where it did not count.
    pub feedback: String,
    /// Its score with penalties, in millionths; none where it was not measured whole.
    pub score: Option<i64>,
    /// Whether it keeps every limit of a metric.
    pub feasible: bool,
    /// What it was measured by.
    pub runs: Vec<RunOf>,
    /// Micro-USD.
    pub cost: u64,
    /// Where it stands in the archive.
    pub cell: Option<(u32, u32)>,
}

impl Individual {
    /// One that nothing is known of yet.
    pub fn of(proposal: Proposal, number: usize, generation: u32, island: usize, base: Option<&Genome>) -> Individual {
        let Proposal { genome, parents, operator, idea, by, prompt } = proposal;
        let patch = base.map(|base| genome.patch_of(base)).unwrap_or_default();
        Individual {
            number,
            digest: genome.digest(),
            genome,
            parents,
            generation,
            island,
            operator,
            idea,
            by,
            prompt,
            patch,
            status: Status::Valid,
            reason: String::new(),
            feedback: String::new(),
            score: None,
            feasible: true,
            runs: Vec::new(),
            cost: 0,
            cell: None,
        }
    }

    /// What it is called.
    pub fn id(&self) -> String {
        format!("i{:04}", self.number)
    }

    /// What the whole run measured.
    pub fn whole(&self) -> Option<&Measured> {
        self.runs.iter().find(|run| run.purpose == "whole").map(|run| &run.measured)
    }

    /// The scores of all rows.
    pub fn scores(&self) -> &[i64] {
        self.whole().map_or(&[], |measured| &measured.scores)
    }

    /// Whether it may have children.
    pub fn may_parent(&self) -> bool {
        self.status == Status::Valid && self.score.is_some()
    }

    /// What it ranks by: those that keep their limits above those that do not, then the score, then the
    /// older one. None of one that does not count, which so is below all that do.
    pub fn rank(&self) -> Option<(bool, i64, std::cmp::Reverse<usize>)> {
        self.score.filter(|_| self.may_parent()).map(|score| (self.feasible, score, std::cmp::Reverse(self.number)))
    }

    /// Takes in what the whole run measured.
    pub fn scored(&mut self, known: &BTreeMap<String, Metric>, parsimony: i64) {
        let Some(measured) = self.whole() else { return };
        let (feasible, penalty) = limits(&measured.metrics, known);
        let size = i64::try_from(self.genome.bytes()).unwrap_or(i64::MAX);
        let size = size.saturating_mul(parsimony) / 1_000;
        let mean = crate::stats::mean(&measured.scores);
        self.score = mean.map(|mean| mean.saturating_sub(penalty).saturating_sub(size));
        self.feasible = feasible;
    }

    /// As it stands in the report.
    pub fn to_value(&self) -> Value {
        let parents: Vec<Value> = self.parents.iter().map(|number| format!("i{number:04}").into()).collect();
        let mut record = Record::new()
            .with("id", self.id())
            .with("digest", self.digest.as_str())
            .with("parents", parents)
            .with("generation", self.generation)
            .with("island", self.island)
            .with("operator", self.operator.name())
            .with("idea", self.idea.as_str())
            .with("by", self.by.as_str())
            .with("patch", self.patch.as_str())
            .with("params", self.genome.params.clone())
            .with("bytes", self.genome.bytes())
            .with("status", self.status.name())
            .with("reason", self.reason.as_str())
            .with("feasible", self.feasible)
            .with("cost_micro_usd", self.cost)
            .with("runs", self.runs.iter().map(run).collect::<Vec<Value>>());
        if let Some(score) = self.score {
            let half = crate::stats::half_width(self.scores());
            record.set("score_micros", score);
            record.set("low_micros", score.saturating_sub(half));
            record.set("high_micros", score.saturating_add(half));
        }
        if let Some((size, far)) = self.cell {
            record.set("cell", vec![Value::from(size), Value::from(far)]);
        }
        if let Some(prompt) = &self.prompt {
            record.set("prompt", prompt.as_str());
        }
        if !self.feedback.is_empty() {
            record.set("feedback", self.feedback.as_str());
        }
        if let Some(program) = self.genome.files.get(crate::genome::PROGRAM) {
            record.set("program", program.as_str());
        }
        record.into()
    }
}

fn run(run: &RunOf) -> Value {
    let Measured { scores, metrics, tracker, files, .. } = &run.measured;
    let metrics: Record = metrics
        .iter()
        .map(|(name, value)| (name.clone(), Value::Number(auto_search::amount::decimal(*value))))
        .collect();
    let artifacts = files
        .iter()
        .map(|file| Value::from(Record::new().with("path", file.path.as_str()).with("digest", file.digest.as_str())));
    Record::new()
        .with("purpose", run.purpose.as_str())
        .with("run", run.measured.run.as_str())
        .with("tracker", tracker.as_deref())
        .with("mean", crate::stats::mean(scores))
        .with("n", scores.len())
        .with("metrics", metrics)
        .with("artifacts", artifacts.collect::<Vec<Value>>())
        .into()
}

/// Whether every hard limit holds, and what the soft ones cost.
fn limits(metrics: &BTreeMap<String, i64>, known: &BTreeMap<String, Metric>) -> (bool, i64) {
    let (mut feasible, mut penalty) = (true, 0_i64);
    for (name, value) in metrics {
        let Some(metric) = known.get(name) else { continue };
        let above = metric.at_most.map_or(0, |most| value.saturating_sub(most).max(0));
        let below = metric.at_least.map_or(0, |least| least.saturating_sub(*value).max(0));
        let beyond = above.saturating_add(below);
        match metric.weight {
            Some(weight) => {
                let cost = i128::from(beyond) * i128::from(weight) / 1_000_000;
                penalty = penalty.saturating_add(i64::try_from(cost).unwrap_or(i64::MAX));
            }
            None => feasible &= beyond == 0,
        }
    }
    (feasible, penalty)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(number: usize, mean: i64, seconds: i64, known: &BTreeMap<String, Metric>) -> Individual {
        let proposal = Proposal {
            genome: Genome::program("1"),
            parents: vec![],
            operator: Operator::Fresh,
            idea: String::new(),
            by: String::new(),
            prompt: None,
        };
        let mut own = Individual::of(proposal, number, 1, 0, None);
        let metrics = BTreeMap::from([("seconds".to_owned(), seconds)]);
        let measured = Measured { scores: vec![mean], metrics, ..Measured::default() };
        own.runs.push(RunOf { purpose: "whole".to_owned(), measured });
        own.scored(known, 0);
        own
    }

    #[test]
    fn what_keeps_its_limits_ranks_above_all_that_does_not_and_what_does_not_count_below() {
        let metric = Metric { range: (0, i64::MAX), required: true, at_most: Some(5), at_least: None, weight: None };
        let hard = BTreeMap::from([("seconds".to_owned(), metric.clone())]);
        let (slow, fast) = (one(1, 900_000, 6, &hard), one(2, 100_000, 5, &hard));
        assert!(fast.rank() > slow.rank() && slow.rank().is_some());
        let invalid = Individual { status: Status::Invalid, ..one(3, 1_000_000, 1, &hard) };
        assert!(slow.rank() > invalid.rank() && invalid.rank().is_none());
        let older = one(0, 100_000, 5, &hard);
        assert!(older.rank() > fast.rank(), "of equals the older one");
        let soft = BTreeMap::from([("seconds".to_owned(), Metric { weight: Some(500_000), ..metric })]);
        assert_eq!(one(4, 900_000, 7, &soft).score, Some(899_999));
    }
}
