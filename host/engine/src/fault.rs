//! What goes wrong, as values: [`Error`] when a component cannot be loaded, [`Fault`]
//! when a call fails. Both have a stable code and say what to do.

use std::fmt;

use auto_schema::BREAKAGES;
use auto_schema::digest::Digest;

/// Why a component was not loaded, or the engine not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Stable: `not-wasm`, `precompiled-code`, `truncated`, `malformed`, `core-module`, `too-large`, `unsupported-proposal`, `unknown-import`, `version`,
    /// `interface-mismatch`, `unsupported-type`, `no-exports`, `cache`, `engine`.
    pub code: &'static str,
    /// The file or name the component was loaded under.
    pub label: String,
    /// The component, where there was one.
    pub digest: Option<Digest>,
    /// The interface or item, where there is one.
    pub at: Option<String>,
    /// What, why, and what to do.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.label, self.message)
    }
}

impl std::error::Error for Error {}

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultClass {
    /// The component trapped: a panic, a division by zero, an access out of bounds.
    Trap,
    /// It used up its fuel.
    OutOfFuel,
    /// It asked for more memory than it may have, and failed for it.
    OutOfMemory,
    /// It asked for more table entries than it may have, and failed for it.
    OutOfTable,
    /// Its functions called each other deeper than its stack reaches.
    OutOfStack,
    /// It consists of more core instances than a call may have.
    OutOfInstances,
    /// It ran longer than it may.
    Deadline,
    /// What it returned is larger than it may be.
    OutputTooLarge,
    /// A value that it returned, or was to be given, nests too deep.
    ValueTooDeep,
    /// The arguments of the call, or those that it hands to what it calls, are too large.
    ArgumentsTooLarge,
    /// It wrote more to the log than it may.
    LogTooLarge,
    /// What it returned is not what its type says.
    BadOutput,
    /// Nothing provides an interface that is needed.
    MissingImport,
    /// Something provides it, but in a version or form that does not fit.
    Version,
    /// The caller's arguments do not fit the function, or there is no such function.
    BadArguments,
    /// The host could not do its part: a folder it cannot write, a journal that is not
    /// this job's, no room for another instance.
    Host(&'static str),
    /// The component itself says no: the code of its own fault record.
    Refused(String),
}

impl FaultClass {
    /// Stable, kebab-case. A refusal's code is the component's own.
    pub fn code(&self) -> &str {
        match self {
            FaultClass::Trap => "trap",
            FaultClass::OutOfFuel => "out-of-fuel",
            FaultClass::OutOfMemory => "out-of-memory",
            FaultClass::OutOfTable => "out-of-table",
            FaultClass::OutOfStack => "out-of-stack",
            FaultClass::OutOfInstances => "out-of-instances",
            FaultClass::Deadline => "deadline",
            FaultClass::OutputTooLarge => "output-too-large",
            FaultClass::ValueTooDeep => "value-too-deep",
            FaultClass::ArgumentsTooLarge => "arguments-too-large",
            FaultClass::LogTooLarge => "log-too-large",
            FaultClass::BadOutput => "bad-output",
            FaultClass::MissingImport => "missing-import",
            FaultClass::Version => "version",
            FaultClass::BadArguments => "bad-arguments",
            FaultClass::Host(code) => code,
            FaultClass::Refused(code) => code,
        }
    }

    /// The flag that raises the limit, where a limit was broken.
    pub fn flag(&self) -> Option<&'static str> {
        match self {
            FaultClass::OutOfFuel => Some("--fuel"),
            FaultClass::OutOfMemory => Some("--memory"),
            FaultClass::OutOfTable => Some("--table-entries"),
            FaultClass::OutOfStack => Some("--stack"),
            FaultClass::OutOfInstances => Some("--instances"),
            FaultClass::Deadline => Some("--deadline"),
            FaultClass::OutputTooLarge => Some("--max-output"),
            FaultClass::ValueTooDeep => Some("--max-depth"),
            FaultClass::ArgumentsTooLarge => Some("--max-value"),
            FaultClass::LogTooLarge => Some("--max-log"),
            _ => None,
        }
    }

    /// The class of a fault that a driver was told of and hands on.
    pub(crate) fn handed_on(code: &str) -> Option<FaultClass> {
        Self::BROKEN.into_iter().find(|class| class.code() == code)
    }

    /// What a driver is told of; one that ran too long ends the job.
    const BROKEN: [FaultClass; BREAKAGES.len()] = [
        FaultClass::Trap,
        FaultClass::BadOutput,
        FaultClass::OutOfFuel,
        FaultClass::OutOfMemory,
        FaultClass::OutOfTable,
        FaultClass::OutOfStack,
        FaultClass::OutOfInstances,
        FaultClass::OutputTooLarge,
        FaultClass::ValueTooDeep,
        FaultClass::ArgumentsTooLarge,
        FaultClass::LogTooLarge,
    ];

    /// Whether it was the component that broke a limit or fell over, rather than said no.
    pub fn is_breakage(&self) -> bool {
        self.flag().is_some() || matches!(self, FaultClass::Trap | FaultClass::BadOutput)
    }
}

/// A failed call: who, where, how, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The name the component was loaded under; `host` where none was reached.
    pub pass: String,
    /// The component; none where none was reached.
    pub digest: Option<Digest>,
    /// `interface#function`.
    pub function: String,
    /// How it failed.
    pub class: FaultClass,
    /// What, why, and what to do; for a trap, the panic text where there is one.
    pub message: String,
    /// The place the component's own fault record names, or the argument at fault.
    pub at: Option<String>,
    /// What it wrote to the log: the first lines and the last; then what those who called it
    /// wrote, each line with the writer's name.
    pub log: Vec<String>,
    /// Who called it, the innermost first: the name and `interface#function` of each.
    pub callers: Vec<String>,
}

impl Fault {
    /// A failure of the host itself.
    pub(crate) fn host(code: &'static str, function: &str, message: impl Into<String>) -> Fault {
        Fault {
            pass: "host".to_owned(),
            digest: None,
            function: function.to_owned(),
            class: FaultClass::Host(code),
            message: message.into(),
            at: None,
            log: Vec::new(),
            callers: Vec::new(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.pass)?;
        if let Some(digest) = &self.digest {
            // Twelve digits tell components apart for a person; the record has them all.
            write!(f, " ({})", &digest.to_string()[..12])?;
        }
        write!(f, ", {}: {}: {}", self.function, self.class.code(), self.message)?;
        self.at.as_ref().map_or(Ok(()), |at| write!(f, " (at {at})"))?;
        self.callers.iter().try_for_each(|caller| write!(f, "; called by {caller}"))
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_breakage_that_a_driver_is_told_of_is_known_when_it_hands_it_on() {
        for code in BREAKAGES {
            let class = FaultClass::handed_on(code).expect(code);
            assert!(class.is_breakage() && class.code() == code);
        }
        assert_eq!(FaultClass::handed_on("bad-contract"), None);
    }
}
