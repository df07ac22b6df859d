//! Who owns something that only one process at a time may make.
//!
//! The kernel lets go of a lock when its process ends, however it ends, so no lock is ever
//! stale. The file says who holds it, for those who wait; one that a killed process left
//! behind is nobody's, and the next owner's.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::regular;

/// How a lock file begins.
const WHO: &str = "process ";

/// A lock that this process holds until it is dropped.
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    /// Open for as long as the lock is held.
    _file: File,
}

/// Who holds a lock, as far as the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Process, machine and command.
    pub who: String,
    /// For how long.
    pub since: Duration,
}

impl Lock {
    /// Takes the lock that a file stands for, and waits for whoever holds it, who is told
    /// to `waiting` first. The folder must be there. What is at that place and is no lock
    /// file is left alone, and is an error.
    pub fn take(path: &Path, mut waiting: impl FnMut(&Holder)) -> io::Result<Lock> {
        loop {
            let mut file = open(path)?;
            if !try_lock(&file)? {
                waiting(&Holder::read(&mut file));
                flock(&file, FlockOperation::LockExclusive)?;
            }
            // The last owner removed the file before letting go of it: lock the new one.
            if is_at(&file, path) {
                return Ok(Lock::of(path, file));
            }
        }
    }

    /// The same without waiting: none where somebody holds it.
    pub fn try_take(path: &Path) -> io::Result<Option<Lock>> {
        loop {
            let file = open(path)?;
            if !try_lock(&file)? {
                return Ok(None);
            }
            if is_at(&file, path) {
                return Ok(Some(Lock::of(path, file)));
            }
        }
    }

    fn of(path: &Path, mut file: File) -> Lock {
        let _ = introduce(&mut file);
        Lock { path: path.to_owned(), _file: file }
    }
}

/// Opens the file of a lock, and makes it where there is none.
fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = regular::open_no_link(&mut options, path)?;
    if is_lock(&mut file)? {
        return Ok(file);
    }
    let what = format!("{} is in the way: it is no lock file", path.display());
    Err(io::Error::new(io::ErrorKind::AlreadyExists, what))
}

fn try_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether some process holds the lock that a file stands for.
pub fn is_held(path: &Path) -> bool {
    let Ok(file) = regular::open_no_link(File::options().read(true), path) else { return false };
    // Given back at once: the file is closed here.
    matches!(flock(&file, FlockOperation::NonBlockingLockShared), Err(Errno::WOULDBLOCK))
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still locked, so that nobody else's is removed.
        let _ = fs::remove_file(&self.path);
    }
}

impl Holder {
    fn read(file: &mut File) -> Holder {
        let mut who = String::new();
        let _ = file.take(4096).read_to_string(&mut who);
        let since = file.metadata().and_then(|found| found.modified());
        let since = since.ok().and_then(|time| SystemTime::now().duration_since(time).ok()).unwrap_or_default();
        let who = who.trim();
        // Between taking the lock and writing there is a moment; a full disk makes it long.
        Holder { who: if who.is_empty() { "another process" } else { who }.to_owned(), since }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, for {} s now", self.who, self.since.as_secs())
    }
}

/// Whether a file is empty or says who held it.
fn is_lock(file: &mut File) -> io::Result<bool> {
    let mut start = Vec::new();
    file.rewind()?;
    file.take(WHO.len() as u64).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(WHO.as_bytes().starts_with(&start))
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

/// Writes who we are; the file's time is when it was.
fn introduce(file: &mut File) -> io::Result<()> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
    let who = format!("{WHO}{} on {}: {command}\n", std::process::id(), host.trim());
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(who.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(path: &Path) -> io::Result<Lock> {
        Lock::take(path, |holder| panic!("it is held by {holder}"))
    }

    #[test]
    fn what_is_no_lock_file_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("notes"), folder.path().join("link"));
        fs::write(&file, "notes of somebody's").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert!(take(&file).unwrap_err().to_string().contains("no lock file"));
        assert!(take(&link).is_err() && take(folder.path()).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "notes of somebody's");
    }

    #[test]
    fn the_file_says_who_holds_it_and_goes_with_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        fs::write(&path, "process 1 on a machine that lost its power: long gone\n").unwrap();
        let lock = take(&path).unwrap();
        assert!(is_held(&path) && Lock::try_take(&path).unwrap().is_none());
        assert!(fs::read_to_string(&path).unwrap().starts_with(&format!("process {} on ", std::process::id())));
        drop(lock);
        assert!(!path.exists() && !is_held(&path));
        assert!(Lock::try_take(&path).unwrap().is_some() && !path.exists());
    }
}
