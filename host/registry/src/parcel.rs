//! What travels between registries: an artifact, what is said about it, the log of the tag that
//! leads to it, and what the keys say of each other. Whoever hands it over is not believed: a
//! parcel is taken in only as far as digests and signatures carry it.

use auto_schema::cbin::Cbin;
use auto_schema::digest::Digest;

use crate::Result;
use crate::dsse::Envelope;
use crate::error::RegistryError;
use crate::log::TagLog;
use crate::name::Reference;
use crate::policy::Policy;
use crate::registry::{Added, Registry, check_follows};
use crate::report::Report;

/// An artifact on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parcel {
    /// The file.
    pub artifact: Vec<u8>,
    /// What is said about it.
    pub envelopes: Vec<Envelope>,
    /// The log of the tag that leads to it, where it goes by one.
    pub log: Option<TagLog>,
    /// What keys say of each other.
    pub keys: Vec<Envelope>,
}

impl Registry {
    /// What to hand over for a name or an id. Codes: those of [`Registry::get`].
    pub fn pack(&self, reference: &Reference, policy: &Policy) -> Result<Parcel> {
        let found = self.get(reference, policy)?;
        let log = match reference {
            Reference::Tag(tag) => Some(self.log(tag)?),
            Reference::Id(_) => None,
        };
        // Somebody may have moved the tag in between.
        if log.as_ref().is_some_and(|log| log.head().id != found.report.artifact.id) {
            return self.pack(reference, policy);
        }
        let keys = self.keys()?.statements().to_vec();
        Ok(Parcel { artifact: found.bytes, envelopes: found.envelopes, log, keys })
    }

    /// Whether the log of a tag from elsewhere can be followed, and the artifact it leads to;
    /// before that is fetched. Keys are to be merged first ([`Registry::merge_keys`]), so that a
    /// revocation stays even where it ends the very thing that was asked for.
    ///
    /// Codes: `stale-tag`, `tag-forked`, and those of [`TagLog::accept`].
    pub fn expect(&self, log: &TagLog, policy: &Policy) -> Result<Digest> {
        let (index, _) = self.folder().index()?;
        log.accept(&index.keys, policy)?;
        if let Some(known) = self.known_log(&index, log.tag())? {
            check_follows(log, &known)?;
        }
        Ok(log.head().id)
    }

    /// The intact bytes of an artifact that is here already.
    pub(crate) fn stored(&self, id: Digest) -> Option<Vec<u8>> {
        self.folder().object(id).ok()
    }

    /// Keeps the bytes of an artifact until what is said about it comes ([`Registry::staged`]);
    /// `gc` removes them where that never happens. Codes: those of [`Cbin::read`], `too-large`,
    /// `unwritable`.
    pub fn stage(&self, bytes: &[u8]) -> Result<Digest> {
        if bytes.len() as u64 > crate::LARGEST_ARTIFACT {
            return Err(RegistryError::refused("too-large", "the artifact is larger than a registry takes"));
        }
        Cbin::read(bytes)?;
        self.folder().put(bytes)
    }

    /// What was staged, or is here. Codes: `object-missing`, `object-damaged`.
    pub fn staged(&self, id: Digest) -> Result<Vec<u8>> {
        self.folder().object(id)
    }

    /// Takes a parcel in, all of it or nothing.
    ///
    /// Codes: those of [`Registry::expect`], [`Report::of`] and [`Report::accept`],
    /// `other-artifact`.
    pub fn receive(&self, parcel: &Parcel, policy: &Policy) -> Result<Added> {
        self.merge_keys(&parcel.keys)?;
        let id = Cbin::read(&parcel.artifact)?.id;
        if let Some(log) = &parcel.log {
            let head = self.expect(log, policy)?;
            if head != id {
                let message = format!("the tag {} leads to {head}, and this is {id}", log.tag());
                return Err(RegistryError::integrity("other-artifact", message));
            }
        }
        self.change(|index, registry| {
            Report::of(&parcel.artifact, &parcel.envelopes, &index.keys, policy)?.accept()?;
            let added = registry.add_in(index, &parcel.artifact, &parcel.envelopes)?;
            parcel.log.iter().try_for_each(|log| registry.follow(index, log))?;
            Ok(added)
        })
    }
}
