//! Keys: ed25519, as PEM files that `openssl pkey` reads too. The id of a key is the SHA-256 of
//! its public half in DER (`openssl pkey -in KEY -pubout -outform der | sha256sum`).

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use auto_files::regular;
use auto_schema::digest::Digest;
use auto_schema::shown_path;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{
    DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _, KeypairBytes,
};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use crate::Result;
use crate::error::RegistryError;

/// The most bytes of a key's file.
const LARGEST: u64 = 16 << 10;

/// The SHA-256 of a public key in DER.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(pub Digest);

/// A key that verifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey(VerifyingKey);

/// A key that signs. It can be written to a file of its own and nowhere else.
pub struct PrivateKey(SigningKey);

impl KeyId {
    /// Reads 64 lower-case hex digits.
    pub fn parse(text: &str) -> Option<KeyId> {
        Digest::parse(text).map(KeyId)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl PublicKey {
    /// Reads a file with `-----BEGIN PUBLIC KEY-----`. Codes: `unreadable`, `bad-key`.
    pub fn read(path: &Path) -> Result<PublicKey> {
        let text = text(path)?;
        if text.contains("PRIVATE KEY") {
            let message = format!("{} holds a private key, which nobody else should have", shown_path(path));
            return Err(RegistryError::usage("bad-key", message).help("give the public half, KEY.pub"));
        }
        PublicKey::from_pem(&text).ok_or_else(|| no_key(path, "public"))
    }

    /// Reads SubjectPublicKeyInfo as PEM; `None` for what is no ed25519 key.
    pub fn from_pem(text: &str) -> Option<PublicKey> {
        VerifyingKey::from_public_key_pem(text).ok().map(PublicKey)
    }

    /// The same as DER.
    pub fn from_der(der: &[u8]) -> Option<PublicKey> {
        VerifyingKey::from_public_key_der(der).ok().map(PublicKey)
    }

    /// SubjectPublicKeyInfo.
    pub fn to_der(&self) -> Vec<u8> {
        // RFC 8410, section 4: a fixed header in front of the 32 bytes.
        const HEADER: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
        [&HEADER[..], self.0.as_bytes()].concat()
    }

    /// SubjectPublicKeyInfo as PEM.
    pub fn to_pem(&self) -> String {
        self.0.to_public_key_pem(LineEnding::LF).unwrap_or_default()
    }

    /// Its id.
    pub fn id(&self) -> KeyId {
        KeyId(Digest::of(&self.to_der()))
    }

    /// Whether a signature of a message is this key's. Strict: one signature has one form
    /// (RFC 8032, and no keys of small order).
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature).is_ok_and(|signature| self.0.verify_strict(message, &signature).is_ok())
    }
}

impl PrivateKey {
    /// A new one, from the system's randomness. Code: `no-randomness`.
    pub fn generate() -> Result<PrivateKey> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed)
            .map_err(|error| RegistryError::refused("no-randomness", format!("no random bytes: {error}")))?;
        Ok(PrivateKey(SigningKey::from_bytes(&seed)))
    }

    /// A key that everybody knows, for fuzzing.
    pub(crate) fn known() -> PrivateKey {
        PrivateKey(SigningKey::from_bytes(&[7; 32]))
    }

    /// Reads a file with `-----BEGIN PRIVATE KEY-----` that only its owner may read. Codes:
    /// `unreadable`, `key-open`, `bad-key`.
    pub fn read(path: &Path) -> Result<PrivateKey> {
        let text = text(path)?;
        let key = SigningKey::from_pkcs8_pem(&text).map_err(|_| no_key(path, "private"))?;
        let mode = std::fs::metadata(path).map_or(0, |found| found.permissions().mode());
        if mode & 0o077 != 0 {
            let message = format!("the key {} can be read by others than its owner", shown_path(path));
            return Err(RegistryError::refused("key-open", message).help(format!("chmod 600 {}", shown_path(path))));
        }
        Ok(PrivateKey(key))
    }

    /// Writes it as PKCS#8 in PEM, for its owner alone; a file that is there is left alone.
    /// Codes: `key-exists`, `unwritable`.
    pub fn write_new(&self, path: &Path) -> Result<()> {
        // Without the public half, which OpenSSL does not read in there.
        let bare = KeypairBytes { secret_key: self.0.to_bytes(), public_key: None };
        let pem = bare
            .to_pkcs8_pem(LineEnding::LF)
            .map_err(|error| RegistryError::refused("bad-key", format!("the key cannot be written: {error}")))?;
        auto_files::create_private(path, pem.as_bytes()).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                RegistryError::refused("key-exists", format!("{} is there already", shown_path(path)))
                    .help("name another file; a key that is overwritten is gone")
            }
            _ => RegistryError::unwritable(path, &error),
        })
    }

    /// Its public half.
    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    /// Signs a message.
    pub fn sign(&self, message: &[u8]) -> Vec<u8> {
        self.0.sign(message).to_vec()
    }
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({})", self.public().id())
    }
}

fn text(path: &Path) -> Result<String> {
    let unreadable =
        |why: String| RegistryError::usage("unreadable", format!("the key {} cannot be read: {why}", shown_path(path)));
    let bytes = regular::read(path, LARGEST).map_err(|error| unreadable(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| unreadable(error.to_string()))
}

fn no_key(path: &Path, half: &str) -> RegistryError {
    RegistryError::usage("bad-key", format!("{} holds no {half} ed25519 key in PEM", shown_path(path)))
        .help("`auto-host registry keygen` makes one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_for_its_owner_alone_and_never_over_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key.pem");
        let key = PrivateKey::generate().unwrap();
        key.write_new(&path).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(PrivateKey::read(&path).unwrap().public(), key.public());
        let other = PrivateKey::generate().unwrap();
        assert_eq!(other.write_new(&path).unwrap_err().code, "key-exists");
        assert_eq!(PrivateKey::read(&path).unwrap().public(), key.public());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(PrivateKey::read(&path).unwrap_err().code, "key-open");
        assert_eq!(PublicKey::read(&path).unwrap_err().code, "bad-key");
        assert!(!format!("{key:?}").contains(&std::fs::read_to_string(&path).unwrap()[30..60]));
    }

    #[test]
    fn a_public_key_has_one_id_however_it_is_written() {
        let key = PrivateKey::generate().unwrap().public();
        assert_eq!(PublicKey::from_pem(&key.to_pem()), Some(key.clone()));
        assert_eq!(PublicKey::from_der(&key.to_der()), Some(key.clone()));
        assert_eq!(KeyId::parse(&key.id().to_string()), Some(key.id()));
        assert!(PublicKey::from_pem("").is_none() && PublicKey::from_der(&key.to_der()[1..]).is_none());
    }
}
