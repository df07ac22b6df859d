//! `search spec`: the configuration of an agent, by diagnosed and gated edits.

use std::path::Path;
use std::time::SystemTime;

use auto_config::SpecSearch;
use auto_json::{Record, Value};
use auto_schema::shown_path;
use auto_store::{Span, Trace};
use clap::Args;

use super::due::{self, Before, Due};
use super::folder::Plan;
use super::start::Start;
use super::tree::Tree;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply};

/// Improve the configuration of an agent, by what its recorded runs and its tasks show
///
/// Reads [learning.spec_search] of the file that --config names. One run is a whole search: sessions
/// of diagnosis, plan and gated edits until nothing gets better or the budget ends.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host search spec --config auto.toml --html spec.html")]
pub struct Opts {
    /// Begin only where recorded runs say that it is due, by [learning.spec_search.triggers]: for a
    /// clock to start. Goes on from the spec that the last run of the same benchmark left
    #[arg(long, conflicts_with_all = ["resume", "flag"])]
    when_due: bool,
    /// Begin since this recorded run has to be looked at; the teacher is told. Goes on likewise
    #[arg(long, value_name = "TRACE", conflicts_with = "resume")]
    flag: Vec<String>,
    #[command(flatten)]
    start: Start,
}

/// What a run begins with.
struct Beginning {
    spec: Vec<u8>,
    traces: Value,
    trigger: Option<Record>,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let table = global.file.learning.spec_search.as_ref().filter(|_| global.config.is_some());
        let mut beginning = match table {
            Some(table) if !self.start.is_resumed() => Some(self.beginning(table, global)?),
            _ => None,
        };
        if let Some(Err(why)) = &beginning {
            return Ok(Reply::done(
                "not-due",
                format!("nothing was begun: {why}"),
                Record::new().with("why", why.as_str()),
            ));
        }
        let plan = || match (table, beginning.take()) {
            (Some(table), Some(Ok(beginning))) => self.plan(table, beginning).map(Some),
            _ => Ok(None),
        };
        self.start.run(global, ("spec-search", "spec_search"), table.map(|table| &table.teacher), plan)
    }

    /// What to begin with, or why nothing is begun.
    fn beginning(&self, table: &SpecSearch, global: &Global) -> Result<Result<Beginning, String>, Failure> {
        let traces = match (&table.store_task, &table.traces) {
            (Some(task), _) => traces(&self.start.store.store, task)?,
            (None, Some(path)) => rows(path)?,
            (None, None) => Value::List(Vec::new()),
        };
        let first = || document(&table.spec).map(bytes);
        if !self.when_due && self.flag.is_empty() {
            return Ok(Ok(Beginning { spec: first()?, traces, trigger: None }));
        }
        let before = Before::of(&self.start.runs(global), &series(table))?;
        let spec = before.spec()?.map_or_else(first, Ok)?;
        let trigger = match self.when_due {
            false => due::flagged(&self.flag, &traces)?,
            true => match before.due(&table.triggers, &traces)? {
                Due::Now(trigger) => trigger,
                Due::Not(why) => return Ok(Err(why)),
            },
        };
        Ok(Ok(Beginning { spec, traces, trigger: Some(trigger) }))
    }

    fn plan(&self, table: &SpecSearch, beginning: Beginning) -> Result<Plan, Failure> {
        let mut settings = table.settings.clone();
        if let Some(model) = self.start.teacher.model(&table.teacher) {
            settings.set("teacher_model", model);
        }
        let mut blobs = Vec::new();
        let mut trees = Record::new();
        for (name, paths) in &table.files {
            let tree = Tree::of_paths(paths)?;
            trees.set(*name, tree.list());
            blobs.extend(tree.blobs);
        }
        let mut corpora = Record::new();
        for (name, path) in &table.corpora {
            corpora.set(name.as_str(), rows(path)?);
        }
        let Beginning { spec, traces, trigger } = beginning;
        let inputs = vec![
            ("spec", spec),
            ("tasks", bytes(rows(&table.tasks)?)),
            ("traces", bytes(traces)),
            ("corpora", bytes(corpora.into())),
            ("files", bytes(trees.into())),
        ];
        let names = table.pass_environment.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>();
        let host = Record::new()
            .with("series", series(table))
            .with("network", table.network)
            .with("pass_environment", names)
            .with("at_once", table.at_once)
            .with("max_experiments", table.max_experiments)
            .with("max_runs_micro_usd", table.max_runs_cost);
        let label = self.start.label.clone();
        Ok(Plan { kind: "spec-search", settings, inputs, blobs, host, label, dated: true, trigger })
    }
}

/// Runs that are one after the other: those of the same benchmark.
fn series(table: &SpecSearch) -> String {
    let name = table.settings.get("benchmark_version").and_then(Value::as_text);
    name.unwrap_or("personal_v1").to_owned()
}

fn bytes(value: Value) -> Vec<u8> {
    value.canonical().into_string().into_bytes()
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

fn text(path: &Path) -> Result<String, Failure> {
    String::from_utf8(files::read_regular(path)?)
        .map_err(|_| Failure::new(Exit::Usage, "unreadable", format!("{} is not UTF-8", shown_path(path))))
}

fn unread(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(Exit::Usage, "bad-input", format!("{} is not what it should be: {why}", shown_path(path)))
}

/// A document in JSON or TOML, by its name.
fn document(path: &Path) -> Result<Value, Failure> {
    let text = text(path)?;
    match path.extension().is_some_and(|extension| extension == "toml") {
        true => auto_config::document(&text, path).map_err(Failure::from),
        false => Value::parse(&text).map_err(|error| unread(path, error)),
    }
}

/// Rows: a list in JSON, or one a line.
pub fn rows(path: &Path) -> Result<Value, Failure> {
    let text = text(path)?;
    if text.trim_start().starts_with('[') {
        return Value::parse(&text).map_err(|error| unread(path, error));
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let row = |(at, line): (usize, &str)| {
        Value::parse(line).map_err(|error| unread(path, format!("line {}: {error}", at + 1)))
    };
    lines.map(row).collect::<Result<Vec<_>, _>>().map(Value::List)
}

/// The recorded runs of a task.
fn traces(store: &Path, task: &str) -> Result<Value, Failure> {
    let store = files::store(store)?;
    let whole = store.traces_of(task)?.into_iter().filter(|trace| !trace.partial);
    Ok(Value::List(whole.map(|trace| record(&trace).into()).collect()))
}

/// Attributes that say something of the run that the search reads by itself.
const KNOWN: [&str; 5] = ["agent", "source", "outcome", "feedback", "consent"];

fn record(trace: &Trace) -> Record {
    let value = |text: &Option<auto_json::Canonical>| text.as_ref().map_or(Value::Null, auto_json::Canonical::value);
    let mut record = Record::new()
        .with("id", trace.id.as_str())
        .with("task", trace.task.as_str())
        .with("source", trace.recorder.as_str())
        .with("started_at", trace.started / 1_000_000)
        .with("input", value(&trace.input))
        .with("output", value(&trace.output))
        .with("spans", trace.spans.iter().map(span).collect::<Vec<_>>());
    let mut metadata = Record::new();
    for (key, text) in &trace.attributes {
        match KNOWN.contains(&key.as_str()) {
            // A number or a truth where it is one.
            true => record.set(key.as_str(), Value::parse(text).unwrap_or_else(|_| text.as_str().into())),
            false => metadata.set(key.as_str(), text.as_str()),
        }
    }
    if let Some(error) = trace.spans.iter().rev().find_map(|span| span.error.as_deref()) {
        record.set("last_error", error);
    }
    record.with("metadata", metadata)
}

fn span(span: &Span) -> Value {
    Record::new()
        .with("kind", span.kind.name())
        .with("name", span.name.as_str())
        .with("input", span.input.value())
        .with("output", span.output.value())
        .with("error", span.error.as_deref())
        .into()
}
