//! `compile`: whether an artifact may exist. What it did in the sandbox is compared with
//! what was recorded; an abstention where a recording has an answer is not agreement.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_schema::contract::{Budgets, Contract, GuardPolicy, Match};

use crate::claims::{Answer, Expectation, expectations, interface, properties};
use crate::evidence::{Candidate, Observation, Outcome, Scored};
use crate::finding::{Breaches, Finding, Status, percent, ppm, shown};

pub(crate) fn judge(contract: &Contract, observations: &[Observation], candidate: &Candidate) -> Vec<Finding> {
    let inputs: Vec<&Value> = observations.iter().map(|seen| &seen.input).collect();
    let (outcomes, impure) = by_input(candidate);
    let answers: Vec<Answer> = outcomes
        .iter()
        .filter_map(|(input, outcome)| match outcome {
            Outcome::Answer(output) => Some((*input, output)),
            _ => None,
        })
        .collect();
    let witnessed: BTreeMap<&Value, &Observation> = observations.iter().map(|seen| (&seen.input, seen)).collect();

    let mut findings = vec![guard(contract, candidate.guarded), agreement(contract, observations, &outcomes)];
    findings.extend(impure);
    findings.push(capabilities(candidate, &outcomes));
    findings.extend(interface(contract, &inputs, &answers));
    for claim in expectations(contract) {
        let seen = witnessed.contains_key(claim.input);
        findings.push(answered(&claim, outcomes.get(claim.input).copied(), seen));
    }
    findings.extend(properties(contract, &answers));
    findings.extend(out_of_fold(contract, &candidate.held_out));
    findings.extend(budgets(contract.budgets));
    findings
}

type Outcomes<'a> = BTreeMap<&'a Value, &'a Outcome>;

/// The outcome of each input, and a failure where one input had two.
fn by_input(candidate: &Candidate) -> (Outcomes<'_>, Option<Finding>) {
    let mut outcomes = Outcomes::new();
    let mut breaches = Breaches::default();
    for replay in &candidate.replays {
        let earlier = outcomes.insert(&replay.input, &replay.outcome);
        if earlier.is_some_and(|earlier| *earlier != replay.outcome) {
            breaches.add(&replay.input, "two runs ended differently");
        }
    }
    let impure = (breaches.count() > 0).then(|| {
        let detail = format!("{} inputs break it{}", breaches.count(), breaches.why());
        Finding::new("replay/pure", Status::Fail, "the same input has the same outcome", detail).with(&breaches)
    });
    (outcomes, impure)
}

fn guard(contract: &Contract, guarded: bool) -> Finding {
    let (status, detail) = match (contract.guard, guarded) {
        (_, true) => (Status::Pass, "it has one"),
        (GuardPolicy::None, false) => (Status::Pass, "it has none, and the contract says guard = \"none\""),
        (GuardPolicy::Auto, false) => (Status::Fail, "it has none; add one, or say guard = \"none\" in the contract"),
    };
    Finding::new("guard", status, "the artifact can abstain, or the contract waives it", detail)
}

/// How the replays of recorded inputs ended.
#[derive(Default)]
struct Tally {
    total: usize,
    matched: usize,
    /// Unequal answers that a judge could still call the same.
    open: usize,
    wrong: usize,
    abstained: usize,
    requested: usize,
    failed: usize,
    missing: usize,
    divergent: usize,
    errored: usize,
    breaches: Breaches,
}

impl Tally {
    /// Counts one recorded input.
    fn count(&mut self, seen: &Observation, outcome: Option<&Outcome>, compare: Match) {
        self.total += 1;
        let expected = match (seen.outputs.as_slice(), compare) {
            _ if seen.errors > 0 => None,
            ([(output, _)], _) => Some(output),
            (_, Match::Judged) => majority(seen),
            (_, Match::Exact) => None,
        };
        let Some(expected) = expected else {
            let errored = seen.errors > 0 || seen.outputs.is_empty();
            *(if errored { &mut self.errored } else { &mut self.divergent }) += 1;
            let why = if errored { "its recordings have errors" } else { "its recordings diverge" };
            return self.breaches.add(&seen.input, why);
        };
        let (counter, why) = match outcome {
            Some(Outcome::Answer(answer)) if answer == expected => {
                self.matched += 1;
                return;
            }
            None => {
                self.missing += 1;
                return;
            }
            Some(Outcome::Answer(answer)) => {
                let counter = if compare == Match::Judged { &mut self.open } else { &mut self.wrong };
                (counter, format!("it answers {}, recorded is {}", shown(answer), shown(expected)))
            }
            Some(Outcome::Abstain(reason, score, limit)) => {
                (&mut self.abstained, format!("it abstains ({reason} {score} above {limit})"))
            }
            Some(Outcome::Request(capability)) => (&mut self.requested, format!("it asks for {capability}")),
            Some(Outcome::Failed(why)) => (&mut self.failed, format!("it fails: {why}")),
        };
        *counter += 1;
        self.breaches.add(&seen.input, why);
    }

    fn detail(&self) -> String {
        let counts = [
            (self.wrong, "wrong"),
            (self.open, "not equal and not judged"),
            (self.abstained, "abstained"),
            (self.requested, "asked for a capability"),
            (self.failed, "failed"),
            (self.divergent, "divergent recordings"),
            (self.errored, "errored recordings"),
            (self.missing, "not run"),
        ];
        let rest: String =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}")).collect();
        let share = percent(ppm(self.matched, self.total));
        format!("{} of {} equal ({share}){rest}{}", self.matched, self.total, self.breaches.why())
    }
}

/// The most frequent output; of several the one whose canonical text sorts first.
fn majority(seen: &Observation) -> Option<&Value> {
    let most = seen.outputs.iter().map(|(_, count)| *count).max()?;
    let frequent = seen.outputs.iter().filter(|(_, count)| *count == most);
    frequent.map(|(output, _)| output).min_by_key(|output| output.canonical())
}

/// Whether the artifact gives what was recorded: everywhere, or as often as the contract
/// asks. Exact comparison needs recordings that agree with themselves.
fn agreement(contract: &Contract, observations: &[Observation], outcomes: &Outcomes) -> Finding {
    let acceptance = contract.acceptance;
    let mut tally = Tally::default();
    for seen in observations {
        tally.count(seen, outcomes.get(&seen.input).copied(), acceptance.differential_match);
    }
    let milli = acceptance.differential_min_agreement_milli;
    let claim = match milli {
        None => "every recorded input is answered with its one recorded output".to_owned(),
        Some(milli) => format!("at least {milli}/1000 of the recorded inputs are answered as recorded"),
    };
    let most = tally.matched + tally.open + tally.missing;
    let status = reaches(tally.matched, most, tally.total, milli.unwrap_or(1_000), 1_000);
    let detail = if tally.total == 0 { "nothing was recorded".to_owned() } else { tally.detail() };
    Finding::new("replay/agreement", status, claim, detail).with(&tally.breaches)
}

/// Whether a share is reached that is known to lie between `least` and `most` of `total`.
/// `least / total >= share / unit`, in whole numbers.
fn reaches(least: usize, most: usize, total: usize, share: u32, unit: u128) -> Status {
    let wanted = u128::from(share) * total as u128;
    match total {
        0 => Status::Inconclusive,
        _ if least as u128 * unit >= wanted => Status::Pass,
        _ if most as u128 * unit >= wanted => Status::Inconclusive,
        _ => Status::Fail,
    }
}

fn capabilities(candidate: &Candidate, outcomes: &Outcomes) -> Finding {
    let mut breaches = Breaches::default();
    for (input, outcome) in outcomes {
        if let Outcome::Request(name) = outcome
            && !candidate.capabilities.contains(name)
        {
            breaches.add(input, format!("it asks for {name}"));
        }
    }
    let declared = match candidate.capabilities.as_slice() {
        [] => "it declares none".to_owned(),
        names => format!("it declares {}", names.join(", ")),
    };
    let (status, detail) = match breaches.count() {
        0 => (Status::Pass, declared),
        count => (Status::Fail, format!("{declared}; {count} requests for others{}", breaches.why())),
    };
    Finding::new("capabilities", status, "it asks only for what it declares", detail).with(&breaches)
}

/// An expectation about an artifact. Where it does not answer, that is a failure on a
/// recorded input and an open question on any other.
fn answered(claim: &Expectation, outcome: Option<&Outcome>, recorded: bool) -> Finding {
    let finding = |status, detail: String| Finding::new(claim.id.as_str(), status, claim.claim.as_str(), detail);
    let silent = if recorded { Status::Fail } else { Status::Inconclusive };
    let finding = match outcome {
        None => finding(Status::Inconclusive, "it was not run on this input".to_owned()),
        Some(Outcome::Answer(answer)) => match (claim.expected, claim.compare) {
            (None, _) => finding(Status::Pass, format!("it answers {}", shown(answer))),
            (Some(expected), _) if answer == expected => finding(Status::Pass, "it gives that output".to_owned()),
            (_, Match::Exact) => finding(Status::Fail, format!("it answers {}", shown(answer))),
            (_, Match::Judged) => {
                finding(Status::Inconclusive, format!("it answers {}; no judge was asked", shown(answer)))
            }
        },
        Some(Outcome::Abstain(reason, score, limit)) => {
            finding(silent, format!("it abstains ({reason} {score} above {limit})"))
        }
        Some(Outcome::Request(capability)) => finding(silent, format!("it asks for {capability}")),
        Some(Outcome::Failed(why)) => finding(Status::Fail, format!("it fails: {why}")),
    };
    let counterexample = (finding.status == Status::Fail).then(|| claim.input.clone());
    Finding { counterexample, ..finding }
}

/// How often programs were right about inputs they had not been shown. An abstention is
/// not right. Judged only where the contract sets a floor; not even told where nothing
/// was held out and nothing is asked.
fn out_of_fold(contract: &Contract, held_out: &[Scored]) -> Option<Finding> {
    let floor = contract.acceptance.out_of_fold_min_ppm;
    if held_out.is_empty() && floor.is_none() {
        return None;
    }
    let mut breaches = Breaches::default();
    let (mut right, mut wrong, mut abstained, mut failed) = (0, 0, 0, 0);
    for row in held_out {
        let why = match &row.outcome {
            Outcome::Answer(answer) if *answer == row.expected => {
                right += 1;
                continue;
            }
            Outcome::Answer(answer) => {
                wrong += 1;
                format!("the answer is {}, recorded is {}", shown(answer), shown(&row.expected))
            }
            Outcome::Abstain(..) | Outcome::Request(_) => {
                abstained += 1;
                "there is no answer".to_owned()
            }
            Outcome::Failed(why) => {
                failed += 1;
                format!("it fails: {why}")
            }
        };
        breaches.add(&row.input, why);
    }
    let open = if contract.acceptance.differential_match == Match::Judged { wrong } else { 0 };
    let total = held_out.len();
    let status = floor.map_or(Status::Pass, |floor| reaches(right, right + open, total, floor, 1_000_000));
    let claim = match floor {
        Some(floor) => format!("at least {} of held-out inputs are answered rightly", percent(floor)),
        None => "held-out answers are counted; the contract sets no floor".to_owned(),
    };
    let share = percent(ppm(right, total));
    let detail = format!(
        "{right} of {total} right ({share}), {wrong} wrong, {abstained} without an answer, {failed} failed{}",
        breaches.why()
    );
    let finding = Finding::new("out-of-fold", status, claim, detail);
    Some(if status == Status::Pass { finding } else { finding.with(&breaches) })
}

/// Budgets are promises about the reference. They were measured, if at all, when the
/// recordings were verified; an artifact is not billed, and steps are not time.
fn budgets(budgets: Budgets) -> Option<Finding> {
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
