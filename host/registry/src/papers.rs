//! What goes with an artifact between registries, as it is sent: texts of envelopes, one a line, in one
//! JSON object.

use auto_json::Value;

use crate::Result;
use crate::manifest::nonsense;

/// What is handed over beside an artifact, as bytes that nobody has looked at yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Papers {
    /// The log of the tag; none for an artifact that goes by its id.
    pub log: Option<Vec<u8>>,
    /// What keys say of each other.
    pub keys: Vec<u8>,
    /// What is said about the artifact.
    pub statements: Vec<u8>,
}

impl Papers {
    /// Reads `{"log", "keys", "statements"}`. Code: `remote-nonsense`.
    pub fn parse(body: &[u8]) -> Result<Papers> {
        let value = Value::parse(body).map_err(|error| nonsense(&error.to_string()))?;
        let text = |key: &str| value.get(key).and_then(Value::as_text).map(|text| text.as_bytes().to_vec());
        let (Some(keys), Some(statements)) = (text("keys"), text("statements")) else {
            return Err(nonsense("it sends no keys or statements"));
        };
        Ok(Papers { log: text("log"), keys, statements })
    }
}
