//! `classify`: how well the models of the compiler decide on texts they were not shown, and how
//! well they know what they do not know.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, anyhow, ensure};
use auto_engine::{Engine, Options as EngineOptions, Providers};
use auto_json::{Record, Value};
use auto_kit::types::{Observation, Witness};
use auto_runtime::{Limits, Module, Outcome, Program, Sandbox};
use auto_schema::cbin;
use auto_schema::digest::Digest;
use auto_schema::manifest::Manifest;
use auto_schema::types::Type;
use wasmtime::component::Val;

use crate::clock::{self, Effort, Subject, figure};
use crate::passes::native::{bytes_val, field, observations_val, record};

/// Trains on labelled texts, and measures on others.
///
/// A file has one `{"text", "label"}` a line. Everything goes through the passes of the
/// compiler in the host: distill trains, risk sets limits on what was held out, emit makes the
/// code that is run.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  auto-evals classify --train train.jsonl --test val.jsonl --oos oos.jsonl")]
pub struct Options {
    /// What is trained on
    #[arg(long)]
    train: PathBuf,
    /// What is measured on
    #[arg(long)]
    test: PathBuf,
    /// Texts of no class
    #[arg(long)]
    oos: Option<PathBuf>,
    /// Decides the order of training, the folds and the draw of --classes
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The most bytes of weights
    #[arg(long, default_value_t = 640_000)]
    max_bytes: u32,
    /// Only so many classes, drawn with the seed; the texts of the others are near misses
    #[arg(long)]
    classes: Option<usize>,
    /// Only so many training texts, drawn with the seed
    #[arg(long)]
    labels: Option<usize>,
    /// The share of answers that may be wrong, in parts per million
    #[arg(long, default_value_t = 10_000)]
    silent_error: u32,
    #[command(flatten)]
    effort: Effort,
    /// The folder of built components; target/components when left out
    #[arg(long)]
    components: Option<PathBuf>,
}

/// How many parts of the training texts are held out in turn.
const FOLDS: u64 = 5;

/// A labelled text.
#[derive(Clone)]
struct Row {
    text: String,
    label: String,
}

/// What the scoring program says of a text.
#[derive(Clone, Debug)]
struct Said {
    answer: String,
    right: bool,
    doubt: u64,
    unsure: u64,
}

impl Options {
    /// Measures, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        let (train, near, test) = self.drawn(read(&self.train)?, read(&self.test)?)?;
        let far = self.oos.as_deref().map(read).transpose()?.unwrap_or_default();
        let bench = Bench::new(&self)?;
        let started = Instant::now();
        let model = bench.train(&train)?;
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("trained on {} texts in {seconds:.1} s", train.len());
        let scoring = bench.module(&model.scoring)?;
        let said = |rows: &[Row]| rows.iter().map(|row| said(&scoring, row)).collect::<anyhow::Result<Vec<Said>>>();
        let inside = said(&test)?;
        let right = inside.iter().filter(|said| said.right).count();
        let mut report = Record::new()
            .with("train", train.len())
            .with("test", test.len())
            .with("accuracy", share(right, inside.len()))
            .with("coverage_at_1pct_error", coverage(&inside));
        for (prefix, others) in [("", said(&far)?), ("near_", said(&near)?)] {
            if !others.is_empty() {
                let (auroc, leak) = apart(&inside, &others);
                report.set(format!("{prefix}auroc"), auroc);
                report.set(format!("{prefix}fpr95"), leak);
            }
        }
        let (program, promise) = bench.controlled(&self, &model, &train)?;
        let artifact = bench.sealed(&program)?;
        report.set("artifact_bytes", artifact.len());
        report.set("train_s", figure(seconds, 2));
        let program = Program::load(&bench.sandbox, &artifact)?;
        report.set("at_limit", at_limit(&program, &test, &near, &far, promise)?);
        report.set("ns_per_call", nanoseconds(&self.effort, &program, &test));
        Ok(report)
    }

    /// The rows of the classes that were drawn, and those of the others.
    fn drawn(&self, train: Vec<Row>, test: Vec<Row>) -> anyhow::Result<(Vec<Row>, Vec<Row>, Vec<Row>)> {
        let mut labels: Vec<&str> = train.iter().map(|row| row.label.as_str()).collect();
        labels.sort_by_cached_key(|label| order(self.seed, label));
        labels.dedup();
        let classes: Vec<String> =
            labels.iter().take(self.classes.unwrap_or(usize::MAX)).map(|label| (*label).to_owned()).collect();
        let of_class = |row: &Row| classes.contains(&row.label);
        let mut pool: Vec<Row> = train.into_iter().filter(of_class).collect();
        pool.sort_by_cached_key(|row| order(self.seed, &row.text));
        let wanted = self.labels.unwrap_or(pool.len());
        ensure!(wanted >= classes.len(), "fewer labels than classes");
        // One of each class first, so that every class is known.
        let mut chosen: Vec<Row> = Vec::new();
        for class in &classes {
            chosen.extend(pool.iter().find(|row| row.label == *class).cloned());
        }
        for row in pool {
            if chosen.len() >= wanted {
                break;
            }
            if !chosen.iter().take(classes.len()).any(|first| first.text == row.text) {
                chosen.push(row);
            }
        }
        let (test, near) = test.into_iter().partition(of_class);
        Ok((chosen, near, test))
    }
}

/// A place in an order that depends on the seed.
fn order(seed: u64, text: &str) -> Digest {
    Digest::of(format!("{seed}\n{text}").as_bytes())
}

fn read(path: &Path) -> anyhow::Result<Vec<Row>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let row = |(number, line): (usize, &str)| {
        let value = Value::parse(line).with_context(|| format!("{}:{}", path.display(), number + 1))?;
        let text = |key| value.get(key).and_then(Value::as_text).map(str::to_owned);
        let both = text("text").zip(text("label")).map(|(text, label)| Row { text, label });
        both.ok_or_else(|| anyhow!("{}:{} has no text and label", path.display(), number + 1))
    };
    text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).map(row).collect()
}

/// As the host would hand them over: distinct inputs in order, with every output.
fn observations(rows: &[Row]) -> Vec<Observation> {
    let mut all: std::collections::BTreeMap<String, std::collections::BTreeMap<String, u32>> = Default::default();
    for row in rows {
        *all.entry(json(&row.text)).or_default().entry(json(&row.label)).or_default() += 1;
    }
    let witness = |(output, count)| Witness { output, count };
    let observation = |(input, outputs): (String, std::collections::BTreeMap<String, u32>)| Observation {
        input,
        outputs: outputs.into_iter().map(witness).collect(),
        errors: 0,
    };
    all.into_iter().map(observation).collect()
}

fn json(text: &str) -> String {
    Value::from(text).canonical().into_string()
}

/// A trained model, as graphs.
struct Model {
    program: Vec<u8>,
    scoring: Vec<u8>,
}

/// What the limits promise.
struct Promise {
    promised: bool,
    at_most: u64,
}

/// The passes and a sandbox.
struct Bench {
    engine: Engine,
    providers: Providers,
    sandbox: Sandbox,
    options: Val,
    output: String,
}

impl Bench {
    fn new(options: &Options) -> anyhow::Result<Bench> {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = options.components.clone().unwrap_or_else(|| repository.join("target/components"));
        let engine = Engine::new(EngineOptions::default())?;
        let mut providers = Providers::new();
        for name in ["distill", "guard", "emit"] {
            let path = folder.join(format!("{name}.wasm"));
            let bytes = std::fs::read(&path)
                .with_context(|| format!("reading {} (cargo xtask build makes it)", path.display()))?;
            providers.push(engine.load(name, bytes)?);
        }
        let text = |text: &str| Val::String(text.to_owned());
        let output = "text".to_owned();
        let settings = record([
            ("input-type", text("text")),
            ("output-type", text(&output)),
            ("seed", Val::U64(options.seed)),
            ("steps", Val::U64(20_000_000)),
            ("max-bytes", Val::U32(options.max_bytes)),
        ]);
        Ok(Bench { engine, providers, sandbox: Sandbox::new(Limits::default())?, options: settings, output })
    }

    fn call(&self, interface: &str, function: &str, arguments: &[Val]) -> anyhow::Result<Val> {
        let results =
            self.engine.call(&self.providers, &format!("auto:pass/{interface}@0.1.0"), function, arguments)?;
        match results.into_iter().next() {
            Some(Val::Result(Ok(Some(value)))) => Ok(*value),
            other => Err(anyhow!("{interface}#{function} gave {other:?}")),
        }
    }

    fn train(&self, rows: &[Row]) -> anyhow::Result<Model> {
        let trained = self.call("distill", "train", &[observations_val(&observations(rows)), self.options.clone()])?;
        Ok(Model { program: bytes(&trained, "program")?, scoring: bytes(&trained, "scoring")? })
    }

    fn module(&self, graph: &[u8]) -> anyhow::Result<Module> {
        Ok(self.sandbox.load(&self.emitted(graph)?)?)
    }

    fn emitted(&self, graph: &[u8]) -> anyhow::Result<Vec<u8>> {
        bytes(&self.call("emit", "emit", &[bytes_val(graph)])?, "module")
    }

    /// The program with limits set on what models said that had not been shown it.
    fn controlled(&self, options: &Options, model: &Model, train: &[Row]) -> anyhow::Result<(Vec<u8>, Promise)> {
        let fold_of = |row: &Row| order(options.seed, &row.text).as_bytes()[0] as u64 % FOLDS;
        let mut scored = Vec::new();
        for fold in 0..FOLDS {
            let (own, others): (Vec<Row>, Vec<Row>) = train.iter().cloned().partition(|row| fold_of(row) == fold);
            let scoring = self.module(&self.train(&others)?.scoring)?;
            for row in &own {
                let said = said(&scoring, row)?;
                let scores = [said.doubt, said.unsure].map(|score| Val::U32(score as u32));
                scored.push(record([
                    ("fold", Val::U32(fold as u32)),
                    ("input", Val::String(json(&row.text))),
                    ("expected", Val::String(json(&row.label))),
                    ("outcome", Val::Variant("answer".to_owned(), Some(Box::new(Val::String(said.answer))))),
                    ("scores", Val::List(scores.to_vec())),
                ]));
            }
            eprintln!("held out {} of {FOLDS}", fold + 1);
        }
        let policy = record([
            ("quantile", Val::U32(950_000)),
            ("silent-error", Val::U32(options.silent_error)),
            ("confidence", Val::U32(950_000)),
        ]);
        let controlled = self.call("risk", "control", &[bytes_val(&model.program), Val::List(scored), policy])?;
        let promised = matches!(field(&controlled, "promised"), Some(Val::Bool(true)));
        let Some(Val::U32(at_most)) = field(&controlled, "at-most") else { return Err(anyhow!("no at-most")) };
        Ok((bytes(&controlled, "program")?, Promise { promised, at_most: u64::from(*at_most) }))
    }

    /// A `.cbin` of a program, so that it can be timed as one.
    fn sealed(&self, program: &[u8]) -> anyhow::Result<Vec<u8>> {
        let module = self.emitted(program)?;
        let none = Digest::of(b"");
        let manifest = Manifest {
            format: 1,
            task: "classify".into(),
            scope: "task".into(),
            input: Type::Text,
            output: self.output.parse().map_err(|_| anyhow!("no type"))?,
            capabilities: vec![],
            guarded: false,
            contract: none,
            evidence: none,
            eval_run: none,
            code: Digest::of(&module),
            observations: 0,
            agreement: None,
            coverage: None,
            out_of_fold: None,
            out_of_fold_rows: 0,
            steps: None,
            module_bytes: u32::try_from(module.len())?,
            passes: vec![],
            trusted_gate: None,
            reusable: true,
            judged: None,
            notes: vec![],
        };
        cbin::seal(&module, Some(program), &manifest).map_err(|damage| anyhow!("{damage}"))
    }
}

fn bytes(value: &Val, name: &str) -> anyhow::Result<Vec<u8>> {
    let Some(Val::List(items)) = field(value, name) else { return Err(anyhow!("no {name}")) };
    Ok(items.iter().filter_map(|item| if let Val::U8(byte) = item { Some(*byte) } else { None }).collect())
}

/// Asks a scoring program.
fn said(scoring: &Module, row: &Row) -> anyhow::Result<Said> {
    let (outcome, _) = scoring.run_fresh(&json(&row.text))?;
    let Outcome::Answer(answer) = outcome else { return Err(anyhow!("{:?} for {:?}", outcome, row.text)) };
    let answer = Value::parse(&answer)?;
    let number = |name| answer.get(name).and_then(Value::as_u64).ok_or_else(|| anyhow!("{answer} has no {name}"));
    let value = answer.get("value").ok_or_else(|| anyhow!("{answer} has no value"))?;
    Ok(Said {
        right: value.as_text() == Some(&row.label),
        answer: value.canonical().into_string(),
        doubt: number("doubt")?,
        unsure: number("unsure")?,
    })
}

/// `part / whole`, to four places.
fn share(part: usize, whole: usize) -> Value {
    figure(part as f64 / whole.max(1) as f64, 4)
}

/// The largest share of texts that can be answered with 1% wrong, the surest first.
fn coverage(inside: &[Said]) -> Value {
    let mut rows: Vec<&Said> = inside.iter().collect();
    rows.sort_by_key(|said| said.unsure);
    let (mut wrong, mut best) = (0, 0);
    for (answered, said) in (1..).zip(rows) {
        wrong += usize::from(!said.right);
        if wrong * 100 <= answered {
            best = answered;
        }
    }
    share(best, inside.len())
}

/// How well doubt tells texts of no class from texts of one: the area under the curve, and the
/// share of the others that is let through where 95% of these are.
fn apart(inside: &[Said], others: &[Said]) -> (Value, Value) {
    let mut doubts: Vec<u64> = inside.iter().map(|said| said.doubt).collect();
    doubts.sort_unstable();
    let below: usize = others.iter().map(|said| doubts.partition_point(|doubt| *doubt < said.doubt)).sum();
    let ties: usize = others
        .iter()
        .map(|said| {
            doubts.partition_point(|doubt| *doubt <= said.doubt) - doubts.partition_point(|doubt| *doubt < said.doubt)
        })
        .sum();
    let area = (below as f64 + ties as f64 / 2.0) / (inside.len() * others.len()) as f64;
    let limit = doubts.get((doubts.len() * 95).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0);
    let leak = others.iter().filter(|said| said.doubt <= limit).count();
    (figure(area, 4), share(leak, others.len()))
}

/// What the artifact does with its limits.
fn at_limit(program: &Program, test: &[Row], near: &[Row], far: &[Row], promise: Promise) -> anyhow::Result<Record> {
    let mut session = program.session();
    let mut answered = |rows: &[Row]| -> anyhow::Result<(usize, usize)> {
        let (mut answered, mut wrong) = (0, 0);
        for row in rows {
            if let Outcome::Answer(answer) = session.run(&json(&row.text))? {
                answered += 1;
                wrong += usize::from(answer != json(&row.label));
            }
        }
        Ok((answered, wrong))
    };
    let (inside, wrong) = answered(test)?;
    let mut report = Record::new()
        .with("promised", promise.promised)
        .with("at_most", figure(promise.at_most as f64 / 1e6, 4))
        .with("coverage", share(inside, test.len()))
        .with("silent_error", share(wrong, inside));
    for (name, rows) in [("near_answered", near), ("far_answered", far)] {
        if !rows.is_empty() {
            report.set(name, share(answered(rows)?.0, rows.len()));
        }
    }
    Ok(report)
}

/// Warm, in one process, over the test texts in turn.
fn nanoseconds(effort: &Effort, program: &Program, test: &[Row]) -> Value {
    let inputs: Vec<String> = test.iter().map(|row| json(&row.text)).collect();
    let mut session = program.session();
    let mut next = 0;
    let mut subjects = [Subject::new("warm", || {
        drop(std::hint::black_box(session.run(&inputs[next])));
        next = (next + 1) % inputs.len();
    })];
    figure(clock::measure(effort, &mut subjects)[0].median(), 0)
}
