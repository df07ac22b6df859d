//! The files that a report rests on: those of a run's folder, each known by its digest, and texts
//! that somebody gave beside them.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use auto_files::regular;
use auto_json::Value;
use auto_schema::digest::Digest;
use auto_schema::{shown, shown_path};

/// The most bytes of a file of a run.
const LARGEST: u64 = 64 << 20;
/// The most bytes of a text that is given.
pub const LARGEST_TEXT: usize = 4 << 20;

/// A file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// Its name in the folder of the run, or that of a text that was given.
    pub name: String,
    /// The digest of its bytes.
    pub digest: Digest,
}

/// A text that somebody gave.
#[derive(Clone, Debug)]
pub struct Literature {
    /// The name of its file.
    pub name: String,
    /// What is in it.
    pub bytes: Vec<u8>,
}

/// Why the files of a run cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// `unreadable`, `unfinished`, `run-damaged`, `other-run`, `blob-damaged`, `no-blob`, `mean-differs`.
    pub code: &'static str,
    /// What and why.
    pub message: String,
}

impl Unreadable {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Unreadable {
        Unreadable { code, message: message.into() }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The files of a run. Each is read once, and is then known by what was in it.
#[derive(Debug)]
pub struct Artifacts {
    folder: PathBuf,
    run: String,
    read: Mutex<BTreeMap<String, Digest>>,
}

impl Artifacts {
    /// Those in the folder of a run, which is named after it.
    pub fn of(folder: &Path) -> Artifacts {
        let run = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Artifacts { folder: folder.to_owned(), run, read: Mutex::default() }
    }

    /// The run's name.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// A file of the run.
    pub fn bytes(&self, name: &str) -> Result<(Digest, Vec<u8>), Unreadable> {
        let path = self.folder.join(name);
        let bytes = regular::read(&path, LARGEST).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound if name == "report.json" => {
                Unreadable::new("unfinished", format!("the run {} has not come to its end", shown(&self.run)))
            }
            _ => Unreadable::new("unreadable", format!("cannot read {}: {error}", shown_path(&path))),
        })?;
        let digest = Digest::of(&bytes);
        if let Ok(mut read) = self.read.lock() {
            read.insert(name.to_owned(), digest);
        }
        Ok((digest, bytes))
    }

    /// A file of JSON.
    pub fn json(&self, name: &str) -> Result<(Digest, Value), Unreadable> {
        let (digest, bytes) = self.bytes(name)?;
        let value = Value::parse(&bytes)
            .map_err(|error| Unreadable::new("run-damaged", format!("{name} of the run is no JSON: {error}")))?;
        Ok((digest, value))
    }

    /// A blob, which has to be what its name says.
    pub fn blob(&self, digest: Digest) -> Result<Vec<u8>, Unreadable> {
        let name = blob_name(digest);
        if !self.folder.join(&name).exists() {
            let why = format!(
                "there is no blob {digest} in the run {}: it is named there and came of another run, or was removed",
                shown(&self.run)
            );
            return Err(Unreadable::new("no-blob", why));
        }
        let (found, bytes) = self.bytes(&name)?;
        if found != digest {
            let why = format!(
                "{name} of the run {} does not hold what its name says: it was changed afterwards",
                shown(&self.run)
            );
            return Err(Unreadable::new("blob-damaged", why));
        }
        Ok(bytes)
    }

    /// The names of the files in a folder of the run, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }

    /// What was given to the run and what came of it. Both have to be of this run: its name is the
    /// digest of what it was given.
    pub fn run_and_report(&self) -> Result<Whole, Unreadable> {
        let (given, bytes) = self.bytes("run.json")?;
        let damaged = |why: String| Unreadable::new("run-damaged", why);
        let record = Value::parse(&bytes).map_err(|error| damaged(format!("run.json is no JSON: {error}")))?;
        let kind = record.get("kind").and_then(Value::as_text).unwrap_or_default().to_owned();
        if self.run != format!("{kind}-{}", &given.to_string()[..12]) {
            return Err(damaged(format!("run.json of {} does not hold what the name says", shown(&self.run))));
        }
        let (came, report) = self.json("report.json")?;
        let of = report.get("run").and_then(Value::as_text);
        let kind_of = report.get("kind").and_then(Value::as_text).unwrap_or_default();
        if of.is_some_and(|of| of != self.run) || kind_of != kind {
            let of = shown(of.unwrap_or(kind_of));
            let why = format!("report.json in the folder of {} is of {of}, another run", shown(&self.run));
            return Err(Unreadable::new("other-run", why));
        }
        self.states(&report)?;
        Ok(Whole { kind, given, record, came, report })
    }

    /// The states that a report names have to be blobs of the run: one that was copied from another
    /// run names states that this one does not have.
    fn states(&self, report: &Value) -> Result<(), Unreadable> {
        let side = |side: &str| report.get(side)?.get("commit")?.as_text().and_then(Digest::parse);
        let head = report.get("head").and_then(Value::as_text).and_then(Digest::parse);
        let mut states = [side("before"), side("after"), head].into_iter().flatten();
        states.try_for_each(|state| self.blob(state).map(drop)).map_err(|error| match error.code {
            "no-blob" => Unreadable::new("other-run", error.message),
            _ => error,
        })
    }
}

/// What a run was given, and what came of it.
#[derive(Clone, Debug)]
pub struct Whole {
    /// Which search it was.
    pub kind: String,
    /// The digest of `run.json`.
    pub given: Digest,
    /// What is in it.
    pub record: Value,
    /// The digest of `report.json`.
    pub came: Digest,
    /// What is in it.
    pub report: Value,
}

/// The name of the file of a blob.
pub fn blob_name(digest: Digest) -> String {
    format!("blobs/{digest}")
}
