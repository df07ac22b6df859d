//! Tier 0: the agent or model that an artifact stands for, asked where the artifact does not
//! answer. Its answer is checked against the types, and the contract where there is one; it is
//! recorded with what it cost, so that the next compile knows it.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use auto_json::{Canonical, Record, Value};
use auto_runtime::Program;
use auto_schema::contract::{Contract, SpanKind};
use auto_schema::digest::{Digest, Hasher};
use auto_schema::manifest::Manifest;
use auto_schema::shown_path;
use auto_schema::types::Type;
use auto_store::Store;
use clap::Args;

use super::verbs::import;
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::models::{ModelOptions, Paid};
use crate::options::Global;
use crate::reply::Exit;
use crate::spool::Spool;
use crate::tools::{Answerer, ToolOptions, unfenced};

/// Who answers where the artifact does not.
#[derive(Args)]
pub struct Tier0Options {
    /// Where the artifact abstains, traps or breaks a limit, ask this: a process like one of
    /// --tool, or a model (model:ID, which needs --spend-cap-usd unless it is local)
    #[arg(long, value_name = "CMD|model:ID", group = "tier_0")]
    tier0: Option<String>,
    /// The same with a process for every input, like one of --tool-once
    #[arg(long, value_name = "CMD", group = "tier_0")]
    tier0_once: Option<String>,
    /// What a model is told before the input
    #[arg(long, value_name = "FILE", requires = "tier0")]
    tier0_prompt: Option<PathBuf>,
    /// The most tokens of a model's answer
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    tier0_tokens: u32,
    /// Record what tier 0 answers, and what it cost, in this store
    #[arg(long, value_name = "FILE", requires = "tier_0")]
    store: Option<PathBuf>,
    /// Hold what tier 0 answers to this contract, which must be the artifact's
    #[arg(long, value_name = "FILE", requires = "tier_0")]
    contract: Option<PathBuf>,
}

/// What can be asked, and how its answers are checked and kept.
pub struct Tier0<'a> {
    who: Who,
    artifact: Digest,
    run: String,
    output: Type,
    contract: Option<Contract>,
    recorder: Option<Recorder<'a>>,
}

enum Who {
    Process(Answerer),
    Model { paid: Box<Paid>, system: String, tokens: u32 },
}

/// What tier 0 answered.
pub struct Answered {
    /// Canonical JSON of the output type.
    pub output: Canonical,
    /// For `--json`: who, what it cost, and whether it is recorded.
    pub fields: Record,
}

/// An answer before it is checked.
struct Said {
    output: Value,
    cost: Option<u64>,
    tokens: Option<u64>,
}

impl Tier0Options {
    /// Tier 0 of an artifact, ready; none where none is named. Codes besides those of tools
    /// and models: `contract-mismatch`, `not-recordable`.
    pub fn start<'a>(
        &self,
        global: &'a Global,
        program: &Program,
        tools: &ToolOptions,
        models: &ModelOptions,
        session: &str,
        most: usize,
    ) -> Result<Option<Tier0<'a>>, Failure> {
        let manifest = program.manifest();
        let contract = self.contract.as_deref().map(|path| contract(path, manifest)).transpose()?;
        let recorder = self.store.as_deref().map(|store| Recorder::open(global, store, program)).transpose()?;
        let who = match (&self.tier0, &self.tier0_once) {
            (None, None) => return Ok(None),
            (Some(name), _) if name.starts_with("model:") => {
                let paid = Box::new(models.open(name, session)?);
                let prompt = self.tier0_prompt.as_deref().map(files::read).transpose()?.unwrap_or_default();
                let system = instructions(manifest, &String::from_utf8_lossy(&prompt));
                Who::Model { paid, system, tokens: self.tier0_tokens }
            }
            (Some(command), _) => Who::Process(Answerer::start(tools, true, command, most)?),
            (None, Some(command)) => Who::Process(Answerer::start(tools, false, command, most)?),
        };
        let (artifact, run) = (program.id(), tools.run_id.clone());
        Ok(Some(Tier0 { who, artifact, run, output: manifest.output.clone(), contract, recorder }))
    }
}

impl Tier0<'_> {
    /// Asks about an input that the artifact did not answer; `why` goes into the recording.
    /// Codes: those of tools and models, and `tier0-bad-answer`.
    pub fn answer(&mut self, input: &str, why: &str) -> Result<Answered, Failure> {
        let input =
            Canonical::of(input).map_err(|error| Failure::new(Exit::Refused, "bad-input", error.to_string()))?;
        let begun = Instant::now();
        let said = self.ask(&input)?;
        let took = begun.elapsed().as_micros();
        self.check(&input, &said.output)?;
        let output = said.output.canonical();
        let micros = u64::try_from(took).unwrap_or(u64::MAX);
        let mut fields = Record::new().with("who", self.who()).with("micros", micros);
        fields.set("cost_micro_usd", said.cost);
        if let Some(recorder) = &mut self.recorder {
            let who = match &self.who {
                Who::Process(_) => "a process".to_owned(),
                Who::Model { paid, .. } => format!("model:{}", paid.model()),
            };
            let call = Call { input: &input, output: &output, said: &said, micros, why, who: &who };
            recorder.keep(&call, &mut fields);
        }
        Ok(Answered { output, fields })
    }

    fn who(&self) -> String {
        match &self.who {
            Who::Process(_) => "process".to_owned(),
            Who::Model { paid, .. } => format!("model:{}", paid.model()),
        }
    }

    fn ask(&mut self, input: &Canonical) -> Result<Said, Failure> {
        match &mut self.who {
            Who::Process(answerer) => {
                let mut key = Hasher::new();
                key.update("tier 0\n");
                key.update(self.artifact.as_bytes());
                key.update(format!("{}\n{input}", self.run));
                let reply = answerer.ask(input.as_str(), key.finish());
                let reply = reply
                    .map_err(|error| Failure::new(Exit::Refused, error.code, format!("tier 0: {}", error.message)))?;
                // What is no JSON was refused as the tool's reply.
                Ok(Said { output: Value::parse(&reply).unwrap_or(Value::Null), cost: None, tokens: None })
            }
            Who::Model { paid, system, tokens } => {
                let reply = paid.question(system, input.as_str(), *tokens)?;
                let counted = reply.usage.map(|usage| usage.input.saturating_add(usage.output));
                let output = read(&reply.text, &self.output);
                let output = output.map_err(|why| bad_answer(&why))?;
                Ok(Said { output, cost: Some(reply.cost.0), tokens: counted })
            }
        }
    }

    fn check(&self, input: &Canonical, output: &Value) -> Result<(), Failure> {
        self.output.accepts(output).map_err(|wrong| {
            let place = if wrong.path.is_empty() { String::new() } else { format!(" at {}", wrong.path) };
            bad_answer(&format!("expected {}{place}, got {}", wrong.expected, wrong.got))
        })?;
        let Some(contract) = &self.contract else { return Ok(()) };
        let input = input.value();
        for property in contract.properties.iter().filter(|property| property.predicate().is_none()) {
            property.check(&input, output).map_err(|why| bad_answer(&format!("{}: {why}", property.sentence())))?;
        }
        Ok(())
    }
}

fn bad_answer(why: &str) -> Failure {
    Failure::new(Exit::Refused, "tier0-bad-answer", format!("what tier 0 answers is not used: {why}"))
        .help("see that tier 0 answers in the artifact's output type and keeps its contract")
}

/// The contract of a file, if it is the one that the artifact was made for.
fn contract(path: &Path, manifest: &Manifest) -> Result<Contract, Failure> {
    let (contract, _) = files::contract(path)?;
    if contract.id() == manifest.contract {
        return Ok(contract);
    }
    let message = format!("the artifact was made for the contract {}, this is {}", manifest.contract, contract.id());
    Err(Failure::new(Exit::Usage, "contract-mismatch", message).at(shown_path(path)))
}

/// A cap is for one run of an artifact.
pub fn session(program: &Program) -> String {
    format!("run {} {} {}", program.id(), std::process::id(), now().as_millis())
}

fn now() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// What a model is told before the input.
fn instructions(manifest: &Manifest, prompt: &str) -> String {
    let Manifest { task, input, output, .. } = manifest;
    format!(
        "{prompt}\n\nThe message is one input of the task {task}: JSON of the type {input}. Answer with its output and \
         nothing else: JSON of the type {output}."
    )
    .trim_start()
    .to_owned()
}

/// The JSON that a model said, inside a code fence or not; its words, where text is wanted.
fn read(said: &str, wanted: &Type) -> Result<Value, String> {
    let text = unfenced(said);
    match Value::parse(text) {
        Ok(value) => Ok(value),
        Err(_) if *wanted == Type::Text => Ok(Value::from(text)),
        Err(error) => Err(format!("it is no JSON: {error}")),
    }
}

/// Keeps answers in a store, as traces of one span.
struct Recorder<'a> {
    global: &'a Global,
    store: PathBuf,
    /// Opened for the first answer.
    toolbox: Option<Toolbox>,
    artifact: Digest,
    task: String,
    kind: SpanKind,
    name: String,
    next: u64,
}

/// An answer to keep.
struct Call<'c> {
    input: &'c Canonical,
    output: &'c Canonical,
    said: &'c Said,
    micros: u64,
    why: &'c str,
    who: &'c str,
}

impl<'a> Recorder<'a> {
    /// Refuses before anything is asked what could not be kept.
    fn open(global: &'a Global, store: &Path, program: &Program) -> Result<Recorder<'a>, Failure> {
        let manifest = program.manifest();
        let span = manifest.scope.strip_prefix("span ").and_then(|scope| scope.split_once(' '));
        let span = span.and_then(|(kind, name)| Some((SpanKind::parse(kind)?, name.to_owned())));
        let Some((kind, name)) = span else {
            let message = format!("the artifact's scope is {}, and an answer alone is no run of it", manifest.scope);
            return Err(Failure::new(Exit::Refused, "not-recordable", message)
                .help("leave --store away, and record the agent itself with `auto-host record`"));
        };
        drop(files::store_for_recording(store)?);
        let (store, artifact, task) = (store.to_owned(), program.id(), manifest.task.clone());
        Ok(Recorder { global, store, toolbox: None, artifact, task, kind, name, next: 0 })
    }

    /// Keeps it, and says in `fields` whether that worked. What the store does not take stays
    /// in its spool: the answer was paid for.
    fn keep(&mut self, call: &Call<'_>, fields: &mut Record) {
        let spool = Spool::beside(&self.store);
        match self.try_keeping(call, &spool) {
            Ok(()) => fields.set("recorded", true),
            Err(failure) => {
                eprintln!("tier 0's answer is not recorded: {failure}");
                spool.mention();
                let why = Record::new().with("code", failure.code).with("message", failure.message);
                fields.set("recorded", false);
                fields.set("not_recorded", why);
            }
        }
    }

    fn try_keeping(&mut self, call: &Call<'_>, spool: &Spool) -> Result<(), Failure> {
        let recording = spool.begin()?;
        let written = File::create(&recording.trace).and_then(|mut file| {
            file.write_all(self.trace(call).as_bytes())?;
            file.sync_all()
        });
        written.map_err(|error| {
            Failure::new(Exit::Refused, "unwritable", format!("cannot write {}: {error}", shown_path(&recording.trace)))
        })?;
        let toolbox = match self.toolbox.take() {
            Some(toolbox) => toolbox,
            None => Toolbox::open(self.global, &[])?,
        };
        let request = import::Request { format: Some("auto-jsonl"), task: None, recover_partial: false };
        let traces = request.read(&toolbox, &recording.trace);
        self.toolbox = Some(toolbox);
        Store::create_or_open(&self.store)?.ingest(&traces?)?;
        recording.done();
        Ok(())
    }

    /// The trace file of an answer.
    fn trace(&mut self, call: &Call<'_>) -> String {
        let now = now();
        let started = now.saturating_sub(std::time::Duration::from_micros(call.micros));
        let (started_ms, started_us) = (number(started.as_millis()), started.as_micros().to_string());
        let unique = format!("{} {} {} {}", self.artifact, std::process::id(), now.as_nanos(), self.next);
        self.next += 1;
        let id = &Digest::of(unique.as_bytes()).to_string()[..32];
        let mut attributes = Record::new()
            .with("started_at_us", started_us)
            .with("duration_us", call.micros.to_string())
            .with("answered_by", call.who)
            .with("tripped", call.why);
        if let Some(cost) = call.said.cost {
            attributes.set("cost_usd_micros", cost.to_string());
        }
        if let Some(tokens) = call.said.tokens {
            attributes.set("tokens", tokens.to_string());
        }
        let header = Record::new()
            .with("v", 0u32)
            .with("t", "trace")
            .with("trace_id", id)
            .with("task", self.task.as_str())
            .with("started_at_ms", started_ms)
            .with("sdk", concat!("auto-host-deopt/", env!("CARGO_PKG_VERSION")))
            .with("attrs", Record::new().with("artifact", self.artifact.to_string()));
        let span = Record::new()
            .with("v", 0u32)
            .with("t", "span")
            .with("trace_id", id)
            .with("span_id", 1u32)
            .with("parent_span_id", Value::Null)
            .with("seq", 1u32)
            .with("kind", self.kind.as_str())
            .with("name", self.name.as_str())
            .with("input", call.input.value())
            .with("output", call.output.value())
            .with("error", Value::Null)
            .with("started_at_ms", started_ms)
            .with("duration_ms", call.micros / 1_000)
            .with("attrs", attributes);
        format!("{}\n{}\n", Value::from(header), Value::from(span))
    }
}

fn number(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_may_put_its_json_into_a_fence_and_text_into_words() {
        let record: Type = "record{a: int}".parse().unwrap();
        let json = Ok(Value::from(Record::new().with("a", 1u32)));
        for said in ["{\"a\":1}", " {\"a\": 1}\n", "```json\n{\"a\":1}\n```", "```\n{\"a\":1}```"] {
            assert_eq!(read(said, &record), json, "{said}");
        }
        assert_eq!(read("Dear Ana", &Type::Text), Ok(Value::from("Dear Ana")));
        assert_eq!(read("\"Dear Ana\"", &Type::Text), Ok(Value::from("Dear Ana")));
        assert!(read("Sure: {\"a\":1}", &record).is_err());
    }
}
