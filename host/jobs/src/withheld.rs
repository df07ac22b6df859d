//! Values that commands are handed and that are kept nowhere: what a command leaves is kept without
//! them.

use std::collections::BTreeMap;

/// The shortest value that is looked for, in bytes: a shorter one stands in too much that is none.
const SHORTEST: usize = 6;

/// Whether a variable's value is taken out of what commands leave.
pub fn is_withheld(value: &str) -> bool {
    value.len() >= SHORTEST
}

/// What is taken out, and what stands in its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Withheld(Vec<(Vec<u8>, Vec<u8>)>);

impl Withheld {
    /// The values of variables, as they are and as JSON writes them.
    pub(crate) fn of(environment: &BTreeMap<String, String>) -> Withheld {
        let mut values = Vec::new();
        for (name, value) in environment.iter().filter(|(_, value)| is_withheld(value)) {
            let json = auto_json::Value::from(value.as_str()).to_string();
            for form in [value.as_str(), &json[1..json.len() - 1]] {
                values.push((form.as_bytes().to_vec(), format!("<environment:{name}>").into_bytes()));
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
    fn half_a_value_at_the_end_of_what_was_cut_off_goes_too() {
        let own = withheld(&[("LONG", "abcdefgh")]);
        assert_eq!(taken(&own, "so abcde", true), "so ");
        assert_eq!(taken(&own, "so abcde", false), "so abcde");
        assert_eq!(taken(&own, "so abcdef.", true), "so abcdef.");
    }
}
