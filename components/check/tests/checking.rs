//! What a check finds, where it says program and recording part, and how programs read.

use auto_check::explain;
use auto_check::locate::{parting, undefined};
use auto_check::program::{Outcome, Program};
use auto_json::Value;
use auto_lang::{eval, parse};
use auto_schema::ir::{Body, Bounds, Check, Edge, Effects, End, Graph, Guard, Node, Port, Uncertainty};
use auto_schema::types::Type;

fn value(text: &str) -> Value {
    Value::parse(text).unwrap()
}

fn node(id: u32, name: &str, inputs: &[&Type], outputs: &[&Type], body: Body) -> Node {
    let port = |ty: &&Type| Port::new("value", (*ty).clone());
    Node {
        id,
        name: name.to_owned(),
        inputs: inputs.iter().map(port).collect(),
        outputs: outputs.iter().map(port).collect(),
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    }
}

/// Input, guard if any, expression, output.
fn graph(input: &str, source: &str, output: &str, guard: Option<Guard>) -> Graph {
    let (input, output): (Type, Type) = (input.parse().unwrap(), output.parse().unwrap());
    let mut nodes = vec![node(0, "input", &[], &[&input], Body::Input)];
    if let Some(guard) = guard {
        nodes.push(node(3, "guard", &[&input], &[&input], Body::Guard(guard)));
    }
    nodes.push(node(1, "rule", &[&input], &[&output], Body::Expression { source: source.to_owned() }));
    nodes.push(node(2, "output", &[&output], &[], Body::Output));
    let ids: Vec<u32> = nodes.iter().map(|node| node.id).collect();
    let edge = |pair: &[u32]| Edge { from: End { node: pair[0], port: 0 }, to: End { node: pair[1], port: 0 } };
    Graph { name: "test".to_owned(), edges: ids.windows(2).map(edge).collect(), nodes, regions: vec![] }
}

const TICKET: &str = "record{amount: int, subject: text}";
const TRIAGE: &str = "{\"level\": if(ge($.amount, 1000), \"urgent\", if(ge($.amount, 250), \"high\", \"normal\")), \
                      \"reply\": concat(\"About \", $.subject, \": \", token($.subject, \"id\", 0))}";

fn triage() -> Graph {
    let checks = vec![
        Check::Shape { ty: TICKET.parse().unwrap() },
        Check::Length { path: "/subject".to_owned(), min: 3, max: 20 },
        Check::Range { path: "/amount".to_owned(), min: "0".to_owned(), max: "5000".to_owned() },
    ];
    let output = "record{level: enum{\"high\", \"normal\", \"urgent\"}, reply: text}";
    graph(TICKET, &parse(TRIAGE).unwrap().to_string(), output, Some(Guard { limit: 50_000, checks }))
}

#[test]
fn the_parting_expression_is_the_deepest_to_blame() {
    let input = value(r#"{"a": 5, "s": "x"}"#);
    for (program, expected, at) in [
        ("{\"k\": $.a, \"l\": lower($.s)}", r#"{"k": 5, "l": "y"}"#, "lower($.s)"),
        ("if(gt($.a, 4), \"p\", \"q\")", "\"q\"", "gt($.a, 4)"),
        ("if(gt($.a, 4), \"p\", \"q\")", "\"r\"", "\"p\""),
        ("concat(\"n\", $.s, \"!\")", "\"nx?\"", "\"!\""),
        ("concat(\"n\", $.s, \"!\")", "\"ny!\"", "$.s"),
        ("[$.a, add($.a, 1)]", "[5, 7]", "add($.a, 1)"),
        ("[$.a]", "[5, 7]", "[$.a]"),
        ("default($.z, $.a)", "6", "$.a"),
        ("map([1, $.a], x => [x, add(x, 1)])", "[[1, 2], [5, 7]]", "add(x, 1)"),
        ("map([1, $.a], x => x)", "[1]", "[1, $.a]"),
        ("join(map(words(\"p q\"), w => concat(w, $.s)), \"-\")", "\"px-q!\"", "$.s"),
        ("join(split(\"p q\", \" \"), \"-\")", "\"p-r\"", "split(\"p q\", \" \")"),
    ] {
        let program = parse(program).unwrap();
        assert_eq!(parting(&program, &input, &value(expected)), at, "{program}");
    }
    for (program, at) in [
        ("concat(lower($.s), before($.s, \"-\"))", "before($.s, \"-\")"),
        ("if(eq($.a, 5), $.missing, 1)", "$.missing"),
        ("if($.a, 1, 2)", "if($.a, 1, 2)"),
        ("map(words($.s), x => number(x))", "number(x)"),
        ("default($.y, $.z)", "$.z"),
    ] {
        let program = parse(program).unwrap();
        assert_eq!(eval(&program, &input), None);
        assert_eq!(undefined(&program, &input).as_deref(), Some(at), "{program}");
    }
}

#[test]
fn guards_measure_and_abstain() {
    let program = Program::new(triage()).unwrap();
    let run = |input: &str| program.run(&value(input), &mut |_| ());
    assert!(matches!(run(r#"{"amount": 300, "subject": "lost A-1"}"#), Outcome::Answer(answer)
        if answer.to_string() == r#"{"level":"high","reply":"About lost A-1: A-1"}"#));
    for (input, reason) in [
        (r#"{"amount": 300, "subject": "lost"}"#, "token($.subject, \"id\", 0)"),
        (r#"{"amount": 9000, "subject": "lost A-1"}"#, "range"),
        (r#"{"amount": 1, "subject": "no"}"#, "length"),
        (r#"{"amount": 1.5, "subject": "lost A-1"}"#, "shape"),
    ] {
        let got = match run(input) {
            Outcome::Abstain(measure) => measure.reason.to_owned(),
            Outcome::Undefined { at, .. } => at.unwrap_or_default(),
            other => format!("{other:?}"),
        };
        assert_eq!(got, reason, "{input}");
    }
}

#[test]
fn programs_read_step_by_step() {
    let program = Program::new(triage()).unwrap();
    let shown = [
        explain::program(&program),
        explain::run(&program, &value(r#"{"amount": 300, "subject": "lost A-1"}"#)),
        explain::run(&program, &value(r#"{"amount": 300, "subject": "lost"}"#)),
        explain::run(&program, &value(r#"{"amount": 9000, "subject": "lost A-1"}"#)),
    ]
    .join("---\n");
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/explained.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(golden, &shown).unwrap();
    }
    assert_eq!(shown, std::fs::read_to_string(golden).unwrap(), "BLESS=1 rewrites explained.txt");
}

#[test]
fn what_cannot_be_run_says_which_node() {
    let error = Program::new(graph("text", "lowr($)", "text", None)).err().unwrap();
    assert_eq!((error.code, error.at.as_str()), ("bad-expression", "node 1 (rule)"));
    assert!(error.message.contains("no operator"));
    let mut other = graph("text", "$", "text", None);
    other.nodes[1].body = Body::Model { format: "tree".to_owned(), weights: vec![1] };
    assert_eq!(Program::new(other).err().unwrap().code, "unsupported-node");
}

/// Asks about every item of a list, again where that went wrong once.
fn asking() -> Graph {
    let (json, list): (Type, Type) = (Type::Json, "list<json>".parse().unwrap());
    let edge = |from, to| Edge { from: End { node: from, port: 0 }, to: End { node: to, port: 0 } };
    let row = |name: &str, input: &Type, middle: Node| Graph {
        name: name.to_owned(),
        edges: vec![edge(0, 1), edge(1, 2)],
        nodes: vec![
            node(0, "input", &[], &[input], Body::Input),
            middle.clone(),
            node(2, "output", &[&middle.outputs[0].ty], &[], Body::Output),
        ],
        regions: vec![],
    };
    let ask = Body::Effect { capability: "tool:look-up".to_owned(), catches: true };
    let mut ask = node(1, "ask", &[&json], &[&json], ask);
    ask.effects.capabilities = vec![auto_schema::ir::Capability::Tool("look-up".to_owned())];
    let until = "is_null(default($.err, null))".to_owned();
    let retry = Body::Retry { graph: Box::new(row("asking", &json, ask)), until, most: 2 };
    let again = row("again", &json, node(1, "again", &[&json], &[&json], retry));
    let each = Body::Each { graph: Box::new(again), most: 3 };
    row("all", &list, node(1, "each item", &[&list], &[&list], each))
}

#[test]
fn effects_use_up_replies_in_order() {
    let graph = asking();
    assert_eq!(graph.validate(), Ok(()));
    let program = Program::new(graph).unwrap();
    let replies = [Ok(value("1")), Err("gone".to_owned()), Ok(value("[2]"))];
    let run = |replies| program.run_with(&value("[\"a\", \"b\"]"), replies, &mut |_| ());
    let request = |input: &str| Outcome::Request { capability: "tool:look-up".to_owned(), input: value(input) };
    assert_eq!(run(&[]), request("\"a\""));
    assert_eq!(run(&replies[..1]), request("\"b\""));
    assert_eq!(run(&replies[..2]), request("\"b\""));
    assert_eq!(run(&replies), Outcome::Answer(value(r#"[{"ok": 1}, {"ok": [2]}]"#)));
    let bound = Outcome::Stopped { node: "again".to_owned(), reason: "loop-bound" };
    assert_eq!(run(&[replies[1].clone(), replies[1].clone()]), bound);
    let shown = explain::run(&program, &value("[\"a\"]"));
    assert!(shown.ends_with("asks for tool:look-up with \"a\"\n"), "{shown}");
    assert_eq!(
        explain::program(&program),
        "input: list<json>\n\
         each item: for each item of a list of at most 3\n  \
           input: json\n  \
           again: at most 2 times, until default($.err, null) is null\n    \
             input: json\n    \
             ask: asks for tool:look-up; hands an error on\n    \
             output: json\n  \
           output: json\n\
         output: list<json>\n"
    );
}
