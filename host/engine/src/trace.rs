//! What `--verbose` and `pass run` show: one record a call of a component.

use auto_schema::digest::Digest;

/// A call that was made or answered from the memo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTrace {
    /// The name the component was loaded under.
    pub pass: String,
    /// The component.
    pub digest: Digest,
    /// The interface, with its version.
    pub interface: String,
    /// The function.
    pub function: String,
    /// Fuel the call used, itself, not what it called; what it used when it was made, for
    /// one answered from the memo.
    pub fuel: u64,
    /// Microseconds it took, without what it called.
    pub micros: u64,
    /// Bytes of memory it had in the end; not known where the memo answered.
    pub memory: Option<u64>,
    /// Whether the memo answered.
    pub memo_hit: bool,
    /// What it wrote to the log; empty where the memo answered, and where it failed: the
    /// fault has the log.
    pub log: Vec<String>,
    /// The code of its fault.
    pub fault: Option<String>,
}
