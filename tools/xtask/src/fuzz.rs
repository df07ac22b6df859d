//! `fuzz`: builds the fuzz targets and gives each a bounded run.
//!
//! No nightly compiler and no sanitizer, since there is hardly any unsafe code to watch: what
//! is looked for is a panic, an overflow, a broken promise, a read that takes too long or too
//! much memory. The targets that need the engine are built only when one is asked for by name:
//! wasmtime with counters takes minutes. `cargo fuzz run json` works in `tests/fuzz` as well.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::workspace::{Line, Workspace, output, run};

/// How many inputs a target gets where no time is given: the same ones each time, since the
/// seed is fixed too.
const RUNS: u32 = 10_000;

/// A run of that many inputs ends after this many seconds in any case.
const LONGEST: u32 = 10;

/// How long and over what to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// Seconds for each target; a fixed number of inputs where none.
    pub seconds: Option<u32>,
    /// Only this target.
    pub target: Option<&'a str>,
}

/// Reads `[--seconds N] [TARGET]`.
pub fn options<'a>(words: &[&'a str]) -> Result<Options<'a>> {
    match *words {
        [] => Ok(Options::default()),
        ["--seconds", seconds, ref rest @ ..] => {
            let seconds = seconds.parse().with_context(|| format!("`{seconds}` is not a number of seconds"))?;
            Ok(Options { seconds: Some(seconds), ..options(rest)? })
        }
        [target] if !target.starts_with('-') => Ok(Options { target: Some(target), ..Options::default() }),
        _ => bail!("fuzz takes [--seconds N] [TARGET]"),
    }
}

/// What libFuzzer steers by; rustc's own, and stable.
const COUNTERS: [&str; 6] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// The targets that need the engine.
const OF_ENGINE: [&str; 4] = ["component", "journal", "returned", "values"];

/// The verb. What a target fails on is left in `tests/fuzz/artifacts`.
pub fn run_verb(workspace: &Workspace, options: Options<'_>) -> Result<()> {
    let all = targets(workspace)?;
    let chosen = |name: &&String| match options.target {
        Some(target) => target == **name,
        None => !OF_ENGINE.contains(&name.as_str()),
    };
    let chosen: Vec<&String> = all.iter().filter(chosen).collect();
    if chosen.is_empty() {
        bail!("there is no fuzz target `{}`; there are {}", options.target.unwrap_or_default(), all.join(", "));
    }
    let engine = options.target.is_some_and(|name| OF_ENGINE.contains(&name));
    let programs = build(workspace, engine)?;
    for name in chosen {
        fuzz(workspace, &programs.join(name), name, options.seconds)?;
    }
    Ok(())
}

/// Builds the targets; gives the folder they are in.
fn build(workspace: &Workspace, engine: bool) -> Result<PathBuf> {
    // The same versions as everywhere; cargo adds what only fuzzing needs.
    std::fs::copy(workspace.path("Cargo.lock"), workspace.path("tests/fuzz/Cargo.lock"))
        .context("could not copy Cargo.lock to tests/fuzz")?;
    let host = host(workspace)?;
    let features = if engine { "engine" } else { "" };
    let mut command = workspace.cargo(["build", "--release", "--bins", "--target", &host, "--features", features]);
    command.arg("--target-dir").arg(workspace.path(BUILD)).current_dir(workspace.path("tests/fuzz"));
    command.env("CARGO_ENCODED_RUSTFLAGS", COUNTERS.join("\x1f")).env_remove("RUSTFLAGS");
    step(&mut command)?;
    Ok(workspace.path(BUILD).join(host).join("release"))
}

/// Where the targets are built: with other flags than everything else.
const BUILD: &str = "target/fuzz";

/// This machine's target. It has to be given, so that the counters do not go into build
/// scripts.
fn host(workspace: &Workspace) -> Result<String> {
    let printed = output(Command::new("rustc").arg("-vV").current_dir(&workspace.root))?;
    let host = printed.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc -vV names no host")
}

/// The targets are the files in `fuzz_targets`.
fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let folder = workspace.path("tests/fuzz/fuzz_targets");
    let entries = std::fs::read_dir(&folder).with_context(|| format!("could not read {}", folder.display()))?;
    let name = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| name(&entry.path())).collect();
    names.sort();
    Ok(names)
}

fn fuzz(workspace: &Workspace, program: &Path, name: &str, seconds: Option<u32>) -> Result<()> {
    let artifacts = workspace.path("tests/fuzz/artifacts");
    // Where time is given, what one run finds is kept for the next; a fixed number of inputs
    // starts from the seeds alone.
    let corpus = workspace.path(if seconds.is_some() { "target/corpus" } else { "target/fuzz/fixed" }).join(name);
    if seconds.is_none() && corpus.exists() {
        std::fs::remove_dir_all(&corpus).with_context(|| format!("could not remove {}", corpus.display()))?;
    }
    for folder in [&artifacts, &corpus] {
        std::fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    }
    let runs = if seconds.is_some() { -1 } else { i64::from(RUNS) };
    let mut command = Command::new(program);
    command
        .arg(format!("-runs={runs}"))
        .arg(format!("-max_total_time={}", seconds.unwrap_or(LONGEST)))
        .args([
            "-seed=1",
            "-rss_limit_mb=2048",
            "-timeout=10",
            "-max_len=32768",
            "-verbosity=0",
            "-print_final_stats=1",
        ])
        .arg(format!("-artifact_prefix={}/{name}-", artifacts.display()))
        .args([&corpus, &workspace.path("tests/fuzz/seeds").join(name)]);
    step(&mut command)
}

fn step(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", Line(command));
    run(command)
}

#[cfg(test)]
mod tests {
    use super::{Options, options};

    #[test]
    fn seconds_and_a_target_may_be_given() {
        assert_eq!(options(&[]).unwrap(), Options::default());
        let both = Options { seconds: Some(9), target: Some("json") };
        assert_eq!(options(&["--seconds", "9", "json"]).unwrap(), both);
        assert!(options(&["--seconds", "soon"]).is_err());
        assert!(options(&["json", "types"]).is_err());
    }
}
