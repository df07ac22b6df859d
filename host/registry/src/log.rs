//! What a tag leads to, and led to before: a log of numbered, signed statements, each of which
//! names the one before it. It only grows; going back to an older artifact is a new statement.
//! Whoever has seen a log notices one that is older or went another way.

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::Result;
use crate::dsse::{Envelope, read_bundle, write_bundle};
use crate::error::RegistryError;
use crate::key::PrivateKey;
use crate::keyring::KeyRing;
use crate::name::TagName;
use crate::policy::Policy;
use crate::report::{SignatureState, refuse_bad, states};
use crate::statement::Statement;

const TAG: &str = "urn:auto:predicate:tag:1";

/// One statement of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagEntry {
    /// From 1 on.
    pub number: u64,
    /// The artifact that the tag leads to from here on.
    pub id: Digest,
    /// Seconds since 1970.
    pub at: u64,
    /// What its author wrote.
    pub note: String,
    /// As it was signed.
    pub envelope: Envelope,
}

/// The log of a tag, which has at least one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagLog {
    tag: TagName,
    entries: Vec<TagEntry>,
}

/// How one log stands to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// They say the same.
    Same,
    /// It goes on where the other ends.
    Ahead,
    /// The other goes on where it ends.
    Behind,
    /// They went different ways.
    Forked,
}

impl TagLog {
    /// Reads a log and checks that it is whole: every number, every link to the statement
    /// before, the same tag throughout. Who signed it is another question, [`TagLog::check`].
    ///
    /// Code: `bad-tag-log`.
    pub fn parse(tag: &TagName, bytes: &[u8]) -> Result<TagLog> {
        let mut entries = Vec::new();
        let mut previous = None;
        for envelope in read_bundle(bytes)? {
            let number = entries.len() as u64 + 1;
            let entry = entry(tag, number, previous, envelope).map_err(|why| {
                RegistryError::integrity("bad-tag-log", format!("the log of {tag} is damaged at {number}: {why}"))
            })?;
            previous = Some(entry.envelope.payload_digest());
            entries.push(entry);
        }
        match entries.is_empty() {
            true => Err(RegistryError::integrity("bad-tag-log", format!("the log of {tag} is empty"))),
            false => Ok(TagLog { tag: tag.clone(), entries }),
        }
    }

    /// The log, or one that goes on after it, with a new statement at its end.
    pub(crate) fn append(
        log: Option<TagLog>,
        tag: &TagName,
        id: Digest,
        note: &str,
        at: u64,
        key: Option<&PrivateKey>,
    ) -> TagLog {
        let mut log = log.unwrap_or(TagLog { tag: tag.clone(), entries: Vec::new() });
        let previous = log.entries.last().map(|entry| entry.envelope.payload_digest().to_string());
        let number = log.entries.len() as u64 + 1;
        let predicate = Record::new()
            .with("tag", tag.to_string())
            .with("number", number)
            .with("previous", previous)
            .with("note", note)
            .with("at", at);
        let mut envelope = Envelope::unsigned(Statement::about(tag.to_string(), id, TAG, predicate).to_payload());
        if let Some(key) = key {
            envelope.sign(key);
        }
        log.entries.push(TagEntry { number, id, at, note: note.to_owned(), envelope });
        log
    }

    /// Adds a key's signature to the last statement.
    pub(crate) fn sign_head(&mut self, key: &PrivateKey) {
        if let Some(entry) = self.entries.last_mut() {
            entry.envelope.sign(key);
        }
    }

    /// Which tag.
    pub fn tag(&self) -> &TagName {
        &self.tag
    }

    /// Every statement, the first one first.
    pub fn entries(&self) -> &[TagEntry] {
        &self.entries
    }

    /// The last statement: what the tag leads to.
    pub fn head(&self) -> &TagEntry {
        // Made with an entry, and only ever added to.
        &self.entries[self.entries.len() - 1]
    }

    /// What the tag led to before: a statement that leads again to an older artifact takes back all
    /// since, so going back twice goes back two steps, and never to what was left for it.
    pub fn before(&self) -> Option<&TagEntry> {
        let mut steps: Vec<&TagEntry> = Vec::new();
        for entry in &self.entries {
            match steps.iter().position(|step| step.id == entry.id) {
                Some(at) => steps.truncate(at + 1),
                None => steps.push(entry),
            }
        }
        steps.iter().rev().nth(1).copied()
    }

    /// How this log stands to another of the same tag.
    pub fn relation(&self, other: &TagLog) -> Relation {
        let same = |(a, b): (&TagEntry, &TagEntry)| a.envelope.payload == b.envelope.payload;
        match self.entries.iter().zip(&other.entries).all(same) {
            false => Relation::Forked,
            true => match self.entries.len().cmp(&other.entries.len()) {
                core::cmp::Ordering::Equal => Relation::Same,
                core::cmp::Ordering::Greater => Relation::Ahead,
                core::cmp::Ordering::Less => Relation::Behind,
            },
        }
    }

    /// Takes over the signatures of a log that says the same, or the beginning of it.
    pub(crate) fn join(&mut self, other: &TagLog, ring: &KeyRing) {
        for (TagEntry { envelope, .. }, other) in self.entries.iter_mut().zip(&other.entries) {
            if envelope.payload == other.envelope.payload && envelope.signatures != other.envelope.signatures {
                crate::report::join(envelope, &other.envelope, ring);
            }
        }
    }

    /// Whether a key that counts has signed the last statement, which vouches for those before
    /// it: one of those that the policy names, where it names any. Nobody has to have, where the
    /// policy asks for no signature, and a wrong one is one too many all the same.
    ///
    /// Codes: `bad-signature`, `revoked-key`, `unknown-key`, `unsigned`, `policy`.
    pub fn accept(&self, ring: &KeyRing, policy: &Policy) -> Result<()> {
        let what = format!("the tag {}", self.tag);
        refuse_bad(&self.head().envelope, ring, &what)?;
        if policy.signatures == 0 {
            return Ok(());
        }
        let states = states(&self.head().envelope, ring);
        SignatureState::accept(&states, &what)?;
        if policy.counting(&states).next().is_some() {
            return Ok(());
        }
        let by: Vec<String> = states.iter().map(SignatureState::key).collect();
        let message = format!("the tag {} does not meet the policy: keys: it is signed by {}", self.tag, by.join(", "));
        Err(RegistryError::refused("policy", message).help("the rules are in auto.toml under [registry.policy]"))
    }

    /// One statement a line.
    pub fn to_bytes(&self) -> Vec<u8> {
        write_bundle(&self.entries.iter().map(|entry| entry.envelope.clone()).collect::<Vec<_>>())
    }
}

fn entry(
    tag: &TagName,
    number: u64,
    previous: Option<Digest>,
    envelope: Envelope,
) -> core::result::Result<TagEntry, String> {
    let statement = Statement::parse(&envelope.payload).map_err(|error| error.message)?;
    let said = &statement.predicate;
    let text = |key: &str| said.get(key).and_then(Value::as_text);
    if statement.predicate_type != TAG || statement.subjects.len() != 1 {
        return Err("it is no statement about a tag".to_owned());
    }
    if text("tag") != Some(tag.to_string().as_str()) {
        return Err(format!("it is about the tag {:?}", text("tag").unwrap_or_default()));
    }
    if said.get("number").and_then(Value::as_u64) != Some(number) {
        return Err("it has another number".to_owned());
    }
    if text("previous").map(str::to_owned) != previous.map(|digest| digest.to_string()) {
        return Err("it follows another statement".to_owned());
    }
    let at = said.get("at").and_then(Value::as_u64).ok_or("it has no time")?;
    let id = statement.subjects[0].1;
    Ok(TagEntry { number, id, at, note: text("note").unwrap_or_default().to_owned(), envelope })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(ids: &[&[u8]], key: &PrivateKey) -> TagLog {
        let tag = "t".parse().unwrap();
        let next = |log, id: &&[u8]| Some(TagLog::append(log, &tag, Digest::of(id), "", 7, Some(key)));
        ids.iter().fold(None, next).unwrap()
    }

    #[test]
    fn a_log_only_grows() {
        let key = PrivateKey::generate().unwrap();
        let (short, long) = (log(&[b"a", b"b"], &key), log(&[b"a", b"b", b"a"], &key));
        let other = log(&[b"a", b"c", b"a"], &key);
        assert_eq!(TagLog::parse(short.tag(), &short.to_bytes()), Ok(short.clone()));
        assert_eq!((long.relation(&short), short.relation(&long)), (Relation::Ahead, Relation::Behind));
        assert_eq!((long.relation(&long), long.relation(&other)), (Relation::Same, Relation::Forked));
        assert_eq!(long.head().id, Digest::of(b"a"));
    }

    #[test]
    fn going_back_never_leads_to_what_was_left_by_going_back() {
        let key = PrivateKey::generate().unwrap();
        let before = |ids: &str| {
            let ids: Vec<&[u8]> = ids.split(' ').map(str::as_bytes).collect();
            log(&ids, &key).before().map(|entry| entry.id)
        };
        let steps = [
            ("a", None),
            ("a b c", Some("b")),
            ("a b c b", Some("a")),
            ("a b c b a", None),
            ("a b a c", Some("a")),
            ("a b b", Some("a")),
        ];
        for (ids, wanted) in steps {
            assert_eq!(before(ids), wanted.map(|id| Digest::of(id.as_bytes())), "{ids}");
        }
    }

    #[test]
    fn a_log_with_a_statement_missing_moved_or_changed_is_damaged() {
        let key = PrivateKey::generate().unwrap();
        let whole = log(&[b"a", b"b", b"c"], &key);
        let text = String::from_utf8(whole.to_bytes()).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for order in [vec![1, 2], vec![0, 2], vec![1, 0, 2], vec![0, 0, 1], vec![0, 2, 1], vec![]] {
            let damaged: String = order.iter().map(|&at| format!("{}\n", lines[at])).collect();
            let read = TagLog::parse(whole.tag(), damaged.as_bytes());
            assert_eq!(read.map_err(|error| error.code), Err("bad-tag-log"), "{order:?}");
        }
        let other = "other".parse().unwrap();
        assert_eq!(TagLog::parse(&other, text.as_bytes()).unwrap_err().code, "bad-tag-log");
    }

    #[test]
    fn only_a_key_that_counts_makes_a_tag_count() {
        let (key, stranger) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
        let mut ring = KeyRing::default();
        ring.trust(key.public(), "").unwrap();
        let policy = Policy::default();
        let code = |log: &TagLog, ring: &KeyRing| log.accept(ring, &policy).map_err(|error| error.code);
        let good = log(&[b"a"], &key);
        assert_eq!(code(&good, &ring), Ok(()));
        assert_eq!(code(&log(&[b"a"], &stranger), &ring), Err("unknown-key"));
        let nobody = TagLog::append(None, good.tag(), Digest::of(b"a"), "", 7, None);
        assert_eq!(code(&nobody, &ring), Err("unsigned"));
        assert_eq!(nobody.accept(&ring, &Policy::unsigned()), Ok(()));
        let other = Policy { keys: vec![stranger.public().id()], ..Policy::default() };
        assert_eq!(good.accept(&ring, &other).unwrap_err().code, "policy");
        let ours = Policy { keys: vec![key.public().id()], ..Policy::default() };
        assert_eq!(good.accept(&ring, &ours), Ok(()));
        let mut bad = good.clone();
        bad.entries[0].envelope.signatures[0].sig[5] ^= 1;
        assert_eq!(code(&bad, &ring), Err("bad-signature"));
        assert_eq!(bad.accept(&ring, &Policy::unsigned()).unwrap_err().code, "bad-signature");
        ring.revoke(&key, key.public().id(), "lost", 1).unwrap();
        assert_eq!(code(&good, &ring), Err("revoked-key"));
    }
}
