//! What a call gives back: answers, requests, and a refusal for everything that breaks the
//! ABI or a limit.

mod fixtures;

use std::time::Duration;

use auto_runtime::{Class, Limits, Novelty, Outcome, Program, Sandbox};
use fixtures::*;
use proptest::prelude::*;

fn class_of(run: &str) -> Class {
    sandbox().load(&module(run)).unwrap().run_fresh("null").unwrap_err().class
}

fn message_of(run: &str) -> String {
    let error = sandbox().load(&module(run)).unwrap().run_fresh("null").unwrap_err();
    assert_eq!(error.class, Class::BadOutput, "{error}");
    error.message
}

#[test]
fn an_answer_comes_back_whole() {
    let mut session = program(ECHO, true).session();
    let texts = ["null", "\"ü\"", "[1,2,3]", "{\"a\":{\"b\":3.0}}"];
    for text in texts {
        assert_eq!(session.run(text), Ok(Outcome::Answer(text.into())));
    }
    let batch: Vec<_> = session.run_batch(texts).map(Result::unwrap).collect();
    assert_eq!(batch, texts.map(|text| Outcome::Answer(text.into())));
    assert_eq!(session.assess("1"), Ok(Novelty { reason: "near".into(), score: 1, limit: 2 }));
}

/// The test above again, in a process that cannot have the pool's terabyte of addresses.
#[test]
fn little_address_space_is_enough() {
    let script = r#"ulimit -v 2000000 && exec "$0" --exact an_answer_comes_back_whole"#;
    let exe = std::env::current_exe().unwrap();
    let output = std::process::Command::new("sh").args(["-c", script]).arg(exe).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_request_is_resumed_and_must_be_in_the_manifest() {
    let mut session = program(ASK, true).session();
    let asked = session.run("[1]").unwrap();
    let request = Outcome::Request { capability: "tool:look".into(), input: "[1]".into(), state: b"tool".to_vec() };
    assert_eq!(asked, request);
    assert_eq!(session.resume(b"tool", Ok("7")), Ok(Outcome::Answer("7".into())));

    let file = auto_schema::cbin::seal(&module(ASK), None, &manifest(&module(ASK), true, &["tool:other"])).unwrap();
    let error = Program::load(&sandbox(), &file).unwrap().session().run("[1]").unwrap_err();
    assert_eq!(error.class, Class::BadOutput);
    assert!(error.message.contains("`tool:look`") && error.message.contains("tool:other"), "{error}");
}

#[test]
fn every_limit_is_kept_and_names_its_flag() {
    let run = |run: &str, limits: Limits| {
        Sandbox::new(limits).unwrap().load(&module(run)).unwrap().run_fresh("null").unwrap_err()
    };
    let defaults = Limits::default;
    let endless = defaults().with_fuel(u64::MAX).with_deadline(Duration::from_millis(50));
    let cases = [
        (run(LOOP, defaults()), Class::OutOfFuel, "--fuel"),
        (run(LOOP, endless), Class::Deadline, "--deadline"),
        (run(BOMB, defaults()), Class::OutOfMemory, "--memory"),
        (run(ECHO, defaults().with_input(3)), Class::InputTooLarge, "--max-input"),
        (run(RECURSION, defaults()), Class::OutOfStack, "--stack"),
        (run(ECHO, defaults().with_fuel(0)), Class::OutOfFuel, "--fuel"),
        (run(ECHO, defaults().with_deadline(Duration::ZERO)), Class::Deadline, "--deadline"),
        (run(ECHO, defaults().with_stack(0)), Class::OutOfStack, "--stack"),
    ];
    let grown = text("(drop (table.grow 0 (ref.null func) (i32.const 20000))) unreachable")
        .replace("(global $top", "(table 1 funcref) (global $top");
    let grown = Sandbox::new(defaults()).unwrap().load(&wat::parse_str(grown).unwrap()).unwrap();
    let error = grown.run_fresh("null").unwrap_err();
    assert_eq!(error.class, Class::OutOfTable, "{error}");
    assert!(error.message.contains("20001 entries") && error.message.contains("no flag"), "{error}");
    for (error, class, flag) in cases {
        assert_eq!(error.class, class, "{error}");
        assert!(error.message.contains(flag), "{error}");
    }
    assert_eq!(run("(unreachable)", defaults()).class, Class::Trap);
}

#[test]
fn every_call_starts_with_all_its_fuel() {
    let busy = format!(
        "(local $n i32) (local.set $n (i32.const 60000))
         (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) {ECHO}"
    );
    let file = sealed(&busy, true);
    let program = Program::load(&Sandbox::new(Limits::default().with_fuel(400_000)).unwrap(), &file).unwrap();
    let mut session = program.session();
    for _ in 0..10 {
        assert!(session.run("1").is_ok());
    }
}

/// Code that is made to be reused is first tried by the clock alone; what it fails by is
/// the same as for other code.
#[test]
fn a_reusable_module_fails_by_the_same_limits() {
    // A machine that does other things too shall not come to the deadline before the fuel is used up.
    let patient = Sandbox::new(Limits::default().with_deadline(Duration::from_secs(600))).unwrap();
    for run in [LOOP, BOMB, RECURSION, "(unreachable)"] {
        let session = |reusable| Program::load(&patient, &sealed(run, reusable)).unwrap().session();
        let (mut reusable, mut other) = (session(true), session(false));
        for _ in 0..3 {
            assert_eq!(reusable.run("null"), other.run("null"));
        }
    }
    let slow = format!(
        "(local $n i32) (local.set $n (i32.const 80000000))
         (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) {ECHO}"
    );
    let mut session = program(&slow, true).session();
    for _ in 0..3 {
        assert_eq!(session.run("[1]"), Ok(Outcome::Answer("[1]".into())));
    }
}

/// Limits too low for that are kept all the same.
#[test]
fn a_reusable_module_has_no_more_fuel_than_it_may() {
    let busy = format!(
        "(local $n i32) (local.set $n (i32.const 1000))
         (loop $again (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1))))) {ECHO}"
    );
    let limited = |fuel| Sandbox::new(Limits::default().with_fuel(fuel)).unwrap();
    let run = |fuel| Program::load(&limited(fuel), &sealed(&busy, true)).unwrap().session().run("1");
    assert_eq!(run(1_000).unwrap_err().class, Class::OutOfFuel);
    assert!(run(100_000).is_ok());
}

#[test]
fn what_breaks_the_abi_is_refused() {
    let million = 1_000_000;
    let cases = [
        (words(&[], 2), "not a multiple of 4"),
        (words(&[], 65_536), "outside its memory"),
        (words(&[], 65_508), "outside its memory"),
        (words(&[], u32::MAX - 3), "outside its memory"),
        (words(&[2], 0), "a result of case 2"),
        (words(&[0, 3], 0), "an outcome of case 3"),
        (words(&[1, 2], 0), "a failure of case 2"),
        (words(&[0, 0, 65_530, 7], 0), "an answer of 7 bytes at 65530"),
        (words(&[0, 0, u32::MAX, u32::MAX], 0), "outside its memory"),
        (words(&[0, 0, 1039, 2], 0), "an answer that is not UTF-8"),
        (words(&[0, 0, 1024, 4], 0), "an answer that is not JSON"),
        (words(&[0, 0, 1024, 0], 0), "an answer that is not JSON"),
        (words(&[0, 1, 1034, 4, million + 1, 0], 0), "a novelty of 1000001"),
        (words(&[0, 1, 1034, 4, 0, million + 1], 0), "a novelty of 0 against 1000001"),
        (words(&[0, 1, 1039, 2, 0, 0], 0), "a reason that is not UTF-8"),
        (words(&[0, 2, 1039, 2, 0, 0, 0, 0], 0), "a capability that is not UTF-8"),
        (words(&[0, 2, 1024, 4, 1024, 4, 0, 0], 0), "an effect's input that is not JSON"),
        (words(&[1, 0, 65_536, 1], 0), "a failure of 1 bytes at 65536"),
    ];
    for (run, part) in cases {
        let message = message_of(&run);
        assert!(message.contains(part), "expected {part:?} in {message:?}");
    }
    let (said, text) = (sandbox().load(&module(&words(&[1, 0, 1034, 4], 0))).unwrap(), "near");
    let error = said.run_fresh("null").unwrap_err();
    assert_eq!((error.class, error.message.as_str()), (Class::BadInput, text));
    assert_eq!(class_of(&words(&[1, 1, 1034, 4], 0)), Class::Unsupported);
}

#[test]
fn answers_must_be_canonical_unless_told_otherwise() {
    let mut session = program(ECHO, false).session();
    for text in ["[1, 2]", "{\"b\":1,\"a\":2}", "\"\\u0041\"", "1e2", " 1"] {
        assert_eq!(session.run(text).unwrap_err().class, Class::BadOutput, "{text}");
    }
    let mut strict = program(ECHO, true).session().checked(true);
    assert_eq!(strict.run("[1, 2]").unwrap_err().class, Class::BadOutput);
    let mut trusting = program(ECHO, true).session();
    assert_eq!(trusting.run("[1, 2]"), Ok(Outcome::Answer("[1, 2]".into())));
}

#[test]
fn a_bad_allocator_cannot_make_the_host_write_elsewhere() {
    for address in ["-1", "65536", "65533"] {
        let text =
            text(ECHO).replace("(local.get $at))\n  (func $run", &format!("(i32.const {address}))\n  (func $run"));
        let error = sandbox().load(&wat::parse_str(text).unwrap()).unwrap().run_fresh("null").unwrap_err();
        assert_eq!(error.class, Class::BadOutput);
        assert!(error.message.contains("room for 4 bytes"), "{error}");
    }
}

#[test]
fn sessions_beyond_the_pool_are_refused_and_say_so() {
    let sandbox = Sandbox::new(Limits::default().with_instances(1)).unwrap();
    let program = Program::load(&sandbox, &sealed(ECHO, true)).unwrap();
    let mut first = program.session();
    assert!(first.run("1").is_ok());
    let error = program.session().run("1").unwrap_err();
    assert_eq!(error.class, Class::OutOfMemory);
    drop(first);
    assert!(program.session().run("1").is_ok());
}

#[test]
fn steps_are_read_from_a_metered_twin() {
    let text = text(&format!("(global.set $steps (i64.const 42)) {ECHO}"))
        .replace("(global $top", "(global $steps (export \"steps\") (mut i64) (i64.const 0)) (global $top");
    let module = sandbox().load(&wat::parse_str(text).unwrap()).unwrap();
    assert_eq!(module.run_fresh("1"), Ok((Outcome::Answer("1".into()), Some(42))));
    let plain = sandbox().load(&fixtures::module(ECHO)).unwrap();
    assert_eq!(plain.run_fresh("1"), Ok((Outcome::Answer("1".into()), None)));
}

proptest! {
    /// Whatever the guest writes and returns, the host gives a value or a refusal.
    #[test]
    fn no_returned_bytes_break_the_host(
        block in proptest::collection::vec(prop_oneof![0u32..4, 1020u32..1050, 65_500u32..65_540, any::<u32>()], 0..10),
        returned in prop_oneof![Just(0u32), 0u32..64, 65_480u32..65_540, any::<u32>()],
    ) {
        thread_local!(static SANDBOX: Sandbox = sandbox());
        let result = SANDBOX.with(|sandbox| sandbox.load(&module(&words(&block, returned))).unwrap().run_fresh("null"));
        if let Err(error) = result {
            prop_assert!(matches!(error.class, Class::BadOutput | Class::BadInput | Class::Unsupported), "{error}");
        }
    }
}
