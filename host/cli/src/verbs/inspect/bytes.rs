//! What is neither WebAssembly nor text: stores, journals, entries of the cache, graphs,
//! manifests, compiled code.

use auto_json::{Record, Value};
use auto_model::Ledger;
use auto_schema::ir::{Graph, Violation};
use auto_schema::manifest::Manifest;
use auto_schema::shown;
use auto_store::{Store, StoreError};

use super::{File, broken, damaged, foreign, size, whole};
use crate::failure::Failure;
use crate::options::Global;
use crate::reply::Reply;
use crate::reply::count;

/// How every SQLite file begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// Whether a file that begins so is one of SQLite's, or was one of ours.
pub fn is_sqlite(head: &[u8]) -> bool {
    head.starts_with(SQLITE) || auto_store::is_ours(head)
}

pub fn describe(file: &File<'_>, _: &Global) -> Result<Option<Reply>, Failure> {
    let File { place, bytes, .. } = file;
    Ok(Some(match bytes.as_slice() {
        [] => foreign("empty", place, "an empty file"),
        bytes if is_sqlite(bytes) => store(file)?,
        bytes if bytes.starts_with(b"auto-journal-") => {
            let line = size("of journal: what the calls of a job returned, for the rerun after a crash", file);
            whole("journal", place, &line, Record::new())
        }
        bytes if bytes.starts_with(b"auto-entry-") => {
            let line = size("of cache: compiled code or a result that can be made again, for auto-host alone", file);
            whole("cache-entry", place, &line, Record::new())
        }
        bytes if bytes.starts_with(b"\x7fELF") => native(file),
        bytes if Ledger::starts(bytes) => ledger(file),
        _ => match graph(file).or_else(|| manifest(file)) {
            Some(reply) => reply,
            None => return Ok(None),
        },
    }))
}

fn store(file: &File<'_>) -> Result<Reply, Failure> {
    if file.path.as_os_str() == "-" {
        return Ok(foreign("sqlite", &file.place, "an SQLite file; give its path to have it opened"));
    }
    let read = || {
        let store = Store::open_read(file.path)?;
        let tasks = store.tasks()?;
        // What is damaged shows where it is read, so everything is.
        tasks.iter().try_for_each(|task| store.census(&task.task).map(drop))?;
        Ok(tasks)
    };
    let tasks = match read() {
        Ok(tasks) => tasks,
        Err(StoreError { code: "not-a-store" | "no-store", .. }) => {
            return Ok(foreign("sqlite", &file.place, "an SQLite file of another program"));
        }
        Err(error) => return Ok(damaged("store", &file.place, error)),
    };
    let rows = tasks.iter().map(|task| {
        Record::new()
            .with("task", task.task.as_str())
            .with("traces", task.traces)
            .with("partial", task.partial)
            .with("spans", task.spans)
            .into()
    });
    let rows: Vec<Value> = rows.collect();
    let mut line = format!("a trace store of {}", count(tasks.len() as u64, "task"));
    for task in &tasks {
        let cut = if task.partial == 0 { String::new() } else { format!(" and {} that was cut off", task.partial) };
        let (traces, spans) = (count(task.traces, "trace"), count(task.spans, "span"));
        line.push_str(&format!("\n  {}: {traces} with {spans}{cut}", shown(&task.task)));
    }
    Ok(whole("store", &file.place, &line, Record::new().with("tasks", rows)))
}

/// What models cost, by session.
fn ledger(file: &File<'_>) -> Reply {
    let ledger = match Ledger::read(file.path, &file.bytes) {
        Ok(ledger) => ledger,
        Err(error) => return damaged("ledger", &file.place, error),
    };
    let mut line = format!("a ledger of what models cost: {} USD", ledger.spent());
    let mut rows: Vec<Value> = Vec::new();
    for (session, totals) in ledger.sessions() {
        let calls = count(totals.calls, "call");
        line.push_str(&format!("\n  {session}: {calls}, {} USD", totals.spent));
        let row = Record::new().with("session", session).with("calls", totals.calls);
        rows.push(row.with("spent_micro_usd", totals.spent.0).into());
    }
    let fields = Record::new().with("spent_micro_usd", ledger.spent().0).with("sessions", rows);
    whole("ledger", &file.place, &line, fields)
}

/// Machine code, which may be what some wasmtime compiled.
fn native(file: &File<'_>) -> Reply {
    if auto_runtime::is_precompiled(&file.bytes) {
        let line = "code that wasmtime compiled; it is run unchecked, so none is taken from a file: \
                    give the WebAssembly it was compiled from";
        return foreign("precompiled-code", &file.place, line);
    }
    foreign("native", &file.place, &size("of machine code (ELF)", file))
}

fn graph(file: &File<'_>) -> Option<Reply> {
    match Graph::from_bytes(&file.bytes) {
        Ok(graph) => {
            let line = format!(
                "an IR graph, {:?}, of {} and {}",
                graph.name,
                count(graph.nodes.len() as u64, "node"),
                count(graph.edges.len() as u64, "edge")
            );
            let fields = Record::new().with("nodes", graph.nodes.len()).with("edges", graph.edges.len());
            Some(whole("graph", &file.place, &line, fields))
        }
        Err(wrong) => not_whole("graph", file, &wrong),
    }
}

fn manifest(file: &File<'_>) -> Option<Reply> {
    match Manifest::from_bytes(&file.bytes) {
        Ok(manifest) => {
            let line = format!("the manifest of an artifact for the task {:?}", manifest.task);
            Some(whole("manifest", &file.place, &line, Record::new().with("manifest", manifest.to_value())))
        }
        Err(wrong) => not_whole("manifest", file, &wrong),
    }
}

/// Nothing where the bytes do not even claim to be of that kind.
fn not_whole(kind: &str, file: &File<'_>, wrong: &[Violation]) -> Option<Reply> {
    let first = wrong.first().filter(|first| first.code != "wrong-kind")?;
    Some(broken(kind, &file.place, &first.to_string()))
}
