//! Which tasks are used for what: a task's split is a hash of its id, a sample is drawn from
//! every stratum with a floor, and the same seed draws the same tasks on every machine.

use std::collections::{BTreeMap, BTreeSet};

use auto_schema::digest::Digest;

use crate::Refusal;

/// What a task is for. A teacher is shown tasks of the first kind only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Split {
    /// Shown to the teacher, with what is expected.
    Diagnose,
    /// Decides whether an edit stands.
    Gate,
    /// Measures what stands, once, when the search is over.
    Confirm,
    /// Nothing: it asks nearly what a task asks that another split is to be kept from.
    Unused,
}

/// Hundredths of the tasks that are for diagnosis, and for the gate; the rest confirms.
const SHARES: [u64; 2] = [40, 40];

/// The split of a task: nothing but salt and id decide, so that adding tasks moves none.
pub fn split(salt: &str, task: &str) -> Split {
    let digest = Digest::of(format!("split\0{salt}\0{task}").as_bytes());
    let mut first = [0; 8];
    first.copy_from_slice(&digest.as_bytes()[..8]);
    match u64::from_be_bytes(first) % 100 {
        at if at < SHARES[0] => Split::Diagnose,
        at if at < SHARES[0] + SHARES[1] => Split::Gate,
        _ => Split::Confirm,
    }
}

/// Draws a sample: of every stratum so many as the floor says, or all it has, and the rest of
/// the size in proportion to what strata have left. In a stratum those with the smallest hash of
/// seed and task. Sorted by task.
///
/// Where the size is less than the floors take, the floor is what every stratum can have. Codes:
/// `sample-too-small` (less than one task a stratum), `duplicate-task`.
pub fn draw(items: &[(String, String)], seed: &[u8], size: usize, floor: usize) -> Result<Vec<String>, Refusal> {
    let mut strata: BTreeMap<&str, Vec<(Digest, &str)>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (task, stratum) in items {
        if !seen.insert(task) {
            return Err(Refusal::new("duplicate-task", format!("two tasks have the id {task:?}")));
        }
        let key = Digest::of(&[seed, b"\0", task.as_bytes()].concat());
        strata.entry(stratum).or_default().push((key, task));
    }
    if size < strata.len() {
        let message = format!(
            "a sample of {size} cannot have a task of each of {} strata; raise benchmark_subsample_size",
            strata.len()
        );
        return Err(Refusal::new("sample-too-small", message));
    }
    let floor = floor.max(1).min(size / strata.len().max(1));
    strata.values_mut().for_each(|tasks| tasks.sort());
    let have: Vec<usize> = strata.values().map(Vec::len).collect();
    let counts = shares(&have, size, floor);
    let mut drawn: Vec<String> = Vec::new();
    for (tasks, count) in strata.values().zip(counts) {
        drawn.extend(tasks.iter().take(count).map(|(_, task)| (*task).to_owned()));
    }
    drawn.sort();
    Ok(drawn)
}

/// How many of each stratum: the floor first, then by largest remainder.
fn shares(have: &[usize], size: usize, floor: usize) -> Vec<usize> {
    let mut counts: Vec<usize> = have.iter().map(|&all| all.min(floor)).collect();
    let left: Vec<usize> = have.iter().zip(&counts).map(|(all, count)| all - count).collect();
    let all_left: usize = left.iter().sum();
    let more = size.saturating_sub(counts.iter().sum()).min(all_left);
    if all_left == 0 {
        return counts;
    }
    for (count, left) in counts.iter_mut().zip(&left) {
        *count += more * left / all_left;
    }
    let mut by_remainder: Vec<usize> = (0..have.len()).collect();
    by_remainder.sort_by_key(|&at| (usize::MAX - more * left[at] % all_left, at));
    let given: usize = left.iter().map(|left| more * left / all_left).sum();
    for &at in by_remainder.iter().take(more - given) {
        counts[at] += 1;
    }
    counts
}

/// The seed of a session's sample.
pub fn seed(purpose: &str, session: &str, version: &str) -> [u8; 32] {
    *Digest::of(format!("{purpose}\0{session}\0{version}").as_bytes()).as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn items(strata: &[usize]) -> Vec<(String, String)> {
        let of = |(at, count): (usize, &usize)| (0..*count).map(move |task| (format!("{at}-{task}"), format!("s{at}")));
        strata.iter().enumerate().flat_map(of).collect()
    }

    fn counted(drawn: &[String], strata: usize) -> Vec<usize> {
        (0..strata).map(|at| drawn.iter().filter(|task| task.starts_with(&format!("{at}-"))).count()).collect()
    }

    #[test]
    fn every_stratum_has_its_floor_and_the_rest_is_in_proportion() {
        let drawn = draw(&items(&[100, 3, 40]), b"seed", 50, 5).expect("drawn");
        assert_eq!(counted(&drawn, 3), [32, 3, 15], "5 + 3 + 5 and 37 more of 95 and 35");
    }

    #[test]
    fn a_size_below_the_floors_gives_every_stratum_the_same() {
        let drawn = draw(&items(&[9, 9, 9]), b"seed", 6, 5).expect("drawn");
        assert_eq!(counted(&drawn, 3), [2, 2, 2]);
        assert_eq!(draw(&items(&[9, 9, 9]), b"seed", 2, 5).expect_err("too small").code, "sample-too-small");
        let twice = [items(&[2]), items(&[1])].concat();
        assert_eq!(draw(&twice, b"seed", 5, 1).expect_err("twice").code, "duplicate-task");
    }

    #[test]
    fn splits_and_seeds_are_the_same_on_every_machine() {
        let splits: Vec<Split> = (0..6).map(|task| split("personal_v1", &format!("t{task}"))).collect();
        let again: Vec<Split> = (0..6).map(|task| split("personal_v1", &format!("t{task}"))).collect();
        assert_eq!(splits, again);
        let share = (0..10_000).filter(|task| split("s", &format!("t{task}")) == Split::Diagnose).count();
        assert!((3_800..4_200).contains(&share), "{share} of 10000 are for diagnosis");
        // A golden: changing how tasks are drawn changes what was measured before.
        assert_eq!(draw(&items(&[6]), &seed("gate", "s1", "v1"), 3, 1).expect("drawn"), GOLDEN);
    }

    const GOLDEN: [&str; 3] = ["0-2", "0-4", "0-5"];

    proptest! {
        #[test]
        fn a_sample_has_its_size_no_task_twice_and_never_less_than_the_floor(
            strata in prop::collection::vec(1usize..30, 1..6), size in 6usize..60, floor in 1usize..8, seed: [u8; 4],
        ) {
            let items = items(&strata);
            let drawn = draw(&items, &seed, size, floor).expect("drawn");
            prop_assert_eq!(drawn.len(), size.min(items.len()));
            prop_assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
            let least = floor.min(size / strata.len());
            for (count, have) in counted(&drawn, strata.len()).into_iter().zip(&strata) {
                prop_assert!(count >= least.min(*have) && count <= *have);
            }
            let mut turned = items;
            turned.reverse();
            prop_assert_eq!(draw(&turned, &seed, size, floor).expect("drawn"), drawn);
        }
    }
}
