//! The one place where the host writes a file: it is there whole or not at all, whatever
//! dies in the middle; [`regular`], which reads files that somebody else may have put there;
//! and [`Lock`], by which one process at a time owns what it makes.
//!
//! A file is written beside its place under a temporary name and renamed. A process that is
//! killed leaves its temporary file behind; whoever next writes there removes it. So that
//! nobody removes one that is still being written, its writer holds a lock on it, which the
//! kernel lets go of when the process ends.
//!
//! SQLite writes its own files, and the journal appends to one.

mod lock;
pub mod regular;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

pub use lock::{Holder, Lock, is_held};

const PREFIX: &str = ".auto-";
const SUFFIX: &str = ".tmp";

/// Puts a file in its place and returns once a power cut cannot undo it: temporary file,
/// fsync, rename, fsync of the folder. Makes the folder where it is not there. On an error
/// the old file, if there was one, is still there.
pub fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = Staged::at(path)?;
    file.write_all(contents)?;
    file.commit()
}

/// A file that is being written, piece by piece, and is put in its place when all of it is there.
/// Dropping it leaves what was there before.
pub struct Staged {
    file: NamedTempFile,
    path: PathBuf,
}

impl Staged {
    /// Begins the file for a place, in the folder of that place, which is made where it is not there.
    pub fn at(path: &Path) -> io::Result<Staged> {
        let folder = folder_of(path);
        make_folder(folder)?;
        remove_abandoned(folder);
        Ok(Staged { file: temporary(folder, 0o666)?, path: path.to_owned() })
    }

    /// Puts it in its place, and returns once a power cut cannot undo it.
    pub fn commit(self) -> io::Result<()> {
        self.file.as_file().sync_all()?;
        self.file.persist(&self.path).map_err(|error| error.error)?;
        sync_folder(folder_of(&self.path))
    }
}

impl io::Write for Staged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Puts a file that can be made again, and that only this user may read, in its place: like
/// [`replace`], but a power cut may undo or tear it. The temporary file lies in the folder
/// `temporaries`, on the same file system.
pub fn place(path: &Path, contents: &[&[u8]], temporaries: &Path) -> io::Result<()> {
    let mut file = temporary(temporaries, 0o600)?;
    contents.iter().try_for_each(|part| file.write_all(part))?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Puts a new file that only this user may read, such as a key, in its place, and returns once a
/// power cut cannot undo it. What is there already stays, and is an error.
pub fn create_private(path: &Path, contents: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    make_folder(folder)?;
    let mut file = temporary(folder, 0o600)?;
    file.write_all(contents)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Makes a folder and those above it, and returns once a power cut cannot undo it.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let above = folder_of(folder);
    make_folder(above)?;
    match fs::create_dir(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !folder.is_dir() => Err(error),
        _ => sync_folder(above),
    }
}

/// Returns once what was made, renamed and removed in a folder is on disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// The folder a file lies in; `.` for a bare name.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes the temporary files of writers that are no more. What cannot be removed stays.
pub fn remove_abandoned(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes()) {
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    let file = regular::open_no_link(OpenOptions::new().read(true), path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    fs::remove_file(path)
}

/// A new temporary file, locked for as long as it is open.
fn temporary(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    loop {
        let file = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .permissions(Permissions::from_mode(mode))
            .tempfile_in(folder)?;
        // Somebody may have taken it for abandoned before it was locked, and has removed it or is
        // about to. A file system without locks has nobody remove anything.
        let locked = flock(file.as_file(), FlockOperation::NonBlockingLockExclusive);
        if locked != Err(rustix::io::Errno::WOULDBLOCK) && file.as_file().metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
}
