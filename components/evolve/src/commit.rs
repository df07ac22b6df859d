//! States of what counts: each is a blob that names the one before it, and the head says which
//! counts. Going back is a new state with the files of an old one.

use auto_json::{Record, Value};

use crate::genome::{Genome, PARAMS};
use crate::lent::{Fault, File, Lent};

/// Changes when the form of a state does.
const FORM: u64 = 1;

/// A state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The one before; none of the first.
    pub parent: Option<String>,
    /// All files.
    pub files: Vec<File>,
    /// The digest of the individual.
    pub individual: String,
    /// How it came about.
    pub why: String,
    /// Who had it so; empty for the search.
    pub actor: String,
}

impl Commit {
    /// The state that an individual is.
    pub fn of(
        lent: &mut impl Lent,
        parent: Option<String>,
        genome: &Genome,
        module: Option<&[u8]>,
        why: &str,
    ) -> Result<Commit, Fault> {
        let mut texts = genome.files.clone();
        if !genome.params.is_empty() {
            texts.insert(PARAMS.to_owned(), format!("{}\n", Value::from(genome.params.clone())));
        }
        let mut files = Vec::new();
        for (path, text) in texts {
            files.push(File { path, digest: lent.put(text.as_bytes())?, executable: false });
        }
        if let Some(module) = module {
            files.push(File { path: "program.wasm".to_owned(), digest: lent.put(module)?, executable: false });
        }
        Ok(Commit { parent, files, individual: genome.digest(), why: why.to_owned(), actor: String::new() })
    }

    /// The first state; the one that is there already where a run that was begun goes on.
    pub fn first(lent: &mut impl Lent, genome: &Genome, module: Option<&[u8]>) -> Result<String, Fault> {
        let Some(mut at) = lent.head()? else {
            return Commit::of(lent, None, genome, module, "the baseline, as it was given")?.make_head(lent);
        };
        while let Some(before) = Commit::read(lent, &at)?.parent {
            at = before;
        }
        Ok(at)
    }

    /// One by its digest. Codes: those of the blobs, `bad-commit`.
    pub fn read(lent: &mut impl Lent, digest: &str) -> Result<Commit, Fault> {
        let bytes = lent.get(digest)?;
        let bad =
            || Fault::new("bad-commit", format!("the blob {digest} is no state of this search, or of another version"));
        let value = Value::parse(&bytes).map_err(|_| bad())?;
        Commit::of_value(&value).ok_or_else(bad)
    }

    fn of_value(value: &Value) -> Option<Commit> {
        let text = |key: &str| value.get(key)?.as_text().map(str::to_owned);
        let same = value.get("form")?.as_u64() == Some(FORM) && value.get("kind")?.as_text() == Some("evolve");
        let parent = match value.get("parent")? {
            Value::Null => None,
            parent => Some(parent.as_text()?.to_owned()),
        };
        let files = files(value.get("files")?)?;
        same.then_some(Commit {
            parent,
            files,
            individual: text("individual")?,
            why: text("why")?,
            actor: text("actor")?,
        })
    }

    /// Keeps it, and makes it what counts. Codes: those of the blobs.
    pub fn make_head(&self, lent: &mut impl Lent) -> Result<String, Fault> {
        let record = Record::new()
            .with("form", FORM)
            .with("kind", "evolve")
            .with("parent", self.parent.as_deref())
            .with("files", self.files.iter().map(file).collect::<Vec<_>>())
            .with("individual", self.individual.as_str())
            .with("why", self.why.as_str())
            .with("actor", self.actor.as_str());
        let digest = lent.put(Value::from(record).canonical().as_str().as_bytes())?;
        lent.move_head(self.parent.as_deref(), &digest)?;
        Ok(digest)
    }
}

/// Back to a state that there was; to the one before the head where nobody says to which.
pub fn rollback(lent: &mut impl Lent, to: Option<&str>, actor: &str) -> Result<Value, Fault> {
    let head = lent.head()?.ok_or_else(|| Fault::new("no-head", "the run has no state yet to go back from"))?;
    let now = Commit::read(lent, &head)?;
    let Some(to) = to.map(str::to_owned).or_else(|| now.parent.clone()) else {
        return Err(Fault::new("no-parent", "the head is the baseline; there is nothing before it"));
    };
    let mut above = Some(head.clone());
    while let Some(one) = above.clone().filter(|one| *one != to) {
        above = Commit::read(lent, &one)?.parent;
    }
    if above.is_none() {
        let message = format!("{to} is no state that led to the head; `search show` lists them");
        return Err(Fault::new("no-such-state", message));
    }
    let then = Commit::read(lent, &to)?;
    let why = format!("back to {to}");
    let back = Commit { parent: Some(head), why: why.clone(), actor: actor.to_owned(), ..then };
    let head = back.make_head(lent)?;
    Ok(Record::new().with("kind", "evolve").with("status", "rolled_back").with("why", why).with("head", head).into())
}

/// A list of files.
pub fn files(value: &Value) -> Option<Vec<File>> {
    let file = |value: &Value| {
        Some(File {
            path: value.get("path")?.as_text()?.to_owned(),
            digest: value.get("digest")?.as_text()?.to_owned(),
            executable: value.get("executable")?.as_bool()?,
        })
    };
    value.as_list()?.iter().map(file).collect()
}

fn file(file: &File) -> Value {
    Record::new()
        .with("path", file.path.as_str())
        .with("digest", file.digest.as_str())
        .with("executable", file.executable)
        .into()
}
