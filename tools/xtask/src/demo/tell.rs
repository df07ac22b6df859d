//! The narration, and the commands it shows: each is printed as one would type it, then
//! its output, and its exit code is checked.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::workspace::Line;

/// Longer lines of output are cut; the commands themselves are not.
const WIDTH: usize = 160;

/// Opens a part.
pub fn heading(title: &str) {
    println!("\n== {title}");
}

/// A line of the story.
pub fn say(line: &str) {
    println!("{line}");
}

/// A program that is run several times in one folder.
#[derive(Clone)]
pub struct Program {
    path: PathBuf,
    folder: PathBuf,
    environment: Vec<(String, String)>,
    quiet: bool,
}

/// What a run came to.
pub struct Ran {
    /// What it printed.
    pub stdout: String,
    /// Wall-clock time.
    pub millis: u128,
}

impl Program {
    /// A program whose commands run in `folder` and keep their cache there.
    pub fn new(path: PathBuf, folder: &Path) -> Program {
        let cache = ("AUTO_CACHE".to_owned(), folder.join("cache").display().to_string());
        Program { path, folder: folder.to_owned(), environment: vec![cache], quiet: false }
    }

    /// The same with a variable set.
    pub fn with(&self, name: &str, value: &str) -> Program {
        let mut program = self.clone();
        program.environment.push((name.to_owned(), value.to_owned()));
        program
    }

    /// The same with its output shown only if it ends otherwise than expected.
    pub fn quiet(&self) -> Program {
        Program { quiet: true, ..self.clone() }
    }

    /// Runs a command that must end with that exit code.
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Result<Ran> {
        let mut command = Command::new(&self.path);
        command.args(arguments).current_dir(&self.folder).stdin(Stdio::null());
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        println!("$ {}", Line(&command));
        let started = Instant::now();
        let result = command.output().with_context(|| format!("could not start {}", self.path.display()))?;
        let millis = started.elapsed().as_millis();
        let stdout = String::from_utf8_lossy(&result.stdout).into_owned();
        let stderr = String::from_utf8_lossy(&result.stderr).into_owned();
        let expected = result.status.code() == Some(code);
        if !self.quiet || !expected {
            for line in stdout.lines().chain(stderr.lines()) {
                println!("    {}", if expected { clipped(line) } else { line.to_owned() });
            }
        }
        if !expected {
            bail!("{} ended with {}, not with exit code {code}; its output is above", Line(&command), result.status);
        }
        if code != 0 {
            println!("    (exit code {code})");
        }
        Ok(Ran { stdout, millis })
    }
}

fn clipped(line: &str) -> String {
    match line.char_indices().nth(WIDTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
