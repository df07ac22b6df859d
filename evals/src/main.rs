//! `auto-evals`: what things cost and how well they do, measured through the real host and
//! the real components, with the same work done natively beside it.
//!
//! Progress goes to stderr; the last line on stdout is one JSON object. One file a family;
//! [`clock`] is the one way to time anything.

use std::process::ExitCode;

use auto_json::Record;
use clap::{Parser, Subcommand};

mod call;
mod classify;
mod clock;
mod edge;
// Here and not under `tests/`: an integration test would have cargo build the component
// crates twice, for abort and for unwind, into files of the same name.
#[cfg(test)]
mod isolation;
mod native;
mod passes;
mod policies;
mod rules;
mod scrub;
mod sealed;
mod serve;
mod store;
mod strange;
mod stream;
mod synth;
mod tickets;

/// Benchmarks of Auto. Progress on stderr; one JSON object as the last line on stdout.
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(subcommand)]
    family: Family,
}

#[derive(Subcommand)]
enum Family {
    Call(call::Options),
    Classify(classify::Options),
    Edge(edge::Options),
    Passes(passes::Options),
    Scrub(scrub::Options),
    Serve(serve::Options),
    Policies(policies::Options),
    Rules(rules::Options),
    Store(store::Options),
    Strange(strange::Options),
    Stream(stream::Options),
    Synth(synth::Options),
    Tickets(tickets::Options),
}

fn main() -> ExitCode {
    let done = match Options::parse().family {
        Family::Call(options) => options.run(),
        Family::Classify(options) => options.run(),
        Family::Edge(options) => options.run(),
        Family::Passes(options) => options.run(),
        Family::Scrub(options) => options.run(),
        Family::Serve(options) => options.run(),
        Family::Policies(options) => options.run(),
        Family::Rules(options) => options.run(),
        Family::Store(options) => options.run(),
        Family::Strange(options) => options.run(),
        Family::Stream(options) => options.run(),
        Family::Synth(options) => options.run(),
        Family::Tickets(options) => options.run(),
    };
    match done {
        Ok(report) => {
            println!("{}", report_line(report));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("auto-evals: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn report_line(report: Record) -> String {
    auto_json::Value::Record(report).to_string()
}
