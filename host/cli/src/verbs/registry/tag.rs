//! `registry tag` and `log`: where a name leads, and led to before.

use auto_json::{Record, Value};
use auto_registry::{Reference, TagLog, TagName, now, rfc3339};
use auto_schema::shown;
use clap::Args;

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
#[command(after_help = "Example:\n  auto-host registry log triage")]
pub struct Log {
    #[command(flatten)]
    registry: RegistryOption,
    /// The name: NAME or NAME:TAG
    name: TagName,
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
        let (text, rows) = entries(&log);
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

fn entries(log: &TagLog) -> (String, Vec<Value>) {
    let (mut text, mut rows) = (String::new(), Vec::new());
    for entry in log.entries().iter().rev() {
        let at = rfc3339(entry.at);
        let keys: Vec<&str> = entry.envelope.signatures.iter().map(|one| one.keyid.as_str()).collect();
        let by = if keys.is_empty() { "nobody".to_owned() } else { keys.join(", ") };
        text.push_str(&format!("{} {} {at}\n  signed by {}\n", entry.number, entry.id, shown(&by)));
        if !entry.note.is_empty() {
            text.push_str(&format!("  {}\n", shown(&entry.note)));
        }
        let row = Record::new().with("number", entry.number).with("id", entry.id.to_string()).with("at", at);
        rows.push(row.with("note", entry.note.as_str()).with("keys", super::texts(keys.iter())).into());
    }
    (text.trim_end().to_owned(), rows)
}
