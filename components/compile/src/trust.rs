//! Whether a rule is believed: what its folds got wrong, against what may be.
//!
//! A rule that fits every recording may do so by chance. What was found without some inputs and
//! is wrong on them says how often: where the held-out answers rule out that so few are wrong as
//! may be, the rule alone is no answer to what was not recorded.

use auto_kit::binomial::rules_out;
use auto_schema::contract::Contract;

use crate::MILLION;
use crate::bindings::auto::pass::types::{Outcome, Scored};

/// The share of held-out inputs that a rule may get wrong, where the contract does not say, in
/// parts per million.
const WRONG: u32 = 20_000;

/// How sure it has to be that a rule gets more than that wrong before it is doubted.
const CONFIDENCE: u32 = 950_000;

/// The share of a model's answers that must be right: the gate asks for as many.
const LEARNED: u64 = 950_000;

/// How held-out inputs were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub right: u64,
    pub wrong: u64,
    pub rows: u64,
}

impl Tally {
    pub fn of(held_out: &[Scored]) -> Tally {
        let mut tally = Tally { rows: held_out.len() as u64, ..Tally::default() };
        for row in held_out {
            match &row.outcome {
                Outcome::Answer(answer) if *answer == row.expected => tally.right += 1,
                Outcome::Abstain(_) => {}
                _ => tally.wrong += 1,
            }
        }
        tally
    }

    /// Counts one more.
    pub fn add(&mut self, is_right: bool) {
        self.rows += 1;
        self.right += u64::from(is_right);
        self.wrong += u64::from(!is_right);
    }

    /// Both together.
    pub fn with(self, other: Tally) -> Tally {
        Tally { right: self.right + other.right, wrong: self.wrong + other.wrong, rows: self.rows + other.rows }
    }

    /// Whether more than the share is wrong, and not by chance: more than one answer is wrong, which may be a
    /// fold's that lacks what the rule needs, or so many are seldom wrong were the share what may be.
    fn exceeds(&self, share: u32) -> bool {
        let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        // What is not wrong is binomial too, with the share that is left.
        let is_no_chance = || rules_out(small(self.rows), small(self.rows - self.wrong), MILLION - share, CONFIDENCE);
        self.is_counted_beyond(share) && (self.wrong > 1 || is_no_chance())
    }

    fn is_counted_beyond(&self, share: u32) -> bool {
        self.wrong * u64::from(MILLION) > self.rows * u64::from(share)
    }

    /// Whether a program with this record is doubted under the contract: more is wrong than may be, and
    /// more than one answer is, or that one is too many to be chance.
    pub fn is_doubted(&self, contract: &Contract) -> bool {
        self.exceeds(may_be_wrong(contract))
    }

    /// Whether more is wrong than may be, if only by chance.
    pub fn exceeds_as_counted(&self, contract: &Contract) -> bool {
        self.is_counted_beyond(may_be_wrong(contract))
    }

    /// Whether something is answered, and so much of it rightly as the gate asks of a model.
    pub fn suffices(&self) -> bool {
        self.right > 0 && self.right * u64::from(MILLION) >= (self.right + self.wrong) * LEARNED
    }

    /// Whether a model with this record is better than a rule that is doubted: the gate will let
    /// it through, and something is answered.
    pub fn is_sound(&self, contract: &Contract) -> bool {
        let floor = contract.acceptance.out_of_fold_min_ppm.unwrap_or(0);
        self.suffices() && self.right * u64::from(MILLION) >= self.rows * u64::from(floor) && !self.is_doubted(contract)
    }
}

/// The share that may be wrong under the contract, in parts per million.
fn may_be_wrong(contract: &Contract) -> u32 {
    let acceptance = &contract.acceptance;
    // Who asks for so many right ones takes the others to be wrong.
    let missing = acceptance.out_of_fold_min_ppm.map(|floor| MILLION.saturating_sub(floor));
    // Recordings that may be wrong are held out like others.
    let noise = acceptance.agreement_min_ppm.map_or(0, |floor| MILLION.saturating_sub(floor));
    acceptance.max_silent_error_ppm.or(missing).unwrap_or(WRONG + noise).min(MILLION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_doubted_where_chance_does_not_account_for_what_it_gets_wrong() {
        let wrong = |wrong: u64, rows: u64| Tally { right: rows - wrong, wrong, rows }.exceeds(WRONG);
        // One fold of a few may lack what the rule needs.
        assert!(!wrong(0, 0) && !wrong(1, 3) && !wrong(1, 8) && !wrong(1, 40) && !wrong(2, 100) && !wrong(20, 1000));
        assert!(wrong(1, 2) && wrong(2, 8) && wrong(2, 40) && wrong(12, 45) && wrong(30, 1000));
        assert!(wrong(100_000, 100_000));
    }
}
