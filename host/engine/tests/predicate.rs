//! Predicates: who may be one, who asks it, and what the gate is told.

mod support;

use std::path::Path;
use std::sync::Arc;

use auto_engine::{Engine, Fault, FaultClass, Hearing, Holder, Limits, Observation, Pass, Reference, Verdicts};
use auto_json::{Canonical, Value};
use auto_schema::contract::Contract;
use auto_schema::digest::Digest;
use support::{ENDLESS, SUM, adder, adder_over, engine, gate, load, predicate};

fn contract(pinned: Digest) -> Contract {
    let text = format!(
        r#"{{"contract_version":1,"task":"toy","scope":{{"type":"task"}},"interface":{{"input":"json","output":"json"}},
            "property":[{{"kind":"predicate","sha256":"{pinned}"}}]}}"#
    );
    Contract::from_value(&Value::parse(text).unwrap()).unwrap()
}

fn observations() -> Vec<Observation> {
    let text = |text: &str| Canonical::of(text).unwrap();
    vec![Observation { input: text("1"), outputs: vec![(text("2"), 2), (text("3"), 1)], errors: 0 }]
}

fn judged(
    engine: &Engine,
    gate: &Arc<Pass>,
    predicates: &[Arc<Pass>],
    contract: &Contract,
    waiting: &dyn Fn(&Holder),
) -> Result<Verdicts, Fault> {
    let (observations, teacher, reissue) = (observations(), None, false);
    let run_dir = Path::new("/nowhere: nobody is asked");
    let hearing =
        Hearing { gate, predicates, contract, observations: &observations, teacher, run_dir, waiting, reissue };
    engine.judge_recordings(&hearing, &Reference::default())
}

/// What the gate is told of one predicate: the real gate, which reads the rulings.
fn status(engine: &Engine, gate: &Arc<Pass>, predicate: &Arc<Pass>) -> (String, String) {
    let contract = contract(predicate.digest);
    let predicates = std::slice::from_ref(predicate);
    let verdict = judged(engine, gate, predicates, &contract, &|_| {}).unwrap().verdict;
    let findings = verdict.get("findings").and_then(Value::as_list).unwrap();
    let finding = findings.iter().find(|one| one.get("id").unwrap().as_text() == Some("property/0")).unwrap();
    let text = |key: &str| finding.get(key).unwrap().as_text().unwrap().to_owned();
    (text("status"), text("detail"))
}

/// The gate that comes with the host, as `cargo xtask build` makes it.
fn real_gate(engine: &Engine) -> Arc<Pass> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/components/gate.wasm");
    let bytes = std::fs::read(path).expect("`cargo xtask build --components-only` makes the gate");
    load(engine, "gate", &bytes)
}

#[test]
fn what_a_predicate_says_reaches_the_gate_and_one_that_fails_breaks_the_property() {
    let limits = Limits { fuel: Some(1_000_000_000), ..Limits::default() };
    let engine = engine(limits);
    let gate = real_gate(&engine);
    let said = |body: &str| status(&engine, &gate, &load(&engine, "p", &predicate(body)));
    assert_eq!(said("(i32.const 1024)"), ("pass".to_owned(), "2 checked".to_owned()));
    let (status, detail) = said("(i32.const 1040)");
    assert_eq!(status, "fail");
    assert!(detail.starts_with("2 of 2 break it") && detail.ends_with("the output is 2: no"), "{detail}");
    let (status, detail) = said("unreachable");
    assert!(status == "fail" && detail.contains("the predicate failed: trap"), "{detail}");
    let (status, detail) = said(ENDLESS);
    assert!(status == "fail" && detail.contains("the predicate failed: out-of-fuel"), "{detail}");
}

#[test]
fn a_predicate_is_the_one_that_is_pinned_and_imports_nothing() {
    let engine = engine(Limits::default());
    let gate = load(&engine, "gate", &gate(0));
    let judge = |pinned: Digest, given: &[Arc<Pass>]| {
        judged(&engine, &gate, given, &contract(pinned), &|_| {}).err().expect("it was taken")
    };
    let good = load(&engine, "good", &predicate("(i32.const 1024)"));
    let other = Digest::of(b"another");
    assert_eq!(judge(other, std::slice::from_ref(&good)).class, FaultClass::MissingImport);
    let adder_pass = load(&engine, "adder", &adder("1.0.0", SUM));
    let fault = judge(adder_pass.digest, std::slice::from_ref(&adder_pass));
    assert!(fault.message.contains("it is no predicate"), "{fault}");
    let importing = load(&engine, "importing", &adder_over(SUM));
    let fault = judge(importing.digest, std::slice::from_ref(&importing));
    assert_eq!(fault.class.code(), "predicate-imports");
}
