//! `store`: what is done with a store as a whole: hand it on, let parts of it go, make it small,
//! save what is whole of it.

mod export;
mod prune;

use std::path::{Path, PathBuf};

use auto_json::Record;
use auto_schema::shown_path;
use auto_store::{Salvaged, Store};
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::options::{Global, StoreOption};
use crate::reply::{Exit, Reply, count};

/// Hand on, let go, make small, or save what a store holds
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host store export --store auto.db --out traces.jsonl\n  \
    auto-host store prune --store auto.db --older-than 90 --artifacts deployed/ --dry-run\n  \
    auto-host store compact --store auto.db\n  \
    auto-host store salvage damaged.db --store new.db")]
pub struct Opts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Export(export::Opts),
    Prune(prune::Opts),
    /// Write the file anew without the space that is free in it
    ///
    /// Everything is held against its digests first. Until it is done it takes as much space
    /// again, and others wait to write.
    Compact {
        #[command(flatten)]
        store: StoreOption,
    },
    /// Take what is whole of a damaged store into another one
    ///
    /// Every trace that is still what was recorded is taken over; nothing is repaired, and the
    /// damaged file is only read.
    Salvage {
        /// The damaged store
        damaged: PathBuf,
        #[command(flatten)]
        store: StoreOption,
    },
}

impl Opts {
    /// Whether stdout is for the export.
    pub fn owns_stdout(&self) -> bool {
        matches!(&self.action, Action::Export(opts) if opts.owns_stdout())
    }

    pub fn run(self, _: &Global) -> Result<Reply, Failure> {
        match self.action {
            Action::Export(opts) => opts.run(),
            Action::Prune(opts) => opts.run(),
            Action::Compact { store } => compact(&store.store),
            Action::Salvage { damaged, store } => salvage(&damaged, &store.store),
        }
    }
}

/// Opens a store that is there for writing: what is not there is not made.
fn existing(path: &Path) -> Result<Store, Failure> {
    drop(Store::open_read(path)?);
    Ok(Store::create_or_open(path)?)
}

fn compact(path: &Path) -> Result<Reply, Failure> {
    let (before, after) = existing(path)?.compact()?;
    let text = format!("{}: {before} bytes before, {after} bytes now", shown_path(path));
    Ok(Reply::done("compacted", text, Record::new().with("before", before).with("after", after)))
}

fn salvage(damaged: &Path, path: &Path) -> Result<Reply, Failure> {
    inputs::note_store(damaged);
    let mut store = files::store_for_recording(path)?;
    let salvaged = store.salvage(damaged)?;
    let Salvaged { ingested, lost, unreadable, policies } = &salvaged;
    let mut text = super::import::summary(ingested, path);
    text += &match lost {
        Some(lost) => format!("\nlost: {}", count(*lost, "trace")),
        None => {
            format!("\nhow many are lost cannot be told: the list of tasks is damaged; {unreadable} could not be read")
        }
    };
    text += &match policies {
        Some(0) => String::new(),
        Some(policies) => format!("\nkey policies taken over: {policies}"),
        None => {
            "\nkey policies were not taken over: they cannot be trusted; set them again with `auto-host key set`".into()
        }
    };
    let fields = super::import::fields(ingested)
        .with("lost", *lost)
        .with("unreadable", *unreadable)
        .with("policies", policies.map(|policies| policies as u64));
    let whole = *lost == Some(0) && policies.is_some();
    Ok(Reply::done("salvaged", text, fields).exit(if whole { Exit::Done } else { Exit::Integrity }))
}
