//! `import`: traces in any known format, read in the sandbox, into the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use auto_engine::{Pass, Providers};
use auto_files::regular;
use auto_json::{Canonical, Record, Value};
use auto_schema::shown_path;
use auto_store::{Ingested, Span, SpanKind, Store, Trace};
use clap::Args;

use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::{Global, StoreOption};
use crate::reply::{Exit, Reply};
use crate::spool::Spool;

const IMPORTER: &str = "auto:pass/importer@0.1.0";

/// How much of a file an importer sees to recognise it.
const HEAD: usize = 64 * 1024;

/// Read trace files into the store
///
/// A file is taken whole or not at all. Importing the same traces again changes nothing.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host import --store auto.db run-1.jsonl run-2.jsonl\n  \
    auto-host import --format tau-bench --task airline --store auto.db gpt-4o-airline.json")]
pub struct Opts {
    /// The format; detected when left out
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
            read.push(request.read(&toolbox, file)?);
        }
        let mut store = files::store_for_recording(&self.store.store)?;
        for traces in read {
            total += store.ingest(&traces)?;
        }
        spool.mention();
        Ok(Reply::done("imported", summary(&total, &self.store.store), fields(&total)))
    }

    /// Takes in what was left, each file alone: one that is refused stays, and does not keep
    /// the others out.
    fn take_in(&self, toolbox: &Toolbox, spool: &Spool) -> Result<Reply, Failure> {
        let (total, refused) = take_in(toolbox, spool, &self.store.store, self.recover_partial);
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
    let request = Request { format: Some("auto-jsonl"), task: None, recover_partial };
    let mut total = Ingested::default();
    let mut refused = Vec::new();
    for trace in spool.leftovers() {
        let Some(recording) = spool.claim(&trace) else { continue };
        let ingested =
            request.read_left(toolbox, &trace).and_then(|traces| Ok(Store::create_or_open(store)?.ingest(&traces)?));
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

/// What a file may become: so many bytes of traces, and so many times its own size (a
/// transcript is told again in each of its model calls). A call counts for some, so that
/// calls that give nothing come to an end too.
const FREE: usize = 64 << 20;
const TIMES: usize = 256;
const CALL: usize = 64 << 10;

/// About the bytes that a trace takes.
fn weight(trace: &Trace) -> usize {
    let length = |text: &Option<Canonical>| text.as_ref().map_or(0, |text| text.as_str().len());
    let notes =
        |notes: &[(String, String)]| notes.iter().map(|(key, value)| key.len() + value.len() + 48).sum::<usize>();
    let span = |span: &Span| {
        let error = span.error.as_ref().map_or(0, String::len);
        size_of::<Span>()
            + span.name.len()
            + span.input.as_str().len()
            + span.output.as_str().len()
            + error
            + notes(&span.attributes)
    };
    size_of::<Trace>()
        + length(&trace.input)
        + length(&trace.output)
        + notes(&trace.attributes)
        + trace.spans.iter().map(span).sum::<usize>()
}

fn endless(importer: &Pass, most: usize) -> Failure {
    let message = format!("the importer made more than {most} bytes of traces of this file, and is not at its end");
    Failure::new(Exit::Broken, "output-too-large", message)
        .at(importer.label.clone())
        .help("use an importer that can be trusted with this file, or split the file")
}

/// What happened, in a sentence.
pub fn summary(ingested: &Ingested, store: &Path) -> String {
    let more = |number: usize, what: &str| if number == 0 { String::new() } else { format!(", {number} {what}") };
    let already =
        more(ingested.already, "already there") + &more(ingested.completed, "completed that had been cut off");
    let count = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let (traces, spans) = (count(ingested.added, "trace"), count(ingested.spans, "span"));
    format!("{traces} with {spans} added to {}{already}", shown_path(store))
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
}

impl Request<'_> {
    /// Reads a file through the importer of its format.
    pub fn read(&self, toolbox: &Toolbox, file: &Path) -> Result<Vec<Trace>, Failure> {
        self.parse(toolbox, &shown_path(file), &files::read(file)?).map(|(_, traces)| traces)
    }

    /// The same of a file that a recording left.
    pub fn read_left(&self, toolbox: &Toolbox, file: &Path) -> Result<Vec<Trace>, Failure> {
        let bytes = regular::read(file, files::LARGEST).map_err(|error| files::unreadable(file, &error))?;
        self.parse(toolbox, &shown_path(file), &bytes).map(|(_, traces)| traces)
    }

    /// The format of a file's bytes, and the traces in it.
    pub fn parse(&self, toolbox: &Toolbox, name: &str, bytes: &[u8]) -> Result<(String, Vec<Trace>), Failure> {
        let valid = std::str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        let (text, rest) = bytes.split_at(valid);
        if rest.contains(&b'\n') {
            let line = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
            return Err(
                Failure::new(Exit::Refused, "not-utf8", format!("{name} is not UTF-8")).at(format!("line {line}"))
            );
        }
        let text = String::from_utf8_lossy(text);
        let (format, importer, providers) = self.importer(toolbox, &text, name)?;
        let source = Record::new()
            .with("name", name)
            .with("text", &*text)
            .with("undecodable", rest.len())
            .with("recover_partial", self.recover_partial)
            .with("task", self.task);
        let mut traces = Vec::new();
        let mut from = Some(0);
        // An importer of somebody's could go on for ever.
        let most = FREE + TIMES * text.len();
        let mut taken = 0;
        while let Some(start) = from {
            let arguments = Value::List(vec![source.clone().into(), Value::integer(start)]);
            let batch = toolbox.engine.call_json(&providers, IMPORTER, "parse", &arguments);
            let batch = batch.map_err(|fault| with_way_out(fault.into()))?;
            let unreadable = || bad_batch(&importer);
            for trace in batch.get("traces").and_then(Value::as_list).ok_or_else(unreadable)? {
                let trace = self::trace(trace).ok_or_else(unreadable)?;
                taken += weight(&trace);
                traces.push(trace);
            }
            taken += CALL;
            if taken > most {
                return Err(endless(&importer, most));
            }
            from = batch.get("next").and_then(Value::as_i64).filter(|&next| next > start);
        }
        Ok((format, traces))
    }

    fn importer(&self, toolbox: &Toolbox, text: &str, name: &str) -> Result<(String, Arc<Pass>, Providers), Failure> {
        let mut end = text.len().min(HEAD);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let head = Value::List(vec![text[..end].into()]);
        let mut formats = Vec::new();
        for (pass, providers) in toolbox.importers() {
            let format = toolbox.engine.call_json(&providers, IMPORTER, "format", &Value::List(Vec::new()))?;
            let format = format.as_text().unwrap_or_default().to_owned();
            let chosen = match self.format {
                Some(wanted) => wanted == format,
                None => toolbox.engine.call_json(&providers, IMPORTER, "detect", &head)?.as_bool() == Some(true),
            };
            if chosen {
                return Ok((format, pass, providers));
            }
            formats.push(format);
        }
        let message = match self.format {
            Some(wanted) => format!("there is no importer for the format {wanted:?}"),
            None => format!("{name} is of no known trace format"),
        };
        Err(Failure::new(Exit::Usage, "unknown-format", message)
            .help(format!("formats: {}; give one with --format", formats.join(", "))))
    }
}

fn bad_batch(importer: &Pass) -> Failure {
    let message = format!("the importer {} returned traces that are not of its interface", importer.label);
    Failure::new(Exit::Broken, "bad-output", message)
}

fn trace(value: &Value) -> Option<Trace> {
    Some(Trace {
        id: text(value, "id")?,
        task: text(value, "task")?,
        recorder: text(value, "recorder")?,
        started: value.get("started")?.as_u64()?,
        attributes: attributes(value)?,
        input: json(value.get("input")?)?,
        output: json(value.get("output")?)?,
        partial: value.get("partial")?.as_bool()?,
        spans: value.get("spans")?.as_list()?.iter().map(span).collect::<Option<_>>()?,
    })
}

fn span(value: &Value) -> Option<Span> {
    Some(Span {
        id: value.get("id")?.as_u64()?,
        parent: number(value.get("parent")?)?,
        sequence: value.get("sequence")?.as_u64()?,
        kind: kind(value.get("kind")?)?,
        name: text(value, "name")?,
        input: json(value.get("input")?)??,
        output: json(value.get("output")?)??,
        error: match value.get("error")? {
            Value::Null => None,
            other => Some(other.as_text()?.to_owned()),
        },
        started: value.get("started")?.as_u64()?,
        duration: number(value.get("duration")?)?,
        attributes: attributes(value)?,
    })
}

fn kind(value: &Value) -> Option<SpanKind> {
    match value {
        Value::Text(case) if case == "structural" => Some(SpanKind::Structural),
        Value::Text(case) => Some(SpanKind::from_name(&case.replace('-', "_"))),
        other => Some(SpanKind::from_name(other.get("other")?.as_text()?)),
    }
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_text().map(str::to_owned)
}

/// `Some(None)` for null, `None` for what is neither null nor a number.
fn number(value: &Value) -> Option<Option<u64>> {
    if *value == Value::Null { Some(None) } else { value.as_u64().map(Some) }
}

/// The same for a JSON text.
fn json(value: &Value) -> Option<Option<Canonical>> {
    if *value == Value::Null { Some(None) } else { Canonical::of(value.as_text()?).ok().map(Some) }
}

fn attributes(value: &Value) -> Option<Vec<(String, String)>> {
    let pair = |pair: &Value| match pair.as_list()? {
        [key, value] => Some((key.as_text()?.to_owned(), value.as_text()?.to_owned())),
        _ => None,
    };
    value.get("attributes")?.as_list()?.iter().map(pair).collect()
}

/// Adds what to do to a refusal that has a way out.
fn with_way_out(failure: Failure) -> Failure {
    match failure.code.as_str() {
        "torn-trace" => failure.help("--recover-partial keeps the whole lines; such a trace witnesses nothing"),
        _ => failure,
    }
}
