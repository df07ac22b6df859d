//! Which observations are held out together.
//!
//! The driver, not the pass under judgement, makes the folds. Near-duplicates never
//! straddle a boundary: otherwise a program that copies its neighbour's answer would look
//! as if it generalised. Pure, seeded, and the same on every machine.

use std::collections::{BTreeMap, BTreeSet};

use auto_schema::digest::Digest;

/// Two inputs whose word sets overlap by at least this share are near-duplicates
/// (Jaccard, in parts per million).
const NEAR: u64 = 800_000;

/// Above this many inputs the quadratic word comparison is left out and only inputs that
/// differ in digits, case and white space alone are near-duplicates.
const MOST_COMPARED: usize = 2_000;

/// From this many rows on, a group that is larger than a fold is no group of near-duplicates.
const TEMPLATE: usize = 10;

/// Of more inputs so many are held out: what they say is as sure as anybody needs.
const MOST_HELD_OUT: usize = 10_000;

/// Splits `inputs` into at most `count` folds; the result holds the indices of each.
///
/// Groups of near-duplicates are dealt in an order that depends on the seed and their
/// content only, each to the fold with the fewest rows. Fewer than two groups make no
/// folds, because nothing could be held out. A group that no fold could hold without being larger
/// than its share is a template (`{"amount": 120, "tier": "gold"}`), in which what differs is what
/// the behaviour is about: its rows are dealt one by one.
pub fn folds(inputs: &[&str], count: usize, seed: u64) -> Vec<Vec<usize>> {
    let share = (inputs.len() / count.max(1)).max(TEMPLATE - 1);
    let mut groups: Vec<Vec<usize>> = groups(inputs)
        .into_iter()
        .flat_map(|group| match group.len() > share {
            true => group.into_iter().map(|row| vec![row]).collect(),
            false => vec![group],
        })
        .collect();
    let count = count.min(groups.len());
    if count < 2 {
        return Vec::new();
    }
    groups.sort_by_cached_key(|group| {
        Digest::of(format!("{seed}\n{}", group.iter().map(|&row| inputs[row]).min().unwrap_or_default()).as_bytes())
    });
    let mut folds = vec![Vec::new(); count];
    for group in groups {
        if folds.iter().map(Vec::len).sum::<usize>() >= MOST_HELD_OUT {
            break;
        }
        let smallest = (0..count).min_by_key(|&fold| (folds[fold].len(), fold)).unwrap_or_default();
        folds[smallest].extend(group);
    }
    folds.iter_mut().for_each(|fold| fold.sort_unstable());
    folds
}

/// The inputs, grouped so that near-duplicates are together.
fn groups(inputs: &[&str]) -> Vec<Vec<usize>> {
    let mut parents: Vec<usize> = (0..inputs.len()).collect();
    let mut seen = BTreeMap::new();
    for (row, input) in inputs.iter().enumerate() {
        let first = *seen.entry(shape(input)).or_insert(row);
        join(&mut parents, first, row);
    }
    if inputs.len() <= MOST_COMPARED {
        let words: Vec<BTreeSet<String>> = inputs.iter().map(|input| words(input)).collect();
        for a in 0..inputs.len() {
            for b in a + 1..inputs.len() {
                if root(&mut parents, a) != root(&mut parents, b) && near(&words[a], &words[b]) {
                    join(&mut parents, a, b);
                }
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for row in 0..inputs.len() {
        groups.entry(root(&mut parents, row)).or_default().push(row);
    }
    groups.into_values().collect()
}

fn root(parents: &mut [usize], mut row: usize) -> usize {
    while parents[row] != row {
        parents[row] = parents[parents[row]];
        row = parents[row];
    }
    row
}

fn join(parents: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parents, a), root(parents, b));
    parents[a.max(b)] = a.min(b);
}

/// The text with digit runs, case and white space taken out.
fn shape(input: &str) -> String {
    let mut shape = String::with_capacity(input.len());
    for character in input.chars().flat_map(char::to_lowercase) {
        let mapped = match character {
            '0'..='9' => '0',
            white if white.is_whitespace() => ' ',
            other => other,
        };
        if !(matches!(mapped, '0' | ' ') && shape.ends_with(mapped)) {
            shape.push(mapped);
        }
    }
    shape
}

fn words(input: &str) -> BTreeSet<String> {
    input
        .split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

fn near(a: &BTreeSet<String>, b: &BTreeSet<String>) -> bool {
    let (small, large) = (a.len().min(b.len()) as u64, a.len().max(b.len()) as u64);
    // The overlap is at most small / large, so most pairs need no intersection.
    if small == 0 || small * 1_000_000 < large * NEAR {
        return false;
    }
    let shared = a.intersection(b).count() as u64;
    shared * 1_000_000 >= (small + large - shared) * NEAR
}

#[cfg(test)]
mod tests {
    use super::folds;
    use proptest::prelude::*;

    proptest! {
        /// Every row is held out exactly once, and the order of rows decides nothing.
        #[test]
        fn folds_partition_the_rows(inputs in prop::collection::btree_set("[a-d]{1,3}( [a-d]{1,3}){0,4}", 0..40), seed in any::<u64>()) {
            let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
            let made = folds(&inputs, 5, seed);
            let mut rows: Vec<usize> = made.iter().flatten().copied().collect();
            rows.sort_unstable();
            prop_assert!(made.is_empty() || rows == (0..inputs.len()).collect::<Vec<_>>());
            let mut reversed = inputs.clone();
            reversed.reverse();
            let texts = |inputs: &[&str], folds: Vec<Vec<usize>>| {
                let mut sets: Vec<Vec<String>> = folds.into_iter().map(|fold| {
                    let mut texts: Vec<String> = fold.into_iter().map(|row| inputs[row].to_owned()).collect();
                    texts.sort();
                    texts
                }).collect();
                sets.sort();
                sets
            };
            prop_assert_eq!(texts(&inputs, made), texts(&reversed, folds(&reversed, 5, seed)));
        }
    }

    #[test]
    fn near_duplicates_stay_together() {
        let inputs = [
            r#"{"line":"pay 100 to Acme"}"#,
            r#"{"line":"pay 250 to Acme"}"#,
            r#"{"line":"the parcel never came to my door last week"}"#,
            r#"{"line":"the parcel never came to my door last month"}"#,
            r#"{"line":"please close the account"}"#,
        ];
        for seed in 0..20 {
            let made = folds(&inputs, 5, seed);
            let fold_of = |row: usize| made.iter().position(|fold| fold.contains(&row));
            assert_eq!(made.len(), 3);
            assert_eq!(fold_of(0), fold_of(1));
            assert_eq!(fold_of(2), fold_of(3));
        }
    }

    #[test]
    fn what_fills_a_template_is_held_out_row_by_row() {
        let inputs: Vec<String> = (0..40).map(|n| format!(r#"{{"amount":{n},"tier":"gold"}}"#)).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        let made = folds(&inputs, 5, 0);
        assert_eq!(made.iter().map(Vec::len).collect::<Vec<_>>(), [8; 5]);
        // A few near-duplicates among many inputs stay together.
        let words: Vec<String> =
            (0..40u8).map(|n| format!("{} {}", (b'a' + n % 26) as char, (b'a' + n / 2) as char)).collect();
        let few: Vec<&str> = inputs[..9].iter().copied().chain(words.iter().map(String::as_str)).collect();
        let made = folds(&few, 5, 0);
        assert_eq!(made.iter().filter(|fold| fold.iter().any(|&row| row < 9)).count(), 1);
    }

    #[test]
    fn one_group_makes_no_folds() {
        assert!(folds(&["\"a 1\"", "\"a 2\""], 5, 0).is_empty());
        assert!(folds(&[], 5, 0).is_empty());
    }
}
