//! The pass that rewrites programs into equal ones that are shorter (`auto:pass/optimize`).
//!
//! [`rewrite()`] takes an expression from the bottom up and applies [`rules`] to each node until
//! none applies. A rule is an equation that holds for every input of the node's type, also
//! where a side is undefined; [`Context`] knows the types that many need. Every rule says the
//! same for less, or the same in the one order that is canonical, so this ends. Parts that
//! occur more than once are not the concern of this pass: `emit` computes them once.

mod context;
pub mod rules;

pub use context::Context;

use auto_kit::Fault;
use auto_lang::graphs::{self, expression, well_typed};
use auto_lang::{Expr, items, parse, type_of};
use auto_schema::ir::{Body, Graph, Node};
use auto_schema::types::{Field, Type};

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        world: "optimizing",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

/// What the host calls.
pub struct Component;

impl bindings::exports::auto::pass::optimize::Guest for Component {
    fn rewrite(program: Vec<u8>) -> Result<Vec<u8>, Fault> {
        rewrite_program(&program)
    }
}

/// The canonical bytes of a graph with every expression rewritten.
///
/// Faults: `bad-graph`, `bad-expression`, `bad-type`.
pub fn rewrite_program(program: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut graph = auto_kit::graph(program)?;
    well_typed(&graph).map_err(refused)?;
    rewrite_graph(&mut graph, true).map_err(refused)?;
    graph.to_bytes().map_err(|error| Fault::new("bad-graph", format!("the rewritten graph is not valid: {error:?}")))
}

fn refused(error: graphs::GraphError) -> Fault {
    Fault::new(error.code, error.message).at(error.at)
}

/// Rewrites every expression of a well-typed graph, loops included. Only what the host checks is
/// taken for granted: the type of a call's input, not of what is computed from it.
fn rewrite_graph(graph: &mut Graph, checked: bool) -> Result<(), graphs::GraphError> {
    let given = graph.clone();
    for node in &mut graph.nodes {
        let parsed = match expression(node) {
            Some((source, ..)) => Some(parse(source).map_err(|error| graphs::GraphError {
                code: "bad-expression",
                message: format!("`{source}`: {error}"),
                at: format!("node {} ({})", node.id, node.name),
            })?),
            None => None,
        };
        let rewritten = parsed.map(|parsed| rewrite(&parsed, &known_input(&given, node, checked)).to_string());
        match (&mut node.body, rewritten) {
            (Body::Expression { source } | Body::Branch { predicate: source }, Some(text)) => *source = text,
            (Body::Retry { until, graph, .. }, Some(text)) => {
                *until = text;
                rewrite_graph(graph, false)?;
            }
            (Body::Each { graph, .. }, _) => rewrite_graph(graph, false)?,
            _ => {}
        }
    }
    Ok(())
}

/// What is sure of `$` in a node's expression.
fn known_input(graph: &Graph, node: &Node, checked: bool) -> Type {
    let port = |index: usize| {
        let sure = checked && is_input(graph, node.id, index as u32);
        node.inputs.get(index).filter(|_| sure).map_or(Type::Json, |port| port.ty.clone())
    };
    match (&node.body, node.inputs.len()) {
        (Body::Retry { .. }, _) => Type::Json,
        (Body::Branch { .. }, _) | (_, 1) => port(0),
        (_, count) => {
            let fields = (0..count).filter_map(|index| Some(Field::new(&node.inputs.get(index)?.name, port(index))));
            Type::Record(fields.collect()).canonical()
        }
    }
}

/// Whether an input of a node is the call's input, by way of guards at most.
fn is_input(graph: &Graph, node: u32, port: u32) -> bool {
    let (mut node, mut port) = (node, port);
    // As many steps as there are nodes; a valid graph has no circle.
    for _ in 0..graph.nodes.len() {
        let Some(edge) = graph.edges.iter().find(|edge| edge.to.node == node && edge.to.port == port) else {
            return false;
        };
        match graph.node(edge.from.node).map(|from| &from.body) {
            Some(Body::Input) => return true,
            Some(Body::Guard(_)) => (node, port) = (edge.from.node, 0),
            _ => return false,
        }
    }
    false
}

/// An expression of which each rule was applied wherever it applies, for inputs of a type.
///
/// A part that turns out to be undefined whatever the input is ill typed once that can be seen;
/// an expression with such a part stays as it was, so that what was well typed is so afterwards.
pub fn rewrite(expression: &Expr, input: &Type) -> Expr {
    let rewritten = Rewriter { context: Context::new(input) }.expression(expression);
    if type_of(&rewritten, input).is_ok() { rewritten } else { expression.clone() }
}

/// How often a node may be rewritten; far more than any takes.
const MOST_REWRITES: usize = 64;

struct Rewriter<'t> {
    context: Context<'t>,
}

impl Rewriter<'_> {
    fn expression(&mut self, expression: &Expr) -> Expr {
        let mut current = self.parts(expression);
        for _ in 0..MOST_REWRITES {
            let Some(next) = rules::RULES.iter().find_map(|rule| (rule.apply)(&self.context, &current)) else { break };
            // What a rule makes may have parts that are new.
            current = self.parts(&next);
        }
        current
    }

    /// The same with its parts rewritten.
    fn parts(&mut self, expression: &Expr) -> Expr {
        match expression {
            Expr::Input | Expr::Variable(_) | Expr::Literal(_) => expression.clone(),
            Expr::Field(of, name) => self.expression(of).field(name.as_str()),
            Expr::List(items) => Expr::List(items.iter().map(|item| self.expression(item)).collect()),
            Expr::Record(members) => {
                Expr::Record(members.iter().map(|(key, item)| (key.clone(), self.expression(item))).collect())
            }
            Expr::Call(op, arguments) => {
                Expr::Call(*op, arguments.iter().map(|argument| self.expression(argument)).collect())
            }
            Expr::Each { each, list, variable, body } => {
                let list = self.expression(list);
                let item = self.context.type_of(&list).and_then(|ty| items(&ty)).unwrap_or(Type::Json);
                self.context.bind(variable, item);
                let body = self.expression(body);
                self.context.unbind();
                Expr::Each { each: *each, list: Box::new(list), variable: variable.clone(), body: Box::new(body) }
            }
        }
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
