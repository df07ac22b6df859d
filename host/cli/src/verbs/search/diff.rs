//! What an edit changed, line by line.

use auto_json::Value;
use diffy::{DiffOptions, Line as Changed};

/// A line of a difference: `+`, `-` or a space, and the line.
pub type Line = (char, String);

/// The difference of an entry of a timeline: as the driver tells it, or between its texts.
pub fn of(entry: &Value) -> Vec<Line> {
    let text = |key: &str| entry.get(key).and_then(Value::as_text).unwrap_or_default();
    let told = text("diff");
    if !told.is_empty() {
        let line = |line: &str| match line.chars().next() {
            Some(mark @ ('+' | '-')) => (mark, line[1..].to_owned()),
            _ => (' ', line.strip_prefix(' ').unwrap_or(line).to_owned()),
        };
        return told.lines().map(line).collect();
    }
    if text("new").is_empty() {
        return Vec::new();
    }
    between(text("old").trim_end(), text("new").trim_end())
}

fn between(old: &str, new: &str) -> Vec<Line> {
    let [old, new] = [old, new].map(|text| format!("{text}\n"));
    // With everything around it: units are short.
    let mut options = DiffOptions::new();
    let patch = options.set_context_len(1 << 20).create_patch(&old, &new);
    let line = |line: &Changed<'_, str>| {
        let (mark, text) = match line {
            Changed::Delete(text) => ('-', text),
            Changed::Insert(text) => ('+', text),
            Changed::Context(text) => (' ', text),
        };
        (mark, text.trim_end_matches(['\n', '\r']).to_owned())
    };
    patch.hunks().iter().flat_map(|hunk| hunk.lines().iter().map(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use auto_json::Record;

    fn shown(entry: Record) -> Vec<String> {
        of(&entry.into()).into_iter().map(|(mark, line)| format!("{mark}{line}")).collect()
    }

    #[test]
    fn a_difference_is_told_or_found() {
        let found = shown(Record::new().with("old", "# A\n\none\n\n").with("new", "# A\n\ntwo"));
        assert_eq!(found, [" # A", " ", "-one", "+two"]);
        assert_eq!(shown(Record::new().with("diff", "@@ 1\n-a\n+b\n c")), [" @@ 1", "-a", "+b", " c"]);
        assert_eq!(shown(Record::new().with("old", "a").with("new", "")), [""; 0]);
    }
}
