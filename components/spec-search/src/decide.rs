//! What becomes of a proposal: it waits for a person, or it is applied to a copy of what counts, judged
//! by the gate, and committed where that admits it.

use std::collections::BTreeMap;

use crate::apply::apply;
use crate::bench::STARVED;
use crate::cluster::Assignment;
use crate::commit::{Commit, Pending, diff};
use crate::driver::Driver;
use crate::edit::Proposal;
use crate::gate::{self, Decision, Snapshot};
use crate::lent::{Fault, Lent};
use crate::sample::Split;
use crate::session::{Outcome, Session};
use crate::spec::Spec;

impl<L: Lent> Driver<'_, L> {
    /// Puts a proposal into the queue. It is applied once to see that it could be.
    pub(crate) fn queued(
        &mut self,
        session: &Session,
        proposal: &Proposal,
        tasks: &[String],
        map: &Assignment,
    ) -> Result<Outcome, Fault> {
        let outcome = self.outcome(proposal);
        let changes = match apply(&self.head.spec, proposal, &self.catalog) {
            Ok(applied) => applied.changes,
            // What a trainer would make is not known yet.
            Err(refusal) if refusal.code == "no-trainer" => Vec::new(),
            Err(refusal) => return Ok(Outcome { status: "invalid", reason: refusal.to_string(), ..outcome }),
        };
        let mut commit = self.head.commit.clone();
        commit.changes = Vec::new();
        commit.session = session.id.clone();
        commit.proposal = String::new();
        let shown = diff(&changes);
        let waiting = Pending {
            id: outcome.id.clone(),
            session: session.id.clone(),
            proposal: proposal.to_value(),
            changes,
            tasks: tasks.to_vec(),
            map: map.0.clone(),
        };
        commit.pending.retain(|one| one.id != waiting.id);
        commit.pending.push(waiting);
        let spec = self.head.spec.clone();
        self.head.advance(self.lent, spec, commit)?;
        let reason = format!("needs-review: approve or reject it as {}", outcome.id);
        Ok(Outcome { status: "pending_review", reason, diff: shown, ..outcome })
    }

    /// Applies a proposal to a copy of what counts now, asks the gate, and commits what it admits.
    pub fn gated(
        &mut self,
        session: &str,
        proposal: &Proposal,
        tasks: &[String],
        map: &Assignment,
    ) -> Result<Outcome, Fault> {
        let outcome = self.outcome(proposal);
        let applied = match apply(&self.head.spec, proposal, &self.catalog) {
            Ok(applied) => applied,
            Err(refusal) => return Ok(Outcome { status: "invalid", reason: refusal.to_string(), ..outcome }),
        };
        let outcome = Outcome { diff: diff(&applied.changes), ..outcome };
        let (incumbent, anchor) = (self.head.spec.clone(), self.anchor.clone());
        let mut snapshot = |spec: &Spec| self.bench.snapshot(self.lent, spec, tasks, map);
        let taken = snapshot(&anchor).and_then(|anchor| Ok((anchor, snapshot(&incumbent)?, snapshot(&applied.spec)?)));
        let (anchor, before, after) = match taken {
            Ok(taken) => taken,
            Err(fault) if fault.code == STARVED => return Err(fault),
            Err(fault) => {
                let reason = format!("{} [{}]", fault.message, fault.code);
                return Ok(Outcome { status: "gate_error", reason, ..outcome });
            }
        };
        self.gated += 1;
        let policy = gate::policy(&proposal.targets, self.settings.bounds, anchor);
        let decision = self.lent.admit(&before, &after, &policy);
        let deltas = gains(&before, &after);
        let delta = proposal.targets.iter().map(|target| deltas.get(target).copied()).sum::<Option<i64>>();
        let counts = after.measures.iter().map(|one| (one.stratum.clone(), one.n)).collect();
        let mut outcome = Outcome { delta, deltas, counts, ..outcome };
        let reasons = |why: &[gate::Reason]| why.iter().map(gate::Reason::text).collect::<Vec<_>>().join("; ");
        (outcome.status, outcome.reason) = match &decision {
            Decision::Accept => ("applied", "accepted".to_owned()),
            Decision::Reject(why) => ("rejected_by_gate", reasons(why)),
            Decision::Unmeasurable(why) => ("unmeasurable", reasons(why)),
        };
        if decision == Decision::Accept && self.settings.confirm_edits {
            let Confirmed { holds, reason } = self.confirmed(&incumbent, &applied.spec)?;
            outcome.reason = reason;
            if !holds {
                outcome.status = "rejected_by_gate";
                return Ok(outcome);
            }
        }
        if decision == Decision::Accept {
            let mut commit = Commit { session: session.to_owned(), ..self.head.commit.clone() };
            commit.proposal = outcome.id.clone();
            commit.changes = applied.changes;
            self.head.advance(self.lent, applied.spec, commit)?;
        }
        Ok(outcome)
    }

    /// Whether a spec loses nothing on the tasks to confirm, which decide nothing else.
    fn confirmed(&mut self, before: &Spec, after: &Spec) -> Result<Confirmed, Fault> {
        let tasks = self.bench.of(Split::Confirm);
        if tasks.is_empty() {
            return Ok(Confirmed { holds: false, reason: "unconfirmed: no task is left to confirm on".to_owned() });
        }
        self.confirmations += 1;
        let [before, after] = [before, after].map(|spec| self.bench.overall(self.lent, spec, &tasks));
        let gain = match (before, after) {
            (Ok(before), Ok(after)) => after - before,
            (Err(fault), _) | (_, Err(fault)) if fault.code == STARVED => return Err(fault),
            (Err(fault), _) | (_, Err(fault)) => {
                return Ok(Confirmed {
                    holds: false,
                    reason: format!("unconfirmed: {} [{}]", fault.message, fault.code),
                });
            }
        };
        let holds = gain >= -self.settings.bounds.epsilon;
        let shown = crate::amount::decimal(gain).text();
        let reason = if holds { format!("accepted, confirmed by {shown}") } else { format!("unconfirmed: {shown}") };
        Ok(Confirmed { holds, reason })
    }
}

/// What the tasks to confirm say.
struct Confirmed {
    holds: bool,
    reason: String,
}

/// What each stratum gained that was measured before and after.
fn gains(before: &Snapshot, after: &Snapshot) -> BTreeMap<String, i64> {
    let of = |snapshot: &Snapshot, stratum: &str| {
        snapshot.measures.iter().find(|measure| measure.stratum == stratum).map(|measure| measure.mean)
    };
    let gain = |measure: &gate::Measure| {
        let old = of(before, &measure.stratum)?;
        Some((measure.stratum.clone(), measure.mean - old))
    };
    after.measures.iter().filter_map(gain).collect()
}
