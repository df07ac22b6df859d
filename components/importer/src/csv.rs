//! Tables of comma-separated values (RFC 4180): what quotes hold is a cell, line ends and all.

use crate::{Fault, bad};

/// A row and the line it begins on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// From 1 on.
    pub line: usize,
    /// The cells.
    pub cells: Vec<String>,
}

/// The first row of a table whose head this is; none where it is not whole in it.
pub fn head(text: &str) -> Option<Vec<String>> {
    let mut reading = Reading::of(text);
    let row = reading.row().ok()??;
    // Without a line end, the last cell may go on.
    reading.ended.then_some(row.cells)
}

/// The rows of a table. Empty lines are none.
pub fn rows(text: &str) -> Result<Vec<Row>, Fault> {
    let mut reading = Reading::of(text);
    let mut rows = Vec::new();
    while let Some(row) = reading.row()? {
        rows.push(row);
    }
    Ok(rows)
}

struct Reading<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    line: usize,
    /// Whether the last row had a line end.
    ended: bool,
}

impl Reading<'_> {
    fn of(text: &str) -> Reading<'_> {
        Reading { rest: text.strip_prefix('\u{feff}').unwrap_or(text).chars().peekable(), line: 1, ended: false }
    }

    fn row(&mut self) -> Result<Option<Row>, Fault> {
        while let Some('\n' | '\r') = self.rest.peek() {
            self.line += usize::from(self.rest.next() == Some('\n'));
        }
        if self.rest.peek().is_none() {
            return Ok(None);
        }
        let line = self.line;
        let mut cells = Vec::new();
        loop {
            cells.push(if self.rest.next_if_eq(&'"').is_some() { self.quoted(line)? } else { self.plain() });
            match self.rest.next() {
                Some(',') => {}
                Some('\r') if self.rest.next_if_eq(&'\n').is_some() => {
                    self.ends();
                    break;
                }
                Some('\n' | '\r') => {
                    self.ends();
                    break;
                }
                None => {
                    self.ended = false;
                    break;
                }
                Some(other) => {
                    let line = self.line;
                    return Err(bad(&format!("line {line}"), format!("{other:?} behind a quoted cell")));
                }
            }
        }
        Ok(Some(Row { line, cells }))
    }

    fn ends(&mut self) {
        self.line += 1;
        self.ended = true;
    }

    fn plain(&mut self) -> String {
        std::iter::from_fn(|| self.rest.next_if(|one| !matches!(one, ',' | '\n' | '\r'))).collect()
    }

    /// A cell behind its first quote; two quotes are one.
    fn quoted(&mut self, from: usize) -> Result<String, Fault> {
        let mut cell = String::new();
        loop {
            match self.rest.next() {
                Some('"') if self.rest.next_if_eq(&'"').is_some() => cell.push('"'),
                Some('"') => return Ok(cell),
                Some(one) => {
                    self.line += usize::from(one == '\n');
                    cell.push(one);
                }
                None => {
                    let why = "a quoted cell that does not end; the file is cut off: fetch it again";
                    return Err(bad(&format!("line {from}"), why));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<(usize, Vec<String>)> {
        rows(text).unwrap().into_iter().map(|row| (row.line, row.cells)).collect()
    }

    #[test]
    fn cells_hold_what_their_quotes_hold() {
        let text = "\u{feff}a,\"b\"\r\n\n\"x\ny\",\"say \"\"no\"\", then\"\n,\n\"\",z";
        let row = |line, cells: [&str; 2]| (line, cells.map(str::to_owned).to_vec());
        let expected = [row(1, ["a", "b"]), row(3, ["x\ny", "say \"no\", then"]), row(5, ["", ""]), row(6, ["", "z"])];
        assert_eq!(cells(text), expected);
        assert!(cells("").is_empty() && cells("\n\r\n").is_empty());
    }

    #[test]
    fn what_is_cut_off_or_broken_is_refused_with_its_line() {
        assert_eq!(rows("a\n\"b\nc").unwrap_err().at.as_deref(), Some("line 2"));
        assert_eq!(rows("a\n\"b\"c").unwrap_err().at.as_deref(), Some("line 2"));
    }

    #[test]
    fn the_head_is_told_where_it_is_whole() {
        assert_eq!(head("\"a\",b\n\"half").unwrap(), ["a", "b"]);
        assert_eq!(head("\"a\",b"), None);
        assert_eq!(head("\"a"), None);
    }
}
