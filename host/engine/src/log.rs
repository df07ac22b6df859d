//! What a call writes to the log: its bytes are counted, its first lines and its last are
//! kept.

use std::collections::VecDeque;

/// Lines that are kept from the start, and up to the end.
const FIRST: usize = 50;
const LAST: usize = 150;

/// The longest line that is kept, in bytes.
const LINE: usize = 4096;

/// The log of one call.
pub(crate) struct Log {
    allowed: u64,
    written: u64,
    first: Vec<String>,
    last: VecDeque<String>,
    left_out: u64,
}

impl Log {
    /// An empty log that may take so many bytes.
    pub(crate) fn new(allowed: u64) -> Log {
        Log { allowed, written: 0, first: Vec::new(), last: VecDeque::new(), left_out: 0 }
    }

    /// Adds a line; its end counts as a byte.
    pub(crate) fn push(&mut self, level: &str, message: &str) {
        self.written = self.written.saturating_add(message.len() as u64 + 1);
        let line = shortened(level, message);
        if self.first.len() < FIRST {
            self.first.push(line);
            return;
        }
        if self.last.len() == LAST {
            self.last.pop_front();
            self.left_out += 1;
        }
        self.last.push_back(line);
    }

    /// The bytes written, where they are more than allowed.
    pub(crate) fn excess(&self) -> Option<u64> {
        (self.written > self.allowed).then_some(self.written)
    }

    /// The text of the last panic that was written: where stderr is lines, its place and the
    /// line after it.
    pub(crate) fn panic(&self) -> Option<String> {
        let lines: Vec<&String> = self.first.iter().chain(&self.last).collect();
        let at = lines.iter().rposition(|line| line.contains("panicked"))?;
        let text = |line: &str| line.split_once(": ").map_or(line, |(_, text)| text).to_owned();
        match lines.get(at + 1).filter(|_| lines[at].ends_with(':')) {
            Some(next) => Some(format!("{} {}", text(lines[at]), text(next))),
            None => Some(text(lines[at])),
        }
    }

    /// The lines, and how many were left out between them; the log is empty afterwards.
    pub(crate) fn take(&mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.first);
        if self.left_out > 0 {
            lines.push(format!("… {} lines are left out here …", self.left_out));
        }
        lines.extend(std::mem::take(&mut self.last));
        lines
    }
}

fn shortened(level: &str, message: &str) -> String {
    let level = &level[..level.floor_char_boundary(LINE)];
    match message.get(..message.floor_char_boundary(LINE)) {
        Some(start) if start.len() < message.len() => format!("{level}: {start}…"),
        _ => format!("{level}: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_lines_and_the_last_are_kept_and_the_rest_is_counted() {
        let mut log = Log::new(u64::MAX);
        (0..1000).for_each(|number| log.push("info", &number.to_string()));
        let lines = log.take();
        assert_eq!(lines.len(), FIRST + 1 + LAST);
        assert_eq!((lines[0].as_str(), lines[FIRST - 1].as_str()), ("info: 0", "info: 49"));
        assert_eq!(lines[FIRST], "… 800 lines are left out here …");
        assert_eq!((lines[FIRST + 1].as_str(), lines[FIRST + LAST].as_str()), ("info: 850", "info: 999"));
    }

    #[test]
    fn bytes_are_counted_also_those_that_are_not_kept() {
        let mut log = Log::new(10_000);
        log.push("info", &"é".repeat(4999));
        assert_eq!(log.excess(), None);
        log.push("info", "");
        log.push("info", "");
        assert_eq!(log.excess(), Some(10_001));
        assert_eq!(log.take()[0].len(), "info: ".len() + LINE + "…".len());
    }
}
