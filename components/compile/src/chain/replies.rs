//! What replies must be like: a guard behind each request, calibrated by the guard pass on what
//! the recordings had there, so that what follows sees no reply that is unlike all of them.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::Value;
use auto_schema::ir::{Body, Bounds, Check, Edge, Effects, End, Graph, Guard, Node, Port, Uncertainty};
use auto_schema::types::{Field, Type};

use super::plan::{Ask, Plan};
use super::values::{MOST_DEPTH, at, place, scalars, under};
use super::walk::unclassed;
use crate::bindings::auto::pass::guard::{Policy, calibrate};
use crate::bindings::auto::pass::types::{Fault, Observation, Witness};
use crate::fault;

/// The most texts that errors are taken to have no others than.
const MOST_TEXTS: usize = 16;

/// A reply in a run, or how the operation failed there.
#[derive(Clone)]
pub struct Seen {
    /// Of the run's input, among the distinct ones.
    pub group: usize,
    /// What came back.
    pub reply: Result<Value, String>,
}

/// Calibrates the guards of every request of a plan; gives the capabilities that have one.
pub fn guard(plan: &mut Plan, quantile: u32) -> Result<BTreeSet<String>, Fault> {
    let mut guarded = BTreeSet::new();
    for ask in plan.asks() {
        ask.guards = guards(ask, quantile)?;
        ask.always = always(ask);
        if !ask.guards.is_empty() {
            guarded.insert(ask.capability.clone());
        }
    }
    Ok(guarded)
}

/// The guards of what a request gives, in the order in which they are asked.
fn guards(ask: &Ask, quantile: u32) -> Result<Vec<Guard>, Fault> {
    let replies = || ask.seen.iter().filter_map(|seen| Some((seen.group, seen.reply.as_ref().ok()?.clone())));
    let replied = calibrated(replies(), quantile)?;
    if !ask.catches {
        return Ok(replied.into_iter().collect());
    }
    let failed = errors(ask, quantile)?;
    let (may_reply, may_fail) = (replied.is_some(), failed.is_some());
    let replied = replied.map(|guard| inside("ok", guard, may_fail));
    let failed = failed.map(|guard| inside("err", guard, may_reply));
    Ok(replied.into_iter().chain(failed).collect())
}

/// A test for the booleans that every reply has, and that are the same in all: a guard has checks
/// for texts and numbers that never change, and none for these.
fn always(ask: &Ask) -> Option<String> {
    let replies: Vec<&Value> = ask.seen.iter().filter_map(|seen| seen.reply.as_ref().ok()).collect();
    let first = replies.first()?;
    let same = scalars(first, MOST_DEPTH).into_iter().filter_map(|path| {
        let value = at(first, &path).filter(|value| matches!(value, Value::Bool(_)))?;
        replies.iter().all(|reply| at(reply, &path) == Some(value)).then_some((path, value))
    });
    let tests: Vec<String> = same
        .map(|(path, value)| match ask.catches {
            // There is nothing where there is an error.
            true => format!("default(eq({}, {value}), true)", under("$.ok", &path)),
            false => format!("eq({}, {value})", place(&path)),
        })
        .collect();
    match &tests[..] {
        [] => None,
        [test] => Some(test.clone()),
        tests => Some(format!("and({})", tests.join(", "))),
    }
}

/// The guard of errors. Programs copy what was always the same, so texts that come again and
/// again are taken to be all that there are.
fn errors(ask: &Ask, quantile: u32) -> Result<Option<Guard>, Fault> {
    let mut texts: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for seen in &ask.seen {
        if let Err(text) = &seen.reply {
            texts.entry(text).or_default().insert(seen.group);
        }
    }
    let once = texts.values().filter(|groups| groups.len() == 1).count();
    let forms =
        |text: &str| [Some(text.to_owned()), unclassed(text).map(|(_, rest)| rest.to_owned())].into_iter().flatten();
    if texts.len() == 1 || (!texts.is_empty() && texts.len() <= MOST_TEXTS && once * 2 <= texts.len()) {
        let labels: BTreeSet<String> = texts.keys().flat_map(|text| forms(text)).collect();
        let ty = Type::Enum(labels.into_iter().collect()).canonical();
        return Ok(Some(Guard { limit: 0, checks: vec![Check::Shape { ty }] }));
    }
    let seen = texts.iter().flat_map(|(text, groups)| {
        forms(text).flat_map(move |form| groups.iter().map(move |group| (*group, Value::from(form.as_str()))))
    });
    calibrated(seen, quantile)
}

/// A guard of values that were seen in runs of these inputs; none where none were.
fn calibrated(seen: impl Iterator<Item = (usize, Value)>, quantile: u32) -> Result<Option<Guard>, Fault> {
    let mut places: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (group, value) in seen {
        places.entry(value.canonical().into_string()).or_default().insert(group);
    }
    if places.is_empty() {
        return Ok(None);
    }
    // A value is as many witnesses as there are inputs whose runs got it.
    let observation = |(input, groups): (String, BTreeSet<usize>)| {
        let outputs = groups.iter().map(|group| Witness { output: group.to_string(), count: 1 });
        Observation { input, outputs: outputs.collect(), errors: 0 }
    };
    let on: Vec<Observation> = places.into_iter().map(observation).collect();
    let guarded = calibrate(&on, &echo()?, &[], Policy { quantile })?;
    let graph = Graph::from_bytes(&guarded).map_err(|_| fault("bad-graph", "the guard pass gave no sound program"))?;
    Ok(graph.nodes.into_iter().find_map(|node| match node.body {
        Body::Guard(guard) => Some(guard),
        _ => None,
    }))
}

/// A program that gives what it takes.
fn echo() -> Result<Vec<u8>, Fault> {
    let node = |id, inputs, outputs, body| Node {
        id,
        name: "reply".to_owned(),
        inputs,
        outputs,
        effects: Effects::default(),
        uncertainty: Uncertainty::Deterministic,
        bounds: Bounds::default(),
        body,
    };
    let port = || vec![Port::new("value", Type::Json)];
    let nodes = vec![node(0, Vec::new(), port(), Body::Input), node(1, port(), Vec::new(), Body::Output)];
    let edges = vec![Edge { from: End { node: 0, port: 0 }, to: End { node: 1, port: 0 } }];
    let graph = Graph { name: "reply".to_owned(), nodes, edges, regions: Vec::new() };
    graph.to_bytes().map_err(|_| fault("bad-graph", "a program that gives what it takes is sound"))
}

/// A guard of the member `ok` or `err` of a caught reply; `other` says whether the other one may
/// be there.
fn inside(member: &str, guard: Guard, other: bool) -> Guard {
    let deeper = |path: String| format!("/{member}{path}");
    let checks = guard.checks.into_iter().map(|check| match check {
        Check::Shape { ty } => Check::Shape { ty: caught(member, ty, other) },
        Check::Length { path, min, max } => Check::Length { path: deeper(path), min, max },
        Check::Characters { path, classes } => Check::Characters { path: deeper(path), classes },
        Check::Range { path, min, max } => Check::Range { path: deeper(path), min, max },
        Check::Sketch { path, bits, table } => Check::Sketch { path: deeper(path), bits, table },
        Check::Score { path, scale } => Check::Score { path: deeper(path), scale },
    });
    Guard { limit: guard.limit, checks: checks.collect() }
}

fn caught(member: &str, ty: Type, other: bool) -> Type {
    let mut fields = vec![Field { name: member.to_owned(), optional: other, ty }];
    if other {
        let name = if member == "ok" { "err" } else { "ok" };
        fields.push(Field { name: name.to_owned(), optional: true, ty: Type::Json });
    }
    Type::Record(fields).canonical()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_that_never_change_are_tested() {
        let told = |replies: &[&str], catches| {
            let seen = replies.iter().map(|text| Seen { group: 0, reply: Ok(Value::parse(text).unwrap()) });
            let input = super::super::hole::Hole { place: String::new(), rows: Vec::new(), program: "$".to_owned() };
            let (seen, capability) = (seen.collect(), "tool:t".to_owned());
            always(&Ask { capability, input, catches, reply: Type::Json, seen, guards: Vec::new(), always: None })
        };
        let test = told(&[r#"{"a":true,"b":{"c":false},"n":1}"#, r#"{"a":true,"b":{"c":false},"n":2}"#], false);
        assert_eq!(test.as_deref(), Some("and(eq($.a, true), eq($.b.c, false))"));
        assert_eq!(told(&["true"], true).as_deref(), Some("default(eq($.ok, true), true)"));
        assert_eq!(told(&[r#"{"a":true}"#, r#"{"a":false}"#], false), None);
        assert_eq!(told(&[r#"{"a":true}"#, "{}"], false), None);
    }

    #[test]
    fn errors_that_come_again_are_taken_for_all_there_are() {
        let seen = |group, text: &str| Seen { group, reply: Err(text.to_owned()) };
        let hole = super::super::hole::Hole { place: String::new(), rows: Vec::new(), program: "$".to_owned() };
        let ask = Ask {
            capability: "tool:pay".to_owned(),
            input: hole,
            catches: true,
            reply: Type::Json,
            seen: vec![seen(0, "ValueError: declined"), seen(1, "ValueError: declined")],
            guards: Vec::new(),
            always: None,
        };
        // Without a reply there is nothing to calibrate, so no pass is called.
        let made = guards(&ask, 950_000).unwrap();
        let ty = r#"record{err: enum{"ValueError: declined", "declined"}}"#.parse().unwrap();
        assert_eq!(made, [Guard { limit: 0, checks: vec![Check::Shape { ty }] }]);
    }
}
