//! A registry in a folder: what can be done with it.

use std::path::Path;

use auto_files::Holder;
use auto_schema::cbin::Cbin;
use auto_schema::digest::Digest;
use auto_schema::shown_path;

use crate::dsse::{Envelope, read_bundle, write_bundle};
use crate::error::RegistryError;
use crate::folder::Folder;
use crate::index::Index;
use crate::key::{KeyId, PrivateKey, PublicKey};
use crate::keyring::KeyRing;
use crate::log::{Relation, TagLog};
use crate::name::{Reference, TagName};
use crate::policy::Policy;
use crate::report::{Report, join, refuse_bad, statement_about};
use crate::{LARGEST_ARTIFACT, LARGEST_BUNDLE, Result};

/// Who is told when this process has to wait for another that writes.
type Waiting = fn(&Holder);

/// Artifacts, tags and keys in a folder.
#[derive(Clone, Debug)]
pub struct Registry {
    folder: Folder,
    waiting: Waiting,
}

/// An artifact that may be used.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The file.
    pub bytes: Vec<u8>,
    /// The answers that let it through.
    pub report: Report,
    /// What is said about it, to be handed on.
    pub envelopes: Vec<Envelope>,
}

/// What [`Registry::add`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// The artifact.
    pub id: Digest,
    /// Whether it was not there before.
    pub new: bool,
}

/// What is in a registry.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Each artifact, or why it cannot be used.
    pub artifacts: Vec<(Digest, Result<Report>)>,
    /// Each tag.
    pub tags: Vec<ListedTag>,
}

/// A tag and where it leads.
#[derive(Clone, Debug)]
pub struct ListedTag {
    /// The tag.
    pub tag: TagName,
    /// Number and id of its last statement, or why it cannot be used.
    pub head: Result<(u64, Digest)>,
}

impl Registry {
    /// Opens a registry that is there. Codes: `no-registry`, `registry-damaged`,
    /// `registry-version`.
    pub fn open(folder: &Path) -> Result<Registry> {
        let registry = Registry::at(folder);
        registry.folder.index()?;
        Ok(registry)
    }

    /// Opens a registry, and makes an empty one where nothing is. A folder with something else
    /// in it is refused (`not-a-registry`).
    pub fn create_or_open(folder: &Path) -> Result<Registry> {
        // What is left of one is no place for a new one: who was revoked there would count again.
        if Registry::is_there(folder) {
            return Registry::open(folder);
        }
        let registry = Registry::at(folder);
        let ours = |name: &std::ffi::OsStr| {
            ["objects", ".lock"].iter().any(|ours| name == *ours) || name.to_string_lossy().starts_with(".auto-")
        };
        let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        if entries.any(|entry| !ours(&entry.file_name())) {
            let message = format!("{} holds something else than a registry", shown_path(folder));
            return Err(RegistryError::usage("not-a-registry", message).help("give a folder of its own"));
        }
        registry.change(|_, _| Ok(()))?;
        Ok(registry)
    }

    /// Whether a folder holds a registry, or what is left of one.
    pub fn is_there(folder: &Path) -> bool {
        let folder = Folder::at(folder);
        folder.exists() || folder.has_objects()
    }

    fn at(folder: &Path) -> Registry {
        Registry { folder: Folder::at(folder), waiting: |_| {} }
    }

    /// Tells somebody when this process waits for another that writes.
    #[must_use]
    pub fn tell_waiting(mut self, waiting: Waiting) -> Registry {
        self.waiting = waiting;
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.root()
    }

    /// A digest that changes with anything in it; cheap, for those that watch.
    pub fn version(&self) -> Result<Digest> {
        Ok(self.folder.index()?.1)
    }

    /// The keys that count.
    pub fn keys(&self) -> Result<KeyRing> {
        Ok(self.folder.index()?.0.keys)
    }

    /// What an artifact is called leads to: its id. A tag counts only if a key that counts has
    /// signed it, unless the policy asks for no signature.
    ///
    /// Codes: `unknown-name`, `unknown-id`, `bad-tag-log`, `unsigned`, `unknown-key`,
    /// `bad-signature`, `revoked-key`.
    pub fn resolve(&self, reference: &Reference, policy: &Policy) -> Result<Digest> {
        self.steady(|index| self.resolve_in(index, reference, policy))
    }

    fn resolve_in(&self, index: &Index, reference: &Reference, policy: &Policy) -> Result<Digest> {
        let id = match reference {
            Reference::Id(id) => *id,
            Reference::Tag(tag) => {
                let log = self.log_in(index, tag)?;
                log.accept(&index.keys, policy)?;
                log.head().id
            }
        };
        match index.artifacts.contains_key(&id) {
            true => Ok(id),
            false => {
                let message = format!("the artifact {id} is not in {}", shown_path(self.path()));
                Err(RegistryError::refused("unknown-id", message)
                    .help("`auto-host registry list` shows what is there; `registry pull` gets more"))
            }
        }
    }

    /// An artifact that is whole, signed as the policy asks, and within its thresholds.
    ///
    /// Codes: those of [`Registry::resolve`], of [`Report::of`] and of [`Report::accept`],
    /// `object-missing`, `object-damaged`.
    pub fn get(&self, reference: &Reference, policy: &Policy) -> Result<Artifact> {
        let artifact = self.look(reference, policy)?;
        artifact.report.accept()?;
        Ok(artifact)
    }

    /// The same, with whatever the report says of signatures and policy.
    pub fn look(&self, reference: &Reference, policy: &Policy) -> Result<Artifact> {
        self.steady(|index| {
            let id = self.resolve_in(index, reference, policy)?;
            self.artifact_in(index, id, policy)
        })
    }

    fn artifact_in(&self, index: &Index, id: Digest, policy: &Policy) -> Result<Artifact> {
        let envelopes = self.envelopes_in(index, id)?;
        let bytes = self.folder.object(id)?;
        let report = Report::of(&bytes, &envelopes, &index.keys, policy)?;
        Ok(Artifact { bytes, report, envelopes })
    }

    /// What is said about an artifact; nothing of one that is not here.
    pub fn envelopes(&self, id: Digest) -> Result<Vec<Envelope>> {
        self.steady(|index| self.envelopes_in(index, id))
    }

    fn envelopes_in(&self, index: &Index, id: Digest) -> Result<Vec<Envelope>> {
        match index.artifacts.get(&id) {
            Some(bundle) => read_bundle(&self.folder.object(*bundle)?),
            None => Ok(Vec::new()),
        }
    }

    /// Everything that is there, each with whether it may be used.
    pub fn list(&self, policy: &Policy) -> Result<Listing> {
        self.steady(|index| {
            let artifact = |id: &Digest| (*id, self.artifact_in(index, *id, policy).map(|artifact| artifact.report));
            let tag = |tag: &TagName| {
                let log = self.log_in(index, tag).and_then(|log| log.accept(&index.keys, policy).map(|()| log));
                ListedTag { tag: tag.clone(), head: log.map(|log| (log.head().number, log.head().id)) }
            };
            Ok(Listing {
                artifacts: index.artifacts.keys().map(artifact).collect(),
                tags: index.tags.keys().map(tag).collect(),
            })
        })
    }

    /// What a tag led to, from its first statement on. Whether its last one is signed by a key
    /// that counts is said by [`TagLog::accept`]. Codes: `unknown-name`, `bad-tag-log`.
    pub fn log(&self, tag: &TagName) -> Result<TagLog> {
        self.steady(|index| self.log_in(index, tag))
    }

    fn log_in(&self, index: &Index, tag: &TagName) -> Result<TagLog> {
        self.known_log(index, tag)?.ok_or_else(|| {
            let others: Vec<String> = index.tags.keys().take(8).map(TagName::to_string).collect();
            let known = if others.is_empty() { "no names".to_owned() } else { others.join(", ") };
            let message = format!("nothing is called {tag} in {}, which has {known}", shown_path(self.path()));
            RegistryError::refused("unknown-name", message).help("`auto-host registry list` shows what is there")
        })
    }

    pub(crate) fn known_log(&self, index: &Index, tag: &TagName) -> Result<Option<TagLog>> {
        let log = index.tags.get(tag).map(|log| TagLog::parse(tag, &self.folder.object(*log)?));
        log.transpose()
    }

    /// Puts an artifact and what is said about it into the registry; what was there stays.
    ///
    /// Codes: those of [`Cbin::read`], `too-large`, `bad-statement`, `other-artifact`, `bad-signature`.
    pub fn add(&self, bytes: &[u8], envelopes: &[Envelope]) -> Result<Added> {
        self.change(|index, registry| registry.add_in(index, bytes, envelopes))
    }

    pub(crate) fn add_in(&self, index: &mut Index, bytes: &[u8], envelopes: &[Envelope]) -> Result<Added> {
        if bytes.len() as u64 > LARGEST_ARTIFACT {
            let message = format!("the artifact has {} bytes, a registry takes {LARGEST_ARTIFACT}", bytes.len());
            return Err(RegistryError::refused("too-large", message));
        }
        let artifact = Cbin::read(bytes)?;
        let id = artifact.id;
        let new = !index.artifacts.contains_key(&id);
        let mut all = self.envelopes_in(index, id)?;
        for envelope in envelopes {
            statement_about(&artifact, envelope)?;
            refuse_bad(envelope, &index.keys, &format!("the artifact {id}"))?;
            match all.iter_mut().find(|known| known.payload == envelope.payload) {
                Some(known) => join(known, envelope, &index.keys),
                None => all.push(envelope.clone()),
            }
        }
        let bundle = write_bundle(&all);
        if bundle.len() as u64 > LARGEST_BUNDLE {
            let message = format!("what is said about {id} would have more than {LARGEST_BUNDLE} bytes");
            return Err(RegistryError::refused("too-large", message));
        }
        self.folder.put(bytes)?;
        index.artifacts.insert(id, self.folder.put(&bundle)?);
        Ok(Added { id, new })
    }

    /// Lets a tag lead to an artifact from now on; gives its log. Nothing is added where it leads
    /// there already, and a signature where the key's was missing.
    ///
    /// A revoked key names nothing, and one that is not trusted takes no name over from one that is.
    ///
    /// Codes: `unknown-id`, `bad-tag-log`, `revoked-key`, `unknown-key`, `object-missing`, `object-damaged`.
    pub fn tag(&self, tag: &TagName, id: Digest, note: &str, at: u64, key: Option<&PrivateKey>) -> Result<TagLog> {
        self.change(|index, registry| registry.tag_in(index, tag, id, note, at, key))
    }

    fn tag_in(
        &self,
        index: &mut Index,
        tag: &TagName,
        id: Digest,
        note: &str,
        at: u64,
        key: Option<&PrivateKey>,
    ) -> Result<TagLog> {
        self.resolve_in(index, &Reference::Id(id), &Policy::unsigned())?;
        // Nobody signs that a name leads to what is damaged.
        self.artifact_in(index, id, &Policy::unsigned())?;
        let known = self.known_log(index, tag)?;
        key.into_iter().try_for_each(|key| may_name(&index.keys, key, known.as_ref()))?;
        let log = match known {
            Some(mut log) if log.head().id == id => {
                key.into_iter().for_each(|key| log.sign_head(key));
                log
            }
            log => TagLog::append(log, tag, id, note, at, key),
        };
        self.set_log(index, &log)?;
        Ok(log)
    }

    /// Lets a tag lead again to what it led to before: to its statement of that number, or to
    /// [`TagLog::before`]. That is a new statement. Codes: `unknown-name`, `unknown-number`,
    /// `unknown-id`.
    pub fn roll_back(
        &self,
        tag: &TagName,
        to: Option<u64>,
        note: &str,
        at: u64,
        key: Option<&PrivateKey>,
    ) -> Result<TagLog> {
        self.change(|index, registry| {
            let log = registry.log_in(index, tag)?;
            let wanted = match to {
                Some(number) => log.entries().iter().find(|entry| entry.number == number),
                None => log.before(),
            };
            let Some(entry) = wanted else {
                let which = to.map_or("nothing before it".to_owned(), |number| format!("no statement {number}"));
                let message = format!("the log of {tag} has {which} to go back to");
                return Err(RegistryError::refused("unknown-number", message)
                    .help(format!("`auto-host registry log {tag}` shows what there is")));
            };
            let note = if note.is_empty() { format!("back to {}", entry.number) } else { note.to_owned() };
            registry.tag_in(index, tag, entry.id, &note, at, key)
        })
    }

    pub(crate) fn set_log(&self, index: &mut Index, log: &TagLog) -> Result<()> {
        let bytes = log.to_bytes();
        if bytes.len() as u64 > LARGEST_BUNDLE {
            let message = format!("the log of {} would have more than {LARGEST_BUNDLE} bytes", log.tag());
            return Err(RegistryError::refused("too-large", message));
        }
        index.tags.insert(log.tag().clone(), self.folder.put(&bytes)?);
        Ok(())
    }

    /// Takes over the log of a tag from elsewhere, if it goes on where ours ends.
    ///
    /// Codes: `stale-tag`, `tag-forked`.
    pub(crate) fn follow(&self, index: &mut Index, log: &TagLog) -> Result<()> {
        let mut log = log.clone();
        if let Some(known) = self.known_log(index, log.tag())? {
            check_follows(&log, &known)?;
            log.join(&known, &index.keys);
        }
        self.set_log(index, &log)
    }

    /// A person trusts a key. Code: `revoked-key`.
    pub fn trust(&self, key: &PublicKey, label: &str) -> Result<KeyId> {
        self.change(|index, _| index.keys.trust(key.clone(), label))
    }

    /// A trusted key brings in its successor, which signs everything again that the old one
    /// signed; gives how many statements. Codes: `unknown-key`, `revoked-key`.
    pub fn rotate(&self, from: &PrivateKey, to: &PrivateKey, label: &str, at: u64) -> Result<usize> {
        self.change(|index, registry| {
            index.keys.rotate(from, &to.public(), label, at)?;
            registry.sign_again(index, from, to)
        })
    }

    fn sign_again(&self, index: &mut Index, from: &PrivateKey, to: &PrivateKey) -> Result<usize> {
        let old = from.public().id();
        let mut signed = 0;
        for (id, bundle) in index.artifacts.clone() {
            let mut envelopes = read_bundle(&self.folder.object(bundle)?)?;
            // Only what the old key really signed.
            let ring = &index.keys;
            let theirs = envelopes.iter_mut().filter(|envelope| is_signed(envelope, old, ring));
            let before = signed;
            theirs.for_each(|envelope| {
                envelope.sign(to);
                signed += 1;
            });
            if signed > before {
                index.artifacts.insert(id, self.folder.put(&write_bundle(&envelopes))?);
            }
        }
        for tag in index.tags.keys().cloned().collect::<Vec<_>>() {
            let mut log = self.log_in(index, &tag)?;
            if is_signed(&log.head().envelope, old, &index.keys) {
                log.sign_head(to);
                self.set_log(index, &log)?;
                signed += 1;
            }
        }
        Ok(signed)
    }

    /// A trusted key ends another, or itself. Codes: `unknown-key`, `revoked-key`.
    pub fn revoke(&self, signer: &PrivateKey, id: KeyId, reason: &str, at: u64) -> Result<()> {
        self.change(|index, _| index.keys.revoke(signer, id, reason, at))
    }

    /// Takes in what others say about keys, as far as a key that counts here says it.
    pub fn merge_keys(&self, statements: &[Envelope]) -> Result<usize> {
        self.change(|index, _| Ok(index.keys.merge(statements)))
    }

    /// Reads the index and does something with it; once more where what it led to was just
    /// collected by another process.
    fn steady<T>(&self, look: impl Fn(&Index) -> Result<T>) -> Result<T> {
        let (index, version) = self.folder.index()?;
        match look(&index) {
            Err(error) if error.code == "object-missing" => match self.folder.index()? {
                (_, same) if same == version => Err(error),
                (index, _) => look(&index),
            },
            done => done,
        }
    }

    /// Changes the index, as the only one who does, all or nothing.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Index, &Registry) -> Result<T>) -> Result<T> {
        let _lock = self.folder.lock(self.waiting)?;
        let before = if self.folder.exists() { Some(self.folder.index()?.0) } else { None };
        let mut index = before.clone().unwrap_or_default();
        let done = change(&mut index, self)?;
        if before.as_ref() != Some(&index) {
            self.folder.commit(&index)?;
        }
        Ok(done)
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }
}

/// Whether a key may sign where a tag leads: a tag that counts does not come to count for nothing.
fn may_name(ring: &KeyRing, key: &PrivateKey, known: Option<&TagLog>) -> Result<()> {
    let id = key.public().id();
    let counts = ring.may_sign(id)?;
    match known.filter(|log| !counts && log.accept(ring, &Policy::default()).is_ok()) {
        None => Ok(()),
        Some(log) => {
            let message = format!("the key {id} is not trusted here, and {} is signed by one that is", log.tag());
            Err(RegistryError::refused("unknown-key", message)
                .help("trust it first, `auto-host registry trust KEY.pub`, or give another name"))
        }
    }
}

fn is_signed(envelope: &Envelope, by: KeyId, ring: &KeyRing) -> bool {
    crate::report::states(envelope, ring).contains(&crate::report::SignatureState::Valid(by))
}

/// Refuses a log that does not go on where a known one ends.
pub(crate) fn check_follows(log: &TagLog, known: &TagLog) -> Result<()> {
    let (tag, number, seen) = (log.tag(), log.head().number, known.head().number);
    match log.relation(known) {
        Relation::Same | Relation::Ahead => Ok(()),
        Relation::Behind => {
            let message = format!("the tag {tag} is at {number} there, and {seen} was seen already: it is stale");
            Err(RegistryError::integrity("stale-tag", message)
                .help("somebody may be handing out an old artifact as the newest; nothing was changed"))
        }
        Relation::Forked => {
            let message = format!("the tag {tag} went another way there (at {number}) than here (at {seen})");
            Err(RegistryError::integrity("tag-forked", message)
                .help("two people tagged at the same time, or somebody changes history; compare `registry log`"))
        }
    }
}
