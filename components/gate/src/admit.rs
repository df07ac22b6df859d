//! `admit`: whether a search step may stand. The incumbent's snapshot is compared with the
//! candidate's, axis by axis; the rule is GateOK of spec search (every target gains more
//! than its least improvement, every other stratum loses at most epsilon), and with other
//! axes the rule of skills and of fitness under constraints.

use std::collections::{BTreeMap, BTreeSet};

use crate::bindings::exports::auto::pass::admit::{
    Axis, Comparison, Decision, Drift, Measure, Policy, Reason, Sense, Snapshot,
};

/// Decides. What cannot be compared is `unmeasurable`, whatever else is wrong.
pub fn decide(before: &Snapshot, after: &Snapshot, policy: &Policy) -> Decision {
    let mut unmeasured = incomparable(before, after);
    let mut broken: Vec<Reason> = Vec::new();
    if unmeasured.is_empty() {
        for axis in axes(before, after, policy) {
            judge(before, after, &axis, policy.min_n, "bound", &mut broken, &mut unmeasured);
        }
        if let Some(drift) = &policy.drift {
            drifted(drift, before, after, policy.min_n, &mut broken, &mut unmeasured);
        }
    }
    for name in &policy.must_pass {
        match after.checks.iter().find(|check| check.name == *name) {
            None => unmeasured.push(reason(name, None, "missing")),
            Some(check) if !check.ok => broken.push(reason(name, None, "check")),
            Some(_) => {}
        }
    }
    match (unmeasured.is_empty(), broken.is_empty()) {
        (false, _) => Decision::Unmeasurable(sorted(unmeasured)),
        (true, false) => Decision::Reject(sorted(broken)),
        (true, true) => Decision::Accept,
    }
}

fn incomparable(before: &Snapshot, after: &Snapshot) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if before.evaluator != after.evaluator {
        reasons.push(reason("evaluator", None, "evaluator"));
    }
    if before.sample != after.sample {
        reasons.push(reason("sample", None, "sample"));
    }
    reasons
}

/// The named axes, and `rest` for every stratum of its metric that none of them names.
fn axes(before: &Snapshot, after: &Snapshot, policy: &Policy) -> Vec<Axis> {
    let mut axes = policy.axes.clone();
    let Some(rest) = &policy.rest else { return axes };
    let named: BTreeSet<&str> =
        policy.axes.iter().filter(|axis| axis.metric == rest.metric).map(|axis| axis.stratum.as_str()).collect();
    let strata: BTreeSet<&str> = before
        .measures
        .iter()
        .chain(&after.measures)
        .filter(|measure| measure.metric == rest.metric && !named.contains(measure.stratum.as_str()))
        .map(|measure| measure.stratum.as_str())
        .collect();
    axes.extend(strata.into_iter().map(|stratum| Axis { stratum: stratum.to_owned(), ..rest.clone() }));
    axes
}

/// Judges one axis. A bound that is met exactly is met by `ge` and not by `gt`.
fn judge(
    before: &Snapshot,
    after: &Snapshot,
    axis: &Axis,
    min_n: u32,
    code: &str,
    broken: &mut Vec<Reason>,
    unmeasured: &mut Vec<Reason>,
) {
    let name = format!("{}/{}", axis.metric, axis.stratum);
    let mut open = |code: &str| unmeasured.push(reason(&name, None, code));
    let (Some(old), Some(new)) = (find(before, axis), find(after, axis)) else { return open("missing") };
    if old.n.min(new.n) < min_n.max(1) {
        return open("few");
    }
    let gain = match axis.sense {
        Sense::Higher => new.mean.checked_sub(old.mean),
        Sense::Lower => old.mean.checked_sub(new.mean),
        Sense::Other(_) => return open("unknown-sense"),
    };
    let Some(gain) = gain else { return open("overflow") };
    let holds = match axis.comparison {
        Comparison::Gt => gain > axis.bound,
        Comparison::Ge => gain >= axis.bound,
        Comparison::Other(_) => return open("unknown-comparison"),
    };
    if !holds {
        broken.push(reason(&name, Some(gain), code));
    }
}

/// Every stratum against the anchor: it may have lost at most so much since then.
fn drifted(
    drift: &Drift,
    before: &Snapshot,
    after: &Snapshot,
    min_n: u32,
    broken: &mut Vec<Reason>,
    unmeasured: &mut Vec<Reason>,
) {
    let incomparable = incomparable(&drift.anchor, after);
    if !incomparable.is_empty() {
        return unmeasured.extend(incomparable);
    }
    let Some(bound) = drift.loss.checked_neg() else { return unmeasured.push(reason("drift", None, "overflow")) };
    let strata: BTreeMap<&str, ()> = [&drift.anchor, before, after]
        .into_iter()
        .flat_map(|snapshot| &snapshot.measures)
        .filter(|measure| measure.metric == drift.metric)
        .map(|measure| (measure.stratum.as_str(), ()))
        .collect();
    for stratum in strata.into_keys() {
        let axis = Axis {
            metric: drift.metric.clone(),
            stratum: stratum.to_owned(),
            sense: drift.sense.clone(),
            comparison: Comparison::Ge,
            bound,
        };
        judge(&drift.anchor, after, &axis, min_n, "drift", broken, unmeasured);
    }
}

/// The measure of an axis; none where there are two, since nobody can say which counts.
fn find<'s>(snapshot: &'s Snapshot, axis: &Axis) -> Option<&'s Measure> {
    let mut own =
        snapshot.measures.iter().filter(|measure| measure.metric == axis.metric && measure.stratum == axis.stratum);
    own.next().filter(|_| own.next().is_none())
}

fn reason(axis: &str, gain: Option<i64>, code: &str) -> Reason {
    Reason { axis: axis.to_owned(), gain, code: code.to_owned() }
}

fn sorted(mut reasons: Vec<Reason>) -> Vec<Reason> {
    reasons.sort_by(|a, b| a.axis.cmp(&b.axis).then_with(|| a.code.cmp(&b.code)));
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::exports::auto::pass::admit::Check;

    fn snapshot(measures: &[(&str, i64)]) -> Snapshot {
        let measure = |(stratum, mean): &(&str, i64)| Measure {
            metric: "score".to_owned(),
            stratum: (*stratum).to_owned(),
            mean: *mean,
            n: 10,
        };
        Snapshot {
            subject: "s".to_owned(),
            evaluator: "e".to_owned(),
            sample: "x".to_owned(),
            measures: measures.iter().map(measure).collect(),
            checks: Vec::new(),
        }
    }

    fn axis(stratum: &str, comparison: Comparison, bound: i64) -> Axis {
        Axis { metric: "score".to_owned(), stratum: stratum.to_owned(), sense: Sense::Higher, comparison, bound }
    }

    /// GateOK: the target gains more than nothing, every other loses at most a hundredth.
    fn gate_ok(target: &str) -> Policy {
        Policy {
            axes: vec![axis(target, Comparison::Gt, 0)],
            rest: Some(axis("", Comparison::Ge, -10_000)),
            min_n: 1,
            must_pass: Vec::new(),
            drift: None,
        }
    }

    fn codes(decision: &Decision) -> Vec<(String, String)> {
        match decision {
            Decision::Accept => Vec::new(),
            Decision::Reject(reasons) | Decision::Unmeasurable(reasons) => {
                reasons.iter().map(|reason| (reason.axis.clone(), reason.code.clone())).collect()
            }
            Decision::Other(other) => vec![(other.clone(), String::new())],
        }
    }

    #[test]
    fn a_drop_of_exactly_epsilon_stands_and_one_more_does_not() {
        for (old, new) in [(700_000, 690_000), (800_000, 790_000), (600_000, 590_000)] {
            let before = snapshot(&[("a", 500_000), ("b", old)]);
            let exactly = snapshot(&[("a", 500_001), ("b", new)]);
            assert_eq!(codes(&decide(&before, &exactly, &gate_ok("a"))), []);
            let more = snapshot(&[("a", 500_001), ("b", new - 1)]);
            let decision = decide(&before, &more, &gate_ok("a"));
            assert!(matches!(&decision, Decision::Reject(reasons) if reasons[0].gain == Some(-10_001)));
        }
    }

    #[test]
    fn the_target_itself_must_gain_whatever_the_overall_mean_does() {
        let before = snapshot(&[("a", 500_000), ("b", 500_000)]);
        let flat = snapshot(&[("a", 500_000), ("b", 900_000)]);
        assert_eq!(codes(&decide(&before, &flat, &gate_ok("a"))), [("score/a".to_owned(), "bound".to_owned())]);
        let dips = snapshot(&[("a", 900_000), ("b", 490_000)]);
        assert_eq!(codes(&decide(&before, &dips, &gate_ok("a"))), []);
    }

    #[test]
    fn what_cannot_be_compared_is_unmeasurable_and_no_regression() {
        let before = snapshot(&[("a", 1), ("b", 1)]);
        let unmeasurable = |after: &Snapshot, policy: &Policy| match decide(&before, after, policy) {
            Decision::Unmeasurable(reasons) => reasons.into_iter().map(|reason| reason.code).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        let good = snapshot(&[("a", 2), ("b", 1)]);
        assert_eq!(unmeasurable(&Snapshot { evaluator: "f".to_owned(), ..good.clone() }, &gate_ok("a")), ["evaluator"]);
        assert_eq!(unmeasurable(&Snapshot { sample: "y".to_owned(), ..good.clone() }, &gate_ok("a")), ["sample"]);
        assert_eq!(unmeasurable(&snapshot(&[("a", 2)]), &gate_ok("a")), ["missing"]);
        assert_eq!(unmeasurable(&good, &gate_ok("c")), ["missing"]);
        assert_eq!(unmeasurable(&good, &Policy { min_n: 11, ..gate_ok("a") }), ["few", "few"]);
        assert_eq!(unmeasurable(&snapshot(&[("a", 2), ("a", 3), ("b", 1)]), &gate_ok("a")), ["missing"]);
        let policy = Policy { must_pass: vec!["tests".to_owned()], ..gate_ok("a") };
        assert_eq!(unmeasurable(&good, &policy), ["missing"]);
        assert_eq!(
            unmeasurable(&snapshot(&[("a", i64::MAX), ("b", 1)]), &{
                let mut policy = gate_ok("a");
                policy.axes[0].sense = Sense::Other("sideways".to_owned());
                policy
            }),
            ["unknown-sense"]
        );
    }

    #[test]
    fn many_small_losses_do_not_add_up_past_the_anchor() {
        let anchor = snapshot(&[("a", 100_000), ("b", 900_000)]);
        let drift = Drift { anchor: anchor.clone(), metric: "score".to_owned(), sense: Sense::Higher, loss: 15_000 };
        let policy = Policy { drift: Some(drift), ..gate_ok("a") };
        let first = snapshot(&[("a", 110_000), ("b", 890_000)]);
        assert_eq!(codes(&decide(&anchor, &first, &policy)), []);
        let second = snapshot(&[("a", 120_000), ("b", 885_000)]);
        assert_eq!(codes(&decide(&first, &second, &policy)), []);
        let third = snapshot(&[("a", 130_000), ("b", 884_999)]);
        assert_eq!(codes(&decide(&second, &third, &policy)), [("score/b".to_owned(), "drift".to_owned())]);
    }

    #[test]
    fn a_skill_cell_needs_half_a_point_and_no_more_timeouts() {
        let measured = |cell: i64, timeouts: i64| {
            let mut snapshot = snapshot(&[("cell", cell)]);
            let rate = Measure { metric: "timeout_rate".to_owned(), stratum: String::new(), mean: timeouts, n: 3 };
            snapshot.measures.push(rate);
            snapshot
        };
        let timeouts = Axis {
            metric: "timeout_rate".to_owned(),
            stratum: String::new(),
            sense: Sense::Lower,
            comparison: Comparison::Ge,
            bound: 0,
        };
        let policy = Policy {
            axes: vec![axis("cell", Comparison::Ge, 500_000), timeouts],
            rest: None,
            min_n: 3,
            must_pass: vec!["relevant".to_owned()],
            drift: None,
        };
        let with = |ok: bool, mut snapshot: Snapshot| {
            snapshot.checks.push(Check { name: "relevant".to_owned(), ok, detail: String::new() });
            snapshot
        };
        let before = measured(3_000_000, 333_333);
        assert_eq!(codes(&decide(&before, &with(true, measured(3_500_000, 333_333)), &policy)), []);
        let worse = decide(&before, &with(false, measured(3_499_999, 333_334)), &policy);
        let axes: Vec<String> = codes(&worse).into_iter().map(|(axis, _)| axis).collect();
        assert_eq!(axes, ["relevant", "score/cell", "timeout_rate/"]);
    }
}
