//! The compile driver.
//!
//! Reads like the paragraph that describes it: take the observations and the contract,
//! ask for a program (`extract`, or a teacher), hold part of the observations out and ask again, calibrate the
//! guard on what was held out, generate code, and hand the result to the host to seal.
//! Each step is a rung; the report says which rung refused what, and why.

/// The world's types and functions, generated from `wit/`.
#[allow(missing_docs)]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/pass", "../../wit/host", "../../wit/driver"],
        world: "auto:driver/compile",
        generate_all,
        additional_derives: [PartialEq],
    });
}

mod chain;
mod classes;
mod config;
mod draft;
mod folds;
mod judge;
mod kept;
mod margin;
mod mixed;
mod model;
mod report;
mod rule;
mod table;
mod teacher;
mod trust;
mod wire;

use std::borrow::Cow;

use auto_json::Value;
use auto_schema::contract::{Contract, Divergent, Match};
use auto_schema::ir::{Body, Graph};

use auto::host::artifact::{Draft, seal};
use auto::host::jobs::{Backend, Task};
use auto::host::{evidence, jobs, progress};
use auto::pass::extract::{Budget, Candidate, Hints, Search};
use auto::pass::propose::Proposal;
use auto::pass::types::{Fault, Observation, Witness};
use bindings::{auto, exports};
use chain::Made;
use config::{Config, Synth};
use report::Report;
use rule::{Best, Work};
use teacher::Asked;

/// All parts per million.
const MILLION: u32 = 1_000_000;

/// Of fewer observations each is held out by itself.
const FEW: usize = 60;

/// The most observations that the program of a fold is made from.
const MOST_FOLD_ROWS: usize = 4_000;

pub(crate) const SYNTHESIZE: &str = "auto:pass/extract@0.1.0#synthesize";

/// The component.
pub struct Compile;

impl exports::auto::driver::job::Guest for Compile {
    fn run(config: String) -> Result<String, Fault> {
        let mut config = Config::read(&config)?;
        let contract = evidence::contract();
        let contract = Value::parse(&contract)
            .map_err(|error| fault("bad-contract", error.to_string()))
            .and_then(|value| Contract::from_value(&value).map_err(|error| fault("bad-contract", error.to_string())))?;
        config.quantile = contract.acceptance.guard_admit_ppm.unwrap_or(config.quantile);
        let observations = evidence::observations();
        let mut report = Report::default();
        let draft = match &config.module {
            Some(module) => Some(given(module, &mut report)),
            None if misfits(&contract, &observations, &mut report) => None,
            None => match chain::compiled(&config, &contract, &observations, &mut report)? {
                Made::Draft(draft) => Some(draft),
                Made::Whole => compiled(&config, &contract, &observations, &mut report)?,
                Made::Refused => None,
            },
        };
        if let Some(draft) = draft {
            judge::ask(&contract, &observations, &draft, &mut report)?;
            progress::report("seal", 0, None);
            report.sealed(seal(&draft)?);
        }
        Ok(report.text())
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Compile with_types_in bindings);

/// A module of somebody's own: nothing is synthesised, the gate alone decides.
fn given(module: &[u8], report: &mut Report) -> Draft {
    report.passed("module", "a module was given; its behaviour is judged by the gate alone");
    Draft { module: module.to_vec(), metered: None, graph: None, held_out: Vec::new(), notes: report.notes() }
}

/// Whether something was recorded that the contract does not take for an input. No program for
/// its type takes it either, so no rung after this one could say what is wrong.
fn misfits(contract: &Contract, observations: &[Observation], report: &mut Report) -> bool {
    let misfit = |one: &Observation| contract.input.accepts(&Value::parse(&one.input).ok()?).err();
    let mut wrong = observations.iter().filter_map(misfit);
    let Some(first) = wrong.next() else { return false };
    let why = format!(
        "{} of {} recorded inputs are not of the contract's type, the first: {first}; widen interface.input, or draft \
         it anew with `auto-host contract infer`",
        wrong.count() + 1,
        observations.len()
    );
    report.refused("evidence", why);
    true
}

/// From observations to a draft, or none where a rung refused.
fn compiled(
    config: &Config,
    contract: &Contract,
    observations: &[Observation],
    report: &mut Report,
) -> Result<Option<Draft>, Fault> {
    let known = trainable(contract, observations, report);
    let taught: Cow<[Observation]> = match contract.acceptance.divergent {
        Divergent::Weighted => with_examples(contract, observations, |one| unfailing(one).then(|| one.clone())).into(),
        Divergent::Refuse | Divergent::MostCommon => Cow::Borrowed(known.as_slice()),
    };
    if !observations.iter().any(|one| settled(one) || taught.iter().any(|taught| taught.input == one.input)) {
        report.refused("evidence", "no observation has a single recorded output; record more runs, or check the scope");
        return Ok(None);
    }
    let mut hints = Hints {
        input_type: contract.input.to_string(),
        output_type: contract.output.to_string(),
        unlabelled: observations.iter().filter(|one| !settled(one)).map(|one| one.input.clone()).collect(),
        start: config.start.clone(),
        wrong_max_ppm: wrong_max_ppm(contract, observations, known.len()),
    };
    let inputs: Vec<&str> = known.iter().map(|one| one.input.as_str()).collect();
    let mut folds = folds::folds(&inputs, config.folds, config.seed);
    let work = |hints| Work { config, contract, hints, observations, known: &known, taught: &taught };
    if config.synth == Synth::Teacher {
        // The others were shown to the teacher, and say nothing of what its ideas do elsewhere.
        folds.truncate(1);
        match teacher::asked(config, &hints, observations, &known, folds.first(), report)? {
            Asked::Program(Proposal { program, cost, text }) => {
                let best = Candidate { program, cost, text };
                let without = Search {
                    found: vec![best.clone()],
                    steps: 0,
                    exhausted: false,
                    notes: Vec::new(),
                    wrong: Vec::new(),
                    question: None,
                };
                let best = Best { candidate: best, wrong: &[], max_ppm: 0, steps: 0 };
                return work(&hints).concluded(best, &folds, std::iter::once(Ok(without)), report);
            }
            Asked::Ideas(ideas) => hints.start.extend(ideas),
            Asked::Refused => return Ok(None),
        }
    }

    // Alone first: where there is no rule, the folds have none to show.
    let everything = synthesize(config, &hints, &known, &[Vec::new()], config.candidates)?.into_iter().next();
    let whole = everything.unwrap_or_else(|| Err(fault("bad-output", "jobs returned fewer results than tasks")));
    let whole = search_result(whole)?;
    let steps = whole.as_ref().map_or(config.steps, |search| search.steps);
    let (candidate, wrong) = match program(whole, contract, &known, report) {
        Some(Ok(found)) => found,
        Some(Err(why)) => return model::compiled(config, contract, &taught, &why, report),
        None => return Ok(None),
    };
    // Of few, each by itself, where that costs no more than one search may: it says the most.
    let is_cheap = steps.saturating_mul(known.len() as u64) <= config.steps;
    if config.synth == Synth::Enum && known.len() < FEW && is_cheap {
        folds = folds::folds(&inputs, known.len(), config.seed);
    }
    let best = Best { candidate, wrong: &wrong, max_ppm: hints.wrong_max_ppm, steps };
    let searches = synthesize(config, &hints, &known, &folds, 1)?.into_iter();
    work(&hints).concluded(best, &folds, searches, report)
}

/// How many of the `known` observations a program may get wrong, in parts per million: as many
/// as the contract allows, less those that have no one output.
fn wrong_max_ppm(contract: &Contract, observations: &[Observation], known: usize) -> u32 {
    let share = MILLION - contract.acceptance.agreement_min_ppm.unwrap_or(MILLION).min(MILLION);
    let allowed = observations.len() as u64 * u64::from(share) / u64::from(MILLION);
    let unsettled = observations.iter().filter(|one| !settled(one)).count() as u64;
    let ppm = (allowed.saturating_sub(unsettled) * u64::from(MILLION)).div_ceil((known as u64).max(1));
    u32::try_from(ppm).unwrap_or(MILLION).min(MILLION)
}

/// The text of a program of one expression.
pub(crate) fn source(program: &[u8]) -> Option<String> {
    let graph = Graph::from_bytes(program).ok()?;
    let mut sources = graph.nodes.into_iter().filter_map(|node| match node.body {
        Body::Expression { source } => Some(source),
        _ => None,
    });
    sources.next().filter(|_| sources.next().is_none())
}

/// The cheapest program that was found, or the table of what was recorded where there is
/// none and the contract asks for no rule; otherwise why there is no rule.
fn program(
    search: Result<Search, Fault>,
    contract: &Contract,
    known: &[Observation],
    report: &mut Report,
) -> Option<Result<(Candidate, Vec<u32>), String>> {
    let why = match search {
        Ok(search) => match search.found.first() {
            Some(best) => {
                report.program(best, &search);
                return Some(Ok((best.clone(), search.wrong)));
            }
            None => unexplained(&search),
        },
        Err(fault) => fault.message,
    };
    if !contract.acceptance.memorise {
        return Some(Err(why));
    }
    report.remark("extract", why);
    let Some((program, text)) = table::program(known, &contract.input, &contract.output) else {
        report.refused("table", "the table of what was recorded is no valid program");
        return None;
    };
    report.passed("table", format!("{} recorded inputs, because the contract says memorise = true", known.len()));
    Some(Ok((Candidate { program, cost: table::COST, text }, Vec::new())))
}

/// What a program can be made from: observations with one output and no error, those with several
/// as the contract has it, and the contract's exact examples, which are true whether or not they
/// were witnessed.
fn trainable(contract: &Contract, observations: &[Observation], report: &mut Report) -> Vec<Observation> {
    let common = contract.acceptance.divergent == Divergent::MostCommon;
    let known = with_examples(contract, observations, |one| match settled(one) {
        true => Some(one.clone()),
        false if common && unfailing(one) => {
            let output = Witness { output: usual(one).to_owned(), count: 1 };
            Some(Observation { outputs: vec![output], ..one.clone() })
        }
        false => None,
    });
    let count = |wanted: &dyn Fn(&Observation) -> bool| observations.iter().filter(|one| wanted(one)).count();
    let (diverging, failing) = (count(&|one| !settled(one) && unfailing(one)), count(&|one| !unfailing(one)));
    if failing > 0 {
        report.remark("evidence", format!("{failing} inputs have an error and teach nothing"));
    }
    if diverging > 0 {
        let what = match contract.acceptance.divergent {
            Divergent::Refuse => "teach nothing; acceptance.divergent says what else they may",
            Divergent::MostCommon => "teach the most frequent one",
            Divergent::Weighted => "teach a rule nothing, and a model each of them as often as it was recorded",
        };
        report.remark("evidence", format!("{diverging} inputs have several outputs and {what}"));
    }
    let recorded = |one: &&auto_schema::contract::Example| {
        let input = one.input.canonical();
        observations.iter().any(|observation| observation.input == input.as_str())
    };
    let own: Vec<&str> = contract
        .examples
        .iter()
        .filter(|one| one.compare == Match::Exact && !recorded(one))
        .map(|one| one.name.as_str())
        .collect();
    if !own.is_empty() {
        let why = format!("examples of the contract that were not recorded teach as recordings do: {}", own.join(", "));
        report.remark("evidence", why);
    }
    known
}

/// Observations as somebody wants them, and the contract's exact examples.
fn with_examples(
    contract: &Contract,
    observations: &[Observation],
    wanted: impl Fn(&Observation) -> Option<Observation>,
) -> Vec<Observation> {
    let mut known: Vec<Observation> = observations.iter().filter_map(wanted).collect();
    for example in contract.examples.iter().filter(|example| example.compare == Match::Exact) {
        let (input, output) = (example.input.canonical().into_string(), example.output.canonical().into_string());
        // It may be recorded, or be an example under another name, too.
        if !observations.iter().chain(&known).any(|one| one.input == input) {
            known.push(Observation { input, outputs: vec![Witness { output, count: 1 }], errors: 0 });
        }
    }
    known.sort_by(|a, b| a.input.cmp(&b.input));
    known
}

/// The most frequent output, of several the first.
pub(crate) fn usual(observation: &Observation) -> &str {
    // The last of equals is taken, and outputs are sorted by their text.
    let best = observation.outputs.iter().rev().max_by_key(|witness| witness.count);
    best.map_or("null", |witness| witness.output.as_str())
}

fn unfailing(observation: &Observation) -> bool {
    observation.errors == 0 && !observation.outputs.is_empty()
}

pub(crate) fn settled(observation: &Observation) -> bool {
    observation.outputs.len() == 1 && observation.errors == 0
}

/// Synthesises once without each of some sets of rows, on all cores; the results in that order.
pub(crate) fn synthesize(
    config: &Config,
    hints: &Hints,
    known: &[Observation],
    without: &[Vec<usize>],
    candidates: u32,
) -> Result<Vec<Result<Search, Fault>>, Fault> {
    let mut tasks = Vec::new();
    // A program to start from may have been made from what a fold holds out.
    let unaided = Hints { start: Vec::new(), ..hints.clone() };
    for fold in without {
        let rows = known.iter().enumerate().filter(|(row, _)| fold.binary_search(row).is_err());
        // Of many, enough to find the rule again; all that are held out are still answered.
        let step = if fold.is_empty() { 1 } else { (known.len() - fold.len()).div_ceil(MOST_FOLD_ROWS).max(1) };
        let rows: Vec<&Observation> = rows.map(|(_, one)| one).step_by(step).collect();
        let hints = if fold.is_empty() { hints } else { &unaided };
        let budget = Budget { steps: config.steps, candidates };
        tasks.push(Task { target: SYNTHESIZE.into(), arguments: wire::synthesis(&rows, hints, &budget) });
    }
    progress::report("extract", 0, Some(tasks.len() as u64));
    let results = jobs::run(&Backend::Wasm, &tasks)?;
    progress::report("extract", tasks.len() as u64, Some(tasks.len() as u64));
    Ok(results.into_iter().map(|result| result.and_then(|text| wire::search(&text))).collect())
}

/// A result of a task, unless its component broke: that says nothing about the task, so the
/// job ends with it.
pub(crate) fn unbroken<T>(result: Result<T, Fault>) -> Result<Result<T, Fault>, Fault> {
    match result {
        Err(fault) if auto_schema::BREAKAGES.contains(&fault.code.as_str()) => Err(fault),
        result => Ok(result),
    }
}

/// A result of a search, unless its component broke. One that came to the end of its fuel or its
/// memory is a search that found nothing: what is no rule may still be a model's.
pub(crate) fn search_result<T>(result: Result<T, Fault>) -> Result<Result<T, Fault>, Fault> {
    match result {
        Err(spent) if matches!(spent.code.as_str(), "out-of-fuel" | "out-of-memory") => {
            Ok(Err(fault("no-program", format!("no program was found within the limits of a pass: {}", spent.message))))
        }
        result => unbroken(result),
    }
}

/// Why extraction found nothing, in a sentence.
pub(crate) fn unexplained(search: &Search) -> String {
    let how = if search.exhausted {
        "no program of the language up to the depth limit fits every observation"
    } else {
        "no program was found within the budget; raise --steps"
    };
    [&[how.to_owned()], search.notes.as_slice()].concat().join("; ")
}

pub(crate) fn fault(code: &str, message: impl Into<String>) -> Fault {
    Fault { code: code.into(), message: message.into(), at: None }
}
