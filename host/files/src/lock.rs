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
    /// to `waiting` first. The folder must be there.
    pub fn take(path: &Path, mut waiting: impl FnMut(&Holder)) -> io::Result<Lock> {
        loop {
            let mut file = File::options().read(true).write(true).create(true).truncate(false).open(path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    waiting(&Holder::read(&mut file));
                    flock(&file, FlockOperation::LockExclusive)?;
                }
                Err(error) => return Err(error.into()),
            }
            // The last owner removed the file before letting go of it: lock the new one.
            if !is_at(&file, path) {
                continue;
            }
            let _ = introduce(&mut file);
            return Ok(Lock { path: path.to_owned(), _file: file });
        }
    }
}

/// Whether some process holds the lock that a file stands for.
pub fn is_held(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
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
    let who = format!("process {} on {}: {command}\n", std::process::id(), host.trim());
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(who.as_bytes())
}
