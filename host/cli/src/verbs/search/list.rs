//! `search list`: the runs there are.

use auto_json::{Record, Value};
use auto_schema::shown;
use clap::Args;

use super::RunsFolder;
use super::folder::{self, Run};
use super::show::score;
use super::story;
use crate::failure::Failure;
use crate::options::Global;
use crate::reply::Reply;

/// List the runs and what came of each
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host search list --runs search-runs")]
pub struct Opts {
    #[command(flatten)]
    runs: RunsFolder,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let found = folder::all(&self.runs.folder(global));
        let (mut lines, mut rows) = (Vec::new(), Vec::new());
        for run in &found {
            let (line, row) = match run {
                // One that is damaged hides no other.
                Ok(run) => told(run).unwrap_or_else(|failure| damaged(&run.id, &failure)),
                Err((name, failure)) => damaged(name, failure),
            };
            lines.push(line);
            rows.push(Value::from(row));
        }
        let text = if lines.is_empty() { "there are no runs".to_owned() } else { lines.join("\n") };
        Ok(Reply::done("listed", text, Record::new().with("runs", rows)))
    }
}

fn damaged(name: &str, failure: &Failure) -> (String, Record) {
    let row = Record::new().with("run", name).with("status", failure.code.as_str());
    (format!("{:<20} {}", shown(name), failure.code), row)
}

fn told(run: &Run) -> Result<(String, Record), Failure> {
    let report = run.report()?;
    let text = |key: &str| report.as_ref().and_then(|report| report.get(key)?.as_text()).unwrap_or_default();
    let status = if report.is_some() { text("status") } else { "unfinished" };
    let applied = report.as_ref().map_or(0, kept);
    let scores: Vec<String> =
        report.iter().flat_map(|report| report.get("scores")?.as_list()).flatten().map(score).collect();
    let label = if run.label().is_empty() { String::new() } else { format!("  [{}]", shown(run.label())) };
    let line = format!(
        "{:<20} {:<16} {:<34} {applied} applied  {}{label}",
        run.id,
        shown(status),
        shown(text("stop")),
        scores.join(", ")
    );
    let row = Record::new()
        .with("run", run.id.as_str())
        .with("kind", run.kind())
        .with("label", run.label())
        .with("status", status)
        .with("stop", text("stop"))
        .with("applied", applied);
    Ok((line.trim_end().to_owned(), row))
}

/// How many edits of a report stand.
fn kept(report: &Value) -> usize {
    let timeline = report.get("timeline").and_then(Value::as_list).unwrap_or_default().iter();
    timeline.filter(|one| story::stands(one)).count()
}
