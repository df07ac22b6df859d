//! A run as it is walked: how far it is, what is known there, and which ways and rounds it
//! is in.

use std::rc::Rc;

use auto_json::{Record, Value};

use super::damaged;
use super::hole::Row;
use crate::bindings::auto::host::evidence::{Operation, Run};
use crate::bindings::auto::pass::types::{Fault, Observation};

/// The kind of what a run does last that ends without an output.
pub const END: &str = "end without an output";

/// The kind and name of an operation.
pub type Key = (String, String);

/// An operation of a run.
pub struct Done {
    /// `model_call`, `tool_call`, `branch`.
    pub kind: String,
    /// Which model, tool or decision.
    pub name: String,
    /// What it was given.
    pub input: Value,
    /// What it gave.
    pub output: Value,
    /// How it failed, if it did.
    pub error: Option<String>,
}

/// A run, as far as it has been walked.
#[derive(Clone)]
pub struct Walk {
    /// Which of the distinct inputs it has.
    pub group: usize,
    /// The answer at the end.
    pub output: Value,
    /// Which operation comes next.
    pub at: usize,
    /// What the operations gave, by the names they have for the program.
    pub known: Vec<(String, Value)>,
    input: Value,
    steps: Rc<Vec<Done>>,
    /// The ways and rounds it is in, the innermost last.
    inside: Vec<Inside>,
}

/// A way that comes together with another, or a round of a loop.
#[derive(Clone, Copy)]
struct Inside {
    /// Where it ends.
    end: usize,
    /// Its place among those that were entered together.
    order: usize,
}

impl Done {
    /// The kind and name.
    pub fn key(&self) -> Key {
        (self.kind.clone(), self.name.clone())
    }

    /// What came back of it.
    pub fn result(&self) -> Result<Value, String> {
        self.error.clone().map_or_else(|| Ok(self.output.clone()), Err)
    }

    fn is(&self, key: &Key) -> bool {
        self.kind == key.0 && self.name == key.1
    }

    /// What a request for it gives; where errors are handed on, with fields that say which.
    pub fn reply(&self, catches: bool) -> Value {
        if !catches {
            return self.output.clone();
        }
        let failed = self.error.is_some();
        let value = if failed { Value::Null } else { self.output.clone() };
        // A tool's process says the text alone, and a recorder the class of the exception too.
        let error = self.error.as_deref().map(|text| unclassed(text).map_or(text, |(_, rest)| rest).to_owned());
        Record::new().with("error", error).with("failed", failed).with("value", value).into()
    }
}

/// The class of the exception that a recorder puts before an error's text, and the text.
pub fn unclassed(text: &str) -> Option<(&str, &str)> {
    let (class, rest) = text.split_once(": ")?;
    let named = |part: &str| part.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    let is_class = class.split('.').all(named)
        && class.rsplit('.').next().is_some_and(|name| name.starts_with(|first: char| first.is_ascii_uppercase()));
    (is_class && !rest.is_empty()).then_some((class, rest))
}

impl Walk {
    /// A run from its beginning.
    pub fn new(run: &Run, known: &[Observation]) -> Result<Walk, Fault> {
        Walk::of(run, known.iter().position(|one| one.input == run.input).unwrap_or_default())
    }

    /// A run that ended without an output, and not because an operation failed: that it ends is the
    /// last that it does.
    pub fn ending(run: &Run, group: usize) -> Result<Walk, Fault> {
        let mut walk = Walk::of(run, group)?;
        let end =
            Done { kind: END.to_owned(), name: String::new(), input: Value::Null, output: Value::Null, error: None };
        let mut steps: Vec<Done> = Rc::into_inner(walk.steps).unwrap_or_default();
        steps.push(end);
        walk.steps = Rc::new(steps);
        Ok(walk)
    }

    fn of(run: &Run, group: usize) -> Result<Walk, Fault> {
        let json = |text: &str| Value::parse(text).map_err(|_| damaged("a recorded value"));
        let done = |step: &Operation| {
            Ok(Done {
                kind: step.kind.clone(),
                name: step.name.clone(),
                input: json(&step.input)?,
                output: json(&step.output)?,
                error: step.error.clone(),
            })
        };
        Ok(Walk {
            group,
            input: json(&run.input)?,
            output: json(&run.output)?,
            steps: Rc::new(run.steps.iter().map(done).collect::<Result<_, Fault>>()?),
            at: 0,
            known: Vec::new(),
            inside: Vec::new(),
        })
    }

    /// What is known: the input, or a record of it and what the operations gave.
    pub fn environment(&self) -> Value {
        if self.known.is_empty() {
            return self.input.clone();
        }
        Value::Record(self.record())
    }

    /// As [`Walk::environment`], always as a record.
    pub fn record(&self) -> Record {
        let mut record = Record::new().with("input", self.input.clone());
        for (name, value) in &self.known {
            record.set(name.as_str(), value.clone());
        }
        record
    }

    /// How many operations it has.
    pub fn count(&self) -> usize {
        self.steps.len()
    }

    /// What comes next, up to the end of the way or round it is in.
    pub fn rest(&self) -> &[Done] {
        let end = self.inside.last().map_or(self.steps.len(), |inside| inside.end);
        self.steps.get(self.at..end).unwrap_or_default()
    }

    /// The next operation; none at the end.
    pub fn next(&self) -> Option<&Done> {
        self.rest().first()
    }

    /// Its key.
    pub fn next_key(&self) -> Option<Key> {
        self.next().map(Done::key)
    }

    /// The operations from here on that are of this key.
    pub fn row_of(&self, key: &Key) -> &[Done] {
        let rest = self.rest();
        &rest[..rest.iter().take_while(|done| done.is(key)).count()]
    }

    /// How often, at the end of all, the operation of this key was done with one input.
    pub fn last_row_of(&self, key: &Key) -> usize {
        let input = self.steps.last().map(|done| &done.input);
        self.steps.iter().rev().take_while(|done| done.is(key) && Some(&done.input) == input).count()
    }

    /// How far from here the operations of this key are.
    pub fn places_of(&self, key: &Key) -> Vec<usize> {
        self.rest().iter().enumerate().filter(|(_, done)| done.is(key)).map(|(place, _)| place).collect()
    }

    /// Past `count` operations, with what they gave.
    pub fn after(&self, count: usize, gave: Option<(&str, Value)>) -> Walk {
        let mut walk = self.clone();
        walk.at += count;
        walk.known.extend(gave.map(|(name, value)| (name.to_owned(), value)));
        walk
    }

    /// In a way or round of `count` operations from here on.
    pub fn entered(&self, count: usize, order: usize) -> Walk {
        let mut walk = self.clone();
        walk.inside.push(Inside { end: walk.at + count, order });
        walk
    }

    /// Whether it is in a way or round.
    pub fn is_inside(&self) -> bool {
        !self.inside.is_empty()
    }

    /// An example of what an expression must give.
    pub fn row(&self, input: Value, output: Value) -> Row {
        Row { group: self.group, input, output }
    }

    /// A name that is not known yet: the operation's, or that and a number.
    pub fn unique(&self, name: &str) -> String {
        self.free(name, matches!(name, "input" | "item" | ""))
    }

    /// The name of a loop's item.
    pub fn item(&self) -> String {
        self.free("item", false)
    }

    fn free(&self, name: &str, reserved: bool) -> String {
        let taken = |name: &str| self.known.iter().any(|(known, _)| known == name);
        let first = (!reserved).then(|| name.to_owned());
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        first.into_iter().chain(numbered).find(|name| !taken(name)).unwrap_or_default()
    }
}

/// Walks at the end of what they entered together, outside of it again and in the order in
/// which they entered.
pub fn left(walks: impl Iterator<Item = Walk>) -> Vec<Walk> {
    let mut walks: Vec<Walk> = walks.collect();
    walks.sort_by_key(|walk| walk.inside.last().map(|inside| inside.order));
    for walk in &mut walks {
        walk.inside.pop();
    }
    walks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_before_an_error_is_told_from_the_error() {
        assert_eq!(unclassed("RuntimeError: no such id"), Some(("RuntimeError", "no such id")));
        assert_eq!(
            unclassed("requests.exceptions.HTTPError: 404: gone"),
            Some(("requests.exceptions.HTTPError", "404: gone"))
        );
        for text in ["no such id", "busy: later", "order 7: gone", "Error: ", "Not found: x", "tool-timeout: x"] {
            assert_eq!(unclassed(text), None, "{text}");
        }
    }

    fn walk(known: &[&str]) -> Walk {
        Walk {
            group: 0,
            input: Value::Null,
            output: Value::Null,
            steps: Rc::default(),
            at: 0,
            known: known.iter().map(|name| ((*name).to_owned(), Value::Null)).collect(),
            inside: Vec::new(),
        }
    }

    #[test]
    fn names_in_the_environment_are_unique() {
        assert_eq!(walk(&[]).unique("look"), "look");
        assert_eq!(walk(&["look", "look_2"]).unique("look"), "look_3");
        assert_eq!(walk(&[]).unique("input"), "input_2");
        assert_eq!(walk(&[]).unique("item"), "item_2");
        assert_eq!(walk(&[]).item(), "item");
        assert_eq!(walk(&["item"]).item(), "item_2");
    }

    #[test]
    fn walks_that_were_entered_together_are_left_in_that_order() {
        let [a, b] = [walk(&["a"]).entered(0, 0), walk(&["b"]).entered(0, 1)];
        let names: Vec<String> = left([b, a].into_iter()).iter().map(|walk| walk.known[0].0.clone()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(!left([walk(&[]).entered(0, 0)].into_iter())[0].is_inside());
    }
}
