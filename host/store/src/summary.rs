//! What a census reads: for each operation of a task, how often each input had each output, kept up to
//! date by whoever adds a trace. A store with ten million spans has far fewer of these rows, and they
//! come in the order of their inputs, so that nothing has to be kept while they are counted.
//!
//! A summary is sealed like the traces are: by the exclusive or of the digests of its rows, and one over
//! the summaries of all tasks. Whole runs are an operation of their own, from task input to task output.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use auto_json::{Canonical, Value};

use crate::database::{Broken, Row, cells};
use crate::evidence::Declarations;
use crate::rows::{Kept, Recorded, RecordedSpan};
use crate::seal::Sum;
use crate::{Digest, Store, StoreError};

/// Where the seal over all summaries is; that over the tasks is the first.
const SEAL: i64 = 2;

/// Stands for the output of what failed.
const FAILED: i64 = 0;

/// How many rows are kept before they are written, and how many operations are remembered.
const MOST: usize = 100_000;

/// An operation of a task, or its runs as wholes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Operation {
    pub task: Rc<str>,
    /// Whether it is the runs.
    pub run: bool,
    pub kind: Rc<str>,
    pub name: Rc<str>,
}

impl Operation {
    /// Whether it is that operation.
    pub(crate) fn is(&self, kind: &str, name: &str) -> bool {
        !self.run && *self.kind == *kind && *self.name == *name
    }

    fn digest(&self, row: i64) -> Digest {
        let texts = [&self.task, &self.kind, &self.name].map(|text| Value::from(&**text));
        let list = Value::List(vec![row.into(), self.run.into(), Value::List(texts.to_vec())]);
        Digest::of(list.canonical().as_str().as_bytes())
    }
}

/// Of which operation, input and output a row is. Values are named by their rows: each is kept once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    operation: i64,
    pub input: i64,
    output: i64,
}

impl Place {
    /// The output; none of what failed.
    pub(crate) fn output(&self) -> Option<i64> {
        (self.output != FAILED).then_some(self.output)
    }
}

/// What a row counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tallied {
    /// The first bytes of the input's digest: its row may not be another's.
    pub mark: i64,
    pub spans: u64,
    pub priced: u64,
    pub micros: u64,
    pub cost: u64,
    pub tokens: u64,
}

impl Tallied {
    fn add(&mut self, more: &Tallied) {
        self.mark = more.mark;
        self.spans = self.spans.saturating_add(more.spans);
        self.priced = self.priced.saturating_add(more.priced);
        self.micros = self.micros.saturating_add(more.micros);
        self.cost = self.cost.saturating_add(more.cost);
        self.tokens = self.tokens.saturating_add(more.tokens);
    }

    fn digest(&self, place: &Place) -> Digest {
        let counts = [self.spans, self.priced, self.micros, self.cost, self.tokens].map(u64::cast_signed);
        let all = [place.operation, place.input, place.output, self.mark].into_iter().chain(counts);
        let mut bytes = [0; 72];
        bytes.chunks_exact_mut(8).zip(all).for_each(|(place, number)| place.copy_from_slice(&number.to_be_bytes()));
        Digest::of(&bytes)
    }
}

/// The first bytes of a digest.
pub(crate) fn mark(digest: &Digest) -> i64 {
    let mut first = [0; 8];
    first.copy_from_slice(&digest.as_bytes()[..8]);
    i64::from_be_bytes(first)
}

/// What is summed up of a task beside its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    pub structural: u64,
    pub uncaptured: u64,
    pub one_sided: u64,
    /// Over its operations and rows.
    pub sum: Sum,
}

impl Summary {
    fn digest(&self, task: &str) -> Digest {
        let counts = [self.structural, self.uncaptured, self.one_sided].map(Value::from).to_vec();
        let list = Value::List(vec![task.into(), Value::List(counts), Digest(self.sum.0).to_string().into()]);
        Digest::of(list.canonical().as_str().as_bytes())
    }
}

/// Every task's summary, by the task's name.
pub(crate) type Summaries = BTreeMap<String, Summary>;

fn over(summaries: &Summaries) -> Sum {
    let mut sum = Sum::default();
    summaries.iter().for_each(|(task, summary)| sum.toggle(&summary.digest(task)));
    sum
}

impl Store {
    /// The summaries, checked against the seal over all of them.
    pub(crate) fn summaries(&self) -> Result<Summaries, StoreError> {
        let query = "SELECT task, structural, uncaptured, one_sided, sum FROM summary";
        let rows: Vec<(String, Summary)> = self.all(query, &[], |row| {
            let (structural, uncaptured, one_sided) = (row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((row.get(0)?, Summary { structural, uncaptured, one_sided, sum: Sum(row.get(4)?) }))
        })?;
        let count = rows.len();
        let summaries: Summaries = rows.into_iter().collect();
        let sums = self.all("SELECT sum FROM seal WHERE id = ?1", cells![SEAL], |row| Ok(Sum(row.get(0)?)))?;
        if sums != [over(&summaries)] || summaries.len() != count {
            return Err(self.damaged("its list of summaries is not what it was"));
        }
        Ok(summaries)
    }

    /// The operations of a task with their rows: its runs last, else by kind and name. Each is taken
    /// into the sum that is to come out.
    fn operations_of(&self, task: &str, sum: &mut Sum) -> Result<Vec<(i64, Operation)>, StoreError> {
        let query = "SELECT id, run, kind, name FROM operation WHERE task = ?1 ORDER BY run, kind, name";
        let operations = self.all(query, cells![task], |row| {
            let (kind, name) = (row.text(2)?.into(), row.text(3)?.into());
            Ok((row.get(0)?, Operation { task: task.into(), run: row.get(1)?, kind, name }))
        })?;
        operations.iter().for_each(|(row, operation)| sum.toggle(&operation.digest(*row)));
        Ok(operations)
    }

    /// Hands over the operations of a task, for their rows to be taken into a sum, which is checked at the
    /// end: nothing of what was handed over holds if this fails.
    pub(crate) fn summed(
        &self,
        task: &str,
        mut see: impl FnMut(&Operation, i64, &mut Sum) -> Result<(), StoreError>,
    ) -> Result<Summary, StoreError> {
        let seal = self.seals()?.get(task).copied().unwrap_or_default();
        let summary = self.summaries()?.get(task).copied().unwrap_or_default();
        let mut sum = Sum::default();
        for (number, operation) in self.operations_of(task, &mut sum)? {
            see(&operation, number, &mut sum)?;
        }
        if sum != summary.sum || summary.structural > seal.spans {
            return Err(self.damaged(format!("what is summed up of task {task:?} is not what was")));
        }
        Ok(summary)
    }

    /// Hands over what is summed up of an operation, by inputs and then by outputs.
    pub(crate) fn tallies_of(
        &self,
        operation: i64,
        sum: &mut Sum,
        mut see: impl FnMut(Place, Tallied),
    ) -> Result<(), StoreError> {
        let query = "SELECT input, output, mark, spans, priced, micros, cost, tokens FROM tally \
                     WHERE operation = ?1 ORDER BY input, output";
        self.each(query, cells![operation], |row| {
            let (place, tallied) = read(operation, row)?;
            sum.toggle(&tallied.digest(&place));
            see(place, tallied);
            Ok(())
        })
    }
}

impl Store {
    /// The same with each input's text, which is what its digest says.
    pub(crate) fn tallies_with_texts(
        &self,
        operation: i64,
        sum: &mut Sum,
        mut see: impl FnMut(&Canonical, Place, Tallied) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let query = "SELECT t.input, t.output, t.mark, t.spans, t.priced, t.micros, t.cost, t.tokens, v.digest, v.text \
                     FROM tally t JOIN value v ON v.id = t.input WHERE t.operation = ?1 ORDER BY t.input, t.output";
        let mut last: Option<(i64, Canonical)> = None;
        self.each(query, cells![operation], |row| {
            let (place, tallied) = read(operation, row)?;
            sum.toggle(&tallied.digest(&place));
            if last.as_ref().is_none_or(|(input, _)| *input != place.input) {
                let digest = Digest(row.get(8)?);
                if mark(&digest) != tallied.mark {
                    return Err(self.damaged("an input is not what its summary says").into());
                }
                last = Some((place.input, self.canonical(place.input, digest, row.text(9)?)?));
            }
            let Some((_, text)) = &last else { return Ok(()) };
            Ok(see(text, place, tallied)?)
        })
    }
}

/// A row of `tally` from its second column on.
fn read(operation: i64, row: &dyn Row) -> Result<(Place, Tallied), Broken> {
    let number = |column: usize| row.get::<i64>(column);
    let place = Place { operation, input: number(0)?, output: number(1)? };
    Ok((place, tallied([number(2)?, number(3)?, number(4)?, number(5)?, number(6)?, number(7)?])))
}

fn tallied([mark, spans, priced, micros, cost, tokens]: [i64; 6]) -> Tallied {
    let [spans, priced, micros, cost, tokens] = [spans, priced, micros, cost, tokens].map(i64::cast_unsigned);
    Tallied { mark, spans, priced, micros, cost, tokens }
}

/// Summaries that are being carried on.
pub(crate) struct Tallies<'s> {
    store: &'s Store,
    summaries: Summaries,
    changed: BTreeSet<String>,
    declared: Declarations<'s>,
    operations: HashMap<Operation, i64>,
    /// The task of each operation that something is waiting for.
    tasks: HashMap<i64, Rc<str>>,
    waiting: BTreeMap<Place, Tallied>,
}

impl<'s> Tallies<'s> {
    /// Carries on what there is.
    pub(crate) fn of(store: &'s Store) -> Result<Tallies<'s>, StoreError> {
        Ok(Tallies { summaries: store.summaries()?, ..Tallies::none(store) })
    }

    /// Begins where nothing was summed up yet.
    pub(crate) fn none(store: &'s Store) -> Tallies<'s> {
        Tallies {
            store,
            summaries: Summaries::new(),
            changed: BTreeSet::new(),
            declared: Declarations::new(store),
            operations: HashMap::new(),
            tasks: HashMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Sums a task up anew, from what is there of it.
    pub(crate) fn again(&mut self, task: &str) -> Result<(), StoreError> {
        let store = self.store;
        store
            .execute("DELETE FROM tally WHERE operation IN (SELECT id FROM operation WHERE task = ?1)", cells![task])?;
        store.execute("DELETE FROM operation WHERE task = ?1", cells![task])?;
        self.operations.retain(|operation, _| *operation.task != *task);
        self.summaries.remove(task);
        self.changed.insert(task.to_owned());
        store.whole_traces(task, |trace| self.add(trace))
    }

    /// Takes in a whole trace.
    pub(crate) fn add(&mut self, trace: &Recorded) -> Result<(), StoreError> {
        let task: Rc<str> = trace.task.as_str().into();
        let mut summary = self.summaries.get(&trace.task).copied().unwrap_or_default();
        self.changed.insert(trace.task.clone());
        match (trace.input, trace.output) {
            (Some(input), Some(output)) => {
                let runs = Operation { task: task.clone(), run: true, kind: "".into(), name: "".into() };
                self.wait(runs, input, output.row, Tallied::default(), &mut summary)?;
            }
            (None, None) => {}
            _ => summary.one_sided += 1,
        }
        for span in &trace.spans {
            if *span.kind == *"span" {
                summary.structural += 1;
                summary.uncaptured += u64::from(is_uncaptured(span));
                continue;
            }
            let operation =
                Operation { task: task.clone(), run: false, kind: span.kind.clone(), name: span.name.clone() };
            let (cost, tokens) = self.declared.of(&span.attributes)?;
            let figures = Tallied {
                priced: cost.known().is_some().into(),
                micros: span.duration.unwrap_or(0),
                cost: cost.known().unwrap_or(0),
                tokens: tokens.known().unwrap_or(0),
                ..Tallied::default()
            };
            let output = if span.error.is_some() { FAILED } else { span.output.row };
            self.wait(operation, span.input, output, figures, &mut summary)?;
        }
        self.summaries.insert(trace.task.clone(), summary);
        if self.waiting.len() < MOST && self.operations.len() < MOST {
            return Ok(());
        }
        self.flush()?;
        self.operations.clear();
        self.tasks.clear();
        Ok(())
    }

    fn wait(
        &mut self,
        operation: Operation,
        input: Kept,
        output: i64,
        figures: Tallied,
        summary: &mut Summary,
    ) -> Result<(), StoreError> {
        let operation = self.row(operation, summary)?;
        let place = Place { operation, input: input.row, output };
        let more = Tallied { mark: mark(&input.digest), spans: 1, ..figures };
        self.waiting.entry(place).or_default().add(&more);
        Ok(())
    }

    /// The row of an operation, which is added where it is new.
    fn row(&mut self, operation: Operation, summary: &mut Summary) -> Result<i64, StoreError> {
        if let Some(row) = self.operations.get(&operation) {
            return Ok(*row);
        }
        let key = cells![&*operation.task, operation.run, &*operation.kind, &*operation.name];
        let query = "SELECT id FROM operation WHERE task = ?1 AND run = ?2 AND kind = ?3 AND name = ?4";
        let row = match self.store.all(query, key, |row| row.get(0))?[..] {
            [row] => row,
            _ => {
                let add = "INSERT INTO operation (task, run, kind, name) VALUES (?1, ?2, ?3, ?4)";
                let row = self.store.insert(add, key)?;
                summary.sum.toggle(&operation.digest(row));
                row
            }
        };
        self.tasks.insert(row, operation.task.clone());
        self.operations.insert(operation, row);
        Ok(row)
    }

    /// Adds what waits to what is there, in the order in which it lies there.
    fn flush(&mut self) -> Result<(), StoreError> {
        for (place, more) in core::mem::take(&mut self.waiting) {
            let Some(task) = self.tasks.get(&place.operation) else { continue };
            let summary = self.summaries.entry(task.to_string()).or_default();
            let key = cells![place.operation, place.input, place.output];
            let query = "SELECT mark, spans, priced, micros, cost, tokens FROM tally \
                         WHERE operation = ?1 AND input = ?2 AND output = ?3";
            let before = self.store.all(query, key, |row| {
                let number = |column: usize| row.get::<i64>(column);
                Ok(tallied([number(0)?, number(1)?, number(2)?, number(3)?, number(4)?, number(5)?]))
            })?;
            let mut now = before.first().copied().unwrap_or_default();
            before.iter().for_each(|before| summary.sum.toggle(&before.digest(&place)));
            now.add(&more);
            summary.sum.toggle(&now.digest(&place));
            self.store.execute(
                "INSERT INTO tally (operation, input, output, mark, spans, priced, micros, cost, tokens)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT (operation, input, output) DO UPDATE SET mark = excluded.mark, spans = excluded.spans,
                 priced = excluded.priced, micros = excluded.micros, cost = excluded.cost, tokens = excluded.tokens",
                cells![
                    place.operation,
                    place.input,
                    place.output,
                    now.mark,
                    now.spans,
                    now.priced,
                    now.micros,
                    now.cost,
                    now.tokens
                ],
            )?;
        }
        Ok(())
    }

    /// Writes down what was carried on.
    pub(crate) fn write(mut self) -> Result<(), StoreError> {
        self.flush()?;
        for task in &self.changed {
            let Some(summary) = self.summaries.get(task) else {
                self.store.execute("DELETE FROM summary WHERE task = ?1", cells![task])?;
                continue;
            };
            self.store.execute(
                "INSERT INTO summary (task, structural, uncaptured, one_sided, sum) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (task) DO UPDATE SET structural = excluded.structural,
                 uncaptured = excluded.uncaptured, one_sided = excluded.one_sided, sum = excluded.sum",
                cells![task, summary.structural, summary.uncaptured, summary.one_sided, &summary.sum.0],
            )?;
        }
        self.store.write_seal(SEAL, &over(&self.summaries))
    }
}

/// Whether a structural span says that it is an operation without its content.
fn is_uncaptured(span: &RecordedSpan) -> bool {
    // Attributes are canonical text; the key stands in it as it is.
    span.attributes.contains("\"uncaptured\":")
}
