//! What a package is called: a name that npm, PyPI and Workers all take.

use core::fmt;
use core::str::FromStr;

/// The most characters of a name: Workers take 63.
const LONGEST: usize = 63;

/// Names of Python that no module may have.
const KEYWORDS: [&str; 35] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else", "except",
    "false", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "none", "nonlocal", "not", "or",
    "pass", "raise", "return", "true", "try", "while", "with", "yield",
];

/// Small letters, digits, and `-` between them; begins with a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

impl Name {
    /// The same as the name of a Python module.
    pub fn module(&self) -> String {
        let module = self.0.replace('-', "_");
        if KEYWORDS.contains(&module.as_str()) { module + "_" } else { module }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Name {
    type Err = String;

    fn from_str(text: &str) -> Result<Name, String> {
        let inside = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let good = text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.chars().all(inside)
            && !text.ends_with('-')
            && !text.contains("--")
            && text.len() <= LONGEST;
        if good {
            return Ok(Name(text.to_owned()));
        }
        Err(format!(
            "a name is up to {LONGEST} small letters, digits and single `-` between them, and begins with a letter"
        ))
    }
}

/// A name out of any text: what it has of letters and digits.
pub fn default_name(text: &str) -> Name {
    let mut name = String::new();
    for c in text.chars() {
        match c.to_ascii_lowercase() {
            c if c.is_ascii_lowercase() || c.is_ascii_digit() => name.push(c),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        name.insert_str(0, "behavior-");
    }
    name.truncate(LONGEST);
    Name(name.trim_end_matches('-').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_gives_a_name() {
        for (text, name) in [
            ("Support Triage", "support-triage"),
            ("../../etc", "etc"),
            ("", "behavior"),
            ("7 up", "behavior-7-up"),
            ("日本", "behavior"),
            ("a--b__c", "a-b-c"),
        ] {
            assert_eq!(default_name(text).to_string(), name);
            assert_eq!(name.parse::<Name>().unwrap(), default_name(text));
        }
        let long = default_name(&"ab ".repeat(50));
        assert_eq!(long.to_string().parse(), Ok(long));
        assert_eq!(default_name("class").module(), "class_");
    }

    #[test]
    fn other_names_are_refused() {
        for text in ["", "-a", "a-", "a--b", "A", "a/b", "a.b", "7a", "ä", &"a".repeat(64)] {
            assert!(text.parse::<Name>().is_err(), "{text}");
        }
    }
}
