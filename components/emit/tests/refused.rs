//! What is no well-typed graph is refused by every pass that takes one, with the same code.

mod support;

use auto_kit::Fault;
use auto_schema::types::Type;
use proptest::prelude::*;
use support::{chain, ty};

/// The codes with which check, optimize and emit refuse; `None` for one that does not.
fn codes(graph: &[u8]) -> [Option<String>; 3] {
    let code = |result: Result<(), Fault>| result.err().map(|fault| fault.code);
    [
        code(auto_check::read(graph).map(drop)),
        code(auto_optimize::rewrite_program(graph).map(drop)),
        code(auto_emit::emit(graph).map(drop)),
    ]
}

fn refused(graph: &[u8], wanted: &str) {
    let wanted = Some(wanted.to_owned());
    assert_eq!(codes(graph), [wanted.clone(), wanted.clone(), wanted]);
}

fn graph(input: &str, source: &str) -> Vec<u8> {
    chain(&ty(input), None, &[source]).to_bytes().unwrap()
}

#[test]
fn expressions_that_are_none_or_never_defined_are_refused_alike() {
    for source in ["lower(", "nothing($)", "lower($, $)", "x", "token($, \"nothing\", 0)", "cut($, \"^\", \"1\")"] {
        refused(&graph("json", source), "bad-expression");
    }
    let deep = format!("{}$.a{}", "lower(".repeat(400), ")".repeat(400));
    refused(&graph("json", &deep), "bad-expression");
    for (input, source) in [
        ("int", "lower($)"),
        ("record{a: int}", "$.b"),
        ("list<text>", "sum($)"),
        ("text", "date_part($, \"year\").x"),
        ("record{a: int}", "merge($, 3)"),
        ("list<list<int>>", "sort_by($, x => x)"),
    ] {
        refused(&graph(input, source), "bad-type");
    }
    assert_eq!(codes(&graph("json", "lower($)")), [None, None, None]);
}

#[test]
fn a_promise_that_is_not_kept_is_refused_alike() {
    let mut given = chain(&Type::Text, None, &["lower($)"]);
    given.nodes[1].outputs[0].ty = Type::Int;
    given.nodes[2].inputs[0].ty = Type::Int;
    refused(&given.to_bytes().unwrap(), "bad-type");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bytes_that_are_no_graph_are_refused_alike(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        refused(&bytes, "bad-graph");
        let mut graph = graph("text", "upper($)");
        let at = at.index(graph.len());
        graph[at] ^= flip;
        let codes = codes(&graph);
        // A letter of a name may be another one.
        prop_assert!(codes.iter().all(|code| *code == codes[0]), "{:?}", codes);
    }
}
