//! Records and lists that are written in a text: `key: value` pairs, lines of CSV, query
//! strings.

use super::text::{after, before, split};

/// The pairs of a text: parts between separators, each a key and a value around the first
/// `assign`, without white space around them. Parts of white space do not count. Undefined
/// where a part is no pair, or `separator` or `assign` is empty.
pub fn pairs<'a>(text: &'a str, separator: &str, assign: &str, each: &mut impl FnMut(&'a str, &'a str)) -> Option<()> {
    let mut whole = Some(());
    split(text, separator, &mut |part| {
        if whole.is_none() || part.trim().is_empty() {
            return;
        }
        match (before(part, assign), after(part, assign)) {
            (Some(key), Some(value)) => each(key.trim(), value.trim()),
            _ => whole = None,
        }
    })?;
    whole
}

/// The fields of a line of CSV (RFC 4180): what is in them, and whether quotation marks are
/// doubled there. Undefined where quotation marks are not closed or other text is around
/// them, and for a separator that is not one character other than a quotation mark.
pub fn csv<'a>(line: &'a str, separator: &str, each: &mut impl FnMut(&'a str, bool)) -> Option<()> {
    let mut characters = separator.chars();
    let (separator_is, None) = (characters.next().filter(|character| *character != '"')?, characters.next()) else {
        return None;
    };
    let mut rest = line;
    loop {
        let after;
        if let Some(quoted) = rest.strip_prefix('"') {
            let end = closing(quoted)?;
            let field = quoted.get(..end)?;
            each(field, field.bytes().any(|byte| byte == b'"'));
            after = quoted.get(end + 1..)?;
        } else {
            let field = before(rest, separator).unwrap_or(rest);
            if field.bytes().any(|byte| byte == b'"') {
                return None;
            }
            each(field, false);
            after = rest.get(field.len()..)?;
        }
        if after.is_empty() {
            return Some(());
        }
        rest = after.strip_prefix(separator_is)?;
    }
}

/// Where the quotation mark is that closes.
fn closing(quoted: &str) -> Option<usize> {
    let bytes = quoted.as_bytes();
    let mut at = 0;
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'"', Some(b'"')) => at += 2,
            (b'"', _) => return Some(at),
            _ => at += 1,
        }
    }
}

/// A text in which quotation marks were doubled.
pub fn undoubled(text: &str, out: &mut impl FnMut(u8)) {
    let mut second = false;
    for byte in text.bytes() {
        second = byte == b'"' && !second;
        if byte != b'"' || second {
            out(byte);
        }
    }
}

/// The pairs of a query string, still encoded, also behind a `?`. A part without `=` has an
/// empty value.
pub fn query<'a>(text: &'a str, each: &mut impl FnMut(&'a str, &'a str)) -> Option<()> {
    let text = text.strip_prefix('?').unwrap_or(text);
    split(text, "&", &mut |part| {
        if !part.is_empty() {
            let key = before(part, "=").unwrap_or(part);
            each(key, after(part, "=").unwrap_or_default());
        }
    })
}

/// A text in which `%20` and `+` stand for a space. Undefined for a `%` without two digits; what
/// is written need not be UTF-8.
pub fn decoded(text: &str, out: &mut impl FnMut(u8)) -> Option<()> {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                (high << 4 | low) as u8
            }
            other => other,
        });
    }
    Some(())
}
