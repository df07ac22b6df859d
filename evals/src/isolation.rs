//! What an artifact of our own emit keeps between calls: nothing.
//!
//! `host/runtime` uses one instance for many calls of such code, so this is the proof that
//! it may. Whatever a module has (all of its memory and all of its globals) is in one of
//! these parts, and each is shown to carry nothing from a call to the next:
//!
//! - globals and static data, which are as they were after every call;
//! - the stack below the static data, a few static bytes that calls do write (where results
//!   are returned), and the arena above: a call gives the same outcome whatever is in them,
//!   because they are filled with noise before it.

use std::collections::BTreeSet;
use std::convert::Infallible;

use auto_lang::ops::OPS;
use auto_runtime::{Limits, Outcome, Program, Sandbox};
use auto_schema::ir::{Body, Bounds, Check, Edge, Effects, End, Graph, Guard, Node, Port, Uncertainty};
use auto_schema::types::Type;
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng};
use wasm_encoder::reencode::{self, Reencode};
use wasmtime::{Engine, Extern, Global, Instance, Memory, Module, Store, TypedFunc, Val};

const DEMO: &str = r#"{
    "priority": if(ge($.amount, 1000), "urgent", if(ge($.amount, 250), "high", "normal")),
    "queue": if(contains(lower($.subject), "refund"), "returns", "support"),
    "reference": token($.body, "id", 0),
    "reply": concat("Dear ", $.customer, ", we are looking into ", token($.body, "id", 0), ".")}"#;
const DEMO_INPUT: &str = "record{amount: int, body: text, customer: text, subject: text}";

/// Inputs of every shape, right and wrong for the programs, small and large.
fn inputs() -> Vec<String> {
    let ticket = r#"{"amount": 1200, "body": "about ORD-60118.", "customer": "Ana Ökafor", "subject": "REFUND"}"#;
    let mut inputs: Vec<String> = [
        ticket,
        "null",
        "true",
        "-12",
        "3.50",
        "1e3",
        "99999999999999999999999999999999999999",
        "[]",
        "{}",
        "",
        "{\"a\":",
        "[1, 2",
        "\"\\ud800\"",
        "nul",
        r#""""#,
        r#"" Hello,  World \u00e9\n  ORD-2024-17 x_y1 ""#,
        r#""a,b,,c""#,
        "[3, 1.0, 1, -2, 2.5, 1]",
        r#"["b", "a", "é", "b", "", "a"]"#,
        r#"{"a": "x", "b": 3, "c": [1, 2, "x"]}"#,
    ]
    .map(str::to_owned)
    .to_vec();
    inputs.push(ticket.replace("1200", "7"));
    inputs.push(ticket.replace("ORD-60118", "nothing"));
    inputs.push(ticket.replace("REFUND", &"zxqj ".repeat(30)));
    inputs.push(format!("\"{}\"", "a long text, ".repeat(20_000)));
    inputs.push(format!("[{}0]", "[1,\"x\"],".repeat(5_000)));
    inputs
}

fn node(id: u32, inputs: &[&Type], output: Option<&Type>, body: Body) -> Node {
    Node {
        id,
        name: String::new(),
        inputs: inputs.iter().map(|ty| Port::new("in", (*ty).clone())).collect(),
        outputs: output.iter().map(|ty| Port::new("out", (*ty).clone())).collect(),
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    }
}

/// input -> guard -> expression -> output.
fn graph(input: &str, checks: Vec<Check>, source: &str) -> Graph {
    let (input, json): (Type, Type) = (input.parse().unwrap(), Type::Json);
    let source = auto_lang::parse(source).unwrap().to_string();
    let nodes = vec![
        node(0, &[], Some(&input), Body::Input),
        node(1, &[&input], Some(&input), Body::Guard(Guard { limit: 500_000, checks })),
        node(2, &[&input], Some(&json), Body::Expression { source }),
        node(3, &[&json], None, Body::Output),
    ];
    let edge = |from| Edge { from: End { node: from, port: 0 }, to: End { node: from + 1, port: 0 } };
    Graph { name: "isolation".into(), nodes, edges: (0..3).map(edge).collect(), regions: vec![] }
}

/// The demo's rule under a guard, and every operator on whatever comes.
fn programs() -> Vec<Graph> {
    let text = |path: &str| {
        let sketch = Check::Sketch { path: path.into(), bits: 6, table: vec![0xF5; 8] };
        [Check::Length { path: path.into(), min: 0, max: 200 }, sketch]
    };
    let mut checks = vec![Check::Range { path: "/amount".into(), min: "0".into(), max: "5000".into() }];
    checks.extend(["/body", "/subject"].into_iter().flat_map(text));
    let any = || vec![Check::Shape { ty: Type::Json }];
    let all = |calls: Vec<String>| {
        let items: Vec<String> = calls.iter().map(|call| format!("default({call}, \"-\")")).collect();
        graph("json", any(), &format!("[{}]", items.join(", ")))
    };
    let named = || OPS.iter().filter(|operator| operator.name != "type_is");
    let one = named().filter(|operator| operator.least == 1).map(|operator| format!("{}($)", operator.name));
    // The last ones are for operators whose second argument says how: a style, a class, a format.
    let others = ["\"a\"", "1", "\",\"", "\"snake\"", "\"digits\"", "\"0.00\"", "\"yyyy-mm-dd\"", "\"year\""];
    let two = named()
        .filter(|operator| operator.least <= 2 && operator.most >= 2)
        .flat_map(|operator| others.map(|other| format!("{}($, {other})", operator.name)));
    let can_be =
        |call: &String| auto_lang::parse(call).is_ok_and(|call| auto_lang::type_of(&call, &Type::Json).is_ok());
    let read = |calls: Vec<String>| calls.into_iter().filter(can_be).collect();
    vec![graph(DEMO_INPUT, checks, DEMO), all(read(one.collect())), all(read(two.collect()))]
}

/// A module with everything it has in view.
struct Exposed {
    store: Store<()>,
    memory: Memory,
    globals: Vec<Global>,
    realloc: TypedFunc<(u32, u32, u32, u32), u32>,
    run: TypedFunc<(u32, u32), u32>,
    /// Where the stack ends, growing down, and static data starts.
    stack: usize,
    /// Where static data ends and the arena starts.
    arena: usize,
}

impl Exposed {
    fn new(module: &Module) -> Exposed {
        let mut store = Store::new(module.engine(), ());
        let instance = Instance::new(&mut store, module, &[]).unwrap();
        let globals: Vec<Global> =
            instance.exports(&mut store).filter_map(|export| Extern::into_global(export.into_extern())).collect();
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        let realloc = instance.get_typed_func(&mut store, "cabi_realloc").unwrap();
        let run = instance.get_typed_func(&mut store, "auto:cbin/behavior@0.1.0#run").unwrap();
        let mut exposed = Exposed { store, memory, globals, realloc, run, stack: 0, arena: 0 };
        exposed.stack = usize::try_from(exposed.globals()[0]).unwrap();
        // The first allocation of a call is where the arena starts; the call then ends.
        exposed.arena = exposed.place("null") as usize;
        exposed.run.call(&mut exposed.store, (exposed.arena as u32, 4)).unwrap();
        exposed
    }

    fn place(&mut self, input: &str) -> u32 {
        let at = self.realloc.call(&mut self.store, (0, 0, 1, input.len() as u32)).unwrap();
        self.memory.write(&mut self.store, at as usize, input.as_bytes()).unwrap();
        at
    }

    /// The 32 bytes of the result and every text they point to.
    fn call(&mut self, input: &str) -> Vec<u8> {
        let at = self.place(input);
        let at = self.run.call(&mut self.store, (at, input.len() as u32)).unwrap() as usize;
        let memory = self.memory.data(&self.store);
        let word = |offset: usize| u32::from_le_bytes(memory[at + offset..at + offset + 4].try_into().unwrap());
        let (start, length) = (word(8) as usize, word(12) as usize);
        let mut seen = vec![memory[at], memory[at + 4]];
        seen.extend_from_slice(&memory[start..start + length]);
        if seen[..2] == [0, 1] {
            seen.extend_from_slice(&memory[at + 16..at + 24]);
        }
        seen
    }

    /// The static data by address.
    fn statics(&self) -> Vec<(usize, u8)> {
        (self.stack..self.arena).zip(self.memory.data(&self.store)[self.stack..self.arena].iter().copied()).collect()
    }

    fn globals(&mut self) -> Vec<i64> {
        let values = self.globals.iter().map(|global| match global.get(&mut self.store) {
            Val::I32(value) => value.into(),
            Val::I64(value) => value,
            other => panic!("a global of type {other:?}"),
        });
        values.collect()
    }

    /// Fills the stack, the arena and the static bytes named with noise.
    fn scribble(&mut self, scratch: &BTreeSet<usize>, rng: &mut TestRng) {
        let (stack, arena) = (self.stack, self.arena);
        let memory = self.memory.data_mut(&mut self.store);
        rng.fill_bytes(&mut memory[..stack]);
        rng.fill_bytes(&mut memory[arena..]);
        scratch.iter().for_each(|&at| memory[at] = rng.next_u32() as u8);
    }
}

/// Exports every global beside what a module exports already.
struct Expose {
    globals: u32,
}

impl Reencode for Expose {
    type Error = Infallible;

    fn parse_export_section(
        &mut self,
        exports: &mut wasm_encoder::ExportSection,
        section: wasmparser::ExportSectionReader<'_>,
    ) -> Result<(), reencode::Error> {
        reencode::utils::parse_export_section(self, exports, section)?;
        for index in 0..self.globals {
            exports.export(&format!("global {index}"), wasm_encoder::ExportKind::Global, index);
        }
        Ok(())
    }
}

fn expose(module: &[u8]) -> Vec<u8> {
    let globals = wasmparser::Parser::new(0).parse_all(module).map(|part| match part.unwrap() {
        wasmparser::Payload::GlobalSection(section) => section.count(),
        _ => 0,
    });
    let mut expose = Expose { globals: globals.sum() };
    let mut exposed = wasm_encoder::Module::new();
    expose.parse_core_module(&mut exposed, wasmparser::Parser::new(0), module).unwrap();
    exposed.finish()
}

/// The static bytes of a program that calls write, after checking that there are few and
/// that nothing else changes.
fn scratch(module: &Module, order: &[usize], inputs: &[String]) -> BTreeSet<usize> {
    let mut exposed = Exposed::new(module);
    let (statics, globals) = (exposed.statics(), exposed.globals());
    let mut scratch = BTreeSet::new();
    for &index in order {
        exposed.call(&inputs[index]);
        assert_eq!(exposed.globals(), globals, "a global changed over {}", inputs[index]);
        let now = exposed.statics();
        scratch.extend(now.iter().zip(&statics).filter(|(now, before)| now != before).map(|((at, _), _)| *at));
    }
    // The result (32 bytes) and the last parse error (an offset and a kind).
    assert!(scratch.len() <= 40, "{} static bytes are written: {scratch:?}", scratch.len());
    scratch
}

#[test]
fn nothing_survives_a_call() {
    let engine = Engine::default();
    let inputs = inputs();
    for graph in programs() {
        let emitted = auto_emit::emit(&graph.to_bytes().unwrap()).unwrap();
        let module = Module::new(&engine, expose(&emitted.module)).unwrap();
        let alone: Vec<Vec<u8>> = inputs.iter().map(|input| Exposed::new(&module).call(input)).collect();
        let forth: Vec<usize> = (0..inputs.len()).collect();
        let mut written = scratch(&module, &forth, &inputs);
        written.extend(scratch(&module, &forth.into_iter().rev().collect::<Vec<_>>(), &inputs));

        let mut warm = Exposed::new(&module);
        let mut rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        for round in 0..8 {
            for (input, alone) in inputs.iter().zip(&alone) {
                warm.scribble(&written, &mut rng);
                assert!(warm.call(input) == *alone, "round {round}, {} bytes of input", input.len());
            }
        }
    }
}

/// The test above can fail: noise in the static data that calls only read shows.
#[test]
fn noise_in_constants_would_be_seen() {
    let emitted = auto_emit::emit(&programs()[0].to_bytes().unwrap()).unwrap();
    let module = Module::new(&Engine::default(), expose(&emitted.module)).unwrap();
    let inputs = inputs();
    let alone = Exposed::new(&module).call(&inputs[0]);
    let mut warm = Exposed::new(&module);
    let constants: BTreeSet<usize> = (warm.stack..warm.arena).collect();
    warm.scribble(&constants, &mut TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| warm.call(&inputs[0])));
    assert!(seen.is_err() || seen.is_ok_and(|seen| seen != alone));
}

fn program(graph: &Graph) -> Program {
    let file = crate::sealed::sealed(graph).unwrap().file;
    Program::load(&Sandbox::new(Limits::default()).unwrap(), &file).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Through the runtime: in any order, each call of a warm session gives what it gives
    /// alone.
    #[test]
    fn sequences_give_what_single_calls_give(order in prop::collection::vec(0usize..25, 1..30), which in 0usize..3) {
        thread_local!(static PROGRAMS: Vec<Program> = programs().iter().map(program).collect());
        let program = PROGRAMS.with(|programs| programs[which].clone());
        let inputs = inputs();
        let mut session = program.session();
        for index in order {
            let input = &inputs[index % inputs.len()];
            let alone = program.isolated_session().run(input);
            prop_assert_eq!(session.run(input), alone);
        }
    }
}

#[test]
fn the_programs_do_answer() {
    let program = program(&programs()[0]);
    let inputs = inputs();
    let answered = inputs.iter().filter(|input| matches!(program.session().run(input), Ok(Outcome::Answer(_))));
    assert!(answered.count() >= 2);
}
