//! Effects: what is granted, counted and recorded, and states that come back sealed.

mod fixtures;

use auto_runtime::{Class, Effect, EffectError, EffectRecord, Outcome, Program, RunLimits, Seals, Session, Tools};
use auto_schema::cbin;
use fixtures::*;

/// Grants some capabilities and answers with its replies in order.
#[derive(Default)]
struct Scripted {
    granted: Vec<&'static str>,
    replies: Vec<Result<&'static str, EffectError>>,
    asked: Vec<String>,
    records: Vec<EffectRecord>,
}

impl Tools for Scripted {
    fn grants(&self, capability: &str) -> bool {
        self.granted.contains(&capability)
    }

    fn call(&mut self, effect: &Effect<'_>) -> Result<String, EffectError> {
        self.asked.push(format!("{} {} {} {}", effect.index, effect.capability, effect.input, effect.key));
        self.replies.remove(0).map(str::to_owned)
    }

    fn record(&mut self, record: EffectRecord) {
        self.records.push(record);
    }
}

fn granted(replies: &[Result<&'static str, EffectError>]) -> Scripted {
    Scripted { granted: vec!["tool:look"], replies: replies.to_vec(), ..Scripted::default() }
}

fn failed(code: &'static str) -> EffectError {
    EffectError { code, message: "1".to_owned() }
}

/// Asks for `tool:look` in `run`, and again in `resume` while the reply is one byte long;
/// otherwise answers with the reply.
fn persistent() -> Program {
    let resume = format!("(if (result i32) (i32.eq (local.get $length) (i32.const 1)) (then {ASK}) (else {ECHO}))");
    let text = text(ASK);
    let (before, _) = text.rsplit_once(ECHO).unwrap();
    let module = wat::parse_str(format!("{before}{resume})\n)")).unwrap();
    let file = cbin::seal(&module, None, &manifest(&module, true, &["tool:look"])).unwrap();
    Program::load(&sandbox(), &file).unwrap()
}

#[test]
fn a_run_goes_on_until_there_is_an_answer() {
    let mut tools = granted(&[Ok("1"), Ok("2"), Ok("[3]")]);
    let outcome = persistent().session().run_with("[1]", &mut tools, &RunLimits::default());
    assert_eq!(outcome, Ok(Outcome::Answer("[3]".into())));
    let asked: Vec<&str> = tools.asked.iter().map(|asked| &asked[..asked.len() - 65]).collect();
    assert_eq!(asked, ["0 tool:look [1]", "1 tool:look 1", "2 tool:look 2"]);
    assert_eq!(tools.records.len(), 3);
    assert!(tools.records.iter().all(|record| record.error.is_none() && record.capability == "tool:look"));
}

#[test]
fn nothing_runs_that_may_ask_for_what_is_not_granted() {
    let mut tools = Scripted::default();
    let error = persistent().session().run_with("not even JSON", &mut tools, &RunLimits::default()).unwrap_err();
    assert_eq!(error.class, Class::NotGranted);
    assert!(error.message.contains("tool:look"), "{error}");
    assert!(tools.asked.is_empty());
}

#[test]
fn a_run_has_so_many_effects_and_no_more() {
    let mut tools = granted(&[Ok("1"), Ok("1"), Ok("[1]")]);
    let limits = |effects| RunLimits { effects, ..RunLimits::default() };
    let error = persistent().session().run_with("[1]", &mut tools, &limits(2)).unwrap_err();
    assert_eq!(error.class, Class::EffectBudget);
    assert!(error.message.contains("--max-tool-calls"), "{error}");
    assert_eq!(tools.asked.len(), 2);
    assert!(persistent().session().run_with("[1]", &mut granted(&[Ok("1"), Ok("[1]")]), &limits(2)).is_ok());
}

#[test]
fn what_goes_wrong_is_recorded_and_the_artifact_is_told() {
    for (error, told) in [(failed("err"), "1"), (failed("tool-timeout"), "runner-failed: tool-timeout: 1")] {
        let mut tools = granted(&[Err(error.clone()), Ok("[7]")]);
        let outcome = persistent().session().run_with("[1]", &mut tools, &RunLimits::default());
        assert_eq!(tools.records[0].error.as_ref(), Some(&error));
        // The fixture echoes what it is told, whatever the case, once it is long enough; that
        // is no JSON, so the session says so.
        match told {
            "1" => assert_eq!(outcome, Ok(Outcome::Answer("[7]".into()))),
            told => assert_eq!(outcome, Ok(Outcome::Answer(told.into()))),
        }
    }
}

#[test]
fn keys_are_those_of_the_same_effect_of_the_same_run() {
    let keys = |input: &str, run: &str| -> Vec<String> {
        let mut tools = granted(&[Ok("1"), Ok("[1]")]);
        let limits = RunLimits { run: run.to_owned(), ..RunLimits::default() };
        persistent().session().run_with(input, &mut tools, &limits).unwrap();
        tools.asked.iter().map(|asked| asked[asked.len() - 64..].to_owned()).collect()
    };
    let first = keys("[1]", "");
    assert_ne!(first[0], first[1]);
    assert_eq!(keys("[1]", ""), first);
    // As a value, not as a text; the fixture asks with the text it was given.
    assert_eq!(keys(" [1]", "")[1], first[1]);
    assert_ne!(keys("[2]", "")[1], first[1]);
    assert_ne!(keys("[1]", "another run")[0], first[0]);
}

fn state(outcome: &Outcome) -> Vec<u8> {
    match outcome {
        Outcome::Request { state, .. } => state.clone(),
        other => panic!("no request: {other:?}"),
    }
}

#[test]
fn a_sealed_state_is_good_for_one_use_of_one_artifact() {
    let mut seals = Seals::new().unwrap();
    let mut session = persistent().session();
    let first = state(&session.run_sealed("[1]", &mut seals).unwrap());
    let second = state(&session.resume_sealed(&first, Ok("1"), &mut seals).unwrap());
    let class = |session: &mut Session, state: &[u8], seals: &mut Seals| {
        session.resume_sealed(state, Ok("[1]"), seals).unwrap_err().class
    };
    assert_eq!(class(&mut session, &first, &mut seals), Class::ReplayedState);
    assert_eq!(class(&mut program(ASK, true).session(), &second, &mut seals), Class::ForeignState);
    assert_eq!(class(&mut session, &second, &mut Seals::new().unwrap()), Class::ForgedState);
    // The raw state inside is none that was handed out.
    assert_eq!(class(&mut session, b"tool", &mut seals), Class::ForgedState);
    assert_eq!(class(&mut session, &[], &mut seals), Class::ForgedState);
    // None of the refusals has used it up.
    assert_eq!(session.resume_sealed(&second, Ok("[1]"), &mut seals), Ok(Outcome::Answer("[1]".into())));
    assert_eq!(class(&mut session, &second, &mut seals), Class::ReplayedState);
}

#[test]
fn every_flipped_bit_of_a_sealed_state_is_refused() {
    let mut seals = Seals::new().unwrap();
    let mut session = persistent().session();
    let sealed = state(&session.run_sealed("[1]", &mut seals).unwrap());
    for at in 0..sealed.len() {
        for bit in 0..8 {
            let mut other = sealed.clone();
            other[at] ^= 1 << bit;
            let error = session.resume_sealed(&other, Ok("[1]"), &mut seals).unwrap_err();
            assert_eq!(error.class, Class::ForgedState, "byte {at}, bit {bit}");
        }
        assert!(session.resume_sealed(&sealed[..at], Ok("[1]"), &mut seals).is_err());
    }
    assert!(session.resume_sealed(&sealed, Ok("[1]"), &mut seals).is_ok());
}

#[test]
fn two_sealed_states_of_one_run_are_not_alike() {
    let mut seals = Seals::new().unwrap();
    let mut session = persistent().session();
    let one = state(&session.run_sealed("[1]", &mut seals).unwrap());
    let other = state(&session.run_sealed("[1]", &mut seals).unwrap());
    assert_ne!(one, other);
    assert!(session.resume_sealed(&other, Ok("[1]"), &mut seals).is_ok());
    assert!(session.resume_sealed(&one, Ok("[1]"), &mut seals).is_ok());
}
