//! What tests use that is not of this project: packages from PyPI and npm, put into
//! `target/outside` once.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::root;

/// The Python that `python3` starts in the end: a shim before it may take longer than most scripts.
pub fn interpreter() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let said = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let said = said.ok().filter(|said| said.status.success()).and_then(|said| String::from_utf8(said.stdout).ok());
        said.map_or_else(|| PathBuf::from("python3"), |path| PathBuf::from(path.trim()))
    })
}

/// The path of programs, where `python3` is that one.
pub fn path() -> OsString {
    let others = std::env::var_os("PATH").unwrap_or_default();
    let folder = interpreter().parent().filter(|folder| folder.join("python3").exists()).map(Path::to_owned);
    std::env::join_paths(folder.into_iter().chain(std::env::split_paths(&others))).unwrap_or(others)
}

/// The folder with these packages from PyPI, for `PYTHONPATH`; none, said on stderr, where they
/// cannot be had.
pub fn python(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let folder = root().join("target/outside/python").join(name);
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"])
        .arg(&folder)
        .args(packages);
    installed(&folder, &mut pip)
}

/// The folder with these packages from npm, in `node_modules`; none, said on stderr, where they
/// cannot be had.
pub fn npm(name: &str, packages: &[&str]) -> Option<PathBuf> {
    let folder = root().join("target/outside/npm").join(name);
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--silent", "--prefix"]).arg(&folder).args(packages);
    installed(&folder, &mut npm)
}

/// Whether a program is there, said on stderr where it is not.
pub fn has(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("skipped: {program} cannot be run");
    }
    there
}

/// Runs an installer unless it once ran to its end.
fn installed(folder: &Path, installer: &mut Command) -> Option<PathBuf> {
    let done = folder.join(".installed");
    if done.exists() {
        return Some(folder.to_owned());
    }
    std::fs::create_dir_all(folder).ok()?;
    let why = match installer.output() {
        Ok(output) if output.status.success() => {
            std::fs::write(done, "").ok()?;
            return Some(folder.to_owned());
        }
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    eprintln!("skipped: {installer:?}: {why}");
    None
}
