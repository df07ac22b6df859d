//! The pass that finds programs that explain observations (`auto:pass/extract`).
//!
//! Here is the glue between the interface and the search, which is plain Rust and knows
//! nothing of components. The search: [`search::search`]; its parts from the bottom up:
//! [`values`], [`constants`], [`bank`]; the deductions [`affine`], [`context`],
//! [`concat`] with [`positions`], [`cutter`], [`numbers`] and [`dates`],
//! [`lists`]; decisions by [`predicates`] and [`rules`]; [`solve`], which asks
//! them all.

pub mod affine;
pub mod bank;
pub mod concat;
pub mod constants;
pub mod context;
pub mod cutter;
pub mod dates;
pub mod lists;
pub mod numbers;
pub mod positions;
pub mod predicates;
pub mod rules;
pub mod search;
pub mod solve;
pub mod values;

use auto_kit::{Fault, json, type_text, types};
use search::{Example, Problem};

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        world: "extraction",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

use bindings::exports::auto::pass::extract as wit;

/// What the host calls.
pub struct Component;

impl wit::Guest for Component {
    fn synthesize(on: Vec<types::Observation>, hints: wit::Hints, budget: wit::Budget) -> Result<wit::Search, Fault> {
        let input = type_text(&hints.input_type, "/hints/input-type")?;
        let output = type_text(&hints.output_type, "/hints/output-type")?;
        let Read { examples, places, mut unlabelled } = read(on)?;
        for (index, text) in hints.unlabelled.iter().enumerate() {
            unlabelled.push(json(text, format_args!("/hints/unlabelled/{index}"))?);
        }
        let start = hints.start.iter().filter_map(|text| auto_lang::parse(text).ok());
        let start: Vec<_> = start.filter(|program| auto_lang::type_of(program, &input).is_ok()).collect();
        let problem = Problem {
            examples: &examples,
            unlabelled: &unlabelled,
            start: &start,
            wrong_max_ppm: hints.wrong_max_ppm,
            steps: budget.steps,
            candidates: budget.candidates as usize,
        };
        let found = search::search(&problem);
        let mut candidates = Vec::new();
        for (program, cost) in &found.programs {
            let graph = auto_lang::graphs::program(program, &input, &output).to_bytes().map_err(|violations| {
                let all: Vec<String> = violations.iter().map(ToString::to_string).collect();
                Fault::new("bad-type", format!("no program can be of these types: {}", all.join("; ")))
            })?;
            candidates.push(wit::Candidate { program: graph, cost: *cost, text: program.to_string() });
        }
        let question = found.question.map(|question| {
            let [first, other] = question.answers.map(|answer| answer.to_string());
            wit::Question { input: question.input.to_string(), first, other }
        });
        Ok(wit::Search {
            found: candidates,
            steps: found.steps,
            exhausted: found.exhausted,
            notes: found.notes,
            wrong: found.wrong.into_iter().map(|at| places[at]).collect(),
            question,
        })
    }
}

/// Observations, read.
struct Read {
    examples: Vec<Example>,
    /// Where each example stands among the observations.
    places: Vec<u32>,
    /// Inputs with no output.
    unlabelled: Vec<auto_json::Value>,
}

fn read(on: Vec<types::Observation>) -> Result<Read, Fault> {
    let (mut examples, mut places, mut unlabelled) = (Vec::new(), Vec::new(), Vec::new());
    for (index, row) in auto_kit::rows(on).enumerate() {
        let mut row = row?;
        let place = format!("/on/{index}/outputs");
        match (row.outputs.pop(), row.outputs.len()) {
            (None, _) => unlabelled.push(row.input),
            (Some((output, _)), 0) => {
                examples.push(Example { input: row.input, output });
                places.push(index as u32);
            }
            (Some(_), others) => {
                let message = format!(
                    "the input {} has {} different outputs, and a program gives one; narrow the scope, or leave it out",
                    row.input,
                    others + 1
                );
                return Err(Fault::new("conflicting-observations", message).at(place));
            }
        }
    }
    if examples.is_empty() {
        return Err(Fault::new("no-observations", "no observation has an output; record some"));
    }
    Ok(Read { examples, places, unlabelled })
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
