//! A rule kept to where there is reason to believe it: to branches whose held-out answers were right,
//! or to what programs that were found without a part of the recordings say too.

use crate::bindings::auto::host::{progress, sandbox};
use crate::bindings::auto::pass::emit::emit;
use crate::bindings::auto::pass::narrow::{Narrowed, agree, narrow};
use crate::bindings::auto::pass::types::{Fault, Scored};
use crate::report::Report;
use crate::rule::{Ruled, Work, programs};
use crate::trust::Tally;
use crate::{FEW, MILLION, folds, synthesize};

/// So many held-out answers of a branch must be right, and none wrong, before an input that nobody
/// recorded is answered through it: the fewest of these with which the folds bear it out.
const LEAST: [u32; 3] = [2, 4, 8];

/// No branch has so many.
const NO_BRANCH: u32 = u32::MAX;

/// So many folds say where few inputs are known whether programs agree: without two of them most is left.
const MORE_FOLDS: usize = 10;

/// Fewer programs than so many bear nothing out.
const SEVERAL: usize = 2;

/// The share of held-out inputs on which the programs must agree rightly, in parts per million: where it is
/// less they agree by chance.
const AGREED: u64 = 400_000;

/// A rule that is uncertain is kept closely only where so many of its right answers are kept: one in two.
const WORTH: u64 = 2;

/// How a rule is kept, and what it says then of what it was not shown.
pub struct Kept {
    how: How,
    /// The answers of each fold, made and kept without it.
    pub held_out: Vec<Scored>,
}

enum How {
    /// To branches with so many right answers, told by what was held out.
    Branches(u32, Vec<Scored>),
    /// To what these programs give too.
    Agreement(Vec<Vec<u8>>),
}

impl Kept {
    /// How the held-out inputs were answered.
    pub fn tally(&self) -> Tally {
        Tally::of(&self.held_out)
    }

    /// The rule, kept, with the answers of the known inputs as they are.
    pub fn program(&self, ruled: &Ruled<'_>, known: &[String], report: &mut Report) -> Result<Vec<u8>, Fault> {
        match &self.how {
            How::Branches(least, rows) => {
                let Narrowed { program, held, branches } = narrow(&ruled.program, known, rows, *least)?;
                report.narrowed((held, branches), self.tally());
                Ok(program)
            }
            How::Agreement(others) => {
                report.agreed(others.len(), self.tally());
                agree(&ruled.program, others, known)
            }
        }
    }
}

impl Work<'_> {
    /// The rule kept in the way that answers most, and as little wrongly as may be.
    pub fn kept(&self, ruled: &Ruled<'_>) -> Result<Kept, Fault> {
        let folds = self.few_folds(self.config.folds);
        let few = self.in_few_folds(ruled, &folds)?;
        let branches = self.kept_to_branches(&few)?;
        let agreement = match self.known.len() < FEW {
            true => self.kept_to_agreement(&self.in_few_folds(ruled, &self.few_folds(MORE_FOLDS))?)?,
            false => self.kept_to_agreement(&few)?,
        };
        let better = |agreement: &Kept| agreement.tally().right > branches.tally().right;
        Ok(agreement.filter(better).unwrap_or(branches))
    }

    /// The rule kept so that no more is wrong than may be, as counted; none where that leaves little of it.
    pub fn kept_closely(&self, ruled: &Ruled<'_>) -> Result<Option<Kept>, Fault> {
        let least = Tally::of(&ruled.held_out).right / WORTH;
        let kept = self.kept(ruled)?;
        Ok((kept.tally().right > least).then_some(kept))
    }

    fn few_folds(&self, count: usize) -> Vec<Vec<usize>> {
        let inputs: Vec<&str> = self.known.iter().map(|one| one.input.as_str()).collect();
        folds::folds(&inputs, count, self.config.seed)
    }

    /// The same with few folds, which say more of how far to go: a program found without one input is
    /// nearly always the same.
    fn in_few_folds<'f>(&self, ruled: &Ruled<'_>, folds: &'f [Vec<usize>]) -> Result<Ruled<'f>, Fault> {
        let &Ruled { ref program, steps, optimize, .. } = ruled;
        let (without, held_out) = match folds == ruled.folds || self.is_taught() {
            true => (ruled.without.clone(), ruled.held_out.clone()),
            false => {
                let found = synthesize(self.config, self.hints, self.known, folds, 1)?;
                let without = programs(optimize, found.into_iter())?;
                let held_out = self.held_out(folds, &without)?;
                (without, held_out)
            }
        };
        Ok(Ruled { program: program.clone(), steps, folds, without, held_out, optimize })
    }

    fn kept_to_branches(&self, ruled: &Ruled<'_>) -> Result<Kept, Fault> {
        let kept = |least, held_out| Kept { how: How::Branches(least, ruled.held_out.clone()), held_out };
        for least in LEAST {
            let held_out = self.kept_to_branches_fold_by_fold(ruled, least)?;
            if !Tally::of(&held_out).exceeds_as_counted(self.contract) {
                return Ok(kept(least, held_out));
            }
        }
        Ok(kept(NO_BRANCH, self.kept_to_branches_fold_by_fold(ruled, NO_BRANCH)?))
    }

    fn kept_to_branches_fold_by_fold(&self, ruled: &Ruled<'_>, least: u32) -> Result<Vec<Scored>, Fault> {
        let mut held_out = Vec::new();
        for (number, (fold, without)) in (0u32..).zip(ruled.folds.iter().zip(&ruled.without)) {
            let (own, others): (Vec<Scored>, Vec<Scored>) =
                ruled.held_out.iter().cloned().partition(|row| row.fold == number);
            let Some(program) = without else {
                held_out.extend(own);
                continue;
            };
            let program = narrow(program, &self.outside(fold), &others, least)?.program;
            held_out.extend(answered(&program, own)?);
        }
        Ok(held_out)
    }

    /// What a few programs bear out, each found without one of a few folds; how often that is right is
    /// told by the same for the recordings without a fold. None where it costs too much to ask, or more
    /// is wrong than may be, as counted.
    fn kept_to_agreement(&self, ruled: &Ruled<'_>) -> Result<Option<Kept>, Fault> {
        let folds = ruled.folds;
        let pairs: Vec<(usize, usize)> =
            (0..folds.len()).flat_map(|left| (0..left).map(move |right| (left, right))).collect();
        let cost = ruled.steps.saturating_mul(pairs.len() as u64);
        if pairs.is_empty() || self.is_taught() || cost > self.config.steps {
            return Ok(None);
        }
        let both = |&(left, right): &(usize, usize)| {
            let mut rows = [folds[left].as_slice(), folds[right].as_slice()].concat();
            rows.sort_unstable();
            rows
        };
        let found = synthesize(self.config, self.hints, self.known, &pairs.iter().map(both).collect::<Vec<_>>(), 1)?;
        let without_two = programs(ruled.optimize, found.into_iter())?;
        let mut held_out = Vec::new();
        for (number, (fold, program)) in folds.iter().zip(&ruled.without).enumerate() {
            progress::report("agreement", number as u64, Some(folds.len() as u64));
            let rows = self.scored(number as u32, fold);
            let bear_out =
                pairs.iter().zip(&without_two).filter(|((left, right), _)| [*left, *right].contains(&number));
            let bear_out: Vec<Vec<u8>> = bear_out.filter_map(|(_, program)| program.clone()).collect();
            match program {
                Some(program) if bear_out.len() >= SEVERAL => {
                    held_out.extend(answered(&agree(program, &bear_out, &self.outside(fold))?, rows)?);
                }
                _ => held_out.extend(rows),
            }
        }
        let others: Vec<Vec<u8>> = ruled.without.iter().flatten().cloned().collect();
        let are_several = others.len() >= SEVERAL;
        let kept = Kept { how: How::Agreement(others), held_out };
        let tally = kept.tally();
        let are_borne_out = tally.right * u64::from(MILLION) >= tally.rows * AGREED;
        Ok((are_several && are_borne_out && !tally.exceeds_as_counted(self.contract)).then_some(kept))
    }

    /// The known inputs that are in no fold of these.
    fn outside(&self, fold: &[usize]) -> Vec<String> {
        let outside = self.known.iter().enumerate().filter(|(row, _)| fold.binary_search(row).is_err());
        outside.map(|(_, one)| one.input.clone()).collect()
    }
}

/// What a program says of rows.
pub fn answered(program: &[u8], rows: Vec<Scored>) -> Result<Vec<Scored>, Fault> {
    let inputs: Vec<String> = rows.iter().map(|row| row.input.clone()).collect();
    let replays = sandbox::run(&emit(program)?.module, &inputs)?;
    Ok(rows.into_iter().zip(replays).map(|(row, replay)| Scored { outcome: replay.outcome, ..row }).collect())
}
