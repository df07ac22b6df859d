//! Budgets, as they bear on an artifact.

use auto_schema::contract::{ArtifactBudgets, ReferenceBudgets};

use crate::evidence::Candidate;
use crate::finding::{Finding, Status};

/// What the artifact may cost.
pub(crate) fn artifact(budgets: ArtifactBudgets, candidate: &Candidate) -> Vec<Finding> {
    let mut steps: Vec<u64> = candidate.replays.iter().map(|replay| replay.steps).collect();
    steps.sort_unstable();
    let counted = candidate.metered && !steps.is_empty();
    let p95 = steps.get((steps.len() * 95).div_ceil(100).saturating_sub(1)).copied().filter(|_| counted);
    let most = steps.last().copied().filter(|_| counted);
    let rows = [
        ("budget/steps", "the most steps of a call", budgets.max_steps, most),
        ("budget/steps-p95", "the 95th percentile of the steps of a call", budgets.max_steps_p95, p95),
        ("budget/bytes", "the size of the module in bytes", budgets.max_bytes, Some(u64::from(candidate.size))),
    ];
    let mut findings: Vec<Finding> = rows
        .into_iter()
        .filter_map(|(id, what, budget, measured)| {
            let budget = budget?;
            let claim = format!("{what} is at most {budget}");
            Some(match measured {
                None => Finding::new(id, Status::Inconclusive, claim, "steps were not counted"),
                Some(measured) => Finding::new(id, within(measured, budget), claim, format!("it is {measured}")),
            })
        })
        .collect();
    // The figure is another on every run, and would make the same judgement another record.
    findings.extend(budgets.max_latency_us_p95.map(|budget| {
        let claim = format!("the 95th percentile of an answer, its calls together and tools aside, is at most {budget} us on the judging machine");
        match candidate.latency_us_p95 {
            None => Finding::new("budget/latency", Status::Inconclusive, claim, "it was not measured"),
            Some(measured) => match within(measured, budget) {
                Status::Pass => Finding::new("budget/latency", Status::Pass, claim, "it is"),
                status => Finding::new("budget/latency", status, claim, format!("it is {measured} us")),
            },
        }
    }));
    findings
}

fn within(measured: u64, budget: u64) -> Status {
    if measured <= budget { Status::Pass } else { Status::Fail }
}

/// Budgets of the reference were measured, if at all, when the recordings were verified;
/// an artifact is not billed, and steps are not time.
pub(crate) fn reference(budgets: ReferenceBudgets) -> Option<Finding> {
    let names = [
        (budgets.max_latency_ms_p95, "max_latency_ms_p95"),
        (budgets.max_cost_usd_micros, "max_cost_usd_micros"),
        (budgets.max_tokens, "max_tokens"),
    ];
    let names: Vec<&str> = names.iter().filter(|(most, _)| most.is_some()).map(|(_, name)| *name).collect();
    if names.is_empty() {
        return None;
    }
    let detail = format!("{} not judged here; `verify` judges the recordings by them", names.join(", "));
    let claim = "budgets are of the reference and ask nothing of an artifact";
    Some(Finding::new("budget/reference", Status::Pass, claim, detail))
}
