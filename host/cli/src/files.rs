//! Reading and writing files: whole, and never half.

use std::fs::{self, File, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

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

/// Writes a file so that it is there whole or not at all: a temporary file beside it,
/// fsync, rename, fsync of the folder. `-` is stdout. A link is followed; what is there
/// and is no regular file is refused.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let path = if path.as_os_str() == "-" { path } else { &target };
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        let message = format!("cannot write {}: it is there and is no regular file", path.display());
        return Err(Failure::new(Exit::Refused, "unwritable", message).help("choose another place"));
    }
    let result = if path.as_os_str() == "-" { std::io::stdout().lock().write_all(bytes) } else { replace(path, bytes) };
    result.map_err(|error| {
        Failure::new(Exit::Refused, "unwritable", format!("cannot write {}: {error}", path.display()))
            .help("nothing was changed; free some space or choose another place")
    })
}

fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file =
        tempfile::Builder::new().prefix(".auto-").permissions(Permissions::from_mode(0o666)).tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}
