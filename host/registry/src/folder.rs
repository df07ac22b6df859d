//! The folder: objects by their digest, which never change, and an index that is replaced whole.
//!
//! ```text
//! index.json      what is there; the last line is the SHA-256 of the rest
//! objects/DIGEST  artifacts, bundles of envelopes, logs of tags
//! .lock           while somebody writes
//! ```
//!
//! A change writes its objects first and then the index, so a crash leaves the old state or the
//! new one, and perhaps objects that nothing leads to.

use std::io;
use std::path::{Path, PathBuf};

use auto_files::{Holder, Lock, regular};
use auto_schema::digest::Digest;
use auto_schema::shown_path;

use crate::error::RegistryError;
use crate::index::{Index, Unreadable};
use crate::{LARGEST_ARTIFACT, Result};

const LARGEST_INDEX: u64 = 256 << 20;

#[derive(Clone, Debug)]
pub(crate) struct Folder {
    root: PathBuf,
}

impl Folder {
    pub(crate) fn at(root: &Path) -> Folder {
        Folder { root: root.to_owned() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    fn index_path(&self) -> PathBuf {
        self.root.join("index.json")
    }

    pub(crate) fn objects_path(&self) -> PathBuf {
        self.root.join("objects")
    }

    pub(crate) fn object_path(&self, digest: Digest) -> PathBuf {
        self.objects_path().join(digest.to_string())
    }

    /// Whether a registry is there.
    pub(crate) fn exists(&self) -> bool {
        self.index_path().symlink_metadata().is_ok()
    }

    /// Whether anything is kept there.
    pub(crate) fn has_objects(&self) -> bool {
        self.objects_path().read_dir().is_ok_and(|mut found| found.next().is_some())
    }

    /// The index and the digest of its bytes. Codes: `no-registry`, `registry-damaged`,
    /// `registry-version`, `unreadable`.
    pub(crate) fn index(&self) -> Result<(Index, Digest)> {
        let path = self.index_path();
        let bytes = regular::read(&path, LARGEST_INDEX).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => self.missing(),
            _ => RegistryError::refused("unreadable", format!("cannot read {}: {error}", shown_path(&path))),
        })?;
        let index = Index::from_bytes(&bytes).map_err(|why| match why {
            Unreadable::Damaged => damaged(format!("the index {} is damaged", shown_path(&path))),
            Unreadable::Version(version) => RegistryError::refused(
                "registry-version",
                format!("{} is of version {version}; this program reads 1", shown_path(&path)),
            ),
        })?;
        Ok((index, Digest::of(&bytes)))
    }

    fn missing(&self) -> RegistryError {
        // Objects without an index are what is left of a registry, not a new one.
        if self.has_objects() {
            return damaged(format!("the index of {} is gone", shown_path(&self.root)));
        }
        RegistryError::usage("no-registry", format!("there is no registry in {}", shown_path(&self.root)))
            .help("name one with --registry, $AUTO_REGISTRY or auto.toml; `registry add` and `pull` make one")
    }

    /// An object, held against its digest. Codes: `object-missing`, `object-damaged`.
    pub(crate) fn object(&self, digest: Digest) -> Result<Vec<u8>> {
        let path = self.object_path(digest);
        let bytes = regular::read(&path, LARGEST_ARTIFACT).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                RegistryError::integrity("object-missing", format!("{} is gone", shown_path(&path)))
                    .help("pull or add it again")
            }
            _ => RegistryError::integrity("object-damaged", format!("cannot read {}: {error}", shown_path(&path))),
        })?;
        match Digest::of(&bytes) == digest {
            true => Ok(bytes),
            false => Err(RegistryError::integrity(
                "object-damaged",
                format!("{} is damaged: its bytes are not those of its name", shown_path(&path)),
            )
            .help("pull or add it again; nothing in it can be trusted")),
        }
    }

    /// Writes an object where it is not there, whole.
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<Digest> {
        let digest = Digest::of(bytes);
        if self.object(digest).is_err() {
            let path = self.object_path(digest);
            auto_files::replace(&path, bytes).map_err(|error| RegistryError::unwritable(&path, &error))?;
        }
        Ok(digest)
    }

    /// Makes an index the one that counts.
    pub(crate) fn commit(&self, index: &Index) -> Result<()> {
        let path = self.index_path();
        auto_files::replace(&path, &index.to_bytes()).map_err(|error| RegistryError::unwritable(&path, &error))
    }

    /// Makes this process the only one that writes, for as long as the lock is kept.
    pub(crate) fn lock(&self, waiting: impl FnMut(&Holder)) -> Result<Lock> {
        let path = self.root.join(".lock");
        auto_files::make_folder(&self.root)
            .and_then(|()| Lock::take(&path, waiting))
            .map_err(|error| RegistryError::unwritable(&path, &error))
    }
}

fn damaged(message: String) -> RegistryError {
    RegistryError::integrity("registry-damaged", message)
        .help("take the folder from a backup, or pull into a new one; nothing in this one can be trusted")
}
