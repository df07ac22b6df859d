//! The passes' own code called natively, and the values that cross to the components.

use anyhow::{anyhow, bail};
use auto_check::program::{Outcome, Program};
use auto_extract::search::{Example, Problem, search};
use auto_json::Value;
use auto_kit::types::{Fault, Observation};
use auto_lang::graphs::program as graph;
use auto_schema::types::Type;
use wasmtime::component::Val;

const INPUT: &str = "record{amount: int, body: text, customer: text, subject: text}";
const OUTPUT: &str = r#"record{priority: enum{"high", "normal", "urgent"}, queue: enum{"accounts", "billing", "returns", "support"}, reference: text, reply: text}"#;
const STEPS: u64 = 20_000_000;
const CANDIDATES: u32 = 8;
const QUANTILE: u32 = 950_000;

/// A program that was found.
pub struct Candidate {
    pub program: Vec<u8>,
    text: String,
}

fn fault(fault: Fault) -> anyhow::Error {
    anyhow!("{}: {}", fault.code, fault.message)
}

/// What `extract` does around and in its search.
pub fn synthesize(on: &[Observation]) -> anyhow::Result<Vec<Candidate>> {
    let (input, output): (Type, Type) = (ty(INPUT)?, ty(OUTPUT)?);
    let mut examples = Vec::new();
    for row in auto_kit::rows(on) {
        let row = row.map_err(fault)?;
        let Some((output, _)) = row.outputs.into_iter().next() else { bail!("an input without output") };
        examples.push(Example { input: row.input, output });
    }
    let problem = Problem::new(&examples, STEPS, CANDIDATES as usize);
    let found = search(&problem).programs.into_iter().map(|(program, _)| {
        let graph = graph(&program, &input, &output).to_bytes().map_err(|_| anyhow!("not a graph"))?;
        Ok(Candidate { program: graph, text: program.to_string() })
    });
    found.collect()
}

/// What `guard` does without held-out rows.
pub fn calibrate(on: &[Observation], program: &[u8]) -> anyhow::Result<Vec<u8>> {
    let input = |observation: &Observation| auto_kit::json(&observation.input, "/input").map_err(fault);
    let witnesses = on.iter().map(input).collect::<anyhow::Result<Vec<Value>>>()?;
    let guarded = auto_guard::calibrate(&witnesses, auto_kit::graph(program).map_err(fault)?, &[], QUANTILE);
    guarded.map_err(fault)?.to_bytes().map_err(|_| anyhow!("not a graph"))
}

/// What `check` does; how many rows agree.
pub fn check(program: &[u8], on: &[Observation]) -> anyhow::Result<Val> {
    let program = Program::new(auto_kit::graph(program).map_err(fault)?).map_err(|error| anyhow!(error.message))?;
    let agrees = |row: auto_kit::Row| {
        let answer = program.run(&row.input, &mut |_| ());
        matches!((answer, row.outputs.first()), (Outcome::Answer(answer), Some((expected, _))) if answer == *expected)
    };
    let mut agreeing = 0;
    for row in auto_kit::rows(on) {
        agreeing += u32::from(agrees(row.map_err(fault)?));
    }
    Ok(Val::U32(agreeing))
}

/// What `emit` does.
pub fn emit(program: &[u8]) -> anyhow::Result<Val> {
    Ok(bytes_val(&auto_emit::emit(program).map_err(fault)?.module))
}

fn ty(text: &str) -> anyhow::Result<Type> {
    text.parse().map_err(|_| anyhow!("{text} is not a type"))
}

/// The part of a component's result that the native side gives too.
pub fn comparable(name: &str, result: Val) -> anyhow::Result<Val> {
    let Val::Result(Ok(Some(result))) = result else { bail!("{name} gives {result:?}") };
    Ok(match name {
        "extract" => {
            let Some(Val::List(found)) = field(&result, "found") else { bail!("no `found`") };
            Val::List(found.iter().filter_map(|candidate| field(candidate, "text").cloned()).collect())
        }
        "check" => field(&result, "agreeing").cloned().unwrap_or(Val::Bool(false)),
        "emit" => field(&result, "module").cloned().unwrap_or(Val::Bool(false)),
        _ => *result,
    })
}

/// A field of a record.
pub fn field<'a>(record: &'a Val, name: &str) -> Option<&'a Val> {
    match record {
        Val::Record(fields) => fields.iter().find(|(key, _)| key == name).map(|(_, value)| value),
        _ => None,
    }
}

/// A record.
pub fn record<const N: usize>(fields: [(&str, Val); N]) -> Val {
    Val::Record(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

/// `list<observation>`.
pub fn observations_val(on: &[Observation]) -> Val {
    let observation = |row: &Observation| {
        let outputs = row.outputs.iter();
        let witness = outputs
            .map(|seen| record([("output", Val::String(seen.output.clone())), ("count", Val::U32(seen.count))]))
            .collect();
        let input = Val::String(row.input.clone());
        record([("input", input), ("outputs", Val::List(witness)), ("errors", Val::U32(row.errors))])
    };
    Val::List(on.iter().map(observation).collect())
}

/// `hints`.
pub fn hints_val() -> Val {
    let text = |text: &str| Val::String(text.to_owned());
    record([
        ("input-type", text(INPUT)),
        ("output-type", text(OUTPUT)),
        ("unlabelled", Val::List(vec![])),
        ("start", Val::List(vec![])),
        ("wrong-max-ppm", Val::U32(0)),
    ])
}

/// `budget`.
pub fn budget_val() -> Val {
    record([("steps", Val::U64(STEPS)), ("candidates", Val::U32(CANDIDATES))])
}

/// `policy` of the guard.
pub fn policy_val() -> Val {
    record([("quantile", Val::U32(QUANTILE))])
}

/// `list<u8>`.
pub fn bytes_val(bytes: &[u8]) -> Val {
    Val::List(bytes.iter().copied().map(Val::U8).collect())
}

/// The texts of candidates.
pub fn texts_val(found: &[Candidate]) -> Val {
    Val::List(found.iter().map(|candidate| Val::String(candidate.text.clone())).collect())
}
