//! Text primitives over UTF-8. Lengths and positions are in code points; results that are
//! part of the argument are slices of it, others go to a sink, byte by byte.

use super::case;

/// The longest text that an operator may make, in bytes; longer ones are undefined.
pub const MAX_TEXT: usize = 16 << 20;

pub use super::class::{CLASSES, Class, class_named, token, tokens};

#[inline(never)]
pub(super) fn put(character: char, out: &mut impl FnMut(u8)) {
    let mut buffer = [0u8; 4];
    character.encode_utf8(&mut buffer).bytes().for_each(out);
}

pub(super) fn put_lower(character: char, out: &mut impl FnMut(u8)) {
    if character.is_ascii() {
        out(character.to_ascii_lowercase() as u8);
    } else {
        case::lower(character).into_iter().flatten().for_each(|mapped| put(mapped, out));
    }
}

pub(super) fn put_upper(character: char, out: &mut impl FnMut(u8)) {
    if character.is_ascii() {
        out(character.to_ascii_uppercase() as u8);
    } else {
        case::upper(character).into_iter().flatten().for_each(|mapped| put(mapped, out));
    }
}

/// Every code point by its lowercase mapping (of one code point at a time: no final
/// sigma).
pub fn lower(text: &str, out: &mut impl FnMut(u8)) {
    text.chars().for_each(|character| put_lower(character, out));
}

/// Every code point by its uppercase mapping.
pub fn upper(text: &str, out: &mut impl FnMut(u8)) {
    text.chars().for_each(|character| put_upper(character, out));
}

/// [`lower`] of eight ASCII bytes.
pub fn lower_word(word: u64) -> u64 {
    word | between_bytes(word, b'A', b'Z') >> 2
}

/// [`upper`] of eight ASCII bytes.
pub fn upper_word(word: u64) -> u64 {
    word ^ between_bytes(word, b'a', b'z') >> 2
}

/// The high bits of those of eight ASCII bytes that lie in `first..=last`.
fn between_bytes(word: u64, first: u8, last: u8) -> u64 {
    // Below 128 no sum carries into the next byte.
    let reaches = |bound: u8| word + repeat(0x80 - bound);
    reaches(first) & !reaches(last + 1) & repeat(0x80)
}

/// Letters that begin a word in uppercase, other letters in lowercase. A word begins
/// after anything that is neither alphabetic, an ASCII digit, nor an apostrophe.
pub fn title(text: &str, out: &mut impl FnMut(u8)) {
    let mut inside = false;
    for character in text.chars() {
        if inside {
            put_lower(character, out);
        } else {
            put_upper(character, out);
        }
        inside = character.is_alphabetic() || character.is_ascii_digit() || (inside && character == '\'');
    }
}

/// Without white space at the ends.
pub fn trim(text: &str) -> &str {
    text.trim()
}

/// Every run of white space as one space.
pub fn collapse(text: &str, out: &mut impl FnMut(u8)) {
    let mut inside = false;
    for character in text.chars() {
        let space = character.is_whitespace();
        if !space {
            put(character, out);
        } else if !inside {
            out(b' ');
        }
        inside = space;
    }
}

/// Without code points of `set` at the ends.
pub fn strip<'a>(text: &'a str, set: &str) -> &'a str {
    text.trim_matches(|character| set.chars().any(|member| member == character))
}

/// Every occurrence of `from`, left to right, as `to`. Undefined for an empty `from`.
pub fn replace(text: &str, from: &str, to: &str, out: &mut impl FnMut(u8)) -> Option<()> {
    let mut first = true;
    split(text, from, &mut |part| {
        if !first {
            to.bytes().for_each(&mut *out);
        }
        first = false;
        part.bytes().for_each(&mut *out);
    })
}

/// The parts between occurrences of `separator`, one more than there are occurrences.
/// Undefined for an empty separator.
pub fn split<'a>(text: &'a str, separator: &str, each: &mut impl FnMut(&'a str)) -> Option<()> {
    if separator.is_empty() {
        return None;
    }
    let mut rest = text;
    while let Some(at) = find(rest.as_bytes(), separator.as_bytes()) {
        each(rest.get(..at)?);
        rest = rest.get(at + separator.len()..)?;
    }
    each(rest);
    Some(())
}

/// The maximal runs of code points that are not white space.
pub fn words<'a>(text: &'a str, each: &mut impl FnMut(&'a str)) {
    tokens(text, Class::Word, &mut |word| {
        each(word);
        true
    });
}

/// The lines, without their `\n` or `\r\n`; a last empty line does not count.
pub fn lines<'a>(text: &'a str, each: &mut impl FnMut(&'a str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let at = find(rest.as_bytes(), b"\n").unwrap_or(rest.len());
        let line = rest.get(..at).unwrap_or_default();
        each(if at < rest.len() { line.strip_suffix('\r').unwrap_or(line) } else { line });
        rest = rest.get(at + 1..).unwrap_or_default();
    }
}

/// How many code points.
pub fn chars(text: &str) -> usize {
    // Every byte but a continuation byte, 10xxxxxx, begins one; eight are counted at once.
    let (eights, last) = text.as_bytes().as_chunks::<8>();
    let continuing = eights.iter().map(|eight| {
        let word = u64::from_le_bytes(*eight);
        (word >> 7 & !(word >> 6) & repeat(1)).count_ones() as usize
    });
    let continuing = continuing.sum::<usize>() + last.iter().filter(|&&byte| byte & 0xC0 == 0x80).count();
    text.len() - continuing
}

/// The code points from `from` up to, not including, `to` (the end if there is none);
/// negative positions count from the end. Undefined where a position is outside the text
/// or the two are out of order.
pub fn substr(text: &str, from: i64, to: Option<i64>) -> Option<&str> {
    let length = chars(text) as i64;
    let (from, to) = range(length, from, to)?;
    text.get(offset(text, from)..offset(text, to))
}

/// The code point at `from` and each `n`-th behind it. Undefined where `n` is below 1 or `from` below 0.
pub fn every(text: &str, n: i64, from: i64, out: &mut impl FnMut(u8)) -> Option<()> {
    let (n, from) = (u64::try_from(n).ok().filter(|n| *n > 0)?, u64::try_from(from).ok()?);
    // Counted down to the next one: an index of 64 bits may be beyond what a text has.
    let mut left = from;
    for character in text.chars() {
        match left {
            0 => {
                put(character, out);
                left = n - 1;
            }
            _ => left -= 1,
        }
    }
    Some(())
}

/// Resolves positions that may count from the end; `None` where they are outside
/// `0..=length` or out of order. Lists are sliced by the same rule.
pub fn range(length: i64, from: i64, to: Option<i64>) -> Option<(usize, usize)> {
    let resolve = |at: i64| if at < 0 { at.checked_add(length) } else { Some(at) };
    let (from, to) = (resolve(from)?, resolve(to.unwrap_or(length))?);
    if from < 0 || from > to || to > length {
        return None;
    }
    Some((usize::try_from(from).ok()?, usize::try_from(to).ok()?))
}

fn offset(text: &str, code_points: usize) -> usize {
    text.char_indices().nth(code_points).map_or(text.len(), |(at, _)| at)
}

/// What precedes the first `separator`. Undefined where there is none or it is empty.
pub fn before<'a>(text: &'a str, separator: &str) -> Option<&'a str> {
    if separator.is_empty() {
        return None;
    }
    text.get(..find(text.as_bytes(), separator.as_bytes())?)
}

/// What follows the first `separator`. Undefined where there is none or it is empty.
pub fn after<'a>(text: &'a str, separator: &str) -> Option<&'a str> {
    if separator.is_empty() {
        return None;
    }
    text.get(find(text.as_bytes(), separator.as_bytes())? + separator.len()..)
}

/// What lies between the first `left` and the first `right` after it.
pub fn between<'a>(text: &'a str, left: &str, right: &str) -> Option<&'a str> {
    before(after(text, left)?, right)
}

/// Where `part` first occurs, in code points.
pub fn position(text: &str, part: &str) -> Option<usize> {
    text.get(..find(text.as_bytes(), part.as_bytes())?).map(chars)
}

/// How often `part` occurs without overlapping. Undefined for an empty part.
pub fn occurrences(text: &str, part: &str) -> Option<usize> {
    let mut count = 0;
    split(text, part, &mut |_| count += 1)?;
    Some(count - 1)
}

/// A number of 63 bits that stands for some bytes: FNV-1a (Fowler, Noll, Vo; 64 bits) without its
/// lowest bit, so that it is a whole number that is not negative.
pub fn digest(bytes: &[u8]) -> i64 {
    (fnv(FNV, bytes) >> 1) as i64
}

/// Where [`fnv`] begins.
pub const FNV: u64 = 0xCBF2_9CE4_8422_2325;

/// FNV-1a (Fowler, Noll, Vo), 64 bits, from what came before on. A change of one byte always gives
/// another one, since each step is a bijection; it is no defence against anybody.
pub fn fnv(before: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(before, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3))
}

/// The code points from the last to the first.
pub fn reverse(text: &str, out: &mut impl FnMut(u8)) {
    text.chars().rev().for_each(|character| put(character, out));
}

/// The widest that a text is padded to.
const MOST_WIDTH: i64 = 1 << 20;

/// A text made so many code points wide with `fill`, which is one code point: on the left for
/// 0, on the right for 1, on both sides, the right one first, for 2. A wider text stays as it is.
pub fn pad(text: &str, width: i64, fill: &str, side: &[u8], out: &mut impl FnMut(u8)) -> Option<()> {
    if chars(fill) != 1 || width > MOST_WIDTH {
        return None;
    }
    let missing = usize::try_from(width).unwrap_or(0).saturating_sub(chars(text));
    let left = match side {
        [0] => missing,
        [1] => 0,
        _ => missing / 2,
    };
    let mut put = |count: usize| (0..count).for_each(|_| fill.bytes().for_each(&mut *out));
    put(left);
    text.bytes().for_each(&mut *out);
    let mut put = |count: usize| (0..count).for_each(|_| fill.bytes().for_each(&mut *out));
    put(missing - left);
    Some(())
}

/// Whether `part` occurs.
pub fn contains(text: &str, part: &str) -> bool {
    find(text.as_bytes(), part.as_bytes()).is_some()
}

/// Whether it begins with `part`.
pub fn starts(text: &str, part: &str) -> bool {
    text.as_bytes().starts_with(part.as_bytes())
}

/// Whether it ends with `part`.
pub fn ends(text: &str, part: &str) -> bool {
    text.as_bytes().ends_with(part.as_bytes())
}

/// The ASCII digits alone.
pub fn digits(text: &str, out: &mut impl FnMut(u8)) {
    text.bytes().filter(u8::is_ascii_digit).for_each(out);
}

/// The alphabetic code points alone.
pub fn letters(text: &str, out: &mut impl FnMut(u8)) {
    text.chars().filter(|character| character.is_alphabetic()).for_each(|character| put(character, out));
}

/// Where `part` first occurs, in bytes. An empty part occurs at 0.
///
/// Looks at eight positions at a time for the part's first two bytes, which is all the
/// speed that the short constants of programs need.
pub fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    let Some((&first, rest)) = part.split_first() else { return Some(0) };
    if rest.is_empty() {
        return find_byte(text, first);
    }
    let last = text.len().checked_sub(part.len())?;
    let second = rest.first().copied();
    let mut at = 0;
    while at <= last {
        // A word of candidates, and the word one byte on for the part's second byte.
        if let (Some(here), Some(next)) = (word_at(text, at), word_at(text, at + 1)) {
            let mut off = here ^ repeat(first);
            if let Some(second) = second {
                off |= next ^ repeat(second);
            }
            if !has_zero_byte(off) {
                at += 8;
                continue;
            }
        }
        let end = (at + 8).min(last + 1);
        while at < end {
            if text.get(at..at + part.len()) == Some(part) {
                return Some(at);
            }
            at += 1;
        }
    }
    None
}

fn find_byte(text: &[u8], byte: u8) -> Option<usize> {
    let (words, rest) = text.as_chunks::<8>();
    let mut at = 0;
    for word in words {
        let off = u64::from_le_bytes(*word) ^ repeat(byte);
        // The lowest of the bits that say where a byte is zero is right.
        let zeros = off.wrapping_sub(repeat(1)) & !off & repeat(0x80);
        if zeros != 0 {
            return Some(at + zeros.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    for other in rest {
        if *other == byte {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn word_at(text: &[u8], at: usize) -> Option<u64> {
    text.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

fn repeat(byte: u8) -> u64 {
    u64::from(byte) * 0x0101_0101_0101_0101
}

fn has_zero_byte(word: u64) -> bool {
    word.wrapping_sub(0x0101_0101_0101_0101) & !word & 0x8080_8080_8080_8080 != 0
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::String;
    use std::vec;
    use std::vec::Vec;

    use super::*;

    fn collect(run: impl FnOnce(&mut dyn FnMut(u8))) -> String {
        let mut bytes = Vec::new();
        run(&mut |byte| bytes.push(byte));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn cases() {
        assert_eq!(collect(|mut out| lower("ÀB İ", &mut out)), "àb i\u{307}");
        assert_eq!(collect(|mut out| upper("straße", &mut out)), "STRASSE");
        assert_eq!(collect(|mut out| title("it's o-k 3rd éCOLE", &mut out)), "It's O-K 3rd École");
        assert_eq!(collect(|mut out| collapse(" a \t\u{2003}b\n", &mut out)), " a b ");
        assert_eq!(strip("..a.b,", ".,"), "a.b");
        assert_eq!(collect(|mut out| letters("a1é-b", &mut out)), "aéb");
        assert_eq!(collect(|mut out| digits("a1é2", &mut out)), "12");
    }

    #[test]
    fn eight_ascii_bytes_at_once() {
        for byte in 0..128u8 {
            let word = u64::from_le_bytes([byte, b'Z', byte, b'a', 0, 127, b'{', byte]);
            assert_eq!(lower_word(word).to_le_bytes(), word.to_le_bytes().map(|byte| byte.to_ascii_lowercase()));
            assert_eq!(upper_word(word).to_le_bytes(), word.to_le_bytes().map(|byte| byte.to_ascii_uppercase()));
        }
    }

    #[test]
    fn parts() {
        let mut all = vec![];
        assert_eq!(split("a--b--", "--", &mut |part| all.push(part)), Some(()));
        assert_eq!(all, ["a", "b", ""]);
        assert_eq!(split("a", "", &mut |_| ()), None);
        let mut all = vec![];
        lines("a\r\n\nb\r", &mut |line| all.push(line));
        assert_eq!(all, ["a", "", "b\r"]);
        let mut all = vec![];
        words("\u{a0}a  b\tc ", &mut |word| all.push(word));
        assert_eq!(all, ["a", "b", "c"]);
        let replaced = collect(|mut out| assert_eq!(replace("aaa", "aa", "b", &mut out), Some(())));
        assert_eq!(replaced, "ba");
        assert_eq!(between("[x] [y]", "[", "]"), Some("x"));
        assert_eq!(between("x", "", "]"), None);
    }

    #[test]
    fn positions() {
        assert_eq!(substr("añb€", 1, Some(3)), Some("ñb"));
        assert_eq!(substr("añb€", -1, None), Some("€"));
        assert_eq!(substr("añb€", 0, Some(-1)), Some("añb"));
        assert_eq!(substr("añb€", 4, None), Some(""));
        assert_eq!(substr("añb€", 5, None), None);
        assert_eq!(substr("añb€", 3, Some(2)), None);
        assert_eq!(substr("a", i64::MIN, Some(i64::MAX)), None);
    }

    #[test]
    fn tokens_by_class() {
        let text = "Re: order ORD-2024-17 and x_y, a-1 -b2";
        assert_eq!(token(text, Class::Id, 0), Some("ORD-2024-17"));
        assert_eq!(token(text, Class::Id, -1), Some("a-1"));
        assert_eq!(token(text, Class::Id, 2), None);
        assert_eq!(token(text, Class::Digits, 1), Some("17"));
        assert_eq!(token(text, Class::Upper, 1), Some("ORD"));
        assert_eq!(token(text, Class::Letters, 0), Some("Re"));
        assert_eq!(token(text, Class::Alnum, -1), Some("b2"));
        assert_eq!(token(text, Class::Alnum, i64::MIN), None);
    }

    #[test]
    fn find_agrees_with_core() {
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..20_000 {
            let text: String = (0..next(40)).map(|_| ['a', 'b', 'é'][next(3) as usize]).collect();
            let part: String = (0..next(4)).map(|_| ['a', 'b', 'é'][next(3) as usize]).collect();
            assert_eq!(find(text.as_bytes(), part.as_bytes()), text.find(&part), "{text} {part}");
        }
    }
}
