//! in-toto statements (v1): something is said about files with these digests.

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::Result;
use crate::error::RegistryError;

const TYPE: &str = "https://in-toto.io/Statement/v1";

/// Something that is said about files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Name and SHA-256 of each file it is about.
    pub subjects: Vec<(String, Digest)>,
    /// A URI that says what kind of thing is said.
    pub predicate_type: String,
    /// What is said.
    pub predicate: Value,
}

impl Statement {
    /// A statement about one file.
    pub fn about(
        name: impl Into<String>,
        digest: Digest,
        predicate_type: &str,
        predicate: impl Into<Value>,
    ) -> Statement {
        Statement {
            subjects: vec![(name.into(), digest)],
            predicate_type: predicate_type.to_owned(),
            predicate: predicate.into(),
        }
    }

    /// Whether it is about the file with this digest.
    pub fn is_about(&self, id: &Digest) -> bool {
        self.subjects.iter().any(|(_, digest)| digest == id)
    }

    /// The canonical bytes that are signed.
    pub fn to_payload(&self) -> Vec<u8> {
        let subject = |(name, digest): &(String, Digest)| -> Value {
            let digest = Record::new().with("sha256", digest.to_string());
            Record::new().with("name", name.as_str()).with("digest", digest).into()
        };
        let value: Value = Record::new()
            .with("_type", TYPE)
            .with("subject", self.subjects.iter().map(subject).collect::<Vec<_>>())
            .with("predicateType", self.predicate_type.as_str())
            .with("predicate", self.predicate.clone())
            .into();
        value.canonical().as_str().as_bytes().to_vec()
    }

    /// Reads what was signed; statements of others too. Code: `bad-statement`.
    pub fn parse(payload: &[u8]) -> Result<Statement> {
        let bad = |why: &str| RegistryError::integrity("bad-statement", format!("this is no in-toto statement: {why}"));
        let value = Value::parse(payload).map_err(|error| bad(&error.to_string()))?;
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_text).map(str::to_owned);
        if text(&value, "_type").as_deref() != Some(TYPE) {
            return Err(bad("it is of another type or version"));
        }
        let subject = |value: &Value| {
            let digest = value.get("digest")?.get("sha256")?.as_text()?;
            Some((text(value, "name").unwrap_or_default(), Digest::parse(digest)?))
        };
        let subjects = value.get("subject").and_then(Value::as_list).unwrap_or_default();
        let subjects: Option<Vec<_>> = subjects.iter().map(subject).collect();
        Ok(Statement {
            subjects: subjects.filter(|all| !all.is_empty()).ok_or_else(|| bad("a subject has no SHA-256"))?,
            predicate_type: text(&value, "predicateType").ok_or_else(|| bad("it has no predicateType"))?,
            predicate: value.get("predicate").cloned().unwrap_or(Value::Null),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_reads_back_and_others_are_refused() {
        let statement = Statement::about("a", Digest::of(b"a"), "urn:x", Record::new().with("b", 1u32));
        let payload = statement.to_payload();
        assert_eq!(Statement::parse(&payload), Ok(statement.clone()));
        assert!(statement.is_about(&Digest::of(b"a")) && !statement.is_about(&Digest::of(b"b")));
        let text = String::from_utf8(payload).unwrap();
        for other in ["{}", &text[1..], &text.replace("v1", "v2"), &text.replace("sha256", "sha512"), "[]"] {
            assert_eq!(Statement::parse(other.as_bytes()).map_err(|error| error.code), Err("bad-statement"), "{other}");
        }
    }
}
