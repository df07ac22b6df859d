//! `registry add`: puts an artifact in, with what is said about it.

use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

use auto_json::{Record, Value};
use auto_registry::{Envelope, Evidence, TagName, now, read_bundle};
use auto_runtime::{Limits, Program, Sandbox};
use auto_schema::cbin::Cbin;
use auto_schema::shown_path;
use clap::Args;

use crate::components::artifact_cache;
use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::lines::{Line, Lines};
use crate::options::Global;
use crate::registries::{KeyOption, RegistryOption, beside};
use crate::reply::{Exit, Reply};

/// Put an artifact into the registry, signed, and name it
///
/// What is signed is the digest of the file, its manifest, and where they are given the contract
/// and the eval run that it cites, and how long calls took here. What was signed before and lies
/// beside the file is taken in too.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry add triage.cbin --as team/triage --key ours.pem \\\n      \
    --contract triage.contract.toml --runs auto-runs --measure held-out.jsonl")]
pub struct Add {
    #[command(flatten)]
    registry: RegistryOption,
    #[command(flatten)]
    key: KeyOption,
    /// The artifact
    file: PathBuf,
    /// Let this name lead to it: NAME or NAME:TAG
    #[arg(long = "as", value_name = "NAME")]
    name: Option<TagName>,
    /// What to say of it in the log of the name
    #[arg(long, value_name = "TEXT", default_value = "", requires = "name")]
    note: String,
    /// The contract that it was compiled with
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// The folder with the record of the eval run that it cites
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Run it on these inputs, one a line, and sign how long that took
    #[arg(long, value_name = "FILE")]
    measure: Option<PathBuf>,
    /// Signed statements of others about it (DSSE, one a line)
    #[arg(long, value_name = "FILE")]
    statements: Vec<PathBuf>,
}

impl Add {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let bytes = files::read(&self.file)?;
        let artifact = Cbin::read(&bytes).map_err(|damage| Failure::from(damage).at(shown_path(&self.file)))?;
        let key = self.key.read(global)?;
        let mut envelopes = self.given()?;
        let said = self.evidence(global, &bytes, &artifact)?.statement(&artifact)?;
        let mut envelope = Envelope::unsigned(said.to_payload());
        key.iter().for_each(|key| envelope.sign(key));
        envelopes.push(envelope);

        let registry = self.registry.create(global)?;
        let added = registry.add(&bytes, &envelopes)?;
        let mut text = format!("{} {}", if added.new { "added" } else { "already there, signed again:" }, added.id);
        let mut fields = Record::new().with("id", added.id.to_string()).with("new", added.new);
        if let Some(name) = &self.name {
            let log = registry.tag(name, added.id, &self.note, now(), key.as_ref())?;
            text.push_str(&format!("\n{name} leads to it ({})", log.head().number));
            fields.set("tag", name.to_string());
            fields.set("number", log.head().number);
        }
        match &key {
            Some(key) => fields.set("key", key.public().id().to_string()),
            None => text.push_str("\nnobody has signed it: those who use it have to allow that"),
        }
        Ok(Reply::done("added", text, fields))
    }

    /// Statements from files, that beside the artifact among them.
    fn given(&self) -> Result<Vec<Envelope>, Failure> {
        let beside = beside(&self.file);
        let beside = beside.symlink_metadata().is_ok().then_some(beside);
        let mut envelopes = Vec::new();
        for path in self.statements.iter().chain(&beside) {
            inputs::note(path);
            let bytes = files::read_regular(path)?;
            envelopes.extend(read_bundle(&bytes).map_err(|error| Failure::from(error).at(shown_path(path)))?);
        }
        Ok(envelopes)
    }

    fn evidence(&self, global: &Global, bytes: &[u8], artifact: &Cbin) -> Result<Evidence, Failure> {
        let contract =
            self.contract.as_ref().map(|path| files::contract(path).map(|(contract, _)| contract.to_value()));
        let eval_run = self.runs.as_ref().map(|folder| {
            let path = folder.join(format!("{}.json", artifact.manifest.eval_run));
            let bytes = files::read_regular(&path)?;
            Value::parse(&bytes).map_err(|error| {
                Failure::new(Exit::Integrity, "other-eval-run", error.to_string()).at(shown_path(&path))
            })
        });
        let latency = self.measure.as_ref().map(|path| measure(global, bytes, path)).transpose()?;
        let machine = latency.is_some().then(machine);
        Ok(Evidence { at: now(), contract: contract.transpose()?, eval_run: eval_run.transpose()?, latency, machine })
    }
}

/// Runs the artifact on every input a few times, and gives what a call took.
fn measure(global: &Global, bytes: &[u8], inputs: &Path) -> Result<Value, Failure> {
    const ROUNDS: usize = 5;
    let sandbox = Sandbox::with_cache(Limits::default(), artifact_cache(global)?)?;
    let program = Program::load(&sandbox, bytes)?;
    let mut session = program.session();
    let mut lines = Lines::new(BufReader::new(files::reader(inputs)?), sandbox.limits().input);
    let mut texts = Vec::new();
    while let Some((_, line)) = lines.next().map_err(|error| files::unreadable(inputs, &error))? {
        if let Line::Whole(line) = line {
            texts.push(String::from_utf8_lossy(line).into_owned());
        }
    }
    let mut took = Vec::with_capacity(texts.len() * ROUNDS);
    for round in 0..=ROUNDS {
        for text in &texts {
            let started = Instant::now();
            let outcome = session.run(text);
            let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            outcome.map_err(|error| Failure::from(error).at(shown_path(inputs)))?;
            // The first round makes the instance.
            if round > 0 {
                took.push(nanos);
            }
        }
    }
    took.sort_unstable();
    let Some(max) = took.last() else {
        return Err(Failure::new(Exit::Usage, "no-inputs", format!("{} has no inputs", shown_path(inputs))));
    };
    let rank = |percent: usize| took[(took.len() * percent).div_ceil(100).saturating_sub(1)];
    let fields = Record::new().with("calls", took.len()).with("p50_ns", rank(50)).with("p95_ns", rank(95));
    Ok(fields.with("max_ns", *max).into())
}

/// Where that was measured.
fn machine() -> Value {
    let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpus.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    Record::new()
        .with("cpu", model.map(|(_, name)| name.trim()).unwrap_or("unknown"))
        .with("cores", cores)
        .with("os", std::env::consts::OS)
        .with("arch", std::env::consts::ARCH)
        .with("tool", concat!("auto-host ", env!("CARGO_PKG_VERSION")))
        .into()
}
