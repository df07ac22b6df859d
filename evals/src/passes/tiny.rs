//! The smallest components: one that adds, and drivers that only call the host. Made of
//! text when the benchmark starts, so that nothing else needs to build them.

use anyhow::Context;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// What [`adder`] exports.
pub const INTERFACE: &str = "tiny:tiny/sums@1.0.0";

/// A component with `add: func(a: u32, b: u32) -> u32`.
pub fn adder() -> anyhow::Result<Vec<u8>> {
    let wit = "package tiny:tiny@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; } world w { export sums; }";
    let core = format!(
        r#"(module (memory (export "memory") 1)
             (func (export "{INTERFACE}#add") (param i32 i32) (result i32) (i32.add (local.get 0) (local.get 1))))"#
    );
    component(wit, &core)
}

/// A driver that asks for one job that adds, or for no job, `calls` times, and reports
/// `null`.
pub fn driver(calls: u32, job: bool) -> anyhow::Result<Vec<u8>> {
    let target = format!("{INTERFACE}#add");
    let wit = "package tiny:driver; world w { import auto:host/jobs@0.1.0; export auto:driver/job@0.1.0; }";
    let core = format!(
        r#"(module
             (import "auto:host/jobs@0.1.0" "run" (func $jobs (param i32 i32 i32 i32 i32 i32)))
             (memory (export "memory") 2)
             (global $next (mut i32) (i32.const 65536))
             (data (i32.const 16) "null")
             (data (i32.const 64) "[1, 2]")
             (data (i32.const 256) "{target}")
             (data (i32.const 80) "\00\01\00\00\{length:02x}\00\00\00\40\00\00\00\06\00\00\00")
             (data (i32.const 32) "\00\00\00\00\10\00\00\00\04\00\00\00")
             (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
               (local $at i32)
               (local.set $at (global.get $next))
               (global.set $next
                 (i32.and (i32.const -8) (i32.add (i32.const 7) (i32.add (local.get $at) (local.get 3)))))
               (local.get $at))
             (func (export "auto:driver/job@0.1.0#run") (param i32 i32) (result i32)
               (local $left i32)
               (local.set $left (i32.const {calls}))
               (block $done
                 (loop $again
                   (br_if $done (i32.eqz (local.get $left)))
                   (call $jobs (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 80) (i32.const {jobs}) (i32.const 128))
                   (local.set $left (i32.sub (local.get $left) (i32.const 1)))
                   (br $again)))
               (i32.const 32)))"#,
        length = target.len(),
        jobs = u32::from(job),
    );
    component(wit, &core)
}

/// `core` as a component of the world `w` of `wit`.
fn component(wit: &str, core: &str) -> anyhow::Result<Vec<u8>> {
    let mut resolve = Resolve::default();
    for package in ["pass", "host", "driver"] {
        resolve.push_dir(super::repository().join("wit").join(package))?;
    }
    let package = resolve.push_str("tiny.wit", wit)?;
    let world = resolve.select_world(&[package], Some("w"))?;
    let mut module = wat::parse_str(core)?;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
    ComponentEncoder::default().validate(true).module(&module)?.encode().context("no component could be made")
}
