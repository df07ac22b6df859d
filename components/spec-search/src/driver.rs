//! One session: diagnose, plan, execute, record; and what it shares with the next. Straight-line
//! code over what the host lends. Whatever goes wrong ends the session with a code, with all that
//! it cost, and with the spec that counted before.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::Value;
use auto_schema::digest::Digest;

use crate::autonomy::Route;
use crate::bench::{Bench, STARVED};
use crate::budget::Budget;
use crate::catalog::Catalog;
use crate::cluster::{self, Assigned, Assignment, Cluster, Known, Rates, assign, ranked};
use crate::commit::{Commit, Head};
use crate::edit::Proposal;
use crate::lent::{Ask, Fault, Lent};
use crate::plan::{self, Against};
use crate::reply;
use crate::sample::{self, Split};
use crate::session::{Outcome, Session, Status};
use crate::settings::Settings;
use crate::spec::Spec;
use crate::tools::{self, RUN_SELF, Room};
use crate::trace::{Trace, shown};
use crate::words;

/// Tokens of a diagnosis, a plan, and an answer to a task.
const TOKENS: [u32; 3] = [8_192, 4_096, 2_048];

/// Characters of a bad reply that a teacher is asked to repair.
const REPAIRED: usize = 3_000;

/// Bytes of a conversation before the teacher has to come to an end.
const LONGEST_TALK: usize = 400_000;

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
fn exhausted(code: &str) -> bool {
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
    fn ask(
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

    fn diagnose(
        &mut self,
        session: &mut Session,
        budget: &mut Budget,
        shown: &[&Trace],
    ) -> Result<Vec<Cluster>, Fault> {
        let tasks = self.bench.of(Split::Diagnose);
        let spec = self.head.spec.clone();
        self.bench.score(self.lent, &spec, &tasks)?;
        let known = Known {
            tasks: tasks.iter().cloned().collect(),
            traces: shown.iter().map(|trace| trace.id.clone()).collect(),
        };
        let reply = match self.conversation(session, budget, shown) {
            Err(fault) if exhausted(&fault.code) => {
                session.notes.push(format!("the diagnosis ended early: {} [{}]", fault.message, fault.code));
                session.end = Some("budget");
                return Ok(Vec::new());
            }
            reply => reply?,
        };
        let read = match cluster::read(&reply, &known) {
            Err(refusal) if ["reply-not-json", "reply-truncated"].contains(&refusal.code) => {
                session.notes.push(format!("the diagnosis was to be repaired: {refusal}"));
                match self.ask(budget, "repair", words::REPAIR, words::cut(&reply, REPAIRED), TOKENS[1]) {
                    Err(fault) if exhausted(&fault.code) => {
                        session.notes.push(format!("nothing was repaired: {} [{}]", fault.message, fault.code));
                        session.end = Some("budget");
                        return Ok(Vec::new());
                    }
                    repaired => cluster::read(&repaired?, &known),
                }
            }
            read => read,
        };
        let (clusters, refused) = read?;
        session.notes.extend(refused.into_iter().map(|refusal| format!("a cluster was not taken: {refusal}")));
        Ok(clusters)
    }

    /// The teacher looks around as often as it may, and then has to say what it found.
    fn conversation(&mut self, session: &mut Session, budget: &mut Budget, shown: &[&Trace]) -> Result<String, Fault> {
        let mut talk = self.opening(session, shown);
        loop {
            let reply = self.ask(budget, "diagnose", words::DIAGNOSE, talk.clone(), TOKENS[0])?;
            let Some(calls) = reply::list(&reply).ok().and_then(|list| tools::calls(&list)) else { return Ok(reply) };
            let mut results = String::new();
            for call in calls {
                let left = session.tool_calls < self.settings.tool_calls && talk.len() < LONGEST_TALK;
                let result = if left {
                    session.tool_calls += 1;
                    self.called(budget, &call, shown)?
                } else {
                    r#"{"error":"no calls are left"}"#.to_owned()
                };
                results.push_str(&format!("{}: {result}\n", call.tool));
            }
            talk.push_str(&format!("\n\nYou called tools. The results:\n{results}"));
            if session.tool_calls >= self.settings.tool_calls || talk.len() >= LONGEST_TALK {
                talk.push_str("\nNo calls are left. Say now what you found, and end with the list of clusters.");
                return self.ask(budget, "diagnose", words::DIAGNOSE, talk, TOKENS[0]);
            }
        }
    }

    fn opening(&self, session: &Session, shown_traces: &[&Trace]) -> String {
        let spec = &self.head.spec;
        let mut text = format!("The spec:\n{}\n\nWhy you are asked: {}\n\n", spec.text(), session.trigger);
        text.push_str("Tasks, with what the student answered and scored (1 is right, 0 is wrong):\n");
        for id in self.bench.of(Split::Diagnose) {
            let task = &self.bench.tasks[&id];
            let result = match self.bench.scored(spec, &id) {
                Some(Ok(scored)) => format!(
                    "scored {}, answered {:?}",
                    crate::amount::decimal(scored.score).text(),
                    words::cut(&scored.answer, 300)
                ),
                _ => "could not be run".to_owned(),
            };
            let category = task.category.as_deref().unwrap_or("none");
            let (input, expected) = (words::shown(&task.input, 500), words::shown(&task.expected, 300));
            text.push_str(&format!("- {id} (category {category}): {input}; expected {expected}; {result}\n"));
        }
        text.push_str("\nTools: list_traces {limit, source}, get_trace {trace_id}, search_traces {query, limit}, \
            get_current_config {}, get_agent_prompt {agent}, get_tool_description {tool_name}, list_available_tools {}, \
            list_personal_benchmark {}, run_student_on_task {task_id}, run_self_on_task {task_id}, compare_outputs \
            {task_id}\n");
        text.push_str(&format!(
            "\nThere are {} recorded runs to look at, {} of which failed.\n",
            shown_traces.len(),
            shown_traces.iter().filter(|trace| trace.failed()).count()
        ));
        text
    }

    fn called(&mut self, budget: &mut Budget, call: &tools::Call, shown: &[&Trace]) -> Result<String, Fault> {
        let spec = self.head.spec.clone();
        if call.tool == RUN_SELF || call.tool == "compare_outputs" {
            let task = Room { spec: &spec, traces: shown, bench: &self.bench, own: &self.own }.task(call);
            if let Ok(task) = task {
                self.teacher_does(budget, &task)?;
            }
        }
        Ok(Room { spec: &spec, traces: shown, bench: &self.bench, own: &self.own }.call(call))
    }

    /// The teacher does a task itself, once, and the judge scores it as it scores the student. A
    /// task that it or the judge could not do counts for nobody.
    fn teacher_does(&mut self, budget: &mut Budget, task: &str) -> Result<(), Fault> {
        if self.own.contains_key(task) {
            return Ok(());
        }
        let text = shown(Some(&self.bench.tasks[task].input));
        let answer = match self.ask(budget, "task", words::TASK, text, TOKENS[2]) {
            Err(fault) if exhausted(&fault.code) => return Err(fault),
            Err(_) => return Ok(()),
            Ok(answer) => answer.trim().to_owned(),
        };
        match self.bench.judged(self.lent, task, answer.clone()) {
            Ok(score) => drop(self.own.insert(task.to_owned(), (answer, score))),
            Err(fault) if fault.code == STARVED => return Err(fault),
            Err(_) => {}
        }
        Ok(())
    }

    /// Which cluster each task belongs to.
    fn assignment(&self, clusters: &[Cluster], shown_traces: &[&Trace], split: Split) -> Assignment {
        let sample = |cluster: &Cluster| {
            let traces = shown_traces.iter().filter(|trace| cluster.sample_trace_ids.contains(&trace.id));
            let traces = traces.map(|trace| trace.query.clone());
            let tasks = cluster.task_ids.iter().map(|id| shown(Some(&self.bench.tasks[id].input)));
            (cluster.id.clone(), traces.chain(tasks).collect::<Vec<String>>())
        };
        let samples: BTreeMap<String, Vec<String>> = clusters.iter().map(sample).collect();
        let queries: Vec<(&crate::bench::Task, String)> = self
            .bench
            .tasks
            .values()
            .filter(|task| task.split == split)
            .map(|task| (task, shown(Some(&task.input))))
            .collect();
        let tasks: Vec<Assigned<'_>> = queries
            .iter()
            .map(|(task, query)| Assigned { id: &task.id, category: task.category.as_deref(), query })
            .collect();
        assign(&tasks, clusters, &samples)
    }

    /// Counts what was claimed: runs of the student that there are, runs of the teacher that are
    /// made now. What can be acted on comes out, the most promising first.
    fn measured(
        &mut self,
        session: &mut Session,
        budget: &mut Budget,
        clusters: Vec<Cluster>,
        shown: &[&Trace],
    ) -> Result<Vec<Cluster>, Fault> {
        let map = self.assignment(&clusters, shown, Split::Diagnose);
        let gate = self.assignment(&clusters, shown, Split::Gate);
        let spec = self.head.spec.clone();
        let mut counted = Vec::new();
        for cluster in clusters {
            let mut own: Vec<String> =
                map.0.iter().filter(|(_, of)| **of == cluster.id).map(|(task, _)| task.clone()).collect();
            let seed = sample::seed("teacher", &self.settings.seed.to_string(), &self.settings.benchmark);
            own.sort_by_key(|task| Digest::of(&[seed.as_slice(), task.as_bytes()].concat()));
            for task in own.iter().take(self.settings.teacher_runs as usize) {
                if let Err(fault) = self.teacher_does(budget, task) {
                    if fault.code == STARVED {
                        return Err(fault);
                    }
                    session.notes.push(format!("{} was measured in part: {}", cluster.id, fault.message));
                    break;
                }
            }
            let mut rates = Rates::default();
            for task in &own {
                if let Some(Ok(scored)) = self.bench.scored(&spec, task) {
                    rates.of_student(task, scored.score < cluster::PASSED);
                }
                if let Some((_, score)) = self.own.get(task) {
                    rates.of_teacher(task, *score >= cluster::PASSED);
                }
            }
            counted.push((cluster, rates));
        }
        let mut actionable = Vec::new();
        for (cluster, rates) in ranked(counted) {
            let unseen = !gate.0.values().any(|of| *of == cluster.id);
            let why = rates.why_not().or(unseen.then_some("no-gate-tasks"));
            let mut value = cluster.to_value(&rates);
            if let Value::Record(record) = &mut value {
                record.set("dropped", why);
            }
            session.clusters.push(value);
            if why.is_none() {
                actionable.push(cluster);
            }
        }
        Ok(actionable)
    }

    fn plan(
        &mut self,
        session: &mut Session,
        budget: &mut Budget,
        clusters: &[Cluster],
    ) -> Result<Vec<Proposal>, Fault> {
        let reply = match self.ask(budget, "plan", words::PLAN, self.order(session), TOKENS[1]) {
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
