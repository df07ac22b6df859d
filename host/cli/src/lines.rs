//! Lines of an input that nobody vouches for: none is held that is longer than it may be.

use std::io::{self, BufRead, Read as _};

/// Reads lines, numbered from 1.
pub struct Lines<R> {
    from: R,
    most: usize,
    line: Vec<u8>,
    number: u64,
}

/// A line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// All of it.
    Whole(&'l [u8]),
    /// One with more bytes than a line may have, and how many it may; they were skipped.
    TooLong(usize),
}

impl<R: BufRead> Lines<R> {
    /// The lines of something, with at most so many bytes each.
    pub fn new(from: R, most: usize) -> Lines<R> {
        Lines { from, most, line: Vec::new(), number: 0 }
    }

    /// The next line that is not blank, and its number; none behind the last.
    pub fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        loop {
            self.line.clear();
            // One for the end of the line, one to see that there is more.
            let room = (self.most as u64).saturating_add(2);
            if self.from.by_ref().take(room).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            let ended = self.line.pop_if(|last| *last == b'\n').is_some();
            if ended {
                self.line.pop_if(|last| *last == b'\r');
            }
            if self.line.len() > self.most {
                if !ended {
                    skip_line(&mut self.from)?;
                }
                return Ok(Some((self.number, Line::TooLong(self.most))));
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some((self.number, Line::Whole(&self.line))));
            }
        }
    }
}

/// Reads to the end of the line and keeps none of it.
fn skip_line(from: &mut impl BufRead) -> io::Result<()> {
    loop {
        let held = match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            held => held?,
        };
        let (length, ended) = match held.iter().position(|&byte| byte == b'\n') {
            Some(at) => (at + 1, true),
            None => (held.len(), held.is_empty()),
        };
        from.consume(length);
        if ended {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str, most: usize, buffer: usize) -> Vec<(u64, Option<String>)> {
        let mut lines = Lines::new(io::BufReader::with_capacity(buffer, text.as_bytes()), most);
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next().unwrap() {
            all.push((
                number,
                match line {
                    Line::Whole(line) => Some(String::from_utf8(line.to_vec()).unwrap()),
                    Line::TooLong(_) => None,
                },
            ));
        }
        all
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_and_counted_and_the_next_is_read() {
        for buffer in 1..20 {
            let whole = |text: &str| Some(text.to_owned());
            let found = all("abcd\n\nabcde\nabcdef\nabcdefghijkl\n  \nab", 5, buffer);
            let expected = [(1, whole("abcd")), (3, whole("abcde")), (4, None), (5, None), (7, whole("ab"))];
            assert_eq!(found, expected, "{buffer}");
            assert_eq!(all("abcdefghij", 5, buffer), [(1, None)]);
            assert_eq!(all("abcdef", 5, buffer), [(1, None)]);
            assert_eq!(all("abcde", 5, buffer), [(1, whole("abcde"))]);
            assert_eq!(all("abcde\r\nabcdef\r\n", 5, buffer), [(1, whole("abcde")), (2, None)]);
            assert_eq!(all("a\n", 0, buffer), [(1, None)]);
        }
        assert_eq!(all("a", usize::MAX, 8), [(1, Some("a".to_owned()))]);
    }

    #[test]
    fn no_more_is_held_than_a_line_may_have() {
        let endless = io::repeat(b'a').take(100 << 20);
        let mut lines = Lines::new(io::BufReader::new(endless.chain(&b"\n1\n"[..])), 1000);
        assert_eq!(lines.next().unwrap(), Some((1, Line::TooLong(1000))));
        assert!(lines.line.capacity() < 10_000);
        assert_eq!(lines.next().unwrap(), Some((2, Line::Whole(b"1"))));
    }
}
