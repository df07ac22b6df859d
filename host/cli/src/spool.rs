//! Where a recording lies until it is in the store: a folder beside it, `STORE.spool`.
//!
//! A trace file there is removed only after the store has it on the disk, so whatever
//! happens to `record` (a kill, a full disk, a damaged store) leaves the trace where the next
//! command finds it. A lock says that a trace is still being written; the agent inherits it,
//! so it holds until `record` and the agent have both ended, however they end.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use auto_files::regular;
use auto_schema::shown_path;
use auto_store::shown_store;
use rustix::fs::{FlockOperation, flock};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::failure::Failure;
use crate::reply::Exit;

/// How often a folder that another recorder just removed is made again.
const ATTEMPTS: usize = 100;

/// The folder for the recordings of a store.
pub struct Spool {
    store: PathBuf,
    folder: PathBuf,
}

/// A trace file that is this process's alone. It stays where it is until [`Recording::done`].
pub struct Recording {
    /// Where the agent writes, or wrote.
    pub trace: PathBuf,
    lock: PathBuf,
    held: File,
}

impl Spool {
    /// The spool beside a store.
    pub fn beside(store: &Path) -> Spool {
        Spool { store: store.to_owned(), folder: auto_store::beside(store, ".spool") }
    }

    /// Makes an empty trace file for an agent to write to.
    pub fn begin(&self) -> Result<Recording, Failure> {
        let unwritable = |error: std::io::Error| {
            let message = format!("cannot make a trace file in {}: {error}", shown_path(&self.folder));
            Failure::new(Exit::Refused, "unwritable", message)
                .help("the agent was not started; the folder of the store must be writable and have space")
        };
        let mut result = self.try_begin();
        for _ in 1..ATTEMPTS {
            match &result {
                // Another recorder was done, and removed what was empty.
                Err(error) if error.kind() == ErrorKind::NotFound => result = self.try_begin(),
                _ => break,
            }
        }
        result.map_err(unwritable)
    }

    fn try_begin(&self) -> std::io::Result<Recording> {
        match fs::DirBuilder::new().mode(0o700).create(&self.folder) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let lock = tempfile::Builder::new().prefix("run-").suffix(".lock").tempfile_in(&self.folder)?;
        flock(lock.as_file(), FlockOperation::LockExclusive)?;
        let (held, lock) = lock.keep().map_err(|error| error.error)?;
        let trace = lock.with_extension("jsonl");
        let recording = Recording { trace, lock, held };
        OpenOptions::new().write(true).create_new(true).open(&recording.trace)?;
        Ok(recording)
    }

    /// The traces that a stopped `record` left, by name.
    pub fn leftovers(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut traces: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        traces.retain(|path| path.extension() == Some(OsStr::new("jsonl")) && self.is_left(path));
        traces.sort();
        traces
    }

    fn is_left(&self, trace: &Path) -> bool {
        fs::metadata(trace).is_ok_and(|file| file.is_file() && file.len() > 0)
            && match regular::open(&trace.with_extension("lock")) {
                Ok(lock) => flock(&lock, FlockOperation::NonBlockingLockShared).is_ok(),
                Err(_) => true,
            }
    }

    /// Takes over a trace that was left, unless somebody else just did.
    pub fn claim(&self, trace: &Path) -> Option<Recording> {
        let lock = trace.with_extension("lock");
        let mut options = OpenOptions::new();
        let held = regular::open_no_link(options.write(true).create(true).truncate(false), &lock).ok()?;
        flock(&held, FlockOperation::NonBlockingLockExclusive).ok()?;
        let recording = Recording { trace: trace.to_owned(), lock, held };
        if fs::metadata(trace).is_ok() {
            return Some(recording);
        }
        recording.done();
        None
    }

    /// What to do about what was left, or nothing where nothing was.
    pub fn advice(&self) -> Option<String> {
        let (were, them) = match self.leftovers().len() {
            0 => return None,
            1 => ("1 recording was".to_owned(), "it"),
            n => (format!("{n} recordings were"), "them"),
        };
        Some(format!("{were} left in {}; take {them} in with `{}`", shown_path(&self.folder), self.command()))
    }

    /// Says on stderr that recordings were left, if any were.
    pub fn mention(&self) {
        if let Some(advice) = self.advice() {
            eprintln!("note: {advice}");
        }
    }

    /// The command that takes in what was left.
    pub fn command(&self) -> String {
        format!("auto-host import --store {} --spool", shown_store(&self.store))
    }
}

impl Recording {
    /// Lets the agent hold the lock too, for as long as it runs.
    pub fn share(&self) -> std::io::Result<()> {
        Ok(fcntl_setfd(&self.held, FdFlags::empty())?)
    }

    /// The trace is in the store, or there is none: removes the file, and the folder where
    /// it was the last.
    pub fn done(self) {
        // What cannot be removed is found again, and is already in the store then.
        let _ = fs::remove_file(&self.trace);
        let _ = fs::remove_file(&self.lock);
        drop(self.held);
        if let Some(folder) = self.lock.parent() {
            let _ = fs::remove_dir(folder);
        }
    }
}
