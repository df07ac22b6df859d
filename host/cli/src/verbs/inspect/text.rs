//! Texts: traces, contracts, records of eval runs, and what is none of them.

use std::path::Path;

use auto_importing::Imported;
use auto_json::{Canonical, Record, Value};
use auto_schema::digest::Digest;
use auto_schema::shown;

use super::{File, broken, damaged, foreign, whole};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::count;
use crate::reply::{Exit, Reply};
use crate::verbs::{compile, import};

pub fn describe(file: &File<'_>, global: &Global) -> Result<Option<Reply>, Failure> {
    if let Some(reply) = traces(file, global)? {
        return Ok(Some(reply));
    }
    let Ok(text) = str::from_utf8(&file.bytes) else { return Ok(None) };
    Ok(Some(match Value::parse(text) {
        Ok(value) => eval_run(file, text, &value).unwrap_or_else(|| json(file, &value)),
        Err(_) => contract(file, text).unwrap_or_else(|| plain(file, text)),
    }))
}

/// A file that an importer knows. One that is cut off in a character may be one.
fn traces(file: &File<'_>, global: &Global) -> Result<Option<Reply>, Failure> {
    let valid = str::from_utf8(&file.bytes).map_or_else(|error| error.valid_up_to(), str::len);
    if valid == 0 || file.bytes[..valid].contains(&0) {
        return Ok(None);
    }
    let toolbox = Toolbox::open(global, &[])?;
    let request = import::Request { format: None, task: None, recover_partial: false, forget: false };
    let Imported { format, traces, .. } = match request.parse(&toolbox, &file.place, &file.bytes) {
        Ok(read) => read,
        Err(failure) if ["unknown-format", "not-utf8"].contains(&failure.code.as_str()) => return Ok(None),
        Err(mut failure) => {
            if failure.said {
                failure.exit = Exit::Integrity;
            }
            return Ok(Some(damaged("traces", &file.place, failure)));
        }
    };
    let spans: usize = traces.iter().map(|trace| trace.spans.len()).sum();
    let mut tasks: Vec<&str> = traces.iter().map(|trace| trace.task.as_str()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    let line = format!(
        "a trace file of the format {format}: {} with {}, of {}",
        count(traces.len() as u64, "trace"),
        count(spans as u64, "span"),
        match tasks[..] {
            [task] => format!("the task {task:?}"),
            _ => count(tasks.len() as u64, "task"),
        }
    );
    let fields = Record::new().with("format", format).with("traces", traces.len()).with("spans", spans);
    Ok(Some(whole("traces", &file.place, &line, fields)))
}

/// The record of an eval run. Its name is the SHA-256 of its contents.
fn eval_run(file: &File<'_>, text: &str, value: &Value) -> Option<Reply> {
    let keys = ["contract", "evidence", "findings", "format", "gates", "scope", "status", "subject", "task"];
    // `judged` is there only where a judge was asked.
    let own = |record: &&Record| record.iter().map(|(key, _)| key).filter(|key| *key != "judged").eq(keys);
    let record = value.as_record().filter(own)?;
    let id = Digest::of(&file.bytes).to_string();
    let canonical = Canonical::of(text).is_ok_and(|canonical| canonical.as_str() == text);
    let named = named_digest(file.path).is_none_or(|name| name == id);
    if !canonical || !named {
        return Some(broken("eval-run", &file.place, "the record of an eval run is not what its name says"));
    }
    let part = |key: &str| record.get(key).and_then(Value::as_text).unwrap_or_default();
    let findings = record.get("findings").and_then(Value::as_list).unwrap_or_default().len();
    let findings = count(findings as u64, "finding");
    let mut line =
        format!("the record of an eval run of the task {:?}: {}, {findings}", part("task"), shown(part("status")));
    let fields = Record::new().with("id", id).with("status", part("status")).with("task", part("task"));
    let fields = compile::with_judge(fields, record.get("judged"), None);
    let judged = compile::judged_line(fields.get("judged"));
    if !judged.is_empty() {
        line.push_str(&format!("\n  {}", judged.trim_end()));
    }
    Some(whole("eval-run", &file.place, &line, fields))
}

/// The file's name, where it is that of a digest.
fn named_digest(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    (stem.len() == 64 && stem.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(stem)
}

/// What says of itself that it is a contract.
fn contract(file: &File<'_>, text: &str) -> Option<Reply> {
    let says = |line: &str| line.trim_start().strip_prefix("contract_version").is_some_and(|rest| rest.contains('='));
    text.lines().find(|line| says(line))?;
    let contract = match files::contract_text(text, file.path) {
        Ok((contract, _)) => contract,
        Err(error) => {
            // It has the place already, with line and column.
            let mut reply = Reply::from(Failure::from(error));
            reply.fields.set("kind", "contract");
            return Some(reply);
        }
    };
    let id = contract.id().to_string();
    let line =
        format!("a contract for {} of the task {:?}, id {id}", shown(&contract.scope.to_string()), contract.task);
    let fields = Record::new().with("id", id).with("task", contract.task.as_str());
    Some(whole("contract", &file.place, &line, fields.with("scope", contract.scope.to_string())))
}

fn json(file: &File<'_>, value: &Value) -> Reply {
    foreign("json", &file.place, &format!("JSON ({}) that is nothing of ours", value.kind()))
}

fn plain(file: &File<'_>, text: &str) -> Reply {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let json = lines.clone().all(|line| Value::parse(line).is_ok());
    match (json, lines.count() as u64) {
        (true, lines @ 1..) => foreign("json-lines", &file.place, &format!("{} of JSON", count(lines, "line"))),
        _ => foreign("text", &file.place, &format!("text, {}", count(text.lines().count() as u64, "line"))),
    }
}
