//! `record`: runs an instrumented agent and takes in what it traced.

use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use auto_files::regular;
use auto_json::Value;
use auto_schema::shown_path;
use auto_store::{Ingested, Store};
use clap::Args;

use super::import::{self, Request};
use crate::agent::{self, End};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files::{self, Output};
use crate::inputs;
use crate::options::{Global, ScrubOption, StoreOption};
use crate::reply::{Exit, Reply};
use crate::spool::{Recording, Spool};

/// Run an instrumented agent and take its trace into the store
///
/// The agent's SDK writes to the file named by $AUTO_TRACE_FILE, in a folder beside the
/// store. If the trace cannot be taken in, the file stays there and its place is said. An
/// agent that fails is recorded all the same; the exit code is then 1. SIGINT, SIGTERM and
/// SIGHUP are passed to the agent, a second one kills it; what it wrote is taken in, and the
/// exit code is the agent's, 128 and the signal's number for one that was killed.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host record --store auto.db -- python3 agent.py tickets.jsonl")]
pub struct Opts {
    #[command(flatten)]
    store: StoreOption,
    /// Also keep the trace file, here
    #[arg(long, value_name = "FILE")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    scrub: ScrubOption,
    /// Keep what is whole if the agent was cut off in the middle of a line
    #[arg(long)]
    recover_partial: bool,
    /// The agent and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

impl Opts {
    /// Whether the trace goes to stdout.
    pub fn owns_stdout(&self) -> bool {
        self.keep.as_deref().is_some_and(files::is_stdout)
    }

    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let toolbox = Toolbox::open(global, &[])?;
        // Refuse an unusable store before the agent costs anything.
        drop(files::store_for_recording(&self.store.store)?);
        inputs::note_store(&self.store.store);
        // What the command names, the agent may read.
        self.command.iter().map(Path::new).filter(|word| word.is_file()).for_each(inputs::note);
        let keep = self.keep.as_deref().map(Output::at).transpose()?;
        let spool = Spool::beside(&self.store.store);
        let recording = spool.begin()?;
        let end = match self.start(&recording, global.json || self.owns_stdout()) {
            Ok(end) => end,
            Err(failure) => {
                recording.done();
                return Err(failure);
            }
        };
        let taken = self.take(&toolbox, &recording.trace, keep.as_ref());
        let mut reply = match taken {
            Ok(ingested) => {
                recording.done();
                self.reply(&end, &ingested)
            }
            Err(failure) if failure.code == "no-trace" => {
                recording.done();
                Reply::from(failure)
            }
            // The agent will not be paid for again: leave what it wrote.
            Err(failure) => Reply::from(failure.help(self.way_out(&recording, &spool))),
        };
        if end.told.is_some() || end.status.code().is_none() {
            reply.status = Some(end.code());
        }
        spool.mention();
        Ok(reply)
    }

    fn reply(&self, end: &End, ingested: &Ingested) -> Reply {
        let mut fields = import::fields(ingested);
        fields.set("agent_exit", end.status.code().map(Value::from));
        fields.set("interrupted", end.told.map(agent::name));
        let summary = import::summary(ingested, &self.store.store);
        if end.status.success() {
            return Reply::done("recorded", summary, fields);
        }
        let (code, text) = match end.told {
            Some(signal) => ("interrupted", format!("{} came and {}; {summary}", agent::name(signal), end.how())),
            None => ("agent-failed", format!("{}; {summary}", end.how())),
        };
        let mut reply = Reply::done(code, text, fields).exit(Exit::Refused);
        reply.failed = true;
        reply
    }

    /// Runs the agent. Where stdout is for something else, what it prints goes to stderr.
    fn start(&self, recording: &Recording, silent: bool) -> Result<End, Failure> {
        let program = &self.command[0];
        let mut command = Command::new(program);
        let trace = std::path::absolute(&recording.trace).unwrap_or_else(|_| recording.trace.clone());
        command.args(&self.command[1..]).env("AUTO_TRACE_FILE", trace);
        if let (true, Ok(stderr)) = (silent, std::io::stderr().as_fd().try_clone_to_owned()) {
            command.stdout(Stdio::from(stderr));
        }
        recording
            .share()
            .and_then(|()| agent::run(&mut command))
            .map_err(|error| Failure::new(Exit::Usage, "no-agent", format!("cannot start {program:?}: {error}")))
    }

    fn take(&self, toolbox: &Toolbox, trace: &Path, keep: Option<&Output>) -> Result<Ingested, Failure> {
        let bytes = written(trace)?;
        if let Some(keep) = keep {
            keep.write(&bytes)?;
        }
        let scrubber = self.scrub.beside(&self.store.store)?;
        let (recover_partial, forget) = (self.recover_partial, scrubber.is_some());
        let request = Request { format: Some("auto-jsonl"), task: None, recover_partial, forget };
        let mut file = request.parse(toolbox, &shown_path(trace), &bytes)?;
        if let Some(scrubber) = &scrubber {
            file.traces.iter_mut().for_each(|trace| scrubber.trace(trace));
        }
        Ok(Store::create_or_open(&self.store.store)?.ingest(&file.traces)?)
    }

    /// Where the trace is, and how to take it in.
    fn way_out(&self, recording: &Recording, spool: &Spool) -> String {
        let recover = if self.recover_partial { " --recover-partial" } else { "" };
        format!("the trace is kept at {}; take it in with `{}{recover}`", shown_path(&recording.trace), spool.command())
    }
}

/// What the agent wrote. It could put anything in the place of its trace file, so only a file
/// is read.
fn written(trace: &Path) -> Result<Vec<u8>, Failure> {
    let none = |message: &str| Err(Failure::new(Exit::Refused, "no-trace", message));
    let way_out = "record an agent that uses the SDK, or read its own trace format with `auto-host import`";
    match regular::read(trace, files::LARGEST) {
        Ok(bytes) if !bytes.is_empty() => Ok(bytes),
        Err(error) if error.kind() == ErrorKind::InvalidInput || trace.is_dir() => {
            none("the agent put something in the place of its trace file that is no file")
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(files::unreadable(trace, &error)),
        _ => none("the agent wrote no trace"),
    }
    .map_err(|failure| if failure.code == "no-trace" { failure.help(way_out) } else { failure })
}
