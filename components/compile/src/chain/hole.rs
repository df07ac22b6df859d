//! One problem of a chain: what an expression over the environment must give, run by run.

use std::collections::BTreeMap;

use auto_json::Value;

use super::plan::Plan;
use crate::bindings::auto::host::jobs::{self, Backend, Task};
use crate::bindings::auto::host::progress;
use crate::bindings::auto::pass::check::check;
use crate::bindings::auto::pass::extract::{Budget, Hints, Search};
use crate::bindings::auto::pass::types::{Fault, Observation, Witness};
use crate::config::Config;
use crate::{SYNTHESIZE, unexplained, wire};

/// An expression that has no value: what a hole is filled with where nothing was found.
const UNDEFINED: &str = "first([])";

/// A place for an expression.
#[derive(Clone)]
pub struct Hole {
    /// For people: `what tool_call lookup is given`.
    pub place: String,
    /// What it must give.
    pub rows: Vec<Row>,
    /// The expression.
    pub program: String,
}

/// What the expression must give in one run.
#[derive(Clone)]
pub struct Row {
    /// Of the run's input, among the distinct ones: what is held out together.
    pub group: usize,
    /// `$`.
    pub input: Value,
    /// What it must be.
    pub output: Value,
}

/// Finds an expression for every row, or says why there is none.
pub fn fill(config: &Config, place: &str, rows: Vec<Row>) -> Result<Result<Hole, String>, Fault> {
    progress::report(place, 0, None);
    let observations = match observed(rows.iter()) {
        Ok(observations) => observations,
        Err(why) => return Ok(Err(why)),
    };
    let task = task(config, &observations);
    let result = jobs::run(&Backend::Wasm, &[task])?.into_iter().next();
    let search = match result.map(|result| result.and_then(|text| wire::search(&text))) {
        Some(Ok(search)) => search,
        Some(Err(fault)) => return Ok(Err(fault.message)),
        None => return Ok(Err("the jobs returned nothing".to_owned())),
    };
    let Some(found) = search.found.first() else { return Ok(Err(unexplained(&search))) };
    let finding = check(&found.program, &observations)?;
    if let Some(wrong) = finding.counterexamples.first() {
        let why = format!("the program of extract is wrong for {}; recorded was {}", wrong.input, wrong.expected);
        return Ok(Err(why));
    }
    Ok(Ok(Hole { place: place.to_owned(), program: found.text.clone(), rows }))
}

/// The plan without the rows of each fold, in the order of the folds. What cannot be told
/// without them is undefined.
pub fn refilled(config: &Config, plan: &Plan, folds: &[Vec<usize>]) -> Result<Vec<Plan>, Fault> {
    let holes = plan.holes();
    let mut tasks = Vec::new();
    for fold in folds {
        for hole in &holes {
            let rows = hole.rows.iter().filter(|row| fold.binary_search(&row.group).is_err());
            tasks.push(task(config, &observed(rows).unwrap_or_default()));
        }
    }
    progress::report("extract", 0, Some(tasks.len() as u64));
    let mut results = jobs::run(&Backend::Wasm, &tasks)?.into_iter();
    progress::report("extract", tasks.len() as u64, Some(tasks.len() as u64));
    let mut plans = Vec::new();
    for _ in folds {
        let mut plan = plan.clone();
        for (hole, result) in plan.holes_mut().into_iter().zip(results.by_ref()) {
            let search: Option<Search> = result.and_then(|text| wire::search(&text)).ok();
            let found = search.and_then(|search| search.found.into_iter().next());
            hole.program = found.map_or_else(|| UNDEFINED.to_owned(), |found| found.text);
        }
        plans.push(plan);
    }
    Ok(plans)
}

fn task(config: &Config, observations: &[Observation]) -> Task {
    let any = || "json".to_owned();
    let hints = Hints { input_type: any(), output_type: any(), unlabelled: Vec::new() };
    let rows: Vec<&Observation> = observations.iter().collect();
    let budget = Budget { steps: config.steps, candidates: 1 };
    Task { target: SYNTHESIZE.into(), arguments: wire::synthesis(&rows, &hints, &budget) }
}

/// Rows as observations; an error where the same environment led to different things.
fn observed<'r>(rows: impl Iterator<Item = &'r Row>) -> Result<Vec<Observation>, String> {
    let mut found: BTreeMap<String, (String, u32)> = BTreeMap::new();
    for row in rows {
        let (input, output) = (row.input.canonical().into_string(), row.output.canonical().into_string());
        let entry = found.entry(input).or_insert_with(|| (output.clone(), 0));
        if entry.0 != output {
            return Err(format!("the same came before it and it was different: {} and {output}", entry.0));
        }
        entry.1 += 1;
    }
    let observation =
        |(input, (output, count))| Observation { input, outputs: vec![Witness { output, count }], errors: 0 };
    Ok(found.into_iter().map(observation).collect())
}
