//! Bad news: what, where, why, and what to do; with a stable code and an exit code.

use std::fmt;

use auto_config::ConfigError;
use auto_engine::FaultClass;
use auto_registry::{Class, RegistryError};
use auto_runtime::LoadError;
use auto_schema::cbin::Damage;
use auto_schema::contract::ContractError;
use auto_schema::shown;
use auto_store::StoreError;

use crate::reply::Exit;

/// Why a verb could not do what was asked.
#[derive(Debug)]
pub struct Failure {
    /// Stable, kebab-case.
    pub code: String,
    /// How the process ends.
    pub exit: Exit,
    /// What and why.
    pub message: String,
    /// Where, when there is a place.
    pub at: Option<String>,
    /// What to do.
    pub help: Option<String>,
    /// What the pass wrote before it failed.
    pub log: Vec<String>,
    /// Whether it is what a pass says of its arguments, rather than that it broke or could not
    /// be called.
    pub said: bool,
}

impl Failure {
    /// A failure with a message and nothing else.
    pub fn new(exit: Exit, code: &str, message: impl Into<String>) -> Failure {
        Failure { code: code.into(), exit, message: message.into(), at: None, help: None, log: Vec::new(), said: false }
    }

    /// Says where.
    pub fn at(mut self, at: impl Into<String>) -> Failure {
        self.at = Some(at.into());
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Failure {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line each: whatever was named in it, or said by a pass, begins none of its own.
        write!(f, "error[{}]: {}", shown(&self.code), shown(&self.message))?;
        if let Some(at) = &self.at {
            write!(f, "\n  at: {}", shown(at))?;
        }
        for line in &self.log {
            write!(f, "\n  log: {}", shown(line))?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {}", shown(help))?;
        }
        Ok(())
    }
}

impl From<auto_engine::Error> for Failure {
    fn from(error: auto_engine::Error) -> Failure {
        let mut failure = Failure::new(Exit::Refused, error.code, error.message);
        failure.at = Some(match error.at {
            Some(at) => format!("{}, {at}", error.label),
            None => error.label,
        });
        failure
    }
}

impl From<auto_engine::Fault> for Failure {
    fn from(fault: auto_engine::Fault) -> Failure {
        let exit = if fault.class.is_breakage() { Exit::Broken } else { Exit::Refused };
        let who = match fault.digest {
            Some(digest) => format!("{} ({digest}), {}", fault.pass, fault.function),
            None => format!("{}, {}", fault.pass, fault.function),
        };
        let at = fault.at.map(|at| format!("{at} ({who})")).unwrap_or(who);
        let at = fault.callers.iter().fold(at, |at, caller| format!("{at}, called by {caller}"));
        let mut failure = Failure::new(exit, fault.class.code(), fault.message).at(at);
        failure.log = fault.log;
        failure.said = matches!(fault.class, FaultClass::Refused(_));
        failure
    }
}

impl From<Box<auto_engine::Fault>> for Failure {
    fn from(fault: Box<auto_engine::Fault>) -> Failure {
        Failure::from(*fault)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        let exit = match error.code {
            "no-store" => Exit::Usage,
            _ if error.is_integrity() => Exit::Integrity,
            _ => Exit::Refused,
        };
        Failure::new(exit, error.code, error.message)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        let exit = match &error {
            LoadError::Damaged { code, .. } => damage_exit(code),
            LoadError::Precompiled
            | LoadError::Imports(_)
            | LoadError::TooLarge(_)
            | LoadError::Cache { .. }
            | LoadError::Sandbox(_) => Exit::Refused,
            LoadError::Memory { .. } | LoadError::Table { .. } => Exit::Broken,
            _ => Exit::Integrity,
        };
        let failure = Failure::new(exit, error.code(), error.to_string());
        match error {
            LoadError::Damaged { code, .. } => failure.help(way_out(code)),
            LoadError::Precompiled => failure.help("give the WebAssembly it was compiled from"),
            _ => failure,
        }
    }
}

impl From<Damage> for Failure {
    fn from(damage: Damage) -> Failure {
        let failure = Failure::new(damage_exit(damage.code), damage.code, damage.message).help(way_out(damage.code));
        match damage.offset {
            Some(offset) => failure.at(format!("byte {offset}")),
            None => failure,
        }
    }
}

/// What to do about a file that is not an intact artifact.
fn way_out(code: &str) -> &'static str {
    match code {
        "not-wasm" => "give a file that `auto-host compile` wrote",
        "component" | "imports" | "unsealed" => "have it sealed: `auto-host compile --module FILE` asks the gate",
        _ => "get it again from where it came, or compile it again; nothing in this file can be trusted",
    }
}

/// A file that was never an artifact is refused; one that was is damaged.
fn damage_exit(code: &str) -> Exit {
    if matches!(code, "not-wasm" | "component" | "imports" | "unsealed") { Exit::Refused } else { Exit::Integrity }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Failure {
        let failure = Failure::new(Exit::Usage, error.code, error.message);
        if error.at.is_empty() { failure } else { failure.at(error.at) }
    }
}

impl From<RegistryError> for Failure {
    fn from(error: RegistryError) -> Failure {
        let exit = match error.class {
            Class::Refused => Exit::Refused,
            Class::Usage => Exit::Usage,
            Class::Integrity => Exit::Integrity,
        };
        let failure = Failure::new(exit, error.code, error.message);
        match error.help {
            Some(help) => failure.help(help),
            None => failure,
        }
    }
}

impl From<ContractError> for Failure {
    fn from(error: ContractError) -> Failure {
        let failure = Failure::new(Exit::Usage, error.code, error.message);
        if error.at.is_empty() { failure } else { failure.at(error.at) }
    }
}
