//! The arithmetic of the guard: how unlike a text is what was witnessed.
//!
//! Guard pass, native readers and artifacts share it bit for bit. Scores are integers in
//! parts per million, so every engine gives the same ones.

/// The most a check can score, in parts per million: nothing like it was witnessed.
pub const MOST: u32 = 1_000_000;

const FNV_OFFSET: u32 = 0x811C_9DC5;
const FNV_PRIME: u32 = 0x0100_0193;

/// What a text is taken to begin with, so that how it begins counts.
const BEFORE: u32 = 0x02;
/// What a text is taken to end with.
const AFTER: u32 = 0x03;

/// The bit of a table of `2^bits` bits that a window of three bytes falls on: FNV-1a
/// (Fowler, Noll, Vo; 32 bits) folded by exclusive or. `bits` above 31 count as 31.
pub fn sketch_index(window: [u8; 3], bits: u32) -> u32 {
    index(window.map(u32::from), bits.min(31))
}

/// [`sketch_index`] of bytes that were widened before, for at most 31 bits.
#[inline(always)]
fn index([a, b, c]: [u32; 3], bits: u32) -> u32 {
    let step = |hash: u32, byte: u32| (hash ^ byte).wrapping_mul(FNV_PRIME);
    let hash = step(step(step(FNV_OFFSET, a), b), c);
    (hash ^ (hash >> bits)) & ((1 << bits) - 1)
}

/// The share of a text's windows whose bit is not set in `table`, in parts per million,
/// rounded down. A text without windows, the empty one, scores 0. A bit that the table is
/// too short for is not set.
pub fn sketch_score(text: &[u8], bits: u32, table: &[u8]) -> u32 {
    if let Some(sketch) = Sketch::new(bits, table) {
        return sketch.score(text, 0);
    }
    let mut unseen = 0;
    each_window(text, bits.min(31), |index| {
        let byte = table.get((index >> 3) as usize).copied().unwrap_or(0);
        unseen += !u32::from(byte) >> (index & 7) & 1;
    });
    share(unseen, text)
}

/// What a whole number scores: `scale` parts per million of it, at most [`MOST`]. What is below
/// 0 scores that; what is above a million counts as a million. `scale` is at most 10^12.
pub fn scaled(value: i64, scale: u64) -> u32 {
    let Ok(value) = u64::try_from(value) else { return MOST };
    // At most 10^18.
    let scaled = value.min(u64::from(MOST)).wrapping_mul(scale) / u64::from(MOST);
    scaled.min(u64::from(MOST)) as u32
}

fn share(unseen: u32, text: &[u8]) -> u32 {
    // At most one window a byte, so the quotient is at most MOST.
    (u64::from(unseen) * u64::from(MOST)).checked_div(text.len() as u64).unwrap_or(0) as u32
}

/// A table that has a bit for every index.
pub struct Sketch<'t> {
    bits: u32,
    table: &'t [u8],
}

impl<'t> Sketch<'t> {
    /// `None` where the table has fewer than `2^bits` bits, or `bits` is above 31.
    pub fn new(bits: u32, table: &'t [u8]) -> Option<Sketch<'t>> {
        (bits < 32 && table.len() as u64 * 8 >= 1 << bits).then_some(Sketch { bits, table })
    }

    /// [`sketch_score`] where that is above `enough`; some score that is not, otherwise. Stops
    /// as soon as what is left cannot bring it above, so 0 gives the score itself.
    ///
    /// Four windows at a time, since engines that count pay by the turn of a loop.
    pub fn score(&self, text: &[u8], enough: u32) -> u32 {
        let Some((&first, rest)) = text.split_first() else { return 0 };
        // The most windows that may be new with a score of `enough`.
        let most = ((u64::from(enough) + 1) * text.len() as u64 - 1) / u64::from(MOST);
        let (mut a, mut b) = (BEFORE, u32::from(first.to_ascii_lowercase()));
        let (mut unseen, mut left) = (0, text.len() as u64);
        let (fours, last) = rest.as_chunks::<4>();
        for four in fours {
            if u64::from(unseen) + left <= most {
                return 0;
            }
            left -= 4;
            let four = lowercase(u32::from_le_bytes(*four));
            let (c, d, e, f) = (four & 0xFF, four >> 8 & 0xFF, four >> 16 & 0xFF, four >> 24);
            unseen += self.unset([a, b, c]) + self.unset([b, c, d]) + self.unset([c, d, e]) + self.unset([d, e, f]);
            (a, b) = (e, f);
        }
        for c in last.iter().map(|byte| u32::from(byte.to_ascii_lowercase())).chain([AFTER]) {
            unseen += self.unset([a, b, c]);
            (a, b) = (b, c);
        }
        share(unseen, text)
    }

    /// 1 where the bit of a window is not set. Inlined even where the compiler goes for
    /// size.
    #[inline(always)]
    fn unset(&self, window: [u32; 3]) -> u32 {
        let index = index(window, self.bits);
        // SAFETY: the index is below 2^bits, and the table has so many bits.
        let byte = unsafe { *self.table.get_unchecked((index >> 3) as usize) };
        !u32::from(byte) >> (index & 7) & 1
    }
}

/// Sets the bit of every window of a text in a table of `2^bits` bits.
pub fn sketch_insert(text: &[u8], bits: u32, table: &mut [u8]) {
    each_window(text, bits.min(31), |index| {
        if let Some(byte) = table.get_mut((index >> 3) as usize) {
            *byte |= 1 << (index & 7);
        }
    });
}

fn each_window(text: &[u8], bits: u32, mut each: impl FnMut(u32)) {
    windows(text, |window| each(index(window, bits)));
}

/// Gives every three bytes in a row of the text in ASCII lowercase between its two marks: as many
/// windows as the text has bytes.
#[inline(always)]
pub fn windows(text: &[u8], mut each: impl FnMut([u32; 3])) {
    let Some((&first, rest)) = text.split_first() else { return };
    let (mut a, mut b) = (BEFORE, u32::from(first.to_ascii_lowercase()));
    for c in rest.iter().map(|byte| u32::from(byte.to_ascii_lowercase())).chain([AFTER]) {
        each([a, b, c]);
        (a, b) = (b, c);
    }
}

/// Four bytes in ASCII lowercase.
#[inline(always)]
fn lowercase(four: u32) -> u32 {
    const ONES: u32 = u32::MAX / 255;
    let low = four & (ONES * 0x7F);
    // No sum carries into the next byte; a byte that is not ASCII is not a capital.
    let reaches = |bound: u8| low + ONES * (0x80 - u32::from(bound));
    let capital = reaches(b'A') & !reaches(b'Z' + 1) & !four & (ONES * 0x80);
    four | capital >> 2
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
static ASCII: [u8; 128] = class_table();

const fn class_table() -> [u8; 128] {
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
    let mut rest = text;
    loop {
        let (own, length) = ascii_prefix(rest.as_bytes());
        classes |= own;
        let Some(character) = rest.get(length..).and_then(|rest| rest.chars().next()) else { return classes };
        classes |= if character.is_alphabetic() { OTHER_LETTER } else { OTHER };
        rest = rest.get(length + character.len_utf8()..).unwrap_or_default();
    }
}

/// [`character_classes`] for whoever treats all characters beyond ASCII alike: with both of
/// their classes where there is one.
pub fn ascii_classes(text: &str) -> u32 {
    let mut classes = 0;
    let mut rest = text.as_bytes();
    loop {
        let (own, length) = ascii_prefix(rest);
        classes |= own;
        let Some((_, after)) = rest.get(length..).and_then(<[u8]>::split_first) else { return classes };
        classes |= OTHER_LETTER | OTHER;
        rest = after;
    }
}

/// The classes of the ASCII characters that a text begins with, and how many they are;
/// eight at a time as far as that goes.
fn ascii_prefix(text: &[u8]) -> (u32, usize) {
    let class = |byte: u8| ASCII.get(usize::from(byte)).copied().unwrap_or(0);
    let (mut classes, mut length) = (0, 0);
    let (eights, _) = text.as_chunks::<8>();
    for eight in eights {
        if u64::from_le_bytes(*eight) & HIGH_BITS != 0 {
            break;
        }
        let [a, b, c, d, e, f, g, h] = *eight;
        classes |= class(a) | class(b) | class(c) | class(d) | class(e) | class(f) | class(g) | class(h);
        length += 8;
    }
    for byte in text.get(length..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii()) {
        classes |= class(*byte);
        length += 1;
    }
    (u32::from(classes), length)
}

/// Set in the bytes of a word that are not ASCII.
const HIGH_BITS: u64 = u64::MAX / 255 * 0x80;

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
        assert_eq!(sketch_index(*b"abc", 24), 0x47_E90B ^ 0x1A);
        assert_eq!(sketch_index(*b"abc", 16), 0xE90B ^ 0x1A47);
        assert_eq!(sketch_index(*b"abc", 32), sketch_index(*b"abc", 31));
        assert_eq!(sketch_index(*b"abc", 0), 0);
        let mut table = vec![0; 512];
        assert_eq!(sketch_score(b"", 12, &table), 0);
        assert_eq!(sketch_score(b"a", 12, &table), MOST);
        sketch_insert(b"Order 17", 12, &mut table);
        assert_eq!(sketch_score(b"oRDER 17", 12, &table), 0);
        assert_eq!(sketch_score(b"order 1", 12, &table), 1_000_000 / 7);
    }

    #[test]
    fn four_bytes_in_lowercase() {
        for byte in 0..=255u8 {
            let four = [byte, b'Z', byte, 0xDA];
            assert_eq!(lowercase(u32::from_le_bytes(four)).to_le_bytes(), four.map(|byte| byte.to_ascii_lowercase()));
        }
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
        fn a_score_that_is_enough_need_not_be_exact(text in "[a-dA-D\u{e9}]{0,40}", seen in "[a-d]{0,40}", enough in 0u32..=1_000_000) {
            let mut table = [0; 16];
            sketch_insert(seen.as_bytes(), 7, &mut table);
            let exact = sketch_score(text.as_bytes(), 7, &table);
            let quick = Sketch::new(7, &table).unwrap().score(text.as_bytes(), enough);
            let right = if exact > enough { quick == exact } else { quick <= enough };
            prop_assert!(right, "{} instead of {}", quick, exact);
        }

        #[test]
        fn scores_are_shares(text: String, table: Vec<u8>, bits in 0u32..40) {
            let score = sketch_score(text.as_bytes(), bits, &table);
            prop_assert!(score <= MOST);
            // By the definition, one window after the other.
            let mut padded = vec![2u8];
            padded.extend(text.bytes().map(|byte| byte.to_ascii_lowercase()));
            padded.push(3);
            let unseen = padded.windows(3).filter(|window| {
                let index = sketch_index([window[0], window[1], window[2]], bits);
                table.get(index as usize / 8).is_none_or(|byte| byte >> (index % 8) & 1 == 0)
            });
            prop_assert_eq!(score, (unseen.count() * 1_000_000).checked_div(text.len()).unwrap_or(0) as u32);
            let by_character = text.chars().fold(0, |all, character| all | character_classes(character.encode_utf8(&mut [0; 4])));
            prop_assert_eq!(character_classes(&text), by_character);
            let both = OTHER_LETTER | OTHER;
            let alike = if by_character & both == 0 { by_character } else { by_character | both };
            prop_assert_eq!(ascii_classes(&text), alike);
        }
    }
}
