//! What the driver says at the end, whatever the end was.

use auto_json::{Record, Value};
use auto_search::amount::decimal;

use crate::lent::Lent;
use crate::sanity::Check;
use crate::search::{Search, Stop};
use crate::stats::{half_width, mean};

/// The report; `first` and `head` are the states it began and ended with.
pub fn of<L: Lent>(run: &str, search: &Search<'_, L>, stop: &Stop, (first, head): (&str, &str)) -> Value {
    let (base, own) = (&search.all[0], &search.all[search.incumbent]);
    let (name, words) = stop.words();
    let confirmed = search.confirmed.as_ref();
    let holds = confirmed.is_some_and(|confirmed| confirmed.holds);
    let status = match (stop, search.incumbent, holds) {
        (Stop::Cancelled, ..) => "cancelled",
        (Stop::Failed(_), ..) => "failed",
        (_, 0, _) => "no_improvement",
        (_, _, true) => "complete",
        (_, _, false) => "unconfirmed",
    };
    let found = match (status, own.score, base.score) {
        ("no_improvement", ..) => "nothing better than the baseline held up".to_owned(),
        (_, Some(after), Some(before)) => {
            let (id, gained) = (own.id(), decimal(after - before).text());
            let what = match status {
                "complete" => "and rows that nobody saw confirm it",
                "unconfirmed" => "and rows that nobody saw do not confirm it, so the baseline counts",
                _ => "and nothing confirmed it, so the baseline counts",
            };
            format!("{id} scores {gained} more than the baseline, {what}")
        }
        _ => "nothing was measured".to_owned(),
    };
    let state = |individual: &crate::individual::Individual, commit: &str| {
        Record::new()
            .with("id", individual.digest.as_str())
            .with("individual", individual.id())
            .with("bytes", individual.genome.bytes())
            .with("commit", commit)
    };
    let after = if holds { own } else { base };
    let mut scores = vec![score("select", base.scores(), own.scores())];
    if let Some(confirmed) = confirmed.filter(|confirmed| !confirmed.after.is_empty()) {
        scores.push(score("confirm", &confirmed.before, &confirmed.after));
    }
    let texts = |list: Vec<String>| list.into_iter().map(Value::from).collect::<Vec<_>>();
    let mut report = Record::new()
        .with("kind", "evolve")
        .with("run", run)
        .with("status", status)
        .with("stop", name)
        .with("why", format!("{words}; {found}"))
        .with("before", state(base, first))
        .with("after", state(after, head))
        .with("best", own.id())
        .with("spent_micro_usd", search.spent())
        .with("teacher_micro_usd", search.paid)
        .with("calls", search.calls)
        .with("experiments", search.bench.jobs)
        .with("budget", budget(search))
        .with("scores", scores)
        .with("timeline", search.timeline.clone())
        .with("generations", search.generations.clone())
        .with("individuals", search.all.iter().map(|own| own.to_value()).collect::<Vec<_>>())
        .with("islands", islands(search))
        .with("archive", archive(search))
        .with("notes", texts(search.notes.clone()))
        .with("proposers", texts(search.proposers().into_iter().map(str::to_owned).collect()))
        .with("evaluator", search.bench.evaluator())
        .with("backend", "process")
        .with("isolation", texts(search.bench.isolation.iter().cloned().collect()))
        .with("seed", search.settings.control.seed);
    if let Some(confirmed) = confirmed {
        report.set("confirm", confirmed.checks.iter().map(Check::to_value).collect::<Vec<_>>());
    }
    if let Some(tracker) = &search.settings.tracker {
        report.set("tracker", tracker.as_str());
    }
    report.into()
}

/// A mean before and after, each with its interval.
fn score(stratum: &str, before: &[i64], after: &[i64]) -> Value {
    Record::new()
        .with("metric", "score")
        .with("stratum", stratum)
        .with("before", side(before))
        .with("after", side(after))
        .into()
}

fn side(scores: &[i64]) -> Value {
    let Some(mean) = mean(scores) else { return Value::Null };
    let mut side = Record::new().with("mean", mean).with("n", scores.len());
    // A share of rows that are right has an interval of its own, which whoever draws it knows.
    if scores.iter().any(|score| ![0, 1_000_000].contains(score)) {
        let half = half_width(scores);
        side = side.with("low", mean.saturating_sub(half)).with("high", mean.saturating_add(half));
    }
    side.into()
}

fn budget<L: Lent>(search: &Search<'_, L>) -> Record {
    let control = &search.settings.control;
    Record::new()
        .with("max_generations", control.generations)
        .with("max_jobs", control.max_jobs)
        .with("jobs", search.bench.jobs)
        .with("max_spend_micro_usd", control.max_spend)
        .with("spent_micro_usd", search.spent())
}

fn islands<L: Lent>(search: &Search<'_, L>) -> Vec<Value> {
    let name = |number: &usize| Value::from(search.all[*number].id());
    let island = |(at, island): (usize, &crate::archive::Island)| {
        let arrived = island.arrived.iter().map(|(number, from, generation)| {
            Record::new().with("id", name(number)).with("from", *from).with("generation", *generation).into()
        });
        Record::new()
            .with("island", at)
            .with("members", island.members.iter().map(name).collect::<Vec<_>>())
            .with("arrived", arrived.collect::<Vec<Value>>())
            .with("restarts", island.restarts.iter().map(|at| Value::from(*at)).collect::<Vec<_>>())
            .into()
    };
    search.population.islands.iter().enumerate().map(island).collect()
}

fn archive<L: Lent>(search: &Search<'_, L>) -> Vec<Value> {
    let cell = |((size, far), number): (&(u32, u32), &usize)| {
        Record::new()
            .with("size", *size)
            .with("distance", *far)
            .with("id", search.all[*number].id())
            .with("score_micros", search.all[*number].score)
            .into()
    };
    search.population.archive.iter().map(cell).collect()
}
