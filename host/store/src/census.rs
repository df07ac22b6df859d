//! The census: how much of a task was seen more than once, and how much of that always
//! came out the same. Only whole traces count; only repetition allows a claim.
//!
//! Shares are integers in parts per million, and a share of nothing is no data rather
//! than 0 or 1. How a census looks is in `census/show.rs`.

mod show;

use std::cmp::Reverse;

use auto_json::{Canonical, Value};
use auto_schema::key::Part;
use auto_schema::shown_path;

use crate::key::Keys;
use crate::scratch::Scratch;
use crate::seal::Sum;
use crate::summary::{Operation, Tallied, mark};
use crate::{Digest, Store, StoreError};

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
    /// Those of them that would be operations, had their content been captured.
    pub uncaptured: u64,
    /// Spans that a key policy does not fit, and that are left out of what follows.
    pub unkeyed: u64,
    /// All operations together.
    pub total: Row,
    /// One row per kind, by name of the kind.
    pub kinds: Vec<Row>,
    /// One row per kind and name, in that order.
    pub operations: Vec<Row>,
    /// All inputs by how often they were seen, seldom ones first.
    pub seen: Vec<Seen>,
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
    /// Spans that say what they cost.
    pub priced: u64,
    /// What they say they cost, in micro-USD.
    pub cost: u64,
    /// Tokens, as far as spans say.
    pub tokens: u64,
}

/// Inputs that were seen about equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// At least so often.
    pub least: u64,
    /// At most so often; none for the last.
    pub most: Option<u64>,
    /// How much of it there is.
    pub tally: Tally,
}

/// From how often on inputs are counted apart: once, twice, and so on.
const OFTEN: [u64; 6] = [1, 2, 3, 6, 11, 101];

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
struct Group {
    /// One of the inputs that it is of.
    input: i64,
    mark: i64,
    /// The first bytes of its digest, or of its key's.
    rank: u64,
    tally: Tally,
    errors: u64,
    /// How many distinct outputs it has.
    outputs: u64,
    /// The last of them: they come in order.
    last: Option<i64>,
}

impl Group {
    fn of(input: i64, mark: i64, rank: i64) -> Group {
        let rank = rank.cast_unsigned();
        Group { input, mark, rank, tally: Tally { inputs: 1, ..Tally::default() }, errors: 0, outputs: 0, last: None }
    }

    fn add(&mut self, output: Option<i64>, tallied: &Tallied) {
        self.tally.add(&Tally {
            inputs: 0,
            spans: tallied.spans,
            micros: tallied.micros,
            priced: tallied.priced,
            cost: tallied.cost,
            tokens: tallied.tokens,
        });
        match output {
            None => self.errors += tallied.spans,
            Some(output) if self.last == Some(output) => {}
            Some(output) => {
                self.last = Some(output);
                self.outputs += 1;
            }
        }
    }

    fn witnessed(&self) -> bool {
        self.tally.spans >= 2
    }

    fn deterministic(&self) -> bool {
        self.witnessed() && self.errors == 0 && self.outputs == 1
    }

    fn divergent(&self) -> bool {
        self.witnessed() && !self.deterministic()
    }
}

impl Tally {
    fn add(&mut self, more: &Tally) {
        self.inputs += more.inputs;
        self.spans += more.spans;
        self.micros = self.micros.saturating_add(more.micros);
        self.priced += more.priced;
        self.cost = self.cost.saturating_add(more.cost);
        self.tokens = self.tokens.saturating_add(more.tokens);
    }
}

impl Row {
    fn new(kind: &str, name: Option<&str>) -> Row {
        Row { kind: kind.to_owned(), name: name.map(str::to_owned), ..Row::default() }
    }

    /// Adds up two rows.
    fn join(&mut self, more: &Row) {
        self.all.add(&more.all);
        self.witnessed.add(&more.witnessed);
        self.deterministic.add(&more.deterministic);
        self.errors += more.errors;
    }

    fn add(&mut self, group: &Group) {
        self.all.add(&group.tally);
        self.errors += group.errors;
        if group.witnessed() {
            self.witnessed.add(&group.tally);
        }
        if group.deterministic() {
            self.deterministic.add(&group.tally);
        }
    }
}

/// What is counted of an operation while its groups come by, one after the other.
struct Counting<'c> {
    operation: &'c Operation,
    row: Row,
    seen: &'c mut [Seen],
    worst: &'c mut Worst,
    /// The group that is not at its end yet.
    open: Option<(Same, Group)>,
}

/// What the rows of a group have in common.
#[derive(PartialEq, Eq)]
enum Same {
    Input(i64),
    Key(Digest),
}

impl Counting<'_> {
    /// Takes in a row: of which key, where there are keys, or else of which input.
    fn add(&mut self, key: Option<Digest>, input: i64, output: Option<i64>, tallied: &Tallied) {
        let group = key.map_or(Same::Input(input), Same::Key);
        if self.open.as_ref().is_none_or(|(open, _)| *open != group) {
            self.close();
            let rank = key.as_ref().map_or(tallied.mark, mark);
            self.open = Some((group, Group::of(input, tallied.mark, rank)));
        }
        if let Some((_, open)) = &mut self.open {
            open.add(output, tallied);
        }
    }

    fn close(&mut self) {
        let Some((_, group)) = self.open.take() else { return };
        self.row.add(&group);
        if self.operation.run {
            return;
        }
        let at = OFTEN.partition_point(|&least| least <= group.tally.spans);
        if let Some(seen) = at.checked_sub(1).and_then(|at| self.seen.get_mut(at)) {
            seen.tally.add(&group.tally);
        }
        if group.divergent() {
            self.worst.add(self.operation, group);
        }
    }

    fn finish(mut self) -> Row {
        self.close();
        self.row
    }
}

/// The divergent inputs with the most spans; of those with as many the first by kind, name and digest.
#[derive(Default)]
struct Worst(Vec<(Operation, Group)>);

impl Worst {
    fn add(&mut self, operation: &Operation, group: Group) {
        let rank = |operation: &Operation, group: &Group| {
            (Reverse(group.tally.spans), operation.kind.clone(), operation.name.clone(), group.rank)
        };
        let own = rank(operation, &group);
        let at = self.0.partition_point(|(operation, group)| rank(operation, group) <= own);
        if at < LISTED {
            self.0.insert(at, (operation.clone(), group));
            self.0.truncate(LISTED);
        }
    }
}

impl Store {
    /// Counts a task's traces. What it reads is what was summed up of them: as much as there are
    /// distinct inputs, and never all in memory.
    ///
    /// Codes: `no-task` where nothing is recorded under that name, `store-damaged`,
    /// `store-io`, `store-busy`.
    pub fn census(&self, task: &str) -> Result<Census, StoreError> {
        let _snapshot = self.snapshot()?;
        let known = self.seals()?;
        let Some(seal) = known.get(task) else {
            return Err(no_task(self, task, known.keys().map(String::as_str)));
        };
        let mut census = Census {
            task: task.to_owned(),
            traces: seal.traces,
            partial: seal.partial,
            structural: 0,
            uncaptured: 0,
            unkeyed: 0,
            total: Row::default(),
            kinds: Vec::new(),
            operations: Vec::new(),
            seen: seen(),
            divergent: Vec::new(),
            runs: None,
        };
        let (mut worst, keys) = (Worst::default(), self.keys(task)?);
        let summary = self.summed(task, |operation, number, sum| {
            let name = Some(&*operation.name).filter(|_| !operation.run);
            let row = Row::new(if operation.run { "task" } else { &operation.kind }, name);
            let mut counting = Counting { operation, row, seen: &mut census.seen, worst: &mut worst, open: None };
            match keys.of(operation) {
                None => self.count_inputs(number, sum, &mut counting)?,
                Some(key) => census.unkeyed += self.count_by_key(number, key, sum, &mut counting)?,
            }
            let row = counting.finish();
            match operation.run {
                true => census.runs = Some(Runs { row, one_sided: 0 }),
                false => census.add(row),
            }
            Ok(())
        })?;
        census.structural = summary.structural;
        census.uncaptured = summary.uncaptured;
        census.runs.iter_mut().for_each(|runs| runs.one_sided = summary.one_sided);
        if census.total.all.spans + census.unkeyed + summary.structural != seal.spans {
            return Err(self.damaged(format!("what is summed up of task {task:?} is not of all its spans")));
        }
        census.divergent = self.most_divergent(worst, &keys)?;
        Ok(census)
    }

    fn count_inputs(&self, number: i64, sum: &mut Sum, counting: &mut Counting<'_>) -> Result<(), StoreError> {
        self.tallies_of(number, sum, |place, tallied| counting.add(None, place.input, place.output(), &tallied))
    }

    /// The same of the keys of the inputs; gives how many spans have none.
    fn count_by_key(
        &self,
        number: i64,
        key: &Part,
        sum: &mut Sum,
        counting: &mut Counting<'_>,
    ) -> Result<u64, StoreError> {
        let (scratch, mut unkeyed) = (Scratch::new()?, 0);
        self.tallies_with_texts(number, sum, |text, place, tallied| match key.of(&text.value()) {
            Some(key) => scratch.add(&Digest::of(key.canonical().as_str().as_bytes()), place, tallied),
            None => {
                unkeyed += tallied.spans;
                Ok(())
            }
        })?;
        scratch.in_order(|key, output, input, tallied| counting.add(Some(key), input, output, &tallied))?;
        Ok(unkeyed)
    }

    fn most_divergent(&self, worst: Worst, keys: &Keys<'_>) -> Result<Vec<Divergent>, StoreError> {
        let divergent = |(operation, group): (Operation, Group)| {
            let (digest, text) = self.digest_and_text(group.input)?;
            if mark(&digest) != group.mark {
                return Err(self.damaged("an input is not what its summary says"));
            }
            let input = match keys.of(&operation) {
                // It fitted when it was met.
                Some(key) => key.of(&text.value()).unwrap_or(Value::Null).canonical(),
                None => text,
            };
            let (kind, name) = (operation.kind.to_string(), operation.name.to_string());
            let (spans, outputs, errors) = (group.tally.spans, group.outputs, group.errors);
            Ok(Divergent { kind, name, input, spans, outputs, errors })
        };
        let mut divergent = worst.0.into_iter().map(divergent).collect::<Result<Vec<_>, StoreError>>()?;
        divergent.sort_by(|a, b| {
            (b.spans.cmp(&a.spans)).then_with(|| (&a.kind, &a.name, &a.input).cmp(&(&b.kind, &b.name, &b.input)))
        });
        Ok(divergent)
    }
}

impl Census {
    /// Adds an operation, which comes behind the others of its kind.
    fn add(&mut self, row: Row) {
        // What has no key is no operation of the census, but for its name.
        if row.all.inputs == 0 {
            return;
        }
        self.total.join(&row);
        match self.kinds.last_mut() {
            Some(kind) if kind.kind == row.kind => kind.join(&row),
            _ => self.kinds.push(Row { name: None, ..row.clone() }),
        }
        self.operations.push(row);
    }
}

/// All inputs by how often they were seen, before any is.
fn seen() -> Vec<Seen> {
    let seen = |(at, &least): (usize, &u64)| {
        let most = OFTEN.get(at + 1).map(|next| next - 1);
        Seen { least, most, tally: Tally::default() }
    };
    OFTEN.iter().enumerate().map(seen).collect()
}

fn no_task<'a>(store: &Store, task: &str, known: impl Iterator<Item = &'a str>) -> StoreError {
    let known: Vec<_> = known.map(|task| format!("{task:?}")).collect();
    let known =
        if known.is_empty() { "it has no traces at all".to_owned() } else { format!("it has {}", known.join(", ")) };
    let path = shown_path(store.path());
    StoreError::new("no-task", format!("{path} has no trace of a task {task:?}; {known}"))
}
