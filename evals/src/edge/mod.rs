//! `edge`: the same artifact and the same inputs on every engine there is on this machine. Every
//! byte that comes back must be equal.

mod chromium;
mod inside;
mod outside;
mod workerd;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use auto_export::{Package, Target, Vector, default_name};
use auto_json::{Record, Value};
use auto_runtime::{Limits, Program, Sandbox};
use auto_schema::cbin::Cbin;

use crate::clock::figure;
use crate::native::damaged;

/// Runs an artifact on every engine that is here, and compares what they give, byte for byte.
///
/// Inputs are those given, then copies of them with something wrong or unusual about each, up to
/// --count. An engine that is not on this machine is named with what is missing.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  auto-evals edge --artifact demo.cbin --inputs-file held-out.jsonl")]
pub struct Options {
    /// The artifact
    #[arg(long)]
    artifact: PathBuf,
    /// An input, a JSON text; may be given more than once
    #[arg(long = "input")]
    inputs: Vec<String>,
    /// A file with more inputs, one JSON text a line
    #[arg(long)]
    inputs_file: Option<PathBuf>,
    /// How many inputs to run and to compare
    #[arg(long, default_value_t = 1000)]
    count: usize,
    /// How often to run those that were given, a thousand calls a round; call times are the median
    #[arg(long, default_value_t = 11)]
    rounds: usize,
}

/// What an engine did.
struct Run {
    /// What each input came to: [`inside::line`].
    lines: Vec<String>,
    /// From the bytes to a compiled module.
    load_ns: f64,
    /// A call of an input that was given, with the text going in and coming out.
    call_ns: f64,
    /// The artifact's memory after all calls.
    memory: u64,
}

/// The task of an engine.
#[derive(Clone, Copy)]
struct Work<'a> {
    file: &'a [u8],
    inputs: &'a [String],
    rounds: usize,
    /// How many of the inputs, from the first, are timed: those that were given.
    timed: usize,
    /// Whether an instance may be kept between calls.
    reusable: bool,
    /// The package for engines that are programs of their own, by its target.
    package: &'a dyn Fn(Target) -> anyhow::Result<Vec<auto_export::File>>,
}

/// Calls in a round, or a few more.
const CALLS: usize = 1000;

type Engine = fn(&Work<'_>) -> anyhow::Result<Run>;

impl Options {
    /// Runs all, and returns the report; an error where engines differ.
    pub fn run(self) -> anyhow::Result<Record> {
        let file = std::fs::read(&self.artifact).with_context(|| format!("reading {}", self.artifact.display()))?;
        let artifact = Cbin::read(&file).map_err(|damage| anyhow::anyhow!("{}: {damage}", self.artifact.display()))?;
        let given = self.inputs()?;
        let timed = given.len().min(self.count);
        let inputs = grown(given, self.count);
        let package = |target| {
            let vectors: [Vector; 0] = [];
            let package = Package { artifact: &artifact, file: &file, name: default_name("edge"), vectors: &vectors };
            package.files(target).map_err(|why| anyhow::anyhow!("{why:?}"))
        };
        let work = Work {
            file: &file,
            inputs: &inputs,
            rounds: self.rounds.max(1),
            timed,
            reusable: artifact.manifest.reusable,
            package: &package,
        };
        let engines: [(&str, Engine); 6] = [
            ("wasmtime", inside::wasmtime),
            ("wasmi", inside::wasmi),
            ("node", outside::node),
            ("chromium", chromium::chromium),
            ("python", outside::python),
            ("workerd", workerd::workerd),
        ];
        let mut reference: Option<Run> = None;
        let mut report = Record::new();
        for (name, engine) in engines {
            match engine(&work) {
                Ok(run) => {
                    eprintln!("{name:>24} {:>14.1} ns a call, {:.2} ms to load", run.call_ns, run.load_ns / 1e6);
                    ensure!(
                        run.lines.len() == inputs.len(),
                        "{name} gave {} of {} results",
                        run.lines.len(),
                        inputs.len()
                    );
                    if let Some(reference) = &reference {
                        compare(name, &inputs, reference, &run)?;
                    }
                    report.set(name, described(&run));
                    reference.get_or_insert(run);
                }
                Err(error) => {
                    eprintln!("{name:>24} not measured: {error:#}");
                    report.set(name, Record::new().with("missing", format!("{error:#}")));
                }
            }
        }
        let kinds = reference.map(|run| kinds(&run.lines)).unwrap_or_default();
        Ok(Record::new()
            .with("artifact", artifact.id.to_string())
            .with("artifact_bytes", file.len())
            .with("inputs", inputs.len())
            .with("timed_inputs", timed)
            .with("outcomes", kinds)
            .with("equal", true)
            .with("engines", report))
    }

    fn inputs(&self) -> anyhow::Result<Vec<String>> {
        let mut inputs = self.inputs.clone();
        if let Some(path) = &self.inputs_file {
            let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
            inputs.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
        }
        ensure!(!inputs.is_empty(), "no input; give --input JSON or --inputs-file FILE");
        Ok(inputs)
    }
}

/// The inputs, then damaged copies of them and of the copies, up to `count` different ones.
fn grown(mut inputs: Vec<String>, count: usize) -> Vec<String> {
    let mut seen: std::collections::BTreeSet<String> = inputs.iter().cloned().collect();
    let mut next = 0;
    while inputs.len() < count && next < inputs.len() {
        let copies = damaged(&inputs[next]);
        inputs.extend(copies.into_iter().filter(|copy| seen.insert(copy.clone())));
        next += 1;
    }
    inputs.truncate(count);
    inputs
}

fn compare(name: &str, inputs: &[String], reference: &Run, run: &Run) -> anyhow::Result<()> {
    for ((input, expected), got) in inputs.iter().zip(&reference.lines).zip(&run.lines) {
        ensure!(expected == got, "{name} gives {got:?} for {input:?}, and wasmtime {expected:?}");
    }
    ensure!(
        run.memory == reference.memory,
        "the artifact's memory has {} bytes in {name}, and {} in wasmtime",
        run.memory,
        reference.memory
    );
    Ok(())
}

fn described(run: &Run) -> Record {
    Record::new()
        .with("load_ms", figure(run.load_ns / 1e6, 3))
        .with("call_ns", figure(run.call_ns, 1))
        .with("memory_bytes", run.memory)
}

/// How many inputs came to what.
fn kinds(lines: &[String]) -> Record {
    let mut kinds = std::collections::BTreeMap::<&str, usize>::new();
    lines.iter().for_each(|line| *kinds.entry(line.split('\t').next().unwrap_or_default()).or_default() += 1);
    kinds.into_iter().fold(Record::new(), |record, (kind, count)| record.with(kind, Value::from(count)))
}

/// The engine that everything else is held to.
fn program(file: &[u8]) -> anyhow::Result<Program> {
    Ok(Program::load(&Sandbox::new(Limits::default())?, file)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn inputs_grow_to_so_many_different_ones() {
        let inputs = super::grown(vec![r#"{"a":"b"}"#.to_owned()], 50);
        let different: std::collections::BTreeSet<&String> = inputs.iter().collect();
        assert_eq!((inputs.len(), different.len()), (50, 50));
    }
}
