//! `search`: loops that try changes and keep what is measured to be better. Each run has a folder
//! of its own, which holds everything that it was given, asked, tried and decided.

mod act;
mod backend;
mod diff;
mod due;
mod egress;
mod evolve;
mod folder;
mod lineage;
mod list;
mod page;
mod report;
mod rollouts;
mod show;
mod skill;
mod spec;
mod start;
mod story;
mod tree;
mod wasm;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::options::Global;
use crate::reply::Reply;

/// Search for better skills, agents and programs, within a budget
///
/// What is tried is run and measured, and only what passes the gate is kept. A run that was cut
/// off goes on where it was; no call that costs is made twice unasked.
#[derive(Args)]
#[command(
    after_help = "Example:\n  auto-host search skill --config auto.toml\n  auto-host search evolve --config auto.toml\n  auto-host search list"
)]
pub struct Opts {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Spec(Box<spec::Opts>),
    Skill(Box<skill::Opts>),
    Evolve(Box<evolve::Opts>),
    List(list::Opts),
    Show(show::Opts),
    Report(Box<report::Opts>),
    Approve(act::Review),
    Reject(act::Review),
    Rollback(act::Rollback),
    Cancel(act::Cancel),
}

impl Opts {
    /// Runs it.
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        match self.what {
            What::Spec(opts) => opts.run(global),
            What::Skill(opts) => opts.run(global),
            What::Evolve(opts) => opts.run(global),
            What::List(opts) => opts.run(global),
            What::Show(opts) => opts.run(global),
            What::Report(opts) => opts.run(global),
            What::Approve(opts) => opts.run(global, "approve"),
            What::Reject(opts) => opts.run(global, "reject"),
            What::Rollback(opts) => opts.run(global),
            What::Cancel(opts) => opts.run(global),
        }
    }

    /// Whether stdout is for the page.
    pub fn owns_stdout(&self) -> bool {
        matches!(&self.what, What::Show(opts) if opts.owns_stdout())
    }
}

/// Where runs are.
#[derive(Args)]
pub struct RunsFolder {
    /// The folder of runs [default: `runs` of [learning] in the configuration, or search-runs]
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
}

impl RunsFolder {
    fn folder(&self, global: &Global) -> PathBuf {
        let given = self.runs.clone().or_else(|| global.file.learning.runs.clone());
        given.unwrap_or_else(|| Path::new("search-runs").to_owned())
    }
}
