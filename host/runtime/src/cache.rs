//! Compiled code on disk, so that a program is compiled once a machine.
//!
//! Compiled code is executed unchecked, so none is read that this user did not write: the
//! folder must belong to this user and be closed to everybody else. A file is named by the
//! digest of the module and the compatibility hash of the engine, and starts with the digest
//! of its contents, so that a torn or damaged one is compiled again rather than run. Files
//! are put in place by renaming, so that readers see all of one or none.

use std::fs;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use auto_schema::digest::{self, Digest};
use wasmtime::{Engine, Module};

use crate::error::LoadError;

/// First bytes of a file; changes when its layout does.
const MAGIC: &[u8] = b"auto-code-1\n";

/// A private folder of compiled code.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens a folder, making it (and those above it) where it is not there. Refuses one
    /// that somebody else owns or may enter.
    pub fn open(folder: PathBuf) -> Result<Cache, LoadError> {
        let refuse = |message: String| LoadError::Cache { folder: folder.clone(), message };
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(|error| refuse(format!("cannot be made: {error}")))?;
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

    /// The module's compiled form: from the folder where it is there and intact, compiled
    /// and kept otherwise.
    pub fn compile(&self, engine: &Engine, module: &[u8]) -> wasmtime::Result<Module> {
        let path = self.folder.join(name(engine, module));
        if let Some(module) = read(engine, &path) {
            return Ok(module);
        }
        let compiled = Module::new(engine, module)?;
        // A cache that cannot be written to (a full disk, a read-only one) only costs time.
        let _ = compiled.serialize().map(|code| self.keep(&path, &code));
        Ok(compiled)
    }

    fn keep(&self, path: &Path, code: &[u8]) -> std::io::Result<()> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let temporary = self.folder.join(format!(".{}-{number}.tmp", std::process::id()));
        let written = write(&temporary, code).and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }
}

fn write(path: &Path, code: &[u8]) -> std::io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(MAGIC)?;
    file.write_all(Digest::of(code).as_bytes())?;
    file.write_all(code)?;
    file.sync_all()
}

/// Nothing where there is no intact file of this engine's.
fn read(engine: &Engine, path: &Path) -> Option<Module> {
    let bytes = fs::read(path).ok()?;
    let (digest, code) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
    if Digest::of(code) != Digest(*digest) {
        return None;
    }
    // SAFETY: the bytes are what `write` was given (the digest says so) by a process of
    // this user (the folder is closed to others), which got them from `Module::serialize`.
    // wasmtime itself checks that its version and settings are the same.
    unsafe { Module::deserialize(engine, code) }.ok()
}

/// The file name: module digest and engine, so that neither can stand in for another.
fn name(engine: &Engine, module: &[u8]) -> String {
    let mut hasher = Sha256(digest::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{}-{}.code", Digest::of(module), &hasher.0.finish().to_string()[..16])
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
