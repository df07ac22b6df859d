//! Names written in another way: `camelCase`, `snake_case`, initials.

use super::class::{is_letter, is_lower, is_upper};
use super::text::{put, put_lower, put_upper};

/// A way to write words as one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Style {
    /// `oneTwoThree`
    Camel,
    /// `OneTwoThree`
    Pascal,
    /// `one_two_three`
    Snake,
    /// `one-two-three`
    Kebab,
    /// `ONE_TWO_THREE`
    Constant,
    /// The first letter in uppercase, all others in lowercase, and what is between them.
    Sentence,
    /// The first letter in uppercase, and all else as it is.
    First,
    /// The first letters of the words, in uppercase.
    Initials,
}

/// Every style with its name, in the order of their numbers.
pub const STYLES: [(&str, Style); 8] = [
    ("camel", Style::Camel),
    ("pascal", Style::Pascal),
    ("snake", Style::Snake),
    ("kebab", Style::Kebab),
    ("constant", Style::Constant),
    ("sentence", Style::Sentence),
    ("first", Style::First),
    ("initials", Style::Initials),
];

/// A text in the style that a byte numbers.
///
/// Words are letters and ASCII digits; for names, also a capital behind what is none begins
/// one, and so does a capital before a small letter: `HTTPServer2Go` has the words `HTTP`,
/// `Server2` and `Go`.
pub fn recase(text: &str, style: &[u8], out: &mut impl FnMut(u8)) -> Option<()> {
    let style = STYLES.get(usize::from(*style.first()?))?.1;
    match style {
        Style::Sentence | Style::First => sentence(text, style == Style::Sentence, out),
        Style::Initials => initials(text, out),
        _ => name(text, style, out),
    }
    Some(())
}

fn sentence(text: &str, lower: bool, out: &mut impl FnMut(u8)) {
    let mut begun = false;
    for character in text.chars() {
        match (begun, lower) {
            (false, _) => put_upper(character, out),
            (true, true) => put_lower(character, out),
            (true, false) => put(character, out),
        }
        begun |= is_letter(character);
    }
}

fn is_word(character: char) -> bool {
    is_letter(character) || character.is_ascii_digit()
}

fn initials(text: &str, out: &mut impl FnMut(u8)) {
    let mut inside = false;
    for character in text.chars() {
        let word = is_word(character) || (inside && matches!(character, '\'' | '\u{2019}'));
        if word && !inside {
            put_upper(character, out);
        }
        inside = word;
    }
}

fn name(text: &str, style: Style, out: &mut impl FnMut(u8)) {
    let separator = match style {
        Style::Snake | Style::Constant => Some(b'_'),
        Style::Kebab => Some(b'-'),
        _ => None,
    };
    let (mut previous, mut begun) = (None, false);
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if !is_word(character) {
            previous = None;
            continue;
        }
        let begins = previous.is_none_or(|previous| {
            let before_small = characters.clone().next().is_some_and(is_lower);
            is_upper(character) && (!is_upper(previous) || before_small)
        });
        if begins && begun {
            separator.into_iter().for_each(&mut *out);
        }
        let capital = match style {
            Style::Constant => true,
            Style::Pascal => begins,
            Style::Camel => begins && begun,
            _ => false,
        };
        if capital {
            put_upper(character, out);
        } else {
            put_lower(character, out);
        }
        begun = true;
        previous = Some(character);
    }
}
