//! `test` and `ci`: which checks there are, and in what order.

use std::process::Command;

use anyhow::Result;

use crate::workspace::{Line, Workspace, run};
use crate::{codegen, components, frozen, setup};

/// Builds, then runs every test; the test runner's summary is the last thing printed.
pub fn test(workspace: &Workspace) -> Result<()> {
    setup::run_verb(workspace)?;
    components::build_all(workspace)?;
    step(python_tests(workspace))?;
    step(workspace.cargo(["test", "--release", "--workspace"]))
}

/// Everything that must hold before a change lands.
pub fn ci(workspace: &Workspace) -> Result<()> {
    setup::run_verb(workspace)?;
    step(workspace.cargo(["fmt", "--all", "--check"]))?;
    codegen::run_verb(workspace, codegen::Mode::Check)?;
    frozen::check(workspace)?;
    components::build_all(workspace)?;
    step(workspace.cargo(["clippy", "--release", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
    test(workspace)
}

fn python_tests(workspace: &Workspace) -> Command {
    let mut command = Command::new("python3");
    command.args(["-m", "unittest", "discover", "--start-directory", "tests"]);
    command.current_dir(workspace.path("tools/sdk/python")).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn step(mut command: Command) -> Result<()> {
    eprintln!("$ {}", Line(&command));
    run(&mut command)
}
