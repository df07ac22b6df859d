//! Who survives: islands of individuals, the archive of what is best of its kind, and who becomes a
//! parent. An individual is told apart by its size and by how far it is from the baseline
//! (MAP-Elites, Mouret and Clune 2015); a parent is drawn among those that are best at some row and
//! not worse than another everywhere, in proportion to the rows they lead (as GEPA, Agrawal et al.
//! 2025, does).

use std::collections::BTreeMap;

use auto_search::Random;

use crate::genome::Genome;
use crate::individual::Individual;
use crate::stats::{alike, trigrams};

/// An island: the numbers of those that live there, and who came from where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Island {
    /// Whoever lives there.
    pub members: Vec<usize>,
    /// Whoever came: its number, from which island, when.
    pub arrived: Vec<(usize, usize, u32)>,
    /// When it was begun anew.
    pub restarts: Vec<u32>,
}

/// All islands and the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Population {
    /// The islands.
    pub islands: Vec<Island>,
    /// The best of each kind: size and distance.
    pub archive: BTreeMap<(u32, u32), usize>,
}

/// How one is told apart: how often its size doubles, and how many tenths of the baseline it has not.
pub fn cell(genome: &Genome, base: &Genome) -> (u32, u32) {
    let size = genome.bytes().checked_ilog2().unwrap_or(0);
    let far = 1_000_000 - alike(&trigrams(&genome.normal()), &trigrams(&base.normal()));
    (size, u32::try_from(far / 100_001).unwrap_or(0))
}

impl Population {
    /// Empty islands.
    pub fn of(islands: usize) -> Population {
        Population { islands: vec![Island::default(); islands], archive: BTreeMap::new() }
    }

    /// Takes one in: into the archive where it is the best of its kind, and onto its island, from which
    /// the worst goes where it is full. What does not count comes in nowhere.
    pub fn insert(&mut self, all: &[Individual], number: usize, most: usize) {
        let own = &all[number];
        if own.rank().is_none() {
            return;
        }
        if let Some(cell) = own.cell {
            let best = self.archive.entry(cell).or_insert(number);
            if own.rank() > all[*best].rank() {
                *best = number;
            }
        }
        let Some(island) = self.islands.get_mut(own.island) else { return };
        if !island.members.contains(&number) {
            island.members.push(number);
        }
        trim(&mut island.members, all, most);
    }

    /// Takes one out, wherever it is.
    pub fn banish(&mut self, all: &[Individual], number: usize) {
        self.islands.iter_mut().for_each(|island| island.members.retain(|member| *member != number));
        let cells: Vec<(u32, u32)> =
            self.archive.iter().filter(|(_, best)| **best == number).map(|(cell, _)| *cell).collect();
        for cell in cells {
            self.archive.remove(&cell);
            let next = all.iter().filter(|one| one.cell == Some(cell) && one.rank().is_some());
            if let Some(next) = next.max_by_key(|one| one.rank()) {
                self.archive.insert(cell, next.number);
            }
        }
    }

    /// The best of each island goes on to the next one; whoever came from elsewhere stays.
    pub fn migrate(&mut self, all: &[Individual], generation: u32, most: usize) {
        let count = self.islands.len();
        if count < 2 {
            return;
        }
        let going: Vec<Option<usize>> = self
            .islands
            .iter()
            .enumerate()
            .map(|(at, island)| {
                let natives = island.members.iter().copied().filter(|number| all[*number].island == at);
                natives.max_by_key(|number| all[*number].rank())
            })
            .collect();
        for (from, number) in going.into_iter().enumerate() {
            let Some(number) = number else { continue };
            let to = &mut self.islands[(from + 1) % count];
            if !to.members.contains(&number) {
                to.members.push(number);
                to.arrived.push((number, from, generation));
                trim(&mut to.members, all, most);
            }
        }
    }

    /// Begins an island anew: its elites stay, and beside them come those of the archive that are
    /// furthest from them and from each other.
    pub fn restart(&mut self, all: &[Individual], at: usize, generation: u32, elites: usize) {
        let archive: Vec<usize> = self.archive.values().copied().collect();
        let Some(island) = self.islands.get_mut(at) else { return };
        let mut order = island.members.clone();
        order.sort_by_key(|number| std::cmp::Reverse(all[*number].rank()));
        let mut kept: Vec<usize> = order.into_iter().take(elites).collect();
        let runs = |number: usize| trigrams(&all[number].genome.normal());
        for _ in 0..elites {
            let far = |number: &usize| {
                let own = runs(*number);
                kept.iter().map(|other| alike(&own, &runs(*other))).max().unwrap_or(0)
            };
            let next =
                archive.iter().filter(|number| !kept.contains(number)).min_by_key(|number| (far(number), **number));
            let Some(next) = next.copied() else { break };
            if all[next].island != at {
                island.arrived.push((next, all[next].island, generation));
            }
            kept.push(next);
        }
        island.members = kept;
        island.restarts.push(generation);
    }

    /// A parent for an island, other than `not`; of the archive where the island has none.
    pub fn parent(&self, all: &[Individual], at: usize, not: Option<usize>, random: &mut Random) -> Option<usize> {
        let island = self.islands.get(at).map(|island| island.members.as_slice()).unwrap_or_default();
        let able = |numbers: &[usize]| -> Vec<usize> {
            numbers.iter().copied().filter(|number| Some(*number) != not && all[*number].may_parent()).collect()
        };
        let own = able(island);
        let own = if own.is_empty() { able(&self.archive.values().copied().collect::<Vec<_>>()) } else { own };
        let led = led(all, &own);
        random.weighted(&led).map(|place| own[place]).or_else(|| random.pick(&own).copied())
    }
}

/// The worst of an island go, until there are no more than so many.
fn trim(members: &mut Vec<usize>, all: &[Individual], most: usize) {
    while members.len() > most {
        let Some(worst) = (0..members.len()).min_by_key(|at| all[members[*at]].rank()) else { break };
        members.remove(worst);
    }
}

/// How many rows each leads: of each row those with the best score, without those that another one is
/// as good as at every row and better at some.
fn led(all: &[Individual], numbers: &[usize]) -> Vec<u64> {
    let scores: Vec<&[i64]> = numbers.iter().map(|number| all[*number].scores()).collect();
    let rows = scores.iter().map(|scores| scores.len()).min().unwrap_or(0);
    let beats = |a: &[i64], b: &[i64]| (0..rows).all(|row| a[row] >= b[row]) && (0..rows).any(|row| a[row] > b[row]);
    let dominated: Vec<bool> = scores.iter().map(|own| scores.iter().any(|other| beats(other, own))).collect();
    let mut led = vec![0; numbers.len()];
    for row in 0..rows {
        let best = scores.iter().map(|scores| scores[row]).max().unwrap_or(0);
        for (at, own) in scores.iter().enumerate().filter(|(at, _)| !dominated[*at]) {
            led[at] += u64::from(own[row] == best);
        }
    }
    led
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::individual::{Operator, Proposal, RunOf, Status};
    use crate::measure::Measured;

    fn one(number: usize, island: usize, scores: &[i64]) -> Individual {
        let proposal = Proposal {
            genome: Genome::program(format!("{number}{number}{number}{number}")),
            parents: vec![],
            operator: Operator::Fresh,
            idea: String::new(),
            by: String::new(),
            prompt: None,
        };
        let mut own = Individual::of(proposal, number, 1, island, None);
        let scores = scores.iter().map(|right| right * 1_000_000).collect();
        let measured = Measured { scores, ..Measured::default() };
        own.runs.push(RunOf { purpose: "whole".to_owned(), measured });
        own.scored(&BTreeMap::new(), 0);
        own.cell = Some((number as u32 / 2, 0));
        own
    }

    fn all() -> Vec<Individual> {
        vec![
            one(0, 0, &[1, 0, 0]),
            one(1, 0, &[1, 1, 0]),
            one(2, 0, &[0, 0, 1]),
            one(3, 1, &[0, 0, 0]),
            one(4, 1, &[1, 1, 1]),
        ]
    }

    #[test]
    fn parents_are_drawn_by_the_rows_they_lead_and_never_where_another_is_better_everywhere() {
        let all = all();
        assert_eq!(led(&all, &[0, 1, 2]), [0, 2, 1]);
        let mut population = Population::of(2);
        (0..5).for_each(|number| population.insert(&all, number, 10));
        let mut random = Random::of(1, "parents");
        let drawn: Vec<usize> = (0..200).filter_map(|_| population.parent(&all, 0, None, &mut random)).collect();
        assert!(!drawn.contains(&0) && drawn.contains(&1) && drawn.contains(&2));
        assert!((0..50).all(|_| population.parent(&all, 0, Some(1), &mut random) != Some(1)));
        assert_eq!(population.parent(&all, 7, None, &mut random), Some(4), "of the archive where there is no island");
    }

    #[test]
    fn the_archive_holds_the_best_of_each_kind_and_forgets_whoever_is_banished() {
        let mut all = all();
        let mut population = Population::of(2);
        (0..5).for_each(|number| population.insert(&all, number, 10));
        assert_eq!(population.archive, BTreeMap::from([((0, 0), 1), ((1, 0), 2), ((2, 0), 4)]));
        all[1].status = Status::Quarantined;
        population.banish(&all, 1);
        assert_eq!(population.archive[&(0, 0)], 0);
        assert_eq!(population.islands[0].members, [0, 2]);
        population.insert(&all, 1, 10);
        assert_eq!(population.islands[0].members, [0, 2], "it does not come back");
    }

    #[test]
    fn a_full_island_loses_its_worst() {
        let all = all();
        let mut population = Population::of(2);
        (0..3).for_each(|number| population.insert(&all, number, 2));
        assert_eq!(population.islands[0].members, [0, 1], "of equals the older one stays");
    }

    #[test]
    fn whoever_migrates_is_written_down_and_does_not_go_on() {
        let all = all();
        let mut population = Population::of(2);
        (0..5).for_each(|number| population.insert(&all, number, 10));
        population.migrate(&all, 5, 10);
        assert_eq!(population.islands[1].arrived, [(1, 0, 5)]);
        assert_eq!(population.islands[0].arrived, [(4, 1, 5)]);
        population.migrate(&all, 10, 10);
        assert_eq!(population.islands[0].arrived.len() + population.islands[1].arrived.len(), 2, "natives alone go");
    }

    #[test]
    fn an_island_begun_anew_keeps_its_elites_and_gets_what_is_far_from_them() {
        let all = all();
        let mut population = Population::of(2);
        (0..5).for_each(|number| population.insert(&all, number, 10));
        population.restart(&all, 0, 10, 1);
        let island = &population.islands[0];
        assert_eq!((island.members.len(), island.members[0], island.restarts.as_slice()), (2, 1, [10].as_slice()));
        assert!(island.members[1] == 2 || island.arrived == [(island.members[1], 1, 10)]);
    }
}
