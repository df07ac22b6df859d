//! The one writer: canonical bytes, one at a time, so that it serves a `String`, a hash
//! and an artifact's memory alike.

use core::cmp::Ordering;

use crate::Value;

/// Orders keys by UTF-16 code units (RFC 8785, 3.2.3). The same as byte order except
/// between U+E000..U+FFFF and the planes above, whose surrogates sort first.
pub fn compare_keys(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    match (a.get(common), b.get(common)) {
        // Lead bytes F0..F4 are the upper planes, EE and EF are U+E000..U+FFFF.
        (Some(&x), Some(&y)) if (x >= 0xF0) != (y >= 0xF0) && x >= 0xEE && y >= 0xEE => y.cmp(&x),
        (x, y) => x.cmp(&y),
    }
}

/// Writes `text` (UTF-8) as a JSON string: RFC 8785's escapes and no others.
pub fn string(text: &[u8], out: &mut impl FnMut(u8)) {
    out(b'"');
    text.iter().for_each(|&byte| string_byte(byte, out));
    out(b'"');
}

/// Writes a byte that is part of a string, with an escape where it needs one.
pub fn string_byte(byte: u8, out: &mut impl FnMut(u8)) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        0x20.. => return out(byte),
        8 => b'b',
        9 => b't',
        10 => b'n',
        12 => b'f',
        13 => b'r',
        _ => {
            let hex = |nibble: u8| if nibble < 10 { b'0' + nibble } else { b'a' + nibble - 10 };
            return [b'\\', b'u', b'0', b'0', hex(byte >> 4), hex(byte & 15)].into_iter().for_each(out);
        }
    };
    out(b'\\');
    out(letter);
}

/// Writes a value in canonical form.
pub fn value(value: &Value, out: &mut impl FnMut(u8)) {
    match value {
        Value::Null => b"null".iter().for_each(|&byte| out(byte)),
        Value::Bool(true) => b"true".iter().for_each(|&byte| out(byte)),
        Value::Bool(false) => b"false".iter().for_each(|&byte| out(byte)),
        Value::Number(number) => number.write(out),
        Value::Text(text) => string(text.as_bytes(), out),
        Value::List(items) => {
            out(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out(b',');
                }
                self::value(item, out);
            }
            out(b']');
        }
        Value::Record(record) => {
            out(b'{');
            for (index, (key, item)) in record.iter().enumerate() {
                if index > 0 {
                    out(b',');
                }
                string(key.as_bytes(), out);
                out(b':');
                self::value(item, out);
            }
            out(b'}');
        }
    }
}
