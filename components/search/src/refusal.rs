//! Why something is not done: a stable code, where, and a sentence that says what to do.

use core::fmt;

/// A refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// What, why, and what to do.
    pub message: String,
    /// A JSON pointer or the id of an edit; empty where there is no place.
    pub at: String,
}

impl Refusal {
    /// A refusal without a place.
    pub fn new(code: &'static str, message: impl Into<String>) -> Refusal {
        Refusal { code, message: message.into(), at: String::new() }
    }

    /// The same with its place.
    #[must_use]
    pub fn at(self, place: impl Into<String>) -> Refusal {
        Refusal { at: place.into(), ..self }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.at.is_empty() {
            write!(f, "{}: ", self.at)?;
        }
        write!(f, "{} [{}]", self.message, self.code)
    }
}
