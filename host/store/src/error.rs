//! What can go wrong with a store, in words for the person at the terminal.

use std::path::Path;

/// Why a store cannot be used as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// Stable, kebab-case. One of `no-store` (no such file, or nothing in it),
    /// `not-a-store` (a file of another program), `store-version` (made by a newer
    /// Auto), `store-damaged`, `store-busy` (another process kept it locked),
    /// `store-io` (the file system refused), `trace-conflict` (another trace has that
    /// id), `bad-trace` (a trace that breaks its own rules), `region-scope` (not yet
    /// readable).
    pub code: &'static str,
    /// What, where, why, and what to do.
    pub message: String,
}

impl StoreError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> StoreError {
        StoreError { code, message: message.into() }
    }

    /// Whether the file itself cannot be trusted (exit code 6), rather than the request.
    pub fn is_integrity(&self) -> bool {
        matches!(self.code, "not-a-store" | "store-version" | "store-damaged")
    }

    pub(crate) fn damaged(what: impl core::fmt::Display) -> StoreError {
        StoreError::new(
            "store-damaged",
            format!("{what}; the store was changed by something else: import the trace files into a new one"),
        )
    }

    /// Sorts SQLite's own errors by what a person can do about them.
    pub(crate) fn sqlite(error: rusqlite::Error, path: &Path) -> StoreError {
        use rusqlite::ErrorCode::{
            CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase, PermissionDenied, ReadOnly,
        };
        let path = path.display();
        match error.sqlite_error_code() {
            Some(DatabaseBusy | DatabaseLocked) => StoreError::new(
                "store-busy",
                format!("{path}: another process kept the store locked for too long; try again when it is done"),
            ),
            Some(NotADatabase) => StoreError::new(
                "not-a-store",
                format!("{path} is not a trace store; give another file, or import the traces into a new one"),
            ),
            Some(DatabaseCorrupt) => StoreError::damaged(format!("{path}: {error}")),
            Some(CannotOpen | PermissionDenied | ReadOnly) => StoreError::new(
                "store-io",
                format!("{path} cannot be opened as asked ({error}); check that its folder exists and may be written"),
            ),
            _ => StoreError::new("store-io", format!("{path}: {error}")),
        }
    }
}

impl core::fmt::Display for StoreError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}
