//! The passes of the compiler in the host, as the compile driver calls them.

use std::path::Path;

use anyhow::{Context, anyhow};
use auto_engine::{Engine, Options as EngineOptions, Providers};
use auto_runtime::{Limits, Module, Sandbox};
use auto_schema::cbin;
use auto_schema::digest::Digest;
use auto_schema::manifest::Manifest;
use auto_schema::types::Type;
use wasmtime::component::Val;

use super::Options;
use super::measure::said;
use super::rows::{Row, json, observations, order};
use crate::passes::native::{bytes_val, field, observations_val, record};

/// How many parts of the training texts are held out in turn.
const FOLDS: u64 = 5;

/// A trained model, as graphs.
pub(super) struct Model {
    program: Vec<u8>,
    /// Answers what the model makes of its answer, too.
    pub(super) scoring: Vec<u8>,
}

/// What the limits promise.
pub(super) struct Promise {
    pub(super) promised: bool,
    pub(super) at_most: u64,
}

/// The passes and a sandbox.
pub(super) struct Bench {
    engine: Engine,
    providers: Providers,
    pub(super) sandbox: Sandbox,
    max_bytes: u32,
    output: String,
}

impl Bench {
    pub(super) fn new(options: &Options) -> anyhow::Result<Bench> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = options.components.clone().unwrap_or_else(|| repository.join("target/components"));
        let engine = Engine::new(EngineOptions::default())?;
        let mut providers = Providers::new();
        for name in ["distill", "guard", "emit"] {
            let path = folder.join(format!("{name}.wasm"));
            let bytes = std::fs::read(&path)
                .with_context(|| format!("reading {} (cargo xtask build makes it)", path.display()))?;
            providers.push(engine.load(name, bytes)?);
        }
        let sandbox = Sandbox::new(Limits::default())?;
        Ok(Bench { engine, providers, sandbox, max_bytes: options.max_bytes, output: "text".to_owned() })
    }

    fn call(&self, interface: &str, function: &str, arguments: &[Val]) -> anyhow::Result<Val> {
        let results =
            self.engine.call(&self.providers, &format!("auto:pass/{interface}@0.1.0"), function, arguments)?;
        match results.into_iter().next() {
            Some(Val::Result(Ok(Some(value)))) => Ok(*value),
            other => Err(anyhow!("{interface}#{function} gave {other:?}")),
        }
    }

    /// A model of labelled texts.
    pub(super) fn train(&self, rows: &[Row], seed: u64) -> anyhow::Result<Model> {
        let text = |text: &str| Val::String(text.to_owned());
        let options = record([
            ("input-type", text("text")),
            ("output-type", text(&self.output)),
            ("seed", Val::U64(seed)),
            ("steps", Val::U64(20_000_000)),
            ("max-bytes", Val::U32(self.max_bytes)),
            ("given", Val::List(Vec::new())),
        ]);
        let trained = self.call("distill", "train", &[observations_val(&observations(rows)), options])?;
        Ok(Model { program: bytes(&trained, "program")?, scoring: bytes(&trained, "scoring")? })
    }

    /// The module of a graph.
    pub(super) fn module(&self, graph: &[u8]) -> anyhow::Result<Module> {
        Ok(self.sandbox.load(&self.emitted(graph)?)?)
    }

    fn emitted(&self, graph: &[u8]) -> anyhow::Result<Vec<u8>> {
        bytes(&self.call("emit", "emit", &[bytes_val(graph)])?, "module")
    }

    /// The program with limits set on what models said that had not been shown it, behind a
    /// guard: as the compile driver makes it.
    pub(super) fn controlled(
        &self,
        model: &Model,
        train: &[Row],
        seed: u64,
        silent_error: u32,
    ) -> anyhow::Result<(Vec<u8>, Promise)> {
        let fold_of = |row: &Row| u64::from(order(seed, &row.text).as_bytes()[0]) % FOLDS;
        let mut scored = Vec::new();
        for fold in 0..FOLDS {
            let (own, others): (Vec<Row>, Vec<Row>) = train.iter().cloned().partition(|row| fold_of(row) == fold);
            let scoring = self.module(&self.train(&others, seed)?.scoring)?;
            for row in &own {
                let said = said(&scoring, row)?;
                let scores = [said.doubt, said.unsure].map(|score| Val::U32(score as u32));
                scored.push(record([
                    ("fold", Val::U32(fold as u32)),
                    ("input", Val::String(json(&row.text))),
                    ("expected", Val::String(json(&row.label))),
                    ("outcome", Val::Variant("answer".to_owned(), Some(Box::new(Val::String(said.answer))))),
                    ("scores", Val::List(scores.to_vec())),
                ]));
            }
            eprintln!("held out {} of {FOLDS}", fold + 1);
        }
        let policy = record([
            ("quantile", Val::U32(950_000)),
            ("silent-error", Val::U32(silent_error)),
            ("confidence", Val::U32(950_000)),
        ]);
        let arguments = [bytes_val(&model.program), Val::List(scored.clone()), policy];
        let controlled = self.call("risk", "control", &arguments)?;
        let promised = matches!(field(&controlled, "promised"), Some(Val::Bool(true)));
        let Some(Val::U32(at_most)) = field(&controlled, "at-most") else { return Err(anyhow!("no at-most")) };
        let program = Val::List(match field(&controlled, "program") {
            Some(Val::List(bytes)) => bytes.clone(),
            other => return Err(anyhow!("the program is {other:?}")),
        });
        // What is new is for the model to doubt: see `auto-compile`.
        let policy = record([("quantile", Val::U32(1_000_000))]);
        let on = observations_val(&observations(train));
        let guarded = self.call("guard", "calibrate", &[on, program, Val::List(scored), policy])?;
        Ok((octets(&guarded)?, Promise { promised, at_most: u64::from(*at_most) }))
    }

    /// A `.cbin` of a program, so that it can be timed as one.
    pub(super) fn sealed(&self, program: &[u8]) -> anyhow::Result<Vec<u8>> {
        let module = self.emitted(program)?;
        let none = Digest::of(b"");
        let manifest = Manifest {
            format: 1,
            task: "classify".into(),
            scope: "task".into(),
            input: Type::Text,
            output: self.output.parse().map_err(|_| anyhow!("no type"))?,
            capabilities: vec![],
            guarded: true,
            contract: none,
            evidence: none,
            eval_run: none,
            code: Digest::of(&module),
            observations: 0,
            agreement: None,
            coverage: None,
            out_of_fold: None,
            out_of_fold_rows: 0,
            steps: None,
            module_bytes: u32::try_from(module.len())?,
            passes: vec![],
            trusted_gate: None,
            reusable: true,
            judged: None,
            notes: vec![],
        };
        cbin::seal(&module, Some(program), &manifest).map_err(|damage| anyhow!("{damage}"))
    }
}

fn bytes(value: &Val, name: &str) -> anyhow::Result<Vec<u8>> {
    octets(field(value, name).ok_or_else(|| anyhow!("no {name}"))?)
}

fn octets(value: &Val) -> anyhow::Result<Vec<u8>> {
    let Val::List(items) = value else { return Err(anyhow!("{value:?} are no bytes")) };
    Ok(items.iter().filter_map(|item| if let Val::U8(byte) = item { Some(*byte) } else { None }).collect())
}
