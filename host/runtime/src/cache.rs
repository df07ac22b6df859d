//! A private folder for what can be made again: compiled code, and whatever else the host
//! would rather not make twice.
//!
//! Compiled code is executed unchecked, so none is read that this user did not write: the
//! folder must belong to this user and be closed to everybody else. An entry starts with the
//! digest of its name and contents, so that one which is torn, damaged or another's counts
//! as absent and is made anew. Entries are put in place by renaming, so that readers see all
//! of one or none. Compiled code is named by the digest of what was compiled and the
//! compatibility hash of the engine.
//!
//! The folder is kept below a bound: what was not read for longest goes first. How much
//! there is stands in a file that is locked while an entry is written, so that many
//! processes together keep the bound too. A crash leaves the figure too high, never too
//! low, and it is counted anew when the bound is reached.

use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use auto_files::regular;
use auto_schema::digest::{self, Digest};
use rustix::fs::{FlockOperation, flock};
use wasmtime::{Engine, Module};

use crate::error::LoadError;

/// First bytes of an entry; changes when the layout does.
const MAGIC: &[u8] = b"auto-entry-2\n";

/// The most bytes that a cache folder takes unless another bound is given.
pub const CACHE_BYTES: u64 = 1 << 30;

/// What a file takes on disk is a multiple of this.
const BLOCK: u64 = 4096;

/// How old the time of an entry may get before reading it makes it new: each change costs
/// a write.
const FRESH: Duration = Duration::from_secs(3600);

/// In the cache folder: where entries are written before they are put in place, and how
/// much all of them take.
const TEMPORARIES: &str = "tmp";
const SIZE: &str = "size";

/// A private folder of entries, or a part of one.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Where everything lies that the bound is for.
    root: PathBuf,
    folder: PathBuf,
    bound: u64,
}

impl Cache {
    /// Opens a folder, making it (and those above it) where it is not there. Refuses one
    /// that somebody else owns or may enter. All of it is kept below `bound` bytes.
    pub fn open(folder: PathBuf, bound: u64) -> Result<Cache, LoadError> {
        private(&folder)?;
        let temporaries = folder.join(TEMPORARIES);
        private(&temporaries)?;
        auto_files::remove_abandoned(&temporaries);
        Ok(Cache { root: folder.clone(), folder, bound })
    }

    /// A folder in it with names of its own, under the same bound.
    pub fn part(&self, name: &str) -> Result<Cache, LoadError> {
        let folder = self.folder.join(name);
        private(&folder)?;
        Ok(Cache { folder, ..self.clone() })
    }

    /// The contents of an entry; nothing where it is absent or not intact.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        let file = regular::open(&self.path(name)).ok()?;
        let found = file.metadata().ok()?;
        let mut bytes = Vec::new();
        regular::read_at_most(&file, self.bound.max(CACHE_BYTES), &mut bytes).ok()?;
        let (digest, contents) = bytes.strip_prefix(MAGIC)?.split_first_chunk::<32>()?;
        if entry_digest(name, contents) != Digest(*digest) {
            return None;
        }
        let now = SystemTime::now();
        if found.modified().is_ok_and(|time| now.duration_since(time).is_ok_and(|age| age > FRESH)) {
            let _ = file.set_modified(now);
        }
        bytes.drain(..MAGIC.len() + 32);
        Some(bytes)
    }

    /// Keeps an entry. A cache that cannot be written to (a full disk, a read-only one) only
    /// costs time, so that is no error.
    pub fn write(&self, name: &str, contents: &[u8]) {
        let _ = self.put(name, contents);
    }

    fn put(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        let bytes = footprint((MAGIC.len() + 32 + contents.len()) as u64);
        if bytes > self.bound {
            return Ok(());
        }
        let path = self.path(name);
        make(auto_files::folder_of(&path))?;
        // Locked until the entry is in its place, so that nobody counts without it.
        let _counted = self.admit(bytes)?;
        // Not synced: what a crash of the machine tears, the digest gives away.
        let digest = entry_digest(name, contents);
        auto_files::place(&path, &[MAGIC, digest.as_bytes(), contents], &self.root.join(TEMPORARIES))
    }

    /// Makes room, and counts what is about to be written. The file is locked.
    fn admit(&self, bytes: u64) -> io::Result<File> {
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = regular::open_with(&mut options, &self.root.join(SIZE))?;
        flock(&file, FlockOperation::LockExclusive)?;
        let known = read_size(&file).filter(|known| known.saturating_add(bytes) <= self.bound);
        let known = known.map_or_else(|| self.evict(bytes), Ok)?;
        write_size(&file, known + bytes)?;
        Ok(file)
    }

    /// Removes what was not read for longest until so much fits, and an eighth more, so that
    /// the next entry need not do it again. Gives what is left.
    fn evict(&self, bytes: u64) -> io::Result<u64> {
        let mut entries = Vec::new();
        list(&self.root, &mut entries)?;
        let mut total = entries.iter().map(|entry| entry.bytes).sum::<u64>();
        if total + bytes <= self.bound {
            return Ok(total);
        }
        entries.sort_by(|a, b| (a.time, &a.path).cmp(&(b.time, &b.path)));
        let aim = (self.bound - self.bound / 8).saturating_sub(bytes);
        for entry in entries {
            if total <= aim {
                break;
            }
            fs::remove_file(&entry.path)?;
            total -= entry.bytes;
        }
        Ok(total)
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

/// A folder that this user alone may enter; made where it is not there.
fn private(folder: &Path) -> Result<(), LoadError> {
    let refuse = |message: String| Err(LoadError::Cache { folder: folder.to_owned(), message });
    if let Err(error) = make(folder) {
        return refuse(format!("cannot be made: {error}"));
    }
    let found = match fs::symlink_metadata(folder) {
        Ok(found) => found,
        Err(error) => return refuse(format!("cannot be read: {error}")),
    };
    if !found.is_dir() {
        return refuse("is not a folder; name another one or remove it".into());
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return refuse("belongs to another user; name one of your own".into());
    }
    match found.mode() & 0o777 {
        mode if mode & 0o077 != 0 => refuse(format!("is open to others (mode {mode:o}); close it with chmod 700")),
        _ => Ok(()),
    }
}

fn make(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// The name is in it, so that no entry can stand in for another.
fn entry_digest(name: &str, contents: &[u8]) -> Digest {
    let mut hasher = digest::Hasher::new();
    hasher.update((name.len() as u64).to_le_bytes());
    hasher.update(name);
    hasher.update(contents);
    hasher.finish()
}

/// What is known of an entry without reading it.
struct Entry {
    path: PathBuf,
    bytes: u64,
    time: SystemTime,
}

/// Every file below a folder but those that are no entries; links are not followed.
fn list(folder: &Path, entries: &mut Vec<Entry>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Another process may have removed it meanwhile.
        let Ok(found) = entry.metadata() else { continue };
        if found.is_dir() && entry.file_name() != TEMPORARIES {
            list(&entry.path(), entries)?;
        } else if found.is_file() && entry.file_name() != SIZE {
            entries.push(Entry { path: entry.path(), bytes: footprint(found.len()), time: found.modified()? });
        }
    }
    Ok(())
}

fn footprint(bytes: u64) -> u64 {
    bytes.next_multiple_of(BLOCK)
}

/// The figure, twice; nothing where a crash tore it.
fn read_size(file: &File) -> Option<u64> {
    let mut bytes = [0; 16];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let (size, again) = bytes.split_at(8);
    let size = u64::from_le_bytes(size.try_into().ok()?);
    (again == (!size).to_le_bytes()).then_some(size)
}

fn write_size(file: &File, size: u64) -> io::Result<()> {
    file.write_all_at(&[size.to_le_bytes(), (!size).to_le_bytes()].concat(), 0)
}

/// Whether bytes are compiled code, as wasmtime writes it or as we keep it. It is executed
/// unchecked, so none is taken from a file that somebody names.
pub fn is_precompiled(bytes: &[u8]) -> bool {
    // Before it stands what it was compiled from, beside a component; in a cache also what
    // an entry starts with.
    let offsets = [0, 32, MAGIC.len() + 32];
    offsets.iter().any(|&offset| bytes.get(offset..).is_some_and(|code| Engine::detect_precompiled(code).is_some()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn name(n: u64) -> String {
        Digest::of(&n.to_le_bytes()).to_string()
    }

    fn bytes(cache: &Cache) -> u64 {
        let mut entries = Vec::new();
        list(&cache.root, &mut entries).unwrap();
        entries.iter().map(|entry| entry.bytes).sum()
    }

    fn age(cache: &Cache, name: &str, hours: u64) {
        let file = File::open(cache.path(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).unwrap();
    }

    #[test]
    fn what_was_not_read_for_longest_goes_first() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().join("cache"), 10 * BLOCK).unwrap();
        for n in 0..10 {
            cache.write(&name(n), &[1; 100]);
            age(&cache, &name(n), 20 - n);
        }
        assert!(cache.read(&name(0)).is_some(), "reading it makes it new");
        cache.write(&name(10), &[1; 100]);
        let kept: Vec<u64> = (0..11).filter(|n| cache.read(&name(*n)).is_some()).collect();
        assert_eq!(kept, [0, 4, 5, 6, 7, 8, 9, 10], "an eighth more than needed goes");
    }

    #[test]
    fn what_is_larger_than_the_bound_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().join("cache"), 2 * BLOCK).unwrap();
        cache.write(&name(1), &[1; 100]);
        cache.write(&name(2), &[1; 3 * BLOCK as usize]);
        assert!(cache.read(&name(2)).is_none());
        assert!(cache.read(&name(1)).is_some(), "and nothing goes for it");
    }

    #[test]
    fn many_writers_keep_the_bound_together() {
        let folder = tempfile::tempdir().unwrap();
        let bound = 20 * BLOCK;
        let open = || Cache::open(folder.path().join("cache"), bound).unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || {
                    // Each as a process of its own would: nothing is shared but the folder.
                    let part = open().part(["a", "b"][writer % 2]).unwrap();
                    for n in 0..100 {
                        let n = n * 4 + writer as u64;
                        part.write(&name(n), &[2; 5000]);
                        assert!(part.read(&name(n)).is_none_or(|contents| contents == [2; 5000]));
                    }
                });
            }
        });
        assert!(bytes(&open()) <= bound, "{}", bytes(&open()));
        assert!(bytes(&open()) > bound / 2);
    }

    #[test]
    fn a_size_that_is_torn_is_counted_anew() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().join("cache"), 4 * BLOCK).unwrap();
        for n in 0..20 {
            fs::write(cache.root.join(SIZE), [&b""[..], b"torn", &[0; 16]][n % 3]).unwrap();
            cache.write(&name(n as u64), &[1; 100]);
            assert!(bytes(&cache) <= 4 * BLOCK);
        }
    }

    #[test]
    fn temporary_files_of_the_dead_are_removed_and_those_of_the_living_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(folder.path().join("cache"), CACHE_BYTES).unwrap();
        let temporaries = cache.root.join(TEMPORARIES);
        let (dead, living) = (temporaries.join(".auto-dead.tmp"), temporaries.join(".auto-living.tmp"));
        fs::write(&dead, "half").unwrap();
        let file = File::create(&living).unwrap();
        flock(&file, FlockOperation::LockExclusive).unwrap();
        Cache::open(cache.root.clone(), CACHE_BYTES).unwrap();
        assert!(!dead.exists() && living.exists());
    }
}
