//! `passes`: what it costs that passes are sandboxed components: one call of each through
//! the real engine, beside the same code called as an ordinary Rust function on the same
//! observations; and what the engine's own parts cost.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, ensure};
use auto_engine::{Ended, Engine, Fault, Job, Matter, Options as EngineOptions, Pass, Providers, Runs};
use auto_json::{Record, Value};
use auto_kit::types::Observation;
use auto_schema::contract::Contract;
use wasmtime::component::Val;

use crate::clock::{self, Effort, Subject, figure};
use crate::native::{Reply, demo};

pub mod native;
mod tiny;

/// Times pass calls, instantiation, memo hits and the journal, on the demo's tickets.
///
/// Each pass is first checked to give the same as the native code it was built from.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  cargo xtask build && cargo run --release -p auto-evals -- passes")]
pub struct Options {
    /// The folder of built components; target/components when left out
    #[arg(long)]
    components: Option<PathBuf>,
    /// Make --calls calls of this part and nothing else, and time nothing: a pass by its name,
    /// `instantiation` or `memo_hit`. For counting instructions, by the difference of two counts
    #[arg(long, value_name = "PART", requires = "calls")]
    only: Option<String>,
    #[command(flatten)]
    effort: Effort,
}

impl Options {
    /// Measures, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        let folder = self.components.unwrap_or_else(|| repository().join("target/components"));
        let scratch = tempfile::tempdir().context("a temporary folder")?;
        let bench = Bench::new(&folder)?;
        if let Some(part) = &self.only {
            let calls = self.effort.calls.unwrap_or(1);
            bench.repeat(part, calls, scratch.path())?;
            return Ok(Record::new().with("part", part.as_str()).with("calls", calls));
        }
        let mut passes = Record::new();
        for pair in bench.pairs()? {
            passes.set(pair.name, bench.compare(&self.effort, &pair)?);
        }
        let report = Record::new()
            .with("observations", bench.observations.len())
            .with("rounds", self.effort.rounds)
            .with("passes", passes);
        bench.engine_parts(&self.effort, scratch.path(), report)
    }
}

fn repository() -> PathBuf {
    // A benchmark is run from a checkout, by `cargo run`.
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Everything that is measured, loaded.
struct Bench {
    engine: Engine,
    providers: Providers,
    gate: Arc<Pass>,
    observations: Vec<Observation>,
}

/// A pass function and the native code for the same.
struct Pair {
    name: &'static str,
    interface: &'static str,
    function: &'static str,
    arguments: Vec<Val>,
    native: Box<dyn Fn() -> anyhow::Result<Val>>,
}

impl Bench {
    fn new(folder: &Path) -> anyhow::Result<Bench> {
        // Without a cache there is no memo, so every call is made.
        let engine = Engine::new(EngineOptions::default())?;
        let load = |name: &str| -> anyhow::Result<Arc<Pass>> {
            let path = folder.join(format!("{name}.wasm"));
            let why = || format!("reading {} (cargo xtask build makes it)", path.display());
            Ok(engine.load(name, std::fs::read(&path).with_context(why)?)?)
        };
        let mut providers = Providers::new();
        for name in ["extract", "check", "guard", "emit"] {
            providers.push(load(name)?);
        }
        providers.push(engine.load("tiny", tiny::adder()?)?);
        let gate = load("gate")?;
        Ok(Bench { gate, observations: observations()?, engine, providers })
    }

    /// The passes in the order of a compilation, each on what the one before gave.
    fn pairs(&self) -> anyhow::Result<Vec<Pair>> {
        let on = &self.observations;
        let program =
            native::synthesize(on)?.into_iter().next().context("extract found no program for the demo")?.program;
        let guarded = native::calibrate(on, &program)?;
        let rows = || native::observations_val(on);
        let (for_extract, for_check, for_guard) = (on.clone(), on.clone(), on.clone());
        let (checked, calibrated, emitted) = (program.clone(), program.clone(), guarded.clone());
        Ok(vec![
            Pair {
                name: "extract",
                interface: "auto:pass/extract@0.1.0",
                function: "synthesize",
                arguments: vec![rows(), native::hints_val(), native::budget_val()],
                native: Box::new(move || Ok(native::texts_val(&native::synthesize(&for_extract)?))),
            },
            Pair {
                name: "check",
                interface: "auto:pass/check@0.1.0",
                function: "check",
                arguments: vec![native::bytes_val(&program), rows()],
                native: Box::new(move || native::check(&checked, &for_check)),
            },
            Pair {
                name: "guard",
                interface: "auto:pass/guard@0.1.0",
                function: "calibrate",
                arguments: vec![rows(), native::bytes_val(&program), Val::List(vec![]), native::policy_val()],
                native: Box::new(move || Ok(native::bytes_val(&native::calibrate(&for_guard, &calibrated)?))),
            },
            Pair {
                name: "emit",
                interface: "auto:pass/emit@0.1.0",
                function: "emit",
                arguments: vec![native::bytes_val(&guarded)],
                native: Box::new(move || native::emit(&emitted)),
            },
        ])
    }

    fn call(&self, pair: &Pair) -> Result<Val, Fault> {
        let results = self.engine.call(&self.providers, pair.interface, pair.function, &pair.arguments);
        // The trace would grow for as long as the benchmark runs.
        self.engine.take_trace();
        Ok(results?.into_iter().next().unwrap_or(Val::Bool(false)))
    }

    /// Checks that both give the same, then times them.
    fn compare(&self, effort: &Effort, pair: &Pair) -> anyhow::Result<Record> {
        let component = self.call(pair)?;
        let (component, native) = (native::comparable(pair.name, component)?, (pair.native)()?);
        ensure!(
            component == native,
            "{} gives another result natively; the component is of other sources: cargo xtask build",
            pair.name
        );
        let mut subjects = [
            Subject::new(pair.name, || drop(std::hint::black_box(self.call(pair)))),
            Subject::new("native", || drop(std::hint::black_box((pair.native)()))),
        ];
        let times = clock::measure(effort, &mut subjects);
        Ok(Record::new()
            .with("component", figure(times[0].median(), 0))
            .with("native", figure(times[1].median(), 0))
            .with("ratio", figure(times[0].ratio(&times[1]), 3)))
    }

    /// Calls one part so often.
    fn repeat(&self, part: &str, calls: u64, scratch: &Path) -> anyhow::Result<()> {
        let pairs = self.pairs()?;
        let remembering =
            Engine::new(EngineOptions { cache: Some(scratch.join("cache")), ..EngineOptions::default() })?;
        let (engine, pair) = match part {
            "instantiation" => (&self.engine, None),
            "memo_hit" => (&remembering, pairs.iter().find(|pair| pair.name == "emit")),
            name => {
                let pair = pairs.iter().find(|pair| pair.name == name);
                (&self.engine, Some(pair.with_context(|| format!("there is no part `{name}`"))?))
            }
        };
        let numbers = [Val::U32(1), Val::U32(2)];
        for _ in 0..calls {
            let results = match pair {
                Some(pair) => engine.call(&self.providers, pair.interface, pair.function, &pair.arguments),
                None => engine.call(&self.providers, tiny::INTERFACE, "add", &numbers),
            };
            let results = results?;
            ensure!(!matches!(results.first(), Some(Val::Result(Err(_)))), "{part} refuses: {results:?}");
            engine.take_trace();
        }
        Ok(())
    }

    /// What the engine itself costs, in nanoseconds.
    fn engine_parts(&self, effort: &Effort, scratch: &Path, report: Record) -> anyhow::Result<Record> {
        let remembering =
            Engine::new(EngineOptions { cache: Some(scratch.join("cache")), ..EngineOptions::default() })?;
        let pairs = self.pairs()?;
        let emit = pairs.last().context("no passes")?;
        let numbers = [Val::U32(1), Val::U32(2)];
        let add = || self.engine.call(&self.providers, tiny::INTERFACE, "add", &numbers);
        ensure!(add()? == [Val::U32(3)], "the smallest component does not add");
        let recall = || remembering.call(&self.providers, emit.interface, emit.function, &emit.arguments);
        recall()?;
        remembering.take_trace();
        recall()?;
        ensure!(remembering.take_trace().iter().all(|call| call.memo_hit), "the memo was not hit");

        let mut subjects = [
            Subject::new("instantiation", || {
                drop(std::hint::black_box(add()));
                self.engine.take_trace();
            }),
            Subject::new("memo_hit", || {
                drop(std::hint::black_box(recall()));
                remembering.take_trace();
            }),
        ];
        let times = clock::measure(effort, &mut subjects);
        let journal = self.journal(effort, scratch)?;
        Ok(report
            .with("instantiation", figure(times[0].median(), 0))
            .with("memo_hit", figure(times[1].median(), 0))
            .with("journal", journal))
    }

    /// One journaled host call of a driver, by the difference between drivers that make
    /// many and none: a job that adds two numbers, whose result is synced to disk, and no
    /// job at all, which is only written down. Beside it, an append and sync of as many
    /// bytes.
    fn journal(&self, effort: &Effort, scratch: &Path) -> anyhow::Result<Record> {
        const CALLS: u32 = 64;
        let contract =
            Contract::load(&repository().join("evals/demo/demo.contract.toml")).map_err(|e| anyhow!("{e}"))?;
        let driver = |calls, job| Ok::<_, anyhow::Error>(self.engine.load("driver", tiny::driver(calls, job)?)?);
        let (idle, adding, asking) = (driver(0, false)?, driver(CALLS, true)?, driver(CALLS, false)?);
        let run = |driver: &Arc<Pass>| {
            let job = Job {
                config: Record::new().into(),
                matter: Some(Matter {
                    contract: contract.clone(),
                    observations: vec![],
                    runs: Runs::default(),
                    pinned_gate: self.gate.clone(),
                    trusted_gate: false,
                    predicates: Vec::new(),
                }),
                run_dir: scratch.join("run"),
                experiments: None,
                builtin: [self.gate.digest].into(),
                progress: Box::new(|_, _, _| {}),
                waiting: Box::new(|_| {}),
                teacher: None,
                reissue: false,
            };
            let report = self.engine.run_driver(driver, &self.providers, job).map(Ended::close);
            self.engine.take_trace();
            report
        };
        for driver in [&idle, &adding, &asking] {
            run(driver)?;
        }
        let mut plain = std::fs::File::create(scratch.join("plain"))?;
        let mut subjects = [
            Subject::new("driver, no call", || drop(std::hint::black_box(run(&idle)))),
            Subject::new("driver, 64 jobs", || drop(std::hint::black_box(run(&adding)))),
            Subject::new("driver, 64 times no job", || drop(std::hint::black_box(run(&asking)))),
            Subject::new("append and sync", || drop(plain.write_all(&[0; 80]).and_then(|()| plain.sync_data()))),
        ];
        let times = clock::measure(effort, &mut subjects);
        let each = |index: usize| figure((times[index].median() - times[0].median()) / f64::from(CALLS), 0);
        Ok(Record::new()
            .with("synced", each(1))
            .with("unsynced", each(2))
            .with("native_append_and_sync", figure(times[3].median(), 0)))
    }
}

/// The demo's tickets with the answers of its policy, as the host would hand them over.
fn observations() -> anyhow::Result<Vec<Observation>> {
    let path = repository().join("evals/demo/tickets.jsonl");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut pairs = Vec::new();
    for line in text.lines() {
        let input = Value::parse(line)?.to_string();
        match demo::policy(&input) {
            Reply::Answer(answer) => pairs.push((input, answer)),
            other => anyhow::bail!("the policy says {other:?} to {input}"),
        }
    }
    Ok(auto_kit::testing::observations(pairs.iter().map(|(input, answer)| (input.as_str(), answer.as_str()))))
}
