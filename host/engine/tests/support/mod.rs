//! Small components for the tests: WIT text and a core module in text form go in, a
//! component comes out, the way real ones are made.
#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::path::Path;
use std::sync::Arc;

use auto_engine::{Engine, Limits, Options, Pass, Providers};

/// [`auto_tests::text::component`]; a text that makes none is the test's fault.
pub fn component(wit: &str, world: &str, core: &str) -> Vec<u8> {
    auto_tests::text::component(wit, world, core).unwrap_or_else(|error| panic!("{error:#}"))
}

/// The same with a whole module, which has its own memory and `cabi_realloc`.
pub fn component_of(wit: &str, world: &str, module: &str) -> Vec<u8> {
    auto_tests::text::encode(wit, world, module).unwrap_or_else(|error| panic!("{error:#}"))
}

/// `third:party/sums@VERSION` with `add: func(a: u32, b: u32) -> u32`, implemented by
/// `body`, which leaves an i32.
pub fn adder(version: &str, body: &str) -> Vec<u8> {
    let wit = format!(
        "package third:party@{version}; interface sums {{ add: func(a: u32, b: u32) -> u32; }} world w {{ export sums; }}"
    );
    let core = format!(
        r#"(func (export "third:party/sums@{version}#add") (param $a i32) (param $b i32) (result i32) {body})"#
    );
    component(&wit, "w", &core)
}

/// The same interface as middleware: `body` may call `$under`.
pub fn adder_over(body: &str) -> Vec<u8> {
    let wit = "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; }
               world w { import sums; export sums; }";
    let core = format!(
        r#"(import "third:party/sums@1.0.0" "add" (func $under (param i32 i32) (result i32)))
           ;; imports end
           (func (export "third:party/sums@1.0.0#add") (param $a i32) (param $b i32) (result i32) {body})"#
    );
    component(wit, "w", &core)
}

pub const SUM: &str = "(i32.add (local.get $a) (local.get $b))";
pub const ENDLESS: &str = "(loop $again (br $again)) unreachable";

pub fn engine(limits: Limits) -> Engine {
    Engine::new(Options { limits, ..Options::default() }).unwrap()
}

pub fn cached(folder: &Path) -> Engine {
    Engine::new(Options { cache: Some(folder.join("cache")), ..Options::default() }).unwrap()
}

pub fn stack(engine: &Engine, components: &[(&str, Vec<u8>)]) -> Providers {
    let mut providers = Providers::new();
    for (label, bytes) in components {
        providers.push(load(engine, label, bytes));
    }
    providers
}

pub fn load(engine: &Engine, label: &str, bytes: &[u8]) -> Arc<Pass> {
    engine.load(label, bytes.to_vec()).unwrap_or_else(|error| panic!("{error}"))
}

/// Bytes as a string of a data segment.
fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}

/// A module of the world `auto:cbin/cbin` that answers every input with `answer`, counting
/// `steps` steps.
pub fn constant(answer: &str, steps: u64) -> Vec<u8> {
    behavior(&format!(
        r#"(global (export "steps") (mut i64) (i64.const {steps}))
           (data (i32.const 1024) "\00\00\00\00\00\00\00\00\00\08\00\00{}\00\00\00")
           (data (i32.const 2048) "{}")
           (func (export "auto:cbin/behavior@0.1.0#run") (param i32 i32) (result i32) (i32.const 1024))"#,
        escaped(&[answer.len() as u8]),
        escaped(answer.as_bytes()),
    ))
}

/// A module that traps on every input.
pub fn trapping() -> Vec<u8> {
    behavior(r#"(func (export "auto:cbin/behavior@0.1.0#run") (param i32 i32) (result i32) unreachable)"#)
}

/// A module whose `run` is this function.
pub fn behavior(run: &str) -> Vec<u8> {
    let module = format!(
        r#"(module (memory (export "memory") 1)
             (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8192))
             (func (export "auto:cbin/behavior@0.1.0#resume") (param i32 i32 i32 i32 i32) (result i32) unreachable)
             (func (export "auto:cbin/behavior@0.1.0#assess") (param i32 i32) (result i32) unreachable)
             {run})"#
    );
    wat::parse_str(module).expect("the behavior is valid")
}

/// A predicate whose `decide` is `body`, which leaves the address of its result: 1024 is
/// "it holds", 1040 "it does not, because no".
pub fn predicate(body: &str) -> Vec<u8> {
    component(
        "package test:predicate; world w { export auto:pass/predicate@0.1.0; }",
        "w",
        &format!(
            r#"(data (i32.const 1024) "\00\00\00\00\01")
               (data (i32.const 1040) "\00\00\00\00\00\00\00\00\00\08\00\00\02\00\00\00") (data (i32.const 2048) "no")
               (func (export "auto:pass/predicate@0.1.0#decide") (param i32 i32 i32 i32) (result i32) {body})"#
        ),
    )
}

/// A gate that gives every artifact the same verdict: 0 pass, 1 fail, 2 inconclusive.
pub fn gate(status: u8) -> Vec<u8> {
    component(
        "package test:gate; world w { export auto:pass/gate@0.1.0; }",
        "w",
        &format!(
            r#"(data (i32.const 1028) "\{status:02x}")
               (func (export "auto:pass/gate@0.1.0#decide")
                  (param i32) (result i32) (i32.const 1024))"#
        ),
    )
}

/// A driver whose `run` is `body`: it leaves the address of a `result<json, fault>`, which
/// may also be the address of any other `result<_, fault>` that failed.
///
/// `$step` tells progress; `$sandbox` runs the module `given` on `null` (trying is not to
/// be); `$seal` seals it, with the module `twin` as its metered twin if there is one, and
/// reports the eval run's id; `$jobs` runs the tasks.
pub fn driver(given: &[u8], twin: Option<&[u8]>, tasks: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut data = format!(r#"(data (i32.const 0x40000) "{}")"#, escaped(given));
    let twin_length = twin.map_or(0, <[u8]>::len);
    data += &format!(r#"(data (i32.const 0x50000) "{}")"#, escaped(twin.unwrap_or_default()));
    let (mut texts, mut table) = (Vec::new(), Vec::new());
    for text in tasks.iter().flat_map(|(target, arguments)| [target, arguments]) {
        table.extend((0x61000 + texts.len() as u32).to_le_bytes());
        table.extend((text.len() as u32).to_le_bytes());
        texts.extend(text.as_bytes());
    }
    data += &format!(
        r#"(data (i32.const 0x60000) "{}") (data (i32.const 0x61000) "{}")"#,
        escaped(&table),
        escaped(&texts)
    );
    let core = format!(
        r#"(import "auto:host/progress@0.1.0" "report" (func $report (param i32 i32 i64 i32 i64)))
           (import "auto:host/sandbox@0.1.0" "run" (func $run (param i32 i32 i32 i32 i32)))
           (import "auto:host/artifact@0.1.0" "seal"
              (func $seal_ (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32)))
           (import "auto:host/jobs@0.1.0" "run" (func $run_jobs (param i32 i32 i32 i32 i32 i32)))
           ;; imports end
           {data}
           (data (i32.const 0x70000) "step")
           (data (i32.const 0x70010) "null")
           (data (i32.const 0x70020) "\10\00\07\00\04\00\00\00")
           (func $step (call $report (i32.const 0x70000) (i32.const 4) (i64.const 1) (i32.const 0) (i64.const 0)))
           (func $sandbox (result i32)
              (call $run (i32.const 0x40000) (i32.const {given}) (i32.const 0x70020) (i32.const 1) (i32.const 0x71000))
              (i32.const 0x71000))
           (func $jobs (result i32)
              (call $run_jobs (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0x60000) (i32.const {tasks}) (i32.const 0x72000))
              (i32.const 0x72000))
           (func $seal (result i32)
              (call $seal_ (i32.const 0x40000) (i32.const {given})
                 (i32.const {twin}) (i32.const 0x50000) (i32.const {twin_length})
                 (i32.const 0) (i32.const 0) (i32.const 0)
                 (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0x73000))
              (if (i32.eqz (i32.load8_u (i32.const 0x73000))) (then
                 (i32.store (i32.const 0x73004) (i32.const 0x74000))
                 (i32.store8 (i32.const 0x74000) (i32.const 34))
                 (memory.copy (i32.const 0x74001) (i32.load (i32.const 0x73018)) (i32.const 64))
                 (i32.store8 (i32.const 0x74041) (i32.const 34))
                 (i32.store (i32.const 0x73008) (i32.const 66))))
              (i32.const 0x73000))
           (func (export "auto:driver/job@0.1.0#run") (param i32 i32) (result i32) {body})"#,
        given = given.len(),
        tasks = tasks.len(),
        twin = u8::from(twin.is_some()),
    );
    let wit = "package test:driver; world w {
        import auto:host/progress@0.1.0; import auto:host/sandbox@0.1.0; import auto:host/artifact@0.1.0;
        import auto:host/jobs@0.1.0; export auto:driver/job@0.1.0; }";
    component(wit, "w", &core)
}
