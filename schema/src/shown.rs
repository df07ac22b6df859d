//! How text that somebody else wrote is shown to people: names, paths, messages of passes and
//! tools. It cannot move a terminal's cursor, turn the direction of what stands beside it, hide,
//! or look like a line of ours. What machines read is never changed.

use std::path::Path;

/// The text on one line, with what cannot be seen written out as Rust would: `\n`, `\u{202e}`.
pub fn shown(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' | '\r' => shown.extend(character.escape_default()),
            _ if is_unseen(character) => shown.extend(character.escape_unicode()),
            _ => shown.push(character),
        }
    }
    shown
}

/// The same of several lines and columns, which stay.
pub fn shown_lines(text: &str) -> String {
    let line = |line: &str| line.split('\t').map(shown).collect::<Vec<_>>().join("\t");
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// The same of a path.
pub fn shown_path(path: &Path) -> String {
    shown(&path.to_string_lossy())
}

/// Whether a character has no shape of its own: controls, what changes the direction of text
/// (Unicode's Bidi_Control), ends of lines and paragraphs, what is of no width and joins
/// nothing, and tags.
pub fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{2028}' | '\u{2029}'
            | '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unicode's Bidi_Control, whole.
    const DIRECTION: &str =
        "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";

    #[test]
    fn nothing_unseen_is_left() {
        let controls: String = (0..0xa0_u8).map(char::from).filter(|one| one.is_control()).collect();
        for text in [controls.as_str(), DIRECTION, "\u{2028}\u{2029}\u{feff}\u{200b}\u{e0041}"] {
            assert!(!shown(text).chars().any(is_unseen), "{}", shown(text));
            assert!(shown(text).is_ascii());
            // What Rust writes for debugging hides nothing of it either: messages use both.
            assert!(!format!("{text:?}").chars().any(is_unseen), "{text:?}");
        }
        assert_eq!(shown("a\nb\u{202e}c\u{1b}[1m"), r"a\nb\u{202e}c\u{1b}[1m");
        assert_eq!(shown_lines("a\n\tb\u{202e}\u{85}c"), "a\n\tb\\u{202e}\\u{85}c");
    }

    #[test]
    fn what_can_be_seen_stays() {
        let text = "naïve — Ωμέγα שלום مرحبا e\u{301} 👩\u{200d}🚀 C:\\x \"q\"";
        assert_eq!(shown(text), text);
    }
}
