//! Artifacts that a command names: files, and what registries have. Both are held to the policy
//! of `auto.toml`.

use std::path::{Path, PathBuf};

use auto_registry::{Envelope, KeyRing, Policy, PrivateKey, Reference, Registry, Report, read_bundle};
use auto_schema::cbin::Cbin;
use auto_schema::shown_path;
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::options::Global;
use crate::reply::Exit;

/// The registry of a folder that says nothing else.
const DEFAULT: &str = "auto-registry";

/// Which registry a command works on.
#[derive(Args, Default)]
pub struct RegistryOption {
    /// The folder of the registry [default: that of auto.toml, or auto-registry]
    #[arg(long, value_name = "DIR", env = "AUTO_REGISTRY")]
    registry: Option<PathBuf>,
    /// Take what nobody has signed, too
    #[arg(long)]
    allow_unsigned: bool,
}

/// Who signs.
#[derive(Args)]
pub struct KeyOption {
    /// The private key that signs, from `registry keygen` [default: that of auto.toml]
    #[arg(long, value_name = "FILE", env = "AUTO_SIGNING_KEY")]
    key: Option<PathBuf>,
    /// Sign with no key
    #[arg(long, conflicts_with = "key")]
    unsigned: bool,
}

/// Who signs, where somebody has to.
#[derive(Args)]
pub struct SignOption {
    /// The private key that signs, from `registry keygen` [default: that of auto.toml]
    #[arg(long, value_name = "FILE", env = "AUTO_SIGNING_KEY")]
    key: Option<PathBuf>,
}

impl RegistryOption {
    /// The folder.
    pub fn path(&self, global: &Global) -> PathBuf {
        let given = self.registry.clone().or_else(|| global.file.registry.path.clone());
        given.unwrap_or_else(|| DEFAULT.into())
    }

    /// The registry, which has to be there.
    pub fn open(&self, global: &Global) -> Result<Registry, Failure> {
        let path = self.path(global);
        inputs::note_folder(&path);
        Ok(Registry::open(&path)?.tell_waiting(tell))
    }

    /// The same, made where nothing is.
    pub fn create(&self, global: &Global) -> Result<Registry, Failure> {
        Ok(Registry::create_or_open(&self.path(global))?.tell_waiting(tell))
    }

    /// What an artifact has to bring.
    pub fn policy(&self, global: &Global) -> Policy {
        let policy = global.file.policy.clone().unwrap_or_default();
        if self.allow_unsigned { Policy { signatures: 0, ..policy } } else { policy }
    }

    /// An artifact to be used: a file, or what the registry has by that name or id.
    ///
    /// A file is held to the policy where `auto.toml` has one, by what lies beside it or is in
    /// the registry. What comes from the registry is held to it always.
    pub fn artifact(&self, global: &Global, named: &Path) -> Result<Vec<u8>, Failure> {
        if let Some(reference) = self.reference(global, named) {
            let found = self.open(global)?.get(&reference, &self.policy(global))?;
            return Ok(found.bytes);
        }
        let bytes = files::read(named)?;
        if global.file.policy.is_some() {
            let (envelopes, ring) = self.said_of(global, named, &bytes)?;
            let refused = |error| Failure::from(error).at(shown_path(named));
            let report = Report::of(&bytes, &envelopes, &ring, &self.policy(global)).map_err(refused)?;
            report.accept().map_err(refused)?;
        }
        Ok(bytes)
    }

    /// What the command line names in a registry; none where it is a file.
    pub fn reference(&self, global: &Global, named: &Path) -> Option<Reference> {
        let is_file = named.as_os_str() == "-" || named.symlink_metadata().is_ok();
        let reference = named.to_str().filter(|_| !is_file)?.parse().ok()?;
        Registry::is_there(&self.path(global)).then_some(reference)
    }

    /// What is said of a file, beside it and in the registry, and the keys that count.
    pub fn said_of(&self, global: &Global, file: &Path, bytes: &[u8]) -> Result<(Vec<Envelope>, KeyRing), Failure> {
        let there = Registry::is_there(&self.path(global));
        said(there.then(|| self.open(global)).transpose()?.as_ref(), file, bytes)
    }
}

impl KeyOption {
    /// The key; none where it was said that there is none.
    pub fn read(&self, global: &Global) -> Result<Option<PrivateKey>, Failure> {
        if self.unsigned {
            return Ok(None);
        }
        let key = private_key(global, self.key.as_ref());
        key.map(Some).map_err(|failure| match failure.code.as_str() {
            "no-key" => failure.help("give --key FILE (`auto-host registry keygen` makes one), or --unsigned"),
            _ => failure,
        })
    }
}

impl SignOption {
    /// The key.
    pub fn read(&self, global: &Global) -> Result<PrivateKey, Failure> {
        private_key(global, self.key.as_ref())
    }
}

fn private_key(global: &Global, given: Option<&PathBuf>) -> Result<PrivateKey, Failure> {
    let Some(path) = given.or(global.file.registry.key.as_ref()) else {
        return Err(Failure::new(Exit::Usage, "no-key", "there is no key to sign with")
            .help("give --key FILE (`auto-host registry keygen` makes one)"));
    };
    inputs::note(path);
    Ok(PrivateKey::read(path)?)
}

/// What is said of a file, beside it and in a registry, and the keys that count there.
pub fn said(registry: Option<&Registry>, file: &Path, bytes: &[u8]) -> Result<(Vec<Envelope>, KeyRing), Failure> {
    let mut envelopes = said_beside(file)?;
    let Some(registry) = registry else { return Ok((envelopes, KeyRing::default())) };
    let id = Cbin::read(bytes).map_err(|damage| Failure::from(damage).at(shown_path(file)))?.id;
    for envelope in registry.envelopes(id)? {
        match envelopes.iter_mut().find(|known| known.payload == envelope.payload) {
            Some(known) => known.join(&envelope),
            None => envelopes.push(envelope),
        }
    }
    Ok((envelopes, registry.keys()?))
}

/// What lies beside a file and is said of it.
pub fn said_beside(file: &Path) -> Result<Vec<Envelope>, Failure> {
    let beside = beside(file);
    match beside.symlink_metadata() {
        Ok(_) => {
            read_bundle(&files::read_regular(&beside)?).map_err(|error| Failure::from(error).at(shown_path(&beside)))
        }
        Err(_) => Ok(Vec::new()),
    }
}

/// Where what is said of a file lies beside it.
pub fn beside(file: &Path) -> PathBuf {
    inputs::beside(file, ".intoto.jsonl")
}

fn tell(holder: &auto_files::Holder) {
    files::wait(&"the registry", holder);
}
