//! The first half of a session: the teacher looks around and names clusters of failures, and what it
//! claims of them is counted.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_schema::digest::Digest;

use crate::bench::{STARVED, Task};
use crate::budget::Budget;
use crate::cluster::{self, Assigned, Assignment, Cluster, Known, Rates, assign, ranked};
use crate::driver::{ANSWER, DIAGNOSIS, Driver, PLAN, exhausted};
use crate::lent::{Fault, Lent};
use crate::reply;
use crate::sample::{self, Split};
use crate::session::Session;
use crate::tools::{self, RUN_SELF, Room};
use crate::trace::{Trace, shown};
use crate::words;

/// Characters of a bad reply that a teacher is asked to repair.
const REPAIRED: usize = 3_000;

/// Bytes of a conversation before the teacher has to come to an end.
const LONGEST_TALK: usize = 400_000;

impl<L: Lent> Driver<'_, L> {
    pub(crate) fn diagnose(
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
                match self.ask(budget, "repair", words::REPAIR, words::cut(&reply, REPAIRED), PLAN) {
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
            let reply = self.ask(budget, "diagnose", words::DIAGNOSE, talk.clone(), DIAGNOSIS)?;
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
                return self.ask(budget, "diagnose", words::DIAGNOSE, talk, DIAGNOSIS);
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
        let answer = match self.ask(budget, "task", words::TASK, text, ANSWER) {
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
    pub(crate) fn assignment(&self, clusters: &[Cluster], shown_traces: &[&Trace], split: Split) -> Assignment {
        let sample = |cluster: &Cluster| {
            let traces = shown_traces.iter().filter(|trace| cluster.sample_trace_ids.contains(&trace.id));
            let traces = traces.map(|trace| trace.query.clone());
            let tasks = cluster.task_ids.iter().map(|id| shown(Some(&self.bench.tasks[id].input)));
            (cluster.id.clone(), traces.chain(tasks).collect::<Vec<String>>())
        };
        let samples: BTreeMap<String, Vec<String>> = clusters.iter().map(sample).collect();
        let queries: Vec<(&Task, String)> = self
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
    pub(crate) fn measured(
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
}
