//! Writes canonical JSON straight from nodes.

use auto_json::write;

use super::arena::Bytes;
use super::node::{BOOL, LIST, NULL, NUMBER, Node, RECORD, short_integer};

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
pub(super) fn number(node: &Node, out: &mut Bytes) {
    if let Some(lexeme) = node.as_lexeme()
        && (short_integer(lexeme).is_some() && lexeme != b"-0")
    {
        out.extend(lexeme);
    } else if let Some(value) = node.as_small() {
        small(value, out);
    } else if let Some(number) = node.as_number() {
        number.write(&mut |byte| out.push(byte));
    }
}

/// Writes an integer.
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

/// Writes a string: eight bytes at a time up to the first that must be escaped.
fn string(text: &[u8], out: &mut Bytes) {
    let mut rest = text;
    out.push(b'"');
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        if needs_escape(word) {
            break;
        }
        out.push_word(word);
        rest = tail;
    }
    if rest.iter().all(|&byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        rest.iter().for_each(|&byte| out.push(byte));
        out.push(b'"');
    } else {
        escaped(rest, out);
    }
}

/// The rest of a string, its closing quote included.
#[cold]
#[inline(never)]
fn escaped(rest: &[u8], out: &mut Bytes) {
    let mut opening = true;
    write::string(rest, &mut |byte| {
        if !opening {
            out.push(byte);
        }
        opening = false;
    });
}

/// Whether any of eight bytes is a control character, a quote or a backslash.
fn needs_escape(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES * 0x80;
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let below_space = word.wrapping_sub(ONES * 0x20) & !word;
    (zero(word ^ (ONES * b'"' as u64)) | zero(word ^ (ONES * b'\\' as u64)) | below_space) & HIGHS != 0
}
