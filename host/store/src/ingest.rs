//! Adding traces: all of a call's or none, each checked first, each value kept once.

use std::collections::{BTreeSet, HashMap};

use auto_json::{Canonical, Record, Value};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::{Digest, Span, Store, StoreError, Trace};

/// What became of the traces of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Traces that were new.
    pub added: usize,
    /// Traces that were there already, with the same content.
    pub already: usize,
    /// Spans of the new traces.
    pub spans: usize,
}

impl core::ops::AddAssign for Ingested {
    fn add_assign(&mut self, more: Ingested) {
        self.added += more.added;
        self.already += more.already;
        self.spans += more.spans;
    }
}

impl Store {
    /// Adds traces, all or (on an error) none. A trace that is there already with the
    /// same content is left alone; waits for other writers.
    ///
    /// Codes: `bad-trace`, `trace-conflict`, `store-busy`, `store-io`, `store-damaged`.
    pub fn ingest(&mut self, traces: &[Trace]) -> Result<Ingested, StoreError> {
        traces.iter().try_for_each(check)?;
        let path = self.path().to_owned();
        let wrap = |error| StoreError::sqlite(error, &path);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(wrap)?;
        let mut ingested = Ingested::default();
        let mut values = Values { connection: &transaction, known: HashMap::new() };
        for trace in traces {
            let digest = fingerprint(trace);
            match kept(&transaction, &trace.id).map_err(wrap)? {
                Some(kept) if kept == digest.as_bytes() => ingested.already += 1,
                Some(_) => return Err(conflict(trace)),
                None => {
                    insert(&mut values, trace, digest).map_err(wrap)?;
                    ingested.added += 1;
                    ingested.spans += trace.spans.len();
                }
            }
        }
        transaction.commit().map_err(wrap)?;
        Ok(ingested)
    }
}

/// The rules of `auto:pass/importer`, which an importer of somebody's may break.
fn check(trace: &Trace) -> Result<(), StoreError> {
    let refuse = |what: String| {
        Err(StoreError::new("bad-trace", format!("trace {}: {what}; the importer that read it is at fault", trace.id)))
    };
    if trace.id.is_empty() {
        return refuse("has no id".into());
    }
    if let Some(key) = repeated_key(&trace.attributes) {
        return refuse(format!("attribute {key:?} is given twice"));
    }
    let mut opened = BTreeSet::new();
    let mut last = None;
    for span in &trace.spans {
        if last >= Some(span.sequence) {
            return refuse(format!("span {} does not come after the one before it", span.id));
        }
        last = Some(span.sequence);
        if let Some(parent) = span.parent.filter(|parent| !opened.contains(parent)) {
            return refuse(format!("span {} names parent {parent}, which did not open before it", span.id));
        }
        if !opened.insert(span.id) {
            return refuse(format!("span {} is there twice", span.id));
        }
        if let Some(key) = repeated_key(&span.attributes) {
            return refuse(format!("span {} gives attribute {key:?} twice", span.id));
        }
    }
    Ok(())
}

fn repeated_key(attributes: &[(String, String)]) -> Option<&str> {
    let mut seen = BTreeSet::new();
    attributes.iter().map(|(key, _)| key.as_str()).find(|key| !seen.insert(*key))
}

fn conflict(trace: &Trace) -> StoreError {
    StoreError::new(
        "trace-conflict",
        format!(
            "another trace with the id {} is in the store, and traces never change; record the run again, or import this file into another store",
            trace.id
        ),
    )
}

fn kept(connection: &Connection, id: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    connection.prepare_cached("SELECT digest FROM trace WHERE name = ?1")?.query_row([id], |row| row.get(0)).optional()
}

/// Inserts values, remembering which were met before in this call.
struct Values<'a> {
    connection: &'a Connection,
    known: HashMap<Digest, i64>,
}

impl Values<'_> {
    fn keep(&mut self, text: &Canonical) -> rusqlite::Result<i64> {
        let digest = Digest::of(text.as_str().as_bytes());
        if let Some(id) = self.known.get(&digest) {
            return Ok(*id);
        }
        self.connection
            .prepare_cached("INSERT INTO value (digest, text) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING")?
            .execute(params![digest.as_bytes(), text.as_str()])?;
        let id = self
            .connection
            .prepare_cached("SELECT id FROM value WHERE digest = ?1")?
            .query_row([digest.as_bytes()], |row| row.get(0))?;
        self.known.insert(digest, id);
        Ok(id)
    }

    fn keep_optional(&mut self, text: Option<&Canonical>) -> rusqlite::Result<Option<i64>> {
        text.map(|text| self.keep(text)).transpose()
    }
}

fn insert(values: &mut Values<'_>, trace: &Trace, digest: Digest) -> rusqlite::Result<()> {
    let attributes = values.keep(&attributes(&trace.attributes).canonical())?;
    let input = values.keep_optional(trace.input.as_ref())?;
    let output = values.keep_optional(trace.output.as_ref())?;
    values
        .connection
        .prepare_cached(
            "INSERT INTO trace (name, digest, task, recorder, started, attributes, input, output, partial)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            trace.id,
            digest.as_bytes(),
            trace.task,
            trace.recorder,
            bits(trace.started),
            attributes,
            input,
            output,
            trace.partial
        ])?;
    let row = values.connection.last_insert_rowid();
    trace.spans.iter().zip(0_i64..).try_for_each(|(span, place)| insert_span(values, row, place, span))
}

fn insert_span(values: &mut Values<'_>, trace: i64, place: i64, span: &Span) -> rusqlite::Result<()> {
    let input = values.keep(&span.input)?;
    let output = values.keep(&span.output)?;
    let attributes = values.keep(&attributes(&span.attributes).canonical())?;
    values
        .connection
        .prepare_cached(
            "INSERT INTO span (trace, place, name, kind, span, parent, sequence, input, output, error, started, duration, attributes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        )?
        .execute(params![
            trace,
            place,
            span.name,
            span.kind.name(),
            bits(span.id),
            span.parent.map(bits),
            bits(span.sequence),
            input,
            output,
            span.error,
            bits(span.started),
            span.duration.map(bits),
            attributes
        ])?;
    Ok(())
}

/// SQLite's integers are signed; a `u64` is kept by its bits and never ordered there.
fn bits(value: u64) -> i64 {
    value.cast_signed()
}

fn attributes(pairs: &[(String, String)]) -> Value {
    Value::Record(pairs.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect())
}

/// The digest of everything a trace says; what "the same trace" means.
fn fingerprint(trace: &Trace) -> Digest {
    let digest = |text: &Canonical| Value::from(Digest::of(text.as_str().as_bytes()).to_string());
    let span = |span: &Span| {
        Value::Record(
            Record::new()
                .with("id", span.id)
                .with("parent", span.parent)
                .with("sequence", span.sequence)
                .with("kind", span.kind.name())
                .with("name", span.name.as_str())
                .with("input", digest(&span.input))
                .with("output", digest(&span.output))
                .with("error", span.error.as_deref())
                .with("started", span.started)
                .with("duration", span.duration)
                .with("attributes", attributes(&span.attributes)),
        )
    };
    let whole = Record::new()
        .with("id", trace.id.as_str())
        .with("task", trace.task.as_str())
        .with("recorder", trace.recorder.as_str())
        .with("started", trace.started)
        .with("attributes", attributes(&trace.attributes))
        .with("input", trace.input.as_ref().map(digest))
        .with("output", trace.output.as_ref().map(digest))
        .with("partial", trace.partial)
        .with("spans", trace.spans.iter().map(span).collect::<Vec<_>>());
    Digest::of(Value::Record(whole).canonical().as_str().as_bytes())
}
