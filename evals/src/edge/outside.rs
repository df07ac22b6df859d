//! Engines that are programs: the package for them, and a driver that runs the inputs in it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, bail, ensure};
use auto_export::Target;
use auto_json::{Record, Value};

use super::{Run, Work};

/// V8, as Node has it.
pub(super) fn node(work: &Work<'_>) -> anyhow::Result<Run> {
    let folder = unpacked(work, Target::Node)?;
    std::fs::write(folder.path().join("driver.mjs"), include_str!("driver.mjs"))?;
    asked(Command::new("node").arg("node.mjs"), folder.path(), work, ("node.mjs", include_str!("node.mjs")))
}

/// Wasmtime for Python; `PYTHONPATH` says where it is, if it is not installed.
pub(super) fn python(work: &Work<'_>) -> anyhow::Result<Run> {
    let folder = unpacked(work, Target::Python)?;
    asked(
        Command::new("python3").args(["-B", "driver.py"]),
        folder.path(),
        work,
        ("driver.py", include_str!("driver.py")),
    )
}

/// The package in a folder of its own.
pub(super) fn unpacked(work: &Work<'_>, target: Target) -> anyhow::Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    for (place, bytes) in (work.package)(target)? {
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().context("a place in the folder")?)?;
        std::fs::write(path, bytes)?;
    }
    Ok(folder)
}

/// What goes to a driver: a line `{"inputs", "rounds", "timed", "reusable"}`.
pub(super) fn task(work: &Work<'_>) -> String {
    let inputs = work.inputs.iter().map(|input| Value::from(input.as_str())).collect();
    let task = Record::new().with("inputs", Value::List(inputs));
    Value::from(task.with("rounds", work.rounds).with("timed", work.timed).with("reusable", work.reusable)).to_string()
}

/// What comes back: `{"lines", "load_ns", "call_ns", "memory"}`.
pub(super) fn report(text: &str) -> anyhow::Result<Run> {
    let report = Value::parse(text).map_err(|error| anyhow::anyhow!("the driver said {text:.200}: {error}"))?;
    if let Some(error) = report.get("error") {
        bail!("{error}");
    }
    let number = |key: &str| report.get(key).and_then(Value::as_u64).with_context(|| format!("no {key} in {report}"));
    let lines = report.get("lines").and_then(Value::as_list).context("no lines")?;
    Ok(Run {
        lines: lines.iter().filter_map(|line| line.as_text().map(str::to_owned)).collect(),
        load_ns: number("load_ns")? as f64,
        call_ns: number("call_ns")? as f64,
        memory: number("memory")?,
    })
}

fn asked(command: &mut Command, folder: &Path, work: &Work<'_>, driver: (&str, &str)) -> anyhow::Result<Run> {
    std::fs::write(folder.join(driver.0), driver.1)?;
    command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().with_context(|| format!("{:?} cannot be run", command.get_program()))?;
    let mut stdin = child.stdin.take().context("no stdin")?;
    // A driver reads all before it writes anything; one that ends before says why on stderr.
    let _ = stdin.write_all(task(work).as_bytes());
    drop(stdin);
    let output = child.wait_with_output()?;
    let told = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", told.trim_end().lines().last().unwrap_or("the driver failed"));
    report(&String::from_utf8_lossy(&output.stdout))
}
