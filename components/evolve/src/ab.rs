//! Two policies held against each other while they run: an experiment of the user's returns counts,
//! and a test that may be looked at after every batch decides.
//!
//! The test multiplies bets. Before a batch of `a` trials with the baseline and `b` with the candidate,
//! shares `p` and `q` are guessed from the batches before it, and the batch is worth
//!
//! ```text
//! (p/r)^x ((1-p)/(1-r))^(a-x) · (q/r)^y ((1-q)/(1-r))^(b-y),   r = (a p + b q) / (a + b)
//! ```
//!
//! where `x` and `y` are the successes (Turner, Ly and Grünwald 2024). Where the candidate is no better
//! than the baseline, each batch is worth at most 1 on average: `q ≥ r ≥ p` makes the baseline's factor
//! fall and the candidate's rise with the true share, so equal shares are the worst case, and there
//! the mean of the factors, weighted by `a` and `b`, is 1, which bounds their weighted product. So the
//! product ever reaches `1/alpha` with a probability of at most `alpha` (Ville 1939), whenever and
//! however often it is looked at. It is kept as a logarithm in units of 2^-32, every bit of rounding
//! against the candidate.

use crate::stats::{FINE, log2_below};

/// What guesses are parts of: fine enough for shares, coarse enough to be exact.
const PARTS: u64 = 1 << 20;
/// What is added to the successes, and twice to the trials, of a guess (Krichevsky and Trofimov 1981:
/// one half), in halves.
const PRIOR: u64 = 1;

/// Trials of one policy, and how many of them succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many succeeded.
    pub successes: u64,
    /// How many there were.
    pub trials: u64,
}

/// A test of one candidate against the baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Test {
    /// Of the baseline, so far.
    pub baseline: Counts,
    /// Of the candidate.
    pub candidate: Counts,
    /// The logarithm of what betting on the candidate has made, at most.
    pub better: i64,
    /// Of what betting against it has made.
    pub worse: i64,
}

/// What a test says after a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// The candidate is better.
    Better,
    /// It is worse.
    Worse,
    /// Nobody knows yet.
    Open,
}

impl Test {
    /// Takes a batch in.
    pub fn batch(&mut self, baseline: Counts, candidate: Counts) {
        let (before, after) = (guess(self.baseline), guess(self.candidate));
        self.better = self.better.saturating_add(bet(before, after, baseline, candidate));
        self.worse = self.worse.saturating_add(bet(after, before, candidate, baseline));
        self.baseline = self.baseline.and(baseline);
        self.candidate = self.candidate.and(candidate);
    }

    /// What it says; `alpha`, in millionths, is the probability of each kind of error.
    pub fn ruling(&self, alpha: i64) -> Ruling {
        // 1/alpha, rounded up, so that nothing is decided too early.
        let bound =
            u64::try_from(alpha).ok().and_then(|alpha| log2_below(alpha, 1_000_000)).map_or(i64::MAX, |log| -log);
        match () {
            () if self.better >= bound => Ruling::Better,
            () if self.worse >= bound => Ruling::Worse,
            () => Ruling::Open,
        }
    }
}

impl Counts {
    fn and(self, more: Counts) -> Counts {
        Counts {
            successes: self.successes.saturating_add(more.successes),
            trials: self.trials.saturating_add(more.trials),
        }
    }
}

/// The share of successes, as parts; never none and never all.
fn guess(of: Counts) -> u64 {
    let (above, below) =
        (2 * u128::from(of.successes) + u128::from(PRIOR), 2 * u128::from(of.trials) + 2 * u128::from(PRIOR));
    u64::try_from(u128::from(PARTS) * above / below).unwrap_or(PARTS / 2).clamp(1, PARTS - 1)
}

/// The logarithm of what a batch is worth to one who bets that the second share is the higher one;
/// nothing is bet where it was not so far. Never above the true one.
fn bet(p: u64, q: u64, first: Counts, second: Counts) -> i64 {
    let trials = first.trials.saturating_add(second.trials);
    if q <= p || trials == 0 || first.trials >= 1 << 40 || second.trials >= 1 << 40 {
        return 0;
    }
    // r times all trials, so that it is exact.
    let above = u128::from(first.trials) * u128::from(p) + u128::from(second.trials) * u128::from(q);
    let ratio = |share: u64, of: u128, count: u64| {
        // share / (of / trials): both sides cut to 64 bits, the denominator up.
        let (mut n, mut d) = (u128::from(share) * u128::from(trials), of);
        while n >= 1 << 63 || d >= 1 << 63 {
            n >>= 1;
            d = d.div_ceil(2);
        }
        let log =
            log2_below(u64::try_from(n).unwrap_or(1), u64::try_from(d).unwrap_or(u64::MAX)).unwrap_or(i64::MIN >> 8);
        log.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX))
    };
    let all = u128::from(PARTS) * u128::from(trials);
    let fails = |of: Counts| of.trials - of.successes.min(of.trials);
    ratio(p, above, first.successes.min(first.trials))
        .saturating_add(ratio(PARTS - p, all - above, fails(first)))
        .saturating_add(ratio(q, above, second.successes.min(second.trials)))
        .saturating_add(ratio(PARTS - q, all - above, fails(second)))
}

/// What betting has made, as a power of two with one place.
pub fn shown(log: i64) -> String {
    let tenths = (i128::from(log) * 10) >> FINE;
    format!("2^{}{}.{}", if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, tenths.abs() % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use auto_search::Random;

    fn batch(random: &mut Random, trials: u64, share: i64) -> Counts {
        Counts { successes: (0..trials).filter(|_| random.chance(share)).count() as u64, trials }
    }

    /// How many of so many tests, each looked at after every batch, end so.
    fn ended(runs: u64, shares: (i64, i64), trials: (u64, u64), batches: u32, alpha: i64) -> [u32; 3] {
        let mut ended = [0; 3];
        for run in 0..runs {
            let mut random = Random::of(run, &format!("{shares:?} {trials:?}"));
            let mut test = Test::default();
            let mut ruling = Ruling::Open;
            for _ in 0..batches {
                test.batch(batch(&mut random, trials.0, shares.0), batch(&mut random, trials.1, shares.1));
                ruling = test.ruling(alpha);
                if ruling != Ruling::Open {
                    break;
                }
            }
            ended[match ruling {
                Ruling::Better => 0,
                Ruling::Worse => 1,
                Ruling::Open => 2,
            }] += 1;
        }
        ended
    }

    #[test]
    fn equal_policies_are_told_apart_no_more_often_than_promised_however_often_one_looks() {
        for (share, trials) in [(500_000, (20, 20)), (50_000, (40, 40)), (300_000, (10, 50))] {
            let [better, worse, _] = ended(1_000, (share, share), trials, 60, 50_000);
            // 5% of 1000 and three standard deviations.
            assert!(better <= 70 && worse <= 70, "{share} {trials:?}: {better} {worse}");
        }
        // One that is worse is taken for better still less often.
        let [better, ..] = ended(500, (320_000, 300_000), (20, 20), 60, 50_000);
        assert!(better <= 40, "{better}");
    }

    #[test]
    fn a_better_policy_is_found_and_a_worse_one_too() {
        let [better, worse, open] = ended(200, (300_000, 400_000), (50, 50), 60, 50_000);
        assert!(better >= 190 && worse <= 10, "{better} {worse} {open}");
        let [better, worse, open] = ended(200, (400_000, 300_000), (50, 50), 60, 50_000);
        assert!(worse >= 190 && better <= 10, "{better} {worse} {open}");
    }

    #[test]
    fn the_first_batch_and_no_batch_decide_nothing() {
        let mut test = Test::default();
        assert_eq!(test.ruling(50_000), Ruling::Open);
        test.batch(Counts { successes: 0, trials: 1_000 }, Counts { successes: 1_000, trials: 1_000 });
        assert_eq!((test.ruling(50_000), test.better), (Ruling::Open, 0), "nothing was guessed before it");
        test.batch(Counts::default(), Counts::default());
        assert_eq!(test.better, 0);
        assert_eq!(shown(3 << FINE), "2^3.0");
    }
}
