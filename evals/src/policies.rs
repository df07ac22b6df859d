//! `policies`: two agents whose rules are known, from their recordings through `auto-host` to an
//! artifact: one that reads an object out of an email (F3), one that decides about requests by
//! thresholds and tiers (F4). Both answer to rules that the corpus's own documentation states, so
//! that an answer to an input that nobody recorded can be called right or wrong.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail, ensure};
use auto_json::{Record, Value};
use auto_runtime::{Limits, Outcome, Program, Sandbox};

mod routing;

/// Compiles recordings of two agents whose rules are known, and tries what comes of it.
///
/// F4, the routing of requests: fold by fold, an artifact of the other folds on the inputs held
/// out; and the artifact of everything on each request with another amount or another tier in it.
/// F3, the object out of an email: each email held out in turn, with --leave-out.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  auto-evals policies --data auto-bench --folds 5 --leave-out")]
pub struct Options {
    /// The folder with f3-extraction.jsonl and f4-routing.jsonl
    #[arg(long)]
    data: PathBuf,
    /// Into how many parts the requests are cut, each held out in turn
    #[arg(long, default_value_t = 5)]
    folds: usize,
    /// Hold out each email in turn, which takes as many compiles
    #[arg(long)]
    leave_out: bool,
}

impl Options {
    /// Measures, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        ensure!(self.folds >= 2, "--folds is at least 2");
        let routing = routing(&read(&self.data.join("f4-routing.jsonl"))?, self.folds)?;
        let extraction = extraction(&read(&self.data.join("f3-extraction.jsonl"))?, self.leave_out)?;
        Ok(Record::new().with("f3", extraction).with("f4", routing))
    }
}

/// What was recorded once: an input and its output.
#[derive(Clone)]
pub struct Row {
    input: Value,
    output: Value,
}

fn read(path: &Path) -> anyhow::Result<Vec<Row>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let row = |line: &str| {
        let value = Value::parse(line).ok()?;
        Some(Row { input: value.get("input")?.clone(), output: value.get("output")?.clone() })
    };
    let rows = text.lines().map(|line| row(line).with_context(|| format!("{}: {line}", path.display())));
    rows.collect()
}

/// How answers compare with what is right.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    right: usize,
    abstained: usize,
    wrong: usize,
}

impl Tally {
    fn count(&mut self, input: &Value, answer: Option<&Value>, right: &Value) {
        match answer {
            None => self.abstained += 1,
            Some(answer) if answer == right => self.right += 1,
            Some(answer) => {
                eprintln!("wrong: {answer}, not {right}, for {input}");
                self.wrong += 1;
            }
        }
    }

    fn record(self) -> Record {
        let rows = self.right + self.abstained + self.wrong;
        Record::new()
            .with("rows", rows)
            .with("right", self.right)
            .with("abstained", self.abstained)
            .with("wrong", self.wrong)
    }
}

fn routing(rows: &[Row], folds: usize) -> anyhow::Result<Record> {
    let mut held_out = Tally::default();
    for fold in 0..folds {
        let shown: Vec<Row> = pick(rows, |at| at % folds != fold);
        let mut artifact = Compiled::of("route", &shown)?;
        for row in pick(rows, |at| at % folds == fold) {
            let answer = artifact.answer(&row.input)?;
            held_out.count(&row.input, answer.as_ref(), &row.output);
        }
    }
    let mut whole = Compiled::of("route", rows)?;
    let mut edited = Tally::default();
    for (request, right) in routing::edited(rows)? {
        let answer = whole.answer(&request)?;
        edited.count(&request, answer.as_ref(), &right);
    }
    Ok(whole.record().with("held_out", held_out.record()).with("edited", edited.record()))
}

fn extraction(rows: &[Row], leave_out: bool) -> anyhow::Result<Record> {
    let whole = Compiled::of("extract", rows)?;
    let report = whole.record();
    if !leave_out {
        return Ok(report);
    }
    let mut fields: [(&str, Tally); 3] = ["order_id", "category", "urgency"].map(|field| (field, Tally::default()));
    for held in 0..rows.len() {
        let mut artifact = Compiled::of("extract", &pick(rows, |at| at != held))?;
        let answer = artifact.answer(&rows[held].input)?;
        for (field, tally) in &mut fields {
            let right = rows[held].output.get(field).context("an output without its fields")?;
            tally.count(&rows[held].input, answer.as_ref().and_then(|answer| answer.get(field)), right);
        }
    }
    let fields = fields.into_iter().map(|(field, tally)| (field.to_owned(), tally.record().into()));
    Ok(report.with("left_out", fields.collect::<Record>()))
}

fn pick(rows: &[Row], wanted: impl Fn(usize) -> bool) -> Vec<Row> {
    rows.iter().enumerate().filter(|(at, _)| wanted(*at)).map(|(_, row)| row.clone()).collect()
}

/// An artifact and the report of its making; no artifact where a rung refused.
struct Compiled {
    report: Value,
    bytes: usize,
    session: Option<auto_runtime::Session>,
}

impl Compiled {
    /// Records what an agent did, and compiles it.
    fn of(task: &str, rows: &[Row]) -> anyhow::Result<Compiled> {
        let folder = tempfile::tempdir().context("a temporary folder")?;
        std::fs::write(folder.path().join("runs.jsonl"), trace(task, rows)).context("writing the recordings")?;
        let host = |args: &[&str]| -> anyhow::Result<Value> {
            let binary = std::env::current_exe()?.with_file_name("auto-host");
            let mut command = Command::new(&binary);
            command.args(args).args(["--json", "--store", "auto.db"]).current_dir(folder.path());
            let done = command.output().with_context(|| format!("starting {} (build it first)", binary.display()))?;
            match done.status.code() {
                Some(0 | 1 | 4) => Value::parse(&done.stdout).with_context(|| format!("auto-host {args:?}: {done:?}")),
                _ => bail!("auto-host {args:?}: {done:?}"),
            }
        };
        host(&["import", "runs.jsonl"])?;
        let scope = format!("model_call:{task}");
        host(&["contract", "infer", "--task", task, "--scope", &scope, "--out", "rule.contract.toml"])?;
        let report = host(&["compile", "--contract", "rule.contract.toml", "--out", "rule.cbin"])?;
        let file = std::fs::read(folder.path().join("rule.cbin")).unwrap_or_default();
        let session = match file.is_empty() {
            true => None,
            false => Some(Program::load(&Sandbox::new(Limits::default())?, &file)?.session()),
        };
        let said = report.get("program").and_then(Value::as_text).unwrap_or("no program");
        eprintln!("{task} from {}: {said}", rows.len());
        Ok(Compiled { report, bytes: file.len(), session })
    }

    /// Its answer; none where it abstains, or where there is no artifact.
    fn answer(&mut self, input: &Value) -> anyhow::Result<Option<Value>> {
        let Some(session) = &mut self.session else { return Ok(None) };
        Ok(match session.run(input.canonical().as_str())? {
            Outcome::Answer(answer) => Some(Value::parse(&answer)?),
            _ => None,
        })
    }

    fn record(&self) -> Record {
        let part = |name: &str| self.report.get(name).cloned().unwrap_or(Value::Null);
        Record::new()
            .with("status", part("status"))
            .with("program", part("program"))
            .with("out_of_fold", part("out_of_fold"))
            .with("artifact_bytes", self.bytes)
    }
}

/// Recordings of an agent in the format of its own SDK.
fn trace(task: &str, rows: &[Row]) -> String {
    let id = "5a".repeat(16);
    let begin = format!(
        r#"{{"v":0,"t":"trace","trace_id":"{id}","task":"{task}","started_at_ms":1,"sdk":"evals","attrs":{{}}}}"#
    );
    let span = |(number, row): (usize, &Row)| {
        format!(
            r#"{{"v":0,"t":"span","trace_id":"{id}","span_id":{number},"parent_span_id":null,"seq":{number},"kind":"model_call","name":"{task}","input":{},"output":{},"error":null,"started_at_ms":1,"duration_ms":1,"attrs":{{}}}}"#,
            row.input, row.output
        )
    };
    let spans = (1..).zip(rows).map(span);
    std::iter::once(begin).chain(spans).map(|line| line + "\n").collect()
}
