//! GateOK, decided by the gate pass: the boundary table, and what holds for every snapshot.

mod common;

use auto_spec_search::gate::{Bounds, Decision, Measure, SCORE, Snapshot, policy};
use common::gate::decide;
use proptest::prelude::*;

const BOUNDS: Bounds = Bounds { epsilon: 10_000, least: 0, drift: 50_000 };

fn snapshot(measures: &[(&str, i64)]) -> Snapshot {
    let measure = |(stratum, mean): &(&str, i64)| Measure {
        metric: SCORE.to_owned(),
        stratum: (*stratum).to_owned(),
        mean: *mean,
        n: 10,
    };
    Snapshot {
        subject: "s".to_owned(),
        evaluator: "e".to_owned(),
        sample: "x".to_owned(),
        measures: measures.iter().map(measure).collect(),
    }
}

fn asked(before: &Snapshot, after: &Snapshot, bounds: Bounds) -> Decision {
    decide(before, after, &policy(&["a".to_owned()], bounds, before.clone()))
}

fn codes(decision: &Decision) -> (&'static str, Vec<(&str, &str)>) {
    match decision {
        Decision::Accept => ("accept", vec![]),
        Decision::Reject(why) => ("reject", why.iter().map(|one| (one.axis.as_str(), one.code.as_str())).collect()),
        Decision::Unmeasurable(why) => {
            ("unmeasurable", why.iter().map(|one| (one.axis.as_str(), one.code.as_str())).collect())
        }
    }
}

#[test]
fn the_boundary_table_holds_to_a_millionth() {
    let before = snapshot(&[("a", 500_000), ("b", 700_000), ("_rest", 600_000)]);
    let after = |a, b, rest| snapshot(&[("a", a), ("b", b), ("_rest", rest)]);
    for (name, after, decision) in [
        ("a drop of exactly epsilon", after(500_001, 690_000, 590_000), ("accept", vec![])),
        ("a millionth more, in a cluster", after(500_001, 689_999, 600_000), ("reject", vec![("score/b", "bound")])),
        ("a millionth more, in the rest", after(500_001, 700_000, 589_999), ("reject", vec![("score/_rest", "bound")])),
        ("the target flat, another up", after(500_000, 900_000, 900_000), ("reject", vec![("score/a", "bound")])),
        ("the overall mean down, the target up", after(510_000, 690_000, 590_000), ("accept", vec![])),
        (
            "all at once",
            after(499_999, 0, 0),
            (
                "reject",
                vec![
                    ("score/_rest", "bound"),
                    ("score/_rest", "drift"),
                    ("score/a", "bound"),
                    ("score/b", "bound"),
                    ("score/b", "drift"),
                ],
            ),
        ),
    ] {
        assert_eq!(codes(&asked(&before, &after, BOUNDS)), decision, "{name}");
    }
    let least = Bounds { least: 20_000, ..BOUNDS };
    let gained = after(520_000, 700_000, 600_000);
    assert_eq!(codes(&asked(&before, &gained, least)).0, "reject", "exactly the least improvement is not more");
    assert_eq!(codes(&asked(&before, &after(520_001, 700_000, 600_000), least)).0, "accept");
}

#[test]
fn what_was_not_measured_alike_is_neither_accepted_nor_a_regression() {
    let before = snapshot(&[("a", 500_000), ("b", 700_000)]);
    let good = snapshot(&[("a", 600_000), ("b", 700_000)]);
    let code = |after: Snapshot| codes(&asked(&before, &after, BOUNDS)).0;
    assert_eq!(code(good.clone()), "accept");
    assert_eq!(code(snapshot(&[("a", 600_000)])), "unmeasurable", "a cluster that vanished is not a score of 0");
    assert_eq!(code(snapshot(&[("b", 700_000)])), "unmeasurable");
    assert_eq!(code(snapshot(&[("a", 600_000), ("b", 700_000), ("c", 1)])), "unmeasurable", "nor is a new one ignored");
    assert_eq!(code(Snapshot { evaluator: "f".to_owned(), ..good.clone() }), "unmeasurable");
    assert_eq!(code(Snapshot { sample: "y".to_owned(), ..good.clone() }), "unmeasurable");
    let mut none = good;
    none.measures[1].n = 0;
    assert_eq!(code(none), "unmeasurable");
}

#[test]
fn many_acceptances_lose_no_more_on_a_guard_than_the_drift_allows() {
    let anchor = snapshot(&[("a", 100_000), ("b", 900_000)]);
    let (mut incumbent, mut accepted) = (anchor.clone(), 0);
    for step in 1..20 {
        let after = snapshot(&[("a", 100_000 + step * 1_000), ("b", 900_000 - step * 10_000)]);
        match decide(&incumbent, &after, &policy(&["a".to_owned()], BOUNDS, anchor.clone())) {
            Decision::Accept => {
                incumbent = after;
                accepted += 1;
            }
            Decision::Reject(why) => {
                assert!(why.iter().any(|one| one.code == "drift"));
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(accepted, 5, "five of a hundredth are the twentieth that it may drift");
}

proptest! {
    #[test]
    fn equal_snapshots_are_never_accepted(a in 0i64..=1_000_000, b in 0i64..=1_000_000) {
        let one = snapshot(&[("a", a), ("b", b)]);
        prop_assert_eq!(codes(&asked(&one, &one, BOUNDS)).0, "reject");
    }

    #[test]
    fn a_smaller_epsilon_never_admits_more(
        old in (0i64..=1_000_000, 0i64..=1_000_000), new in (0i64..=1_000_000, 0i64..=1_000_000),
        epsilon in 0i64..100_000, less in 0i64..100_000,
    ) {
        let (before, after) = (snapshot(&[("a", old.0), ("b", old.1)]), snapshot(&[("a", new.0), ("b", new.1)]));
        let wide = asked(&before, &after, Bounds { epsilon, ..BOUNDS });
        let tight = asked(&before, &after, Bounds { epsilon: (epsilon - less).max(0), ..BOUNDS });
        prop_assert!(!(codes(&wide).0 == "reject" && codes(&tight).0 == "accept"));
        // The order of the measures is nobody's business.
        let mut turned = after.clone();
        turned.measures.reverse();
        prop_assert_eq!(asked(&before, &turned, BOUNDS), asked(&before, &after, BOUNDS));
    }
}
