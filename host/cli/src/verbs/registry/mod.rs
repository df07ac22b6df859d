//! `registry`: artifacts by content, who signed them, and what their tags say.

mod add;
mod diff;
mod keys;
mod list;
mod numbers;
mod tag;
mod transfer;
mod verify;

use std::path::PathBuf;

use auto_json::{Record, Value};
use auto_registry::{Reach, Reference};
use auto_schema::shown_path;
use clap::{Args, Subcommand};

use crate::failure::Failure;
use crate::files::{self, Output};
use crate::options::Global;
use crate::registries::{self, RegistryOption};
use crate::reply::Reply;

/// Keep, sign, find and check artifacts
///
/// A registry is a folder: artifacts by their SHA-256, signed statements about each, names that
/// lead to them through logs which only grow, and the keys that count. Whatever is read of it is
/// held against digests and signatures first. Exit code 6: something in it was changed, or is
/// signed by a key that was revoked, or a name leads back to what is old. 1: nobody here knows
/// the key, or the policy of auto.toml is not met.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry keygen --out ours.pem\n  \
    auto-host registry add triage.cbin --as triage --key ours.pem --contract triage.contract.toml\n  \
    auto-host registry verify triage --explain\n  auto-host run triage --input '{\"subject\":\"Refund\"}'")]
pub struct Opts {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Keygen(keys::Keygen),
    Trust(keys::Trust),
    Keys(keys::Keys),
    Rotate(keys::Rotate),
    Revoke(keys::Revoke),
    Add(add::Add),
    /// Write an artifact to a file, and what is signed about it beside that
    #[command(after_help = "Example:\n  auto-host registry get triage --out triage.cbin")]
    Get {
        #[command(flatten)]
        registry: RegistryOption,
        /// Its name, NAME:TAG, or id
        artifact: Reference,
        /// Where it goes; - is stdout
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    List(list::List),
    Tag(tag::Tag),
    Log(tag::Log),
    Verify(verify::Verify),
    Diff(diff::Diff),
    Push(transfer::Push),
    Pull(transfer::Pull),
    Serve(transfer::Serve),
    /// Remove what nothing leads to
    ///
    /// Artifacts stay, and all that their tags ever led to, unless --untagged is given.
    #[command(after_help = "Example:\n  auto-host registry gc --dry-run")]
    Gc {
        #[command(flatten)]
        registry: RegistryOption,
        /// Also remove artifacts that no tag leads to, or ever led to
        #[arg(long)]
        untagged: bool,
        /// Say what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
    },
}

impl Opts {
    /// Whether stdout is for an artifact.
    pub fn owns_stdout(&self) -> bool {
        matches!(&self.action, Action::Get { out, .. } if files::is_stdout(out))
    }

    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        match self.action {
            Action::Keygen(opts) => opts.run(global),
            Action::Trust(opts) => opts.run(global),
            Action::Keys(opts) => opts.run(global),
            Action::Rotate(opts) => opts.run(global),
            Action::Revoke(opts) => opts.run(global),
            Action::Add(opts) => opts.run(global),
            Action::Get { registry, artifact, out } => get(global, &registry, &artifact, &out),
            Action::List(opts) => opts.run(global),
            Action::Tag(opts) => opts.run(global),
            Action::Log(opts) => opts.run(global),
            Action::Verify(opts) => opts.run(global),
            Action::Diff(opts) => opts.run(global),
            Action::Push(opts) => opts.run(global),
            Action::Pull(opts) => opts.run(global),
            Action::Serve(opts) => opts.run(global),
            Action::Gc { registry, untagged, dry_run } => collect(global, &registry, Reach { dry_run, untagged }),
        }
    }
}

fn get(
    global: &Global,
    option: &RegistryOption,
    reference: &Reference,
    out: &std::path::Path,
) -> Result<Reply, Failure> {
    let registry = option.open(global)?;
    let output = Output::at(out)?;
    let found = registry.get(reference, &option.policy(global))?;
    let id = found.report.artifact.id;
    if !files::is_stdout(out) {
        // First what is said of it, so that the artifact is never there alone.
        files::write(&registries::beside(out), &auto_registry::write_bundle(&found.envelopes))?;
    }
    output.write(&found.bytes)?;
    let fields = Record::new().with("id", id.to_string()).with("bytes", found.bytes.len());
    let fields = fields.with("signers", texts(found.report.signers.iter()));
    Ok(Reply::done("written", format!("wrote {} ({id})", shown_path(out)), fields))
}

fn collect(global: &Global, option: &RegistryOption, reach: Reach) -> Result<Reply, Failure> {
    let collected = option.open(global)?.collect(reach)?;
    let freed: u64 = collected.objects.iter().map(|(_, bytes)| bytes).sum();
    let word = if reach.dry_run { "would go" } else { "removed" };
    let mut text: String = collected.artifacts.iter().map(|id| format!("{word} {id}: no tag leads to it\n")).collect();
    let loose = collected.objects.iter().filter(|(digest, _)| !collected.artifacts.contains(digest));
    loose.for_each(|(digest, _)| text.push_str(&format!("{word} {digest}: nothing leads to it\n")));
    let would = if reach.dry_run { "would free" } else { "freed" };
    text.push_str(&format!("{would} {freed} bytes, {} bytes stay", collected.kept));
    let fields = Record::new()
        .with("dry_run", reach.dry_run)
        .with("artifacts", texts(collected.artifacts.iter()))
        .with("objects", texts(collected.objects.iter().map(|(digest, _)| digest)))
        .with("freed", freed)
        .with("kept", collected.kept);
    Ok(Reply::done("collected", text, fields))
}

/// Parts per million as a percentage, exactly.
fn percent(ppm: Option<u32>) -> String {
    let Some(ppm) = ppm else { return "not measured:".to_owned() };
    let (whole, rest) = (ppm / 10_000, ppm % 10_000);
    let rest = format!("{rest:04}");
    match rest.trim_end_matches('0') {
        "" => format!("{whole}%"),
        rest => format!("{whole}.{rest}%"),
    }
}

fn texts<T: std::fmt::Display>(items: impl Iterator<Item = T>) -> Vec<Value> {
    items.map(|item| item.to_string().into()).collect()
}

#[cfg(test)]
mod tests {
    use super::percent;

    #[test]
    fn shares_are_shown_exactly() {
        let shown: Vec<String> =
            [0, 1, 10_000, 998_700, 999_999, 1_000_000].map(Some).into_iter().map(percent).collect();
        assert_eq!(shown, ["0%", "0.0001%", "1%", "99.87%", "99.9999%", "100%"]);
        assert_eq!(percent(None), "not measured:");
    }
}
