//! `auto-host`: one verb a file in `verbs/`, everything else in the crates below.
//!
//! Here: the command line itself, and how a verb's end becomes output and exit code.

mod components;
mod failure;
mod files;
mod options;
mod reply;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use options::Global;
use reply::Reply;

/// Records what an agent does, compiles the parts that are secretly a rule into a
/// verified WebAssembly file, and runs it.
#[derive(Parser)]
#[command(name = "auto-host", version, max_term_width = 100, arg_required_else_help = true)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    verb: verbs::Verb,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let reply = cli.verb.run(&cli.global).unwrap_or_else(Reply::from);
    reply.print(cli.global.json)
}
