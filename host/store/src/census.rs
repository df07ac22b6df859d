//! The census: how much of a task was seen more than once, and how much of that always
//! came out the same. Only whole traces count; only repetition allows a claim.
//!
//! Shares are integers in parts per million, and a share of nothing is no data rather
//! than 0 or 1. How a census looks is in `census/show.rs`.

mod show;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use auto_json::Canonical;

use crate::{Store, StoreError};

/// How many divergent operations a census lists.
const LISTED: usize = 10;

/// The determinism report over one task's traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Census {
    /// The task.
    pub task: String,
    /// Whole traces.
    pub traces: u64,
    /// Traces that were cut off, and are left out of everything else.
    pub partial: u64,
    /// Spans that are structure only, and witness nothing.
    pub structural: u64,
    /// All operations together.
    pub total: Row,
    /// One row per kind, by name of the kind.
    pub kinds: Vec<Row>,
    /// One row per kind and name, in that order.
    pub operations: Vec<Row>,
    /// The divergent inputs with the most spans, most first.
    pub divergent: Vec<Divergent>,
    /// The runs as wholes; `None` where no run declared both its input and its output.
    pub runs: Option<Runs>,
}

/// Counts over some operations. A *witnessed* input was seen at least twice; it is
/// *deterministic* if it never failed and always gave the same output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// `model_call`, `tool_call`, …; `task` for runs; empty for all together.
    pub kind: String,
    /// Which model or tool, in rows of one operation.
    pub name: Option<String>,
    /// Everything recorded, and for how long.
    pub all: Tally,
    /// What of it has a second witness.
    pub witnessed: Tally,
    /// What of that is deterministic.
    pub deterministic: Tally,
    /// Spans that ended in an error.
    pub errors: u64,
}

/// How much of something there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Distinct inputs.
    pub inputs: u64,
    /// Recordings of them.
    pub spans: u64,
    /// Microseconds that these took, as far as recorded.
    pub micros: u64,
}

/// An input with several outputs, or with errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergent {
    /// The operation's kind.
    pub kind: String,
    /// The operation's name.
    pub name: String,
    /// What was given.
    pub input: Canonical,
    /// How often it was seen.
    pub spans: u64,
    /// How many distinct outputs came of it.
    pub outputs: u64,
    /// How often it failed.
    pub errors: u64,
}

/// The census of runs as wholes: task input to task output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Runs that declared both.
    pub row: Row,
    /// Runs that declared only one of them.
    pub one_sided: u64,
}

/// A part of a whole in parts per million, rounded down; `None` where the whole is
/// empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(pub Option<u32>);

impl Share {
    /// `part` of `whole`; a part larger than the whole counts as all of it.
    pub fn of(part: u64, whole: u64) -> Share {
        let ppm = (u128::from(part.min(whole)) * 1_000_000).checked_div(u128::from(whole));
        Share(ppm.and_then(|ppm| u32::try_from(ppm).ok()))
    }
}

/// Everything recorded for one operation and input.
#[derive(Default)]
struct Group {
    spans: u64,
    micros: u64,
    errors: u64,
    outputs: HashSet<i64>,
}

impl Group {
    fn add(&mut self, output: i64, failed: bool, micros: u64) {
        self.spans += 1;
        self.micros = self.micros.saturating_add(micros);
        if failed {
            self.errors += 1;
        } else {
            self.outputs.insert(output);
        }
    }

    fn witnessed(&self) -> bool {
        self.spans >= 2
    }

    fn deterministic(&self) -> bool {
        self.witnessed() && self.errors == 0 && self.outputs.len() == 1
    }

    fn divergent(&self) -> bool {
        self.witnessed() && !self.deterministic()
    }
}

impl Tally {
    fn add(&mut self, group: &Group) {
        self.inputs += 1;
        self.spans += group.spans;
        self.micros = self.micros.saturating_add(group.micros);
    }
}

impl Row {
    fn new(kind: &str, name: Option<&str>) -> Row {
        Row { kind: kind.to_owned(), name: name.map(str::to_owned), ..Row::default() }
    }

    fn add(&mut self, group: &Group) {
        self.all.add(group);
        self.errors += group.errors;
        if group.witnessed() {
            self.witnessed.add(group);
        }
        if group.deterministic() {
            self.deterministic.add(group);
        }
    }
}

/// Kind and name, then input by row.
type Operations = BTreeMap<(String, String), HashMap<i64, Group>>;

impl Store {
    /// Counts a task's traces.
    ///
    /// Codes: `no-task` where nothing is recorded under that name, `store-damaged`,
    /// `store-io`, `store-busy`.
    pub fn census(&self, task: &str) -> Result<Census, StoreError> {
        let known = self.tasks()?;
        let Some(summary) = known.iter().find(|summary| summary.task == task) else {
            return Err(no_task(self, task, known.iter().map(|summary| summary.task.as_str())));
        };
        let (operations, structural) = self.operations_of(task)?;
        let mut census = Census {
            task: task.to_owned(),
            traces: summary.traces,
            partial: summary.partial,
            structural,
            total: Row::default(),
            kinds: Vec::new(),
            operations: Vec::new(),
            divergent: self.most_divergent(&operations)?,
            runs: self.runs_of(task)?,
        };
        for ((kind, name), groups) in &operations {
            if census.kinds.last().is_none_or(|row| row.kind != *kind) {
                census.kinds.push(Row::new(kind, None));
            }
            let mut row = Row::new(kind, Some(name));
            for group in groups.values() {
                row.add(group);
                census.total.add(group);
                census.kinds.last_mut().into_iter().for_each(|kind| kind.add(group));
            }
            census.operations.push(row);
        }
        Ok(census)
    }

    /// Every operation of a task's whole traces, and how many spans are only structure.
    fn operations_of(&self, task: &str) -> Result<(Operations, u64), StoreError> {
        let mut operations = Operations::new();
        let mut structural = 0;
        let query = "SELECT span.kind, span.name, span.input, span.output, span.error IS NOT NULL, span.duration
                     FROM span JOIN trace ON trace.id = span.trace WHERE trace.task = ?1 AND NOT trace.partial";
        self.all(query, [task], |row| {
            let kind: String = row.get(0)?;
            if kind == "span" {
                structural += 1;
                return Ok(());
            }
            let micros = row.get::<_, Option<i64>>(5)?.map_or(0, i64::cast_unsigned);
            let groups = operations.entry((kind, row.get(1)?)).or_default();
            groups.entry(row.get(2)?).or_default().add(row.get(3)?, row.get(4)?, micros);
            Ok(())
        })?;
        Ok((operations, structural))
    }

    fn most_divergent(&self, operations: &Operations) -> Result<Vec<Divergent>, StoreError> {
        let mut found: Vec<(&(String, String), i64, &Group)> = Vec::new();
        for (operation, groups) in operations {
            let divergent = groups.iter().filter(|(_, group)| group.divergent());
            found.extend(divergent.map(|(input, group)| (operation, *input, group)));
        }
        found.sort_by_key(|(_, _, group)| Reverse(group.spans));
        let least = found.get(LISTED - 1).map_or(0, |(_, _, group)| group.spans);
        let mut divergent = Vec::new();
        for ((kind, name), input, group) in found.into_iter().take_while(|(_, _, group)| group.spans >= least) {
            divergent.push(Divergent {
                kind: kind.clone(),
                name: name.clone(),
                input: self.text(input)?,
                spans: group.spans,
                outputs: group.outputs.len() as u64,
                errors: group.errors,
            });
        }
        // Rows have no lasting order, texts have.
        divergent.sort_by(|a, b| {
            (b.spans.cmp(&a.spans)).then_with(|| (&a.kind, &a.name, &a.input).cmp(&(&b.kind, &b.name, &b.input)))
        });
        divergent.truncate(LISTED);
        Ok(divergent)
    }

    fn runs_of(&self, task: &str) -> Result<Option<Runs>, StoreError> {
        let mut groups: HashMap<i64, Group> = HashMap::new();
        let mut one_sided = 0;
        let query = "SELECT input, output FROM trace WHERE task = ?1 AND NOT partial";
        let sides =
            self.all(query, [task], |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?)))?;
        for side in sides {
            match side {
                (Some(input), Some(output)) => groups.entry(input).or_default().add(output, false, 0),
                (None, None) => {}
                _ => one_sided += 1,
            }
        }
        if groups.is_empty() {
            return Ok(None);
        }
        let mut row = Row::new("task", None);
        groups.values().for_each(|group| row.add(group));
        Ok(Some(Runs { row, one_sided }))
    }
}

fn no_task<'a>(store: &Store, task: &str, known: impl Iterator<Item = &'a str>) -> StoreError {
    let known: Vec<_> = known.map(|task| format!("{task:?}")).collect();
    let known =
        if known.is_empty() { "it has no traces at all".to_owned() } else { format!("it has {}", known.join(", ")) };
    StoreError::new("no-task", format!("{} has no trace of a task {task:?}; {known}", store.path().display()))
}
