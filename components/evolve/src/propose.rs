//! The proposer that needs no model: it draws, changes, mixes, mends and shortens, and every choice
//! follows from the seed, the generation and the place in it.

use auto_search::Random;

use crate::archive::Population;
use crate::code;
use crate::genome::{Genome, PROGRAM};
use crate::individual::{Individual, Operator, Proposal, Status};
use crate::settings::{Settings, Subject};

/// Who it says it is.
pub const BUILT_IN: &str = "built-in";
/// How often something new is tried for.
const TRIES: usize = 12;
/// In how many of a million cases one is made shorter, and one mended where there is one to mend.
const SIMPLIFY: i64 = 120_000;
const REPAIR: i64 = 100_000;
/// How many changes of code make something fresh.
const FRESH_CHANGES: usize = 4;

/// The kinds of ideas, asked for in turn.
pub const IDEAS: [&str; 3] = ["functional", "structural", "combination"];

/// Who is asked, and what for.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// On which island.
    pub island: usize,
    /// When.
    pub generation: u32,
    /// The how manieth of the generation.
    pub slot: usize,
}

/// The proposer.
pub struct Maker<'m> {
    /// What may be changed.
    pub settings: &'m Settings,
    /// The baseline.
    pub base: &'m Genome,
    /// Everybody so far.
    pub all: &'m [Individual],
    /// Who lives where.
    pub population: &'m Population,
}

impl Maker<'_> {
    /// Something that `is_new` says is new; none where nothing was found.
    pub fn propose(&self, place: Place, is_new: impl Fn(&Genome) -> bool) -> Option<Proposal> {
        let name = format!("generation {} island {} slot {}", place.generation, place.island, place.slot);
        let mut random = Random::of(self.settings.control.seed, &name);
        (0..TRIES).find_map(|_| self.one(place, &mut random).filter(|made| is_new(&made.genome)))
    }

    fn one(&self, place: Place, random: &mut Random) -> Option<Proposal> {
        let idea = IDEAS[place.slot % IDEAS.len()];
        let fresh = |random: &mut Random| Some((Operator::Fresh, self.draw(random)?, Vec::new()));
        let parent = |not, random: &mut Random| self.population.parent(self.all, place.island, not, random);
        let (operator, genome, parents) = if random.chance(self.settings.control.random_share) {
            fresh(random)?
        } else if let Some((broken, whole)) = self.to_mend(place).filter(|_| random.chance(REPAIR)) {
            (
                Operator::Repair,
                self.mix(&self.all[whole].genome, &self.all[broken].genome, random)?,
                vec![broken, whole],
            )
        } else {
            let Some(one) = parent(None, random) else { return fresh(random).map(|made| proposal(made, idea)) };
            let own = &self.all[one].genome;
            let other = if idea == "combination" { parent(Some(one), random) } else { None };
            match other {
                Some(other) => (Operator::Crossover, self.mix(own, &self.all[other].genome, random)?, vec![one, other]),
                None if random.chance(SIMPLIFY) => (Operator::Simplify, self.simplify(own, random)?, vec![one]),
                None => (Operator::Mutation, self.change(own, idea == "structural", random)?, vec![one]),
            }
        };
        Some(proposal((operator, genome, parents), idea))
    }

    /// The last one of the island that was invalid, and its first parent that counts.
    fn to_mend(&self, place: Place) -> Option<(usize, usize)> {
        let recent = self.all.iter().rev().take_while(|one| one.generation + 2 >= place.generation);
        let mut broken = recent.filter(|one| one.status == Status::Invalid && one.island == place.island);
        broken.find_map(|one| {
            let whole = one.parents.iter().find(|parent| self.all[**parent].may_parent())?;
            Some((one.number, *whole))
        })
    }

    fn draw(&self, random: &mut Random) -> Option<Genome> {
        match &self.settings.subject {
            Subject::Program { interface, .. } => interface.draw(random).map(|made| Genome::program(made.to_string())),
            Subject::Files { space, .. } => {
                let mut made = Genome { params: space.draw(random), ..self.base.clone() };
                for round in 0..FRESH_CHANGES {
                    made.files = self.code(&made.files, round % 2 == 0, random).unwrap_or(made.files);
                }
                Some(made)
            }
        }
    }

    fn change(&self, own: &Genome, structural: bool, random: &mut Random) -> Option<Genome> {
        match &self.settings.subject {
            Subject::Program { interface, .. } => {
                let program = interface.read(own.files.get(PROGRAM)?).ok()?;
                interface.change(&program, structural, random).map(|made| Genome::program(made.to_string()))
            }
            Subject::Files { space, frozen } => {
                let in_code = !frozen.editable.is_empty() && (space.0.is_empty() || random.chance(500_000));
                Some(match in_code {
                    true => Genome { files: self.code(&own.files, structural, random)?, ..own.clone() },
                    false => Genome { params: space.change(&own.params, structural, random), ..own.clone() },
                })
            }
        }
    }

    fn mix(&self, one: &Genome, other: &Genome, random: &mut Random) -> Option<Genome> {
        match &self.settings.subject {
            Subject::Program { interface, .. } => {
                let read = |genome: &Genome| interface.read(genome.files.get(PROGRAM)?).ok();
                let made = interface.mix(&read(one)?, &read(other)?, random)?;
                Some(Genome::program(made.to_string()))
            }
            Subject::Files { space, frozen } => Some(Genome {
                params: space.mix(&one.params, &other.params, random),
                files: frozen.mix(&one.files, &other.files, random),
            }),
        }
    }

    fn simplify(&self, own: &Genome, random: &mut Random) -> Option<Genome> {
        match &self.settings.subject {
            Subject::Program { interface, .. } => {
                let program = interface.read(own.files.get(PROGRAM)?).ok()?;
                interface.simplify(&program, random).map(|made| Genome::program(made.to_string()))
            }
            Subject::Files { space, frozen } if space.0.is_empty() => {
                Some(Genome { files: frozen.change(&own.files, true, random)?, ..own.clone() })
            }
            Subject::Files { space, .. } => Some(Genome { params: space.simplify(&own.params, random), ..own.clone() }),
        }
    }

    fn code(&self, files: &code::Files, structural: bool, random: &mut Random) -> Option<code::Files> {
        match &self.settings.subject {
            Subject::Files { frozen, .. } if !frozen.editable.is_empty() => frozen.change(files, structural, random),
            _ => None,
        }
    }
}

fn proposal((operator, genome, parents): (Operator, Genome, Vec<usize>), idea: &str) -> Proposal {
    Proposal { genome, parents, operator, idea: idea.to_owned(), by: BUILT_IN.to_owned(), prompt: None }
}
