//! The pass that finds programs that explain observations (`auto:pass/extract`).
//!
//! Here is the glue between the interface and the search, which is plain Rust and knows
//! nothing of components. The search: [`search::search`]; its parts from the bottom up:
//! [`values`], [`constants`], [`bank`], [`predicates`], [`rules`], [`concat`], [`lists`],
//! [`solve`].

pub mod bank;
pub mod concat;
pub mod constants;
pub mod lists;
pub mod predicates;
pub mod rules;
pub mod search;
pub mod solve;
pub mod values;

#[allow(missing_docs, clippy::all, unused_qualifications)]
mod bindings {
    wit_bindgen::generate!({ path: "../../wit/pass", world: "auto:pass/extraction" });
}

use auto_json::Value;
use auto_schema::types::Type;
use bindings::auto::pass::types::{Fault, Observation};
use bindings::exports::auto::pass::extract::{Budget, Candidate, Guest, Hints, Search};
use search::{Example, Problem};

struct Component;

impl Guest for Component {
    fn synthesize(on: Vec<Observation>, hints: Hints, budget: Budget) -> Result<Search, Fault> {
        synthesize(on, hints, budget)
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);

fn synthesize(on: Vec<Observation>, hints: Hints, budget: Budget) -> Result<Search, Fault> {
    let input = read_type(&hints.input_type, "input-type")?;
    let output = read_type(&hints.output_type, "output-type")?;
    let mut unlabelled = Vec::new();
    let mut examples = Vec::new();
    for (index, observation) in on.iter().enumerate() {
        let at = format!("/{index}");
        let value = read_json(&observation.input, &at)?;
        match observation.outputs.as_slice() {
            [] => unlabelled.push(value),
            [witness] => examples.push(Example { input: value, output: read_json(&witness.output, &at)? }),
            several => {
                let message = format!(
                    "the input {} has {} different outputs; keep one per input, or narrow the scope",
                    observation.input,
                    several.len()
                );
                return Err(fault("conflicting-observations", message, Some(at)));
            }
        }
    }
    if examples.is_empty() {
        return Err(fault("no-observations", "there is no observation with an output".to_owned(), None));
    }
    for (index, text) in hints.unlabelled.iter().enumerate() {
        unlabelled.push(read_json(text, &format!("unlabelled/{index}"))?);
    }
    let problem = Problem {
        examples: &examples,
        unlabelled: &unlabelled,
        steps: budget.steps,
        candidates: budget.candidates as usize,
    };
    let found = search::search(&problem);
    let mut candidates = Vec::new();
    for (program, cost) in &found.programs {
        let graph = search::graph(program, &input, &output);
        let bytes = graph.to_bytes().map_err(|violations| {
            let list: Vec<String> = violations.iter().map(|violation| violation.to_string()).collect();
            fault("bad-type", format!("no valid graph of these types: {}", list.join("; ")), None)
        })?;
        candidates.push(Candidate { program: bytes, cost: *cost, text: program.to_string() });
    }
    Ok(Search { found: candidates, steps: found.steps, exhausted: found.exhausted, notes: found.notes })
}

fn read_type(text: &str, which: &str) -> Result<Type, Fault> {
    text.parse().map_err(|error| fault("bad-type", format!("{which}: {error}"), Some(which.to_owned())))
}

fn read_json(text: &str, at: &str) -> Result<Value, Fault> {
    Value::parse(text).map_err(|error| {
        let message = format!("not a JSON text: {} at byte {}", error.kind.message(), error.offset);
        fault("bad-json", message, Some(at.to_owned()))
    })
}

fn fault(code: &str, message: String, at: Option<String>) -> Fault {
    Fault { code: code.to_owned(), message, at }
}
