//! One session: diagnose (`diagnose.rs`), plan, execute (`decide.rs`), record; and what it shares with the
//! next. Straight-line code over what the host lends. Whatever goes wrong ends the session with a code,
//! with all that it cost, and with the spec that counted before.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::Value;
use auto_schema::digest::Digest;

use crate::autonomy::Route;
use crate::bench::{Bench, STARVED};
use crate::budget::Budget;
use crate::catalog::Catalog;
use crate::cluster::Cluster;
use crate::commit::{Commit, Head};
use crate::edit::Proposal;
use crate::lent::{Ask, Fault, Lent};
use crate::plan::{self, Against};
use crate::sample::{self, Split};
use crate::session::{Outcome, Session, Status};
use crate::settings::Settings;
use crate::spec::Spec;
use crate::trace::Trace;
use crate::words;

/// The longest reply of each kind, in tokens.
pub(crate) const DIAGNOSIS: u32 = 8_192;
pub(crate) const PLAN: u32 = 4_096;
pub(crate) const ANSWER: u32 = 2_048;

/// What was tried and did not stand, as it is told to the teacher.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The digest of its edits.
    pub edits: Digest,
    /// A line.
    pub line: String,
}

/// The driver between sessions.
pub struct Driver<'d, L: Lent> {
    /// The host.
    pub lent: &'d mut L,
    /// The table.
    pub settings: &'d Settings,
    /// What there is; grows where a model was trained.
    pub catalog: Catalog,
    /// The same as it was written, for the teacher.
    pub catalog_text: String,
    /// Tasks and scores.
    pub bench: Bench<'d>,
    /// Traces of one's own and of corpora.
    pub traces: &'d [Trace],
    /// Seconds since 1970, when the run was begun.
    pub now: u64,
    /// What counts.
    pub head: Head,
    /// The spec that the search began with.
    pub anchor: Spec,
    /// The tasks on which the overall score is taken, the same in every session.
    pub evaluation: Vec<String>,
    /// What did not stand.
    pub tried: Vec<Tried>,
    /// What the teacher answered itself.
    pub own: BTreeMap<String, (String, i64)>,
    /// How often the teacher was asked.
    pub calls: u32,
    /// How often the gate split was looked at.
    pub gated: u32,
    /// How often the split to confirm was.
    pub confirmations: u32,
}

/// Codes of a moment of the network or of whoever is asked: the same question may be answered a
/// moment later. Each is asked once more.
pub const PASSING: [&str; 6] =
    ["model-failed", "model-timeout", "model-connect", "model-interrupted", "model-bad-reply", "model-limited"];

/// Codes that say there is no money left and nothing else is wrong.
pub(crate) fn exhausted(code: &str) -> bool {
    ["budget", "call-cap", "spend-cap", "over-price"].contains(&code)
}

impl<L: Lent> Driver<'_, L> {
    /// A session that may cost so much.
    pub fn session(&mut self, cap: u64, trigger: &Value) -> Session {
        let number = self.head.commit.sessions + 1;
        let parent = (number > 1).then(|| format!("s{}", number - 1));
        let mode = self.settings.autonomy.name();
        let mut session = Session::new(format!("s{number}"), parent, trigger.clone(), mode, self.head.digest.clone());
        let mut budget = Budget::new(cap);
        let before = self.calls;
        let result = self.phases(&mut session, &mut budget).and_then(|()| self.recorded(&session));
        let result = result.inspect_err(|_| {
            // One that failed is counted as well: no two sessions have the same name. Where even that
            // fails, the first fault is the one that is told.
            let _ = self.recorded(&session);
        });
        session.cost = budget.spent();
        session.calls = self.calls - before;
        let result = match result {
            // What was measured stands, and there is nothing to measure more with.
            Err(fault) if fault.code == STARVED => {
                session.notes.push(format!("the session ended early: {} [{}]", fault.message, fault.code));
                session.end = Some(STARVED);
                Ok(())
            }
            result => result,
        };
        match result {
            Err(fault) => {
                session.status = Status::Failed;
                session.error = Some(fault);
            }
            Ok(()) if session.count("pending_review") > 0 => session.status = Status::AwaitingReview,
            Ok(()) => session.status = Status::Completed,
        }
        session.heads.1 = self.head.digest.clone();
        session
    }

    fn phases(&mut self, session: &mut Session, budget: &mut Budget) -> Result<(), Fault> {
        let held_out = self.bench.held_out();
        let (shown, left_out) = self.settings.eligible.sift(self.traces, &held_out, self.now);
        session.left_out = left_out;
        let have = shown.iter().filter(|trace| !trace.is_external()).count();
        if have < self.settings.min_traces {
            let message = format!(
                "{have} traces of one's own may be shown, and {} are needed; record more runs, or lower min_traces",
                self.settings.min_traces
            );
            return Err(Fault::new("too-few-traces", message));
        }
        let spec = self.head.spec.clone();
        session.scores.0 = Some(self.bench.overall(self.lent, &spec, &self.evaluation)?);
        session.status = Status::Diagnosing;
        let clusters = self.diagnose(session, budget, &shown)?;
        let clusters = self.measured(session, budget, clusters, &shown)?;
        if clusters.is_empty() {
            session.end.get_or_insert("no_actionable_clusters");
        } else {
            session.status = Status::Planning;
            let plan = self.plan(session, budget, &clusters)?;
            session.status = Status::Executing;
            self.execute(session, plan, &clusters, &shown)?;
        }
        let spec = self.head.spec.clone();
        session.scores.1 = Some(self.bench.overall(self.lent, &spec, &self.evaluation)?);
        Ok(())
    }

    /// Asks, and where it was a bad moment asks once more.
    pub(crate) fn ask(
        &mut self,
        budget: &mut Budget,
        purpose: &'static str,
        system: &'static str,
        text: String,
        tokens: u32,
    ) -> Result<String, Fault> {
        match self.asked(budget, purpose, system, text.clone(), tokens) {
            Err(fault) if PASSING.contains(&fault.code.as_str()) => self.asked(budget, purpose, system, text, tokens),
            said => said,
        }
    }

    /// Asks, with all that is left set aside for it.
    fn asked(
        &mut self,
        budget: &mut Budget,
        purpose: &'static str,
        system: &'static str,
        text: String,
        tokens: u32,
    ) -> Result<String, Fault> {
        let (reserved, most) = budget.reserve_rest();
        if most == 0 {
            let _ = budget.settle(reserved, 0);
            return Err(Fault::new("budget", "nothing is left of what this session may cost"));
        }
        self.calls += 1;
        let ask = Ask { purpose, system, text, max_output_tokens: tokens, ordinal: self.calls, most };
        let told = self.lent.ask(&ask);
        budget.settle(reserved, told.cost)?;
        told.said
    }

    fn plan(
        &mut self,
        session: &mut Session,
        budget: &mut Budget,
        clusters: &[Cluster],
    ) -> Result<Vec<Proposal>, Fault> {
        let reply = match self.ask(budget, "plan", words::PLAN, self.order(session), PLAN) {
            Err(fault) if exhausted(&fault.code) => {
                session.notes.push(format!("no plan was asked for: {} [{}]", fault.message, fault.code));
                session.end = Some("budget");
                return Ok(Vec::new());
            }
            reply => reply?,
        };
        let names: BTreeSet<String> = clusters.iter().map(|cluster| cluster.id.clone()).collect();
        let tried: BTreeSet<Digest> = self.tried.iter().map(|tried| tried.edits).collect();
        let against = Against { spec: &self.head.spec, catalog: &self.catalog, clusters: &names, tried: &tried };
        match plan::read(&reply, &against) {
            Ok((plan, dropped)) => {
                let invalid = dropped.into_iter().map(|one| {
                    let outcome = one.proposal.as_ref().map(|proposal| self.outcome(proposal)).unwrap_or_default();
                    Outcome { status: "invalid", reason: one.why.to_string(), ..outcome }
                });
                session.outcomes.extend(invalid);
                if plan.is_empty() {
                    session.end = Some("no_valid_proposals");
                }
                Ok(plan)
            }
            Err(refusal) => {
                session.notes.push(format!("there is no plan: {refusal}"));
                session.end = Some(refusal.code);
                Ok(Vec::new())
            }
        }
    }

    /// What the planner is told.
    fn order(&self, session: &Session) -> String {
        let actionable = session.clusters.iter().filter(|cluster| cluster.get("dropped") == Some(&Value::Null));
        let clusters: Vec<Value> = actionable.cloned().collect();
        let tried: String = self.tried.iter().map(|tried| format!("- {}\n", tried.line)).collect();
        format!(
            "The spec:\n{}\n\nWhat there is:\n{}\n{}\nThe operations:\n{}\nThe clusters:\n{}\n\nTried before, and not \
             kept (do not propose it again):\n{}",
            self.head.spec.text(),
            self.catalog_text,
            self.trained(),
            words::operations(),
            Value::from(clusters),
            if tried.is_empty() { "nothing\n" } else { &tried }
        )
    }

    /// Models that were trained, for whoever plans.
    fn trained(&self) -> String {
        let line = |(model, base): (&String, &String)| format!("A model {model}, which takes what {base} does.\n");
        self.head.commit.trained.iter().map(line).collect()
    }

    /// The beginning of what is recorded of a proposal.
    pub fn outcome(&self, proposal: &Proposal) -> Outcome {
        Outcome {
            id: proposal.id.to_string()[..12].to_owned(),
            ops: proposal.edits.iter().map(|edit| edit.op.name()).collect(),
            targets: proposal.targets.clone(),
            tier: proposal.tier(&self.catalog).name(),
            why: proposal.why.clone(),
            ..Outcome::default()
        }
    }

    fn execute(
        &mut self,
        session: &mut Session,
        plan: Vec<Proposal>,
        clusters: &[Cluster],
        shown: &[&Trace],
    ) -> Result<(), Fault> {
        if plan.is_empty() {
            return Ok(());
        }
        let map = self.assignment(clusters, shown, Split::Gate);
        let items: Vec<(String, String)> = map.0.iter().map(|(task, of)| (task.clone(), of.clone())).collect();
        let seed = sample::seed("gate", &format!("{}\0{}", self.settings.seed, session.id), &self.settings.benchmark);
        let tasks = sample::draw(&items, &seed, self.settings.sample_size, self.settings.sample_floor)?;
        let total = plan.len() as u64;
        for (at, proposal) in plan.into_iter().enumerate() {
            self.lent.progress("execute", at as u64, Some(total));
            let outcome = match self.settings.autonomy.route(proposal.tier(&self.catalog)) {
                Route::Skipped => {
                    let reason = "manual-tier: only a person may do it, in autonomy_mode = \"manual\"".to_owned();
                    Outcome { status: "skipped", reason, ..self.outcome(&proposal) }
                }
                Route::Pending => self.queued(session, &proposal, &tasks, &map)?,
                Route::Gate => match self.gated(&session.id, &proposal, &tasks, &map) {
                    Ok(outcome) => outcome,
                    Err(fault) => {
                        let reason = format!("{} [{}]", fault.message, fault.code);
                        let outcome = self.outcome(&proposal);
                        session.outcomes.push(Outcome { status: "unmeasurable", reason, ..outcome });
                        return Err(fault);
                    }
                },
            };
            if outcome.status != "applied" {
                let gained = outcome.delta.map(|gain| format!(", its targets {}", crate::amount::decimal(gain).text()));
                let line = format!("{}: {}{}", proposal.to_value(), outcome.reason, gained.unwrap_or_default());
                self.tried.push(Tried { edits: proposal.edits_id(), line: words::cut(&line, 1_000) });
            }
            session.outcomes.push(outcome);
        }
        Ok(())
    }

    /// Counts the session in the head, so that no two have the same name.
    fn recorded(&mut self, session: &Session) -> Result<(), Fault> {
        let number = session.id[1..].parse().unwrap_or(self.head.commit.sessions + 1);
        let commit = Commit {
            sessions: number,
            session: session.id.clone(),
            proposal: String::new(),
            changes: vec![],
            ..self.head.commit.clone()
        };
        let spec = self.head.spec.clone();
        self.head.advance(self.lent, spec, commit)
    }
}
