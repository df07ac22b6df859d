//! Reading traces back, checked: a text against its digest, a trace against its
//! fingerprint, the traces of a task against the task's seal. What does not agree is damage.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use auto_json::{Canonical, Value};

use crate::database::{Broken, Row, cells};
use crate::fingerprint::{Head, Line, Writing};
use crate::seal::Seal;
use crate::{Digest, Span, SpanKind, Store, StoreError, Trace};

/// How much is recorded of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSummary {
    /// The task's name.
    pub task: String,
    /// Whole traces.
    pub traces: u64,
    /// Traces that were cut off.
    pub partial: u64,
    /// Spans of the whole traces.
    pub spans: u64,
}

/// A value, by row and digest. Two rows with one digest are one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub row: i64,
    pub digest: Digest,
}

/// A trace as it lies in the store.
pub(crate) struct Recorded {
    pub row: i64,
    pub id: String,
    pub task: String,
    pub recorder: String,
    pub started: u64,
    /// The canonical text of the attributes.
    pub attributes: Rc<str>,
    pub input: Option<Kept>,
    pub output: Option<Kept>,
    pub partial: bool,
    pub fingerprint: Digest,
    pub spans: Vec<RecordedSpan>,
}

/// A span of it.
pub(crate) struct RecordedSpan {
    pub id: u64,
    pub parent: Option<u64>,
    pub sequence: u64,
    pub kind: Rc<str>,
    pub name: Rc<str>,
    pub input: Kept,
    pub output: Kept,
    pub error: Option<String>,
    pub started: u64,
    pub duration: Option<u64>,
    /// The canonical text of the attributes.
    pub attributes: Rc<str>,
}

/// What reading many traces needs to know only once: each forgotten when it has become too much.
#[derive(Default)]
struct Known {
    digests: HashMap<i64, Digest>,
    attributes: HashMap<i64, Rc<str>>,
    words: HashSet<Rc<str>>,
}

/// How many entries each of these may have; a few dozen mebibytes in all.
const MOST_KNOWN: usize = 200_000;

impl Known {
    /// A kind or a name, kept once.
    fn word(&mut self, text: &str) -> Rc<str> {
        if let Some(word) = self.words.get(text) {
            return word.clone();
        }
        let word: Rc<str> = text.into();
        make_room(self.words.len(), || self.words.clear());
        self.words.insert(word.clone());
        word
    }
}

fn make_room(known: usize, forget: impl FnOnce()) {
    if known >= MOST_KNOWN {
        forget();
    }
}

/// How many traces are begun at once.
const HEADS: usize = 512;

const HEAD: &str = "SELECT id, name, task, recorder, started, attributes, input, output, partial, digest FROM trace";

type HeadRow = (Recorded, i64, Option<i64>, Option<i64>);
type SpanRow = (RecordedSpan, i64, i64, i64);

impl Store {
    /// The tasks with anything recorded, by name.
    ///
    /// Codes: `store-damaged`, `store-io`, `store-busy`.
    pub fn tasks(&self) -> Result<Vec<TaskSummary>, StoreError> {
        let _snapshot = self.snapshot()?;
        let summary = |(task, seal): (String, Seal)| TaskSummary {
            task,
            traces: seal.traces,
            partial: seal.partial,
            spans: seal.spans,
        };
        Ok(self.seals()?.into_iter().map(summary).collect())
    }

    /// The trace of that id, if there is one.
    ///
    /// Codes as for [`Store::tasks`].
    pub fn trace(&self, id: &str) -> Result<Option<Trace>, StoreError> {
        let _snapshot = self.snapshot()?;
        let Some(recorded) = self.recorded(id)? else {
            // Absence is only claimed of a store that is whole, and not on an index's word.
            self.check()?;
            let missed =
                self.all("SELECT id FROM trace NOT INDEXED WHERE name = ?1", cells![id], |row| row.get::<i64>(0))?;
            return if missed.is_empty() { Ok(None) } else { Err(self.damaged("its index of traces leads astray")) };
        };
        self.whole(recorded).map(Some)
    }

    /// The traces of a task, in the order in which they were recorded.
    ///
    /// Codes as for [`Store::tasks`].
    pub fn traces_of(&self, task: &str) -> Result<Vec<Trace>, StoreError> {
        let mut traces = Vec::new();
        self.each_trace(task, |trace| {
            traces.push(trace);
            Ok(())
        })?;
        Ok(traces)
    }

    /// Hands over the traces of a task, one after the other. Nothing of what was handed over holds
    /// if this fails.
    ///
    /// Codes as for [`Store::tasks`], and those of `take`.
    pub fn each_trace(
        &self,
        task: &str,
        mut take: impl FnMut(Trace) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let _snapshot = self.snapshot()?;
        let mut rows = Vec::new();
        self.recordings(task, |trace| {
            rows.push(trace.row);
            Ok(())
        })?;
        rows.sort_unstable();
        rows.into_iter().try_for_each(|row| take(self.whole(self.row(row)?)?))
    }

    /// Whether there is a trace of that id, on the word of an index; [`Store::trace`] proves it.
    ///
    /// Codes as for [`Store::tasks`].
    pub fn has_trace(&self, id: &str) -> Result<bool, StoreError> {
        Ok(!self.all("SELECT 1 FROM trace WHERE name = ?1", cells![id], |row| row.get::<i64>(0))?.is_empty())
    }

    /// Reads everything and holds it against its digests.
    ///
    /// Codes as for [`Store::tasks`].
    pub fn verify(&self) -> Result<(), StoreError> {
        let _snapshot = self.snapshot()?;
        self.check()
    }

    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let mut traces = 0;
        for (task, seal) in self.seals()? {
            self.recordings(&task, |_| Ok(()))?;
            traces += seal.traces + seal.partial;
        }
        let values: Vec<i64> = self.all("SELECT id FROM value", &[], |row| row.get(0))?;
        values.into_iter().try_for_each(|value| self.text(value).map(drop))?;
        match self.all("SELECT count(*) FROM trace NOT INDEXED", &[], |row| row.get::<u64>(0))?[..] {
            [count] if count == traces => Ok(()),
            _ => Err(self.damaged("it has traces of no task")),
        }
    }

    /// Hands over every trace of a task that `seals` knows, each checked; then that none is
    /// missing. Nothing of what was handed over holds if this fails.
    pub(crate) fn recordings(
        &self,
        task: &str,
        mut take: impl FnMut(&Recorded) -> Result<(), StoreError>,
    ) -> Result<Seal, StoreError> {
        let sealed = self.seals()?.get(task).copied().unwrap_or_default();
        let mut known = Known::default();
        let mut found = Seal::default();
        let mut ids = HashSet::new();
        let query = format!("{HEAD} WHERE task = ?1 AND id > ?2 ORDER BY id LIMIT {HEADS}");
        let mut last = i64::MIN;
        loop {
            let heads = self.all(&query, cells![task, last], head)?;
            if heads.is_empty() {
                break;
            }
            for head in heads {
                if head.0.row <= last {
                    return Err(self.damaged("its index of tasks leads astray"));
                }
                last = head.0.row;
                let recorded = self.complete(head, &mut known)?;
                found.add(&recorded.fingerprint, recorded.spans.len(), recorded.partial);
                take(&recorded)?;
                if !ids.insert(recorded.fingerprint) {
                    return Err(self.damaged("it has a trace twice"));
                }
            }
        }
        if found != sealed {
            return Err(self.damaged(format!("what it has of task {task:?} is not all that was recorded")));
        }
        Ok(sealed)
    }

    /// The trace of that id, checked.
    pub(crate) fn recorded(&self, id: &str) -> Result<Option<Recorded>, StoreError> {
        let heads = self.all(&format!("{HEAD} WHERE name = ?1"), cells![id], head)?;
        let found = heads.into_iter().next().map(|head| self.complete(head, &mut Known::default())).transpose()?;
        match found {
            Some(other) if other.id != id => Err(self.damaged("its index of traces leads astray")),
            found => Ok(found),
        }
    }

    /// Every trace there is, by row, without asking for seals.
    pub(crate) fn rows(&self) -> Result<Vec<i64>, StoreError> {
        self.all("SELECT id FROM trace NOT INDEXED ORDER BY id", &[], |row| row.get(0))
    }

    /// The trace in that row, checked.
    pub(crate) fn row(&self, row: i64) -> Result<Recorded, StoreError> {
        let heads = self.all(&format!("{HEAD} WHERE id = ?1"), cells![row], head)?;
        let head = heads.into_iter().next().ok_or_else(|| self.damaged("a trace has gone"))?;
        self.complete(head, &mut Known::default())
    }

    /// Reads a trace's values and spans, and holds them against its fingerprint.
    fn complete(&self, head: HeadRow, known: &mut Known) -> Result<Recorded, StoreError> {
        let (mut trace, attributes, input, output) = head;
        trace.attributes = self.attributes(attributes, known)?;
        trace.input = input.map(|row| self.kept(row, known)).transpose()?;
        trace.output = output.map(|row| self.kept(row, known)).transpose()?;
        let query = "SELECT span, parent, sequence, kind, name, error, started, duration, input, output, attributes
                     FROM span WHERE trace = ?1 ORDER BY place";
        let spans = self.all(query, cells![trace.row], |row| span(row, known))?;
        for (mut span, input, output, attributes) in spans {
            span.input = self.kept(input, known)?;
            span.output = self.kept(output, known)?;
            span.attributes = self.attributes(attributes, known)?;
            trace.spans.push(span);
        }
        if trace.computed() != trace.fingerprint {
            return Err(self.damaged(format!("trace {:?} is not what was recorded", trace.id)));
        }
        Ok(trace)
    }

    fn kept(&self, row: i64, known: &mut Known) -> Result<Kept, StoreError> {
        if let Some(digest) = known.digests.get(&row) {
            return Ok(Kept { row, digest: *digest });
        }
        let digest = self.one("SELECT digest FROM value WHERE id = ?1", row, |row| row.get(0).map(Digest))?;
        make_room(known.digests.len(), || known.digests.clear());
        known.digests.insert(row, digest);
        Ok(Kept { row, digest })
    }

    fn attributes(&self, row: i64, known: &mut Known) -> Result<Rc<str>, StoreError> {
        if let Some(text) = known.attributes.get(&row) {
            return Ok(text.clone());
        }
        let text: Rc<str> = self.text(row)?.as_str().into();
        make_room(known.attributes.len(), || known.attributes.clear());
        known.attributes.insert(row, text.clone());
        Ok(text)
    }

    /// The trace with its values.
    pub(crate) fn whole(&self, trace: Recorded) -> Result<Trace, StoreError> {
        let optional = |kept: Option<Kept>| kept.map(|kept| self.text(kept.row)).transpose();
        let span = |span: RecordedSpan| -> Result<Span, StoreError> {
            Ok(Span {
                id: span.id,
                parent: span.parent,
                sequence: span.sequence,
                kind: SpanKind::from_name(&span.kind),
                input: self.text(span.input.row)?,
                output: self.text(span.output.row)?,
                attributes: self.pairs(&span.attributes)?,
                name: span.name.to_string(),
                error: span.error,
                started: span.started,
                duration: span.duration,
            })
        };
        Ok(Trace {
            attributes: self.pairs(&trace.attributes)?,
            input: optional(trace.input)?,
            output: optional(trace.output)?,
            id: trace.id,
            task: trace.task,
            recorder: trace.recorder,
            started: trace.started,
            partial: trace.partial,
            spans: trace.spans.into_iter().map(span).collect::<Result<_, _>>()?,
        })
    }

    /// The row that a row of another table names.
    fn one<T>(
        &self,
        statement: &str,
        row: i64,
        read: impl FnMut(&dyn Row) -> Result<T, Broken>,
    ) -> Result<T, StoreError> {
        let found = self.all(statement, cells![row], read)?.into_iter().next();
        found.ok_or_else(|| self.damaged(format!("value {row} is missing")))
    }

    /// The value in that row, if it is what its digest says.
    pub(crate) fn text(&self, id: i64) -> Result<Canonical, StoreError> {
        self.digest_and_text(id).map(|(_, text)| text)
    }

    /// The same with its digest.
    pub(crate) fn digest_and_text(&self, id: i64) -> Result<(Digest, Canonical), StoreError> {
        let read = |row: &dyn Row| Ok((row.get(0).map(Digest)?, row.get::<String>(1)?));
        let (digest, text) = self.one("SELECT digest, text FROM value WHERE id = ?1", id, read)?;
        Ok((digest, self.canonical(id, digest, &text)?))
    }

    /// A text as a value, if it is what its digest says.
    pub(crate) fn canonical(&self, id: i64, digest: Digest, text: &str) -> Result<Canonical, StoreError> {
        let damaged = || self.damaged(format!("value {id} is not what its digest says"));
        if digest != Digest::of(text.as_bytes()) {
            return Err(damaged());
        }
        let canonical = Canonical::of(text).map_err(|_| damaged())?;
        if canonical.as_str() == text { Ok(canonical) } else { Err(damaged()) }
    }

    /// Attributes as they were given, in key order.
    pub(crate) fn pairs(&self, text: &str) -> Result<Vec<(String, String)>, StoreError> {
        let Ok(Value::Record(record)) = Value::parse(text) else {
            return Err(self.damaged("a value is not the set of attributes it should be"));
        };
        let pair = |(key, value): (String, Value)| match value {
            Value::Text(text) => Ok((key, text)),
            _ => Err(self.damaged(format!("attribute {key:?} is not text"))),
        };
        record.into_iter().map(pair).collect()
    }
}

impl Recorded {
    fn computed(&self) -> Digest {
        let head = Head {
            id: &self.id,
            task: &self.task,
            recorder: &self.recorder,
            started: self.started,
            attributes: &self.attributes,
            input: self.input.map(|kept| kept.digest),
            output: self.output.map(|kept| kept.digest),
            partial: self.partial,
        };
        let mut writing = Writing::start(&head);
        self.spans.iter().for_each(|span| writing.span(&span.line()));
        writing.finish(&head)
    }
}

impl RecordedSpan {
    /// Whether it is that operation.
    pub(crate) fn is(&self, kind: &str, name: &str) -> bool {
        *self.kind == *kind && *self.name == *name
    }

    /// What the span says.
    pub(crate) fn line(&self) -> Line<'_> {
        Line {
            id: self.id,
            parent: self.parent,
            sequence: self.sequence,
            kind: &self.kind,
            name: &self.name,
            input: self.input.digest,
            output: self.output.digest,
            error: self.error.as_deref(),
            started: self.started,
            duration: self.duration,
            attributes: &self.attributes,
        }
    }
}

/// What stands where a value was not looked up yet.
const UNKNOWN: Kept = Kept { row: 0, digest: Digest([0; 32]) };

fn head(row: &dyn Row) -> Result<HeadRow, Broken> {
    let trace = Recorded {
        row: row.get(0)?,
        id: row.get(1)?,
        task: row.get(2)?,
        recorder: row.get(3)?,
        started: row.get::<i64>(4)?.cast_unsigned(),
        attributes: "".into(),
        input: None,
        output: None,
        partial: row.get(8)?,
        fingerprint: row.get(9).map(Digest)?,
        spans: Vec::new(),
    };
    Ok((trace, row.get(5)?, row.get(6)?, row.get(7)?))
}

fn span(row: &dyn Row, known: &mut Known) -> Result<SpanRow, Broken> {
    let span = RecordedSpan {
        id: row.get::<i64>(0)?.cast_unsigned(),
        parent: row.get::<Option<i64>>(1)?.map(i64::cast_unsigned),
        sequence: row.get::<i64>(2)?.cast_unsigned(),
        kind: known.word(row.text(3)?),
        name: known.word(row.text(4)?),
        input: UNKNOWN,
        output: UNKNOWN,
        error: row.get(5)?,
        started: row.get::<i64>(6)?.cast_unsigned(),
        duration: row.get::<Option<i64>>(7)?.map(i64::cast_unsigned),
        attributes: "".into(),
    };
    Ok((span, row.get(8)?, row.get(9)?, row.get(10)?))
}
