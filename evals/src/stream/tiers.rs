//! The tiers of the stream: two artifacts that the compiler's passes make of what was recorded.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, anyhow, bail, ensure};
use auto_engine::{Engine, Options as EngineOptions, Providers};
use auto_json::{Record, Value};
use auto_kit::types::{Observation, Witness};
use auto_runtime::{Limits, Module, Outcome, Sandbox};
use auto_schema::ir::{Body, Bounds, Edge, Effects, End, Graph, Node, Port, Uncertainty};
use auto_schema::types::Type;
use wasmtime::component::Val;

use crate::passes::native::{bytes_val, field, observations_val, record};

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The artifact of what was recorded.
    Recorded,
    /// The trained one.
    Trained,
    /// The model, which is asked.
    Model,
}

/// What the trained artifact says of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its answer.
    pub answer: String,
    /// How little of what it knows speaks for it, in parts per million.
    pub doubt: u64,
    /// How close the second best is.
    pub unsure: u64,
}

/// What became of an input.
#[derive(Clone, Debug)]
pub struct Item {
    /// It.
    pub input: String,
    /// What the model would say.
    pub expected: String,
    /// What was answered.
    pub answer: String,
    /// By whom.
    pub by: By,
    /// What the trained artifact says, where it was asked.
    pub said: Option<Said>,
    /// How unsure it may be; none where it may not answer.
    pub limit: Option<u64>,
    /// Whether the artifacts were made again after it.
    pub recompiled: bool,
}

/// The passes in the host.
pub struct Bench {
    engine: Engine,
    providers: Providers,
    sandbox: Sandbox,
    input: Type,
    /// The field that has the text; none where the input is one.
    field: Option<String>,
}

/// Steps of training for each observation.
const EPOCHS: u64 = 60;

impl Bench {
    /// With the components of a folder, for inputs like this one.
    pub fn new(components: Option<&Path>, like: &str) -> anyhow::Result<Bench> {
        let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/components");
        let folder = components.unwrap_or(&built);
        let engine = Engine::new(EngineOptions::default())?;
        let mut providers = Providers::new();
        for name in ["distill", "emit"] {
            let path = folder.join(format!("{name}.wasm"));
            let bytes = std::fs::read(&path)
                .with_context(|| format!("reading {} (cargo xtask build makes it)", path.display()))?;
            providers.push(engine.load(name, bytes)?);
        }
        let like = Value::parse(like)?;
        let field = match &like {
            Value::Text(_) => None,
            Value::Record(fields) if fields.len() == 1 => fields.iter().next().map(|(key, _)| key.to_owned()),
            _ => bail!("an input is a text, or an object with one"),
        };
        let input = Type::infer([&like].into_iter());
        Ok(Bench { engine, providers, sandbox: Sandbox::new(Limits::default())?, input, field })
    }

    fn call(&self, interface: &str, function: &str, arguments: &[Val]) -> anyhow::Result<Val> {
        let interface = format!("auto:pass/{interface}@0.1.0");
        let results = self.engine.call(&self.providers, &interface, function, arguments)?;
        match results.into_iter().next() {
            Some(Val::Result(Ok(Some(value)))) => Ok(*value),
            other => Err(anyhow!("{interface}#{function} gave {other:?}")),
        }
    }

    fn emitted(&self, graph: &[u8]) -> anyhow::Result<Module> {
        let module = bytes(&self.call("emit", "emit", &[bytes_val(graph)])?, "module")?;
        Ok(self.sandbox.load(&module)?)
    }

    /// Answers what was recorded, and is undefined elsewhere.
    fn recorded(&self, known: &BTreeMap<String, String>) -> anyhow::Result<Module> {
        let mut table = Record::new();
        for (input, output) in known {
            table.set(self.text(input)?, Value::parse(output)?);
        }
        let place =
            self.field.as_ref().map_or("$".to_owned(), |field| format!("get($, {})", Value::from(field.as_str())));
        let source = format!("get({}, {place})", Value::from(table));
        let source = auto_lang::parse(&source).map_err(|error| anyhow!("{error}"))?.to_string();
        let node = |id, inputs: &[&Type], output: Option<&Type>, body| Node {
            id,
            name: String::new(),
            inputs: inputs.iter().map(|ty| Port::new("in", (*ty).clone())).collect(),
            outputs: output.iter().map(|ty| Port::new("out", (*ty).clone())).collect(),
            effects: Effects::default(),
            uncertainty: Uncertainty::Deterministic,
            bounds: Bounds::default(),
            body,
        };
        let json = Type::Json;
        let nodes = vec![
            node(0, &[], Some(&self.input), Body::Input),
            node(1, &[&self.input], Some(&json), Body::Expression { source }),
            node(2, &[&json], None, Body::Output),
        ];
        let edge = |from| Edge { from: End { node: from, port: 0 }, to: End { node: from + 1, port: 0 } };
        let graph = Graph { name: "recorded".into(), nodes, edges: (0..2).map(edge).collect(), regions: vec![] };
        self.emitted(&graph.to_bytes().map_err(|wrong| anyhow!("{wrong:?}"))?)
    }

    fn text(&self, input: &str) -> anyhow::Result<String> {
        let value = Value::parse(input)?;
        let text = match &self.field {
            None => value.as_text(),
            Some(field) => value.get(field).and_then(Value::as_text),
        };
        text.map(str::to_owned).with_context(|| format!("{input} is not like the first input"))
    }

    /// Says what it makes of any text; none where there is nothing to learn yet.
    fn trained(&self, known: &BTreeMap<String, String>) -> anyhow::Result<Option<Module>> {
        let observation = |(input, output): (&String, &String)| Observation {
            input: input.clone(),
            outputs: vec![Witness { output: output.clone(), count: 1 }],
            errors: 0,
        };
        let observations: Vec<Observation> = known.iter().map(observation).collect();
        let text = |text: &str| Val::String(text.to_owned());
        let options = record([
            ("input-type", text(&self.input.to_string())),
            ("output-type", text("json")),
            ("seed", Val::U64(1)),
            ("steps", Val::U64(EPOCHS * observations.len() as u64)),
            ("max-bytes", Val::U32(320_000)),
            ("given", Val::List(Vec::new())),
        ]);
        let results = self.engine.call(
            &self.providers,
            "auto:pass/distill@0.1.0",
            "train",
            &[observations_val(&observations), options],
        )?;
        match results.into_iter().next() {
            Some(Val::Result(Ok(Some(trained)))) => Ok(Some(self.emitted(&bytes(&trained, "scoring")?)?)),
            // One output for all, or fewer than two inputs for each: nothing to tell apart.
            Some(Val::Result(Err(_))) => Ok(None),
            other => Err(anyhow!("distill gave {other:?}")),
        }
    }
}

fn bytes(value: &Val, name: &str) -> anyhow::Result<Vec<u8>> {
    let Some(Val::List(items)) = field(value, name) else { bail!("no {name}") };
    Ok(items.iter().filter_map(|item| if let Val::U8(byte) = item { Some(*byte) } else { None }).collect())
}

/// What was recorded, and what was made of it.
pub struct Ratchet<'b> {
    bench: &'b Bench,
    alpha: u32,
    known: BTreeMap<String, String>,
    recorded: Option<Module>,
    trained: Option<Module>,
    /// Of each input that the model was asked for: how unsure the artifact was that did not know
    /// it, and whether it would have been right.
    tested: Vec<(u64, bool)>,
}

impl<'b> Ratchet<'b> {
    /// Nothing is recorded yet.
    pub fn new(bench: &'b Bench, alpha: u32) -> Ratchet<'b> {
        Ratchet { bench, alpha, known: BTreeMap::new(), recorded: None, trained: None, tested: Vec::new() }
    }

    /// Takes an input through the tiers; `expected` is what the model says if it is asked.
    pub fn take(&mut self, input: &str, expected: &str) -> anyhow::Result<Item> {
        let mut item = Item {
            input: input.to_owned(),
            expected: expected.to_owned(),
            answer: expected.to_owned(),
            by: By::Model,
            said: None,
            limit: None,
            recompiled: false,
        };
        if let Some(answer) = self.recorded.as_ref().map(|module| answer(module, input)).transpose()?.flatten() {
            (item.answer, item.by) = (answer, By::Recorded);
            return Ok(item);
        }
        item.said = self.trained.as_ref().map(|module| said(module, input)).transpose()?;
        item.limit = limit(&self.tested, self.alpha);
        if let (Some(said), Some(limit)) = (&item.said, item.limit)
            && unsureness(said) <= limit
        {
            (item.answer, item.by) = (said.answer.clone(), By::Trained);
            return Ok(item);
        }
        if let Some(said) = &item.said {
            self.tested.push((unsureness(said), said.answer == expected));
        }
        self.known.insert(input.to_owned(), expected.to_owned());
        self.recorded = Some(self.bench.recorded(&self.known)?);
        self.trained = self.bench.trained(&self.known)?;
        item.recompiled = true;
        Ok(item)
    }
}

/// Both scores as one: the worse.
fn unsureness(said: &Said) -> u64 {
    said.doubt.max(said.unsure)
}

/// How unsure the trained artifact may be when it answers: what the setting says, and less than it
/// was where it would have been wrong. Each input that the model was asked for is such a test, of
/// an artifact that had not been shown it.
fn limit(tested: &[(u64, bool)], alpha: u32) -> Option<u64> {
    let wrong = tested.iter().filter(|(_, right)| !right).map(|(unsure, _)| unsure.saturating_sub(1)).min();
    let limit = u64::from(alpha).min(wrong.unwrap_or(u64::MAX));
    (limit > 0).then_some(limit)
}

/// What an artifact answers; none where it abstains.
fn answer(module: &Module, input: &str) -> anyhow::Result<Option<String>> {
    match module.run_fresh(input)?.0 {
        Outcome::Answer(answer) => Ok(Some(answer)),
        Outcome::Abstain { .. } => Ok(None),
        Outcome::Request { capability, .. } => bail!("the artifact asks for {capability}"),
    }
}

fn said(module: &Module, input: &str) -> anyhow::Result<Said> {
    let answer = answer(module, input)?.context("a scoring artifact abstains")?;
    let answer = Value::parse(&answer)?;
    let number = |name| answer.get(name).and_then(Value::as_u64).with_context(|| format!("{answer} has no {name}"));
    let value = answer.get("value").with_context(|| format!("{answer} has no value"))?;
    let said = Said { answer: value.canonical().into_string(), doubt: number("doubt")?, unsure: number("unsure")? };
    ensure!(said.doubt <= 1_000_000 && said.unsure <= 1_000_000, "scores are parts per million");
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_the_setting_until_the_artifact_would_have_been_wrong_below_it() {
        let tested = [(500, true), (900, false), (700, true)];
        assert_eq!((limit(&[], 800), limit(&tested, 800), limit(&tested, 1_000)), (Some(800), Some(800), Some(899)));
        assert_eq!(
            (limit(&tested, 0), limit(&[(1, false)], 800)),
            (None, None),
            "the strictest answers nothing unseen"
        );
    }
}
