//! `search skill`: a SKILL.md, one edit at a time.

use auto_config::{Prompt, Skill};
use auto_json::{Record, Value};
use clap::Args;

use super::folder::Plan;
use super::rollouts;
use super::start::Start;
use super::tree::Tree;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply};

/// Improve the SKILL.md of a package, by what runs of an agent show
///
/// Reads [learning.skill] of the file that --config names. The package itself is left as it is:
/// what the search made of it is in the folder of the run, under `made`.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host search skill --config auto.toml --html skill.html")]
pub struct Opts {
    #[command(flatten)]
    start: Start,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let table = global.file.learning.skill.as_ref().filter(|_| global.config.is_some());
        let plan = || table.map(|table| self.plan(table)).transpose();
        self.start.run(global, ("skill", "skill"), table.map(|table| &table.teacher), plan)
    }
}

impl Opts {
    /// What a new run is given, with runs that were made before.
    fn plan(&self, table: &Skill) -> Result<Plan, Failure> {
        let earlier = match (&table.rollouts_from, &table.store_task) {
            (Some(path), _) => Some(rollouts::read(path, table.consent)?),
            (None, Some(task)) => {
                let store = files::store(&self.start.store.store)?;
                Some(rollouts::of_store(&store.traces_of(task)?, table.consent))
            }
            (None, None) => None,
        };
        plan(table, &self.start.label, self.start.teacher.model(&table.teacher), earlier)
    }
}

/// What the run is given.
fn plan(table: &Skill, label: &str, teacher: Option<String>, earlier: Option<Value>) -> Result<Plan, Failure> {
    let package = Tree::of_folder(&table.folder)?;
    if !package.has("SKILL.md") {
        let message = format!("there is no SKILL.md at the top of {}", table.folder.display());
        return Err(Failure::new(Exit::Usage, "no-skill", message).help("`folder` names the folder that holds it"));
    }
    let agent = Tree::of_paths(&table.agent_files)?;
    let verifier = Tree::of_paths(&table.verify_files)?;
    let prompt = match &table.prompt {
        Prompt::Words(words) => words.clone(),
        Prompt::File(path) => String::from_utf8(files::read_regular(path)?)
            .map_err(|_| Failure::new(Exit::Usage, "unreadable", format!("{} is not UTF-8", path.display())))?,
    };
    let mut settings = table.settings.clone();
    let limits = settings.remove("limits").unwrap_or(Value::Null);
    let texts = |list: &[String]| list.iter().map(|text| text.as_str().into()).collect::<Vec<Value>>();
    let command = |words: &[String], environment: &[(String, String)], files: &Tree| {
        let environment =
            environment.iter().fold(Record::new(), |record, (name, value)| record.with(name.as_str(), value.as_str()));
        Record::new()
            .with("command", texts(words))
            .with("environment", environment)
            .with("files", files.list())
            .with("limits", limits.clone())
    };
    settings.set("prompt", prompt);
    settings.set("agent", command(&table.agent, &table.environment, &agent));
    settings.set("collect", texts(&table.collect));
    settings.set("teacher", teacher);
    if let Some(verify) = &table.verify {
        settings.set("verify", command(verify, &[], &verifier));
    }
    let host = Record::new()
        .with("network", table.network)
        .with("pass_environment", texts(&table.pass_environment))
        .with("at_once", table.at_once)
        .with("max_experiments", table.max_experiments)
        .with("max_runs_micro_usd", table.max_runs_cost);
    let list = package.list().canonical().into_string().into_bytes();
    let mut blobs = package.blobs;
    blobs.extend(agent.blobs);
    blobs.extend(verifier.blobs);
    let mut inputs = vec![("package", list)];
    inputs.extend(earlier.map(|rows| ("rollouts", rows.canonical().into_string().into_bytes())));
    Ok(Plan { kind: "skill", settings, inputs, blobs, host, label: label.to_owned(), dated: false, trigger: None })
}
