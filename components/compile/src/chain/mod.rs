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
//! - where runs part, a predicate over the environment chooses;
//! - a tool called again and again is a loop over a list of the environment, or repeats
//!   until its reply will do.
//!
//! [`learn`] finds the plan, [`graph`] writes it down. What reads the environment of the
//! machine or the agent's memory cannot be done again, and refuses.

mod graph;
mod hole;
mod learn;
mod plan;

use auto_schema::contract::{Contract, GuardPolicy, Scope};

use crate::bindings::auto::host::artifact::Draft;
use crate::bindings::auto::host::evidence::{self, Run};
use crate::bindings::auto::host::{progress, sandbox};
use crate::bindings::auto::pass::emit::emit;
use crate::bindings::auto::pass::guard::{Policy, calibrate};
use crate::bindings::auto::pass::types::{Fault, Observation, Outcome, Scored};
use crate::config::Config;
use crate::report::{self, Report};
use crate::{fault, folds, settled};
use learn::{Learner, Walk};
use plan::Plan;

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
    if let Some(why) = not_repeatable(judged) {
        if contract.scope == Scope::Task {
            report.remark("chain", format!("{why}; a single program for the answer does nothing of what the run did"));
            return Ok(Made::Whole);
        }
        report.refused("chain", why);
        return Ok(Made::Refused);
    }
    if runs.iter().all(|run| run.steps.is_empty()) {
        return Ok(Made::Whole);
    }
    let walks: Vec<Walk> = runs.iter().map(|run| Walk::new(run, &known)).collect::<Result<_, Fault>>()?;
    let mut learner = Learner::new(config);
    let plan = match learner.learn(walks)? {
        Ok(plan) => plan,
        Err(refusal) => {
            learner.stages(report);
            let acts = runs.iter().flat_map(|run| &run.steps).any(|step| step.kind == "tool_call");
            if acts {
                report.refused("chain", refusal.to_string());
                return Ok(Made::Refused);
            }
            report.remark("chain", refusal.to_string());
            return Ok(Made::Whole);
        }
    };
    plan.report(report);
    drafted(config, contract, &known, &plan, report).map(Made::Draft)
}

/// Why a program could not do what these runs did.
fn not_repeatable(runs: &[Run]) -> Option<String> {
    let steps = runs.iter().flat_map(|run| &run.steps);
    let odd = steps.into_iter().find(|step| !matches!(step.kind.as_str(), "model_call" | "tool_call" | "branch"))?;
    let what = match odd.kind.as_str() {
        "env_read" => "reads the environment of the machine it ran on, which no artifact sees",
        "memory_op" => "changes or reads the agent's memory, which no artifact has",
        _ => "is of a kind that no artifact can ask for",
    };
    Some(format!(
        "the operation {:?} ({}) {what}; choose a scope without it, or make it a tool call",
        odd.name, odd.kind
    ))
}

/// From a plan to what is sealed: held out, guarded, emitted.
fn drafted(
    config: &Config,
    contract: &Contract,
    known: &[Observation],
    plan: &Plan,
    report: &mut Report,
) -> Result<Draft, Fault> {
    let held_out = held_out(config, contract, known, plan, report)?;
    let program = graph::program(plan, contract)?;
    let program = if contract.guard == GuardPolicy::Auto {
        progress::report("guard", 0, None);
        let guarded = calibrate(known, &program, &held_out, Policy { quantile: config.quantile })?;
        report.passed("guard", "calibrated on the held-out answers");
        guarded
    } else {
        report.passed("guard", "none, because the contract says guard = \"none\"");
        program
    };
    progress::report("emit", 0, None);
    let emitted = emit(&program)?;
    report.passed("emit", format!("{} bytes", emitted.module.len()));
    Ok(Draft {
        module: emitted.module,
        metered: Some(emitted.metered),
        graph: Some(program),
        held_out,
        notes: report.notes(),
    })
}

/// Fills the plan's holes again without the runs of each fold, and runs what comes of it on
/// the inputs held out. The plan itself, which operations there are and what becomes of them,
/// is that of all runs.
fn held_out(
    config: &Config,
    contract: &Contract,
    known: &[Observation],
    plan: &Plan,
    report: &mut Report,
) -> Result<Vec<Scored>, Fault> {
    let inputs: Vec<&str> = known.iter().map(|one| one.input.as_str()).collect();
    let folds = folds::folds(&inputs, config.folds, config.seed);
    let plans = hole::refilled(config, plan, &folds)?;
    let mut scored = Vec::new();
    for (number, (fold, plan)) in folds.iter().zip(plans).enumerate() {
        progress::report("fold", number as u64, Some(folds.len() as u64));
        let inputs: Vec<String> = fold.iter().map(|&row| known[row].input.clone()).collect();
        let module = emit(&graph::program(&plan, contract)?)?.module;
        let replays = sandbox::run_recorded(&module, &inputs)?;
        for ((&row, input), replay) in fold.iter().zip(inputs).zip(replays) {
            let expected = known[row].outputs[0].output.clone();
            let outcome = match replay.outcome {
                // The recordings do not say what the tool would have replied.
                Outcome::Request(_) => Outcome::Abstain(report::no_program()),
                outcome => outcome,
            };
            scored.push(Scored { fold: number as u32, input, expected, outcome });
        }
    }
    report.held_out(&scored, folds.len());
    Ok(scored)
}

/// A recording that does not hold together.
fn damaged(what: &str) -> Fault {
    fault("bad-evidence", format!("{what} is no JSON"))
}
