//! Objects of which a rule gives some fields and a model the others.
//!
//! Where no program gives the whole output, each field is searched for by itself. A rule is taken
//! only if it also holds where it had not been shown the input: what was searched for without a
//! fold is run on the fold.

use auto_json::Value;
use auto_schema::contract::Contract;
use auto_schema::types::Type;

use crate::bindings::auto::host::sandbox;
use crate::bindings::auto::pass::distill::Given;
use crate::bindings::auto::pass::emit::emit;
use crate::bindings::auto::pass::extract::{Hints, Search};
use crate::bindings::auto::pass::types::{Fault, Observation, Outcome, Witness};
use crate::config::Config;
use crate::report::Report;
use crate::{folds, search_result, source, synthesize, usual};

/// A rule may be wrong or silent on so much of what it was not shown, in parts per million.
const UNTRUE: usize = 20_000;

/// A field that a rule gives.
pub struct Rule {
    field: String,
    /// The expression that was found with everything.
    whole: String,
    /// What was found without each of some sets of rows.
    without: Vec<(Vec<usize>, Option<String>)>,
}

/// The fields of the output that a rule gives. Of outputs that are no objects there are none.
pub fn rules(
    config: &Config,
    contract: &Contract,
    known: &[Observation],
    report: &mut Report,
) -> Result<Vec<Rule>, Fault> {
    let Type::Record(fields) = &contract.output else { return Ok(Vec::new()) };
    let inputs: Vec<&str> = known.iter().map(|one| one.input.as_str()).collect();
    // As many as for rules of whole outputs, however few rows there are: each is a search.
    let folds = folds::folds(&inputs, config.folds, config.seed);
    let mut rules = Vec::new();
    // One field alone is the whole output, which was searched for.
    for field in fields.iter().filter(|field| fields.len() > 1 && !field.optional) {
        let Some(rows) = rows(known, &field.name) else { continue };
        let hints = Hints {
            input_type: contract.input.to_string(),
            output_type: field.ty.to_string(),
            unlabelled: Vec::new(),
            start: Vec::new(),
            wrong_max_ppm: 0,
        };
        let whole = synthesize(config, &hints, &rows, &[Vec::new()], 1)?.into_iter().next();
        let Some(whole) = whole.map(expression).transpose()?.flatten() else { continue };
        let found = synthesize(config, &hints, &rows, &folds, 1)?.into_iter();
        let found = found.map(search_result).collect::<Result<Vec<Result<Search, Fault>>, Fault>>()?;
        let (right, total) = held_out(&rows, &folds, &found)?;
        let of = field.name.clone();
        if (total - right) * 1_000_000 > total * UNTRUE || total == 0 {
            let why =
                format!("a rule for the field {of:?} is right on {right} of {total} held-out inputs: left to a model");
            report.remark("extract", why);
            continue;
        }
        report.passed("extract", format!("the field {of:?} is {whole}, right on {right} of {total} held-out inputs"));
        let found = found.into_iter().map(|found| expression(found).ok().flatten());
        rules.push(Rule { field: of, whole, without: folds.iter().cloned().zip(found).collect() });
    }
    Ok(rules)
}

/// What distill is given: for the whole, or for what is made without some rows. None where a field
/// has no rule that was found without them. Folds of any number hold near-duplicates together, so
/// rows that are held out together are so here too.
pub fn given(rules: &[Rule], fold: Option<&Vec<usize>>) -> Option<Vec<Given>> {
    let one = |rule: &Rule| {
        let expression = match fold.and_then(|fold| fold.first()) {
            None => Some(&rule.whole),
            Some(row) => rule.without.iter().find(|(rows, _)| rows.contains(row))?.1.as_ref(),
        };
        Some(Given { field: rule.field.clone(), expression: expression?.clone() })
    };
    rules.iter().map(one).collect()
}

/// The observations with a field of their usual output; none where one lacks it.
fn rows(known: &[Observation], field: &str) -> Option<Vec<Observation>> {
    let row = |one: &Observation| {
        let output = Value::parse(usual(one)).ok()?.get(field)?.canonical().into_string();
        Some(Observation { input: one.input.clone(), outputs: vec![Witness { output, count: 1 }], errors: 0 })
    };
    known.iter().map(row).collect()
}

fn expression(search: Result<Search, Fault>) -> Result<Option<String>, Fault> {
    let found = search_result(search)?.ok().and_then(|search| search.found.into_iter().next());
    Ok(found.and_then(|found| source(&found.program)))
}

/// How many held-out inputs the programs are right on, and how many there are.
fn held_out(
    rows: &[Observation],
    folds: &[Vec<usize>],
    found: &[Result<Search, Fault>],
) -> Result<(usize, usize), Fault> {
    let mut right = 0;
    for (fold, search) in folds.iter().zip(found) {
        let Some(found) = search.as_ref().ok().and_then(|search| search.found.first()) else { continue };
        let inputs: Vec<String> = fold.iter().map(|&row| rows[row].input.clone()).collect();
        let replays = sandbox::run(&emit(&found.program)?.module, &inputs)?;
        let agrees = |(row, outcome): (&usize, &Outcome)| matches!(outcome, Outcome::Answer(answer) if answer == usual(&rows[*row]));
        right += fold.iter().zip(replays.iter().map(|replay| &replay.outcome)).filter(|pair| agrees(*pair)).count();
    }
    Ok((right, folds.iter().map(Vec::len).sum()))
}
