//! The interface as the host calls it.

use auto_kit::testing::observations;
use auto_schema::ir::{Body, Bounds, Edge, Effects, End, Graph, Node, Port, Uncertainty};
use auto_schema::types::Type;

use super::explaining::Guest as _;
use super::wit::Guest as _;
use super::*;

fn program(source: &str) -> Vec<u8> {
    let node = |id: u32, name: &str, inputs: usize, outputs: usize, body: Body| Node {
        id,
        name: name.to_owned(),
        inputs: vec![Port::new("value", Type::Json); inputs],
        outputs: vec![Port::new("value", Type::Json); outputs],
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    };
    let edge = |from: u32, to: u32| Edge { from: End { node: from, port: 0 }, to: End { node: to, port: 0 } };
    let graph = Graph {
        name: "test".to_owned(),
        nodes: vec![
            node(0, "input", 0, 1, Body::Input),
            node(1, "rule", 1, 1, Body::Expression { source: source.to_owned() }),
            node(2, "output", 1, 0, Body::Output),
        ],
        edges: vec![edge(0, 1), edge(1, 2)],
        regions: vec![],
    };
    graph.to_bytes().unwrap()
}

#[test]
fn counterexamples_are_the_first_and_the_smallest() {
    let on = observations([
        ("{\"a\": \"one\"}", "\"ONE\""),
        ("{\"a\": \"onewrong\"}", "\"x\""),
        ("{\"a\": \"w\"}", "\"y\""),
        ("{\"b\": 1}", "null"),
        // The most frequent output counts.
        ("{\"a\": \"two\"}", "\"TWO\""),
        ("{\"a\": \"two\"}", "\"TWO\""),
        ("{\"a\": \"two\"}", "\"other\""),
    ]);
    let finding = Component::check(program("upper($.a)"), on).unwrap();
    assert_eq!((finding.checked, finding.agreeing), (5, 2));
    let found: Vec<_> = finding
        .counterexamples
        .iter()
        .map(|found| (found.input.as_str(), found.expected.as_str(), found.got.as_deref(), found.at.as_str()))
        .collect();
    assert_eq!(
        found,
        [("{\"a\":\"onewrong\"}", "\"x\"", Some("\"ONEWRONG\""), "upper($.a)"), ("{\"b\":1}", "null", None, "$.a"),]
    );
}

#[test]
fn what_cannot_be_read_is_a_fault() {
    assert_eq!(Component::check(vec![1, 2, 3], vec![]).unwrap_err().code, "bad-graph");
    assert_eq!(Component::check(program("nope($)"), vec![]).unwrap_err().code, "bad-expression");
    let fault = Component::explain(program("$"), Some("{".to_owned())).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-json", Some("/input")));
    assert!(Component::explain(program("$"), Some("1".to_owned())).unwrap().ends_with("answer: 1\n"));
}

/// Half of a hundred thousand contradict the program: all are counted, the first is named.
#[test]
fn a_hundred_thousand_observations_are_checked() {
    let rows: Vec<(String, String)> =
        (0..100_000u32).map(|number| (number.to_string(), (number + (number + 1) % 2).to_string())).collect();
    let on = observations(rows.iter().map(|(input, output)| (input.as_str(), output.as_str())));
    let finding = Component::check(program("add($, 1)"), on).unwrap();
    assert_eq!((finding.checked, finding.agreeing), (100_000, 50_000));
    assert_eq!(finding.counterexamples.first().map(|found| found.input.as_str()), Some("1"));
}
