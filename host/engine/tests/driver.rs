//! Drivers: what the host lends them, what sealing asks of a module, and that a job which
//! was cut off anywhere ends as one that was not.

mod support;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use auto_engine::{
    Ended, Engine, Fault, FaultClass, Job, JobReport, Limits, Matter, Observation, Pass, Progress, Providers, Runs,
};
use auto_json::{Canonical, Value};
use auto_schema::cbin::Cbin;
use auto_schema::contract::Contract;
use auto_schema::digest::Digest;
use auto_schema::manifest::Steps;
use support::{
    ENDLESS, SUM, adder, behavior, cached, component, constant, driver, engine, gate, load, stack, trapping,
};

const SUMS: &str = "third:party/sums@1.0.0";

fn contract() -> Contract {
    let text = r#"{"contract_version": 0, "task": "toy", "scope": {"type": "task"}, "guard": "none",
        "interface": {"input": "json", "output": "text"},
        "example": [{"name": "one", "match": "exact", "input": {"a": 1}, "output": "x"}]}"#;
    Contract::from_value(&Value::parse(text).unwrap()).unwrap()
}

fn observations() -> Vec<Observation> {
    let text = |text: &str| Canonical::of(text).unwrap();
    ["2", "null", "1"]
        .map(|input| Observation { input: text(input), outputs: vec![(text(r#""x""#), 2)], errors: 0 })
        .into()
}

struct Setup {
    engine: Engine,
    providers: Providers,
    gate: Arc<Pass>,
    trusted: bool,
    builtin: BTreeSet<Digest>,
}

impl Setup {
    fn new(engine: Engine, verdict: u8) -> Setup {
        let gate = load(&engine, "gate", &gate(verdict));
        Setup { engine, providers: Providers::new(), gate, trusted: false, builtin: BTreeSet::new() }
    }

    fn run(&self, folder: &Path, driver: &[u8], progress: Progress) -> Result<JobReport, Fault> {
        self.run_about(Some(self.matter()), folder, driver, progress)
    }

    fn matter(&self) -> Matter {
        Matter {
            contract: contract(),
            observations: observations(),
            runs: Runs::default(),
            pinned_gate: self.gate.clone(),
            trusted_gate: self.trusted,
            predicates: Vec::new(),
        }
    }

    fn run_about(
        &self,
        matter: Option<Matter>,
        folder: &Path,
        driver: &[u8],
        progress: Progress,
    ) -> Result<JobReport, Fault> {
        let driver = load(&self.engine, "driver", driver);
        let job = Job {
            config: Value::parse("{}").unwrap(),
            matter,
            run_dir: folder.join("runs"),
            experiments: None,
            builtin: self.builtin.clone(),
            progress,
            waiting: Box::new(|_| {}),
            teacher: None,
            reissue: false,
        };
        self.engine.run_driver(&driver, &self.providers, job).map(Ended::close)
    }

    fn quietly(&self, driver: &[u8]) -> Result<JobReport, Fault> {
        self.run(tempfile::tempdir().unwrap().path(), driver, Box::new(|_, _, _| {}))
    }
}

fn setup(verdict: u8) -> Setup {
    Setup::new(engine(Limits::default()), verdict)
}

#[test]
fn what_the_gate_passes_is_sealed() {
    let module = constant(r#""x""#, 0);
    let setup = setup(0);
    let report = setup.quietly(&driver(&module, Some(&constant(r#""x""#, 7)), &[], "call $seal")).unwrap();
    let file = report.artifact.expect("the gate passed it");
    let read = Cbin::read(&file).unwrap();
    let manifest = &read.manifest;
    assert_eq!((manifest.task.as_str(), manifest.scope.as_str()), ("toy", "task"));
    assert_eq!(manifest.contract, contract().id());
    assert_eq!(manifest.code, Digest::of(&module));
    assert_eq!((manifest.observations, manifest.agreement, manifest.coverage), (3, Some(1_000_000), Some(1_000_000)));
    assert_eq!(manifest.steps, Some(Steps { p50: 7, p95: 7, max: 7 }));
    assert_eq!((manifest.out_of_fold, manifest.reusable, manifest.trusted_gate), (None, false, None));
    let interfaces: Vec<_> = manifest.passes.iter().map(|pass| pass.interface.as_str()).collect();
    assert_eq!(interfaces, ["auto:driver/job@0.1.0", "auto:pass/gate@0.1.0"]);

    let eval_run = report.eval_run.unwrap();
    let id = Digest::of(eval_run.canonical().as_str().as_bytes());
    assert_eq!((report.report.as_text(), manifest.eval_run), (Some(id.to_string().as_str()), id));
    assert_eq!(eval_run.get("status").unwrap().as_text(), Some("pass"));
    assert_eq!(eval_run.get("contract").unwrap().as_text(), Some(contract().id().to_string().as_str()));
}

#[test]
fn the_same_evidence_gives_the_same_bytes() {
    let driver = driver(&constant(r#""x""#, 0), None, &[], "call $seal");
    let folder = tempfile::tempdir().unwrap();
    let uncached = setup(0).quietly(&driver).unwrap();
    for _ in 0..2 {
        assert_eq!(Setup::new(cached(folder.path()), 0).quietly(&driver).unwrap(), uncached);
    }
}

#[test]
fn a_job_about_no_contract_seals_nothing() {
    let setup = setup(0);
    let module = constant(r#""x""#, 0);
    let run = |body: &str| {
        let folder = tempfile::tempdir().unwrap();
        setup.run_about(None, folder.path(), &driver(&module, None, &[], body), Box::new(|_, _, _| {}))
    };
    let fault = run("call $seal").unwrap_err();
    assert_eq!(fault.class, FaultClass::Refused("no-case".to_owned()));
    assert!(fault.message.contains("about no contract"), "{}", fault.message);
    // What needs none is lent all the same.
    assert!(
        run("(drop (call $sandbox)) (call $seal)")
            .is_err_and(|fault| fault.class == FaultClass::Refused("no-case".to_owned()))
    );
}

#[test]
fn what_the_gate_does_not_pass_does_not_exist() {
    let driver = driver(&constant(r#""x""#, 0), None, &[], "call $seal");
    for (verdict, status) in [(1, "fail"), (2, "inconclusive")] {
        let report = setup(verdict).quietly(&driver).unwrap();
        assert_eq!(report.artifact, None);
        assert_eq!(report.eval_run.unwrap().get("status").unwrap().as_text(), Some(status));
    }
}

#[test]
fn another_gate_can_only_tighten_unless_it_is_trusted() {
    let driver = driver(&constant(r#""x""#, 0), None, &[], "call $seal");
    let status = |setup: &Setup| {
        let report = setup.quietly(&driver).unwrap();
        let eval_run = report.eval_run.unwrap();
        (eval_run.get("status").unwrap().as_text().unwrap().to_owned(), report.artifact)
    };
    let mut strict = setup(0);
    strict.providers = stack(&strict.engine, &[("gate", gate(0)), ("strict", gate(1))]);
    assert_eq!(status(&strict).0, "fail");

    let mut lenient = setup(1);
    lenient.providers = stack(&lenient.engine, &[("gate", gate(1)), ("lenient", gate(0))]);
    assert_eq!(status(&lenient).0, "fail");

    let lenient_gate = load(&lenient.engine, "lenient", &gate(0));
    lenient.builtin.insert(lenient.gate.digest);
    lenient.gate = lenient_gate.clone();
    lenient.trusted = true;
    let (verdict, artifact) = status(&lenient);
    assert_eq!(verdict, "pass");
    assert_eq!(Cbin::read(&artifact.unwrap()).unwrap().manifest.trusted_gate, Some(lenient_gate.digest));
}

#[test]
fn modules_that_are_no_behavior_are_refused_by_code() {
    let importing = wat::parse_str(r#"(module (import "env" "f" (func)))"#).unwrap();
    let empty = wat::parse_str("(module)").unwrap();
    for (module, says) in [(importing, "imports env.f"), (empty, "memory"), (b"junk".to_vec(), "not WebAssembly")] {
        for body in ["call $seal", "call $sandbox"] {
            let fault = setup(0).quietly(&driver(&module, None, &[], body)).unwrap_err();
            assert_eq!(fault.class, FaultClass::Refused("not-a-behavior".to_owned()), "{fault}");
            assert!(fault.message.contains(says), "{fault}");
        }
    }
    let twin = driver(&constant(r#""x""#, 0), Some(&constant(r#""y""#, 3)), &[], "call $seal");
    assert_eq!(setup(0).quietly(&twin).unwrap_err().class, FaultClass::Refused("metered-mismatch".to_owned()));
}

#[test]
fn a_trap_in_the_sandbox_is_an_outcome() {
    let report = setup(0).quietly(&driver(&trapping(), None, &[], "(drop (call $sandbox)) call $seal")).unwrap();
    let manifest = Cbin::read(&report.artifact.unwrap()).unwrap().manifest;
    assert_eq!((manifest.agreement, manifest.coverage), (None, Some(0)));
}

/// A pass that exports `auto:pass/emit` and returns `module` as both of its modules.
fn emitter(module: &[u8]) -> Vec<u8> {
    let escaped: String = module.iter().map(|byte| format!("\\{byte:02x}")).collect();
    component(
        "package test:emit; world w { export auto:pass/emit@0.1.0; }",
        "w",
        &format!(
            r#"(data (i32.const 0x40000) "{escaped}")
               (func (export "auto:pass/emit@0.1.0#emit") (param i32 i32) (result i32)
                  (i32.store (i32.const 1028) (i32.const 0x40000)) (i32.store (i32.const 1032) (i32.const {length}))
                  (i32.store (i32.const 1036) (i32.const 0x40000)) (i32.store (i32.const 1040) (i32.const {length}))
                  (i32.const 1024))"#,
            length = module.len()
        ),
    )
}

#[test]
fn only_code_of_a_built_in_emit_is_reusable() {
    let module = constant(r#""x""#, 0);
    let tasks = [("auto:pass/emit@0.1.0#emit", r#"[""]"#)];
    let driver = driver(&module, None, &tasks, "(drop (call $jobs)) call $seal");
    for builtin in [true, false] {
        let mut setup = setup(0);
        let emit = load(&setup.engine, "emit", &emitter(&module));
        setup.providers.push(emit.clone());
        setup.builtin.extend(builtin.then_some(emit.digest));
        let manifest = Cbin::read(&setup.quietly(&driver).unwrap().artifact.unwrap()).unwrap().manifest;
        assert_eq!(manifest.reusable, builtin);
        assert!(manifest.passes.iter().any(|pass| pass.digest == emit.digest));
    }
}

/// A body that gives the result of the n-th task.
fn task(n: u32) -> String {
    format!("(i32.add (i32.load offset=4 (call $jobs)) (i32.const {}))", n * 32)
}

#[test]
fn jobs_come_back_in_order_and_a_broken_one_breaks_nothing_else() {
    let mut setup = Setup::new(engine(Limits { fuel: Some(1_000_000), ..Limits::default() }), 0);
    let endless = component(
        "package third:endless@1.0.0; interface loops { forever: func(a: u32, b: u32) -> u32; } world w { export loops; }",
        "w",
        &format!(r#"(func (export "third:endless/loops@1.0.0#forever") (param i32 i32) (result i32) {ENDLESS})"#),
    );
    setup.providers = stack(&setup.engine, &[("sum", adder("1.0.0", SUM)), ("endless", endless)]);
    let add = format!("{SUMS}#add");
    let tasks = [(add.as_str(), "[1, 1]"), ("third:endless/loops@1.0.0#forever", "[1, 1]"), (&add, "[20, 22]")];
    let run = |n: u32| setup.quietly(&driver(&[], None, &tasks, &task(n)));
    assert_eq!(run(0).unwrap().report, Value::from(2u32));
    assert_eq!(run(2).unwrap().report, Value::from(42u32));
    let fault = run(1).unwrap_err();
    assert_eq!(fault.class, FaultClass::OutOfFuel);
    assert!(fault.message.contains("endless"), "{fault}");
}

#[test]
fn tasks_that_make_no_sense_are_refused_before_any_runs() {
    let mut setup = setup(0);
    setup.providers = stack(&setup.engine, &[("sum", adder("1.0.0", SUM))]);
    let add = format!("{SUMS}#add");
    for (target, arguments, code) in [
        ("third:party/sums@1.0.0#subtract", "[1, 1]", "unknown-target"),
        ("third:party/other@1.0.0#add", "[1, 1]", "unknown-target"),
        ("nonsense", "[1, 1]", "unknown-target"),
        (&add, "[1]", "bad-arguments"),
        (&add, "[1, -1]", "bad-arguments"),
        (&add, "[1, ", "bad-arguments"),
    ] {
        let fault =
            setup.quietly(&driver(&[], None, &[(&add, "[1, 1]"), (target, arguments)], "call $jobs")).unwrap_err();
        assert_eq!(fault.class, FaultClass::Refused(code.to_owned()), "{target} {arguments}: {fault}");
    }
    assert!(setup.engine.take_trace().iter().all(|call| call.pass != "sum"));
}

#[test]
fn results_of_many_tasks_are_limited_together() {
    // A text of 900 KiB, where a call may give one MiB.
    let texts = component(
        "package third:party@1.0.0; interface texts { give: func() -> string; } world w { export texts; }",
        "w",
        r#"(data (i32.const 1024) "\00\08\00\00\00\10\0e\00")
           (func (export "third:party/texts@1.0.0#give") (result i32) (i32.const 1024))"#,
    );
    let mut setup = Setup::new(engine(Limits { output: Some(1 << 20), ..Limits::default() }), 0);
    setup.providers = stack(&setup.engine, &[("texts", texts)]);
    let run = |tasks| {
        let tasks = vec![("third:party/texts@1.0.0#give", "[]"); tasks];
        setup.quietly(&driver(&constant(r#""x""#, 0), None, &tasks, "(drop (call $jobs)) call $seal"))
    };
    assert!(run(4).is_ok());
    let fault = run(5).unwrap_err();
    assert_eq!(fault.class, FaultClass::OutputTooLarge);
    assert!(fault.message.contains("4194304 bytes of output of all tasks together"), "{fault}");
}

#[test]
fn outcomes_of_many_inputs_are_limited_together() {
    let answer = format!("\"{}\"", "a".repeat(998));
    let module = behavior(&format!(
        r#"(data (i32.const 1024) "\00\00\00\00\00\00\00\00\00\08\00\00\e8\03\00\00") (data (i32.const 2048) "{}")
           (func (export "auto:cbin/behavior@0.1.0#run") (param i32 i32) (result i32) (i32.const 1024))"#,
        answer.replace('"', "\\22")
    ));
    let run = |output| {
        let setup = Setup::new(engine(Limits { output: Some(output), ..Limits::default() }), 0);
        setup.quietly(&driver(&module, None, &[], "call $sandbox"))
    };
    let fault = run(200).unwrap_err();
    assert_eq!(fault.class, FaultClass::OutputTooLarge);
    assert!(fault.message.contains("its outcomes take more than 864 bytes together"), "{fault}");
    assert_ne!(run(400).map_err(|fault| fault.class), Err(FaultClass::OutputTooLarge));
}

/// Progress that panics, as if the process had died, at the n-th step.
fn dies_at(n: u32) -> Progress {
    let count = AtomicU32::new(0);
    Box::new(move |_, _, _| assert_ne!(count.fetch_add(1, Ordering::Relaxed) + 1, n, "cut off"))
}

#[test]
fn a_job_that_was_cut_off_goes_on_and_ends_the_same() {
    let add = format!("{SUMS}#add");
    let body = "call $step (drop (call $sandbox)) call $step (drop (call $jobs)) call $step call $seal call $step";
    let driver = driver(&constant(r#""x""#, 0), None, &[(&add, "[1, 2]")], body);
    let fresh = || {
        // Without a cache, only the journal can save a call.
        let mut setup = setup(0);
        setup.providers = stack(&setup.engine, &[("sum", adder("1.0.0", SUM))]);
        setup
    };
    let whole = fresh().quietly(&driver).unwrap();
    for (step, made) in [(1, 3), (2, 2), (3, 1), (4, 0)] {
        let folder = tempfile::tempdir().unwrap();
        let cut = catch_unwind(AssertUnwindSafe(|| fresh().run(folder.path(), &driver, dies_at(step))));
        assert!(cut.is_err(), "step {step} was reached");
        assert_eq!(std::fs::read_dir(folder.path().join("runs")).unwrap().count(), 1);
        let setup = fresh();
        let report = setup.run(folder.path(), &driver, Box::new(|_, _, _| {})).unwrap();
        assert_eq!(report, whole, "cut at step {step}");
        // What was done before the cut was not done again: sandbox, job, seal's sandbox.
        let calls = setup.engine.take_trace();
        let again = calls.iter().filter(|call| ["sandbox", "sum"].contains(&call.pass.as_str())).count();
        assert_eq!(again, made, "step {step}: {calls:?}");
        assert_eq!(std::fs::read_dir(folder.path().join("runs")).unwrap().count(), 0, "the journal is gone");
    }
}

#[test]
fn an_unchanged_job_is_answered_from_the_memo() {
    let folder = tempfile::tempdir().unwrap();
    let add = format!("{SUMS}#add");
    let driver = driver(
        &constant(r#""x""#, 0),
        None,
        &[(&add, "[1, 2]")],
        "(drop (call $jobs)) (drop (call $sandbox)) call $seal",
    );
    let run = || {
        let mut setup = Setup::new(cached(folder.path()), 0);
        setup.providers = stack(&setup.engine, &[("sum", adder("1.0.0", SUM))]);
        let report = setup.quietly(&driver).unwrap();
        let mut calls = setup.engine.take_trace();
        calls.retain(|call| call.pass != "driver");
        (report, calls.len(), calls.iter().filter(|call| call.memo_hit).count())
    };
    let (first, calls, _) = run();
    assert_eq!(run(), (first, calls, calls));
}

#[test]
fn a_driver_needs_its_imports_served_and_its_export() {
    let wit = "package third:party@1.0.0; interface sums { add: func(a: u32, b: u32) -> u32; }
               world w { import sums; export auto:driver/job@0.1.0; }";
    let core = r#"(import "third:party/sums@1.0.0" "add" (func $add (param i32 i32) (result i32)))
        ;; imports end
        (data (i32.const 1024) "\00\00\00\00\00\08\00\00\01\00\00\00")
        (func (export "auto:driver/job@0.1.0#run") (param i32 i32) (result i32)
           (i32.store8 (i32.const 2048) (i32.add (i32.const 48) (call $add (i32.const 3) (i32.const 4)))) (i32.const 1024))"#;
    let driver = component(wit, "w", core);
    let mut setup = setup(0);
    let fault = setup.quietly(&driver).unwrap_err();
    assert_eq!(fault.class, FaultClass::MissingImport);
    assert!(fault.message.contains(SUMS), "{fault}");
    setup.providers = stack(&setup.engine, &[("sum", adder("1.0.0", SUM))]);
    assert_eq!(setup.quietly(&driver).unwrap().report, Value::from(7u32));

    let fault = setup.quietly(&adder("1.0.0", SUM)).unwrap_err();
    assert!(fault.message.contains("it is no driver"), "{fault}");
}
