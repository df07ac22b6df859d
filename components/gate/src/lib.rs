//! The gate: decides whether an artifact may exist (`compile`) and whether recorded
//! behaviour meets its contract (`verify`). It reads numbers and makes none: replays,
//! held-out answers and durations are measured by the host, the contract says what they
//! must be, and what is not measured is `inconclusive`, never `pass`.
//!
//! This file is the door: text in, verdict out. [`decide`] is the gate itself.

mod admit;
mod artifact;
mod budgets;
mod claims;
mod evidence;
mod finding;
mod held_out;
mod recordings;

pub use evidence::{Candidate, Evidence, Hearings, Observation, Outcome, Reference, Replay, Ruling, Scored, Subject};
pub use finding::{Finding, Status, Verdict};

use auto_kit::{Fault, json};
use auto_schema::contract::Contract;

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        world: "gating",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

/// The types of `auto:pass/admit`.
pub use bindings::exports::auto::pass::admit as admit_types;
use bindings::exports::auto::pass::admit as wit_admit;
use bindings::exports::auto::pass::gate as wit;

/// Judges by the contract. Every violation is in the verdict, each claim once.
pub fn decide(contract: &Contract, evidence: &Evidence) -> Verdict {
    let findings = match &evidence.subject {
        Subject::Recordings(reference) => recordings::judge(contract, evidence, reference),
        Subject::Artifact(candidate) => artifact::judge(contract, evidence, candidate),
    };
    Verdict::of(findings)
}

/// Decides whether a search step may stand, as `auto:pass/admit` does.
pub use admit::decide as admits;

/// What the host calls.
pub struct Component;

impl wit::Guest for Component {
    fn decide(contract: String, evidence: wit::Evidence) -> Result<wit::Verdict, Fault> {
        let contract = Contract::from_value(&json(&contract, "contract")?)
            .map_err(|error| Fault::new("bad-contract", format!("{} [{}]", error.message, error.code)).at(error.at))?;
        let evidence = Evidence::read(evidence)?;
        Ok(decide(&contract, &evidence).into())
    }
}

impl wit_admit::Guest for Component {
    fn decide(
        before: wit_admit::Snapshot,
        after: wit_admit::Snapshot,
        policy: wit_admit::Policy,
    ) -> wit_admit::Decision {
        admit::decide(&before, &after, &policy)
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wit::Guest;
    use auto_kit::types;

    const CONTRACT: &str = r#"{"contract_version":0,"task":"t","scope":{"type":"task"},
        "interface":{"input":"int","output":"int"}}"#;

    fn evidence(answer: &str, input: &str) -> wit::Evidence {
        let outcome = types::Outcome::Answer(answer.to_owned());
        let replay = types::Replay { input: input.to_owned(), outcome, steps: 1 };
        let candidate = wit::Candidate {
            code_id: "00".repeat(32),
            size: 100,
            capabilities: vec![],
            guarded: true,
            learned: false,
            metered: true,
            latency_us_p95: None,
            replays: vec![replay],
            held_out: vec![],
        };
        let observations = auto_kit::testing::observations([("1", "2")]);
        wit::Evidence { observations, subject: wit::Subject::Artifact(candidate), rulings: vec![], opinions: vec![] }
    }

    #[test]
    fn texts_in_and_a_verdict_out() {
        let verdict = Component::decide(CONTRACT.to_owned(), evidence("2", " 1 ")).expect("a verdict");
        assert!(matches!(verdict.status, wit::Status::Pass), "{verdict:?}");
        let verdict = Component::decide(CONTRACT.to_owned(), evidence("{", "1")).expect("a verdict");
        assert!(matches!(verdict.status, wit::Status::Fail), "an answer that is no JSON is a failed replay");
    }

    #[test]
    fn what_cannot_be_read_is_a_fault_with_its_place() {
        let fault = |contract: &str, input| {
            let fault = Component::decide(contract.to_owned(), evidence("2", input)).expect_err("refused");
            (fault.code, fault.at.unwrap_or_default())
        };
        assert_eq!(fault("{", "1"), ("bad-json".to_owned(), "contract".to_owned()));
        assert_eq!(fault(CONTRACT, "x"), ("bad-json".to_owned(), "/replays/0/input".to_owned()));
        let odd = CONTRACT.replace("\"task\":\"t\"", "\"tsk\":\"t\"");
        assert_eq!(fault(&odd, "1"), ("bad-contract".to_owned(), "tsk".to_owned()));
    }
}
