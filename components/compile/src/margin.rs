//! How far a model keeps from its first wrong answer, where too few answers are held out to
//! promise anything.
//!
//! The loosest limit that held as counted ends at the first wrong answer, and the next wrong one
//! may come a little before it: of few answers that is often. So some of those below it are given
//! up, and how many is told by doing the same without each fold.

use crate::bindings::auto::pass::types::{Outcome, Scored};
use crate::trust::Tally;

/// What is given up of the answers before the first wrong one, in parts per million: the least of
/// these with which the others hold.
const MARGINS: [u32; 4] = [100_000, 250_000, 500_000, 750_000];

/// The least margin with which so many of the answers are right as the gate asks for, where it is
/// kept without each fold; the first where it is with none.
pub fn chosen(scored: &[Scored]) -> u32 {
    let holds = |margin: &u32| answered(scored, *margin).suffices();
    MARGINS.into_iter().find(holds).unwrap_or(MARGINS[0])
}

/// The rows, where the answers that are given up count as wrong.
pub fn kept(scored: &[Scored], margin: u32) -> Vec<Scored> {
    let limit = limit(scored, margin);
    let given_up = |row: &Scored| is_answer(row) && limit.is_none_or(|limit| unsure(row) > limit);
    let kept = |row: &Scored| match given_up(row) {
        // No answer is this text, so none is right.
        true => Scored { expected: "null".to_owned(), outcome: Outcome::Answer("false".to_owned()), ..row.clone() },
        false => row.clone(),
    };
    scored.iter().map(kept).collect()
}

/// How the rows of each fold are answered with a limit that was set without it.
fn answered(scored: &[Scored], margin: u32) -> Tally {
    let mut folds: Vec<u32> = scored.iter().map(|row| row.fold).collect();
    folds.sort_unstable();
    folds.dedup();
    let mut answered = Vec::new();
    for fold in folds {
        let (own, others): (Vec<Scored>, Vec<Scored>) = scored.iter().cloned().partition(|row| row.fold == fold);
        let limit = limit(&others, margin);
        let admitted = |row: &Scored| is_answer(row) && limit.is_some_and(|limit| unsure(row) <= limit);
        answered.extend(own.into_iter().filter(admitted));
    }
    Tally::of(&answered)
}

/// How unsure the last answer is that is kept; none where none is.
fn limit(scored: &[Scored], margin: u32) -> Option<u32> {
    let mut answers: Vec<(u32, bool)> = scored.iter().filter(|row| is_answer(row)).map(told).collect();
    // Of equals the wrong ones first: what is as unsure as a wrong answer is no better.
    answers.sort_unstable_by_key(|(unsure, right)| (*unsure, *right));
    let before = answers.iter().take_while(|(_, right)| *right).count() as u64;
    let given_up = (before * u64::from(margin)).div_ceil(u64::from(crate::MILLION));
    let last = usize::try_from(before - given_up).ok()?.checked_sub(1)?;
    answers.get(last).map(|(unsure, _)| *unsure)
}

fn told(row: &Scored) -> (u32, bool) {
    (unsure(row), matches!(&row.outcome, Outcome::Answer(answer) if *answer == row.expected))
}

fn is_answer(row: &Scored) -> bool {
    matches!(row.outcome, Outcome::Answer(_)) && !row.scores.is_empty()
}

fn unsure(row: &Scored) -> u32 {
    row.scores.last().copied().unwrap_or(crate::MILLION)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that are each a fold, less and less sure.
    fn rows(right: impl IntoIterator<Item = bool>) -> Vec<Scored> {
        let row = |(at, right): (usize, bool)| Scored {
            fold: at as u32,
            input: at.to_string(),
            expected: "1".to_owned(),
            outcome: Outcome::Answer(if right { "1" } else { "2" }.to_owned()),
            scores: vec![0, at as u32],
        };
        right.into_iter().enumerate().map(row).collect()
    }

    #[test]
    fn answers_before_the_first_wrong_one_are_given_up() {
        let scored = rows((0..40).map(|at| at < 20));
        for (margin, limit) in [(0, Some(19)), (100_000, Some(17)), (500_000, Some(9)), (1_000_000, None)] {
            assert_eq!(super::limit(&scored, margin), limit, "{margin}");
            let right = Tally::of(&kept(&scored, margin)).right;
            assert_eq!(right, limit.map_or(0, |limit| u64::from(limit) + 1), "{margin}");
        }
        assert_eq!(limit(&[], 0), None);
    }

    #[test]
    fn the_margin_is_the_least_with_which_the_others_hold() {
        // The first wrong answer held out, the limit reaches to the next one: five right ones more.
        assert_eq!(chosen(&rows((0..40).map(|at| at < 12 || (13..18).contains(&at)))), 250_000);
        assert_eq!(chosen(&rows((0..40).map(|at| at < 30))), 100_000);
        // Nothing holds where the surest is wrong.
        assert_eq!(chosen(&rows((0..40).map(|at| at % 2 == 1))), MARGINS[0]);
    }
}
