//! What programs said about inputs they had not been shown: a share of right answers, a
//! share of wrong ones, and both by class of output.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_kit::binomial::{least_ruled_out, rules_out};
use auto_schema::contract::{ClassFloor, Contract, Match};

use crate::artifact::LEARNED;
use crate::evidence::{Candidate, Hearings, Outcome, Scored};
use crate::finding::{Breaches, Finding, MILLION, Status, percent, ppm, reaches, shown};

pub(crate) fn judge(contract: &Contract, candidate: &Candidate, hearings: &Hearings) -> Vec<Finding> {
    let held_out = candidate.held_out.as_slice();
    let tally = Tally::of(held_out.iter(), contract.acceptance.compare, hearings);
    let mut findings: Vec<Finding> = match candidate.learned && contract.acceptance.out_of_fold_min_ppm.is_none() {
        // A sealed file brings no held-out rows.
        true if tally.total == 0 && !candidate.metered => Vec::new(),
        true => vec![learned(&tally)],
        false => out_of_fold(contract, &tally).into_iter().collect(),
    };
    findings.extend(silent_errors(contract, &tally));
    if let Some(floor) = &contract.acceptance.classes {
        findings.extend(classes(floor, held_out, contract.acceptance.compare, hearings));
    }
    findings
}

/// How held-out inputs were answered.
#[derive(Default)]
struct Tally {
    total: usize,
    right: usize,
    wrong: usize,
    /// Unequal answers that a judge could still call the same.
    open: usize,
    abstained: usize,
    failed: usize,
    /// Everything that is not right.
    breaches: Breaches,
    /// Wrong answers alone.
    silent: Breaches,
}

impl Tally {
    fn of<'a>(rows: impl Iterator<Item = &'a Scored>, compare: Match, hearings: &Hearings) -> Tally {
        let mut tally = Tally::default();
        rows.for_each(|row| tally.count(row, compare, hearings));
        tally
    }

    fn count(&mut self, row: &Scored, compare: Match, hearings: &Hearings) {
        self.total += 1;
        let why = match &row.outcome {
            Outcome::Answer(answer) => {
                let judged = match compare {
                    Match::Judged => hearings.same(&row.input, &row.expected, answer),
                    _ => Some(false),
                };
                if compare.agrees(answer, &row.expected) || judged == Some(true) {
                    self.right += 1;
                    return;
                }
                *(if judged.is_none() { &mut self.open } else { &mut self.wrong }) += 1;
                let why = format!("the answer is {}, recorded is {}", shown(answer), shown(&row.expected));
                self.silent.add(&row.input, why.clone());
                why
            }
            Outcome::Abstain(..) | Outcome::Request(_) => {
                self.abstained += 1;
                "there is no answer".to_owned()
            }
            Outcome::Failed(why) => {
                self.failed += 1;
                format!("it fails: {why}")
            }
        };
        self.breaches.add(&row.input, why);
    }

    fn detail(&self, breaches: &Breaches) -> String {
        let Tally { total, right, wrong, abstained, failed, .. } = self;
        let open = if self.open > 0 { format!(", {} not equal and not judged", self.open) } else { String::new() };
        let share = percent(ppm(*right, *total));
        let counts = format!("{right} of {total} right ({share}), {wrong} wrong{open}");
        format!("{counts}, {abstained} without an answer, {failed} failed{}", breaches.why())
    }
}

/// How often programs were right. An abstention is not right. Judged only where the
/// contract sets a floor; not even told where nothing was held out and nothing is asked.
fn out_of_fold(contract: &Contract, tally: &Tally) -> Option<Finding> {
    let floor = contract.acceptance.out_of_fold_min_ppm;
    if tally.total == 0 && floor.is_none() {
        return None;
    }
    let most = tally.right + tally.open;
    let status = floor.map_or(Status::Pass, |floor| reaches(tally.right, most, tally.total, floor));
    let claim = match floor {
        Some(floor) => format!("at least {} of held-out inputs are answered rightly", percent(floor)),
        None => "held-out answers are counted; the contract sets no floor".to_owned(),
    };
    let finding = Finding::new("out-of-fold", status, claim, tally.detail(&tally.breaches));
    Some(if status == Status::Pass { finding } else { finding.with(&tally.breaches) })
}

/// How often a model was right where it answered. It ran with guard and limits, all of them made
/// without the inputs that they are judged on.
fn learned(tally: &Tally) -> Finding {
    let answered = tally.right + tally.open + tally.wrong;
    let status = reaches(tally.right, tally.right + tally.open, answered, LEARNED);
    let claim = format!("of the held-out inputs that the model answers, {} are answered rightly", percent(LEARNED));
    let coverage = percent(ppm(answered, tally.total));
    let finding =
        Finding::new("out-of-fold", status, claim, format!("answers {coverage}; {}", tally.detail(&tally.silent)));
    if status == Status::Pass { finding } else { finding.with(&tally.silent) }
}

/// How often programs were wrong without saying so. A program without a model ran without a
/// guard, so this is the most that a guarded artifact gets wrong. What was counted is a sample: it
/// has to rule out, with the contract's confidence, that more of such inputs are answered wrongly.
fn silent_errors(contract: &Contract, tally: &Tally) -> Option<Finding> {
    let most = contract.acceptance.max_silent_error_ppm?;
    let confidence = contract.acceptance.silent_error_confidence();
    let sound = tally.total - tally.wrong;
    // What may be wrong of a million is what need not be sound of it.
    let counted = reaches(sound - tally.open, sound, tally.total, MILLION - most);
    let (rows, wrong) = (small(tally.total), small(tally.wrong + tally.open));
    let proved = most == MILLION || rules_out(rows, wrong, most, confidence);
    let status = if counted == Status::Pass && !proved { Status::Inconclusive } else { counted };
    let claim = match confidence {
        0 => format!("at most {} of held-out inputs are answered wrongly", percent(most)),
        _ => {
            format!("at most {} of inputs are answered wrongly, with {} confidence", percent(most), percent(confidence))
        }
    };
    let mut detail = tally.detail(&tally.silent);
    if !proved {
        let ruled_out = percent(least_ruled_out(rows, wrong, confidence));
        detail.push_str(&format!(
            "; so few held-out inputs rule out no less than {ruled_out}: record more, allow more, or say \
             silent_error_confidence_ppm = 0 to take the count for enough"
        ));
    }
    let finding = Finding::new("silent-error", status, claim, detail);
    Some(if status == Status::Pass { finding } else { finding.with(&tally.silent) })
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// One finding a class, in the order of their values.
fn classes(floor: &ClassFloor, held_out: &[Scored], compare: Match, hearings: &Hearings) -> Vec<Finding> {
    let mut classes: BTreeMap<String, Vec<&Scored>> = BTreeMap::new();
    for row in held_out {
        let class = match floor.place.values(&Value::Null, &row.expected) {
            Ok(values) => values.iter().map(|value| value.canonical().into_string()).collect::<Vec<_>>().join(","),
            Err(_) => "absent".to_owned(),
        };
        classes.entry(class).or_default().push(row);
    }
    let claim = |class: &str| {
        format!("at least {} of held-out inputs of the class {class} are answered rightly", percent(floor.min_ppm))
    };
    if classes.is_empty() {
        return vec![Finding::new("class", Status::Inconclusive, claim("of any output"), "nothing was held out")];
    }
    let findings = classes.into_iter().map(|(class, rows)| {
        let tally = Tally::of(rows.into_iter(), compare, hearings);
        let status = reaches(tally.right, tally.right + tally.open, tally.total, floor.min_ppm);
        let finding = Finding::new(format!("class/{class}"), status, claim(&class), tally.detail(&tally.breaches));
        if status == Status::Pass { finding } else { finding.with(&tally.breaches) }
    });
    findings.collect()
}
