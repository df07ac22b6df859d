//! Sealed artifacts, and a registry to put them into.
#![allow(dead_code, missing_docs, reason = "each test binary uses some of these")]

use auto_json::Record;
use auto_registry::{Envelope, Evidence, PrivateKey, Registry, Statement};
use auto_schema::cbin::{self, Cbin};
use auto_schema::digest::Digest;
use auto_schema::manifest::{Manifest, PassRef, Steps};
use auto_schema::types::Type;
use tempfile::TempDir;

/// A module with nothing in it: a registry reads artifacts and never runs them.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// The gate that let every artifact here through.
pub fn gate() -> Digest {
    Digest::of(b"the gate")
}

/// An artifact of a task; another number, another artifact.
pub fn artifact(task: &str, number: u32) -> Vec<u8> {
    let none = Digest::of(b"");
    let manifest = Manifest {
        format: 1,
        task: task.into(),
        scope: "task".into(),
        input: Type::Json,
        output: Type::Json,
        capabilities: vec!["tool:look".into()],
        guarded: false,
        contract: none,
        evidence: none,
        eval_run: none,
        code: Digest::of(MODULE),
        observations: number,
        agreement: Some(999_000),
        coverage: None,
        out_of_fold: Some(990_000),
        out_of_fold_rows: 40,
        steps: Some(Steps { p50: 1, p95: 2, max: 3 }),
        module_bytes: MODULE.len() as u32,
        passes: vec![PassRef { interface: "auto:pass/gate@0.1.0".into(), digest: gate() }],
        trusted_gate: None,
        reusable: false,
        notes: vec![],
        judged: None,
    };
    cbin::seal(MODULE, None, &manifest).unwrap()
}

/// What is said about an artifact.
pub fn said(_file: &[u8]) -> Evidence {
    let latency = Record::new().with("calls", 100u32).with("p50_ns", 900u32).with("p95_ns", 1200u32);
    let machine = Record::new().with("cpu", "a processor").with("cores", 2u32);
    Evidence { at: 1, contract: None, eval_run: None, latency: Some(latency.into()), machine: Some(machine.into()) }
}

/// A statement with a key's signature.
pub fn signed(statement: &Statement, key: &PrivateKey) -> Envelope {
    let mut envelope = Envelope::unsigned(statement.to_payload());
    envelope.sign(key);
    envelope
}

/// Signed evidence about an artifact.
pub fn evidence(file: &[u8], key: &PrivateKey) -> Envelope {
    signed(&said(file).statement(&Cbin::read(file).unwrap()).unwrap(), key)
}

/// A registry with a key that it trusts.
pub struct Shop {
    pub folder: TempDir,
    pub registry: Registry,
    pub key: PrivateKey,
}

impl Shop {
    pub fn new() -> Shop {
        let shop = Shop::strange();
        shop.registry.trust(&shop.key.public(), "ours").unwrap();
        shop
    }

    /// The same, but it trusts nobody.
    pub fn strange() -> Shop {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::create_or_open(&folder.path().join("registry")).unwrap();
        Shop { folder, registry, key: PrivateKey::generate().unwrap() }
    }

    /// Puts an artifact in, signed, and lets a tag lead to it.
    pub fn publish(&self, file: &[u8], tag: &str) -> Digest {
        let id = self.registry.add(file, &[evidence(file, &self.key)]).unwrap().id;
        self.registry.tag(&tag.parse().unwrap(), id, "", 1, Some(&self.key)).unwrap();
        id
    }
}
