//! `gc`: removes eval-run records and journals that nothing needs.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use auto_files::{Lock, regular};
use auto_json::{Record, Value};
use auto_schema::cbin::Cbin;
use auto_schema::digest::Digest;
use auto_schema::{shown, shown_path};
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::options::{Global, RunsOption};
use crate::reply::{Exit, Reply};

/// Remove eval-run records and journals that nothing needs
///
/// A record that let an artifact through is kept, since a file somewhere may cite it; with
/// --artifacts, only if one of those files does. The journal of a job that was cut off is kept
/// unless --journals is given, and always while the job runs. What is no record of ours is left
/// alone. The cache needs none of this: it never takes more than --cache-bytes.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host gc --runs auto-runs --dry-run\n  \
    auto-host gc --runs auto-runs --artifacts deployed/ --artifacts triage.cbin")]
pub struct Opts {
    #[command(flatten)]
    runs: RunsOption,
    /// An artifact, or a folder of artifacts, whose records are kept; all others may go
    #[arg(long, value_name = "PATH")]
    artifacts: Vec<PathBuf>,
    /// Remove the journals of jobs that were cut off too: such a job starts over
    #[arg(long)]
    journals: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

/// A file of the runs folder and why it stays, or goes.
struct Found {
    path: PathBuf,
    bytes: u64,
    goes: bool,
    why: &'static str,
}

/// Why a journal stays in any case.
const RUNNING: &str = "the journal of a job that runs";

impl Found {
    /// Removes it; not a journal whose job has begun to run again since it was looked at.
    fn remove(&self) -> std::io::Result<bool> {
        let name = self.path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let lock = self.path.with_file_name(format!("{name}.lock"));
        let _held = match name.starts_with("journal.") {
            true => match Lock::try_take(&lock)? {
                None => return Ok(false),
                held => held,
            },
            false => None,
        };
        fs::remove_file(&self.path).map(|()| true)
    }
}

impl Opts {
    pub fn run(self, _: &Global) -> Result<Reply, Failure> {
        let cited = self.cited()?;
        let entries = fs::read_dir(&self.runs.runs).map_err(|error| files::unreadable(&self.runs.runs, &error))?;
        let paths = entries.flatten().map(|entry| entry.path());
        let mut files: Vec<Found> = paths.filter_map(|path| self.judge(path, &cited)).collect();
        files.sort_by(|a, b| (!a.goes, a.why, &a.path).cmp(&(!b.goes, b.why, &b.path)));
        let mut text = String::new();
        let mut rows = Vec::new();
        let (mut freed, mut kept) = (0, 0);
        for mut found in files {
            if found.goes && !self.dry_run && !found.remove().map_err(|error| unremovable(&found.path, &error))? {
                (found.goes, found.why) = (false, RUNNING);
            }
            *(if found.goes { &mut freed } else { &mut kept }) += found.bytes;
            let name = found.path.display().to_string();
            let word = match (found.goes, self.dry_run) {
                (false, _) => "kept",
                (true, true) => "would go",
                (true, false) => "removed",
            };
            text.push_str(&format!("{word:<8} {}: {}\n", shown(&name), found.why));
            let row = Record::new().with("path", name).with("bytes", found.bytes).with("goes", found.goes);
            rows.push(Value::from(row.with("why", found.why)));
        }
        let would = if self.dry_run { "would free" } else { "freed" };
        text.push_str(&format!("{would} {freed} bytes, {kept} bytes stay"));
        let fields =
            Record::new().with("dry_run", self.dry_run).with("freed", freed).with("kept", kept).with("files", rows);
        Ok(Reply::done("collected", text, fields))
    }

    /// The eval runs that the given artifacts cite; none where no artifacts were given. An
    /// artifact that cannot be read might cite any, so it is an error.
    fn cited(&self) -> Result<Option<BTreeSet<Digest>>, Failure> {
        if self.artifacts.is_empty() {
            return Ok(None);
        }
        let mut cited = BTreeSet::new();
        for path in &self.artifacts {
            for file in artifacts(path)? {
                let bytes = files::read(&file)?;
                let artifact = Cbin::read(&bytes).map_err(|damage| Failure::from(damage).at(shown_path(&file)))?;
                cited.insert(artifact.manifest.eval_run);
            }
        }
        Ok(Some(cited))
    }

    /// What becomes of a file; none for what is not ours.
    fn judge(&self, path: PathBuf, cited: &Option<BTreeSet<Digest>>) -> Option<Found> {
        let name = path.file_name()?.to_str()?.to_owned();
        let bytes = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?.len();
        let found = |goes, why| Some(Found { path: path.clone(), bytes, goes, why });
        if name.strip_prefix("journal.").is_some_and(|id| id.len() == 16) {
            return match (auto_files::is_held(&path.with_file_name(format!("{name}.lock"))), self.journals) {
                (true, _) => found(false, RUNNING),
                (false, false) => found(false, "the journal of a job that was cut off; --journals removes it"),
                (false, true) => found(true, "the journal of a job that was cut off"),
            };
        }
        let id = Digest::parse(name.strip_suffix(".json")?)?;
        let contents = regular::read(&path, files::LARGEST).ok()?;
        if Digest::of(&contents) != id {
            return found(false, "it is not what its name says; look at it");
        }
        let record = Value::parse(&contents).ok()?;
        match (lets_through(&record), cited) {
            (true, None) => found(false, "it let an artifact through"),
            (true, Some(cited)) if cited.contains(&id) => found(false, "an artifact cites it"),
            (true, Some(_)) => found(true, "none of the artifacts cites it"),
            (false, _) => found(true, "no artifact can cite it"),
        }
    }
}

/// Whether the record of an eval run let an artifact through.
fn lets_through(record: &Value) -> bool {
    record.get("subject").and_then(|subject| subject.get("artifact")?.get("code")).is_some()
        && record.get("status").and_then(Value::as_text) == Some("pass")
}

/// The tasks and scopes of which a folder has eval runs that let an artifact through.
pub fn let_through(runs: &Path) -> Result<BTreeSet<(String, String)>, Failure> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(runs).map_err(|error| files::unreadable(runs, &error))? {
        let path = entry.map_err(|error| files::unreadable(runs, &error))?.path();
        let name = path.file_name().and_then(OsStr::to_str).and_then(|name| name.strip_suffix(".json"));
        if name.and_then(Digest::parse).is_none() {
            continue;
        }
        let contents = regular::read(&path, files::LARGEST).map_err(|error| files::unreadable(&path, &error))?;
        let Ok(record) = Value::parse(&contents) else { continue };
        let text = |key: &str| record.get(key).and_then(Value::as_text).map(str::to_owned);
        if let (true, Some(task), Some(scope)) = (lets_through(&record), text("task"), text("scope")) {
            found.insert((task, scope));
        }
    }
    Ok(found)
}

/// The artifact itself, or those in a folder and the folders in it.
pub fn artifacts(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| files::unreadable(path, &error))? {
        let entry = entry.map_err(|error| files::unreadable(path, &error))?;
        let kind = entry.file_type().map_err(|error| files::unreadable(path, &error))?;
        if kind.is_dir() {
            found.extend(artifacts(&entry.path())?);
        } else if entry.path().extension().is_some_and(|extension| extension == "cbin") {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

fn unremovable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Refused, "unremovable", format!("cannot remove {}: {error}", shown_path(path)))
        .help("what was removed before it is gone; run the same again when it can be")
}
