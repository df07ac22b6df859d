//! What can go wrong with a store, in words for the person at the terminal.

use std::path::Path;

use auto_schema::shown_path;

use crate::owner;

/// Why a store cannot be used as asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// Stable, kebab-case. One of `no-store` (no such file, or nothing in it),
    /// `not-a-store` (a file of another program), `store-version` (made by a newer
    /// Auto), `store-damaged`, `store-busy` (another process kept it locked),
    /// `store-full` (no space), `store-io` (the file system refused), `trace-conflict`
    /// (another trace has that id), `bad-trace` (a trace that breaks its own rules),
    /// `no-task` (nothing is recorded under that name), `no-region` (no recording has the region).
    pub code: &'static str,
    /// What, where, why, and what to do.
    pub message: String,
}

impl StoreError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>) -> StoreError {
        StoreError { code, message: message.into() }
    }

    /// Whether the file was a store and cannot be trusted any more (exit code 6). What never
    /// was one, or is one of a newer version, is refused.
    pub fn is_integrity(&self) -> bool {
        self.code == "store-damaged"
    }

    /// `path` is shown already.
    pub(crate) fn no_store(path: &str) -> StoreError {
        let what = format!("{path} is not a trace store; give another file, or import the traces into a new one");
        StoreError::new("not-a-store", what)
    }

    pub(crate) fn damaged(what: impl core::fmt::Display) -> StoreError {
        StoreError::new(
            "store-damaged",
            format!(
                "{what}; the store was changed by something else: `auto-host store salvage` takes what is whole into a new one"
            ),
        )
    }

    /// Sorts SQLite's own errors by what a person can do about them. Our queries and tables
    /// are right, so an error that does not come from outside comes from a damaged file.
    pub(crate) fn sqlite(error: rusqlite::Error, path: &Path) -> StoreError {
        use rusqlite::ErrorCode as Code;
        let code = error.sqlite_error_code();
        let is_one_of = |codes: &[i32]| error.sqlite_error().is_some_and(|error| codes.contains(&error.extended_code));
        let (short, full) = (is_one_of(&SHORT), is_one_of(&FULL));
        let ours = owner::claims(path);
        let path = shown_path(path);
        match code {
            Some(Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed) => StoreError::new(
                "store-busy",
                format!("{path}: another process kept the store locked for too long; try again when it is done"),
            ),
            Some(Code::NotADatabase) if !ours => StoreError::no_store(&path),
            Some(Code::CannotOpen | Code::PermissionDenied | Code::ReadOnly) => StoreError::new(
                "store-io",
                format!("{path} cannot be opened as asked ({error}); check that its folder exists and may be written"),
            ),
            _ if full || code == Some(Code::DiskFull) => StoreError::new(
                "store-full",
                format!("{path}: the disk is full; the store is as it was: free some space and try again"),
            ),
            Some(Code::SystemIoFailure) if !short => StoreError::new("store-io", format!("{path}: {error}")),
            Some(Code::OutOfMemory | Code::OperationInterrupted | Code::NoLargeFileSupport) => {
                StoreError::new("store-io", format!("{path}: {error}"))
            }
            _ => StoreError::damaged(format!("{path}: {error}")),
        }
    }
}

/// SQLite's extended code for an index of the log that finds no space, `IOERR_SHMSIZE`.
const FULL: [i32; 1] = [4874];

/// SQLite's extended codes for a file that ends too early or fails its own checks:
/// `IOERR_SHORT_READ`, `IOERR_DATA`, `IOERR_CORRUPTFS` (https://sqlite.org/rescode.html).
const SHORT: [i32; 3] = [522, 8202, 8458];

impl core::fmt::Display for StoreError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StoreError {}
