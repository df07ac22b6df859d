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

    /// A command that nobody can run.
    pub(crate) fn no_command(name: &str) -> Fault {
        let message = format!("there is no program {name:?}, or it may not be run; install it, or mend the command");
        Fault::new("no-command", message)
    }

    /// A job that will come to no end.
    pub(crate) fn lost(name: &str, why: &str) -> Fault {
        Fault { code: "job-lost", message: format!("the job {name} is lost: {why}"), passing: true }
    }

    /// What a job left is not of this job.
    pub(crate) fn foreign(name: &str, what: &str) -> Fault {
        let message = format!("in the place of what {name} leaves is {what}; it is not taken");
        Fault { code: "foreign-output", message, passing: true }
    }

    /// What jobs are given to does not answer: those that are there stay, and are found again.
    pub(crate) fn unreachable(what: &str, error: impl fmt::Display) -> Fault {
        let message = format!("{what}: {error}; jobs that were submitted are found again when the run goes on");
        Fault { code: "unreachable", message, passing: true }
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
