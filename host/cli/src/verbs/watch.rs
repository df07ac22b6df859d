//! `watch`: the ratchet as a service. What a store learns is compiled again and takes its name in
//! the registry, if the same gate passes it; a server takes it from there.
//!
//! Nothing has to be remembered between two starts: what the registry's artifact was made from is
//! in its manifest, and what compiling comes to is in the memo.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use auto_json::{Canonical, Record, Value};
use auto_registry::{Envelope, Evidence, Policy, PrivateKey, Reference, Registry, TagName, now};
use auto_schema::cbin::Cbin;
use auto_schema::contract::{Contract, Predicate};
use auto_schema::digest::{Digest, Hasher};
use auto_schema::evidence::Observation;
use auto_schema::{shown, shown_path};
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};

use super::compile::{Recipe, observations, rungs};
use super::import::take_in;
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::latency::{machine, measure};
use crate::options::{Global, LONGEST_MS, StoreOption};
use crate::registries::{KeyOption, RegistryOption};
use crate::reply::{Exit, Reply};
use crate::spool::Spool;

/// Compile again what a store learns, and let its name in the registry lead to the result
///
/// New inputs and changed answers are seen. What the gate refuses changes nothing: the name keeps
/// what it has, and stderr says why. SIGINT and SIGTERM end it between two contracts; a second one
/// at once, which loses nothing.
#[derive(Args)]
#[command(
    after_help = "Example:\n  auto-host watch --store auto.db --contract triage.contract.toml --key ours.pem\n  \
    auto-host watch --store auto.db --contract team/triage=triage.contract.toml --unsigned --once"
)]
pub struct Opts {
    #[command(flatten)]
    store: StoreOption,
    /// A contract, and the name that its artifact gets [default: what its file is called, up to the
    /// first point]; may be given more than once
    #[arg(long, value_name = "[NAME=]FILE", required = true)]
    contract: Vec<String>,
    #[command(flatten)]
    registry: RegistryOption,
    #[command(flatten)]
    key: KeyOption,
    #[command(flatten)]
    recipe: Recipe,
    /// Look once, and end
    #[arg(long)]
    once: bool,
    /// How often the store is looked at, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(10..=LONGEST_MS))]
    interval_ms: u64,
}

/// A contract that is watched.
struct Watched {
    name: TagName,
    file: PathBuf,
    /// What was last compiled, whatever came of it: the contract and what the store had.
    seen: Option<Digest>,
    /// What was last said of it, so that it is said once.
    said: String,
}

/// What became of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Became {
    /// The store has nothing new.
    Unchanged,
    /// Its name leads to this artifact now.
    Published(Digest),
    /// The name keeps what it has.
    Refused { exit: Exit, code: String, why: String },
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        self.recipe.note();
        let mut watched = self.contract.iter().map(|text| Watched::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let names: Vec<&TagName> = watched.iter().map(|one| &one.name).collect();
        if let Some(twice) = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)) {
            let message = format!("two contracts would have the name {}", twice.1);
            return Err(Failure::new(Exit::Usage, "bad-name", message).help("give each its own with NAME=FILE"));
        }
        let bench = Bench {
            global,
            store: &self.store.store,
            registry: self.registry.create(global)?,
            policy: self.registry.policy(global),
            key: self.key.read(global)?,
            recipe: &self.recipe,
            toolbox: self.recipe.toolbox(global)?,
        };
        let stop = stop()?;
        let mut totals = [0u64; 3];
        loop {
            bench.take_in();
            let became = bench.round(&mut watched, &stop, &mut totals);
            if self.once {
                return Ok(reply(&watched, &became, &totals));
            }
            let next = Instant::now() + Duration::from_millis(self.interval_ms);
            while Instant::now() < next && !stop.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(self.interval_ms.min(50)));
            }
            if stop.load(Relaxed) {
                return Ok(reply(&watched, &[], &totals));
            }
        }
    }
}

/// Set by the first SIGINT or SIGTERM; a second one ends the process as if it listened to none.
fn stop() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_default(signal, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .map_err(|error| Failure::new(Exit::Refused, "signals", format!("signals cannot be heard: {error}")))?;
    }
    Ok(stop)
}

impl Watched {
    /// Reads `NAME=FILE` or `FILE`.
    fn parse(text: &str) -> Result<Watched, Failure> {
        let (name, file) = match text.split_once('=') {
            Some((name, file)) => (name.to_owned(), PathBuf::from(file)),
            None => {
                let file = PathBuf::from(text);
                let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
                (name.split('.').next().unwrap_or_default().to_lowercase().replace(' ', "-"), file)
            }
        };
        let name = name.parse::<TagName>().map_err(|error| Failure::from(error).help("give NAME=FILE"))?;
        Ok(Watched { name, file, seen: None, said: String::new() })
    }

    fn say(&mut self, what: String) {
        if self.said != what {
            eprintln!("{}: {}", self.name, shown(&what));
            self.said = what;
        }
    }
}

/// How many of the recorded inputs are run to say what a call takes.
const MEASURED: usize = 100;

/// What every contract is compiled with.
struct Bench<'a> {
    global: &'a Global,
    store: &'a Path,
    registry: Registry,
    policy: Policy,
    key: Option<PrivateKey>,
    recipe: &'a Recipe,
    toolbox: Toolbox,
}

impl Bench<'_> {
    /// Takes in what servers and recorders left beside the store.
    fn take_in(&self) {
        let (_, refused) = take_in(&self.toolbox, &Spool::beside(self.store), self.store, false);
        if let Some((trace, failure)) = refused.first() {
            eprintln!("{} stays where it is: {failure}", shown_path(trace));
        }
    }

    /// Looks at every contract; one that cannot be compiled keeps none of the others from it.
    fn round(&self, watched: &mut [Watched], stop: &AtomicBool, totals: &mut [u64; 3]) -> Vec<Became> {
        let mut all = Vec::new();
        for one in watched {
            if stop.load(Relaxed) {
                break;
            }
            let became = self.look(one).unwrap_or_else(|failure| Became::Refused {
                exit: failure.exit,
                code: failure.code.clone(),
                why: failure.to_string(),
            });
            match &became {
                Became::Unchanged => totals[0] += 1,
                Became::Published(id) => {
                    totals[1] += 1;
                    one.say(format!("leads to {id}"));
                }
                Became::Refused { code, why, .. } => {
                    totals[2] += 1;
                    one.say(format!("ALARM {code}: keeps what it has: {why}"));
                }
            }
            all.push(became);
        }
        all
    }

    fn look(&self, one: &mut Watched) -> Result<Became, Failure> {
        let (contract, predicates) = files::contract(&one.file)?;
        let store = files::store_again(self.store)?;
        let found = observations(&store, &contract)?;
        let what = what(&contract, &found);
        if one.seen == Some(what) {
            return Ok(Became::Unchanged);
        }
        let current = self.current(&one.name)?;
        if current.as_ref().is_some_and(|artifact| is_of(artifact, &contract, &found)) {
            one.seen = Some(what);
            return Ok(Became::Unchanged);
        }
        let inputs: Vec<String> = found.iter().take(MEASURED).map(|one| one.input.to_string()).collect();
        drop(found);
        let became = self.compile(&one.name, &store, contract, predicates, &inputs);
        // What the machine could not do now may work the next time.
        let passes = |failure: &Failure| matches!(failure.code.as_str(), "unwritable" | "busy" | "locked" | "cache");
        if !became.as_ref().is_err_and(passes) {
            one.seen = Some(what);
        }
        became
    }

    /// The artifact that a name leads to now, signed or not: it is only compared.
    fn current(&self, name: &TagName) -> Result<Option<Cbin>, Failure> {
        match self.registry.look(&Reference::Tag(name.clone()), &Policy::unsigned()) {
            Ok(artifact) => Ok(Some(artifact.report.artifact)),
            Err(error) if matches!(error.code, "unknown-name" | "unknown-id") => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn compile(
        &self,
        name: &TagName,
        store: &auto_store::Store,
        contract: Contract,
        predicates: Vec<Predicate>,
        inputs: &[String],
    ) -> Result<Became, Failure> {
        let said = contract.to_value();
        let mut published = None;
        let place = |artifact: &[u8]| {
            published = Some(self.publish(name, artifact, said, inputs)?);
            Ok(())
        };
        let (report, _) = self.recipe.make(self.global, &self.toolbox, store, contract, predicates, place)?;
        if let Some(id) = published {
            return Ok(Became::Published(id));
        }
        let verdict = report.report.get("verdict").and_then(Value::as_text).unwrap_or("refused");
        let (exit, code) =
            if verdict == "inconclusive" { (Exit::Inconclusive, "inconclusive") } else { (Exit::Refused, "refused") };
        let rungs = rungs(&report.report);
        let why = rungs.lines().rev().find(|line| line.contains("refused") || line.contains("inconclusive"));
        let why = why.or(rungs.lines().last()).unwrap_or("the gate did not pass it");
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        Ok(Became::Refused { exit, code: code.to_owned(), why })
    }

    /// Puts the artifact and what was measured of it into the registry, and lets the name lead to
    /// it, if it meets the policy that those who use it are held to.
    fn publish(&self, name: &TagName, artifact: &[u8], contract: Value, inputs: &[String]) -> Result<Digest, Failure> {
        let cbin = Cbin::read(artifact)?;
        let eval_run = self.recipe.runs.runs.join(format!("{}.json", cbin.manifest.eval_run));
        let eval_run = files::read_regular(&eval_run).ok().and_then(|bytes| Value::parse(&bytes).ok());
        // A recorded input may be one that it does not take; what was not measured is not said.
        let latency = measure(self.global, artifact, inputs).ok().flatten();
        let machine = latency.is_some().then(machine);
        let evidence = Evidence { at: now(), contract: Some(contract), eval_run, latency, machine };
        let mut envelope = Envelope::unsigned(evidence.statement(&cbin)?.to_payload());
        self.key.iter().for_each(|key| envelope.sign(key));
        let added = self.registry.add(artifact, &[envelope])?;
        let policy = match &self.key {
            Some(_) => self.policy.clone(),
            // Who signs nothing cannot ask for signatures.
            None => Policy { signatures: 0, ..self.policy.clone() },
        };
        self.registry.get(&Reference::Id(added.id), &policy)?;
        self.registry.tag(name, added.id, "watch", now(), self.key.as_ref())?;
        Ok(added.id)
    }
}

/// What is compared: the contract, the inputs and the answers that were seen for each, however
/// often.
fn what(contract: &Contract, observations: &[Observation]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update(contract.id().as_bytes());
    let mut part = |text: &str| hasher.update(format!("{}:{text}", text.len()));
    for one in observations {
        part(one.input.as_str());
        part(if one.errors > 0 { "failed" } else { "" });
        one.outputs.iter().for_each(|(output, _): &(Canonical, u32)| part(output.as_str()));
        part("\n");
    }
    hasher.finish()
}

/// Whether an artifact was made from this. Of a scope with operations in it, that cannot be told
/// from the observations alone, and the memo knows.
fn is_of(artifact: &Cbin, contract: &Contract, observations: &[Observation]) -> bool {
    let manifest = &artifact.manifest;
    manifest.contract == contract.id() && manifest.evidence == auto_schema::evidence::evidence_id(observations)
}

fn reply(watched: &[Watched], became: &[Became], totals: &[u64; 3]) -> Reply {
    let mut exit = Exit::Done;
    let mut lines = Vec::new();
    let mut list: Vec<Value> = Vec::new();
    for (one, became) in watched.iter().zip(became) {
        let fields = Record::new().with("name", one.name.to_string());
        let (line, fields) = match became {
            Became::Unchanged => ("has nothing new".to_owned(), fields.with("became", "unchanged")),
            Became::Published(id) => {
                (format!("leads to {id}"), fields.with("became", "published").with("id", id.to_string()))
            }
            Became::Refused { exit: how, code, why } => {
                exit = *how;
                let fields = fields.with("became", "refused").with("error", code.as_str()).with("why", why.as_str());
                (format!("keeps what it has: {code}: {why}"), fields)
            }
        };
        lines.push(format!("{}: {line}", one.name));
        list.push(fields.into());
    }
    let [unchanged, published, refused] = *totals;
    let fields = Record::new()
        .with("contracts", list)
        .with("unchanged", unchanged)
        .with("published", published)
        .with("refused", refused);
    lines.push(format!("{published} published, {refused} refused"));
    let code = if exit == Exit::Done { "watched" } else { "refused" };
    let mut reply = Reply::done(code, lines.join("\n"), fields).exit(exit);
    reply.failed = exit != Exit::Done;
    reply
}
