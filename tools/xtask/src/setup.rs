//! Checks the machine for what building needs, installs what rustup can install, and names
//! the exact command for the rest.

use std::ffi::OsString;
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::components::TARGET;
use crate::workspace::{Workspace, run};

/// wasmtime's minimum; `rust-version` in the workspace's Cargo.toml.
const RUST: (u32, u32) = (1, 95);
const PYTHON: (u32, u32) = (3, 9);

/// What a component is built for that uses the whole of `std`; only the tests have one.
const WASI_TARGET: &str = "wasm32-wasip2";

/// What became of one requirement.
struct Finding {
    what: &'static str,
    state: State,
}

enum State {
    Present(String),
    Installed,
    /// With the command that gets it.
    Missing(String),
}

/// The verb: prints a line for each, fails where something is missing.
pub fn run_verb(workspace: &Workspace) -> Result<()> {
    report(&findings(workspace))
}

/// The same, with what only the tests need.
pub fn for_tests(workspace: &Workspace) -> Result<()> {
    let mut findings = findings(workspace);
    findings.push(Finding { what: "the WASI target (tests)", state: wasm_target(workspace, WASI_TARGET) });
    findings.push(Finding { what: "strace (tests)", state: tool("strace", "sudo apt-get install -y strace") });
    findings.push(Finding { what: "unshare (tests)", state: tool("unshare", "sudo apt-get install -y util-linux") });
    report(&findings)
}

fn findings(workspace: &Workspace) -> Vec<Finding> {
    vec![
        Finding { what: "Rust 1.95 or newer", state: rust(workspace) },
        Finding { what: "the wasm target", state: wasm_target(workspace, TARGET) },
        Finding { what: "a C compiler", state: compiler() },
        Finding { what: "a C++ compiler", state: cplusplus() },
        Finding { what: "Python 3.9 or newer", state: python() },
        Finding { what: "git", state: tool("git", "sudo apt-get install -y git") },
    ]
}

fn report(findings: &[Finding]) -> Result<()> {
    for finding in findings {
        eprintln!("  {:<24} {}", finding.what, finding.state);
    }
    let missing = findings.iter().filter(|finding| matches!(finding.state, State::Missing(_))).count();
    if missing > 0 {
        bail!("{missing} of {} requirements missing; the commands above install them", findings.len());
    }
    Ok(())
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Present(version) => f.write_str(version),
            State::Installed => f.write_str("installed"),
            State::Missing(command) => write!(f, "MISSING; run: {command}"),
        }
    }
}

fn rust(workspace: &Workspace) -> State {
    match version(Command::new("rustc").arg("-V").current_dir(&workspace.root)) {
        Some((text, found)) if found >= RUST => State::Present(text),
        _ => State::Missing("rustup update stable   (rustup itself: https://rustup.rs)".to_owned()),
    }
}

fn wasm_target(workspace: &Workspace, target: &str) -> State {
    if has_target(workspace, target) {
        return State::Present(target.to_owned());
    }
    eprintln!("  installing the target {target}");
    let installed = run(Command::new("rustup").args(["target", "add", target]).current_dir(&workspace.root));
    if installed.is_ok() && has_target(workspace, target) {
        return State::Installed;
    }
    State::Missing(format!("rustup target add {target}"))
}

fn has_target(workspace: &Workspace, target: &str) -> bool {
    let printed = Command::new("rustc").args(["--print", "sysroot"]).current_dir(&workspace.root).output();
    let Ok(printed) = printed else { return false };
    let sysroot = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    Path::new(&sysroot).join("lib/rustlib").join(target).join("lib").is_dir()
}

fn compiler() -> State {
    let named = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    tool(&named, "sudo apt-get install -y gcc libc6-dev")
}

/// For libFuzzer alone.
fn cplusplus() -> State {
    let named = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
    tool(&named, "sudo apt-get install -y g++")
}

fn python() -> State {
    match version(Command::new("python3").arg("--version")) {
        Some((text, found)) if found >= PYTHON => State::Present(text),
        _ => State::Missing("sudo apt-get install -y python3".to_owned()),
    }
}

/// The path of programs, where `python3` is the one that it starts in the end: a shim before it may take
/// longer than most scripts that tests run.
pub fn path() -> OsString {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let said = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
    let python = said.ok().and_then(|said| String::from_utf8(said.stdout).ok());
    let folder = python.and_then(|python| Some(Path::new(python.trim()).parent()?.to_owned()));
    let folder = folder.filter(|folder| folder.join("python3").exists());
    std::env::join_paths(folder.into_iter().chain(std::env::split_paths(&others))).unwrap_or(others)
}

fn tool(program: &str, command: &str) -> State {
    match version(Command::new(program).arg("--version")) {
        Some((text, _)) => State::Present(text),
        None => State::Missing(command.to_owned()),
    }
}

/// The first line a program prints, and the first two numbers in it.
fn version(command: &mut Command) -> Option<(String, (u32, u32))> {
    let printed = command.stdin(Stdio::null()).output().ok().filter(|printed| printed.status.success())?;
    let line = String::from_utf8_lossy(&printed.stdout).lines().next().unwrap_or_default().trim().to_owned();
    let numbers = numbers(&line);
    Some((line, numbers))
}

/// The version in a line such as `rustc 1.95.0 (59807616e 2026-04-14)`; zeros where none is.
fn numbers(line: &str) -> (u32, u32) {
    let is_version = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    let mut parts = line.split_whitespace().find(is_version).unwrap_or_default().split('.');
    let mut next = || parts.next().and_then(|part| part.parse().ok()).unwrap_or(0);
    (next(), next())
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn finds_the_version_in_what_tools_print() {
        assert_eq!(numbers("rustc 1.95.0 (59807616e 2026-04-14)"), (1, 95));
        assert_eq!(numbers("Python 3.13.5"), (3, 13));
        assert_eq!(numbers("cc (Debian 14.2.0-19) 14.2.0"), (14, 2));
        assert_eq!(numbers("git version 2.47.3"), (2, 47));
        assert_eq!(numbers("something else"), (0, 0));
    }
}
