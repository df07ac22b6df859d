//! What the guest returned, read out of its memory and believed only once checked.
//!
//! The layouts are those that the canonical ABI gives the types of `wit/cbin`: a
//! `result<outcome, failure>` is 32 bytes aligned to 4, a `novelty` is 16. Everything read
//! is checked: alignment, bounds, discriminants, UTF-8, parts per million, and that a text
//! which should be canonical JSON is.

use crate::canonical::is_canonical;
use crate::error::{CallError, Class};
use crate::module::{Novelty, Outcome};

const MILLION: u32 = 1_000_000;

/// The guest's memory after a call.
pub(crate) struct Returned<'a> {
    pub(crate) memory: &'a [u8],
    /// Whether texts that should be canonical JSON are checked to be.
    pub(crate) checked: bool,
}

impl Returned<'_> {
    /// Reads what `run` and `resume` return.
    #[inline(always)]
    pub(crate) fn result(&self, at: u32) -> Result<Outcome, CallError> {
        let block = self.block::<32>(at)?;
        match (block[0], block[4]) {
            (0, 0) => Ok(Outcome::Answer(self.json(word(block, 8), word(block, 12), "an answer")?)),
            (0, 1) => {
                let Novelty { reason, score, limit } = self.novelty_of(&block[8..24])?;
                Ok(Outcome::Abstain { reason, score, limit })
            }
            (0, 2) => Ok(Outcome::Request {
                capability: self.text(word(block, 8), word(block, 12), "a capability")?.to_owned(),
                input: self.json(word(block, 16), word(block, 20), "an effect's input")?,
                state: self.bytes(word(block, 24), word(block, 28), "a state")?.to_vec(),
            }),
            (1, failure @ (0 | 1)) => {
                let class = if failure == 0 { Class::BadInput } else { Class::Unsupported };
                Err(CallError::new(class, self.text(word(block, 8), word(block, 12), "a failure")?))
            }
            (0, other) => Err(bad(format!("an outcome of case {other}; there are 0, 1 and 2"))),
            (1, other) => Err(bad(format!("a failure of case {other}; there are 0 and 1"))),
            (other, _) => Err(bad(format!("a result of case {other}; there are 0 and 1"))),
        }
    }

    /// Reads what `assess` returns.
    pub(crate) fn novelty(&self, at: u32) -> Result<Novelty, CallError> {
        self.novelty_of(self.block::<16>(at)?)
    }

    fn novelty_of(&self, block: &[u8]) -> Result<Novelty, CallError> {
        let (score, limit) = (word(block, 8), word(block, 12));
        if score > MILLION || limit > MILLION {
            return Err(bad(format!("a novelty of {score} against {limit}; both are at most {MILLION}")));
        }
        Ok(Novelty { reason: self.text(word(block, 0), word(block, 4), "a reason")?.to_owned(), score, limit })
    }

    #[inline(always)]
    fn json(&self, at: u32, length: u32, what: &str) -> Result<String, CallError> {
        let text = self.text(at, length, what)?;
        if self.checked {
            match is_canonical(text) {
                Ok(true) => {}
                Ok(false) => return Err(bad(format!("{what} that is not canonical JSON"))),
                Err(error) => return Err(bad(format!("{what} that is not JSON: {error}"))),
            }
        }
        Ok(text.to_owned())
    }

    #[inline(always)]
    fn text(&self, at: u32, length: u32, what: &str) -> Result<&str, CallError> {
        let bytes = self.bytes(at, length, what)?;
        str::from_utf8(bytes).map_err(|error| bad(format!("{what} that is not UTF-8: {error}")))
    }

    #[inline(always)]
    fn bytes(&self, at: u32, length: u32, what: &str) -> Result<&[u8], CallError> {
        let (start, length) = (at as usize, length as usize);
        start.checked_add(length).and_then(|end| self.memory.get(start..end)).ok_or_else(|| {
            bad(format!("{what} of {length} bytes at {start}, outside its memory of {} bytes", self.memory.len()))
        })
    }

    #[inline(always)]
    fn block<const N: usize>(&self, at: u32) -> Result<&[u8; N], CallError> {
        if !at.is_multiple_of(4) {
            return Err(bad(format!("a result at {at}, which is not a multiple of 4")));
        }
        self.memory.get(at as usize..).and_then(|rest| rest.first_chunk::<N>()).ok_or_else(|| {
            bad(format!("a result of {N} bytes at {at}, outside its memory of {} bytes", self.memory.len()))
        })
    }
}

/// The little-endian word at a place that the caller knows to be inside.
fn word(block: &[u8], at: usize) -> u32 {
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&block[at..at + 4]);
    u32::from_le_bytes(bytes)
}

/// The guest broke the ABI: `what` is what it returned.
pub(crate) fn bad(what: String) -> CallError {
    CallError::new(Class::BadOutput, format!("the artifact returned {what}"))
}
