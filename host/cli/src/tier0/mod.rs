//! Tier 0: the agent or model that an artifact stands for, asked where the artifact does not
//! answer. Its answer is checked against the types, and the contract where there is one; it is
//! recorded with what it cost, so that the next compile knows it.

mod recorder;

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use auto_json::{Canonical, Record, Value};
use auto_runtime::Program;
use auto_schema::contract::Contract;
use auto_schema::digest::{Digest, Hasher};
use auto_schema::key::Part;
use auto_schema::manifest::Manifest;
use auto_schema::shown_path;
use auto_schema::types::Type;
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::models::{ModelOptions, Paid, Purse};
use crate::options::Global;
use crate::reply::Exit;
use crate::tools::{Answerer, ToolOptions, unfenced};

use recorder::Call;
pub use recorder::{News, Recorder, Takes, write};

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
pub struct Tier0 {
    who: Who,
    artifact: Digest,
    run: String,
    output: Type,
    contract: Option<Contract>,
    recorder: Option<Recorder>,
    /// What of a request is the artifact's input; all of it where none.
    key: Option<Part>,
}

enum Who {
    Process(Answerer),
    Model { paid: Box<Paid>, instructions: Instructions, tokens: u32 },
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
    pub fn start(
        &self,
        global: &Global,
        program: &Program,
        tools: &ToolOptions,
        models: &ModelOptions,
        purse: &Purse,
        most: usize,
    ) -> Result<Option<Tier0>, Failure> {
        let manifest = program.manifest();
        let contract = self.contract.as_deref().map(|path| contract(path, manifest)).transpose()?;
        let takes = || Takes::Now(Box::new(global.clone()), None);
        let recorder = self.store.as_deref().map(|store| Recorder::open(takes(), store, program)).transpose()?;
        let (name, once) = match (&self.tier0, &self.tier0_once) {
            (None, None) => return Ok(None),
            (Some(name), _) => (name, false),
            (None, Some(command)) => (command, true),
        };
        let prompt = self.tier0_prompt.as_deref().map(files::read).transpose()?.unwrap_or_default();
        let prompt = String::from_utf8_lossy(&prompt);
        let named = Named { name, once, prompt: &prompt, tokens: self.tier0_tokens };
        Ok(Some(Tier0::start(&named, program, tools, models, purse, most)?.held_to(contract).recorded_by(recorder)))
    }
}

/// Who is tier 0, as the command line says it.
pub struct Named<'n> {
    /// A command, or `model:ID`.
    pub name: &'n str,
    /// Whether a command is started for every input.
    pub once: bool,
    /// What a model is told before the input.
    pub prompt: &'n str,
    /// The most tokens of a model's answer.
    pub tokens: u32,
}

impl Tier0 {
    /// Tier 0 of an artifact, ready. Codes: those of tools and models.
    pub fn start(
        named: &Named<'_>,
        program: &Program,
        tools: &ToolOptions,
        models: &ModelOptions,
        purse: &Purse,
        most: usize,
    ) -> Result<Tier0, Failure> {
        let manifest = program.manifest();
        let who = if named.name.starts_with("model:") && !named.once {
            let paid = Box::new(models.open_with(named.name, purse)?);
            Who::Model { paid, instructions: Instructions::of(manifest, named.prompt), tokens: named.tokens }
        } else {
            Who::Process(Answerer::start(tools, !named.once, named.name, most)?)
        };
        let (artifact, run) = (program.id(), tools.run_id.clone());
        Ok(Tier0 { who, artifact, run, output: manifest.output.clone(), contract: None, recorder: None, key: None })
    }

    /// Holds answers to a contract, which must be the artifact's.
    pub fn held_to(self, contract: Option<Contract>) -> Tier0 {
        Tier0 { contract, ..self }
    }

    /// Is asked with whole requests, of which the artifact's input is a part.
    pub fn keyed(self, key: Option<Part>) -> Tier0 {
        Tier0 { key, ..self }
    }

    /// Has answers recorded.
    pub fn recorded_by(self, recorder: Option<Recorder>) -> Tier0 {
        Tier0 { recorder, ..self }
    }

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
            Who::Model { paid, instructions, tokens } => {
                let system = match self.key {
                    None => &instructions.of_input,
                    Some(_) => &instructions.of_request,
                };
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
        let given = input.value();
        // A contract speaks of the artifact's input. What has none is held to the type alone.
        let Some(input) = self.key.as_ref().map_or(Some(given.clone()), |key| key.of(&given)) else { return Ok(()) };
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

/// The time since 1970.
pub fn now() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// What a model is told before the input.
struct Instructions {
    /// Where that is the artifact's.
    of_input: String,
    /// Where that is a whole request, of which the artifact's input is a part.
    of_request: String,
}

impl Instructions {
    fn of(manifest: &Manifest, prompt: &str) -> Instructions {
        let Manifest { task, input, output, .. } = manifest;
        let told = |what: &str| {
            format!(
                "{prompt}\n\nThe message is {what}. Answer with its output and nothing else: JSON of the type {output}."
            )
            .trim_start()
            .to_owned()
        };
        Instructions {
            of_input: told(&format!("one input of the task {task}: JSON of the type {input}")),
            of_request: told(&format!("one request of the task {task}, in JSON")),
        }
    }
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
