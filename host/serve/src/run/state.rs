//! The service as data: what the page shows.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;

use auto_json::{Record, Value};

use super::app::App;
use super::catalog::Artifact;
use super::counts::{Counts, Tally};

/// What an artifact says about itself, in short.
pub fn artifact(artifact: &Artifact) -> Value {
    let manifest = artifact.program.manifest();
    let capabilities: Vec<Value> = manifest.capabilities.iter().map(|name| name.as_str().into()).collect();
    Record::new()
        .with("name", artifact.name.as_str())
        .with("id", artifact.id.as_str())
        .with("task", manifest.task.as_str())
        .with("scope", manifest.scope.as_str())
        .with("input", manifest.input.to_string())
        .with("output", manifest.output.to_string())
        .with("guarded", manifest.guarded)
        .with("capabilities", capabilities)
        .with("observations", manifest.observations)
        .into()
}

/// All of it.
pub fn state(app: &App) -> Value {
    let artifacts = app.catalog.named().into_iter().map(|one| {
        let Value::Record(fields) = artifact(&one) else { return Value::Null };
        let fields = fields
            .with("has_tier0", app.backing.has_tier0(&one.name))
            .with("suspended", app.suspended(&one))
            .with("price_micro_usd", one.price)
            .with("counts", counts(&one.counts));
        fields.into()
    });
    let artifacts: Vec<Value> = artifacts.collect();
    let held = app.catalog.held().into_iter().map(|(name, held)| {
        Record::new()
            .with("name", name)
            .with("wanted", held.wanted.map(|id| id.to_string()))
            .with("code", held.why.code)
            .with("message", held.why.message)
            .into()
    });
    let held: Vec<Value> = held.collect();
    let events = app.events.all().into_iter().map(|event| {
        Record::new()
            .with("at", event.at)
            .with("name", event.name)
            .with("code", event.code)
            .with("message", event.message)
            .with("alarm", event.alarm)
            .with("times", event.times)
            .into()
    });
    let events: Vec<Value> = events.collect();
    Record::new()
        .with("version", env!("CARGO_PKG_VERSION"))
        .with("up_seconds", app.started.elapsed().as_secs())
        .with("alarms", app.events.alarms.load(Relaxed))
        .with("connections", app.traffic.open.load(Relaxed))
        .with("artifacts", artifacts)
        .with("held", held)
        .with("events", events)
        .into()
}

fn counts(counts: &Counts) -> Value {
    let load = |count: &std::sync::atomic::AtomicU64| count.load(Relaxed);
    let curve = counts.curve.lock().unwrap_or_else(PoisonError::into_inner);
    let points = curve.points().iter().map(|point| {
        Value::List(vec![point.tier1.into(), point.tier0.into(), point.nobody.into(), point.reloads.into()])
    });
    let points: Vec<Value> = points.collect();
    Record::new()
        .with("tier1", load(&counts.tier1))
        .with("tier0", load(&counts.tier0))
        .with("abstained", tally(&counts.trips))
        .with("failed", tally(&counts.failures))
        .with("tier0_failed", tally(&counts.tier0_failures))
        .with("spent_micro_usd", load(&counts.spent))
        .with("saved_micro_usd", load(&counts.saved))
        .with("sampled", load(&counts.sampled))
        .with("agreed", load(&counts.agreed))
        .with("unsampled", load(&counts.unsampled))
        .with("curve", points)
        .into()
}

fn tally(tally: &Tally) -> Value {
    let mut fields = Record::new();
    tally.all().into_iter().for_each(|(what, count)| fields.set(what, count));
    fields.into()
}
