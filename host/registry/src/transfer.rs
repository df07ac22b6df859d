//! Push and pull. A pull takes everything in or nothing, and believes nobody on the way.

use auto_schema::digest::Digest;

use crate::Result;
use crate::dsse::read_bundle;
use crate::error::RegistryError;
use crate::log::TagLog;
use crate::name::Reference;
use crate::papers::Papers;
use crate::parcel::Parcel;
use crate::policy::Policy;
use crate::registry::{Added, Registry};
use crate::remote::Remote;

/// What a pull brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulled {
    /// The artifact.
    pub id: Digest,
    /// Whether its bytes were fetched, and not here already.
    pub fetched: bool,
    /// The number of the tag's last statement.
    pub number: Option<u64>,
}

/// Gets an artifact, and what is said about it, from elsewhere.
///
/// Codes: those of [`Registry::receive`] and of the remote, `unknown-name`, `unknown-id`,
/// `digest-mismatch`.
pub fn pull(registry: &Registry, remote: &dyn Remote, reference: &Reference, policy: &Policy) -> Result<Pulled> {
    // First: what was asked for may be signed by a key that was revoked.
    registry.merge_keys(&read_bundle(&remote.keys()?)?)?;
    let papers = match reference {
        Reference::Tag(tag) => remote.papers(tag)?.ok_or_else(|| absent("unknown-name", reference))?,
        Reference::Id(id) => remote.papers_of(id)?.ok_or_else(|| absent("unknown-id", reference))?,
    };
    let Papers { log, keys, statements } = papers;
    let keys = read_bundle(&keys)?;
    registry.merge_keys(&keys)?;
    let (log, id) = match reference {
        Reference::Tag(tag) => {
            let log = TagLog::parse(tag, &log.unwrap_or_default())?;
            let id = registry.expect(&log, policy)?;
            (Some(log), id)
        }
        Reference::Id(id) => (None, *id),
    };
    let envelopes = read_bundle(&statements)?;
    let tag = log.as_ref().map(TagLog::tag);
    let (artifact, fetched) = match registry.stored(id) {
        Some(bytes) => (bytes, false),
        None => (remote.artifact(tag, &id)?, true),
    };
    if Digest::of(&artifact) != id {
        let message = format!("the registry gives other bytes than those of {id}; nothing was changed here");
        return Err(
            RegistryError::integrity("digest-mismatch", message).help("it is damaged, or lies; pull from elsewhere")
        );
    }
    let number = log.as_ref().map(|log| log.head().number);
    let Added { id, .. } = registry.receive(&Parcel { artifact, envelopes, log, keys }, policy)?;
    Ok(Pulled { id, fetched, number })
}

/// Hands an artifact, and what is said about it, over to elsewhere; only what may be used here.
/// Codes: those of [`Registry::pack`] and of the remote.
pub fn push(registry: &Registry, remote: &dyn Remote, reference: &Reference, policy: &Policy) -> Result<Digest> {
    let parcel = registry.pack(reference, policy)?;
    remote.publish(&parcel)?;
    Ok(Digest::of(&parcel.artifact))
}

/// Hands over what keys say of each other, so that others learn of a revocation whatever else
/// they can still pull; gives how many statements.
pub fn push_keys(registry: &Registry, remote: &dyn Remote) -> Result<usize> {
    let keys = registry.keys()?;
    remote.publish_keys(keys.statements())?;
    Ok(keys.statements().len())
}

fn absent(code: &'static str, reference: &Reference) -> RegistryError {
    RegistryError::refused(code, format!("the registry has nothing called {reference}"))
        .help("is the address right, and was it pushed?")
}
