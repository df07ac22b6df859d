//! What the driver says at the end, whatever the end was.

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::ask::Stop;
use crate::config::Config;
use crate::job::Told;
use crate::machine::rate;
use crate::world::{Decision, Ended, Report, Trace};

/// The report; `skill` and `head` are those it began with.
pub fn of(config: &Config, skill: &str, head: &str, found: &Report<Stop>, told: &Told) -> Value {
    let (status, stop, why) = ended(found);
    let state = |text: &str, commit: &str| {
        Record::new()
            .with("id", Digest::of(text.as_bytes()).to_string())
            .with("bytes", text.len())
            .with("commit", commit)
    };
    let mut commits = told.commits.iter();
    let timeline: Vec<Value> = found
        .decisions
        .iter()
        .enumerate()
        .map(|(at, decision)| edit(at, decision, decision.accepted.then(|| commits.next()).flatten()))
        .collect();
    let verified = found.traces.iter().any(|trace| trace.passed.is_some());
    Record::new()
        .with("kind", "skill")
        .with("run", config.run.as_str())
        .with("status", status)
        .with("stop", stop)
        .with("why", why)
        .with("name", config.name.as_str())
        .with("before", state(skill, head))
        .with("after", state(&found.document, &told.head))
        .with("spent_micro_usd", told.spent)
        .with("calls", told.calls)
        .with("experiments", told.rollouts)
        .with("scores", scores(&found.first, &found.traces))
        .with("timeline", timeline)
        .with("levels", found.levels.iter().map(level).collect::<Vec<_>>())
        .with("runs", found.traces.iter().map(trace).collect::<Vec<_>>())
        .with("task", config.prompt.as_str())
        .with("agent", config.agent.command.iter().map(|word| word.as_str().into()).collect::<Vec<Value>>())
        .with("judge_model", told.model.as_str())
        .with("backend", "process")
        .with("isolation", told.isolation.iter().map(|kept| kept.as_str().into()).collect::<Vec<Value>>())
        .with("verifier_signal_used", verified)
        .into()
}

/// A state that somebody went back to, and how the runs with it went.
pub fn of_state(skill: &str, commit: &str, runs: &[Trace]) -> Record {
    let after = Record::new()
        .with("id", Digest::of(skill.as_bytes()).to_string())
        .with("bytes", skill.len())
        .with("commit", commit);
    Record::new()
        .with("kind", "skill")
        .with("head", commit)
        .with("after", after)
        .with("scores", scores(runs, runs))
        .with("runs", runs.iter().map(trace).collect::<Vec<_>>())
}

/// How it ended: in the order of what there is to say.
fn ended(found: &Report<Stop>) -> (&'static str, String, String) {
    if let Some(stop) = &found.error {
        let status = if stop.is_budget() { "stopped" } else { "failed" };
        return (status, stop.code.clone(), stop.message.clone());
    }
    let last = found.levels.last().map_or("nothing_to_do", |level| level.reason);
    let why = match last {
        "normalized_gap_converged" => "no cell is further from the best than the threshold",
        "available_coordinates_exhausted" => "every cell that is left was refused too often",
        "coordinate_exhausted" => "the cell was refused too often, and no iteration is left",
        "max_iterations_after_accept" => "no iteration is left; the last one improved it",
        _ => "no iteration is left",
    };
    ("complete", last.to_owned(), why.to_owned())
}

fn edit(at: usize, decision: &Decision, commit: Option<&String>) -> Value {
    let status = if decision.accepted { "applied" } else { "rejected" };
    Record::new()
        .with("kind", "edit")
        .with("id", format!("e{:02}", at + 1))
        .with("target", format!("{}: {}", decision.at.unit, decision.at.dimension))
        .with("op", decision.level.name())
        .with("status", status)
        .with("reason", decision.reason.as_str())
        .with("delta_micros", decision.delta)
        .with("old", decision.old.as_str())
        .with("new", decision.new.as_str())
        .with("bytes", decision.bytes)
        .with("commit", commit.map(String::as_str))
        .into()
}

fn level(level: &Ended) -> Value {
    let exhausted = level.exhausted.as_ref().map(|at| format!("{}: {}", at.unit, at.dimension));
    Record::new()
        .with("level", level.level.name())
        .with("iterations", level.iterations)
        .with("refreshes", level.refreshes)
        .with("reason", level.reason)
        .with("exhausted", exhausted)
        .into()
}

fn trace(trace: &Trace) -> Value {
    Record::new()
        .with("id", trace.id.as_str())
        .with("seed", trace.seed)
        .with("timed_out", trace.timed_out)
        .with("passed", trace.passed.map_or(Value::Null, Value::Bool))
        .into()
}

fn scores(before: &[Trace], after: &[Trace]) -> Vec<Value> {
    type Holds<'h> = &'h dyn Fn(&Trace) -> Option<bool>;
    let kinds: [(&str, Holds<'_>); 2] =
        [("pass_rate", &|trace| trace.passed), ("timeout_rate", &|trace| Some(trace.timed_out))];
    let side = |traces: &[Trace], holds: Holds<'_>| {
        rate(traces, holds).map_or(Value::Null, |(mean, n)| Record::new().with("mean", mean).with("n", n).into())
    };
    let of = |(metric, holds): (&str, Holds<'_>)| {
        Record::new()
            .with("metric", metric)
            .with("stratum", "all")
            .with("before", side(before, holds))
            .with("after", side(after, holds))
            .into()
    };
    kinds.into_iter().filter(|(_, holds)| rate(before, *holds).is_some()).map(of).collect()
}
