//! Reading and writing files that the command line names.

use std::fmt::Display;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use auto_files::{Holder, Lock};
use auto_runtime::LoadError;

use crate::failure::Failure;
use crate::reply::Exit;

/// Reads a file; `-` is stdin.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let result = if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    result.map_err(|error| unreadable(path, &error))
}

/// The failure for a file that cannot be read.
pub fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Usage, "unreadable", format!("cannot read {}: {error}", path.display()))
}

/// Reads what is to be WebAssembly; precompiled code is refused by name.
pub fn read_wasm(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = read(path)?;
    match auto_runtime::is_precompiled(&bytes) {
        true => Err(Failure::from(LoadError::Precompiled).at(path.display().to_string())),
        false => Ok(bytes),
    }
}

/// Refuses to write to a file that the same command reads: one typing error would replace
/// a person's recordings by an artifact.
pub fn distinct(output: &Path, inputs: &[&Path]) -> Result<(), Failure> {
    let same = |input: &&&Path| match (fs::metadata(input), fs::metadata(output)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => *input == &output,
    };
    match inputs.iter().find(same) {
        None => Ok(()),
        Some(input) => {
            let message = format!("{} would be replaced by what is made from {}", output.display(), input.display());
            Err(Failure::new(Exit::Usage, "same-file", message).help("give another file to write to"))
        }
    }
}

/// Writes a file so that it is there whole or not at all. `-` is stdout. A link is
/// followed; what is there and is no regular file is refused.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let result = match target(path)? {
        Some(target) => auto_files::replace(&target, bytes),
        None => std::io::stdout().lock().write_all(bytes),
    };
    result.map_err(|error| unwritable(path, &error))
}

/// Makes this process the only one that makes the file at `path`, for as long as the lock
/// is kept; waits for one that is at it, and says so. No lock is needed for stdout.
pub fn own(path: &Path) -> Result<Option<Lock>, Failure> {
    let Some(target) = target(path)? else { return Ok(None) };
    let folder = auto_files::folder_of(&target);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let lock = auto_files::make_folder(folder)
        .and_then(|()| Lock::take(&folder.join(format!(".{name}.lock")), |holder| wait(&path.display(), holder)));
    lock.map(Some).map_err(|error| unwritable(path, &error))
}

/// Says on stderr who is waited for.
pub fn wait(what: &dyn Display, holder: &Holder) {
    eprintln!("waiting for {what}, which is being made by {holder}");
}

/// Where bytes for `path` go; none is stdout.
fn target(path: &Path) -> Result<Option<PathBuf>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(None);
    }
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        let message = format!("cannot write {}: it is there and is no regular file", target.display());
        return Err(Failure::new(Exit::Refused, "unwritable", message).help("choose another place"));
    }
    Ok(Some(target))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Refused, "unwritable", format!("cannot write {}: {error}", path.display()))
        .help("nothing was changed; free some space or choose another place")
}
