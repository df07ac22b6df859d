//! The verbs, a file each. A verb takes its options and ends with a reply or a failure.

pub mod census;
mod collect;
pub mod compile;
mod contract;
mod doctor;
mod explain;
mod export;
mod gc;
pub mod import;
mod inspect;
mod key;
mod pass;
mod proxy;
mod record;
mod registry;
pub mod run;
mod search;
mod serve;
mod store;
mod verify;
mod watch;

use clap::Subcommand;

use crate::failure::Failure;
use crate::options::Global;
use crate::reply::Reply;

/// What `auto-host` can do.
#[derive(Subcommand)]
pub enum Verb {
    Record(record::Opts),
    Import(import::Opts),
    #[command(visible_alias = "report")]
    Census(census::Opts),
    Key(key::Opts),
    Proxy(proxy::Opts),
    Collect(collect::Opts),
    Contract(contract::Opts),
    Verify(verify::Opts),
    Compile(compile::Opts),
    Run(run::Opts),
    Serve(Box<serve::Opts>),
    #[command(visible_alias = "daemon")]
    Watch(Box<watch::Opts>),
    Inspect(inspect::Opts),
    Explain(explain::Opts),
    Export(export::Opts),
    Pass(pass::Opts),
    Registry(registry::Opts),
    Store(store::Opts),
    Search(search::Opts),
    Gc(gc::Opts),
    Doctor(doctor::Opts),
}

impl Verb {
    /// Whether stdout is for what the verb makes, so that its report goes to stderr.
    pub fn owns_stdout(&self, json: bool) -> bool {
        match self {
            Verb::Record(opts) => opts.owns_stdout(),
            Verb::Census(opts) => opts.owns_stdout(),
            Verb::Contract(opts) => opts.owns_stdout(),
            Verb::Compile(opts) => opts.owns_stdout(),
            Verb::Run(opts) => opts.owns_stdout(json),
            Verb::Pass(opts) => opts.owns_stdout(),
            Verb::Registry(opts) => opts.owns_stdout(),
            Verb::Store(opts) => opts.owns_stdout(),
            Verb::Search(opts) => opts.owns_stdout(),
            _ => false,
        }
    }

    /// Runs the verb.
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        match self {
            Verb::Record(opts) => opts.run(global),
            Verb::Import(opts) => opts.run(global),
            Verb::Census(opts) => opts.run(global),
            Verb::Key(opts) => opts.run(global),
            Verb::Proxy(opts) => opts.run(global),
            Verb::Collect(opts) => opts.run(global),
            Verb::Contract(opts) => opts.run(global),
            Verb::Verify(opts) => opts.run(global),
            Verb::Compile(opts) => opts.run(global),
            Verb::Run(opts) => opts.run(global),
            Verb::Serve(opts) => opts.run(global),
            Verb::Watch(opts) => opts.run(global),
            Verb::Inspect(opts) => opts.run(global),
            Verb::Explain(opts) => opts.run(global),
            Verb::Export(opts) => opts.run(global),
            Verb::Pass(opts) => opts.run(global),
            Verb::Registry(opts) => opts.run(global),
            Verb::Store(opts) => opts.run(global),
            Verb::Search(opts) => opts.run(global),
            Verb::Gc(opts) => opts.run(global),
            Verb::Doctor(opts) => opts.run(global),
        }
    }
}
