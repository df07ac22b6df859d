//! The text form of patterns and positions, and the bytes that kernels read.
//!
//! A pattern is items with spaces between them: the name of a class of tokens, a set of
//! code points as `[,;]`, a literal text as `'ID: '`. A position is a number of code points
//! from the beginning (`3`) or from the end (`-2`), or two patterns around a `^`, one of
//! which may be missing, with `#k` for the k-th such place from 0, or from -1 backwards:
//! `'(' ^ digits #1`. With `>` before it, it counts from the position before it on.

use std::fmt;

pub use auto_rt::kernels::class::Kinds;
use auto_rt::kernels::class::{CLASSES, Class, class_named};
use auto_rt::kernels::pattern::{LITERAL, MOST_BYTES, MOST_ITEMS, OFFSET, REST, SET, WHOLE};

/// An item of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Item {
    /// A token of a class.
    Class(Class),
    /// A text.
    Literal(String),
    /// A run, as long as can be, of some code points.
    Set(String),
}

/// Items, each directly behind the one before; at most [`MOST_ITEMS`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern(pub Vec<Item>);

/// A place in a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Position {
    /// So many code points from the beginning, or, below zero, from the end.
    Offset(i32),
    /// Where one pattern ends and another begins. One of them may be empty.
    Between {
        /// What ends there.
        left: Pattern,
        /// What begins there.
        right: Pattern,
        /// Which of these places, from 0, or from -1 backwards.
        k: i16,
        /// Whether places before the position before it do not count.
        rest: bool,
    },
}

impl Item {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Item::Class(class) => out.push(*class as u8),
            Item::Literal(text) | Item::Set(text) => {
                out.push(if matches!(self, Item::Literal(_)) { LITERAL } else { SET });
                out.push(text.len() as u8);
                out.extend(text.bytes());
            }
        }
    }

    fn is_place(&self) -> bool {
        matches!(self, Item::Class(class) if class.is_place())
    }

    fn cost(&self) -> u32 {
        match self {
            Item::Class(_) => 4,
            Item::Literal(text) | Item::Set(text) => 3 + 3 * text.chars().count() as u32,
        }
    }
}

impl Pattern {
    /// Reads the text form of a pattern that is not empty.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        let pattern = items(text)?;
        if pattern.0.iter().all(Item::is_place) {
            return Err("a pattern has at least one item that is no place".to_owned());
        }
        Ok(pattern)
    }

    /// The bytes that kernels read.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.0.iter().for_each(|item| item.encode(&mut bytes));
        bytes
    }

    /// Which tables it needs: bits of [`auto_rt::kernels::class::Kinds`].
    pub fn kinds(&self) -> u8 {
        let kinds = |item: &Item| if let Item::Class(class) = item { class.kinds() } else { 0 };
        self.0.iter().fold(0, |all, item| all | kinds(item))
    }

    /// What it adds to a program's description length, in bits.
    pub fn cost(&self) -> u32 {
        self.0.iter().map(Item::cost).sum()
    }
}

impl Position {
    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Position, String> {
        let text = text.trim_matches(' ');
        if let Ok(offset) = text.parse::<i32>()
            && offset.to_string() == text
        {
            return Ok(Position::Offset(offset));
        }
        let (rest, text) = text.strip_prefix('>').map_or((false, text), |text| (true, text));
        let Some(caret) = outside(text, '^') else {
            return Err("a position is a number, or has a `^` between two patterns".to_owned());
        };
        let (left, right) = (&text[..caret], &text[caret + 1..]);
        let (right, k) = match outside(right, '#') {
            Some(at) => (&right[..at], right[at + 1..].trim_matches(' ')),
            None => (right, "0"),
        };
        let k = k.parse().map_err(|_| format!("`#{k}` does not number a place; `#0` is the first, `#-1` the last"))?;
        let (left, right) = (items(left)?, items(right)?);
        if left.0.is_empty() && right.0.is_empty() {
            return Err("a position has a pattern on one side of `^` at least".to_owned());
        }
        Ok(Position::Between { left, right, k, rest })
    }

    /// The bytes that kernels read.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Position::Offset(offset) => [[OFFSET].as_slice(), &offset.to_le_bytes()].concat(),
            Position::Between { left, right, k, rest } => {
                let left = left.encode();
                let mut bytes = vec![if *rest { REST } else { WHOLE }];
                bytes.extend(k.to_le_bytes());
                // Four items of at most 129 bytes; a longer left side does not parse.
                bytes.push(left.len() as u8);
                bytes.extend(left);
                bytes.extend(right.encode());
                bytes
            }
        }
    }

    /// Which tables it needs, as [`Pattern::kinds`].
    pub fn kinds(&self) -> u8 {
        match self {
            Position::Offset(_) => 0,
            Position::Between { left, right, .. } => left.kinds() | right.kinds(),
        }
    }

    /// What it adds to a program's description length, in bits.
    pub fn cost(&self) -> u32 {
        match self {
            // Places that are counted mean less than places that are named.
            Position::Offset(0) => 2,
            Position::Offset(offset) => 8 + 2 * offset.unsigned_abs().min(64),
            Position::Between { left, right, k, rest } => {
                let from_end = u32::from(*k < 0);
                let distance = if *k < 0 { k.unsigned_abs() - 1 } else { k.unsigned_abs() };
                2 + left.cost() + right.cost() + from_end + 3 * u32::from(distance) + u32::from(*rest)
            }
        }
    }
}

/// Where a character is that is in no literal and no set.
fn outside(text: &str, wanted: char) -> Option<usize> {
    let mut inside = None;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match inside {
            _ if escaped => escaped = false,
            Some(']') if character == '\\' => escaped = true,
            Some(end) if character == end => inside = None,
            Some(_) => {}
            None if character == wanted => return Some(at),
            None if character == '\'' => inside = Some('\''),
            None if character == '[' => inside = Some(']'),
            None => {}
        }
    }
    None
}

fn items(text: &str) -> Result<Pattern, String> {
    let mut items = Vec::new();
    let mut rest = text.trim_matches(' ');
    while !rest.is_empty() {
        let (item, after) = item(rest)?;
        items.push(item);
        if !after.is_empty() && !after.starts_with(' ') {
            return Err(format!("expected a space before `{after}`"));
        }
        rest = after.trim_start_matches(' ');
    }
    if items.len() > MOST_ITEMS {
        return Err(format!("a pattern has at most {MOST_ITEMS} items"));
    }
    let pattern = Pattern(items);
    if pattern.encode().len() > 255 {
        return Err("a pattern has at most 255 bytes of literals".to_owned());
    }
    Ok(pattern)
}

/// The first item, and what follows it.
fn item(text: &str) -> Result<(Item, &str), String> {
    let (make, rest): (fn(String) -> Item, &str) = match text.as_bytes().first() {
        Some(b'\'') => (Item::Literal, &text[1..]),
        Some(b'[') => (Item::Set, &text[1..]),
        _ => {
            let end = text.find(' ').unwrap_or(text.len());
            let (name, rest) = text.split_at(end);
            let class = class_named(name).ok_or_else(|| format!("there is no class of tokens `{name}`"))?;
            return Ok((Item::Class(class), rest));
        }
    };
    let is_set = text.starts_with('[');
    let mut content = String::new();
    let mut characters = rest.char_indices();
    while let Some((at, character)) = characters.next() {
        let next = rest[at + character.len_utf8()..].chars().next();
        match (is_set, character, next) {
            (true, '\\', Some(escaped)) | (false, '\'', Some(escaped @ '\'')) => {
                characters.next();
                content.push(escaped);
            }
            (true, ']', _) | (false, '\'', _) => {
                if content.is_empty() || content.len() > MOST_BYTES {
                    return Err(format!("a literal or a set has 1 to {MOST_BYTES} bytes"));
                }
                return Ok((make(content), &rest[at + 1..]));
            }
            _ => content.push(character),
        }
    }
    Err(format!("`{text}` is not closed"))
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Class(class) => f.write_str(CLASSES[*class as usize].0),
            Item::Literal(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Item::Set(set) => write!(f, "[{}]", set.replace('\\', "\\\\").replace(']', "\\]")),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if index > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Offset(offset) => write!(f, "{offset}"),
            Position::Between { left, right, k, rest } => {
                f.write_str(if *rest { "> " } else { "" })?;
                if !left.0.is_empty() {
                    write!(f, "{left} ")?;
                }
                f.write_str("^")?;
                if !right.0.is_empty() {
                    write!(f, " {right}")?;
                }
                if *k == 0 { Ok(()) } else { write!(f, " #{k}") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_print_as_they_read() {
        for text in ["0", "-3", "digits ^", "^ 'it''s' [\\]\\\\;] #-2", "> '(' ^ proper space #1", "start ^ upper"] {
            assert_eq!(Position::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "^", "digits", "digits1 ^", "^ #1", "^ nothing", "^ 'x", "^ ''", "^ digits #x", "03", "[] ^"] {
            assert!(Position::parse(text).is_err(), "{text}");
        }
        assert!(Pattern::parse("start end").is_err());
        assert!(Pattern::parse("digits digits digits digits digits").is_err());
        let long = format!("'{}' '{}' '{}'", "x".repeat(100), "y".repeat(100), "z".repeat(100));
        assert!(Pattern::parse(&long).is_err());
    }
}
