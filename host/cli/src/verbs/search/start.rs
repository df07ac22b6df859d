//! What every search is started with, and how it goes from there.

use std::path::PathBuf;
use std::sync::Arc;

use auto_engine::Teacher;
use auto_json::Record;
use clap::Args;

use super::RunsFolder;
use super::egress::House;
use super::folder::{Plan, Run};
use super::show::{reply, write_page};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::models::TeacherOptions;
use crate::options::{Global, StoreOption};
use crate::reply::{Exit, Reply};

/// The flags of every search.
#[derive(Args)]
pub struct Start {
    #[command(flatten)]
    runs: RunsFolder,
    /// Go on with this run, with what it was given then
    #[arg(long, value_name = "RUN")]
    resume: Option<String>,
    /// Tells this run from one that is else the same
    #[arg(long, value_name = "TEXT", default_value = "", conflicts_with = "resume")]
    pub label: String,
    #[command(flatten)]
    pub store: StoreOption,
    #[command(flatten)]
    pub teacher: TeacherOptions,
    /// Write the page of the run here, too
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// A component that provides passes, or a driver named like the built-in one; put on top
    #[arg(long = "pass", value_name = "P.wasm")]
    extra: Vec<PathBuf>,
    /// Who is asked for what is hard, where the table names somebody.
    #[arg(skip)]
    pub strong: Option<String>,
}

impl Start {
    /// Whether a run that there is goes on.
    pub fn is_resumed(&self) -> bool {
        self.resume.is_some()
    }

    /// The folder of runs.
    pub fn runs(&self, global: &Global) -> PathBuf {
        self.runs.folder(global)
    }

    /// Starts a run of a kind, or goes on with one; `table` is its table in the configuration, with
    /// the teacher that stands there, and `plan` what a new run is given.
    pub fn run(
        &self,
        global: &Global,
        (kind, table): (&str, &str),
        asked: Option<&auto_config::Teacher>,
        plan: impl FnOnce() -> Result<Option<Plan>, Failure>,
    ) -> Result<Reply, Failure> {
        let runs = self.runs.folder(global);
        let run = match &self.resume {
            Some(id) => Run::load(&runs, id)?,
            None => plan()?.ok_or_else(|| untold(table))?.on(global).start(&runs)?,
        };
        if run.kind() != kind {
            let message = format!("the run {} is of `search {}`", run.id, run.verb());
            return Err(Failure::new(Exit::Usage, "other-kind", message));
        }
        let toolbox = Toolbox::open(global, &self.extra)?;
        let defaults = asked.cloned().unwrap_or_default();
        let paid = self.teacher.open_or(&defaults, &format!("search {}", run.id))?;
        let strong = asked.filter(|_| paid.is_some()).and_then(|asked| self.strong.clone().map(|model| (asked, model)));
        let strong = strong.map(|(asked, model)| self.teacher.open_named(asked, &model, &format!("search {}", run.id)));
        let elsewhere = paid.as_ref().filter(|paid| !paid.model().provider.is_local());
        if let Some(paid) = elsewhere.filter(|_| run.setting("teacher_engine") == Some("local")) {
            let message =
                format!("the run {} has teacher_engine = \"local\", and {} is no local model", run.id, paid.model());
            return Err(Failure::new(Exit::Usage, "not-local", message)
                .help("name one of ollama/ or llamacpp/, or begin a run that may ask others"));
        }
        let house = paid.map(|paid| House::of(paid, &run.folder, run.passed_on())).transpose()?;
        let house = match (house, strong.transpose()?) {
            (Some(house), Some(strong)) => Some(house.with_strong(strong)),
            (house, _) => house,
        };
        let teacher = house.map(|house| Arc::new(house) as Arc<dyn Teacher>);
        let action = Record::new().with("action", "run");
        let report = run.drive(global, &toolbox, action, teacher, self.teacher.reissue)?;
        write_page(self.html.as_deref(), &run, &report)?;
        Ok(reply(&run, &report))
    }
}

/// Nobody says what to do.
fn untold(table: &str) -> Failure {
    let message = format!("nobody says what to search: there is no [learning.{table}] in a file that --config names");
    Failure::new(Exit::Usage, "no-config", message).help(
        "give --config FILE; since the search runs the commands in it, a file that merely lies here does not count",
    )
}
