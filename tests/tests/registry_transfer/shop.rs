//! A publisher and those who pull from it, for the tests of artifacts between machines.
#![allow(dead_code, reason = "each test file uses some of these")]

use std::fs;
use std::process::Output;

use auto_json::Value;
use auto_tests::tool::{Tool, printed};

pub const INPUT: &str = r#"{"text":"please send the blue key"}"#;
pub const ANSWER: &str = "\"PLEASE SEND THE BLUE KEY\"\n";
pub const TOKEN: &str = "a-token-0123456789";

/// A publisher: `team/shout`, signed with `ours.pem`, and a file with a token.
pub fn shop() -> Tool {
    let tool = Tool::with_shout();
    fs::write(tool.path("token"), format!("{TOKEN}\n")).unwrap();
    ok(&tool, "registry keygen --out ours.pem");
    ok(&tool, "registry add shout.cbin --as team/shout --key ours.pem --contract shout.contract.toml --runs auto-runs");
    tool
}

/// A machine with nothing on it but a publisher's public key.
pub fn clean(shop: &Tool) -> Tool {
    let tool = Tool::new();
    fs::copy(shop.path("ours.pem.pub"), tool.path("ours.pem.pub")).unwrap();
    tool
}

pub fn run(tool: &Tool, line: &str) -> Output {
    tool.run(&line.split_whitespace().collect::<Vec<_>>())
}

pub fn ok(tool: &Tool, line: &str) -> Output {
    let output = run(tool, line);
    assert!(output.status.success(), "auto-host {line}\n{}", printed(&output));
    output
}

pub fn refused(tool: &Tool, exit: i32, code: &str, line: &str) {
    let output = run(tool, &format!("{line} --json"));
    let said = String::from_utf8_lossy(&output.stdout);
    let value = Value::parse(said.trim()).unwrap_or_else(|error| panic!("{line}: {error}: {}", printed(&output)));
    let got = (output.status.code(), value.get("code").and_then(Value::as_text));
    assert_eq!(got, (Some(exit), Some(code)), "auto-host {line}: {value}");
}

/// Pulls on a clean machine, with the public key alone, and answers.
pub fn pulls_and_answers(shop: &Tool, from: &str, more: &str) -> Tool {
    let machine = clean(shop);
    ok(&machine, &format!("registry pull team/shout --from {from} --trust ours.pem.pub{more}"));
    ok(&machine, "registry verify team/shout --explain");
    let answer = machine.run(&["run", "team/shout", "--input", INPUT]);
    assert_eq!(printed(&answer), ANSWER);
    ok(&machine, "registry get team/shout --out got.cbin");
    assert_eq!(fs::read(machine.path("got.cbin")).unwrap(), fs::read(shop.path("shout.cbin")).unwrap());
    machine
}
