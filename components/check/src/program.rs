//! A graph as something to run: sources parsed, nodes in order. Evaluates in memory, by
//! the meaning that `emit` compiles.

use std::collections::BTreeMap;

use auto_json::{Number, Record, Value};
use auto_lang::{Expr, eval, parse};
use auto_rt::kernels::novelty::{MOST, character_classes, sketch_score};
use auto_schema::ir::{Body, Check, Graph, Guard, Node, parse_path, visit};

use crate::locate;

/// A graph that can be run.
pub struct Program {
    /// As it was given.
    pub graph: Graph,
    /// Ids of the nodes, each after those it takes from.
    order: Vec<u32>,
    /// What the expression and branch nodes say.
    expressions: BTreeMap<u32, Expr>,
}

/// Why a graph cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramError {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// What, and why.
    pub message: String,
    /// The node.
    pub at: String,
}

/// How a run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With an answer.
    Answer(Value),
    /// A guard did not let the input through.
    Abstain(Measure),
    /// A node has no value.
    Undefined {
        /// Its name.
        node: String,
        /// The expression that is undefined, in text form.
        at: Option<String>,
    },
}

/// What a check of a guard measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The kind of check.
    pub reason: &'static str,
    /// Where in the input.
    pub path: String,
    /// What was found and what is allowed, in words.
    pub detail: String,
    /// Parts per million.
    pub score: u32,
    /// The most it may be.
    pub limit: u32,
}

/// What happens in a run, for who is watching.
pub enum Event<'a> {
    /// A guard measured; `passed` whether it let the input through.
    Guard {
        /// The node.
        node: &'a Node,
        /// Every check, in order.
        measures: Vec<Measure>,
        /// Whether the highest is within the limit.
        passed: bool,
    },
    /// An expression is about to be evaluated.
    Expression {
        /// The node.
        node: &'a Node,
        /// What it says.
        expression: &'a Expr,
        /// What `$` is.
        input: &'a Value,
    },
    /// A branch was taken.
    Branch {
        /// The node.
        node: &'a Node,
        /// What it asks.
        predicate: &'a Expr,
        /// The answer.
        taken: bool,
    },
}

impl Program {
    /// Reads the sources. Errors: `unsupported-node`, `bad-expression`, `bad-graph`.
    pub fn new(graph: Graph) -> Result<Program, ProgramError> {
        let mut expressions = BTreeMap::new();
        for node in &graph.nodes {
            let at = format!("node {} ({})", node.id, node.name);
            match &node.body {
                Body::Expression { source } | Body::Branch { predicate: source } => {
                    let expression = parse(source).map_err(|error| {
                        let message = format!("`{source}`: {error}");
                        ProgramError { code: "bad-expression", message, at }
                    })?;
                    expressions.insert(node.id, expression);
                }
                Body::Input | Body::Output | Body::Guard(_) => {}
                other => {
                    let message = format!("a node of kind {} cannot be evaluated in memory yet", other.kind());
                    return Err(ProgramError { code: "unsupported-node", message, at });
                }
            }
        }
        let order = order(&graph);
        Ok(Program { graph, order, expressions })
    }

    /// What an expression or branch node says.
    pub fn expression(&self, node: u32) -> Option<&Expr> {
        self.expressions.get(&node)
    }

    /// The nodes, each after those it takes from.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.order.iter().filter_map(|&id| self.graph.node(id))
    }

    /// The expression that makes the answer, where it sees nothing but the call's input.
    pub fn last(&self) -> Option<&Expr> {
        let output = self.graph.output()?;
        let mut at = self.source(output.id, 0)?;
        let expression = self.expressions.get(&at)?;
        // Guards hand on what they are given.
        loop {
            at = self.source(at, 0)?;
            match self.graph.node(at)?.body {
                Body::Input => return Some(expression),
                Body::Guard(_) => {}
                _ => return None,
            }
        }
    }

    /// The node that drives an input port.
    fn source(&self, node: u32, port: u32) -> Option<u32> {
        let edge = self.graph.edges.iter().find(|edge| edge.to.node == node && edge.to.port == port);
        edge.map(|edge| edge.from.node)
    }

    /// Runs the program. What a node that is not needed comes to does not matter.
    pub fn run(&self, input: &Value, watch: &mut dyn FnMut(Event)) -> Outcome {
        let mut values: BTreeMap<u32, Result<Value, Outcome>> = BTreeMap::new();
        for node in self.nodes() {
            let value = self.step(node, input, &values, watch);
            if node.body == Body::Output {
                return value.map_or_else(|outcome| outcome, Outcome::Answer);
            }
            values.insert(node.id, value);
        }
        Outcome::Undefined { node: "output".to_owned(), at: None }
    }

    fn step(
        &self,
        node: &Node,
        input: &Value,
        values: &BTreeMap<u32, Result<Value, Outcome>>,
        watch: &mut dyn FnMut(Event),
    ) -> Result<Value, Outcome> {
        let undefined = |at: Option<String>| Outcome::Undefined { node: node.name.clone(), at };
        let taken = |port: u32| -> Result<&Value, Outcome> {
            let value = self.source(node.id, port).and_then(|id| values.get(&id));
            value.ok_or_else(|| undefined(None))?.as_ref().map_err(Outcome::clone)
        };
        match &node.body {
            Body::Input => Ok(input.clone()),
            Body::Output => taken(0).cloned(),
            Body::Guard(guard) => {
                let value = taken(0)?;
                let measures: Vec<Measure> = guard.checks.iter().map(|check| measure(check, guard, value)).collect();
                // The first of the highest speaks.
                let highest = measures.iter().rev().max_by_key(|measure| measure.score).cloned();
                let passed = highest.as_ref().is_none_or(|measure| measure.score <= measure.limit);
                watch(Event::Guard { node, measures, passed });
                match highest {
                    Some(measure) if !passed => Err(Outcome::Abstain(measure)),
                    _ => Ok(value.clone()),
                }
            }
            Body::Branch { .. } => {
                let predicate = self.expressions.get(&node.id).ok_or_else(|| undefined(None))?;
                let tested = taken(0)?;
                let truth = eval(predicate, tested).and_then(|value| value.as_bool());
                let truth = truth.ok_or_else(|| undefined(locate::undefined(predicate, tested)))?;
                watch(Event::Branch { node, predicate, taken: truth });
                taken(if truth { 1 } else { 2 }).cloned()
            }
            _ => {
                let expression = self.expressions.get(&node.id).ok_or_else(|| undefined(None))?;
                let own = match node.inputs.as_slice() {
                    [_] => taken(0)?.clone(),
                    ports => {
                        let mut record = Record::new();
                        for (port, index) in ports.iter().zip(0u32..) {
                            record.set(port.name.as_str(), taken(index)?.clone());
                        }
                        Value::Record(record)
                    }
                };
                watch(Event::Expression { node, expression, input: &own });
                eval(expression, &own).ok_or_else(|| undefined(locate::undefined(expression, &own)))
            }
        }
    }
}

/// Node ids so that each comes after those it takes from; of several the lowest first.
fn order(graph: &Graph) -> Vec<u32> {
    let mut order: Vec<u32> = Vec::new();
    let mut waiting: Vec<u32> = graph.nodes.iter().map(|node| node.id).collect();
    waiting.sort_unstable();
    // A valid graph has no cycle, so every round places a node.
    while let Some(at) = waiting
        .iter()
        .position(|&id| graph.edges.iter().all(|edge| edge.to.node != id || order.contains(&edge.from.node)))
    {
        order.push(waiting.remove(at));
    }
    order
}

/// Runs one check.
fn measure(check: &Check, guard: &Guard, input: &Value) -> Measure {
    let all = |holds: bool| if holds { 0 } else { MOST };
    let mut measure =
        Measure { reason: check.kind(), path: String::new(), detail: String::new(), score: 0, limit: guard.limit };
    match check {
        Check::Shape { ty } => match ty.accepts(input) {
            Ok(()) => measure.detail = "as witnessed".to_owned(),
            Err(mismatch) => (measure.score, measure.detail) = (MOST, mismatch.to_string()),
        },
        Check::Length { path, min, max } => at(&mut measure, input, path, |value| {
            let (length, unit) = match value {
                Value::Text(text) => (text.chars().count() as u64, "characters"),
                Value::List(items) => (items.len() as u64, "items"),
                _ => return None,
            };
            Some((all((*min..=*max).contains(&length)), format!("{length} {unit}, of {min} to {max}")))
        }),
        Check::Characters { path, classes } => at(&mut measure, input, path, |value| {
            let unseen = character_classes(value.as_text()?) & !classes;
            Some((all(unseen == 0), if unseen == 0 { "as witnessed".to_owned() } else { class_names(unseen) }))
        }),
        Check::Range { path, min, max } => at(&mut measure, input, path, |value| {
            let number = value.as_number()?;
            let bound = |text: &str| Number::from_lexeme(text.as_bytes()).ok();
            let inside = bound(min).is_some_and(|min| number.compare(&min).is_ge())
                && bound(max).is_some_and(|max| number.compare(&max).is_le());
            Some((all(inside), format!("{}, of {min} to {max}", number.text())))
        }),
        Check::Sketch { path, bits, table } => at(&mut measure, input, path, |value| {
            let score = sketch_score(value.as_text()?.as_bytes(), *bits, table);
            Some((score, format!("{} of its three-byte windows unseen", crate::words::share(score))))
        }),
    }
    measure
}

/// Measures where a path leads, and keeps the highest.
fn at(measure: &mut Measure, input: &Value, path: &str, score: impl Fn(&Value) -> Option<(u32, String)>) {
    measure.path = path.to_owned();
    measure.detail = "nothing there".to_owned();
    let mut met = false;
    visit(input, &parse_path(path).unwrap_or_default(), &mut |value| {
        if let Some((own, detail)) = score(value)
            && (!met || own > measure.score)
        {
            met = true;
            (measure.score, measure.detail) = (own, detail);
        }
    });
}

fn class_names(classes: u32) -> String {
    const NAMES: [&str; 8] = [
        "lower case",
        "upper case",
        "digits",
        "space",
        "punctuation",
        "control characters",
        "letters beyond ASCII",
        "other characters beyond ASCII",
    ];
    let named = NAMES.iter().enumerate().filter(|(bit, _)| classes >> bit & 1 == 1).map(|(_, name)| *name);
    format!("has {}, never witnessed here", named.collect::<Vec<_>>().join(", "))
}
