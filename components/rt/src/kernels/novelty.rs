//! The arithmetic of the guard: how unlike a text is what was witnessed.
//!
//! Guard pass, native readers and artifacts share it bit for bit. Scores are integers in
//! parts per million, so every engine gives the same ones.

/// The most a check can score, in parts per million: nothing like it was witnessed.
pub const MOST: u32 = 1_000_000;

const FNV_OFFSET: u32 = 0x811C_9DC5;
const FNV_PRIME: u32 = 0x0100_0193;

/// What a text is taken to begin with, so that how it begins counts.
const BEFORE: u8 = 0x02;
/// What a text is taken to end with.
const AFTER: u8 = 0x03;

/// The bit of a table of `2^bits` bits that a window of three bytes falls on: FNV-1a
/// (Fowler, Noll, Vo; 32 bits) folded by exclusive or.
#[inline]
pub fn sketch_index(window: [u8; 3], bits: u32) -> u32 {
    let [a, b, c] = window;
    let hash = step(step(step(FNV_OFFSET, a), b), c);
    (hash ^ hash.unbounded_shr(bits)) & 1u32.unbounded_shl(bits).wrapping_sub(1)
}

#[inline]
fn step(hash: u32, byte: u8) -> u32 {
    (hash ^ u32::from(byte)).wrapping_mul(FNV_PRIME)
}

/// The share of a text's windows whose bit is not set in `table`, in parts per million,
/// rounded down. A text without windows, the empty one, scores 0.
pub fn sketch_score(text: &[u8], bits: u32, table: &[u8]) -> u32 {
    let mut unseen: u64 = 0;
    windows(text, |window| {
        let index = sketch_index(window, bits);
        let byte = table.get((index >> 3) as usize).copied().unwrap_or(0);
        unseen += u64::from(!(byte >> (index & 7)) & 1);
    });
    // At most one window a byte, so the quotient is at most MOST.
    (unseen * u64::from(MOST)).checked_div(text.len() as u64).unwrap_or(0) as u32
}

/// Sets the bit of every window of a text in a table of `2^bits` bits.
pub fn sketch_insert(text: &[u8], bits: u32, table: &mut [u8]) {
    windows(text, |window| {
        let index = sketch_index(window, bits);
        if let Some(byte) = table.get_mut((index >> 3) as usize) {
            *byte |= 1 << (index & 7);
        }
    });
}

/// Calls `each` with every three bytes in a row of the text in ASCII lowercase between
/// its two marks: as many windows as the text has bytes.
#[inline]
fn windows(text: &[u8], mut each: impl FnMut([u8; 3])) {
    let Some((&first, rest)) = text.split_first() else { return };
    let (mut a, mut b) = (BEFORE, first.to_ascii_lowercase());
    for byte in rest {
        let c = byte.to_ascii_lowercase();
        each([a, b, c]);
        (a, b) = (b, c);
    }
    each([a, b, AFTER]);
}

/// ASCII lowercase letters.
pub const LOWER: u32 = 1 << 0;
/// ASCII capitals.
pub const UPPER: u32 = 1 << 1;
/// ASCII digits.
pub const DIGIT: u32 = 1 << 2;
/// ASCII white space.
pub const SPACE: u32 = 1 << 3;
/// ASCII punctuation.
pub const PUNCTUATION: u32 = 1 << 4;
/// Other ASCII control characters.
pub const CONTROL: u32 = 1 << 5;
/// Alphabetic code points beyond ASCII.
pub const OTHER_LETTER: u32 = 1 << 6;
/// Other code points beyond ASCII.
pub const OTHER: u32 = 1 << 7;

/// The class of every ASCII character.
static ASCII: [u8; 128] = ascii_classes();

const fn ascii_classes() -> [u8; 128] {
    let mut table = [0; 128];
    let mut at = 0;
    while at < table.len() {
        let class = match at as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b' ' | b'\t' | b'\n' | b'\r' | 0x0C => SPACE,
            byte if byte.is_ascii_punctuation() => PUNCTUATION,
            _ => CONTROL,
        };
        table[at] = class as u8;
        at += 1;
    }
    table
}

/// The classes of the characters of a text, one bit each.
pub fn character_classes(text: &str) -> u32 {
    let mut classes = 0;
    let mut rest = text.as_bytes();
    let mut at = 0;
    while let Some((&byte, tail)) = rest.split_first() {
        if let Some(&class) = ASCII.get(usize::from(byte)) {
            classes |= u32::from(class);
            (rest, at) = (tail, at + 1);
            continue;
        }
        let Some(character) = text.get(at..).and_then(|text| text.chars().next()) else { break };
        classes |= if character.is_alphabetic() { OTHER_LETTER } else { OTHER };
        at += character.len_utf8();
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    classes
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::String;
    use std::vec;
    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_formulas() {
        // FNV-1a of "abc" is 0x1A47E90B (published test vector).
        assert_eq!(sketch_index(*b"abc", 31), (0x1A47_E90B ^ (0x1A47_E90B >> 31)) & 0x7FFF_FFFF);
        assert_eq!(sketch_index(*b"abc", 16), 0xE90B ^ 0x1A47);
        assert_eq!(sketch_index(*b"abc", 32), 0x1A47_E90B);
        assert_eq!(sketch_index(*b"abc", 0), 0);
        let mut table = vec![0; 512];
        assert_eq!(sketch_score(b"", 12, &table), 0);
        assert_eq!(sketch_score(b"a", 12, &table), MOST);
        sketch_insert(b"Order 17", 12, &mut table);
        assert_eq!(sketch_score(b"oRDER 17", 12, &table), 0);
        assert_eq!(sketch_score(b"order 1", 12, &table), 1_000_000 / 7);
    }

    #[test]
    fn classes() {
        assert_eq!(character_classes(""), 0);
        assert_eq!(character_classes("aZ"), LOWER | UPPER);
        assert_eq!(character_classes("1 \n"), DIGIT | SPACE);
        assert_eq!(character_classes("-\u{7f}"), PUNCTUATION | CONTROL);
        assert_eq!(character_classes("\u{e9}\u{2003}a"), OTHER_LETTER | OTHER | LOWER);
    }

    proptest! {
        #[test]
        fn what_was_inserted_scores_nothing(texts in prop::collection::vec(any::<String>(), 0..6), bits in 3u32..16) {
            let mut table = vec![0; 1 << (bits - 3)];
            for text in &texts {
                sketch_insert(text.as_bytes(), bits, &mut table);
            }
            for text in &texts {
                prop_assert_eq!(sketch_score(text.as_bytes(), bits, &table), 0);
            }
        }

        #[test]
        fn scores_are_shares(text: String, table: Vec<u8>, bits in 0u32..40) {
            prop_assert!(sketch_score(text.as_bytes(), bits, &table) <= MOST);
            let by_character = text.chars().fold(0, |all, character| all | character_classes(character.encode_utf8(&mut [0; 4])));
            prop_assert_eq!(character_classes(&text), by_character);
        }
    }
}
