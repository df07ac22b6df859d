//! `wheel`: the Python package over the runtime.

use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{Workspace, output, run};

/// Builds the native module, beside the binaries so that wasmtime is built once for all, and packs it.
pub fn run_verb(workspace: &Workspace) -> Result<()> {
    run(&mut workspace.cargo(["build", "--release", "-p", "auto-host", "-p", "auto-evals", "-p", "auto-python"]))?;
    let module = workspace.binary("auto-host").with_file_name(format!(
        "{}auto_cbin{}",
        std::env::consts::DLL_PREFIX,
        std::env::consts::DLL_SUFFIX
    ));
    let mut pack = Command::new("python3");
    pack.arg(workspace.path("tools/wheel/pack.py")).arg(module).arg(env!("CARGO_PKG_VERSION"));
    let made = output(pack.arg(workspace.path("target/wheel"))).context("packing the wheel")?;
    println!("{}", made.trim());
    Ok(())
}
