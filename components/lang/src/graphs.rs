//! Graphs of expressions: how a program becomes one, and whether one is well typed, which every
//! pass that takes a graph asks first, so that all of them refuse the same.

use std::fmt;

use auto_schema::ir::{Body, Bounds, Edge, Effects, End, Graph, Node, Port, Uncertainty};
use auto_schema::types::{Field, Type};

use crate::{Expr, accepts, parse, type_of};

/// Why a graph is none that a pass can work on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphError {
    /// `bad-expression` or `bad-type`.
    pub code: &'static str,
    /// What is wrong, and why.
    pub message: String,
    /// The node.
    pub at: String,
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.message)
    }
}

impl std::error::Error for GraphError {}

/// The graph of a program of one expression: input, expression, output.
pub fn program(expression: &Expr, input: &Type, output: &Type) -> Graph {
    let node = |id: u32, name: &str, inputs: Vec<Port>, outputs: Vec<Port>, body: Body| Node {
        id,
        name: name.to_owned(),
        inputs,
        outputs,
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    };
    let port = |name: &str, ty: &Type| vec![Port::new(name, ty.clone())];
    let edge = |from: u32| Edge { from: End { node: from, port: 0 }, to: End { node: from + 1, port: 0 } };
    let rule = Body::Expression { source: expression.to_string() };
    Graph {
        name: "program".to_owned(),
        nodes: vec![
            node(0, "input", Vec::new(), port("value", input), Body::Input),
            node(1, "rule", port("in", input), port("out", output), rule),
            node(2, "output", port("value", output), Vec::new(), Body::Output),
        ],
        edges: vec![edge(0), edge(1)],
        regions: Vec::new(),
    }
}

/// Whether every expression of a valid graph parses, can be defined for values of its inputs,
/// and gives values of its output, loops included.
pub fn well_typed(graph: &Graph) -> Result<(), GraphError> {
    for node in &graph.nodes {
        let failed = |code, message| GraphError { code, message, at: format!("node {} ({})", node.id, node.name) };
        if let Some((source, input, wanted)) = expression(node) {
            let expression = parse(source).map_err(|error| failed("bad-expression", format!("`{source}`: {error}")))?;
            let given = type_of(&expression, &input).map_err(|error| failed("bad-type", error.to_string()))?;
            if !accepts(&wanted, &given) {
                let message = format!("`{source}` gives {given}, and the node promises {wanted}");
                return Err(failed("bad-type", message));
            }
        }
        if let Some(inner) = node.body.graph() {
            well_typed(inner).map_err(|error| GraphError {
                at: format!("node {} ({}), {}", node.id, node.name, error.at),
                ..error
            })?;
        }
    }
    Ok(())
}

/// The expression of a node, what `$` is in it, and what it is to give.
pub fn expression(node: &Node) -> Option<(&str, Type, Type)> {
    match &node.body {
        Body::Expression { source } => Some((source, input_of(node), node.outputs.first()?.ty.clone())),
        Body::Branch { predicate } => Some((predicate, node.inputs.first()?.ty.clone(), Type::Bool)),
        Body::Retry { until, graph, .. } => {
            let answer = graph.output()?.inputs.first()?.ty.clone();
            Some((until, answer, Type::Bool))
        }
        _ => None,
    }
}

/// What `$` is in a node's expression: its one input, or the record of several.
fn input_of(node: &Node) -> Type {
    match node.inputs.as_slice() {
        [port] => port.ty.clone(),
        ports => Type::Record(ports.iter().map(|port| Field::new(&port.name, port.ty.clone())).collect()).canonical(),
    }
}
