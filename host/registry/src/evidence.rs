//! What is said of an artifact when it is published: its manifest, the contract and the eval run
//! that the manifest cites, and what was measured on a machine. All but the measurement can be
//! held against the artifact itself, and is.

use auto_json::{Record, Value};
use auto_schema::cbin::Cbin;
use auto_schema::contract::Contract;
use auto_schema::digest::Digest;

use crate::Result;
use crate::error::RegistryError;
use crate::statement::Statement;

/// The predicate type of evidence.
pub const EVIDENCE: &str = "urn:auto:predicate:evidence:1";

/// What a stranger needs to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Seconds since 1970 at which it was said.
    pub at: u64,
    /// The contract in canonical form.
    pub contract: Option<Value>,
    /// The record in which the gate's verdict is.
    pub eval_run: Option<Value>,
    /// What calls took: `calls`, `p50_ns`, `p95_ns`, `max_ns`.
    pub latency: Option<Value>,
    /// Where that was measured: `cpu`, `cores`, `os`, `arch`, `tool`.
    pub machine: Option<Value>,
}

impl Evidence {
    /// A statement of it about an artifact. Codes: `other-contract`, `other-eval-run`.
    pub fn statement(&self, artifact: &Cbin) -> Result<Statement> {
        self.check(artifact)?;
        let manifest = artifact.manifest.to_value();
        let predicate = Record::new()
            .with("at", self.at)
            .with("manifest", manifest)
            .with("contract", self.contract.clone())
            .with("eval_run", self.eval_run.clone())
            .with("latency", self.latency.clone())
            .with("machine", self.machine.clone());
        Ok(Statement::about(artifact.manifest.task.as_str(), artifact.id, EVIDENCE, predicate))
    }

    /// Reads it from a statement about an artifact, and holds it against that. Codes:
    /// `bad-statement`, `other-manifest`, `other-contract`, `other-eval-run`.
    pub fn of(statement: &Statement, artifact: &Cbin) -> Result<Evidence> {
        let said = &statement.predicate;
        let bad = || RegistryError::integrity("bad-statement", "this is no evidence of ours: a field is missing");
        let part = |key: &str| said.get(key).cloned().filter(|part| *part != Value::Null);
        let evidence = Evidence {
            at: said.get("at").and_then(Value::as_u64).ok_or_else(bad)?,
            contract: part("contract"),
            eval_run: part("eval_run"),
            latency: part("latency"),
            machine: part("machine"),
        };
        if said.get("manifest") != Some(&artifact.manifest.to_value()) {
            let message = "the evidence is signed for another manifest than the artifact's";
            return Err(RegistryError::integrity("other-manifest", message));
        }
        evidence.check(artifact)?;
        Ok(evidence)
    }

    fn check(&self, artifact: &Cbin) -> Result<()> {
        let manifest = &artifact.manifest;
        let other = |code, what: &str, cited: Digest| {
            RegistryError::integrity(code, format!("the artifact cites another {what}, {cited}"))
                .help(format!("give the {what} that the artifact was compiled with"))
        };
        if let Some(contract) = &self.contract {
            let read = Contract::from_value(contract).ok().map(|contract| contract.id());
            if read != Some(manifest.contract) {
                return Err(other("other-contract", "contract", manifest.contract));
            }
        }
        if let Some(record) = &self.eval_run
            && Digest::of(record.canonical().as_str().as_bytes()) != manifest.eval_run
        {
            return Err(other("other-eval-run", "eval run", manifest.eval_run));
        }
        Ok(())
    }
}
