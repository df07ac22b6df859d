//! `compile`: whether an artifact may exist. What it did in the sandbox is compared with
//! what was recorded; an abstention where a recording has an answer is not agreement.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_schema::contract::{Contract, GuardPolicy, Match};

use crate::claims::{Answer, Expectation, expectations, interface, properties};
use crate::evidence::{Candidate, Evidence, Hearings, Observation, Outcome};
use crate::finding::{Breaches, Finding, MILLION, Status, percent, ppm, reaches, shown};
use crate::{budgets, held_out};

/// The share of a model's answers that must be right, unless the contract says otherwise.
pub(crate) const LEARNED: u32 = 950_000;

pub(crate) fn judge(contract: &Contract, evidence: &Evidence, candidate: &Candidate) -> Vec<Finding> {
    let (observations, hearings) = (evidence.observations.as_slice(), &evidence.hearings);
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

    let mut findings =
        vec![guard(contract, candidate.guarded), agreement(contract, evidence, candidate.learned, &outcomes)];
    findings.extend(impure);
    findings.push(capabilities(candidate, &outcomes));
    findings.extend(interface(contract, &inputs, &answers));
    for claim in expectations(contract) {
        let seen = witnessed.contains_key(claim.input);
        findings.push(answered(&claim, outcomes.get(claim.input).copied(), seen, hearings));
    }
    findings.extend(properties(contract, &answers, hearings));
    findings.extend(held_out::judge(contract, candidate, hearings));
    findings.extend(budgets::artifact(contract.budgets.artifact, candidate));
    findings.extend(budgets::reference(contract.budgets.reference));
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
    /// Of these, by a judge's word.
    judged: usize,
    /// Unequal answers that a judge could still call the same.
    open: usize,
    wrong: usize,
    abstained: usize,
    requested: usize,
    failed: usize,
    missing: usize,
    divergent: usize,
    errored: usize,
    /// Where unequal answers part from the recorded output, and how often.
    places: BTreeMap<String, usize>,
    breaches: Breaches,
}

impl Tally {
    /// Counts one recorded input.
    fn count(&mut self, seen: &Observation, outcome: Option<&Outcome>, compare: Match, hearings: &Hearings) {
        self.total += 1;
        let expected = match (seen.outputs.as_slice(), compare) {
            _ if seen.errors > 0 => None,
            ([(output, _)], _) => Some(output),
            (_, Match::Judged) => majority(seen),
            (_, Match::Exact | Match::Approximate(_)) => None,
        };
        let Some(expected) = expected else {
            let errored = seen.errors > 0 || seen.outputs.is_empty();
            *(if errored { &mut self.errored } else { &mut self.divergent }) += 1;
            let why = if errored { "its recordings have errors" } else { "its recordings diverge" };
            return self.breaches.add(&seen.input, why);
        };
        let (counter, why) = match outcome {
            None => {
                self.missing += 1;
                return;
            }
            Some(Outcome::Answer(answer)) => match Standing::of(seen, expected, answer, compare, hearings) {
                Standing::Matched { judged } => {
                    self.matched += 1;
                    self.judged += usize::from(judged);
                    return;
                }
                Standing::Rare(other, Some(_)) => {
                    (&mut self.divergent, format!("a recording gives {}, JUDGED another output", shown(other)))
                }
                Standing::Rare(other, None) => {
                    (&mut self.open, format!("a recording gives {}, which nobody judged", shown(other)))
                }
                Standing::Unlike(said) => {
                    *self.places.entry(parting(answer, expected)).or_default() += 1;
                    let counter = if said.is_none() { &mut self.open } else { &mut self.wrong };
                    (counter, format!("it answers {}, recorded is {}", shown(answer), shown(expected)))
                }
            },
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
        let judged = if self.judged > 0 { format!(", {} of them JUDGED", self.judged) } else { String::new() };
        let (matched, total) = (self.matched, self.total);
        format!("{matched} of {total} equal ({share}){judged}{rest}{}{}", self.grouped(), self.breaches.why())
    }

    /// Unequal answers, grouped by where they first part from what was recorded.
    fn grouped(&self) -> String {
        if self.places.keys().all(String::is_empty) {
            return String::new();
        }
        let mut places: Vec<(&String, &usize)> = self.places.iter().collect();
        places.sort_by(|(a, many), (b, more)| more.cmp(many).then(a.cmp(b)));
        let places: Vec<String> = places.iter().take(5).map(|(place, count)| format!("{count} at {place:?}")).collect();
        format!("; they part {}", places.join(", "))
    }
}

/// How an answer stands to what was recorded for its input. Where a judge said that it differs
/// there is `Some(())`, where one could still be asked `None`.
enum Standing<'a> {
    /// It is the same as the usual output, and as every other one.
    Matched { judged: bool },
    /// It is the same as the usual output, and not as this other one.
    Rare(&'a Value, Option<()>),
    /// It is not the same as the usual output.
    Unlike(Option<()>),
}

impl<'a> Standing<'a> {
    fn of(seen: &'a Observation, usual: &Value, answer: &Value, compare: Match, hearings: &Hearings) -> Standing<'a> {
        let same = |output: &Value| match compare {
            _ if compare.agrees(answer, output) => Some(true),
            Match::Judged => hearings.same(&seen.input, output, answer),
            Match::Exact | Match::Approximate(_) => Some(false),
        };
        let differs = |said: Option<bool>| said.map(|_| ());
        let usually = same(usual);
        if usually != Some(true) {
            return Standing::Unlike(differs(usually));
        }
        let others = seen.outputs.iter().map(|(output, _)| output).filter(|output| *output != usual);
        let unlike = others.map(|output| (output, same(output))).filter(|(_, said)| *said != Some(true));
        // What is said to be another counts before what nobody judged.
        match unlike.max_by_key(|(_, said)| said.is_some()) {
            Some((other, said)) => Standing::Rare(other, differs(said)),
            None => {
                Standing::Matched { judged: seen.outputs.iter().any(|(output, _)| !compare.agrees(answer, output)) }
            }
        }
    }
}

/// The most frequent output; of several the one whose canonical text sorts first.
fn majority(seen: &Observation) -> Option<&Value> {
    let most = seen.outputs.iter().map(|(_, count)| *count).max()?;
    let frequent = seen.outputs.iter().filter(|(_, count)| *count == most);
    frequent.map(|(output, _)| output).min_by_key(|output| output.canonical())
}

/// Whether the artifact gives what was recorded: everywhere, or as often as the contract
/// asks. Exact comparison needs recordings that agree with themselves. A model may abstain on
/// what it was trained on; what it answers there it has been shown, so little depends on it.
fn agreement(contract: &Contract, evidence: &Evidence, learned: bool, outcomes: &Outcomes) -> Finding {
    let acceptance = &contract.acceptance;
    let mut tally = Tally::default();
    for seen in &evidence.observations {
        tally.count(seen, outcomes.get(&seen.input).copied(), acceptance.compare, &evidence.hearings);
    }
    let floor = acceptance.agreement_min_ppm;
    if learned && floor.is_none() {
        let answered = tally.matched + tally.open + tally.wrong;
        let claim = format!("of the recorded inputs that are answered, {} are as recorded", percent(LEARNED));
        let status = reaches(tally.matched, tally.matched + tally.open, answered, LEARNED);
        return Finding::new("replay/agreement", status, claim, tally.detail()).with(&tally.breaches);
    }
    let claim = match floor {
        None => "every recorded input is answered with its one recorded output".to_owned(),
        Some(floor) => format!("at least {} of the recorded inputs are answered as recorded", percent(floor)),
    };
    let most = tally.matched + tally.open + tally.missing;
    let status = reaches(tally.matched, most, tally.total, floor.unwrap_or(MILLION));
    let detail = if tally.total == 0 { "nothing was recorded".to_owned() } else { tally.detail() };
    Finding::new("replay/agreement", status, claim, detail).with(&tally.breaches)
}

/// The path at which two values first differ; empty for the whole.
fn parting(a: &Value, b: &Value) -> String {
    match (a, b) {
        (Value::Record(a), Value::Record(b)) if a.len() == b.len() => {
            let mut pairs = a.iter().zip(b.iter());
            match pairs.find(|((key, a), (other, b))| key != other || a != b) {
                Some(((key, a), (other, b))) if key == other => format!("/{key}{}", parting(a, b)),
                _ => String::new(),
            }
        }
        (Value::List(a), Value::List(b)) if a.len() == b.len() => {
            let pair = a.iter().zip(b).find(|(a, b)| a != b);
            pair.map_or_else(String::new, |(a, b)| format!("/*{}", parting(a, b)))
        }
        _ => String::new(),
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
fn answered(claim: &Expectation, outcome: Option<&Outcome>, recorded: bool, hearings: &Hearings) -> Finding {
    let finding = |status, detail: String| Finding::new(claim.id.as_str(), status, claim.claim.as_str(), detail);
    let silent = if recorded { Status::Fail } else { Status::Inconclusive };
    let finding = match outcome {
        None => finding(Status::Inconclusive, "it was not run on this input".to_owned()),
        Some(Outcome::Answer(answer)) => match (claim.expected, claim.compare) {
            (None, _) => finding(Status::Pass, format!("it answers {}", shown(answer))),
            (Some(expected), compare) if compare.agrees(answer, expected) => {
                finding(Status::Pass, "it gives that output".to_owned())
            }
            (_, Match::Exact | Match::Approximate(_)) => finding(Status::Fail, format!("it answers {}", shown(answer))),
            (Some(expected), Match::Judged) => match hearings.same(claim.input, expected, answer) {
                Some(true) => finding(Status::Pass, format!("it answers {} (JUDGED the same)", shown(answer))),
                Some(false) => finding(Status::Fail, format!("it answers {} (JUDGED another)", shown(answer))),
                None => finding(Status::Inconclusive, format!("it answers {}; no judge was asked", shown(answer))),
            },
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
