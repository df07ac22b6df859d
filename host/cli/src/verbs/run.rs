//! `run`: asks an artifact.

use std::io::BufRead as _;
use std::path::PathBuf;
use std::time::Duration;

use auto_json::{Canonical, Record, Value};
use auto_runtime::{CallError, EffectRecord, Limits, Outcome, Program, RunLimits, Sandbox, Session};
use clap::Args;

use crate::components::artifact_cache;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply, say};
use crate::tools::{self, Processes, ToolOptions};

/// Run an artifact on an input, a file of inputs, or a stream of them
///
/// Exit code 0: it answered. 3: it abstained, with nothing on stdout and the reason on
/// stderr. 5: it trapped or broke a limit. 6: the file is damaged.
///
/// An artifact that may ask for tools runs only if every one of them is given. What it asks
/// is said on stderr, one line a call.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host run triage.cbin --input '{\"subject\":\"Refund\"}'\n  \
    auto-host run triage.cbin --batch inputs.jsonl\n  \
    tail -f inputs.jsonl | auto-host run triage.cbin --stdio\n  \
    auto-host run inbox.cbin --input '{\"id\":7}' --tool 'look-up=python3 look_up.py'")]
pub struct Opts {
    /// The artifact
    file: PathBuf,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    tools: ToolOptions,
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
        let sandbox = Sandbox::with_cache(limits(global), artifact_cache(global)?)?;
        let bytes = files::read(&self.file)?;
        let program = Program::load(&sandbox, &bytes)
            .map_err(|error| Failure::from(error).at(self.file.display().to_string()))?;
        if !program.manifest().guarded {
            eprintln!("note: this artifact has no guard, as its contract asks; it answers whatever has the right type");
        }
        let mut runner = Runner {
            session: program.session().checked(true),
            tools: self.tools.start(&program.manifest().capabilities, sandbox.limits().input)?,
            limits: RunLimits { effects: self.tools.max_tool_calls, run: self.tools.run_id.clone() },
        };
        refuse_ungranted(&program, &runner.tools)?;
        if self.source.stdio {
            stream(&mut runner)
        } else if let Some(file) = &self.source.batch {
            batch(&mut runner, &files::read(file)?, self.strict, global.json)
        } else {
            single(&mut runner, self.source.input.as_deref().unwrap_or_default())
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

/// Refuses an artifact that may ask for what nothing provides, before anything runs.
fn refuse_ungranted(program: &Program, tools: &Processes) -> Result<(), Failure> {
    let missing = program.not_granted(tools);
    if missing.is_empty() {
        return Ok(());
    }
    let message = format!("the artifact may ask for {}, which nothing here grants", missing.join(", "));
    let flags: Vec<String> = missing
        .iter()
        .filter(|name| name.starts_with("tool:") || name.starts_with("model:"))
        .map(|name| format!("--tool '{}=CMD'", name.strip_prefix("tool:").unwrap_or(name)))
        .collect();
    let failure = Failure::new(Exit::Refused, "not-granted", message);
    Err(if flags.is_empty() { failure } else { failure.help(format!("grant it with {}", flags.join(" "))) })
}

/// What runs inputs.
struct Runner {
    session: Session,
    tools: Processes,
    limits: RunLimits,
}

impl Runner {
    /// Runs an input; also what effects there were.
    fn run(&mut self, input: &str) -> (Result<Outcome, CallError>, Vec<EffectRecord>) {
        let outcome = self.session.run_with(input, &mut self.tools, &self.limits);
        (outcome, self.tools.take_records())
    }
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

fn single(runner: &mut Runner, input: &str) -> Result<Reply, Failure> {
    let (outcome, effects) = runner.run(input);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let reply = Reply::from(Failure::from(error));
            let fields = with_effects(reply.fields.clone(), &effects);
            return Ok(Reply { fields, ..reply });
        }
    };
    let fields = with_effects(describe(&outcome), &effects);
    Ok(match outcome {
        Outcome::Answer(answer) => Reply { data: true, ..Reply::done("answered", answer, fields) },
        Outcome::Abstain { reason, score, limit } => {
            let text = match effects.last().and_then(|effect| effect.error.as_ref().map(|error| (effect, error))) {
                Some((effect, error)) if reason == "effect-failed" => {
                    format!("abstained: {reason}: {}: {}: {}", effect.capability, error.code, error.message)
                }
                _ => format!("abstained: {reason} {score} is above {limit}"),
            };
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

/// What there is to say about effects, where there were any.
fn with_effects(fields: Record, effects: &[EffectRecord]) -> Record {
    if effects.is_empty() {
        return fields;
    }
    fields.with("effects", effects.iter().map(tools::describe).collect::<Vec<Value>>())
}

/// Runs each line; a line that cannot be answered becomes an `error` object.
fn batch(runner: &mut Runner, inputs: &[u8], strict: bool, json: bool) -> Result<Reply, Failure> {
    let mut counts = Counts::default();
    let mut results = Vec::new();
    for line in inputs.split(|&byte| byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        let result = answer(runner, line, &mut counts);
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
fn stream(runner: &mut Runner) -> Result<Reply, Failure> {
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
        say(&Value::from(answer(runner, &line, &mut counts)))?;
    }
}

#[derive(Default)]
struct Counts {
    answered: u64,
    abstained: u64,
    refused: u64,
    broken: u64,
}

fn answer(runner: &mut Runner, line: &[u8], counts: &mut Counts) -> Record {
    let (outcome, effects) = match std::str::from_utf8(line) {
        Ok(text) => {
            let (outcome, effects) = runner.run(text.trim());
            (outcome.map_err(Failure::from), effects)
        }
        Err(_) => (Err(Failure::new(Exit::Refused, "bad-input", "the input is not UTF-8")), Vec::new()),
    };
    let fields = match outcome {
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
    };
    with_effects(fields, &effects)
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
        use auto_runtime::Class::{
            BadInput, ForeignState, ForgedState, InputTooLarge, NotGranted, ReplayedState, Unsupported,
        };
        let exit = match error.class {
            BadInput | Unsupported | InputTooLarge | NotGranted => Exit::Refused,
            ForgedState | ReplayedState | ForeignState => Exit::Integrity,
            _ => Exit::Broken,
        };
        Failure::new(exit, error.code(), error.message)
    }
}
