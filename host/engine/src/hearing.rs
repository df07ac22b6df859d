//! Verdicts without a driver: of recordings, and of an artifact that is there already. What
//! the contract leaves to a judge the host asks here by itself, journaled as a driver's calls
//! are.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use auto_files::Holder;
use auto_json::Value;
use auto_schema::contract::Contract;
use auto_schema::digest::Digest;
use auto_schema::evidence::{Observation, Reference, Runs};
use auto_schema::judging::{self, Question};

use crate::driver::host_fault;
use crate::engine::{Engine, Inner};
use crate::fault::Fault;
use crate::journal::{Journal, Opening};
use crate::judge::{Judge, Opinions, Teacher, Unanswered};
use crate::pass::Pass;
use crate::predicate::Predicates;
use crate::providers::Providers;
use crate::seal::{self, Court, SealError};
use crate::verdict::Verdict;

/// What a verdict without a driver is made from.
pub struct Hearing<'a> {
    /// The gate that decides.
    pub gate: &'a Arc<Pass>,
    /// The components that the contract's predicates pin.
    pub predicates: &'a [Arc<Pass>],
    /// What must hold.
    pub contract: &'a Contract,
    /// What was recorded of its scope.
    pub observations: &'a [Observation],
    /// As in [`Job`].
    pub teacher: Option<Arc<dyn Teacher>>,
    /// Where opinions and the journal of questions are kept.
    pub run_dir: &'a Path,
    /// As in [`Job`].
    pub waiting: &'a dyn Fn(&Holder),
    /// As in [`Job`].
    pub reissue: bool,
}

/// What became of it.
pub struct Verdicts {
    /// `{"status", "findings"}`.
    pub verdict: Value,
    /// The record of it, whose id is the SHA-256 of its canonical text.
    pub eval_run: Value,
    /// What a judge said, and who.
    pub opinions: Opinions,
    /// Why questions to the judge were not answered, each reason once.
    pub unanswered: Vec<Unanswered>,
}

impl Engine {
    /// Asks a gate about recordings.
    ///
    /// Faults beside those of calls: those of the journal, as for [`Engine::run_driver`].
    pub fn judge_recordings(&self, hearing: &Hearing<'_>, reference: &Reference) -> Result<Verdicts, Fault> {
        let court = hearing.court()?;
        let questions = judging::of_recordings(&court.contract, &court.observations);
        let asked = self.0.ask(hearing, &court, &questions)?;
        let (verdict, eval_run) = court.judge(&self.0, reference, &asked.opinions)?;
        Ok(asked.verdicts(&verdict, eval_run))
    }

    /// Asks a gate about an artifact that is there already: what it does on everything that
    /// was observed or promised. As [`Engine::judge_recordings`].
    /// `emits` emits its program again where the contract has a budget of steps.
    pub fn judge_artifact(
        &self,
        hearing: &Hearing<'_>,
        emits: &Providers,
        runs: Runs,
        file: &[u8],
    ) -> Result<Verdicts, Fault> {
        let refused = |error| match error {
            SealError::Gate(fault) => fault,
            SealError::Refused(code, why) => Fault::host(code, "verify", why),
        };
        let court = hearing.court()?.with_runs(runs);
        let replayed = court.replay_file(&self.0, emits, file).map_err(refused)?;
        let answers = replayed.answers();
        let answers: Vec<_> = answers.iter().map(|(input, output)| (input, output)).collect();
        let questions = judging::of_answers(&court.contract, &court.observations, &answers, &[]);
        let asked = self.0.ask(hearing, &court, &questions)?;
        let (verdict, eval_run) = court.judge_artifact(&self.0, file, &replayed, &asked.opinions).map_err(refused)?;
        Ok(asked.verdicts(&verdict, eval_run))
    }
}

impl Hearing<'_> {
    fn court(&self) -> Result<Court, Fault> {
        let gates = seal::gates(self.gate, &Providers::new(), &BTreeSet::new())?;
        let predicates = Predicates::bind(self.contract, self.predicates)?;
        Ok(seal::court(self.contract.clone(), self.observations.to_vec(), gates, None, predicates))
    }
}

/// What came of questions that the host asks by itself.
#[derive(Default)]
struct Asked {
    opinions: Opinions,
    unanswered: Vec<Unanswered>,
}

impl Asked {
    fn verdicts(self, verdict: &Verdict, eval_run: Value) -> Verdicts {
        let Asked { opinions, unanswered } = self;
        Verdicts { verdict: verdict.to_record().into(), eval_run, opinions, unanswered }
    }
}

impl Inner {
    /// Asks what a contract leaves to a judge, where no driver does. The journal goes with the
    /// end of it: opinions are kept.
    fn ask(&self, hearing: &Hearing<'_>, court: &Court, questions: &[Question]) -> Result<Asked, Fault> {
        let mut judge = Judge::new(hearing.teacher.clone(), &court.contract, hearing.run_dir);
        let mut asked = Asked::default();
        if questions.is_empty() {
            return Ok(asked);
        }
        if let Some(why) = judge.nobody() {
            return Ok(Asked { unanswered: vec![why], ..asked });
        }
        let failed = |error| host_fault(error, "verify");
        let owner = self.owner(Digest::of(b"verify"), std::iter::empty(), Some(court), &judge.opinions().model, "");
        let opening = Opening { reissue: hearing.reissue, waiting: hearing.waiting };
        let mut journal = Journal::open(hearing.run_dir, &owner, &opening).map_err(failed)?;
        for question in questions {
            let call = Digest::of(format!("{question:?}").as_bytes());
            let results = judge.hear(&mut journal, call, question).map_err(failed)?;
            if let Some(why) = Unanswered::of(&results) {
                let ends = why.ends();
                if !asked.unanswered.contains(&why) {
                    asked.unanswered.push(why);
                }
                if ends {
                    break;
                }
            }
        }
        journal.finish();
        asked.opinions = judge.opinions().clone();
        Ok(asked)
    }
}
