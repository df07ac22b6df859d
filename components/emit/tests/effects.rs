//! Graphs that choose, loop or ask: two engines and an interpreter agree on every request
//! and every answer, and a state is taken for what it is.

mod support;

use std::collections::BTreeSet;

use auto_json::Value;
use auto_schema::ir::{Body, Capability, Check, Graph, Guard, Node};
use auto_schema::types::{Field, Type};
use proptest::prelude::*;
use support::engines::{Machine, Wasmi, Wasmtime};
use support::flow::{Reply, interpret};
use support::{Novelty, Outcome, edge, node, ty};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

/// A node that asks for a tool.
fn ask(id: u32, tool: &str, input: &Type, output: &Type, catches: bool) -> Node {
    let body = Body::Effect { capability: format!("tool:{tool}"), catches };
    let mut made = node(id, &[("in", input)], &[output], body);
    made.effects.capabilities = vec![Capability::Tool(tool.to_owned())];
    made
}

fn expression(id: u32, inputs: &[(&str, &Type)], output: &Type, source: &str) -> Node {
    node(id, inputs, &[output], Body::Expression { source: source.to_owned() })
}

/// Nodes that follow each other, each with one input, between input and output.
fn row(input: &Type, nodes: Vec<Node>) -> Graph {
    let mut all = vec![node(0, &[], &[input], Body::Input)];
    let mut edges = Vec::new();
    for node in nodes {
        edges.push(edge(all[all.len() - 1].id, node.id, 0));
        all.push(node);
    }
    let last = all[all.len() - 1].clone();
    all.push(node(1000, &[("answer", &last.outputs[0].ty)], &[], Body::Output));
    edges.push(edge(last.id, 1000, 0));
    Graph { name: "row".to_owned(), nodes: all, edges, regions: Vec::new() }
}

fn emit(graph: &Graph) -> auto_emit::Emitted {
    auto_emit::emit(&graph.to_bytes().unwrap()).unwrap()
}

fn machine(graph: &Graph) -> Wasmi {
    Wasmi::new(&emit(graph).module)
}

fn request(outcome: &Outcome) -> (&str, &str, &[u8]) {
    match outcome {
        Outcome::Request { capability, input, state } => (capability, input, state),
        other => panic!("not a request: {other:?}"),
    }
}

fn abstained(reason: &str) -> Outcome {
    Outcome::Abstain(Novelty { reason: reason.to_owned(), score: 1_000_000, limit: 0 })
}

fn answered(text: &str) -> Outcome {
    Outcome::Answer(text.to_owned())
}

/// Classify, look up, answer.
fn lookup(catches: bool) -> Graph {
    let json = Type::Json;
    let answer = if catches { r#"default($.ok.name, concat("no: ", $.err))"# } else { "$.name" };
    row(
        &ty("record{id: text}"),
        vec![
            expression(1, &[("in", &ty("record{id: text}"))], &json, r#"{"key": upper($.id)}"#),
            ask(2, "look-up", &json, &json, catches),
            expression(3, &[("in", &json)], &json, answer),
        ],
    )
}

#[test]
fn a_tool_is_asked_and_its_reply_goes_on() {
    let mut machine = machine(&lookup(false));
    let asked = machine.run(br#"{"id": "x-7"}"#);
    let (capability, input, state) = request(&asked);
    assert_eq!((capability, input), ("tool:look-up", r#"{"key":"X-7"}"#));
    assert_eq!(machine.resume(state, Ok(br#" {"name": "Ann"} "#)), answered(r#""Ann""#));
    // The state says all: another instance goes on from it, and once more.
    assert_eq!(self::machine(&lookup(false)).resume(state, Ok(br#"{"name": 1.50}"#)), answered("1.5"));
    assert_eq!(machine.resume(state, Err(b"no such id")), abstained("effect-failed"));
    assert_eq!(machine.resume(state, Ok(b"{}")), abstained("undefined"));
    let bad = Outcome::BadInput("the reply: the JSON ends too early at byte 1".to_owned());
    assert_eq!(machine.resume(state, Ok(b"{")), bad);
}

#[test]
fn a_caught_error_is_a_value() {
    let mut machine = machine(&lookup(true));
    let asked = machine.run(br#"{"id": "x"}"#);
    let (_, _, state) = request(&asked);
    assert_eq!(machine.resume(state, Ok(br#"{"name": "Ann"}"#)), answered(r#""Ann""#));
    assert_eq!(machine.resume(state, Err("ge\"ht\n nicht ü".as_bytes())), answered(r#""no: ge\"ht\n nicht ü""#));
    let bad = Outcome::BadInput("the reply: not UTF-8 at byte 1".to_owned());
    assert_eq!(machine.resume(state, Err(b"\xFF")), bad);
}

#[test]
fn a_reply_of_another_type_ends_the_call() {
    let graph = row(&Type::Json, vec![ask(1, "n", &Type::Json, &ty("list<int>"), false)]);
    let mut machine = machine(&graph);
    let asked = machine.run(b"null");
    let (_, _, state) = request(&asked);
    assert_eq!(machine.resume(state, Ok(b"[1, 2]")), answered("[1,2]"));
    assert_eq!(machine.resume(state, Ok(b"[1, \"2\"]")), abstained("effect-type"));
}

#[test]
fn only_the_side_that_is_taken_asks() {
    let json = Type::Json;
    let graph = Graph {
        name: "sides".to_owned(),
        nodes: vec![
            node(0, &[], &[&json], Body::Input),
            ask(1, "yes", &json, &json, false),
            ask(2, "no", &json, &json, false),
            expression(3, &[("a", &json)], &json, "$.n"),
            node(
                4,
                &[("tested", &json), ("then", &json), ("else", &json)],
                &[&json],
                Body::Branch { predicate: "gt($, 0)".to_owned() },
            ),
            node(9, &[("answer", &json)], &[], Body::Output),
        ],
        edges: vec![
            edge(0, 1, 0),
            edge(0, 2, 0),
            edge(0, 3, 0),
            edge(3, 4, 0),
            edge(1, 4, 1),
            edge(2, 4, 2),
            edge(4, 9, 0),
        ],
        regions: Vec::new(),
    };
    let mut machine = machine(&graph);
    for (input, tool) in [(r#"{"n":1}"#, "tool:yes"), (r#"{"n":0}"#, "tool:no")] {
        let asked = machine.run(input.as_bytes());
        assert_eq!(request(&asked).0, tool);
        assert_eq!(request(&asked).1, input);
        assert_eq!(machine.resume(request(&asked).2, Ok(b"5")), answered("5"));
    }
    assert_eq!(machine.run(br#"{"n":"1"}"#), abstained("undefined"));
}

/// For each item of `$.items`, asks with the item and `$.by`.
fn for_each(most: u32) -> Graph {
    let (json, both) = (Type::Json, ty("record{by: json, item: json}"));
    let inner = row(&both, vec![ask(1, "step", &both, &json, false)]);
    let list = ty("list<json>");
    Graph {
        name: "loop".to_owned(),
        nodes: vec![
            node(0, &[], &[&json], Body::Input),
            expression(1, &[("in", &json)], &json, "$.items"),
            expression(2, &[("in", &json)], &json, "$.by"),
            node(3, &[("item", &json), ("by", &json)], &[&list], Body::Each { graph: Box::new(inner), most }),
            node(9, &[("answer", &list)], &[], Body::Output),
        ],
        edges: vec![edge(0, 1, 0), edge(0, 2, 0), edge(1, 3, 0), edge(2, 3, 1), edge(3, 9, 0)],
        regions: Vec::new(),
    }
}

#[test]
fn every_item_of_a_list_is_asked_about_in_order() {
    let mut machine = machine(&for_each(3));
    let mut outcome = machine.run(br#"{"items": ["a", "b", "c"], "by": 2}"#);
    for (item, reply) in [("a", "1"), ("b", "[2]"), ("c", "null")] {
        assert_eq!(request(&outcome).1, format!(r#"{{"by":2,"item":"{item}"}}"#));
        outcome = machine.resume(request(&outcome).2, Ok(reply.as_bytes()));
    }
    assert_eq!(outcome, answered("[1,[2],null]"));
    assert_eq!(machine.run(br#"{"items": [], "by": 2}"#), answered("[]"));
    assert_eq!(machine.run(br#"{"items": [1,2,3,4], "by": 2}"#), abstained("loop-bound"));
    assert_eq!(machine.run(br#"{"items": {}, "by": 2}"#), abstained("undefined"));
}

#[test]
fn a_retry_asks_until_the_answer_will_do() {
    let json = Type::Json;
    let inner = row(&json, vec![ask(1, "poll", &json, &json, true)]);
    let until = r#"default(eq($.ok, "ready"), false)"#.to_owned();
    let retry = node(1, &[("in", &json)], &[&json], Body::Retry { graph: Box::new(inner), until, most: 3 });
    let mut machine = machine(&row(&json, vec![retry]));
    let mut outcome = machine.run(b"7");
    for reply in [Err(&b"later"[..]), Ok(&b"\"not yet\""[..])] {
        assert_eq!(request(&outcome).1, "7");
        outcome = machine.resume(request(&outcome).2, reply);
    }
    let last = request(&outcome).2.to_vec();
    assert_eq!(machine.resume(&last, Ok(b"\"ready\"")), answered(r#"{"ok":"ready"}"#));
    assert_eq!(machine.resume(&last, Ok(b"\"no\"")), abstained("loop-bound"));
}

#[test]
fn the_guard_speaks_before_anything_is_asked() {
    let mut graph = lookup(false);
    let input = graph.nodes[0].outputs[0].ty.clone();
    let checks = vec![Check::Length { path: "/id".to_owned(), min: 1, max: 3 }];
    graph.nodes.push(node(50, &[("in", &input)], &[&input], Body::Guard(Guard { limit: 7, checks })));
    graph.edges[0] = edge(50, 1, 0);
    graph.edges.push(edge(0, 50, 0));
    let mut machine = machine(&graph);
    assert_eq!(request(&machine.run(br#"{"id":"abc"}"#)).0, "tool:look-up");
    let novelty = Novelty { reason: "length".to_owned(), score: 1_000_000, limit: 7 };
    assert_eq!(machine.run(br#"{"id":"abcd"}"#), Outcome::Abstain(novelty.clone()));
    assert_eq!(machine.assess(br#"{"id":"abcd"}"#), novelty);
}

#[test]
fn a_reply_unlike_all_recorded_ones_ends_the_call_before_it_is_used() {
    let reply = ty("record{country: text, rate: int}");
    let checks = vec![
        Check::Shape { ty: ty(r#"record{country: enum{"DE", "FR"}, rate: int}"#) },
        Check::Range { path: "/rate".to_owned(), min: "0".to_owned(), max: "27".to_owned() },
    ];
    let guarded = |first: Node| {
        let ty = first.outputs[0].ty.clone();
        vec![first, node(7, &[("in", &ty)], &[&ty], Body::Guard(Guard { limit: 9, checks: checks.clone() }))]
    };
    let nodes = guarded(ask(1, "geo", &Type::Json, &reply, false));
    let then = expression(8, &[("in", &reply)], &Type::Json, "$.rate");
    // At the top, and in the rounds of a loop.
    let once = row(&Type::Json, [nodes.clone(), vec![then]].concat());
    let inside = row(&Type::Json, nodes);
    let each = Body::Each { graph: Box::new(inside), most: 3 };
    let each = row(&Type::Json, vec![node(2, &[("in", &Type::Json)], &[&Type::list(reply)], each)]);
    let unlike = |reason: &str| Outcome::Abstain(Novelty { reason: reason.to_owned(), score: 1_000_000, limit: 9 });
    for (graph, input, like) in
        [(once, "1", answered("19")), (each, "[1]", answered(r#"[{"country":"DE","rate":19}]"#))]
    {
        let mut machine = machine(&graph);
        let asked = machine.run(input.as_bytes());
        let (_, _, state) = request(&asked);
        assert_eq!(machine.resume(state, Ok(br#"{"country":"DE","rate":19}"#)), like);
        assert_eq!(machine.resume(state, Ok(br#"{"country":"IT","rate":19}"#)), unlike("effect-shape"));
        assert_eq!(machine.resume(state, Ok(br#"{"country":"FR","rate":-999999999}"#)), unlike("effect-range"));
        assert_eq!(
            machine.resume(state, Ok(b"{}")).clone(),
            match unlike("effect-type") {
                Outcome::Abstain(novelty) => Outcome::Abstain(Novelty { limit: 0, ..novelty }),
                other => other,
            }
        );
    }
}

#[test]
fn a_failure_of_the_runner_is_never_handed_on() {
    let mut machine = machine(&lookup(true));
    let asked = machine.run(br#"{"id": "x"}"#);
    let (_, _, state) = request(&asked);
    assert_eq!(machine.resume(state, Err(b"runner-failed: tool-timeout: no reply")), abstained("effect-failed"));
    assert_eq!(machine.resume(state, Err(b"tool-timeout")), answered(r#""no: tool-timeout""#));
}

fn refused(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Unsupported(message) => message,
        other => panic!("not refused: {other:?}"),
    }
}

/// A state with the checksum it should have.
fn sealed(head: &[u8], lines: &[u8]) -> Vec<u8> {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
    let sum = head.iter().chain(lines).fold(0xCBF2_9CE4_8422_2325, step);
    [head, &sum.to_le_bytes(), lines].concat()
}

#[test]
fn every_flipped_bit_and_every_truncation_of_a_state_is_refused() {
    let mut machine = machine(&for_each(3));
    let mut outcome = machine.run(br#"{"items": ["a", "b"], "by": 2}"#);
    outcome = machine.resume(request(&outcome).2, Ok(b"{}"));
    let state = request(&outcome).2.to_vec();
    assert_eq!(state, sealed(&state[..36], b"{\"by\":2,\"items\":[\"a\",\"b\"]}\n+{}"));
    for at in 0..state.len() {
        for bit in 0..8 {
            let mut other = state.clone();
            other[at] ^= 1 << bit;
            refused(&machine.resume(&other, Ok(b"1")));
        }
        refused(&machine.resume(&state[..at], Ok(b"1")));
    }
    refused(&machine.resume(&[&state[..], b" "].concat(), Ok(b"1")));
    assert_eq!(machine.resume(&state, Ok(b"1")), answered("[{},1]"));
}

#[test]
fn a_state_of_another_artifact_is_refused() {
    let (mut one, mut other) = (machine(&for_each(3)), machine(&for_each(4)));
    let asked = one.run(br#"{"items": ["a"], "by": 2}"#);
    let state = request(&asked).2;
    assert_eq!(refused(&other.resume(state, Ok(b"1"))), "the state was made by another artifact");
}

#[test]
fn a_state_that_only_looks_right_is_refused() {
    let mut machine = machine(&lookup(false));
    let asked = machine.run(br#"{"id":"x"}"#);
    let state = request(&asked).2.to_vec();
    let mut with = |lines: &[u8]| machine.resume(&sealed(&state[..36], lines), Ok(br#"{"name":1}"#));
    assert_eq!(with(br#"{"id":"x"}"#), answered("1"));
    for odd in [
        &br#"{"id": "x"}"#[..],
        b"",
        b"\n",
        b"{\"id\":\"x\"}\n",
        b"{\"id\":\"x\"}\n1",
        b"{\"id\":\"x\"}\n+",
        b"{\"id\":\"x\"}\n+1.0e1",
        b"{\"id\":\"x\"}\n-1",
        b"{\"id\":\"x\"}\n*1",
        b"{\"id\":\"x\"}\n+1\n",
    ] {
        assert_eq!(refused(&with(odd)), "the state is not in canonical form", "{}", odd.escape_ascii());
    }
    // One more reply than there are effects.
    let more = "the state holds replies that nothing asked for";
    assert_eq!(refused(&with(b"{\"id\":\"x\"}\n+{\"name\":2}")), more);
    // The input is looked at again.
    assert_eq!(with(b"{}"), Outcome::BadInput("/id: expected text, got nothing".to_owned()));
    let large = sealed(&state[..36], format!("\"{}\"", "x".repeat(1 << 20)).as_bytes());
    assert_eq!(refused(&machine.resume(&large, Ok(b"1"))), "the state is larger than any that an artifact makes");
}

#[test]
fn what_needs_a_larger_state_than_there_may_be_abstains() {
    let mut machine = machine(&lookup(false));
    let mut run = |length: usize| machine.run(format!("{{\"id\":\"{}\"}}", "x".repeat(length)).as_bytes());
    // 44 bytes, and 9 around the text.
    assert_eq!(request(&run((1 << 20) - 53)).2.len(), 1 << 20);
    assert_eq!(run((1 << 20) - 52), abstained("state-limit"));
}

#[test]
fn values_as_deep_as_they_may_be_go_through_a_state() {
    let json = Type::Json;
    let graph = row(&json, vec![ask(1, "a", &json, &json, false), ask(2, "b", &json, &json, false)]);
    let mut machine = machine(&graph);
    let deep = format!("{}{}", "[".repeat(64), "]".repeat(64));
    let mut outcome = machine.run(deep.as_bytes());
    outcome = machine.resume(request(&outcome).2, Ok(deep.as_bytes()));
    assert_eq!(request(&outcome).1, deep);
    assert_eq!(machine.resume(request(&outcome).2, Ok(deep.as_bytes())), answered(&deep));
}

#[test]
fn modules_that_ask_are_webassembly_1_0_without_imports() {
    let emitted = emit(&for_each(3));
    Validator::new_with_features(WasmFeatures::WASM1).validate_all(&emitted.module).unwrap();
    let metered = WasmFeatures::WASM1 | WasmFeatures::MUTABLE_GLOBAL;
    Validator::new_with_features(metered).validate_all(&emitted.metered).unwrap();
    for payload in Parser::new(0).parse_all(&emitted.module) {
        assert!(!matches!(payload.unwrap(), Payload::ImportSection(_)));
    }
    let lifted = wit_component::ComponentEncoder::default().module(&emitted.module).unwrap().validate(true).encode();
    assert!(lifted.is_ok());
    assert!(emitted.module.len() < 22_000, "{}", emitted.module.len());
}

#[test]
fn what_flows_otherwise_is_named() {
    let json = Type::Json;
    let fault = |graph: &Graph| {
        let fault = auto_emit::emit(&graph.to_bytes().unwrap()).unwrap_err();
        (fault.code, fault.at.unwrap_or_default())
    };
    let guard = || Body::Guard(Guard { limit: 0, checks: vec![Check::Shape { ty: Type::Json }] });
    let inside = row(&json, vec![node(7, &[("in", &json)], &[&json], guard()), ask(1, "t", &json, &json, false)]);
    let retry = Body::Retry { graph: Box::new(inside), until: "true".to_owned(), most: 2 };
    let graph = row(&json, vec![node(2, &[("in", &json)], &[&json], retry)]);
    assert_eq!(fault(&graph), ("unsupported-node".to_owned(), "node 7".to_owned()));
    let mut model = row(&json, vec![ask(1, "t", &json, &json, false), node(7, &[("in", &json)], &[&json], guard())]);
    model.nodes[2].body = Body::Model { format: "tree".to_owned(), weights: vec![1] };
    model.nodes[2].uncertainty = auto_schema::ir::Uncertainty::Probabilistic;
    assert_eq!(fault(&model), ("unsupported-node".to_owned(), "node 7".to_owned()));
    let long = |count: u32| row(&json, (1..=count).map(|id| ask(id, "t", &json, &json, false)).collect());
    assert_eq!(fault(&long(257)).0, "too-large");
    // As long as may be: it runs on both engines.
    let emitted = emit(&long(256));
    for machine in [&mut Wasmi::new(&emitted.module) as &mut dyn Machine, &mut Wasmtime::new(&emitted.module)] {
        let mut outcome = machine.run(b"1");
        for _ in 0..255 {
            outcome = machine.resume(request(&outcome).2, Ok(b"1"));
        }
        assert_eq!(machine.resume(request(&outcome).2, Ok(b"1")), answered("1"));
    }
}

/// Choices, out of which graphs are made; 0 where they have run out.
struct Tape<'a>(std::slice::Iter<'a, u8>);

impl Tape<'_> {
    fn below(&mut self, count: usize) -> usize {
        usize::from(*self.0.next().unwrap_or(&0)) % count.max(1)
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

const SOURCES: &[&str] = &[
    "$",
    "{\"v\": $}",
    "[$, 1]",
    "default($.ok, $)",
    "$.a",
    "count($)",
    "default(first($), 7)",
    "[1, 2]",
    "$.p0",
    "if(default($.ok, false), 1, $)",
    "{\"a\": {\"a\": $}}",
    "map($, x => {\"i\": x})",
    "default($.p1, \"none\")",
];
const TESTS: &[&str] = &[
    "type_is($, \"record\")",
    "default(eq($.ok, true), false)",
    "eq($, 1)",
    "$",
    "true",
    "not(is_null($))",
    "default(gt($, 1), false)",
    "is_null($.err)",
    "type_is($, \"list\")",
];
const TYPES: &[&str] = &["json", "json", "json", "list<json>", "bool", "record{ok?: json, err?: text}"];

/// A valid graph from `input`.
fn random(tape: &mut Tape, input: Type, depth: usize) -> Graph {
    let mut graph = Graph { name: "random".to_owned(), ..Graph::default() };
    graph.nodes.push(node(0, &[], &[&input], Body::Input));
    let mut given: Vec<(u32, Type)> = vec![(0, input)];
    for id in 1..=1 + tape.below(6) as u32 {
        let (body, taken, output) = random_node(tape, &given, depth);
        let names: Vec<String> = (0..taken.len()).map(|port| format!("p{port}")).collect();
        let ports: Vec<(&str, &Type)> = names.iter().zip(&taken).map(|(name, (_, ty))| (name.as_str(), ty)).collect();
        let mut made = node(id, &ports, &[&output], body);
        if let Body::Effect { capability, .. } = &made.body {
            made.effects.capabilities = vec![Capability::parse(capability).unwrap()];
        }
        graph.nodes.push(made);
        graph.edges.extend(taken.iter().zip(0..).map(|((from, _), port)| edge(*from, id, port)));
        given.push((id, output));
    }
    // Whatever nothing takes goes into the answer.
    let taken: BTreeSet<u32> = graph.edges.iter().map(|edge| edge.from.node).collect();
    let loose: Vec<(u32, Type)> = given.into_iter().filter(|(id, _)| !taken.contains(id)).collect();
    let names: Vec<String> = (0..loose.len()).map(|port| format!("p{port}")).collect();
    let ports: Vec<(&str, &Type)> = names.iter().zip(&loose).map(|(name, (_, ty))| (name.as_str(), ty)).collect();
    graph.nodes.push(expression(90, &ports, &Type::Json, "$"));
    graph.edges.extend(loose.iter().zip(0..).map(|((from, _), port)| edge(*from, 90, port)));
    graph.nodes.push(node(91, &[("answer", &Type::Json)], &[], Body::Output));
    graph.edges.push(edge(90, 91, 0));
    graph
}

/// Whether an expression gives values of one type for some of another; a graph with one that does
/// not is refused.
fn is_typed(source: &str, input: &Type, output: &Type) -> bool {
    let given = auto_lang::type_of(&auto_lang::parse(source).unwrap(), input);
    given.is_ok_and(|given| auto_lang::accepts(output, &given))
}

/// A node, what it takes, and the type of what it gives.
fn random_node(tape: &mut Tape, given: &[(u32, Type)], depth: usize) -> (Body, Vec<(u32, Type)>, Type) {
    let any = |tape: &mut Tape| given[tape.below(given.len())].clone();
    let some = |tape: &mut Tape| (0..1 + tape.below(2)).map(|_| any(tape)).collect::<Vec<_>>();
    match tape.below(if depth == 0 { 4 } else { 6 }) {
        0 => {
            let capability = tape.of(&["tool:a", "tool:b", "model:m"]).to_owned();
            (Body::Effect { capability, catches: tape.below(2) == 1 }, vec![any(tape)], ty(tape.of(TYPES)))
        }
        1 | 2 => {
            let (source, taken) = (tape.of(SOURCES), some(tape));
            let source = if is_typed(source, &dollar(&taken, false), &Type::Json) { source } else { "$" };
            (Body::Expression { source: source.to_owned() }, taken, Type::Json)
        }
        3 => {
            let (tested, first) = (any(tape), any(tape));
            let other = given.iter().filter(|(_, ty)| *ty == first.1).cloned().collect::<Vec<_>>();
            let second = other[tape.below(other.len())].clone();
            let output = first.1.clone();
            let test = tape.of(TESTS);
            let predicate = if is_typed(test, &tested.1, &Type::Bool) { test } else { "is_null($)" }.to_owned();
            (Body::Branch { predicate }, vec![tested, first, second], output)
        }
        4 => {
            let taken = some(tape);
            let graph = Box::new(random(tape, dollar(&taken, false), depth - 1));
            let (until, most) = (tape.of(TESTS).to_owned(), 1 + tape.below(3) as u32);
            (Body::Retry { graph, until, most }, taken, Type::Json)
        }
        _ => {
            let mut taken = some(tape);
            let lists = given.iter().filter(|(_, ty)| matches!(ty, Type::List(_) | Type::Json)).cloned();
            let lists: Vec<(u32, Type)> = lists.collect();
            if lists.is_empty() {
                return (Body::Expression { source: "[$]".to_owned() }, taken, Type::Json);
            }
            taken[0] = lists[tape.below(lists.len())].clone();
            let graph = Box::new(random(tape, dollar(&taken, true), depth - 1));
            (Body::Each { graph, most: 1 + tape.below(3) as u32 }, taken, Type::list(Type::Json))
        }
    }
}

/// What the graph of a loop takes.
fn dollar(taken: &[(u32, Type)], each: bool) -> Type {
    let ty = |index: usize| match &taken[index].1 {
        Type::List(item) if each && index == 0 => (**item).clone(),
        ty => ty.clone(),
    };
    match taken.len() {
        1 => ty(0),
        count => Type::Record((0..count).map(|index| Field::new(format!("p{index}"), ty(index))).collect()).canonical(),
    }
}

fn reply() -> impl Strategy<Value = Reply> {
    let values = ["true", "1", "2", "null", "[1,2]", "[]", "{\"ok\":true}", "{\"a\":{\"a\":1}}", "\"text\"", "false"];
    prop_oneof![
        8 => prop::sample::select(values.to_vec()).prop_map(|text| Ok(Value::parse(text).unwrap())),
        2 => "[a-z\"é\n]{0,6}".prop_map(Err),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn artifacts_ask_and_answer_as_their_graphs_mean(
        choices in prop::collection::vec(any::<u8>(), 0..160),
        inputs in prop::collection::vec(prop::sample::select(vec![
            "1", "[1,2]", "{\"a\":1}", "{\"ok\":true}", "[[],{}]", "null", "{\"a\":[1],\"p0\":2}", "{", "[1, 2 ,3]",
        ]), 1..4),
        replies in prop::collection::vec(reply(), 12),
    ) {
        let mut tape = Tape(choices.iter());
        let input = ty(tape.of(&["json", "json", "list<int>", "record{a: json}"]));
        let graph = random(&mut tape, input, 2);
        prop_assert_eq!(graph.validate(), Ok(()));
        let emitted = auto_emit::emit(&graph.to_bytes().unwrap()).expect("emits");
        let mut interpreted = Wasmi::new(&emitted.module);
        let mut counted = Wasmi::new(&emitted.metered);
        let mut compiled = Wasmtime::new(&emitted.metered);
        for input in inputs {
            let mut outcome = interpreted.run(input.as_bytes());
            prop_assert_eq!(&compiled.run(input.as_bytes()), &outcome);
            prop_assert_eq!(&counted.run(input.as_bytes()), &outcome);
            prop_assert_eq!(counted.steps(), compiled.steps());
            for (index, reply) in replies.iter().enumerate() {
                let expected = interpret(&graph, input, &replies[..index]);
                let Outcome::Request { capability, input: asked, state } = &outcome else {
                    prop_assert_eq!(&outcome, &expected, "{}\n{}", input, graph);
                    break;
                };
                let wanted = Outcome::Request { capability: capability.clone(), input: asked.clone(), state: vec![] };
                prop_assert_eq!(&wanted, &expected, "{}\n{}", input, graph);
                let named = graph.capabilities().iter().any(|known| known.to_string() == *capability);
                prop_assert!(named, "{} is not among the capabilities", capability);
                let text = match reply {
                    Ok(value) => Ok(value.to_string()),
                    Err(message) => Err(message.clone()),
                };
                let bytes = text.as_ref().map(String::as_bytes).map_err(String::as_bytes);
                let next = interpreted.resume(state, bytes);
                prop_assert_eq!(&compiled.resume(state, bytes), &next);
                prop_assert_eq!(&counted.resume(state, bytes), &next);
                prop_assert_eq!(counted.steps(), compiled.steps());
                prop_assert_eq!(&Wasmi::new(&emitted.module).resume(state, bytes), &next);
                outcome = next;
            }
        }
    }
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(200)
}
