//! What graphs that choose, loop or ask mean, by the evaluator of the language: values are
//! asked for from the output backwards, and replies are used up in that order.

use std::collections::BTreeMap;

use auto_json::{Record, Value};
use auto_schema::ir::{Body, Graph, Node};

use super::{Novelty, Outcome};

/// What was replied to an effect.
pub type Reply = Result<Value, String>;

/// How a call ends that was given some replies; a request has no state here.
pub fn interpret(graph: &Graph, input: &str, replies: &[Reply]) -> Outcome {
    let input = match Value::parse(input) {
        Ok(value) => value,
        Err(error) => return Outcome::BadInput(error.to_string()),
    };
    if let Err(mismatch) = graph.input().unwrap().outputs[0].ty.accepts(&input) {
        return Outcome::BadInput(mismatch.to_string());
    }
    let guard =
        graph.nodes.iter().find_map(|node| if let Body::Guard(guard) = &node.body { Some(guard) } else { None });
    let mut run = Run { replies, next: 0, limit: guard.map_or(0, |guard| guard.limit) };
    match run.graph(graph, input) {
        Ok(answer) => Outcome::Answer(answer.to_string()),
        Err(stopped) => stopped,
    }
}

struct Run<'a> {
    replies: &'a [Reply],
    next: usize,
    limit: u32,
}

/// The values of one run of a graph.
struct Frame<'g> {
    graph: &'g Graph,
    input: Value,
    known: BTreeMap<u32, Value>,
}

impl Run<'_> {
    fn graph(&mut self, graph: &Graph, input: Value) -> Result<Value, Outcome> {
        let mut frame = Frame { graph, input, known: BTreeMap::new() };
        self.port(&mut frame, graph.output().unwrap(), 0)
    }

    fn port(&mut self, frame: &mut Frame, node: &Node, port: u32) -> Result<Value, Outcome> {
        let edge = frame.graph.edges.iter().find(|edge| (edge.to.node, edge.to.port) == (node.id, port)).unwrap();
        let from = frame.graph.node(edge.from.node).unwrap();
        if let Some(known) = frame.known.get(&from.id) {
            return Ok(known.clone());
        }
        let value = self.node(frame, from)?;
        frame.known.insert(from.id, value.clone());
        Ok(value)
    }

    fn stop(&self, reason: &str) -> Outcome {
        Outcome::Abstain(Novelty { reason: reason.to_owned(), score: 1_000_000, limit: self.limit })
    }

    /// What `$` is.
    fn dollar(&mut self, frame: &mut Frame, node: &Node) -> Result<Value, Outcome> {
        if node.inputs.len() == 1 {
            return self.port(frame, node, 0);
        }
        let mut record = Record::new();
        for (port, index) in node.inputs.iter().zip(0..) {
            let value = self.port(frame, node, index)?;
            record.set(port.name.as_str(), value);
        }
        Ok(Value::Record(record))
    }

    fn eval(&self, source: &str, dollar: &Value) -> Result<Value, Outcome> {
        auto_lang::eval(&auto_lang::parse(source).unwrap(), dollar).ok_or_else(|| self.stop("undefined"))
    }

    fn test(&self, source: &str, dollar: &Value) -> Result<bool, Outcome> {
        self.eval(source, dollar)?.as_bool().ok_or_else(|| self.stop("undefined"))
    }

    fn node(&mut self, frame: &mut Frame, node: &Node) -> Result<Value, Outcome> {
        match &node.body {
            Body::Input => Ok(frame.input.clone()),
            Body::Guard(guard) => {
                let value = self.port(frame, node, 0)?;
                let novelty = super::measured(guard, &value);
                let edge = frame.graph.edges.iter().find(|edge| edge.to.node == node.id).unwrap();
                let replied = matches!(frame.graph.node(edge.from.node).unwrap().body, Body::Effect { .. });
                match novelty.score > guard.limit {
                    true if replied => {
                        Err(Outcome::Abstain(Novelty { reason: format!("effect-{}", novelty.reason), ..novelty }))
                    }
                    true => Err(Outcome::Abstain(novelty)),
                    false => Ok(value),
                }
            }
            Body::Expression { source } => {
                let dollar = self.dollar(frame, node)?;
                self.eval(source, &dollar)
            }
            Body::Effect { capability, catches } => {
                let input = self.port(frame, node, 0)?;
                self.effect(capability, *catches, node, &input)
            }
            Body::Branch { predicate } => {
                let tested = self.port(frame, node, 0)?;
                let side = if self.test(predicate, &tested)? { 1 } else { 2 };
                self.port(frame, node, side)
            }
            Body::Each { graph, most } => {
                let list = self.port(frame, node, 0)?;
                for port in 1..node.inputs.len() as u32 {
                    self.port(frame, node, port)?;
                }
                let items = list.as_list().ok_or_else(|| self.stop("undefined"))?;
                if items.len() > *most as usize {
                    return Err(self.stop("loop-bound"));
                }
                let mut answers = Vec::new();
                for item in items {
                    let dollar = match self.dollar(frame, node)? {
                        Value::Record(record) if node.inputs.len() > 1 => {
                            Value::Record(record.with(node.inputs[0].name.as_str(), item.clone()))
                        }
                        _ => item.clone(),
                    };
                    answers.push(self.graph(graph, dollar)?);
                }
                Ok(Value::List(answers))
            }
            Body::Retry { graph, until, most } => {
                let dollar = self.dollar(frame, node)?;
                for _ in 0..*most {
                    let answer = self.graph(graph, dollar.clone())?;
                    if self.test(until, &answer)? {
                        return Ok(answer);
                    }
                }
                Err(self.stop("loop-bound"))
            }
            other => panic!("a node of kind {} means nothing here", other.kind()),
        }
    }

    fn effect(&mut self, capability: &str, catches: bool, node: &Node, input: &Value) -> Result<Value, Outcome> {
        let Some(reply) = self.replies.get(self.next) else {
            let (capability, input) = (capability.to_owned(), input.to_string());
            return Err(Outcome::Request { capability, input, state: Vec::new() });
        };
        self.next += 1;
        let value = match (catches, reply) {
            (true, Err(message)) if message.starts_with("runner-failed: ") => return Err(self.stop("effect-failed")),
            (true, Ok(value)) => Value::Record(Record::new().with("ok", value.clone())),
            (true, Err(message)) => Value::Record(Record::new().with("err", message.as_str())),
            (false, Ok(value)) => value.clone(),
            (false, Err(_)) => return Err(self.stop("effect-failed")),
        };
        node.outputs[0].ty.accepts(&value).map_err(|_| self.stop("effect-type"))?;
        Ok(value)
    }
}
