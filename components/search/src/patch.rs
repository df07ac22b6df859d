//! Unified diffs, strictly: every context and every removed line has to stand there, at the line
//! that the hunk names or at exactly one other place. Teachers miscount lines; they may not
//! misquote them. What does not apply is refused, never guessed and never taken for a prompt.

use diffy::{Hunk, Line, Patch};

use crate::Refusal;

/// What a diff makes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The new text.
    pub text: String,
    /// Lines that the diff takes out or puts in.
    pub changed: usize,
}

/// Applies a diff.
///
/// Codes: `bad-diff` (no unified diff, or one without hunks), `patch-does-not-apply`,
/// `patch-ambiguous`.
pub fn apply(base: &str, diff: &str) -> Result<Patched, Refusal> {
    let bad = |why: String| Refusal::new("bad-diff", format!("the diff cannot be read: {why}"));
    // Teachers leave the last line of a diff open.
    let diff = format!("{}\n", diff.trim_end_matches('\n'));
    let patch = Patch::from_str(&diff).map_err(|error| bad(error.to_string()))?;
    if patch.hunks().is_empty() {
        return Err(bad("it has no hunk (`@@ -1,3 +1,4 @@`)".to_owned()));
    }
    let lines: Vec<&str> = lines(base);
    let (mut out, mut at, mut changed): (Vec<&str>, usize, usize) = (Vec::new(), 0, 0);
    for (number, hunk) in patch.hunks().iter().enumerate() {
        let old: Vec<&str> = side(hunk, true);
        let found = place(&lines, at, hunk, &old).map_err(|why| {
            let (code, why) = match why {
                Misplaced::Nowhere => ("patch-does-not-apply", "its lines do not stand in the text"),
                Misplaced::Ambiguous => ("patch-ambiguous", "its lines stand in several places, and not where it says"),
            };
            Refusal::new(code, format!("hunk {}: {why}", number + 1))
        })?;
        out.extend_from_slice(&lines[at..found]);
        out.extend(side(hunk, false));
        changed += hunk.lines().iter().filter(|line| !matches!(line, Line::Context(_))).count();
        at = found + old.len();
    }
    out.extend_from_slice(&lines[at..]);
    let mut text = out.join("\n");
    // The last line of a text ends as it ended before.
    if base.ends_with('\n') && !text.is_empty() {
        text.push('\n');
    }
    Ok(Patched { text, changed })
}

/// What changed between two texts, as a unified diff.
pub fn between(old: &str, new: &str) -> String {
    let closed =
        |text: &str| if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    diffy::create_patch(&closed(old), &closed(new)).to_string()
}

fn lines(text: &str) -> Vec<&str> {
    match text.strip_suffix('\n').unwrap_or(text) {
        "" if !text.ends_with('\n') => Vec::new(),
        text => text.split('\n').collect(),
    }
}

/// The lines of a hunk before, or after.
fn side<'h>(hunk: &Hunk<'h, str>, before: bool) -> Vec<&'h str> {
    let of = |line: &Line<'h, str>| match line {
        Line::Context(text) => Some(*text),
        Line::Delete(text) if before => Some(*text),
        Line::Insert(text) if !before => Some(*text),
        _ => None,
    };
    hunk.lines().iter().filter_map(of).map(|line| line.strip_suffix('\n').unwrap_or(line)).collect()
}

enum Misplaced {
    Nowhere,
    Ambiguous,
}

fn place(lines: &[&str], from: usize, hunk: &Hunk<'_, str>, old: &[&str]) -> Result<usize, Misplaced> {
    let said = match (hunk.old_range().start(), hunk.old_range().len()) {
        // `-3,0`: after line 3.
        (after, 0) => after,
        (first, _) => first.saturating_sub(1),
    };
    let stands = |at: usize| at >= from && lines.get(at..at + old.len()).is_some_and(|there| there == old);
    if stands(said) {
        return Ok(said);
    }
    if old.is_empty() {
        return Err(Misplaced::Nowhere);
    }
    let mut places = (from..=lines.len()).filter(|&at| stands(at));
    match (places.next(), places.next()) {
        (Some(at), None) => Ok(at),
        (Some(_), Some(_)) => Err(Misplaced::Ambiguous),
        (None, _) => Err(Misplaced::Nowhere),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "You are a clerk.\nAnswer in one word.\nBe kind.";

    fn code(diff: &str) -> &'static str {
        apply(BASE, diff).expect_err(diff).code
    }

    #[test]
    fn context_and_removed_lines_have_to_stand_there() {
        let diff = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n You are a clerk.\n-Answer in one word.\n+Answer in two words.\n Be kind.\n";
        assert_eq!(apply(BASE, diff).expect("applies").text, BASE.replace("one word", "two words"));
        assert_eq!(code(&diff.replace("clerk", "judge")), "patch-does-not-apply");
        assert_eq!(code(&diff.replace("one word", "one line")), "patch-does-not-apply");
    }

    #[test]
    fn a_text_that_is_no_diff_never_becomes_the_prompt() {
        for diff in ["You are a pirate.", "", "@@ nonsense @@\n+x", "--- a\n+++ b\n"] {
            assert_eq!(code(diff), "bad-diff", "{diff}");
        }
    }

    #[test]
    fn one_line_at_the_top_is_one_changed_line() {
        let patched = apply(BASE, "@@ -0,0 +1 @@\n+Read twice.").expect("applies");
        assert_eq!((patched.changed, patched.text), (1, format!("Read twice.\n{BASE}")));
    }

    #[test]
    fn miscounted_lines_are_found_where_they_stand_once() {
        let diff = "@@ -17,2 +17,2 @@\n Answer in one word.\n-Be kind.\n+Be brief.";
        assert!(apply(BASE, diff).expect("found").text.ends_with("Be brief."));
        let twice = "a\nb\na\nb";
        let miscounted = apply(twice, "@@ -7,1 +7,1 @@\n-b\n+c").expect_err("two places");
        assert_eq!(miscounted.code, "patch-ambiguous");
        assert_eq!(apply(twice, "@@ -4,1 +4,1 @@\n-b\n+c").expect("the place it names").text, "a\nb\na\nc");
    }

    #[test]
    fn what_the_diff_of_two_texts_says_makes_one_of_the_other() {
        for (old, new) in [("", "a"), ("a\nb", "a\nc\nb"), ("a\n", "b\n"), (BASE, "x\ny")] {
            assert_eq!(apply(old, &between(old, new)).expect("applies").text.trim_end(), new.trim_end(), "{old:?}");
        }
    }
}
