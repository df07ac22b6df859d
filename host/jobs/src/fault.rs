//! Why something could not be done.

use std::fmt;

/// Something that could not be done; it says nothing about what was to be found out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// What, where, why, and what to do.
    pub message: String,
    /// Whether another try may go better.
    pub passing: bool,
}

impl Fault {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into(), passing: false }
    }

    /// The machine's or the moment's doing.
    pub(crate) fn machine(what: &str, error: impl fmt::Display) -> Fault {
        Fault { code: "machine", message: format!("{what}: {error}"), passing: true }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
