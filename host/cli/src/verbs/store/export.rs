//! `store export`: a store's traces as text.

use std::collections::BTreeMap;
use std::io::{self, Seek as _, Write};
use std::path::{Path, PathBuf};

use auto_files::Staged;
use auto_json::{Record, Value};
use auto_schema::shown_path;
use auto_scrub::Scrubber;
use auto_store::{CSV_HEAD, Trace, csv, jsonl, shown_store};
use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::files::{self, Output};
use crate::options::{ScrubOption, StoreOption, scrubbed};
use crate::reply::{Exit, Reply, count};

/// The bytes of a file of JSON Lines after which the next one begins: as much as `import` reads of
/// one file, with room for what surrounds it.
const PART: u64 = 32 << 20;

/// Write the traces of a store as text
///
/// JSON Lines say all that the store holds of a trace: `import` reads them back as the same
/// traces. Nothing is written where a secret or personal data would leave with it: --scrub takes
/// it out, --as-recorded hands it on. Key policies are not part of an export.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host store export --store auto.db --out traces.jsonl\n  \
    auto-host store export --store auto.db --task tickets --format csv --scrub --out tickets.csv")]
pub struct Opts {
    #[command(flatten)]
    store: StoreOption,
    /// Only the traces of this task
    #[arg(long)]
    task: Option<String>,
    /// What to write: JSON Lines, or a row of CSV for each run and span
    #[arg(long, value_enum, default_value = "jsonl")]
    format: Format,
    #[command(flatten)]
    scrub: ScrubOption,
    /// Write what was recorded as it is, with whatever would have to be taken out
    #[arg(long, conflicts_with_all = ["scrub", "scrub_pattern"])]
    as_recorded: bool,
    /// Begin another file (OUT.2, OUT.3, …, before the extension) after so many bytes; a trace is
    /// never divided [default: 33554432 for JSON Lines, none for CSV and stdout]
    #[arg(long, value_name = "BYTES")]
    split: Option<u64>,
    /// Where to write; - is stdout
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Jsonl,
    Csv,
}

impl Opts {
    /// Whether stdout is for the export.
    pub fn owns_stdout(&self) -> bool {
        files::is_stdout(&self.out)
    }

    pub fn run(self) -> Result<Reply, Failure> {
        let store = files::store(&self.store.store)?;
        let tasks: Vec<String> = store.tasks()?.into_iter().map(|task| task.task).collect();
        let wanted: Vec<&String> =
            tasks.iter().filter(|task| self.task.as_ref().is_none_or(|own| own == *task)).collect();
        if let (Some(task), true) = (&self.task, wanted.is_empty()) {
            let message = format!("{} has no traces of task {task:?}", shown_store(&self.store.store));
            return Err(
                Failure::new(Exit::Refused, "no-traces", message).help(format!("its tasks are: {}", tasks.join(", ")))
            );
        }
        let scrubber = self.scrub.beside(&self.store.store)?;
        let mut gate = Gate::new(scrubber.as_deref(), self.as_recorded)?;
        let mut writing = Writing::to(&self.out, self.format, self.split)?;
        for task in wanted {
            let mut failed = None;
            let read = store.each_trace(task, |mut trace| {
                gate.pass(&mut trace);
                // What is held back ends nothing: all of it is to be told.
                if failed.is_none() && gate.held.is_empty() {
                    failed = writing.trace(&trace).err();
                }
                Ok(())
            });
            failed.map_or(Ok(()), Err)?;
            read?;
        }
        gate.check()?;
        let policies = store.key_policies()?.len();
        let (traces, spans) = (writing.traces, writing.spans);
        let places = writing.finish()?;
        let (taken_out, counts) = scrubbed(scrubber.as_deref());
        let (these, those) = (count(traces, "trace"), count(spans, "span"));
        let mut text = format!("{these} with {those} written to {}", places.join(", "));
        if policies > 0 {
            text +=
                &format!("\nnot part of it: {policies} of the store's key policies; `auto-host key show` lists them");
        }
        let files: Vec<Value> = places.into_iter().map(Value::from).collect();
        let fields = Record::new()
            .with("traces", traces)
            .with("spans", spans)
            .with("files", files)
            .with("policies", policies)
            .with("scrubbed", counts);
        Ok(Reply::done("exported", text + &taken_out, fields))
    }
}

/// What stands between the store and the outside.
struct Gate<'s> {
    scrubber: Option<&'s Scrubber>,
    /// Finds what is still there; none where nobody wants to know.
    looking: Option<Scrubber>,
    /// What would have to be taken out, by kind.
    held: BTreeMap<String, u64>,
    first: Option<String>,
}

impl<'s> Gate<'s> {
    fn new(scrubber: Option<&'s Scrubber>, as_recorded: bool) -> Result<Gate<'s>, Failure> {
        let looking = (!as_recorded).then(|| Scrubber::new(&[], [0; 32])).transpose();
        let looking = looking.map_err(|error| Failure::new(Exit::Usage, "bad-pattern", error.to_string()))?;
        Ok(Gate { scrubber, looking, held: BTreeMap::new(), first: None })
    }

    fn pass(&mut self, trace: &mut Trace) {
        if let Some(scrubber) = self.scrubber {
            scrubber.trace(trace);
        }
        let Some(looking) = &self.looking else { return };
        for found in self.scrubber.unwrap_or(looking).residual(trace) {
            self.first.get_or_insert_with(|| format!("trace {}, {}", trace.id, found.at));
            *self.held.entry(found.kind).or_default() += 1;
        }
    }

    /// Refuses where anything was held back.
    fn check(&self) -> Result<(), Failure> {
        let Some(first) = &self.first else { return Ok(()) };
        let kinds: Vec<String> = self.held.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let message = format!("nothing was written, because this would leave with it: {}", kinds.join(", "));
        Err(Failure::new(Exit::Refused, "held-back", message)
            .at(first.clone())
            .help("--scrub takes it out; --as-recorded hands it on as it is"))
    }
}

/// One file of an export, not in its place yet.
enum Part {
    File(Staged, PathBuf),
    Stdout(std::fs::File),
}

impl Part {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Part::File(file, _) => file,
            Part::Stdout(file) => file,
        }
    }
}

/// An export that is being written.
struct Writing {
    out: PathBuf,
    format: Format,
    split: u64,
    parts: Vec<Part>,
    /// Bytes in the last part.
    bytes: u64,
    traces: u64,
    spans: u64,
}

impl Writing {
    fn to(out: &Path, format: Format, split: Option<u64>) -> Result<Writing, Failure> {
        let split = match (files::is_stdout(out), format) {
            (true, _) => None,
            (false, Format::Jsonl) => split.or(Some(PART)),
            (false, Format::Csv) => split,
        };
        let split = split.unwrap_or(u64::MAX);
        let mut writing =
            Writing { out: out.to_owned(), format, split, parts: Vec::new(), bytes: 0, traces: 0, spans: 0 };
        writing.next_part()?;
        Ok(writing)
    }

    fn trace(&mut self, trace: &Trace) -> Result<(), Failure> {
        if self.bytes >= self.split {
            self.next_part()?;
        }
        self.traces += 1;
        self.spans += trace.spans.len() as u64;
        self.write(&if self.format == Format::Csv { csv(trace) } else { jsonl(trace) })
    }

    fn write(&mut self, text: &str) -> Result<(), Failure> {
        self.bytes += text.len() as u64;
        let Some(part) = self.parts.last_mut() else { return Ok(()) };
        part.writer().write_all(text.as_bytes()).map_err(|error| files::unwritable(&self.out, &error))
    }

    fn next_part(&mut self) -> Result<(), Failure> {
        let number = self.parts.len() + 1;
        let part = if files::is_stdout(&self.out) {
            Part::Stdout(tempfile::tempfile().map_err(|error| files::unwritable(&self.out, &error))?)
        } else {
            let path = numbered(&self.out, number);
            Part::File(Output::at(&path)?.stage()?, path)
        };
        self.parts.push(part);
        self.bytes = 0;
        if self.format == Format::Csv { self.write(CSV_HEAD) } else { Ok(()) }
    }

    /// Puts all of it in its place, and says where that is.
    fn finish(self) -> Result<Vec<String>, Failure> {
        let mut places = Vec::new();
        for part in self.parts {
            let failed = |error: &io::Error| files::unwritable(&self.out, error);
            match part {
                Part::File(file, path) => {
                    file.commit().map_err(|error| failed(&error))?;
                    places.push(shown_path(&path));
                }
                Part::Stdout(mut file) => {
                    let mut stdout = io::stdout().lock();
                    let copied =
                        file.rewind().and_then(|()| io::copy(&mut file, &mut stdout)).and_then(|_| stdout.flush());
                    copied.map_err(|error| failed(&error))?;
                    places.push("stdout".to_owned());
                }
            }
        }
        Ok(places)
    }
}

/// The place of a part: the second of `a.jsonl` is `a.2.jsonl`.
fn numbered(out: &Path, number: usize) -> PathBuf {
    match (number, out.extension()) {
        (1, _) => out.to_owned(),
        (_, Some(extension)) => out.with_extension(format!("{number}.{}", extension.to_string_lossy())),
        (_, None) => out.with_extension(number.to_string()),
    }
}
