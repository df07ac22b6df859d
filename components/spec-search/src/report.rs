//! What came of a run, as the host keeps it: scores, sessions, and every edit with what became of it.

use auto_json::{Record, Value};

use crate::driver::Driver;
use crate::lent::Lent;
use crate::run::Earlier;
use crate::sample::Split;
use crate::session::{Outcome, Session};
use crate::spec::Spec;
use crate::stagnation::Stop;

/// A stratum, how many tasks it has, and what the first spec and the one that counts score.
type Score = (&'static str, usize, Option<i64>, Option<i64>);

/// What is reported.
pub(crate) struct Report {
    pub before: Spec,
    pub stop: Option<Stop>,
    pub why: Option<String>,
    pub refused: bool,
    pub spent: u64,
    pub scores: Vec<Score>,
    pub sessions: Vec<Session>,
    pub outcomes: Vec<(String, Outcome)>,
    pub notes: Vec<String>,
    pub earlier: Earlier,
}

impl Report {
    pub fn of(before: &Spec) -> Report {
        Report {
            before: before.clone(),
            stop: None,
            why: None,
            refused: false,
            spent: 0,
            scores: vec![],
            sessions: vec![],
            outcomes: vec![],
            notes: vec![],
            earlier: Earlier::default(),
        }
    }

    /// Scores the spec that counts beside the one that the search began with: on the tasks of the
    /// overall score, and on tasks that decided nothing.
    pub fn measured<L: Lent>(&mut self, driver: &mut Driver<'_, L>) {
        let (first, last) = (driver.anchor.clone(), driver.head.spec.clone());
        for (stratum, tasks) in
            [("evaluation", driver.evaluation.clone()), ("confirm", driver.bench.of(Split::Confirm))]
        {
            if tasks.is_empty() {
                self.notes.push(format!("no task is left for {stratum}"));
                continue;
            }
            let [before, after] = [&first, &last].map(|spec| driver.bench.overall(driver.lent, spec, &tasks));
            if let Some(fault) = [&before, &after].into_iter().find_map(|one| one.as_ref().err()) {
                self.notes.push(format!("{stratum} could not be measured: {} [{}]", fault.message, fault.code));
            }
            self.scores.push((stratum, tasks.len(), before.ok(), after.ok()));
        }
    }

    pub fn value<L: Lent>(self, driver: &Driver<'_, L>) -> Value {
        let spec = |spec: &Spec| Record::new().with("id", spec.id().to_string()).with("bytes", spec.text().len());
        let waiting = driver.head.commit.pending.len();
        let failed = self.sessions.last().and_then(|last| last.error.as_ref());
        let status = match (self.stop, waiting) {
            _ if self.refused || self.stop == Some(Stop::Failed) => "failed",
            (_, 0) => "complete",
            _ => "awaiting_review",
        };
        let why = self.why.clone().unwrap_or_else(|| match (self.stop, failed) {
            (Some(Stop::Failed), Some(fault)) => format!("{} [{}]", fault.message, fault.code),
            (Some(stop), _) => {
                format!(
                    "{} sessions, {} edits applied, stopped by {}",
                    self.sessions.len() + self.earlier.sessions as usize,
                    self.applied() + self.earlier.applied,
                    stop.name()
                )
            }
            (None, _) => String::new(),
        });
        let scores: Vec<Value> = self.scores.iter().map(score).collect();
        let mut timeline: Vec<Value> = self.notes.iter().map(|text| note(text)).collect();
        for session in &self.sessions {
            timeline.push(of_session(session));
            timeline.extend(session.outcomes.iter().map(|outcome| of_outcome(&session.id, outcome)));
        }
        timeline.extend(self.outcomes.iter().map(|(session, outcome)| of_outcome(session, outcome)));
        Record::new()
            .with("kind", "spec")
            .with("status", status)
            .with("stop", self.stop.map(Stop::name))
            .with("why", why)
            .with("before", spec(&self.before))
            .with("after", spec(&driver.head.spec))
            .with("head", driver.head.digest.as_str())
            .with("spec", driver.head.spec.value().clone())
            .with("spent_micro_usd", self.spent)
            .with("calls", driver.calls)
            .with("experiments", driver.bench.runs())
            .with("isolation", texts(driver.bench.isolation.iter()))
            .with("teacher_model", driver.settings.teacher_model.as_str())
            .with("autonomy_mode", driver.settings.autonomy.name())
            .with("fault", failed.filter(|_| self.stop == Some(Stop::Failed)).map(|fault| fault.code.as_str()))
            .with("gate_queries", driver.gated)
            .with("confirm_queries", driver.confirmations)
            .with(
                "pending",
                driver.head.commit.pending.iter().map(|one| one.id.as_str().into()).collect::<Vec<Value>>(),
            )
            .with("scores", scores)
            // What a person decided is told beside what the search did, and not instead of it.
            .with(if self.stop.is_some() { "timeline" } else { "entries" }, timeline)
            .into()
    }

    fn applied(&self) -> usize {
        self.sessions.iter().map(|session| session.count("applied")).sum()
    }
}

fn texts<'t>(texts: impl Iterator<Item = &'t String>) -> Vec<Value> {
    texts.map(|text| text.as_str().into()).collect()
}

fn score((stratum, n, before, after): &Score) -> Value {
    let of = |mean: Option<i64>| mean.map(|mean| Record::new().with("mean", mean).with("n", *n));
    Record::new()
        .with("metric", crate::gate::SCORE)
        .with("stratum", *stratum)
        .with("before", of(*before))
        .with("after", of(*after))
        .into()
}

fn note(text: &str) -> Value {
    Record::new().with("kind", "note").with("id", "").with("status", "note").with("reason", text).into()
}

fn of_session(session: &Session) -> Value {
    let reason = match (&session.error, session.end) {
        (Some(fault), _) => format!("{} [{}]", fault.message, fault.code),
        (None, Some(end)) => end.to_owned(),
        (None, None) => {
            format!("{} applied, {} not", session.count("applied"), session.outcomes.len() - session.count("applied"))
        }
    };
    Record::new()
        .with("kind", "session")
        .with("id", session.id.as_str())
        .with("status", session.status.name())
        .with("reason", reason)
        .with("delta_micros", session.scores.0.zip(session.scores.1).map(|(before, after)| after - before))
        .with("detail", session.to_value())
        .into()
}

fn of_outcome(session: &str, outcome: &Outcome) -> Value {
    Record::new()
        .with("kind", "edit")
        .with("id", outcome.id.as_str())
        .with("session", session)
        .with("target", outcome.targets.join(", "))
        .with("op", outcome.ops.join(", "))
        .with("status", outcome.status)
        .with("reason", outcome.reason.as_str())
        .with("delta_micros", outcome.delta)
        .with("tier", outcome.tier)
        .with("diff", outcome.diff.as_str())
        .with("detail", outcome.to_value())
        .into()
}
