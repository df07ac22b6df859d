//! `auto:host/jobs`: many calls of pass functions at once. The `wasm` backend runs them
//! on all cores; results come back in the order of the tasks.

use std::sync::Arc;

use auto_json::Value;
use wasmtime::component::Val;

use crate::call::Call;
use crate::dispatch::{Read, arguments};
use crate::engine::Inner;
use crate::fault::{Fault, FaultClass};
use crate::journal::Durability;
use crate::parallel::{self, Together};
use crate::providers::{Provider, Providers};
use crate::{value, wire};

/// What the tasks came to.
pub(crate) struct Done {
    /// `result<list<result<json, fault>>, fault>`.
    pub(crate) result: Val,
    pub(crate) durability: Durability,
    /// Who was called, and what it gave.
    pub(crate) seen: Vec<(Provider, String, Vec<Val>)>,
    /// The faults of tasks whose components broke.
    pub(crate) broken: Vec<Fault>,
}

/// `auto:host/jobs#run`. The fault is one that says nothing about a task but about this
/// machine or this moment: a driver that went on without that result would make something
/// else than it makes on a better day.
pub(crate) fn run(engine: &Arc<Inner>, providers: &Providers, args: &[Val]) -> Option<Result<Done, Fault>> {
    let [Val::Variant(backend, other), Val::List(tasks)] = args else { return None };
    if backend != "wasm" {
        let name = other.as_deref().and_then(wire::as_text).unwrap_or(backend);
        let message = format!("there is no backend {name}; this host has `wasm`");
        return Some(Ok(refused("unknown-backend", message, None)));
    }
    let mut targets = Vec::with_capacity(tasks.len());
    for task in tasks {
        let target = wire::field(task, "target").and_then(wire::as_text)?;
        match resolve(engine, providers, target) {
            Ok(provider) => targets.push(provider),
            Err(fault) => return Some(Ok(refused("unknown-target", fault.message, Some(target.to_owned())))),
        }
    }
    let mut calls = Vec::with_capacity(tasks.len());
    for (task, (provider, function)) in tasks.iter().zip(&targets) {
        let text = wire::field(task, "arguments").and_then(wire::as_text)?;
        match prepare(engine, provider, function, text) {
            Ok(call) => calls.push(call),
            Err(fault) => return Some(Ok(refused("bad-arguments", fault.message, fault.at))),
        }
    }
    let together = Together::new(engine.options.limits.of("").output.saturating_mul(RESULTS));
    let results = parallel::map(&calls, 0, |(call, args)| {
        if together.is_over() {
            return Err(excess(call, &together));
        }
        let result = engine.call_read(call, args);
        together.add(result.as_ref().map_or(0, |read| read.results.iter().map(|one| value::measure(one).0).sum()));
        result
    });
    if let (true, Some((call, _))) = (together.is_over(), calls.first()) {
        return Some(Err(excess(call, &together)));
    }
    if let Some(fault) = results.iter().filter_map(|result| result.as_ref().err()).find(|fault| is_circumstance(fault))
    {
        return Some(Err(fault.clone()));
    }
    Some(Ok(done(&targets, results)))
}

/// What all results together may take, in results of one call.
const RESULTS: u64 = 4;

fn excess(call: &Call<'_>, together: &Together) -> Fault {
    call.exceeded(FaultClass::OutputTooLarge, format!("{} bytes of output of all tasks together", together.most()))
}

/// Who the tasks call, as far as anybody serves them.
pub(crate) fn targets(engine: &Inner, providers: &Providers, args: &[Val]) -> Vec<Provider> {
    let tasks = args.get(1).and_then(wire::as_list).unwrap_or_default();
    let targets = tasks.iter().filter_map(|task| wire::field(task, "target").and_then(wire::as_text));
    targets.filter_map(|target| Some(resolve(engine, providers, target).ok()?.0)).collect()
}

/// Whether a fault is the machine's or the moment's doing, not the call's.
fn is_circumstance(fault: &Fault) -> bool {
    matches!(fault.class, FaultClass::Host(_) | FaultClass::Deadline)
}

fn resolve(engine: &Inner, providers: &Providers, target: &str) -> Result<(Provider, String), Fault> {
    let (interface, function) = target.split_once('#').unwrap_or((target, ""));
    let provider = engine.provider(providers, interface, function)?;
    // Says so if there is no such function.
    engine.prepare(&provider, function)?;
    Ok((provider, function.to_owned()))
}

fn prepare<'a>(
    engine: &Inner,
    provider: &'a Provider,
    function: &'a str,
    text: &str,
) -> Result<(Call<'a>, Vec<Val>), Fault> {
    let call = engine.prepare(provider, function)?;
    let value = Value::parse(text).map_err(|error| call.fault(FaultClass::BadArguments, error.to_string()))?;
    let args = arguments(&call, &value)?;
    Ok((call, args))
}

fn done(targets: &[(Provider, String)], results: Vec<Result<Read, Fault>>) -> Done {
    let cached = results.iter().all(|result| matches!(result, Ok(Read { memo_hit: true, .. })));
    let values = results.iter().map(|result| match result {
        Ok(read) => wire::ok(wire::text(read.value.canonical().into_string())),
        Err(fault) => wire::fault(fault),
    });
    let result = wire::ok(Val::List(values.collect()));
    let broken = results.iter().filter_map(|result| result.as_ref().err()).filter(|fault| fault.class.is_breakage());
    let broken = broken.cloned().collect();
    let seen = targets.iter().zip(results).map(|((provider, function), result)| {
        (provider.clone(), function.clone(), result.map(|read| read.results).unwrap_or_default())
    });
    let durability = if cached { Durability::Cached } else { Durability::Made };
    Done { result, durability, seen: seen.collect(), broken }
}

fn refused(code: &str, message: String, at: Option<String>) -> Done {
    Done { result: wire::err(code, message, at), durability: Durability::Cached, seen: Vec::new(), broken: Vec::new() }
}
