//! Whether a spec search is due, and what it begins with: for `search spec --when-due`, which a clock
//! starts as often as it likes, and `--flag`, which is a person's word.
//!
//! Runs of the same benchmark are one after the other: each goes on from the spec that the one before
//! left, and looks at runs that none before was given.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use auto_config::Triggers;
use auto_json::{Record, Value};
use auto_schema::shown;

use super::folder::{self, Run, is_failed, unkept};
use crate::failure::Failure;
use crate::reply::{Exit, count};

/// What there was before.
pub struct Before {
    /// The last run, where there was one.
    last: Option<Run>,
    /// Ids of the recorded runs that were looked at.
    seen: BTreeSet<String>,
}

/// Why a search begins, or why it does not.
#[derive(Debug, PartialEq, Eq)]
pub enum Due {
    /// As the teacher is told it.
    Now(Record),
    /// In words.
    Not(String),
}

impl Before {
    /// All runs of a benchmark in the folder of runs. Codes: `unfinished`, `run-damaged`.
    pub fn of(runs: &Path, series: &str) -> Result<Before, Failure> {
        let own = folder::all(runs).into_iter().flatten();
        let own: Vec<Run> = own.filter(|run| run.host("series").and_then(Value::as_text) == Some(series)).collect();
        let mut seen = BTreeSet::new();
        for run in &own {
            let Some(traces) = run.input("traces")? else { continue };
            seen.extend(traces.as_list().unwrap_or_default().iter().filter_map(id).map(str::to_owned));
        }
        let mut dated = Vec::new();
        for run in own {
            dated.push((run.started()?.unwrap_or(0), run));
        }
        dated.sort_by(|(a, run_a), (b, run_b)| (a, &run_a.id).cmp(&(b, &run_b.id)));
        Ok(Before { last: dated.pop().map(|(_, run)| run), seen })
    }

    /// The spec that the last run left; none where there was none. Code: `unfinished`.
    pub fn spec(&self) -> Result<Option<Vec<u8>>, Failure> {
        let Some(last) = &self.last else { return Ok(None) };
        match last.report()? {
            Some(report) if !is_failed(&report) => last.spec_now().map(Some),
            report => {
                let how = if report.is_some() { "failed" } else { "was cut off" };
                let message = format!("the run {}, from which this one would go on, {how}", last.id);
                let help = format!("go on with it first: auto-host search {} --resume {}", last.verb(), last.id);
                Err(Failure::new(Exit::Refused, "unfinished", message).help(help))
            }
        }
    }

    /// Whether a search is due, by recorded runs that none before was given.
    pub fn due(&self, triggers: &Triggers, rows: &Value) -> Result<Due, Failure> {
        let waiting = match &self.last {
            Some(last) => last.report()?.map(|report| waiting(&report)).unwrap_or_default(),
            None => 0,
        };
        if let Some(last) = self.last.as_ref().filter(|_| waiting > 0) {
            let edits = count(waiting as u64, "edit");
            return Ok(Due::Not(format!("{edits} of {} wait for a person; approve or reject them first", last.id)));
        }
        let all = rows.as_list().unwrap_or_default().iter();
        let new: Vec<&Value> = all.filter(|row| id(row).is_some_and(|id| !self.seen.contains(id))).collect();
        Ok(decided(triggers, &new))
    }
}

fn waiting(report: &Value) -> usize {
    report.get("pending").and_then(Value::as_list).unwrap_or_default().len()
}

fn id(row: &Value) -> Option<&str> {
    row.get("id")?.as_text()
}

/// By how many there are, and by how many of an agent's failed.
fn decided(triggers: &Triggers, new: &[&Value]) -> Due {
    let agent = |row: &Value| row.get("agent").and_then(Value::as_text).unwrap_or_default().to_owned();
    let mut agents: BTreeMap<String, (usize, Vec<&str>)> = BTreeMap::new();
    for row in new {
        let (all, failed) = agents.entry(agent(row)).or_default();
        *all += 1;
        failed.extend(id(row).filter(|_| has_failed(row)));
    }
    let share = |(all, failed): &(usize, Vec<&str>)| failed.len() as u64 * 1_000_000 / (*all).max(1) as u64;
    let bad = agents.iter().filter(|(_, of)| of.1.len() as u64 >= triggers.cluster_min_size);
    let mut bad = bad.filter(|(_, of)| share(of) >= triggers.cluster_failure_threshold);
    if let Some((agent, of)) = bad.next().filter(|_| triggers.cluster_enabled) {
        let ids: Vec<Value> = of.1.iter().map(|id| (*id).into()).collect();
        let description = format!("{} of {} new runs of the agent {agent:?} failed", of.1.len(), of.0);
        let trigger = Record::new().with("kind", "cluster").with("description", description).with("trace_ids", ids);
        return Due::Now(trigger.with("failure_rate_micros", share(of)));
    }
    if triggers.scheduled_enabled && new.len() as u64 >= triggers.scheduled_min_new_traces {
        return Due::Now(Record::new().with("kind", "scheduled").with("new_trace_count", new.len()));
    }
    Due::Not(format!("there are {}, and no agent failed often enough in them", count(new.len() as u64, "new run")))
}

/// As the driver reads it.
fn has_failed(row: &Value) -> bool {
    let bad = |feedback: &auto_json::Number| {
        auto_json::Number::decimal(3, 1).is_some_and(|most| feedback.compare(&most).is_le())
    };
    row.get("error").is_some()
        || row.get("outcome").and_then(Value::as_text) == Some("failure")
        || row.get("feedback").and_then(Value::as_number).is_some_and(bad)
}

/// A run that a person pointed out. Code: `no-such-trace`.
pub fn flagged(ids: &[String], rows: &Value) -> Result<Record, Failure> {
    let there: BTreeSet<&str> = rows.as_list().unwrap_or_default().iter().filter_map(id).collect();
    if let Some(id) = ids.iter().find(|id| !there.contains(id.as_str())) {
        let message = format!("there is no recorded run {}", shown(id));
        return Err(Failure::new(Exit::Usage, "no-such-trace", message)
            .help("name one of `traces` or of the store's task that the table names"));
    }
    let ids: Vec<Value> = ids.iter().map(|id| id.as_str().into()).collect();
    Ok(Record::new().with("kind", "user_flag").with("trace_ids", ids))
}

/// The spec of a run, as it is now.
impl Run {
    fn spec_now(&self) -> Result<Vec<u8>, Failure> {
        let damaged = || Failure::new(Exit::Integrity, "run-damaged", format!("the run {} has no spec", self.id));
        let head = self.blobs().head().map_err(unkept)?.ok_or_else(damaged)?;
        let state = Value::parse(self.blobs().get(head).map_err(unkept)?).map_err(|_| damaged())?;
        let spec = state.get("spec").and_then(Value::as_text).and_then(auto_schema::digest::Digest::parse);
        self.blobs().get(spec.ok_or_else(damaged)?).map_err(unkept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(texts: &[&str]) -> Value {
        Value::List(texts.iter().map(|text| Value::parse(*text).unwrap()).collect())
    }

    fn due(triggers: &Triggers, rows: &Value) -> Due {
        decided(triggers, &rows.as_list().unwrap().iter().collect::<Vec<_>>())
    }

    #[test]
    fn a_search_is_due_by_new_runs_or_by_how_many_of_an_agents_failed() {
        let triggers = Triggers { scheduled_min_new_traces: 4, cluster_min_size: 2, ..Triggers::default() };
        let kind = |due: Due| match due {
            Due::Now(trigger) => trigger.get("kind").and_then(Value::as_text).unwrap().to_owned(),
            Due::Not(why) => why,
        };
        let fine = [r#"{"id":"a"}"#, r#"{"id":"b"}"#, r#"{"id":"c"}"#, r#"{"id":"d"}"#];
        assert!(kind(due(&triggers, &rows(&fine[..3]))).starts_with("there are 3 new runs"));
        assert_eq!(kind(due(&triggers, &rows(&fine))), "scheduled");
        let off = Triggers { scheduled_enabled: false, ..triggers.clone() };
        assert!(matches!(due(&off, &rows(&fine)), Due::Not(_)));
        let failed = [
            r#"{"id":"a","agent":"clerk","feedback":0.3}"#,
            r#"{"id":"b","agent":"clerk","outcome":"failure"}"#,
            r#"{"id":"c","agent":"cook","error":"late"}"#,
        ];
        let Due::Now(trigger) = due(&triggers, &rows(&failed)) else { panic!("it is due") };
        assert_eq!(
            Value::from(trigger).to_string(),
            "{\"description\":\"2 of 2 new runs of the agent \\\"clerk\\\" failed\",\"failure_rate_micros\":1000000,\
             \"kind\":\"cluster\",\"trace_ids\":[\"a\",\"b\"]}"
        );
        let few = Triggers { cluster_min_size: 3, ..triggers.clone() };
        assert!(matches!(due(&few, &rows(&failed)), Due::Not(_)), "two of one agent and one of another");
        let rare = Triggers { cluster_failure_threshold: 600_000, ..triggers.clone() };
        let mixed =
            [failed[0], failed[1], r#"{"id":"x","agent":"clerk"}"#, r#"{"id":"y","agent":"clerk","feedback":0.31}"#];
        assert_eq!(kind(due(&rare, &rows(&mixed))), "scheduled", "half of them are not six tenths");
        assert!(matches!(due(&Triggers { cluster_enabled: false, ..triggers }, &rows(&failed)), Due::Not(_)));
    }

    #[test]
    fn a_run_that_is_pointed_out_has_to_be_there() {
        let there = rows(&[r#"{"id":"a"}"#]);
        assert!(flagged(&["a".to_owned()], &there).is_ok());
        assert_eq!(flagged(&["b".to_owned()], &there).unwrap_err().code, "no-such-trace");
    }
}
