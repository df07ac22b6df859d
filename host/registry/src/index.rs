//! The index of a registry: what is in it, by digest. It is the one file that changes, and the
//! last line is the SHA-256 of the rest.

use std::collections::BTreeMap;

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::keyring::KeyRing;
use crate::name::TagName;

/// The version of the format; the only one there is.
const FORMAT: u32 = 1;

/// What is in a registry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// Each artifact, and the bundle of what is said about it.
    pub(crate) artifacts: BTreeMap<Digest, Digest>,
    /// Each tag, and its log.
    pub(crate) tags: BTreeMap<TagName, Digest>,
    /// The keys that count.
    pub(crate) keys: KeyRing,
}

/// Why an index cannot be read.
pub(crate) enum Unreadable {
    /// Its bytes were changed.
    Damaged,
    /// It is of a newer version.
    Version(u64),
}

impl Index {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let artifacts = self.artifacts.iter().map(|(id, bundle)| (id.to_string(), bundle.to_string().into()));
        let tags = self.tags.iter().map(|(tag, log)| (tag.to_string(), log.to_string().into()));
        let value: Value = Record::new()
            .with("format", FORMAT)
            .with("artifacts", artifacts.collect::<Record>())
            .with("tags", tags.collect::<Record>())
            .with("keys", self.keys.to_value())
            .into();
        let body = format!("{}\n", value.canonical());
        let digest = Digest::of(body.as_bytes());
        format!("{body}{digest}\n").into_bytes()
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Index, Unreadable> {
        let text = str::from_utf8(bytes).map_err(|_| Unreadable::Damaged)?;
        let cut = text.strip_suffix('\n').and_then(|text| text.rfind('\n')).ok_or(Unreadable::Damaged)?;
        let (body, digest) = text.split_at(cut + 1);
        if format!("{}\n", Digest::of(body.as_bytes())) != digest {
            return Err(Unreadable::Damaged);
        }
        let value = Value::parse(body).map_err(|_| Unreadable::Damaged)?;
        match value.get("format").and_then(Value::as_u64) {
            Some(format) if format == u64::from(FORMAT) => read(&value).ok_or(Unreadable::Damaged),
            Some(format) => Err(Unreadable::Version(format)),
            None => Err(Unreadable::Damaged),
        }
    }

    /// Every object that something leads to.
    pub(crate) fn objects(&self) -> impl Iterator<Item = Digest> {
        let artifacts = self.artifacts.iter().flat_map(|(id, bundle)| [*id, *bundle]);
        artifacts.chain(self.tags.values().copied())
    }
}

fn read(value: &Value) -> Option<Index> {
    let digest = |value: &Value| Digest::parse(value.as_text()?);
    let mut index = Index { keys: KeyRing::from_value(value.get("keys")?)?, ..Index::default() };
    for (id, bundle) in value.get("artifacts")?.as_record()?.iter() {
        index.artifacts.insert(Digest::parse(id)?, digest(bundle)?);
    }
    for (tag, log) in value.get("tags")?.as_record()?.iter() {
        index.tags.insert(tag.parse().ok()?, digest(log)?);
    }
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_anywhere_is_damage() {
        let mut index = Index::default();
        index.artifacts.insert(Digest::of(b"a"), Digest::of(b"b"));
        index.tags.insert("t".parse().unwrap(), Digest::of(b"c"));
        let good = index.to_bytes();
        assert!(matches!(Index::from_bytes(&good), Ok(read) if read == index));
        for at in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[at / 8] ^= 1 << (at % 8);
            assert!(Index::from_bytes(&bad).is_err(), "bit {at}");
        }
        for length in 0..good.len() {
            assert!(Index::from_bytes(&good[..length]).is_err(), "{length} bytes");
        }
    }
}
