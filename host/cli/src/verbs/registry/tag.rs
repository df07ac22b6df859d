//! `registry tag` and `log`: where a name leads, and led to before.

use auto_json::{Record, Value};
use auto_registry::{Policy, Reference, Registry, RegistryError, TagEntry, TagLog, TagName, now, rfc3339};
use auto_schema::shown;
use clap::Args;

use super::diff::{Change, changes};
use crate::failure::Failure;
use crate::options::Global;
use crate::registries::{KeyOption, RegistryOption};
use crate::reply::{Exit, Reply};

/// Let a name lead to another artifact, or back to an older one
///
/// Each move is a new signed statement with a number; nothing is ever taken out of the log, so
/// whoever has seen the newest notices where somebody hands out an old one.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry tag triage:stable triage --key ours.pem\n  \
    auto-host registry tag triage --back --key ours.pem --note 'the new one abstains too much'")]
pub struct Tag {
    #[command(flatten)]
    registry: RegistryOption,
    #[command(flatten)]
    key: KeyOption,
    /// The name: NAME or NAME:TAG
    name: TagName,
    /// Where it leads from now on: another name, or an id
    #[arg(required_unless_present_any = ["back", "back_to"])]
    artifact: Option<Reference>,
    /// Back to what it led to before
    #[arg(long, conflicts_with_all = ["artifact", "back_to"])]
    back: bool,
    /// Back to the statement of this number
    #[arg(long, value_name = "N", conflicts_with = "artifact")]
    back_to: Option<u64>,
    /// What to say of it in the log
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
}

/// Show what a name led to, the newest first
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry log triage --changes")]
pub struct Log {
    #[command(flatten)]
    registry: RegistryOption,
    /// The name: NAME or NAME:TAG
    name: TagName,
    /// Also say what changed with each, in figures and evidence
    #[arg(long)]
    changes: bool,
}

impl Tag {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let registry = self.registry.open(global)?;
        let key = self.key.read(global)?;
        let log = match &self.artifact {
            Some(reference) => {
                let id = registry.resolve(reference, &self.registry.policy(global))?;
                registry.tag(&self.name, id, &self.note, now(), key.as_ref())?
            }
            None => registry.roll_back(&self.name, self.back_to, &self.note, now(), key.as_ref())?,
        };
        let (number, id) = (log.head().number, log.head().id);
        let fields = Record::new().with("tag", self.name.to_string()).with("number", number);
        Ok(Reply::done("tagged", format!("{} leads to {id} ({number})", self.name), fields.with("id", id.to_string())))
    }
}

impl Log {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let registry = self.registry.open(global)?;
        let log = registry.log(&self.name)?;
        let (text, rows) = entries(&log, self.changes.then_some(&registry))?;
        let fields = Record::new().with("tag", self.name.to_string()).with("entries", rows);
        match log.accept(&registry.keys()?, &self.registry.policy(global)) {
            Ok(()) => Ok(Reply::done("log", text, fields)),
            Err(error) => {
                let failure = Failure::from(error);
                let text = format!("{text}\n{failure}");
                let mut reply = Reply::done(&failure.code, text, fields.with("message", failure.message.as_str()));
                reply.failed = failure.exit != Exit::Done;
                Ok(reply.exit(failure.exit))
            }
        }
    }
}

fn entries(log: &TagLog, changes_in: Option<&Registry>) -> Result<(String, Vec<Value>), RegistryError> {
    let (mut text, mut rows) = (String::new(), Vec::new());
    for (at, entry) in log.entries().iter().enumerate().rev() {
        let (line, row) = described(entry);
        text.push_str(&line);
        let before = at.checked_sub(1).map(|before| &log.entries()[before]);
        rows.push(match changes_in.zip(before) {
            Some((registry, before)) => {
                let changed = changed(registry, before, entry)?;
                text.push_str(&in_words(&changed));
                row.with("changes", in_json(&changed)).into()
            }
            None => row.into(),
        });
    }
    Ok((text.trim_end().to_owned(), rows))
}

fn described(entry: &TagEntry) -> (String, Record) {
    let at = rfc3339(entry.at);
    let keys: Vec<&str> = entry.envelope.signatures.iter().map(|one| one.keyid.as_str()).collect();
    let by = if keys.is_empty() { "nobody".to_owned() } else { keys.join(", ") };
    let mut text = format!("{} {} {at}\n  signed by {}\n", entry.number, entry.id, shown(&by));
    if !entry.note.is_empty() {
        text.push_str(&format!("  {}\n", shown(&entry.note)));
    }
    let row = Record::new().with("number", entry.number).with("id", entry.id.to_string()).with("at", at);
    (text, row.with("note", entry.note.as_str()).with("keys", super::texts(keys.iter())))
}

/// What changed from one statement to the next; none where an artifact is not here. Codes:
/// `object-missing`, `object-damaged`.
fn changed(registry: &Registry, before: &TagEntry, entry: &TagEntry) -> Result<Option<Vec<Change>>, RegistryError> {
    let read = |entry: &TagEntry| match registry.look(&Reference::Id(entry.id), &Policy::unsigned()) {
        Ok(found) => Ok(Some(found.report.artifact)),
        Err(error) if error.code == "unknown-id" => Ok(None),
        Err(error) => Err(error),
    };
    Ok(read(before)?.zip(read(entry)?).map(|(old, new)| changes(&old, &new)))
}

fn in_words(changed: &Option<Vec<Change>>) -> String {
    match changed {
        None => "    the artifact, or the one before it, is not here\n".to_owned(),
        Some(changes) if changes.is_empty() => "    nothing changed\n".to_owned(),
        Some(changes) => changes.iter().flat_map(Change::lines).map(|line| format!("    {line}\n")).collect(),
    }
}

fn in_json(changed: &Option<Vec<Change>>) -> Value {
    changed.as_ref().map_or(Value::Null, |changes| changes.iter().map(Change::to_value).collect::<Vec<_>>().into())
}
