//! `search approve`, `reject`, `rollback` and `cancel`: what a person decides of a run.

use std::path::PathBuf;

use auto_json::{Record, Value};
use auto_schema::shown;
use clap::Args;

use super::RunsFolder;
use super::folder::{Run, is_failed};
use super::show::reply;
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::options::Global;
use crate::reply::{Exit, Reply};

/// Say yes or no to an edit that waits
///
/// An edit that is approved is tried against what counts now, and kept only if the gate lets it
/// through.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host search approve spec-search-3f2a9c01d5e4 4f56a372d690")]
pub struct Review {
    /// The run
    run: String,
    /// The edit
    edit: String,
    #[command(flatten)]
    common: Common,
}

/// Go back to an earlier state
///
/// The run keeps what it did: going back is a new state with the content of an old one.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host search rollback skill-3f2a9c01d5e4")]
pub struct Rollback {
    /// The run
    run: String,
    /// The state of a skill to go back to, or the session of a spec search to take back; `search show`
    /// tells them [default: by one edit, or the last session that still stands]
    #[arg(long, value_name = "ID")]
    to: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// End a run that was cut off, with what it has
///
/// Starts nothing any more: the driver is told what was measured so far and reports it. Nothing is
/// confirmed, so what counted at first still counts. For `search evolve`.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host search cancel evolve-3f2a9c01d5e4")]
pub struct Cancel {
    /// The run
    run: String,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Common {
    #[command(flatten)]
    runs: RunsFolder,
    /// Who decides; it is written down
    #[arg(long, value_name = "NAME", env = "USER", default_value = "")]
    actor: String,
    /// A component that provides passes, or a driver named like the built-in one; put on top
    #[arg(long = "pass", value_name = "P.wasm")]
    extra: Vec<PathBuf>,
}

impl Review {
    pub fn run(self, global: &Global, action: &str) -> Result<Reply, Failure> {
        let what = Record::new().with("action", action).with("edit", self.edit.as_str());
        self.common.act(global, &self.run, what)
    }
}

impl Cancel {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let run = Run::load(&self.common.runs.folder(global), &self.run)?;
        if run.kind() != "evolve" {
            let message = format!("the run {} is of `search {}`, which ends by itself", run.id, run.verb());
            return Err(Failure::new(Exit::Usage, "other-kind", message)
                .help("what it kept before stands; nothing has to be done"));
        }
        let toolbox = Toolbox::open(global, &self.common.extra)?;
        let report = run.drive(global, &toolbox, Record::new().with("action", "cancel"), None, false)?;
        Ok(reply(&run, &report))
    }
}

impl Rollback {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let mut what = Record::new().with("action", "rollback");
        if let Some(to) = &self.to {
            what.set("to", to.as_str());
        }
        self.common.act(global, &self.run, what)
    }
}

impl Common {
    fn act(&self, global: &Global, id: &str, what: Record) -> Result<Reply, Failure> {
        let run = Run::load(&self.runs.folder(global), id)?;
        let toolbox = Toolbox::open(global, &self.extra)?;
        let actor = if self.actor.is_empty() { "somebody" } else { self.actor.as_str() };
        let done = run.drive(global, &toolbox, what.with("actor", actor), None, false)?;
        let text = |key: &str| shown(done.get(key).and_then(Value::as_text).unwrap_or_default()).to_string();
        let fields = done.as_record().cloned().unwrap_or_default();
        let mut reply = Reply::done(&text("status").replace('_', "-"), format!("{}: {}", run.id, text("why")), fields);
        if is_failed(&done) {
            (reply.exit, reply.failed) = (Exit::Refused, true);
        }
        Ok(reply)
    }
}
