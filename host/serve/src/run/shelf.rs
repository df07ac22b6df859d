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

/// Artifacts, and names for them that may move from one to the next.
pub trait Shelf: Send + Sync {
    /// What each name stands for now.
    fn names(&self) -> Result<Names, Refusal>;

    /// A file by its id, checked; none where there is none.
    fn get(&self, id: Digest) -> Result<Option<Vec<u8>>, Refusal>;

    /// Lets a name stand for what it stood for before, if it still stands for `now`; what it
    /// stands for then, or none where there was nothing before.
    fn roll_back(&self, name: &str, now: Digest) -> Result<Option<Digest>, Refusal>;
}

/// A folder of artifacts: `NAME.cbin`, each under its name.
pub struct Folder {
    root: PathBuf,
}

impl Folder {
    /// The artifacts in a folder.
    pub fn at(root: &Path) -> Folder {
        Folder { root: root.to_owned() }
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, Refusal> {
        regular::read(path, LARGEST).map_err(|error| unreadable(path, &error))
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Refusal {
    let path = auto_schema::shown_path(path);
    Refusal { code: "unreadable".to_owned(), message: format!("{path} cannot be read: {error}") }
}

impl Shelf for Folder {
    fn names(&self) -> Result<Names, Refusal> {
        let entries = std::fs::read_dir(&self.root).map_err(|error| unreadable(&self.root, &error))?;
        let mut names = BTreeMap::new();
        for path in entries.flatten().map(|entry| entry.path()).take(NAMES) {
            let name = path.file_stem().and_then(|name| name.to_str()).filter(|name| !name.starts_with('.'));
            if let (Some(name), Some("cbin")) = (name, path.extension().and_then(|end| end.to_str())) {
                names.insert(name.to_owned(), self.read(&path).map(|bytes| Digest::of(&bytes)));
            }
        }
        Ok(names)
    }

    fn get(&self, id: Digest) -> Result<Option<Vec<u8>>, Refusal> {
        let Some((name, _)) = self.names()?.into_iter().find(|(_, found)| *found == Ok(id)) else { return Ok(None) };
        let bytes = self.read(&self.root.join(name).with_extension("cbin"))?;
        // It may have been replaced in between.
        Ok((Digest::of(&bytes) == id).then_some(bytes))
    }

    fn roll_back(&self, _: &str, _: Digest) -> Result<Option<Digest>, Refusal> {
        Ok(None)
    }
}
