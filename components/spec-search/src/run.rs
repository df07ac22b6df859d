//! A run: what is asked of the driver, the loop over sessions, what a person decides afterwards,
//! and the report.

use std::collections::BTreeMap;

use auto_json::{Record, Value};

use crate::Fields;
use crate::bench::{Bench, STARVED};
use crate::cluster::Assignment;
use crate::commit::{self, Commit, Head, Pending, no_such_edit};
use crate::corpora;
use crate::driver::{Driver, PASSING};
use crate::lent::{Fault, Lent};
use crate::plan;
use crate::report::Report;
use crate::sample::{self, Split};
use crate::session::{Outcome, Session, Status};
use crate::settings::Settings;
use crate::spec::Spec;
use crate::stagnation::{Ended, Loop, Stop};
use crate::trace;
use crate::train::{self, Trainer, trained};

const CODE: &str = "bad-config";

/// Faults that say nothing about what was tried: once in a run, a session that ended with one is
/// begun again.
fn of_the_moment(code: &str) -> bool {
    ["machine", "scorer-failed"].contains(&code) || PASSING.contains(&code)
}

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
    /// How often the run failed.
    failures: u32,
    earlier: Earlier,
}

/// What a run did before it failed and went on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Earlier {
    pub calls: u32,
    pub spent: u64,
    pub gated: u32,
    pub confirmations: u32,
    pub sessions: u32,
    pub failed: u32,
    pub applied: usize,
}

impl Earlier {
    fn read(table: Option<Fields<'_>>) -> Result<Earlier, Fault> {
        let Some(table) = table else { return Ok(Earlier::default()) };
        table.only(&[
            "calls",
            "spent_micro_usd",
            "experiments",
            "gate_queries",
            "confirm_queries",
            "sessions",
            "failed_sessions",
            "applied",
        ])?;
        let small = |key| Ok::<_, Fault>(table.whole(key, 0..=u32::MAX.into())?.unwrap_or(0) as u32);
        Ok(Earlier {
            calls: small("calls")?,
            spent: table.whole("spent_micro_usd", 0..=u64::MAX)?.unwrap_or(0),
            gated: small("gate_queries")?,
            confirmations: small("confirm_queries")?,
            sessions: small("sessions")?,
            failed: small("failed_sessions")?,
            applied: small("applied")? as usize,
        })
    }
}

impl Given {
    fn read(value: &Value) -> Result<Given, Fault> {
        let table = Fields::of(value, "", CODE)?;
        table.only(&[
            "run", "action", "edit", "to", "actor", "settings", "inputs", "now", "trigger", "failures", "earlier",
        ])?;
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
            failures: table.whole("failures", 0..=1_000_000)?.unwrap_or(0) as u32,
            earlier: Earlier::read(table.fields("earlier")?)?,
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
    let mut bench = Bench::new(&settings, &tasks, &files)?;
    notes.extend(bench.unused());
    // A run may try twice; what failed in one before is tried anew.
    bench.attempt += 2 * given.failures;
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
    let mut catalog = settings.catalog.clone();
    train::add(&mut catalog, &head.commit.trained);
    let evaluation = evaluation(&bench, &settings)?;
    let driver = Driver {
        lent,
        settings: &settings,
        catalog,
        catalog_text: table.get("catalog").map(|catalog| catalog.canonical().into_string()).unwrap_or_default(),
        bench,
        traces: &traces,
        now: given.now,
        head,
        anchor,
        evaluation,
        tried: vec![],
        own: BTreeMap::new(),
        calls: given.earlier.calls,
        gated: given.earlier.gated,
        confirmations: given.earlier.confirmations,
    };
    match &given.action {
        Action::Run => searched(driver, &given.trigger, notes, given.earlier),
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
fn searched<L: Lent>(
    mut driver: Driver<'_, L>,
    trigger: &Value,
    notes: Vec<String>,
    earlier: Earlier,
) -> Result<Value, Fault> {
    let (before, evaluation) = (driver.head.spec.clone(), driver.evaluation.clone());
    let start = driver.bench.overall(driver.lent, &before, &evaluation)?;
    let settings = driver.settings;
    let state = Loop::new(settings.stagnation_k, settings.stagnation_eps, settings.total_cost, start)?;
    let mut state = state.after(earlier.sessions.saturating_sub(earlier.failed), earlier.spent);
    let (mut sessions, mut retried): (Vec<Session>, bool) = (Vec::new(), false);
    let stop = loop {
        if state.spent() {
            break Stop::Budget;
        }
        // One that is begun again is the same one.
        if state.sessions >= settings.sessions + u32::from(retried) {
            break Stop::Sessions;
        }
        driver.lent.progress("session", u64::from(state.sessions), Some(settings.sessions.into()));
        let cap = state.left(settings.session_cost);
        let session = driver.session(cap, trigger);
        // What is left of all is less than a question may cost.
        let poor = session.end == Some("budget") && cap < settings.session_cost;
        let fault = session.error.as_ref().map(|fault| fault.code.clone()).unwrap_or_default();
        let starved = session.end == Some(STARVED);
        let again = session.status == Status::Failed && !retried && of_the_moment(&fault);
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
        let stop = state.took(ended);
        if let Some(stop) = starved.then_some(Stop::Experiments).or(stop).or(poor.then_some(Stop::Budget)) {
            break stop;
        }
    };
    let mut report = Report::of(&driver.anchor);
    report.notes = notes;
    report.measured(&mut driver);
    report.spent = state.total;
    report.stop = Some(stop);
    report.sessions = sessions;
    report.earlier = earlier;
    Ok(report.value(&driver))
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
            let Settings { trainer: command, weights, .. } = driver.settings;
            let attempt = driver.bench.attempt;
            let trainer = Trainer { command: command.as_ref(), files: &files, weights: *weights, attempt };
            match trained(driver.lent, proposal.clone(), &before, &trainer, &mut driver.catalog) {
                // Nothing was decided: it goes on waiting.
                Err(fault) if !["no-trainer", "unknown-name"].contains(&fault.code.as_str()) => return Err(fault),
                Err(fault) => {
                    let reason = format!("{} [{}]", fault.message, fault.code);
                    Outcome { status: "invalid", reason, ..outcome }
                }
                Ok((ready, made)) => {
                    proposal = ready;
                    let map = Assignment(waiting.map.clone());
                    // The one that is accepted stays, for edits to come; any other was never there.
                    driver.head.commit.trained.extend(made.clone());
                    let outcome = driver.gated(&waiting.session, &proposal, &waiting.tasks, &map)?;
                    if outcome.status != "applied" {
                        driver.head.commit.trained.retain(|model, _| !made.contains_key(model));
                    }
                    outcome
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
    mut driver: Driver<'_, L>,
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
    report.measured(&mut driver);
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
    report.measured(&mut driver);
    Ok(report.value(&driver))
}
