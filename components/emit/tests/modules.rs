//! What every emitted module is, whatever its program: WebAssembly 1.0, without imports,
//! nothing unreachable in it, a component when it is lifted, and without memory of calls.

mod support;

use std::collections::BTreeSet;

use auto_schema::ir::{Body, Guard};
use auto_schema::types::Type;
use proptest::prelude::*;
use support::engines::{Machine, Wasmi, Wasmtime, wasmtime_module};
use support::{Outcome, chain, edge, node, reference, ty};
use wasmparser::{Operator, Parser, Payload, Validator, WasmFeatures};

/// A bit of everything: cases, tokens, loops, sorting, numbers, records.
const PROGRAM: &str = r#"{"queue": if(contains(lower($.subject), "refund"), "returns", if(contains(lower($.subject), "invoice"), "billing", "support")), "reference": default(token($.body, "id", 0), "none"), "words": sort(dedup(map(words($.body), w => upper(w)))), "sum": add(sum($.amounts), 0.50)}"#;
const INPUT: &str = "record{amounts: list<number>, body: text, subject: text}";

fn example() -> auto_schema::ir::Graph {
    let checks = vec![
        auto_schema::ir::Check::Shape { ty: ty(INPUT) },
        auto_schema::ir::Check::Length { path: "/body".to_owned(), min: 0, max: 1 << 20 },
        auto_schema::ir::Check::Sketch { path: "/body".to_owned(), bits: 12, table: vec![0xFF; 512] },
    ];
    chain(&ty(INPUT), Some(Guard { limit: 900_000, checks }), &[PROGRAM])
}

fn emit(graph: &auto_schema::ir::Graph) -> auto_emit::Emitted {
    auto_emit::emit(&graph.to_bytes().unwrap()).unwrap()
}

fn input(subject: &str, body: &str, amounts: &str) -> String {
    let text = |text: &str| auto_json::Value::from(text).to_string();
    format!(r#"{{"subject": {}, "body": {}, "amounts": [{amounts}]}}"#, text(subject), text(body))
}

#[test]
fn modules_are_webassembly_1_0_without_imports() {
    let emitted = emit(&example());
    Validator::new_with_features(WasmFeatures::WASM1).validate_all(&emitted.module).unwrap();
    let metered = WasmFeatures::WASM1 | WasmFeatures::MUTABLE_GLOBAL;
    Validator::new_with_features(metered).validate_all(&emitted.metered).unwrap();
    for module in [&emitted.module, &emitted.metered] {
        for payload in Parser::new(0).parse_all(module) {
            match payload.unwrap() {
                Payload::ImportSection(_) | Payload::TableSection(_) | Payload::StartSection { .. } => {
                    panic!("imports, tables or a start function")
                }
                Payload::CustomSection(section) => assert_eq!(section.name(), "component-type:cbin"),
                _ => {}
            }
        }
    }
}

#[test]
fn nothing_is_in_a_module_that_its_exports_do_not_reach() {
    for expression in [PROGRAM, "$", "1", "map(words($.body), w => lower(w))"] {
        let module = emit(&chain(&ty(INPUT), None, &[expression])).module;
        let (mut exported, mut calls) = (Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(&module) {
            match payload.unwrap() {
                Payload::ExportSection(exports) => {
                    exported.extend(
                        exports.into_iter().map(Result::unwrap).filter_map(|export| {
                            (export.kind == wasmparser::ExternalKind::Func).then_some(export.index)
                        }),
                    );
                }
                Payload::CodeSectionEntry(body) => {
                    let operators = body.get_operators_reader().unwrap();
                    calls.push(
                        operators
                            .into_iter()
                            .map(Result::unwrap)
                            .filter_map(|operator| match operator {
                                Operator::Call { function_index } => Some(function_index),
                                _ => None,
                            })
                            .collect::<Vec<u32>>(),
                    );
                }
                _ => {}
            }
        }
        let mut reached = BTreeSet::new();
        while let Some(function) = exported.pop() {
            if reached.insert(function) {
                exported.extend(&calls[function as usize]);
            }
        }
        assert_eq!(reached.len(), calls.len(), "{expression}");
    }
}

#[test]
fn modules_stay_small() {
    let size = |expression: &str| emit(&chain(&ty(INPUT), None, &[expression])).module.len();
    assert!(size("1") < 18_000, "{}", size("1"));
    assert!(size("trim($.subject)") < size(PROGRAM));
    assert!(size(PROGRAM) < 36_000, "{}", size(PROGRAM));
}

#[test]
fn a_module_is_lifted_unchanged() {
    let module = emit(&example()).module;
    let component =
        wit_component::ComponentEncoder::default().module(&module).unwrap().validate(true).encode().unwrap();
    // Inside is the module, but for the section that said what to lift it to.
    let mut sections = Vec::new();
    let mut inside = false;
    for payload in Parser::new(0).parse_all(&component) {
        match payload.unwrap() {
            Payload::ModuleSection { unchecked_range, .. } if !inside => {
                inside = true;
                sections.push(component[unchecked_range].to_vec());
            }
            _ => {}
        }
    }
    let end = module.windows(b"component-type:cbin".len()).position(|window| window == b"component-type:cbin").unwrap();
    let code = &module[..end - 4];
    assert!(sections[0].starts_with(code), "the code of the module is not at the start of the lifted one");
    assert!(wit_component::decode(&component).is_ok());
}

#[test]
fn the_same_graph_gives_the_same_bytes() {
    let (one, other) = (emit(&example()), emit(&example()));
    assert_eq!(one.module, other.module);
    assert_eq!(one.metered, other.metered);
    let mut renamed = example();
    renamed.name = "another name".to_owned();
    assert_eq!(one.module, emit(&renamed).module);
}

#[test]
fn run_without_an_allocation_before() {
    let graph = chain(&Type::Json, None, &["$"]);
    let module = emit(&graph).module;
    let mut machine = Wasmi::new(&module);
    let empty = machine.call("run", &[0, 0]).unwrap();
    assert_eq!(machine.outcome(empty), reference(&graph, ""));
    // A host that writes where it likes: also where the arena will be.
    for address in [60_000u32, 70_000, 1 << 16] {
        let text = br#"{"b": ["\u0041", 1.50], "a": null}"#;
        machine.write(address, text);
        let result = machine.call("run", &[address, text.len() as u32]).unwrap();
        assert_eq!(machine.outcome(result), reference(&graph, std::str::from_utf8(text).unwrap()));
    }
}

#[test]
fn the_allocator_keeps_the_canonical_abi() {
    let mut machine = Wasmi::new(&emit(&example()).module);
    let first = machine.call("cabi_realloc", &[0, 0, 1, 5]).unwrap();
    machine.write(first, b"hello");
    let grown = machine.call("cabi_realloc", &[first, 5, 1, 9]).unwrap();
    assert_eq!(machine.read(grown, 5), b"hello");
    let other = machine.call("cabi_realloc", &[0, 0, 8, 16]).unwrap();
    assert_eq!(other % 8, 0);
    assert!(other >= grown + 9);
    let moved = machine.call("cabi_realloc", &[grown, 9, 4, 200_000]).unwrap();
    assert!(moved.is_multiple_of(4) && moved >= other + 16);
    assert_eq!(machine.read(moved, 5), b"hello");
    let shrunk = machine.call("cabi_realloc", &[moved, 200_000, 1, 2]).unwrap();
    assert_eq!(machine.read(shrunk, 2), b"he");
    assert_eq!(machine.call("cabi_realloc", &[0, 0, 4, 0]).unwrap(), 4);
    // After a return it starts over.
    let _ = machine.run(b"");
    assert_eq!(machine.call("cabi_realloc", &[0, 0, 1, 5]).unwrap(), first);
}

#[test]
fn deep_values_and_deep_programs() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let records = |depth: usize| format!("{}1{}", r#"{"k":"#.repeat(depth), "}".repeat(depth));
    // As deep as an expression may be, around a value as deep as one may be.
    let wrap = format!("{}${}", "[".repeat(120), "]".repeat(120));
    let compare = format!("dedup([{wrap}, {wrap}, {wrap}])");
    for (expression, ty) in [(wrap.as_str(), "json"), (&compare, "json"), ("eq($, $)", "json")] {
        let graph = chain(&ty.parse().unwrap(), None, &[expression]);
        let module = emit(&graph).module;
        let (mut compiled, mut interpreted) = (Wasmtime::new(&module), Wasmi::new(&module));
        for input in [nested(1), nested(64), nested(65), records(64), records(65)] {
            let expected = reference(&graph, &input);
            assert_eq!(compiled.run(input.as_bytes()), expected);
            assert_eq!(interpreted.run(input.as_bytes()), expected);
        }
    }
    let deep_type = format!("{}int{}", "list<".repeat(64), ">".repeat(64));
    let graph = chain(&ty(&deep_type), None, &["$"]);
    let mut machine = Wasmi::new(&emit(&graph).module);
    for input in [nested(64), nested(63), format!("{}1{}", "[".repeat(64), "]".repeat(64))] {
        assert_eq!(machine.run(input.as_bytes()), reference(&graph, &input));
    }
}

#[test]
fn a_mebibyte_of_input() {
    let graph = example();
    let module = emit(&graph).module;
    let mut machine = Wasmtime::new(&module);
    let before = machine.memory_size();
    let words: Vec<String> = (0..120_000).map(|word| format!("w{}", word * 7919 % 50_021)).collect();
    let numbers: Vec<String> = (0..20_000).map(|number| format!("{number}.25")).collect();
    let large = input("refund", &words.join(" "), &numbers.join(","));
    assert!(large.len() > 900_000 && large.len() < 1 << 20);
    let expected = reference(&graph, &large);
    assert!(matches!(&expected, Outcome::Answer(answer) if answer.len() > 100_000));
    assert_eq!(machine.run(large.as_bytes()), expected);
    let grown = machine.memory_size();
    assert!(grown > before && grown < 64 << 20, "{grown}");
    // Again and again: the same memory is used, and nothing of before shows.
    for _ in 0..5 {
        assert_eq!(machine.run(large.as_bytes()), expected);
        let small = input("x", "y", "1");
        assert_eq!(machine.run(small.as_bytes()), reference(&graph, &small));
    }
    assert_eq!(machine.memory_size(), grown);
    // Many keys out of order, which are sorted, and one of them twice.
    let graph = chain(&Type::Json, None, &["$"]);
    let mut machine = Wasmtime::new(&emit(&graph).module);
    let members: Vec<String> = (0..40_000).map(|key| format!(r#""k{}":{key}"#, key * 7919 % 40_009)).collect();
    for text in [format!("{{{}}}", members.join(",")), format!("{{{},\"k7919\":0}}", members.join(","))] {
        assert_eq!(machine.run(text.as_bytes()), reference(&graph, &text));
    }
}

#[test]
fn texts_beyond_the_limit_are_undefined() {
    // 64 KiB, doubled 7 times: 8 MiB. Every text made on the way stays until the call ends.
    let eight = (0..7).fold("$".to_owned(), |inner, _| format!("concat({inner}, {inner})"));
    for (expression, answer) in [
        (format!("chars(join([{eight}, {eight}], \"\"))"), Some(16 << 20)),
        (format!("join([{eight}, {eight}], \"x\")"), None),
    ] {
        let graph = chain(&Type::Text, None, &[&expression]);
        let expected = answer.map_or_else(
            || Outcome::Abstain(support::Novelty { reason: "undefined".to_owned(), score: 1_000_000, limit: 0 }),
            |length: u32| Outcome::Answer(length.to_string()),
        );
        let module = emit(&graph).module;
        assert!(module.len() < 40_000, "repeated parts have one function: {}", module.len());
        assert_eq!(Wasmtime::new(&module).run(format!("\"{}\"", "a".repeat(1 << 16)).as_bytes()), expected);
    }
}

#[test]
fn a_call_that_needs_more_memory_than_there_is_traps() {
    let module = emit(&chain(&Type::Json, None, &["$"])).module;
    let mut machine = Wasmi::new(&module);
    for size in [u32::MAX, u32::MAX - 70_000, 65 << 20] {
        assert!(machine.call("cabi_realloc", &[0, 0, 1, size]).is_err());
    }
    // Not all that there is at once, but all of it.
    assert!(machine.call("cabi_realloc", &[0, 0, 1, 63 << 20]).is_ok());
    // An address outside memory traps as well, and does not read anything else.
    assert!(machine.call("run", &[u32::MAX - 10, 100]).is_err());
}

#[test]
fn several_nodes_and_several_ports() {
    let text = Type::Text;
    let both = ty("record{a: text, b: text}");
    let json = Type::Json;
    let expression = |source: &str| Body::Expression { source: source.to_owned() };
    let graph = auto_schema::ir::Graph {
        name: "dag".to_owned(),
        nodes: vec![
            node(0, &[], &[&both], Body::Input),
            node(1, &[("x", &both)], &[&text], expression("$.a")),
            node(2, &[("x", &both)], &[&text], expression("upper($.b)")),
            // Out of order, to be put in order; `é` sorts behind.
            node(
                3,
                &[("é", &text), ("right", &text), ("in", &both)],
                &[&json],
                expression(r#"[$."é", $.right, $.in.b, $]"#),
            ),
            node(9, &[("answer", &json)], &[], Body::Output),
        ],
        edges: vec![edge(0, 1, 0), edge(0, 2, 0), edge(1, 3, 0), edge(2, 3, 1), edge(0, 3, 2), edge(3, 9, 0)],
        regions: Vec::new(),
    };
    let mut machine = Wasmi::new(&emit(&graph).module);
    let expected = r#"["x","Y","y",{"in":{"a":"x","b":"y"},"right":"Y","é":"x"}]"#;
    assert_eq!(machine.run(br#"{"b": "y", "a": "x"}"#), Outcome::Answer(expected.to_owned()));
}

#[test]
fn what_cannot_be_compiled_is_named() {
    let json = Type::Json;
    let graph = |body: Body| auto_schema::ir::Graph {
        name: "other".to_owned(),
        nodes: vec![
            node(0, &[], &[&json], Body::Input),
            node(7, &[("x", &json)], &[&json], body),
            node(9, &[("answer", &json)], &[], Body::Output),
        ],
        edges: vec![edge(0, 7, 0), edge(7, 9, 0)],
        regions: Vec::new(),
    };
    let mut module = graph(Body::Module { digest: auto_schema::digest::Digest::of(b"x") });
    module.nodes[1].uncertainty = auto_schema::ir::Uncertainty::Probabilistic;
    let mut model = graph(Body::Model { format: "tree".to_owned(), weights: vec![1] });
    model.nodes[1].uncertainty = auto_schema::ir::Uncertainty::Probabilistic;
    let late = auto_schema::ir::Graph {
        name: "late".to_owned(),
        nodes: vec![
            node(0, &[], &[&json], Body::Input),
            node(
                1,
                &[("x", &json)],
                &[&json],
                Body::Guard(Guard { limit: 0, checks: vec![auto_schema::ir::Check::Shape { ty: Type::Json }] }),
            ),
            node(8, &[("x", &json), ("y", &json)], &[&json], Body::Expression { source: "$.y".to_owned() }),
            node(
                7,
                &[("x", &json)],
                &[&json],
                Body::Guard(Guard { limit: 0, checks: vec![auto_schema::ir::Check::Shape { ty: Type::Json }] }),
            ),
            node(9, &[("answer", &json)], &[], Body::Output),
        ],
        edges: vec![edge(0, 1, 0), edge(0, 7, 0), edge(1, 8, 0), edge(7, 8, 1), edge(8, 9, 0)],
        regions: Vec::new(),
    };
    for graph in [module, model, late] {
        let fault = auto_emit::emit(&graph.to_bytes().unwrap()).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("unsupported-node", Some("node 7")), "{fault:?}");
        let kind = graph.node(7).unwrap().body.kind();
        assert!(fault.message.contains(kind) && fault.message.contains("n7"), "{}", fault.message);
    }
    let fault = auto_emit::emit(&chain(&json, None, &["lower("]).to_bytes().unwrap()).unwrap_err();
    assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-expression", Some("node 1 (n1)")));
    assert_eq!(auto_emit::emit(b"").unwrap_err().code, "bad-graph");
    // A table that leaves a call no memory.
    let table = auto_schema::ir::Check::Sketch { path: String::new(), bits: 24, table: vec![1; 2 << 20] };
    let other = |byte| auto_schema::ir::Check::Sketch { path: String::new(), bits: 24, table: vec![byte; 2 << 20] };
    let checks = std::iter::once(table).chain((2..17).map(other)).collect();
    let large = chain(&json, Some(Guard { limit: 0, checks }), &["$"]);
    assert_eq!(auto_emit::emit(&large.to_bytes().unwrap()).unwrap_err().code, "too-large");
}

#[test]
fn integers_of_any_size_compare_with_short_bounds() {
    let bounds =
        ["0", "-1", "17", "999999999999999999", "-999999999999999999", "1000000000000000000", "9223372036854775807"];
    let values = [
        "0",
        "-0",
        "1",
        "-1",
        "17",
        "999999999999999999",
        "1000000000000000000",
        "-1000000000000000000",
        "99999999999999999999999999999999999999",
        "-99999999999999999999999999999999999999",
        "-9223372036854775808",
    ];
    let both = |op: &str, bound: &str| format!("[{op}($.n, {bound}), {op}({bound}, $.n)]");
    for bound in bounds {
        let all: Vec<String> = ["lt", "le", "gt", "ge"].iter().map(|op| both(op, bound)).collect();
        let check =
            auto_schema::ir::Check::Range { path: "/n".to_owned(), min: bound.to_owned(), max: bound.to_owned() };
        let guard = Guard { limit: 1_000_000, checks: vec![check] };
        let graph = chain(&ty("record{n: int}"), Some(guard), &[&format!("[{}]", all.join(", "))]);
        let mut machine = Wasmi::new(&emit(&graph).module);
        for value in values {
            let input = format!("{{\"n\": {value}}}");
            assert_eq!(machine.run(input.as_bytes()), reference(&graph, &input), "{bound} {value}");
            assert_eq!(machine.assess(input.as_bytes()), support::reference_novelty(&graph, &input));
        }
    }
}

#[derive(Clone, Debug)]
enum Call {
    Run(String),
    Assess(String),
    Resume,
    /// The host allocates and does not call.
    Allocate(u32),
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What an instance did before never shows, whatever it was.
    #[test]
    fn a_warm_instance_answers_as_a_fresh_one(calls in prop::collection::vec(call(), 1..24)) {
        let graph = example();
        let module = wasmtime_module(&emit(&graph).module);
        let mut warm = Wasmtime::of(&module);
        for call in &calls {
            match call {
                Call::Run(text) => {
                    let outcome = warm.run(text.as_bytes());
                    prop_assert_eq!(&outcome, &Wasmtime::of(&module).run(text.as_bytes()));
                    prop_assert_eq!(&outcome, &reference(&graph, text));
                }
                Call::Assess(text) => {
                    prop_assert_eq!(warm.assess(text.as_bytes()), Wasmtime::of(&module).assess(text.as_bytes()));
                }
                Call::Resume => {
                    let outcome = warm.resume(b"forged", Err(b"reply"));
                    prop_assert!(matches!(outcome, Outcome::Unsupported(_)));
                }
                Call::Allocate(size) => {
                    let place = warm.allocate(*size);
                    warm.write(place, &vec![0xFF; *size as usize]);
                }
            }
        }
    }
}

fn call() -> impl Strategy<Value = Call> {
    let text = prop_oneof![
        4 => ("[a-zA-Z ]{0,20}|Refund", "[A-Z0-9 é-]{0,200}", prop::collection::vec(any::<i32>(), 0..20)).prop_map(
            |(subject, body, amounts)| {
                let amounts: Vec<String> = amounts.iter().map(|amount| format!("{amount}e-2")).collect();
                input(&subject, &body, &amounts.join(","))
            }
        ),
        1 => any::<String>(),
        1 => Just(String::new()),
        1 => (1usize..40_000).prop_map(|length| input("invoice", &"ab ".repeat(length), "1")),
    ];
    let text = text.boxed();
    prop_oneof![
        6 => text.clone().prop_map(Call::Run),
        2 => text.prop_map(Call::Assess),
        1 => Just(Call::Resume),
        1 => (0u32..5000).prop_map(Call::Allocate),
    ]
}
