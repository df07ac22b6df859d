//! `run`: asks an artifact.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::time::Duration;

use auto_json::{Canonical, Record, Value};
use auto_runtime::{CallError, Limits, Outcome, Program, Sandbox, Session};
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply, say};

/// Run an artifact on an input, a file of inputs, or a stream of them
///
/// Exit code 0: it answered. 3: it abstained, with nothing on stdout and the reason on
/// stderr. 5: it trapped or broke a limit. 6: the file is damaged.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host run triage.cbin --input '{\"subject\":\"Refund\"}'\n  \
    auto-host run triage.cbin --batch inputs.jsonl\n  \
    tail -f inputs.jsonl | auto-host run triage.cbin --stdio")]
pub struct Opts {
    /// The artifact
    file: PathBuf,
    #[command(flatten)]
    source: Source,
    /// With --batch: exit with 3 if any input was abstained on
    #[arg(long, requires = "batch")]
    strict: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct Source {
    /// One input, as JSON
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// A file with one JSON input a line; one result object a line on stdout
    #[arg(long, value_name = "FILE")]
    batch: Option<PathBuf>,
    /// One JSON input a line on stdin, one result object a line on stdout
    #[arg(long)]
    stdio: bool,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        match limits(global).stack {
            0..=SMALL_STACK => self.answer(global),
            stack => on_large_stack(stack, || self.answer(global)),
        }
    }

    fn answer(self, global: &Global) -> Result<Reply, Failure> {
        let sandbox = Sandbox::with_cache(limits(global), global.cache_folder())?;
        let bytes = files::read(&self.file)?;
        let program = Program::load(&sandbox, &bytes)
            .map_err(|error| Failure::from(error).at(self.file.display().to_string()))?;
        if !program.manifest().guarded {
            eprintln!("note: this artifact has no guard, as its contract asks; it answers whatever has the right type");
        }
        let mut session = program.session().checked(true);
        if self.source.stdio {
            stream(&mut session)
        } else if let Some(file) = &self.source.batch {
            batch(&mut session, &files::read(file)?, self.strict, global.json)
        } else {
            single(&mut session, self.source.input.as_deref().unwrap_or_default())
        }
    }
}

/// The stack of an artifact that the main thread has room for.
const SMALL_STACK: usize = 1 << 20;

/// Runs on a thread with so much stack for the artifact.
fn on_large_stack(stack: usize, work: impl FnOnce() -> Result<Reply, Failure> + Send) -> Result<Reply, Failure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(stack.saturating_add(2 << 20));
        match thread.spawn_scoped(scope, work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => {
                let message = format!("no thread with {stack} bytes of stack could be started: {error}");
                Err(Failure::new(Exit::Refused, "thread", message).help("give less --stack"))
            }
        }
    })
}

/// The limits of a call, as the flags give them.
fn limits(global: &Global) -> Limits {
    let mut limits = Limits::default();
    limits.fuel = global.fuel.unwrap_or(limits.fuel);
    limits.memory = global.memory.map_or(limits.memory, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    limits.input = global.max_input.map_or(limits.input, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    limits.stack = global.stack.map_or(limits.stack, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    limits.deadline = global.deadline.map_or(limits.deadline, Duration::from_secs);
    limits
}

fn single(session: &mut Session, input: &str) -> Result<Reply, Failure> {
    let outcome = session.run(input)?;
    let fields = describe(&outcome);
    Ok(match outcome {
        Outcome::Answer(answer) => Reply { data: true, ..Reply::done("answered", answer, fields) },
        Outcome::Abstain { reason, score, limit } => {
            let text = format!("abstained: {reason} {score} is above {limit}");
            let mut reply = Reply::done("abstained", text, fields).exit(Exit::Abstained);
            reply.failed = true;
            reply
        }
        Outcome::Request { capability, .. } => {
            let text = format!("the artifact asks for {capability}, which nothing here provides");
            let mut reply = Reply::done("requested", text, fields).exit(Exit::Refused);
            reply.failed = true;
            reply
        }
    })
}

/// Runs each line; a line that cannot be answered becomes an `error` object.
fn batch(session: &mut Session, inputs: &[u8], strict: bool, json: bool) -> Result<Reply, Failure> {
    let mut counts = Counts::default();
    let mut results = Vec::new();
    for line in inputs.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let result = answer(session, line, &mut counts);
        if json {
            results.push(result.into());
        } else {
            say(&Value::from(result))?;
        }
    }
    let exit = match counts {
        Counts { broken: 1.., .. } => Exit::Broken,
        Counts { refused: 1.., .. } => Exit::Refused,
        Counts { abstained: 1.., .. } if strict => Exit::Abstained,
        _ => Exit::Done,
    };
    let fields = Record::new()
        .with("results", results)
        .with("answered", counts.answered)
        .with("abstained", counts.abstained)
        .with("failed", counts.refused + counts.broken);
    Ok(Reply::done("batch", "", fields).exit(exit))
}

/// Runs each line of stdin as it comes, until the end of it.
fn stream(session: &mut Session) -> Result<Reply, Failure> {
    let mut counts = Counts::default();
    let mut line = Vec::new();
    let mut input = std::io::stdin().lock();
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        let read = read.map_err(|error| files::unreadable("-".as_ref(), &error))?;
        if read == 0 {
            return Ok(Reply::done("stdio", "", Record::new()));
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        say(&Value::from(answer(session, &line, &mut counts)))?;
    }
}

#[derive(Default)]
struct Counts {
    answered: u64,
    abstained: u64,
    refused: u64,
    broken: u64,
}

fn answer(session: &mut Session, line: &[u8], counts: &mut Counts) -> Record {
    let outcome = match std::str::from_utf8(line) {
        Ok(text) => session.run(text.trim()).map_err(Failure::from),
        Err(_) => Err(Failure::new(Exit::Refused, "bad-input", "the input is not UTF-8")),
    };
    match outcome {
        Ok(outcome) => {
            match outcome {
                Outcome::Abstain { .. } => counts.abstained += 1,
                Outcome::Answer(_) | Outcome::Request { .. } => counts.answered += 1,
            }
            describe(&outcome)
        }
        Err(failure) => {
            if failure.exit == Exit::Broken {
                counts.broken += 1
            } else {
                counts.refused += 1
            }
            let error = Record::new().with("code", failure.code).with("message", failure.message);
            Record::new().with("error", error)
        }
    }
}

fn describe(outcome: &Outcome) -> Record {
    match outcome {
        // The session has checked that the answer is JSON.
        Outcome::Answer(answer) => {
            Record::new().with("output", Canonical::of(answer).map_or(Value::Null, |json| json.value()))
        }
        Outcome::Abstain { reason, score, limit } => {
            let novelty = Record::new().with("reason", reason.as_str()).with("score", *score).with("limit", *limit);
            Record::new().with("abstained", novelty)
        }
        Outcome::Request { capability, input, .. } => {
            let request = Record::new().with("capability", capability.as_str()).with("input", input.as_str());
            Record::new().with("request", request)
        }
    }
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Failure {
        use auto_runtime::Class::{BadInput, InputTooLarge, Unsupported};
        let exit =
            if matches!(error.class, BadInput | Unsupported | InputTooLarge) { Exit::Refused } else { Exit::Broken };
        Failure::new(exit, error.code(), error.message)
    }
}
