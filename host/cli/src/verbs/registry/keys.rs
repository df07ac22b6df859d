//! `registry keygen | trust | keys | rotate | revoke`: whose signatures count.

use std::path::{Path, PathBuf};

use auto_json::{Record, Value};
use auto_registry::{KeyId, PrivateKey, PublicKey, now};
use auto_schema::{shown, shown_path};
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::options::Global;
use crate::registries::RegistryOption;
use crate::reply::{Exit, Reply};

/// Make a key that signs, and trust it in the registry
///
/// The private key (PKCS#8, PEM) can be read by its owner alone; the public one goes beside it,
/// as FILE.pub, and is what others trust.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry keygen --out ours.pem --label 'release team'")]
pub struct Keygen {
    #[command(flatten)]
    registry: RegistryOption,
    /// Where the private key goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// What its people call it
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// Make the key and trust it nowhere
    #[arg(long)]
    no_trust: bool,
}

/// Trust a key: what it signs counts from now on
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry trust theirs.pem.pub --label 'the other team'")]
pub struct Trust {
    #[command(flatten)]
    registry: RegistryOption,
    /// The public key
    #[arg(value_name = "KEY.pub")]
    key: PathBuf,
    /// What its people call it
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
}

/// List the keys that count, and those that no longer do
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry keys")]
pub struct Keys {
    #[command(flatten)]
    registry: RegistryOption,
}

/// Let a trusted key bring in its successor, which signs everything again
///
/// The old key still counts until it is revoked. Others learn of the successor when they pull:
/// the old key, which they trust, has signed for it.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry rotate --key old.pem --to new.pem\n  \
    auto-host registry revoke KEYID --key new.pem --reason retired")]
pub struct Rotate {
    #[command(flatten)]
    registry: RegistryOption,
    /// The private key that is trusted now
    #[arg(long, value_name = "FILE", env = "AUTO_SIGNING_KEY")]
    key: PathBuf,
    /// Its successor; made where the file is not there
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    /// What its people call it
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
}

/// End a key: nothing that it signed counts any more
///
/// Keys that it brought in go with it, but for the one that says so: whoever stole it may have
/// made them. Others learn of it when they pull.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry revoke KEYID --key ours.pem --reason 'laptop lost'")]
pub struct Revoke {
    #[command(flatten)]
    registry: RegistryOption,
    /// The id of the key that ends
    #[arg(value_name = "KEYID", value_parser = key_id)]
    id: KeyId,
    /// A private key that is trusted; it may be the same
    #[arg(long, value_name = "FILE", env = "AUTO_SIGNING_KEY")]
    key: PathBuf,
    /// Why, for those who meet it
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

fn key_id(text: &str) -> Result<KeyId, String> {
    KeyId::parse(text).ok_or_else(|| "an id of a key has 64 hex digits; `registry keys` shows them".to_owned())
}

impl Keygen {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let registry = if self.no_trust { None } else { Some(self.registry.create(global)?) };
        let key = make(&self.out)?;
        if let Some(registry) = registry {
            registry.trust(&key.public(), &self.label)?;
        }
        let id = key.public().id();
        let text = format!("wrote {} and {}\nkey {id}", shown_path(&self.out), shown_path(&public_path(&self.out)));
        Ok(Reply::done("made", text, Record::new().with("key", id.to_string())))
    }
}

impl Trust {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        inputs::note(&self.key);
        let key = PublicKey::read(&self.key)?;
        let id = self.registry.create(global)?.trust(&key, &self.label)?;
        Ok(Reply::done("trusted", format!("key {id} is trusted"), Record::new().with("key", id.to_string())))
    }
}

impl Keys {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let ring = self.registry.open(global)?.keys()?;
        let (mut text, mut rows) = (String::new(), Vec::<Value>::new());
        let revoked: Vec<KeyId> = ring.revoked().map(|(id, _)| id).collect();
        for (id, trusted) in ring.trusted().filter(|(id, _)| !revoked.contains(id)) {
            let by = trusted.by.map(|by| format!(", brought in by {by}")).unwrap_or_default();
            text.push_str(&format!("trusted {id} {}{by}\n", shown(&trusted.label)));
            let row = Record::new().with("key", id.to_string()).with("state", "trusted");
            rows.push(row.with("label", trusted.label.as_str()).with("by", trusted.by.map(|by| by.to_string())).into());
        }
        for (id, why) in ring.revoked() {
            text.push_str(&format!("revoked {id} {}\n", shown(why)));
            rows.push(Record::new().with("key", id.to_string()).with("state", "revoked").with("reason", why).into());
        }
        if rows.is_empty() {
            text.push_str("no key is trusted here; `auto-host registry keygen` or `registry trust`");
        }
        Ok(Reply::done("keys", text.trim_end(), Record::new().with("keys", rows)))
    }
}

impl Rotate {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let registry = self.registry.open(global)?;
        let old = read(&self.key)?;
        let new = if self.to.symlink_metadata().is_ok() { read(&self.to)? } else { make(&self.to)? };
        let signed = registry.rotate(&old, &new, &self.label, now())?;
        let (from, to) = (old.public().id(), new.public().id());
        let text = format!(
            "key {to} follows {from}, and signed {signed} statements again\n\
             when nobody needs the old one: `auto-host registry revoke {from} --key {}`",
            shown_path(&self.to)
        );
        let fields = Record::new().with("from", from.to_string()).with("to", to.to_string());
        Ok(Reply::done("rotated", text, fields.with("signed_again", signed)))
    }
}

impl Revoke {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let registry = self.registry.open(global)?;
        registry.revoke(&read(&self.key)?, self.id, &self.reason, now())?;
        let ended: Vec<Value> = registry.keys()?.revoked().map(|(id, _)| id.to_string().into()).collect();
        let fields = Record::new().with("key", self.id.to_string()).with("revoked", ended);
        Ok(Reply::done("revoked", format!("key {} is revoked", self.id), fields))
    }
}

fn read(path: &Path) -> Result<PrivateKey, Failure> {
    inputs::note(path);
    Ok(PrivateKey::read(path)?)
}

/// Makes a key, and its public half beside it.
fn make(path: &Path) -> Result<PrivateKey, Failure> {
    let public = public_path(path);
    if public.symlink_metadata().is_ok() {
        let message = format!("{} is there already", shown_path(&public));
        return Err(Failure::new(Exit::Refused, "key-exists", message).help("name another file"));
    }
    let key = PrivateKey::generate()?;
    key.write_new(path)?;
    files::write(&public, key.public().to_pem().as_bytes())?;
    Ok(key)
}

fn public_path(path: &Path) -> PathBuf {
    inputs::beside(path, ".pub")
}
