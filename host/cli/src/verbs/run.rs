//! `run`: asks an artifact.

use std::io::{BufRead, stdin};
use std::path::{Path, PathBuf};
use std::time::Duration;

use auto_json::{Canonical, Record, Value};
use auto_runtime::{CallError, EffectRecord, Limits, Outcome, Program, RunLimits, Sandbox, Session};
use auto_schema::key::Part;
use auto_schema::{shown, shown_path};
use clap::Args;

use crate::components::artifact_cache;
use crate::failure::Failure;
use crate::files;
use crate::keys::{self, KeyOptions};
use crate::lines::{Line, Lines};
use crate::models::{ModelOptions, Purse};
use crate::options::Global;
use crate::registries::RegistryOption;
use crate::reply::{Exit, Reply, say};
use crate::tier0::{self, Answered, Tier0, Tier0Options};
use crate::tools::{self, Processes, ToolOptions};

/// Run an artifact on an input, a file of inputs, or a stream of them
///
/// Exit code 0: it answered. 3: it abstained, with nothing on stdout and the reason on
/// stderr. 5: it trapped or broke a limit. 6: the file is damaged.
///
/// With --tier0 an input that the artifact does not answer is answered by the agent or model that
/// it stands for, and with --store that answer is recorded for the next compile. Exit code 0 then,
/// too; where the artifact trapped or broke a limit, stderr says ALARM.
///
/// What comes from the registry has to be signed by a trusted key and meet the policy of
/// auto.toml; so has a file, where auto.toml has a policy.
///
/// An artifact that may ask for tools runs only if every one of them is given. What it asks
/// is said on stderr, one line a call.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host run triage.cbin --input '{\"subject\":\"Refund\"}'\n  \
    auto-host run triage.cbin --batch inputs.jsonl\n  \
    tail -f inputs.jsonl | auto-host run triage.cbin --stdio\n  \
    auto-host run triage.cbin --stdio --tier0 'python3 agent.py' --store auto.db\n  \
    auto-host run inbox.cbin --input '{\"id\":7}' --tool 'look-up=python3 look_up.py'")]
pub struct Opts {
    /// The artifact: a file, or its name or id in the registry
    file: PathBuf,
    #[command(flatten)]
    registry: RegistryOption,
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    tools: ToolOptions,
    #[command(flatten)]
    tier0: Tier0Options,
    #[command(flatten)]
    keys: KeyOptions,
    #[command(flatten)]
    models: ModelOptions,
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
    /// Whether stdout is for a line of each input.
    pub fn owns_stdout(&self, json: bool) -> bool {
        self.source.stdio || (self.source.batch.is_some() && !json)
    }

    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        match limits(global).stack {
            0..=SMALL_STACK => self.answer(global),
            stack => on_large_stack(stack, || self.answer(global)),
        }
    }

    fn answer(self, global: &Global) -> Result<Reply, Failure> {
        // One session: an instance, and the one that takes its place.
        let sandbox = Sandbox::with_cache(limits(global).with_instances(2), artifact_cache(global)?)?;
        let bytes = self.registry.artifact(global, &self.file)?;
        let program =
            Program::load(&sandbox, &bytes).map_err(|error| Failure::from(error).at(shown_path(&self.file)))?;
        let most = sandbox.limits().input;
        let purse = Purse::of(&tier0::session(&program));
        let key = self.keys.of(&program)?;
        let tier0 = self.tier0.start(global, &program, &self.tools, &self.models, &purse, most)?;
        let mut runner = Runner {
            session: program.session().checked(true),
            tier0: tier0.map(|tier0| tier0.keyed(key.clone())),
            key,
            tools: self.tools.start(&program.manifest().capabilities, most, &self.models, &purse)?,
            limits: RunLimits { effects: self.tools.max_tool_calls, run: self.tools.run_id.clone() },
        };
        refuse_ungranted(&program, &runner.tools)?;
        if !program.manifest().guarded {
            eprintln!("note: this artifact has no guard, as its contract asks; it answers whatever has the right type");
        }
        if self.source.stdio {
            stream(&mut runner, &mut Lines::new(stdin().lock(), most))
        } else if let Some(file) = &self.source.batch {
            batch(&mut runner, &mut Lines::new(files::reader(file)?, most), file, self.strict, global.json)
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
    let mut flags: Vec<String> = missing
        .iter()
        .filter(|name| name.starts_with("tool:") || name.starts_with("model:"))
        .map(|name| match name.strip_prefix("tool:") {
            Some(tool) => format!("--tool '{tool}=CMD'"),
            None => format!("--tool '{name}=CMD' or --tool '{name}=model:PROVIDER/NAME'"),
        })
        .collect();
    if missing.iter().any(|name| name.starts_with("memory:")) {
        flags.push("--memory-file FILE".to_owned());
    }
    let failure = Failure::new(Exit::Refused, "not-granted", message);
    Err(if flags.is_empty() { failure } else { failure.help(format!("grant it with {}", flags.join(" "))) })
}

/// What runs inputs.
struct Runner {
    session: Session,
    tools: Processes,
    limits: RunLimits,
    tier0: Option<Tier0>,
    /// What of what is given is the artifact's input; all of it where none.
    key: Option<Part>,
}

/// What became of an input.
struct Ran {
    /// Of the artifact's own run.
    outcome: Result<Outcome, CallError>,
    effects: Vec<EffectRecord>,
    /// What tier 0 came to, where it was asked.
    tier0: Option<Result<Answered, Failure>>,
}

impl Runner {
    /// Runs an input, and asks tier 0 where the artifact has no answer. Not where a tool was
    /// called: what it did would be done twice.
    fn run(&mut self, input: &str) -> Ran {
        let outcome = match keys::input(self.key.as_ref(), input) {
            Ok(Some(own)) => self.session.run_with(&own, &mut self.tools, &self.limits),
            Ok(None) => Ok(Outcome::Abstain { reason: "no-key".to_owned(), score: 0, limit: 0 }),
            Err(error) => Err(error),
        };
        let effects = self.tools.take_records();
        let tripped = match &outcome {
            Ok(Outcome::Abstain { reason, .. }) => Some(reason.clone()),
            Err(error) if Failure::from(error.clone()).exit == Exit::Broken => Some(error.code().to_owned()),
            _ => None,
        };
        let tier0 = match (tripped, &mut self.tier0) {
            (Some(why), Some(tier0)) if effects.is_empty() => {
                if let Err(error) = &outcome {
                    eprintln!(
                        "ALARM: the artifact failed ({}: {}); tier 0 is asked",
                        error.code(),
                        shown(&error.message)
                    );
                }
                Some(tier0.answer(input, &why))
            }
            _ => None,
        };
        Ran { outcome, effects, tier0 }
    }
}

impl Ran {
    /// Adds who answered, what tier 0 came to, and an alarm where the artifact failed.
    fn tiers(&self, fields: Record) -> Record {
        let Some(tier0) = &self.tier0 else { return fields };
        let fields = match &self.outcome {
            Err(error) => {
                fields.with("alarm", Record::new().with("code", error.code()).with("message", error.message.as_str()))
            }
            Ok(outcome) => match describe(outcome).get("abstained") {
                Some(novelty) => fields.with("abstained", novelty.clone()),
                None => fields,
            },
        };
        match tier0 {
            Ok(answered) => {
                fields.with("output", answered.output.value()).with("tier", 0u32).with("tier0", answered.fields.clone())
            }
            Err(failure) => {
                let error = Record::new().with("code", failure.code.as_str()).with("message", failure.message.as_str());
                fields.with("tier0", Record::new().with("error", error))
            }
        }
    }
}

/// The limits of a call, as the flags give them.
pub fn limits(global: &Global) -> Limits {
    let mut limits = Limits::default();
    limits.fuel = global.fuel.unwrap_or(limits.fuel);
    limits.memory = global.memory.map_or(limits.memory, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    limits.input = global.max_input.map_or(limits.input, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    limits.stack = global.stack.map_or(limits.stack, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    limits.deadline = global.deadline.map_or(limits.deadline, Duration::from_secs);
    limits
}

fn single(runner: &mut Runner, input: &str) -> Result<Reply, Failure> {
    let ran = runner.run(input);
    let tiers = ran.tiers(Record::new());
    match ran.tier0 {
        Some(Ok(answered)) => {
            let text = answered.output.into_string();
            return Ok(Reply { data: true, ..Reply::done("answered", text, tiers) });
        }
        Some(Err(failure)) => {
            let mut reply = alone(ran.outcome, &ran.effects)?;
            reply.text.push_str(&format!("\ntier 0 does not answer either: {failure}"));
            tiers.into_iter().for_each(|(key, value)| reply.fields.set(key, value));
            return Ok(reply);
        }
        None => {}
    }
    let answered = runner.tier0.is_some() && matches!(ran.outcome, Ok(Outcome::Answer(_)));
    let mut reply = alone(ran.outcome, &ran.effects)?;
    if answered {
        reply.fields.set("tier", 1u32);
    }
    Ok(reply)
}

/// What the artifact by itself came to.
fn alone(outcome: Result<Outcome, CallError>, effects: &[EffectRecord]) -> Result<Reply, Failure> {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let reply = Reply::from(Failure::from(error));
            let fields = with_effects(reply.fields.clone(), effects);
            return Ok(Reply { fields, ..reply });
        }
    };
    let fields = with_effects(describe(&outcome), effects);
    Ok(match outcome {
        Outcome::Answer(answer) => Reply { data: true, ..Reply::done("answered", answer, fields) },
        Outcome::Abstain { reason, score, limit } => {
            let text = match effects.last().and_then(|effect| effect.error.as_ref().map(|error| (effect, error))) {
                Some((effect, error)) if reason == "effect-failed" => {
                    format!("abstained: {reason}: {}: {}: {}", effect.capability, error.code, error.message)
                }
                // Nothing was measured: it is so, or it is not.
                _ if limit == 0 => format!("abstained: {reason}"),
                _ => format!("abstained: {reason} {score} is above {limit}"),
            };
            let mut reply = Reply::done("abstained", shown(&text), fields).exit(Exit::Abstained);
            reply.failed = true;
            reply
        }
        Outcome::Request { capability, .. } => {
            let text = format!("the artifact asks for {}, which nothing here provides", shown(&capability));
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
fn batch(
    runner: &mut Runner,
    lines: &mut Lines<impl BufRead>,
    file: &Path,
    strict: bool,
    json: bool,
) -> Result<Reply, Failure> {
    let mut counts = Counts::default();
    let mut results = Vec::new();
    while let Some((number, line)) = lines.next().map_err(|error| files::unreadable(file, &error))? {
        let result = answer(runner, number, &line, &mut counts);
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
    let fields = if runner.tier0.is_some() { fields.with("deopts", counts.deopts) } else { fields };
    Ok(Reply::done("batch", "", fields).exit(exit))
}

/// Runs each line of stdin as it comes, until the end of it.
fn stream(runner: &mut Runner, lines: &mut Lines<impl BufRead>) -> Result<Reply, Failure> {
    let mut counts = Counts::default();
    while let Some((number, line)) = lines.next().map_err(|error| files::unreadable("-".as_ref(), &error))? {
        say(&Value::from(answer(runner, number, &line, &mut counts)))?;
    }
    let fields = Record::new()
        .with("answered", counts.answered)
        .with("abstained", counts.abstained)
        .with("failed", counts.refused + counts.broken);
    let fields = if runner.tier0.is_some() { fields.with("deopts", counts.deopts) } else { fields };
    Ok(Reply::done("stdio", "", fields))
}

#[derive(Default)]
struct Counts {
    answered: u64,
    /// Of these, by tier 0.
    deopts: u64,
    abstained: u64,
    refused: u64,
    broken: u64,
}

fn answer(runner: &mut Runner, number: u64, line: &Line<'_>, counts: &mut Counts) -> Record {
    let text = match line {
        Line::TooLong(most) => {
            let why = format!("line {number} has more than {most} bytes; raise it with --max-input");
            Err(Failure::new(Exit::Refused, "input-too-large", why))
        }
        Line::Whole(line) => {
            str::from_utf8(line).map_err(|_| Failure::new(Exit::Refused, "bad-input", "the input is not UTF-8"))
        }
    };
    let text = match text {
        Ok(text) => text,
        Err(failure) => {
            counts.refused += 1;
            return error(&failure, number);
        }
    };
    let ran = runner.run(text.trim());
    let fields = match (&ran.outcome, &ran.tier0) {
        (_, Some(Ok(_))) => {
            counts.answered += 1;
            counts.deopts += 1;
            Record::new()
        }
        (Ok(outcome), _) => {
            match outcome {
                Outcome::Abstain { .. } => counts.abstained += 1,
                Outcome::Answer(_) | Outcome::Request { .. } => counts.answered += 1,
            }
            match (outcome, &runner.tier0) {
                (Outcome::Answer(_), Some(_)) => describe(outcome).with("tier", 1u32),
                _ => describe(outcome),
            }
        }
        (Err(failed), _) => {
            let failure = Failure::from(failed.clone());
            *(if failure.exit == Exit::Broken { &mut counts.broken } else { &mut counts.refused }) += 1;
            error(&failure, number)
        }
    };
    with_effects(ran.tiers(fields), &ran.effects)
}

fn error(failure: &Failure, line: u64) -> Record {
    let error = Record::new().with("code", failure.code.as_str()).with("message", failure.message.as_str());
    Record::new().with("error", error.with("line", line))
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
