//! Manifests: one encoding, every broken rule reported, no bytes that are neither refused
//! nor canonical.

mod common;

use auto_schema::digest::Digest;
use auto_schema::manifest::{Judged, Manifest, PassRef, Steps};
use auto_schema::types::Type;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

proptest! {
    #[test]
    fn a_manifest_round_trips_byte_for_byte(manifest in common::manifest()) {
        let bytes = manifest.to_bytes().unwrap();
        let read = Manifest::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&read, &manifest);
        prop_assert_eq!(read.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn damaged_bytes_are_refused_or_canonical(manifest in common::manifest(), damage in common::damage()) {
        let bytes = common::damaged(&manifest.to_bytes().unwrap(), &damage);
        if let Ok(manifest) = Manifest::from_bytes(&bytes) {
            prop_assert_eq!(manifest.to_bytes(), Ok(bytes));
        }
    }

    #[test]
    fn every_truncation_is_refused(manifest in common::manifest()) {
        let bytes = manifest.to_bytes().unwrap();
        for length in 0..bytes.len() {
            prop_assert!(Manifest::from_bytes(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn json_shows_every_difference(a in common::manifest(), b in common::manifest()) {
        prop_assert_eq!(a == b, a.to_value() == b.to_value());
    }
}

fn some() -> Manifest {
    common::manifest().new_tree(&mut TestRunner::deterministic()).unwrap().current()
}

#[test]
fn all_broken_rules_are_reported() {
    let manifest = Manifest {
        format: 2,
        task: String::new(),
        scope: String::new(),
        input: Type::Enum(vec![]),
        capabilities: vec!["net".to_owned(), "warp".to_owned(), "net".to_owned()],
        agreement: Some(1_000_001),
        steps: Some(Steps { p50: 2, p95: 1, max: 3 }),
        passes: vec![PassRef { interface: String::new(), digest: Digest([0; 32]) }],
        judged: Some(Judged { model: "m".to_owned(), opinions: 0 }),
        ..some()
    };
    let wrong: Vec<String> =
        manifest.validate().unwrap_err().iter().map(|wrong| format!("{} {}", wrong.code, wrong.at)).collect();
    assert_eq!(
        wrong,
        [
            "version format",
            "empty task",
            "empty scope",
            "bad-type input",
            "empty judged",
            "capability capabilities",
            "capability capabilities",
            "empty passes 0",
            "share agreement",
            "steps steps"
        ]
    );
    assert_eq!(manifest.to_bytes().unwrap_err().len(), wrong.len());
}

#[test]
fn providers_of_one_interface_keep_their_order() {
    let pass = |interface: &str, byte| PassRef { interface: interface.to_owned(), digest: Digest([byte; 32]) };
    let manifest = Manifest { passes: vec![pass("b", 1), pass("a", 9), pass("a", 2)], ..some() };
    let read = Manifest::from_bytes(&manifest.to_bytes().unwrap()).unwrap();
    assert_eq!(read.passes, [pass("a", 9), pass("a", 2), pass("b", 1)]);
}

#[test]
fn a_graph_is_not_a_manifest() {
    let graph = common::small_graph().to_bytes().unwrap();
    assert_eq!(Manifest::from_bytes(&graph).unwrap_err()[0].code, "wrong-kind");
    assert_eq!(Manifest::from_bytes(b"").unwrap_err()[0].code, "wrong-kind");
}
