//! Who stands behind artifacts: tools for those that need them, tier 0 for inputs that they do
//! not answer. The command line brings them; here they are asked, kept for the next input, and
//! let go when an artifact goes.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use auto_json::Record;
use auto_runtime::{EffectRecord, Program, Tools};
use auto_schema::digest::Digest;
use auto_schema::key::Part;

use super::caller::Caller;

/// Why somebody does not do their part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable, kebab-case.
    pub code: String,
    /// What and why.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

/// What tier 0 answered.
#[derive(Clone, Debug)]
pub struct Answered {
    /// Canonical JSON of the output type.
    pub output: String,
    /// What it cost, in micro-USD, where somebody knows.
    pub cost: Option<u64>,
    /// Whether it is recorded; none where nothing is to be.
    pub recorded: Option<bool>,
    /// More for the reply: who answered, how long it took.
    pub fields: Record,
}

/// Who answers where an artifact does not; asked one input after the other.
pub trait Tier0: Send {
    /// The answer, checked and recorded; `why` the artifact gave none.
    fn answer(&mut self, input: &str, why: &str) -> Result<Answered, Refusal>;
}

/// Tools for one run after the other.
pub trait ToolSet: Tools + Send {
    /// The records since the last time.
    fn take_records(&mut self) -> Vec<EffectRecord>;
}

/// What there is behind artifacts.
pub trait Backing: Send + Sync {
    /// Whether anybody answers where artifacts of that name do not.
    fn has_tier0(&self, name: &str) -> bool;

    /// What of a request is the artifact's input; none where all of it is. Asked once for each
    /// artifact that is loaded.
    fn key(&self, program: &Program) -> Result<Option<Part>, Refusal>;

    /// Somebody who does, for this caller's money; asked with whole requests.
    fn tier0(
        &self,
        name: &str,
        program: &Program,
        key: Option<&Part>,
        caller: &Caller,
    ) -> Result<Box<dyn Tier0>, Refusal>;

    /// The tools that an artifact may ask for, started.
    fn tools(&self, program: &Program, caller: &Caller) -> Result<Box<dyn ToolSet>, Refusal>;

    /// What one recorded answer of what the artifact stands for cost, in micro-USD: the median,
    /// where that was recorded.
    fn price(&self, program: &Program) -> Option<u64>;
}

/// Nobody.
pub struct Nobody;

impl Backing for Nobody {
    fn has_tier0(&self, _: &str) -> bool {
        false
    }

    fn key(&self, _: &Program) -> Result<Option<Part>, Refusal> {
        Ok(None)
    }

    fn tier0(&self, _: &str, _: &Program, _: Option<&Part>, _: &Caller) -> Result<Box<dyn Tier0>, Refusal> {
        Err(Refusal { code: "no-tier0".to_owned(), message: "nobody stands behind this artifact".to_owned() })
    }

    fn tools(&self, program: &Program, _: &Caller) -> Result<Box<dyn ToolSet>, Refusal> {
        let asked = program.manifest().capabilities.join(", ");
        let message = format!("the artifact may ask for {asked}, which nothing here grants");
        Err(Refusal { code: "not-granted".to_owned(), message })
    }

    fn price(&self, _: &Program) -> Option<u64> {
        None
    }
}

/// Things that are started once and lent to one at a time, by artifact and caller.
pub struct Lent<T> {
    idle: Mutex<HashMap<(Digest, String), Vec<T>>>,
}

impl<T> Default for Lent<T> {
    fn default() -> Lent<T> {
        Lent { idle: Mutex::default() }
    }
}

impl<T> Lent<T> {
    /// Works with one that is idle, or with a new one.
    pub fn with<R>(
        &self,
        artifact: Digest,
        caller: &str,
        start: impl FnOnce() -> Result<T, Refusal>,
        work: impl FnOnce(&mut T) -> R,
    ) -> Result<R, Refusal> {
        let key = (artifact, caller.to_owned());
        let idle = self.lock().get_mut(&key).and_then(Vec::pop);
        let mut lent = match idle {
            Some(idle) => idle,
            None => start()?,
        };
        let result = work(&mut lent);
        self.lock().entry(key).or_default().push(lent);
        Ok(result)
    }

    /// Lets go what belongs to artifacts that are gone. Dropped outside of the lock: a process
    /// may take a while to end.
    pub fn keep(&self, still: impl Fn(Digest) -> bool) {
        let mut idle = self.lock();
        let gone: Vec<_> = idle.keys().filter(|(artifact, _)| !still(*artifact)).cloned().collect();
        let gone: Vec<_> = gone.iter().filter_map(|key| idle.remove(key)).collect();
        drop(idle);
        drop(gone);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<(Digest, String), Vec<T>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
