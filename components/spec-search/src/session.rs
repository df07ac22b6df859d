//! What is kept of a session: complete also where it ended early, so that nobody has to guess what
//! a session did or cost.

use std::collections::BTreeMap;

use auto_json::{Record, Value};

use crate::amount::decimal;
use crate::lent::Fault;

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Before anything.
    Initiated,
    /// The teacher looks at what went wrong.
    Diagnosing,
    /// It proposes.
    Planning,
    /// Proposals are applied and judged.
    Executing,
    /// Done.
    Completed,
    /// Done, and something waits for a person.
    AwaitingReview,
    /// It could not be done; the spec is what it was, apart from what was accepted before.
    Failed,
    /// Its changes were taken back.
    RolledBack,
}

impl Status {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Status::Initiated => "initiated",
            Status::Diagnosing => "diagnosing",
            Status::Planning => "planning",
            Status::Executing => "executing",
            Status::Completed => "completed",
            Status::AwaitingReview => "awaiting_review",
            Status::Failed => "failed",
            Status::RolledBack => "rolled_back",
        }
    }
}

/// What became of a proposal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Twelve digits of the proposal's id; empty where it could not be read.
    pub id: String,
    /// Its operations.
    pub ops: Vec<&'static str>,
    /// The clusters it was for.
    pub targets: Vec<String>,
    /// Who had to agree.
    pub tier: &'static str,
    /// `applied`, `rejected_by_gate`, `unmeasurable`, `gate_error`, `pending_review`,
    /// `rejected_by_user`, `skipped`, `invalid`, `expired`.
    pub status: &'static str,
    /// A code and a sentence.
    pub reason: String,
    /// What its targets gained together, in millionths.
    pub delta: Option<i64>,
    /// What each stratum gained.
    pub deltas: BTreeMap<String, i64>,
    /// On how many tasks each was measured.
    pub counts: BTreeMap<String, u32>,
    /// What it changes.
    pub diff: String,
    /// The teacher's reason.
    pub why: String,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// `s1`, `s2`, …
    pub id: String,
    /// The one before.
    pub parent: Option<String>,
    /// Why it was begun.
    pub trigger: Value,
    /// Where it is.
    pub status: Status,
    /// How much was left to it.
    pub autonomy: &'static str,
    /// The overall score before and after, in millionths.
    pub scores: (Option<i64>, Option<i64>),
    /// What the teacher found, with what was measured.
    pub clusters: Vec<Value>,
    /// Traces that were not shown, by reason.
    pub left_out: BTreeMap<&'static str, usize>,
    /// What was odd and did not end it.
    pub notes: Vec<String>,
    /// What became of each proposal.
    pub outcomes: Vec<Outcome>,
    /// The head before and after.
    pub heads: (String, String),
    /// Micro-USD; kept whatever happens.
    pub cost: u64,
    /// Calls of the teacher.
    pub calls: u32,
    /// Calls of the diagnosis' tools.
    pub tool_calls: u32,
    /// Why it failed.
    pub error: Option<Fault>,
    /// Why it ended without a plan, where it did: a code.
    pub end: Option<&'static str>,
}

impl Session {
    /// Before anything.
    pub fn new(id: String, parent: Option<String>, trigger: Value, autonomy: &'static str, head: String) -> Session {
        Session {
            id,
            parent,
            trigger,
            status: Status::Initiated,
            autonomy,
            scores: (None, None),
            clusters: vec![],
            left_out: BTreeMap::new(),
            notes: vec![],
            outcomes: vec![],
            heads: (head.clone(), head),
            cost: 0,
            calls: 0,
            tool_calls: 0,
            error: None,
            end: None,
        }
    }

    /// How many proposals ended so.
    pub fn count(&self, status: &str) -> usize {
        self.outcomes.iter().filter(|outcome| outcome.status == status).count()
    }

    /// As it is kept.
    pub fn to_value(&self) -> Value {
        let left: Record = self.left_out.iter().map(|(why, count)| ((*why).to_owned(), (*count).into())).collect();
        let error = self
            .error
            .as_ref()
            .map(|fault| Record::new().with("code", fault.code.as_str()).with("message", fault.message.as_str()));
        Record::new()
            .with("id", self.id.as_str())
            .with("parent_session_id", self.parent.as_deref())
            .with("trigger", self.trigger.clone())
            .with("status", self.status.name())
            .with("autonomy_mode", self.autonomy)
            .with("benchmark_before", self.scores.0.map(decimal))
            .with("benchmark_after", self.scores.1.map(decimal))
            .with("failure_clusters", self.clusters.clone())
            .with("left_out", left)
            .with("notes", self.notes.iter().map(|note| note.as_str().into()).collect::<Vec<Value>>())
            .with("edit_outcomes", self.outcomes.iter().map(Outcome::to_value).collect::<Vec<Value>>())
            .with("checkpoint_pre", self.heads.0.as_str())
            .with("checkpoint_post", self.heads.1.as_str())
            .with("teacher_cost_micro_usd", self.cost)
            .with("teacher_calls", self.calls)
            .with("tool_calls", self.tool_calls)
            .with("error", error)
            .with("end", self.end)
            .into()
    }
}

impl Outcome {
    /// As it is kept.
    pub fn to_value(&self) -> Value {
        let deltas: Record =
            self.deltas.iter().map(|(stratum, gain)| (stratum.clone(), decimal(*gain).into())).collect();
        let counts: Record = self.counts.iter().map(|(stratum, n)| (stratum.clone(), (*n).into())).collect();
        let texts = |texts: &mut dyn Iterator<Item = &str>| texts.map(Value::from).collect::<Vec<Value>>();
        Record::new()
            .with("id", self.id.as_str())
            .with("ops", texts(&mut self.ops.iter().copied()))
            .with("targets", texts(&mut self.targets.iter().map(String::as_str)))
            .with("tier", self.tier)
            .with("status", self.status)
            .with("reason", self.reason.as_str())
            .with("benchmark_delta", self.delta.map(decimal))
            .with("cluster_deltas", deltas)
            .with("cluster_tasks", counts)
            .with("diff", self.diff.as_str())
            .with("rationale", self.why.as_str())
            .into()
    }
}
