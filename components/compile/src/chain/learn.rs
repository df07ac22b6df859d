//! From walks through runs to a plan: all runs are walked together until they part.

use std::collections::BTreeMap;
use std::fmt;

use auto_json::{Record, Value};
use auto_schema::types::{Field, Type};

use super::damaged;
use super::hole::{self, Hole, Row};
use super::plan::{Action, Ask, Body, Plan, Step, Until};
use crate::bindings::auto::host::evidence::Run;
use crate::bindings::auto::pass::types::{Fault, Observation};
use crate::config::Config;
use crate::report::Report;

/// The most operations of a run.
const MOST_STEPS: usize = 64;

/// The most model calls that are left out on trial: each doubles the ways to look at.
const MOST_TRIALS: usize = 3;

/// How deep lists are looked for in what is known.
const MOST_DEPTH: usize = 4;

/// A run, as far as it has been walked.
#[derive(Clone)]
pub struct Walk {
    /// Which of the distinct inputs it has.
    group: usize,
    input: Value,
    output: Value,
    steps: Vec<Done>,
    at: usize,
    /// What the operations gave, by the names they have for the program.
    known: Vec<(String, Value)>,
}

/// An operation of a run.
#[derive(Clone)]
struct Done {
    kind: String,
    name: String,
    input: Value,
    output: Value,
    error: Option<String>,
}

/// The kind and name of an operation; none at the end of a run.
type Key = Option<(String, String)>;

/// Why a chain does not compile: at which operation, and what was tried.
pub struct Refusal {
    at: String,
    why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.why)
    }
}

/// A refusal is a result of its own; a fault ends the job.
type Learnt<T> = Result<Result<T, Refusal>, Fault>;

/// Returns the refusal of a [`Learnt`], as `?` does the fault.
macro_rules! learnt {
    ($result:expr) => {
        match $result? {
            Ok(learnt) => learnt,
            Err(refusal) => return Ok(Err(refusal)),
        }
    };
}

fn refusal<T>(at: &str, why: impl Into<String>) -> Learnt<T> {
    Ok(Err(Refusal { at: at.to_owned(), why: why.into() }))
}

/// Learns a plan.
pub struct Learner<'c> {
    config: &'c Config,
    /// What became of the operations so far, for a report where there is no plan.
    done: Vec<(String, &'static str, String)>,
    trials: usize,
}

impl Walk {
    /// A run from its beginning.
    pub fn new(run: &Run, known: &[Observation]) -> Result<Walk, Fault> {
        let json = |text: &str| Value::parse(text).map_err(|_| damaged("a recorded value"));
        let done = |step: &crate::bindings::auto::host::evidence::Operation| {
            Ok(Done {
                kind: step.kind.clone(),
                name: step.name.clone(),
                input: json(&step.input)?,
                output: json(&step.output)?,
                error: step.error.clone(),
            })
        };
        Ok(Walk {
            group: known.iter().position(|one| one.input == run.input).unwrap_or_default(),
            input: json(&run.input)?,
            output: json(&run.output)?,
            steps: run.steps.iter().map(done).collect::<Result<_, Fault>>()?,
            at: 0,
            known: Vec::new(),
        })
    }

    /// What is known: the input, or a record of it and what the operations gave.
    fn environment(&self) -> Value {
        if self.known.is_empty() {
            return self.input.clone();
        }
        Value::Record(self.record())
    }

    fn record(&self) -> Record {
        let mut record = Record::new().with("input", self.input.clone());
        for (name, value) in &self.known {
            record.set(name.as_str(), value.clone());
        }
        record
    }

    fn next(&self) -> Key {
        self.steps.get(self.at).map(|done| (done.kind.clone(), done.name.clone()))
    }

    /// The operations from here on that are of this key.
    fn row_of(&self, key: &Key) -> &[Done] {
        let rest = self.steps.get(self.at..).unwrap_or_default();
        let Some((kind, name)) = key else { return &[] };
        let count = rest.iter().take_while(|done| done.kind == *kind && done.name == *name).count();
        &rest[..count]
    }

    /// Past `count` operations, with what they gave.
    fn after(&self, count: usize, gave: Option<(&str, Value)>) -> Walk {
        let mut walk = self.clone();
        walk.at += count;
        walk.known.extend(gave.map(|(name, value)| (name.to_owned(), value)));
        walk
    }

    fn row(&self, input: Value, output: Value) -> Row {
        Row { group: self.group, input, output }
    }
}

impl Done {
    /// What a request for it gives; where errors are handed on, with fields that say which.
    fn reply(&self, catches: bool) -> Value {
        if !catches {
            return self.output.clone();
        }
        let failed = self.error.is_some();
        let value = if failed { Value::Null } else { self.output.clone() };
        Record::new().with("error", self.error.clone()).with("failed", failed).with("value", value).into()
    }
}

impl<'c> Learner<'c> {
    /// A learner that has seen nothing.
    pub fn new(config: &'c Config) -> Learner<'c> {
        Learner { config, done: Vec::new(), trials: 0 }
    }

    /// The plan of these runs, or why there is none.
    pub fn learn(&mut self, walks: Vec<Walk>) -> Learnt<Plan> {
        if let Some(long) = walks.iter().map(|walk| walk.steps.len()).find(|count| *count > MOST_STEPS) {
            return refusal(
                "the run",
                format!("{long} operations; {MOST_STEPS} are looked at, choose a smaller region"),
            );
        }
        self.plan(&walks)
    }

    /// Says what became of the operations before the one that refused.
    pub fn stages(&self, report: &mut Report) {
        self.done.iter().for_each(|(stage, status, what)| report.stage(stage, status, what));
    }

    fn plan(&mut self, walks: &[Walk]) -> Learnt<Plan> {
        let keys: BTreeMap<Key, usize> = walks.iter().fold(BTreeMap::new(), |mut keys, walk| {
            *keys.entry(walk.next()).or_default() += 1;
            keys
        });
        let keys: Vec<(Key, usize)> = keys.into_iter().collect();
        match &keys[..] {
            [(None, _)] => {
                let rows = walks.iter().map(|walk| walk.row(walk.environment(), walk.output.clone()));
                let hole = learnt!(self.fill("the answer", rows.collect()));
                Ok(Ok(Plan::Answer(hole)))
            }
            [(Some(key), _)] => self.step(key, walks),
            _ => self.parted(&keys, walks),
        }
    }

    fn fill(&mut self, place: &str, rows: Vec<Row>) -> Learnt<Hole> {
        Ok(hole::fill(self.config, place, rows)?.map_err(|why| Refusal { at: place.to_owned(), why }))
    }

    /// All runs do the same next.
    fn step(&mut self, key: &(String, String), walks: &[Walk]) -> Learnt<Plan> {
        let wanted = Some(key.clone());
        let counts: Vec<usize> = walks.iter().map(|walk| walk.row_of(&wanted).len()).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        if counts.iter().any(|count| *count != most) {
            return self.repeated(key, most, walks);
        }
        match key.0.as_str() {
            "tool_call" => self.tool(key, walks),
            _ => self.thought(key, walks),
        }
    }

    fn tool(&mut self, key: &(String, String), walks: &[Walk]) -> Learnt<Plan> {
        let ask = learnt!(self.ask(key, walks));
        let name = unique(&key.1, &walks[0]);
        let gave = |walk: &Walk| walk.steps[walk.at].reply(ask.catches);
        let next: Vec<Walk> = walks.iter().map(|walk| walk.after(1, Some((&name, gave(walk))))).collect();
        self.then(key, name, Action::Ask(ask), &next)
    }

    /// A model call or a decision.
    fn thought(&mut self, key: &(String, String), walks: &[Walk]) -> Learnt<Plan> {
        let stage = stage(key);
        let failed = walks.iter().any(|walk| walk.steps[walk.at].error.is_some());
        let computed = if failed {
            Err(Refusal { at: stage.clone(), why: "some of its recordings have errors".to_owned() })
        } else {
            let rows = walks.iter().map(|walk| walk.row(walk.environment(), walk.steps[walk.at].output.clone()));
            self.fill(&format!("what {stage} gives"), rows.collect())?
        };
        let name = unique(&key.1, &walks[0]);
        let why = match computed {
            Ok(hole) => {
                let gave = |walk: &Walk| walk.steps[walk.at].output.clone();
                let next: Vec<Walk> = walks.iter().map(|walk| walk.after(1, Some((&name, gave(walk))))).collect();
                return self.then(key, name, Action::Compute(hole), &next);
            }
            Err(refusal) => refusal.why,
        };
        let mark = self.done.len();
        let mut without = None;
        if self.trials < MOST_TRIALS {
            self.trials += 1;
            let next: Vec<Walk> = walks.iter().map(|walk| walk.after(1, None)).collect();
            match self.then(key, name.clone(), Action::Skip, &next)? {
                Ok(plan) => return Ok(Ok(plan)),
                Err(refusal) => without = Some(refusal),
            }
        }
        let needed = without.map(|refusal| format!(", and it is needed ({refusal})")).unwrap_or_default();
        let kept = self.done.split_off(mark);
        if key.0 != "model_call" {
            self.done.extend(kept);
            return refusal(&stage, format!("what it gives cannot be told: {why}{needed}"));
        }
        let ask = match self.ask(key, walks)? {
            Ok(ask) => ask,
            Err(refused) => {
                self.done.extend(kept);
                let why =
                    format!("what it gives cannot be told ({why}), nor what it is given ({}){needed}", refused.why);
                return refusal(&stage, why);
            }
        };
        let gave = |walk: &Walk| walk.steps[walk.at].reply(ask.catches);
        let next: Vec<Walk> = walks.iter().map(|walk| walk.after(1, Some((&name, gave(walk))))).collect();
        self.then(key, name, Action::Ask(ask), &next)
    }

    /// What the next operation of every walk is asked with.
    fn ask(&mut self, key: &(String, String), walks: &[Walk]) -> Learnt<Ask> {
        let rows = walks.iter().map(|walk| walk.row(walk.environment(), walk.steps[walk.at].input.clone()));
        let input = learnt!(self.fill(&format!("what {} is given", stage(key)), rows.collect()));
        Ok(Ok(asked(key, input, walks.iter().map(|walk| &walk.steps[walk.at]))))
    }

    fn then(&mut self, key: &(String, String), name: String, action: Action, next: &[Walk]) -> Learnt<Plan> {
        let (status, what) = action.words();
        self.done.push((stage(key), status, what));
        let then = learnt!(self.plan(next));
        Ok(Ok(Plan::Step(Box::new(Step { stage: stage(key), name, action, then }))))
    }

    /// Runs part: some do this next, others that, others are done.
    fn parted(&mut self, keys: &[(Key, usize)], walks: &[Walk]) -> Learnt<Plan> {
        // What some do several times and others not at all may be a loop over a list.
        let mut looped = String::new();
        for (key, _) in keys {
            let most = walks.iter().map(|walk| walk.row_of(key).len()).max().unwrap_or(0);
            let Some(key) = key.as_ref().filter(|_| most > 1) else { continue };
            let mark = self.done.len();
            match self.each(key, most, walks)? {
                Ok(plan) => return Ok(Ok(plan)),
                Err(refused) => {
                    self.done.truncate(mark);
                    looped = format!("; as a loop, {refused}");
                }
            }
        }
        let Some((most, _)) = keys.iter().max_by_key(|(key, count)| (*count, std::cmp::Reverse(key))) else {
            return refusal("the run", "there are no runs");
        };
        let ways: Vec<String> = keys
            .iter()
            .map(|(key, count)| format!("{} ({count})", key.as_ref().map_or("the end".into(), stage)))
            .collect();
        let place = format!("whether {} comes next", most.as_ref().map_or("the end".into(), stage));
        let rows = walks.iter().map(|walk| walk.row(walk.environment(), Value::Bool(walk.next() == *most)));
        let test = match self.fill(&place, rows.collect())? {
            Ok(test) => test,
            Err(refused) => {
                let why = format!(
                    "the runs part between {}, and nothing that is known tells which way: {}; \
                     record the decision as a branch, or choose a smaller region{looped}",
                    ways.join(", "),
                    refused.why
                );
                return refusal(&place, why);
            }
        };
        self.done.push((place, "branch", test.program.clone()));
        let (yes, no): (Vec<Walk>, Vec<Walk>) = walks.iter().cloned().partition(|walk| walk.next() == *most);
        let yes = learnt!(self.plan(&yes));
        let no = learnt!(self.plan(&no));
        Ok(Ok(Plan::Choice { test, yes: Box::new(yes), no: Box::new(no) }))
    }

    /// All runs do this next, not all as often.
    fn repeated(&mut self, key: &(String, String), most: usize, walks: &[Walk]) -> Learnt<Plan> {
        let wanted = Some(key.clone());
        let same = |walk: &Walk| {
            let row = walk.row_of(&wanted);
            row.iter().all(|done| done.input == row[0].input)
        };
        let again = key.0 == "tool_call" && walks.iter().all(same);
        let tried = if again { self.retry(key, most, walks)? } else { self.each(key, most, walks)? };
        match tried {
            Ok(plan) => Ok(Ok(plan)),
            Err(refused) => {
                let least = walks.iter().map(|walk| walk.row_of(&wanted).len()).min().unwrap_or(0);
                let why = format!("it is done {least} to {most} times and nothing bounds that: {}", refused.why);
                refusal(&stage(key), why)
            }
        }
    }

    /// The same request again until its reply will do.
    fn retry(&mut self, key: &(String, String), most: usize, walks: &[Walk]) -> Learnt<Plan> {
        let wanted = Some(key.clone());
        let ask = learnt!(self.ask(key, walks));
        let rows = || walks.iter().map(|walk| (walk, walk.row_of(&wanted)));
        let last_alone = |row: &[Done]| row.iter().rev().skip(1).all(|done| done.error.is_some());
        let until = if rows().all(|(_, row)| last_alone(row) && row.last().is_some_and(|last| last.error.is_none())) {
            Until::Succeeds
        } else if rows().all(|(_, row)| row.iter().all(|done| done.error.is_none())) {
            let replies = rows().flat_map(|(_, row)| {
                let last = row.len() - 1;
                row.iter().enumerate().map(move |(at, done)| (&done.output, at == last))
            });
            match telling(&replies.collect::<Vec<_>>()) {
                Some(test) => Until::Says(test),
                None => {
                    let judged = rows().flat_map(|(walk, row)| {
                        let last = row.len() - 1;
                        let judge =
                            move |(at, done): (usize, &Done)| walk.row(done.output.clone(), Value::Bool(at == last));
                        row.iter().enumerate().map(judge)
                    });
                    let place = format!("whether the reply of {} will do", stage(key));
                    Until::Holds(learnt!(self.fill(&place, judged.collect())))
                }
            }
        } else {
            return refusal(&stage(key), "the same request is made again, and not until it succeeds");
        };
        let name = unique(&key.1, &walks[0]);
        let next: Vec<Walk> = rows()
            .map(|(walk, row)| {
                let gave = row.last().map(|last| (name.as_str(), last.output.clone()));
                walk.after(row.len(), gave)
            })
            .collect();
        let ask = Ask { catches: matches!(until, Until::Succeeds), ..ask };
        self.then(key, name, Action::Retry { ask, until, most: bound(most) }, &next)
    }

    /// The same operation for each item of a list that is known.
    fn each(&mut self, key: &(String, String), most: usize, walks: &[Walk]) -> Learnt<Plan> {
        let wanted = Some(key.clone());
        let counts: Vec<usize> = walks.iter().map(|walk| walk.row_of(&wanted).len()).collect();
        let environments: Vec<Value> = walks.iter().map(Walk::environment).collect();
        let lists: Vec<Vec<String>> = lists(&environments[0], MOST_DEPTH)
            .into_iter()
            .filter(|path| {
                let mut known = environments.iter().zip(&counts);
                known.all(|(known, count)| {
                    at(known, path).and_then(Value::as_list).is_some_and(|list| list.len() == *count)
                })
            })
            .collect();
        if lists.is_empty() {
            return refusal(&stage(key), "no list that is known has as many items");
        }
        let mut why = String::new();
        for path in &lists {
            for context in [false, true] {
                match self.body(key, path, context, walks)? {
                    Ok(body) => {
                        let name = unique(&key.1, &walks[0]);
                        let gives = |done: &Done| match &body {
                            Body::Compute(_) => done.output.clone(),
                            Body::Ask(ask) => done.reply(ask.catches),
                        };
                        let next: Vec<Walk> = walks
                            .iter()
                            .map(|walk| {
                                let row = walk.row_of(&wanted);
                                let gave = Value::List(row.iter().map(gives).collect());
                                walk.after(row.len(), Some((&name, gave)))
                            })
                            .collect();
                        let list = path.iter().fold("$".to_owned(), |text, field| format!("{text}{}", member(field)));
                        let action = Action::Each { list, context, body, most: bound(most) };
                        return self.then(key, name, action, &next);
                    }
                    Err(refused) => why = refused.why,
                }
            }
        }
        refusal(&stage(key), format!("what is done with each item of a list cannot be told: {why}"))
    }

    /// What is done with each item.
    fn body(&mut self, key: &(String, String), path: &[String], context: bool, walks: &[Walk]) -> Learnt<Body> {
        let wanted = Some(key.clone());
        let mut items: Vec<(&Walk, Value, &Done)> = Vec::new();
        for walk in walks {
            let known = walk.environment();
            let list = at(&known, path).and_then(Value::as_list).unwrap_or_default();
            for (item, done) in list.iter().zip(walk.row_of(&wanted)) {
                let item = if context { Value::Record(walk.record().with("item", item.clone())) } else { item.clone() };
                items.push((walk, item, done));
            }
        }
        let failed = items.iter().any(|(_, _, done)| done.error.is_some());
        if key.0 != "tool_call" && !failed {
            let rows = items.iter().map(|(walk, item, done)| walk.row(item.clone(), done.output.clone()));
            if let Ok(hole) = self.fill(&format!("what {} gives for an item", stage(key)), rows.collect())? {
                return Ok(Ok(Body::Compute(hole)));
            }
        }
        if key.0 == "branch" {
            return refusal(&stage(key), "a decision cannot be asked for");
        }
        let rows = items.iter().map(|(walk, item, done)| walk.row(item.clone(), done.input.clone()));
        let input = learnt!(self.fill(&format!("what {} is given for an item", stage(key)), rows.collect()));
        Ok(Ok(Body::Ask(asked(key, input, items.iter().map(|(_, _, done)| *done)))))
    }
}

/// The request for some recorded operations.
fn asked<'d>(key: &(String, String), input: Hole, done: impl Iterator<Item = &'d Done> + Clone) -> Ask {
    let kind = if key.0 == "tool_call" { "tool" } else { "model" };
    Ask {
        capability: format!("{kind}:{}", key.1),
        input,
        catches: done.clone().any(|done| done.error.is_some()),
        reply: loose(Type::infer(done.filter(|done| done.error.is_none()).map(|done| &done.output))),
    }
}

/// The type without records that differed: what other keys there are, nobody knows.
fn loose(ty: Type) -> Type {
    match ty {
        Type::Record(fields) if fields.iter().any(|field| field.optional) => Type::Json,
        Type::Record(fields) => {
            Type::Record(fields.into_iter().map(|field| Field { ty: loose(field.ty), ..field }).collect())
        }
        Type::List(item) => Type::list(loose(*item)),
        Type::Optional(inner) => match loose(*inner) {
            Type::Json => Type::Json,
            inner => Type::optional(inner),
        },
        Type::Unit => Type::Json,
        other => other,
    }
}

/// A test for one value in a reply: it is in all that will do and in no other, or the other
/// way round.
fn telling(replies: &[(&Value, bool)]) -> Option<String> {
    let (first, _) = replies.first()?;
    for path in scalars(first, MOST_DEPTH) {
        let values: Option<Vec<(&Value, bool)>> =
            replies.iter().map(|(reply, does)| Some((at(reply, &path)?, *does))).collect();
        let Some(values) = values else { continue };
        for wanted in [true, false] {
            let Some((one, _)) = values.iter().find(|(_, does)| *does == wanted) else { continue };
            if !matches!(one, Value::List(_) | Value::Record(_))
                && values.iter().all(|(value, does)| (value == one) == (*does == wanted))
            {
                let place = path.iter().fold("$".to_owned(), |text, field| format!("{text}{}", member(field)));
                let test = format!("eq({place}, {one})");
                return Some(if wanted { test } else { format!("not({test})") });
            }
        }
    }
    None
}

/// The paths to all scalars in a value that are not in lists.
fn scalars(value: &Value, depth: usize) -> Vec<Vec<String>> {
    match value {
        Value::Record(record) if depth > 0 => {
            let inside = record.iter().flat_map(|(key, value)| {
                scalars(value, depth - 1).into_iter().map(move |path| [vec![key.to_owned()], path].concat())
            });
            inside.collect()
        }
        Value::Record(_) | Value::List(_) => Vec::new(),
        _ => vec![Vec::new()],
    }
}

fn stage(key: &(String, String)) -> String {
    format!("{} {}", key.0, key.1)
}

/// Twice the most seen.
fn bound(most: usize) -> u32 {
    u32::try_from(most.saturating_mul(2)).unwrap_or(u32::MAX).min(auto_schema::ir::MAX_ROUNDS)
}

/// A name that the environment has not: the operation's, or that and a number.
fn unique(name: &str, walk: &Walk) -> String {
    let taken = |name: &str| matches!(name, "input" | "item" | "") || walk.known.iter().any(|(known, _)| known == name);
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken(name)).unwrap_or_default()
}

/// The paths to all lists in a value, outer ones first.
fn lists(value: &Value, depth: usize) -> Vec<Vec<String>> {
    match value {
        Value::List(_) => vec![Vec::new()],
        Value::Record(record) if depth > 0 => {
            let inside = record.iter().flat_map(|(key, value)| {
                lists(value, depth - 1).into_iter().map(move |path| [vec![key.to_owned()], path].concat())
            });
            inside.collect()
        }
        _ => Vec::new(),
    }
}

fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, field| value.get(field))
}

/// A member, as the language writes it.
fn member(field: &str) -> String {
    let plain = field.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && field.chars().all(|other| other.is_ascii_alphanumeric() || other == '_');
    if plain { format!(".{field}") } else { format!(".{}", Value::from(field)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(known: &[&str]) -> Walk {
        Walk {
            group: 0,
            input: Value::Null,
            output: Value::Null,
            steps: Vec::new(),
            at: 0,
            known: known.iter().map(|name| ((*name).to_owned(), Value::Null)).collect(),
        }
    }

    #[test]
    fn names_in_the_environment_are_unique() {
        assert_eq!(unique("look", &walk(&[])), "look");
        assert_eq!(unique("look", &walk(&["look", "look_2"])), "look_3");
        assert_eq!(unique("input", &walk(&[])), "input_2");
    }

    #[test]
    fn lists_are_found_where_they_are_and_written_as_the_language_does() {
        let known = Value::parse(r#"{"a":{"b c":[1,2]},"d":[[3]],"e":"f"}"#).unwrap();
        let paths = lists(&known, MOST_DEPTH);
        let written: Vec<String> =
            paths.iter().map(|path| path.iter().map(|field| member(field)).collect::<String>()).collect();
        assert_eq!(written, [r#".a."b c""#, ".d"]);
        assert_eq!(at(&known, &paths[0]).map(ToString::to_string).as_deref(), Some("[1,2]"));
        assert!(lists(&known, 0).is_empty());
    }

    #[test]
    fn one_value_tells_whether_a_reply_will_do() {
        let test = |replies: &[(&str, bool)]| {
            let replies: Vec<(Value, bool)> =
                replies.iter().map(|(text, does)| (Value::parse(text).unwrap(), *does)).collect();
            telling(&replies.iter().map(|(value, does)| (value, *does)).collect::<Vec<_>>())
        };
        let pending = r#"{"n":1,"state":"pending"}"#;
        let done = test(&[(pending, false), (r#"{"n":1,"state":"done"}"#, true), (r#"{"n":2,"state":"done"}"#, true)]);
        assert_eq!(done.as_deref(), Some(r#"eq($.state, "done")"#));
        let ended = test(&[(pending, false), (r#"{"n":1,"state":"a"}"#, true), (r#"{"n":1,"state":"b"}"#, true)]);
        assert_eq!(ended.as_deref(), Some(r#"not(eq($.state, "pending"))"#));
        assert_eq!(test(&[("true", true), ("false", false)]).as_deref(), Some("eq($, true)"));
        assert_eq!(test(&[(pending, false), (pending, true)]), None);
        assert_eq!(test(&[(pending, false), (r#"{"n":1}"#, true)]), None);
    }

    #[test]
    fn what_differed_between_replies_is_of_no_type() {
        let of = |texts: &[&str]| {
            let values: Vec<Value> = texts.iter().map(|text| Value::parse(text).unwrap()).collect();
            loose(Type::infer(values.iter())).to_string()
        };
        assert_eq!(of(&[r#"{"a":"x"}"#, r#"{"a":"y"}"#]), "record{a: text}");
        assert_eq!(of(&[r#"{"a":"x"}"#, r#"{"b":"y"}"#]), "json");
        assert_eq!(of(&[r#"[{"a":1}]"#, r#"[{"a":1,"b":2}]"#]), "list<json>");
        assert_eq!(of(&["null"]), "json");
    }
}
