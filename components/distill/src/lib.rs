//! The pass that trains: where no rule explains the outputs, a small model may.
//!
//! The inputs' texts become counts of hashed n-grams ([`features`] says which texts,
//! `auto_rt::kernels::linear` how they are counted), a multinomial logistic regression is
//! fitted to them ([`train`]), its weights become bytes ([`quantise`]), and the bytes a graph
//! ([`graph`]). An object is trained field by field. Pure and seeded: the same observations
//! and options give the same model. Whether the model is any good is not said here; the
//! driver holds rows out and asks the model about them.

mod common;
mod features;
mod graph;
mod part;
mod quantise;
mod questions;
mod train;
mod trees;

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        world: "distilling",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

use std::collections::BTreeSet;

use auto_json::Value;
use auto_kit::{Fault, Row, rows, type_text, types};
use auto_schema::ir::model::MAX_CLASSES;
use auto_schema::types::Type;
pub use bindings::exports::auto::pass::distill::{Given, Options, Trained};

use features::Features;
use graph::Part;
use part::Problem;

/// A part with fewer than this many rows per class, on average, is no classification.
const ROWS_PER_CLASS: usize = 2;

/// Trains; see `wit/pass/distill.wit` for the faults.
pub fn train(on: Vec<types::Observation>, options: &Options) -> Result<Trained, Fault> {
    let input = type_text(&options.input_type, "/options/input-type")?;
    let output = type_text(&options.output_type, "/options/output-type")?;
    let rows: Vec<Row> = rows(on).collect::<Result<_, _>>()?;
    let examples: Vec<Example> = rows.iter().filter(|row| row.errors == 0).flat_map(Example::of).collect();
    if examples.is_empty() {
        return Err(Fault::new("no-observations", "a model needs inputs with a recorded output and no error"));
    }
    let inputs: Vec<&Value> = examples.iter().map(|example| example.input).collect();
    let features = Features::of(&inputs).ok_or_else(|| {
        Fault::new("no-text", "the inputs have no text, number or truth value that a model could learn from")
    })?;
    let outputs: Vec<&Value> = examples.iter().map(|example| example.output).collect();
    let shares: Vec<f32> = examples.iter().map(|example| example.share).collect();
    let wanted = parts(&outputs, &output, &options.given)?;
    let questions = questions::questions(&features, &inputs);
    let texts: Vec<Vec<String>> = inputs.iter().map(|input| features.texts(input)).collect();
    let learnt = wanted.iter().filter(|part| matches!(part.source, Source::Model(_))).count().max(1);
    let share = options.max_bytes / learnt as u32;
    let problem = Problem { inputs: &inputs, texts: &texts, shares: &shares, questions: &questions, options };
    let mut notes = Vec::new();
    let mut models = Vec::new();
    for part in wanted {
        let body = match part.source {
            Source::Given(expression) => Part::Rule(expression),
            Source::Constant(value) => Part::Constant(value),
            Source::Model(values) => {
                let (body, told) = problem.solved(&values, share)?;
                let named = |note| if part.name.is_empty() { note } else { format!("{}: {note}", part.name) };
                notes.extend(told.into_iter().map(named));
                body
            }
        };
        models.push((part.name, body));
    }
    graph::trained(&features, &input, &output, models, notes)
}

/// What is learnt from: an output of an input, and which share of its recordings gave that.
struct Example<'a> {
    input: &'a Value,
    output: &'a Value,
    share: f32,
}

impl<'a> Example<'a> {
    fn of(row: &'a Row) -> impl Iterator<Item = Example<'a>> {
        let all: u32 = row.outputs.iter().map(|(_, count)| *count).fold(0, u32::saturating_add).max(1);
        let share = move |count: u32| if count == all { 1.0 } else { count as f32 / all as f32 };
        row.outputs.iter().map(move |(output, count)| Example { input: &row.input, output, share: share(*count) })
    }
}

/// One field of the outputs, or all of them.
struct Wanted<'a> {
    /// Empty for the whole output.
    name: String,
    source: Source<'a>,
}

/// Where a part comes from.
enum Source<'a> {
    /// It is always the same.
    Constant(Value),
    /// An expression over the input.
    Given(String),
    /// It is to be learnt.
    Model(Vec<&'a Value>),
}

/// What has to be learnt: the output as a whole where it takes few values, else its fields.
fn parts<'a>(outputs: &[&'a Value], ty: &Type, given: &[Given]) -> Result<Vec<Wanted<'a>>, Fault> {
    let distinct: BTreeSet<&&Value> = outputs.iter().collect();
    if distinct.len() < 2 {
        return Err(Fault::new("one-class", "every recorded output is the same; a constant needs no model"));
    }
    let varied = |count: usize| count * ROWS_PER_CLASS > outputs.len() || count > MAX_CLASSES;
    let Type::Record(fields) = ty else {
        if varied(distinct.len()) {
            return Err(too_varied("the output", distinct.len(), outputs.len()));
        }
        return Ok(vec![Wanted { name: String::new(), source: Source::Model(outputs.to_vec()) }]);
    };
    let mut parts = Vec::new();
    for field in fields {
        let name = field.name.clone();
        if let Some(given) = given.iter().find(|given| given.field == name) {
            parts.push(Wanted { name, source: Source::Given(given.expression.clone()) });
            continue;
        }
        let values: Option<Vec<&Value>> = outputs.iter().map(|output| output.get(&field.name)).collect();
        let values = values.ok_or_else(|| {
            let message =
                format!("the field {:?} is not in every output; a model of this pass gives all fields", field.name);
            Fault::new("no-classes", message)
        })?;
        let distinct: BTreeSet<&&Value> = values.iter().collect();
        if varied(distinct.len()) {
            return Err(too_varied(&format!("the field {:?}", field.name), distinct.len(), values.len()));
        }
        let source = match distinct.first() {
            Some(only) if distinct.len() == 1 => Source::Constant((***only).clone()),
            _ => Source::Model(values),
        };
        parts.push(Wanted { name, source });
    }
    Ok(parts)
}

fn too_varied(what: &str, distinct: usize, rows: usize) -> Fault {
    let message = format!(
        "{what} has {distinct} different values in {rows} observations: at least {ROWS_PER_CLASS} observations a value, \
         on average, and at most {MAX_CLASSES} values can be classes; record more, or let a rule explain it"
    );
    Fault::new("no-classes", message)
}

/// The pass.
pub struct Component;

impl bindings::exports::auto::pass::distill::Guest for Component {
    fn train(on: Vec<types::Observation>, options: Options) -> Result<Trained, Fault> {
        train(on, &options)
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
