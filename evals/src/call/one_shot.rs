//! A process for each call: `auto-host run FILE --input JSON`, with the compiled code cached.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};
use auto_json::Record;

use crate::clock::{Effort, figure, median};

/// The most processes that are started: each takes milliseconds.
const MOST: usize = 101;

/// Nanoseconds of a call by the clock and of a processor, and of `auto-host --help` beside it.
pub fn measure(effort: &Effort, artifact: &Path, inputs: &[String]) -> anyhow::Result<Record> {
    let cache = tempfile::tempdir()?;
    // A cache has to be closed to others, and is made so where it is not there.
    let cache = cache.path().join("cache");
    let run = |input: &str| {
        let mut command = host()?;
        command.arg("run").arg(artifact).args(["--input", input]).env("AUTO_CACHE", &cache);
        once(&mut command)
    };
    // The first one compiles.
    run(&inputs[0])?;
    let (mut calls, mut helps) = (Vec::new(), Vec::new());
    let rounds = effort.rounds.clamp(1, MOST);
    let mut processor = 0.0;
    for round in 0..rounds {
        let before = children()?;
        calls.push(run(&inputs[round % inputs.len()])?);
        processor += children()? - before;
        helps.push(once(host()?.arg("--help"))?);
    }
    let report = Record::new()
        .with("one_shot", figure(median(calls), 0))
        .with("one_shot_processor", figure(processor / rounds as f64, 0))
        .with("help", figure(median(helps), 0));
    for (name, value) in report.iter() {
        eprintln!("{name:>24} {value:>14} ns");
    }
    Ok(report)
}

/// The binary that was built with this one.
fn host() -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?.with_file_name("auto-host"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

/// Runs a process, and returns the nanoseconds until it had ended. It may abstain.
fn once(command: &mut Command) -> anyhow::Result<f64> {
    let begun = Instant::now();
    let status = command.status().context("starting auto-host (build it first)")?;
    let took = begun.elapsed().as_nanos() as f64;
    ensure!(matches!(status.code(), Some(0 | 3)), "auto-host ended with {status}");
    Ok(took)
}

/// Nanoseconds of a processor that ended processes of this one took, in the system's ticks of ten
/// milliseconds: right as a mean over many.
fn children() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may have spaces: state, then the 12th and 13th field.
    let (_, rest) = stat.rsplit_once(')').context("/proc/self/stat has no name")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks =
        |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok()).context("/proc/self/stat is short");
    Ok((ticks(13)? + ticks(14)?) * 1e7)
}
