//! Decision lists: if this, then that; otherwise the next. Found by a beam over rules
//! that are right wherever they apply, cheapest per example first.
//!
//! A branch covers at least two examples, and the whole list must say less than what it
//! explains ([`List::bits`]), so that a table of the examples is never taken for an
//! explanation. Where some examples may be wrong, a rule may miss them at a cost.

use std::collections::HashMap;

use crate::predicates::{Predicate, Round};
use crate::values::{Meter, Rows, rows};

/// What a branch may give.
#[derive(Clone)]
pub struct Leaf {
    /// Where it is right.
    pub rows: Rows,
    /// Description length, for the order.
    pub cost: u32,
    /// What a table would have to say too, in bits: the whole of a constant.
    pub bits: u32,
    /// Whether it may stand for one example alone: what is computed may, a constant that
    /// is seen once is a table.
    pub computed: bool,
    /// Where it is defined, if that can be asked.
    pub defined: Option<Rows>,
}

/// A list: predicates with the leaf to take, and the leaf for all else.
#[derive(Clone, Debug)]
pub struct List {
    /// In order; the first that holds decides.
    pub rules: Vec<(Predicate, usize)>,
    /// Where none holds.
    pub otherwise: usize,
    /// Where it is wrong.
    pub wrong: Rows,
    /// Description length.
    pub cost: u32,
}

impl List {
    /// Whether the list is worth its bits (minimum description length): naming its tests and
    /// its leaves against a table, which has every distinct output once and says which of
    /// them each example has, n·H bits. Gives both sides, in whole bits: what it takes, and
    /// what it explains.
    pub fn bits(&self, leaves: &[Leaf], outputs: &Outputs) -> (u64, u64) {
        let tests: u64 = self.rules.iter().map(|(predicate, _)| predicate.bits).sum();
        let mut used: Vec<usize> = self.rules.iter().map(|(_, leaf)| *leaf).chain([self.otherwise]).collect();
        let named = self.rules.len() as u64 * log2(leaves.len().min(16) as u64);
        used.sort_unstable();
        used.dedup();
        let said: u64 = used.iter().map(|&leaf| u64::from(leaves[leaf].bits)).sum();
        let wrong = u64::from(self.wrong.count_ones()) * u64::from(WRONG_COST);
        ((tests + named) / LOG_UNIT + said + wrong, outputs.bits() + SLACK)
    }

    /// Whether it has more tests than there are examples in which one computed leaf is not right: it is
    /// paid with what that leaf explains, and tells a few examples from all others one by one.
    pub fn tells_exceptions(&self, leaves: &[Leaf], wanted: Rows) -> bool {
        let computed = leaves.iter().filter(|leaf| leaf.computed);
        let fewest = computed.map(|leaf| (wanted & !leaf.rows).count_ones()).min();
        fewest.is_some_and(|exceptions| self.rules.len() > exceptions.max(1) as usize)
    }

    /// Puts a rule about a kind before those about a size that stand before it, where no example is of
    /// it and of any rule that it passes: what is blocked is so however small.
    fn kinds_first(&mut self, wanted: Rows) {
        for at in 1..self.rules.len() {
            let kind = &self.rules[at].0;
            if kind.is_threshold() || kind.only().is_some() {
                continue;
            }
            let free = |size: &Predicate| size.rows & kind.rows & wanted == 0;
            let passed = self.rules[..at].iter().rev().take_while(|(rule, _)| free(rule)).count();
            let first = self.rules[at - passed..at].iter().position(|(rule, _)| rule.is_threshold());
            if let Some(first) = first {
                self.rules[at - passed + first..=at].rotate_right(1);
            }
        }
    }

    /// Moves each threshold to the roundest one with which no more is wrong: between an amount and the next
    /// there is seldom more than one that somebody would have chosen.
    fn rounded(&mut self, predicates: &[Predicate], leaves: &[Leaf], wanted: Rows) {
        for at in 0..self.rules.len() {
            let own = self.rules[at].0.clone();
            let mut best: Option<(Round, u32, Predicate)> = None;
            for (other, round) in predicates.iter().filter_map(|other| own.rounder(other)) {
                let moved = (other.rows ^ own.rows).count_ones();
                if best.as_ref().is_some_and(|(known, by, _)| (*known, *by) <= (round, moved)) {
                    continue;
                }
                self.rules[at].0 = other.clone();
                if self.is_right(leaves, wanted) {
                    best = Some((round, moved, other));
                }
            }
            self.rules[at].0 = best.map_or(own, |(_, _, other)| other);
        }
    }

    /// Whether it is right wherever it is not known to be wrong, and every rule has an example.
    fn is_right(&self, leaves: &[Leaf], wanted: Rows) -> bool {
        let mut remaining = wanted;
        for (predicate, leaf) in &self.rules {
            let covered = predicate.rows & remaining;
            if covered == 0 || covered & !leaves[*leaf].rows & !self.wrong != 0 {
                return false;
            }
            remaining &= !covered;
        }
        remaining != 0 && remaining & !leaves[self.otherwise].rows & !self.wrong == 0
    }

    /// How many leaves it has; equal ones in a row are one.
    pub fn branches(&self) -> usize {
        let leaves: Vec<usize> = self.rules.iter().map(|(_, leaf)| *leaf).chain([self.otherwise]).collect();
        leaves.chunk_by(|a, b| a == b).count()
    }
}

/// What a table of the outputs takes.
pub struct Outputs {
    /// The description length of each distinct output, and how often it is.
    pub distinct: Vec<(u32, u64)>,
}

impl Outputs {
    fn bits(&self) -> u64 {
        let total: u64 = self.distinct.iter().map(|(_, count)| count).sum();
        let own: u64 = self.distinct.iter().map(|(_, count)| count * log2(*count)).sum();
        let said: u64 = self.distinct.iter().map(|(bits, _)| u64::from(*bits)).sum();
        said + (total * log2(total)).saturating_sub(own) / LOG_UNIT
    }
}

/// What is still taken for more than chance, in bits: tests are tried in order of cost, and
/// the first that fits is not the only one that would have been believed.
const SLACK: u64 = 2;

/// The unit of [`log2`]: 1/256 of a bit.
pub const LOG_UNIT: u64 = 256;

/// The binary logarithm in units of 1/256, rounded down; 0 of 0 and 1.
pub fn log2(value: u64) -> u64 {
    if value < 2 {
        return 0;
    }
    let whole = value.ilog2();
    // The mantissa in [1, 2) with 31 bits after the point; squaring it gives a bit a time.
    let mut mantissa = (u128::from(value) << 31) >> whole;
    let mut log = u64::from(whole);
    for _ in 0..8 {
        mantissa = (mantissa * mantissa) >> 31;
        let bit = (mantissa >> 32) as u64 & 1;
        mantissa >>= bit;
        log = (log << 1) | bit;
    }
    log
}

/// What an `if` costs.
const IF_COST: u32 = 6;

/// The least examples a branch must cover.
const LEAST: u32 = 2;

/// Partial lists kept at each length.
const BEAM: usize = 128;

/// What it costs to say that an example is wrong: which, and what it says instead.
const WRONG_COST: u32 = 14;

/// A branch is right in so many times as many examples as it is wrong in.
const RIGHT: u32 = 4;

/// Finds lists that are right in all `wanted` rows but for `slack` of them, cheapest first.
/// Gives what was found before the meter ran out.
///
/// First with the predicates alone that say one thing wherever they hold, so that no rule depends on
/// those before it; then with all.
pub fn learn(predicates: &[Predicate], leaves: &[Leaf], wanted: Rows, slack: u32, meter: &mut Meter) -> Vec<List> {
    let says_one_thing = |predicate: &&Predicate| {
        let rows = predicate.rows & wanted;
        predicate.only().is_some() || leaves.iter().any(|leaf| rows & !leaf.rows == 0)
    };
    let pure: Vec<Predicate> = predicates.iter().filter(says_one_thing).cloned().collect();
    let mut done = searched(&pure, leaves, wanted, slack, meter);
    done.extend(searched(predicates, leaves, wanted, slack, meter));
    done.sort_by_key(|list| list.cost);
    done
}

fn searched(predicates: &[Predicate], leaves: &[Leaf], wanted: Rows, slack: u32, meter: &mut Meter) -> Vec<List> {
    let most = (wanted.count_ones() as usize / 4).max(1);
    let mut of_row: Vec<Vec<usize>> = vec![Vec::new(); crate::values::MAX_ROWS];
    let mut by_cost: Vec<usize> = (0..leaves.len()).collect();
    by_cost.sort_by_key(|&leaf| leaves[leaf].cost);
    for &leaf in &by_cost {
        rows(leaves[leaf].rows & wanted).for_each(|row| of_row[row].push(leaf));
    }
    // The cheapest leaf that is right in all of a set, or in nearly all of it.
    let leaf_for = |set: Rows, slack: u32| {
        let first = set.trailing_zeros() as usize;
        let exact = of_row.get(first)?.iter().copied().find(|&leaf| set & !leaves[leaf].rows == 0);
        if exact.is_some() || slack == 0 {
            return exact;
        }
        let wrong = |leaf: usize| (set & !leaves[leaf].rows).count_ones();
        let best = by_cost.iter().copied().min_by_key(|&leaf| wrong(leaf))?;
        (wrong(best) <= slack && wrong(best) * (RIGHT + 1) <= set.count_ones()).then_some(best)
    };
    let mut beam = vec![Partial { remaining: wanted, rules: Vec::new(), cost: 0, wrong: 0 }];
    let mut done: Vec<List> = Vec::new();
    for length in 0..=most {
        let mut next: HashMap<Rows, Partial> = HashMap::new();
        for partial in &beam {
            if !meter.take(1 + predicates.len() / 8) {
                break;
            }
            let slack = slack - partial.wrong.count_ones();
            let best = done.iter().map(|list| list.cost).min().unwrap_or(u32::MAX);
            let enough =
                |leaf: &usize| length == 0 || leaves[*leaf].computed || partial.remaining.count_ones() >= LEAST;
            if let Some(leaf) = leaf_for(partial.remaining, slack).filter(enough) {
                let wrong = partial.remaining & !leaves[leaf].rows;
                done.push(List {
                    rules: partial.rules.iter().map(|&(rule, leaf)| (predicates[rule].clone(), leaf)).collect(),
                    otherwise: leaf,
                    wrong: partial.wrong | wrong,
                    cost: partial.cost + leaves[leaf].cost + WRONG_COST * wrong.count_ones(),
                });
                // Another rule may be right where this leaf is not.
                if wrong == 0 {
                    continue;
                }
            }
            for (index, predicate) in predicates.iter().enumerate() {
                let covered = predicate.rows & partial.remaining;
                if covered == 0 || covered == partial.remaining {
                    continue;
                }
                let leaf = match predicate.only() {
                    Some(leaf) => Some(leaf).filter(|&leaf| covered & !leaves[leaf].rows == 0),
                    None => leaf_for(covered, slack),
                };
                let Some(leaf) = leaf else { continue };
                if covered.count_ones() < LEAST && !leaves[leaf].computed {
                    continue;
                }
                let missed = covered & !leaves[leaf].rows;
                let cost =
                    partial.cost + predicate.cost + leaves[leaf].cost + IF_COST + WRONG_COST * missed.count_ones();
                let remaining = partial.remaining & !covered;
                if cost >= best || next.get(&remaining).is_some_and(|known| known.cost <= cost) {
                    continue;
                }
                let mut rules = partial.rules.clone();
                rules.push((index, leaf));
                next.insert(remaining, Partial { remaining, rules, cost, wrong: partial.wrong | missed });
            }
        }
        beam = next.into_values().collect();
        let total = wanted.count_ones();
        // Cost per example explained, scaled to stay in integers.
        beam.sort_by_key(|partial| {
            let explained = u64::from(total - partial.remaining.count_ones());
            (u64::from(partial.cost) * 1000 / explained.max(1), partial.remaining)
        });
        beam.truncate(BEAM);
    }
    done.iter_mut().for_each(|list| list.kinds_first(wanted));
    let compared = predicates.iter().filter(|predicate| predicate.is_threshold()).cloned().collect::<Vec<Predicate>>();
    done.iter_mut().for_each(|list| list.rounded(&compared, leaves, wanted));
    done.sort_by_key(|list| list.cost);
    done
}

struct Partial {
    remaining: Rows,
    rules: Vec<(usize, usize)>,
    cost: u32,
    /// Where its rules are wrong.
    wrong: Rows,
}

/// The predicates with their negations, and, to begin from the `few` cheapest, their
/// conjunctions; one for each distinct set of rows.
pub fn extended(predicates: &[Predicate], few: usize, all: Rows) -> Vec<Predicate> {
    let mut best: HashMap<Rows, usize> = HashMap::new();
    let mut extended: Vec<Predicate> = Vec::new();
    let mut add = |predicate: Predicate, extended: &mut Vec<Predicate>| {
        if predicate.rows == 0 || predicate.rows == all {
            return;
        }
        match best.get(&predicate.rows) {
            Some(&known) if extended[known].cost <= predicate.cost => {}
            Some(&known) => extended[known] = predicate,
            None => {
                best.insert(predicate.rows, extended.len());
                extended.push(predicate);
            }
        }
    };
    predicates.iter().for_each(|predicate| add(predicate.clone(), &mut extended));
    predicates.iter().for_each(|predicate| add(predicate.negated(all), &mut extended));
    let few = few.min(extended.len());
    for left in 0..few {
        for right in 0..left {
            let both = extended[left].and(&extended[right]);
            if both.rows != extended[left].rows && both.rows != extended[right].rows {
                add(both, &mut extended);
            }
        }
    }
    extended
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms_are_near() {
        for value in 1..2000u64 {
            let exact = (value as f64).log2() * 256.0;
            let own = log2(value) as f64;
            assert!(own <= exact + 1e-6 && own > exact - 1.01, "{value}: {own} {exact}");
        }
    }
}
