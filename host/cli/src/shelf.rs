//! The registry as a server sees it: names that lead to artifacts, as far as the policy lets them.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use auto_registry::{Policy, PrivateKey, Reference, Registry, RegistryError, Report, TagName, now};
use auto_schema::digest::Digest;
use auto_serve::run::backing::Refusal;
use auto_serve::run::shelf::{Judge, Names, Shelf};

use crate::failure::Failure;
use crate::registries::said;

/// A registry, held to a policy.
pub struct Tagged {
    registry: Registry,
    policy: Policy,
    /// Signs what a roll-back says.
    key: Option<PrivateKey>,
    /// What the names led to in a version of the registry.
    known: Mutex<Option<(Digest, Names)>>,
}

/// The tag that a name without one means.
const LATEST: &str = "latest";

impl Tagged {
    /// A registry, held to a policy; `key` signs what a roll-back says.
    pub fn of(registry: Registry, policy: Policy, key: Option<PrivateKey>) -> Tagged {
        Tagged { registry, policy, key, known: Mutex::default() }
    }

    fn read(&self) -> Result<Names, RegistryError> {
        let tags = self.registry.list(&self.policy)?.tags;
        let named = tags.into_iter().map(|listed| {
            let whole = listed.head.and_then(|(_, id)| {
                // What does not meet the policy is not served, and says so under its name.
                self.registry.get(&Reference::Id(id), &self.policy).map(|_| id)
            });
            (name(&listed.tag), whole.map_err(refusal))
        });
        Ok(named.collect())
    }
}

/// How a tag is asked for: `NAME`, or `NAME:TAG`.
fn name(tag: &TagName) -> String {
    if tag.tag() == LATEST { tag.name.as_str().to_owned() } else { tag.to_string() }
}

/// Holds a file to a policy, by what lies beside it and the keys of a registry, as `run` does.
pub fn held_to(policy: Policy, keys: Option<Registry>) -> Judge {
    Box::new(move |path: &Path, bytes: &[u8]| {
        let failed = |failure: Failure| Refusal { code: failure.code.clone(), message: failure.message };
        let (envelopes, ring) = said(keys.as_ref(), path, bytes).map_err(failed)?;
        Report::of(bytes, &envelopes, &ring, &policy).and_then(|report| report.accept()).map_err(refusal)
    })
}

fn refusal(error: RegistryError) -> Refusal {
    let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
    Refusal { code: error.code.to_owned(), message: format!("{}{help}", error.message) }
}

impl Shelf for Tagged {
    fn version(&self) -> Option<Digest> {
        self.registry.version().ok()
    }

    fn names(&self) -> Result<Names, Refusal> {
        let version = self.registry.version().map_err(refusal)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, names)) = known.as_ref().filter(|(of, _)| *of == version) {
            return Ok(names.clone());
        }
        let names = self.read().map_err(refusal)?;
        *known = Some((version, names.clone()));
        Ok(names)
    }

    fn get(&self, id: Digest) -> Result<Option<Vec<u8>>, Refusal> {
        match self.registry.get(&Reference::Id(id), &self.policy) {
            Ok(artifact) => Ok(Some(artifact.bytes)),
            Err(error) if error.code == "unknown-id" => Ok(None),
            Err(error) => Err(refusal(error)),
        }
    }

    fn roll_back(&self, name: &str, now_at: Digest) -> Result<Option<Digest>, Refusal> {
        let tag: TagName = name.parse().map_err(refusal)?;
        let log = self.registry.log(&tag).map_err(refusal)?;
        // Somebody else may have moved it on.
        if log.head().id != now_at {
            return Ok(Some(log.head().id));
        }
        match self.registry.roll_back(&tag, None, "drift", now(), self.key.as_ref()) {
            Ok(log) => Ok(Some(log.head().id)),
            Err(error) if error.code == "unknown-number" => Ok(None),
            Err(error) => Err(refusal(error)),
        }
    }
}
