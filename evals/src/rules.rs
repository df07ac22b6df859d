//! `rules`: what programs cost as artifacts, beside the same functions written by hand in Rust.

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail, ensure};
use auto_json::{Record, Value};
use auto_runtime::{Limits, Outcome, Program, Sandbox, Session};
use auto_schema::ir::Graph;
use auto_schema::types::Type;

use crate::clock::{self, Effort, Subject, figure};
use crate::sealed::{Sealed, sealed};

mod table;

use table::{RULES, Rule};

/// Times twelve fixed programs as artifacts and the same written by hand in Rust.
///
/// Both take the JSON text of an input and give that of the answer; they are first checked to give
/// the same. The artifacts have no guard, because the functions have none. With --only, the rest is
/// left out.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  auto-evals rules --only triage --rounds 301")]
pub struct Options {
    /// One rule
    #[arg(long)]
    only: Option<String>,
    /// A folder where the artifacts are left
    #[arg(long)]
    keep: Option<PathBuf>,
    #[command(flatten)]
    effort: Effort,
}

impl Options {
    /// Measures, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        let sandbox = Sandbox::new(Limits::default())?;
        let wanted = |rule: &&Rule| self.only.as_deref().is_none_or(|only| only == rule.name);
        let rules: Vec<&Rule> = RULES.iter().filter(wanted).collect();
        ensure!(!rules.is_empty(), "no rule of that name; there are: {}", names());
        let mut measured = Vec::new();
        for rule in rules {
            eprintln!("{}", rule.name);
            let sealed = sealed(&graph(rule)?)?;
            if let Some(folder) = &self.keep {
                let path = folder.join(rule.name).with_extension("cbin");
                std::fs::write(&path, &sealed.file).with_context(|| format!("writing {}", path.display()))?;
            }
            measured.push(measure(rule, &sealed, &sandbox, &self.effort)?);
        }
        let median = |figure: fn(&Measured) -> f64| clock::median(measured.iter().map(figure).collect());
        let report = Record::new()
            .with("rounds", self.effort.rounds)
            .with("median_ratio", figure(median(|one| one.ratio), 3))
            .with("median_warm", figure(median(|one| one.warm), 1))
            .with("median_native", figure(median(|one| one.native), 1))
            .with("median_bytes", figure(median(|one| one.bytes as f64), 0));
        Ok(report.with("rules", measured.iter().map(Measured::record).collect::<Vec<Value>>()))
    }
}

fn names() -> String {
    RULES.map(|rule| rule.name).join(", ")
}

/// What was measured of a rule.
struct Measured {
    name: &'static str,
    /// Of the sealed file.
    bytes: usize,
    /// Instructions a call, on average over the inputs.
    steps: f64,
    /// Nanoseconds a call in a warm instance.
    warm: f64,
    native: f64,
    ratio: f64,
}

impl Measured {
    fn record(&self) -> Value {
        let record = Record::new()
            .with("rule", self.name)
            .with("artifact_bytes", self.bytes)
            .with("steps", figure(self.steps, 1))
            .with("warm", figure(self.warm, 1))
            .with("native", figure(self.native, 1))
            .with("ratio", figure(self.ratio, 3));
        record.into()
    }
}

fn measure(rule: &Rule, sealed: &Sealed, sandbox: &Sandbox, effort: &Effort) -> anyhow::Result<Measured> {
    let program = Program::load(sandbox, &sealed.file)?;
    let mut session = program.session();
    let metered = sandbox.load(&sealed.metered)?;
    let mut steps = 0;
    for input in rule.inputs {
        compare(rule, &mut session, input)?;
        steps += metered.run_fresh(input)?.1.context("the metered twin does not count")?;
    }
    let (mut next, mut next_native) = (rule.inputs.iter().cycle(), rule.inputs.iter().cycle());
    let mut subjects = [
        Subject::new("warm", || drop(std::hint::black_box(session.run(next.next().unwrap_or(&""))))),
        Subject::new("native", || {
            let input = std::hint::black_box(next_native.next().unwrap_or(&""));
            drop(std::hint::black_box((rule.by_hand)(input)));
        }),
    ];
    let times = clock::measure(effort, &mut subjects);
    Ok(Measured {
        name: rule.name,
        bytes: sealed.file.len(),
        steps: steps as f64 / rule.inputs.len() as f64,
        warm: times[0].median(),
        native: times[1].median(),
        ratio: times[0].ratio(&times[1]),
    })
}

/// The graph of a rule: its input, its program, its answer.
fn graph(rule: &Rule) -> anyhow::Result<Graph> {
    let program = auto_lang::parse(rule.program).map_err(|error| anyhow!("{}: {error}", rule.name))?;
    let input: Type = rule.input.parse().map_err(|error| anyhow!("{}: {error}", rule.name))?;
    let output = auto_lang::type_of(&program, &input).map_err(|error| anyhow!("{}: {error}", rule.name))?;
    Ok(auto_lang::graphs::program(&program, &input, &output))
}

/// Checks that both give the same for an input, and something.
fn compare(rule: &Rule, session: &mut Session, input: &str) -> anyhow::Result<()> {
    let by_hand = (rule.by_hand)(input).with_context(|| format!("{}: no answer to {input} by hand", rule.name))?;
    match session.run(input)? {
        Outcome::Answer(answer) if answer == by_hand => Ok(()),
        other => bail!("{}: for {input} the artifact gives {other:?}, and by hand it is {by_hand}", rule.name),
    }
}
