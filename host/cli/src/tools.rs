//! Tools as processes: what `--tool` and `--tool-once` start, ask and stop.
//!
//! A resident tool lives as long as the run and speaks JSON lines; the other kind is started
//! for every call. Neither is believed: a reply has a deadline, a size and a form, and a
//! process that does not keep to them is killed with all that it started in its group.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use auto_json::{Record, Value};
use auto_runtime::{Effect, EffectError, EffectRecord};
use auto_schema::digest::Digest;
use auto_schema::shown;
use clap::Args;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::failure::Failure;
use crate::memory::{self, Memory};
use crate::models::{ModelOptions, Paid, Purse};
use crate::options::LONGEST_S;
use crate::reply::Exit;

/// Which tools there are and what they may do.
#[derive(Args, Clone)]
pub struct ToolOptions {
    /// Grant the capability tool:NAME: a process that is started once and speaks JSON lines,
    /// {"id","name","input","key"} in, {"id","ok"} or {"id","err"} out. The command is split
    /// into words as a shell would, and run without one. `model:NAME=CMD` grants the capability
    /// of a model; with `model:ID` in the place of CMD a model does it, under --spend-cap-usd
    /// `memory:append=CMD` grants an operation of the agent's memory
    #[arg(long, value_name = "NAME=CMD")]
    tool: Vec<String>,
    /// Grant it with a process for every call: the input on stdin, the reply on stdout, both
    /// JSON; the key in $AUTO_EFFECT_KEY
    #[arg(long, value_name = "NAME=CMD")]
    tool_once: Vec<String>,
    /// Grant memory:read, memory:write and memory:append, those that no --tool grants, with a
    /// JSON object of keys and values; made at the first write where it is not there
    #[arg(long, value_name = "FILE")]
    pub memory_file: Option<PathBuf>,
    /// The most time of a tool call, and of a process of --tier0, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=LONGEST_S))]
    tool_timeout: u64,
    /// The most tool calls for one input
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub max_tool_calls: u32,
    /// Goes into the keys of tool calls, which are otherwise the same for the same input
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub run_id: String,
}

/// How a tool is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Resident,
    Once,
    Model,
}

struct Tool {
    kind: Kind,
    name: String,
    words: Vec<String>,
    running: Option<Running>,
    paid: Option<Box<Paid>>,
}

/// The most tokens of what a model does for an artifact.
const MODEL_TOKENS: u32 = 4_096;

/// The tools of a run, by capability.
pub struct Processes {
    tools: BTreeMap<String, Tool>,
    memory: Option<Memory>,
    timeout: Duration,
    /// The most bytes of a reply.
    most: usize,
    next: u64,
    records: Vec<EffectRecord>,
}

impl ToolOptions {
    /// The tools that an artifact may ask for, ready: resident ones started, the commands of
    /// the others found, models opened for this session. Errors: `bad-tool`, `tool-missing`, and
    /// those of models.
    pub fn start(
        &self,
        wanted: &[String],
        most: usize,
        models: &ModelOptions,
        purse: &Purse,
    ) -> Result<Processes, Failure> {
        let mut tools = BTreeMap::new();
        let kinds = [(Kind::Resident, &self.tool), (Kind::Once, &self.tool_once)];
        for (kind, text) in kinds.iter().flat_map(|(kind, texts)| texts.iter().map(|text| (*kind, text))) {
            let (capability, tool) = Tool::parse(kind, text)?;
            if let Some(other) = tools.insert(capability, tool) {
                let message = format!("the tool {} is given twice", other.name);
                return Err(Failure::new(Exit::Usage, "bad-tool", message).help("give each tool once"));
            }
        }
        tools.retain(|capability, _| wanted.contains(capability));
        for tool in tools.values_mut() {
            match tool.kind {
                Kind::Model => tool.paid = Some(Box::new(models.open_with(&tool.words[0], purse)?)),
                Kind::Resident | Kind::Once => tool.ready(most)?,
            }
        }
        let timeout = Duration::from_secs(self.tool_timeout);
        let memory = self.memory_file.as_ref().map(|file| Memory::of(file.clone())).transpose()?;
        Ok(Processes { tools, memory, timeout, most, next: 1, records: Vec::new() })
    }
}

/// A process that is asked for whole answers: tier 0.
pub struct Answerer {
    tool: Tool,
    timeout: Duration,
    most: usize,
    next: u64,
}

impl Answerer {
    /// Starts it, or finds its command. Errors: as for tools.
    pub fn start(options: &ToolOptions, resident: bool, command: &str, most: usize) -> Result<Answerer, Failure> {
        let kind = if resident { Kind::Resident } else { Kind::Once };
        let (_, mut tool) = Tool::parse(kind, &format!("tier0={command}"))?;
        tool.ready(most)?;
        Ok(Answerer { tool, timeout: Duration::from_secs(options.tool_timeout), most, next: 1 })
    }

    /// Asks for the output of an input; the reply is a JSON text.
    pub fn ask(&mut self, input: &str, key: Digest) -> Result<String, EffectError> {
        let id = self.next;
        self.next += 1;
        self.tool.reply(&Effect { capability: "tier0", input, index: 0, key }, id, self.timeout, self.most)
    }
}

impl Processes {
    /// The records since the last time.
    pub fn take_records(&mut self) -> Vec<EffectRecord> {
        std::mem::take(&mut self.records)
    }
}

impl auto_runtime::Tools for Processes {
    fn grants(&self, capability: &str) -> bool {
        self.tools.contains_key(capability) || self.memory.is_some() && memory::effect(capability).is_some()
    }

    fn call(&mut self, effect: &Effect<'_>) -> Result<String, EffectError> {
        let Some(tool) = self.tools.get_mut(effect.capability) else {
            return match (&self.memory, memory::effect(effect.capability)) {
                (Some(memory), Some(does)) => memory.carry_out(does, effect.input),
                _ => Err(failed("tool-missing", "there is no such tool")),
            };
        };
        let id = self.next;
        self.next += 1;
        tool.reply(effect, id, self.timeout, self.most)
    }

    fn record(&mut self, record: EffectRecord) {
        let outcome =
            record.error.as_ref().map_or("ok".to_owned(), |error| format!("{}: {}", error.code, error.message));
        let line =
            format!("effect {} ({} µs, input {}): {outcome}", record.capability, record.took.as_micros(), record.input);
        eprintln!("{}", shown(&line));
        self.records.push(record);
    }
}

/// A record for `--json`.
pub fn describe(record: &EffectRecord) -> Value {
    let fields = Record::new()
        .with("capability", record.capability.as_str())
        .with("input", record.input.to_string())
        .with("key", record.key.to_string())
        .with("micros", u64::try_from(record.took.as_micros()).unwrap_or(u64::MAX));
    let fields = match &record.error {
        None => fields.with("outcome", "ok"),
        Some(error) => fields.with("outcome", error.code).with("message", error.message.as_str()),
    };
    Value::from(fields)
}

pub(crate) fn failed(code: &'static str, message: impl Into<String>) -> EffectError {
    EffectError { code, message: message.into() }
}

impl Tool {
    /// Reads `NAME=CMD`; the capability is `tool:NAME`, unless NAME says the whole of it.
    fn parse(kind: Kind, text: &str) -> Result<(String, Tool), Failure> {
        let bad = |why: &str| {
            Failure::new(Exit::Usage, "bad-tool", format!("`{text}`: {why}"))
                .help("give NAME=CMD, such as --tool 'look-up=python3 look_up.py'")
        };
        let (name, command) = text.split_once('=').ok_or_else(|| bad("there is no `=`"))?;
        let words = shlex::split(command).ok_or_else(|| bad("a quote is not closed"))?;
        if name.is_empty() {
            return Err(bad("there is no name before the `=`"));
        }
        let Some(first) = words.first() else { return Err(bad("there is no command behind the `=`")) };
        let kind = match (kind, first.starts_with("model:")) {
            (Kind::Resident, true) if words.len() == 1 => Kind::Model,
            (_, true) => return Err(bad("a model is given with --tool, and takes no arguments")),
            (kind, false) => kind,
        };
        let whole = ["tool:", "model:", "memory:"].iter().any(|kind| name.starts_with(kind));
        let capability = if whole { name.to_owned() } else { format!("tool:{name}") };
        let name = capability.split_once(':').map_or(name, |(_, name)| name).to_owned();
        Ok((capability, Tool { kind, name, words, running: None, paid: None }))
    }

    fn command(&self) -> Command {
        // There is a first word: `parse` saw it.
        let mut command = Command::new(&self.words[0]);
        command.args(&self.words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        command
    }

    /// Finds out before anything runs that the command is not there.
    fn ready(&mut self, most: usize) -> Result<(), Failure> {
        let missing = |why: String| {
            let message = format!("the tool {} cannot be started: {}: {why}", self.name, self.words[0]);
            Failure::new(Exit::Refused, "tool-missing", message).help("give a command that exists, or install it")
        };
        if self.kind == Kind::Once {
            return if is_there(&self.words[0]) { Ok(()) } else { Err(missing("no such command".to_owned())) };
        }
        let running = Running::start(self.command(), most).map_err(|error| missing(error.to_string()))?;
        self.running = Some(running);
        Ok(())
    }

    /// Asks it, in its own way.
    fn reply(&mut self, effect: &Effect<'_>, id: u64, timeout: Duration, most: usize) -> Result<String, EffectError> {
        let deadline = Instant::now() + timeout;
        let reply = match self.kind {
            Kind::Resident => self.ask(effect, id, deadline, most),
            Kind::Once => self.run(effect, deadline, most),
            Kind::Model => self.consult(effect),
        };
        reply.map_err(|error| match error.code {
            "tool-timeout" => failed("tool-timeout", format!("no reply within {} s", timeout.as_secs())),
            _ => error,
        })
    }

    /// Asks a model. Its words are the reply: as JSON where they are JSON, else as a text.
    fn consult(&self, effect: &Effect<'_>) -> Result<String, EffectError> {
        let Some(paid) = &self.paid else { return Err(failed("tool-missing", "there is no such model")) };
        let system = format!(
            "You are the step {} of an agent. The message is what the step is given, as JSON. Answer with what it \
             gives and nothing else: a JSON value, or plain words where that is a text.",
            Value::from(self.name.as_str())
        );
        let reply = paid.question(&system, effect.input, MODEL_TOKENS);
        let reply = reply.map_err(|error| failed(error.code, error.message))?;
        let text = unfenced(&reply.text);
        Ok(Value::parse(text).unwrap_or_else(|_| Value::from(text)).to_string())
    }

    /// Asks a resident tool, which is started again if it was killed.
    fn ask(&mut self, effect: &Effect<'_>, id: u64, deadline: Instant, most: usize) -> Result<String, EffectError> {
        let mut running = match self.running.take() {
            Some(running) => running,
            None => Running::start(self.command(), most)
                .map_err(|error| failed("tool-missing", format!("it cannot be started again: {error}")))?,
        };
        let name = Value::from(self.name.as_str());
        let line = format!("{{\"id\":{id},\"name\":{name},\"input\":{},\"key\":\"{}\"}}\n", effect.input, effect.key);
        let reply = running.exchange(line, deadline).and_then(|line| read_reply(&line, id));
        match reply {
            Ok(Ok(value)) => {
                self.running = Some(running);
                Ok(value)
            }
            Ok(Err(message)) => {
                self.running = Some(running);
                Err(failed("err", message))
            }
            // Dropping it kills it: what it says next would be about something else.
            Err(error) => Err(error),
        }
    }

    /// Runs a process for one call.
    fn run(&self, effect: &Effect<'_>, deadline: Instant, most: usize) -> Result<String, EffectError> {
        let mut command = self.command();
        command.env("AUTO_EFFECT_KEY", effect.key.to_string()).env("AUTO_EFFECT_NAME", &self.name);
        let mut group =
            Group::start(command).map_err(|error| failed("tool-missing", format!("it cannot be started: {error}")))?;
        let (to, from) = group.pipes();
        let input = format!("{}\n", effect.input);
        thread::spawn(move || {
            // A tool need not read its input.
            let _ = to.and_then(|mut to| to.write_all(input.as_bytes()).ok());
        });
        let (send, output) = sync_channel(1);
        thread::spawn(move || send.send(from.map(|from| read_all(from, most))));
        let output = match output.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(Some(output)) => output?,
            Ok(None) => Vec::new(),
            Err(_) => return Err(timeout()),
        };
        let status = group.wait(deadline).ok_or_else(timeout)?;
        if !status.success() {
            return Err(failed("tool-exit", format!("it ended with {status}")));
        }
        read_value(&output)
    }
}

/// What a model said, without the code fence that it may stand in.
pub fn unfenced(said: &str) -> &str {
    let text = said.trim();
    let fenced = text.strip_prefix("```").and_then(|text| text.strip_suffix("```"));
    fenced.map_or(text, |text| text.strip_prefix("json").unwrap_or(text).trim())
}

fn timeout() -> EffectError {
    failed("tool-timeout", "no reply in time")
}

/// Whether a command can be found, as `execvp` looks for it.
fn is_there(command: &str) -> bool {
    if command.contains('/') {
        return Path::new(command).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(command).is_file())
}

/// Everything up to the end, if it is not too much.
fn read_all(from: ChildStdout, most: usize) -> Result<Vec<u8>, EffectError> {
    let mut bytes = Vec::new();
    let read = from.take((most as u64).saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|error| failed("tool-ended", format!("its output cannot be read: {error}")))?;
    if bytes.len() > most { Err(too_large(most)) } else { Ok(bytes) }
}

fn too_large(most: usize) -> EffectError {
    failed("tool-too-large", format!("its reply has more than {most} bytes; raise it with --max-input"))
}

fn parse(bytes: &[u8]) -> Result<Value, EffectError> {
    let bad = |why: &dyn std::fmt::Display| failed("tool-bad-json", format!("its reply is not JSON: {why}"));
    let text = std::str::from_utf8(bytes).map_err(|error| bad(&error))?;
    Value::parse(text).map_err(|error| bad(&error))
}

fn read_value(bytes: &[u8]) -> Result<String, EffectError> {
    parse(bytes).map(|value| value.to_string())
}

/// `{"id": n, "ok": value}` or `{"id": n, "err": "message"}`.
fn read_reply(line: &[u8], id: u64) -> Result<Result<String, String>, EffectError> {
    const FORM: &str = "it must be {\"id\", \"ok\": VALUE} or {\"id\", \"err\": TEXT}";
    let bad = |why: String| failed("tool-bad-reply", format!("{why}; {FORM}"));
    let value = parse(line)?;
    let Value::Record(reply) = &value else { return Err(bad("its reply is no object".to_owned())) };
    if value.get("id") != Some(&Value::from(id)) {
        return Err(bad(format!("its reply does not have the id {id} of the request")));
    }
    match (value.get("ok"), value.get("err").and_then(Value::as_text), reply.len()) {
        (Some(ok), None, 2) => Ok(Ok(ok.to_string())),
        (None, Some(err), 2) => Ok(Err(err.to_owned())),
        _ => Err(bad("its reply has neither `ok` nor `err`, or something besides".to_owned())),
    }
}

/// A process and all that it starts in its group, which ends with it.
struct Group {
    child: Child,
    /// Whether it was waited for, and its id may be somebody else's.
    reaped: bool,
}

impl Group {
    fn start(mut command: Command) -> std::io::Result<Group> {
        Ok(Group { child: command.spawn()?, reaped: false })
    }

    fn pipes(&mut self) -> (Option<ChildStdin>, Option<ChildStdout>) {
        (self.child.stdin.take(), self.child.stdout.take())
    }

    fn id(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// How it ended, if it ends in time.
    fn wait(&mut self, deadline: Instant) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        while matches!(waitid(WaitId::Pid(self.id()?), options), Ok(None)) {
            if Instant::now() >= deadline {
                return None;
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.end()
    }

    /// Kills what is left of the group.
    fn end(&mut self) -> Option<ExitStatus> {
        if let Some(group) = self.id().filter(|_| !self.reaped) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.reaped = true;
        self.child.wait().ok()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}

/// A resident tool, and the two threads that write to it and read from it, so that neither
/// a full pipe nor an empty one stops us.
struct Running {
    requests: Option<Sender<String>>,
    replies: Receiver<Result<Vec<u8>, EffectError>>,
    /// Whether it has not replied yet.
    owes: bool,
    group: Group,
}

/// How long a tool may take to end once its input has.
const FAREWELL: Duration = Duration::from_secs(1);

impl Running {
    fn start(command: Command, most: usize) -> std::io::Result<Running> {
        let mut group = Group::start(command)?;
        let (to, from) = group.pipes();
        let (requests, written) = channel::<String>();
        let (read, replies) = sync_channel(1);
        if let Some(mut to) = to {
            thread::spawn(move || {
                while let Ok(line) = written.recv() {
                    if to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_err() {
                        return;
                    }
                }
            });
        }
        if let Some(from) = from {
            thread::spawn(move || {
                let mut from = BufReader::new(from);
                while let Some(line) = read_line(&mut from, most) {
                    let last = line.is_err();
                    if read.send(line).is_err() || last {
                        return;
                    }
                }
            });
        }
        Ok(Running { requests: Some(requests), replies, owes: false, group })
    }

    /// Sends a line and waits for one.
    fn exchange(&mut self, line: String, deadline: Instant) -> Result<Vec<u8>, EffectError> {
        // Where the writer is gone, so is the process, and the reader says so.
        let _ = self.requests.as_ref().map(|requests| requests.send(line));
        self.owes = true;
        let reply = match self.replies.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => Err(timeout()),
            Err(RecvTimeoutError::Disconnected) => {
                let how = self.group.wait(Instant::now() + FAREWELL);
                Err(failed(
                    "tool-ended",
                    how.map_or("it closed its output".to_owned(), |how| format!("it ended with {how}")),
                ))
            }
        };
        self.owes = reply.is_err();
        reply
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Without requests the writer ends and closes the tool's input. One that owes us a
        // reply is not waited for.
        self.requests = None;
        if !self.owes {
            let _ = self.group.wait(Instant::now() + FAREWELL);
        }
    }
}

/// A line without its end, `None` behind the last.
fn read_line(from: &mut BufReader<ChildStdout>, most: usize) -> Option<Result<Vec<u8>, EffectError>> {
    let mut line = Vec::new();
    match from.take((most as u64).saturating_add(1)).read_until(b'\n', &mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) if line.len() > most => Some(Err(too_large(most))),
        Ok(_) => Some(Ok(line)),
    }
}
