//! Artifacts that ask for tools and for memory, made by hand: small, and the same whatever
//! compiles recordings.

use auto_schema::cbin;
use auto_schema::digest::Digest;
use auto_schema::ir::{Body, Bounds, Capability, Edge, Effects, End, Graph, MemoryEffect, Node, Port, Uncertainty};
use auto_schema::manifest::{FORMAT, Manifest};
use auto_schema::types::Type;

/// A node that takes a value and gives one.
pub fn node(id: u32, body: Body) -> Node {
    let ports = |count| vec![Port::new("value", Type::Json); count];
    Node {
        id,
        name: format!("step {id}"),
        inputs: ports(usize::from(body != Body::Input)),
        outputs: ports(usize::from(body != Body::Output)),
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    }
}

/// A node with an expression.
pub fn expression(id: u32, source: &str) -> Node {
    node(id, Body::Expression { source: source.to_owned() })
}

/// A node that asks for a tool.
pub fn effect(id: u32, tool: &str, catches: bool) -> Node {
    let mut node = node(id, Body::Effect { capability: format!("tool:{tool}"), catches });
    node.effects.capabilities = vec![Capability::Tool(tool.to_owned())];
    node
}

/// A node that asks for the agent's memory.
pub fn memory(id: u32, effect: MemoryEffect, catches: bool) -> Node {
    let capability = Capability::Memory(effect).to_string();
    let mut node = node(id, Body::Effect { capability, catches });
    node.effects.memory = vec![effect];
    node
}

/// A graph that takes an `input` and does one thing after the other.
pub fn graph(input: &str, mut steps: Vec<Node>) -> Graph {
    let ty: Type = input.parse().expect("a type");
    let mut first = node(0, Body::Input);
    first.outputs[0].ty = ty.clone();
    steps[0].inputs[0].ty = ty;
    let mut nodes = vec![first];
    nodes.extend(steps);
    nodes.push(node(9, Body::Output));
    let edge = |pair: &[Node]| Edge { from: End { node: pair[0].id, port: 0 }, to: End { node: pair[1].id, port: 0 } };
    Graph { name: "asking".to_owned(), edges: nodes.windows(2).map(edge).collect(), nodes, regions: vec![] }
}

/// The artifact of a graph, with a manifest that says little.
pub fn sealed(graph: &Graph) -> Vec<u8> {
    let bytes = graph.to_bytes().expect("a valid graph");
    let module = auto_emit::emit(&bytes).expect("code for it").module;
    let none = Digest::of(b"");
    let manifest = Manifest {
        format: FORMAT,
        task: "asking".into(),
        scope: "task".into(),
        input: graph.input().expect("an input").outputs[0].ty.clone(),
        output: Type::Json,
        capabilities: graph.capabilities().iter().map(ToString::to_string).collect(),
        guarded: graph.is_guarded(),
        contract: none,
        evidence: none,
        eval_run: none,
        code: Digest::of(&module),
        observations: 0,
        agreement: None,
        coverage: None,
        out_of_fold: None,
        out_of_fold_rows: 0,
        steps: None,
        module_bytes: u32::try_from(module.len()).expect("a small module"),
        passes: vec![],
        trusted_gate: None,
        reusable: true,
        notes: vec![],
        judged: None,
    };
    cbin::seal(&module, Some(&bytes), &manifest).expect("an artifact")
}
