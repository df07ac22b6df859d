//! What stands behind the artifacts of a server: tools, tier 0 and the store, as the command line
//! names them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::mpsc::Sender;

use auto_model::MicroUsd;
use auto_runtime::{Effect, EffectError, EffectRecord, Program, Tools};
use auto_schema::contract::{Contract, Scope, SpanKind};
use auto_schema::digest::Digest;
use auto_schema::key::Part;
use auto_serve::run::backing::{Answered, Backing, Refusal, Tier0 as Standing, ToolSet};
use auto_serve::run::caller::Caller;
use auto_store::Store;
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::keys::KeyOptions;
use crate::models::{ModelOptions, Purse};
use crate::reply::Exit;
use crate::tier0::{Named, News, Recorder, Takes, Tier0};
use crate::tools::{Processes, ToolOptions};

/// Who answers where artifacts do not, by name.
#[derive(Args, Clone)]
pub struct StandingOptions {
    /// Where the artifact NAME abstains, traps or breaks a limit, ask this: a process like one of
    /// --tool, or a model (model:ID, which needs --spend-cap-usd unless it is local); `*` stands
    /// for every other name
    #[arg(long, value_name = "NAME=CMD|model:ID")]
    tier0: Vec<String>,
    /// The same with a process for every input, like one of --tool-once
    #[arg(long, value_name = "NAME=CMD")]
    tier0_once: Vec<String>,
    /// What a model is told before the input
    #[arg(long, value_name = "FILE")]
    tier0_prompt: Option<PathBuf>,
    /// The most tokens of a model's answer
    #[arg(long, value_name = "N", default_value_t = 1_024)]
    tier0_tokens: u32,
    /// Record what tier 0 answers, and what it cost, in this store
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Hold what tier 0 answers to this contract, for the artifacts that were made for it
    #[arg(long, value_name = "FILE")]
    contract: Vec<PathBuf>,
    #[command(flatten)]
    keys: KeyOptions,
}

/// A tier 0 of a name: the command or model, and whether it is started for every input.
type Who = (String, bool);

/// See the module.
pub struct Behind {
    tools: ToolOptions,
    models: ModelOptions,
    tokens: u32,
    prompt: String,
    keys: KeyOptions,
    who: BTreeMap<String, Who>,
    contracts: BTreeMap<Digest, Contract>,
    store: Option<(PathBuf, Sender<News>)>,
    /// Whose spending it is where there are no tokens.
    session: String,
    most: usize,
}

impl StandingOptions {
    /// All of it, read; nothing is started. Codes: `bad-tool`, those of contracts.
    pub fn behind(
        &self,
        tools: &ToolOptions,
        models: &ModelOptions,
        tell: Option<Sender<News>>,
        most: usize,
    ) -> Result<Behind, Failure> {
        let mut who = BTreeMap::new();
        let named = self.tier0.iter().map(|text| (text, false)).chain(self.tier0_once.iter().map(|text| (text, true)));
        for (text, once) in named {
            let bad = |why: &str| {
                Failure::new(Exit::Usage, "bad-tool", format!("`{text}`: {why}"))
                    .help("give NAME=CMD or NAME=model:ID, such as --tier0 'triage=python3 agent.py'")
            };
            let (name, command) = text.split_once('=').ok_or_else(|| bad("there is no `=`"))?;
            if name.is_empty() || command.trim().is_empty() {
                return Err(bad("there is no name before the `=`, or nothing behind it"));
            }
            if who.insert(name.to_owned(), (command.to_owned(), once)).is_some() {
                return Err(bad("this name has a tier 0 already"));
            }
        }
        let mut contracts = BTreeMap::new();
        for path in &self.contract {
            let (contract, _) = files::contract(path)?;
            contracts.insert(contract.id(), contract);
        }
        let prompt = self.tier0_prompt.as_deref().map(files::read).transpose()?.unwrap_or_default();
        Ok(Behind {
            tools: tools.clone(),
            models: models.clone(),
            tokens: self.tier0_tokens,
            prompt: String::from_utf8_lossy(&prompt).into_owned(),
            keys: self.keys.clone(),
            who,
            contracts,
            store: self.store.clone().zip(tell),
            session: format!("serve {} {}", std::process::id(), crate::tier0::now().as_millis()),
            most,
        })
    }
}

impl Behind {
    fn who(&self, name: &str) -> Option<&Who> {
        self.who.get(name).or_else(|| self.who.get("*"))
    }

    /// A token's own purse, which lasts longer than this server; or that of the command line.
    fn purse(&self, caller: &Caller) -> Purse {
        match caller.spend_cap {
            Some(cap) => Purse { session: format!("serve token {}", caller.name), cap: Some(MicroUsd(cap)) },
            None => Purse::of(&self.session),
        }
    }
}

impl Backing for Behind {
    fn has_tier0(&self, name: &str) -> bool {
        self.who(name).is_some()
    }

    fn tier0(
        &self,
        name: &str,
        program: &Program,
        key: Option<&Part>,
        caller: &Caller,
    ) -> Result<Box<dyn Standing>, Refusal> {
        let Some((who, once)) = self.who(name) else {
            return Err(Refusal { code: "no-tier0".to_owned(), message: format!("nobody stands behind {name}") });
        };
        let named = Named { name: who, once: *once, prompt: &self.prompt, tokens: self.tokens };
        let tier0 = Tier0::start(&named, program, &self.tools, &self.models, &self.purse(caller), self.most);
        let tier0 = tier0.map_err(refusal)?.held_to(self.contracts.get(&program.manifest().contract).cloned());
        let tier0 = tier0.keyed(key.cloned());
        // What is no span is answered and not recorded: an answer alone is no run of it.
        let recorder = match &self.store {
            Some((store, tell)) => match Recorder::open(Takes::Later(tell.clone()), store, program) {
                Err(failure) if failure.code == "not-recordable" => None,
                recorder => Some(recorder.map_err(refusal)?),
            },
            None => None,
        };
        Ok(Box::new(Behalf(tier0.recorded_by(recorder))))
    }

    fn tools(&self, program: &Program, caller: &Caller) -> Result<Box<dyn ToolSet>, Refusal> {
        let wanted = &program.manifest().capabilities;
        let processes = self.tools.start(wanted, self.most, &self.models, &self.purse(caller)).map_err(refusal)?;
        Ok(Box::new(Granted(processes)))
    }

    fn key(&self, program: &Program) -> Result<Option<Part>, Refusal> {
        self.keys.of(program).map_err(refusal)
    }

    fn price(&self, program: &Program) -> Option<u64> {
        let (store, _) = self.store.as_ref()?;
        let manifest = program.manifest();
        let (kind, name) = manifest.scope.strip_prefix("span ")?.split_once(' ')?;
        let scope = Scope::Span { kind: SpanKind::parse(kind)?, name: name.to_owned() };
        let reference = Store::open_read(store).ok()?.reference(&manifest.task, &scope).ok()?;
        let costs: Vec<u64> = reference.costs.into_iter().flatten().collect();
        costs.get(costs.len() / 2).copied()
    }
}

fn refusal(failure: Failure) -> Refusal {
    let help = failure.help.map(|help| format!("; {help}")).unwrap_or_default();
    Refusal { code: failure.code, message: format!("{}{help}", failure.message) }
}

/// Tier 0 on behalf of an artifact.
struct Behalf(Tier0);

impl Standing for Behalf {
    fn answer(&mut self, input: &str, why: &str) -> Result<Answered, Refusal> {
        let mut answered = self.0.answer(input, why).map_err(refusal)?;
        let cost = answered.fields.remove("cost_micro_usd").and_then(|cost| cost.as_u64());
        let recorded = answered.fields.remove("recorded").and_then(|recorded| recorded.as_bool());
        Ok(Answered { output: answered.output.into_string(), cost, recorded, fields: answered.fields })
    }
}

/// The processes that do an artifact's effects.
struct Granted(Processes);

impl Tools for Granted {
    fn grants(&self, capability: &str) -> bool {
        self.0.grants(capability)
    }

    fn call(&mut self, effect: &Effect<'_>) -> Result<String, EffectError> {
        self.0.call(effect)
    }

    fn record(&mut self, record: EffectRecord) {
        self.0.record(record);
    }
}

impl ToolSet for Granted {
    fn take_records(&mut self) -> Vec<EffectRecord> {
        self.0.take_records()
    }
}
