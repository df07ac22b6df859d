//! The census: how much of a task was seen more than once, and how much of that always
//! came out the same. Only whole traces count; only repetition allows a claim.
//!
//! Shares are integers in parts per million, and a share of nothing is no data rather
//! than 0 or 1. How a census looks is in `census/show.rs`.

mod show;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use auto_json::Canonical;
use auto_schema::shown_path;

use crate::evidence::Declarations;
use crate::key::{Input, Keys};
use crate::rows::{Recorded, RecordedSpan};
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

/// Everything recorded for one operation and input. There may be millions, so it is small.
struct Group {
    input: Input,
    spans: u32,
    priced: u32,
    errors: u32,
    micros: u64,
    cost: u64,
    tokens: u64,
    outputs: Outputs,
}

/// The distinct outputs of an input; mostly there is one.
enum Outputs {
    None,
    One(Digest),
    Several(BTreeSet<Digest>),
}

impl Outputs {
    fn add(&mut self, output: Digest) {
        match self {
            Outputs::None => *self = Outputs::One(output),
            Outputs::One(own) if *own == output => {}
            Outputs::One(own) => *self = Outputs::Several(BTreeSet::from([*own, output])),
            Outputs::Several(all) => drop(all.insert(output)),
        }
    }

    fn len(&self) -> u64 {
        match self {
            Outputs::None => 0,
            Outputs::One(_) => 1,
            Outputs::Several(all) => all.len() as u64,
        }
    }
}

impl Group {
    fn of(input: Input) -> Group {
        let (spans, priced, errors, micros, cost, tokens) = (0, 0, 0, 0, 0, 0);
        Group { input, spans, priced, errors, micros, cost, tokens, outputs: Outputs::None }
    }

    fn tally(&self) -> Tally {
        Tally {
            inputs: 1,
            spans: self.spans.into(),
            micros: self.micros,
            priced: self.priced.into(),
            cost: self.cost,
            tokens: self.tokens,
        }
    }

    fn add(&mut self, output: Digest, failed: bool, micros: u64, (cost, tokens): (Option<u64>, Option<u64>)) {
        self.spans = self.spans.saturating_add(1);
        self.micros = self.micros.saturating_add(micros);
        self.priced = self.priced.saturating_add(cost.is_some().into());
        self.cost = self.cost.saturating_add(cost.unwrap_or(0));
        self.tokens = self.tokens.saturating_add(tokens.unwrap_or(0));
        if failed {
            self.errors = self.errors.saturating_add(1);
        } else {
            self.outputs.add(output);
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

    fn add(&mut self, group: &Group) {
        let tally = group.tally();
        self.all.add(&tally);
        self.errors += u64::from(group.errors);
        if group.witnessed() {
            self.witnessed.add(&tally);
        }
        if group.deterministic() {
            self.deterministic.add(&tally);
        }
    }
}

/// The kind and the name of an operation.
type Operation = (Rc<str>, Rc<str>);

/// Inputs by digest.
type Groups = HashMap<Digest, Group>;

/// Everything that is counted in one reading of a task's traces.
#[derive(Default)]
struct Counted {
    /// By kind and name.
    operations: BTreeMap<Operation, Groups>,
    structural: u64,
    uncaptured: u64,
    unkeyed: u64,
    runs: Groups,
    one_sided: u64,
}

impl Counted {
    fn add(
        &mut self,
        trace: &Recorded,
        declared: &mut Declarations<'_>,
        keys: &mut Keys<'_>,
    ) -> Result<(), StoreError> {
        match (trace.input, trace.output) {
            (Some(input), Some(output)) => {
                let group = self.runs.entry(input.digest).or_insert_with(|| Group::of(Input::whole(input)));
                group.add(output.digest, false, 0, (None, None));
            }
            (None, None) => {}
            _ => self.one_sided += 1,
        }
        for span in &trace.spans {
            if *span.kind == *"span" {
                self.structural += 1;
                self.uncaptured += u64::from(is_uncaptured(span));
                continue;
            }
            let Some((digest, input)) = keys.input(span)? else {
                self.unkeyed += 1;
                continue;
            };
            let groups = self.operations.entry((span.kind.clone(), span.name.clone())).or_default();
            let group = groups.entry(digest).or_insert_with(|| Group::of(input));
            let (cost, tokens) = declared.of(&span.attributes)?;
            let figures = (cost.known(), tokens.known());
            group.add(span.output.digest, span.error.is_some(), span.duration.unwrap_or(0), figures);
        }
        Ok(())
    }

    /// All inputs by how often they were seen.
    fn seen(&self) -> Vec<Seen> {
        let mut seen: Vec<Seen> = OFTEN
            .iter()
            .enumerate()
            .map(|(at, &least)| Seen { least, most: OFTEN.get(at + 1).map(|next| next - 1), tally: Tally::default() })
            .collect();
        for group in self.operations.values().flat_map(HashMap::values) {
            let at = OFTEN.partition_point(|&least| least <= group.spans.into());
            if let Some(seen) = at.checked_sub(1).and_then(|at| seen.get_mut(at)) {
                seen.tally.add(&group.tally());
            }
        }
        seen
    }

    fn runs(&self) -> Option<Runs> {
        if self.runs.is_empty() {
            return None;
        }
        let mut row = Row::new("task", None);
        self.runs.values().for_each(|group| row.add(group));
        Some(Runs { row, one_sided: self.one_sided })
    }
}

impl Store {
    /// Counts a task's traces.
    ///
    /// Codes: `no-task` where nothing is recorded under that name, `store-damaged`,
    /// `store-io`, `store-busy`.
    pub fn census(&self, task: &str) -> Result<Census, StoreError> {
        let _snapshot = self.snapshot()?;
        let known = self.seals()?;
        if !known.contains_key(task) {
            return Err(no_task(self, task, known.keys().map(String::as_str)));
        }
        let mut counted = Counted::default();
        let mut declared = Declarations::new(self);
        let mut keys = self.keys(task)?;
        let seal = self.recordings(task, |trace| match trace.partial {
            true => Ok(()),
            false => counted.add(trace, &mut declared, &mut keys),
        })?;
        let mut census = Census {
            task: task.to_owned(),
            traces: seal.traces,
            partial: seal.partial,
            structural: counted.structural,
            uncaptured: counted.uncaptured,
            unkeyed: counted.unkeyed,
            total: Row::default(),
            kinds: Vec::new(),
            operations: Vec::new(),
            seen: counted.seen(),
            divergent: most_divergent(&counted, &keys)?,
            runs: counted.runs(),
        };
        for ((kind, name), groups) in &counted.operations {
            if census.kinds.last().is_none_or(|row| row.kind != **kind) {
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
}

fn most_divergent(counted: &Counted, keys: &Keys<'_>) -> Result<Vec<Divergent>, StoreError> {
    let mut found: Vec<(&Operation, &Group)> = Vec::new();
    for (operation, groups) in &counted.operations {
        found.extend(groups.values().filter(|group| group.divergent()).map(|group| (operation, group)));
    }
    found.sort_by_key(|(_, group)| Reverse(group.spans));
    let least = found.get(LISTED - 1).map_or(0, |(_, group)| group.spans);
    let mut divergent = Vec::new();
    for ((kind, name), group) in found.into_iter().take_while(|(_, group)| group.spans >= least) {
        divergent.push(Divergent {
            kind: kind.to_string(),
            name: name.to_string(),
            input: keys.text(group.input)?,
            spans: group.spans.into(),
            outputs: group.outputs.len(),
            errors: group.errors.into(),
        });
    }
    // Rows have no lasting order, texts have.
    divergent.sort_by(|a, b| {
        (b.spans.cmp(&a.spans)).then_with(|| (&a.kind, &a.name, &a.input).cmp(&(&b.kind, &b.name, &b.input)))
    });
    divergent.truncate(LISTED);
    Ok(divergent)
}

/// Whether a structural span says that it is an operation without its content.
fn is_uncaptured(span: &RecordedSpan) -> bool {
    // Attributes are canonical text; the key stands in it as it is.
    span.attributes.contains("\"uncaptured\":")
}

fn no_task<'a>(store: &Store, task: &str, known: impl Iterator<Item = &'a str>) -> StoreError {
    let known: Vec<_> = known.map(|task| format!("{task:?}")).collect();
    let known =
        if known.is_empty() { "it has no traces at all".to_owned() } else { format!("it has {}", known.join(", ")) };
    let path = shown_path(store.path());
    StoreError::new("no-task", format!("{path} has no trace of a task {task:?}; {known}"))
}
