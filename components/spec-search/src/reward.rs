//! The composite reward of a trained model: accuracy less weighted z-scores of energy, latency
//! and cost within a batch, by the population's standard deviation. Integers throughout: the
//! square root is one of integers, so that every machine ranks a batch alike. The gate never uses
//! these weights.

use crate::Refusal;
use crate::amount::ONE;

/// The most that an input may be, in millionths; a sum of squares of a batch then fits.
const LARGEST: i64 = 1_000_000_000_000;

/// The most candidates of a batch.
const MOST: usize = 1_000;

/// z-scores are kept in this many parts of one.
const FINE: i128 = 1_000_000_000;

/// Weights in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Of accuracy.
    pub alpha: i64,
    /// Of energy.
    pub beta: i64,
    /// Of latency.
    pub gamma: i64,
    /// Of cost.
    pub delta: i64,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights { alpha: 500_000, beta: 100_000, gamma: 100_000, delta: 300_000 }
    }
}

/// What was measured of one candidate, in millionths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// What it was measured on.
    pub benchmark: String,
    /// 0 to 1.
    pub accuracy: i64,
    /// In any unit, the same for all.
    pub energy: i64,
    /// Likewise.
    pub latency: i64,
    /// Likewise.
    pub cost: i64,
}

/// The reward of each candidate, in millionths. One candidate alone has no spread, and neither
/// have equal ones: their terms are 0.
///
/// Codes: `mixed-benchmarks`, `out-of-range`, `batch-too-large`.
pub fn rewards(batch: &[Candidate], weights: Weights) -> Result<Vec<i64>, Refusal> {
    check(batch)?;
    let [energy, latency, cost] = [|c: &Candidate| c.energy, |c: &Candidate| c.latency, |c: &Candidate| c.cost]
        .map(|of: fn(&Candidate) -> i64| z_scores(&batch.iter().map(of).collect::<Vec<_>>()));
    let one = i128::from(ONE);
    let reward = |at: usize| {
        let term = |weight: i64, z: &[i128]| i128::from(weight) * z[at];
        let gained = i128::from(weights.alpha) * i128::from(batch[at].accuracy) * (FINE / one);
        let lost = term(weights.beta, &energy) + term(weights.gamma, &latency) + term(weights.delta, &cost);
        // Weights are millionths, so are rewards: what is left over is how fine a z-score is.
        rounded(gained - lost, FINE)
    };
    // Bounded: |z| of a thousand candidates is below 32.
    Ok((0..batch.len()).map(|at| i64::try_from(reward(at)).unwrap_or(i64::MIN)).collect())
}

fn check(batch: &[Candidate]) -> Result<(), Refusal> {
    if batch.len() > MOST {
        return Err(Refusal::new("batch-too-large", format!("{} candidates, and {MOST} may be ranked", batch.len())));
    }
    for (at, candidate) in batch.iter().enumerate() {
        if candidate.benchmark != batch[0].benchmark {
            let message =
                format!("it was measured on {:?}, the first on {:?}", candidate.benchmark, batch[0].benchmark);
            return Err(Refusal::new("mixed-benchmarks", message).at(format!("/{at}")));
        }
        let others = [("energy", candidate.energy), ("latency", candidate.latency), ("cost", candidate.cost)];
        let bad = others.into_iter().find(|(_, value)| !(0..=LARGEST).contains(value));
        let bad = bad.or((!(0..=ONE).contains(&candidate.accuracy)).then_some(("accuracy", candidate.accuracy)));
        if let Some((what, value)) = bad {
            return Err(
                Refusal::new("out-of-range", format!("{value} millionths are none")).at(format!("/{at}/{what}"))
            );
        }
    }
    Ok(())
}

/// `(n x - S) / sqrt(n Q - S^2)`, which is `(x - mean) / deviation` without a division before the
/// root.
fn z_scores(values: &[i64]) -> Vec<i128> {
    let n = values.len() as i128;
    let sum: i128 = values.iter().map(|&value| i128::from(value)).sum();
    let squares: i128 = values.iter().map(|&value| i128::from(value) * i128::from(value)).sum();
    let spread = (n * squares - sum * sum).unsigned_abs();
    // A deviation of at most a millionth of a millionth of the mean is none.
    let negligible = (sum * sum).unsigned_abs() / 10u128.pow(24);
    if spread == 0 || spread <= negligible {
        return vec![0; values.len()];
    }
    // As many binary places as there is room for, so that the root is exact enough.
    let places = spread.leading_zeros() / 2 - 1;
    let root = (spread << (2 * places)).isqrt() as i128;
    // |n x - S| is at most 32 roots, so the product has less than 100 binary places.
    let scaled = |value: i64| (n * i128::from(value) - sum) * FINE * (1i128 << places);
    values.iter().map(|&value| rounded(scaled(value), root)).collect()
}

/// The quotient to the nearest whole number, halves away from zero.
fn rounded(value: i128, by: i128) -> i128 {
    let half = by / 2;
    if value < 0 { (value - half) / by } else { (value + half) / by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn candidate(accuracy: i64, energy: i64, latency: i64, cost: i64) -> Candidate {
        let benchmark = "personal_v1".to_owned();
        Candidate {
            benchmark,
            accuracy: accuracy * ONE,
            energy: energy * ONE,
            latency: latency * ONE,
            cost: cost * ONE,
        }
    }

    fn batch() -> Vec<Candidate> {
        vec![candidate(1, 200, 5, 0), candidate(1, 400, 8, 0), candidate(0, 100, 2, 0)]
    }

    #[test]
    fn the_published_rewards_come_out_to_six_digits() {
        assert_eq!(rewards(&batch(), Weights::default()), Ok(vec![526_726, 243_895, 229_379]));
    }

    #[test]
    fn nothing_one_and_equal_ones_have_no_spread() {
        assert_eq!(rewards(&[], Weights::default()), Ok(vec![]));
        assert_eq!(rewards(&[candidate(1, 7, 8, 9)], Weights::default()), Ok(vec![500_000]));
        let equal = vec![candidate(1, 3, 3, 3), candidate(0, 3, 3, 3)];
        assert_eq!(rewards(&equal, Weights::default()), Ok(vec![500_000, 0]));
        let mut nearly = equal;
        nearly[0].energy = LARGEST;
        nearly[1].energy = LARGEST - 1;
        assert_eq!(rewards(&nearly, Weights::default()), Ok(vec![500_000, 0]), "a millionth of a million is none");
    }

    #[test]
    fn what_is_out_of_range_or_of_another_benchmark_is_refused() {
        let refused = |change: fn(&mut Candidate)| {
            let mut batch = batch();
            change(&mut batch[1]);
            let refusal = rewards(&batch, Weights::default()).expect_err("refused");
            (refusal.code, refusal.at)
        };
        assert_eq!(refused(|c| c.energy = -1), ("out-of-range", "/1/energy".to_owned()));
        assert_eq!(refused(|c| c.latency = LARGEST + 1), ("out-of-range", "/1/latency".to_owned()));
        assert_eq!(refused(|c| c.accuracy = ONE + 1), ("out-of-range", "/1/accuracy".to_owned()));
        assert_eq!(refused(|c| c.benchmark.push('2')), ("mixed-benchmarks", "/1".to_owned()));
        let many = vec![candidate(0, 0, 0, 0); MOST + 1];
        assert_eq!(rewards(&many, Weights::default()).expect_err("too many").code, "batch-too-large");
    }

    proptest! {
        /// Floats only to compare with: they decide nothing.
        #[test]
        fn integers_agree_with_the_formula_in_floats(
            rows in prop::collection::vec((0i64..=ONE, 0i64..=LARGEST, 0i64..=1_000_000_000, 0i64..=1_000), 1..40),
        ) {
            let batch: Vec<Candidate> = rows.iter().map(|&(accuracy, energy, latency, cost)| Candidate {
                benchmark: String::new(), accuracy, energy, latency, cost,
            }).collect();
            let z = |of: fn(&Candidate) -> i64| {
                let values: Vec<f64> = batch.iter().map(|c| of(c) as f64).collect();
                let mean = values.iter().sum::<f64>() / values.len() as f64;
                let deviation = (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt();
                values.iter().map(|v| if deviation > 0.0 { (v - mean) / deviation } else { 0.0 }).collect::<Vec<f64>>()
            };
            let (energy, latency, cost) = (z(|c| c.energy), z(|c| c.latency), z(|c| c.cost));
            for (at, reward) in rewards(&batch, Weights::default()).expect("sound").into_iter().enumerate() {
                let expected = 0.5 * batch[at].accuracy as f64 / 1e6 - 0.1 * energy[at] - 0.1 * latency[at] - 0.3 * cost[at];
                prop_assert!((reward as f64 / 1e6 - expected).abs() < 2e-6, "{} {}", reward, expected);
            }
        }
    }
}
