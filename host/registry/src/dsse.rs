//! DSSE envelopes (secure-systems-lab/dsse, version 1.0.2): a payload and who signed it. Several
//! are kept as in-toto bundles, one a line.

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Result;
use crate::error::RegistryError;
use crate::key::{KeyId, PrivateKey};

/// The type of every payload here: an in-toto statement.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The most signatures of an envelope.
pub(crate) const MOST_SIGNATURES: usize = 64;
/// The most bytes of a signature, of whatever kind of key, and of what a key calls itself.
const LONGEST_SIGNATURE: usize = 4096;
const LONGEST_KEYID: usize = 256;

/// A payload with signatures of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// What is signed.
    pub payload: Vec<u8>,
    /// By whom.
    pub signatures: Vec<Signature>,
}

/// One signature.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// Whose it claims to be; a hint, until a key of that id verifies it.
    pub keyid: String,
    /// The bytes.
    pub sig: Vec<u8>,
}

/// What is really signed: `DSSEv1 LEN(type) type LEN(body) body`.
pub fn pre_authentication(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    [head.as_bytes(), payload].concat()
}

impl Envelope {
    /// An envelope nobody has signed.
    pub fn unsigned(payload: Vec<u8>) -> Envelope {
        Envelope { payload, signatures: Vec::new() }
    }

    /// Adds a key's signature, in place of whatever says that it is one.
    pub fn sign(&mut self, key: &PrivateKey) {
        let keyid = key.public().id().to_string();
        let sig = key.sign(&pre_authentication(PAYLOAD_TYPE, &self.payload));
        self.signatures.retain(|signature| signature.keyid != keyid);
        self.signatures.push(Signature { keyid, sig });
        self.signatures.sort();
    }

    /// Adds the signatures of another envelope of the same payload.
    pub fn join(&mut self, other: &Envelope) {
        self.signatures.extend(other.signatures.iter().cloned());
        self.signatures.sort();
        self.signatures.dedup();
    }

    /// The digest of what is signed.
    pub fn payload_digest(&self) -> Digest {
        Digest::of(&self.payload)
    }

    /// Whether it has a signature that says it is of this key.
    pub fn names(&self, key: KeyId) -> bool {
        self.signatures.iter().any(|signature| KeyId::parse(&signature.keyid) == Some(key))
    }

    /// Reads an envelope. Code: `bad-envelope`.
    pub fn parse(text: &str) -> Result<Envelope> {
        let bad = |why: &str| RegistryError::integrity("bad-envelope", format!("this is no DSSE envelope: {why}"));
        let value = Value::parse(text).map_err(|error| bad(&error.to_string()))?;
        let only = |value: &Value, keys: &[&str]| {
            value.as_record().is_some_and(|record| record.iter().all(|(key, _)| keys.contains(&key)))
        };
        if !only(&value, &["payload", "payloadType", "signatures"]) {
            return Err(bad("it has other keys than payload, payloadType and signatures"));
        }
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_text).map(str::to_owned);
        if text(&value, "payloadType").as_deref() != Some(PAYLOAD_TYPE) {
            return Err(bad("its payload is no in-toto statement"));
        }
        let decoded = |value: &Value, key: &str| text(value, key).and_then(|text| STANDARD.decode(text).ok());
        let payload = decoded(&value, "payload").ok_or_else(|| bad("its payload is not base64"))?;
        let list = value.get("signatures").and_then(Value::as_list).ok_or_else(|| bad("it has no signatures"))?;
        if list.len() > MOST_SIGNATURES {
            return Err(bad("it has more than 64 signatures"));
        }
        let signature = |value: &Value| {
            let known = only(value, &["keyid", "sig"]);
            let keyid = text(value, "keyid").unwrap_or_default();
            let sig = decoded(value, "sig").filter(|sig| known && sig.len() <= LONGEST_SIGNATURE)?;
            (keyid.len() <= LONGEST_KEYID).then_some(Signature { keyid, sig })
        };
        let signatures = list.iter().map(signature).collect::<Option<Vec<_>>>();
        let signatures = signatures.ok_or_else(|| bad("a signature is not base64, or longer than any is"))?;
        Ok(Envelope { payload, signatures })
    }
}

impl std::fmt::Display for Envelope {
    /// One line of canonical JSON.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let signature = |one: &Signature| -> Value {
            Record::new().with("keyid", one.keyid.as_str()).with("sig", STANDARD.encode(&one.sig)).into()
        };
        let value: Value = Record::new()
            .with("payload", STANDARD.encode(&self.payload))
            .with("payloadType", PAYLOAD_TYPE)
            .with("signatures", self.signatures.iter().map(signature).collect::<Vec<_>>())
            .into();
        f.write_str(value.canonical().as_str())
    }
}

/// Reads envelopes, one a line. Code: `bad-envelope`.
pub fn read_bundle(bytes: &[u8]) -> Result<Vec<Envelope>> {
    let text = str::from_utf8(bytes)
        .map_err(|_| RegistryError::integrity("bad-envelope", "a bundle of envelopes is not UTF-8"))?;
    text.lines().filter(|line| !line.is_empty()).map(Envelope::parse).collect()
}

/// Writes envelopes, one a line.
pub fn write_bundle(envelopes: &[Envelope]) -> Vec<u8> {
    envelopes.iter().map(|envelope| format!("{envelope}\n")).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_vector_of_the_encoding() {
        let encoded = pre_authentication("http://example.com/HelloWorld", b"hello world");
        assert_eq!(encoded, b"DSSEv1 29 http://example.com/HelloWorld 11 hello world");
        assert_eq!(pre_authentication("", b""), b"DSSEv1 0  0 ");
    }

    #[test]
    fn an_envelope_is_one_line_and_reads_back() {
        let (a, b) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
        let mut envelope = Envelope::unsigned(b"{}".to_vec());
        envelope.sign(&a);
        envelope.sign(&b);
        envelope.sign(&a);
        assert_eq!(envelope.signatures.len(), 2);
        let line = envelope.to_string();
        assert!(!line.contains('\n'));
        assert_eq!(Envelope::parse(&line), Ok(envelope.clone()));
        assert_eq!(read_bundle(&write_bundle(&[envelope.clone(), envelope.clone()])).unwrap().len(), 2);
    }

    #[test]
    fn what_is_no_envelope_is_refused() {
        let good = Envelope::unsigned(b"{}".to_vec()).to_string();
        for text in [
            "",
            "[]",
            "{}",
            &good[1..],
            &good.replace("in-toto", "other"),
            &good.replace("e30=", "e30"),
            &good.replace("e30=", "e31="),
            &good.replace("[]", "[{}]"),
            &good.replace("[]", "null"),
            &good.replace("{\"", "{\"a\":1,\""),
            &good.replace("[]", "[{\"keyid\":\"\",\"sig\":\"%\"}]"),
            &good.replace("[]", &format!("[{{\"keyid\":\"\",\"sig\":\"{}\"}}]", "A".repeat(8192))),
            &good.replace("[]", &format!("[{{\"keyid\":\"{}\",\"sig\":\"\"}}]", "k".repeat(257))),
            &good.replace("[]", &format!("[{}]", vec!["{\"keyid\":\"\",\"sig\":\"\"}"; 65].join(","))),
        ] {
            assert_eq!(Envelope::parse(text).map_err(|error| error.code), Err("bad-envelope"), "{text}");
        }
    }
}
