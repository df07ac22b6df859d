//! What fuzz targets call of readers that are nobody else's business. Not part of the interface of
//! this crate.

use auto_schema::digest::Digest;

use crate::dsse::{Envelope, write_bundle};
use crate::index::Index;
use crate::key::PrivateKey;
use crate::keyring::KeyRing;
use crate::log::TagLog;
use crate::manifest::{KEYS, LOG, STATEMENTS, signed_manifest};
use crate::statement::Statement;

/// An index as it is, and with the digest that it should have: a fuzzer finds no SHA-256s by itself.
pub fn index(bytes: &[u8]) {
    let _ = Index::from_bytes(bytes);
    let body = bytes.strip_suffix(b"\n").and_then(|rest| rest.iter().rposition(|byte| *byte == b'\n'));
    let body = body.map_or(bytes, |end| &bytes[..=end]);
    let sealed = [body, format!("{}\n", Digest::of(body)).as_bytes()].concat();
    if let Ok(index) = Index::from_bytes(&sealed) {
        let again = Index::from_bytes(&index.to_bytes());
        assert!(matches!(again, Ok(again) if again == index));
    }
}

/// A statement about keys as if a key had signed it that counts: whatever it says, the ring is kept as
/// it is, and a key that is revoked stays so.
pub fn key_statement(bytes: &[u8]) {
    let key = PrivateKey::known();
    let mut ring = KeyRing::default();
    let _ = ring.trust(key.public(), "known");
    let mut envelope = Envelope::unsigned(bytes.to_vec());
    envelope.sign(&key);
    let taken = ring.merge(std::slice::from_ref(&envelope));
    assert!(taken <= 1 && ring.merge(&[envelope]) == 0, "once");
    assert_eq!(KeyRing::from_value(&ring.to_value()), Some(ring));
}

/// What a fuzzer starts from: a target, a name, and bytes.
pub fn samples() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let key = PrivateKey::known();
    let mut ring = KeyRing::default();
    let made = ring.trust(key.public(), "known").and_then(|id| {
        ring.rotate(&key, &key.public(), "next", 1)?;
        ring.revoke(&key, id, "lost", 2)
    });
    assert!(made.is_ok());
    let Ok(tag) = "t".parse() else { return Vec::new() };
    let next = |log, id: &&[u8]| Some(TagLog::append(log, &tag, Digest::of(id), "a note", 7, Some(&key)));
    let Some(log) = [b"a".as_slice(), b"b"].iter().fold(None, next) else { return Vec::new() };
    let statement = Statement::about("f", Digest::of(b"f"), "urn:x", auto_json::Record::new().with("n", 1u32));
    let statements = write_bundle(&[log.head().envelope.clone()]);
    let keys = write_bundle(ring.statements());
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let papers = auto_json::Record::new()
        .with("log", text(&log.to_bytes()))
        .with("keys", text(&keys))
        .with("statements", text(&statements));
    let layers = [(LOG, log.to_bytes()), (STATEMENTS, statements.clone()), (KEYS, keys)];
    let mut index = Index { keys: ring.clone(), ..Index::default() };
    index.artifacts.insert(Digest::of(b"a"), Digest::of(b"b"));
    index.tags.insert(tag.clone(), Digest::of(b"c"));
    let said = |at: usize| ring.statements()[at].payload.clone();
    vec![
        ("envelope", "signed", statements),
        ("key_statement", "rotation", said(0)),
        ("key_statement", "revocation", said(1)),
        ("oci_manifest", "signed", signed_manifest(&Digest::of(b"s"), 7, &layers, &tag)),
        ("papers", "all", auto_json::Value::from(papers).to_string().into_bytes()),
        ("registry_index", "small", index.to_bytes()),
        ("statement", "small", statement.to_payload()),
        ("statement", "tag", log.head().envelope.payload.clone()),
        ("tag_log", "two", log.to_bytes()),
    ]
}
