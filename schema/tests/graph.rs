//! Graphs: one encoding for one valid graph, every broken rule reported, no bytes that
//! are neither refused nor canonical.

mod common;

use std::collections::BTreeSet;

use auto_schema::digest::Digest;
use auto_schema::ir::{
    Body, Capability, Check, Edge, Effects, End, Graph, Guard, MAX_NESTING, MemoryEffect, Port, Region, Uncertainty,
    Violation,
};
use auto_schema::types::Type;
use common::{connect, edge, node, small_graph};
use proptest::prelude::*;

proptest! {
    #[test]
    fn a_graph_round_trips_byte_for_byte(graph in common::graph()) {
        prop_assert_eq!(graph.validate(), Ok(()));
        let bytes = graph.to_bytes().unwrap();
        let read = Graph::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&read, &graph);
        prop_assert_eq!(read.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn what_has_no_order_does_not_matter(graph in common::graph(), seed in any::<u64>()) {
        let mut shuffled = graph.clone();
        let mut shuffle = Shuffle(seed);
        shuffle.list(&mut shuffled.nodes);
        shuffle.list(&mut shuffled.edges);
        shuffle.list(&mut shuffled.regions);
        for node in &mut shuffled.nodes {
            shuffle.list(&mut node.effects.capabilities);
            shuffle.list(&mut node.effects.memory);
            for port in node.inputs.iter_mut().chain(&mut node.outputs) {
                if let Type::Record(fields) = &mut port.ty {
                    shuffle.list(fields);
                }
            }
        }
        shuffled.regions.iter_mut().for_each(|region| shuffle.list(&mut region.nodes));
        prop_assert_eq!(shuffled.to_bytes(), graph.to_bytes());
        prop_assert_eq!(shuffled.to_string(), graph.to_string());
    }

    #[test]
    fn damaged_bytes_are_refused_or_canonical(graph in common::graph(), damage in common::damage()) {
        let bytes = common::damaged(&graph.to_bytes().unwrap(), &damage);
        if let Ok(graph) = Graph::from_bytes(&bytes) {
            prop_assert_eq!(graph.to_bytes(), Ok(bytes));
        }
    }

    #[test]
    fn every_truncation_is_refused(graph in common::graph()) {
        let bytes = graph.to_bytes().unwrap();
        for length in 0..bytes.len() {
            prop_assert!(Graph::from_bytes(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn every_break_is_reported(graph in common::graph(), picks in prop::sample::subsequence(BREAKS, 1..5)) {
        let mut broken = graph;
        for (_, break_it) in &picks {
            break_it(&mut broken);
        }
        let wanted: BTreeSet<&str> = picks.iter().map(|(code, _)| *code).collect();
        let reported: BTreeSet<&str> = broken.validate().unwrap_err().iter().map(|wrong| wrong.code).collect();
        prop_assert!(reported.is_superset(&wanted), "broke {wanted:?}, reported {reported:?}");
        prop_assert_eq!(broken.to_bytes().unwrap_err(), broken.validate().unwrap_err());
    }

    #[test]
    fn the_text_form_shows_every_difference(a in common::graph(), b in common::graph()) {
        prop_assert_eq!(a == b, a.to_string() == b.to_string());
    }
}

type Break = (&'static str, fn(&mut Graph));

/// Ways to break any graph that [`common::graph`] makes, such that none mends another.
const BREAKS: &[Break] = &[
    ("duplicate-node", |graph| graph.nodes.push(graph.nodes[0].clone())),
    ("several-inputs", |graph| graph.nodes.push(node(free(graph), Body::Input, &[], Some(Type::Unit)))),
    ("several-outputs", |graph| {
        let sources = [(graph.input().unwrap().id, Type::Unit)];
        graph.nodes.push(node(free(graph), Body::Output, &sources, None));
    }),
    ("port-count", |graph| graph.nodes[0].outputs.push(Port::new("more", Type::Unit))),
    ("port-name", |graph| {
        graph.nodes.iter_mut().for_each(|node| node.inputs.iter_mut().for_each(|port| port.name.clear()))
    }),
    ("unknown-node", |graph| graph.edges.push(edge(unknown(graph), graph.nodes[0].id, 0))),
    ("unknown-port", |graph| graph.edges.push(edge(graph.nodes[0].id, graph.nodes[0].id, 99))),
    ("duplicate-edge", |graph| graph.edges.push(graph.edges[0])),
    ("unused", |graph| {
        let id = free(graph);
        let input = graph.nodes.iter().find(|node| node.body == Body::Input).unwrap();
        let sources = [(input.id, input.outputs[0].ty.clone())];
        graph.nodes.push(node(id, Body::Expression { source: "$".into() }, &sources, Some(Type::Json)));
        connect(graph, &sources, id);
    }),
    ("undriven", |graph| {
        let id = free(graph);
        graph.nodes.push(node(id, Body::Expression { source: "$".into() }, &[(id, Type::Json)], Some(Type::Json)));
    }),
    ("cycle", |graph| {
        let id = free(graph);
        graph.nodes.push(node(id, Body::Expression { source: "$".into() }, &[(id, Type::Json)], Some(Type::Json)));
        graph.edges.push(edge(id, id, 0));
    }),
    ("effects", |graph| graph.nodes.iter_mut().for_each(|node| node.effects.memory = vec![MemoryEffect::Read; 2])),
    ("capability", |graph| {
        let id = free(graph);
        graph.nodes.push(node(
            id,
            Body::Effect { capability: "teleport".into(), catches: false },
            &[(0, Type::Json)],
            Some(Type::Json),
        ));
    }),
    ("uncertainty", |graph| {
        graph.nodes.iter_mut().for_each(|node| {
            node.uncertainty = match node.body {
                Body::Model { .. } => Uncertainty::Deterministic,
                _ => Uncertainty::Generative,
            };
        })
    }),
    ("region", |graph| graph.regions.push(Region { name: String::new(), nodes: vec![] })),
    ("rounds", |graph| {
        let id = free(graph);
        let body = Body::Retry { graph: Box::new(small_graph()), until: "true".into(), most: 0 };
        graph.nodes.push(node(id, body, &[(0, Type::Json)], Some(Type::Json)));
    }),
];

/// An id that no node has.
fn free(graph: &Graph) -> u32 {
    (0..).find(|id| graph.node(*id).is_none()).unwrap()
}

/// An id that no node has, nor gets from [`free`].
fn unknown(graph: &Graph) -> u32 {
    (0..=u32::MAX).rev().find(|id| graph.node(*id).is_none()).unwrap()
}

/// A small generator of permutations.
struct Shuffle(u64);

impl Shuffle {
    fn list<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            items.swap(end, (self.0 >> 33) as usize % (end + 1));
        }
    }
}

/// The violations of the small graph after a change, as `code at`.
fn after(change: impl FnOnce(&mut Graph)) -> Vec<String> {
    let mut graph = small_graph();
    change(&mut graph);
    let wrong = graph.validate().err().unwrap_or_default();
    wrong.iter().map(|wrong| format!("{} {}", wrong.code, wrong.at)).collect()
}

fn guard(graph: &mut Graph) -> &mut Guard {
    graph
        .nodes
        .iter_mut()
        .find_map(|node| if let Body::Guard(guard) = &mut node.body { Some(guard) } else { None })
        .unwrap()
}

#[test]
fn each_rule_alone() {
    let text = |source: &str| Body::Expression { source: source.to_owned() };
    assert_eq!(after(|_| {}), [""; 0]);
    assert_eq!(after(|graph| graph.nodes[2].id = 1)[0], "duplicate-node node 1");
    assert_eq!(after(|graph| graph.nodes[2].body = text(" ")), ["body node 2"]);
    assert_eq!(after(|graph| graph.nodes[3].inputs[0].name.clear()), ["port-name node 3, input 0"]);
    assert_eq!(after(|graph| graph.nodes[3].inputs[0].ty = Type::Json), ["type-mismatch edge 2.0 -> 3.0"]);
    assert_eq!(
        after(|graph| graph.nodes[3].inputs[0].ty = Type::Enum(vec![])),
        ["port-type node 3, input 0", "type-mismatch edge 2.0 -> 3.0"]
    );
    assert_eq!(
        after(|graph| graph.nodes[1].outputs[0].ty = Type::Json),
        ["port-type node 1, input 0", "type-mismatch edge 1.0 -> 2.0"]
    );
    assert_eq!(
        after(|graph| graph.edges[2].from.port = 7),
        ["unknown-port edge 2.7 -> 3.0", "undriven node 3, input 0", "unused node 0", "unused node 1", "unused node 2"]
    );
    assert_eq!(after(|graph| graph.edges.push(graph.edges[1])), ["duplicate-edge edge 1.0 -> 2.0"]);
    assert_eq!(after(|graph| graph.edges.push(edge(0, 2, 0))), ["driven-twice node 2, input 0"]);
    assert_eq!(
        after(|graph| graph.edges[0].from.node = 1),
        ["undriven node 1, input 0", "cycle node 1", "unused node 0"][1..]
    );
    assert_eq!(after(|graph| graph.nodes[2].effects.memory.push(MemoryEffect::Append)), ["effects node 2"]);
    assert_eq!(after(|graph| graph.nodes[2].uncertainty = Uncertainty::Probabilistic), ["uncertainty node 2"]);
    assert_eq!(after(|graph| graph.regions.push(graph.regions[0].clone())), ["region region \"all\""]);
    assert_eq!(after(|graph| graph.regions[0].nodes = vec![1, 1]), ["region region \"all\""]);
    assert_eq!(after(|graph| graph.regions[0].nodes = vec![9]), ["unknown-node region \"all\""]);
    assert_eq!(after(|graph| *graph = Graph::default()), ["no-input ", "no-output "]);
}

#[test]
fn rules_of_models_effects_and_branches() {
    let as_model = |graph: &mut Graph| {
        graph.nodes[2].body = Body::Model { format: "tree".to_owned(), weights: vec![1] };
    };
    assert_eq!(after(as_model), ["uncertainty node 2"]);
    let ask = |graph: &mut Graph, capability: &str, declared: &[Capability]| {
        graph.nodes[2].body = Body::Effect { capability: capability.to_owned(), catches: false };
        graph.nodes[2].effects = Effects { capabilities: declared.to_vec(), memory: vec![MemoryEffect::Read] };
    };
    let tool = || Capability::Tool("calc".to_owned());
    assert_eq!(after(|graph| ask(graph, "tool:calc", &[Capability::Net, tool()])), [""; 0]);
    assert_eq!(after(|graph| ask(graph, "net", &[tool()])), ["capability node 2"]);
    assert_eq!(after(|graph| ask(graph, "calc", &[tool()])), ["capability node 2"]);
    assert_eq!(after(|graph| ask(graph, "net", &[Capability::Net, Capability::Net])), ["effects node 2"]);
    assert_eq!(
        after(|graph| ask(graph, "net", &[Capability::Net, Capability::Tool(String::new())])),
        ["capability node 2"]
    );
    // Memory is declared as memory effects, and only so.
    let memory = Capability::Memory(MemoryEffect::Read);
    assert_eq!(after(|graph| ask(graph, "memory:read", &[])), [""; 0]);
    assert_eq!(after(|graph| ask(graph, "memory:append", &[])), ["capability node 2"]);
    assert_eq!(after(|graph| ask(graph, "memory:read", std::slice::from_ref(&memory))), ["capability node 2"]);
    assert_eq!(after(|graph| ask(graph, "memory:forget", &[])), ["capability node 2"]);
    let as_branch = |sides: Type| {
        move |graph: &mut Graph| {
            let ty = graph.nodes[1].outputs[0].ty.clone();
            let sources = [(1, ty.clone()), (1, sides.clone()), (1, ty)];
            graph.nodes[2] = node(2, Body::Branch { predicate: "true".to_owned() }, &sources, Some(sides));
            graph.edges.extend([edge(1, 2, 1), edge(1, 2, 2)]);
        }
    };
    assert_eq!(after(as_branch(Type::Text)), ["port-type node 2, input 2", "type-mismatch edge 1.0 -> 2.1"]);
}

/// The small graph as the graph of a loop, in a graph of its own.
fn looped(body: impl FnOnce(Box<Graph>) -> Body, input: &str, output: &str) -> Graph {
    let (input, output): (Type, Type) = (input.parse().unwrap(), output.parse().unwrap());
    let sources = [(0, input.clone())];
    Graph {
        name: "looped".to_owned(),
        nodes: vec![
            node(0, Body::Input, &[], Some(input)),
            node(1, body(Box::new(small_graph())), &sources, Some(output.clone())),
            node(2, Body::Output, &[(1, output)], None),
        ],
        edges: vec![edge(0, 1, 0), edge(1, 2, 0)],
        regions: vec![],
    }
}

#[test]
fn rules_of_loops() {
    const ITEM: &str = "record{doc: text, tags?: list<text>}";
    let wrong = |graph: &Graph| -> Vec<String> {
        let wrong = graph.validate().err().unwrap_or_default();
        wrong.iter().map(|wrong| format!("{} {}", wrong.code, wrong.at)).collect()
    };
    let each = |most| move |graph| Body::Each { graph, most };
    let retry = |most| move |graph| Body::Retry { graph, until: "true".to_owned(), most };
    let list = format!("list<{ITEM}>");
    assert_eq!(wrong(&looped(each(1), &list, "list<text>")), [""; 0]);
    assert_eq!(wrong(&looped(each(10_000), &list, "list<text>")), [""; 0]);
    assert_eq!(wrong(&looped(each(0), &list, "list<text>")), ["rounds node 1"]);
    assert_eq!(wrong(&looped(each(10_001), &list, "list<text>")), ["rounds node 1"]);
    assert_eq!(wrong(&looped(each(9), &list, "text")), ["port-type node 1, output 0"]);
    assert_eq!(wrong(&looped(each(9), "list<text>", "list<text>")), ["port-type node 1"]);
    assert_eq!(wrong(&looped(each(9), "json", "list<text>")), ["port-type node 1"]);
    assert_eq!(wrong(&looped(each(9), ITEM, "list<text>")), ["port-type node 1, input 0"]);
    assert_eq!(wrong(&looped(retry(9), ITEM, "text")), [""; 0]);
    assert_eq!(wrong(&looped(retry(9), ITEM, "json")), ["port-type node 1, output 0"]);
    let empty = |graph| Body::Retry { graph, until: " ".to_owned(), most: 9 };
    assert_eq!(wrong(&looped(empty, ITEM, "text")), ["body node 1"]);
    // What is wrong inside is reported with its place.
    let broken = |mut graph: Box<Graph>| {
        graph.nodes[2].body = Body::Expression { source: String::new() };
        Body::Each { graph, most: 9 }
    };
    assert_eq!(wrong(&looped(broken, &list, "list<text>")), ["body node 1, node 2"]);
    // Several ports: the record of them, with the item in the place of the list.
    let mut outer = looped(each(9), "list<int>", "list<json>");
    outer.nodes[1].inputs.push(Port::new("by", "list<int>".parse().unwrap()));
    outer.edges.insert(1, edge(0, 1, 1));
    let Body::Each { graph, .. } = &mut outer.nodes[1].body else { panic!() };
    let both: Type = "record{by: list<int>, in0: int}".parse().unwrap();
    **graph = Graph {
        nodes: vec![
            node(0, Body::Input, &[], Some(both.clone())),
            node(1, Body::Expression { source: "$.by".to_owned() }, &[(0, both)], Some(Type::Json)),
            node(2, Body::Output, &[(1, Type::Json)], None),
        ],
        edges: vec![edge(0, 1, 0), edge(1, 2, 0)],
        ..Graph::default()
    };
    assert_eq!(wrong(&outer), [""; 0]);
    assert_eq!(Graph::from_bytes(&outer.to_bytes().unwrap()).unwrap(), outer);
}

/// A loop in a loop, so deep.
fn nested(depth: usize) -> Graph {
    let json = "json".parse::<Type>().unwrap();
    let body = match depth {
        0 => Body::Effect { capability: "tool:t".to_owned(), catches: true },
        depth => Body::Retry { graph: Box::new(nested(depth - 1)), until: "true".to_owned(), most: 2 },
    };
    let mut middle = node(1, body, &[(0, json.clone())], Some(json.clone()));
    if depth == 0 {
        middle.effects.capabilities = vec![Capability::Net, Capability::Tool("t".to_owned())];
    }
    Graph {
        name: String::new(),
        nodes: vec![node(0, Body::Input, &[], Some(json.clone())), middle, node(2, Body::Output, &[(1, json)], None)],
        edges: vec![edge(0, 1, 0), edge(1, 2, 0)],
        regions: vec![],
    }
}

#[test]
fn loops_nest_so_deep_and_no_deeper() {
    let deepest = nested(MAX_NESTING);
    assert_eq!(Graph::from_bytes(&deepest.to_bytes().unwrap()).unwrap(), deepest);
    let wrong = nested(MAX_NESTING + 1).to_bytes().unwrap_err();
    assert_eq!((wrong[0].code, wrong[0].at.as_str()), ("nesting", "node 1, node 1, node 1, node 1, node 1"));
}

#[test]
fn capabilities_are_what_can_be_asked_for() {
    // What an effect node declares beside what it asks for is not asked for.
    assert_eq!(nested(0).capabilities(), [Capability::Tool("t".to_owned())]);
    assert_eq!(nested(3).capabilities(), [Capability::Tool("t".to_owned())]);
    // Code from elsewhere may ask for all that it declares, memory included.
    let mut elsewhere = nested(0);
    elsewhere.nodes[1].body = Body::Module { digest: Digest::of(b"") };
    elsewhere.nodes[1].effects.memory = vec![MemoryEffect::Append];
    let all = [Capability::Net, Capability::Tool("t".to_owned()), Capability::Memory(MemoryEffect::Append)];
    assert_eq!(elsewhere.capabilities(), all);
}

/// Texts are written once and named where they occur again; that must not make the bytes
/// look like more than they are.
#[test]
fn a_long_type_in_many_places_reads_back() {
    let fields: Vec<String> = (0..200).map(|field| format!("a_field_{field}: text")).collect();
    let ty: Type = format!("record{{{}}}", fields.join(", ")).parse().unwrap();
    let count = 100;
    let mut graph = Graph { nodes: vec![node(0, Body::Input, &[], Some(ty.clone()))], ..Graph::default() };
    for id in 1..=count {
        let sources = [(id - 1, ty.clone())];
        graph.nodes.push(node(id, Body::Expression { source: "$".to_owned() }, &sources, Some(ty.clone())));
        connect(&mut graph, &sources, id);
    }
    graph.nodes.push(node(count + 1, Body::Output, &[(count, ty)], None));
    graph.edges.push(edge(count, count + 1, 0));
    assert_eq!(Graph::from_bytes(&graph.to_bytes().unwrap()).unwrap(), graph);
}

#[test]
fn rules_of_guards() {
    let with = |check: Check| after(move |graph| guard(graph).checks = vec![check]);
    let at = |path: &str| path.to_owned();
    let broken = ["guard node 1, check 0"];
    assert_eq!(after(|graph| guard(graph).limit = 1_000_001), ["guard node 1"]);
    assert_eq!(after(|graph| guard(graph).checks.clear()), ["guard node 1"]);
    assert_eq!(with(Check::Length { path: at("/tags"), min: 0, max: 9 }), [""; 0]);
    assert_eq!(with(Check::Length { path: at("/tags"), min: 2, max: 1 }), broken);
    assert_eq!(with(Check::Length { path: at("tags"), min: 0, max: 1 }), broken);
    assert_eq!(with(Check::Length { path: at("/tag"), min: 0, max: 1 }), broken);
    assert_eq!(with(Check::Length { path: at(""), min: 0, max: 1 }), broken);
    assert_eq!(with(Check::Characters { path: at("/doc"), classes: 256 }), broken);
    assert_eq!(with(Check::Characters { path: at("/tags"), classes: 1 }), broken);
    assert_eq!(with(Check::Range { path: at("/doc"), min: at("0"), max: at("1") }), broken);
    assert_eq!(with(Check::Sketch { path: at("/doc"), bits: 2, table: vec![0] }), broken);
    assert_eq!(with(Check::Sketch { path: at("/doc"), bits: 3, table: vec![0] }), [""; 0]);
    assert_eq!(with(Check::Sketch { path: at("/doc"), bits: 3, table: vec![0, 0] }), broken);
    assert_eq!(with(Check::Sketch { path: at("/doc"), bits: 25, table: vec![0; 1 << 22] }), broken);
    assert_eq!(with(Check::Shape { ty: Type::Enum(vec![]) }), broken);
    let numbers = |min: &str, max: &str| {
        let check = Check::Range { path: at("/n"), min: at(min), max: at(max) };
        after(move |graph| {
            let ty: Type = "record{n: number}".parse().unwrap();
            graph.nodes[0].outputs[0].ty = ty.clone();
            graph.nodes[1].inputs[0].ty = ty.clone();
            graph.nodes[1].outputs[0].ty = ty.clone();
            graph.nodes[2].inputs[0].ty = ty;
            guard(graph).checks = vec![check];
        })
    };
    assert_eq!(numbers("-0.5", "3"), [""; 0]);
    assert_eq!(numbers("3", "3.0"), [""; 0]);
    for (min, max) in [("3", "2"), ("03", "4"), ("1", "1.50"), ("", "1"), ("1", "null"), ("1", "1e3")] {
        assert_eq!(numbers(min, max), broken, "{min} {max}");
    }
}

#[test]
fn every_member_of_every_cycle_is_named_once() {
    let mut graph = small_graph();
    let mut add = |id: u32, from: &[u32]| {
        let sources: Vec<(u32, Type)> = from.iter().map(|&id| (id, Type::Json)).collect();
        graph.nodes.push(node(id, Body::Expression { source: "$".to_owned() }, &sources, Some(Type::Json)));
        connect(&mut graph, &sources, id);
    };
    // A circle of three with a chord, one of two fed by it, one of one, and a chain after all.
    add(10, &[12]);
    add(11, &[10]);
    add(12, &[11, 10]);
    add(20, &[21, 12]);
    add(21, &[20]);
    add(30, &[30]);
    add(40, &[21, 30]);
    add(41, &[40]);
    let wrong = graph.validate().unwrap_err();
    let cycles: BTreeSet<String> =
        wrong.iter().filter(|wrong| wrong.code == "cycle").map(Violation::to_string).collect();
    let wanted = ["node 10: nodes 10, 11, 12", "node 20: nodes 20, 21", "node 30: nodes 30"]
        .map(|start| format!("{start} depend on themselves in a circle [cycle]"));
    assert_eq!(cycles, BTreeSet::from(wanted));
}

#[test]
fn a_long_chain_needs_no_deep_stack() {
    const LENGTH: u32 = 200_000;
    let mut graph = Graph { name: "chain".to_owned(), ..Graph::default() };
    graph.nodes.push(node(0, Body::Input, &[], Some(Type::Int)));
    for id in 1..LENGTH {
        let sources = [(id - 1, Type::Int)];
        graph.nodes.push(node(id, Body::Module { digest: Digest([7; 32]) }, &sources, Some(Type::Int)));
        connect(&mut graph, &sources, id);
    }
    graph.nodes.push(node(LENGTH, Body::Output, &[(LENGTH - 1, Type::Int)], None));
    connect(&mut graph, &[(LENGTH - 1, Type::Int)], LENGTH);
    assert_eq!(graph.validate(), Ok(()));
    graph.edges[0] = edge(LENGTH - 1, 1, 0);
    let codes: Vec<&str> = graph.validate().unwrap_err().iter().map(|wrong| wrong.code).collect();
    assert_eq!(codes, ["cycle", "unused"]);
}

#[test]
fn too_much_content_is_refused_before_it_is_written() {
    let mut graph = small_graph();
    graph.nodes[2].body = Body::Model { format: "raw".to_owned(), weights: vec![0; auto_schema::ir::MAX_CONTENT] };
    graph.nodes[2].uncertainty = Uncertainty::Probabilistic;
    assert_eq!(graph.to_bytes().unwrap_err()[0].code, "too-large");
}

#[test]
fn the_list_of_violations_has_an_end() {
    let mut graph = small_graph();
    graph.edges.extend((0..5000).map(|id| edge(id + 100, id, 1)));
    let wrong = graph.validate().unwrap_err();
    assert_eq!(wrong.len(), auto_schema::MAX_VIOLATIONS + 1);
    assert!(wrong.last().unwrap().to_string().starts_with("and "));
}

#[test]
fn guarded_means_that_nothing_gets_past() {
    let mut graph = small_graph();
    assert!(graph.is_guarded());
    let raw = Port::new("raw", graph.nodes[0].outputs[0].ty.clone());
    graph.nodes[2].inputs.push(raw);
    graph.edges.push(Edge { from: End { node: 0, port: 0 }, to: End { node: 2, port: 1 } });
    assert_eq!(graph.validate(), Ok(()));
    assert!(!graph.is_guarded());
    assert!(!Graph::default().is_guarded());
}

#[test]
fn capabilities_read_back() {
    let all = [Capability::Net, Capability::Fs, Capability::Exec, Capability::Secrets, Capability::Payments];
    for capability in all.into_iter().chain([
        Capability::Tool("net".to_owned()),
        Capability::Tool("tool:x y".to_owned()),
        Capability::Tool("model:x".to_owned()),
        Capability::Model("gpt-4o".to_owned()),
        Capability::Memory(MemoryEffect::Read),
        Capability::Memory(MemoryEffect::Write),
        Capability::Memory(MemoryEffect::Append),
    ]) {
        assert_eq!(Capability::parse(&capability.to_string()), Some(capability));
    }
    for text in ["", "Net", "tool:", "tool", "calc", "model:", "model"] {
        assert_eq!(Capability::parse(text), None, "{text}");
    }
}

#[test]
fn the_text_form() {
    let mut graph = small_graph();
    graph.nodes[2].bounds.steps = Some(9);
    assert_eq!(
        graph.to_string(),
        r#"graph "small" {
  node 0 input "n0" () -> ("out": record{doc: text, tags?: list<text>}) deterministic
  node 1 guard "n1" ("in0": record{doc: text, tags?: list<text>}) -> ("out": record{doc: text, tags?: list<text>}) deterministic
    limit 50000 ppm
    check shape record{doc: text, tags?: list<text>}
    check length "/doc" 1..=80
    check characters "/tags/*" 0b00000101
    check sketch "/doc" 4 bits, 2 bytes sha256 0bd6a2374f2ed2dc8134e0e029856694f8bd754e0811da5851bd5ccc836e5d6b
  node 2 expression "n2" ("in0": record{doc: text, tags?: list<text>}) -> ("out": text) deterministic steps<=9
    trim($.doc)
  node 3 output "n3" ("in0": text) -> () deterministic
  edge 0.0 -> 1.0
  edge 1.0 -> 2.0
  edge 2.0 -> 3.0
  region "all" { 0, 1, 2, 3 }
}
"#
    );
}
