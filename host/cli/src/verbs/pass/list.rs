//! `pass list`: which components there are, who serves what, and what a call of each costs.

use std::path::PathBuf;

use auto_conformance::Bench;
use auto_engine::Pass;
use auto_json::{Record, Value};
use auto_schema::shown;

use super::test::suite;
use crate::components::{Pinned, Toolbox};
use crate::failure::Failure;
use crate::options::Global;
use crate::reply::Reply;
use crate::signed::Signed;

pub fn list(global: &Global, extra: &[PathBuf]) -> Result<Reply, Failure> {
    let toolbox = Toolbox::open_unpinned(global, extra)?;
    let (mut text, mut rows) = (String::new(), Vec::new());
    for pass in &toolbox.all {
        let (origin, pinned) = (origin(&toolbox, pass), toolbox.pinned(global, pass));
        let costs = costs(&toolbox, pass)?;
        let signed = toolbox.signed.get(&pass.digest).cloned().unwrap_or_default();
        text.push_str(&told(pass, origin, pinned, &costs, &signed));
        rows.push(row(pass, origin, pinned, costs, &signed));
    }
    let stacks = stacks(&toolbox);
    if rows.is_empty() {
        text.push_str("no components: build with `cargo xtask build`, or name a folder with --passes DIR");
    } else {
        text.push_str("who serves an interface, the topmost first:\n");
    }
    for (interface, providers) in &stacks {
        let names: Vec<String> = providers.iter().map(|pass| shown(&pass.label)).collect();
        text.push_str(&format!("  {}: {}\n", shown(interface), names.join(" over ")));
    }
    let stack = |(interface, providers): (String, Vec<&Pass>)| -> Value {
        let names: Vec<Value> = providers.iter().map(|pass| pass.digest.to_string().into()).collect();
        Record::new().with("interface", interface).with("providers", names).into()
    };
    let stacks: Vec<Value> = stacks.into_iter().map(stack).collect();
    let fields = Record::new().with("passes", rows).with("stacks", stacks);
    Ok(Reply::done("passes", text.trim_end(), fields))
}

fn origin(toolbox: &Toolbox, pass: &Pass) -> &'static str {
    if toolbox.builtin.contains(&pass.digest) { "built in" } else { "given" }
}

/// Fuel of one call of each interface that there are vectors for, with everything else beneath.
fn costs(toolbox: &Toolbox, pass: &std::sync::Arc<Pass>) -> Result<Vec<(String, u64)>, Failure> {
    let bench = Bench::new(&toolbox.engine, &toolbox.beneath(pass), pass.clone());
    let mut costs = Vec::new();
    for interface in &pass.exports {
        let Some(suite) = suite(interface)? else { continue };
        costs.extend(bench.cost(&suite).map(|fuel| (interface.clone(), fuel)));
    }
    Ok(costs)
}

/// Who exports each interface of the stack, the topmost first. Drivers and importers are chosen by
/// name.
fn stacks(toolbox: &Toolbox) -> Vec<(String, Vec<&Pass>)> {
    let mut stacks: Vec<(String, Vec<&Pass>)> = Vec::new();
    for pass in toolbox.providers.list() {
        for interface in pass.exports.iter().filter(|name| pass.interface(name).is_some()) {
            match stacks.iter_mut().find(|(name, _)| name == interface) {
                Some((_, providers)) => providers.push(pass),
                None => stacks.push((interface.clone(), vec![pass])),
            }
        }
    }
    stacks.sort_by(|(one, _), (other, _)| one.cmp(other));
    stacks
}

fn told(pass: &Pass, origin: &str, pinned: Pinned, costs: &[(String, u64)], signed: &Signed) -> String {
    let note = match pinned {
        Pinned::Unasked => "",
        Pinned::Yes => ", pinned",
        Pinned::No => ", not pinned",
        Pinned::Changed => ", pinned as something else",
    };
    let mut text = format!("{} ({origin}, {} bytes{note})\n  sha-256 {}\n", shown(&pass.label), pass.size, pass.digest);
    signed.by.iter().for_each(|key| text.push_str(&format!("  signed by {key}\n")));
    for name in &signed.claimed {
        text.push_str(&format!("  signed, it says, by {}, which auto.toml does not name\n", shown(name)));
    }
    for name in &pass.exports {
        let cost = costs.iter().find(|(interface, _)| interface == name);
        let cost = cost.map_or(String::new(), |(_, fuel)| format!(" (a small call: {fuel} fuel)"));
        text.push_str(&format!("  exports {}{cost}\n", shown(name)));
    }
    pass.imports.iter().for_each(|name| text.push_str(&format!("  imports {}\n", shown(name))));
    text
}

fn row(pass: &Pass, origin: &str, pinned: Pinned, costs: Vec<(String, u64)>, signed: &Signed) -> Value {
    let names = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>();
    let costs: Record = costs.into_iter().map(|(interface, fuel)| (interface, fuel.into())).collect();
    let pinned: Option<bool> = match pinned {
        Pinned::Unasked => None,
        pinned => Some(pinned == Pinned::Yes),
    };
    Record::new()
        .with("name", pass.label.as_str())
        .with("digest", pass.digest.to_string())
        .with("bytes", pass.size)
        .with("builtin", origin == "built in")
        .with("pinned", pinned)
        .with("signed_by", signed.by.iter().map(|key| key.to_string().into()).collect::<Vec<Value>>())
        .with("exports", names(&pass.exports))
        .with("imports", names(&pass.imports))
        .with("fuel", costs)
        .into()
}
