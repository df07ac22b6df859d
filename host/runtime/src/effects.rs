//! Runs that go on until there is an answer: every effect that the artifact asks for is
//! carried out by somebody else, counted and recorded.

use std::time::{Duration, Instant};

use auto_json::Canonical;
use auto_schema::digest::Digest;

use crate::error::{CallError, Class};
use crate::module::Outcome;
use crate::program::{Program, Session};

/// An effect that an artifact asks for.
#[derive(Clone, Copy, Debug)]
pub struct Effect<'a> {
    /// What is asked for: `tool:NAME`.
    pub capability: &'a str,
    /// A JSON text.
    pub input: &'a str,
    /// How many effects the run asked for before.
    pub index: u32,
    /// The same for the same effect of a run that is made again; see [`RunLimits::run`].
    pub key: Digest,
}

/// Why there is no reply. The artifact is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectError {
    /// Stable: `err` where the tool itself says so.
    pub code: &'static str,
    /// What happened.
    pub message: String,
}

/// What became of an effect.
#[derive(Clone, Debug)]
pub struct EffectRecord {
    /// What was asked for.
    pub capability: String,
    /// Of the input's text.
    pub input: Digest,
    /// As it was in the effect.
    pub key: Digest,
    /// Why there was no reply, where there was none.
    pub error: Option<EffectError>,
    /// How long it took.
    pub took: Duration,
}

/// Carries out effects.
pub trait Tools {
    /// Whether a capability is granted. Asked before anything runs.
    fn grants(&self, capability: &str) -> bool;

    /// Carries out an effect. The reply is a JSON text.
    fn call(&mut self, effect: &Effect<'_>) -> Result<String, EffectError>;

    /// Takes note of an effect that was carried out, or was not.
    fn record(&mut self, record: EffectRecord);
}

/// What a run may do.
#[derive(Clone, Debug)]
pub struct RunLimits {
    /// The most effects.
    pub effects: u32,
    /// Tells runs apart whose inputs are the same. The key of an effect is the SHA-256 of the
    /// artifact's id, this text, the run's input, the effect's index, its capability and its
    /// input: a run that is made again asks with the same keys, so that a tool can tell what
    /// it has done already.
    pub run: String,
}

impl Default for RunLimits {
    fn default() -> RunLimits {
        RunLimits { effects: 100, run: String::new() }
    }
}

impl Program {
    /// The capabilities that the artifact may ask for and that are not granted.
    pub fn not_granted(&self, tools: &dyn Tools) -> Vec<&str> {
        let named = self.manifest().capabilities.iter().map(String::as_str);
        named.filter(|capability| !tools.grants(capability)).collect()
    }
}

impl Session {
    /// Runs the behaviour to its end. An artifact that may ask for what is not granted is not
    /// run at all. Errors besides those of [`Session::run`]: `not-granted`, `effect-budget`.
    pub fn run_with(&mut self, input: &str, tools: &mut dyn Tools, limits: &RunLimits) -> Result<Outcome, CallError> {
        let missing = self.program().not_granted(tools);
        if !missing.is_empty() {
            let message = format!("the artifact may ask for {}, which nothing here grants", missing.join(", "));
            return Err(CallError::new(Class::NotGranted, message));
        }
        let mut outcome = self.run(input)?;
        for index in 0.. {
            let Outcome::Request { capability, input: asked, state } = &outcome else { break };
            if index == limits.effects {
                let message = format!(
                    "the artifact asks for {capability} after {index} effects, as many as a run may have; \
                     raise it with --max-tool-calls"
                );
                return Err(CallError::new(Class::EffectBudget, message));
            }
            let key = self.key(input, limits, index, capability, asked);
            let reply = carry_out(tools, &Effect { capability, input: asked, index, key });
            outcome = self.resume(state, reply.as_deref().map_err(String::as_str))?;
        }
        Ok(outcome)
    }

    fn key(&self, input: &str, limits: &RunLimits, index: u32, capability: &str, asked: &str) -> Digest {
        let input = Canonical::of(input).map_or_else(|_| input.to_owned(), Canonical::into_string);
        let index = index.to_string();
        let mut bytes = self.program().id().as_bytes().to_vec();
        for part in [limits.run.as_str(), &input, &index, capability, asked] {
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part.as_bytes());
        }
        Digest::of(&bytes)
    }
}

/// How the message to an artifact begins where it was not the tool that said what went wrong:
/// no recording has such an error, so the artifact abstains and hands none on.
const RUNNER_FAILED: &str = "runner-failed";

/// The reply, or what the artifact is told where there is none.
fn carry_out(tools: &mut dyn Tools, effect: &Effect<'_>) -> Result<String, String> {
    let begun = Instant::now();
    let reply = tools.call(effect);
    tools.record(EffectRecord {
        capability: effect.capability.to_owned(),
        input: Digest::of(effect.input.as_bytes()),
        key: effect.key,
        error: reply.as_ref().err().cloned(),
        took: begun.elapsed(),
    });
    reply.map_err(|error| match error.code {
        "err" => error.message,
        code => format!("{RUNNER_FAILED}: {code}: {}", error.message),
    })
}
