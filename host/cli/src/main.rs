//! `auto-host`: one verb a file in `verbs/`, everything else in the crates below.
//!
//! Here: the command line itself, and how a verb's end becomes output and exit code.

mod agent;
mod components;
mod failure;
mod files;
mod models;
mod options;
mod reply;
mod spool;
mod tier0;
mod tools;
mod verbs;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};

use options::Global;
use reply::{Exit, Reply};

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
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misunderstood(&error),
    };
    let reply = cli.verb.run(&cli.global).unwrap_or_else(Reply::from);
    reply.print(cli.global.json)
}

/// Ends a command line that was not understood, or that asks for help: as clap says it, or
/// as an object where the line asks for one.
fn misunderstood(error: &clap::Error) -> ExitCode {
    let asks = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    if asks && !matches!(error.kind(), DisplayHelp | DisplayVersion) {
        let message = error.to_string();
        return Reply::from(failure::Failure::new(Exit::Usage, "usage", message.trim_end())).print(true);
    }
    let _ = error.print();
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(Exit::Usage as u8))
}
