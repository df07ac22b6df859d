//! `verify`: does recorded behaviour, or an artifact, meet a contract?

use std::path::PathBuf;

use auto_engine::Runs;
use auto_json::Value;
use auto_schema::cbin::Cbin;
use auto_schema::contract::Contract;
use auto_schema::digest::Digest;
use auto_store::Store;
use clap::Args;

use super::compile::{findings, observations, trace};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::{Global, RunsOption};
use crate::reply::{Exit, Reply};

/// Check recorded behaviour against a contract
///
/// Three-valued: exit code 0 is pass, 1 is fail, 4 is inconclusive (nothing broke, but
/// something the contract claims could not be checked). The record of the check goes to
/// the folder of eval runs under its own SHA-256.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host verify --contract triage.contract.toml --store auto.db\n  \
    auto-host verify --contract triage.contract.toml --artifact triage.cbin --store auto.db")]
pub struct Opts {
    /// The contract
    #[arg(long, value_name = "FILE")]
    contract: PathBuf,
    /// Judge this artifact, on the contract's examples and eval sets, and on what was
    /// recorded where --store is given
    #[arg(long, value_name = "F.cbin")]
    artifact: Option<PathBuf>,
    /// The store; recordings are judged where no artifact is [default: auto.db]
    #[arg(long, env = "AUTO_STORE", value_name = "FILE")]
    store: Option<PathBuf>,
    #[command(flatten)]
    runs: RunsOption,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let (contract, predicates) = Contract::load_with_predicates(&self.contract)?;
        let toolbox = Toolbox::open(global, &[])?;
        let gate = toolbox.gate(None)?;
        let predicates = toolbox.predicates(predicates)?;
        let engine = &toolbox.engine;
        let default = || PathBuf::from("auto.db");
        let (observations, (verdict, eval_run)) = match &self.artifact {
            None => {
                let store = Store::open_read(self.store.clone().unwrap_or_else(default))?;
                let observations = observations(&store, &contract)?;
                let reference = store.reference(&contract.task, &contract.scope)?;
                let judged = engine.judge_recordings(&gate, &predicates, &contract, &observations, &reference)?;
                (observations, judged)
            }
            Some(artifact) => {
                let file = files::read(artifact)?;
                Cbin::read(&file).map_err(|damage| Failure::from(damage).at(artifact.display().to_string()))?;
                let store = self.store.as_ref().map(Store::open_read).transpose()?;
                let (observations, runs) = match store {
                    None => (Vec::new(), Runs::default()),
                    Some(store) => (observations(&store, &contract)?, store.runs(&contract.task, &contract.scope)?),
                };
                let judged = engine.judge_artifact(&gate, &predicates, &contract, &observations, runs, &file)?;
                (observations, judged)
            }
        };

        let bytes = eval_run.canonical().into_string();
        let id = Digest::of(bytes.as_bytes());
        files::write(&self.runs.runs.join(format!("{id}.json")), bytes.as_bytes())?;

        let status = verdict.get("status").and_then(Value::as_text).unwrap_or_default().to_owned();
        let text = format!(
            "{}{} on {} distinct inputs (eval run {id})",
            findings(&verdict),
            status.to_uppercase(),
            observations.len()
        );
        let exit = match status.as_str() {
            "pass" => Exit::Done,
            "inconclusive" => Exit::Inconclusive,
            _ => Exit::Refused,
        };
        let fields = trace(global, &toolbox, verdict.as_record().cloned().unwrap_or_default());
        let fields = fields.with("eval_run", id.to_string()).with("observations", observations.len());
        Ok(Reply::done(&status, text, fields).exit(exit))
    }
}
