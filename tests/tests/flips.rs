//! One flipped bit in an artifact that a real compile made: it is refused as damage, by the
//! reader and by the program. Every bit of two small artifacts is flipped in
//! `host/runtime/tests/loading.rs`.

use std::fs;

use auto_schema::cbin::Cbin;
use auto_tests::tool::Tool;

/// The codes of files that never were artifacts; all others are of damaged ones.
const NEVER_ONE: [&str; 4] = ["not-wasm", "component", "imports", "unsealed"];

#[test]
fn a_flipped_bit_in_any_byte_of_a_compiled_artifact_is_damage() {
    let tool = Tool::with_shout();
    let good = fs::read(tool.path("shout.cbin")).unwrap();
    assert!(good.len() > 10_000 && Cbin::read(&good).is_ok());
    let mut bytes = good.clone();
    for at in 0..bytes.len() {
        bytes[at] ^= 1 << (at % 8);
        let code = Cbin::read(&bytes).expect_err("it was accepted").code;
        assert!(!NEVER_ONE.contains(&code), "bit {} of byte {at}: {code}", at % 8);
        bytes[at] = good[at];
    }
}

#[test]
fn running_a_damaged_artifact_ends_with_exit_code_6() {
    let tool = Tool::with_shout();
    let path = tool.path("bad.cbin");
    let good = fs::read(tool.path("shout.cbin")).unwrap();
    let header = (0..64).map(|bit| (bit / 8, bit % 8));
    let sampled = (8..good.len()).step_by(good.len() / 16).map(|at| (at, at % 8));
    let digest = (good.len() - 46..good.len()).step_by(5).map(|at| (at, at % 8));
    for (at, bit) in header.chain(sampled).chain(digest) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        let code = tool.run(&["run", "bad.cbin", "--input", r#"{"text":"a"}"#]).status.code();
        assert_eq!(code, Some(6), "bit {bit} of byte {at}");
    }
    let text = r#"{"text":"please send the blue key"}"#;
    assert_eq!(tool.run(&["run", "shout.cbin", "--input", text]).status.code(), Some(0));
}

#[test]
fn a_store_that_census_finds_damaged_is_damaged_to_inspect_too() {
    let tool = Tool::with_shout();
    let whole = fs::read(tool.path("shout.db")).unwrap();
    let mut damaged = 0;
    for at in (100..whole.len()).step_by(whole.len() / 60) {
        let mut flipped = whole.clone();
        flipped[at] ^= 2;
        fs::write(tool.path("flipped.db"), &flipped).unwrap();
        let census = tool.run(&["census", "--task", "shout", "--store", "flipped.db"]).status.code();
        let inspect = tool.run(&["inspect", "flipped.db"]);
        if census == Some(6) {
            damaged += 1;
            assert_eq!(inspect.status.code(), Some(6), "byte {at}: {inspect:?}");
        }
    }
    // A census reads what is counted of a store, and not every span.
    assert!(damaged > 2, "{damaged}");
}
