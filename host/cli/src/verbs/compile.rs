//! `compile`: recorded behaviour and a contract in, a sealed artifact or a refusal out.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use auto_engine::{CallTrace, Job, JobReport, Limits, Matter, Observation, Progress, Teacher};
use auto_json::{Record, Value};
use auto_schema::cbin::Cbin;
use auto_schema::contract::{Contract, Predicate};
use auto_schema::digest::Digest;
use auto_schema::ir::Body;
use auto_schema::{shown, shown_path};
use auto_store::Store;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;

use crate::calibration::{self, EXTRACT, FUEL_A_STEP};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files::{self, Output};
use crate::inputs;
use crate::models::{Paid, TeacherOptions};
use crate::options::{Global, RunsOption, StoreOption};
use crate::reply::{Exit, Reply};

/// The extractor's steps where neither --seconds nor --steps says how many; a step is about one
/// program evaluated on one input.
const STEPS: u64 = 20_000_000;

/// Compile what was recorded into a verified artifact
///
/// Nothing is written unless the gate passes it. Exit code 1: a rung refused, and the
/// report says which and why.
#[derive(Args)]
#[command(
    after_help = "Example:\n  auto-host compile --contract triage.contract.toml --store auto.db --out triage.cbin"
)]
pub struct Opts {
    /// The contract
    #[arg(long, value_name = "FILE")]
    contract: PathBuf,
    #[command(flatten)]
    store: StoreOption,
    /// Where the artifact goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    recipe: Recipe,
    /// Print the program that was found and every claim the gate checked
    #[arg(long)]
    explain: bool,
}

/// How something is compiled.
#[derive(Args)]
pub struct Recipe {
    #[command(flatten)]
    pub runs: RunsOption,
    /// A component that provides passes, or a driver named like the built-in one; put on top
    #[arg(long = "pass", value_name = "P.wasm")]
    extra: Vec<PathBuf>,
    /// Keep the program as it was found, without the optimize pass
    #[arg(long)]
    no_optimize: bool,
    /// Seal this module instead of compiling a program
    #[arg(long, value_name = "M.wasm")]
    module: Option<PathBuf>,
    /// Decides which rows are held out together
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How long to look for a program, in steps of the extractor; the same steps give the same
    /// artifact on every machine [default: 20000000]
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    steps: Option<u64>,
    /// The same in seconds of this machine, which is measured once; the report says the steps
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Start from the program of this artifact: it is kept where it still fits
    #[arg(long, value_name = "OLD.cbin")]
    from: Option<PathBuf>,
    /// The extractor's budget, once it is known.
    #[arg(skip)]
    budget: OnceLock<u64>,
    /// Who looks for the program: extract, or a teacher (--teacher) and then extract with its ideas
    #[arg(long, value_enum, default_value_t = Synth::Enum)]
    synth: Synth,
    /// How often the teacher is asked for programs, with --synth teacher
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// How many programs the teacher may propose at once, with --synth teacher
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=16))]
    proposals: u32,
    #[command(flatten)]
    teacher: TeacherOptions,
    /// Let the gate with this digest decide instead of the built-in one
    #[arg(long, value_name = "DIGEST")]
    trust_gate: Option<String>,
    /// Run what is known from an earlier compile again, and all else twice, and compare
    #[arg(long)]
    audit: bool,
}

/// Who looks for a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Synth {
    Enum,
    Teacher,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        inputs::note_store(&self.store.store);
        inputs::note(&self.contract);
        self.recipe.note();
        let out = Output::at(&self.out)?;
        let _lock = out.own()?;
        let (contract, predicates) = files::contract(&self.contract)?;
        let store = files::store(&self.store.store)?;
        let toolbox = self.recipe.toolbox(global)?;
        out.check()?;
        let (report, fields) =
            self.recipe.make(global, &toolbox, &store, contract, predicates, |artifact| out.write(artifact))?;
        Ok(self.reply(&report, fields))
    }

    /// Whether the artifact goes to stdout.
    pub fn owns_stdout(&self) -> bool {
        files::is_stdout(&self.out)
    }

    fn reply(&self, report: &JobReport, fields: Record) -> Reply {
        let mut text = rungs(&report.report);
        if self.explain {
            text.push_str(&explanation(&report.report));
        }
        if report.artifact.is_some() {
            let bytes = report.artifact.as_ref().map_or(0, Vec::len);
            text.push_str(&judged_line(fields.get("judged")));
            text.push_str(&format!("wrote {} ({bytes} bytes)", shown_path(&self.out)));
            return Reply::done("sealed", text, fields.with("out", self.out.display().to_string()));
        }
        text.push_str(&judged_line(fields.get("judged")));
        text.push_str("nothing was written");
        let inconclusive = report.report.get("verdict").and_then(Value::as_text) == Some("inconclusive");
        let exit = if inconclusive { Exit::Inconclusive } else { Exit::Refused };
        let mut reply = Reply::done("refused", text, fields).exit(exit);
        reply.failed = true;
        reply
    }
}

impl Recipe {
    /// Notes what is read.
    pub fn note(&self) {
        self.module.iter().chain(&self.from).chain(&self.extra).for_each(|path| inputs::note(path));
    }

    /// The components.
    pub fn toolbox(&self, global: &Global) -> Result<Toolbox, Failure> {
        let fuel = self.budget(global)?.saturating_mul(FUEL_A_STEP);
        let limits = Limits { raised: Some((EXTRACT, fuel)), ..global.limits() };
        Toolbox::open_with(global, global.cache_folder(), limits, &self.extra, self.audit)
    }

    /// The extractor's steps.
    fn budget(&self, global: &Global) -> Result<u64, Failure> {
        if let Some(&steps) = self.budget.get() {
            return Ok(steps);
        }
        let steps = match (self.steps, self.seconds) {
            (Some(steps), _) => steps,
            (None, Some(seconds)) => {
                let toolbox = Toolbox::open(global, &self.extra)?;
                calibration::steps_per_second(&toolbox, global)?.saturating_mul(seconds)
            }
            (None, None) => STEPS,
        };
        Ok(*self.budget.get_or_init(|| steps))
    }

    /// Compiles what a store has of a contract. `place` puts the artifact where it belongs, before
    /// the journal goes: a crash until then is made good from it.
    pub fn make(
        &self,
        global: &Global,
        toolbox: &Toolbox,
        store: &Store,
        contract: Contract,
        predicates: Vec<Predicate>,
        place: impl FnOnce(&[u8]) -> Result<(), Failure>,
    ) -> Result<(JobReport, Record), Failure> {
        if self.synth == Synth::Teacher && !self.teacher.is_named() {
            return Err(Failure::new(Exit::Usage, "no-teacher", "--synth teacher, and nobody to ask")
                .help("name a model with --teacher model:PROVIDER/NAME, and for a paid one give --spend-cap-usd"));
        }
        let trusted = self.trust_gate.as_deref().map(digest).transpose()?;
        let observations = observations(store, &contract)?;
        let runs = store.runs(&contract.task, &contract.scope)?;
        let driver = toolbox.driver("compile")?;
        let teacher = self.teacher.open(&format!("contract {}", contract.id()))?;
        let job = Job {
            config: self.config(self.budget(global)?)?,
            matter: Some(Matter {
                contract,
                observations,
                runs,
                pinned_gate: toolbox.gate(trusted)?,
                trusted_gate: trusted.is_some(),
                predicates: toolbox.predicates(predicates)?,
            }),
            run_dir: self.runs.runs.clone(),
            experiments: None,
            builtin: toolbox.builtin.clone(),
            progress: progress(global),
            waiting: Box::new(|holder| files::wait(&"the same artifact", holder)),
            teacher: teacher.clone().map(|teacher| teacher as Arc<dyn Teacher>),
            reissue: self.teacher.reissue,
        };
        let ended = toolbox.engine.run_driver(&driver, &toolbox.providers, job)?;
        let report = &ended.report;
        if let Some(eval_run) = &report.eval_run {
            let bytes = eval_run.canonical().into_string();
            let path = self.runs.runs.join(format!("{}.json", Digest::of(bytes.as_bytes())));
            files::write(&path, bytes.as_bytes())?;
        }
        if let Some(artifact) = &report.artifact {
            place(artifact)?;
        }
        let report = ended.close();
        let fields = report.report.as_record().cloned().unwrap_or_default();
        let judged = report.eval_run.as_ref().and_then(|eval_run| eval_run.get("judged"));
        let fields = with_judge(fields, judged, teacher.as_deref());
        Ok((report, trace(global, toolbox, fields)))
    }

    fn config(&self, steps: u64) -> Result<Value, Failure> {
        let mut config = Record::new().with("seed", self.seed).with("steps", steps);
        if let Some(old) = &self.from {
            config.set("start", program_of(old)?);
        }
        if self.no_optimize {
            config.set("optimize", Value::Bool(false));
        }
        if self.synth == Synth::Teacher {
            config.set("synth", "teacher");
            config.set("rounds", self.rounds);
            config.set("proposals", self.proposals);
        }
        if let Some(module) = &self.module {
            config.set("module", STANDARD.encode(files::read_wasm(module)?));
        }
        Ok(config.into())
    }
}

/// The text of an artifact's program; none where it has several expressions.
fn program_of(path: &Path) -> Result<Vec<Value>, Failure> {
    let place = shown_path(path);
    let artifact = Cbin::read(&files::read(path)?).map_err(|damage| Failure::from(damage).at(&place))?;
    let Some(graph) = artifact.graph else {
        let message = "the artifact was made from a module, not from a program";
        return Err(Failure::new(Exit::Refused, "no-program", message).at(place));
    };
    let mut sources = graph.nodes.into_iter().filter_map(|node| match node.body {
        Body::Expression { source } => Some(Value::from(source)),
        _ => None,
    });
    let first = sources.next().filter(|_| sources.next().is_none());
    Ok(first.into_iter().collect())
}

/// Adds who judged, and what asking came to; nothing where nobody was named.
pub fn with_judge(fields: Record, judged: Option<&Value>, teacher: Option<&Paid>) -> Record {
    let count = judged.and_then(|judged| judged.get("opinions")).and_then(Value::as_list).map_or(0, <[Value]>::len);
    let fields = match judged.and_then(|judged| judged.get("model")) {
        Some(model) => fields.with("judged", Record::new().with("model", model.clone()).with("opinions", count)),
        None => fields,
    };
    match teacher {
        Some(teacher) => fields.with("spend", teacher.spend()),
        None => fields,
    }
}

/// Says that a verdict rests on opinions, where it does.
pub fn judged_line(judged: Option<&Value>) -> String {
    let part = |key: &str| judged.and_then(|judged| judged.get(key));
    match (part("model").and_then(Value::as_text), part("opinions").and_then(Value::as_u64)) {
        (Some(model), Some(opinions)) => format!("JUDGED by {model}: {opinions} opinions\n"),
        _ => String::new(),
    }
}

/// The observations of a contract's scope.
pub fn observations(store: &Store, contract: &Contract) -> Result<Vec<Observation>, Failure> {
    Ok(store.observations(&contract.task, &contract.scope)?)
}

fn digest(text: &str) -> Result<Digest, Failure> {
    Digest::parse(text).ok_or_else(|| {
        Failure::new(Exit::Usage, "bad-digest", format!("{text:?} is not a digest"))
            .help("a digest is 64 hexadecimal digits; `auto-host pass list` shows them")
    })
}

/// Where the driver's progress goes: stderr, if a person is looking.
pub fn progress(global: &Global) -> Progress {
    use std::io::IsTerminal as _;
    if global.json || !std::io::stderr().is_terminal() {
        return Box::new(|_, _, _| {});
    }
    Box::new(|stage, done, total| match total {
        Some(total) => eprintln!("  {} {done}/{total}", shown(stage)),
        None => eprintln!("  {}", shown(stage)),
    })
}

/// What each pass call took, for `--verbose`: on stderr, or under `calls` with `--json`.
pub fn trace(global: &Global, toolbox: &Toolbox, mut fields: Record) -> Record {
    let calls = toolbox.engine.take_trace();
    if global.verbose && global.json {
        fields.set("calls", calls.iter().map(call).collect::<Vec<_>>());
    } else if global.verbose {
        calls.iter().for_each(|call| eprintln!("{}", line(call)));
    }
    fields
}

fn line(call: &CallTrace) -> String {
    let CallTrace { pass, digest, interface, function, fuel, micros, memo_hit, log, fault, .. } = call;
    let digest = &digest.to_string()[..12];
    let how = if *memo_hit { "memo" } else { fault.as_deref().unwrap_or("ran") };
    let line = format!("{pass:<10} {digest} {interface}#{function} fuel {fuel} {micros} µs {how}");
    let mut line = shown(&line);
    log.iter().for_each(|logged| line.push_str(&format!("\n  log: {}", shown(logged))));
    line
}

/// What one call took, for machines.
pub fn call(call: &CallTrace) -> Value {
    let record = Record::new()
        .with("pass", call.pass.as_str())
        .with("digest", call.digest.to_string())
        .with("interface", call.interface.as_str())
        .with("function", call.function.as_str())
        .with("fuel", call.fuel)
        .with("micros", call.micros)
        .with("memory", call.memory)
        .with("memo_hit", call.memo_hit)
        .with("log", call.log.iter().map(|line| line.as_str().into()).collect::<Vec<Value>>())
        .with("fault", call.fault.as_deref());
    record.into()
}

/// What became of each rung, one a line.
pub fn rungs(report: &Value) -> String {
    let mut text = String::new();
    for rung in report.get("rungs").and_then(Value::as_list).unwrap_or_default() {
        let part = |key: &str| part(rung, key);
        text.push_str(&format!("{:<12} {:<8} {}\n", part("rung"), part("status"), part("why")));
    }
    text
}

/// A text of a record, as it is shown.
fn part(record: &Value, key: &str) -> String {
    shown(record.get(key).and_then(Value::as_text).unwrap_or_default())
}

fn explanation(report: &Value) -> String {
    let mut text = String::new();
    if let Some(program) = report.get("program").and_then(Value::as_text) {
        text.push_str(&format!("\nprogram:\n  {}\n", shown(program)));
    }
    text.push_str(&question(report));
    text.push_str(&findings(report));
    text
}

/// The one question that settles which of several programs is meant.
fn question(report: &Value) -> String {
    let Some(question) = report.get("question") else { return String::new() };
    let part = |key: &str| shown(question.get(key).and_then(Value::as_text).unwrap_or_default()).to_string();
    format!(
        "question:\n  What is right for {}? The program gives {}, another that fits as well {}. Record the answer, or \
         make it an example of the contract.\n",
        part("input"),
        part("first"),
        part("other")
    )
}

/// The gate's findings, one a line.
pub fn findings(report: &Value) -> String {
    let mut text = String::new();
    for finding in report.get("findings").and_then(Value::as_list).unwrap_or_default() {
        let part = |key: &str| part(finding, key);
        text.push_str(&format!("{:<13} {:<24} {}: {}\n", part("status"), part("id"), part("claim"), part("detail")));
        if let Some(example) = finding.get("counterexample").and_then(Value::as_text) {
            text.push_str(&format!("{:<38} for example {}\n", "", shown(example)));
        }
    }
    text
}
