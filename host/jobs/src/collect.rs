//! Brings back what a command left. It may have put anything there: links are not followed, and
//! nothing but regular files is read.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use auto_files::regular;

use crate::blobs::Blobs;
use crate::experiment::{Experiment, File};
use crate::fault::Fault;
use crate::withheld::Withheld;

/// The most bytes of all files of an experiment together.
const ALL_BYTES: u64 = 256 << 20;

/// How deep folders are looked into.
const MOST_DEPTH: usize = 32;

/// What was brought back, or which limit that is over.
pub(crate) type Collected = Result<Vec<File>, &'static str>;

/// Reads what an experiment names.
pub(crate) fn collect(
    experiment: &Experiment,
    blobs: &Blobs,
    folder: &Path,
    withheld: &Withheld,
) -> Result<Collected, Fault> {
    let mut collecting = Collecting { experiment, blobs, withheld, files: Vec::new(), bytes: 0 };
    for path in &experiment.collect {
        match collecting.path(folder, path)? {
            Ok(()) => {}
            Err(limit) => return Ok(Err(limit)),
        }
    }
    let mut files = collecting.files;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files.dedup_by(|a, b| a.path == b.path);
    Ok(Ok(files))
}

struct Collecting<'c> {
    experiment: &'c Experiment,
    blobs: &'c Blobs,
    withheld: &'c Withheld,
    files: Vec<File>,
    bytes: u64,
}

/// A limit that is over ends it.
type Step = Result<Result<(), &'static str>, Fault>;

impl Collecting<'_> {
    fn path(&mut self, folder: &Path, path: &str) -> Step {
        let mut place = folder.to_owned();
        for part in Path::new(path).components() {
            place.push(part);
            match fs::symlink_metadata(&place) {
                Ok(found) if found.is_symlink() => return Ok(Ok(())),
                Ok(_) => {}
                Err(error) if is_absent(&error) => return Ok(Ok(())),
                Err(error) => return Err(unreadable(error)),
            }
        }
        self.walk(&place, path.trim_end_matches('/'), 0)
    }

    fn walk(&mut self, place: &Path, name: &str, depth: usize) -> Step {
        let found = match fs::symlink_metadata(place) {
            Err(error) if is_absent(&error) => return Ok(Ok(())),
            found => found.map_err(unreadable)?,
        };
        if found.is_file() {
            return self.file(place, name, &found);
        }
        if !found.is_dir() {
            return Ok(Ok(()));
        }
        if depth >= MOST_DEPTH {
            return Ok(Err("files"));
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(place).map_err(unreadable)? {
            // A name that is no text cannot be told.
            names.extend(entry.map_err(unreadable)?.file_name().into_string());
            if names.len() > self.experiment.limits.files as usize {
                return Ok(Err("files"));
            }
        }
        names.sort_unstable();
        for below in names {
            if let Err(limit) = self.walk(&place.join(&below), &format!("{name}/{below}"), depth + 1)? {
                return Ok(Err(limit));
            }
        }
        Ok(Ok(()))
    }

    fn file(&mut self, place: &Path, name: &str, found: &fs::Metadata) -> Step {
        if self.files.len() >= self.experiment.limits.files as usize {
            return Ok(Err("files"));
        }
        self.bytes = self.bytes.saturating_add(found.len());
        if found.len() > self.experiment.limits.output_bytes || self.bytes > ALL_BYTES {
            return Ok(Err("output"));
        }
        let bytes = regular::read(place, self.experiment.limits.output_bytes).map_err(unreadable)?;
        let digest = self.blobs.put(&self.withheld.taken_out(bytes, false))?;
        let executable = found.permissions().mode() & 0o100 != 0;
        self.files.push(File { path: name.to_owned(), digest, executable });
        Ok(Ok(()))
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn unreadable(error: io::Error) -> Fault {
    Fault::machine("what an experiment left cannot be read", error)
}
