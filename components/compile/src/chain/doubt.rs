//! Whether a plan is believed, place by place and as a whole: what is found again without some
//! runs must be right on those.
//!
//! A model call whose program may fit by chance is left to its model, where a program explains
//! what it is given; everything else that is doubted refuses the whole, since what a wrong way
//! or a wrong request does is done before anybody sees the answer.

use auto_schema::contract::GuardPolicy;

use super::hole::{Hole, Told};
use super::learn::Refusal;
use super::plan::{Plan, Step};
use super::{Chain, Failed, HeldOut, MOST_IN_VAIN};
use crate::MILLION;
use crate::bindings::auto::pass::types::{Fault, Scored};
use crate::report::Report;
use crate::trust::Tally;

/// The least share of held-out runs for which a predicate must tell the right way, in parts per
/// million, unless the contract says otherwise.
const LEAST_TOLD: u32 = 950_000;

/// A plan, and what speaks against it.
pub struct Judged {
    /// The plan.
    pub plan: Plan,
    /// What plans without some runs say of those.
    pub held_out: Vec<Scored>,
    /// Why it is not believed.
    pub refusal: Option<Refusal>,
    /// What is left to a model, and why.
    left: Vec<String>,
    /// How many folds there were.
    folds: usize,
    /// How many places had no program, where none was looked for again.
    in_vain: Option<usize>,
}

impl Judged {
    /// Says what becomes of each operation, and how the held-out runs were answered.
    pub fn report(&self, report: &mut Report) {
        self.plan.report(report);
        self.left.iter().for_each(|why| report.remark("trust", why));
        if let Some(in_vain) = self.in_vain {
            let why = format!("{in_vain} places had no program with all runs, and none is looked for without a fold's");
            report.remark("out-of-fold", why);
        }
        report.held_out(&self.held_out, self.folds);
    }
}

/// A plan, what of it is left to a model and why, and why it is not believed.
type Trusted = (Plan, Vec<String>, Option<Refusal>);

impl Chain<'_> {
    /// Judges a plan; where it is doubted, one that asks every model that it would leave out.
    pub fn judged(&mut self, plan: Plan) -> Result<Judged, Fault> {
        let judged = self.judged_once(plan)?;
        let leaves_out = judged.plan.steps().into_iter().any(Step::leaves_out_a_model);
        if judged.refusal.is_none() || !leaves_out || !self.may_doubt() {
            return Ok(judged);
        }
        self.most_trials = 0;
        let Ok(plan) = self.learn()? else { return Ok(judged) };
        let asking = self.judged_once(plan)?;
        Ok(if asking.refusal.is_none() { asking } else { judged })
    }

    fn judged_once(&mut self, plan: Plan) -> Result<Judged, Fault> {
        let folds = self.folds();
        let (plan, left, unbelieved) = self.trusted(plan, &folds)?;
        let HeldOut { scored, ended, without_plan } = self.held_out(&plan, &folds)?;
        let in_vain = self.holes.unfilled();
        let in_vain = (in_vain * folds.len() > MOST_IN_VAIN).then_some(in_vain);
        let refusal = match self.doubted_place(&plan, &folds)?.or(unbelieved) {
            Some(refusal) => Some(refusal),
            None => self.doubted_whole(Tally::of(&scored).with(ended), without_plan),
        };
        Ok(Judged { plan, held_out: scored, refusal, left, folds: folds.len(), in_vain })
    }

    /// What passed under version 0 passes, and who wants no guard wants no doubt.
    fn may_doubt(&self) -> bool {
        self.contract.version > 0 && self.contract.guard != GuardPolicy::None
    }

    /// Leaves to their models the calls whose programs may fit by chance, and says which; one by one,
    /// since another program may be found for the next where the model's own reply is known. Then the
    /// first that could not be left: what it is given cannot be told.
    fn trusted(&mut self, mut plan: Plan, folds: &[Vec<usize>]) -> Result<Trusted, Fault> {
        let mut left = Vec::new();
        let mut kept: Vec<Refusal> = Vec::new();
        while self.may_doubt() && !self.memorise {
            self.holes.ahead(&plan.holes(), folds)?;
            let is_new = |hole: &&Hole| kept.iter().all(|refused| refused.at != hole.place);
            let computed = plan.steps().into_iter().filter_map(Step::computed).filter(is_new);
            let Some((hole, told)) = self.first_doubted(computed, folds)? else { break };
            let why = untrue(told);
            let hole = hole.clone();
            self.holes.doubt(&hole, &why);
            match self.learn()? {
                Ok(other) => {
                    left.push(format!("{}: {why}, so its model is asked; record more runs", hole.place));
                    plan = other;
                }
                Err(Failed { refusal, .. }) => {
                    self.holes.believe(&hole);
                    let why = format!("{why}, and its model cannot be asked instead ({refusal}); record more runs");
                    kept.push(Refusal { at: hole.place, why });
                }
            }
        }
        Ok((plan, left, kept.into_iter().next()))
    }

    /// The first of these that is doubted, with its record.
    fn first_doubted<'h>(
        &self,
        holes: impl Iterator<Item = &'h Hole>,
        folds: &[Vec<usize>],
    ) -> Result<Option<(&'h Hole, Told)>, Fault> {
        for hole in holes {
            let told = self.holes.held_out(hole, folds)?;
            if told.tally.is_doubted(self.contract) {
                return Ok(Some((hole, told)));
            }
        }
        Ok(None)
    }

    /// A predicate or a request that goes wrong where it is shown other runs.
    fn doubted_place(&self, plan: &Plan, folds: &[Vec<usize>]) -> Result<Option<Refusal>, Fault> {
        let least = match self.contract.acceptance.out_of_fold_min_ppm {
            Some(least) => least,
            None if self.contract.version == 0 => return Ok(None),
            None => LEAST_TOLD,
        };
        for hole in plan.predicates() {
            let Told { tally: Tally { right, wrong, .. }, .. } = self.holes.held_out(hole, folds)?;
            let told = right + wrong;
            if right * u64::from(MILLION) < told * u64::from(least) {
                let why = format!(
                    "{} tells the way in all runs, but what is found without some of them is wrong on {wrong} of \
                     {told} of those, and {least} parts per million must be right; record more runs, record the \
                     decision as a branch with what it is decided by, or set acceptance.out_of_fold_min_ppm",
                    hole.program
                );
                return Ok(Some(Refusal { at: hole.place.clone(), why }));
            }
        }
        if !self.may_doubt() || self.memorise {
            return Ok(None);
        }
        let requests = plan.steps().into_iter().filter_map(Step::given);
        let doubted = self.first_doubted(requests, folds)?;
        Ok(doubted.map(|(hole, told)| {
            let why =
                format!("{} is what it is given in all runs, but {}; record more runs", hole.program, untrue(told));
            Refusal { at: hole.place.clone(), why }
        }))
    }

    /// Why a whole is not believed: what was found without some of the runs does other than those, or
    /// nothing was found without the fold of more than a quarter of them.
    fn doubted_whole(&self, tally: Tally, without_plan: u64) -> Option<Refusal> {
        if !self.may_doubt() {
            return None;
        }
        let refuse = |why: String| Some(Refusal { at: "answer".to_owned(), why });
        if tally.is_doubted(self.contract) {
            return refuse(format!(
                "what is found without some of the runs answers {} of {} of those wrongly, or does other than they did on \
                 the way; record more runs, or say with acceptance.out_of_fold_min_ppm how many have to be right",
                tally.wrong, tally.rows
            ));
        }
        if without_plan * 4 > tally.rows {
            return refuse(format!(
                "for {without_plan} of {} held-out runs nothing is found without their fold, so the whole may fit by \
                 chance; record more runs",
                tally.rows
            ));
        }
        None
    }
}

/// What speaks against a program that all runs bear out.
fn untrue(Told { tally: Tally { wrong, rows, .. }, without }: Told) -> String {
    let missing = match without {
        0 => String::new(),
        without => format!(", and without the fold of {without} more nothing is found"),
    };
    format!("what is found without some of the runs is wrong on {wrong} of {rows} of those{missing}")
}
