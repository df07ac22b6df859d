//! How sure a model must be before it may answer.
//!
//! Each held-out answer comes with scores: how much there is to doubt it (nothing known
//! speaks for the class) and how unsure it is (another class is close). The limit of every
//! score but the last is the split-conformal quantile, so that the share of inputs that was
//! asked for is admitted; what is out of scope is mostly doubted. The limit of the last score
//! bounds the share of wrong ones among the answers: it is the loosest in a sequence of
//! limits, from the strictest on, for each of which the held-out answers rule a larger share
//! out (fixed sequence testing; Angelopoulos, Bates, Candès, Jordan and Lei 2021, "Learn then
//! Test"; the p-value is the binomial tail).

use auto_kit::Fault;
use auto_kit::binomial::{least_ruled_out, rules_out};
use auto_schema::ir::{Body, Check, Graph, PPM};

use crate::calibrate::conformal;

/// A held-out row as this sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// What the program made of its answer; none where it gave none.
    pub scores: Option<Vec<u32>>,
    /// Whether the answer was wrong.
    pub wrong: bool,
}

/// How careful to be; shares in parts per million.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The share of answers that every score but the last must admit.
    pub quantile: u32,
    /// The largest share of wrong ones among the answers.
    pub silent_error: u32,
    /// How sure that has to be.
    pub confidence: u32,
}

/// What limits came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Controlled {
    /// One per score: the most it may be.
    pub limits: Vec<u32>,
    /// Rows that are admitted.
    pub answered: u32,
    /// How many of those are wrong.
    pub wrong: u32,
    /// The least share of wrong ones that can be ruled out, in parts per million.
    pub at_most: u32,
    /// Whether the share of the policy is ruled out.
    pub promised: bool,
}

/// The limits of as many scores.
pub fn limits(rows: &[Answered], scores: usize, policy: &Policy) -> Controlled {
    let answers: Vec<(&[u32], bool)> =
        rows.iter().filter_map(|row| Some((row.scores.as_deref()?, row.wrong))).collect();
    let of = |score: usize| answers.iter().map(|(scores, _)| scores[score]).collect::<Vec<u32>>();
    let mut limits: Vec<u32> = (0..scores).map(|score| conformal(&of(score), policy.quantile.min(PPM))).collect();
    let Some(last) = scores.checked_sub(1) else {
        return Controlled { limits, answered: 0, wrong: 0, at_most: PPM, promised: false };
    };
    let mut admitted: Vec<(u32, bool)> = answers
        .iter()
        .filter(|(scores, _)| scores[..last].iter().zip(&limits).all(|(score, limit)| score <= limit))
        .map(|(scores, wrong)| (scores[last], *wrong))
        .collect();
    admitted.sort_unstable();
    let sequence = sequence(&admitted);
    let certified = certified(&sequence, policy);
    let chosen = certified.or_else(|| sequence.iter().rev().find(|step| within(step, policy.silent_error)).copied());
    let chosen = chosen.unwrap_or(Step { limit: 0, answered: 0, wrong: 0 });
    limits[last] = chosen.limit;
    Controlled {
        limits,
        answered: chosen.answered,
        wrong: chosen.wrong,
        at_most: least_ruled_out(chosen.answered, chosen.wrong, policy.confidence),
        promised: certified.is_some(),
    }
}

/// A limit of the last score and what it admits.
#[derive(Clone, Copy, Debug)]
struct Step {
    limit: u32,
    answered: u32,
    wrong: u32,
}

/// One limit for each score that occurs, from the strictest on.
fn sequence(admitted: &[(u32, bool)]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut answered, mut wrong) = (0, 0);
    for (score, is_wrong) in admitted {
        answered += 1;
        wrong += u32::from(*is_wrong);
        match steps.last_mut() {
            Some(step) if step.limit == *score => (step.answered, step.wrong) = (answered, wrong),
            _ => steps.push(Step { limit: *score, answered, wrong }),
        }
    }
    steps
}

/// Whether the share of wrong answers is at most that, as counted.
fn within(step: &Step, share: u32) -> bool {
    u64::from(step.wrong) * u64::from(PPM) <= u64::from(step.answered) * u64::from(share)
}

/// The loosest limit of those that come one after the other with enough evidence, from the
/// strictest that has enough answers to say anything.
fn certified(sequence: &[Step], policy: &Policy) -> Option<Step> {
    let Policy { silent_error, confidence, .. } = *policy;
    let enough = |step: &&Step| rules_out(step.answered, 0, silent_error, confidence);
    let holds =
        |step: &&Step| within(step, silent_error) && rules_out(step.answered, step.wrong, silent_error, confidence);
    sequence.iter().skip_while(|step| !enough(step)).take_while(holds).last().copied()
}

/// Sets the limits of a program's score checks, and what that came to. Fault: `no-scores`.
pub fn control(mut program: Graph, rows: &[Answered], policy: &Policy) -> Result<(Graph, Controlled), Fault> {
    let scores = program.nodes.iter().filter_map(score_checks).sum::<usize>();
    if scores == 0 {
        return Err(Fault::new("no-scores", "the program's guards have no score checks whose limits could be set"));
    }
    if let Some(row) = rows.iter().position(|row| row.scores.as_ref().is_some_and(|given| given.len() != scores)) {
        let message = format!("an answer comes with {scores} scores here, one for each score check of the program");
        return Err(Fault::new("no-scores", message).at(format!("/held-out/{row}/scores")));
    }
    let controlled = limits(rows, scores, policy);
    let mut next = controlled.limits.iter();
    for node in &mut program.nodes {
        let Body::Guard(guard) = &mut node.body else { continue };
        let own = guard.checks.iter().filter(|check| matches!(check, Check::Score { .. })).count();
        if own == 0 {
            continue;
        }
        guard.limit = PPM / 2;
        for check in &mut guard.checks {
            if let Check::Score { scale, .. } = check {
                *scale = scaled_to(*next.next().unwrap_or(&0), guard.limit);
            }
        }
    }
    Ok((program.canonical(), controlled))
}

fn score_checks(node: &auto_schema::ir::Node) -> Option<usize> {
    let Body::Guard(guard) = &node.body else { return None };
    Some(guard.checks.iter().filter(|check| matches!(check, Check::Score { .. })).count())
}

/// The scale at which nothing above `limit` is at most `common`; it leaves out `limit` itself at
/// most. Where everything is admitted, everything scores 0.
fn scaled_to(limit: u32, common: u32) -> u64 {
    if limit >= PPM {
        return 0;
    }
    let wanted = (u64::from(common) + 1) * u64::from(PPM);
    wanted.div_ceil(u64::from(limit) + 1)
}

#[cfg(test)]
mod tests {
    use auto_rt::kernels::novelty::scaled;

    use super::*;

    #[test]
    fn a_limit_admits_what_is_below_and_nothing_above() {
        let common = PPM / 2;
        for limit in (0..2000).chain((0..PPM).step_by(997)).chain([499_999, 500_000, 500_001, 999_998, 999_999]) {
            let scale = scaled_to(limit, common);
            assert!(scaled(i64::from(limit.saturating_sub(1)), scale) <= common, "{limit}");
            assert!(scaled(i64::from(limit) + 1, scale) > common, "{limit}");
        }
        // The highest score of all is admitted by the highest limit.
        assert!(scaled(i64::from(PPM), scaled_to(PPM, common)) <= common);
    }

    #[test]
    fn few_rows_promise_nothing_and_are_held_to_what_was_counted() {
        let policy = Policy { quantile: PPM, silent_error: 10_000, confidence: 950_000 };
        let row = |score, wrong| Answered { scores: Some(vec![0, score]), wrong };
        let rows: Vec<Answered> = (0..40).map(|score| row(score, score >= 30)).collect();
        let controlled = limits(&rows, 2, &policy);
        assert_eq!((controlled.limits[1], controlled.answered, controlled.wrong), (29, 30, 0));
        assert!(!controlled.promised);
        let rows: Vec<Answered> = (0..400).map(|score| row(score, score >= 390)).collect();
        let controlled = limits(&rows, 2, &policy);
        assert_eq!((controlled.limits[1], controlled.wrong), (389, 0));
        assert!(controlled.promised && controlled.at_most <= 10_000, "{controlled:?}");
    }

    #[test]
    fn nothing_is_answered_where_every_answer_is_wrong() {
        let policy = Policy { quantile: PPM, silent_error: 10_000, confidence: 950_000 };
        let rows: Vec<Answered> = (1..40).map(|score| Answered { scores: Some(vec![score]), wrong: true }).collect();
        let controlled = limits(&rows, 1, &policy);
        assert_eq!((controlled.limits.as_slice(), controlled.answered), ([0].as_slice(), 0));
        assert_eq!(limits(&[], 1, &policy).limits, [0]);
    }
}
