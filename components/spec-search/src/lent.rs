//! What the driver is lent: the host's services as one trait, so that a whole session runs in a
//! test as it runs in the component. Nothing here knows of WebAssembly.

use crate::Refusal;
use crate::gate::{Decision, Policy, Snapshot};
use crate::settings::Command;

/// A question to the teacher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// `diagnose`, `repair`, `task`, `plan`.
    pub purpose: &'static str,
    /// What it is told to do.
    pub system: &'static str,
    /// The question.
    pub text: String,
    /// The longest reply.
    pub max_output_tokens: u32,
    /// Tells questions apart that are else the same.
    pub ordinal: u32,
    /// The most that it may cost, in micro-USD.
    pub most: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The reply, or why there is none.
    pub said: Result<String, Fault>,
    /// Micro-USD; also where there is no reply.
    pub cost: u64,
}

/// Something that went wrong at the host, with the host's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Stable, kebab-case.
    pub code: String,
    /// What, why, and what to do.
    pub message: String,
}

/// A file of a job: its name, the digest of its bytes, whether it is a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// A name without folders, or a relative path.
    pub path: String,
    /// A blob.
    pub digest: String,
    /// Whether it can be run.
    pub executable: bool,
}

/// A command in a clean folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// What is run and what it may take.
    pub command: Command,
    /// In the environment as `AUTO_SEED`.
    pub seed: u64,
    /// What lies in the folder.
    pub files: Vec<File>,
    /// What is brought back.
    pub collect: Vec<String>,
}

/// How a command ended; its output are blobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// `exited 0` is what went well.
    pub ending: String,
    /// A blob.
    pub stdout: String,
    /// Brought back, as far as they were there.
    pub files: Vec<File>,
    /// How it was kept apart.
    pub isolation: Vec<String>,
}

impl Ran {
    /// Whether it ended well.
    pub fn well(&self) -> bool {
        self.ending == "exited 0"
    }
}

/// The services.
pub trait Lent {
    /// Asks the teacher. The host takes secrets out of what is sent and refuses what still has some.
    fn ask(&mut self, ask: &Ask) -> Told;
    /// Asks the gate.
    fn admit(&mut self, before: &Snapshot, after: &Snapshot, policy: &Policy) -> Decision;
    /// Runs commands; a fault says that one could not be run.
    fn run(&mut self, jobs: &[Job]) -> Result<Vec<Result<Ran, Fault>>, Fault>;
    /// Keeps bytes under their digest.
    fn put(&mut self, bytes: &[u8]) -> Result<String, Fault>;
    /// The bytes of a digest.
    fn get(&mut self, digest: &str) -> Result<Vec<u8>, Fault>;
    /// Which record counts.
    fn head(&mut self) -> Result<Option<String>, Fault>;
    /// Makes another record the one that counts, where `since` still does.
    fn move_head(&mut self, since: Option<&str>, to: &str) -> Result<(), Fault>;
    /// Tells how far it is.
    fn progress(&mut self, stage: &str, done: u64, total: Option<u64>);
}

impl Fault {
    /// A fault of the driver's own.
    pub fn new(code: &str, message: impl Into<String>) -> Fault {
        Fault { code: code.to_owned(), message: message.into() }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Fault {
        let at = if refusal.at.is_empty() { String::new() } else { format!("{}: ", refusal.at) };
        Fault { code: refusal.code.to_owned(), message: format!("{at}{}", refusal.message) }
    }
}
