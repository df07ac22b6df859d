//! Programs that a teacher proposes (counterexample-guided, as `extract` is, with somebody else
//! to guess).
//!
//! One fold of the observations is held back: the teacher never sees it, nor what is wrong with
//! a program there, so that a program which repeats what it was shown is found out. Rounds,
//! programs a round and tokens are bounded here, what they cost by the cap of the user. Where no
//! proposal will do, the ideas in them may still help `extract`.

use crate::bindings::auto::host::progress;
use crate::bindings::auto::pass::check::{Counterexample, check};
use crate::bindings::auto::pass::extract::Hints;
use crate::bindings::auto::pass::propose::{Proposal, Refusal, Round, Task, propose};
use crate::bindings::auto::pass::types::{Fault, Observation};
use crate::config::Config;
use crate::report::Report;

/// The most tokens of a reply; thoughts included, of models that think.
const REPLY_TOKENS: u32 = 8_192;

/// What came of asking.
pub enum Asked {
    /// A program that is right on what was shown and on what was held back.
    Program(Proposal),
    /// None will do; these were tried.
    Ideas(Vec<String>),
    /// Nobody may be asked about this.
    Refused,
}

/// Asks round by round. `fold` is held back.
pub fn asked(
    config: &Config,
    hints: &Hints,
    observations: &[Observation],
    known: &[Observation],
    fold: Option<&Vec<usize>>,
    report: &mut Report,
) -> Result<Asked, Fault> {
    let Some(fold) = fold else {
        report.refused("propose", "nothing can be held back from the teacher, so nobody was asked; record more inputs");
        return Ok(Asked::Refused);
    };
    let torn = observations.iter().filter(|one| one.outputs.len() > 1).count();
    if torn > 0 {
        let why =
            format!("{torn} inputs have several outputs, and a program gives one; nobody was asked; narrow the scope");
        report.refused("propose", why);
        return Ok(Asked::Refused);
    }
    let (held_back, shown): (Vec<_>, Vec<_>) =
        known.iter().cloned().enumerate().partition(|(row, _)| fold.binary_search(row).is_ok());
    let rows = |part: Vec<(usize, Observation)>| part.into_iter().map(|(_, one)| one).collect::<Vec<_>>();
    let mut class = Class { shown: rows(shown), held_back: rows(held_back), refused: Vec::new() };
    let task = Task {
        input_type: hints.input_type.clone(),
        output_type: hints.output_type.clone(),
        candidates: config.proposals,
        max_output_tokens: REPLY_TOKENS,
    };
    for number in 1..=config.rounds {
        progress::report("propose", u64::from(number), Some(u64::from(config.rounds)));
        let round = match propose(&class.shown, &task, &class.refused) {
            Ok(round) => round,
            Err(fault) => {
                report.remark("propose", format!("round {number}: {} [{}]", fault.message, fault.code));
                break;
            }
        };
        if let Some(program) = class.judged(round)? {
            let (shown, held_back) = (class.shown.len(), class.held_back.len());
            let why = format!(
                "the teacher's program of round {number} is right on the {shown} inputs that were shown and the \
                 {held_back} that were held back, of cost {}",
                program.cost
            );
            report.proposed(&program.text, why);
            return Ok(Asked::Program(program));
        }
        report.remark("propose", format!("round {number}: {}", class.last()));
    }
    let ideas = class.refused.into_iter().map(|refusal| refusal.text).filter(|text| !text.is_empty());
    Ok(Asked::Ideas(ideas.collect()))
}

/// What the teacher is shown, what it is not, and what it was told.
struct Class {
    shown: Vec<Observation>,
    held_back: Vec<Observation>,
    refused: Vec<Refusal>,
}

impl Class {
    /// The shortest program of a round that will do; why the others will not is told next.
    fn judged(&mut self, round: Round) -> Result<Option<Proposal>, Fault> {
        self.refused.extend(round.refused);
        let mut best: Option<Proposal> = None;
        for proposal in round.found {
            match self.objection(&proposal)? {
                Some(refusal) => self.refused.push(refusal),
                None if best.as_ref().is_none_or(|best| proposal.cost < best.cost) => best = Some(proposal),
                None => {}
            }
        }
        Ok(best)
    }

    fn objection(&self, proposal: &Proposal) -> Result<Option<Refusal>, Fault> {
        let refusal = |why: String, counterexample| Refusal { text: proposal.text.clone(), why, counterexample };
        let finding = check(&proposal.program, &self.shown)?;
        if let Some(first) = finding.counterexamples.into_iter().next() {
            let why = format!(
                "it is wrong on {} of {} examples, first:",
                finding.checked - finding.agreeing,
                finding.checked
            );
            return Ok(Some(refusal(why, Some(first))));
        }
        let finding = check(&proposal.program, &self.held_back)?;
        let wrong = finding.checked - finding.agreeing;
        // Nothing of what is held back may be told.
        let why = format!(
            "it is right on everything that was shown, and wrong on {wrong} of {} examples that are held back: it \
             repeats what it was shown, or the rule is another",
            finding.checked
        );
        Ok((wrong > 0).then(|| refusal(why, None)))
    }

    /// The last objection, for the report.
    fn last(&self) -> String {
        let Some(Refusal { text, why, counterexample }) = self.refused.last() else { return "nothing new".to_owned() };
        let place = |first: &Counterexample| {
            let got = first.got.as_deref().unwrap_or("nothing");
            format!(" for {} it gives {got}, recorded was {}", first.input, first.expected)
        };
        let shown = text[..text.floor_char_boundary(200)].to_owned();
        format!("`{shown}`: {why}{}", counterexample.as_ref().map(place).unwrap_or_default())
    }
}
