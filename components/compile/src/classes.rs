//! How often each class of outputs was right where it was held out.

use std::collections::BTreeMap;

use crate::bindings::auto::pass::types::{Outcome, Scored};

/// The most classes that are listed; outputs of more kinds are hardly classes.
const MOST: usize = 200;

/// One part of a class in a million.
const PPM: u128 = 1_000_000;

/// A line for all classes: of the held-out inputs of each, how many were answered rightly and how
/// many wrongly, and between which shares the right ones are with 95% confidence. None where there
/// are too many kinds of outputs or nothing was held out.
pub fn told(held_out: &[Scored]) -> Option<String> {
    let mut classes: BTreeMap<&str, (u64, u64, u64)> = BTreeMap::new();
    for row in held_out {
        let (rows, right, wrong) = classes.entry(row.expected.as_str()).or_default();
        *rows += 1;
        match &row.outcome {
            Outcome::Answer(answer) if *answer == row.expected => *right += 1,
            Outcome::Abstain(_) => {}
            _ => *wrong += 1,
        }
    }
    if classes.is_empty() || classes.len() > MOST {
        return None;
    }
    let line = |(class, (rows, right, wrong)): (&str, (u64, u64, u64))| {
        let (low, high) = wilson(right, rows);
        format!("{class} {right} of {rows} right ({}% to {}%), {wrong} wrong", low / 10_000, high / 10_000)
    };
    Some(classes.into_iter().map(line).collect::<Vec<String>>().join("; "))
}

/// The interval of a share that was counted (Wilson 1927, without continuity), at 95%: in parts per
/// million, rounded to the outside.
fn wilson(counted: u64, rows: u64) -> (u64, u64) {
    if rows == 0 {
        return (0, PPM as u64);
    }
    let (counted, rows) = (u128::from(counted), u128::from(rows));
    // z = 1.96; z^2 = 3.8416. In millionths, the root in millionths too.
    let root = (counted * (rows - counted) * PPM * PPM / rows + 960_400_000_000).isqrt() + 1;
    let (centre, reach) = (counted * PPM + 1_920_800, 1_960_000 * root / PPM + 1);
    let whole = rows * PPM + 3_841_600;
    let (low, high) = (centre.saturating_sub(reach) * PPM / whole, ((centre + reach) * PPM).div_ceil(whole));
    (low as u64, high.min(PPM) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_wilsons() {
        // By the formula in floating point, to a part in a hundred thousand.
        for (counted, rows) in [(0, 1), (1, 1), (0, 10), (5, 10), (48, 50), (81, 263), (9_999, 10_000)] {
            let (n, z, share) = (rows as f64, 1.96f64, counted as f64 / rows as f64);
            let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
            let half = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
            let (low, high) = wilson(counted, rows);
            assert!((low as f64 / 1e6 - (middle - half).max(0.0)).abs() < 1e-5, "{counted} of {rows}: {low}");
            assert!((high as f64 / 1e6 - (middle + half).min(1.0)).abs() < 1e-5, "{counted} of {rows}: {high}");
        }
        assert_eq!(wilson(0, 0), (0, 1_000_000));
    }

    #[test]
    fn each_class_has_its_counts() {
        let row = |expected: &str, answer: Option<&str>| Scored {
            fold: 0,
            input: "1".to_owned(),
            expected: expected.to_owned(),
            outcome: answer.map_or(Outcome::Failed("it fails".to_owned()), |answer| Outcome::Answer(answer.to_owned())),
            scores: Vec::new(),
        };
        let rows = [row("\"a\"", Some("\"a\"")), row("\"a\"", Some("\"b\"")), row("\"b\"", None)];
        let line = told(&rows).unwrap();
        assert_eq!(line, "\"a\" 1 of 2 right (9% to 90%), 1 wrong; \"b\" 0 of 1 right (0% to 79%), 1 wrong");
        assert_eq!(told(&[]), None);
    }
}
