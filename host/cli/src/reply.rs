//! How a verb ends: an exit code, a stable word for machines, text for people, an object
//! for `--json`.

use std::fmt::Display;
use std::io::{ErrorKind, Write as _};
use std::process::ExitCode;

use auto_json::{Record, Value};
use auto_schema::shown_lines;

use crate::failure::Failure;

/// The exit codes. Usage errors (2) are clap's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Refused or failed.
    Refused = 1,
    /// The command line or a file that the person wrote is not understood.
    Usage = 2,
    /// The artifact abstained.
    Abstained = 3,
    /// The gate could not decide.
    Inconclusive = 4,
    /// A pass or artifact broke a limit or trapped.
    Broken = 5,
    /// A digest, signature or store is damaged.
    Integrity = 6,
}

/// A number of things.
pub fn count(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// What a verb has to say.
pub struct Reply {
    /// How it ended.
    pub exit: Exit,
    /// A stable word for how it ended.
    pub code: String,
    /// For people, on stdout; on stderr where the verb failed, or where stdout is for
    /// something else.
    pub text: String,
    /// For machines: what `--json` prints beside `code` and `exit`.
    pub fields: Record,
    /// Whether `text` is bad news.
    pub failed: bool,
    /// Whether `text` is data rather than words, to be printed as it is.
    pub data: bool,
    /// The exit code where it is another program's.
    pub status: Option<u8>,
}

impl Reply {
    /// A verb that did what was asked.
    pub fn done(code: &str, text: impl Into<String>, fields: Record) -> Reply {
        Reply {
            exit: Exit::Done,
            code: code.into(),
            text: text.into(),
            fields,
            failed: false,
            data: false,
            status: None,
        }
    }

    /// The same with another exit code.
    pub fn exit(mut self, exit: Exit) -> Reply {
        self.exit = exit;
        self
    }

    /// Prints it and gives the process its exit code. Where nobody reads stdout any more
    /// that is no error; where stdout cannot be written it is one.
    pub fn print(self, json: bool, report: Report) -> ExitCode {
        let exit = self.status.unwrap_or(self.exit as u8);
        let text = if json {
            let fields = self.fields.with("code", self.code).with("exit", u32::from(exit));
            Value::from(fields).to_string()
        } else if self.data {
            self.text
        } else {
            shown_lines(&self.text)
        };
        let stderr = report == Report::Stderr || (self.failed && !json);
        let printed = match text.as_str() {
            "" => Ok(()),
            text if stderr => {
                let _ = writeln!(std::io::stderr().lock(), "{text}");
                Ok(())
            }
            text => say(&text),
        };
        match printed {
            Ok(()) => ExitCode::from(exit),
            Err(failure) => {
                let _ = writeln!(std::io::stderr().lock(), "{failure}");
                ExitCode::from(failure.exit as u8)
            }
        }
    }
}

/// Where a verb's report goes. What it was asked to write to stdout stands there alone: the
/// report then goes to stderr, as a line of JSON with `--json`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Stdout, and bad news for people to stderr.
    Stdout,
    /// Stderr.
    Stderr,
}

/// Writes a line to stdout and flushes it. A closed pipe counts as written: whoever closed
/// it has read enough.
pub fn say(line: &dyn Display) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(Exit::Refused, "unwritable", format!("cannot write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}

impl From<Failure> for Reply {
    fn from(failure: Failure) -> Reply {
        let fields = Record::new()
            .with("message", failure.message.as_str())
            .with("at", failure.at.clone())
            .with("help", failure.help.clone())
            .with("log", failure.log.iter().map(|line| line.as_str().into()).collect::<Vec<Value>>());
        Reply {
            exit: failure.exit,
            text: failure.to_string(),
            code: failure.code,
            fields,
            failed: true,
            data: false,
            status: None,
        }
    }
}
