//! The pass that trains: where no rule explains the outputs, a small model may.
//!
//! The inputs' texts become counts of hashed n-grams ([`features`] says which texts,
//! `auto_rt::kernels::linear` how they are counted), a multinomial logistic regression is
//! fitted to them ([`train`]), its weights become bytes ([`quantise`]), and the bytes a graph
//! ([`graph`]). An object is trained field by field. Pure and seeded: the same observations
//! and options give the same model. Whether the model is any good is not said here; the
//! driver holds rows out and asks the model about them.

mod features;
mod graph;
mod quantise;
mod train;

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        world: "distilling",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

use std::collections::{BTreeMap, BTreeSet};

use auto_json::Value;
use auto_kit::{Fault, Row, rows, type_text, types};
use auto_schema::ir::model::{Linear, MAX_CLASSES};
use auto_schema::types::Type;
pub use bindings::exports::auto::pass::distill::{Options, Trained};

use features::Features;
use graph::Part;

/// A part with fewer than this many rows per class, on average, is no classification.
const ROWS_PER_CLASS: usize = 2;

/// Trains; see `wit/pass/distill.wit` for the faults.
pub fn train(on: &[types::Observation], options: &Options) -> Result<Trained, Fault> {
    let input = type_text(&options.input_type, "/options/input-type")?;
    let output = type_text(&options.output_type, "/options/output-type")?;
    let rows = rows(on)?;
    let settled: Vec<(&Value, &Value)> =
        rows.iter().filter_map(|row: &Row| Some((&row.input, row.settled()?))).collect();
    if settled.is_empty() {
        return Err(Fault::new("no-observations", "a model needs inputs with one recorded output and no error"));
    }
    let inputs: Vec<&Value> = settled.iter().map(|(input, _)| *input).collect();
    let features = Features::of(&inputs).ok_or_else(|| {
        Fault::new("no-text", "the inputs have no text, number or truth value that a model could learn from")
    })?;
    let outputs: Vec<&Value> = settled.iter().map(|(_, output)| *output).collect();
    let wanted = parts(&outputs, &output)?;
    let texts: Vec<Vec<String>> = inputs.iter().map(|input| features.texts(input)).collect();
    let learnt = wanted.iter().filter(|part| part.values.is_some()).count().max(1);
    let share = options.max_bytes / learnt as u32;
    let mut notes = Vec::new();
    let mut models = Vec::new();
    for part in wanted {
        let body = match part.values {
            None => Part::Constant(part.first),
            Some(values) => {
                let (model, note) = fitted(&texts, &values, options, share)?;
                notes.push(if part.name.is_empty() { note } else { format!("{}: {note}", part.name) });
                Part::Model(Box::new(model))
            }
        };
        models.push((part.name, body));
    }
    graph::trained(&features, &input, &output, models, notes)
}

/// One field of the outputs, or all of them.
struct Wanted<'a> {
    /// Empty for the whole output.
    name: String,
    first: Value,
    /// What is to be learnt; none where it is always the same.
    values: Option<Vec<&'a Value>>,
}

/// What has to be learnt: the output as a whole where it takes few values, else its fields.
fn parts<'a>(outputs: &[&'a Value], ty: &Type) -> Result<Vec<Wanted<'a>>, Fault> {
    let distinct: BTreeSet<&&Value> = outputs.iter().collect();
    if distinct.len() < 2 {
        return Err(Fault::new("one-class", "every recorded output is the same; a constant needs no model"));
    }
    let varied = |count: usize| count * ROWS_PER_CLASS > outputs.len() || count > MAX_CLASSES;
    let Type::Record(fields) = ty else {
        if varied(distinct.len()) {
            return Err(too_varied("the output", distinct.len(), outputs.len()));
        }
        return Ok(vec![Wanted { name: String::new(), first: Value::Null, values: Some(outputs.to_vec()) }]);
    };
    let mut parts = Vec::new();
    for field in fields {
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
        let first = values.first().map_or(Value::Null, |value| (*value).clone());
        let values = (distinct.len() > 1).then_some(values);
        parts.push(Wanted { name: field.name.clone(), first, values });
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

/// A model of one part, and a line about it.
fn fitted(
    texts: &[Vec<String>],
    values: &[&Value],
    options: &Options,
    max_bytes: u32,
) -> Result<(Linear, String), Fault> {
    let mut counts: BTreeMap<&Value, usize> = BTreeMap::new();
    values.iter().for_each(|value| *counts.entry(value).or_default() += 1);
    let classes: Vec<&Value> = counts.keys().copied().collect();
    let labels: Vec<usize> = values.iter().map(|value| classes.binary_search(value).unwrap_or(0)).collect();
    let Some(bits) = quantise::bits(classes.len(), max_bytes) else {
        let message = format!(
            "{} classes need {} bytes of weights, {max_bytes} are allowed",
            classes.len(),
            classes.len() << quantise::LEAST_BITS
        );
        return Err(Fault::new("too-large", message));
    };
    let data = train::Data::new(texts, bits, labels, classes.len());
    let weights = train::fit(&data, options.seed, options.steps);
    let (model, differ) = quantise::linear(&data, &weights, classes.into_iter().cloned().collect());
    let alone = counts.values().filter(|count| **count == 1).count();
    let (least, most) = (counts.values().min().unwrap_or(&0), counts.values().max().unwrap_or(&0));
    let mut note = format!(
        "{} classes of {least} to {most} observations, 2^{bits} buckets; as bytes the weights decide {differ} of {} observations otherwise",
        counts.len(),
        values.len(),
    );
    if alone > 0 {
        note.push_str(&format!("; {alone} classes were seen once"));
    }
    Ok((model, note))
}

/// The pass.
pub struct Component;

impl bindings::exports::auto::pass::distill::Guest for Component {
    fn train(on: Vec<types::Observation>, options: Options) -> Result<Trained, Fault> {
        train(&on, &options)
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
