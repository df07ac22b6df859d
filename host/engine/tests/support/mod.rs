//! Small components for the tests: WIT text and a core module in text form go in, a
//! component comes out, the way real ones are made.
#![allow(dead_code, reason = "every test file uses its own part of this")]

use std::path::Path;
use std::sync::Arc;

use auto_engine::{Engine, Limits, Options, Pass, Providers};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// A bump allocator that grows memory and traps where it cannot.
pub const PRELUDE: &str = r#"
    (memory (export "memory") 1)
    (global $next (mut i32) (i32.const 4096))
    (func $alloc (param $align i32) (param $size i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $next) (i32.sub (local.get $align) (i32.const 1)))
                                (i32.sub (i32.const 0) (local.get $align))))
        (global.set $next (i32.add (local.get $at) (local.get $size)))
        (block $fits
            (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
            (br_if $fits (i32.ne (i32.const -1)
                (memory.grow (i32.add (i32.const 1) (i32.div_u (local.get $size) (i32.const 65536))))))
            unreachable)
        (local.get $at))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
        (call $alloc (local.get 2) (local.get 3)))
"#;

/// `wit` is one or more packages (nested ones in braces); `world` is `package/world` or a
/// world of the last; `core` is the body of a module that [`PRELUDE`] is put into.
pub fn component(wit: &str, world: &str, core: &str) -> Vec<u8> {
    let imports_first = core.find(";; imports end").unwrap_or(0);
    let (imports, rest) = core.split_at(imports_first);
    let mut module = wat::parse_str(format!("(module {imports} {PRELUDE} {rest})")).expect("the test's wat is valid");
    let mut resolve = Resolve::default();
    for package in ["pass", "cbin", "host", "driver"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit").join(package);
        resolve.push_dir(folder).expect("our own WIT is valid");
    }
    let package = resolve.push_str("test.wit", wit).expect("the test's WIT is valid");
    let world = resolve.select_world(&[package], Some(world)).expect("the test's world exists");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("metadata fits");
    let encoder = ComponentEncoder::default().validate(true).module(&module).expect("the module fits the world");
    let mut encoder = encoder;
    encoder.encode().expect("a component can be made of it")
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
