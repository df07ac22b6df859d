//! `registry list`: what is there, and whether it may be used.

use auto_json::{Record, Value};
use auto_registry::RegistryError;
use auto_schema::shown;
use clap::Args;

use crate::failure::Failure;
use crate::options::Global;
use crate::registries::RegistryOption;
use crate::reply::{Exit, Reply};

/// List artifacts and names, each with whether it may be used
///
/// Exit code 6: something is damaged; which, stands on its line.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry list\n  auto-host registry list --json")]
pub struct List {
    #[command(flatten)]
    registry: RegistryOption,
}

impl List {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let listing = self.registry.open(global)?.list(&self.registry.policy(global))?;
        let (mut text, mut artifacts, mut tags) = (String::new(), Vec::<Value>::new(), Vec::<Value>::new());
        let mut damaged = false;
        for one in &listing.tags {
            let row = Record::new().with("tag", one.tag.to_string());
            match &one.head {
                Ok((number, id)) => {
                    text.push_str(&format!("{} {id} ({number})\n", one.tag));
                    tags.push(row.with("id", id.to_string()).with("number", *number).with("code", "ok").into());
                }
                Err(error) => {
                    damaged |= is_damage(error);
                    text.push_str(&format!("{} {}: {}\n", one.tag, error.code, shown(&error.message)));
                    tags.push(row.with("code", error.code).with("message", error.message.as_str()).into());
                }
            }
        }
        for (id, found) in &listing.artifacts {
            let judged = found.as_ref().map_err(Clone::clone).and_then(|report| report.accept().map(|()| report));
            let row = Record::new().with("id", id.to_string());
            let row = match found {
                Ok(report) => row.with("task", report.artifact.manifest.task.as_str()).with("bytes", report.bytes),
                Err(_) => row,
            };
            match judged {
                Ok(report) => {
                    text.push_str(&format!("{id} {} bytes, {}\n", report.bytes, shown(&report.artifact.manifest.task)));
                    artifacts.push(row.with("code", "ok").into());
                }
                Err(error) => {
                    damaged |= is_damage(&error);
                    text.push_str(&format!("{id} {}: {}\n", error.code, shown(&error.message)));
                    artifacts.push(row.with("code", error.code).with("message", error.message.as_str()).into());
                }
            }
        }
        if text.is_empty() {
            text.push_str("nothing is there yet; `auto-host registry add FILE --as NAME`");
        }
        let fields = Record::new().with("artifacts", artifacts).with("tags", tags);
        let reply = Reply::done(if damaged { "damaged" } else { "listed" }, text.trim_end(), fields);
        Ok(if damaged { reply.exit(Exit::Integrity) } else { reply })
    }
}

fn is_damage(error: &RegistryError) -> bool {
    error.class == auto_registry::Class::Integrity
}
