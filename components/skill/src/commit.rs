//! States of the package: each is a blob that names the one before it, and the head says which
//! counts. Going back is a new state with the files of an old one.

use auto_json::{Record, Value};

use crate::bindings::auto::host::blobs;
use crate::bindings::auto::host::experiments::File;
use crate::bindings::auto::pass::types::Fault;
use crate::config::files;
use crate::fault;

/// The file that is edited.
pub const SKILL: &str = "SKILL.md";

/// Changes when the form of a state does.
const FORM: u64 = 1;

/// A state of the package.
#[derive(Clone, Debug)]
pub struct Commit {
    /// The one before; none of the first.
    pub parent: Option<String>,
    /// The whole package.
    pub files: Vec<File>,
    /// How it came about.
    pub why: String,
    /// Who had it so; empty for the search.
    pub actor: String,
}

impl Commit {
    /// One by its digest. Codes: those of the blobs, `bad-commit`.
    pub fn read(digest: &str) -> Result<Commit, Fault> {
        let bytes = blobs::get(digest)?;
        let bad = || fault("bad-commit", format!("the blob {digest} is no state of a skill, or of another version"));
        let value = Value::parse(&bytes).map_err(|_| bad())?;
        Commit::of(&value).ok_or_else(bad)
    }

    fn of(value: &Value) -> Option<Commit> {
        let text = |key: &str| value.get(key)?.as_text().map(str::to_owned);
        let same = value.get("form")?.as_u64() == Some(FORM) && value.get("kind")?.as_text() == Some("skill");
        let parent = match value.get("parent")? {
            Value::Null => None,
            parent => Some(parent.as_text()?.to_owned()),
        };
        let files = files(value.get("files")?)?;
        same.then_some(Commit { parent, files, why: text("why")?, actor: text("actor")? })
    }

    /// Keeps it, and makes it what counts. Codes: those of the blobs.
    pub fn make_head(&self) -> Result<String, Fault> {
        let record = Record::new()
            .with("form", FORM)
            .with("kind", "skill")
            .with("parent", self.parent.as_deref())
            .with("files", self.files.iter().map(file).collect::<Vec<_>>())
            .with("why", self.why.as_str())
            .with("actor", self.actor.as_str());
        let digest = blobs::put(Value::from(record).canonical().as_str().as_bytes())?;
        blobs::move_head(self.parent.as_deref(), &digest)?;
        Ok(digest)
    }

    /// The text that is edited. Codes: those of the blobs, `no-skill`.
    pub fn skill(&self) -> Result<String, Fault> {
        let Some(skill) = self.files.iter().find(|file| file.path == SKILL) else {
            return Err(fault("no-skill", "the package has no SKILL.md at its top; name the folder that holds it"));
        };
        let text = String::from_utf8(blobs::get(&skill.digest)?);
        text.map_err(|_| fault("no-skill", "SKILL.md is not UTF-8; save it as that"))
    }

    /// The same with another text.
    pub fn with_skill(&self, digest: &str) -> Vec<File> {
        let replaced = |file: &File| match file.path == SKILL {
            true => File { digest: digest.to_owned(), ..file.clone() },
            false => file.clone(),
        };
        self.files.iter().map(replaced).collect()
    }
}

/// A file, for records.
pub fn file(file: &File) -> Value {
    Record::new()
        .with("path", file.path.as_str())
        .with("digest", file.digest.as_str())
        .with("executable", file.executable)
        .into()
}
