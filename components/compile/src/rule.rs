//! From a rule that was found to a draft: checked, rewritten, judged by what its folds say, and,
//! where these say that it may fit by chance, given up for a model or kept to what holds.

use std::borrow::Cow;

use auto_schema::contract::{Contract, GuardPolicy};

use crate::bindings::auto::host::artifact::Draft;
use crate::bindings::auto::host::{progress, sandbox};
use crate::bindings::auto::pass::check::check;
use crate::bindings::auto::pass::emit::emit;
use crate::bindings::auto::pass::extract::{Candidate, Search};
use crate::bindings::auto::pass::narrow::{Narrowed, narrow};
use crate::bindings::auto::pass::optimize::rewrite;
use crate::bindings::auto::pass::types::{Fault, Observation, Outcome, Scored};
use crate::config::Config;
use crate::report::{self, Report};
use crate::trust::Tally;
use crate::{MILLION, draft, model, search_result, source, table};

/// So many held-out answers of a branch must be right, and none wrong, before an input that nobody
/// recorded is answered through it: the fewest of these with which the folds bear it out.
const LEAST: [u32; 3] = [2, 4, 8];

/// No branch has so many.
const NO_BRANCH: u32 = u32::MAX;

/// What a program is to be made for.
pub struct Work<'w> {
    pub config: &'w Config,
    pub contract: &'w Contract,
    pub observations: &'w [Observation],
    pub known: &'w [Observation],
    /// What a model is trained on.
    pub taught: &'w [Observation],
}

/// The observations that a program says it gets wrong, and how many may be.
pub struct Wrong<'w> {
    pub rows: &'w [u32],
    pub max_ppm: u32,
}

/// A rule, and what was found without each fold.
struct Ruled<'r> {
    program: Vec<u8>,
    folds: &'r [Vec<usize>],
    without: Vec<Option<Vec<u8>>>,
    held_out: Vec<Scored>,
}

impl Work<'_> {
    /// From a program to a draft, or none where it does not fit; `without` are what was found
    /// without each fold.
    pub fn concluded(
        &self,
        best: Candidate,
        wrong: Wrong<'_>,
        folds: &[Vec<usize>],
        without: impl Iterator<Item = Result<Search, Fault>>,
        report: &mut Report,
    ) -> Result<Option<Draft>, Fault> {
        let Work { config, contract, known, .. } = *self;
        let Some(fitted) = checked(&best, wrong.rows, wrong.max_ppm, known, report)? else { return Ok(None) };
        let optimized = optimized(config, &best.program, &fitted, report)?;
        let without = programs(optimized.is_some(), without)?;
        let held_out = self.held_out(folds, &without)?;
        report.held_out(&held_out, folds.len());
        let is_rule = best.cost != table::COST;
        let program = optimized.unwrap_or(best.program);
        let ruled = Ruled { program, folds, without, held_out };
        if is_rule && contract.guard == GuardPolicy::Auto && Tally::of(&ruled.held_out).is_doubted(contract) {
            return self.doubted(ruled, report);
        }
        let program = draft::guarded(config, contract, known, ruled.program, &ruled.held_out, report)?;
        draft::drafted(program, ruled.held_out, report).map(Some)
    }

    /// What becomes of a rule that may fit by chance: a model that does better, where the contract
    /// is no old one, which asks for the rule that fits; else the rule, kept to what holds.
    fn doubted(&self, ruled: Ruled<'_>, report: &mut Report) -> Result<Option<Draft>, Fault> {
        let Work { config, contract, known, .. } = *self;
        report.doubted(&ruled.held_out);
        let mut own = Report::default();
        let model = if contract.version == 0 { None } else { model::made(config, contract, self.taught, &mut own)? };
        let (least, held_out) = self.narrowed_folds(&ruled)?;
        let rule = Tally::of(&held_out);
        let better = |model: &model::Made| {
            let tally = Tally::of(&model.held_out);
            tally.is_sound(contract) && tally.right > rule.right
        };
        if let Some(model) = model.filter(better) {
            report.append(own);
            report.left_for_a_model();
            return model.drafted(report).map(Some);
        }
        report.append_untaken(own);
        let Narrowed { program, held, branches } = narrow(&ruled.program, &self.inputs(), &ruled.held_out, least)?;
        report.narrowed((held, branches), rule);
        // An old contract is judged by what the rule itself says of what it was not shown.
        let judged = if contract.version == 0 { ruled.held_out } else { held_out };
        let program = draft::guarded(config, contract, known, program, &judged, report)?;
        draft::drafted(program, judged, report).map(Some)
    }

    /// The inputs of which the contract or the recordings say something: the rule answers all of them.
    fn inputs(&self) -> Vec<String> {
        let recorded = self.observations.iter().chain(self.known).map(|one| one.input.clone());
        let examples = self.contract.examples.iter().map(|example| &example.input);
        let said = examples.chain(self.contract.cases.iter().map(|case| &case.input));
        recorded.chain(said.map(|input| input.canonical().into_string())).collect()
    }

    /// How many right answers a branch must have, and what the rule says then of each fold, made
    /// and kept to what holds without it.
    fn narrowed_folds(&self, ruled: &Ruled<'_>) -> Result<(u32, Vec<Scored>), Fault> {
        for least in LEAST.into_iter().chain([NO_BRANCH]) {
            let held_out = self.narrowed_fold_by_fold(ruled, least)?;
            if least == NO_BRANCH || !Tally::of(&held_out).is_doubted(self.contract) {
                return Ok((least, held_out));
            }
        }
        Ok((NO_BRANCH, Vec::new()))
    }

    fn narrowed_fold_by_fold(&self, ruled: &Ruled<'_>, least: u32) -> Result<Vec<Scored>, Fault> {
        let mut held_out = Vec::new();
        for (number, (fold, without)) in (0u32..).zip(ruled.folds.iter().zip(&ruled.without)) {
            let (own, others): (Vec<Scored>, Vec<Scored>) =
                ruled.held_out.iter().cloned().partition(|row| row.fold == number);
            let Some(program) = without else {
                held_out.extend(own);
                continue;
            };
            let outside = self.known.iter().enumerate().filter(|(row, _)| fold.binary_search(row).is_err());
            let outside: Vec<String> = outside.map(|(_, one)| one.input.clone()).collect();
            let program = narrow(program, &outside, &others, least)?.program;
            let inputs: Vec<String> = own.iter().map(|row| row.input.clone()).collect();
            let replays = sandbox::run(&emit(&program)?.module, &inputs)?;
            held_out
                .extend(own.into_iter().zip(replays).map(|(row, replay)| Scored { outcome: replay.outcome, ..row }));
        }
        Ok(held_out)
    }

    /// Runs, for each fold, the program found without it on the inputs held out, in the
    /// sandbox. A fold without a program abstains on all of its inputs.
    fn held_out(&self, folds: &[Vec<usize>], without: &[Option<Vec<u8>>]) -> Result<Vec<Scored>, Fault> {
        let mut scored = Vec::new();
        for (number, (fold, program)) in folds.iter().zip(without).enumerate() {
            progress::report("fold", number as u64, Some(folds.len() as u64));
            let inputs: Vec<String> = fold.iter().map(|&row| self.known[row].input.clone()).collect();
            let outcomes: Vec<Outcome> = match program {
                Some(program) => {
                    let module = emit(program)?.module;
                    sandbox::run(&module, &inputs)?.into_iter().map(|replay| replay.outcome).collect()
                }
                None => inputs.iter().map(|_| Outcome::Abstain(report::no_program())).collect(),
            };
            for ((&row, input), outcome) in fold.iter().zip(inputs).zip(outcomes) {
                let expected = self.known[row].outputs[0].output.clone();
                scored.push(Scored { fold: number as u32, input, expected, outcome, scores: Vec::new() });
            }
        }
        Ok(scored)
    }
}

/// The programs of folds, rewritten as the whole one is, so that what they say says something of
/// that too.
fn programs(
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
