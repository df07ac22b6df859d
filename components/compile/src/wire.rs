//! Values as `auto:host/jobs` takes and returns them: JSON, records as objects, bytes as
//! base64. Only what this driver sends and reads.

use auto_json::{Record, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::bindings::auto::pass::distill::{Given, Options, Trained};
use crate::bindings::auto::pass::extract::{Budget, Candidate, Hints, Question, Search};
use crate::bindings::auto::pass::types::{Fault, Observation};

/// The arguments of `auto:pass/extract#synthesize`.
pub fn synthesis(on: &[&Observation], hints: &Hints, budget: &Budget) -> String {
    let hints = Record::new()
        .with("input_type", hints.input_type.as_str())
        .with("output_type", hints.output_type.as_str())
        .with("unlabelled", texts(&hints.unlabelled))
        .with("start", texts(&hints.start))
        .with("wrong_max_ppm", hints.wrong_max_ppm);
    let budget = Record::new().with("steps", budget.steps).with("candidates", budget.candidates);
    arguments(on, [hints.into(), budget.into()])
}

/// The arguments of `auto:pass/distill#train`.
pub fn training(on: &[&Observation], options: &Options) -> String {
    let options = Record::new()
        .with("input_type", options.input_type.as_str())
        .with("output_type", options.output_type.as_str())
        .with("seed", options.seed)
        .with("steps", options.steps)
        .with("max_bytes", options.max_bytes)
        .with("given", options.given.iter().map(given).collect::<Vec<Value>>());
    arguments(on, [options.into()])
}

/// Observations, which may be many and are written one by one, and what comes after them.
fn arguments<const N: usize>(on: &[&Observation], rest: [Value; N]) -> String {
    let mut text = String::from("[[");
    for (index, one) in on.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        text.push_str(observation(one).canonical().as_str());
    }
    text.push(']');
    for value in rest {
        text.push(',');
        text.push_str(value.canonical().as_str());
    }
    text.push(']');
    text
}

fn given(given: &Given) -> Value {
    Record::new().with("field", given.field.as_str()).with("expression", given.expression.as_str()).into()
}

/// Reads the result of `auto:pass/distill#train`.
pub fn trained(result: &str) -> Result<Trained, Fault> {
    read_trained(result).ok_or_else(|| Fault {
        code: "bad-output".into(),
        message: "auto:pass/distill#train returned something that is not a trained model".into(),
        at: None,
    })
}

fn read_trained(result: &str) -> Option<Trained> {
    let value = Value::parse(result).ok()?;
    let graph = |name| STANDARD.decode(value.get(name)?.as_text()?).ok();
    let notes = value.get("notes")?.as_list()?.iter().map(|note| note.as_text().map(str::to_owned));
    Some(Trained {
        program: graph("program")?,
        scoring: graph("scoring")?,
        text: value.get("text")?.as_text()?.to_owned(),
        notes: notes.collect::<Option<_>>()?,
    })
}

fn observation(observation: &Observation) -> Value {
    let witness = |output: &str, count: u32| Record::new().with("output", output).with("count", count).into();
    let outputs: Vec<Value> = observation.outputs.iter().map(|output| witness(&output.output, output.count)).collect();
    Record::new()
        .with("input", observation.input.as_str())
        .with("outputs", outputs)
        .with("errors", observation.errors)
        .into()
}

fn texts(items: &[String]) -> Vec<Value> {
    items.iter().map(|item| item.as_str().into()).collect()
}

/// Reads the result of `auto:pass/extract#synthesize`.
pub fn search(result: &str) -> Result<Search, Fault> {
    read_search(result).ok_or_else(|| Fault {
        code: "bad-output".into(),
        message: "auto:pass/extract#synthesize returned something that is not a search result".into(),
        at: None,
    })
}

fn read_search(result: &str) -> Option<Search> {
    let value = Value::parse(result).ok()?;
    let found: Option<Vec<Candidate>> = value.get("found")?.as_list()?.iter().map(candidate).collect();
    let notes = value.get("notes")?.as_list()?.iter().map(|note| note.as_text().map(str::to_owned));
    let wrong = value.get("wrong")?.as_list()?.iter().map(|at| at.as_u64().and_then(|at| u32::try_from(at).ok()));
    Some(Search {
        found: found?,
        steps: value.get("steps")?.as_u64()?,
        exhausted: value.get("exhausted")?.as_bool()?,
        notes: notes.collect::<Option<_>>()?,
        wrong: wrong.collect::<Option<_>>()?,
        question: match value.get("question") {
            None | Some(Value::Null) => None,
            Some(asked) => Some(question(asked)?),
        },
    })
}

fn question(value: &Value) -> Option<Question> {
    let text = |name| value.get(name)?.as_text().map(str::to_owned);
    Some(Question { input: text("input")?, first: text("first")?, other: text("other")? })
}

fn candidate(value: &Value) -> Option<Candidate> {
    Some(Candidate {
        program: STANDARD.decode(value.get("program")?.as_text()?).ok()?,
        cost: u32::try_from(value.get("cost")?.as_u64()?).ok()?,
        text: value.get("text")?.as_text()?.to_owned(),
    })
}
