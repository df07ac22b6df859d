//! Keeps what tier 0 answered in a store, as traces of one operation.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::Sender;

use auto_json::{Canonical, Record, Value};
use auto_runtime::Program;
use auto_schema::contract::SpanKind;
use auto_schema::digest::Digest;
use auto_schema::shown_path;
use auto_store::Store;

use super::{Said, now};
use crate::components::Toolbox;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::Exit;
use crate::spool::{Recording, Spool};
use crate::verbs::import;

/// When an answer that lies in the spool, whole and on the disk, is taken into the store.
pub enum Takes {
    /// At once, with components that are opened for the first answer.
    Now(Box<Global>, Option<Toolbox>),
    /// By somebody who is told of it.
    Later(Sender<News>),
}

/// What there is for whoever takes answers in.
pub enum News {
    /// Something lies in the spool.
    InSpool,
    /// The trace file of an answer for which the spool has no room now.
    Unwritten(String),
}

/// Keeps answers in a store, as traces of one span.
pub struct Recorder {
    store: PathBuf,
    takes: Takes,
    artifact: Digest,
    task: String,
    kind: SpanKind,
    name: String,
}

/// An answer to keep.
pub(super) struct Call<'c> {
    pub input: &'c Canonical,
    pub output: &'c Canonical,
    pub said: &'c Said,
    pub micros: u64,
    pub why: &'c str,
    pub who: &'c str,
}

impl Recorder {
    /// Refuses before anything is asked what could not be kept.
    pub fn open(takes: Takes, store: &Path, program: &Program) -> Result<Recorder, Failure> {
        let manifest = program.manifest();
        let span = manifest.scope.strip_prefix("span ").and_then(|scope| scope.split_once(' '));
        let span = span.and_then(|(kind, name)| Some((SpanKind::parse(kind)?, name.to_owned())));
        let Some((kind, name)) = span else {
            let message = format!("the artifact's scope is {}, and an answer alone is no run of it", manifest.scope);
            return Err(Failure::new(Exit::Refused, "not-recordable", message)
                .help("leave --store away, and record the agent itself with `auto-host record`"));
        };
        drop(files::store_for_recording(store)?);
        let (store, artifact, task) = (store.to_owned(), program.id(), manifest.task.clone());
        Ok(Recorder { store, takes, artifact, task, kind, name })
    }

    /// Keeps it, and says in `fields` whether that worked. What the store does not take stays
    /// in its spool: the answer was paid for.
    pub(super) fn keep(&mut self, call: &Call<'_>, fields: &mut Record) {
        let spool = Spool::beside(&self.store);
        match self.try_keeping(call, &spool) {
            Ok(()) => fields.set("recorded", true),
            Err(failure) => {
                eprintln!("tier 0's answer is not recorded: {failure}");
                spool.mention();
                let why = Record::new().with("code", failure.code).with("message", failure.message);
                fields.set("recorded", false);
                fields.set("not_recorded", why);
            }
        }
    }

    fn try_keeping(&mut self, call: &Call<'_>, spool: &Spool) -> Result<(), Failure> {
        let text = self.trace(call);
        let kept = write(spool, &text);
        let (global, opened) = match &mut self.takes {
            Takes::Later(tell) => {
                // Let go of before anybody is told: what is still held is passed over.
                let kept = kept.map(drop);
                // Whoever takes in starts with what was left, if it is gone now.
                let news = if kept.is_ok() { News::InSpool } else { News::Unwritten(text) };
                let _ = tell.send(news);
                return kept;
            }
            Takes::Now(global, toolbox) => (global, toolbox),
        };
        let recording = kept?;
        let toolbox = match opened.take() {
            Some(toolbox) => toolbox,
            None => Toolbox::open(global, &[])?,
        };
        let request = import::Request { format: Some("auto-jsonl"), task: None, recover_partial: false, forget: false };
        let traces = request.read(&toolbox, &recording.trace);
        *opened = Some(toolbox);
        Store::create_or_open(&self.store)?.ingest(&traces?.traces)?;
        recording.done();
        Ok(())
    }

    /// The trace file of an answer.
    fn trace(&self, call: &Call<'_>) -> String {
        let now = now();
        let started = now.saturating_sub(std::time::Duration::from_micros(call.micros));
        let (started_ms, started_us) = (number(started.as_millis()), started.as_micros().to_string());
        let id = &Digest::of(format!("{} {}", self.artifact, unique()).as_bytes()).to_string()[..32];
        let mut attributes = Record::new()
            .with("started_at_us", started_us)
            .with("duration_us", call.micros.to_string())
            .with("answered_by", call.who)
            .with("tripped", call.why);
        if let Some(cost) = call.said.cost {
            attributes.set("cost_usd_micros", cost.to_string());
        }
        if let Some(tokens) = call.said.tokens {
            attributes.set("tokens", tokens.to_string());
        }
        let header = Record::new()
            .with("v", 0u32)
            .with("t", "trace")
            .with("trace_id", id)
            .with("task", self.task.as_str())
            .with("started_at_ms", started_ms)
            .with("sdk", concat!("auto-host-deopt/", env!("CARGO_PKG_VERSION")))
            .with("attrs", Record::new().with("artifact", self.artifact.to_string()));
        let span = Record::new()
            .with("v", 0u32)
            .with("t", "span")
            .with("trace_id", id)
            .with("span_id", 1u32)
            .with("parent_span_id", Value::Null)
            .with("seq", 1u32)
            .with("kind", self.kind.as_str())
            .with("name", self.name.as_str())
            .with("input", call.input.value())
            .with("output", call.output.value())
            .with("error", Value::Null)
            .with("started_at_ms", started_ms)
            .with("duration_ms", call.micros / 1_000)
            .with("attrs", attributes);
        format!("{}\n{}\n", Value::from(header), Value::from(span))
    }
}

/// Puts the trace file of an answer into the spool, whole or not at all: half of one would stay
/// there for ever.
pub fn write(spool: &Spool, text: &str) -> Result<Recording, Failure> {
    let recording = spool.begin()?;
    match auto_files::replace(&recording.trace, text.as_bytes()) {
        Ok(()) => Ok(recording),
        Err(error) => {
            let message = format!("cannot write {}: {error}", shown_path(&recording.trace));
            recording.done();
            Err(Failure::new(Exit::Refused, "unwritable", message))
        }
    }
}

/// What no other answer of any process has, whatever the clock says.
fn unique() -> String {
    static SEED: OnceLock<[u8; 32]> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let seed = SEED.get_or_init(|| {
        let mut seed = [0; 32];
        // Without randomness the process and the clock have to do.
        if getrandom::fill(&mut seed).is_err() {
            seed = *Digest::of(format!("{} {}", std::process::id(), now().as_nanos()).as_bytes()).as_bytes();
        }
        seed
    });
    format!("{} {}", Digest::of(seed), NEXT.fetch_add(1, Relaxed))
}

fn number(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
