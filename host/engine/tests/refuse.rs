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
        &["auto:pass/explain@0.1.0", "function `explain`", "err", "expected record, found string"],
    );
    check(
        explain("0.1.0", "func(program: list<u8>) -> string"),
        "interface-mismatch",
        &["expected 2 parameters, found 1"],
    );
}
