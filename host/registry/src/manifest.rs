//! What is put into an OCI registry (image specification 1.1).
//!
//! A tag `NAME:TAG` is two manifests in the repository `NAME`. The one tagged `TAG` follows the
//! layout that the CNCF gives WebAssembly, one layer `application/wasm`, so that `wkg` and `oras`
//! read it; its bytes depend on the artifact alone. The one tagged `TAG.auto` refers to it
//! (`subject`) and has our papers as layers: the log of the tag, what is said about the artifact,
//! what keys say of each other.

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::Result;
use crate::error::RegistryError;
use crate::name::TagName;

/// The artifact type of an artifact's manifest.
pub const ARTIFACT_TYPE: &str = "application/vnd.auto.cbin.v1";
/// The artifact type of the manifest with our papers.
pub const SIGNED_TYPE: &str = "application/vnd.auto.signed.v1";

pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const WASM: &str = "application/wasm";
const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
pub(crate) const LOG: &str = "application/vnd.auto.tag-log.v1+jsonl";
pub(crate) const STATEMENTS: &str = "application/vnd.auto.statements.v1+jsonl";
pub(crate) const KEYS: &str = "application/vnd.auto.keys.v1+jsonl";

/// Where the manifest tagged `TAG.auto` leads: our papers, by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedManifest {
    layers: Vec<(String, Digest)>,
}

impl SignedManifest {
    /// Reads one; nothing that it says is believed. Code: `remote-nonsense`.
    pub fn parse(bytes: &[u8]) -> Result<SignedManifest> {
        let manifest = Value::parse(bytes).map_err(|error| nonsense(&error.to_string()))?;
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_text).map(str::to_owned);
        if text(&manifest, "artifactType").as_deref() != Some(SIGNED_TYPE) {
            return Err(nonsense("the manifest beside the tag is none of ours"));
        }
        let mut layers = Vec::new();
        for layer in manifest.get("layers").and_then(Value::as_list).unwrap_or_default() {
            let kind = text(layer, "mediaType").ok_or_else(|| nonsense("a layer has no type"))?;
            let digest = text(layer, "digest").and_then(|digest| Digest::parse(digest.strip_prefix("sha256:")?));
            let digest = digest.ok_or_else(|| nonsense("a layer has no SHA-256"))?;
            if layers.iter().any(|(known, _)| *known == kind) {
                return Err(nonsense("it has two layers of one type"));
            }
            layers.push((kind, digest));
        }
        Ok(SignedManifest { layers })
    }

    /// The digest of the papers of a kind.
    pub(crate) fn layer(&self, kind: &str) -> Option<Digest> {
        self.layers.iter().find(|(known, _)| known == kind).map(|(_, digest)| *digest)
    }
}

/// What one manifest says of another, or of a blob.
pub(crate) fn descriptor(kind: &str, digest: &Digest, size: usize) -> Record {
    Record::new().with("mediaType", kind).with("digest", format!("sha256:{digest}")).with("size", size)
}

/// The configuration that the CNCF's layout asks for; it has a time, which here says nothing.
pub(crate) fn wasm_config(id: &Digest) -> Vec<u8> {
    let config = Record::new()
        .with("created", "1970-01-01T00:00:00Z")
        .with("architecture", "wasm")
        .with("os", "wasip1")
        .with("layerDigests", vec![Value::from(format!("sha256:{id}"))]);
    Value::from(config).canonical().as_str().as_bytes().to_vec()
}

/// The manifest of an artifact: the same bytes for the same artifact.
pub(crate) fn wasm_manifest(id: &Digest, size: usize) -> Vec<u8> {
    let config = wasm_config(id);
    let manifest = Record::new()
        .with("schemaVersion", 2u32)
        .with("mediaType", MANIFEST)
        .with("artifactType", ARTIFACT_TYPE)
        .with("config", descriptor(WASM_CONFIG, &Digest::of(&config), config.len()))
        .with("layers", vec![Value::from(descriptor(WASM, id, size))]);
    Value::from(manifest).canonical().as_str().as_bytes().to_vec()
}

/// The manifest with our papers, each a kind and bytes.
pub(crate) fn signed_manifest(subject: &Digest, size: usize, papers: &[(&str, Vec<u8>)], tag: &TagName) -> Vec<u8> {
    let layers = papers.iter().map(|(kind, bytes)| descriptor(kind, &Digest::of(bytes), bytes.len()).into());
    let manifest = Record::new()
        .with("schemaVersion", 2u32)
        .with("mediaType", MANIFEST)
        .with("artifactType", SIGNED_TYPE)
        .with("config", descriptor(EMPTY, &Digest::of(b"{}"), 2))
        .with("layers", layers.collect::<Vec<Value>>())
        .with("subject", descriptor(MANIFEST, subject, size))
        .with("annotations", Record::new().with("vnd.auto.tag", tag.to_string()));
    Value::from(manifest).canonical().as_str().as_bytes().to_vec()
}

pub(crate) fn nonsense(why: &str) -> RegistryError {
    RegistryError::refused("remote-nonsense", format!("what the registry sends makes no sense: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_depends_on_the_artifact_alone() {
        let id = Digest::of(b"artifact");
        assert_eq!(wasm_manifest(&id, 8), wasm_manifest(&id, 8));
        let manifest = Value::parse(wasm_manifest(&id, 8)).unwrap();
        let layers = manifest.get("layers").and_then(Value::as_list).unwrap();
        assert_eq!(layers.len(), 1, "what clients for WebAssembly ask for");
        assert_eq!(layers[0].get("digest").and_then(Value::as_text), Some(format!("sha256:{id}").as_str()));
    }

    #[test]
    fn the_papers_are_found_by_their_type_and_nonsense_is_refused() {
        let tag = "t".parse().unwrap();
        let papers = [(LOG, b"a log".to_vec()), (KEYS, b"keys".to_vec())];
        let written = signed_manifest(&Digest::of(b"subject"), 7, &papers, &tag);
        let read = SignedManifest::parse(&written).unwrap();
        assert_eq!((read.layer(LOG), read.layer(STATEMENTS)), (Some(Digest::of(b"a log")), None));
        let text = String::from_utf8(written).unwrap();
        let digest = Digest::of(b"keys").to_string();
        for other in [
            "",
            "{}",
            &text[1..],
            &text.replace(SIGNED_TYPE, ARTIFACT_TYPE),
            &text.replace(&digest, &digest[1..]),
            &text.replace(KEYS, LOG),
        ] {
            assert_eq!(SignedManifest::parse(other.as_bytes()).map_err(|error| error.code), Err("remote-nonsense"));
        }
    }
}
