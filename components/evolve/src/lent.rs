//! What the driver is lent: the host's services as one trait, so that a whole search runs in a test
//! as it runs in the component. Nothing here knows of WebAssembly.

use auto_search::{Command, Refusal};

/// A question to the teacher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// `propose`, `cross`, `repair`, `escalate`.
    pub purpose: &'static str,
    /// What it is told to do.
    pub system: String,
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
    /// Who was asked.
    pub model: String,
}

/// Something that went wrong at the host, with the host's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Stable, kebab-case.
    pub code: String,
    /// What, why, and what to do.
    pub message: String,
}

/// A file: its place, the digest of its bytes, whether it is a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Relative, with `/`.
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
    /// How often the same was run before: equal jobs are run once, and one that is to be run again
    /// differs by a limit that it cannot see.
    pub again: u32,
}

/// How a command ended; its outputs are blobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// `exited 0` is what went well.
    pub ending: String,
    /// A blob.
    pub stdout: String,
    /// A blob.
    pub stderr: String,
    /// Brought back, as far as they were there.
    pub files: Vec<File>,
    /// How it was kept apart.
    pub isolation: Vec<String>,
}

/// A mean over the samples of a stratum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// What was measured.
    pub metric: String,
    /// Millionths.
    pub mean: i64,
    /// How many samples it is over.
    pub n: u32,
}

/// What was measured of one individual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The digest of the individual.
    pub subject: String,
    /// The digest of what measures.
    pub evaluator: String,
    /// The digest of the samples.
    pub sample: String,
    /// The means.
    pub measures: Vec<Measure>,
    /// What has to hold, and whether it does.
    pub checks: Vec<(String, bool)>,
}

/// A claim about the gain of one measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What is measured.
    pub metric: String,
    /// Whether the gain has to be greater than the bound, and not at least as much.
    pub strict: bool,
    /// Millionths.
    pub bound: i64,
}

/// What the gate decided; reasons in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may stand.
    Accept,
    /// It may not.
    Reject(Vec<String>),
    /// Nobody knows.
    Unmeasurable(Vec<String>),
}

/// The services.
pub trait Lent {
    /// Asks the teacher.
    fn ask(&mut self, ask: &Ask) -> Told;
    /// Asks the gate; checks of `after` have to hold, and every measure has `least` samples.
    fn admit(&mut self, before: &Snapshot, after: &Snapshot, axes: &[Axis], least: u32) -> Decision;
    /// Runs commands; a fault says that one could not be run.
    fn run(&mut self, jobs: &[Job]) -> Result<Vec<Result<Ran, Fault>>, Fault>;
    /// Makes a module of a graph.
    fn emit(&mut self, graph: &[u8]) -> Result<Vec<u8>, Fault>;
    /// Runs a module on inputs: what it answers, none where it answers nothing.
    fn sandbox(&mut self, module: &[u8], inputs: &[String]) -> Result<Vec<Option<String>>, Fault>;
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

impl Ran {
    /// Whether it ended well.
    pub fn well(&self) -> bool {
        self.ending == "exited 0"
    }

    /// A file that was brought back.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
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
