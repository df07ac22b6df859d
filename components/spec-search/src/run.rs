//! A run: what is asked of the driver, the loop over sessions, what a person decides afterwards,
//! and the report.

use std::collections::BTreeMap;

use auto_json::{Record, Value};

use crate::Fields;
use crate::bench::Bench;
use crate::cluster::Assignment;
use crate::commit::{self, Commit, Head, Pending, no_such_edit};
use crate::corpora;
use crate::driver::Driver;
use crate::lent::{Fault, Lent};
use crate::plan;
use crate::sample::{self, Split};
use crate::session::{Outcome, Session, Status};
use crate::settings::Settings;
use crate::spec::Spec;
use crate::stagnation::{Ended, Loop, Stop};
use crate::trace;
use crate::train::trained;

const CODE: &str = "bad-config";

/// Faults that say nothing about what was tried: once in a run, a session that ended with one is
/// begun again.
const INFRASTRUCTURE: [&str; 3] = ["machine", "scorer-failed", "model-failed"];

/// What is asked for.
enum Action {
    Run,
    Approve(String),
    Reject(String),
    Rollback(String),
}

/// What a run is given, beside its settings.
struct Given {
    action: Action,
    actor: String,
    trigger: Value,
    now: u64,
    inputs: BTreeMap<String, String>,
}

impl Given {
    fn read(value: &Value) -> Result<Given, Fault> {
        let table = Fields::of(value, "", CODE)?;
        table.only(&["run", "action", "edit", "to", "actor", "settings", "inputs", "now", "trigger"])?;
        let text = |key: &str| -> Result<String, Fault> { Ok(table.need_text(key)?.to_owned()) };
        let action = match table.need_text("action")? {
            "run" => Action::Run,
            "approve" => Action::Approve(text("edit")?),
            "reject" => Action::Reject(text("edit")?),
            "rollback" => Action::Rollback(table.text("to")?.unwrap_or_default().to_owned()),
            other => {
                let message = format!("{other:?} is none of run, approve, reject, rollback");
                return Err(table.refuse("action", message).into());
            }
        };
        let inputs = table.need_fields("inputs")?;
        inputs.only(&["spec", "tasks", "traces", "corpora", "files"])?;
        let of = |(name, _): (&str, &Value)| Ok((name.to_owned(), inputs.need_text(name)?.to_owned()));
        let on_demand = || Record::new().with("kind", "on_demand").into();
        Ok(Given {
            action,
            actor: table.text("actor")?.unwrap_or("somebody").to_owned(),
            trigger: table.get("trigger").cloned().unwrap_or_else(on_demand),
            now: table.whole("now", 0..=u64::MAX)?.unwrap_or(0),
            inputs: inputs.iter().map(of).collect::<Result<_, Fault>>()?,
        })
    }

    /// An input as JSON; what `empty` says where it was not given.
    fn input(&self, lent: &mut impl Lent, name: &str, empty: Option<Value>) -> Result<Value, Fault> {
        match (self.inputs.get(name), empty) {
            (Some(digest), _) => {
                let bytes = lent.get(digest)?;
                Value::parse(&bytes).map_err(|error| Fault::new("bad-input", format!("{name} is no JSON: {error}")))
            }
            (None, Some(empty)) => Ok(empty),
            (None, None) => Err(Fault::new("no-input", format!("the run was given no {name}"))),
        }
    }
}

/// Does what the configuration asks for, and reports.
pub fn run(lent: &mut impl Lent, config: &str) -> Result<Value, Fault> {
    let config = Value::parse(config).map_err(|error| Fault::new(CODE, error.to_string()))?;
    let given = Given::read(&config)?;
    let table = config.get("settings").cloned().unwrap_or(Value::Null);
    let settings = Settings::read(&table)?;
    if settings.eligible.max_age_days.is_some() && given.now == 0 {
        let message = "max_age_days says how old traces may be, and the run was not told what day it is";
        return Err(Fault::new("no-time", message));
    }
    let (list, record) = (|| Value::List(vec![]), || Value::from(Record::new()));
    let tasks = given.input(lent, "tasks", None)?;
    let files = given.input(lent, "files", Some(record()))?;
    let mut traces = trace::read_all(&given.input(lent, "traces", Some(list()))?)?;
    let mut notes = Vec::new();
    let rows = given.input(lent, "corpora", Some(record()))?;
    for (name, rows) in Fields::of(&rows, "/corpora", "bad-corpus")?.iter() {
        let (more, refused) = corpora::traces(name, rows, &settings.mapped)?;
        traces.extend(more);
        notes.extend(refused.iter().take(20).map(|refusal| format!("a row was not taken: {refusal}")));
    }
    let bench = Bench::new(&settings, &tasks, &files)?;
    let head = match (Head::read(lent)?, &given.action) {
        (Some(head), _) => head,
        (None, Action::Run) => {
            let spec = Spec::read(&given.input(lent, "spec", None)?)?;
            settings.catalog.check(&spec)?;
            Head::first(lent, spec)?
        }
        (None, _) => return Err(Fault::new("no-head", "this run has no spec yet; `search spec` begins one")),
    };
    let anchor = commit::spec(lent, &head.commit.anchor)?;
    let evaluation = evaluation(&bench, &settings)?;
    let driver = Driver {
        lent,
        settings: &settings,
        catalog: settings.catalog.clone(),
        catalog_text: table.get("catalog").map(|catalog| catalog.canonical().into_string()).unwrap_or_default(),
        bench,
        traces: &traces,
        now: given.now,
        head,
        anchor,
        evaluation,
        tried: vec![],
        own: BTreeMap::new(),
        calls: 0,
        gated: 0,
    };
    match &given.action {
        Action::Run => searched(driver, &given.trigger, notes),
        Action::Approve(id) => approved(driver, id, &given.actor),
        Action::Reject(id) => rejected(driver, id, &given.actor),
        Action::Rollback(session) => rolled_back(driver, session, &given.actor),
    }
}

/// The tasks of the overall score: of every category, the same in all sessions.
fn evaluation(bench: &Bench<'_>, settings: &Settings) -> Result<Vec<String>, Fault> {
    let gate = bench.tasks.values().filter(|task| task.split == Split::Gate);
    let items: Vec<(String, String)> =
        gate.map(|task| (task.id.clone(), task.category.clone().unwrap_or_default())).collect();
    let seed = sample::seed("evaluation", &settings.seed.to_string(), &settings.benchmark);
    Ok(sample::draw(&items, &seed, settings.sample_size, settings.sample_floor)?)
}

/// Sessions until one of the reasons to stop.
fn searched<L: Lent>(mut driver: Driver<'_, L>, trigger: &Value, notes: Vec<String>) -> Result<Value, Fault> {
    let before = driver.head.spec.clone();
    let evaluation = driver.evaluation.clone();
    let start = driver.bench.overall(driver.lent, &before, &evaluation)?;
    let settings = driver.settings;
    let mut state = Loop::new(settings.stagnation_k, settings.stagnation_eps, settings.total_cost, start)?;
    let (mut sessions, mut retried): (Vec<Session>, bool) = (Vec::new(), false);
    let stop = loop {
        if state.sessions >= settings.sessions {
            break Stop::Sessions;
        }
        driver.lent.progress("session", u64::from(state.sessions), Some(settings.sessions.into()));
        let cap = state.left(settings.session_cost);
        let session = driver.session(cap, trigger);
        // What is left of all is less than a question may cost.
        let poor = session.end == Some("budget") && cap < settings.session_cost;
        let fault = session.error.as_ref().map(|fault| fault.code.clone()).unwrap_or_default();
        let again = session.status == Status::Failed && !retried && INFRASTRUCTURE.contains(&fault.as_str());
        let only_waits = session.count("pending_review") > 0
            && session.outcomes.iter().all(|one| ["pending_review", "skipped", "invalid"].contains(&one.status));
        let ended = Ended {
            failed: session.status == Status::Failed && !again,
            score: session.scores.1,
            cost: session.cost,
            counts: !only_waits && !again,
        };
        retried |= again;
        sessions.push(session);
        if again {
            driver.bench.forget_faults();
        }
        if let Some(stop) = state.took(ended).or(poor.then_some(Stop::Budget)) {
            break stop;
        }
    };
    let (confirm, note) = confirmed(&mut driver, &before);
    let mut report = Report::of(&before);
    report.notes = notes;
    report.notes.extend(note);
    report.scores.push(("evaluation", driver.evaluation.len(), Some(start), state_score(&mut driver)));
    report.scores.extend(confirm);
    report.spent = state.total;
    report.stop = Some(stop);
    report.sessions = sessions;
    Ok(report.value(&driver))
}

fn state_score<L: Lent>(driver: &mut Driver<'_, L>) -> Option<i64> {
    let (spec, evaluation) = (driver.head.spec.clone(), driver.evaluation.clone());
    driver.bench.overall(driver.lent, &spec, &evaluation).ok()
}

type Score = (&'static str, usize, Option<i64>, Option<i64>);

/// What stands at the end, on tasks that decided nothing.
fn confirmed<L: Lent>(driver: &mut Driver<'_, L>, before: &Spec) -> (Option<Score>, Option<String>) {
    let tasks = driver.bench.of(Split::Confirm);
    if tasks.is_empty() {
        return (None, Some("no task is left to confirm with".to_owned()));
    }
    let after = driver.head.spec.clone();
    let mut score = |spec: &Spec| driver.bench.overall(driver.lent, spec, &tasks);
    match (score(before), score(&after)) {
        (Ok(before), Ok(after)) => (Some(("confirm", tasks.len(), Some(before), Some(after))), None),
        (Err(fault), _) | (_, Err(fault)) => {
            (None, Some(format!("it could not be confirmed: {} [{}]", fault.message, fault.code)))
        }
    }
}

fn waiting<L: Lent>(driver: &Driver<'_, L>, id: &str) -> Result<Pending, Fault> {
    let pending = &driver.head.commit.pending;
    pending.iter().find(|one| one.id == id).cloned().ok_or_else(|| no_such_edit(id, pending).into())
}

/// What a person let in is applied to what counts now, judged like any other, and leaves the queue
/// whatever came of it.
fn approved<L: Lent>(mut driver: Driver<'_, L>, id: &str, actor: &str) -> Result<Value, Fault> {
    let waiting = waiting(&driver, id)?;
    let before = driver.head.spec.clone();
    let mut proposal = plan::proposal(&waiting.proposal, "/proposal")?;
    driver.head.commit.pending.retain(|one| one.id != id);
    let length = driver.head.digest.clone();
    let moved = waiting.changes.iter().find(|change| before.at(&change.at) != change.old);
    let mut outcome = match moved {
        Some(change) => {
            let reason = format!("expired: {} is not what it was when this was proposed", change.at);
            Outcome { status: "expired", reason, ..driver.outcome(&proposal) }
        }
        None => {
            let outcome = driver.outcome(&proposal);
            let files = driver.bench.trainer_files().to_vec();
            let settings = driver.settings;
            let (trainer, weights) = (settings.trainer.as_ref(), settings.weights);
            match trained(driver.lent, proposal.clone(), &before, trainer, &files, weights, &mut driver.catalog) {
                Err(fault) => {
                    let reason = format!("{} [{}]", fault.message, fault.code);
                    Outcome { status: "invalid", reason, ..outcome }
                }
                Ok(ready) => {
                    proposal = ready;
                    let map = Assignment(waiting.map.clone());
                    driver.gated(&waiting.session, &proposal, &waiting.tasks, &map)?
                }
            }
        }
    };
    outcome.id = id.to_owned();
    if driver.head.digest == length {
        unqueued(&mut driver, &waiting.session)?;
    }
    let note = format!("approved by {actor}");
    decided(driver, &before, &waiting.session, outcome, note)
}

fn rejected<L: Lent>(mut driver: Driver<'_, L>, id: &str, actor: &str) -> Result<Value, Fault> {
    let waiting = waiting(&driver, id)?;
    let before = driver.head.spec.clone();
    let proposal = plan::proposal(&waiting.proposal, "/proposal")?;
    driver.head.commit.pending.retain(|one| one.id != id);
    unqueued(&mut driver, &waiting.session)?;
    let outcome = Outcome {
        status: "rejected_by_user",
        reason: format!("rejected by {actor}"),
        diff: commit::diff(&waiting.changes),
        ..driver.outcome(&proposal)
    };
    decided(driver, &before, &waiting.session, outcome, format!("rejected by {actor}"))
}

/// Puts the queue away as it is now.
fn unqueued<L: Lent>(driver: &mut Driver<'_, L>, session: &str) -> Result<(), Fault> {
    let commit =
        Commit { session: session.to_owned(), proposal: String::new(), changes: vec![], ..driver.head.commit.clone() };
    let spec = driver.head.spec.clone();
    driver.head.advance(driver.lent, spec, commit)
}

fn decided<L: Lent>(
    driver: Driver<'_, L>,
    before: &Spec,
    session: &str,
    outcome: Outcome,
    note: String,
) -> Result<Value, Fault> {
    let mut report = Report::of(before);
    let left = driver.head.commit.pending.iter().filter(|one| one.session == session).count();
    let state = if left == 0 { "completed".to_owned() } else { format!("awaiting_review, {left} to decide") };
    report.notes = vec![note, format!("{session} is {state}")];
    report.why = Some(format!("{} is {}: {}", outcome.id, outcome.status, outcome.reason));
    report.refused = ["expired", "invalid", "gate_error", "rejected_by_gate", "unmeasurable"].contains(&outcome.status);
    report.outcomes = vec![(session.to_owned(), outcome)];
    Ok(report.value(&driver))
}

fn rolled_back<L: Lent>(mut driver: Driver<'_, L>, session: &str, actor: &str) -> Result<Value, Fault> {
    let before = driver.head.spec.clone();
    let last = match session {
        "" => driver.head.last_session(driver.lent)?,
        named => named.to_owned(),
    };
    let session = last.as_str();
    let mut report = match driver.head.without(driver.lent, session) {
        Err(faults) => {
            let only = faults.len() == 1 && faults[0].code != "conflict";
            if only {
                return Err(faults.into_iter().next().unwrap_or_else(|| Fault::new("conflict", "nothing was done")));
            }
            let mut report = Report::of(&before);
            report.refused = true;
            report.why = Some("conflict: something else was put there since; nothing was taken back".to_owned());
            report.notes = faults.into_iter().map(|fault| fault.message).collect();
            report
        }
        Ok((spec, changes)) => {
            let diff = commit::diff(&changes);
            let commit = Commit {
                session: format!("rollback {session}"),
                proposal: String::new(),
                changes,
                ..driver.head.commit.clone()
            };
            driver.head.advance(driver.lent, spec, commit)?;
            let mut report = Report::of(&before);
            report.why = Some(format!("what {session} changed was taken back by {actor}"));
            let (status, reason) = (Status::RolledBack.name(), format!("by {actor}"));
            let outcome = Outcome { id: session.to_owned(), status, reason, diff, ..Outcome::default() };
            report.outcomes = vec![(session.to_owned(), outcome)];
            report
        }
    };
    report.spent = 0;
    Ok(report.value(&driver))
}

/// What is reported.
struct Report {
    before: Spec,
    stop: Option<Stop>,
    why: Option<String>,
    refused: bool,
    spent: u64,
    scores: Vec<Score>,
    sessions: Vec<Session>,
    outcomes: Vec<(String, Outcome)>,
    notes: Vec<String>,
}

impl Report {
    fn of(before: &Spec) -> Report {
        Report {
            before: before.clone(),
            stop: None,
            why: None,
            refused: false,
            spent: 0,
            scores: vec![],
            sessions: vec![],
            outcomes: vec![],
            notes: vec![],
        }
    }

    fn value<L: Lent>(self, driver: &Driver<'_, L>) -> Value {
        let spec = |spec: &Spec| Record::new().with("id", spec.id().to_string()).with("bytes", spec.text().len());
        let waiting = driver.head.commit.pending.len();
        let failed = self.sessions.last().and_then(|last| last.error.as_ref());
        let status = match (self.stop, waiting) {
            _ if self.refused || self.stop == Some(Stop::Failed) => "failed",
            (_, 0) => "complete",
            _ => "awaiting_review",
        };
        let why = self.why.clone().unwrap_or_else(|| match (self.stop, failed) {
            (Some(Stop::Failed), Some(fault)) => format!("{} [{}]", fault.message, fault.code),
            (Some(stop), _) => {
                format!(
                    "{} sessions, {} edits applied, stopped by {}",
                    self.sessions.len(),
                    self.applied(),
                    stop.name()
                )
            }
            (None, _) => String::new(),
        });
        let scores: Vec<Value> = self.scores.iter().map(score).collect();
        let mut timeline: Vec<Value> = self.notes.iter().map(|text| note(text)).collect();
        for session in &self.sessions {
            timeline.push(of_session(session));
            timeline.extend(session.outcomes.iter().map(|outcome| of_outcome(&session.id, outcome)));
        }
        timeline.extend(self.outcomes.iter().map(|(session, outcome)| of_outcome(session, outcome)));
        Record::new()
            .with("kind", "spec")
            .with("status", status)
            .with("stop", self.stop.map(Stop::name))
            .with("why", why)
            .with("before", spec(&self.before))
            .with("after", spec(&driver.head.spec))
            .with("head", driver.head.digest.as_str())
            .with("spec", driver.head.spec.value().clone())
            .with("spent_micro_usd", self.spent)
            .with("calls", driver.calls)
            .with("experiments", driver.bench.runs())
            .with("gate_queries", driver.gated)
            .with(
                "pending",
                driver.head.commit.pending.iter().map(|one| one.id.as_str().into()).collect::<Vec<Value>>(),
            )
            .with("scores", scores)
            // What a person decided is told beside what the search did, and not instead of it.
            .with(if self.stop.is_some() { "timeline" } else { "entries" }, timeline)
            .into()
    }

    fn applied(&self) -> usize {
        self.sessions.iter().map(|session| session.count("applied")).sum()
    }
}

fn score((stratum, n, before, after): &Score) -> Value {
    let of = |mean: Option<i64>| mean.map(|mean| Record::new().with("mean", mean).with("n", *n));
    Record::new()
        .with("metric", crate::gate::SCORE)
        .with("stratum", *stratum)
        .with("before", of(*before))
        .with("after", of(*after))
        .into()
}

fn note(text: &str) -> Value {
    Record::new().with("kind", "note").with("id", "").with("status", "note").with("reason", text).into()
}

fn of_session(session: &Session) -> Value {
    let reason = match (&session.error, session.end) {
        (Some(fault), _) => format!("{} [{}]", fault.message, fault.code),
        (None, Some(end)) => end.to_owned(),
        (None, None) => {
            format!("{} applied, {} not", session.count("applied"), session.outcomes.len() - session.count("applied"))
        }
    };
    Record::new()
        .with("kind", "session")
        .with("id", session.id.as_str())
        .with("status", session.status.name())
        .with("reason", reason)
        .with("delta_micros", session.scores.0.zip(session.scores.1).map(|(before, after)| after - before))
        .with("detail", session.to_value())
        .into()
}

fn of_outcome(session: &str, outcome: &Outcome) -> Value {
    Record::new()
        .with("kind", "edit")
        .with("id", outcome.id.as_str())
        .with("session", session)
        .with("target", outcome.targets.join(", "))
        .with("op", outcome.ops.join(", "))
        .with("status", outcome.status)
        .with("reason", outcome.reason.as_str())
        .with("delta_micros", outcome.delta)
        .with("tier", outcome.tier)
        .with("diff", outcome.diff.as_str())
        .with("detail", outcome.to_value())
        .into()
}
