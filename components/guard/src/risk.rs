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
        at_most: at_most(&chosen, policy.confidence),
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
    let rules_out = |step: &&Step| rules_out(step, policy.silent_error, policy.confidence);
    let enough = |step: &&Step| {
        let best = Step { wrong: 0, ..**step };
        self::rules_out(&best, policy.silent_error, policy.confidence)
    };
    sequence.iter().skip_while(|step| !enough(step)).take_while(rules_out).last().copied()
}

/// Whether a share of wrong answers of `share` or more would be as rarely as the confidence
/// asks for followed by so few wrong ones: P(Bin(answered, share) <= wrong) <= 1 - confidence.
fn rules_out(step: &Step, share: u32, confidence: u32) -> bool {
    if share == 0 || share >= PPM || confidence >= PPM {
        return share >= PPM;
    }
    let (n, share) = (u64::from(step.answered), u64::from(share));
    let rest = u64::from(PPM) - share;
    // The term of no wrong answer, (1 - share)^n, by squaring.
    let mut term = Up::ONE;
    let mut base = Up::ratio(rest, u64::from(PPM));
    let mut exponent = n;
    while exponent > 0 {
        if exponent & 1 == 1 {
            term = term.times(base);
        }
        base = base.times(base);
        exponent >>= 1;
    }
    let mut tail = term;
    for j in 1..=u64::from(step.wrong) {
        // C(n, j) p^j q^(n-j) from the term before it.
        term = term.times(Up::ratio((n + 1 - j) * share, j * rest));
        tail = tail.plus(term);
    }
    tail.at_most(u64::from(PPM - confidence), u64::from(PPM))
}

/// The least share that the answers rule out, in parts per million.
fn at_most(step: &Step, confidence: u32) -> u32 {
    let (mut low, mut high) = (0, PPM);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if rules_out(step, middle, confidence) { high = middle } else { low = middle }
    }
    high
}

/// A positive number, never less than what it stands for: `mantissa * 2^exponent`, with the
/// highest bit of 63 set. Every operation rounds up, so a tail is never taken for smaller
/// than it is.
#[derive(Clone, Copy, Debug)]
struct Up {
    mantissa: u64,
    exponent: i32,
}

impl Up {
    const ONE: Up = Up { mantissa: 1 << 62, exponent: -62 };

    fn of(value: u128, exponent: i32) -> Up {
        if value == 0 {
            // Smaller than anything that is compared with it.
            return Up { mantissa: 1 << 62, exponent: i32::MIN / 4 };
        }
        let shift = 128 - value.leading_zeros() as i32 - 63;
        let (mantissa, exponent) = if shift > 0 {
            let cut = value >> shift;
            (cut as u64 + u64::from(cut << shift != value), exponent + shift)
        } else {
            ((value << -shift) as u64, exponent + shift)
        };
        // Rounding up may have carried into the next bit.
        if mantissa >> 63 == 1 {
            return Up { mantissa: mantissa.div_ceil(2), exponent: exponent + 1 };
        }
        Up { mantissa, exponent }
    }

    fn ratio(above: u64, below: u64) -> Up {
        // Sixty-four bits of the quotient at least.
        Up::of((u128::from(above) << 64).div_ceil(u128::from(below.max(1))), -64)
    }

    fn times(self, other: Up) -> Up {
        Up::of(u128::from(self.mantissa) * u128::from(other.mantissa), self.exponent.saturating_add(other.exponent))
    }

    fn plus(self, other: Up) -> Up {
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = (i64::from(large.exponent) - i64::from(small.exponent)).min(127) as u32;
        let small = u128::from(small.mantissa);
        let moved = if shift < 64 { small.div_ceil(1 << shift) } else { 1 };
        Up::of(u128::from(large.mantissa) + moved, large.exponent)
    }

    /// Whether it is at most a share.
    fn at_most(self, above: u64, below: u64) -> bool {
        // mantissa * 2^exponent * below <= above, where exponent is below 0 or the whole is large.
        let left = u128::from(self.mantissa) * u128::from(below);
        match -self.exponent {
            shift @ 0..=127 => {
                left <= u128::from(above)
                    .checked_shl(shift as u32)
                    .map_or(u128::MAX, |right| if right >> shift == u128::from(above) { right } else { u128::MAX })
            }
            shift => shift > 0 && above > 0,
        }
    }
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

    fn step(answered: u32, wrong: u32) -> Step {
        Step { limit: 0, answered, wrong }
    }

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
    fn tails_are_those_of_the_binomial_distribution() {
        // Without a wrong answer: n >= ln(0.05) / ln(1 - share).
        for (share, least) in [(50_000, 59), (20_000, 149), (10_000, 299), (1_000, 2_995)] {
            assert!(rules_out(&step(least, 0), share, 950_000), "{share}");
            assert!(!rules_out(&step(least - 1, 0), share, 950_000), "{share}");
        }
        // Clopper and Pearson (1934), one-sided, 95%: 3 of 100 is at most 7.5712%.
        assert_eq!(at_most(&step(100, 3), 950_000) / 10, 7571);
        // 0 of 10: 1 - 0.05^(1/10) = 25.8866%.
        assert_eq!(at_most(&step(10, 0), 950_000), 258_866);
        // Terms far below what 64 bits could hold: 100 of 20,000 is at most 0.5916%.
        assert_eq!(at_most(&step(20_000, 100), 950_000) / 100, 59);
        assert_eq!(at_most(&step(0, 0), 950_000), PPM);
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
