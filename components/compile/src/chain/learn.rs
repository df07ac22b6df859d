//! From walks through runs to a plan: all runs are walked together until they part.
//!
//! What comes after a place may decide what is done there: a model call is left out only
//! where nothing after it needs it, ways come together only where what follows can be told
//! from both. So whoever decides is handed what comes after as a function ([`After`]), and
//! goes another way where that refuses.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use auto_json::Value;
use auto_schema::types::Type;

use super::hole::{Hole, Holes, Row};
use super::plan::{Action, Ask, Plan, Step};
use super::replies::Seen;
use super::values::loose;
use super::walk::{Done, END, Key, Walk};
use crate::bindings::auto::pass::types::Fault;

/// The most operations of a run.
const MOST_STEPS: usize = 64;

/// The most tries of what is given up that are steps of their own.
const MOST_TRIES: usize = 5;

/// The most ways of putting runs together that may fail before no more are tried.
const MOST_FAILED: usize = 24;

/// Why a chain does not compile: at which operation, and what was tried.
pub struct Refusal {
    pub(super) at: String,
    pub(super) why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.why)
    }
}

/// A refusal is a result of its own; a fault ends the job.
pub type Learnt<T> = Result<Result<T, Refusal>, Fault>;

/// What comes after a place, for walks that got there.
pub type After<'a> = dyn FnMut(&mut Learner<'_>, &[Walk]) -> Learnt<Plan> + 'a;

/// Returns the refusal of a [`Learnt`], as `?` does the fault.
macro_rules! learnt {
    ($result:expr) => {
        match $result? {
            Ok(learnt) => learnt,
            Err(refusal) => return Ok(Err(refusal)),
        }
    };
}
pub(super) use learnt;

pub(super) fn refusal<T>(at: &str, why: impl Into<String>) -> Learnt<T> {
    Ok(Err(Refusal { at: at.to_owned(), why: why.into() }))
}

/// Learns a plan.
pub struct Learner<'c> {
    holes: &'c mut Holes,
    /// What was done in runs that gave up.
    gave_up: &'c [Walk],
    /// Whether what no program tells may be a table of what was recorded.
    memorise: bool,
    /// The most model calls that are left out on trial: each doubles the ways to look at.
    most_trials: usize,
    /// What became of the operations so far, for a report where there is no plan.
    pub(super) done: Vec<(String, &'static str, String)>,
    /// Why what looked like a loop is none.
    pub(super) looped: Option<String>,
    trials: usize,
    failed: usize,
}

impl<'c> Learner<'c> {
    /// A learner that has seen nothing.
    pub fn new(holes: &'c mut Holes, gave_up: &'c [Walk], memorise: bool, most_trials: usize) -> Learner<'c> {
        Learner { holes, gave_up, memorise, most_trials, done: Vec::new(), looped: None, trials: 0, failed: 0 }
    }

    /// The plan of these runs, or why there is none.
    pub fn learn(&mut self, walks: &[Walk]) -> Learnt<Plan> {
        if let Some(long) = walks.iter().map(Walk::count).find(|count| *count > MOST_STEPS) {
            return refusal(
                "the run",
                format!("{long} operations; {MOST_STEPS} are looked at, choose a smaller region"),
            );
        }
        self.plan(walks, &mut |learner, walks| {
            let rows = walks.iter().map(|walk| walk.row(walk.environment(), walk.output.clone()));
            let hole = learnt!(learner.fill("the answer", rows.collect()));
            Ok(Ok(Plan::Answer(hole)))
        })
    }

    /// What walks do from where they are to the end of what they are in, and after that.
    pub(super) fn plan(&mut self, walks: &[Walk], after: &mut After<'_>) -> Learnt<Plan> {
        let mut keys: BTreeMap<Option<Key>, usize> = BTreeMap::new();
        walks.iter().for_each(|walk| *keys.entry(walk.next_key()).or_default() += 1);
        let keys: Vec<(Option<Key>, usize)> = keys.into_iter().collect();
        match &keys[..] {
            [(None, _)] => after(self, walks),
            [(Some(key), _)] => self.step(key, walks, after),
            _ => self.parted(&keys, walks, after),
        }
    }

    /// A program for every row, or a table where the contract asks for no rule.
    pub(super) fn fill(&mut self, place: &str, rows: Vec<Row>) -> Learnt<Hole> {
        let refused = match self.rule(place, rows.clone())? {
            Ok(hole) => return Ok(Ok(hole)),
            Err(refused) => refused,
        };
        let table = if self.memorise { self.holes.table(place, rows) } else { None };
        Ok(table.ok_or(refused))
    }

    /// A program for every row.
    pub(super) fn rule(&mut self, place: &str, rows: Vec<Row>) -> Learnt<Hole> {
        Ok(self.holes.fill(place, rows)?.map_err(|why| Refusal { at: place.to_owned(), why }))
    }

    /// Whether another way may be tried; what failed is counted.
    pub(super) fn may_try(&self) -> bool {
        self.failed < MOST_FAILED
    }

    /// Forgets what became of the operations since `mark`.
    pub(super) fn undo(&mut self, mark: usize) {
        self.done.truncate(mark);
        self.failed += 1;
    }

    /// All runs do the same next.
    fn step(&mut self, key: &Key, walks: &[Walk], after: &mut After<'_>) -> Learnt<Plan> {
        if key.0 == END {
            return Ok(Ok(Plan::Abstain));
        }
        let counts: BTreeSet<usize> = walks.iter().map(|walk| walk.row_of(key).len()).collect();
        let looped = match (self.rounds(key, walks, after)?, counts.last()) {
            (Ok(plan), _) => return Ok(Ok(plan)),
            (Err(looped), Some(most)) if counts.len() > 1 => return self.often(key, *most, walks, looped, after),
            (Err(looped), _) => looped,
        };
        self.looped = looped.as_ref().map(ToString::to_string).or(self.looped.take());
        let learnt = if is_act(&key.0) { self.act(key, walks, after)? } else { self.thought(key, walks, after)? };
        Ok(learnt.map_err(|mut refused| {
            if let Some(looped) = looped.filter(|_| refused.at.contains(&stage(key))) {
                refused.why = format!("{}; as a loop, {looped}", refused.why);
            }
            refused
        }))
    }

    /// A loop, or a few tries one by one, after the last of which it goes on all the same.
    fn often(
        &mut self,
        key: &Key,
        most: usize,
        walks: &[Walk],
        looped: Option<Refusal>,
        after: &mut After<'_>,
    ) -> Learnt<Plan> {
        let mark = self.done.len();
        let refused = match self.repeated(key, most, walks, looped, after)? {
            Ok(plan) => return Ok(Ok(plan)),
            Err(refused) => refused,
        };
        if most > MOST_TRIES || !walks.iter().all(|walk| tries(walk.row_of(key))) {
            return Ok(Err(refused));
        }
        self.undo(mark);
        Ok(self.act(key, walks, after)?.map_err(|_| refused))
    }

    /// What was done is done again.
    fn act(&mut self, key: &Key, walks: &[Walk], after: &mut After<'_>) -> Learnt<Plan> {
        let ask = learnt!(self.ask(key, walks));
        self.asked(key, ask, walks, after)
    }

    fn asked(&mut self, key: &Key, ask: Ask, walks: &[Walk], after: &mut After<'_>) -> Learnt<Plan> {
        let catches = ask.catches;
        self.gives(key, Action::Ask(ask), walks, |done| done.reply(catches), after)
    }

    fn computed(&mut self, key: &Key, hole: Hole, walks: &[Walk], after: &mut After<'_>) -> Learnt<Plan> {
        self.gives(key, Action::Compute(hole), walks, |done| done.output.clone(), after)
    }

    /// One operation, after which what it gave is known.
    fn gives(
        &mut self,
        key: &Key,
        action: Action,
        walks: &[Walk],
        gave: impl Fn(&Done) -> Value,
        after: &mut After<'_>,
    ) -> Learnt<Plan> {
        let name = walks.first().map(|walk| walk.unique(&key.1)).unwrap_or_default();
        let next = walks.iter().map(|walk| walk.after(1, walk.next().map(|done| (name.as_str(), gave(done)))));
        let next: Vec<Walk> = next.collect();
        self.then(stage(key), vec![name], action, &next, after)
    }

    /// A model call or a decision.
    fn thought(&mut self, key: &Key, walks: &[Walk], after: &mut After<'_>) -> Learnt<Plan> {
        let stage = stage(key);
        let place = format!("what {stage} gives");
        let done = || walks.iter().filter_map(|walk| Some((walk, walk.next()?)));
        let failed = done().any(|(_, done)| done.error.is_some());
        let rows: Vec<Row> = done().map(|(walk, done)| walk.row(walk.environment(), done.output.clone())).collect();
        let why = if failed {
            "some of its recordings have errors".to_owned()
        } else {
            if let Some((given, test)) = self.decision(key, walks)? {
                let gave = |done: &Done| done.output.clone();
                return self.gives(key, Action::Decide { given, test }, walks, gave, after);
            }
            match self.rule(&place, rows.clone())? {
                Ok(hole) => return self.computed(key, hole, walks, after),
                Err(refusal) => refusal.why,
            }
        };
        let mark = self.done.len();
        let mut without = None;
        // With tables, nothing is needed; and what a model is to be asked for, because no program is
        // believed, is not to be guessed by what follows.
        if self.trials < self.most_trials && !self.memorise && !self.holes.is_doubted(&place, &rows) {
            self.trials += 1;
            let next: Vec<Walk> = walks.iter().map(|walk| walk.after(1, None)).collect();
            match self.then(stage.clone(), Vec::new(), Action::Skip, &next, after)? {
                Ok(plan) => return Ok(Ok(plan)),
                Err(refusal) => without = Some(refusal),
            }
        }
        let needed = without.map(|refusal| format!(", and it is needed ({refusal})")).unwrap_or_default();
        let kept = self.done.split_off(mark);
        let asked = if key.0 == "model_call" {
            match self.ask(key, walks)? {
                Ok(ask) => return self.asked(key, ask, walks, after),
                Err(refused) => Some(refused.why),
            }
        } else {
            None
        };
        if let Some(table) = self.holes.table(&place, rows).filter(|_| self.memorise && !failed) {
            return self.computed(key, table, walks, after);
        }
        self.done.extend(kept);
        let why = match asked {
            None => format!("what it gives cannot be told: {why}{needed}"),
            Some(asked) => format!("what it gives cannot be told ({why}), nor what it is given ({asked}){needed}"),
        };
        refusal(&stage, why)
    }

    /// How a decision is made that was recorded with what it is decided by: from less than all
    /// that is known, so that fewer runs tell.
    fn decision(&mut self, key: &Key, walks: &[Walk]) -> Result<Option<(Hole, Hole)>, Fault> {
        let done = || walks.iter().filter_map(|walk| Some((walk, walk.next()?)));
        let inputs: BTreeSet<String> = done().map(|(_, done)| done.input.to_string()).collect();
        if key.0 != "branch" || inputs.len() < 2 {
            return Ok(None);
        }
        let stage = stage(key);
        let rows = done().map(|(walk, done)| walk.row(done.input.clone(), done.output.clone())).collect();
        let Ok(test) = self.rule(&format!("what {stage} decides"), rows)? else { return Ok(None) };
        let rows = done().map(|(walk, done)| walk.row(walk.environment(), done.input.clone())).collect();
        let given = self.rule(&format!("what {stage} is given"), rows)?;
        Ok(given.ok().map(|given| (given, test)))
    }

    /// How often the same was tried in vain at the end of a run that gave up.
    pub(super) fn tried(&self, key: &Key) -> usize {
        self.gave_up.iter().map(|walk| walk.last_row_of(key)).max().unwrap_or(0)
    }

    /// What the next operation of every walk is asked with.
    pub(super) fn ask(&mut self, key: &Key, walks: &[Walk]) -> Learnt<Ask> {
        let done = || walks.iter().filter_map(|walk| Some((walk, walk.next()?)));
        let rows = done().map(|(walk, done)| walk.row(walk.environment(), done.input.clone())).collect();
        let place = format!("what {} is given", stage(key));
        // A model is asked rather than its answers remembered.
        let input = learnt!(if is_act(&key.0) { self.fill(&place, rows) } else { self.rule(&place, rows) });
        Ok(Ok(asks(key, input, done())))
    }

    /// A step, and what comes after it.
    pub(super) fn then(
        &mut self,
        stage: String,
        gives: Vec<String>,
        action: Action,
        next: &[Walk],
        after: &mut After<'_>,
    ) -> Learnt<Plan> {
        let (status, what) = action.words();
        self.done.push((stage.clone(), status, what));
        let then = learnt!(self.plan(next, after));
        Ok(Ok(Plan::Step(Box::new(Step { stage, gives, action, then }))))
    }
}

/// Whether the same was tried until it succeeded, or to the end in vain.
fn tries(row: &[Done]) -> bool {
    let same = row.windows(2).all(|pair| pair[0].input == pair[1].input);
    same && row.iter().rev().skip(1).all(|done| done.error.is_some())
}

/// Whether an operation of this kind does something, so that it is done again whatever it
/// gives.
pub(super) fn is_act(kind: &str) -> bool {
    matches!(kind, "tool_call" | "memory_op")
}

/// The request for some recorded operations.
pub(super) fn asks<'d>(key: &Key, input: Hole, done: impl Iterator<Item = (&'d Walk, &'d Done)> + Clone) -> Ask {
    let kind = match key.0.as_str() {
        "tool_call" => "tool",
        "memory_op" => "memory",
        _ => "model",
    };
    Ask {
        capability: format!("{kind}:{}", key.1),
        input,
        catches: done.clone().any(|(_, done)| done.error.is_some()),
        reply: loose(Type::infer(done.clone().filter(|(_, done)| done.error.is_none()).map(|(_, done)| &done.output))),
        seen: done.map(|(walk, done)| Seen { group: walk.group, reply: done.result() }).collect(),
        guards: Vec::new(),
        always: None,
    }
}

pub(super) fn stage(key: &Key) -> String {
    format!("{} {}", key.0, key.1).trim_end().to_owned()
}

/// As often as was seen: what follows was learnt from no more.
pub(super) fn bound(most: usize) -> u32 {
    u32::try_from(most).unwrap_or(u32::MAX).clamp(1, auto_schema::ir::MAX_ROUNDS)
}
