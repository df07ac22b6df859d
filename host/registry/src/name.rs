//! Names of artifacts. No file is ever named after one, and they are narrow all the same: they
//! stand in addresses and on terminals, and an OCI registry takes them as repository and tag.

use std::fmt;
use std::str::FromStr;

use auto_schema::digest::Digest;

use crate::error::RegistryError;

/// What follows the colon where nothing does.
const LATEST: &str = "latest";
const LONGEST_NAME: usize = 128;
const LONGEST_TAG: usize = 64;

/// `triage` or `team/triage`: at most 128 bytes of lower-case words, joined by one `.`, `_` or
/// `-`, in parts between slashes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// A name and a tag of it, `triage:latest`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TagName {
    /// What is named.
    pub name: Name,
    tag: String,
}

/// Which artifact: by what it is, or by what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// The SHA-256 of the file.
    Id(Digest),
    /// `NAME` or `NAME:TAG`.
    Tag(TagName),
}

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TagName {
    /// What follows the colon.
    pub fn tag(&self) -> &str {
        &self.tag
    }
}

fn is_part(part: &str) -> bool {
    let word = |word: &str| !word.is_empty() && word.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    part.split(['.', '_', '-']).all(word)
}

/// Those of an OCI registry, and none that ends as the tag with our signatures does there.
fn is_tag(tag: &str) -> bool {
    let first = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let rest = |c: u8| first(c) || c == b'.' || c == b'-';
    let plain = tag.len() <= LONGEST_TAG && tag.bytes().next().is_some_and(first) && tag.bytes().all(rest);
    plain && !tag.ends_with(".auto") && !tag.starts_with("sha256-")
}

fn bad(text: &str, why: &str) -> RegistryError {
    RegistryError::usage("bad-name", format!("{text:?} is no name: {why}"))
        .help("a name is like triage or team/triage, with :TAG behind it where it is not :latest")
}

impl FromStr for Name {
    type Err = RegistryError;

    fn from_str(text: &str) -> Result<Name, RegistryError> {
        if text.len() > LONGEST_NAME {
            return Err(bad(&text.chars().take(40).collect::<String>(), "it has more than 128 bytes"));
        }
        if Digest::parse(text).is_some() {
            return Err(bad(text, "it is an id"));
        }
        if !text.split('/').all(is_part) {
            return Err(bad(text, "lower-case letters and digits, joined by one of . _ - and divided by /"));
        }
        Ok(Name(text.to_owned()))
    }
}

impl FromStr for TagName {
    type Err = RegistryError;

    fn from_str(text: &str) -> Result<TagName, RegistryError> {
        let (name, tag) = text.split_once(':').unwrap_or((text, LATEST));
        let name = name.parse()?;
        match is_tag(tag) {
            true => Ok(TagName { name, tag: tag.to_owned() }),
            false => Err(bad(text, "a tag has at most 64 letters, digits, _ . and -, and does not end with .auto")),
        }
    }
}

impl FromStr for Reference {
    type Err = RegistryError;

    fn from_str(text: &str) -> Result<Reference, RegistryError> {
        match Digest::parse(text) {
            Some(id) => Ok(Reference::Id(id)),
            None => text.parse().map(Reference::Tag),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TagName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.tag)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reference::Id(id) => id.fmt(f),
            Reference::Tag(tag) => tag.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tags_are_read_as_they_are_written() {
        for text in ["triage:latest", "team/sub-team/triage_2.x:v1.0", "a:_", "0:A"] {
            assert_eq!(text.parse::<TagName>().unwrap().to_string(), text);
        }
        assert_eq!("triage".parse::<TagName>().unwrap().to_string(), "triage:latest");
        let id = Digest::of(b"").to_string();
        assert_eq!(id.parse::<Reference>().unwrap(), Reference::Id(Digest::of(b"")));
        assert!(format!("{id}:latest").parse::<Reference>().is_err());
    }

    #[test]
    fn path_tricks_in_names_are_refused() {
        let long = "n".repeat(129);
        for text in [
            "",
            "/",
            ".",
            "..",
            "../x",
            "a/../b",
            "/etc/passwd",
            "a//b",
            "a/",
            "a\\b",
            "A",
            "a b",
            "a\0b",
            "a\nb",
            "é",
            "a..b",
            "-a",
            "a-",
            "%2e%2e",
            "a?b",
            "a#b",
            "a@b",
            "~",
            "a:",
            "a:../x",
            "a:x/y",
            "a:b:c",
            "a:.x",
            "a:%2f",
            "a:latest.auto",
            "a:sha256-0",
            &long,
        ] {
            assert_eq!(text.parse::<Reference>().map_err(|error| error.code), Err("bad-name"), "{text:?}");
        }
    }
}
