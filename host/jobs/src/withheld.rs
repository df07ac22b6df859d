//! Values that commands are handed and that are kept nowhere: what a command leaves is kept without
//! them.

use std::collections::BTreeMap;

/// The shortest value that is looked for, in bytes: a shorter one stands in too much that is none.
const SHORTEST: usize = 6;

/// Whether a variable's value is taken out of what commands leave.
pub fn is_withheld(value: &str) -> bool {
    value.len() >= SHORTEST
}

/// A value as it is, as JSON writes it, and as it stands in what was written in hexadecimal digits, in
/// percent signs or in base64 (of both alphabets, wherever in it the value begins), sorted.
pub fn forms(value: &str) -> Vec<String> {
    let json = auto_json::Value::from(value).to_string();
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    let mut forms = vec![value.to_owned(), json[1..json.len() - 1].to_owned(), hex.to_uppercase(), hex];
    for plain in PLAIN {
        let percent = percent(value, plain);
        forms.extend([percent.replace("%20", "+"), percent.to_lowercase(), percent]);
    }
    for before in 0..3 {
        let base64 = base64(value, before);
        forms.extend([base64.replace('+', "-").replace('/', "_"), base64]);
    }
    forms.sort();
    forms.dedup();
    forms
}

/// What is left without a percent sign, beside letters and digits, by those who write them: nothing,
/// what RFC 3986 calls unreserved, that and what divides paths, what a component and what a whole
/// address leave in JavaScript.
const PLAIN: [&[u8]; 5] = [b"", b"-._~", b"-._~/", b"-._~!'()*", b"-._~!'()*;/?:@&=+$,#"];

fn percent(value: &str, plain: &[u8]) -> String {
    let stays = |byte: u8| byte.is_ascii_alphanumeric() || plain.contains(&byte);
    value.bytes().map(|byte| if stays(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The digits of base64 that are those of the value alone, with so many bytes before it.
fn base64(value: &str, before: usize) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(value.bytes()).collect();
    let bit = |at: usize| bytes[at / 8] >> (7 - at % 8) & 1;
    let digit = |at: usize| (6 * at..6 * at + 6).fold(0, |digit, at| digit << 1 | bit(at));
    let own = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
    own.map(|at| char::from(DIGITS[usize::from(digit(at))])).collect()
}

/// What is taken out, and what stands in its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Withheld(Vec<(Vec<u8>, Vec<u8>)>);

impl Withheld {
    /// The values of variables, in every form of [`forms`].
    pub(crate) fn of(environment: &BTreeMap<String, String>) -> Withheld {
        let mut values = Vec::new();
        for (name, value) in environment.iter().filter(|(_, value)| is_withheld(value)) {
            for form in forms(value) {
                values.push((form.into_bytes(), format!("<environment:{name}>").into_bytes()));
            }
        }
        // One that holds another goes first.
        values.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup_by(|(a, _), (b, _)| a == b);
        Withheld(values)
    }

    /// Bytes without the values. Where they were cut off, a value may have been cut off with them.
    pub(crate) fn taken_out(&self, bytes: Vec<u8>, cut_off: bool) -> Vec<u8> {
        let mut bytes = bytes;
        for (value, name) in &self.0 {
            bytes = replaced(bytes, value, name);
        }
        if cut_off {
            let begun =
                |value: &[u8]| (1..value.len()).rev().find(|most| bytes.ends_with(&value[..*most])).unwrap_or(0);
            let most = self.0.iter().map(|(value, _)| begun(value)).max().unwrap_or(0);
            bytes.truncate(bytes.len() - most);
        }
        bytes
    }
}

fn replaced(bytes: Vec<u8>, value: &[u8], name: &[u8]) -> Vec<u8> {
    let found = |from: usize| bytes[from..].windows(value.len()).position(|window| window == value);
    let Some(mut next) = found(0) else { return bytes };
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    loop {
        out.extend_from_slice(&bytes[at..at + next]);
        out.extend_from_slice(name);
        at += next + value.len();
        match found(at) {
            Some(further) => next = further,
            None => break,
        }
    }
    out.extend_from_slice(&bytes[at..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn withheld(values: &[(&str, &str)]) -> Withheld {
        Withheld::of(&values.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    fn taken(withheld: &Withheld, text: &str, cut_off: bool) -> String {
        String::from_utf8(withheld.taken_out(text.as_bytes().to_vec(), cut_off)).unwrap()
    }

    #[test]
    fn values_are_taken_out_as_they_are_and_as_json_writes_them() {
        let own = withheld(&[("KEY", "se\"cret\nline"), ("LONG", "abcdefgh"), ("PART", "abcdef"), ("MODE", "prod")]);
        assert_eq!(taken(&own, "a se\"cret\nline b se\"cret\nline", false), "a <environment:KEY> b <environment:KEY>");
        assert_eq!(taken(&own, "{\"k\":\"se\\\"cret\\nline\"}", false), "{\"k\":\"<environment:KEY>\"}");
        assert_eq!(taken(&own, "abcdefgh abcdef", false), "<environment:LONG> <environment:PART>");
        assert_eq!(taken(&own, "in prod, nothing", false), "in prod, nothing", "what is short stands for itself");
        assert_eq!(taken(&own, "", true), "");
    }

    #[test]
    fn values_are_taken_out_in_other_codings_wherever_they_stand() {
        let own = withheld(&[("KEY", "hunter22 & co.")]);
        for text in [
            "68756e7465723232202620636f2e",
            "68756E7465723232202620636F2E",
            "hunter22%20%26%20co.",
            "hunter22%20%26%20co%2e",
            "hunter22+%26+co.",
        ] {
            assert_eq!(taken(&own, &format!("a {text} b"), false), "a <environment:KEY> b", "{text}");
        }
        // Of "hunter22 & co.", "u:hunter22 & co.:x" and so on: up to two digits beside it are others' as well.
        for (text, before) in [
            ("aHVudGVyMjIgJiBjby4=", ""),
            ("Omh1bnRlcjIyICYgY28u", "Om"),
            ("dTpodW50ZXIyMiAmIGNvLjp4", "dTp"),
            ("YWJjaHVudGVyMjIgJiBjby54", "YWJj"),
        ] {
            let left = taken(&own, text, false);
            assert!(left.starts_with(before) && left.contains("<environment:KEY>"), "{text}: {left}");
            assert!(left.len() <= before.len() + "<environment:KEY>".len() + 8, "{text}: {left}");
        }
        let other = withheld(&[("KEY", "ab?>~~>?ab")]);
        for text in ["YWI/Pn5+Pj9hYg==", "YWI_Pn5-Pj9hYg=="] {
            assert!(taken(&other, text, false).contains("<environment:KEY>"), "{text}");
        }
    }

    #[test]
    fn half_a_value_at_the_end_of_what_was_cut_off_goes_too() {
        let own = withheld(&[("LONG", "abcdefgh")]);
        assert_eq!(taken(&own, "so abcde", true), "so ");
        assert_eq!(taken(&own, "so abcde", false), "so abcde");
        assert_eq!(taken(&own, "so abcdef.", true), "so abcdef.");
    }
}
