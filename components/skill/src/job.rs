//! The job: the world of the search, made of what the host lends.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Record, Value};

use crate::ask::{Asking, Stop};
use crate::bindings::auto::host::{blobs, progress};
use crate::bindings::auto::pass::admit::{
    self, Axis, Check, Comparison as Compares, Decision as Ruling, Policy, Sense, Snapshot,
};
use crate::bindings::auto::pass::types::Fault;
use crate::commit::Commit;
use crate::config::{Action, Config, files};
use crate::document::Unit;
use crate::fault;
use crate::machine::search;
use crate::matrix::{Cell, Coordinate};
use crate::reply;
use crate::report;
use crate::rollout::{self, Rollout, stop};
use crate::world::{Admission, Comparison, Decision, Measure, Step, Trace, World};

/// Does what the configuration says.
pub fn run(text: &str) -> Result<String, Fault> {
    let config = Config::read(text)?;
    match &config.action {
        Action::Run => compile(&config),
        Action::Rollback(to) => rollback(&config, to.as_deref()),
        Action::Review => Err(fault(
            "nothing-pending",
            "a skill search decides every edit by itself, so none waits for a person; go back with `search rollback`",
        )),
    }
}

/// The search, from the head or, before there is one, from the package that was given.
fn compile(config: &Config) -> Result<String, Fault> {
    let (first, head) = match blobs::head()? {
        Some(head) => (Commit::read(&head)?, head),
        None => {
            let list = Value::parse(blobs::get(&config.package)?).ok().and_then(|value| files(&value));
            let files = list.ok_or_else(|| fault("bad-config", "the package is no list of files"))?;
            let first = Commit { parent: None, files, why: "as it was given".to_owned(), actor: config.actor.clone() };
            // Said before anything is kept.
            first.skill()?;
            let head = first.make_head()?;
            (first, head)
        }
    };
    let skill = first.skill()?;
    let asking = Asking {
        max_cost: config.max_cost,
        reply_tokens: config.reply_tokens,
        spent: config.earlier.spent,
        calls: config.earlier.calls,
        model: String::new(),
    };
    let mut job = Job::new(config, asking, first.clone(), head.clone());
    let given = job.given(&skill)?;
    let found = search(&config.search, &skill, given, &mut job);
    Ok(report::of(config, &skill, &head, &found, &job.told()).canonical().into_string())
}

/// Back to a state that there was.
fn rollback(config: &Config, to: Option<&str>) -> Result<String, Fault> {
    let Some(head) = blobs::head()? else { return Err(fault("no-head", "the run has no state yet to go back from")) };
    let to =
        match to {
            Some(to) => named(&head, to)?,
            // What is before the text that counts, not before the step that went back to it.
            None => Commit::read(&made(&head)?)?.parent.map(|parent| made(&parent)).transpose()?.ok_or_else(|| {
                fault("no-parent", "the head is the skill as it was given; there is nothing before it")
            })?,
        };
    let then = Commit::read(&to)?;
    let why = format!("{BACK}{to}");
    let standing = standing(&to)?;
    let back = Commit { parent: Some(head), files: then.files, why: why.clone(), actor: config.actor.clone() };
    let skill = back.skill()?;
    let head = back.make_head()?;
    let asking = Asking { max_cost: None, reply_tokens: 0, spent: 0, calls: 0, model: String::new() };
    let seeds: Vec<u32> = (0..config.search.rollouts).collect();
    // Runs that there were with this text are known; where it cannot be run, nobody knows.
    let runs = Job::new(config, asking, back, head.clone()).rollouts(&skill, &seeds).unwrap_or_default();
    let report = report::of_state(&skill, &head, &runs)
        .with("status", "rolled_back")
        .with("why", format!("{why} by {}", config.actor))
        .with("standing", standing.iter().map(|one| one.as_str().into()).collect::<Vec<Value>>());
    Ok(Value::from(report).canonical().into_string())
}

/// How the story of a state begins that went back to another one.
const BACK: &str = "back to ";

/// The state in which the text of a state was made: itself, or the one that it went back to.
fn made(state: &str) -> Result<String, Fault> {
    let mut state = state.to_owned();
    while let Some(to) = Commit::read(&state)?.why.strip_prefix(BACK) {
        state = to.to_owned();
    }
    Ok(state)
}

/// A state that led to the head, by its name or the beginning of it.
fn named(head: &str, name: &str) -> Result<String, Fault> {
    let (mut above, mut found) = (Some(head.to_owned()), BTreeSet::new());
    while let Some(one) = above {
        above = Commit::read(&one)?.parent;
        found.extend((one == name || name.len() >= SHORT_NAME && one.starts_with(name)).then_some(one));
    }
    match (found.pop_first(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(fault("no-such-state", format!("{name} is no state that led to the head; `search show` lists them"))),
    }
}

/// The least digits of the name of a state.
const SHORT_NAME: usize = 8;

/// The states that a state rests on, itself first.
fn standing(state: &str) -> Result<Vec<String>, Fault> {
    let (mut all, mut next) = (Vec::new(), Some(state.to_owned()));
    while let Some(state) = next {
        let state = made(&state)?;
        next = Commit::read(&state)?.parent;
        all.push(state);
    }
    Ok(all)
}

/// What the report tells beside the search.
pub struct Told {
    pub head: String,
    /// Of each accepted edit.
    pub commits: Vec<String>,
    pub spent: u64,
    pub calls: u32,
    pub model: String,
    pub rollouts: u32,
    pub isolation: Vec<String>,
}

struct Job<'c> {
    config: &'c Config,
    asking: Asking,
    incumbent: Commit,
    head: String,
    commits: Vec<String>,
    /// Runs by id.
    known: BTreeMap<String, Rollout>,
    isolation: BTreeSet<String>,
    rollouts: u32,
    comparisons: u32,
    /// Runs from before, as a judge is shown them.
    earlier: Vec<Value>,
}

impl<'c> Job<'c> {
    fn new(config: &'c Config, asking: Asking, incumbent: Commit, head: String) -> Job<'c> {
        Job {
            config,
            asking,
            incumbent,
            head,
            commits: Vec::new(),
            known: BTreeMap::new(),
            isolation: BTreeSet::new(),
            rollouts: config.earlier.rollouts,
            comparisons: 0,
            earlier: Vec::new(),
        }
    }

    fn told(&self) -> Told {
        Told {
            head: self.head.clone(),
            commits: self.commits.clone(),
            spent: self.asking.spent,
            calls: self.asking.calls,
            model: self.asking.model.clone(),
            rollouts: self.rollouts,
            isolation: self.isolation.iter().cloned().collect(),
        }
    }

    /// Runs that were recorded before: with this very skill and one for each seed they stand for the
    /// first runs, and else they are shown beside them.
    fn given(&mut self, skill: &str) -> Result<Vec<Trace>, Fault> {
        let Some(given) = &self.config.rollouts else { return Ok(Vec::new()) };
        let digest = blobs::put(skill.as_bytes())?;
        let value = Value::parse(blobs::get(given)?).map_err(|error| fault("bad-rollouts", error.to_string()))?;
        let rows = value.as_list().ok_or_else(|| fault("bad-rollouts", "the rollouts are no list"))?;
        let read = rows.iter().enumerate().map(|(at, row)| {
            recorded(row).ok_or_else(|| {
                let why = format!("rollout {} has no id or transcript, or something in it is of another kind", at + 1);
                fault("bad-rollouts", why)
            })
        });
        let read = read.collect::<Result<Vec<Recorded>, Fault>>()?;
        let with = |seed: u32| read.iter().find(|one| one.seed == Some(seed) && one.skill.as_deref() == Some(&digest));
        let paired: Option<Vec<&Recorded>> = (0..self.config.search.rollouts).map(with).collect();
        let Some(paired) = paired else {
            self.earlier = read.iter().take(MOST_EARLIER).map(|one| one.shown(&digest)).collect();
            return Ok(Vec::new());
        };
        for one in &paired {
            self.known.insert(one.rollout.trace.id.clone(), one.rollout.clone());
        }
        Ok(paired.into_iter().map(|one| one.rollout.trace.clone()).collect())
    }

    /// Runs as a judge is shown them.
    fn runs(&self, traces: &[Trace]) -> Vec<Value> {
        let run = |trace: &Trace| {
            let known = self.known.get(&trace.id);
            Record::new()
                .with("id", trace.id.as_str())
                .with("seed", trace.seed)
                .with("timed_out", trace.timed_out)
                .with("verified", trace.passed.map_or(Value::Null, Value::Bool))
                .with("ending", known.map(|known| known.ending.as_str()))
                .with("transcript", known.map(|known| known.transcript.as_str()))
                .into()
        };
        traces.iter().map(run).collect()
    }

    fn task(&self) -> Record {
        Record::new().with("skill", self.config.name.as_str()).with("task", self.config.prompt.as_str())
    }
}

/// The most runs from before that a judge is shown.
const MOST_EARLIER: usize = 6;

/// A run from before.
struct Recorded {
    rollout: Rollout,
    seed: Option<u32>,
    /// The digest of the skill that it was made with, where that is known.
    skill: Option<String>,
    passed: Option<bool>,
}

/// Reads `{"id", "transcript", "seed"?, "skill_sha256"?, "timed_out"?, "passed"?}`.
fn recorded(row: &Value) -> Option<Recorded> {
    let text = |key: &str| row.get(key)?.as_text().map(str::to_owned);
    let has = |key: &str| row.get(key).filter(|value| **value != Value::Null);
    let flag = |key: &str| match has(key) {
        Some(value) => value.as_bool().map(Some),
        None => Some(None),
    };
    let seed = match has("seed") {
        Some(seed) => Some(u32::try_from(seed.as_u64()?).ok()?),
        None => None,
    };
    let (passed, timed_out) = (flag("passed")?, flag("timed_out")?.unwrap_or(false));
    let trace = Trace { id: text("id")?, seed: seed.unwrap_or_default(), timed_out, passed };
    let transcript = rollout::last_of(&text("transcript")?);
    let rollout = Rollout { trace, ending: "recorded".to_owned(), transcript, isolation: Vec::new() };
    Some(Recorded { rollout, seed, skill: text("skill_sha256"), passed })
}

impl Recorded {
    /// As a judge is shown it.
    fn shown(&self, skill: &str) -> Value {
        let Rollout { trace, transcript, .. } = &self.rollout;
        Record::new()
            .with("timed_out", trace.timed_out)
            .with("verified", self.passed.map_or(Value::Null, Value::Bool))
            .with("same_skill", self.skill.as_deref().map_or(Value::Null, |own| Value::Bool(own == skill)))
            .with("transcript", transcript.as_str())
            .into()
    }
}

impl World for Job<'_> {
    type Error = Stop;

    fn score(&mut self, document: &str, units: &[Unit], dimension: &str, traces: &[Trace]) -> Result<Vec<Cell>, Stop> {
        let unit = |unit: &Unit| Record::new().with("unit", unit.id.as_str()).with("text", unit.text(document)).into();
        let mut data = self
            .task()
            .with("dimension", dimension)
            .with("units", units.iter().map(unit).collect::<Vec<Value>>())
            .with("runs", self.runs(traces));
        if !self.earlier.is_empty() {
            data.set("earlier_runs", self.earlier.clone());
        }
        let ids: Vec<String> = units.iter().map(|unit| unit.id.clone()).collect();
        self.asking.ask("score", reply::SCORE, &data.into(), |value| reply::scores(value, &ids))
    }

    fn edit(
        &mut self,
        document: &str,
        unit: &Unit,
        at: &Coordinate,
        cell: &Cell,
        feedback: &[String],
    ) -> Result<String, Stop> {
        let refused: Vec<Value> = feedback.iter().map(|text| text.as_str().into()).collect();
        let data = self
            .task()
            .with("dimension", at.dimension.as_str())
            .with("document", document)
            .with("unit", at.unit.as_str())
            .with("text", unit.text(document))
            .with("reason", cell.reason.as_str())
            .with("refused", refused);
        self.asking.ask("edit", reply::EDIT, &data.into(), reply::edit)
    }

    fn rollouts(&mut self, document: &str, seeds: &[u32]) -> Result<Vec<Trace>, Stop> {
        let digest = blobs::put(document.as_bytes()).map_err(stop)?;
        progress::report("rollouts", u64::from(self.rollouts), None);
        let rollouts = rollout::rollouts(self.config, &self.incumbent.with_skill(&digest), &digest, seeds)?;
        self.rollouts += u32::try_from(rollouts.len()).unwrap_or(u32::MAX);
        let traces = rollouts.iter().map(|rollout| rollout.trace.clone()).collect();
        for rollout in rollouts {
            self.isolation.extend(rollout.isolation.iter().cloned());
            self.known.insert(rollout.trace.id.clone(), rollout);
        }
        Ok(traces)
    }

    fn admit(&mut self, step: &Step) -> Result<Admission, Stop> {
        let side = |of: &dyn Fn(&Measure) -> Option<(i64, u32)>, subject: &str, checks: Vec<Check>| Snapshot {
            subject: subject.to_owned(),
            evaluator: "skill".to_owned(),
            sample: "seeds".to_owned(),
            measures: step.measures.iter().filter_map(|one| measure(one, of(one)?)).collect(),
            checks,
        };
        let check = |(name, ok): &(String, bool)| Check { name: name.clone(), ok: *ok, detail: String::new() };
        let before = side(&|one| one.before, "incumbent", Vec::new());
        let after = side(&|one| one.after, "candidate", step.checks.iter().map(check).collect());
        let axis = |one: &Measure| Axis {
            metric: one.metric.to_owned(),
            stratum: one.stratum.clone(),
            sense: if one.higher_is_better { Sense::Higher } else { Sense::Lower },
            comparison: Compares::Ge,
            bound: one.bound,
        };
        let policy = Policy {
            axes: step.measures.iter().map(axis).collect(),
            rest: None,
            min_n: 1,
            must_pass: step.checks.iter().map(|(name, _)| name.clone()).collect(),
            drift: None,
        };
        let names = |reasons: Vec<admit::Reason>| reasons.into_iter().map(|reason| reason.axis).collect();
        Ok(match admit::decide(&before, &after, &policy) {
            Ruling::Accept => Admission::Accept,
            Ruling::Reject(reasons) => Admission::Reject(names(reasons)),
            Ruling::Unmeasurable(reasons) => Admission::Unmeasurable(names(reasons)),
            Ruling::Other(how) => Admission::Unmeasurable(vec![how]),
        })
    }

    fn decided(&mut self, document: &str, decision: &Decision) -> Result<(), Stop> {
        if !decision.accepted {
            return Ok(());
        }
        let digest = blobs::put(document.as_bytes()).map_err(stop)?;
        let next = Commit {
            parent: Some(self.head.clone()),
            files: self.incumbent.with_skill(&digest),
            why: format!("{}, {}: {}", decision.at.unit, decision.at.dimension, decision.reason),
            actor: String::new(),
        };
        self.head = next.make_head().map_err(stop)?;
        self.commits.push(self.head.clone());
        self.incumbent = next;
        Ok(())
    }

    fn compare(
        &mut self,
        old: &str,
        new: &str,
        at: &Coordinate,
        incumbent: &[Trace],
        candidate: &[Trace],
    ) -> Result<Comparison, Stop> {
        let version = |text: &str, runs: Vec<Value>| Record::new().with("text", text).with("runs", runs);
        let sides = reply::Sides::of(self.config.seed, self.comparisons);
        self.comparisons += 1;
        let data = self
            .task()
            .with("dimension", at.dimension.as_str())
            .with("unit", at.unit.as_str())
            .with(sides.0, version(old, self.runs(incumbent)))
            .with(sides.1, version(new, self.runs(candidate)));
        let ids: Vec<&str> = incumbent.iter().chain(candidate).map(|trace| trace.id.as_str()).collect();
        self.asking.ask("compare", reply::COMPARE, &data.into(), |value| reply::comparison(value, sides, &ids))
    }
}

fn measure(one: &Measure, (mean, n): (i64, u32)) -> Option<admit::Measure> {
    Some(admit::Measure { metric: one.metric.to_owned(), stratum: one.stratum.clone(), mean, n })
}
