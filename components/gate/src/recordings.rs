//! `verify`: whether what was recorded meets the contract.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_schema::contract::{Contract, Match};

use crate::claims::{Answer, Expectation, expectations, interface, properties};
use crate::evidence::{Evidence, Hearings, Observation, Reference};
use crate::finding::{Breaches, Finding, Status, shown};

pub(crate) fn judge(contract: &Contract, evidence: &Evidence, reference: &Reference) -> Vec<Finding> {
    let observations = evidence.observations.as_slice();
    let inputs: Vec<&Value> = observations.iter().map(|seen| &seen.input).collect();
    let answers: Vec<Answer> =
        observations.iter().flat_map(|seen| seen.outputs.iter().map(|(output, _)| (&seen.input, output))).collect();
    let by_input: BTreeMap<&Value, &Observation> = observations.iter().map(|seen| (&seen.input, seen)).collect();

    let mut findings = vec![observed(observations), errors(observations), divergence(observations)];
    findings.extend(interface(contract, &inputs, &answers));
    let expected = expectations(contract);
    findings
        .extend(expected.iter().map(|claim| witnessed(claim, by_input.get(claim.input).copied(), &evidence.hearings)));
    findings.extend(properties(contract, &answers, &evidence.hearings));
    findings.extend(budgets(contract, reference));
    findings
}

fn observed(observations: &[Observation]) -> Finding {
    let status = if observations.is_empty() { Status::Inconclusive } else { Status::Pass };
    let detail = match observations.len() {
        0 => "nothing was recorded; record the agent, or check the task and the scope".to_owned(),
        distinct => format!("{} recordings of {distinct} distinct inputs", recordings(observations)),
    };
    Finding::new("recordings/observed", status, "the scope was recorded", detail)
}

fn recordings(observations: &[Observation]) -> u64 {
    observations.iter().map(|seen| u64::from(seen.errors) + witnesses(seen)).sum()
}

fn witnesses(seen: &Observation) -> u64 {
    seen.outputs.iter().map(|(_, count)| u64::from(*count)).sum()
}

fn errors(observations: &[Observation]) -> Finding {
    let mut breaches = Breaches::default();
    for seen in observations.iter().filter(|seen| seen.errors > 0) {
        breaches.add(&seen.input, format!("{} recordings ended in an error", seen.errors));
    }
    let (status, detail) = match breaches.count() {
        0 => (Status::Pass, "none".to_owned()),
        count => (Status::Fail, format!("errors on {count} of {} inputs{}", observations.len(), breaches.why())),
    };
    Finding::new("recordings/errors", status, "no recording ended in an error", detail).with(&breaches)
}

/// Divergence breaks no claim of a contract about recordings, so it is told, not judged;
/// what it costs an artifact is the matter of `replay/agreement`.
fn divergence(observations: &[Observation]) -> Finding {
    let mut diverging = Breaches::default();
    for seen in observations.iter().filter(|seen| seen.outputs.len() > 1) {
        diverging.add(&seen.input, format!("({}) {} outputs were seen", shown(&seen.input), seen.outputs.len()));
    }
    let detail = match diverging.count() {
        0 => format!("0 of {} inputs have more than one output", observations.len()),
        count => format!("{count} of {} inputs have more than one output{}", observations.len(), diverging.why()),
    };
    Finding::new("recordings/divergence", Status::Pass, "recordings may diverge; how often is counted", detail)
}

/// An expectation holds if its input was recorded and every recording gave that output.
fn witnessed(claim: &Expectation, seen: Option<&Observation>, hearings: &Hearings) -> Finding {
    let finding = |status, detail: String| Finding::new(claim.id.as_str(), status, claim.claim.as_str(), detail);
    let Some(seen) = seen.filter(|seen| !seen.outputs.is_empty()) else {
        return finding(Status::Inconclusive, "no output was recorded for its input".to_owned());
    };
    let total = witnesses(seen);
    let Some(expected) = claim.expected else {
        return finding(Status::Pass, format!("recorded {total} times"));
    };
    // What is not the same without asking, and not by the judge's word.
    let judged = |output: &Value| match claim.compare {
        Match::Judged => hearings.same(claim.input, expected, output),
        _ => Some(false),
    };
    let other = seen
        .outputs
        .iter()
        .filter(|(output, _)| !claim.compare.agrees(output, expected) && judged(output) != Some(true));
    let differing: u64 = other.clone().map(|(_, count)| u64::from(*count)).sum();
    let Some((output, _)) = other.clone().next() else {
        let by_judge = seen.outputs.iter().any(|(output, _)| !claim.compare.agrees(output, expected));
        let how = if by_judge { " (JUDGED)" } else { "" };
        return finding(Status::Pass, format!("recorded {total} times with that output{how}"));
    };
    let detail = format!("{differing} of {total} recordings gave another output, such as {}", shown(output));
    if other.into_iter().all(|(output, _)| judged(output).is_none()) {
        return finding(Status::Inconclusive, format!("{detail}; no judge was asked"));
    }
    let how = if claim.compare == Match::Judged { " (JUDGED)" } else { "" };
    let finding = finding(Status::Fail, format!("{detail}{how}"));
    Finding { counterexample: Some(claim.input.clone()), ..finding }
}

fn budgets(contract: &Contract, reference: &Reference) -> Vec<Finding> {
    let mut findings = Vec::new();
    let budgets = contract.budgets.reference;
    if let Some(most) = budgets.max_latency_ms_p95 {
        findings.push(budget("latency", "us", &reference.durations, most.saturating_mul(1_000)));
    }
    if let Some(most) = budgets.max_cost_usd_micros {
        findings.push(budget("cost", "micro-USD", &reference.costs, most));
    }
    if let Some(most) = budgets.max_tokens {
        findings.push(budget("tokens", "tokens", &reference.tokens, most));
    }
    if reference.malformed > 0 {
        let detail = format!("{} recordings declare one that is not a whole number", reference.malformed);
        let claim = "every declared cost and token figure can be read";
        findings.push(Finding::new("budget/malformed", Status::Fail, claim, detail));
    }
    findings
}

/// The 95th percentile by nearest rank; measured only where every recording has a figure.
fn budget(name: &str, unit: &str, figures: &[Option<u64>], most: u64) -> Finding {
    let mut known: Vec<u64> = figures.iter().copied().flatten().collect();
    known.sort_unstable();
    let p95 = (known.len() * 95).div_ceil(100).checked_sub(1).and_then(|rank| known.get(rank));
    let (status, detail) = match p95 {
        _ if known.len() < figures.len() => {
            let silent = figures.len() - known.len();
            (Status::Inconclusive, format!("{silent} of {} recordings have no figure", figures.len()))
        }
        None => (Status::Inconclusive, "no recording has a figure".to_owned()),
        Some(p95) => {
            let status = if *p95 <= most { Status::Pass } else { Status::Fail };
            (status, format!("p95 is {p95} {unit} over {} recordings", known.len()))
        }
    };
    let claim = format!("the 95th percentile of {name} is at most {most} {unit}");
    Finding::new(format!("budget/{name}"), status, claim, detail)
}
