//! Every limit binds, each failure is of its own class, and the message names the limit
//! and the flag that raises it.

mod support;

use std::time::Duration;

use auto_engine::{Fault, FaultClass, Limits};
use support::{ENDLESS, SUM, adder, adder_over, component, component_of, engine, stack};
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

/// `third:party/texts@1.0.0` with `echo: func(text: string) -> string`, which never ends in
/// one place: `start`, `call`, `realloc`, `post-return`, or nowhere.
fn endless_in(place: &str) -> Vec<u8> {
    let at = |own: &str| if own == place { ENDLESS } else { "" };
    component_of(
        "package third:party@1.0.0; interface texts { echo: func(text: string) -> string; } world w { export texts; }",
        "w",
        &format!(
            r#"(module
                 (memory (export "memory") 1)
                 (func $start {})
                 (start $start)
                 (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) {} (i32.const 1024))
                 (func (export "third:party/texts@1.0.0#echo") (param i32 i32) (result i32) {}
                    (i32.store (i32.const 8) (local.get 0)) (i32.store (i32.const 12) (local.get 1)) (i32.const 8))
                 (func (export "cabi_post_third:party/texts@1.0.0#echo") (param i32) {}))"#,
            at("start"),
            at("realloc"),
            at("call"),
            at("post-return"),
        ),
    )
}

const PLACES: [&str; 4] = ["start", "call", "realloc", "post-return"];

fn echo(limits: Limits, place: &str) -> Result<Vec<Val>, Fault> {
    let engine = engine(limits);
    let providers = stack(&engine, &[("endless", endless_in(place))]);
    engine.call(&providers, "third:party/texts@1.0.0", "echo", &[Val::String("text".to_owned())])
}

#[test]
fn fuel_runs_out_wherever_the_component_runs() {
    for place in PLACES {
        let fault = echo(Limits { fuel: Some(100_000), ..Limits::default() }, place).unwrap_err();
        assert_eq!(fault.class, FaultClass::OutOfFuel, "{place}: {fault}");
        assert!(fault.message.contains("100000") && fault.message.contains("--fuel"), "{fault}");
    }
    assert_eq!(echo(Limits::default(), "nowhere"), Ok(vec![Val::String("text".to_owned())]));
}

#[test]
fn time_runs_out_wherever_the_component_runs() {
    for place in PLACES {
        let limits = Limits { fuel: Some(u64::MAX), deadline: Some(Duration::from_millis(50)), ..Limits::default() };
        let fault = echo(limits, place).unwrap_err();
        assert_eq!(fault.class, FaultClass::Deadline, "{place}: {fault}");
        assert!(fault.message.contains("0.05 s") && fault.message.contains("--deadline"), "{fault}");
    }
}

#[test]
fn a_limit_of_nothing_lets_nothing_through() {
    let zero = Some(0);
    for (limits, class) in [
        (Limits { fuel: zero, ..Limits::default() }, FaultClass::OutOfFuel),
        (Limits { memory: zero, ..Limits::default() }, FaultClass::OutOfMemory),
        (Limits { deadline: Some(Duration::ZERO), ..Limits::default() }, FaultClass::Deadline),
        (Limits { output: zero, ..Limits::default() }, FaultClass::OutputTooLarge),
        (Limits { stack: zero, ..Limits::default() }, FaultClass::OutOfStack),
        (Limits { instances: zero, ..Limits::default() }, FaultClass::OutOfInstances),
        (Limits { value: zero, ..Limits::default() }, FaultClass::ArgumentsTooLarge),
    ] {
        let fault = echo(limits.clone(), "nowhere").unwrap_err();
        assert_eq!(fault.class, class, "{limits:?}: {fault}");
        assert!(fault.message.contains("more than the 0 ") && fault.class.is_breakage(), "{fault}");
        assert!(fault.message.contains(fault.class.flag().unwrap()), "{fault}");
    }
    // Nothing nests in this, so nothing is too deep, and it writes nothing.
    assert!(echo(Limits { depth: zero, log: zero, table_entries: zero, ..Limits::default() }, "nowhere").is_ok());
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
fn a_gate_may_be_given_what_was_recorded_run_and_held_out_each_as_large_as_a_value() {
    let of = |limits: &Limits, interface: &str| limits.of(interface).value;
    let default = Limits::default();
    assert_eq!(of(&default, "auto:pass/gate@0.1.0"), 3 * of(&default, "auto:pass/guard@0.1.0"));
    let set = Limits { value: Some(5), ..Limits::default() };
    assert_eq!([of(&set, "auto:pass/gate@0.1.0"), of(&set, "auto:pass/guard@0.1.0")], [5, 5]);
}

#[test]
fn a_trap_is_a_trap() {
    let fault = fault(Limits::default(), adder("1.0.0", "(i32.div_u (local.get $a) (i32.const 0))"));
    assert_eq!(fault.class, FaultClass::Trap);
    assert!(fault.message.contains("divide by zero"), "{fault}");
}

/// Calls itself as often as the first argument says; returns that.
fn recursive() -> Vec<u8> {
    component(
        "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; } world w { export sums; }",
        "w",
        r#"(func $down (param $left i32) (result i32)
              (if (result i32) (local.get $left)
                 (then (i32.add (i32.const 1) (call $down (i32.sub (local.get $left) (i32.const 1)))))
                 (else (i32.const 0))))
           (func (export "third:party/sums@1.0.0#add") (param $a i32) (param $b i32) (result i32)
              (call $down (local.get $a)))"#,
    )
}

#[test]
fn the_stack_runs_out_and_the_flag_gives_more() {
    let down = |limits: Limits, levels: u32| {
        let engine = engine(limits);
        let providers = stack(&engine, &[("recursive", recursive())]);
        engine.call(&providers, SUMS, "add", &[Val::U32(levels), Val::U32(0)])
    };
    let levels = 100_000;
    let fault = down(Limits::default(), levels).unwrap_err();
    assert_eq!(fault.class, FaultClass::OutOfStack);
    assert!(fault.message.contains("524288 bytes of stack") && fault.message.contains("--stack"), "{fault}");
    let limits = Limits { stack: Some(64 << 20), ..Limits::default() };
    assert_eq!(down(limits.clone(), levels), Ok(vec![Val::U32(levels)]));
    assert_eq!(down(limits, u32::MAX).unwrap_err().class, FaultClass::OutOfStack);
}

#[test]
fn a_row_of_components_has_the_whole_stack_for_each() {
    let engine = engine(Limits { stack: Some(8 << 20), ..Limits::default() });
    let over = adder_over("(call $under (local.get $a) (local.get $b))");
    let mut all = vec![("recursive", recursive())];
    all.extend((0..11).map(|_| ("over", over.clone())));
    let args = [Val::U32(100_000), Val::U32(0)];
    assert_eq!(engine.call(&stack(&engine, &all), SUMS, "add", &args), Ok(vec![Val::U32(100_000)]));
}

#[test]
fn table_entries_run_out_while_growing_and_while_starting() {
    let grow = |by: u32| {
        component(
            "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; } world w { export sums; }",
            "w",
            &format!(
                r#"(table $t 10 funcref)
                   (func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32)
                      (if (i32.eq (i32.const -1) (table.grow $t (ref.null func) (i32.const {by}))) (then unreachable))
                      (i32.const 3))"#
            ),
        )
    };
    let limits = Limits { table_entries: Some(1000), ..Limits::default() };
    let grown = fault(limits.clone(), grow(991));
    assert_eq!(grown.class, FaultClass::OutOfTable);
    assert!(grown.message.contains("1000 entries") && grown.message.contains("1001"), "{grown}");
    assert!(grown.message.contains("--table-entries"), "{grown}");
    let started = fault(Limits { table_entries: Some(9), ..limits.clone() }, grow(0));
    assert_eq!(started.class, FaultClass::OutOfTable);

    let engine = engine(limits);
    let providers = stack(&engine, &[("grows", grow(990))]);
    assert_eq!(engine.call(&providers, SUMS, "add", &[Val::U32(1), Val::U32(2)]), Ok(vec![Val::U32(3)]));
}

#[test]
fn more_than_a_component_may_grow_by_its_own_word_is_no_limit_of_ours() {
    let component = component(
        "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; } world w { export sums; }",
        "w",
        r#"(table $t 1 2 funcref)
           (func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32)
              (drop (table.grow $t (ref.null func) (i32.const 5))) unreachable)"#,
    );
    assert_eq!(fault(Limits { table_entries: Some(10), ..Limits::default() }, component).class, FaultClass::Trap);
}

/// A component of so many instances of one module.
fn instances(count: usize) -> Vec<u8> {
    let many = "(core instance (instantiate $m))".repeat(count - 1);
    wat::parse_str(format!(
        r#"(component
             (core module $m (func (export "add") (param i32 i32) (result i32) (i32.const 3)))
             {many}
             (core instance $i (instantiate $m))
             (func $add (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add")))
             (instance $sums (export "add" (func $add)))
             (export "third:party/sums@1.0.0" (instance $sums)))"#
    ))
    .unwrap()
}

#[test]
fn instances_run_out() {
    let args = [Val::U32(1), Val::U32(2)];
    let call = |limits: Limits, count: usize| {
        let engine = engine(limits);
        engine.call(&stack(&engine, &[("many", instances(count))]), SUMS, "add", &args)
    };
    assert_eq!(call(Limits::default(), 64), Ok(vec![Val::U32(3)]));
    let fault = call(Limits::default(), 65).unwrap_err();
    assert_eq!(fault.class, FaultClass::OutOfInstances, "{fault}");
    assert!(fault.message.contains("64 instances") && fault.message.contains("--instances"), "{fault}");
    assert!(call(Limits { instances: Some(65), ..Limits::default() }, 65).is_ok());
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
        assert_eq!(fault.class, FaultClass::OutputTooLarge, "{function} {size}: {fault}");
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
    assert_eq!((fault.pass.as_str(), &fault.class), ("endless", &FaultClass::OutOfFuel));
    assert_eq!(fault.callers, ["over, third:party/sums@1.0.0#add"]);
    assert!(fault.to_string().contains("called by over, third:party/sums@1.0.0#add"), "{fault}");
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

/// `third:party/values@1.0.0`: `nested` returns a value of three levels and takes one;
/// `chatter` writes as many lines of 99 bytes as it is told; `pass-on` hands a text of that
/// size to `third:party/texts@1.0.0#take`.
fn values() -> Vec<u8> {
    component(
        "package third:party@1.0.0;
         interface texts { take: func(text: string) -> u32; }
         interface values { nested: func(given: option<list<tuple<u32>>>) -> list<list<tuple<u32>>>;
                            chatter: func(lines: u32) -> u32; pass-on: func(size: u32) -> u32; }
         world w { import auto:host/log@0.1.0; import texts; export texts; export values; }",
        "w",
        r#"(import "auto:host/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
           (import "third:party/texts@1.0.0" "take" (func $take (param i32 i32) (result i32)))
           ;; imports end
           (func (export "third:party/values@1.0.0#nested") (param i32 i32 i32) (result i32)
              ;; A list of one list of one tuple.
              (i32.store (i32.const 8) (i32.const 16)) (i32.store (i32.const 12) (i32.const 1))
              (i32.store (i32.const 16) (i32.const 24)) (i32.store (i32.const 20) (i32.const 1))
              (i32.const 8))
           (func (export "third:party/values@1.0.0#chatter") (param $lines i32) (result i32)
              (loop $again
                 (call $log (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 100) (i32.const 99))
                 (br_if $again (local.tee $lines (i32.sub (local.get $lines) (i32.const 1)))))
              (i32.const 7))
           (func (export "third:party/texts@1.0.0#take") (param i32 i32) (result i32) (local.get 1))
           (func (export "third:party/values@1.0.0#pass-on") (param $size i32) (result i32)
              (call $take (call $alloc (i32.const 1) (local.get $size)) (local.get $size)))"#,
    )
}

fn on_values(limits: Limits, function: &str, arg: Val) -> Result<Vec<Val>, Fault> {
    let engine = engine(limits);
    let under = component(
        "package third:party@1.0.0; interface texts { take: func(text: string) -> u32; } world w { export texts; }",
        "w",
        r#"(func (export "third:party/texts@1.0.0#take") (param i32 i32) (result i32) (local.get 1))"#,
    );
    let providers = stack(&engine, &[("under", under), ("values", values())]);
    engine.call(&providers, "third:party/values@1.0.0", function, &[arg])
}

#[test]
fn values_nest_only_so_deep_in_either_direction() {
    let given = Val::Option(Some(Box::new(Val::List(vec![Val::Tuple(vec![Val::U32(1)])]))));
    for (depth, given) in [(2, Val::Option(None)), (2, given.clone()), (0, Val::Option(None))] {
        let fault = on_values(Limits { depth: Some(depth), ..Limits::default() }, "nested", given).unwrap_err();
        assert_eq!(fault.class, FaultClass::ValueTooDeep, "{fault}");
        assert!(fault.message.contains("--max-depth"), "{fault}");
    }
    assert!(on_values(Limits { depth: Some(3), ..Limits::default() }, "nested", given).is_ok());
}

#[test]
fn a_log_has_an_end() {
    let limits = Limits { log: Some(1000), ..Limits::default() };
    assert_eq!(on_values(limits.clone(), "chatter", Val::U32(10)), Ok(vec![Val::U32(7)]));
    for lines in [11, u32::MAX] {
        let fault = on_values(limits.clone(), "chatter", Val::U32(lines)).unwrap_err();
        assert_eq!(fault.class, FaultClass::LogTooLarge, "{fault}");
        assert!(fault.message.contains("1000 bytes of log (it wrote 1100)"), "{fault}");
        assert!(fault.message.contains("--max-log"), "{fault}");
        assert_eq!(fault.log.len(), 11);
    }
    assert_eq!(
        on_values(Limits { log: Some(0), ..Limits::default() }, "chatter", Val::U32(1)).unwrap_err().class,
        FaultClass::LogTooLarge
    );
}

#[test]
fn arguments_are_limited_from_outside_and_from_a_component() {
    let limits = Limits { value: Some(1000), output: Some(1000), ..Limits::default() };
    assert_eq!(on_values(limits.clone(), "pass-on", Val::U32(996)), Ok(vec![Val::U32(996)]));
    // The second is more than the host would take in at all.
    for size in [997, 50_000_000] {
        let fault = on_values(limits.clone(), "pass-on", Val::U32(size)).unwrap_err();
        assert_eq!(fault.class, FaultClass::ArgumentsTooLarge, "{fault}");
        assert!(fault.message.contains("1000 bytes of arguments") && fault.message.contains("--max-value"), "{fault}");
    }
    let tuples = Val::List(vec![Val::Tuple(vec![Val::U32(1)]); 200]);
    let fault = on_values(limits, "nested", Val::Option(Some(Box::new(tuples)))).unwrap_err();
    assert_eq!((fault.pass.as_str(), fault.class), ("values", FaultClass::ArgumentsTooLarge));
}

#[test]
fn a_panic_without_a_log_names_the_functions_it_came_from() {
    let panicking = component(
        "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; } world w { export sums; }",
        "w",
        r#"(func $_RNvNtCsgXGp5Oqx2Ny_4core9panicking9panic_fmt unreachable)
           (func $_ZN4mine6search4mine17he3b45fed3afddc99E (call $_RNvNtCsgXGp5Oqx2Ny_4core9panicking9panic_fmt))
           (func $shim (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32)
              (call $_ZN4mine6search4mine17he3b45fed3afddc99E) (i32.const 0))"#,
    );
    let fault = fault(Limits::default(), panicking);
    assert_eq!(fault.class, FaultClass::Trap);
    assert!(fault.message.starts_with("it panicked") && fault.message.contains("report_panics"), "{fault}");
    assert!(fault.message.ends_with("in mine::search::mine < shim"), "{fault}");
}

#[test]
fn what_a_caller_logged_is_kept_beside_its_callees_log() {
    let engine = engine(Limits::default());
    let log = r#"(import "auto:host/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))"#;
    let say = "(call $log (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 100) (i32.const 5))";
    let interface = "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; }";
    let under = component(
        &format!("{interface} world w {{ import auto:host/log@0.1.0; export sums; }}"),
        "w",
        &format!(
            r#"{log} ;; imports end
               (data (i32.const 100) "under")
               (func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32) {say} unreachable)"#
        ),
    );
    let over = component(
        &format!("{interface} world w {{ import auto:host/log@0.1.0; import sums; export sums; }}"),
        "w",
        &format!(
            r#"{log} (import "third:party/sums@1.0.0" "add" (func $under (param i32 i32) (result i32)))
               ;; imports end
               (data (i32.const 100) "above")
               (func (export "third:party/sums@1.0.0#add") (param i32 i32) (result i32)
                  {say} (call $under (local.get 0) (local.get 1)))"#
        ),
    );
    let providers = stack(&engine, &[("under", under), ("over", over)]);
    let fault = engine.call(&providers, SUMS, "add", &[Val::U32(1), Val::U32(2)]).unwrap_err();
    assert_eq!(fault.log, ["info: under", "over: info: above"]);
    assert_eq!((fault.pass.as_str(), fault.callers.len()), ("under", 1));
}
