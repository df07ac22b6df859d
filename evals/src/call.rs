//! `call`: what one call of an artifact costs, in every way there is to make it, beside the
//! same function written by hand in Rust.

mod one_shot;

use std::io::{BufRead, BufReader, Read as _, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail, ensure};
use auto_json::{Record, Value};
use auto_runtime::{Limits, Outcome, Program, Sandbox, Session};

use crate::clock::{self, Effort, Subject, Times, figure};
use crate::native::{self, Native, Reply};

/// Times one call of an artifact: warm, isolated, in a batch, over stdio, over HTTP, and as a
/// process of its own with the compiled code cached.
///
/// Prints them as a table on stderr, the fastest first. With --native, the hand-written function of that name is first checked to give the same
/// on all inputs and on damaged copies of them, then timed in the same rounds.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  auto-evals call --artifact demo.cbin --input '{\"text\": \"hello\"}' --native demo"
)]
pub struct Options {
    /// The artifact
    #[arg(long)]
    artifact: PathBuf,
    /// An input, a JSON text; may be given more than once
    #[arg(long = "input")]
    inputs: Vec<String>,
    /// A file with more inputs, one JSON text a line
    #[arg(long)]
    inputs_file: Option<PathBuf>,
    /// The hand-written function to compare with: demo
    #[arg(long)]
    native: Option<String>,
    #[command(flatten)]
    effort: Effort,
}

impl Options {
    /// Measures, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        let inputs = self.inputs()?;
        let file = std::fs::read(&self.artifact).with_context(|| format!("reading {}", self.artifact.display()))?;
        let sandbox = Sandbox::new(Limits::default())?;
        let program = Program::load(&sandbox, &file).with_context(|| self.artifact.display().to_string())?;
        let native = self.native.as_deref().map(|name| native::named(name, &program)).transpose()?;
        let compared = native.as_deref().map(|native| compare(native, &program, &inputs)).transpose()?;

        let mut report = Record::new()
            .with("artifact", program.id().to_string())
            .with("artifact_bytes", file.len())
            .with("inputs", inputs.len())
            .with("outcome", describe(&program.session().run(&inputs[0])))
            .with("rounds", self.effort.rounds)
            .with("compared_inputs", compared);
        in_process(&self.effort, &program, &inputs, native.as_deref(), &mut report);
        match over_stdio(&self.effort, &self.artifact, &inputs) {
            Ok(times) => report.set("stdio", figure(times.median(), 1)),
            Err(error) => unmeasured(&mut report, "stdio", &format!("{error:#}")),
        }
        match over_http(&self.effort, &self.artifact, &inputs) {
            Ok(times) => report.set("http", figure(times.median(), 1)),
            Err(error) => unmeasured(&mut report, "http", &format!("{error:#}")),
        }
        match one_shot::measure(&self.effort, &self.artifact, &inputs) {
            Ok(figures) => figures.into_iter().for_each(|(name, value)| report.set(name, value)),
            Err(error) => unmeasured(&mut report, "one_shot", &format!("{error:#}")),
        }
        eprint!("{}", ladder(&report));
        Ok(report)
    }

    fn inputs(&self) -> anyhow::Result<Vec<String>> {
        let mut inputs = self.inputs.clone();
        if let Some(path) = &self.inputs_file {
            let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
            inputs.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
        }
        ensure!(!inputs.is_empty(), "no input; give --input JSON or --inputs-file FILE");
        Ok(inputs)
    }
}

/// The ways to make a call, in the order of the table.
const LADDER: [(&str, &str); 9] = [
    ("native", "by hand in Rust"),
    ("warm", "in one process"),
    ("warm_checked", "the same, the answer checked to be canonical JSON"),
    ("isolated", "a fresh instance for each call"),
    ("stdio", "over `auto-host run --stdio`"),
    ("http", "over HTTP"),
    ("one_shot_processor", "a process for each call, of a processor"),
    ("one_shot", "a process for each call, by the clock"),
    ("help", "`auto-host --help`, by the clock"),
];

/// What was measured, as one table.
fn ladder(report: &Record) -> String {
    let mut table = "| what | a call |\n|---|---:|\n".to_owned();
    for (name, what) in LADDER {
        let Some(Value::Number(nanos)) = report.get(name) else { continue };
        let nanos: f64 = nanos.text().parse().unwrap_or(f64::NAN);
        let figure = match nanos {
            0.0..1e4 => format!("{:.2} µs", nanos / 1e3),
            1e4..1e6 => format!("{:.0} µs", nanos / 1e3),
            _ => format!("{:.1} ms", nanos / 1e6),
        };
        table.push_str(&format!("| {what} | {figure} |\n"));
    }
    table
}

/// Everything that needs no other process, in the same rounds.
fn in_process(effort: &Effort, program: &Program, inputs: &[String], native: Option<&dyn Native>, report: &mut Record) {
    let (mut warm, mut strict, mut batch) = (program.session(), program.session().checked(true), program.session());
    let mut isolated = program.isolated_session();
    let mut subjects = vec![
        each("warm", inputs, |input| drop(std::hint::black_box(warm.run(input)))),
        each("warm_checked", inputs, |input| drop(std::hint::black_box(strict.run(input)))),
        each("isolated", inputs, |input| drop(std::hint::black_box(isolated.run(input)))),
        Subject::in_bulk("batch", |calls| {
            let some = inputs.iter().cycle().take(usize::try_from(calls).unwrap_or(usize::MAX));
            batch.run_batch(some).for_each(|outcome| drop(std::hint::black_box(outcome)));
        }),
    ];
    if let Some(native) = native {
        subjects.push(each("native", inputs, |input| drop(std::hint::black_box(native.call(input.as_bytes())))));
    }
    let times = clock::measure(effort, &mut subjects);
    for (subject, times) in subjects.iter().zip(&times) {
        report.set(subject.name, figure(times.median(), 1));
    }
    let ratio = (times.len() == 5).then(|| times[0].ratio(&times[4]));
    report.set("ratio", ratio.map_or(Value::Null, |ratio| figure(ratio, 3)));
    if native.is_none() {
        unmeasured(report, "native", "no --native NAME was given");
    }
}

/// A subject that takes the inputs in turn.
fn each<'a>(name: &'static str, inputs: &'a [String], mut call: impl FnMut(&str) + 'a) -> Subject<'a> {
    let mut next = 0;
    Subject::new(name, move || {
        call(&inputs[next]);
        next = if next + 1 == inputs.len() { 0 } else { next + 1 };
    })
}

/// A line there and a line back, one after the other.
fn over_stdio(effort: &Effort, artifact: &Path, inputs: &[String]) -> anyhow::Result<Times> {
    let mut host = Host::spawn(artifact)?;
    for input in inputs {
        host.ask(input)?;
    }
    let mut failed = None;
    let mut subject = each("stdio", inputs, |input| {
        if failed.is_none() {
            failed = host.ask(input).err();
        }
    });
    let times = clock::measure(effort, std::slice::from_mut(&mut subject)).remove(0);
    drop(subject);
    match failed {
        Some(error) => Err(error),
        None => Ok(times),
    }
}

/// Requests that are not measured.
const WARM_UP: usize = 1_000;

/// A request there and a reply back on one connection, one after the other.
fn over_http(effort: &Effort, artifact: &Path, inputs: &[String]) -> anyhow::Result<Times> {
    let mut service = Service::spawn(artifact)?;
    // A server has to have seen that an artifact is quick.
    for input in inputs.iter().cycle().take(inputs.len().max(WARM_UP)) {
        service.ask(input)?;
    }
    let mut failed = None;
    let mut subject = each("http", inputs, |input| {
        if failed.is_none() {
            failed = service.ask(input).err();
        }
    });
    let times = clock::measure(effort, std::slice::from_mut(&mut subject)).remove(0);
    drop(subject);
    match failed {
        Some(error) => Err(error),
        None => Ok(times),
    }
}

/// `auto-host serve` with the artifact alone, and a connection to it.
struct Service {
    child: Child,
    to: TcpStream,
    from: BufReader<TcpStream>,
    line: String,
    /// Where the artifact lies for it.
    _folder: tempfile::TempDir,
}

impl Service {
    fn spawn(artifact: &Path) -> anyhow::Result<Service> {
        let folder = tempfile::tempdir()?;
        std::fs::copy(artifact, folder.path().join("artifact.cbin"))?;
        let binary = std::env::current_exe()?.with_file_name("auto-host");
        let mut command = Command::new(&binary);
        command.args(["serve", "--addr", "127.0.0.1:0", "--registry"]).arg(folder.path());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("starting {} (build it first)", binary.display()))?;
        let mut said = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        let address = said
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| Some(line.strip_prefix("listening on http://")?.split(' ').next()?.to_owned()));
        // What it says later is nobody's, and must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        let connected = address.context("auto-host serve does not listen").and_then(|address| {
            let to = TcpStream::connect(address)?;
            to.set_nodelay(true)?;
            Ok((to.try_clone()?, BufReader::new(to)))
        });
        match connected {
            Ok((to, from)) => Ok(Service { child, to, from, line: String::new(), _folder: folder }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    fn ask(&mut self, input: &str) -> anyhow::Result<()> {
        let head = format!("POST /run/artifact HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", input.len());
        self.to.write_all(format!("{head}{input}").as_bytes()).context("auto-host serve took no more")?;
        let mut length = 0;
        loop {
            self.line.clear();
            ensure!(self.from.read_line(&mut self.line)? > 0, "auto-host serve ended early");
            let line = self.line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body)?;
        ensure!(body.first() == Some(&b'{'), "auto-host serve said {:?}", String::from_utf8_lossy(&body));
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // Our own child, which has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `auto-host run F --stdio`, from where this binary is.
struct Host {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    line: String,
}

impl Host {
    fn spawn(artifact: &Path) -> anyhow::Result<Host> {
        let binary = std::env::current_exe()?.with_file_name("auto-host");
        let mut command = Command::new(&binary);
        command.arg("run").arg(artifact).arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("starting {} (build it first)", binary.display()))?;
        let (to, from) = (child.stdin.take().context("no stdin")?, child.stdout.take().context("no stdout")?);
        Ok(Host { child, to, from: BufReader::new(from), line: String::new() })
    }

    fn ask(&mut self, input: &str) -> anyhow::Result<()> {
        self.to.write_all(format!("{input}\n").as_bytes()).context("auto-host run --stdio took no more input")?;
        self.line.clear();
        ensure!(self.from.read_line(&mut self.line)? > 0, "auto-host run --stdio ended early");
        ensure!(self.line.starts_with('{'), "auto-host run --stdio said {:?}", self.line.trim_end());
        Ok(())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        // Our own child, which has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Checks that both give the same for every input and for damaged copies of each, and
/// returns how many were compared.
fn compare(native: &dyn Native, program: &Program, inputs: &[String]) -> anyhow::Result<usize> {
    let mut session = program.session();
    let mut compared = 0;
    for input in inputs {
        let whole = std::iter::once(input.clone());
        for text in whole.chain(native::damaged(input)) {
            let (theirs, ours) = (artifact_reply(&mut session, &text)?, native.call(text.as_bytes()));
            ensure!(
                theirs == ours,
                "the native baseline is not the same function: for {text}\n  artifact: {theirs:?}\n  native:   {ours:?}"
            );
            compared += 1;
        }
    }
    eprintln!("{compared} inputs give the same natively");
    Ok(compared)
}

fn artifact_reply(session: &mut Session, input: &str) -> anyhow::Result<Reply> {
    Ok(match session.run(input) {
        Ok(Outcome::Answer(text)) => Reply::Answer(text),
        Ok(Outcome::Abstain { score, limit, .. }) => Reply::Abstain { score, limit },
        Ok(Outcome::Request { capability, .. }) => bail!("the artifact asks for {capability}"),
        Err(error) if error.class == auto_runtime::Class::BadInput => Reply::BadInput,
        Err(error) => return Err(error.into()),
    })
}

fn describe(outcome: &Result<Outcome, auto_runtime::CallError>) -> &'static str {
    match outcome {
        Ok(Outcome::Answer(_)) => "answer",
        Ok(Outcome::Abstain { .. }) => "abstain",
        Ok(Outcome::Request { .. }) => "request",
        Err(error) => error.code(),
    }
}

/// Leaves a figure out, and says why under `<name>_reason`.
fn unmeasured(report: &mut Record, name: &str, why: &str) {
    report.set(name, Value::Null);
    report.set(format!("{name}_reason"), why);
}
