//! Arithmetic of verdicts, in integers alone.

use std::collections::BTreeMap;

/// A million: one, in millionths.
const ONE: i128 = 1_000_000;

/// Whether paired gains are beyond their noise: their sum is above 0 and its square above `z²` times
/// the sum of their squares. Under the hypothesis that a gain is as likely as the loss of the same
/// size, the sum of squares is the variance of the sum; `z` is in millionths.
pub fn beyond_noise(gains: &[i64], z: i64) -> bool {
    let sum: i128 = gains.iter().map(|gain| i128::from(*gain)).sum();
    let squares: i128 = gains.iter().map(|gain| i128::from(*gain).pow(2)).sum();
    // Each gain is at most a million a seed, so the squares of 2^40 of them fit.
    let left = sum.checked_pow(2).and_then(|square| square.checked_mul(ONE * ONE));
    let right = i128::from(z).checked_pow(2).and_then(|square| square.checked_mul(squares));
    match (left, right) {
        (Some(left), Some(right)) => sum > 0 && left > right,
        // Too large to be told exactly is not told.
        _ => false,
    }
}

/// Gains of the after over the before, sample by sample, added up over runs.
pub fn gains(before: &[Vec<i64>], after: &[Vec<i64>]) -> Vec<i64> {
    let samples = before.iter().chain(after).map(Vec::len).min().unwrap_or(0);
    let sum = |runs: &[Vec<i64>], at: usize| runs.iter().map(|run| run[at]).sum::<i64>();
    (0..samples).map(|at| sum(after, at) - sum(before, at)).collect()
}

/// How far two distributions are apart (total variation), in millionths; one of nothing is as far
/// as can be.
pub fn apart(one: &BTreeMap<String, u64>, other: &BTreeMap<String, u64>) -> i64 {
    let total = |counts: &BTreeMap<String, u64>| counts.values().map(|count| i128::from(*count)).sum::<i128>();
    let (all, others) = (total(one), total(other));
    if all == 0 || others == 0 {
        return 1_000_000;
    }
    let of = |counts: &BTreeMap<String, u64>, label: &String| i128::from(counts.get(label).copied().unwrap_or(0));
    let labels: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let sum: i128 = labels.into_iter().map(|label| (of(one, label) * others - of(other, label) * all).abs()).sum();
    i64::try_from(sum * ONE / (2 * all * others)).unwrap_or(1_000_000)
}

/// How alike two texts are: of their runs of three characters those in both, among those in either
/// (Jaccard), in millionths.
pub fn alike(one: &[u64], other: &[u64]) -> i64 {
    let (mut a, mut b, mut both) = (0, 0, 0_i64);
    while let (Some(x), Some(y)) = (one.get(a), other.get(b)) {
        both += i64::from(x == y);
        a += usize::from(x <= y);
        b += usize::from(y <= x);
    }
    let either = i64::try_from(one.len() + other.len()).unwrap_or(i64::MAX) - both;
    if either == 0 { 1_000_000 } else { both * 1_000_000 / either }
}

/// The runs of three characters of a text, each once, sorted.
pub fn trigrams(text: &str) -> Vec<u64> {
    let characters: Vec<u64> = text.chars().map(u64::from).collect();
    let mut runs: Vec<u64> = characters.windows(3).map(|run| (run[0] << 42) | (run[1] << 21) | run[2]).collect();
    runs.sort_unstable();
    runs.dedup();
    runs
}

/// The mean of some millionths, down; none of none.
pub fn mean(scores: &[i64]) -> Option<i64> {
    auto_search::amount::mean(scores)
}

/// 1.96 standard errors of the mean of some millionths, to be shown; 0 of none.
pub fn half_width(scores: &[i64]) -> i64 {
    let mean = mean(scores).unwrap_or(0);
    let n = scores.len() as u128;
    let squares: u128 = scores.iter().map(|score| u128::from(score.abs_diff(mean)).pow(2)).sum();
    let variance = squares / n.saturating_sub(1).max(1) / n.max(1);
    // Squared, so that the root is taken last.
    i64::try_from((variance * 38_416 / 10_000).isqrt()).unwrap_or(i64::MAX)
}

/// Bits after the point of [`log2_below`].
pub const FINE: u32 = 32;

/// The binary logarithm of a ratio, in units of 2^-32, never above it. Exact to a few units: the
/// digits come one by one from repeated squaring (Knuth, volume 1, exercise 1.2.2-25), each square
/// rounded down. None where either is 0.
pub fn log2_below(numerator: u64, denominator: u64) -> Option<i64> {
    if numerator == 0 || denominator == 0 {
        return None;
    }
    // Brought from 1 up to 2, exactly; then in units of 2^-62.
    let (mut whole, mut above, mut below) = (0_i64, u128::from(numerator), u128::from(denominator));
    while above < below {
        above <<= 1;
        whole -= 1;
    }
    while above >= below << 1 {
        below <<= 1;
        whole += 1;
    }
    let mut value = (above << 62) / below;
    let mut digits = 0_i64;
    for _ in 0..FINE {
        value = (value * value) >> 62;
        digits <<= 1;
        if value >= 2 << 62 {
            value >>= 1;
            digits += 1;
        }
    }
    Some((whole << FINE) + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_count_where_they_are_beyond_what_signs_alone_would_give() {
        let z = 2_000_000;
        assert!(!beyond_noise(&[], z));
        assert!(!beyond_noise(&[1_000_000; 4], z), "16 is not above 4 times 4");
        assert!(beyond_noise(&[1_000_000; 5], z));
        assert!(!beyond_noise(&[-1_000_000; 50], z));
        let mixed = |up: usize, down: usize| [vec![1_000_000; up], vec![-1_000_000; down]].concat();
        assert!(!beyond_noise(&mixed(55, 45), z), "100 is below 400");
        assert!(
            beyond_noise(&mixed(61, 39), z) && !beyond_noise(&mixed(60, 40), z),
            "exactly at the bound is not beyond"
        );
    }

    #[test]
    fn gains_are_paired() {
        let gained = gains(&[vec![0, 1, 1], vec![0, 0, 1]], &[vec![1, 1, 0], vec![1, 0, 0]]);
        assert_eq!(gained, [2, 0, -2]);
    }

    #[test]
    fn distributions_are_apart_by_what_would_have_to_move() {
        let of = |pairs: &[(&str, u64)]| pairs.iter().map(|(label, n)| ((*label).to_owned(), *n)).collect();
        assert_eq!(apart(&of(&[("a", 1), ("b", 1)]), &of(&[("a", 50), ("b", 50)])), 0);
        assert_eq!(apart(&of(&[("a", 4)]), &of(&[("b", 2)])), 1_000_000);
        assert_eq!(apart(&of(&[("a", 6), ("b", 4)]), &of(&[("a", 5), ("b", 5)])), 100_000);
        assert_eq!(apart(&of(&[]), &of(&[("a", 1)])), 1_000_000);
    }

    #[test]
    fn texts_are_alike_by_what_they_share() {
        let same = |a: &str, b: &str| alike(&trigrams(a), &trigrams(b));
        assert_eq!(same("abcd", "abcd"), 1_000_000);
        assert_eq!(same("abcd", "wxyz"), 0);
        assert_eq!(same("abcd", "abce"), 333_333);
        assert_eq!(same("", ""), 1_000_000);
    }

    #[test]
    fn a_logarithm_is_never_above_and_hardly_below() {
        for (n, d) in
            [(1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (999, 1_000), (1, 1_000_000), (u64::MAX, 1), (7, 1 << 40)]
        {
            let exact = (n as f64).log2() - (d as f64).log2();
            let found = log2_below(n, d).unwrap() as f64 / (1_u64 << FINE) as f64;
            assert!(found <= exact + 1e-12 && exact - found < 1e-8, "{n}/{d}: {found} {exact}");
        }
        assert_eq!((log2_below(0, 1), log2_below(1, 0)), (None, None));
        assert_eq!(log2_below(8, 1), Some(3 << FINE));
    }
}
