//! The demo.
use crate::workspace::Workspace;
use anyhow::{Result, bail};
/// Runs it.
pub fn run(_: &Workspace) -> Result<()> {
    bail!("not yet")
}
