//! Every limit binds, each failure is of its own class, and the message names the limit
//! and the flag that raises it.

mod support;

use std::time::Duration;

use auto_engine::{Fault, FaultClass, Limits};
use support::{ENDLESS, SUM, adder, adder_over, component, engine, stack};
use wasmtime::component::Val;

const SUMS: &str = "third:party/sums@1.0.0";

fn fault(limits: Limits, component: Vec<u8>) -> Fault {
    let engine = engine(limits);
    let providers = stack(&engine, &[("bad", component)]);
    let fault = engine.call(&providers, SUMS, "add", &[Val::U32(1), Val::U32(2)]).unwrap_err();
    assert_eq!((fault.pass.as_str(), fault.function.as_str()), ("bad", "third:party/sums@1.0.0#add"));
    assert!(fault.digest.is_some());
    fault
}

#[test]
fn fuel_runs_out() {
    let fault = fault(Limits { fuel: Some(100_000), ..Limits::default() }, adder("1.0.0", ENDLESS));
    assert_eq!(fault.class, FaultClass::OutOfFuel);
    assert!(fault.message.contains("100000") && fault.message.contains("--fuel"), "{fault}");
}

#[test]
fn time_runs_out() {
    let limits = Limits { fuel: Some(u64::MAX), deadline: Some(Duration::from_millis(50)), ..Limits::default() };
    let fault = fault(limits, adder("1.0.0", ENDLESS));
    assert_eq!(fault.class, FaultClass::Deadline);
    assert!(fault.message.contains("0.05 s") && fault.message.contains("--deadline"), "{fault}");
}

#[test]
fn memory_runs_out_while_growing_and_while_starting() {
    let grow = "(drop (call $alloc (i32.const 1) (i32.const 50000000))) (i32.const 0)";
    let limits = Limits { memory: Some(2 << 20), ..Limits::default() };
    let grown = fault(limits.clone(), adder("1.0.0", grow));
    assert_eq!(grown.class, FaultClass::OutOfMemory);
    assert!(grown.message.contains("2097152") && grown.message.contains("--memory"), "{grown}");

    let started = fault(Limits { memory: Some(1000), ..Limits::default() }, adder("1.0.0", SUM));
    assert_eq!(started.class, FaultClass::OutOfMemory);
    assert!(started.message.contains("1048576"), "{started}");
}

#[test]
fn a_trap_is_a_trap() {
    let fault = fault(Limits::default(), adder("1.0.0", "(i32.div_u (local.get $a) (i32.const 0))"));
    assert_eq!(fault.class, FaultClass::Trap);
    assert!(fault.message.contains("divide by zero"), "{fault}");
}

#[test]
fn endless_recursion_is_a_trap() {
    let fault = fault(
        Limits::default(),
        component(
            "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; } world w { export sums; }",
            "w",
            r#"(func $down (param i32) (result i32) (i32.add (i32.const 1) (call $down (local.get 0))))
           (func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32) (call $down (i32.const 0)))"#,
        ),
    );
    assert_eq!(fault.class, FaultClass::Trap);
    assert!(fault.message.contains("stack"), "{fault}");
}

/// `text: func(size: u32) -> string`, a string of as many spaces (a zero byte is text too).
fn texts() -> Vec<u8> {
    component(
        "package third:party@1.0.0;
         interface texts { text: func(size: u32) -> string; bytes: func(size: u32) -> list<u8>; lie: func() -> string; }
         world w { export texts; }",
        "w",
        r#"(func $slice (param $length i32) (result i32)
              (i32.store (i32.const 8) (call $alloc (i32.const 1) (local.get $length)))
              (i32.store (i32.const 12) (local.get $length))
              (i32.const 8))
           (func (export "third:party/texts@1.0.0#text") (param i32) (result i32) (call $slice (local.get 0)))
           (func (export "third:party/texts@1.0.0#bytes") (param i32) (result i32) (call $slice (local.get 0)))
           (func (export "third:party/texts@1.0.0#lie") (result i32)
              (i32.store (i32.const 8) (i32.const 16)) (i32.store (i32.const 12) (i32.const 999999999)) (i32.const 8))"#,
    )
}

#[test]
fn output_is_limited_before_the_host_holds_it() {
    let engine = engine(Limits { output: Some(1000), ..Limits::default() });
    let providers = stack(&engine, &[("texts", texts())]);
    let call =
        |function: &str, size: u32| engine.call(&providers, "third:party/texts@1.0.0", function, &[Val::U32(size)]);
    assert!(call("text", 996).is_ok());
    assert!(call("bytes", 996).is_ok());
    for (function, size) in [("text", 1001), ("bytes", 1001), ("text", 200_000_000), ("bytes", 20_000_000)] {
        let fault = call(function, size).unwrap_err();
        assert_eq!(fault.class, FaultClass::BadOutput, "{function} {size}: {fault}");
        assert!(fault.message.contains("--max-output"), "{fault}");
    }
}

#[test]
fn what_points_outside_memory_is_bad_output() {
    let engine = engine(Limits::default());
    let providers = stack(&engine, &[("texts", texts())]);
    let fault = engine.call(&providers, "third:party/texts@1.0.0", "lie", &[]).unwrap_err();
    assert_eq!(fault.class, FaultClass::BadOutput);
    assert!(fault.message.contains("out of bounds"), "{fault}");
}

#[test]
fn a_callee_that_fails_is_named_not_its_caller() {
    let engine = engine(Limits { fuel: Some(100_000), ..Limits::default() });
    let over = adder_over("(call $under (local.get $a) (local.get $b))");
    let providers = stack(&engine, &[("endless", adder("1.0.0", ENDLESS)), ("over", over)]);
    let fault = engine.call(&providers, SUMS, "add", &[Val::U32(1), Val::U32(2)]).unwrap_err();
    assert_eq!((fault.pass.as_str(), fault.class), ("endless", FaultClass::OutOfFuel));
}

#[test]
fn what_a_callee_uses_is_not_the_callers() {
    // The callee spins for most of its own fuel and for longer than the caller may take.
    let spin = "(local $n i32) (local.set $n (i32.const 100000000))
        (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (i32.add (local.get $a) (local.get $b))";
    let over = adder_over(
        "(drop (call $under (i32.const 1) (i32.const 1))) (drop (call $under (i32.const 1) (i32.const 2)))
         (call $under (local.get $a) (local.get $b))",
    );
    let engine = engine(Limits { fuel: Some(600_000_000), ..Limits::default() });
    let providers = stack(&engine, &[("slow", adder("1.0.0", spin)), ("over", over)]);
    engine.call(&providers, SUMS, "add", &[Val::U32(1), Val::U32(2)]).unwrap();
    let trace = engine.take_trace();
    let (over, slow) = (trace.last().unwrap(), &trace[0]);
    assert!(slow.fuel > 300_000_000 && over.fuel < 1_000, "{trace:?}");
    assert!(slow.micros > over.micros, "{trace:?}");
}

#[test]
fn the_log_and_the_panic_text_reach_the_fault() {
    let engine = engine(Limits::default());
    let line = "panicked at check.rs:3: no such thing";
    let noisy = component(
        "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; }
         world w { import auto:host/log@0.1.0; export sums; }",
        "w",
        &format!(
            r#"(import "auto:host/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
               ;; imports end
               (data (i32.const 100) "{line}")
               (func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32)
                  (call $log (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 100) (i32.const 8))
                  (call $log (i32.const 3) (i32.const 0) (i32.const 0) (i32.const 100) (i32.const {}))
                  unreachable)"#,
            line.len()
        ),
    );
    let providers = stack(&engine, &[("noisy", noisy)]);
    let fault = engine.call(&providers, SUMS, "add", &[Val::U32(1), Val::U32(2)]).unwrap_err();
    assert_eq!(fault.class, FaultClass::Trap);
    assert_eq!(fault.log, ["info: panicked".to_owned(), format!("error: {line}")]);
    assert!(fault.message.starts_with(line), "{fault}");
}
