//! The thread behind the receiver: reads requests through the importer, keeps them on the disk,
//! puts traces together, and the finished ones into the store.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use auto_importing::{Imported, Refusal, Wanted};
use auto_json::Record;
use auto_store::{Store, StoreError, Trace};
use axum::http::StatusCode;
use tokio::sync::oneshot;

use super::kept;
use super::pending::Pending;
use super::reply::Rejected;
use super::{Collecting, Encoding};
use crate::http::Problem;

/// How many requests wait at most; further ones are told to come again.
const WAITING: usize = 256;

/// How often it is looked whether a trace is whole.
const TICK: Duration = Duration::from_millis(200);

/// The format of what is received.
const FORMAT: &str = "otlp-json";

/// What was received so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// Requests that were accepted, in whole or in part.
    pub requests: AtomicU64,
    /// Spans that were taken.
    pub spans: AtomicU64,
    /// Spans that were not.
    pub rejected: AtomicU64,
    /// Spans without captured content.
    pub uncaptured: AtomicU64,
    /// Traces in the store.
    pub traces: AtomicU64,
    /// Traces that wait for more, or for the store.
    pub pending: AtomicU64,
}

impl Counts {
    /// The counts as JSON.
    pub fn to_value(&self) -> Record {
        let get = |counter: &AtomicU64| counter.load(Relaxed);
        Record::new()
            .with("requests", get(&self.requests))
            .with("spans", get(&self.spans))
            .with("rejected_spans", get(&self.rejected))
            .with("uncaptured_spans", get(&self.uncaptured))
            .with("traces", get(&self.traces))
            .with("pending_traces", get(&self.pending))
    }
}

struct Job {
    encoding: Encoding,
    body: Vec<u8>,
    reply: oneshot::Sender<Result<Rejected, Problem>>,
}

/// The receiver's other end.
pub struct Collector {
    sender: Mutex<Option<SyncSender<Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    counts: Arc<Counts>,
}

impl Collector {
    /// Takes up what lies beside the store, and starts the thread.
    pub fn start(collecting: Collecting) -> std::io::Result<Collector> {
        auto_files::make_folder(&collecting.folder)?;
        let counts = Arc::<Counts>::default();
        let (sender, receiver) = sync_channel(WAITING);
        let mut worker = Worker {
            collecting,
            counts: counts.clone(),
            pending: HashMap::new(),
            files: BTreeMap::new(),
            next: 0,
            store: None,
        };
        worker.take_up()?;
        let thread = std::thread::Builder::new().name("collector".into()).spawn(move || worker.run(&receiver))?;
        Ok(Collector { sender: Mutex::new(Some(sender)), thread: Mutex::new(Some(thread)), counts })
    }

    /// What was received so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Takes in a request; done when it is on the disk.
    pub async fn receive(&self, encoding: Encoding, body: Vec<u8>) -> Result<Rejected, Problem> {
        let busy = || Problem::busy("busy", "more requests wait than can be taken in");
        let (reply, answer) = oneshot::channel();
        let job = Job { encoding, body, reply };
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        sender.ok_or_else(busy)?.try_send(job).map_err(|_| busy())?;
        answer.await.unwrap_or_else(|_| Err(busy()))
    }

    /// Puts everything that waits into the store, as far as it came, and ends.
    pub fn finish(&self) {
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    collecting: Collecting,
    counts: Arc<Counts>,
    pending: HashMap<String, Pending>,
    /// How many traces wait that have spans in a file.
    files: BTreeMap<u64, usize>,
    next: u64,
    store: Option<Store>,
}

impl Worker {
    fn run(mut self, receiver: &Receiver<Job>) {
        loop {
            match receiver.recv_timeout(TICK) {
                Ok(job) => {
                    let answer = self.take(job.encoding, &job.body);
                    // A client that left is told nothing; what it sent is kept.
                    let _ = job.reply.send(answer);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.settle(false);
        }
        self.settle(true);
    }

    /// What a collector before this one left.
    fn take_up(&mut self) -> std::io::Result<()> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.collecting.folder)? {
            let path = entry?.path();
            let number = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok());
            if path.extension().is_some_and(|extension| extension == "json") {
                found.extend(number.map(|number| (number, path)));
            }
        }
        found.sort();
        for (number, path) in found {
            self.next = self.next.max(number + 1);
            // One that cannot be read stays where it is, for somebody to look at.
            if let Some(pieces) = kept::read(&std::fs::read(&path)?) {
                self.add(pieces, number);
            }
        }
        Ok(())
    }

    fn take(&mut self, encoding: Encoding, body: &[u8]) -> Result<Rejected, Problem> {
        let imported = self.import(encoding, body).map_err(|refusal| {
            Problem::new(StatusCode::BAD_REQUEST, "bad-request", refusal.message())
                .help("send an ExportTraceServiceRequest")
        })?;
        let mut rejected = Rejected::default();
        let mut reject = |spans: u64, why: &str| {
            if spans > 0 {
                rejected.spans += spans;
                rejected.why.push(format!("{spans} {why}"));
            }
        };
        for note in &imported.notes {
            match note.code.as_str() {
                "bad-span" | "conflicting-span" => reject(note.count, &note.message),
                "uncaptured" => drop(self.counts.uncaptured.fetch_add(note.count, Relaxed)),
                _ => {}
            }
        }
        let (mut kept, mut taken) = (Vec::new(), 0);
        for mut piece in imported.traces {
            if let Some(scrub) = &self.collecting.scrub {
                scrub(&mut piece);
            }
            if !self.pending.contains_key(&piece.id) && self.is_in_store(&piece)? {
                reject(piece.spans.len() as u64, "spans of traces that are complete already");
                continue;
            }
            let added = match self.pending.get(&piece.id) {
                Some(pending) => pending.consider(&piece),
                None => Pending::new(&piece, Instant::now()).consider(&piece),
            };
            reject(added.conflicting, "spans with the id of another that says something else");
            reject(added.beyond, "spans of a trace with too many");
            taken += added.new;
            kept.push(piece);
        }
        if taken > 0 {
            let number = self.write(&kept)?;
            self.add(kept, number);
        }
        self.counts.requests.fetch_add(1, Relaxed);
        self.counts.spans.fetch_add(taken as u64, Relaxed);
        self.counts.rejected.fetch_add(rejected.spans, Relaxed);
        Ok(rejected)
    }

    fn import(&self, encoding: Encoding, body: &[u8]) -> Result<Imported, Refusal> {
        let task = self.collecting.task.as_deref();
        let wanted = Wanted { format: Some(FORMAT), task, piece: true, forget: true, ..Wanted::default() };
        // A text that is JSON, and bytes that may happen to be text.
        let imported = match encoding {
            Encoding::Json => self.collecting.importers.read(&wanted, "the request", body)?,
            Encoding::Protobuf => self.collecting.importers.read_binary(&wanted, "the request", body)?,
        };
        Ok(imported)
    }

    /// Whether the trace is in the store already, as one that the same spans came to or more.
    fn is_in_store(&mut self, piece: &Trace) -> Result<bool, Problem> {
        let unable = |error: StoreError| Problem::busy("store-unavailable", error.message);
        let store = self.store().map_err(unable)?;
        store.has_trace(&piece.id).map_err(unable)
    }

    fn store(&mut self) -> Result<&mut Store, StoreError> {
        let store = match self.store.take() {
            Some(store) => store,
            None => Store::create_or_open(&self.collecting.store)?,
        };
        Ok(self.store.insert(store))
    }

    /// Keeps pieces on the disk; the number of the file.
    fn write(&mut self, pieces: &[Trace]) -> Result<u64, Problem> {
        let number = self.next;
        let path = self.path(number);
        auto_files::create_private(&path, kept::written(pieces).as_bytes()).map_err(|error| {
            let message = format!("what was received cannot be kept: {error}");
            Problem::busy("unwritable", message).help("the disk may be full; see to it, and the exporter sends again")
        })?;
        self.next += 1;
        Ok(number)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.collecting.folder.join(format!("{number:012}.json"))
    }

    fn add(&mut self, pieces: Vec<Trace>, file: u64) {
        let now = Instant::now();
        for piece in pieces {
            let pending = self.pending.entry(piece.id.clone()).or_insert_with(|| Pending::new(&piece, now));
            if !pending.files.contains(&file) {
                *self.files.entry(file).or_default() += 1;
            }
            pending.add(piece, file, now);
        }
        self.counts.pending.store(self.pending.len() as u64, Relaxed);
    }

    /// Puts the traces that are due into the store, all at the end.
    fn settle(&mut self, all: bool) {
        let now = Instant::now();
        let (quiet, patience) = (self.collecting.quiet, self.collecting.patience);
        let due = |pending: &Pending| all || pending.is_due(now, quiet, patience);
        let ids: Vec<String> =
            self.pending.iter().filter(|(_, pending)| due(pending)).map(|(id, _)| id.clone()).collect();
        for id in ids {
            let Some(pending) = self.pending.get_mut(&id) else { continue };
            let trace = pending.to_trace();
            let opened = match self.store.take() {
                Some(store) => Ok(store),
                None => Store::create_or_open(&self.collecting.store),
            };
            let taken = opened.and_then(|store| self.store.insert(store).ingest(std::slice::from_ref(&trace)));
            match taken {
                Ok(_) => self.counts.traces.fetch_add(1, Relaxed),
                // It lies on the disk: it is tried again, and at the latest by the next collector.
                Err(_) => {
                    pending.wait(now);
                    self.store = None;
                    continue;
                }
            };
            let files = self.pending.remove(&id).map(|pending| pending.files).unwrap_or_default();
            files.into_iter().for_each(|file| self.release(file));
        }
        self.counts.pending.store(self.pending.len() as u64, Relaxed);
    }

    /// Removes a file when no trace waits that has spans in it.
    fn release(&mut self, file: u64) {
        let left = self.files.get_mut(&file).map_or(0, |left| {
            *left -= 1;
            *left
        });
        if left == 0 {
            self.files.remove(&file);
            let _ = std::fs::remove_file(self.path(file));
        }
    }
}
