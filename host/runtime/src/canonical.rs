//! Whether a text is canonical JSON, without building the value.
//!
//! The shared reader checks the grammar; what is left is that keys rise, that numbers and
//! escapes are written the one way, and that there is no white space. White space is not
//! reported by the reader, but seen all the same: a text that has any is longer than its
//! parts together.

use auto_json::write::{compare_keys, string};
use auto_json::{Error, ErrorKind, MAX_DEPTH, Number, Sink, read, unescape};

/// Whether the text is JSON in canonical form; an error where it is not JSON at all.
///
/// Agrees with comparing the text to its `auto_json::Canonical`, at a fraction of the
/// price. A key that is there twice makes it not canonical.
pub(crate) fn is_canonical(text: &str) -> Result<bool, Error> {
    let text = text.as_bytes();
    let mut parts =
        Parts { text, canonical: true, length: 0, depth: 0, lists: 0, begun: 0, keys: [(0, 0); MAX_DEPTH + 1] };
    read(text, &mut parts)?;
    Ok(parts.canonical && parts.length == text.len())
}

/// What was seen so far. Nothing is allocated: most answers are short.
struct Parts<'a> {
    text: &'a [u8],
    canonical: bool,
    /// Bytes of everything seen, with the commas, colons and brackets it needs.
    length: usize,
    depth: usize,
    /// One bit a level, the innermost lowest: it is a list.
    lists: u64,
    /// One bit a level: it has something in it already.
    begun: u64,
    /// Where the last key of the record on each level starts, and its length.
    keys: [(usize, usize); MAX_DEPTH + 1],
}

impl Parts<'_> {
    /// A value of that many bytes begins; in a list, a comma may come before it.
    #[inline]
    fn value(&mut self, length: usize) {
        self.length += length;
        if self.lists & 1 == 1 {
            self.comma();
        }
    }

    #[inline]
    fn comma(&mut self) {
        self.length += usize::from(self.begun & 1 == 1);
        self.begun |= 1;
    }

    fn open(&mut self, list: bool) {
        self.value(2);
        // The reader refuses what is deeper than its limit, which is one bit a level.
        const { assert!(MAX_DEPTH <= 64) };
        self.depth = (self.depth + 1).min(MAX_DEPTH);
        self.lists = (self.lists << 1) | u64::from(list);
        self.begun <<= 1;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.lists >>= 1;
        self.begun >>= 1;
    }

    /// Where a part of the text starts in it, which the reader does not say.
    #[inline]
    fn offset(&self, part: &[u8]) -> usize {
        part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr())
    }
}

impl Sink for Parts<'_> {
    fn null(&mut self) -> Result<(), ErrorKind> {
        self.value(4);
        Ok(())
    }

    fn boolean(&mut self, value: bool) -> Result<(), ErrorKind> {
        self.value(if value { 4 } else { 5 });
        Ok(())
    }

    fn number(&mut self, lexeme: &[u8]) -> Result<(), ErrorKind> {
        self.value(lexeme.len());
        // Most numbers are short integers, and those have one form each.
        let plain = lexeme.len() < 38 && lexeme.iter().all(u8::is_ascii_digit);
        if !plain {
            let mut written = Same::new(lexeme);
            Number::from_lexeme(lexeme)?.write(&mut |byte| written.take(byte));
            self.canonical &= written.all();
        }
        Ok(())
    }

    fn text(&mut self, raw: &[u8], escaped: bool) -> Result<(), ErrorKind> {
        self.value(raw.len() + 2);
        self.canonical &= !escaped || escapes_are_canonical(raw);
        Ok(())
    }

    fn key(&mut self, raw: &[u8], escaped: bool) -> Result<(), ErrorKind> {
        self.length += raw.len() + 3;
        self.canonical &= !escaped || escapes_are_canonical(raw);
        if self.begun & 1 == 1 {
            let (start, length) = self.keys[self.depth];
            let last = self.text.get(start..start + length).unwrap_or_default();
            self.canonical &= rises(last, raw);
        }
        self.keys[self.depth] = (self.offset(raw), raw.len());
        self.comma();
        Ok(())
    }

    fn begin_list(&mut self) -> Result<(), ErrorKind> {
        self.open(true);
        Ok(())
    }

    fn end_list(&mut self) -> Result<(), ErrorKind> {
        self.close();
        Ok(())
    }

    fn begin_record(&mut self) -> Result<(), ErrorKind> {
        self.open(false);
        Ok(())
    }

    fn end_record(&mut self) -> Result<(), ErrorKind> {
        self.close();
        Ok(())
    }
}

/// Whether raw key `next` sorts behind raw key `last`.
#[inline]
fn rises(last: &[u8], next: &[u8]) -> bool {
    if last.contains(&b'\\') || next.contains(&b'\\') {
        return compare_keys(&unescaped(last), &unescaped(next)).is_lt();
    }
    compare_keys(last, next).is_lt()
}

fn unescaped(raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(raw.len());
    unescape(raw, &mut |byte| text.push(byte));
    text
}

/// Whether a raw text with escapes is what the writer would make of it.
fn escapes_are_canonical(raw: &[u8]) -> bool {
    let text = unescaped(raw);
    let mut quoted = Vec::with_capacity(raw.len() + 2);
    string(&text, &mut |byte| quoted.push(byte));
    quoted.get(1..quoted.len() - 1) == Some(raw)
}

/// Compares what is written with what was expected, byte by byte.
struct Same<'a> {
    expected: &'a [u8],
    at: usize,
    same: bool,
}

impl Same<'_> {
    fn new(expected: &[u8]) -> Same<'_> {
        Same { expected, at: 0, same: true }
    }

    fn take(&mut self, byte: u8) {
        self.same &= self.expected.get(self.at) == Some(&byte);
        self.at += 1;
    }

    fn all(&self) -> bool {
        self.same && self.at == self.expected.len()
    }
}

#[cfg(test)]
mod tests {
    use auto_json::Canonical;
    use proptest::prelude::*;

    use super::is_canonical;

    fn agrees(text: &str) -> bool {
        match (is_canonical(text), Canonical::of(text)) {
            (Ok(said), Ok(canonical)) => said == (canonical.as_str() == text),
            // The tree builder also refuses keys that are there twice.
            (said, Err(_)) => said != Ok(true),
            (Err(_), Ok(_)) => false,
        }
    }

    #[test]
    fn examples() {
        for text in ["{}", "[]", "[[],{}]", r#"{"a":1,"b":[true,null,{"c":"\n"}],"c":-3.5}"#, "0", "\"ü\""] {
            assert_eq!(is_canonical(text), Ok(true), "{text}");
        }
        let others = [" 1", "[1 ]", "{\"a\": 1}", "-0", "1e2", "1.50", "\"\\u0041\"", "\"\\/\"", r#"{"b":1,"a":1}"#];
        for text in others.into_iter().chain([r#"{"a":1,"a":2}"#, r#"[{"a":1},{"b":1,"a":{}}]"#]) {
            assert_eq!(is_canonical(text), Ok(false), "{text}");
            assert!(agrees(text), "{text}");
        }
        assert!(is_canonical("{").is_err() && is_canonical("").is_err() && is_canonical("01").is_err());
        // UTF-16 order, which differs from that of the bytes.
        assert_eq!(is_canonical("{\"\u{1F980}\":1,\"\u{E000}\":2}"), Ok(true));
    }

    /// JSON texts, canonical or nearly.
    fn texts() -> impl Strategy<Value = String> {
        let blank = || prop_oneof![9 => Just(""), 1 => Just(" "), 1 => Just("\n")];
        let number = prop_oneof!["-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9])?", Just("0".to_owned())];
        let key = prop_oneof!["[a-c]{0,2}", "\\\\u00(4[1-3]|0[0-9a-fA-F])", "[\u{e000}\u{1f980}]", "\\\\[nrtbf\"/]"];
        let text = key.clone().prop_map(|key| format!("\"{key}\""));
        let leaf = prop_oneof![number, text, Just("null".into()), Just("true".into()), Just("false".into())];
        let leaf = (blank(), leaf).prop_map(|(blank, leaf)| format!("{blank}{leaf}"));
        leaf.prop_recursive(4, 24, 4, move |inner| {
            let list = prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(",")));
            let member =
                (key.clone(), blank(), inner).prop_map(|(key, blank, value)| format!("\"{key}\"{blank}:{value}"));
            let record = prop::collection::vec(member, 0..4).prop_map(|members| format!("{{{}}}", members.join(",")));
            (prop_oneof![list, record], blank()).prop_map(|(text, blank)| format!("{text}{blank}"))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn it_agrees_with_the_writer(text in texts()) {
            prop_assert!(agrees(&text), "{text}");
            if let Ok(canonical) = Canonical::of(&text) {
                prop_assert_eq!(is_canonical(canonical.as_str()), Ok(true));
            }
        }

        #[test]
        fn it_agrees_on_any_text(text in "[\\[\\]{},:\"\\\\ab01.e -]{0,12}") {
            prop_assert!(agrees(&text), "{text}");
        }
    }
}
