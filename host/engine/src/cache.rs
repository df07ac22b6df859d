//! The folder of what can be made again: compiled code and results of pass calls.
//!
//! Compiled code is executed unchecked, so the folder must belong to this user and be
//! closed to all others. Every entry carries the digest of its contents: a torn or
//! damaged one counts as absent and is written anew. Entries appear by renaming, so a
//! reader sees all of one or none.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use auto_schema::digest::Digest;

/// First bytes of an entry; changes when the layout does.
const MAGIC: &[u8] = b"auto-entry-1\n";

/// What an entry holds; a folder each.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Compiled components.
    Code,
    /// Results of calls.
    Memo,
    /// Compiled artifacts; the runtime's own folder.
    Artifacts,
}

impl Kind {
    fn folder(self) -> &'static str {
        match self {
            Kind::Code => "components",
            Kind::Memo => "memo",
            Kind::Artifacts => "artifacts",
        }
    }
}

/// A private folder.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// Opens a folder, making it where it is not there. The error says what is wrong and
    /// what to do.
    pub(crate) fn open(folder: &Path) -> Result<Cache, String> {
        let refuse = |what: String| format!("the cache folder {} {what}", folder.display());
        make(folder).map_err(|error| refuse(format!("cannot be made: {error}")))?;
        let found = fs::symlink_metadata(folder).map_err(|error| refuse(format!("cannot be read: {error}")))?;
        if !found.is_dir() {
            return Err(refuse("is not a folder; name another with --cache".to_owned()));
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(refuse("belongs to another user; name one of your own with --cache".to_owned()));
        }
        let mode = found.mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(refuse(format!("is open to others (mode {mode:o}); close it with chmod 700")));
        }
        Ok(Cache { folder: folder.to_owned() })
    }

    /// The folder of a kind.
    pub(crate) fn folder(&self, kind: Kind) -> PathBuf {
        self.folder.join(kind.folder())
    }

    /// The contents of an entry; nothing where it is absent or damaged.
    pub(crate) fn read(&self, kind: Kind, name: &str) -> Option<Vec<u8>> {
        let mut bytes = fs::read(self.path(kind, name)).ok()?;
        let (digest, contents) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
        if Digest::of(contents) != Digest(*digest) {
            return None;
        }
        bytes.drain(..MAGIC.len() + 32);
        Some(bytes)
    }

    /// Keeps an entry. A cache that cannot be written to only costs time, so failing is
    /// no error.
    pub(crate) fn write(&self, kind: Kind, name: &str, contents: &[u8]) {
        let path = self.path(kind, name);
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
    fn path(&self, kind: Kind, name: &str) -> PathBuf {
        self.folder(kind).join(name.get(..2).unwrap_or("--")).join(name)
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
