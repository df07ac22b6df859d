//! What is not loaded, and what the refusal says.

mod support;

use auto_engine::{Engine, Error, Options};
use support::{SUM, adder, component};

fn refusal(bytes: Vec<u8>) -> Error {
    Engine::new(Options::default()).unwrap().load("mine.wasm", bytes).expect_err("it is refused")
}

fn check(bytes: Vec<u8>, code: &str, says: &[&str]) {
    let error = refusal(bytes);
    assert_eq!(error.code, code, "{error}");
    assert_eq!(error.label, "mine.wasm");
    for part in says {
        assert!(error.to_string().contains(part), "{part:?} is not in: {error}");
    }
}

#[test]
fn what_is_no_component() {
    check(Vec::new(), "not-wasm", &["not WebAssembly"]);
    check(b"#!/bin/sh\n".to_vec(), "not-wasm", &["not WebAssembly"]);
    check(wat::parse_str("(module)").unwrap(), "core-module", &["cargo component build"]);
    check(b"\0asm\x02\0\0\0".to_vec(), "not-wasm", &["version"]);
    check(wat::parse_str("(component)").unwrap(), "no-exports", &["nothing to call"]);
}

#[test]
fn every_truncation_is_refused_and_no_bit_flip_panics() {
    let whole = adder("1.0.0", SUM);
    let engine = Engine::new(Options::default()).unwrap();
    for length in 0..whole.len() {
        match engine.load("cut", whole[..length].to_vec()) {
            Err(error) => {
                assert!(
                    ["not-wasm", "truncated", "no-exports", "malformed"].contains(&error.code),
                    "{length}: {error}"
                );
            }
            // Without its last custom sections it is another component, but a whole one.
            Ok(part) => assert_eq!(part.exports, ["third:party/sums@1.0.0"]),
        }
    }
    for at in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[at / 8] ^= 1 << (at % 8);
        let _ = engine.load("flipped", flipped);
    }
}

#[test]
fn unknown_imports() {
    let with = |import: &str, core: &str| {
        let wit = format!(
            "package third:party@1.0.0; interface sums {{ add: func(a: u32, b: u32) -> u32; }}
             interface other {{ f: func(); }} world w {{ {import} export sums; }}"
        );
        let core = format!(
            r#"{core} ;; imports end
               (func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32) (i32.const 0))"#
        );
        component(&wit, "w", &core)
    };
    let other = r#"(import "third:party/other@1.0.0" "f" (func))"#;
    check(with("import other;", other), "unknown-import", &["imports third:party/other@1.0.0", "auto:host/log"]);
    let progress = r#"(import "auto:host/progress@0.1.0" "report" (func (param i32 i32 i64 i32 i64)))"#;
    check(with("import auto:host/progress@0.1.0;", progress), "unknown-import", &["imports auto:host/progress@0.1.0"]);
    let function = r#"(import "$root" "f" (func))"#;
    check(with("import f: func();", function), "unknown-import", &["imports f"]);
}

#[test]
fn what_wasi_does_not_have_is_refused_with_the_way_out() {
    let wasi = component(
        "package test:test;
         package wasi:clocks@0.2.0 { interface now { now: func() -> u64; } }
         package third:party@1.0.0 { interface sums { add: func(a: u32, b: u32) -> u32; }
             world w { import wasi:clocks/now@0.2.0; export sums; } }",
        "third:party/w",
        r#"(import "wasi:clocks/now@0.2.0" "now" (func (result i64)))
           ;; imports end
           (func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32) (i32.const 0))"#,
    );
    check(wasi, "unknown-import", &["wasi:clocks/now@0.2.0", "leave out what needs more"]);
}

#[test]
fn resources_do_not_cross() {
    let resource = component(
        "package third:party@1.0.0; interface things { resource thing; make: func() -> thing; } world w { export things; }",
        "w",
        r#"(func (export "third:party/things@1.0.0#make") (result i32) (i32.const 0))"#,
    );
    check(resource, "unsupported-type", &["the resource `thing`"]);
}

/// A component that claims to export `auto:pass/explain` with the given version and text.
fn explain(version: &str, signature: &str) -> Vec<u8> {
    let wit = format!(
        "package test:test; package auto:pass@{version} {{ interface explain {{ explain: {signature}; }} world w {{ export explain; }} }}"
    );
    let mut resolve = wit_parser::Resolve::default();
    let package = resolve.push_str("test.wit", &wit).unwrap();
    let world = resolve.select_world(&[package], Some(&format!("auto:pass/w@{version}"))).unwrap();
    let mut module = wit_component::dummy_module(&resolve, world, wit_parser::ManglingAndAbi::Standard32);
    wit_component::embed_component_metadata(&mut module, &resolve, world, wit_component::StringEncoding::UTF8).unwrap();
    wit_component::ComponentEncoder::default().module(&module).unwrap().encode().unwrap()
}

#[test]
fn another_version_names_both_and_the_side_to_upgrade() {
    let signature = "func(program: list<u8>) -> string";
    check(
        explain("0.2.0", signature),
        "version",
        &["auto:pass/explain@0.2.0", "auto:pass/explain@0.1.0", "upgrade auto-host"],
    );
    check(explain("0.0.9", signature), "version", &["auto:pass/explain@0.0.9", "rebuild the component"]);
}

#[test]
fn an_unknown_version_beside_a_known_one_is_no_harm() {
    let both = component(
        "package test:test;
         package auto:pass@0.7.0 { interface explain { explain: func(program: list<u8>) -> string; } }
         package third:party@1.0.0 { world w { export auto:pass/explain@0.1.0; export auto:pass/explain@0.7.0; } }",
        "third:party/w",
        r#"(func (export "auto:pass/explain@0.1.0#explain") (param i32 i32 i32 i32 i32) (result i32) unreachable)
           (func (export "auto:pass/explain@0.7.0#explain") (param i32 i32) (result i32) unreachable)"#,
    );
    let pass = Engine::new(Options::default()).unwrap().load("both", both).unwrap();
    assert!(pass.interface("auto:pass/explain@0.1.0").is_some());
}

#[test]
fn another_text_of_the_same_version_names_the_item() {
    let with = |fault: &str| {
        explain("0.1.0", &format!("func(program: list<u8>, input: option<string>) -> result<string, {fault}>"))
    };
    check(
        with("string"),
        "interface-mismatch",
        &[
            "auto:pass/explain@0.1.0",
            "function `explain`",
            "err",
            "expected record { code, message, at }, found string",
        ],
    );
    check(
        explain("0.1.0", "func(program: list<u8>) -> string"),
        "interface-mismatch",
        &["expected 2 parameters, found 1"],
    );
}

/// A component that exports `third:party/sums@1.0.0`, beside whatever else is in it.
fn beside(more: &str) -> Vec<u8> {
    let text = format!(
        r#"(component
             (core module $m (func (export "add") (param i32 i32) (result i32) (i32.const 3)))
             (core instance $i (instantiate $m))
             {more}
             (func $add (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add")))
             (instance $sums (export "add" (func $add)))
             (export "third:party/sums@1.0.0" (instance $sums)))"#
    );
    wat::parse_str(text).unwrap()
}

/// Loaded, and looked at as before it is compiled.
fn deep_refusal(bytes: Vec<u8>) -> Error {
    let engine = Engine::new(Options::default()).unwrap();
    let pass = engine.load("mine.wasm", bytes).expect("what is wrong is in a function");
    let error = engine.check(&pass).expect_err("it is refused");
    // The compiler is not even asked.
    let mut providers = auto_engine::Providers::new();
    providers.push(pass);
    let args = [wasmtime::component::Val::U32(1), wasmtime::component::Val::U32(2)];
    let fault = engine.call(&providers, "third:party/sums@1.0.0", "add", &args).unwrap_err();
    assert_eq!((fault.class.code(), &fault.message), (error.code, &error.message));
    error
}

#[test]
fn other_proposals_are_refused_by_name() {
    for (module, name) in [
        ("(memory i64 1)", "memory64"),
        ("(memory 1 1 shared)", "threads"),
        ("(type (struct))", "(gc)"),
        ("(tag)", "exceptions"),
        ("(memory 1 (pagesize 1))", "custom-page-sizes"),
        ("(type $f (func)) (func (param (ref $f)))", "function-references"),
    ] {
        let bytes = beside(&format!("(core module {module})"));
        check(bytes, "unsupported-proposal", &["WebAssembly that a pass may not use", name]);
    }
    for (body, name) in [
        ("atomic.fence", "threads"),
        ("(i64.add128 (i64.const 1) (i64.const 1) (i64.const 1) (i64.const 1)) drop drop", "wide-arithmetic"),
    ] {
        let error = deep_refusal(beside(&format!("(core module (func {body}))")));
        assert_eq!(error.code, "unsupported-proposal", "{error}");
        assert!(error.message.contains(name), "{error}");
    }
    check(beside("(type (future u32))"), "unsupported-proposal", &["cm-async"]);
}

#[test]
fn a_function_that_is_not_valid_is_damage() {
    let mut bytes = beside("(core module (func (result i32) i32.const 77 i32.const 78 i32.add))");
    let add = bytes
        .windows(3)
        .position(|bytes| bytes == [78, 0x6a, 0x0b])
        .or_else(|| bytes.windows(4).position(|bytes| bytes == [0xce, 0, 0x6a, 0x0b]).map(|at| at + 1));
    bytes[add.unwrap() + 1] = 0x7c;
    assert_eq!(deep_refusal(bytes).code, "malformed");
}

#[test]
fn what_would_keep_the_compiler_busy_is_too_large() {
    let nested = format!("(core module (func {} {}))", "block ".repeat(5_001), "end ".repeat(5_001));
    let joins = format!("(core module (func (local {}) {}))", "i32 ".repeat(2_001), "block end ".repeat(2_000));
    let table = format!("(core module (func (br_table {} (i32.const 0))))", "0 ".repeat(200_002));
    let long = format!("(core module (func {}))", "nop ".repeat((2 << 20) + 1));
    for (module, says) in [
        (nested, "5001 blocks in each other, and there may be 5000"),
        (joins, "function 0 of a module: 4002000 blocks and branches times locals"),
        (table, "200001 targets of a branch table, and there may be 50000"),
        (long, "bytes, and there may be 2097152"),
    ] {
        let error = deep_refusal(beside(&module));
        assert_eq!(error.code, "too-large", "{error}");
        assert!(error.message.contains(says), "{error}");
    }
    let functions = deep_refusal(beside(&format!("(core module {})", "(func)".repeat(50_000))));
    assert!(functions.message.contains("functions, and there may be 50000"), "{functions}");
    let types = "(type (func (param i32 i64 i32 i64 i32 i64 i32 i64 i32 i64 i32 i64 i32 i64 i32 i64)))".repeat(60_000);
    check(beside(&format!("(core module {types})")), "too-large", &["types take more than"]);
    let mut long = beside("");
    long.resize((64 << 20) + 1, 0);
    check(long, "too-large", &["may have 67108864"]);
    let deep = format!("{}{}", "(component ".repeat(32), ")".repeat(32));
    check(beside(&deep), "too-large", &["nest more than 32 deep"]);
}

/// Components that instantiate the one before ten times, so many levels of them.
fn laughs(levels: usize) -> Vec<u8> {
    let mut text = "(component $c0 (core module $m) (core instance (instantiate $m)))".to_owned();
    for level in 1..=levels {
        let before = level - 1;
        let many = format!("(instance (instantiate $c{before}))").repeat(10);
        text += &format!("(component $c{level} (alias outer 1 $c{before} (component $c{before})) {many})");
    }
    beside(&format!("{text} (instance (instantiate $c{levels}))"))
}

#[test]
fn instances_of_instances_are_counted_before_they_are_made() {
    let engine = Engine::new(Options::default()).unwrap();
    let args = [wasmtime::component::Val::U32(1), wasmtime::component::Val::U32(2)];
    let mut providers = auto_engine::Providers::new();
    providers.push(engine.load("few", laughs(1)).unwrap());
    engine.call(&providers, "third:party/sums@1.0.0", "add", &args).unwrap();
    providers.push(engine.load("hundred", laughs(2)).unwrap());
    let fault = engine.call(&providers, "third:party/sums@1.0.0", "add", &args).unwrap_err();
    assert_eq!(fault.class, auto_engine::FaultClass::OutOfInstances);
    assert!(fault.message.contains("it consists of 101"), "{fault}");
    check(laughs(20), "too-large", &["more than 100000 items"]);
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let handed = beside("(component $outer (import \"m\" (core module $m)) (core instance (instantiate $m)))");
    check(handed, "unsupported-type", &["define it inside"]);
}
