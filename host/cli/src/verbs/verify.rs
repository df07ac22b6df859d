//! `verify`: does recorded behaviour, or an artifact, meet a contract?

use std::path::PathBuf;
use std::sync::Arc;

use auto_engine::{Hearing, Teacher, Unanswered, Verdicts};
use auto_json::{Record, Value};
use auto_schema::cbin::Cbin;
use auto_schema::digest::Digest;
use auto_schema::shown_path;
use clap::Args;

use super::compile::{findings, judged_line, observations, trace, with_judge};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::models::TeacherOptions;
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
    #[command(flatten)]
    teacher: TeacherOptions,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let (contract, predicates) = files::contract(&self.contract)?;
        let toolbox = Toolbox::open(global, &[])?;
        let gate = toolbox.gate(None)?;
        let predicates = toolbox.predicates(predicates)?;
        let teacher = self.teacher.open(&format!("contract {}", contract.id()))?;
        let default = || PathBuf::from("auto.db");
        let store = match (&self.artifact, &self.store) {
            (Some(_), None) => None,
            (_, store) => Some(files::store(&store.clone().unwrap_or_else(default))?),
        };
        let observations = store.as_ref().map(|store| observations(store, &contract)).transpose()?.unwrap_or_default();
        let hearing = Hearing {
            gate: &gate,
            predicates: &predicates,
            contract: &contract,
            observations: &observations,
            teacher: teacher.clone().map(|teacher| teacher as Arc<dyn Teacher>),
            run_dir: &self.runs.runs,
            waiting: &|holder| files::wait(&"the same questions", holder),
            reissue: self.teacher.reissue,
        };
        let judged = match (&self.artifact, &store) {
            (Some(artifact), store) => {
                let file = files::read(artifact)?;
                Cbin::read(&file).map_err(|damage| Failure::from(damage).at(shown_path(artifact)))?;
                let runs = store.as_ref().map(|store| store.runs(&contract.task, &contract.scope)).transpose()?;
                toolbox.engine.judge_artifact(&hearing, &toolbox.providers, runs.unwrap_or_default(), &file)?
            }
            (None, Some(store)) => {
                let reference = store.reference(&contract.task, &contract.scope)?;
                toolbox.engine.judge_recordings(&hearing, &reference)?
            }
            // Without an artifact there is a store: it was opened above.
            (None, None) => return Err(Failure::new(Exit::Usage, "no-store", "there is nothing to judge")),
        };
        let Verdicts { verdict, eval_run, opinions, unanswered } = judged;

        let bytes = eval_run.canonical().into_string();
        let id = Digest::of(bytes.as_bytes());
        files::write(&self.runs.runs.join(format!("{id}.json")), bytes.as_bytes())?;

        let status = verdict.get("status").and_then(Value::as_text).unwrap_or_default().to_owned();
        let fields = verdict.as_record().cloned().unwrap_or_default();
        let fields = with_judge(fields, opinions.to_record().map(Value::from).as_ref(), teacher.as_deref());
        let open: String =
            unanswered.iter().map(|why| format!("not judged [{}]: {}\n", why.code, why.message)).collect();
        let text = format!(
            "{}{open}{}{} on {} distinct inputs (eval run {id})",
            findings(&verdict),
            judged_line(fields.get("judged")),
            status.to_uppercase(),
            observations.len()
        );
        let exit = match status.as_str() {
            "pass" => Exit::Done,
            "inconclusive" => Exit::Inconclusive,
            _ => Exit::Refused,
        };
        let fields = match unanswered.is_empty() {
            true => fields,
            false => fields.with("not_judged", unanswered.iter().map(not_judged).collect::<Vec<_>>()),
        };
        let fields = trace(global, &toolbox, fields);
        let fields = fields.with("eval_run", id.to_string()).with("observations", observations.len());
        Ok(Reply::done(&status, text, fields).exit(exit))
    }
}

fn not_judged(why: &Unanswered) -> Value {
    Record::new().with("code", why.code.as_str()).with("message", why.message.as_str()).into()
}
