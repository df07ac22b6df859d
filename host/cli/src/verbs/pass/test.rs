//! `pass test`: whether a component does what its interfaces ask of every pass.

use std::path::{Path, PathBuf};

use auto_conformance::{Bench, Outcome, Suite, Verdict};
use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_schema::{shown, shown_path};

use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply, count};

pub fn test(global: &Global, file: &Path, beneath: &[PathBuf]) -> Result<Reply, Failure> {
    let toolbox = Toolbox::open(global, beneath)?;
    let (label, bytes) = (shown_path(file), files::read(file)?);
    // Code of what came with the binary is at hand.
    let known = toolbox.all.iter().find(|known| known.digest == Digest::of(&bytes)).cloned();
    let pass = known.map_or_else(|| toolbox.engine.load(&label, bytes), Ok)?;
    let (mut suites, mut untested) = (Vec::new(), Vec::new());
    for interface in pass.exports.iter().filter(|name| pass.interface(name).is_some()) {
        match suite(interface)? {
            Some(suite) => suites.push(suite),
            None => untested.push(interface.clone()),
        }
    }
    let bench = Bench::new(&toolbox.engine, &toolbox.providers, pass.clone());
    let tried: Vec<(Suite, Vec<Outcome>)> = suites
        .into_iter()
        .map(|suite| {
            let outcomes = bench.run(&suite);
            (suite, outcomes)
        })
        .collect();
    let fields = Record::new()
        .with("digest", pass.digest.to_string())
        .with("interfaces", tried.iter().map(fields).collect::<Vec<_>>())
        .with("untested", untested.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>());
    let (code, exit) = end(&tried);
    Ok(Reply::done(code, text(&label, &tried, &untested), fields).exit(exit))
}

/// The vectors of an interface; those that come with this binary can be read.
pub fn suite(interface: &str) -> Result<Option<Suite>, Failure> {
    auto_conformance::suite(interface).map_err(|bad| Failure::new(Exit::Refused, "bad-vector", bad.to_string()))
}

fn end(tried: &[(Suite, Vec<Outcome>)]) -> (&'static str, Exit) {
    let mut broken = tried.iter().flat_map(|(_, outcomes)| outcomes).filter_map(|outcome| match &outcome.verdict {
        Verdict::Holds => None,
        Verdict::Broken { breakage, .. } => Some(*breakage),
    });
    match broken.next() {
        // What cannot be measured is no pass.
        None if tried.is_empty() => ("no-vectors", Exit::Inconclusive),
        None => ("conforms", Exit::Done),
        Some(first) if first || broken.any(|breakage| breakage) => ("does-not-conform", Exit::Broken),
        Some(_) => ("does-not-conform", Exit::Refused),
    }
}

fn text(label: &str, tried: &[(Suite, Vec<Outcome>)], untested: &[String]) -> String {
    let mut text = String::new();
    for (suite, outcomes) in tried {
        let vectors = count(outcomes.len() as u64, "vector");
        text.push_str(&format!("{}: {}, {vectors}\n", shown(label), suite.interface));
        outcomes.iter().for_each(|outcome| text.push_str(&line(outcome)));
    }
    untested.iter().for_each(|name| text.push_str(&format!("{}: no vectors for {}\n", shown(label), shown(name))));
    let outcomes = || tried.iter().flat_map(|(_, outcomes)| outcomes);
    let broken = outcomes().filter(|outcome| outcome.verdict != Verdict::Holds).count();
    text + &match (outcomes().count(), broken) {
        (0, _) => "nothing is known of what it has to do".to_owned(),
        (all, 0) => format!("all {all} hold"),
        (all, broken) => format!("{broken} of {all} are broken"),
    }
}

fn line(outcome: &Outcome) -> String {
    match &outcome.verdict {
        Verdict::Holds => format!("  ok      {}\n", outcome.vector),
        Verdict::Broken { input, expected, got, log, .. } => {
            let mut line = format!("  BROKEN  {}\n    call:     {} {input}\n", outcome.vector, outcome.function);
            line.push_str(&format!("    expected: {}\n    got:      {}\n", shown(expected), shown(got)));
            log.iter().for_each(|said| line.push_str(&format!("    log: {}\n", shown(said))));
            line
        }
    }
}

fn fields((suite, outcomes): &(Suite, Vec<Outcome>)) -> Value {
    let vector = |outcome: &Outcome| -> Value {
        let record = Record::new()
            .with("name", outcome.vector.as_str())
            .with("function", outcome.function.as_str())
            .with("fuel", outcome.fuel)
            .with("holds", outcome.verdict == Verdict::Holds);
        match &outcome.verdict {
            Verdict::Holds => record.into(),
            Verdict::Broken { input, expected, got, log, .. } => record
                .with("input", input.as_str())
                .with("expected", expected.as_str())
                .with("got", got.as_str())
                .with("log", log.iter().map(|line| line.as_str().into()).collect::<Vec<Value>>())
                .into(),
        }
    };
    let vectors: Vec<Value> = outcomes.iter().map(vector).collect();
    Record::new().with("interface", suite.interface.as_str()).with("vectors", vectors).into()
}
