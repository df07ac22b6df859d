//! A private folder for what can be made again: compiled code, and whatever else the host
//! would rather not make twice.
//!
//! Compiled code is executed unchecked, so none is read that this user did not write: the
//! folder must belong to this user and be closed to everybody else. An entry starts with the
//! digest of its contents, so that a torn or damaged one counts as absent and is made anew.
//! Entries are put in place by renaming, so that readers see all of one or none. Compiled
//! code is named by the digest of what was compiled and the compatibility hash of the engine.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use auto_schema::digest::{self, Digest};
use wasmtime::{Engine, Module};

use crate::error::LoadError;

/// First bytes of an entry; changes when the layout does.
const MAGIC: &[u8] = b"auto-entry-1\n";

/// A private folder of entries.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens a folder, making it (and those above it) where it is not there. Refuses one
    /// that somebody else owns or may enter.
    pub fn open(folder: PathBuf) -> Result<Cache, LoadError> {
        let refuse = |message: String| LoadError::Cache { folder: folder.clone(), message };
        make(&folder).map_err(|error| refuse(format!("cannot be made: {error}")))?;
        let found = fs::symlink_metadata(&folder).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        if !found.is_dir() {
            return Err(refuse("is not a folder; name another one or remove it".into()));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(refuse("belongs to another user; name one of your own".into()));
        }
        if found.mode() & 0o077 != 0 {
            let mode = found.mode() & 0o777;
            return Err(refuse(format!("is open to others (mode {mode:o}); close it with chmod 700")));
        }
        Ok(Cache { folder })
    }

    /// The contents of an entry; nothing where it is absent or not intact.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = fs::read(self.path(name)).ok()?;
        let (digest, contents) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
        if Digest::of(contents) != Digest(*digest) {
            return None;
        }
        bytes.drain(..MAGIC.len() + 32);
        Some(bytes)
    }

    /// Keeps an entry. A cache that cannot be written to (a full disk, a read-only one) only
    /// costs time, so that is no error.
    pub fn write(&self, name: &str, contents: &[u8]) {
        let path = self.path(name);
        let _ = path.parent().map(make).transpose().and_then(|_| self.place(&path, contents));
    }

    fn place(&self, path: &Path, contents: &[u8]) -> std::io::Result<()> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!(".{}-{number}.tmp", std::process::id()));
        let written = fill(&temporary, contents).and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Two digits of the name make a folder, so that none grows too long.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name.get(..2).unwrap_or("--")).join(name)
    }

    /// The module's compiled form: from the folder where it is there and intact, compiled
    /// and kept otherwise.
    pub(crate) fn compile(&self, engine: &Engine, module: &[u8]) -> wasmtime::Result<Module> {
        let name = code_name(engine, Digest::of(module));
        if let Some(code) = self.read(&name) {
            // SAFETY: the bytes are what `write` was given (the digest says so) by a process
            // of this user (the folder is closed to others), which got them from
            // `Module::serialize`. wasmtime itself checks that its version and settings are
            // the same.
            if let Ok(module) = unsafe { Module::deserialize(engine, code) } {
                return Ok(module);
            }
        }
        let compiled = Module::new(engine, module)?;
        let _ = compiled.serialize().map(|code| self.write(&name, &code));
        Ok(compiled)
    }
}

fn make(folder: &Path) -> std::io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Not synced: what a crash of the machine tears, the digest gives away.
fn fill(path: &Path, contents: &[u8]) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(MAGIC)?;
    file.write_all(Digest::of(contents).as_bytes())?;
    file.write_all(contents)
}

/// The name for compiled code: what was compiled and by which engine, so that neither can
/// stand in for another.
pub fn code_name(engine: &Engine, source: Digest) -> String {
    let mut hasher = Sha256(digest::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{source}-{}.code", &hasher.0.finish().to_string()[..16])
}

/// Lets `Hash` write into SHA-256.
struct Sha256(digest::Hasher);

impl Hasher for Sha256 {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        // `Hash` never asks; the digest is taken from the inside.
        0
    }
}
