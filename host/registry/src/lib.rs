//! The registry: who made this artifact, and is it the one that was tested.
//!
//! A [`Registry`] is a folder of artifacts by content. Beside each are signed statements about
//! it ([`Envelope`], [`Evidence`]); names lead to artifacts through logs that only grow
//! ([`TagLog`]); the keys that count are listed with it ([`KeyRing`]). Everything in the folder
//! hangs from one index that is replaced whole, so a crash anywhere leaves the state before
//! or the state after, and every byte is held against a digest before it is used.
//!
//! To use an artifact: [`Registry::open`], then [`Registry::get`] with a name or an id and a
//! [`Policy`]. It gives bytes that are whole, signed by whom the policy accepts, and within its
//! thresholds, or says why not.

mod collect;
mod dsse;
mod error;
mod evidence;
mod folder;
#[doc(hidden)]
pub mod fuzzing;
mod index;
mod key;
mod keyring;
mod log;
#[cfg_attr(not(feature = "remote"), allow(dead_code))]
mod manifest;
mod name;
mod papers;
#[cfg_attr(not(feature = "remote"), allow(dead_code))]
mod parcel;
mod policy;
mod registry;
#[cfg(feature = "remote")]
pub mod remote;
mod report;
mod statement;
mod time;
#[cfg(feature = "remote")]
mod transfer;

pub use collect::{Collected, Reach};
pub use dsse::{Envelope, PAYLOAD_TYPE, Signature, pre_authentication, read_bundle, write_bundle};
pub use error::{Class, RegistryError};
pub use evidence::{EVIDENCE, Evidence};
pub use key::{KeyId, PrivateKey, PublicKey};
pub use keyring::{KeyRing, Standing, Trusted};
pub use log::{Relation, TagEntry, TagLog};
pub use manifest::SignedManifest;
pub use name::{Name, Reference, TagName};
pub use papers::Papers;
pub use parcel::Parcel;
pub use policy::{Part, Policy, Unmet};
pub use registry::{Added, Artifact, ListedTag, Listing, Registry};
pub use report::{Report, SignatureState, Signed};
pub use statement::Statement;
pub use time::{now, rfc3339};
#[cfg(feature = "remote")]
pub use transfer::{Pulled, pull, push, push_keys};

/// What may go wrong here.
pub type Result<T> = core::result::Result<T, RegistryError>;

/// The most bytes of an artifact that a registry takes.
pub const LARGEST_ARTIFACT: u64 = 256 << 20;

/// The most bytes of statements about one artifact, or of one tag's log.
pub const LARGEST_BUNDLE: u64 = 16 << 20;
