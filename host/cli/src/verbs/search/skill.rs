//! `search skill`: a SKILL.md, one edit at a time.

use std::path::PathBuf;
use std::sync::Arc;

use auto_config::{Prompt, Skill};
use auto_engine::Teacher;
use auto_json::{Record, Value};
use clap::Args;

use super::RunsFolder;
use super::egress::House;
use super::folder::{Plan, Run};
use super::rollouts;
use super::show::{reply, write_page};
use super::tree::Tree;
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::models::TeacherOptions;
use crate::options::{Global, StoreOption};
use crate::reply::{Exit, Reply};

/// Improve the SKILL.md of a package, by what runs of an agent show
///
/// Reads [learning.skill] of the file that --config names. The package itself is left as it is:
/// what the search made of it is in the folder of the run, under `made`.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host search skill --config auto.toml --html skill.html")]
pub struct Opts {
    #[command(flatten)]
    runs: RunsFolder,
    /// Go on with this run, with what it was given then
    #[arg(long, value_name = "RUN")]
    resume: Option<String>,
    /// Tells this run from one that is else the same
    #[arg(long, value_name = "TEXT", default_value = "", conflicts_with = "resume")]
    label: String,
    #[command(flatten)]
    store: StoreOption,
    #[command(flatten)]
    teacher: TeacherOptions,
    /// Write the page of the run here, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// A component that provides passes, or a driver named like the built-in one; put on top
    #[arg(long = "pass", value_name = "P.wasm")]
    extra: Vec<PathBuf>,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let runs = self.runs.folder(global);
        let table = global.file.learning.skill.as_ref().filter(|_| global.config.is_some());
        let run = match (&self.resume, table) {
            (Some(id), _) => Run::load(&runs, id)?,
            (None, Some(table)) => self.plan(table)?.start(&runs)?,
            (None, None) => return Err(untold("skill")),
        };
        if run.kind() != "skill" {
            let message = format!("the run {} is of `search {}`", run.id, run.verb());
            return Err(Failure::new(Exit::Usage, "other-kind", message));
        }
        let toolbox = Toolbox::open(global, &self.extra)?;
        let defaults = table.map(|table| table.teacher.clone()).unwrap_or_default();
        let session = format!("search {}", run.id);
        let paid = self.teacher.open_or(&defaults, &session)?;
        let house = paid.map(|paid| House::of(paid, &run.folder)).transpose()?;
        let teacher = house.map(|house| Arc::new(house) as Arc<dyn Teacher>);
        let action = Record::new().with("action", "run");
        let report = run.drive(global, &toolbox, action, teacher, self.teacher.reissue)?;
        write_page(self.html.as_deref(), &run, &report)?;
        Ok(reply(&run, &report))
    }
}

impl Opts {
    /// What a new run is given, with runs that were made before.
    fn plan(&self, table: &Skill) -> Result<Plan, Failure> {
        let earlier = match (&table.rollouts_from, &table.store_task) {
            (Some(path), _) => Some(rollouts::read(path)?),
            (None, Some(task)) => {
                let store = files::store(&self.store.store)?;
                Some(rollouts::of_store(&store.traces_of(task)?))
            }
            (None, None) => None,
        };
        plan(table, &self.label, self.teacher.model(&table.teacher), earlier)
    }
}

/// Nobody says what to do.
pub fn untold(table: &str) -> Failure {
    let message = format!("nobody says what to search: there is no [learning.{table}] in a file that --config names");
    Failure::new(Exit::Usage, "no-config", message).help(
        "give --config FILE; since the search runs the commands in it, a file that merely lies here does not count",
    )
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
        .with("max_experiments", table.max_experiments);
    let list = package.list().canonical().into_string().into_bytes();
    let mut blobs = package.blobs;
    blobs.extend(agent.blobs);
    blobs.extend(verifier.blobs);
    let mut inputs = vec![("package", list)];
    inputs.extend(earlier.map(|rows| ("rollouts", rows.canonical().into_string().into_bytes())));
    Ok(Plan { kind: "skill", settings, inputs, blobs, host, label: label.to_owned(), dated: false })
}
