//! Whole runs: from a task's or region's recorded operations to one program that does them
//! again.
//!
//! A run is walked operation by operation. What is known at each place is the
//! *environment*: the input and what the operations before gave. From it a program must
//! tell what the next operation is given, or gives, and in the end the answer; each is a
//! problem of its own for extract ([`hole`]). What the program does then ([`plan`]):
//!
//! - a model call or a decision is replaced by what it computes, where a program explains its
//!   output; is left out, where nothing after it needs it; stays a request `model:ID`, where
//!   a program explains what it is given. What was done, a tool call, is done again, always;
//! - where runs part, a predicate over the environment chooses ([`part`]);
//! - what is done again and again is a loop over a list of the environment, or repeats until
//!   it will do ([`loops`], [`rounds`]).
//!
//! [`learn`] finds the plan, [`graph`] writes it down. What reads the environment of the
//! machine cannot be done again, and refuses.

mod doubt;
mod graph;
mod hole;
mod learn;
mod loops;
mod part;
mod plan;
mod replies;
mod rounds;
mod values;
mod walk;

use std::collections::BTreeSet;

use auto_schema::contract::{Contract, GuardPolicy, Scope};
use auto_schema::ir::MemoryEffect;

use crate::bindings::auto::host::artifact::Draft;
use crate::bindings::auto::host::evidence::{self, Run};
use crate::bindings::auto::host::{progress, sandbox};
use crate::bindings::auto::pass::emit::emit;
use crate::bindings::auto::pass::types::{Fault, Observation, Outcome, Scored};
use crate::config::Config;
use crate::report::{self, Report};
use crate::trust::Tally;
use crate::{MILLION, draft, fault, folds, settled};
use hole::Holes;
use learn::{Learner, Refusal};
use plan::Plan;
use walk::Walk;

/// How many searches that are known to be in vain may be made again without the runs of each
/// fold.
const MOST_IN_VAIN: usize = 20;

/// The share of recordings that may end without an output and not count, in parts per million: an
/// agent that was stopped leaves such ones too.
const SELDOM: u32 = 20_000;

/// The most model calls that are left out on trial: each doubles the ways to look at.
const MOST_TRIALS: usize = 3;

/// What became of the attempt.
pub enum Made {
    /// A draft to seal.
    Draft(Draft),
    /// The runs have nothing in them but their input and output, or nothing that has to be
    /// done again: the whole may still be one program.
    Whole,
    /// A rung refused.
    Refused,
}

/// Compiles the runs of a task or region scope.
pub fn compiled(
    config: &Config,
    contract: &Contract,
    observations: &[Observation],
    report: &mut Report,
) -> Result<Made, Fault> {
    if matches!(contract.scope, Scope::Span { .. }) {
        return Ok(Made::Whole);
    }
    let left_out = evidence::left_out();
    if observations.is_empty() && !left_out.is_empty() {
        report.refused("evidence", format!("nothing to learn from: {}", left_out.join("; ")));
        return Ok(Made::Refused);
    }
    left_out.into_iter().for_each(|why| report.remark("evidence", why));
    let known: Vec<Observation> = observations.iter().filter(|one| settled(one)).cloned().collect();
    let recorded = evidence::runs();
    let teaches = |run: &&Run| run.error.is_none() && known.iter().any(|one| one.input == run.input);
    let runs: Vec<Run> = recorded.iter().filter(teaches).cloned().collect();
    // The runs that teach are those of inputs with one output and no error. Where none does, what
    // all of them do may be the reason, as with a clock, which never agrees with itself.
    let judged = if runs.is_empty() { &recorded } else { &runs };
    let acts = judged.iter().flat_map(|run| &run.steps).any(|step| learn::is_act(&step.kind));
    if let Some(why) = not_repeatable(judged) {
        // An answer that says that something was done is none where nothing is.
        if contract.scope == Scope::Task && (!acts || contract.version == 0) {
            report.remark("chain", format!("{why}; a single program for the answer does nothing of what the run did"));
            return Ok(Made::Whole);
        }
        report.refused("chain", why);
        return Ok(Made::Refused);
    }
    if runs.iter().all(|run| run.steps.is_empty()) {
        return Ok(Made::Whole);
    }
    let mut walks: Vec<Walk> = runs.iter().map(|run| Walk::new(run, &known)).collect::<Result<_, Fault>>()?;
    let gave_up = recorded.iter().filter(|run| run.error.is_some()).map(|run| Walk::new(run, &known));
    let gave_up: Vec<Walk> = gave_up.collect::<Result<_, Fault>>()?;
    let mut ending = if contract.version == 0 { Vec::new() } else { ending(&recorded, &known) };
    if !ending.is_empty() && (ending.len() as u64) * u64::from(MILLION) <= (recorded.len() as u64) * u64::from(SELDOM) {
        let why = format!("{} recordings end without an output, and are too few to count", ending.len());
        report.remark("evidence", why);
        ending.clear();
    }
    let inputs: BTreeSet<&str> = ending.iter().map(|run| run.input.as_str()).collect();
    let inputs: Vec<&str> = known.iter().map(|one| one.input.as_str()).chain(inputs).collect();
    for run in &ending {
        let group = inputs.iter().position(|input| *input == run.input).unwrap_or_default();
        walks.push(Walk::ending(run, group)?);
    }
    let mut holes = Holes::new(config.steps);
    let mut chain = Chain {
        config,
        contract,
        known: &known,
        inputs: &inputs,
        walks: &walks,
        gave_up: &gave_up,
        holes: &mut holes,
        memorise: false,
        most_trials: MOST_TRIALS,
    };
    let mut learnt = chain.learn()?;
    if let (Err(failed), true, true) = (&learnt, acts, contract.acceptance.memorise) {
        let why = format!("{}; so tables of what was recorded, as the contract says", failed.refusal);
        report.remark("chain", why);
        chain.memorise = true;
        learnt = chain.learn()?;
    }
    let failed = match learnt {
        Ok(plan) => {
            let judged = chain.judged(plan)?;
            judged.report(report);
            match judged.refusal {
                None => return chain.drafted(judged.plan, judged.held_out, report).map(Made::Draft),
                Some(refusal) => Failed { refusal, stages: Vec::new() },
            }
        }
        Err(failed) => failed,
    };
    failed.stages.iter().for_each(|(stage, status, what)| report.stage(stage, status, what));
    if acts {
        report.refused("chain", failed.refusal.to_string());
        return Ok(Made::Refused);
    }
    report.remark("chain", failed.refusal.to_string());
    Ok(Made::Whole)
}

/// Why a program could not do what these runs did.
fn not_repeatable(runs: &[Run]) -> Option<String> {
    let mut steps = runs.iter().flat_map(|run| &run.steps);
    let odd = steps.find(|step| match step.kind.as_str() {
        "model_call" | "tool_call" | "branch" => false,
        "memory_op" => MemoryEffect::parse(&step.name).is_none(),
        _ => true,
    })?;
    let what = match odd.kind.as_str() {
        "env_read" => "reads the environment of the machine it ran on, which no artifact sees",
        "memory_op" => "does to the agent's memory what is none of read, write and append",
        _ => "is of a kind that no artifact can ask for",
    };
    Some(format!(
        "the operation {:?} ({}) {what}; choose a scope without it, or make it a tool call",
        odd.name, odd.kind
    ))
}

/// Why there is no plan, and what became of the operations before the one that refused.
struct Failed {
    refusal: Refusal,
    stages: Vec<(String, &'static str, String)>,
}

/// What a chain is made from.
struct Chain<'c> {
    config: &'c Config,
    contract: &'c Contract,
    known: &'c [Observation],
    /// Of those, and then of the runs that end without an output: what is held out together.
    inputs: &'c [&'c str],
    walks: &'c [Walk],
    gave_up: &'c [Walk],
    holes: &'c mut Holes,
    /// Whether what no program tells may be a table.
    memorise: bool,
    /// How many model calls are left out on trial.
    most_trials: usize,
}

impl Chain<'_> {
    /// The plan of all runs.
    fn learn(&mut self) -> Result<Result<Plan, Failed>, Fault> {
        let mut learner = Learner::new(self.holes, self.gave_up, self.memorise, self.most_trials);
        let learnt = learner.learn(self.walks)?;
        Ok(learnt.map_err(|refusal| Failed { refusal, stages: learner.done }))
    }

    fn folds(&self) -> Vec<Vec<usize>> {
        folds::folds(self.inputs, self.config.folds, self.config.seed)
    }

    /// From a plan to what is sealed: guarded, emitted.
    fn drafted(&mut self, mut plan: Plan, held_out: Vec<Scored>, report: &mut Report) -> Result<Draft, Fault> {
        if self.contract.guard == GuardPolicy::Auto {
            let guarded: Vec<String> = replies::guard(&mut plan, self.config.quantile)?.into_iter().collect();
            if !guarded.is_empty() {
                let why = format!("a reply unlike all recorded ones is abstained from: {}", guarded.join(", "));
                report.remark("guard", why);
            }
        }
        let program = graph::program(&plan, self.contract)?;
        let program = draft::guarded(self.config, self.contract, self.known, program, &held_out, report)?;
        draft::drafted(program, held_out, report)
    }

    /// Learns everything again without the runs of each fold, and runs what comes of it on
    /// the inputs held out. A fold without a plan abstains on all of its inputs.
    fn held_out(&mut self, plan: &Plan, folds: &[Vec<usize>]) -> Result<HeldOut, Fault> {
        self.holes.ahead(&plan.holes(), folds)?;
        if self.holes.unfilled() * folds.len() > MOST_IN_VAIN {
            self.holes.keep_unfilled();
        }
        let mut held_out = HeldOut::default();
        for (number, fold) in folds.iter().enumerate() {
            progress::report("fold", number as u64, Some(folds.len() as u64));
            let shown = self.walks.iter().filter(|walk| fold.binary_search(&walk.group).is_err());
            let shown: Vec<Walk> = shown.cloned().collect();
            let plan = Learner::new(self.holes, self.gave_up, self.memorise, self.most_trials).learn(&shown)?;
            held_out.without_plan += if plan.is_err() { fold.len() as u64 } else { 0 };
            let inputs: Vec<String> = fold.iter().map(|&row| self.inputs[row].to_owned()).collect();
            let outcomes = self.outcomes(plan.ok(), &inputs)?;
            for ((&row, input), outcome) in fold.iter().zip(inputs).zip(outcomes) {
                match self.known.get(row) {
                    Some(known) => {
                        let expected = known.outputs[0].output.clone();
                        let scored = Scored { fold: number as u32, input, expected, outcome, scores: Vec::new() };
                        held_out.scored.push(scored);
                    }
                    // It has to end without an answer, and to do nothing else on the way.
                    None => held_out.ended.add(matches!(outcome, Outcome::Abstain(_))),
                }
            }
        }
        Ok(held_out)
    }

    /// What a plan does with inputs.
    fn outcomes(&self, plan: Option<Plan>, inputs: &[String]) -> Result<Vec<Outcome>, Fault> {
        let Some(plan) = plan else {
            return Ok(inputs.iter().map(|_| Outcome::Abstain(report::no_program())).collect());
        };
        let module = emit(&graph::program(&plan, self.contract)?)?.module;
        let replays = sandbox::run_recorded(&module, inputs)?;
        let outcome = |outcome| match outcome {
            // As ever: the recordings do not say what the tool would have replied.
            Outcome::Request(_) if self.contract.version == 0 => Outcome::Abstain(report::no_program()),
            Outcome::Request(effect) => Outcome::Failed(format!(
                "it asks for {} of {}, and no run of the input did",
                effect.capability, effect.input
            )),
            outcome => outcome,
        };
        Ok(replays.into_iter().map(|replay| outcome(replay.outcome)).collect())
    }
}

/// What became of the runs that were held out.
#[derive(Default)]
struct HeldOut {
    /// Those with an output.
    scored: Vec<Scored>,
    /// Those that ended without one.
    ended: Tally,
    /// How many were of a fold without which nothing was found.
    without_plan: u64,
}

/// Runs that end without an output although nothing in them failed last: what they decided is
/// evidence too. Inputs that have an output as well say nothing.
fn ending<'r>(recorded: &'r [Run], known: &[Observation]) -> Vec<&'r Run> {
    let failed_last = |run: &Run| run.steps.last().is_some_and(|step| step.error.is_some());
    let has_output = |run: &Run| {
        let mut others = recorded.iter().filter(|other| other.input == run.input);
        others.any(|other| other.error.is_none()) || known.iter().any(|one| one.input == run.input)
    };
    recorded.iter().filter(|run| run.error.is_some() && !failed_last(run) && !has_output(run)).collect()
}

/// A recording that does not hold together.
fn damaged(what: &str) -> Fault {
    fault("bad-evidence", format!("{what} is no JSON"))
}
