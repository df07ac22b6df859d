//! Why a file was not loaded and why a call was not answered.
//!
//! Both carry a stable code for machines and a sentence for people; where a limit was
//! met, the sentence names the flag that raises it.

use std::fmt;
use std::path::PathBuf;

use auto_schema::cbin::Damage;
use auto_schema::shown_path;

/// Why a file could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadError {
    /// The file is not an intact artifact, or not a core WebAssembly module.
    Damaged {
        /// Stable: `not-wasm`, `truncated`, `digest-mismatch`, … as `auto_schema::cbin` gives it.
        code: &'static str,
        /// What is wrong and what to do.
        message: String,
        /// The byte where it was noticed.
        offset: Option<usize>,
    },
    /// The file is compiled code, which is executed unchecked, and comes from outside the
    /// cache folder.
    Precompiled,
    /// The module imports something; artifacts import nothing.
    Imports(Vec<String>),
    /// The module lacks an export that every behaviour has.
    MissingExport {
        /// Its name.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
    },
    /// An export is of another kind or signature than the world asks for.
    WrongExport {
        /// Its name.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// The module's memory starts out larger than the memory limit.
    Memory {
        /// Bytes it starts with.
        needs: u64,
        /// Bytes it may have.
        limit: usize,
    },
    /// The module's table starts out larger than the table of an artifact may be.
    Table {
        /// Entries it starts with.
        needs: u64,
        /// Entries it may have.
        limit: usize,
    },
    /// More of something than is compiled.
    TooLarge(String),
    /// WebAssembly that does not validate under the features artifacts may use.
    Invalid(String),
    /// The folder for compiled code cannot be trusted or made.
    Cache {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        message: String,
    },
    /// The sandbox itself could not be set up on this machine.
    Sandbox(String),
}

impl LoadError {
    /// A stable name for machines, in kebab case.
    pub fn code(&self) -> &'static str {
        match self {
            LoadError::Damaged { code, .. } => code,
            LoadError::Precompiled => "precompiled-code",
            LoadError::Imports(_) => "imports",
            LoadError::MissingExport { .. } => "missing-export",
            LoadError::WrongExport { .. } => "wrong-export",
            LoadError::Memory { .. } => "out-of-memory",
            LoadError::Table { .. } => "out-of-table",
            LoadError::TooLarge(_) => "too-large",
            LoadError::Invalid(_) => "invalid-module",
            LoadError::Cache { .. } => "cache",
            LoadError::Sandbox(_) => "sandbox",
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Damaged { message, offset: Some(offset), .. } => write!(f, "{message} (at byte {offset})"),
            LoadError::Damaged { message, offset: None, .. } => f.write_str(message),
            LoadError::Precompiled => f.write_str(
                "this is precompiled code, which would be executed unchecked; only what this host compiled and kept in its own cache folder is",
            ),
            LoadError::Imports(names) => {
                write!(f, "the module imports {}, but an artifact imports nothing: ", names.join(", "))?;
                f.write_str("build it without imports and ask for effects by returning a request")
            }
            LoadError::MissingExport { name, expected } => {
                write!(f, "the module does not export `{name}` ({expected}); ")?;
                f.write_str("an artifact exports the world auto:cbin/cbin@0.1.0 by the canonical ABI")
            }
            LoadError::WrongExport { name, expected, found } => {
                write!(f, "the export `{name}` is {found}, but must be {expected}")
            }
            LoadError::Memory { needs, limit } => {
                write!(f, "the module starts with {needs} bytes of memory, ")?;
                write!(f, "but may have {limit}; raise it with --memory")
            }
            LoadError::Table { needs, limit } => {
                write!(f, "the module starts with {needs} entries in its table, but an artifact may have {limit}; ")?;
                f.write_str("no flag raises that: call fewer functions through it")
            }
            LoadError::TooLarge(what) => write!(f, "the module is too large to be compiled: it has {what}"),
            LoadError::Invalid(message) => write!(f, "the module is not valid WebAssembly for an artifact: {message}"),
            LoadError::Cache { folder, message } => {
                write!(f, "the cache folder {} {message}", shown_path(folder))
            }
            LoadError::Sandbox(message) => write!(f, "the sandbox could not be set up: {message}"),
        }
    }
}

impl std::error::Error for LoadError {}

impl From<Damage> for LoadError {
    fn from(damage: Damage) -> LoadError {
        LoadError::Damaged { code: damage.code, message: damage.message, offset: damage.offset }
    }
}

/// Why a call was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The guest trapped.
    Trap,
    /// It used more instructions than it may.
    OutOfFuel,
    /// It asked for more memory than it may have, or no instance was free.
    OutOfMemory,
    /// Its functions called each other deeper than its stack reaches.
    OutOfStack,
    /// It asked for more entries of its table than it may have.
    OutOfTable,
    /// It took longer than it may.
    Deadline,
    /// The input is larger than allowed; the guest was not run.
    InputTooLarge,
    /// The artifact says that the input is not JSON or not of its input type.
    BadInput,
    /// The artifact says that it cannot do this.
    Unsupported,
    /// What the guest returned is not a value of the ABI.
    BadOutput,
    /// The machine could not do its part: no memory or no space for an instance.
    Machine,
    /// The artifact may ask for what it is not granted; the guest was not run.
    NotGranted,
    /// It asked for more effects than a run may.
    EffectBudget,
    /// A sealed state that these seals never made.
    ForgedState,
    /// A sealed state that was used before.
    ReplayedState,
    /// A sealed state of another artifact.
    ForeignState,
}

impl Class {
    /// A stable name for machines, in kebab case.
    pub fn code(self) -> &'static str {
        match self {
            Class::Trap => "trap",
            Class::OutOfFuel => "out-of-fuel",
            Class::OutOfMemory => "out-of-memory",
            Class::OutOfStack => "out-of-stack",
            Class::OutOfTable => "out-of-table",
            Class::Deadline => "deadline",
            Class::InputTooLarge => "input-too-large",
            Class::BadInput => "bad-input",
            Class::Unsupported => "unsupported",
            Class::BadOutput => "bad-output",
            Class::Machine => "machine",
            Class::NotGranted => "not-granted",
            Class::EffectBudget => "effect-budget",
            Class::ForgedState => "forged-state",
            Class::ReplayedState => "replayed-state",
            Class::ForeignState => "foreign-state",
        }
    }
}

/// A call that was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallError {
    /// What kind of failure.
    pub class: Class,
    /// What happened, and the flag that raises the limit where it was one. For
    /// [`Class::BadInput`] and [`Class::Unsupported`], the artifact's own words.
    pub message: String,
}

impl CallError {
    pub(crate) fn new(class: Class, message: impl Into<String>) -> CallError {
        CallError { class, message: message.into() }
    }

    /// A stable name for machines, in kebab case.
    pub fn code(&self) -> &'static str {
        self.class.code()
    }

    /// Whether the guest itself said so, returning as it should.
    pub(crate) fn is_said(&self) -> bool {
        matches!(self.class, Class::BadInput | Class::Unsupported)
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.message)
    }
}

impl std::error::Error for CallError {}
