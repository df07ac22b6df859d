//! Graphs: every expression is rewritten, by what is sure of its inputs.

use auto_optimize::rewrite_program;
use auto_schema::ir::{Body, Bounds, Edge, Effects, End, Graph, Node, Port, Uncertainty};
use auto_schema::types::Type;

fn node(id: u32, inputs: &[&str], outputs: &[&str], body: Body) -> Node {
    let ports = |types: &[&str]| {
        let port = |(index, ty): (usize, &&str)| Port::new(format!("p{index}"), ty.parse::<Type>().unwrap());
        types.iter().enumerate().map(port).collect()
    };
    Node {
        id,
        name: format!("n{id}"),
        inputs: ports(inputs),
        outputs: ports(outputs),
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    }
}

fn expression(source: &str) -> Body {
    Body::Expression { source: source.to_owned() }
}

fn edge(from: u32, to: u32, port: u32) -> Edge {
    Edge { from: End { node: from, port: 0 }, to: End { node: to, port } }
}

fn sources(graph: &Graph) -> Vec<String> {
    let rewritten = rewrite_program(&graph.to_bytes().unwrap()).unwrap();
    let rewritten = Graph::from_bytes(&rewritten).unwrap();
    let source = |node: &Node| match &node.body {
        Body::Expression { source } => Some(source.clone()),
        Body::Branch { predicate } => Some(predicate.clone()),
        _ => None,
    };
    rewritten.nodes.iter().filter_map(source).collect()
}

#[test]
fn only_the_type_of_the_call_s_input_is_taken_for_granted() {
    let graph = Graph {
        name: "two".to_owned(),
        nodes: vec![
            node(0, &[], &["record{j: json, s: text}"], Body::Input),
            // Promises a text, and may give anything.
            node(1, &["record{j: json, s: text}"], &["text"], expression("if(true, $.j, 1)")),
            node(
                2,
                &["text", "record{j: json, s: text}"],
                &["json"],
                expression("[substr($.p0, 0), substr($.p1.s, 0)]"),
            ),
            node(3, &["json"], &[], Body::Output),
        ],
        edges: vec![edge(0, 1, 0), edge(1, 2, 0), edge(0, 2, 1), edge(2, 3, 0)],
        regions: vec![],
    };
    assert_eq!(sources(&graph), ["$.j", "[substr($.p0, 0), $.p1.s]"]);
}

#[test]
fn branches_and_what_is_behind_guards_are_rewritten() {
    let graph = Graph {
        name: "branch".to_owned(),
        nodes: vec![
            node(0, &[], &["text"], Body::Input),
            node(
                1,
                &["text", "text", "text"],
                &["text"],
                Body::Branch { predicate: "not(not(has($, \"'a'\")))".to_owned() },
            ),
            node(2, &["text"], &["text"], expression("trim(trim($))")),
            node(3, &["text"], &[], Body::Output),
        ],
        edges: vec![edge(0, 1, 0), edge(0, 1, 1), edge(0, 2, 0), edge(2, 1, 2), edge(1, 3, 0)],
        regions: vec![],
    };
    assert_eq!(sources(&graph), ["contains($, \"a\")", "trim($)"]);
}
