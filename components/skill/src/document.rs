//! A skill's text, and the parts of it that are looked at and edited: sections and paragraphs.
//!
//! Sections partition the text: what is before the first heading, then from each heading to the
//! next of any depth. Paragraphs are the blocks of a section, its heading left out: a fence, a
//! list or a table is one block. Markdown is read by `pulldown-cmark`, so a `#` in a fence is no
//! heading. Offsets are bytes of the whole text.

use std::ops::Range;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    /// The same for as long as headings stay: `s03-error-recovery`, `s03-error-recovery/p02`.
    pub id: String,
    /// Where it is.
    pub range: Range<usize>,
    /// Its heading, or that of its section; empty before the first.
    pub heading: String,
}

impl Unit {
    /// Its text.
    pub fn text<'d>(&self, document: &'d str) -> &'d str {
        &document[self.range.clone()]
    }
}

/// A heading: how deep it is, and its text as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// 1 to 6.
    pub depth: u8,
    /// Without the marks.
    pub text: String,
    /// The heading's own lines.
    range: Range<usize>,
}

fn options() -> Options {
    Options::ENABLE_YAML_STYLE_METADATA_BLOCKS | Options::ENABLE_TABLES
}

fn depth(level: HeadingLevel) -> u8 {
    level as u8
}

/// The headings of a text that are not inside anything, in order.
pub fn headings(document: &str) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let (mut nesting, mut open) = (0usize, false);
    for (event, range) in Parser::new_ext(document, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) if nesting == 0 => {
                found.push(Heading { depth: depth(level), text: String::new(), range });
                (nesting, open) = (1, true);
            }
            Event::Start(_) => nesting += 1,
            Event::End(TagEnd::Heading(_)) if open && nesting == 1 => (nesting, open) = (0, false),
            Event::End(_) => nesting = nesting.saturating_sub(1),
            Event::Text(text) | Event::Code(text) if open => {
                if let Some(heading) = found.last_mut() {
                    heading.text.push_str(&text);
                }
            }
            _ => {}
        }
    }
    found
}

/// The metadata at the top, if there is any, with its marks.
pub fn metadata(document: &str) -> Option<&str> {
    Parser::new_ext(document, options()).into_offset_iter().find_map(|(event, range)| match event {
        Event::Start(Tag::MetadataBlock(_)) => Some(&document[range]),
        _ => None,
    })
}

/// The sections: they cover the text.
pub fn sections(document: &str) -> Vec<Unit> {
    let headings = headings(document);
    let mut units = Vec::new();
    let first = headings.first().map_or(document.len(), |heading| heading.range.start);
    if first > 0 {
        units.push(Unit { id: "s00".to_owned(), range: 0..first, heading: String::new() });
    }
    for (at, heading) in headings.iter().enumerate() {
        let end = headings.get(at + 1).map_or(document.len(), |next| next.range.start);
        let id = format!("s{:02}-{}", at + 1, slug(&heading.text));
        units.push(Unit { id, range: heading.range.start..end, heading: heading.text.clone() });
    }
    units
}

/// The blocks of a section, without its heading and without the metadata.
pub fn paragraphs(document: &str, section: &Unit) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut nesting = 0usize;
    for (event, range) in Parser::new_ext(document, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                let block = nesting == 0 && !matches!(tag, Tag::Heading { .. } | Tag::MetadataBlock(_));
                if block && section.range.contains(&range.start) {
                    let range = trimmed(document, range);
                    let id = format!("{}/p{:02}", section.id, units.len() + 1);
                    units.push(Unit { id, range, heading: section.heading.clone() });
                }
                nesting += 1;
            }
            Event::End(_) => nesting = nesting.saturating_sub(1),
            _ => {}
        }
    }
    units
}

/// Without white space at its end.
fn trimmed(document: &str, range: Range<usize>) -> Range<usize> {
    let text = &document[range.clone()];
    range.start..range.start + text.trim_end().len()
}

fn slug(text: &str) -> String {
    let mut slug = String::new();
    for character in text.chars().flat_map(char::to_lowercase) {
        match character {
            character if character.is_alphanumeric() => slug.push(character),
            _ if slug.is_empty() || slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    slug.truncate(slug.char_indices().nth(40).map_or(slug.len(), |(at, _)| at));
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub const SKILL: &str = "---\nname: files\ndescription: works on files\n---\n\nBefore all.\n\n# Files\n\nRead them.\n\n\
        ```sh\n# no heading\nls\n\n```\n\n## When things fail\n\n- one\n- two\n\n  still two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\
        > # quoted\n\nSetext\n------\nLast.\n";

    #[test]
    fn sections_cover_the_text() {
        let units = sections(SKILL);
        let ids: Vec<&str> = units.iter().map(|unit| unit.id.as_str()).collect();
        assert_eq!(ids, ["s00", "s01-files", "s02-when-things-fail", "s03-setext"]);
        assert_eq!(units.iter().map(|unit| unit.text(SKILL)).collect::<String>(), SKILL);
        assert!(units[2].text(SKILL).contains("> # quoted"));
        assert_eq!(headings(SKILL).iter().map(|heading| heading.depth).collect::<Vec<_>>(), [1, 2, 2]);
    }

    #[test]
    fn a_fence_a_list_and_a_table_are_one_block_each() {
        let units = sections(SKILL);
        let texts = |section: &Unit| -> Vec<String> {
            paragraphs(SKILL, section).iter().map(|unit| unit.text(SKILL).to_owned()).collect()
        };
        assert_eq!(texts(&units[0]), ["Before all."]);
        assert_eq!(texts(&units[1]), ["Read them.", "```sh\n# no heading\nls\n\n```"]);
        assert_eq!(texts(&units[2]), ["- one\n- two\n\n  still two", "| a | b |\n|---|---|\n| 1 | 2 |", "> # quoted"]);
        assert_eq!(texts(&units[3]), ["Last."]);
        assert_eq!(paragraphs(SKILL, &units[1])[1].id, "s01-files/p02");
    }

    #[test]
    fn odd_texts_have_sections_too() {
        for text in ["", "\n\n", "# ", "no heading", "```\n# open", "#a\n#\tb\r\n# c", "\u{feff}# x", "---\nname: x\n"]
        {
            let units = sections(text);
            assert_eq!(units.iter().map(|unit| unit.text(text)).collect::<String>(), text, "{text:?}");
        }
        assert_eq!(metadata(SKILL), Some("---\nname: files\ndescription: works on files\n---"));
        assert_eq!(slug("  A: B/c – d!  "), "a-b-c-d");
    }
}
