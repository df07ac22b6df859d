//! Writes canonical JSON straight from nodes.

use auto_json::write;

use super::arena::Bytes;
use super::node::{BOOL, LIST, NULL, NUMBER, Node, RECORD, lexeme_integer};

/// Writes a value.
pub(super) fn value(node: &Node, out: &mut Bytes) {
    match node.kind {
        NULL => out.extend(b"null"),
        BOOL => out.extend(if node.form == 1 { b"true" } else { b"false" }),
        NUMBER => number(node, out),
        LIST => {
            out.push(b'[');
            let mut separate = false;
            for item in node.as_items().unwrap_or_default() {
                if separate {
                    out.push(b',');
                }
                separate = true;
                value(item, out);
            }
            out.push(b']');
        }
        RECORD => {
            out.push(b'{');
            let mut separate = false;
            for member in node.as_members().unwrap_or_default() {
                if separate {
                    out.push(b',');
                }
                separate = true;
                string(member.key(), out);
                out.push(b':');
                value(&member.value, out);
            }
            out.push(b'}');
        }
        _ => string(node.as_text().unwrap_or_default().as_bytes(), out),
    }
}

/// Writes the canonical text of a number.
#[inline(never)]
pub(super) fn number(node: &Node, out: &mut Bytes) {
    if let Some(lexeme) = node.as_lexeme()
        && (lexeme_integer(lexeme).is_some() && lexeme != b"-0")
    {
        out.extend(lexeme);
    } else if let Some(value) = node.as_small() {
        small(value, out);
    } else {
        exact(node, out);
    }
}

#[inline(never)]
fn exact(node: &Node, out: &mut Bytes) {
    if let Some(number) = node.as_number() {
        number.write(&mut |byte| out.push_one(byte));
    }
}

/// Writes an integer.
#[inline(never)]
pub(super) fn small(value: i64, out: &mut Bytes) {
    if value < 0 {
        out.push(b'-');
    }
    let mut digits = [0u8; 20];
    let mut rest = value.unsigned_abs();
    let mut count = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        count += 1;
        if rest == 0 {
            break;
        }
    }
    out.extend(digits.get(20 - count..).unwrap_or_default());
}

/// Writes a string.
#[inline(never)]
pub(super) fn string(text: &[u8], out: &mut Bytes) {
    out.push(b'"');
    part(text, out);
    out.push(b'"');
}

/// Writes what is inside a string: runs of what needs no escape at once.
#[inline(never)]
pub(super) fn part(text: &[u8], out: &mut Bytes) {
    if plain(text) == text.len() {
        return out.extend(text);
    }
    let mut rest = text;
    loop {
        let (run, after) = rest.split_at_checked(plain(rest)).unwrap_or((rest, b""));
        out.extend(run);
        let Some((&byte, after)) = after.split_first() else { break };
        escape(byte, out);
        rest = after;
    }
}

#[cold]
#[inline(never)]
fn escape(byte: u8, out: &mut Bytes) {
    write::string_byte(byte, &mut |byte| out.push_one(byte));
}

/// How many bytes at the beginning need no escape: no control character, quote or
/// backslash. In words, as `auto-json` reads; the last one may overlap the one before,
/// which had no hits.
fn plain(text: &[u8]) -> usize {
    let mut length = 0;
    while let Some(chunk) = text.get(length..).and_then(<[u8]>::first_chunk) {
        let hits = hits(u64::from_le_bytes(*chunk));
        if hits != 0 {
            return length + hits.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    if let Some(last) = text.last_chunk() {
        return text.len() - 8 + hits(u64::from_le_bytes(*last)).trailing_zeros() as usize / 8;
    }
    if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk())
        && hits(u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))) == 0
    {
        return text.len();
    }
    text.iter().take_while(|&&byte| byte >= 0x20 && byte != b'"' && byte != b'\\').count()
}

/// Whether all bytes are ASCII and none needs an escape.
#[inline]
pub(super) fn is_plain(text: &[u8]) -> bool {
    const HIGH: u64 = u64::MAX / 255 * 0x80;
    let is_plain = |word: u64| hits(word) | (word & HIGH) == 0;
    let (words, rest) = text.as_chunks();
    if !words.iter().all(|word| is_plain(u64::from_le_bytes(*word))) {
        return false;
    }
    match text.last_chunk() {
        Some(last) => is_plain(u64::from_le_bytes(*last)),
        None => rest.iter().all(|&byte| (0x20..0x80).contains(&byte) && byte != b'"' && byte != b'\\'),
    }
}

/// The high bits of the bytes of a word that need an escape; the lowest is right, and
/// there is one if there is any.
fn hits(word: u64) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let below = word.wrapping_sub(ONES * 0x20) & !word;
    (below | zero(word ^ (ONES * b'"' as u64)) | zero(word ^ (ONES * b'\\' as u64))) & (ONES * 0x80)
}
