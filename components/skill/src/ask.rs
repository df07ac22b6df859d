//! Asking the teacher, for what is left of the money.

use auto_json::Value;

use crate::bindings::auto::host::progress;
use crate::bindings::auto::host::teacher::{Consultation, consult};
use crate::bindings::auto::pass::types::Fault;
use crate::reply;

/// What ends a search early; the incumbent stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Stop {
    /// Stable, kebab-case.
    pub code: String,
    /// What, why, and what to do.
    pub message: String,
}

impl Stop {
    /// One of that code.
    pub fn new(code: &str, message: impl Into<String>) -> Stop {
        Stop { code: code.to_owned(), message: message.into() }
    }

    /// Whether it is what was left, and nothing that went wrong.
    pub fn is_budget(&self) -> bool {
        ["spend-cap", "call-cap", "experiment-budget"].contains(&self.code.as_str())
    }
}

/// What the machine finds wrong with an answer of the world.
impl From<String> for Stop {
    fn from(message: String) -> Stop {
        Stop::new("bad-judgement", message)
    }
}

/// Codes of a moment of the network or of whoever is asked: the same is asked once more.
const PASSING: [&str; 6] =
    ["model-failed", "model-timeout", "model-connect", "model-interrupted", "model-bad-reply", "model-limited"];

/// How often the same is asked until a reply can be used.
const ATTEMPTS: u32 = 3;

/// Who is asked, and what it came to.
pub struct Asking {
    /// The most that all may cost together.
    pub max_cost: Option<u64>,
    /// The most tokens of a reply; thoughts included, of models that think.
    pub reply_tokens: u32,
    /// Micro-USD.
    pub spent: u64,
    /// How many questions there were, also before the search failed and went on: no two have the same
    /// number.
    pub calls: u32,
    pub model: String,
}

impl Asking {
    /// Asks until a reply is JSON that `read` takes; each time again it is told what was wrong.
    /// Codes: those of the teacher, `bad-reply`.
    pub fn ask<T>(
        &mut self,
        purpose: &str,
        system: &str,
        data: &Value,
        read: impl Fn(&Value) -> Result<T, String>,
    ) -> Result<T, Stop> {
        let mut complaint = String::new();
        for _ in 0..ATTEMPTS {
            let text = format!("{data}{complaint}");
            let said = match self.asked(purpose, system, &text) {
                Err(fault) if PASSING.contains(&fault.code.as_str()) => self.asked(purpose, system, &text),
                said => said,
            };
            let why = match said {
                Err(fault) if fault.code == "model-cut-off" => fault.message,
                Err(fault) => return Err(Stop::new(&fault.code, fault.message)),
                Ok(text) => match reply::json(&text).and_then(|value| read(&value)) {
                    Ok(value) => return Ok(value),
                    Err(why) => why,
                },
            };
            complaint = format!("\n\nYour last reply could not be used: {why}. Reply with the JSON object alone.");
        }
        let why = complaint.trim_start().trim_end_matches(" Reply with the JSON object alone.").to_owned();
        Err(Stop::new("bad-reply", format!("after {ATTEMPTS} attempts at `{purpose}`, none is of use: {why}")))
    }

    /// Asks once.
    fn asked(&mut self, purpose: &str, system: &str, text: &str) -> Result<String, Fault> {
        progress::report(purpose, u64::from(self.calls), None);
        self.calls += 1;
        let consulted = consult(&Consultation {
            purpose: purpose.to_owned(),
            system: system.to_owned(),
            text: text.to_owned(),
            max_output_tokens: self.reply_tokens,
            ordinal: self.calls,
            most: self.max_cost.map(|most| most.saturating_sub(self.spent)),
        });
        self.spent = self.spent.saturating_add(consulted.cost);
        self.model = consulted.model;
        consulted.said
    }
}
