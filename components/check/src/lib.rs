//! The pass that checks programs against observations and explains them
//! (`auto:pass/check` and `auto:pass/explain`).
//!
//! [`program`] evaluates a graph node by node and tells who is watching what happens;
//! [`locate`] finds the expression at which a program and an expected output part;
//! [`explain`] puts a program, and what it does with an input, into words.

pub mod explain;
pub mod locate;
pub mod program;
mod words;

use auto_json::Value;
use auto_kit::{Fault, json, types};
use auto_lang::graphs::well_typed;
use program::{Outcome, Program};

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        world: "checking",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

use bindings::exports::auto::pass::{check as wit, explain as explaining};

/// What the host calls.
pub struct Component;

impl wit::Guest for Component {
    fn check(program: Vec<u8>, on: Vec<types::Observation>) -> Result<wit::Finding, Fault> {
        let program = read(&program)?;
        let (mut checked, mut agreeing) = (0, 0);
        let mut first: Option<wit::Counterexample> = None;
        let mut smallest: Option<wit::Counterexample> = None;
        for row in auto_kit::rows(on) {
            let row = row?;
            // The most frequent output, the first of several.
            let most = row.outputs.iter().rev().max_by_key(|(_, count)| *count);
            let Some((expected, _)) = most else { continue };
            checked += 1;
            let Some(found) = counterexample(&program, &row.input, expected) else {
                agreeing += 1;
                continue;
            };
            if smallest.as_ref().is_none_or(|known| found.input.len() < known.input.len()) {
                smallest = Some(found.clone());
            }
            first.get_or_insert(found);
        }
        let other = smallest.filter(|found| first.as_ref().is_some_and(|first| first.input != found.input));
        Ok(wit::Finding { checked, agreeing, counterexamples: first.into_iter().chain(other).collect() })
    }
}

impl explaining::Guest for Component {
    fn explain(program: Vec<u8>, input: Option<String>) -> Result<String, Fault> {
        let program = read(&program)?;
        let input = input.map(|text| json(&text, "/input")).transpose()?;
        Ok(match input {
            None => explain::program(&program),
            Some(input) => explain::run(&program, &input),
        })
    }
}

/// The program of a graph in canonical bytes.
///
/// Faults: `bad-graph`, `bad-expression`, `bad-type`, `unsupported-node`.
pub fn read(bytes: &[u8]) -> Result<Program, Fault> {
    let graph = auto_kit::graph(bytes)?;
    well_typed(&graph).map_err(|error| Fault::new(error.code, error.message).at(error.at))?;
    Program::new(graph).map_err(|error| Fault::new(error.code, error.message).at(error.at))
}

fn counterexample(program: &Program, input: &Value, expected: &Value) -> Option<wit::Counterexample> {
    let outcome = program.run(input, &mut |_| ());
    let (got, at) = match outcome {
        Outcome::Answer(got) if got == *expected => return None,
        Outcome::Answer(got) => {
            let at = program.last().map_or_else(String::new, |last| locate::parting(last, input, expected));
            (Some(got.to_string()), at)
        }
        Outcome::Undefined { node, at } => (None, at.unwrap_or(node)),
        Outcome::Abstain(novelty) => (None, format!("guard: {}", novelty.reason)),
        Outcome::Stopped { node, reason } => (None, format!("{node}: {reason}")),
        Outcome::Request { capability, .. } => (None, format!("it asks for {capability}")),
    };
    Some(wit::Counterexample { input: input.to_string(), expected: expected.to_string(), got, at })
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);

#[cfg(test)]
mod tests;
