//! The JSON documents that a file holds: one object, the items of one list, or one a line.

use crate::{Fault, Value, bad};

/// A document and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Document<'t> {
    /// `line 3` in JSON Lines, `/2` in a list, empty for a file that is one document.
    place: Place,
    text: &'t str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    File,
    Item(usize),
    Line(usize),
}

impl Document<'_> {
    /// Where it is, for messages and notes.
    pub fn place(&self) -> String {
        match self.place {
            Place::File => String::new(),
            Place::Item(number) => format!("/{number}"),
            Place::Line(number) => format!("line {number}"),
        }
    }

    /// The text.
    pub fn text(&self) -> &str {
        self.text
    }

    /// What it says, read strictly.
    pub fn value(&self) -> Result<Value, Fault> {
        Value::parse(self.text).map_err(|error| bad(&self.place(), format!("not JSON: {error}")))
    }
}

/// The documents of a text, found by brackets and line ends alone so that each is parsed when
/// its turn comes. An empty text holds none.
pub fn documents(text: &str) -> Result<Vec<Document<'_>>, Fault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let trimmed = text.trim_ascii();
    if trimmed.is_empty() {
        return Ok(Vec::new());
    }
    if trimmed.starts_with('[') {
        let items = items(trimmed)?;
        let document = |(number, text)| Document { place: Place::Item(number), text };
        return Ok(items.into_iter().enumerate().map(document).collect());
    }
    // One object over several lines is told from one a line by where the first one ends.
    let whole = end_of_first(trimmed).is_none_or(|end| trimmed[end..].trim_ascii().is_empty());
    if whole {
        return Ok(vec![Document { place: Place::File, text: trimmed }]);
    }
    let lines = text.split('\n').enumerate().filter(|(_, line)| !line.trim_ascii().is_empty());
    Ok(lines.map(|(number, line)| Document { place: Place::Line(number + 1), text: line.trim_ascii() }).collect())
}

/// The first document of a file's head, if it is whole in it.
pub fn first(head: &str) -> Option<Value> {
    let head = head.strip_prefix('\u{feff}').unwrap_or(head).trim_ascii_start();
    let inside = head.strip_prefix('[').map_or(head, str::trim_ascii_start);
    let end = end_of_first(inside)?;
    Value::parse(&inside[..end]).ok()
}

/// Walks over JSON by its brackets. Gives each byte outside of texts with the depth before it,
/// until told to stop.
fn walk(text: &str, mut see: impl FnMut(usize, u8, usize) -> bool) {
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            _ => {
                if !see(at, byte, depth) {
                    return;
                }
                match byte {
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
    }
}

/// Where the object or list that the text starts with ends.
fn end_of_first(text: &str) -> Option<usize> {
    let mut end = None;
    walk(text, |at, byte, depth| {
        if matches!(byte, b'}' | b']') && depth <= 1 {
            end = Some(at + 1);
        }
        end.is_none()
    });
    end
}

/// The texts of the items of a JSON list.
fn items(list: &str) -> Result<Vec<&str>, Fault> {
    let (mut found, mut start, mut end) = (Vec::new(), 1, None);
    walk(list, |at, byte, depth| {
        match (byte, depth) {
            (b',', 1) => {
                found.push(list[start..at].trim_ascii());
                start = at + 1;
            }
            (b']', 1) => {
                let last = list[start..at].trim_ascii();
                if !last.is_empty() || !found.is_empty() {
                    found.push(last);
                }
                end = Some(at + 1);
            }
            _ => {}
        }
        end.is_none()
    });
    match end {
        None => Err(bad("", "the list does not end; the file is cut off: fetch it again")),
        Some(end) if list[end..].trim_ascii().is_empty() => Ok(found),
        Some(_) => Err(bad("", "there is more after the list")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, &str)> {
        documents(text).unwrap().into_iter().map(|one| (one.place(), one.text)).collect()
    }

    #[test]
    fn one_object_a_list_and_lines_are_told_apart() {
        assert_eq!(found(" {\n \"a\": \"}\\\"\" } \n"), [(String::new(), "{\n \"a\": \"}\\\"\" }")]);
        assert_eq!(found("[ {\"a\":[1,2]}, {} ]"), [("/0".into(), "{\"a\":[1,2]}"), ("/1".into(), "{}")]);
        assert_eq!(found("\u{feff}{}\r\n\n{\"b\":1}\n"), [("line 1".into(), "{}"), ("line 3".into(), "{\"b\":1}")]);
        assert!(found("").is_empty() && found("[]").is_empty() && found(" \n").is_empty());
    }

    #[test]
    fn what_is_cut_off_or_goes_on_is_refused_with_its_place() {
        for (text, word) in [("[{}", "cut off"), ("[{}] 1", "more after")] {
            assert!(documents(text).unwrap_err().message.contains(word), "{text}");
        }
        assert_eq!(documents("[{},]").unwrap()[1].value().unwrap_err().at.as_deref(), Some("/1"));
        assert_eq!(documents("{}\n{").unwrap()[1].value().unwrap_err().at.as_deref(), Some("line 2"));
    }

    #[test]
    fn the_first_document_of_a_head_may_be_followed_by_half_a_second() {
        assert_eq!(first("[{\"a\":1},{\"b").map(|one| one.to_string()).as_deref(), Some("{\"a\":1}"));
        assert_eq!(first("{\"a\":1}\n{\"b").map(|one| one.to_string()).as_deref(), Some("{\"a\":1}"));
        assert_eq!(first("{\"a\":"), None);
    }
}
