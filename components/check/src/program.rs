//! A graph as something to run: sources parsed, nodes in order. Evaluates in memory, by
//! the meaning that `emit` compiles.

use std::collections::BTreeMap;

use auto_json::{Number, Record, Value};
use auto_lang::{Expr, eval, parse};
use auto_rt::kernels::linear::{Counts, Met, Weights, shortfall};
use auto_rt::kernels::novelty::{MOST, character_classes, scaled, sketch_score};
use auto_schema::ir::model::{LINEAR, Linear};
use auto_schema::ir::{Body, Check, Graph, Guard, Node, parse_path, visit};

use crate::locate;

/// A graph that can be run.
pub struct Program {
    /// As it was given.
    pub graph: Graph,
    /// Ids of the nodes, each after those it takes from.
    order: Vec<u32>,
    /// What the expression and branch nodes say, and until when the retry nodes go on.
    expressions: BTreeMap<u32, Expr>,
    /// The graphs of the loops.
    loops: BTreeMap<u32, Program>,
    /// The models.
    models: BTreeMap<u32, Linear>,
}

/// What was replied to an effect: a value, or what went wrong.
pub type Reply = Result<Value, String>;

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

/// How an error begins that is the runner's and no tool's: it is never handed on.
const RUNNER_FAILED: &str = "runner-failed: ";

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
    /// An effect went wrong and nothing catches it, its reply is of another type, or a loop
    /// is at its bound.
    Stopped {
        /// The node's name.
        node: String,
        /// `effect-failed`, `effect-type` or `loop-bound`, as the artifact has it.
        reason: &'static str,
    },
    /// It asks for an effect for which there is no reply.
    Request {
        /// What it asks for.
        capability: String,
        /// What it hands over.
        input: Value,
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
    /// An effect was replied to.
    Effect {
        /// The node.
        node: &'a Node,
        /// What it asked for.
        capability: &'a str,
        /// What it handed over.
        input: &'a Value,
        /// What came back.
        reply: &'a Reply,
    },
    /// A loop begins another round, from 1.
    Round {
        /// The node.
        node: &'a Node,
        /// Which.
        round: u32,
        /// What the graph inside takes.
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
        let mut loops = BTreeMap::new();
        let mut models = BTreeMap::new();
        for node in &graph.nodes {
            let at = format!("node {} ({})", node.id, node.name);
            match &node.body {
                Body::Expression { source }
                | Body::Branch { predicate: source }
                | Body::Retry { until: source, .. } => {
                    let expression = parse(source).map_err(|error| {
                        let message = format!("`{source}`: {error}");
                        ProgramError { code: "bad-expression", message, at }
                    })?;
                    expressions.insert(node.id, expression);
                }
                Body::Model { format, weights } if format == LINEAR => {
                    let model = Linear::from_bytes(weights).map_err(|message| ProgramError {
                        code: "bad-graph",
                        message,
                        at,
                    })?;
                    models.insert(node.id, model);
                }
                Body::Input | Body::Output | Body::Guard(_) | Body::Effect { .. } | Body::Each { .. } => {}
                other => {
                    let message = format!("a node of kind {} cannot be evaluated in memory yet", other.kind());
                    return Err(ProgramError { code: "unsupported-node", message, at });
                }
            }
            if let Some(graph) = node.body.graph() {
                let inside = |error: ProgramError| {
                    let at = format!("node {} ({}), {}", node.id, node.name, error.at);
                    ProgramError { at, ..error }
                };
                loops.insert(node.id, Program::new(graph.clone()).map_err(inside)?);
            }
        }
        let order = order(&graph);
        Ok(Program { graph, order, expressions, loops, models })
    }

    /// The program inside a loop.
    pub fn inside(&self, node: u32) -> Option<&Program> {
        self.loops.get(&node)
    }

    /// What an expression or branch node says, and until when a retry node goes on.
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

    /// Whether a node's first port takes the call's input.
    pub fn takes_input(&self, node: &Node) -> bool {
        let from = self.source(node.id, 0).and_then(|id| self.graph.node(id));
        from.is_some_and(|from| from.body == Body::Input)
    }

    /// The node that drives an input port.
    fn source(&self, node: u32, port: u32) -> Option<u32> {
        let edge = self.graph.edges.iter().find(|edge| edge.to.node == node && edge.to.port == port);
        edge.map(|edge| edge.from.node)
    }

    /// Runs the program without replies to its effects.
    pub fn run(&self, input: &Value, watch: &mut dyn FnMut(Event)) -> Outcome {
        self.run_with(input, &[], watch)
    }

    /// Runs the program. Values are asked for from the output backwards, the inputs of a node
    /// in the order of its ports; a branch asks for the side it takes. Effects use up the
    /// replies in that order.
    pub fn run_with(&self, input: &Value, replies: &[Reply], watch: &mut dyn FnMut(Event)) -> Outcome {
        let mut run = Run { replies: replies.iter(), watch };
        run.program(self, input).map_or_else(|outcome| outcome, Outcome::Answer)
    }
}

/// A run under way.
struct Run<'a> {
    replies: std::slice::Iter<'a, Reply>,
    watch: &'a mut dyn FnMut(Event),
}

/// What one run of a graph knows.
struct Frame<'p> {
    program: &'p Program,
    input: &'p Value,
    values: BTreeMap<u32, Value>,
}

impl Run<'_> {
    fn program(&mut self, program: &Program, input: &Value) -> Result<Value, Outcome> {
        let mut frame = Frame { program, input, values: BTreeMap::new() };
        match program.graph.output() {
            Some(output) => self.taken(&mut frame, output, 0),
            None => Err(Outcome::Undefined { node: "output".to_owned(), at: None }),
        }
    }

    /// The value of an input port.
    fn taken(&mut self, frame: &mut Frame, node: &Node, port: u32) -> Result<Value, Outcome> {
        let program = frame.program;
        let from = program.source(node.id, port).and_then(|id| program.graph.node(id));
        let from = from.ok_or_else(|| undefined(node, None))?;
        if let Some(known) = frame.values.get(&from.id) {
            return Ok(known.clone());
        }
        let value = self.node(frame, from)?;
        frame.values.insert(from.id, value.clone());
        Ok(value)
    }

    fn node(&mut self, frame: &mut Frame, node: &Node) -> Result<Value, Outcome> {
        let program = frame.program;
        let expression = || program.expressions.get(&node.id).ok_or_else(|| undefined(node, None));
        match &node.body {
            Body::Input => Ok(frame.input.clone()),
            Body::Guard(guard) => self.guard(frame, node, guard),
            Body::Effect { capability, catches } => {
                let input = self.taken(frame, node, 0)?;
                self.effect(node, capability, *catches, &input)
            }
            Body::Branch { .. } => {
                let predicate = expression()?;
                let tested = self.taken(frame, node, 0)?;
                let truth = test(node, predicate, &tested)?;
                (self.watch)(Event::Branch { node, predicate, taken: truth });
                self.taken(frame, node, if truth { 1 } else { 2 })
            }
            Body::Model { .. } => {
                let texts = self.taken(frame, node, 0)?;
                let model = program.models.get(&node.id).ok_or_else(|| undefined(node, None))?;
                classified(model, &texts).ok_or_else(|| undefined(node, None))
            }
            Body::Each { most, .. } => self.each(frame, node, *most),
            Body::Retry { most, .. } => self.retry(frame, node, expression()?, *most),
            _ => {
                let expression = expression()?;
                let own = self.dollar(frame, node)?;
                (self.watch)(Event::Expression { node, expression, input: &own });
                eval(expression, &own).ok_or_else(|| undefined(node, locate::undefined(expression, &own)))
            }
        }
    }

    /// What `$` is: the value of the one input port, or the record of all.
    fn dollar(&mut self, frame: &mut Frame, node: &Node) -> Result<Value, Outcome> {
        if node.inputs.len() == 1 {
            return self.taken(frame, node, 0);
        }
        let mut record = Record::new();
        for (port, index) in node.inputs.iter().zip(0u32..) {
            record.set(port.name.as_str(), self.taken(frame, node, index)?);
        }
        Ok(Value::Record(record))
    }

    fn guard(&mut self, frame: &mut Frame, node: &Node, guard: &Guard) -> Result<Value, Outcome> {
        let value = self.taken(frame, node, 0)?;
        let measures: Vec<Measure> = guard.checks.iter().map(|check| measure(check, guard, &value)).collect();
        // The first of the highest speaks.
        let highest = measures.iter().rev().max_by_key(|measure| measure.score).cloned();
        let passed = highest.as_ref().is_none_or(|measure| measure.score <= measure.limit);
        (self.watch)(Event::Guard { node, measures, passed });
        match highest {
            Some(measure) if !passed => Err(Outcome::Abstain(measure)),
            _ => Ok(value),
        }
    }

    fn effect(&mut self, node: &Node, capability: &str, catches: bool, input: &Value) -> Result<Value, Outcome> {
        let Some(reply) = self.replies.next() else {
            return Err(Outcome::Request { capability: capability.to_owned(), input: input.clone() });
        };
        (self.watch)(Event::Effect { node, capability, input, reply });
        let value = match (catches, reply) {
            (true, Err(message)) if message.starts_with(RUNNER_FAILED) => return Err(stopped(node, "effect-failed")),
            (true, Ok(value)) => Value::Record(Record::new().with("ok", value.clone())),
            (true, Err(message)) => Value::Record(Record::new().with("err", message.as_str())),
            (false, Ok(value)) => value.clone(),
            (false, Err(_)) => return Err(stopped(node, "effect-failed")),
        };
        match node.outputs.first().map(|port| port.ty.accepts(&value)) {
            Some(Err(_)) => Err(stopped(node, "effect-type")),
            _ => Ok(value),
        }
    }

    fn each(&mut self, frame: &mut Frame, node: &Node, most: u32) -> Result<Value, Outcome> {
        let inside = frame.program.loops.get(&node.id).ok_or_else(|| undefined(node, None))?;
        let taken = self.dollar(frame, node)?;
        let name = node.inputs.first().map_or("", |port| port.name.as_str());
        let list = if node.inputs.len() == 1 { Some(&taken) } else { taken.get(name) };
        let items = list.and_then(Value::as_list).ok_or_else(|| undefined(node, None))?;
        if items.len() > most as usize {
            return Err(stopped(node, "loop-bound"));
        }
        let mut answers = Vec::with_capacity(items.len());
        for (item, round) in items.iter().zip(1..) {
            let input = match &taken {
                Value::Record(all) if node.inputs.len() > 1 => Value::Record(all.clone().with(name, item.clone())),
                _ => item.clone(),
            };
            (self.watch)(Event::Round { node, round, input: &input });
            answers.push(self.program(inside, &input)?);
        }
        Ok(Value::List(answers))
    }

    fn retry(&mut self, frame: &mut Frame, node: &Node, until: &Expr, most: u32) -> Result<Value, Outcome> {
        let inside = frame.program.loops.get(&node.id).ok_or_else(|| undefined(node, None))?;
        let input = self.dollar(frame, node)?;
        for round in 1..=most {
            (self.watch)(Event::Round { node, round, input: &input });
            let answer = self.program(inside, &input)?;
            if test(node, until, &answer)? {
                return Ok(answer);
            }
        }
        Err(stopped(node, "loop-bound"))
    }
}

fn undefined(node: &Node, at: Option<String>) -> Outcome {
    Outcome::Undefined { node: node.name.clone(), at }
}

fn stopped(node: &Node, reason: &'static str) -> Outcome {
    Outcome::Stopped { node: node.name.clone(), reason }
}

/// Whether a predicate holds.
fn test(node: &Node, predicate: &Expr, of: &Value) -> Result<bool, Outcome> {
    let truth = eval(predicate, of).and_then(|value| value.as_bool());
    truth.ok_or_else(|| undefined(node, locate::undefined(predicate, of)))
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

/// What a linear model says of a list of texts.
fn classified(model: &Linear, texts: &Value) -> Option<Value> {
    let buckets = 1 << model.bits;
    let (mut slots, mut met) = (vec![0; buckets], vec![Met::default(); buckets]);
    let mut counts = Counts::new(&mut slots, &mut met)?;
    for (salt, text) in (0..).zip(texts.as_list()?) {
        counts.text(text.as_text()?.as_bytes(), salt);
    }
    let weights = Weights { idf: &model.idf, rows: &model.rows, scales: &model.scales, biases: &model.biases };
    let best = weights.classify(&counts, &mut vec![0; model.classes.len()])?;
    let record = Record::new()
        .with("doubt", shortfall(best.score, model.doubt.0, model.doubt.1))
        .with("unsure", shortfall(best.lead, model.unsure.0, model.unsure.1))
        .with("value", model.classes.get(best.class)?.clone());
    Some(record.into())
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
        Check::Score { path, scale } => at(&mut measure, input, path, |value| {
            let score = value.as_i64().map_or(MOST, |number| scaled(number, *scale));
            Some((score, format!("{value} parts per million")))
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
