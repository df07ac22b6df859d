//! Through which of its branches a rule may answer, seen through the evaluator.

use auto_guard::{Answer, agree, narrow};
use auto_json::Value;
use auto_lang::{eval, parse};
use auto_schema::ir::{Body, Bounds, Edge, Effects, End, Graph, Node, Port, Uncertainty};
use auto_schema::types::Type;
use proptest::prelude::*;

/// A graph of one expression.
fn graph(source: &str, input: &str, output: &str) -> Graph {
    let (input, output): (Type, Type) = (input.parse().unwrap(), output.parse().unwrap());
    let node = |id: u32, inputs: Vec<Port>, outputs: Vec<Port>, body: Body| Node {
        id,
        name: format!("n{id}"),
        inputs,
        outputs,
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    };
    let edge = |from: u32, to: u32| Edge { from: End { node: from, port: 0 }, to: End { node: to, port: 0 } };
    let port = |name: &str, ty: &Type| vec![Port::new(name, ty.clone())];
    let source = parse(source).unwrap().to_string();
    Graph {
        name: "rule".to_owned(),
        nodes: vec![
            node(0, vec![], port("value", &input), Body::Input),
            node(1, port("in", &input), port("out", &output), Body::Expression { source }),
            node(2, port("value", &output), vec![], Body::Output),
        ],
        edges: vec![edge(0, 1), edge(1, 2)],
        regions: vec![],
    }
    .canonical()
}

fn source(graph: &Graph) -> String {
    let source = graph.nodes.iter().find_map(|node| match &node.body {
        Body::Expression { source } => Some(source.clone()),
        _ => None,
    });
    source.unwrap()
}

fn answers(graph: &Graph, input: &Value) -> Option<Value> {
    eval(&parse(&source(graph)).unwrap(), input)
}

/// A held-out input that was answered as the second says where the first was recorded.
fn row(input: i64, expected: &str, answer: Option<&str>) -> Answer {
    Answer { input: Value::integer(input), expected: expected.into(), answer: answer.map(Value::from) }
}

const RULE: &str = r#"if(lt($, 10), "low", if(or(eq($, 70), lt($, 50)), "middle", "high"))"#;

fn rule() -> Graph {
    graph(RULE, "int", r#"enum{"high", "low", "middle"}"#)
}

#[test]
fn a_rule_answers_what_is_known_and_through_branches_that_held() {
    let low = (0..8).map(|at| row(at, "low", Some("low")));
    let middle = (20..30).map(|at| row(at, "middle", Some(if at == 25 { "high" } else { "middle" })));
    let high = (80..83).map(|at| row(at, "high", Some("high")));
    let rows: Vec<Answer> = low.chain(middle).chain(high).collect();
    let known = [Value::integer(25), Value::integer(90)];
    let narrowed = narrow(rule(), &known, &rows, 8).unwrap();
    assert_eq!((narrowed.held, narrowed.branches), (1, 4));
    assert!(narrowed.program.to_bytes().is_ok());
    for (input, expected) in
        [(3, Some("low")), (25, Some("middle")), (26, None), (70, None), (90, Some("high")), (91, None)]
    {
        assert_eq!(answers(&narrowed.program, &Value::integer(input)), expected.map(Value::from), "{input}");
    }
    // No input is in it as it is.
    assert!(!source(&narrowed.program).contains("[25"));
}

#[test]
fn a_rule_all_of_whose_branches_held_stays_as_it_is_and_narrowing_is_not_done_twice() {
    let rows: Vec<Answer> = (0..40).map(|at| row(at, "low", Some("low"))).collect();
    let whole = graph("\"low\"", "int", "text");
    assert_eq!(narrow(whole.clone(), &[], &rows, 8).unwrap().program, whole);
    let known = [Value::integer(1)];
    let once = narrow(rule(), &known, &[], 8).unwrap();
    let twice = narrow(once.program.clone(), &known, &[], 8).unwrap();
    assert_eq!(once, twice);
    assert_eq!((once.held, once.branches), (0, 4));
}

#[test]
fn abstentions_say_nothing_of_a_branch_and_failures_are_wrong() {
    let silent: Vec<Answer> = (0..20).map(|at| row(at % 10, "low", None)).collect();
    assert_eq!(narrow(rule(), &[], &silent, 1).unwrap().held, 0);
    let mut rows: Vec<Answer> = (0..9).map(|at| row(at, "low", Some("low"))).collect();
    rows[4].answer = Some(Value::Null);
    assert_eq!(narrow(rule(), &[], &rows, 8).unwrap().held, 0);
}

#[test]
fn the_members_of_an_object_are_judged_each_by_itself() {
    let source = r#"{"id": token($, "digits", 0), "kind": if(contains($, "a"), "x", "y")}"#;
    let program = graph(source, "text", "record{id: text, kind: text}");
    let rows: Vec<Answer> = (0..20)
        .map(|at| {
            let input = format!("{}{at}", if at % 2 == 0 { "a" } else { "b" });
            let object = |kind: &str| Value::parse(format!(r#"{{"id":"{at}","kind":"{kind}"}}"#)).unwrap();
            let (expected, answer) = if at % 2 == 0 { ("x", "x") } else { ("y", if at == 7 { "x" } else { "y" }) };
            Answer { input: input.into(), expected: object(expected), answer: Some(object(answer)) }
        })
        .collect();
    let narrowed = narrow(program, &["b9".into()], &rows, 8).unwrap();
    assert_eq!((narrowed.held, narrowed.branches), (2, 3));
    let got = |input: &str| answers(&narrowed.program, &input.into()).map(|value| value.to_string());
    assert!(got("a77").is_some_and(|text| text.contains("77")));
    assert!(got("b77").is_none() && got("b9").is_some());
}

#[test]
fn where_a_part_is_not_defined_the_other_branch_is_another() {
    let program = graph(r#"default(token($, "digits", 0), "none")"#, "text", "text");
    let rows: Vec<Answer> = (0..10)
        .map(|at| Answer {
            input: format!("n {at}").into(),
            expected: at.to_string().into(),
            answer: Some(at.to_string().into()),
        })
        .collect();
    let narrowed = narrow(program, &[], &rows, 8).unwrap();
    assert_eq!((narrowed.held, narrowed.branches), (1, 2));
    assert_eq!(answers(&narrowed.program, &"n 55".into()), Some("55".into()));
    assert_eq!(answers(&narrowed.program, &"n".into()), None);
}

#[test]
fn what_is_no_single_expression_is_refused() {
    let mut graph = rule();
    graph.nodes.retain(|node| !matches!(node.body, Body::Expression { .. }));
    assert_eq!(narrow(graph, &[], &[], 8).unwrap_err().code, "not-one-expression");
}

proptest! {
    /// What is narrowed says what the rule says or nothing, and what the rule says of the known.
    #[test]
    fn a_narrowed_rule_never_says_anything_else(
        rows in prop::collection::vec((0i64..100, any::<bool>()), 0..60),
        known in prop::collection::vec(0i64..100, 0..10),
        asked in prop::collection::vec(0i64..120, 1..40),
        least in 0u32..6,
    ) {
        let rule = rule();
        let rows: Vec<Answer> =
            rows.into_iter().map(|(at, right)| row(at, "x", Some(if right { "x" } else { "y" }))).collect();
        let known: Vec<Value> = known.into_iter().map(Value::integer).collect();
        let narrowed = narrow(rule.clone(), &known, &rows, least).unwrap();
        prop_assert!(narrowed.program.to_bytes().is_ok());
        for input in asked.into_iter().map(Value::integer).chain(known.iter().cloned()) {
            let (whole, narrow) = (answers(&rule, &input), answers(&narrowed.program, &input));
            prop_assert!(narrow.is_none() || narrow == whole);
            prop_assert!(!known.contains(&input) || narrow == whole);
        }
    }
}

#[test]
fn a_rule_answers_what_is_known_and_elsewhere_what_the_others_say_too() {
    let of = |source: &str| graph(source, "text", "text");
    let rule = of(r#"if(contains($, "a"), "x", "y")"#);
    let others = vec![
        of(r#"if(starts($, "a"), "x", "y")"#),
        of(r#"if(contains($, "a"), "x", "y")"#),
        of(r#"if(starts($, "a"), "x", "y")"#),
        of(r#"if(eq($, "z"), nth([""], 1), "x")"#),
    ];
    let known = ["\"ba\"", "\"c\""].map(|text| Value::parse(text).unwrap());
    let kept = agree(rule.clone(), others.clone(), &known).unwrap();
    let says = |text: &str| answers(&kept, &text.into()).and_then(|answer| answer.as_text().map(str::to_owned));
    assert_eq!(says("ab").as_deref(), Some("x"));
    // Where one says something else, or nothing.
    assert_eq!([says("bab"), says("d"), says("z")], [None, None, None]);
    // What is known keeps its answer.
    assert_eq!([says("ba").as_deref(), says("c").as_deref()], [Some("x"), Some("y")]);
    // Kept again it is the rule that is looked at, and nothing is asked twice.
    assert_eq!(source(&agree(kept.clone(), others, &known).unwrap()), source(&kept));
    assert_eq!(source(&kept).matches("starts").count(), 1);
    assert_eq!(source(&agree(rule.clone(), vec![rule.clone(), kept], &known).unwrap()), source(&rule));
    let mut no_rule = rule.clone();
    no_rule.nodes.retain(|node| node.id != 1);
    assert_eq!(agree(rule, vec![no_rule], &known).unwrap_err().code, "not-one-expression");
}
