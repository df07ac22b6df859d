//! Which keys count. A person trusts a key by putting it here; a trusted key can bring in its
//! successor, and a trusted key can end another. Both are signed statements, so that they
//! travel with what was signed and nobody has to believe whoever hands them over.
//!
//! A key that is revoked takes with it the keys that it brought in: whoever stole it may have
//! made them. The key that signs the revocation stays.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::{Record, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::Result;
use crate::dsse::{Envelope, PAYLOAD_TYPE, pre_authentication};
use crate::error::RegistryError;
use crate::key::{KeyId, PrivateKey, PublicKey};
use crate::statement::Statement;

/// A trusted key brings in another.
const ROTATION: &str = "urn:auto:predicate:key-rotation:1";
/// A trusted key ends another, or itself.
const REVOCATION: &str = "urn:auto:predicate:key-revocation:1";

/// A key that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// The key.
    pub key: PublicKey,
    /// What its people call it.
    pub label: String,
    /// The key that brought it in; none where a person did.
    pub by: Option<KeyId>,
}

/// How a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing<'a> {
    /// It counts.
    Trusted(&'a Trusted),
    /// It does not count any more; why.
    Revoked(&'a str),
    /// Nobody here said anything about it.
    Unknown,
}

/// The keys that count and those that no longer do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRing {
    trusted: BTreeMap<KeyId, Trusted>,
    revoked: BTreeMap<KeyId, String>,
    /// The statements by which keys came and went, to be handed on.
    statements: Vec<Envelope>,
}

impl KeyRing {
    /// How a key stands.
    pub fn standing(&self, id: KeyId) -> Standing<'_> {
        match (self.revoked.get(&id), self.trusted.get(&id)) {
            (Some(why), _) => Standing::Revoked(why),
            (None, Some(trusted)) => Standing::Trusted(trusted),
            (None, None) => Standing::Unknown,
        }
    }

    /// Whether what a key signs counts here; a revoked one is refused. Code: `revoked-key`.
    pub fn may_sign(&self, id: KeyId) -> Result<bool> {
        match self.standing(id) {
            Standing::Trusted(_) => Ok(true),
            Standing::Unknown => Ok(false),
            Standing::Revoked(why) => Err(revoked(id, why)),
        }
    }

    /// The keys that count, by id.
    pub fn trusted(&self) -> impl Iterator<Item = (KeyId, &Trusted)> {
        self.trusted.iter().map(|(id, trusted)| (*id, trusted))
    }

    /// Those that no longer do, and why.
    pub fn revoked(&self) -> impl Iterator<Item = (KeyId, &str)> {
        self.revoked.iter().map(|(id, why)| (*id, why.as_str()))
    }

    /// The statements by which keys came and went.
    pub fn statements(&self) -> &[Envelope] {
        &self.statements
    }

    /// A person trusts a key. Code: `revoked-key`.
    pub fn trust(&mut self, key: PublicKey, label: &str) -> Result<KeyId> {
        let id = key.id();
        if let Some(why) = self.revoked.get(&id) {
            return Err(revoked(id, why));
        }
        let by_hand = Trusted { key, label: label.to_owned(), by: None };
        let known = self.trusted.entry(id).or_insert_with(|| by_hand.clone());
        known.by = None;
        if !label.is_empty() {
            known.label = by_hand.label;
        }
        Ok(id)
    }

    /// A trusted key brings in another. Codes: `unknown-key`, `revoked-key`.
    pub fn rotate(&mut self, from: &PrivateKey, to: &PublicKey, label: &str, at: u64) -> Result<()> {
        if let Standing::Revoked(why) = self.standing(to.id()) {
            return Err(revoked(to.id(), why));
        }
        let predicate =
            Record::new().with("public_key", STANDARD.encode(to.to_der())).with("label", label).with("at", at);
        self.announce(Statement::about("key", to.id().0, ROTATION, predicate), from)
    }

    /// A trusted key ends another, or itself. Codes: `unknown-key`, `revoked-key`.
    pub fn revoke(&mut self, signer: &PrivateKey, id: KeyId, reason: &str, at: u64) -> Result<()> {
        let predicate = Record::new().with("reason", reason).with("at", at);
        self.announce(Statement::about("key", id.0, REVOCATION, predicate), signer)
    }

    fn announce(&mut self, statement: Statement, signer: &PrivateKey) -> Result<()> {
        let mut envelope = Envelope::unsigned(statement.to_payload());
        envelope.sign(signer);
        let id = signer.public().id();
        match self.standing(id) {
            Standing::Trusted(_) => {}
            Standing::Revoked(why) => return Err(revoked(id, why)),
            Standing::Unknown => {
                let message = format!("the key {id} is not trusted here, so it can say nothing about others");
                return Err(RegistryError::refused("unknown-key", message).help("trust it first: `registry trust`"));
            }
        }
        self.accept(&envelope);
        Ok(())
    }

    /// Takes in statements of others, as far as a key that counts here has signed them, until
    /// none brings anything new; gives how many that were. Others are left alone: they can
    /// neither bring in a key nor end one.
    pub fn merge(&mut self, statements: &[Envelope]) -> usize {
        let mut accepted = 0;
        loop {
            let round = statements.iter().filter(|envelope| self.accept(envelope)).count();
            accepted += round;
            if round == 0 {
                return accepted;
            }
        }
    }

    /// Takes in one statement; whether it was new and from a key that counts.
    fn accept(&mut self, envelope: &Envelope) -> bool {
        let is_known = self.statements.iter().any(|known| known.payload == envelope.payload);
        let (Ok(statement), Some(signer)) = (Statement::parse(&envelope.payload), self.signer(envelope)) else {
            return false;
        };
        let Some((_, subject)) = statement.subjects.first() else { return false };
        let id = KeyId(*subject);
        let said = |key: &str| statement.predicate.get(key).and_then(Value::as_text).unwrap_or_default();
        match statement.predicate_type.as_str() {
            _ if is_known => return false,
            ROTATION => {
                let der = STANDARD.decode(said("public_key")).unwrap_or_default();
                let Some(key) = PublicKey::from_der(&der).filter(|key| key.id() == id) else { return false };
                let brought = Trusted { key, label: said("label").to_owned(), by: Some(signer) };
                self.trusted.entry(id).or_insert(brought);
            }
            REVOCATION => self.end(id, said("reason"), signer),
            _ => return false,
        }
        self.statements.push(envelope.clone());
        true
    }

    /// The trusted key whose signature an envelope has.
    fn signer(&self, envelope: &Envelope) -> Option<KeyId> {
        let message = pre_authentication(PAYLOAD_TYPE, &envelope.payload);
        envelope.signatures.iter().find_map(|signature| {
            let id = KeyId::parse(&signature.keyid)?;
            match self.standing(id) {
                Standing::Trusted(trusted) => trusted.key.verifies(&message, &signature.sig).then_some(id),
                _ => None,
            }
        })
    }

    /// Ends a key and those it brought in, but the one that says so and those before it.
    fn end(&mut self, id: KeyId, reason: &str, signer: KeyId) {
        let mut spared = BTreeSet::from([signer]);
        let mut above = self.trusted.get(&signer).and_then(|trusted| trusted.by);
        while let Some(next) = above.filter(|next| *next != id && spared.insert(*next)) {
            above = self.trusted.get(&next).and_then(|trusted| trusted.by);
        }
        spared.remove(&id);
        let mut ends = vec![(id, reason.to_owned())];
        while let Some((id, why)) = ends.pop() {
            let brought = self.trusted.iter().filter(|(one, trusted)| {
                trusted.by == Some(id) && !spared.contains(one) && !self.revoked.contains_key(one)
            });
            ends.extend(brought.map(|(one, _)| (*one, format!("it was brought in by {id}, which is revoked"))));
            self.revoked.entry(id).or_insert(why);
        }
    }

    /// As it is kept in the index.
    pub(crate) fn to_value(&self) -> Value {
        let trusted = self.trusted.iter().map(|(id, trusted)| {
            let value = Record::new()
                .with("public_key", STANDARD.encode(trusted.key.to_der()))
                .with("label", trusted.label.as_str())
                .with("by", trusted.by.map(|by| by.to_string()));
            (id.to_string(), value.into())
        });
        let revoked = self.revoked.iter().map(|(id, why)| (id.to_string(), why.as_str().into()));
        Record::new()
            .with("trusted", trusted.collect::<Record>())
            .with("revoked", revoked.collect::<Record>())
            .with("statements", self.statements.iter().map(|one| one.to_string().into()).collect::<Vec<Value>>())
            .into()
    }

    /// Reads what [`KeyRing::to_value`] gives; `None` for anything else.
    pub(crate) fn from_value(value: &Value) -> Option<KeyRing> {
        let mut ring = KeyRing::default();
        for (id, value) in value.get("trusted")?.as_record()?.iter() {
            let der = STANDARD.decode(value.get("public_key")?.as_text()?).ok()?;
            let key = PublicKey::from_der(&der)?;
            let by = match value.get("by")? {
                Value::Null => None,
                by => Some(KeyId::parse(by.as_text()?)?),
            };
            let label = value.get("label")?.as_text()?.to_owned();
            let id = KeyId::parse(id).filter(|id| *id == key.id())?;
            ring.trusted.insert(id, Trusted { key, label, by });
        }
        for (id, why) in value.get("revoked")?.as_record()?.iter() {
            ring.revoked.insert(KeyId::parse(id)?, why.as_text()?.to_owned());
        }
        let envelope = |one: &Value| Envelope::parse(one.as_text()?).ok();
        ring.statements = value.get("statements")?.as_list()?.iter().map(envelope).collect::<Option<_>>()?;
        Some(ring)
    }
}

/// The refusal of a key that no longer counts.
pub(crate) fn revoked(id: KeyId, why: &str) -> RegistryError {
    let why = if why.is_empty() { "no reason is given" } else { why };
    RegistryError::integrity("revoked-key", format!("the key {id} is revoked: {why}"))
        .help("have it signed by a key that is trusted now")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys<const N: usize>() -> [PrivateKey; N] {
        core::array::from_fn(|_| PrivateKey::generate().unwrap())
    }

    fn is_trusted(ring: &KeyRing, key: &PrivateKey) -> bool {
        matches!(ring.standing(key.public().id()), Standing::Trusted(_))
    }

    #[test]
    fn a_trusted_key_brings_in_its_successor_and_others_bring_in_nobody() {
        let [first, second, third, stranger] = keys();
        let mut ours = KeyRing::default();
        ours.trust(first.public(), "ours").unwrap();
        let mut theirs = ours.clone();
        theirs.rotate(&first, &second.public(), "next", 1).unwrap();
        theirs.rotate(&second, &third.public(), "after", 2).unwrap();
        assert_eq!(theirs.rotate(&stranger, &third.public(), "", 3).unwrap_err().code, "unknown-key");
        // In whatever order the statements come.
        let mut backwards = theirs.statements().to_vec();
        backwards.reverse();
        assert_eq!(ours.clone().merge(&backwards), 2);
        assert_eq!(ours.merge(theirs.statements()), 2);
        assert_eq!(ours.merge(theirs.statements()), 0);
        assert!([&first, &second, &third].iter().all(|key| is_trusted(&ours, key)) && !is_trusted(&ours, &stranger));

        let mut swapped = KeyRing::default();
        swapped.trust(stranger.public(), "").unwrap();
        swapped.rotate(&stranger, &third.public(), "", 1).unwrap();
        let mut clean = KeyRing::default();
        clean.trust(first.public(), "").unwrap();
        assert_eq!(clean.merge(swapped.statements()), 0);
        assert!(!is_trusted(&clean, &third));
    }

    #[test]
    fn a_revoked_key_takes_with_it_what_it_brought_in_but_the_one_that_says_so() {
        let [first, second, thief, friend] = keys();
        let mut ring = KeyRing::default();
        ring.trust(first.public(), "").unwrap();
        ring.trust(friend.public(), "").unwrap();
        ring.rotate(&first, &second.public(), "", 1).unwrap();
        ring.rotate(&first, &thief.public(), "", 2).unwrap();
        ring.revoke(&second, first.public().id(), "stolen", 3).unwrap();
        assert_eq!(ring.standing(first.public().id()), Standing::Revoked("stolen"));
        assert!(matches!(ring.standing(thief.public().id()), Standing::Revoked(_)));
        assert!(is_trusted(&ring, &second) && is_trusted(&ring, &friend));
        assert_eq!(ring.trust(first.public(), "").unwrap_err().code, "revoked-key");
        assert_eq!(ring.rotate(&first, &thief.public(), "", 4).unwrap_err().code, "revoked-key");
        assert_eq!(ring.rotate(&friend, &first.public(), "", 4).unwrap_err().code, "revoked-key", "nor does it return");
        // What the index keeps is the same ring.
        assert_eq!(KeyRing::from_value(&ring.to_value()), Some(ring));
    }

    #[test]
    fn a_statement_that_was_changed_counts_for_nothing() {
        let [first, second] = keys();
        let mut theirs = KeyRing::default();
        theirs.trust(first.public(), "").unwrap();
        let mut ours = theirs.clone();
        theirs.rotate(&first, &second.public(), "", 1).unwrap();
        let good = theirs.statements()[0].clone();
        for at in 0..good.payload.len() {
            let mut bad = good.clone();
            bad.payload[at] ^= 1;
            assert_eq!(ours.merge(&[bad]), 0, "byte {at}");
        }
        for at in 0..64 {
            let mut bad = good.clone();
            bad.signatures[0].sig[at] ^= 1;
            assert_eq!(ours.merge(&[bad]), 0, "signature byte {at}");
        }
        assert_eq!(ours.merge(&[good]), 1);
    }
}
