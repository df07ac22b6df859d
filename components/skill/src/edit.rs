//! Whether an edit of a unit keeps the shape of the document.

use crate::document::{Unit, headings, metadata, paragraphs, sections};

/// How closely a text is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Sections.
    Section,
    /// The paragraphs of one section.
    Paragraph,
}

impl Level {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Section => "section",
            Level::Paragraph => "paragraph",
        }
    }
}

/// The document with the unit's text replaced, or why that may not be. The white space around the
/// unit stays as it is.
///
/// Reasons: `empty`, `unchanged`, `too_long`, `heading_changed`, `heading_added`, `not_one_block`,
/// `metadata_changed`, `headings_changed`.
pub fn edited(document: &str, unit: &Unit, level: Level, text: &str, most: usize) -> Result<String, &'static str> {
    let old = unit.text(document);
    if text.trim().is_empty() {
        return Err("empty");
    }
    let start = &old[..old.len() - old.trim_start().len()];
    let end = &old[old.trim_end().len()..];
    let new = format!("{start}{}{end}", text.trim());
    if new == old {
        return Err("unchanged");
    }
    let whole = [&document[..unit.range.start], &new, &document[unit.range.end..]].concat();
    if whole.len() > most.max(document.len()) {
        return Err("too_long");
    }
    if level == Level::Section && !unit.heading.is_empty() && first_line(old.trim_start()) != first_line(text.trim()) {
        return Err("heading_changed");
    }
    let shape =
        |text: &str| -> Vec<(u8, String)> { headings(text).into_iter().map(|one| (one.depth, one.text)).collect() };
    let (before, after) = (shape(document), shape(&whole));
    if after.len() > before.len() {
        return Err("heading_added");
    }
    if after != before {
        return Err("headings_changed");
    }
    if metadata(document).is_some() != metadata(&whole).is_some()
        || (level == Level::Paragraph && metadata(document) != metadata(&whole))
    {
        return Err("metadata_changed");
    }
    if level == Level::Paragraph && blocks(document) != blocks(&whole) {
        return Err("not_one_block");
    }
    Ok(whole)
}

/// How many blocks each section has.
fn blocks(document: &str) -> Vec<usize> {
    sections(document).iter().map(|section| paragraphs(document, section).len()).collect()
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "---\nname: x\n---\n\n# A\n\nOne.\n\n- two\n- three\n\n## B\n\nFour.\n";

    fn section(text: &str) -> Result<String, &'static str> {
        edited(TEXT, &sections(TEXT)[1], Level::Section, text, 1000)
    }

    fn paragraph(text: &str) -> Result<String, &'static str> {
        edited(TEXT, &paragraphs(TEXT, &sections(TEXT)[1])[0], Level::Paragraph, text, 1000)
    }

    #[test]
    fn an_edit_keeps_headings_and_the_space_around_it() {
        assert_eq!(section("# A\n\nOther.").unwrap(), "---\nname: x\n---\n\n# A\n\nOther.\n\n## B\n\nFour.\n");
        assert_eq!(paragraph("\n Better.\n\n").unwrap(), TEXT.replace("One.", "Better."));
    }

    #[test]
    fn an_edit_that_changes_the_shape_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "empty"),
            ("# A\n\nOne.\n\n- two\n- three", "unchanged"),
            ("# B\n\nx", "heading_changed"),
            ("x", "heading_changed"),
            ("# A\n\nx\n\n# C", "heading_added"),
            ("# A\n\nx\n\nC\n===", "heading_added"),
            ("# A\n\n```\nx", "headings_changed"),
            (&format!("# A\n\n{}", "x".repeat(1000)), "too_long"),
        ] {
            assert_eq!(section(text), Err(why), "{text:?}");
        }
        for (text, why) in
            [("x\n\ny", "not_one_block"), ("# x", "heading_added"), ("x\n===", "heading_added"), ("One.", "unchanged")]
        {
            assert_eq!(paragraph(text), Err(why), "{text:?}");
        }
        let top = &sections(TEXT)[0];
        assert_eq!(edited(TEXT, top, Level::Section, "no metadata", 1000), Err("metadata_changed"));
        assert!(edited(TEXT, top, Level::Section, "---\nname: x\ndescription: y\n---", 1000).is_ok());
    }
}
