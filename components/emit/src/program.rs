//! Graphs of expressions to programs: which nodes an answer needs, in what order, and whether
//! all of them are nodes that this pass has code for.

use std::collections::BTreeMap;

use auto_json::write::compare_keys;
use auto_kit::Fault;
use auto_lang::Expr;
use auto_schema::ir::model::{LINEAR, Linear};
use auto_schema::ir::{Body, Graph, Guard, Node};
use auto_schema::types::{Field, Type};

use crate::flow::KNOWN;

/// The most nodes of one expression; engines take long over functions that are longer.
const MAX_SIZE: usize = 20_000;

/// What a call does with its input.
pub(crate) struct Program<'g> {
    pub(crate) input: &'g Type,
    /// Of the input.
    pub(crate) guard: Option<&'g Guard>,
    /// In the order in which they are evaluated.
    pub(crate) steps: Vec<Step<'g>>,
    /// What is answered.
    pub(crate) answer: Source,
}

/// Something that is done with values that are there.
pub(crate) enum Step<'g> {
    /// An expression, and what its `$` is.
    Expression { expression: Expr, input: StepInput },
    /// A model, of a list of texts.
    Model { model: Box<Linear>, texts: Source },
    /// A guard of something that was computed, and what that is of; gives it on.
    Guard { guard: &'g Guard, value: Source },
}

/// What `$` is in an expression.
pub(crate) enum StepInput {
    One(Source, Type),
    /// A record: fields in canonical order, and where each comes from.
    Record(Vec<(Field, Source)>),
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Input,
    /// The step of that position.
    Step(usize),
}

impl<'g> Program<'g> {
    /// The program of a valid graph.
    pub(crate) fn of(graph: &'g Graph) -> Result<Program<'g>, Fault> {
        let (Some(input), Some(output)) = (graph.input(), graph.output()) else {
            return Err(Fault::new("bad-graph", "a graph has one input node and one output node"));
        };
        let Some(port) = input.outputs.first() else {
            return Err(Fault::new("bad-graph", "the input node has no output"));
        };
        let mut planner =
            Planner { graph, sources: BTreeMap::from([(input.id, Source::Input)]), guard: None, steps: Vec::new() };
        let answer = planner.driving(output)?;
        let answer = answer.first().copied().ok_or_else(|| unconnected(output))?;
        Ok(Program { input: &port.ty, guard: planner.guard, steps: planner.steps, answer })
    }
}

struct Planner<'g> {
    graph: &'g Graph,
    /// Of every node that was looked at.
    sources: BTreeMap<u32, Source>,
    guard: Option<&'g Guard>,
    steps: Vec<Step<'g>>,
}

impl<'g> Planner<'g> {
    /// Where the values of a node's input ports come from, everything before it planned.
    /// Recursion is as deep as the graph, whose edges make no circle.
    fn driving(&mut self, node: &'g Node) -> Result<Vec<Source>, Fault> {
        (0..node.inputs.len() as u32)
            .map(|port| {
                let edge = self.graph.edges.iter().find(|edge| edge.to.node == node.id && edge.to.port == port);
                let from = edge.and_then(|edge| self.graph.node(edge.from.node)).ok_or_else(|| unconnected(node))?;
                self.source(from)
            })
            .collect()
    }

    fn step(&mut self, step: Step<'g>) -> Source {
        self.steps.push(step);
        Source::Step(self.steps.len() - 1)
    }

    fn source(&mut self, node: &'g Node) -> Result<Source, Fault> {
        if let Some(known) = self.sources.get(&node.id) {
            return Ok(*known);
        }
        let inputs = self.driving(node)?;
        let source = match &node.body {
            Body::Expression { source } => {
                let expression = parsed(node, source)?;
                self.step(Step::Expression { expression, input: step_input(node, inputs) })
            }
            Body::Model { format, weights } => {
                let model = model(node, format, weights)?;
                let texts = inputs.first().copied().ok_or_else(|| unconnected(node))?;
                self.step(Step::Model { model: Box::new(model), texts })
            }
            Body::Guard(guard) if inputs == [Source::Input] && self.guard.is_none() => {
                self.guard = Some(guard);
                Source::Input
            }
            Body::Guard(_) if inputs == [Source::Input] => {
                return Err(unsupported(node, "only one guard of the input"));
            }
            Body::Guard(guard) => {
                let value = inputs.first().copied().ok_or_else(|| unconnected(node))?;
                self.step(Step::Guard { guard, value })
            }
            _ => return Err(unsupported(node, KNOWN)),
        };
        self.sources.insert(node.id, source);
        Ok(source)
    }
}

/// A model of a format that this pass has code for.
fn model(node: &Node, format: &str, weights: &[u8]) -> Result<Linear, Fault> {
    if format != LINEAR {
        return Err(unsupported(node, &format!("models of the format {LINEAR}")));
    }
    Linear::from_bytes(weights).map_err(|why| Fault::new("bad-graph", why).at(place(node)))
}

fn step_input(node: &Node, sources: Vec<Source>) -> StepInput {
    if let ([source], [port]) = (sources.as_slice(), node.inputs.as_slice()) {
        return StepInput::One(*source, port.ty.clone());
    }
    let mut fields: Vec<(Field, Source)> = node
        .inputs
        .iter()
        .zip(sources)
        .map(|(port, source)| (Field::new(&port.name, port.ty.clone()), source))
        .collect();
    fields.sort_by(|(a, _), (b, _)| compare_keys(a.name.as_bytes(), b.name.as_bytes()));
    StepInput::Record(fields)
}

/// An expression of a node.
pub(crate) fn parsed(node: &Node, source: &str) -> Result<Expr, Fault> {
    let expression = auto_lang::parse(source)
        .map_err(|error| Fault::new("bad-graph", format!("the expression does not parse: {error}")).at(place(node)))?;
    if expression.size() > MAX_SIZE {
        let message = format!("an expression of {} nodes; {MAX_SIZE} are allowed", expression.size());
        return Err(Fault::new("too-large", message).at(place(node)));
    }
    Ok(expression)
}

pub(crate) fn place(node: &Node) -> String {
    format!("node {}", node.id)
}

pub(crate) fn unconnected(node: &Node) -> Fault {
    Fault::new("bad-graph", "an input is not connected").at(place(node))
}

pub(crate) fn unsupported(node: &Node, known: &str) -> Fault {
    let message = format!(
        "no code can be generated for the {} node {:?}: this pass knows {known}; use an emit pass that knows more",
        node.body.kind(),
        node.name
    );
    Fault::new("unsupported-node", message).at(place(node))
}
