//! One flipped bit in an artifact that a real compile made: it is refused as damage, by the
//! reader and by the program. Every bit of two small artifacts is flipped in
//! `host/runtime/tests/loading.rs`.

use std::fs;
use std::path::Path;
use std::process::Command;

use auto_schema::cbin::Cbin;
use auto_tests::tool::binary;
use tempfile::TempDir;

/// The codes of files that never were artifacts; all others are of damaged ones.
const NEVER_ONE: [&str; 4] = ["not-wasm", "component", "imports", "unsealed"];

fn auto_host(folder: &Path, arguments: &[&str]) -> Option<i32> {
    let mut command = Command::new(binary());
    command.args(arguments).current_dir(folder).env("AUTO_CACHE", folder.join("cache"));
    command.output().expect("auto-host is built by `cargo xtask build`").status.code()
}

/// A folder with the artifact of the tests of the command line.
fn compiled() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["shout.jsonl", "shout.contract.toml"] {
        fs::copy(auto_tests::root().join("tests/cli/fixtures").join(file), folder.path().join(file)).unwrap();
    }
    assert_eq!(auto_host(folder.path(), &["import", "--store", "s.db", "shout.jsonl"]), Some(0));
    let compile = ["compile", "--contract", "shout.contract.toml", "--store", "s.db", "--out", "good.cbin"];
    assert_eq!(auto_host(folder.path(), &compile), Some(0));
    folder
}

#[test]
fn a_flipped_bit_in_any_byte_of_a_compiled_artifact_is_damage() {
    let folder = compiled();
    let good = fs::read(folder.path().join("good.cbin")).unwrap();
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
    let folder = compiled();
    let path = folder.path().join("bad.cbin");
    let good = fs::read(folder.path().join("good.cbin")).unwrap();
    let header = (0..64).map(|bit| (bit / 8, bit % 8));
    let sampled = (8..good.len()).step_by(good.len() / 16).map(|at| (at, at % 8));
    let digest = (good.len() - 46..good.len()).step_by(5).map(|at| (at, at % 8));
    for (at, bit) in header.chain(sampled).chain(digest) {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << bit;
        fs::write(&path, bytes).unwrap();
        let code = auto_host(folder.path(), &["run", "bad.cbin", "--input", r#"{"text":"a"}"#]);
        assert_eq!(code, Some(6), "bit {bit} of byte {at}");
    }
    let text = r#"{"text":"please send the blue key"}"#;
    assert_eq!(auto_host(folder.path(), &["run", "good.cbin", "--input", text]), Some(0));
}
