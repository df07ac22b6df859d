//! Where artifacts come from: names that stand for ids, and files by id.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use auto_files::regular;
use auto_schema::digest::Digest;

use super::backing::Refusal;

/// The largest artifact that is read.
const LARGEST: u64 = 64 << 20;

/// The most names of a folder.
const NAMES: usize = 4_096;

/// What each name stands for, or why it stands for nothing.
pub type Names = BTreeMap<String, Result<Digest, Refusal>>;

/// Says of a file whether it may be served.
pub type Judge = Box<dyn Fn(&Path, &[u8]) -> Result<(), Refusal> + Send + Sync>;

/// Artifacts, and names for them that may move from one to the next.
pub trait Shelf: Send + Sync {
    /// What each name stands for now.
    fn names(&self) -> Result<Names, Refusal>;

    /// A file by its id, checked; none where there is none.
    fn get(&self, id: Digest) -> Result<Option<Vec<u8>>, Refusal>;

    /// Another value where something may be trusted no longer that was; none where that has to be asked
    /// each time.
    fn version(&self) -> Option<Digest> {
        None
    }

    /// Lets a name stand for what it stood for before, if it still stands for `now`; what it
    /// stands for then, or none where there was nothing before.
    fn roll_back(&self, name: &str, now: Digest) -> Result<Option<Digest>, Refusal>;
}

/// A folder of artifacts: `NAME.cbin`, each under its name.
pub struct Folder {
    root: PathBuf,
    judge: Option<Judge>,
}

impl Folder {
    /// The artifacts in a folder.
    pub fn at(root: &Path) -> Folder {
        Folder { root: root.to_owned(), judge: None }
    }

    /// Serves only files that this lets through.
    #[must_use]
    pub fn held_to(self, judge: Judge) -> Folder {
        Folder { judge: Some(judge), ..self }
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, Refusal> {
        regular::read(path, LARGEST).map_err(|error| unreadable(path, &error))
    }

    fn judge(&self, path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
        self.judge.as_ref().map_or(Ok(()), |judge| judge(path, bytes))
    }

    /// Names and files.
    fn files(&self) -> Result<Vec<(String, PathBuf)>, Refusal> {
        let entries = std::fs::read_dir(&self.root).map_err(|error| unreadable(&self.root, &error))?;
        let paths = entries.flatten().map(|entry| entry.path()).take(NAMES);
        let artifacts = paths.filter(|path| path.extension().is_some_and(|end| end == "cbin"));
        let named = artifacts.filter_map(|path| Some((path.file_stem()?.to_str()?.to_owned(), path)));
        Ok(named.filter(|(name, _)| !name.starts_with('.')).collect())
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Refusal {
    let path = auto_schema::shown_path(path);
    Refusal { code: "unreadable".to_owned(), message: format!("{path} cannot be read: {error}") }
}

impl Shelf for Folder {
    fn names(&self) -> Result<Names, Refusal> {
        let digest = |path: PathBuf| {
            let bytes = self.read(&path)?;
            self.judge(&path, &bytes).map(|()| Digest::of(&bytes))
        };
        Ok(self.files()?.into_iter().map(|(name, path)| (name, digest(path))).collect())
    }

    fn get(&self, id: Digest) -> Result<Option<Vec<u8>>, Refusal> {
        let mut refused = None;
        for (_, path) in self.files()? {
            let Ok(bytes) = self.read(&path) else { continue };
            if Digest::of(&bytes) == id {
                match self.judge(&path, &bytes) {
                    Ok(()) => return Ok(Some(bytes)),
                    Err(why) => refused = Some(why),
                }
            }
        }
        refused.map_or(Ok(None), Err)
    }

    fn version(&self) -> Option<Digest> {
        // Where nothing is judged, nothing is trusted no longer.
        self.judge.is_none().then(|| Digest::of(b""))
    }

    fn roll_back(&self, _: &str, _: Digest) -> Result<Option<Digest>, Refusal> {
        Ok(None)
    }
}
