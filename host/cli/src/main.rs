//! `auto-host`: one verb a file in `verbs/`, everything else in the crates below.
//!
//! Here: the command line itself, and how a verb's end becomes output and exit code.

mod agent;
mod backing;
mod calibration;
mod components;
mod failure;
mod files;
mod inputs;
mod keys;
mod latency;
mod lines;
mod memory;
mod models;
mod options;
mod registries;
mod reply;
mod shelf;
mod signed;
mod spool;
mod taking_in;
mod tier0;
mod tools;
mod verbs;

use std::ffi::OsString;
use std::process::ExitCode;

use auto_json::Record;
use auto_schema::{is_unseen, shown, shown_lines};
use clap::Parser;
use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};

use failure::Failure;
use options::Global;
use reply::{Exit, Reply, Report, say};

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
    let mut cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return misunderstood(&as_shown(error)),
    };
    let report = if cli.verb.owns_stdout(cli.global.json) { Report::Stderr } else { Report::Stdout };
    let reply = cli.global.load().and_then(|()| cli.verb.run(&cli.global)).unwrap_or_else(Reply::from);
    reply.print(cli.global.json, report)
}

/// What is wrong with a command line, said of its words as they are shown: one may be the name
/// of somebody's file.
fn as_shown(error: clap::Error) -> clap::Error {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    if !words.iter().any(|word| word.chars().any(is_unseen)) {
        return error;
    }
    Cli::try_parse_from(words.iter().map(|word| shown(word))).err().unwrap_or(error)
}

/// Ends a command line that was not understood, or that asks for help: as clap says it, or
/// as an object where the line asks for one.
fn misunderstood(error: &clap::Error) -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().take_while(|word| word != "--").collect();
    let json = words.iter().any(|word| word == "--json");
    let text = error.to_string();
    match error.kind() {
        DisplayHelp if json => Reply::done("help", "", Record::new().with("text", text)).print(true, Report::Stdout),
        DisplayVersion if json => {
            let fields = Record::new().with("version", env!("CARGO_PKG_VERSION"));
            Reply::done("version", "", fields).print(true, Report::Stdout)
        }
        DisplayHelp | DisplayVersion => match say(&text.trim_end()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => Reply::from(failure).print(false, Report::Stderr),
        },
        _ if json => {
            let report = if asks_for_stdout(&words) { Report::Stderr } else { Report::Stdout };
            Reply::from(Failure::new(Exit::Usage, "usage", text.trim_end())).print(true, report)
        }
        _ => {
            eprintln!("{}", shown_lines(text.trim_end()));
            ExitCode::from(Exit::Usage as u8)
        }
    }
}

/// Whether a command line that was not understood means stdout to be for something else than
/// the report.
fn asks_for_stdout(words: &[OsString]) -> bool {
    let flags = ["--out", "--keep"];
    let named = |pair: &[OsString]| flags.iter().any(|flag| pair[0] == *flag) && pair[1] == "-";
    let joined = |word: &OsString| flags.iter().any(|flag| *word == *format!("{flag}=-"));
    words.windows(2).any(named) || words.iter().any(|word| joined(word) || word == "--stdio")
}
