//! Adding traces: all of a call's or none, each checked first, each value kept once, and
//! read back before it counts.

use std::collections::{BTreeSet, HashMap};

use auto_json::Canonical;

use crate::database::cells;
use crate::fingerprint::{self, attributes};
use crate::seal::Seals;
use crate::summary::Tallies;
use crate::{Digest, Span, Store, StoreError, Trace};

/// What became of the traces of one call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Traces that were new.
    pub added: usize,
    /// Traces that were there already: with the same content, or whole where these are cut off.
    pub already: usize,
    /// Traces that were there cut off, and are whole now.
    pub completed: usize,
    /// Spans of the new and the completed traces.
    pub spans: usize,
}

impl core::ops::AddAssign for Ingested {
    fn add_assign(&mut self, more: Ingested) {
        self.added += more.added;
        self.already += more.already;
        self.completed += more.completed;
        self.spans += more.spans;
    }
}

impl Store {
    /// Adds traces, all or (on an error) none; they are on the disk when this returns. A
    /// trace that is there already with the same content is left alone, one that was cut
    /// off gives way to one that goes on where it ends. Waits for other writers.
    ///
    /// Codes: `bad-trace`, `trace-conflict`, `store-busy`, `store-full`, `store-io`,
    /// `store-damaged`, `store-version`.
    pub fn ingest(&mut self, traces: &[Trace]) -> Result<Ingested, StoreError> {
        traces.iter().try_for_each(check)?;
        let transaction = self.writing()?;
        // A newer program may have been here since this one opened the store.
        self.check_version()?;
        let (seals, tallies) = (self.seals()?, Tallies::of(self)?);
        let mut adding = Adding { store: self, seals, tallies, changed: BTreeSet::new(), known: HashMap::new() };
        let mut ingested = Ingested::default();
        for trace in traces {
            adding.trace(trace, &mut ingested)?;
        }
        let Adding { seals, tallies, changed, .. } = adding;
        if !changed.is_empty() {
            self.write_seals(&seals, &changed)?;
            tallies.write()?;
        }
        transaction.commit()?;
        self.database.settle();
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

/// Whether `cut`, which was cut off, is a part of what `whole` says. Its spans may have lost
/// their parents: a line is only written when its span closes.
fn is_part(cut: &Trace, whole: &Trace) -> bool {
    let spans: HashMap<u64, &Span> = whole.spans.iter().map(|span| (span.id, span)).collect();
    let same = |cut: &Span| {
        spans.get(&cut.id).is_some_and(|&span| *cut == Span { parent: cut.parent.and(span.parent), ..span.clone() })
    };
    (&cut.task, &cut.recorder, cut.started, &cut.attributes, &cut.input)
        == (&whole.task, &whole.recorder, whole.started, &whole.attributes, &whole.input)
        && (cut.output.is_none() || cut.output == whole.output)
        && cut.spans.iter().all(same)
}

/// What one call adds.
struct Adding<'a> {
    store: &'a Store,
    seals: Seals,
    tallies: Tallies<'a>,
    changed: BTreeSet<String>,
    /// Values that were met before in this call, by their row.
    known: HashMap<Digest, i64>,
}

impl Adding<'_> {
    fn trace(&mut self, trace: &Trace, ingested: &mut Ingested) -> Result<(), StoreError> {
        let fingerprint = fingerprint::of_trace(trace);
        match self.store.recorded(&trace.id)? {
            None => ingested.added += 1,
            Some(kept) if kept.fingerprint == fingerprint => {
                ingested.already += 1;
                return Ok(());
            }
            Some(kept) => {
                let (row, was) = (kept.row, kept.fingerprint);
                let kept = self.store.whole(kept)?;
                if trace.partial && is_part(trace, &kept) {
                    ingested.already += 1;
                    return Ok(());
                }
                if !kept.partial || !is_part(&kept, trace) {
                    return Err(conflict(trace));
                }
                self.store.remove_trace(row)?;
                self.seals.entry(trace.task.clone()).or_default().remove(&was, 0, true);
                ingested.completed += 1;
            }
        }
        self.insert(trace, fingerprint)?;
        // What a damaged index led astray would only be noticed when it is read, and by then
        // the trace file may be gone.
        let Some(kept) = self.store.recorded(&trace.id)?.filter(|kept| kept.fingerprint == fingerprint) else {
            return Err(self.store.damaged(format!("trace {:?} was not kept as it is", trace.id)));
        };
        if !trace.partial {
            self.tallies.add(&kept)?;
        }
        ingested.spans += trace.spans.len();
        self.seals.entry(trace.task.clone()).or_default().add(&fingerprint, trace.spans.len(), trace.partial);
        self.changed.insert(trace.task.clone());
        Ok(())
    }

    fn insert(&mut self, trace: &Trace, fingerprint: Digest) -> Result<(), StoreError> {
        let attributes = self.keep(&attributes(&trace.attributes))?;
        let input = trace.input.as_ref().map(|text| self.keep(text)).transpose()?;
        let output = trace.output.as_ref().map(|text| self.keep(text)).transpose()?;
        let row = self.store.insert(
            "INSERT INTO trace (name, digest, task, recorder, started, attributes, input, output, partial)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            cells![
                &trace.id,
                fingerprint.as_bytes(),
                &trace.task,
                &trace.recorder,
                trace.started,
                attributes,
                input,
                output,
                trace.partial
            ],
        )?;
        trace.spans.iter().zip(0_i64..).try_for_each(|(span, place)| self.insert_span(row, place, span))
    }

    fn insert_span(&mut self, trace: i64, place: i64, span: &Span) -> Result<(), StoreError> {
        let input = self.keep(&span.input)?;
        let output = self.keep(&span.output)?;
        let attributes = self.keep(&attributes(&span.attributes))?;
        self.store.execute(
            "INSERT INTO span (trace, place, name, kind, span, parent, sequence, input, output, error, started, duration, attributes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            cells![
                trace,
                place,
                &span.name,
                span.kind.name(),
                span.id,
                span.parent,
                span.sequence,
                input,
                output,
                span.error.as_deref(),
                span.started,
                span.duration,
                attributes
            ],
        )
    }

    /// The row of a value, which is added where it is new.
    fn keep(&mut self, text: &Canonical) -> Result<i64, StoreError> {
        let digest = Digest::of(text.as_str().as_bytes());
        if let Some(row) = self.known.get(&digest) {
            return Ok(*row);
        }
        // The text is asked for so that it is the table which answers, not its index.
        let query = "SELECT id, text FROM value WHERE digest = ?1";
        let found: Vec<(i64, String)> =
            self.store.all(query, cells![digest.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let row = match &found[..] {
            [] => self
                .store
                .insert("INSERT INTO value (digest, text) VALUES (?1, ?2)", cells![digest.as_bytes(), text.as_str()])?,
            [(row, found)] if found == text.as_str() => *row,
            _ => return Err(self.store.damaged("its index of values leads astray")),
        };
        self.known.insert(digest, row);
        Ok(row)
    }
}
