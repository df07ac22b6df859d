//! Modules written by hand, each with one thing about it, for the tests beside this file.
#![allow(dead_code, missing_docs, reason = "each test binary uses some of these")]

use auto_runtime::{Limits, Program, Sandbox};
use auto_schema::cbin;
use auto_schema::digest::Digest;
use auto_schema::manifest::Manifest;
use auto_schema::types::Type;

/// Answers with its input.
pub const ECHO: &str = "
    (i32.store8 (i32.const 0) (i32.const 0))
    (i32.store8 (i32.const 4) (i32.const 0))
    (i32.store (i32.const 8) (local.get $at))
    (i32.store (i32.const 12) (local.get $length))
    (i32.const 0)";

/// Answers with how often it was called, which it remembers in its memory: what no artifact
/// may do.
pub const COUNTER: &str = "
    (i32.store (i32.const 64) (i32.add (i32.load (i32.const 64)) (i32.const 1)))
    (i32.store8 (i32.const 80) (i32.add (i32.load (i32.const 64)) (i32.const 48)))
    (i32.store8 (i32.const 0) (i32.const 0))
    (i32.store8 (i32.const 4) (i32.const 0))
    (i32.store (i32.const 8) (i32.const 80))
    (i32.store (i32.const 12) (i32.const 1))
    (i32.const 0)";

/// Never returns.
pub const LOOP: &str = "(loop $again (br $again)) (unreachable)";

/// Grows its memory until it may not, then traps.
pub const BOMB: &str = "
    (loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1))))
    (unreachable)";

/// Calls itself for ever.
pub const RECURSION: &str = "(call $run (local.get $at) (local.get $length))";

/// Traps on an input of one byte, after spoiling what [`ECHO`] would read; echoes others.
pub const FRAGILE: &str = "
    (if (i32.eq (local.get $length) (i32.const 1))
      (then (global.set $spoiled (i32.const 1)) (unreachable)))
    (i32.store8 (i32.const 0) (i32.const 0))
    (i32.store8 (i32.const 4) (i32.const 0))
    (i32.store (i32.const 8) (local.get $at))
    (i32.store (i32.const 12) (select (i32.const 0) (local.get $length) (global.get $spoiled)))
    (i32.const 0)";

/// Asks for `tool:look` with its input; `resume` answers with the reply.
pub const ASK: &str = "
    (i32.store8 (i32.const 0) (i32.const 0))
    (i32.store8 (i32.const 4) (i32.const 2))
    (i32.store (i32.const 8) (i32.const 1024))
    (i32.store (i32.const 12) (i32.const 9))
    (i32.store (i32.const 16) (local.get $at))
    (i32.store (i32.const 20) (local.get $length))
    (i32.store (i32.const 24) (i32.const 1024))
    (i32.store (i32.const 28) (i32.const 4))
    (i32.const 0)";

/// Writes words at 0, 4, 8, … and returns the address `returned`.
pub fn words(words: &[u32], returned: u32) -> String {
    let stores = words
        .iter()
        .enumerate()
        .map(|(index, word)| format!("(i32.store (i32.const {}) (i32.const {}))\n", index * 4, word.cast_signed()));
    format!("{}(i32.const {})", stores.collect::<String>(), returned.cast_signed())
}

/// The text of a module whose `run` is as given and whose other functions do the least
/// they can: `assess` says `near`, 1 of 2; `resume` answers with the reply.
pub fn text(run: &str) -> String {
    format!(
        r#"(module
  (memory (export "memory") 1)
  (global $top (mut i32) (i32.const 4096))
  (global $spoiled (mut i32) (i32.const 0))
  (data (i32.const 1024) "tool:look near \ff\fe")
  (func (export "cabi_realloc") (param $old i32) (param $held i32) (param $align i32) (param $size i32) (result i32)
    (local $at i32)
    (local.set $at (global.get $top))
    (if (i32.gt_u (i32.add (local.get $at) (local.get $size)) (i32.mul (memory.size) (i32.const 65536)))
      (then (local.set $at (i32.const 4096))))
    (global.set $top (i32.add (local.get $at) (local.get $size)))
    (local.get $at))
  (func $run (export "auto:cbin/behavior@0.1.0#run") (param $at i32) (param $length i32) (result i32)
    {run})
  (func (export "auto:cbin/behavior@0.1.0#assess") (param $at i32) (param $length i32) (result i32)
    {assess})
  (func (export "auto:cbin/behavior@0.1.0#resume")
    (param $state i32) (param $held i32) (param $case i32) (param $at i32) (param $length i32) (result i32)
    {ECHO})
)"#,
        assess = words(&[1034, 4, 1, 2], 0),
    )
}

/// The bytes of such a module.
pub fn module(run: &str) -> Vec<u8> {
    wat::parse_str(text(run)).unwrap()
}

/// A manifest for it.
pub fn manifest(reusable: bool, capabilities: &[&str]) -> Manifest {
    let none = Digest::of(b"");
    Manifest {
        format: 1,
        task: "fixture".into(),
        scope: "task".into(),
        input: Type::Json,
        output: Type::Json,
        capabilities: capabilities.iter().map(ToString::to_string).collect(),
        guarded: false,
        contract: none,
        evidence: none,
        eval_run: none,
        code: none,
        observations: 0,
        agreement: None,
        coverage: None,
        out_of_fold: None,
        out_of_fold_rows: 0,
        steps: None,
        module_bytes: 0,
        passes: vec![],
        trusted_gate: None,
        reusable,
        notes: vec![],
    }
}

/// Such a module sealed.
pub fn sealed(run: &str, reusable: bool) -> Vec<u8> {
    cbin::seal(&module(run), None, &manifest(reusable, &["tool:look"])).unwrap()
}

/// Such a module loaded.
pub fn program(run: &str, reusable: bool) -> Program {
    Program::load(&sandbox(), &sealed(run, reusable)).unwrap()
}

/// A sandbox with the default limits.
pub fn sandbox() -> Sandbox {
    Sandbox::new(Limits::default()).unwrap()
}
