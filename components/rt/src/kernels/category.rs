//! General categories of Unicode, as far as classes of tokens need them. The tables lie in files that
//! `tests/category.rs` makes from the crate `unicode-properties` (Unicode 18), and are linked only into
//! what names the class.

/// The first and last code point of each range, three bytes each.
static NUMERALS: &[u8] = include_bytes!("category/numerals.bin");
static PUNCTUATION: &[u8] = include_bytes!("category/punctuation.bin");
static SYMBOLS: &[u8] = include_bytes!("category/symbols.bin");
static MARKS: &[u8] = include_bytes!("category/marks.bin");

const RANGE: usize = 6;

/// A decimal digit of any script (`Nd`).
pub fn is_numeral(character: char) -> bool {
    if character.is_ascii() { character.is_ascii_digit() } else { is_in(NUMERALS, character) }
}

/// Punctuation (`P`).
pub fn is_punctuation(character: char) -> bool {
    is_in(PUNCTUATION, character)
}

/// A symbol: of mathematics, of a currency, a modifier, or another (`S`).
pub fn is_symbol(character: char) -> bool {
    is_in(SYMBOLS, character)
}

/// A combining mark (`M`).
pub fn is_mark(character: char) -> bool {
    !character.is_ascii() && is_in(MARKS, character)
}

fn is_in(ranges: &[u8], character: char) -> bool {
    let code = u32::from(character);
    let (ranges, _) = ranges.as_chunks::<RANGE>();
    let bounds =
        |[a, b, c, x, y, z]: &[u8; RANGE]| (u32::from_le_bytes([*a, *b, *c, 0]), u32::from_le_bytes([*x, *y, *z, 0]));
    let at = ranges.partition_point(|range| bounds(range).1 < code);
    ranges.get(at).is_some_and(|range| bounds(range).0 <= code)
}
