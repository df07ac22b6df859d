//! Reading and writing files that the command line names.

use std::fmt::Display;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use auto_files::{Holder, Lock, Staged, regular};
use auto_runtime::LoadError;
use auto_schema::contract::{Contract, Predicate};
use auto_schema::{shown, shown_path};
use auto_store::Store;

use crate::failure::Failure;
use crate::inputs;
use crate::reply::Exit;

/// The most bytes that are read of a file.
pub const LARGEST: u64 = 1 << 30;

/// The same of what is no file and may never end: stdin, a pipe, a device.
const LARGEST_STREAM: u64 = 256 << 20;

/// The most bytes of a contract.
const LARGEST_CONTRACT: u64 = 16 << 20;

/// Reads what the command line names; `-` is stdin. A pipe is read as well as a file, to its
/// end or to as much as is read of anything.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_at_most(path, LARGEST)
}

fn read_at_most(path: &Path, most: u64) -> Result<Vec<u8>, Failure> {
    let stream = |from: &mut dyn io::Read| {
        let mut bytes = Vec::new();
        regular::read_at_most(from, most.min(LARGEST_STREAM), &mut bytes).map(|()| bytes)
    };
    let result = if is_stdin(path) {
        stream(&mut io::stdin().lock())
    } else {
        inputs::note(path);
        match fs::metadata(path) {
            Ok(found) if found.is_file() => regular::read(path, most),
            _ => fs::File::open(path).and_then(|mut file| stream(&mut file)),
        }
    };
    result.map_err(|error| unreadable(path, &error))
}

/// Reads a file that the command line does not name itself: somebody else may have put it
/// there, so it has to be one.
pub fn read_regular(path: &Path) -> Result<Vec<u8>, Failure> {
    found(path).map_err(|error| unreadable(path, &error))
}

fn found(path: &Path) -> io::Result<Vec<u8>> {
    inputs::note(path);
    regular::read(path, LARGEST)
}

/// The same, to be read bit by bit.
pub fn reader(path: &Path) -> Result<Box<dyn io::BufRead>, Failure> {
    if is_stdin(path) {
        return Ok(Box::new(io::stdin().lock()));
    }
    inputs::note(path);
    let opened = fs::File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    opened.map(|file| Box::new(io::BufReader::new(file)) as _).map_err(|error| unreadable(path, &error))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The failure for a file that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::FileTooLarge => {
            Failure::new(Exit::Refused, "too-large", format!("{}: {error}", shown_path(path)))
                .help("no more is read of anything; split it")
        }
        _ => Failure::new(Exit::Usage, "unreadable", format!("cannot read {}: {error}", shown_path(path))),
    }
}

/// Reads what is to be WebAssembly; precompiled code is refused by name.
pub fn read_wasm(path: &Path) -> Result<Vec<u8>, Failure> {
    let bytes = read(path)?;
    match auto_runtime::is_precompiled(&bytes) {
        true => Err(Failure::from(LoadError::Precompiled).at(shown_path(path))),
        false => Ok(bytes),
    }
}

/// Reads a contract, with the eval sets and predicates that it names.
pub fn contract(path: &Path) -> Result<(Contract, Vec<Predicate>), Failure> {
    let bytes = read_at_most(path, LARGEST_CONTRACT)?;
    let text = String::from_utf8(bytes).map_err(|_| {
        Failure::new(Exit::Usage, "unreadable", "the contract cannot be read: it is not UTF-8").at(shown_path(path))
    })?;
    Ok(contract_text(&text, path)?)
}

/// The same of its text.
pub fn contract_text(
    text: &str,
    path: &Path,
) -> Result<(Contract, Vec<Predicate>), auto_schema::contract::ContractError> {
    let folder = path.parent().unwrap_or(Path::new(""));
    Contract::from_toml_with_predicates(text, &shown_path(path), |file| found(&folder.join(file)))
}

/// Opens a store for reading.
pub fn store(path: &Path) -> Result<Store, Failure> {
    inputs::note_store(path);
    Ok(Store::open_read(path)?)
}

/// The same of a store that is looked at again and again, and was noted once.
pub fn store_again(path: &Path) -> Result<Store, Failure> {
    Ok(Store::open_read(path)?)
}

/// Opens a store for recording; it may not be what the same command reads.
pub fn store_for_recording(path: &Path) -> Result<Store, Failure> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let file = inputs::beside(path, suffix);
        refuse_input(&file)?;
    }
    Ok(Store::create_or_open(path)?)
}

/// A place that a command writes to: a file, or stdout.
pub struct Output {
    /// As it was named.
    path: PathBuf,
    /// Where the bytes go, with a link followed; none is stdout.
    target: Option<PathBuf>,
}

impl Output {
    /// Refuses a place that the command reads from, and one where something is that is no
    /// regular file. `-` is stdout.
    pub fn at(path: &Path) -> Result<Output, Failure> {
        let target = if is_stdout(path) { None } else { Some(followed(path)?) };
        let output = Output { path: path.to_owned(), target };
        output.check()?;
        Ok(output)
    }

    /// Looks again, once more was read.
    pub fn check(&self) -> Result<(), Failure> {
        self.target.as_ref().map_or(Ok(()), |target| refuse_lost(target, &self.path))
    }

    /// Makes this process the only one that makes the file, for as long as the lock is kept;
    /// waits for one that is at it, and says so. No lock is needed for stdout.
    pub fn own(&self) -> Result<Option<Lock>, Failure> {
        let Some(target) = &self.target else { return Ok(None) };
        let folder = auto_files::folder_of(target);
        let lock = folder.join(lock_name(&target.file_name().unwrap_or_default().to_string_lossy()));
        let lock = auto_files::make_folder(folder)
            .and_then(|()| Lock::take(&lock, |holder| wait(&shown_path(&self.path), holder)));
        lock.map(Some).map_err(|error| unwritable(&self.path, &error))
    }

    /// Begins a file that is written piece by piece, and there whole or not at all. Not for stdout.
    pub fn stage(&self) -> Result<Staged, Failure> {
        self.check()?;
        let target = self.target.as_deref().unwrap_or(&self.path);
        Staged::at(target).map_err(|error| unwritable(&self.path, &error))
    }

    /// Writes it so that it is there whole or not at all.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        self.check()?;
        let written = match &self.target {
            Some(target) => auto_files::replace(target, bytes),
            None => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush())
            }
        };
        written.map_err(|error| unwritable(&self.path, &error))
    }
}

/// Whether a path stands for stdout.
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Writes a file so that it is there whole or not at all.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    Output::at(path)?.write(bytes)
}

/// Refuses a place for a folder where something is; an empty folder is nothing.
pub fn refuse_full(out: &Path) -> Result<(), Failure> {
    let empty = match fs::read_dir(out) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) => error.kind() == io::ErrorKind::NotFound && out.symlink_metadata().is_err(),
    };
    if empty {
        return Ok(());
    }
    let message = "something is there already, and nothing of it is replaced";
    let help = "name a folder that is not there yet";
    Err(Failure::new(Exit::Usage, "not-empty", message).at(shown_path(out)).help(help))
}

/// Makes a folder of files so that it is there whole or not at all; each file has its place in it.
pub fn write_folder(out: &Path, contents: &[(String, Vec<u8>)]) -> Result<(), Failure> {
    make_folder(out, contents).map_err(|error| {
        let message = format!("the folder could not be made: {error}");
        Failure::new(Exit::Refused, "unwritable", message).at(shown_path(out)).help("nothing was left there")
    })
}

fn make_folder(out: &Path, contents: &[(String, Vec<u8>)]) -> io::Result<()> {
    let parent = auto_files::folder_of(out);
    auto_files::make_folder(parent)?;
    // On this file system, and gone again whatever goes wrong.
    let scratch = tempfile::Builder::new().prefix(".auto-new-").tempdir_in(parent)?;
    let made = scratch.path().join("made");
    for (place, bytes) in contents {
        auto_files::replace(&made.join(place), bytes)?;
    }
    fs::rename(&made, out)?;
    auto_files::sync_folder(parent)
}

/// The name of an output's lock. A long name is cut to fit: two that are cut alike only wait
/// for each other.
fn lock_name(name: &str) -> String {
    const LONGEST: usize = 255 - ".".len() - ".lock".len();
    format!(".{}.lock", &name[..name.floor_char_boundary(LONGEST)])
}

/// Refuses to write to a file that the command reads.
pub fn refuse_input(path: &Path) -> Result<(), Failure> {
    refuse_lost(path, path)
}

fn refuse_lost(target: &Path, named: &Path) -> Result<(), Failure> {
    let Some(input) = inputs::lost(target) else { return Ok(()) };
    let (output, input) = (shown_path(named), shown_path(&input));
    let message = format!("{output} would be replaced, and this command reads {input} there");
    Err(Failure::new(Exit::Usage, "same-file", message).help("give another file to write to"))
}

/// Says on stderr who is waited for.
pub fn wait(what: &dyn Display, holder: &Holder) {
    eprintln!("waiting for {what}, which is being made by {}", shown(&holder.to_string()));
}

/// Where bytes for `path` go.
fn followed(path: &Path) -> Result<PathBuf, Failure> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(&target).is_ok_and(|found| !found.is_file()) {
        let message = format!("cannot write {}: it is there and is no regular file", shown_path(&target));
        return Err(Failure::new(Exit::Refused, "unwritable", message).help("choose another place"));
    }
    Ok(target)
}

/// The failure for a place that cannot be written.
pub fn unwritable(path: &Path, error: &io::Error) -> Failure {
    let way_out = match error.kind() {
        io::ErrorKind::InvalidFilename => "give a shorter name",
        _ => "nothing was changed; free some space or choose another place",
    };
    Failure::new(Exit::Refused, "unwritable", format!("cannot write {}: {error}", shown_path(path))).help(way_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_locks_fit_and_keep_what_they_can() {
        assert_eq!(lock_name("out.cbin"), ".out.cbin.lock");
        for long in ["n".repeat(255), "ä".repeat(127)] {
            let lock = lock_name(&long);
            assert!(lock.len() <= 255 && lock.len() > 250, "{}", lock.len());
        }
    }
}
