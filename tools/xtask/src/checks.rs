//! `test` and `ci`: which checks there are, and in what order.

use std::process::Command;

use anyhow::Result;

use crate::workspace::{Line, Workspace, run};
use crate::{codegen, components, frozen, fuzz, setup};

/// Builds, then runs every test, the SDK's among them; the test runner's summary is the last
/// thing printed.
pub fn test(workspace: &Workspace) -> Result<()> {
    setup::for_tests(workspace)?;
    components::build_all(workspace)?;
    components::build_tests(workspace)?;
    step(workspace.cargo(["test", "--release", "--workspace", "--doc"]))?;
    // What a store is in a server: a crate and its feature alone, so that nothing else is built again.
    let feature = ["--features", "auto-store/postgres", "--test", "postgres"];
    step(workspace.cargo(["test", "--release", "--workspace"].into_iter().chain(feature)))?;
    let mut tests = workspace.cargo(["test", "--release", "--workspace", "--lib", "--bins", "--tests"]);
    step({
        tests.env("PATH", setup::path());
        tests
    })
}

/// The same, and what is left out there because it fetches or takes minutes.
pub fn test_all(workspace: &Workspace) -> Result<()> {
    test(workspace)?;
    let slow = ["templates", "edge", "wheel", "loaders", "cargo_component"].iter().flat_map(|name| ["--test", name]);
    let mut command = workspace.cargo(["test", "--release", "--workspace"]);
    step({
        command.args(slow).args(["--", "--ignored", "--nocapture"]);
        command
    })
}

/// Everything that must hold before a change lands.
pub fn ci(workspace: &Workspace) -> Result<()> {
    setup::for_tests(workspace)?;
    step(workspace.cargo(["fmt", "--all", "--check"]))?;
    codegen::run_verb(workspace, codegen::Mode::Check)?;
    frozen::check(workspace)?;
    components::build_all(workspace)?;
    step(workspace.cargo(["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    step(components::clippy(workspace)?)?;
    fuzz::run_verb(workspace, fuzz::Options::default())?;
    test(workspace)
}

fn step(mut command: Command) -> Result<()> {
    eprintln!("$ {}", Line(&command));
    run(&mut command)
}
