//! Seals: who keeps states with somebody else can tell those that come back.
//!
//! An artifact finds a state that is damaged or of another program; only a secret finds one
//! that was made up, and only a memory one that was used before. A sealed state is the state
//! with what it belongs to, signed:
//!
//! ```text
//! 0: "ASL1"   4: id of the artifact   36: nonce   44: HMAC-SHA-256 of all the rest
//! 76: length of the capability   80: the capability, then the state
//! ```

use std::collections::BTreeSet;

use auto_schema::digest::Digest;
use hmac_sha256::HMAC;

use crate::error::{CallError, Class, LoadError};
use crate::module::Outcome;
use crate::program::Session;

const MAGIC: &[u8; 4] = b"ASL1";
const NONCE: usize = 36;
const CODE: usize = 44;
const LENGTH: usize = 76;
const CAPABILITY: usize = 80;

/// The most states that may be out; beyond it the oldest is taken for used.
const MAX_OPEN: usize = 65_536;

/// A key that nobody else has, and which of the states it sealed are still out. Lives as
/// long as a run, or a server: what one seals, no other opens.
pub struct Seals {
    key: [u8; 32],
    next: u64,
    open: BTreeSet<u64>,
}

impl Seals {
    /// Seals with a fresh random key.
    pub fn new() -> Result<Seals, LoadError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| LoadError::Sandbox(format!("no random bytes for a key: {error}")))?;
        Ok(Seals { key, next: 0, open: BTreeSet::new() })
    }

    fn seal(&mut self, artifact: Digest, capability: &str, state: &[u8]) -> Vec<u8> {
        let nonce = self.next;
        self.next += 1;
        self.open.insert(nonce);
        if self.open.len() > MAX_OPEN {
            self.open.pop_first();
        }
        let mut sealed = Vec::with_capacity(CAPABILITY + capability.len() + state.len());
        sealed.extend_from_slice(MAGIC);
        sealed.extend_from_slice(artifact.as_bytes());
        sealed.extend_from_slice(&nonce.to_le_bytes());
        sealed.extend_from_slice(&[0; LENGTH - CODE]);
        // The name came out of 32-bit memory.
        sealed.extend_from_slice(&(capability.len() as u32).to_le_bytes());
        sealed.extend_from_slice(capability.as_bytes());
        sealed.extend_from_slice(state);
        let code = self.code(&sealed).finalize();
        sealed[CODE..LENGTH].copy_from_slice(&code);
        sealed
    }

    /// Over everything but its own place, whose bounds are fixed. `sealed` is that long.
    fn code(&self, sealed: &[u8]) -> HMAC {
        let mut code = HMAC::new(self.key);
        code.update(&sealed[..CODE]);
        code.update(&sealed[LENGTH..]);
        code
    }

    /// The state inside, for the first and only time.
    fn open<'s>(&mut self, artifact: Digest, sealed: &'s [u8]) -> Result<&'s [u8], CallError> {
        let forged = || CallError::new(Class::ForgedState, "the state was not sealed here, or was changed since");
        if sealed.len() < CAPABILITY {
            return Err(forged());
        }
        let code: [u8; LENGTH - CODE] = sealed[CODE..LENGTH].try_into().map_err(|_| forged())?;
        if !self.code(sealed).finalize_verify(&code) {
            return Err(forged());
        }
        if sealed[MAGIC.len()..NONCE] != *artifact.as_bytes() {
            return Err(CallError::new(Class::ForeignState, "the state was sealed for another artifact"));
        }
        let nonce = u64::from_le_bytes(sealed[NONCE..CODE].try_into().map_err(|_| forged())?);
        if !self.open.remove(&nonce) {
            return Err(CallError::new(Class::ReplayedState, "the state was used before; each may be used once"));
        }
        let length = u32::from_le_bytes(sealed[LENGTH..CAPABILITY].try_into().map_err(|_| forged())?);
        sealed.get(CAPABILITY + length as usize..).ok_or_else(forged)
    }
}

impl Session {
    /// [`Session::run`], with the state of a request sealed.
    pub fn run_sealed(&mut self, input: &str, seals: &mut Seals) -> Result<Outcome, CallError> {
        let outcome = self.run(input)?;
        Ok(self.sealed(outcome, seals))
    }

    /// [`Session::resume`] of a sealed state, with the state of the next request sealed. A
    /// state can be used once, whatever comes of it. Errors besides: `forged-state`,
    /// `replayed-state`, `foreign-state`.
    pub fn resume_sealed(
        &mut self,
        state: &[u8],
        reply: Result<&str, &str>,
        seals: &mut Seals,
    ) -> Result<Outcome, CallError> {
        let state = seals.open(self.program().id(), state)?;
        let outcome = self.resume(state, reply)?;
        Ok(self.sealed(outcome, seals))
    }

    fn sealed(&self, outcome: Outcome, seals: &mut Seals) -> Outcome {
        match outcome {
            Outcome::Request { capability, input, state } => {
                let state = seals.seal(self.program().id(), &capability, &state);
                Outcome::Request { capability, input, state }
            }
            other => other,
        }
    }
}
