//! No call influences the next. For code of our own emit, `evals/tests` proves it on its
//! memory and globals; here it is proved that code which does keep something cannot leak it
//! where the manifest does not vouch for it, and that a failed instance is never used again.

mod fixtures;

use auto_runtime::{Class, Outcome};
use fixtures::*;
use proptest::prelude::*;

fn answer(text: &str) -> Outcome {
    Outcome::Answer(text.into())
}

#[test]
fn a_module_that_counts_its_calls_always_counts_one() {
    let program = program(COUNTER, false);
    let mut session = program.session();
    for _ in 0..5 {
        assert_eq!(session.run("null"), Ok(answer("1")));
        assert_eq!(program.isolated_session().run("null").unwrap(), answer("1"));
    }
    assert!(session.run_batch(["1", "2", "3"]).all(|outcome| outcome == Ok(answer("1"))));
}

/// The test above can fail: the same module leaks as soon as its manifest vouches for it.
#[test]
fn the_counter_does_count_where_its_instance_is_kept() {
    let mut session = program(COUNTER, true).session();
    assert_eq!(session.run("null"), Ok(answer("1")));
    assert_eq!(session.run("null"), Ok(answer("2")));
    assert_eq!(program(COUNTER, true).isolated_session().run("null"), Ok(answer("1")));
}

#[test]
fn an_instance_that_trapped_is_not_used_again() {
    let mut session = program(FRAGILE, true).session();
    assert_eq!(session.run("[1]"), Ok(answer("[1]")));
    assert_eq!(session.run("1").unwrap_err().class, Class::Trap);
    assert_eq!(session.run("[2]"), Ok(answer("[2]")));
}

proptest! {
    /// Random sequences of calls that answer, refuse and trap: each call gives what it gives
    /// alone.
    #[test]
    fn sequences_give_what_single_calls_give(calls in proptest::collection::vec(0usize..5, 1..40)) {
        thread_local!(static PROGRAM: auto_runtime::Program = program(FRAGILE, true));
        let inputs = ["1", "[1]", "{}", "not json", "[1, 2]"];
        let program = PROGRAM.with(Clone::clone);
        let mut session = program.session().checked(true);
        for call in calls {
            let alone = program.isolated_session().run(inputs[call]);
            prop_assert_eq!(session.run(inputs[call]), alone);
        }
    }
}
