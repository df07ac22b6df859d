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
        return read(told);
    }
    if text("new").is_empty() {
        return Vec::new();
    }
    between(text("old").trim_end(), text("new").trim_end())
}

/// Lines of a unified diff. Its heads are no changes, and a changed line may look like a head:
/// `@@` says how many lines there are.
fn read(told: &str) -> Vec<Line> {
    let mut left = (0_usize, 0_usize);
    let mut lines = Vec::new();
    for line in told.lines() {
        let inside = left != (0, 0);
        if !inside && let Some(counts) = hunk(line) {
            left = counts;
            lines.push((' ', line.to_owned()));
            continue;
        }
        let mark = line.chars().next().filter(|mark| ['+', '-'].contains(mark)).unwrap_or(' ');
        if !inside && ["--- ", "+++ "].iter().any(|head| line.starts_with(head)) {
            lines.push((' ', line.to_owned()));
            continue;
        }
        if mark != '+' && !line.starts_with('\\') {
            left.0 = left.0.saturating_sub(1);
        }
        if mark != '-' && !line.starts_with('\\') {
            left.1 = left.1.saturating_sub(1);
        }
        lines.push((mark, line.strip_prefix([mark]).unwrap_or(line).to_owned()));
    }
    lines
}

/// How many old and new lines follow `@@ -1,2 +1,3 @@`.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let mut parts = line.strip_prefix("@@ ")?.split(' ');
    let count = |part: Option<&str>, mark: char| -> Option<usize> {
        let range = part?.strip_prefix(mark)?;
        range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok())
    };
    Some((count(parts.next(), '-')?, count(parts.next(), '+')?))
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

    #[test]
    fn heads_of_a_diff_are_no_changes_and_changes_that_look_like_heads_are() {
        let told = "--- /prompt\n+++ /prompt\n@@ -1,3 +1,3 @@\n a\n--- b\n+++ c\n d\n--- /tools\n+++ /tools\n@@ -1 +1,2 @@\n-x\n+y\n+z\n";
        let marks: String = of(&Record::new().with("diff", told).into()).iter().map(|(mark, _)| *mark).collect();
        assert_eq!(marks, "    -+    -++");
        assert_eq!(read(told)[4].1, "-- b");
    }
}
