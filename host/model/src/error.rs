//! Why there is no reply.

use std::fmt;

use crate::money::MicroUsd;

/// What went wrong, with a stable code; keys are never in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// What and why.
    pub message: String,
    /// What to do, where something can be done.
    pub help: Option<String>,
    /// What the ledger counts for the call all the same.
    pub cost: MicroUsd,
}

impl ModelError {
    /// An error that cost nothing.
    pub fn new(code: &'static str, message: impl Into<String>) -> ModelError {
        ModelError { code, message: message.into(), help: None, cost: MicroUsd(0) }
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> ModelError {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ModelError {}
