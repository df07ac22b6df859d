//! `import`: traces in any known format, read in the sandbox, into the store.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use auto_files::regular;
use auto_importing::{Imported, Note, Refusal, Wanted};
use auto_json::{Record, Value};
use auto_schema::shown_path;
use auto_scrub::Scrubber;
use auto_store::{Ingested, Store, shown_store};
use clap::Args;

use super::census;
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::{Global, ScrubOption, StoreOption, scrubbed};
use crate::reply::{Exit, Reply, count};
use crate::spool::Spool;

/// Read trace files into the store
///
/// A file is taken whole or not at all. Importing the same traces again changes nothing.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host import --store auto.db run-1.jsonl run-2.jsonl\n  \
    auto-host import --format tau-bench --task airline --store auto.db gpt-4o-airline.json\n  \
    auto-host import --task tickets --store auto.db langfuse-export.json exchanges.jsonl")]
pub struct Opts {
    /// The format: auto-jsonl, otlp-json, openai, anthropic, langfuse, langsmith, claude-code,
    /// tau-bench, or that of a component given with --passes; detected when left out
    #[arg(long)]
    format: Option<String>,
    /// The task to file traces under, for formats that name none
    #[arg(long)]
    task: Option<String>,
    /// Keep what is whole of a trace file whose last line was cut off
    #[arg(long)]
    recover_partial: bool,
    #[command(flatten)]
    store: StoreOption,
    #[command(flatten)]
    scrub: ScrubOption,
    /// Take in what a `record` that was stopped left beside the store; each file is removed
    /// once it is in the store
    #[arg(long, conflicts_with_all = ["files", "format", "task"])]
    spool: bool,
    /// The trace files
    #[arg(required_unless_present = "spool")]
    files: Vec<PathBuf>,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let toolbox = Toolbox::open(global, &[])?;
        let request = Request {
            forget: self.scrub.scrub || !self.scrub.scrub_pattern.is_empty(),
            format: self.format.as_deref(),
            task: self.task.as_deref(),
            recover_partial: self.recover_partial,
        };
        let spool = Spool::beside(&self.store.store);
        if self.spool {
            return self.take_in(&toolbox, &spool);
        }
        let mut total = Ingested::default();
        let mut read = Vec::new();
        for file in &self.files {
            read.push((shown_path(file), request.read(&toolbox, file)?));
        }
        let scrubber = self.scrub.beside(&self.store.store)?;
        if let Some(scrubber) = &scrubber {
            read.iter_mut().flat_map(|(_, file)| &mut file.traces).for_each(|trace| scrubber.trace(trace));
        }
        let mut store = files::store_for_recording(&self.store.store)?;
        for (_, file) in &read {
            total += store.ingest(&file.traces)?;
        }
        spool.mention();
        let mut text = summary(&total, &self.store.store);
        let reports: Vec<Value> = read.iter().map(|(name, file)| report(file, name).into()).collect();
        read.iter().for_each(|(name, file)| text += &told(file, name));
        let tasks: BTreeSet<&str> =
            read.iter().flat_map(|(_, file)| &file.traces).map(|trace| trace.task.as_str()).collect();
        for task in tasks.into_iter().filter(|_| ingested_few(&total)) {
            let advice = census::advice(&store, &store.census(task)?)?;
            advice.iter().for_each(|one| text += &one.text(task));
        }
        let (taken_out, counts) = scrubbed(scrubber.as_deref());
        Ok(Reply::done("imported", text + &taken_out, fields(&total).with("files", reports).with("scrubbed", counts)))
    }

    /// Takes in what was left, each file alone: one that is refused stays, and does not keep
    /// the others out.
    fn take_in(&self, toolbox: &Toolbox, spool: &Spool) -> Result<Reply, Failure> {
        let scrubber = self.scrub.beside(&self.store.store)?;
        let (total, refused) =
            take_in_scrubbed(toolbox, spool, &self.store.store, self.recover_partial, scrubber.as_deref());
        let summary = summary(&total, &self.store.store);
        let left = refused.len();
        let Some((trace, mut failure)) = refused.into_iter().next() else {
            return Ok(Reply::done("imported", summary, fields(&total)));
        };
        failure.message = format!("{summary}; {left} could not be taken in, the first for this: {}", failure.message);
        failure.at = Some(shown_path(&trace));
        Err(failure)
    }
}

/// Takes into a store what was left beside it, each file alone; which were refused, and why.
pub fn take_in(
    toolbox: &Toolbox,
    spool: &Spool,
    store: &Path,
    recover_partial: bool,
) -> (Ingested, Vec<(PathBuf, Failure)>) {
    take_in_scrubbed(toolbox, spool, store, recover_partial, None)
}

fn take_in_scrubbed(
    toolbox: &Toolbox,
    spool: &Spool,
    store: &Path,
    recover_partial: bool,
    scrubber: Option<&Scrubber>,
) -> (Ingested, Vec<(PathBuf, Failure)>) {
    let mut total = Ingested::default();
    let mut refused = Vec::new();
    for trace in spool.leftovers() {
        let Some(recording) = spool.claim(&trace) else { continue };
        // What `proxy` put aside says itself what it is; an agent's trace is one, or nothing.
        let exchange = trace.file_name().is_some_and(|name| name.to_string_lossy().starts_with("exchange-"));
        let format = (!exchange).then_some("auto-jsonl");
        let request = Request { format, task: None, recover_partial, forget: scrubber.is_some() };
        let ingested = request.read_left(toolbox, &trace).and_then(|mut file| {
            if let Some(scrubber) = scrubber {
                file.traces.iter_mut().for_each(|trace| scrubber.trace(trace));
            }
            Ok(Store::create_or_open(store)?.ingest(&file.traces)?)
        });
        match ingested {
            Ok(ingested) => {
                total += ingested;
                recording.done();
            }
            Err(failure) => refused.push((trace, failure)),
        }
    }
    (total, refused)
}

/// Whether what was imported is little enough to be counted on the spot.
fn ingested_few(ingested: &Ingested) -> bool {
    ingested.spans < 100_000
}

/// What happened, in a sentence.
pub fn summary(ingested: &Ingested, store: &Path) -> String {
    let more = |number: usize, what: &str| if number == 0 { String::new() } else { format!(", {number} {what}") };
    let already =
        more(ingested.already, "already there") + &more(ingested.completed, "completed that had been cut off");
    let (traces, spans) = (count(ingested.added as u64, "trace"), count(ingested.spans as u64, "span"));
    format!("{traces} with {spans} added to {}{already}", shown_store(store))
}

/// The same for machines.
pub fn fields(ingested: &Ingested) -> Record {
    Record::new()
        .with("added", ingested.added)
        .with("already", ingested.already)
        .with("completed", ingested.completed)
        .with("spans", ingested.spans)
}

/// How to read a trace file.
pub struct Request<'a> {
    /// The format; detected when none.
    pub format: Option<&'a str>,
    /// The task for formats that name none.
    pub task: Option<&'a str>,
    /// Whether a torn last line may be dropped.
    pub recover_partial: bool,
    /// Whether nothing of the file may be remembered: it is to be scrubbed.
    pub forget: bool,
}

impl Request<'_> {
    /// Reads a file through the importer of its format.
    pub fn read(&self, toolbox: &Toolbox, file: &Path) -> Result<Imported, Failure> {
        self.parse(toolbox, &shown_path(file), &files::read(file)?)
    }

    /// The same of a file that a recording left.
    pub fn read_left(&self, toolbox: &Toolbox, file: &Path) -> Result<Imported, Failure> {
        let bytes = regular::read(file, files::LARGEST).map_err(|error| files::unreadable(file, &error))?;
        self.parse(toolbox, &shown_path(file), &bytes)
    }

    /// What is in a file's bytes.
    pub fn parse(&self, toolbox: &Toolbox, name: &str, bytes: &[u8]) -> Result<Imported, Failure> {
        let Request { format, task, recover_partial, forget } = *self;
        let wanted = Wanted { format, task, recover_partial, forget, piece: false };
        toolbox.importing().read(&wanted, name, bytes).map_err(Failure::from)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let message = refusal.message();
        let exit = match &refusal {
            Refusal::Fault(_) | Refusal::NotUtf8 { .. } => Exit::Refused,
            Refusal::UnknownFormat { .. } => Exit::Usage,
            Refusal::BadBatch { .. } | Refusal::Endless { .. } => Exit::Broken,
        };
        let failure = Failure::new(exit, refusal.code(), message);
        match refusal {
            Refusal::Fault(fault) => with_way_out((*fault).into()),
            Refusal::NotUtf8 { line, .. } => {
                failure.at(format!("line {line}")).help("a file of a binary format is read where --format names it")
            }
            Refusal::UnknownFormat { known, .. } => {
                failure.help(format!("formats: {}; give one with --format", known.join(", ")))
            }
            Refusal::BadBatch { .. } => failure,
            Refusal::Endless { label, .. } => {
                failure.at(label).help("use an importer that can be trusted with this file, or split the file")
            }
        }
    }
}

fn line(note: &Note) -> String {
    let verdict = if note.usable { "used all the same" } else { "not used" };
    let first = note.at.as_ref().map(|at| format!(" (the first at {at})")).unwrap_or_default();
    format!("\n  {verdict}: {} × {}{first}", note.count, note.message)
}

/// What of a file was of use and what was not, a line each.
fn told(file: &Imported, name: &str) -> String {
    let kinds: Vec<String> = file.kinds().iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    let kinds = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
    let notes: String = file.notes.iter().map(line).collect();
    format!("\n{name}: {}, {kinds}{notes}", file.format)
}

/// The same for machines.
fn report(file: &Imported, name: &str) -> Record {
    let kinds: Record = file.kinds().into_iter().map(|(kind, count)| (kind.to_owned(), count.into())).collect();
    let note = |note: &Note| {
        Value::Record(
            Record::new()
                .with("code", note.code.as_str())
                .with("message", note.message.as_str())
                .with("usable", note.usable)
                .with("count", note.count)
                .with("at", note.at.as_deref()),
        )
    };
    Record::new()
        .with("file", name)
        .with("format", file.format.as_str())
        .with("traces", file.traces.len())
        .with("kinds", kinds)
        .with("notes", file.notes.iter().map(note).collect::<Vec<_>>())
}

/// Adds what to do to a refusal that has a way out.
fn with_way_out(failure: Failure) -> Failure {
    match failure.code.as_str() {
        "torn-trace" => failure.help("--recover-partial keeps the whole lines; such a trace witnesses nothing"),
        _ => failure,
    }
}
