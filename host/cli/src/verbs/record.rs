//! `record`: runs an instrumented agent and takes in what it traced.

use std::fs;
use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use auto_json::Value;
use auto_store::Store;
use clap::Args;

use super::import::{self, Request};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::{Global, StoreOption};
use crate::reply::{Exit, Reply};

/// Run an instrumented agent and take its trace into the store
///
/// The agent's SDK writes to the file named by $AUTO_TRACE_FILE. If the trace cannot be
/// taken in, the file is kept and its place is said. An agent that fails is recorded all
/// the same; the exit code is then 1.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host record --store auto.db -- python3 agent.py tickets.jsonl")]
pub struct Opts {
    #[command(flatten)]
    store: StoreOption,
    /// Also keep the trace file, here
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    /// Keep what is whole if the agent was cut off in the middle of a line
    #[arg(long)]
    recover_partial: bool,
    /// The agent and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        if let Some(keep) = &self.keep {
            files::distinct(keep, &[&self.store.store])?;
        }
        let toolbox = Toolbox::open(global, &[])?;
        // Refuse an unusable store before the agent costs anything.
        let mut store = Store::create_or_open(&self.store.store)?;
        let folder = tempfile::Builder::new().prefix("auto-record-").tempdir().map_err(|error| {
            Failure::new(Exit::Refused, "unwritable", format!("cannot make a temporary folder: {error}"))
        })?;
        let trace = folder.path().join("trace.jsonl");
        let status = self.start(&trace, global.json)?;
        let taken = self.take(&toolbox, &mut store, &trace);
        let ingested = match taken {
            Ok(ingested) => ingested,
            Err(failure) if failure.code == "no-trace" => return Err(failure),
            Err(failure) => {
                // The agent will not be paid for again: leave what it wrote.
                let _ = folder.keep();
                let kept = format!("the trace is kept at {}; import it from there", trace.display());
                return Err(failure.help(kept));
            }
        };
        let mut fields = import::fields(&ingested);
        fields.set("agent_exit", status.code().map(Value::from));
        let summary = import::summary(&ingested, &self.store.store);
        if status.success() {
            return Ok(Reply::done("recorded", summary, fields));
        }
        let how = status.code().map_or_else(|| format!("{:?}", status.signal()), |code| code.to_string());
        let mut reply = Reply::done("agent-failed", format!("the agent failed ({how}); {summary}"), fields);
        reply.failed = true;
        Ok(reply.exit(Exit::Refused))
    }

    /// Runs the agent. Under `--json` stdout is ours, so what it prints goes to stderr.
    fn start(&self, trace: &Path, json: bool) -> Result<ExitStatus, Failure> {
        let program = &self.command[0];
        let mut command = Command::new(program);
        command.args(&self.command[1..]).env("AUTO_TRACE_FILE", trace);
        if let (true, Ok(stderr)) = (json, std::io::stderr().as_fd().try_clone_to_owned()) {
            command.stdout(Stdio::from(stderr));
        }
        command
            .status()
            .map_err(|error| Failure::new(Exit::Usage, "no-agent", format!("cannot start {program:?}: {error}")))
    }

    fn take(&self, toolbox: &Toolbox, store: &mut Store, trace: &Path) -> Result<auto_store::Ingested, Failure> {
        let bytes = match fs::read(trace) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(files::unreadable(trace, &error)),
            read => read.unwrap_or_default(),
        };
        if bytes.is_empty() {
            return Err(Failure::new(Exit::Refused, "no-trace", "the agent wrote no trace")
                .help("record an agent that uses the SDK, or read its own trace format with `auto-host import`"));
        }
        if let Some(keep) = &self.keep {
            files::write(keep, &bytes)?;
        }
        let request = Request { format: Some("auto-jsonl"), task: None, recover_partial: self.recover_partial };
        let traces = request.read(toolbox, trace)?;
        Ok(store.ingest(&traces)?)
    }
}
