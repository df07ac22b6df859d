//! Takes in what was recorded: one thread that turns exchanges into traces, through the importer
//! of their format, and puts them into the store.
//!
//! Whoever is served never waits for it. What counts as recorded is on the disk. What the store
//! does not take, because it is locked, full or damaged, is put aside beside it, where
//! `auto-host import --spool` finds it; only what cannot be put anywhere is lost, and counted.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use auto_importing::{Importers, Wanted};
use auto_json::{Record, Value};
use auto_store::{Store, Trace};

use crate::chain::Chain;

/// How many exchanges wait at most; more are counted as lost.
const WAITING: usize = 4_096;

/// How many bytes of exchanges are held at most, those that are still going on too.
pub const HELD: usize = 512 << 20;

/// How many exchanges go into the store at once: a commit costs a sync of the disk.
const TOGETHER: usize = 64;

/// An exchange as it was recorded: a document of a trace format.
#[derive(Debug)]
pub struct Document {
    /// The format, as `auto-host import --format` takes it.
    pub format: &'static str,
    /// The document.
    pub value: Value,
    /// How many of the bytes that are [`Held`] it takes.
    pub held: Held,
}

/// What the recordings came to so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// In the store, and on the disk.
    pub recorded: AtomicU64,
    /// Not taken by the store, and put aside.
    pub aside: AtomicU64,
    /// Lost: too large, too many at once, of an unknown encoding, or no place was left.
    pub lost: AtomicU64,
}

impl Counts {
    /// The counts as JSON.
    pub fn to_value(&self) -> Record {
        Record::new()
            .with("recorded", self.recorded.load(Relaxed))
            .with("aside", self.aside.load(Relaxed))
            .with("lost", self.lost.load(Relaxed))
    }
}

/// Bytes that are held for recordings; given back when dropped.
#[derive(Debug)]
pub struct Held {
    all: Arc<AtomicUsize>,
    own: usize,
}

impl Held {
    /// Takes more of what may be held; whether there was enough left.
    pub fn take(&mut self, more: usize) -> bool {
        if self.all.fetch_add(more, Relaxed) + more > HELD {
            self.all.fetch_sub(more, Relaxed);
            return false;
        }
        self.own += more;
        true
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Relaxed);
    }
}

/// How what is recorded is changed before anything is written.
pub type Scrub = Arc<dyn Fn(&mut Trace) + Send + Sync>;

/// Where recordings go.
pub struct Keeping {
    /// The store.
    pub store: PathBuf,
    /// The folder for what the store does not take.
    pub aside: PathBuf,
    /// The task to file traces under.
    pub task: Option<String>,
    /// The importers.
    pub importers: Importers,
    /// What is taken out first, if anything.
    pub scrub: Option<Scrub>,
}

/// The recorder.
pub struct Recorder {
    sender: Mutex<Option<SyncSender<Document>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    counts: Arc<Counts>,
    held: Arc<AtomicUsize>,
}

impl Recorder {
    /// Starts the thread.
    pub fn start(keeping: Keeping) -> std::io::Result<Recorder> {
        let (sender, receiver) = sync_channel(WAITING);
        let counts = Arc::<Counts>::default();
        let told = counts.clone();
        let work = move || Worker { keeping, store: None, counts: told, chain: Chain::default() }.run(&receiver);
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(work)?;
        Ok(Recorder {
            sender: Mutex::new(Some(sender)),
            thread: Mutex::new(Some(thread)),
            counts,
            held: Arc::default(),
        })
    }

    /// What the recordings came to so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// An account of bytes that are held, with nothing in it.
    pub fn held(&self) -> Held {
        Held { all: self.held.clone(), own: 0 }
    }

    /// Hands over an exchange. Does not wait: where too many do already, it is lost.
    pub fn submit(&self, document: Document) {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let sent = sender.as_ref().map(|sender| sender.try_send(document));
        if matches!(sent, None | Some(Err(TrySendError::Full(_) | TrySendError::Disconnected(_)))) {
            self.lost();
        }
    }

    /// Counts an exchange that could not be recorded.
    pub fn lost(&self) {
        self.counts.lost.fetch_add(1, Relaxed);
    }

    /// Takes in what still waits, and ends.
    pub fn finish(&self) {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A worker that fell over has lost what it had; its counts say so.
            let _ = thread.join();
        }
    }
}

struct Worker {
    keeping: Keeping,
    store: Option<Store>,
    counts: Arc<Counts>,
    chain: Chain,
}

impl Worker {
    fn run(mut self, receiver: &Receiver<Document>) {
        while let Ok(first) = receiver.recv() {
            let mut together = vec![first];
            together.extend(receiver.try_iter().take(TOGETHER - 1));
            together.iter().for_each(|document| self.chain.keep(&document.value));
            for format in ["openai", "anthropic"] {
                let of: Vec<&Document> = together.iter().filter(|document| document.format == format).collect();
                if !of.is_empty() {
                    self.take(format, &of);
                }
            }
        }
    }

    /// Takes in exchanges of one format, all at once; one by one where that is refused, so that
    /// one that cannot be read does not keep the others out.
    fn take(&mut self, format: &'static str, documents: &[&Document]) {
        let traces = self.traces(format, documents);
        let taken = traces.map_err(|_| ()).and_then(|traces| self.ingest(&traces).map_err(|_| ()));
        match taken {
            Ok(()) => self.count(&self.counts.recorded, documents.len()),
            Err(()) if documents.len() > 1 => documents.iter().for_each(|one| self.take(format, &[*one])),
            Err(()) => match self.put_aside(format, documents) {
                Ok(()) => self.count(&self.counts.aside, documents.len()),
                Err(_) => self.count(&self.counts.lost, documents.len()),
            },
        }
    }

    fn count(&self, counter: &AtomicU64, number: usize) {
        counter.fetch_add(number as u64, Relaxed);
    }

    fn traces(&self, format: &str, documents: &[&Document]) -> Result<Vec<Trace>, auto_importing::Refusal> {
        // What was said before is read again; the store has it already.
        let values: Vec<&Value> = documents.iter().map(|document| &document.value).collect();
        let mut lines: Vec<String> = self.chain.before(&values).iter().map(|line| line.to_string()).collect();
        lines.extend(values.iter().map(|value| value.to_string()));
        let wanted =
            Wanted { format: Some(format), task: self.keeping.task.as_deref(), forget: true, ..Wanted::default() };
        let mut imported = self.keeping.importers.read(&wanted, "what was recorded", lines.join("\n").as_bytes())?;
        if let Some(scrub) = &self.keeping.scrub {
            imported.traces.iter_mut().for_each(|trace| scrub(trace));
        }
        Ok(imported.traces)
    }

    fn ingest(&mut self, traces: &[Trace]) -> Result<(), auto_store::StoreError> {
        if self.store.is_none() {
            self.store = Some(Store::create_or_open(&self.keeping.store)?);
        }
        let Some(store) = &mut self.store else { return Ok(()) };
        let taken = store.ingest(traces);
        if taken.is_err() {
            // It may have been replaced, or be whole again the next time.
            self.store = None;
        }
        taken.map(drop)
    }

    /// Puts what the store does not take beside it, as a file for `import`.
    fn put_aside(&self, format: &str, documents: &[&Document]) -> std::io::Result<()> {
        if self.keeping.scrub.is_some() {
            return Err(std::io::Error::other("what was to be scrubbed is not written as it is"));
        }
        auto_files::make_folder(&self.keeping.aside)?;
        let task = self.keeping.task.as_deref();
        let line = |value: &Value| match (value.as_record(), task) {
            (Some(record), Some(task)) => Value::from(record.clone().with("task", task)).to_string(),
            _ => value.to_string(),
        };
        let values: Vec<&Value> = documents.iter().map(|document| &document.value).collect();
        let before = self.chain.before(&values);
        let before = before.iter().filter_map(|text| Value::parse(&**text).ok());
        let lines: Vec<String> =
            before.map(|value| line(&value)).chain(values.iter().map(|value| line(value))).collect();
        let name = format!("exchange-{format}-{}.jsonl", unique());
        auto_files::create_private(&self.keeping.aside.join(name), lines.join("\n").as_bytes())
    }
}

/// The folder beside a store for what it does not take.
pub fn aside(store: &Path) -> PathBuf {
    auto_store::beside(store, ".spool")
}

/// An id that nothing else has: 16 random bytes in hex.
pub fn unique() -> String {
    let mut bytes = [0; 16];
    // Without randomness, time and a counter tell apart what one process makes.
    if getrandom::fill(&mut bytes).is_err() {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().as_nanos();
        bytes[..8].copy_from_slice(&COUNTER.fetch_add(1, Relaxed).to_le_bytes());
        bytes[8..].copy_from_slice(&(time as u64).to_le_bytes());
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
