//! `classify`: how well the models of the compiler decide on texts they were not shown, and how
//! well they know what they do not know.

mod bench;
mod measure;
mod rows;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::ensure;
use auto_json::{Record, Value};
use auto_runtime::Program;

use crate::clock::{Effort, figure};
use bench::Bench;
use measure::{Said, apart, at_limit, coverage, nanoseconds, said, share};
use rows::{Draw, Row, read};

/// Trains on labelled texts, and measures on others.
///
/// A file has one `{"text", "label"}` a line. Everything goes through the passes of the
/// compiler in the host: distill trains, risk sets limits on what was held out, guard knows the
/// shape of inputs, emit makes the code that is run.
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
    /// Measures with so many seeds, from --seed on
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// The most bytes of weights
    #[arg(long, default_value_t = 320_000)]
    max_bytes: u32,
    /// Only so many classes, drawn with the seed; the texts of the others are near misses
    #[arg(long)]
    classes: Option<usize>,
    /// Only so many training texts, drawn with the seed
    #[arg(long)]
    labels: Option<usize>,
    /// Measures on the training texts of the drawn classes that were not drawn, too
    #[arg(long)]
    rest: bool,
    /// The share of answers that may be wrong, in parts per million
    #[arg(long, default_value_t = 10_000)]
    silent_error: u32,
    /// Writes the artifact of the last seed here
    #[arg(long)]
    out: Option<PathBuf>,
    #[command(flatten)]
    effort: Effort,
    /// The folder of built components; target/components when left out
    #[arg(long)]
    components: Option<PathBuf>,
}

impl Options {
    /// Measures, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        ensure!(self.seeds > 0, "--seeds 0 measures nothing");
        let (train, test) = (read(&self.train)?, read(&self.test)?);
        let far = self.oos.as_deref().map(read).transpose()?.unwrap_or_default();
        let bench = Bench::new(&self)?;
        let mut reports = Vec::new();
        for seed in self.seed..self.seed.saturating_add(self.seeds) {
            reports.push(self.measured(&bench, seed, (&train, &test, &far))?);
            if self.seeds > 1 {
                eprintln!("seed {seed}: {}", Value::from(reports[reports.len() - 1].clone()).canonical().as_str());
            }
        }
        Ok(match reports.len() {
            1 => reports.swap_remove(0),
            _ => self.together(&reports),
        })
    }

    /// One seed.
    fn measured(&self, bench: &Bench, seed: u64, data: (&[Row], &[Row], &[Row])) -> anyhow::Result<Record> {
        let (train, test, far) = data;
        let draw = Draw { seed, classes: self.classes, labels: self.labels, rest: self.rest };
        let drawn = draw.from(train, test)?;
        let started = Instant::now();
        let model = bench.train(&drawn.train, seed)?;
        let seconds = started.elapsed().as_secs_f64();
        eprintln!("trained on {} texts in {seconds:.1} s", drawn.train.len());
        let scoring = bench.module(&model.scoring)?;
        let said = |rows: &[Row]| rows.iter().map(|row| said(&scoring, row)).collect::<anyhow::Result<Vec<Said>>>();
        let inside = said(&drawn.test)?;
        let right = inside.iter().filter(|said| said.right).count();
        let mut report = Record::new()
            .with("train", drawn.train.len())
            .with("test", drawn.test.len())
            .with("accuracy", share(right, inside.len()))
            .with("coverage_at_1pct_error", coverage(&inside));
        for (prefix, others) in [("", said(far)?), ("near_", said(&drawn.near)?)] {
            if !others.is_empty() {
                let (auroc, leak) = apart(&inside, &others);
                report.set(format!("{prefix}auroc"), auroc);
                report.set(format!("{prefix}fpr95"), leak);
            }
        }
        let (program, promise) = bench.controlled(&model, &drawn.train, seed, self.silent_error)?;
        let artifact = bench.sealed(&program)?;
        if let Some(out) = &self.out {
            std::fs::write(out, &artifact)?;
        }
        report.set("artifact_bytes", artifact.len());
        report.set("train_s", figure(seconds, 2));
        let program = Program::load(&bench.sandbox, &artifact)?;
        report.set("at_limit", at_limit(&program, &drawn, far, &promise)?);
        report.set("ns_per_call", nanoseconds(&self.effort, &program, &drawn.test));
        Ok(report)
    }

    /// What the reports of several seeds come to: means, and how often the limits kept what they
    /// are set for.
    fn together(&self, reports: &[Record]) -> Record {
        let of = |report: &Record, path: &[&str]| {
            let value = path.iter().try_fold(&Value::from(report.clone()), |value, name| value.get(name)).cloned();
            value.and_then(|value| value.to_string().parse::<f64>().ok())
        };
        let all = |path: &[&str]| reports.iter().filter_map(|report| of(report, path)).collect::<Vec<f64>>();
        let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len().max(1) as f64;
        let mut together = Record::new().with("seeds", reports.len());
        for name in ["accuracy", "coverage_at_1pct_error", "auroc", "fpr95", "near_auroc", "near_fpr95", "train_s"] {
            let figures = all(&[name]);
            if !figures.is_empty() {
                together.set(name, figure(mean(&figures), 4));
            }
        }
        let mut limits = Record::new();
        for name in ["coverage", "silent_error", "near_answered", "far_answered"] {
            let figures = all(&["at_limit", name]);
            if !figures.is_empty() {
                limits.set(name, figure(mean(&figures), 4));
            }
        }
        let least = all(&["at_limit", "coverage"]).into_iter().fold(1.0, f64::min);
        limits.set("least_coverage", figure(least, 4));
        let kept = all(&["at_limit", "silent_error"]);
        let kept = kept.iter().filter(|error| **error <= f64::from(self.silent_error) / 1e6).count();
        limits.set("kept_in", kept);
        let promised = |report: &&Record| {
            Value::from((*report).clone()).get("at_limit").and_then(|limits| limits.get("promised")?.as_bool())
        };
        limits.set("promised_in", reports.iter().filter(|report| promised(report) == Some(true)).count());
        together.set("at_limit", limits);
        together.set("reports", reports.iter().cloned().map(Value::from).collect::<Vec<Value>>());
        together
    }
}
