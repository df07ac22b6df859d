//! The gate pass itself, asked without a host.

use auto_gate::admit_types as wit;
use auto_spec_search::gate::{Decision, Policy, Reason, Snapshot};

fn snapshot(of: &Snapshot) -> wit::Snapshot {
    let measure = |one: &auto_spec_search::gate::Measure| wit::Measure {
        metric: one.metric.clone(),
        stratum: one.stratum.clone(),
        mean: one.mean,
        n: one.n,
    };
    wit::Snapshot {
        subject: of.subject.clone(),
        evaluator: of.evaluator.clone(),
        sample: of.sample.clone(),
        measures: of.measures.iter().map(measure).collect(),
        checks: vec![],
    }
}

fn axis(of: &auto_spec_search::gate::Axis) -> wit::Axis {
    wit::Axis {
        metric: of.metric.clone(),
        stratum: of.stratum.clone(),
        sense: wit::Sense::Higher,
        comparison: if of.strict { wit::Comparison::Gt } else { wit::Comparison::Ge },
        bound: of.bound,
    }
}

/// Asks the gate.
pub fn decide(before: &Snapshot, after: &Snapshot, policy: &Policy) -> Decision {
    let drift = policy.drift.as_ref().map(|drift| wit::Drift {
        anchor: snapshot(&drift.anchor),
        metric: auto_spec_search::gate::SCORE.to_owned(),
        sense: wit::Sense::Higher,
        loss: drift.loss,
    });
    let policy = wit::Policy {
        axes: policy.axes.iter().map(axis).collect(),
        rest: policy.rest.as_ref().map(axis),
        min_n: policy.min_n,
        must_pass: vec![],
        drift,
    };
    let reasons = |reasons: Vec<wit::Reason>| {
        reasons.into_iter().map(|one| Reason { axis: one.axis, gain: one.gain, code: one.code }).collect()
    };
    match auto_gate::admits(&snapshot(before), &snapshot(after), &policy) {
        wit::Decision::Accept => Decision::Accept,
        wit::Decision::Reject(why) => Decision::Reject(reasons(why)),
        wit::Decision::Unmeasurable(why) => Decision::Unmeasurable(reasons(why)),
        wit::Decision::Other(other) => panic!("{other}"),
    }
}
