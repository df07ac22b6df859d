//! Who signed a component: statements that lie beside its file, held against the keys that
//! `auto.toml` names.

use std::path::Path;

use auto_engine::Pass;
use auto_json::{Record, Value};
use auto_registry::{
    Envelope, KeyId, PAYLOAD_TYPE, PrivateKey, PublicKey, Statement, pre_authentication, write_bundle,
};
use auto_schema::digest::Digest;
use auto_schema::shown_path;

use crate::components::pin_name;
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::registries::{beside, said_beside};
use crate::reply::Exit;

/// The type of what is said of a component: what it exports and imports.
const PASS: &str = "urn:auto:predicate:pass:1";

/// Who signed a component.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signed {
    /// Keys that `auto.toml` names.
    pub by: Vec<KeyId>,
    /// What others call themselves; nobody here knows their keys.
    pub claimed: Vec<String>,
}

/// Who signed a component, by what lies beside its file. Codes: those of a bundle that cannot be read,
/// `unreadable` and `bad-key` of a named key, `bad-signature`.
pub fn of(global: &Global, file: &Path, digest: Digest) -> Result<Signed, Failure> {
    let named = global.file.passes.signers.iter().flatten();
    let keys = named.map(|path| PublicKey::read(path)).collect::<Result<Vec<PublicKey>, _>>()?;
    let mut signed = Signed::default();
    for envelope in said_beside(file)? {
        let Ok(statement) = Statement::parse(&envelope.payload) else { continue };
        if statement.predicate_type != PASS || !statement.is_about(&digest) {
            continue;
        }
        let message = pre_authentication(PAYLOAD_TYPE, &envelope.payload);
        for signature in &envelope.signatures {
            match keys.iter().find(|key| KeyId::parse(&signature.keyid) == Some(key.id())) {
                Some(key) if key.verifies(&message, &signature.sig) => signed.by.push(key.id()),
                Some(key) => {
                    let message = format!("a signature beside it says that it is of the key {}, and is not", key.id());
                    return Err(Failure::new(Exit::Integrity, "bad-signature", message).at(shown_path(&beside(file))));
                }
                None => signed.claimed.push(signature.keyid.clone()),
            }
        }
    }
    Ok(signed)
}

/// Refuses a component that none of the keys signed that `auto.toml` names, where it names any.
/// Code: `unsigned-pass`.
pub fn demand(global: &Global, pass: &Pass, file: &Path, signed: &Signed) -> Result<(), Failure> {
    if global.file.passes.signers.is_none() || !signed.by.is_empty() {
        return Ok(());
    }
    let (name, digest) = (pin_name(&pass.label), pass.digest);
    let others = match signed.claimed.as_slice() {
        [] => String::new(),
        others => format!(" (somebody else says that it is by {})", others.join(", ")),
    };
    let why =
        format!("{name} ({digest}) is not used: no key that auto.toml names under passes.signers signed it{others}");
    let help = format!("if you trust it as it is: auto-host pass sign {} --key KEY, with such a key", shown_path(file));
    Err(Failure::new(Exit::Refused, "unsigned-pass", why).at(shown_path(file)).help(help))
}

/// Signs a component: adds a statement, or to one that is there a signature, to what lies beside its file.
/// Codes: as of [`of`], `unwritable`.
pub fn sign(pass: &Pass, file: &Path, key: &PrivateKey) -> Result<(), Failure> {
    let names = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect::<Vec<Value>>();
    let said = Record::new().with("exports", names(&pass.exports)).with("imports", names(&pass.imports));
    let mut envelope =
        Envelope::unsigned(Statement::about(pin_name(&pass.label), pass.digest, PASS, said).to_payload());
    let mut all = said_beside(file)?;
    match all.iter_mut().find(|known| known.payload == envelope.payload) {
        Some(known) => known.sign(key),
        None => {
            envelope.sign(key);
            all.push(envelope);
        }
    }
    let target = beside(file);
    auto_files::replace(&target, &write_bundle(&all)).map_err(|error| files::unwritable(&target, &error))
}
