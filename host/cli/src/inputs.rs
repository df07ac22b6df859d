//! What this process reads, so that nothing it writes can replace any of it: one typing error
//! would put an artifact in the place of a person's recordings.
//!
//! Whoever reads a file notes it, before or while it is read; whoever writes one asks. Files
//! are told apart by what they are and by where they lie, so that neither another spelling of
//! the path, nor a link, nor a hard link gets around it, nor a file that is not there yet.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use auto_store::beside;

static READ: Mutex<Vec<Input>> = Mutex::new(Vec::new());

struct Input {
    /// As it was named.
    path: PathBuf,
    place: Place,
    /// Whether everything in it is meant: it is a folder of ours.
    whole: bool,
}

/// What a path names.
#[derive(PartialEq)]
struct Place {
    /// The file, where there is one: device and number.
    file: Option<(u64, u64)>,
    /// Its name in the folder it lies in, and the same with links followed.
    names: [Option<(PathBuf, OsString)>; 2],
}

impl Place {
    fn of(path: &Path) -> Place {
        let file = fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
        let followed = fs::canonicalize(path).ok();
        Place { file, names: [name(path), followed.as_deref().and_then(name)] }
    }

    fn is(&self, other: &Place) -> bool {
        let same = |name: &Option<(PathBuf, OsString)>| name.is_some() && other.names.contains(name);
        (self.file.is_some() && self.file == other.file) || self.names.iter().any(same)
    }

    /// Whether it lies in a folder, however deep.
    fn is_in(&self, folder: &Place) -> bool {
        let names = folder.names.iter().flatten().map(|(above, name)| above.join(name));
        let folders: Vec<PathBuf> = names.collect();
        self.names.iter().flatten().any(|(own, _)| folders.iter().any(|folder| own.starts_with(folder)))
    }
}

/// The folder, as it is without links, and the name in it.
fn name(path: &Path) -> Option<(PathBuf, OsString)> {
    let folder = fs::canonicalize(auto_files::folder_of(path)).ok()?;
    Some((folder, path.file_name()?.to_owned()))
}

fn inputs() -> MutexGuard<'static, Vec<Input>> {
    READ.lock().unwrap_or_else(PoisonError::into_inner)
}

fn add(path: &Path, whole: bool) {
    let place = Place::of(path);
    let mut inputs = inputs();
    // What looks at the same files again and again notes each as it is once.
    let known = |input: &Input| input.path == path && input.whole == whole && input.place == place;
    if !inputs.iter().any(known) {
        inputs.push(Input { path: path.to_owned(), place, whole });
    }
}

/// A file is read.
pub fn note(path: &Path) {
    add(path, false);
}

/// Everything in a folder may be read.
pub fn note_folder(path: &Path) {
    add(path, true);
}

/// A store is read: the file, what SQLite keeps beside it, and what recordings leave there.
pub fn note_store(path: &Path) {
    note(path);
    for suffix in ["-wal", "-shm", "-journal"] {
        note(&beside(path, suffix));
    }
    note_folder(&beside(path, ".spool"));
}

/// What would be lost if the file at a path were replaced: the input that it is, as it was
/// named.
pub fn lost(output: &Path) -> Option<PathBuf> {
    let output = Place::of(output);
    let lost = |input: &&Input| output.is(&input.place) || (input.whole && output.is_in(&input.place));
    inputs().iter().find(lost).map(|input| input.path.clone())
}
