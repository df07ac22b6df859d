//! What carries a question to a model and brings an answer back: the network, or something that
//! stands for it.

mod cassette;
mod chaos;
mod http;
mod script;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use auto_schema::digest::Digest;

use crate::error::ModelError;
use crate::secret::Secret;

/// What answers questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The provider.
    #[default]
    Live,
    /// The provider, and what it answers is added to a file.
    Record(PathBuf),
    /// A file that `Record` wrote, and nothing else: a question that is not in it is an error.
    Replay(PathBuf),
    /// A file with one reply a line, whatever is asked.
    Scripted(PathBuf),
    /// The provider, with faults of the kinds that networks have; which, the seed decides.
    Chaos(u64),
}

impl Mode {
    /// Reads `live`, `record:FILE`, `replay:FILE`, `scripted:FILE` or `chaos:SEED`. Code:
    /// `bad-mode`.
    pub fn parse(text: &str) -> Result<Mode, ModelError> {
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match (kind, rest.is_empty()) {
            _ if text == "live" => Ok(Mode::Live),
            ("record", false) => Ok(Mode::Record(rest.into())),
            ("replay", false) => Ok(Mode::Replay(rest.into())),
            ("scripted", false) => Ok(Mode::Scripted(rest.into())),
            ("chaos", false) if rest.parse::<u64>().is_ok() => Ok(Mode::Chaos(rest.parse().unwrap_or_default())),
            _ => Err(ModelError::new("bad-mode", format!("{} is not a mode", text.escape_debug()))
                .help("give live, record:FILE, replay:FILE, scripted:FILE or chaos:SEED")),
        }
    }

    /// Whether a provider is asked, who may want a key and money.
    pub(crate) fn asks(&self) -> bool {
        !matches!(self, Mode::Replay(_) | Mode::Scripted(_))
    }

    pub(crate) fn transport(&self, connect: Duration) -> Result<Box<dyn Transport>, ModelError> {
        Ok(match self {
            Mode::Live => Box::new(http::Http::new(connect)?),
            Mode::Record(path) => Box::new(cassette::Recorder::new(path, http::Http::new(connect)?)?),
            Mode::Replay(path) => Box::new(cassette::Player::open(path)?),
            Mode::Scripted(path) => Box::new(script::Script::open(path)?),
            Mode::Chaos(seed) => Box::new(chaos::Chaos::new(*seed, http::Http::new(connect)?)),
        })
    }
}

/// A question on its way.
pub(crate) struct Outgoing {
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
    pub(crate) key: Option<Secret>,
    /// Whether it goes to this machine, and so through no proxy.
    pub(crate) loopback: bool,
    /// Of what is asked: the same question of the same model has the same one.
    pub(crate) identity: Digest,
    /// Which question of a job it is, from 1; 0 where nobody counts.
    pub(crate) ordinal: u32,
    pub(crate) deadline: Instant,
    /// The most bytes of an answer.
    pub(crate) most: usize,
}

/// What came back, whatever it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incoming {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    /// How long the server asks to be left alone.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

/// Why nothing came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Whether the question may have reached somebody who charges for it.
    pub(crate) maybe_billed: bool,
}

impl Lost {
    /// After the question was sent, or may have been.
    pub(crate) fn after(code: &'static str, message: impl Into<String>) -> Lost {
        Lost { code, message: message.into(), maybe_billed: true }
    }

    /// Before anything was sent.
    pub(crate) fn before(code: &'static str, message: impl Into<String>) -> Lost {
        Lost { code, message: message.into(), maybe_billed: false }
    }
}

/// Carries one question.
pub(crate) trait Transport: Send + Sync {
    /// Sends it and waits for the answer, until the deadline.
    fn send(&self, question: &Outgoing) -> Result<Incoming, Lost>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_strictly() {
        assert_eq!(Mode::parse("live"), Ok(Mode::Live));
        assert_eq!(Mode::parse("record:a:b"), Ok(Mode::Record("a:b".into())));
        assert_eq!(Mode::parse("chaos:7"), Ok(Mode::Chaos(7)));
        for text in ["", "Live", "live:", "live:x", "record", "replay:", "chaos:", "chaos:x", "chaos:-1"] {
            assert_eq!(Mode::parse(text).map_err(|error| error.code), Err("bad-mode"), "{text:?}");
        }
    }
}
