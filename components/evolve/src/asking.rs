//! When the teacher is asked, and for what: an ordinary proposal every generation, one that joins the
//! best of two islands when these exchange, and the mending of what was invalid.

use std::collections::BTreeSet;

use auto_search::Random;

use crate::genome::Genome;
use crate::individual::{Operator, Proposal, Status};
use crate::lent::{Ask, Fault, Lent};
use crate::search::Search;
use crate::teacher::{Purpose, prompt_digest, proposals, question, system};

/// Failures to mend one after which the strong teacher is asked.
const ESCALATE: usize = 2;

/// Reasons of a teacher that say that the money is used up.
const POOR: [&str; 2] = ["spend-cap", "call-cap"];
/// Those that say that the reply is of no use, and that another one may be.
const USELESS: [&str; 2] = ["model-cut-off", "model-bad-reply"];

impl<L: Lent> Search<'_, L> {
    /// What the teacher proposes, no more than `most`; nothing where there is none. Codes: those of a
    /// teacher who cannot be asked.
    pub(crate) fn taught(&mut self, generation: u32, most: usize) -> Result<Vec<(usize, Proposal)>, Fault> {
        if self.settings.teacher.is_empty() || self.poor || most == 0 {
            return Ok(Vec::new());
        }
        let island = generation as usize % self.settings.control.islands;
        let mut random = Random::of(self.settings.control.seed, &format!("teacher {generation}"));
        let mut wanted = Vec::new();
        if let Some((number, failures)) = self.to_mend(generation) {
            wanted.push((if failures >= ESCALATE { Purpose::Escalate } else { Purpose::Repair }, vec![number]));
        }
        if generation.is_multiple_of(self.settings.control.migration_every)
            && let Some(pair) = self.best_of_two()
        {
            wanted.push((Purpose::Cross, pair));
        }
        if let Some(parent) = self.population.parent(&self.all, island, None, &mut random) {
            wanted.push((Purpose::Propose, vec![parent]));
        }
        let mut found: Vec<(usize, Proposal)> = Vec::new();
        for (purpose, parents) in wanted {
            for proposal in self.asked(purpose, &parents, generation)? {
                let known = |genome: &Genome| found.iter().any(|(_, other)| other.genome.normal() == genome.normal());
                match self.is_new(&proposal.genome) && !known(&proposal.genome) {
                    true if found.len() < most => found.push((island, proposal)),
                    true => {}
                    false => self.known += 1,
                }
            }
        }
        Ok(found)
    }

    /// The last one that was invalid and that a teacher made, or had a hand in, and how often mending it
    /// failed before.
    fn to_mend(&self, generation: u32) -> Option<(usize, usize)> {
        let recent = self.all.iter().rev().take_while(|own| own.generation + 1 >= generation);
        let own = recent.filter(|own| own.prompt.is_some()).find(|own| own.status == Status::Invalid)?;
        let (mut failures, mut at) = (0, own.number);
        while self.all[at].operator == Operator::Repair {
            failures += 1;
            at = *self.all[at].parents.first()?;
        }
        Some((own.number, failures))
    }

    /// The best natives of the two best islands.
    fn best_of_two(&self) -> Option<Vec<usize>> {
        let best = self.population.islands.iter().filter_map(|island| {
            let able = island.members.iter().copied().filter(|number| self.all[*number].may_parent());
            able.max_by_key(|number| self.all[*number].rank())
        });
        let mut best: Vec<usize> = best.collect::<BTreeSet<_>>().into_iter().collect();
        best.sort_by_key(|number| std::cmp::Reverse(self.all[*number].rank()));
        best.truncate(2);
        (best.len() == 2).then_some(best)
    }

    fn asked(&mut self, purpose: Purpose, parents: &[usize], generation: u32) -> Result<Vec<Proposal>, Fault> {
        if self.poor {
            return Ok(Vec::new());
        }
        let failed: Vec<usize> = {
            let bad = |own: &&crate::individual::Individual| {
                [Status::Invalid, Status::Refused, Status::Quarantined].contains(&own.status)
            };
            self.all
                .iter()
                .rev()
                .filter(bad)
                .map(|own| own.number)
                .filter(|number| !parents.contains(number))
                .take(4)
                .collect()
        };
        let of = |numbers: &[usize]| numbers.iter().map(|number| &self.all[*number]).collect::<Vec<_>>();
        let system = system(self.settings, purpose);
        let text = question(self.settings, self.table, &self.base.files, &of(parents), &of(&failed));
        let told = self.lent.ask(&Ask {
            purpose: purpose.name(),
            system: system.clone(),
            text: text.clone(),
            max_output_tokens: self.settings.control.reply_tokens,
            ordinal: generation,
            most: self.money_left(),
        });
        self.calls += 1;
        self.paid = self.paid.saturating_add(told.cost);
        let said = match told.said {
            Ok(said) => said,
            Err(fault) if POOR.contains(&fault.code.as_str()) => {
                self.poor = true;
                return Ok(Vec::new());
            }
            Err(fault) if USELESS.contains(&fault.code.as_str()) => {
                self.notes.push(format!("generation {generation}: {} [{}]", fault.message, fault.code));
                return Ok(Vec::new());
            }
            Err(fault) => return Err(fault),
        };
        let prompt = prompt_digest(&system, &text);
        let parents: Vec<&crate::individual::Individual> = parents.iter().map(|number| &self.all[*number]).collect();
        match proposals(&said, purpose, &parents, &prompt, &told.model) {
            Ok((found, wrong)) => {
                self.notes.extend(
                    wrong.into_iter().map(|why| format!("generation {generation}: a proposal was not taken: {why}")),
                );
                Ok(found)
            }
            Err(why) => {
                self.notes.push(format!("generation {generation}: the reply is of no use: {why}"));
                Ok(Vec::new())
            }
        }
    }
}
