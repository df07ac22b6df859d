//! Why a registry refuses.

use std::fmt;
use std::io;
use std::path::Path;

use auto_schema::cbin::Damage;
use auto_schema::shown_path;

/// What kind of refusal it is, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It is not allowed, or cannot be done now.
    Refused,
    /// What was asked for is not understood.
    Usage,
    /// Bytes are not what a digest or a signature says.
    Integrity,
}

/// What went wrong, with a stable code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryError {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// What kind of refusal.
    pub class: Class,
    /// What and why.
    pub message: String,
    /// What to do, where something can be done.
    pub help: Option<String>,
}

impl RegistryError {
    /// Something is not allowed, or cannot be done now.
    pub fn refused(code: &'static str, message: impl Into<String>) -> RegistryError {
        RegistryError { code, class: Class::Refused, message: message.into(), help: None }
    }

    /// What was asked for is not understood.
    pub fn usage(code: &'static str, message: impl Into<String>) -> RegistryError {
        RegistryError { class: Class::Usage, ..RegistryError::refused(code, message) }
    }

    /// Bytes are not what a digest or a signature says.
    pub fn integrity(code: &'static str, message: impl Into<String>) -> RegistryError {
        RegistryError { class: Class::Integrity, ..RegistryError::refused(code, message) }
    }

    /// Says what to do.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> RegistryError {
        self.help = Some(help.into());
        self
    }

    /// A write that failed: what was there before still is.
    pub(crate) fn unwritable(path: &Path, error: &io::Error) -> RegistryError {
        RegistryError::refused("unwritable", format!("cannot write {}: {error}", shown_path(path)))
            .help("nothing was changed; free some space or choose another place")
    }
}

impl From<Damage> for RegistryError {
    fn from(damage: Damage) -> RegistryError {
        match damage.code {
            "not-wasm" | "component" | "imports" | "unsealed" => {
                RegistryError::refused(damage.code, damage.to_string())
                    .help("a registry holds what `auto-host compile` wrote")
            }
            _ => RegistryError::integrity(damage.code, damage.to_string())
                .help("get it again from where it came, or compile it again"),
        }
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for RegistryError {}
