//! `census`: which parts of a task are secretly a fixed rule.

mod advice;
mod chart;
mod page;

use std::path::PathBuf;

use auto_store::shown_store;
use clap::Args;

pub use advice::advice;
pub use chart::escaped;

use crate::failure::Failure;
use crate::files;
use crate::options::{Global, StoreOption};
use crate::reply::{Exit, Reply};
use crate::spool::Spool;

/// Report how deterministic each operation of a task was
///
/// An operation is witnessed when the same input was recorded at least twice, and
/// deterministic when it then always had the same output and no error.
///
/// Where most model calls were seen only once, parts of their input are proposed as a key.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host census --task triage --store auto.db")]
pub struct Opts {
    /// The task
    #[arg(long)]
    task: String,
    #[command(flatten)]
    store: StoreOption,
    /// Write a page with charts, for a browser; - is stdout
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Opts {
    /// Whether stdout is for the page.
    pub fn owns_stdout(&self) -> bool {
        self.html.as_deref().is_some_and(files::is_stdout)
    }

    pub fn run(self, _: &Global) -> Result<Reply, Failure> {
        let page = self.html.as_deref().map(files::Output::at).transpose()?;
        let store = files::store(&self.store.store)?;
        let tasks = store.tasks()?;
        if !tasks.iter().any(|task| task.task == self.task) {
            let known: Vec<&str> = tasks.iter().map(|task| task.task.as_str()).collect();
            let store = shown_store(&self.store.store);
            return Err(Failure::new(
                Exit::Refused,
                "no-traces",
                format!("{store} has no traces of task {:?}", self.task),
            )
            .help(format!("its tasks are: {}", if known.is_empty() { "none".into() } else { known.join(", ") })));
        }
        let census = store.census(&self.task)?;
        Spool::beside(&self.store.store).mention();
        if let Some(page) = page {
            page.write(page::page(&census).as_bytes())?;
        }
        let mut fields = census.to_value().as_record().cloned().unwrap_or_default();
        let mut text = census.to_string();
        let advice = advice(&store, &census)?;
        fields.set("proposed_keys", advice.iter().map(|one| one.value(&self.task)).collect::<Vec<_>>());
        advice.iter().for_each(|one| text += &one.text(&self.task));
        Ok(Reply::done("census", text, fields))
    }
}
