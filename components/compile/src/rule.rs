//! From a rule that was found to a draft: checked, rewritten, judged by what its folds say, and,
//! where these say that it may fit by chance, given up for a model or kept to what holds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use auto_schema::contract::{Contract, GuardPolicy};

use crate::bindings::auto::host::artifact::Draft;
use crate::bindings::auto::host::progress;
use crate::bindings::auto::pass::check::check;
use crate::bindings::auto::pass::extract::{Candidate, Hints, Search};
use crate::bindings::auto::pass::optimize::rewrite;
use crate::bindings::auto::pass::types::{Fault, Observation, Outcome, Scored};
use crate::config::{Config, Synth};
use crate::kept::{self, Kept};
use crate::report::{self, Report};
use crate::trust::Tally;
use crate::{MILLION, draft, model, search_result, source, table};

/// What a program is to be made for.
pub struct Work<'w> {
    pub config: &'w Config,
    pub contract: &'w Contract,
    pub hints: &'w Hints,
    pub observations: &'w [Observation],
    pub known: &'w [Observation],
    /// What a model is trained on.
    pub taught: &'w [Observation],
}

/// A program that was found, and how.
pub struct Best<'b> {
    pub candidate: Candidate,
    /// The observations that it says it gets wrong, and how many may be.
    pub wrong: &'b [u32],
    pub max_ppm: u32,
    /// What it took.
    pub steps: u64,
}

/// A rule, and what was found without each fold.
pub struct Ruled<'r> {
    pub program: Vec<u8>,
    /// What it took to find it.
    pub steps: u64,
    pub folds: &'r [Vec<usize>],
    pub without: Vec<Option<Vec<u8>>>,
    pub held_out: Vec<Scored>,
    /// Whether programs are rewritten.
    pub optimize: bool,
}

impl Work<'_> {
    /// From a program to a draft, or none where it does not fit; `without` are what was found
    /// without each fold.
    pub fn concluded(
        &self,
        best: Best<'_>,
        folds: &[Vec<usize>],
        without: impl Iterator<Item = Result<Search, Fault>>,
        report: &mut Report,
    ) -> Result<Option<Draft>, Fault> {
        let Work { config, contract, known, .. } = *self;
        let Best { candidate, wrong, max_ppm, steps } = best;
        let Some(fitted) = checked(&candidate, wrong, max_ppm, known, report)? else { return Ok(None) };
        let optimized = optimized(config, &candidate.program, &fitted, report)?;
        let optimize = optimized.is_some();
        let without = programs(optimize, without)?;
        let held_out = self.held_out(folds, &without)?;
        report.held_out(&held_out, folds.len());
        let program = optimized.unwrap_or(candidate.program);
        let ruled = Ruled { program, steps, folds, without, held_out, optimize };
        let tally = Tally::of(&ruled.held_out);
        if candidate.cost != table::COST && contract.guard == GuardPolicy::Auto {
            if tally.is_doubted(contract) {
                return self.doubted(ruled, report);
            }
            if tally.exceeds_as_counted(contract)
                && let Some(kept) = self.kept_closely(&ruled)?
            {
                report.uncertain(&ruled.held_out);
                return self.drafted(ruled, kept, report);
            }
        }
        let program = draft::guarded(config, contract, known, ruled.program, &ruled.held_out, report)?;
        draft::drafted(program, ruled.held_out, report).map(Some)
    }

    /// What becomes of a rule that may fit by chance: a model that does better, where the contract
    /// is no old one, which asks for the rule that fits; else the rule, kept to what holds.
    fn doubted(&self, ruled: Ruled<'_>, report: &mut Report) -> Result<Option<Draft>, Fault> {
        let Work { config, contract, .. } = *self;
        report.doubted(&ruled.held_out);
        let mut own = Report::default();
        let model = if contract.version == 0 { None } else { model::made(config, contract, self.taught, &mut own)? };
        let kept = self.kept(&ruled)?;
        let right = kept.tally().right;
        let better = |model: &model::Made| {
            let tally = Tally::of(&model.held_out);
            tally.is_sound(contract) && tally.right > right
        };
        if let Some(model) = model.filter(better) {
            report.append(own);
            report.left_for_a_model();
            return model.drafted(report).map(Some);
        }
        report.append_untaken(own);
        self.drafted(ruled, kept, report)
    }

    fn drafted(&self, ruled: Ruled<'_>, kept: Kept, report: &mut Report) -> Result<Option<Draft>, Fault> {
        let program = kept.program(&ruled, &self.inputs(), report)?;
        // An old contract is judged by what the rule itself says of what it was not shown.
        let judged = if self.contract.version == 0 { ruled.held_out } else { kept.held_out };
        let program = draft::guarded(self.config, self.contract, self.known, program, &judged, report)?;
        draft::drafted(program, judged, report).map(Some)
    }

    /// The inputs of which the contract or the recordings say something: the rule answers all of them.
    fn inputs(&self) -> Vec<String> {
        let recorded = self.observations.iter().chain(self.known).map(|one| one.input.clone());
        let examples = self.contract.examples.iter().map(|example| &example.input);
        let said = examples.chain(self.contract.cases.iter().map(|case| &case.input));
        recorded.chain(said.map(|input| input.canonical().into_string())).collect()
    }

    /// Runs, for each fold, the program found without it on the inputs held out, in the
    /// sandbox. A fold without a program abstains on all of its inputs.
    pub fn held_out(&self, folds: &[Vec<usize>], without: &[Option<Vec<u8>>]) -> Result<Vec<Scored>, Fault> {
        // Many folds have the same program: its code is made once.
        let mut rows: BTreeMap<Option<&[u8]>, Vec<Scored>> = BTreeMap::new();
        for (number, (fold, program)) in (0u32..).zip(folds.iter().zip(without)) {
            rows.entry(program.as_deref()).or_default().extend(self.scored(number, fold));
        }
        let programs = rows.len() as u64;
        let mut held_out = Vec::new();
        for (number, (program, rows)) in (0u64..).zip(rows) {
            progress::report("fold", number, Some(programs));
            match program {
                Some(program) => held_out.extend(kept::answered(program, rows)?),
                None => held_out.extend(rows),
            }
        }
        held_out.sort_by_key(|row| row.fold);
        Ok(held_out)
    }

    /// The rows of a fold, for which there is no program yet.
    pub fn scored(&self, number: u32, fold: &[usize]) -> Vec<Scored> {
        let row = |&row: &usize| Scored {
            fold: number,
            input: self.known[row].input.clone(),
            expected: self.known[row].outputs[0].output.clone(),
            outcome: Outcome::Abstain(report::no_program()),
            scores: Vec::new(),
        };
        fold.iter().map(row).collect()
    }

    /// Whether a teacher proposes the programs: nothing is found without it then.
    pub fn is_taught(&self) -> bool {
        self.config.synth == Synth::Teacher
    }
}

/// The programs of folds, rewritten as the whole one is, so that what they say says something of
/// that too.
pub fn programs(
    optimize: bool,
    without: impl Iterator<Item = Result<Search, Fault>>,
) -> Result<Vec<Option<Vec<u8>>>, Fault> {
    let program = |search: Result<Search, Fault>| {
        let found = search_result(search)?.ok().and_then(|search| search.found.into_iter().next());
        found.map(|found| if optimize { rewrite(&found.program) } else { Ok(found.program) }).transpose()
    };
    without.map(program).collect()
}

/// The observations that the program gives, where it gives all but those that it says it does
/// not, and these are no more than may be wrong; they are named.
fn checked<'k>(
    best: &Candidate,
    wrong: &[u32],
    wrong_max_ppm: u32,
    known: &'k [Observation],
    report: &mut Report,
) -> Result<Option<Cow<'k, [Observation]>>, Fault> {
    let is_wrong = |row: usize| u32::try_from(row).is_ok_and(|row| wrong.contains(&row));
    let missed: Vec<Observation> = wrong.iter().filter_map(|&row| known.get(row as usize)).cloned().collect();
    let fitted = match missed.as_slice() {
        [] => Cow::Borrowed(known),
        _ => known.iter().enumerate().filter(|(row, _)| !is_wrong(*row)).map(|(_, one)| one.clone()).collect(),
    };
    let finding = check(&best.program, &fitted)?;
    if let Some(counterexample) = finding.counterexamples.first() {
        report.contradicted(finding.checked - finding.agreeing, counterexample);
        return Ok(None);
    }
    let allowed = known.len() as u64 * u64::from(wrong_max_ppm) / u64::from(MILLION);
    if missed.len() as u64 > allowed {
        report.refused("check", format!("the program is wrong on {} observations, {allowed} may be", missed.len()));
        return Ok(None);
    }
    report.passed("check", format!("fits {} of {} observations", finding.agreeing, known.len()));
    if !missed.is_empty() {
        report.missed(&check(&best.program, &missed)?.counterexamples, &missed);
    }
    Ok(Some(fitted))
}

/// The program as the optimize pass rewrites it, where that is asked for and fits every
/// observation as the program itself does.
fn optimized(
    config: &Config,
    program: &[u8],
    known: &[Observation],
    report: &mut Report,
) -> Result<Option<Vec<u8>>, Fault> {
    if !config.optimize {
        return Ok(None);
    }
    let rewritten = rewrite(program)?;
    if rewritten == program {
        return Ok(Some(rewritten));
    }
    let finding = check(&rewritten, known)?;
    match finding.counterexamples.first() {
        None => {
            report.optimized(finding.checked, source(&rewritten).as_deref());
            Ok(Some(rewritten))
        }
        Some(counterexample) => {
            let why = format!(
                "what optimize made of the program gives {} for {}, where it gave {}; the program stays as it was",
                counterexample.got.as_deref().unwrap_or("nothing"),
                counterexample.input,
                counterexample.expected
            );
            report.remark("optimize", why);
            Ok(None)
        }
    }
}
