//! Asking the teacher, for what is left of the money.

use auto_json::Value;

use crate::bindings::auto::host::progress;
use crate::bindings::auto::host::teacher::{Consultation, consult};
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
        for ordinal in 0..ATTEMPTS {
            progress::report(purpose, u64::from(self.calls), None);
            let consulted = consult(&Consultation {
                purpose: purpose.to_owned(),
                system: system.to_owned(),
                text: format!("{data}{complaint}"),
                max_output_tokens: self.reply_tokens,
                ordinal,
                most: self.max_cost.map(|most| most.saturating_sub(self.spent)),
            });
            self.calls += 1;
            self.spent = self.spent.saturating_add(consulted.cost);
            self.model = consulted.model;
            let why = match consulted.said {
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
}
