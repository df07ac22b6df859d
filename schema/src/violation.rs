//! What is wrong with a graph or a manifest, and the list that readers fill.

use core::fmt;

/// The most violations a list holds; a last one then says how many more there are, so
/// that hostile bytes cannot make a message out of proportion to themselves.
pub const MAX_VIOLATIONS: usize = 1000;

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Stable, kebab-case.
    pub code: &'static str,
    /// Where: `node 3, input 0`, `region "r"`, a manifest's field; empty for the whole.
    pub at: String,
    /// What is wrong and what would be right.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() {
            write!(f, "{} [{}]", self.message, self.code)
        } else {
            write!(f, "{}: {} [{}]", self.at, self.message, self.code)
        }
    }
}

impl core::error::Error for Violation {}

/// Collects violations, up to [`MAX_VIOLATIONS`].
#[derive(Default)]
pub(crate) struct Violations {
    list: Vec<Violation>,
    more: usize,
}

impl Violations {
    pub(crate) fn add(&mut self, code: &'static str, at: impl fmt::Display, message: impl fmt::Display) {
        if self.list.len() < MAX_VIOLATIONS {
            self.list.push(Violation { code, at: at.to_string(), message: message.to_string() });
        } else {
            self.more += 1;
        }
    }

    /// Adds what is wrong in a part that has places of its own.
    pub(crate) fn inside(&mut self, at: impl fmt::Display, part: Violations) {
        for Violation { code, at: within, message } in part.list {
            self.add(code, if within.is_empty() { at.to_string() } else { format!("{at}, {within}") }, message);
        }
        self.more += part.more;
    }

    pub(crate) fn into_result(mut self) -> Result<(), Vec<Violation>> {
        if self.more > 0 {
            let message = format!("and {} more", self.more);
            self.list.push(Violation { code: "more", at: String::new(), message });
        }
        if self.list.is_empty() { Ok(()) } else { Err(self.list) }
    }

    pub(crate) fn one(code: &'static str, message: impl fmt::Display) -> Vec<Violation> {
        vec![Violation { code, at: String::new(), message: message.to_string() }]
    }
}

/// A text for a message: quoted, escaped, and cut where it is long.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.char_indices().nth(80) {
            Some((cut, _)) => write!(f, "{:?}…", &self.0[..cut]),
            None => write!(f, "{:?}", self.0),
        }
    }
}

/// The text of something, cut where it is long; what would follow is never made.
pub(crate) fn brief(whole: impl fmt::Display) -> String {
    let mut start = Start(String::new());
    if fmt::write(&mut start, format_args!("{whole}")).is_err() {
        start.0.push('…');
    }
    start.0
}

/// Takes the first 200 bytes or so, then fails.
struct Start(String);

impl fmt::Write for Start {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = 200usize.saturating_sub(self.0.len());
        let fits = text.floor_char_boundary(room);
        self.0.push_str(&text[..fits]);
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}
