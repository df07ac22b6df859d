//! `registry add`: puts an artifact in, with what is said about it.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use auto_json::{Record, Value};
use auto_registry::{Envelope, Evidence, TagName, now, read_bundle};
use auto_runtime::Limits;
use auto_schema::cbin::Cbin;
use auto_schema::shown_path;
use clap::Args;

use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::latency::{machine, measure};
use crate::lines::{Line, Lines};
use crate::options::Global;
use crate::registries::{KeyOption, RegistryOption, said_beside};
use crate::reply::{Exit, Reply};

/// Put an artifact into the registry, signed, and name it
///
/// What is signed is the digest of the file, its manifest, and where they are given the contract
/// and the eval run that it cites, and how long calls took here. What was signed before and lies
/// beside the file is taken in too.
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host registry add triage.cbin --as team/triage --key ours.pem \\\n      \
    --contract triage.contract.toml --runs auto-runs --measure held-out.jsonl")]
pub struct Add {
    #[command(flatten)]
    registry: RegistryOption,
    #[command(flatten)]
    key: KeyOption,
    /// The artifact
    file: PathBuf,
    /// Let this name lead to it: NAME or NAME:TAG
    #[arg(long = "as", value_name = "NAME")]
    name: Option<TagName>,
    /// What to say of it in the log of the name
    #[arg(long, value_name = "TEXT", default_value = "", requires = "name")]
    note: String,
    /// The contract that it was compiled with
    #[arg(long, value_name = "FILE")]
    contract: Option<PathBuf>,
    /// The folder with the record of the eval run that it cites
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Run it on these inputs, one a line, and sign how long that took
    #[arg(long, value_name = "FILE")]
    measure: Option<PathBuf>,
    /// Signed statements of others about it (DSSE, one a line)
    #[arg(long, value_name = "FILE")]
    statements: Vec<PathBuf>,
}

impl Add {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let bytes = files::read(&self.file)?;
        let artifact = Cbin::read(&bytes).map_err(|damage| Failure::from(damage).at(shown_path(&self.file)))?;
        let key = self.key.read(global)?;
        let mut envelopes = self.given()?;
        let said = self.evidence(global, &bytes, &artifact)?.statement(&artifact)?;
        let mut envelope = Envelope::unsigned(said.to_payload());
        key.iter().for_each(|key| envelope.sign(key));
        envelopes.push(envelope);

        let registry = self.registry.create(global)?;
        let ring = registry.keys()?;
        let counts = key.as_ref().map(|key| ring.may_sign(key.public().id())).transpose()?;
        let added = registry.add(&bytes, &envelopes)?;
        let mut text = format!("{} {}", if added.new { "added" } else { "already there, signed again:" }, added.id);
        let mut fields = Record::new().with("id", added.id.to_string()).with("new", added.new);
        if let Some(name) = &self.name {
            let log = registry.tag(name, added.id, &self.note, now(), key.as_ref())?;
            text.push_str(&format!("\n{name} leads to it ({})", log.head().number));
            fields.set("tag", name.to_string());
            fields.set("number", log.head().number);
        }
        if let Some(key) = &key {
            fields.set("key", key.public().id().to_string());
        }
        match counts {
            Some(true) => {}
            Some(false) => text.push_str("\nits key is not trusted here: `auto-host registry trust KEY.pub`"),
            None => text.push_str("\nnobody has signed it: those who use it have to allow that"),
        }
        Ok(Reply::done("added", text, fields))
    }

    /// Statements from files, that beside the artifact among them.
    fn given(&self) -> Result<Vec<Envelope>, Failure> {
        let mut envelopes = said_beside(&self.file)?;
        for path in &self.statements {
            inputs::note(path);
            let bytes = files::read_regular(path)?;
            envelopes.extend(read_bundle(&bytes).map_err(|error| Failure::from(error).at(shown_path(path)))?);
        }
        Ok(envelopes)
    }

    fn evidence(&self, global: &Global, bytes: &[u8], artifact: &Cbin) -> Result<Evidence, Failure> {
        let contract =
            self.contract.as_ref().map(|path| files::contract(path).map(|(contract, _)| contract.to_value()));
        let eval_run = self.runs.as_ref().map(|folder| {
            let path = folder.join(format!("{}.json", artifact.manifest.eval_run));
            let bytes = files::read_regular(&path)?;
            Value::parse(&bytes).map_err(|error| {
                Failure::new(Exit::Integrity, "other-eval-run", error.to_string()).at(shown_path(&path))
            })
        });
        let latency = self.measure.as_ref().map(|path| measured(global, bytes, path)).transpose()?;
        let machine = latency.is_some().then(machine);
        Ok(Evidence { at: now(), contract: contract.transpose()?, eval_run: eval_run.transpose()?, latency, machine })
    }
}

/// What calls take on the inputs of a file.
fn measured(global: &Global, bytes: &[u8], inputs: &Path) -> Result<Value, Failure> {
    let most = Limits::default().input;
    let mut lines = Lines::new(BufReader::new(files::reader(inputs)?), most);
    let mut texts = Vec::new();
    while let Some((_, line)) = lines.next().map_err(|error| files::unreadable(inputs, &error))? {
        if let Line::Whole(line) = line {
            texts.push(String::from_utf8_lossy(line).into_owned());
        }
    }
    let measured = measure(global, bytes, &texts).map_err(|failure| failure.at(shown_path(inputs)))?;
    measured.ok_or_else(|| Failure::new(Exit::Usage, "no-inputs", format!("{} has no inputs", shown_path(inputs))))
}
