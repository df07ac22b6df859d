//! `synth`: programming by example, through the extract component in the real host: how
//! many tasks it solves from the examples it is given, and how many of those programs are
//! right on examples it never saw.
//!
//! Every task is one call, in a fresh instance, with fuel and a deadline. `--seconds` becomes
//! steps by a calibration on this machine, or `--steps` says them; whether a program came within
//! the time is read from the clock of the thread, so that nobody else's work counts. The report says what a step took at most: a compile gives
//! the extractor so much fuel for each, and it must end within it.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail, ensure};
use auto_engine::{Engine, Limits, Options as EngineOptions, Providers};
use auto_json::{Record, Value};
use auto_lang::Expr;
use auto_schema::types::Type;

use crate::clock::figure;

mod task;

use task::{Example, Task};

const INTERFACE: &str = "auto:pass/extract@0.1.0";

/// The most programs asked for, as a compile asks.
const CANDIDATES: u32 = 8;

/// The deadline of a call, by the time of day, in multiples of the seconds of a processor that it
/// may take: what takes longer than those does not count, and how much longer says how far off the
/// steps were.
const PATIENCE: u64 = 100;

/// How long a calibration takes at least, and the steps of each of its searches at most.
const CALIBRATION: Duration = Duration::from_millis(500);
const CALIBRATION_STEPS: u64 = 2_000_000;

/// Shorter searches say nothing of what a step takes: reading the examples is no step.
const LEAST_STEPS: u64 = 1_000_000;

/// Tries the extractor on tasks of examples with a part held out.
///
/// A line of the data is a task: {"id", "examples": [{"input", "output"}, ...], "train"?}.
/// Solved means that a program fits what was given within the seconds, by the language's own
/// evaluator; generalised that it is right on every example held out too.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  auto-evals synth --data playgol-strings.jsonl --train task --seconds 1")]
pub struct Options {
    /// The tasks, one JSON object a line
    #[arg(long)]
    data: PathBuf,
    /// Which examples are given: the first N distinct ones, half, all, or as each task says
    #[arg(long, default_value = "all")]
    train: Train,
    /// Seconds of a processor for each task
    #[arg(long, default_value_t = 1)]
    seconds: u64,
    /// Steps for each task, instead of those of a calibration
    #[arg(long)]
    steps: Option<u64>,
    /// Give the inputs held out, without their outputs, as a table whose column is to be filled
    #[arg(long)]
    unlabelled: bool,
    /// Tasks at the same time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Where to write one JSON object a task
    #[arg(long)]
    out: Option<PathBuf>,
    /// The folder of built components; target/components when left out
    #[arg(long)]
    components: Option<PathBuf>,
}

/// Which examples are given.
#[derive(Clone, Copy, Debug)]
enum Train {
    First(usize),
    Half,
    All,
    Task,
}

impl FromStr for Train {
    type Err = String;

    fn from_str(text: &str) -> Result<Train, String> {
        match text {
            "half" => Ok(Train::Half),
            "all" => Ok(Train::All),
            "task" => Ok(Train::Task),
            number => match number.parse() {
                Ok(first) if first > 0 => Ok(Train::First(first)),
                _ => Err("expected a number of examples, half, all or task".to_owned()),
            },
        }
    }
}

impl Train {
    /// How many examples of a task are given; none where it has none left to hold out.
    fn of(self, task: &Task) -> anyhow::Result<Option<usize>> {
        let all = task.examples.len();
        let given = match self {
            Train::All => return Ok(Some(all)),
            Train::First(first) => first,
            Train::Half => all.div_ceil(2),
            Train::Task => task.train.with_context(|| format!("{} has no \"train\"", task.id))?,
        };
        Ok((given < all).then_some(given))
    }
}

impl Options {
    /// Measures, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        ensure!(self.seconds > 0 && self.jobs > 0, "--seconds and --jobs are at least 1");
        let mut chosen = Vec::new();
        for task in task::read(&self.data)? {
            if let Some(given) = self.train.of(&task)? {
                chosen.push((task, given));
            }
        }
        let folder = self.components.clone().unwrap_or_else(|| {
            // A benchmark is run from a checkout, by `cargo run`.
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/components")
        });
        let mut bench = Bench::new(&folder, &self)?;
        bench.steps = match self.steps {
            Some(steps) => steps,
            None => bench.calibrate()?.saturating_mul(self.seconds),
        };
        eprintln!("{} steps a task", bench.steps);
        let results = all(&bench, &folder, &self, &chosen)?;
        if let Some(path) = &self.out {
            let lines: String = results.iter().map(|result| format!("{}\n", Value::Record(result.record()))).collect();
            std::fs::write(path, lines).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(report(&results, bench.steps))
    }
}

/// All tasks, some at the same time, each worker with an engine of its own, so that what a call
/// took is known; the outcomes in the order of the tasks.
fn all(bench: &Bench, folder: &Path, options: &Options, tasks: &[(Task, usize)]) -> anyhow::Result<Vec<Outcome>> {
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = |bench: &Bench| -> anyhow::Result<()> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((task, given)) = tasks.get(at) else { return Ok(()) };
            let outcome = bench.attempt(task, *given).with_context(|| task.id.clone())?;
            eprintln!("{:>9} {}", outcome.word(), task.id);
            done.lock().map_err(|_| anyhow!("another task panicked"))?.push((at, outcome));
        }
    };
    std::thread::scope(|scope| {
        let another = || work(&Bench { steps: bench.steps, ..Bench::new(folder, options)? });
        let others: Vec<_> = (1..options.jobs).map(|_| scope.spawn(another)).collect();
        work(bench)?;
        let ended = others.into_iter().map(|worker| worker.join().map_err(|_| anyhow!("a task panicked"))?);
        ended.collect::<anyhow::Result<Vec<()>>>()
    })?;
    let mut done = done.into_inner().map_err(|_| anyhow!("a task panicked"))?;
    done.sort_by_key(|(at, _)| *at);
    Ok(done.into_iter().map(|(_, outcome)| outcome).collect())
}

/// What came of a task.
struct Outcome {
    id: String,
    /// The cheapest program, where there is one.
    program: Option<String>,
    /// Whether it fits and was found in time.
    solved: bool,
    generalised: bool,
    time: Duration,
    /// What the call took.
    took: Took,
    /// Why not.
    note: String,
}

/// What a call of the extractor took.
#[derive(Clone, Copy, Default)]
struct Took {
    steps: u64,
    fuel: u64,
    /// Bytes of memory in the end.
    memory: u64,
}

impl Outcome {
    fn record(&self) -> Record {
        Record::new()
            .with("id", self.id.as_str())
            .with("solved", self.solved)
            .with("generalised", self.generalised)
            .with("ms", figure(self.time.as_secs_f64() * 1000.0, 1))
            .with("steps", self.took.steps)
            .with("fuel", self.took.fuel)
            .with("program", self.program.as_deref())
            .with("note", self.note.as_str())
    }
}

fn report(results: &[Outcome], steps: u64) -> Record {
    let count = |holds: fn(&Outcome) -> bool| results.iter().filter(|result| holds(result)).count();
    let mut times: Vec<Duration> = results.iter().filter(|result| result.solved).map(|result| result.time).collect();
    times.sort();
    // The nearest rank; null where nothing was solved.
    let quantile = |percent: usize| {
        let rank = (times.len() * percent).div_ceil(100).max(1);
        times.get(rank - 1).map_or(Value::Null, |time| figure(time.as_secs_f64() * 1000.0, 1))
    };
    let long = results.iter().map(|result| result.took).filter(|took| took.steps >= LEAST_STEPS);
    let most_fuel = long.map(|took| took.fuel / took.steps).max();
    let most_memory = results.iter().map(|result| result.took.memory).max().unwrap_or(0);
    Record::new()
        .with("tasks", results.len())
        .with("solved", count(|result| result.solved))
        .with("generalised", count(|result| result.generalised))
        .with("median_ms", quantile(50))
        .with("p95_ms", quantile(95))
        .with("steps", steps)
        .with("most_fuel_a_step", most_fuel.map_or(Value::Null, Value::from))
        .with("most_memory_mib", most_memory.div_ceil(1 << 20))
}

/// The extractor, loaded and calibrated.
struct Bench {
    engine: Engine,
    providers: Providers,
    steps: u64,
    limit: Duration,
    unlabelled: bool,
}

impl Bench {
    /// The steps are those of a calibration.
    fn new(folder: &Path, options: &Options) -> anyhow::Result<Bench> {
        // Without a cache there is no memo, so every call is made.
        let limits = Limits { deadline: Some(Duration::from_secs(options.seconds * PATIENCE)), ..Limits::default() };
        let engine = Engine::new(EngineOptions { limits, ..EngineOptions::default() })?;
        let path = folder.join("extract.wasm");
        let why = || format!("reading {} (cargo xtask build makes it)", path.display());
        let mut providers = Providers::new();
        providers.push(engine.load("extract", std::fs::read(&path).with_context(why)?)?);
        let limit = Duration::from_secs(options.seconds);
        Ok(Bench { engine, providers, steps: CALIBRATION_STEPS, limit, unlabelled: options.unlabelled })
    }

    /// Steps in a second, of searches for what is not there.
    fn calibrate(&self) -> anyhow::Result<u64> {
        let examples = task::without_a_rule();
        // The first call compiles the component.
        self.search(&examples, &[])?;
        let (mut steps, mut time) = (0u128, Duration::ZERO);
        while time < CALIBRATION {
            let (_, own, took) = self.search(&examples, &[])?;
            ensure!(took.steps > 0, "the extractor took no step in the calibration");
            steps += u128::from(took.steps);
            time += own;
        }
        Ok(u64::try_from(steps * 1_000_000 / time.as_micros().max(1))?)
    }

    /// One task: a call, and the best program on what was given and on what was held out.
    fn attempt(&self, task: &Task, given: usize) -> anyhow::Result<Outcome> {
        let (seen, unseen) = task.examples.split_at(given);
        let mut outcome = Outcome {
            id: task.id.clone(),
            program: None,
            solved: false,
            generalised: false,
            time: Duration::ZERO,
            took: Took::default(),
            note: String::new(),
        };
        let unlabelled = if self.unlabelled { unseen } else { &[] };
        let (search, time, took) = match self.search(seen, unlabelled) {
            Ok(done) => done,
            Err(error) => return Ok(Outcome { note: format!("{error:#}"), ..outcome }),
        };
        (outcome.time, outcome.took) = (time, took);
        let best = search.get("found").and_then(Value::as_list).and_then(<[Value]>::first);
        let Some(text) = best.and_then(|best| best.get("text")).and_then(Value::as_text) else {
            let notes = search.get("notes").and_then(Value::as_list).unwrap_or_default();
            outcome.note = notes.iter().filter_map(Value::as_text).collect::<Vec<_>>().join("; ");
            return Ok(outcome);
        };
        let program = auto_lang::parse(text).map_err(|error| anyhow!("{text}: {error}"))?;
        let wrong = |among: &[Example]| among.iter().filter(|example| !fits(&program, example)).count();
        if wrong(seen) > 0 {
            bail!("the extractor returned a program that does not fit its examples: {text}");
        }
        outcome.program = Some(text.to_owned());
        outcome.solved = time <= self.limit;
        outcome.generalised = outcome.solved && wrong(unseen) == 0;
        outcome.note = match (outcome.solved, wrong(unseen)) {
            (false, _) => "a program was found, but too late".to_owned(),
            (true, 0) => String::new(),
            (true, wrong) => format!("wrong on {wrong} of {} held out", unseen.len()),
        };
        Ok(outcome)
    }

    /// A call of the extractor, as JSON, and what it took.
    fn search(&self, examples: &[Example], unlabelled: &[Example]) -> anyhow::Result<(Value, Duration, Took)> {
        let observation = |example: &Example| -> Value {
            let witness = Record::new().with("output", example.output.to_string()).with("count", 1);
            let outputs: Vec<Value> = vec![witness.into()];
            Record::new().with("input", example.input.to_string()).with("outputs", outputs).with("errors", 0).into()
        };
        let observations: Vec<Value> = examples.iter().map(observation).collect();
        let hints = Record::new()
            .with(
                "input_type",
                Type::infer(examples.iter().chain(unlabelled).map(|example| &example.input)).to_string(),
            )
            .with("output_type", Type::infer(examples.iter().map(|example| &example.output)).to_string())
            .with("unlabelled", unlabelled.iter().map(|one| one.input.to_string().into()).collect::<Vec<Value>>())
            .with("start", Vec::<Value>::new())
            .with("wrong_max_ppm", 0);
        let budget = Record::new().with("steps", self.steps).with("candidates", CANDIDATES);
        let arguments = Value::List(vec![observations.into(), hints.into(), budget.into()]);
        let start = Spent::now();
        let result = self.engine.call_json(&self.providers, INTERFACE, "synthesize", &arguments);
        let time = start.elapsed();
        let (trace, result) = (self.engine.take_trace(), result?);
        let steps = result.get("steps").and_then(Value::as_u64).context("the extractor counts no steps")?;
        let call = trace.last().context("the engine made no call")?;
        Ok((result, time, Took { steps, fuel: call.fuel, memory: call.memory.unwrap_or(0) }))
    }
}

impl Outcome {
    fn word(&self) -> &'static str {
        match (self.solved, self.generalised) {
            (false, _) => "unsolved",
            (true, false) => "wrong",
            (true, true) => "solved",
        }
    }
}

/// The time that this thread has been at work: calls are made on it. Where the system does not
/// say, the time of day, which others on the machine lengthen.
struct Spent {
    clock: Instant,
    cpu: Option<Duration>,
}

impl Spent {
    fn now() -> Spent {
        Spent { clock: Instant::now(), cpu: cpu() }
    }

    fn elapsed(&self) -> Duration {
        match (self.cpu, cpu()) {
            (Some(start), Some(end)) => end.saturating_sub(start),
            _ => self.clock.elapsed(),
        }
    }
}

/// The first field of Linux' `schedstat`: nanoseconds on a processor.
fn cpu() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

fn fits(program: &Expr, example: &Example) -> bool {
    auto_lang::eval(program, &example.input).as_ref() == Some(&example.output)
}
