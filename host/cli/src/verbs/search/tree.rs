//! Files and folders that a run is given, as blobs: what lies there is read once, when it starts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_schema::shown_path;

use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::reply::Exit;

/// The most files of a run's inputs.
const MOST_FILES: usize = 2_000;
/// The most bytes of all of them.
const MOST_BYTES: usize = 256 << 20;

/// Files by where they are to be.
#[derive(Default)]
pub struct Tree {
    rows: Vec<Value>,
    /// Their contents.
    pub blobs: Vec<Vec<u8>>,
    bytes: usize,
}

impl Tree {
    /// What is in a folder, at the top.
    pub fn of_folder(folder: &Path) -> Result<Tree, Failure> {
        let mut tree = Tree::default();
        inputs::note_folder(folder);
        tree.folder(folder, "")?;
        Ok(tree)
    }

    /// Files and folders by their own names.
    pub fn of_paths(paths: &[PathBuf]) -> Result<Tree, Failure> {
        let mut tree = Tree::default();
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| refused(path, "it has no name that could be given to it there"))?;
            match path.is_dir() {
                true => tree.folder(path, &format!("{name}/"))?,
                false => tree.file(path, name.to_owned())?,
            }
        }
        Ok(tree)
    }

    /// The list, as drivers read it.
    pub fn list(&self) -> Value {
        self.rows.clone().into()
    }

    /// Whether there is a file there.
    pub fn has(&self, path: &str) -> bool {
        self.rows.iter().any(|row| row.get("path").and_then(Value::as_text) == Some(path))
    }

    fn folder(&mut self, folder: &Path, above: &str) -> Result<(), Failure> {
        let entries = fs::read_dir(folder).map_err(|error| files::unreadable(folder, &error))?;
        let mut paths = entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| files::unreadable(folder, &error))?;
        paths.sort();
        for path in paths {
            let found = path.symlink_metadata().map_err(|error| files::unreadable(&path, &error))?;
            let name = path.file_name().and_then(|name| name.to_str());
            let name = name.ok_or_else(|| refused(&path, "its name is not UTF-8"))?;
            if found.is_symlink() {
                return Err(refused(&path, "it is a link, and where it leads may change; put the file there"));
            }
            match found.is_dir() {
                true => self.folder(&path, &format!("{above}{name}/"))?,
                false => self.file(&path, format!("{above}{name}"))?,
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: String) -> Result<(), Failure> {
        let bytes = files::read_regular(path)?;
        let mode = path.metadata().map_err(|error| files::unreadable(path, &error))?.permissions().mode();
        self.bytes += bytes.len();
        if bytes.len() > auto_jobs::MOST_BYTES || self.bytes > MOST_BYTES || self.rows.len() >= MOST_FILES {
            return Err(refused(path, "a run is given at most 2,000 files of 16 MiB each, 256 MiB together"));
        }
        let row = Record::new()
            .with("path", name)
            .with("digest", Digest::of(&bytes).to_string())
            .with("executable", mode & 0o100 != 0);
        self.rows.push(row.into());
        self.blobs.push(bytes);
        Ok(())
    }
}

fn refused(path: &Path, why: &str) -> Failure {
    Failure::new(Exit::Usage, "bad-input", format!("{} cannot be given to a run: {why}", shown_path(path)))
}
