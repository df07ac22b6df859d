//! Runs that were made before, as the driver of skills reads them: rows of our own, the folders that
//! BenchFlow and Harbor leave, and traces of a store.

use std::fs;
use std::path::{Path, PathBuf};

use auto_files::regular;
use auto_json::{Record, Value};
use auto_store::Trace;

use super::spec::rows;
use crate::failure::Failure;
use crate::files;

/// The most bytes of what is read of a run: its end. Far more than a teacher is shown, so that the
/// driver can cut where nothing is cut in two.
const SHOWN: usize = 64 << 10;

/// Where what a run said may lie, in its folder.
const TRAJECTORIES: [&str; 4] =
    ["trajectory/acp_trajectory.jsonl", "agent/acp_trajectory.jsonl", "agent/trajectory.json", "trajectory.json"];

/// Runs from a file of rows, or from a folder with a folder for each run; those alone that may be
/// shown. Where a yes is needed, only those that somebody agreed to.
pub fn read(path: &Path, needs_yes: bool) -> Result<Value, Failure> {
    if !path.is_dir() {
        let mut rows = rows(path)?;
        if let Value::List(rows) = &mut rows {
            rows.retain(|row| may_be_shown(row.get("consent"), needs_yes));
        }
        return Ok(rows);
    }
    let mut found = Vec::new();
    walk(path, 0, &mut found)?;
    found.sort();
    let mut trials = Vec::new();
    for folder in &found {
        let result = Value::parse(files::read_regular(&folder.join("result.json"))?).unwrap_or(Value::Null);
        if may_be_shown(result.get("consent"), needs_yes) {
            trials.push(trial(folder, &result));
        }
    }
    Ok(Value::List(trials))
}

/// The folders with a `result.json`, at most three below.
fn walk(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    if folder.join("result.json").is_file() && is_trial(folder) {
        found.push(folder.to_owned());
        return Ok(());
    }
    if depth == 3 {
        return Ok(());
    }
    for entry in fs::read_dir(folder).map_err(|error| files::unreadable(folder, &error))? {
        let path = entry.map_err(|error| files::unreadable(folder, &error))?.path();
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            walk(&path, depth + 1, found)?;
        }
    }
    Ok(())
}

/// A job's own `result.json` is of all its runs, and names no task.
fn is_trial(folder: &Path) -> bool {
    let result =
        regular::read(&folder.join("result.json"), files::LARGEST).ok().and_then(|text| Value::parse(text).ok());
    result.is_some_and(|result| result.get("task_name").is_some())
}

/// One run: its reward, how it failed, and the end of what it said.
fn trial(folder: &Path, result: &Value) -> Value {
    let text = |key: &str| result.get(key).and_then(Value::as_text);
    let reward = |value: Option<&Value>| value.and_then(|rewards| rewards.get("reward")).cloned();
    let reward = reward(result.get("rewards"))
        .or_else(|| reward(result.get("verifier_result").and_then(|verified| verified.get("rewards"))))
        .or_else(|| result.get("reward").cloned());
    let error = text("error_category")
        .or_else(|| result.get("exception_info").and_then(|info| info.get("exception_type")?.as_text()))
        .or_else(|| text("error"))
        .unwrap_or_default();
    let said = TRAJECTORIES.iter().map(|name| end_of(&folder.join(name))).find(|text| !text.is_empty());
    let verifier = end_of(&folder.join("verifier/test-stdout.txt"));
    let mut transcript = said.unwrap_or_default();
    if !error.is_empty() {
        transcript.push_str(&format!("\n[error]\n{error}"));
    }
    if !verifier.is_empty() {
        transcript.push_str(&format!("\n[verifier]\n{verifier}"));
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let id = text("rollout_name").or_else(|| text("trial_name")).unwrap_or(&name);
    Record::new()
        .with("id", id)
        .with("timed_out", error.to_ascii_lowercase().contains("timeout"))
        .with("passed", passed(reward.as_ref()))
        .with("transcript", transcript)
        .into()
}

/// A whole reward is a pass; none is no verdict.
fn passed(reward: Option<&Value>) -> Value {
    let Some(number) = reward.and_then(Value::as_number) else { return Value::Null };
    let one = auto_json::Number::integer(1);
    Value::Bool(one.is_some_and(|one| number.compare(&one).is_ge()))
}

fn end_of(path: &Path) -> String {
    let Ok(bytes) = regular::read(path, files::LARGEST) else { return String::new() };
    let text = String::from_utf8_lossy(&bytes);
    text[text.ceil_char_boundary(text.len().saturating_sub(SHOWN))..].to_owned()
}

/// Whether a run may be shown, by what is said of its consent: whatever is said but `true` is a no.
fn may_be_shown(consent: Option<&Value>, needs_yes: bool) -> bool {
    match consent.filter(|said| **said != Value::Null) {
        None => !needs_yes,
        Some(said) => said.as_bool() == Some(true) || said.as_text() == Some("true"),
    }
}

/// Whole traces of a task in a store that may be shown. What a recorder noted of a run (`seed`,
/// `skill_sha256`, `passed`, `timed_out`) is taken.
pub fn of_store(traces: &[Trace], needs_yes: bool) -> Value {
    let row = |trace: &Trace| {
        let spans = trace.spans.iter().map(|span| {
            let error = span.error.as_ref().map(|error| format!(" failed: {error}")).unwrap_or_default();
            format!("{} {} {} -> {}{error}\n", span.kind.name(), span.name, span.input.as_str(), span.output.as_str())
        });
        let output = trace.output.as_ref().map(|output| output.as_str()).unwrap_or_default();
        let text: String = spans.chain([output.to_owned()]).collect();
        let start = text.ceil_char_boundary(text.len().saturating_sub(SHOWN));
        let mut row = Record::new().with("id", trace.id.as_str()).with("transcript", &text[start..]);
        for (key, text) in &trace.attributes {
            match key.as_str() {
                "skill_sha256" => row.set(key.as_str(), text.as_str()),
                "seed" | "passed" | "timed_out" => {
                    row.set(key.as_str(), Value::parse(text).unwrap_or_else(|_| text.as_str().into()));
                }
                _ => {}
            }
        }
        row.into()
    };
    let shown = |trace: &&Trace| {
        let consent = trace.attributes.iter().find(|(key, _)| *key == "consent");
        may_be_shown(consent.map(|(_, text)| Value::from(text.as_str())).as_ref(), needs_yes)
    };
    Value::List(traces.iter().filter(|trace| !trace.partial).filter(shown).map(row).collect())
}
