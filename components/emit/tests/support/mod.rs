//! Programs, their reference meaning, and two engines that run what emit makes of them.

#![allow(dead_code, reason = "every test uses a part")]

use auto_json::Value;
use auto_schema::ir::{Body, Bounds, Edge, Effects, End, Graph, Guard, Node, Port, Uncertainty};
use auto_schema::types::Type;

pub mod engines;
pub mod flow;
pub mod forms;

/// How a call ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Answer(String),
    Abstain(Novelty),
    Request { capability: String, input: String, state: Vec<u8> },
    BadInput(String),
    Unsupported(String),
}

/// What a guard said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Novelty {
    pub reason: String,
    pub score: u32,
    pub limit: u32,
}

pub fn ty(text: &str) -> Type {
    text.parse().unwrap()
}

pub fn node(id: u32, inputs: &[(&str, &Type)], outputs: &[&Type], body: Body) -> Node {
    Node {
        id,
        name: format!("n{id}"),
        inputs: inputs.iter().map(|(name, ty)| Port::new(*name, (*ty).clone())).collect(),
        outputs: outputs.iter().map(|ty| Port::new("out", (*ty).clone())).collect(),
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    }
}

pub fn edge(from: u32, to: u32, port: u32) -> Edge {
    Edge { from: End { node: from, port: 0 }, to: End { node: to, port } }
}

/// input -> (guard) -> one expression after the other -> output.
pub fn chain(input: &Type, guard: Option<Guard>, expressions: &[&str]) -> Graph {
    let json = Type::Json;
    let mut nodes = vec![node(0, &[], &[input], Body::Input)];
    let mut edges = Vec::new();
    let mut last = input;
    if let Some(guard) = guard {
        edges.push(edge(0, 1, 0));
        nodes.push(node(1, &[("in", input)], &[input], Body::Guard(guard)));
    }
    for source in expressions {
        let id = nodes.len() as u32;
        edges.push(edge(id - 1, id, 0));
        nodes.push(node(id, &[("in", last)], &[&json], Body::Expression { source: (*source).to_owned() }));
        last = &json;
    }
    let id = nodes.len() as u32;
    edges.push(edge(id - 1, id, 0));
    nodes.push(node(id, &[("in", last)], &[], Body::Output));
    Graph { name: "test".to_owned(), nodes, edges, regions: Vec::new() }
}

/// What a chain means, by the evaluator, the types and the kernels.
pub fn reference(graph: &Graph, input: &str) -> Outcome {
    let input = match Value::parse(input) {
        Ok(value) => value,
        Err(error) => return Outcome::BadInput(error.to_string()),
    };
    let ty = &graph.input().unwrap().outputs[0].ty;
    if let Err(mismatch) = ty.accepts(&input) {
        return Outcome::BadInput(mismatch.to_string());
    }
    let mut limit = 0;
    let mut value = input.clone();
    for node in &graph.nodes {
        match &node.body {
            Body::Guard(guard) => {
                limit = guard.limit;
                let novelty = measured(guard, &input);
                if novelty.score > limit {
                    return Outcome::Abstain(novelty);
                }
            }
            Body::Expression { source } => match auto_lang::eval(&auto_lang::parse(source).unwrap(), &value) {
                Some(next) => value = next,
                None => {
                    let reason = "undefined".to_owned();
                    return Outcome::Abstain(Novelty { reason, score: 1_000_000, limit });
                }
            },
            _ => {}
        }
    }
    Outcome::Answer(value.canonical().into_string())
}

/// What `assess` says.
pub fn reference_novelty(graph: &Graph, input: &str) -> Novelty {
    let guard = graph.nodes.iter().find_map(|node| match &node.body {
        Body::Guard(guard) => Some(guard),
        _ => None,
    });
    let limit = guard.map_or(0, |guard| guard.limit);
    let ty = &graph.input().unwrap().outputs[0].ty;
    match Value::parse(input) {
        Ok(value) if ty.accepts(&value).is_ok() => guard
            .map_or_else(|| Novelty { reason: "none".to_owned(), score: 0, limit: 0 }, |guard| measured(guard, &value)),
        _ => Novelty { reason: "bad-input".to_owned(), score: 1_000_000, limit },
    }
}

/// The guard pass measures as the artifact must.
fn measured(guard: &Guard, input: &Value) -> Novelty {
    let novelty = auto_guard::assess(guard, input);
    Novelty { reason: novelty.reason.to_owned(), score: novelty.score, limit: novelty.limit }
}
