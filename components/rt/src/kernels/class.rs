//! Classes of tokens: what text is cut at and taken from.
//!
//! The tokens of a class are found from left to right, never overlap, and are as long as
//! they can be, so that a token's ends are places that mean something. Which classes a
//! function may meet is told by [`Kinds`], so that an artifact carries the tables of none
//! but its own.

use super::{case, category, shape};

/// A class of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Class {
    /// ASCII digits.
    Digits,
    /// Alphabetic code points.
    Letters,
    /// Code points that have a lowercase.
    Upper,
    /// Alphabetic code points and ASCII digits.
    Alnum,
    /// `[A-Za-z0-9]+([-_][A-Za-z0-9]+)+` with at least one digit.
    Id,
    /// Code points that have an uppercase.
    Lower,
    /// One of [`Class::Upper`] and then as many of [`Class::Lower`] as follow, one at least.
    Proper,
    /// What is not white space.
    Word,
    /// White space.
    Space,
    /// ASCII punctuation.
    Punct,
    /// Digits, also with points or commas between them, and a sign that no letter, digit or
    /// punctuation precedes.
    Number,
    /// A number with a currency sign or code before or behind it.
    Money,
    /// `local@domain.tld` in ASCII.
    Email,
    /// `scheme://…` or `www.…` up to white space, without the punctuation that ends a sentence.
    Url,
    /// Hexadecimal digits that stand alone, one decimal digit among them, also behind `0x`.
    Hex,
    /// Hexadecimal digits in groups of 8, 4, 4, 4 and 12.
    Uuid,
    /// Day, month and year in figures, or with the month's English name, in the usual orders.
    Date,
    /// `h:mm`, also with seconds, a fraction, and `am` or `pm`; or `h am`.
    Time,
    /// From a double quotation mark to the next in the same line, the marks included.
    Quoted,
    /// Decimal digits of any script.
    Numeral,
    /// Punctuation of any script.
    Punctuation,
    /// Symbols: of mathematics, of currencies, and all others.
    Symbol,
    /// Combining marks.
    Mark,
    /// Nothing, where the text begins.
    Start,
    /// Nothing, where the text ends.
    End,
    /// Nothing, where a line begins.
    LineStart,
    /// Nothing, where a line ends.
    LineEnd,
}

/// Every class with its name, in the order of their numbers.
pub const CLASSES: [(&str, Class); 27] = [
    ("digits", Class::Digits),
    ("letters", Class::Letters),
    ("upper", Class::Upper),
    ("alnum", Class::Alnum),
    ("id", Class::Id),
    ("lower", Class::Lower),
    ("proper", Class::Proper),
    ("word", Class::Word),
    ("space", Class::Space),
    ("punct", Class::Punct),
    ("number", Class::Number),
    ("money", Class::Money),
    ("email", Class::Email),
    ("url", Class::Url),
    ("hex", Class::Hex),
    ("uuid", Class::Uuid),
    ("date", Class::Date),
    ("time", Class::Time),
    ("quoted", Class::Quoted),
    ("numeral", Class::Numeral),
    ("punctuation", Class::Punctuation),
    ("symbol", Class::Symbol),
    ("mark", Class::Mark),
    ("start", Class::Start),
    ("end", Class::End),
    ("line_start", Class::LineStart),
    ("line_end", Class::LineEnd),
];

/// How many of [`CLASSES`], the first of them, have tokens that are not empty.
pub const TOKENS: usize = 23;

/// The class of that name.
pub fn class_named(name: &str) -> Option<Class> {
    CLASSES.iter().find(|(own, _)| *own == name).map(|&(_, class)| class)
}

/// The tables that a function carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u8);

impl Kinds {
    /// Classes that need no tables.
    pub const PLAIN: u8 = 0;
    /// Classes of letters.
    pub const LETTERS: u8 = 1;
    /// Classes that have a shape.
    pub const SHAPES: u8 = 2;
    /// All but the next.
    pub const ALL: u8 = 3;
    /// Classes of Unicode's categories.
    pub const CATEGORIES: u8 = 4;
    /// All classes.
    pub const EVERY: u8 = 7;
}

impl Class {
    /// Which of [`Kinds`] it needs.
    pub const fn kinds(self) -> u8 {
        match self {
            Class::Letters | Class::Upper | Class::Alnum | Class::Lower | Class::Proper => Kinds::LETTERS,
            Class::Id
            | Class::Number
            | Class::Money
            | Class::Email
            | Class::Url
            | Class::Hex
            | Class::Uuid
            | Class::Date
            | Class::Time
            | Class::Quoted => Kinds::SHAPES,
            Class::Numeral | Class::Punctuation | Class::Symbol | Class::Mark => Kinds::CATEGORIES,
            _ => Kinds::PLAIN,
        }
    }

    /// Whether its tokens are empty: a place, not a part.
    pub const fn is_place(self) -> bool {
        matches!(self, Class::Start | Class::End | Class::LineStart | Class::LineEnd)
    }

    /// Whether a place in a text is such.
    pub fn is_at(self, text: &str, at: usize) -> bool {
        let bytes = text.as_bytes();
        match self {
            Class::Start => at == 0,
            Class::End => at == bytes.len(),
            Class::LineStart => at == 0 || bytes.get(at - 1) == Some(&b'\n'),
            // Of `\r\n`, before both.
            Class::LineEnd => match bytes.get(at..) {
                Some([] | [b'\r', b'\n', ..]) => true,
                Some([b'\n', ..]) => at == 0 || bytes.get(at - 1) != Some(&b'\r'),
                _ => false,
            },
            _ => false,
        }
    }
}

/// The first token of a class that begins at `from` or later; `from` is 0 or the end of the
/// token before. Of the classes that `KINDS` does not name, and of places, there is none.
// Inlined, so that a caller that names the class has the code of no other.
#[inline(always)]
pub fn next<const KINDS: u8>(text: &str, class: Class, from: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    if class.kinds() & !KINDS != 0 {
        return None;
    }
    match class {
        Class::Digits => byte_run(bytes, from, |byte| byte.is_ascii_digit()),
        Class::Punct => byte_run(bytes, from, |byte| byte.is_ascii_punctuation()),
        Class::Letters => run(text, from, is_letter),
        Class::Upper => run(text, from, is_upper),
        Class::Lower => run(text, from, is_lower),
        Class::Alnum => run(text, from, |character| is_letter(character) || character.is_ascii_digit()),
        Class::Word => run(text, from, |character| !character.is_whitespace()),
        Class::Space => run(text, from, char::is_whitespace),
        Class::Proper => proper(text, from),
        Class::Id => shape::id(bytes, from),
        Class::Number => shape::number(bytes, from),
        Class::Money => shape::money(bytes, from),
        Class::Email => shape::email(bytes, from),
        Class::Url => shape::url(bytes, from),
        Class::Hex => shape::hex(bytes, from),
        Class::Uuid => shape::uuid(bytes, from),
        Class::Date => shape::date(bytes, from),
        Class::Time => shape::time(bytes, from),
        Class::Quoted => shape::quoted(bytes, from),
        // Said once more, so that the tables are left out for certain.
        Class::Numeral if KINDS & Kinds::CATEGORIES != 0 => run(text, from, category::is_numeral),
        Class::Punctuation if KINDS & Kinds::CATEGORIES != 0 => run(text, from, category::is_punctuation),
        Class::Symbol if KINDS & Kinds::CATEGORIES != 0 => run(text, from, category::is_symbol),
        Class::Mark if KINDS & Kinds::CATEGORIES != 0 => run(text, from, category::is_mark),
        Class::Numeral | Class::Punctuation | Class::Symbol | Class::Mark => None,
        Class::Start | Class::End | Class::LineStart | Class::LineEnd => None,
    }
}

/// The `index`-th token of a class: from 0, or from -1 backwards from the end.
#[inline(always)]
pub fn token(text: &str, class: Class, index: i64) -> Option<&str> {
    let mut wanted = index;
    if index < 0 {
        // From the end: all are counted first.
        let mut count: i64 = 0;
        tokens(text, class, &mut |_| {
            count += 1;
            true
        });
        wanted = count.checked_add(index).filter(|wanted| *wanted >= 0)?;
    }
    let mut from = 0;
    loop {
        let (start, end) = next::<{ Kinds::EVERY }>(text, class, from)?;
        if wanted == 0 {
            return text.get(start..end);
        }
        wanted -= 1;
        from = end;
    }
}

/// All tokens of a class in order, until `each` says to stop by `false`.
#[inline(always)]
pub fn tokens<'a>(text: &'a str, class: Class, each: &mut impl FnMut(&'a str) -> bool) {
    let mut from = 0;
    while let Some((start, end)) = next::<{ Kinds::EVERY }>(text, class, from) {
        if !each(text.get(start..end).unwrap_or_default()) {
            return;
        }
        from = end;
    }
}

/// The first run, as long as can be, of code points of a kind.
#[inline(always)]
pub(super) fn run(text: &str, from: usize, inside: impl Fn(char) -> bool) -> Option<(usize, usize)> {
    let mut start = None;
    for (at, character) in text.get(from..)?.char_indices() {
        match (start, inside(character)) {
            (None, true) => start = Some(from + at),
            (Some(start), false) => return Some((start, from + at)),
            _ => {}
        }
    }
    start.map(|start| (start, text.len()))
}

/// [`run`] for kinds within ASCII, which need no decoding.
#[inline(always)]
pub(super) fn byte_run(text: &[u8], from: usize, inside: impl Fn(u8) -> bool) -> Option<(usize, usize)> {
    let mut start = from;
    while !inside(*text.get(start)?) {
        start += 1;
    }
    let mut end = start;
    while text.get(end).is_some_and(|byte| inside(*byte)) {
        end += 1;
    }
    Some((start, end))
}

fn proper(text: &str, from: usize) -> Option<(usize, usize)> {
    let (mut start, mut previous) = (None, None);
    for (at, character) in text.get(from..)?.char_indices() {
        let lower = is_lower(character);
        match (start, lower) {
            (None, true) => start = previous,
            (Some(start), false) => return Some((start, from + at)),
            _ => {}
        }
        previous = is_upper(character).then_some(from + at);
    }
    start.map(|start| (start, text.len()))
}

pub(super) fn is_letter(character: char) -> bool {
    character.is_alphabetic()
}

/// Whether it has a lowercase.
pub(super) fn is_upper(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_uppercase() } else { case::is_upper(character) }
}

/// Whether it has an uppercase, and no lowercase.
pub(super) fn is_lower(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_lowercase() } else { case::is_lower(character) }
}
