//! What the lies share: programs of somebody's own, and guards put in and taken out.

use auto_kit::Fault;
use auto_schema::ir::{Body, Bounds, Check, Edge, Effects, End, Graph, Guard, Node, PPM, Port, Uncertainty};
use auto_schema::types::Type;

fn node(id: u32, name: &str, inputs: Vec<Port>, outputs: Vec<Port>, body: Body) -> Node {
    let (effects, bounds) = (Effects::default(), Bounds::default());
    Node { id, name: name.to_owned(), inputs, outputs, effects, uncertainty: Uncertainty::Deterministic, bounds, body }
}

fn edge(from: u32, to: u32) -> Edge {
    Edge { from: End { node: from, port: 0 }, to: End { node: to, port: 0 } }
}

fn bytes(graph: Graph) -> Result<Vec<u8>, Fault> {
    graph.canonical().to_bytes().map_err(|wrong| Fault::new("bad-graph", format!("{wrong:?}")))
}

/// A program of one expression.
pub fn program(source: String, input: Type, output: Type) -> Result<Vec<u8>, Fault> {
    let port = |name: &str, ty: &Type| vec![Port::new(name, ty.clone())];
    bytes(Graph {
        name: "lie".to_owned(),
        nodes: vec![
            node(0, "input", Vec::new(), port("value", &input), Body::Input),
            node(1, "rule", port("in", &input), port("out", &output), Body::Expression { source }),
            node(2, "output", port("value", &output), Vec::new(), Body::Output),
        ],
        edges: vec![edge(0, 1), edge(1, 2)],
        regions: Vec::new(),
    })
}

/// The program with a guard that lets everything through.
pub fn with_open_guard(program: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut graph = auto_kit::graph(program)?;
    let input = graph.input().ok_or_else(|| Fault::new("bad-graph", "no input"))?;
    let (input, ty) = (input.id, input.outputs[0].ty.clone());
    let id = graph.nodes.iter().map(|node| node.id).max().unwrap_or(0) + 1;
    graph.edges.iter_mut().filter(|edge| edge.from.node == input).for_each(|edge| edge.from.node = id);
    graph.edges.push(edge(input, id));
    let guard = Guard { limit: PPM, checks: vec![Check::Shape { ty: Type::Json }] };
    let (inputs, outputs) = (vec![Port::new("input", ty.clone())], vec![Port::new("admitted", ty)]);
    graph.nodes.push(node(id, "guard", inputs, outputs, Body::Guard(guard)));
    bytes(graph)
}

/// The program without its guards.
pub fn without_guards(program: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut graph = auto_kit::graph(program)?;
    let guards: Vec<u32> =
        graph.nodes.iter().filter(|node| matches!(node.body, Body::Guard(_))).map(|node| node.id).collect();
    for guard in guards {
        let from = graph.edges.iter().find(|edge| edge.to.node == guard).map(|edge| edge.from);
        graph.edges.retain(|edge| edge.to.node != guard);
        let after = graph.edges.iter_mut().filter(|edge| edge.from.node == guard);
        after.zip(from.into_iter().cycle()).for_each(|(edge, from)| edge.from = from);
        graph.nodes.retain(|node| node.id != guard);
    }
    bytes(graph)
}
