//! Linking by name: interfaces the host has never heard of, stacks of providers,
//! middleware, and sides that do not fit together.

mod support;

use std::collections::BTreeSet;

use auto_engine::{FaultClass, Job, Limits, Providers};
use auto_json::Value;
use support::{ENDLESS, SUM, adder, adder_over, component, engine, load, stack};
use wasmtime::component::Val;

const SUMS: &str = "third:party/sums@1.0.0";

fn add(engine: &auto_engine::Engine, providers: &Providers) -> Result<u32, auto_engine::Fault> {
    match engine.call(providers, SUMS, "add", &[Val::U32(2), Val::U32(3)])?[..] {
        [Val::U32(sum)] => Ok(sum),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn an_unheard_of_interface_is_served() {
    let engine = engine(Limits::default());
    assert_eq!(add(&engine, &stack(&engine, &[("sum", adder("1.0.0", SUM))])), Ok(5));
    let trace = engine.take_trace();
    assert_eq!((trace.len(), trace[0].pass.as_str(), trace[0].function.as_str()), (1, "sum", "add"));
    assert!(trace[0].fuel > 0 && !trace[0].memo_hit);
    assert!(engine.take_trace().is_empty());
}

#[test]
fn the_topmost_provider_wins_and_middleware_gets_the_one_under_it() {
    let engine = engine(Limits::default());
    let product = adder("1.0.0", "(i32.mul (local.get $a) (local.get $b))");
    let hundreds = adder_over("(i32.add (i32.const 100) (call $under (local.get $a) (local.get $b)))");
    let sum = adder("1.0.0", SUM);
    assert_eq!(add(&engine, &stack(&engine, &[("sum", sum.clone()), ("product", product.clone())])), Ok(6));
    assert_eq!(add(&engine, &stack(&engine, &[("sum", sum.clone()), ("more", hundreds.clone())])), Ok(105));
    let all = [("sum", sum), ("more", hundreds.clone()), ("product", product), ("more again", hundreds.clone())];
    let providers = stack(&engine, &all);
    assert_eq!(add(&engine, &providers), Ok(106));
    let order: Vec<_> = providers.list().map(|pass| pass.label.as_str()).collect();
    assert_eq!(order, ["more again", "product", "more", "sum"]);
    assert_eq!(providers.resolve(SUMS).unwrap().pass.label, "more again");

    let fault = add(&engine, &stack(&engine, &[("alone", hundreds)])).unwrap_err();
    assert_eq!(fault.class, FaultClass::MissingImport);
    assert!(fault.message.contains(SUMS), "{fault}");
}

#[test]
fn a_newer_compatible_version_serves_and_others_are_explained() {
    let engine = engine(Limits::default());
    assert_eq!(add(&engine, &stack(&engine, &[("newer", adder("1.2.0", SUM))])), Ok(5));

    let fault = add(&engine, &stack(&engine, &[("next", adder("2.0.0", SUM))])).unwrap_err();
    assert_eq!(fault.class, FaultClass::Version);
    assert!(fault.message.contains("third:party/sums@2.0.0") && fault.message.contains(SUMS), "{fault}");
    assert!(fault.message.contains("rebuild it against the newer"), "{fault}");

    let fault = add(&engine, &stack(&engine, &[("old", adder("0.9.0", SUM))])).unwrap_err();
    assert!(fault.message.contains("use a newer build"), "{fault}");

    let fault = add(&engine, &Providers::new()).unwrap_err();
    assert_eq!(fault.class, FaultClass::MissingImport);
}

#[test]
fn two_texts_under_one_name_are_told_apart_at_the_item() {
    let engine = engine(Limits::default());
    let wide = component(
        "package third:party@1.0.0; interface sums { add: func(a: u32, b: u64) -> u32; } world w { export sums; }",
        "w",
        r#"(func (export "third:party/sums@1.0.0#add") (param i32 i64) (result i32) (i32.const 0))"#,
    );
    let over = adder_over("(call $under (local.get $a) (local.get $b))");
    let fault = add(&engine, &stack(&engine, &[("wide", wide), ("over", over)])).unwrap_err();
    assert_eq!((fault.class.clone(), fault.pass.as_str()), (FaultClass::Version, "wide"));
    assert!(fault.message.contains("function `add`: parameter `b`: expected u32, found u64"), "{fault}");
}

#[test]
fn wrong_calls_are_named() {
    let engine = engine(Limits::default());
    let providers = stack(&engine, &[("sum", adder("1.0.0", SUM))]);
    let fault = engine.call(&providers, SUMS, "subtract", &[]).unwrap_err();
    assert_eq!(fault.class, FaultClass::BadArguments);
    assert!(fault.message.contains("there are add"), "{fault}");
    let fault = engine.call(&providers, SUMS, "add", &[Val::U32(1)]).unwrap_err();
    assert!(fault.message.contains("takes 2 arguments, not 1"), "{fault}");
    let fault = engine.call(&providers, SUMS, "add", &[Val::U32(1), Val::U64(1)]).unwrap_err();
    assert_eq!(fault.at.as_deref(), Some("b"));

    let json = |text: &str| Value::parse(text).unwrap();
    assert_eq!(engine.call_json(&providers, SUMS, "add", &json("[2, 40]")), Ok(json("42")));
    let fault = engine.call_json(&providers, SUMS, "add", &json("[2, -1]")).unwrap_err();
    assert_eq!((fault.class.clone(), fault.at.as_deref()), (FaultClass::BadArguments, Some("b")));
    let fault = engine.call_json(&providers, SUMS, "add", &json("{}")).unwrap_err();
    assert!(fault.message.contains("(a: u32, b: u32)"), "{fault}");
}

#[test]
fn a_row_of_too_many_components_is_refused_before_it_starts() {
    let engine = engine(Limits::default());
    let over = adder_over("(call $under (local.get $a) (local.get $b))");
    let mut all = vec![("sum", adder("1.0.0", SUM))];
    all.extend((0..11).map(|_| ("over", over.clone())));
    assert_eq!(add(&engine, &stack(&engine, &all)), Ok(5));
    all.push(("over", over));
    assert_eq!(add(&engine, &stack(&engine, &all)).unwrap_err().class, FaultClass::MissingImport);
}

/// A driver of somebody's own that asks its own interface for 2 + 3 and reports the sum, of
/// three digits.
fn own_driver() -> Vec<u8> {
    let digit = |at: u32, unit: u32| {
        format!(
            "(i32.store8 (i32.const {at}) (i32.add (i32.const 48)
               (i32.rem_u (i32.div_u (local.get $sum) (i32.const {unit})) (i32.const 10))))"
        )
    };
    let core = format!(
        r#"(import "third:party/sums@1.0.0" "add" (func $add (param i32 i32) (result i32)))
           ;; imports end
           (data (i32.const 1024) "\00\00\00\00\ff\07\00\00\05\00\00\00")
           (data (i32.const 2047) "\22   \22")
           (func (export "auto:driver/job@0.1.0#run") (param i32 i32) (result i32) (local $sum i32)
              (local.set $sum (call $add (i32.const 2) (i32.const 3)))
              {} {} {} (i32.const 1024))"#,
        digit(2048, 100),
        digit(2049, 10),
        digit(2050, 1)
    );
    let wit = "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; }
               world w { import sums; export auto:driver/job@0.1.0; }";
    component(wit, "w", &core)
}

#[test]
fn a_driver_and_a_pass_of_one_s_own_meet_over_an_interface_of_their_own_with_middleware_on_it() {
    let engine = engine(Limits::default());
    let folder = tempfile::tempdir().unwrap();
    let run = |components: &[(&str, Vec<u8>)]| {
        let job = Job {
            config: Value::parse("{}").unwrap(),
            matter: None,
            run_dir: folder.path().to_owned(),
            experiments: None,
            builtin: BTreeSet::new(),
            progress: Box::new(|_, _, _| {}),
            waiting: Box::new(|_| {}),
            teacher: None,
            reissue: false,
        };
        let ended = engine.run_driver(&load(&engine, "mine", &own_driver()), &stack(&engine, components), job);
        ended.map(|ended| ended.close().report)
    };
    let sum = adder("1.0.0", SUM);
    let hundreds = adder_over("(i32.add (i32.const 100) (call $under (local.get $a) (local.get $b)))");
    assert_eq!(run(&[("sum", sum.clone())]), Ok(Value::from("005")));
    assert_eq!(run(&[("sum", sum), ("more", hundreds.clone())]), Ok(Value::from("105")));

    // Each of the three is named where it is at fault.
    assert_eq!(run(&[]).unwrap_err().class, FaultClass::MissingImport);
    let fault = run(&[("endless", adder("1.0.0", ENDLESS)), ("more", hundreds)]).unwrap_err();
    assert_eq!((fault.class.clone(), fault.pass.as_str()), (FaultClass::OutOfFuel, "endless"));
    let callers: Vec<&str> = fault.callers.iter().map(|caller| caller.split(',').next().unwrap()).collect();
    assert_eq!(callers, ["more", "mine"]);
}
