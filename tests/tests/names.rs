//! Names that somebody else chose, in everything that is shown to people: they cannot begin a
//! line of their own, turn the direction of text, or write to the terminal.

use std::fs;

use auto_schema::is_unseen;
use auto_tests::tool::{Tool, printed};

/// A line that looks like ours, a bidirectional override, an isolate, an escape, and a control
/// of one character that some terminals obey.
const ODD: &str = "a\nerror[fake]: b\u{202e}c\u{2066}d\u{61c}\u{1b}[2J\u{9b}1m";

fn check(tool: &Tool, arguments: &[&str]) {
    let output = tool.run(arguments);
    let text = printed(&output);
    assert!(!text.contains("\nerror[fake]") && !text.starts_with("error[fake]"), "{arguments:?}: {text}");
    let unseen = text.chars().find(|&character| character != '\n' && is_unseen(character));
    assert_eq!(unseen, None, "{arguments:?}: {text:?}");
}

/// A name as it stands in JSON.
fn quoted(name: &str) -> String {
    auto_json::Value::from(name).to_string()
}

#[test]
fn names_of_files_tasks_operations_and_tools_are_shown_on_their_line() {
    let tool = Tool::with_shout();
    for (from, to) in
        [("shout.db", "db"), ("shout.cbin", "cbin"), ("shout.contract.toml", "toml"), ("shout.jsonl", "jsonl")]
    {
        fs::copy(tool.path(from), tool.path(&format!("{ODD}.{to}"))).unwrap();
    }
    fs::write(tool.path(&format!("{ODD}.wasm")), "no wasm").unwrap();
    let file = |extension: &str| format!("{ODD}.{extension}");
    let (db, cbin, toml, jsonl, wasm) = (file("db"), file("cbin"), file("toml"), file("jsonl"), file("wasm"));
    let (db, cbin, toml, jsonl, wasm) = (db.as_str(), cbin.as_str(), toml.as_str(), jsonl.as_str(), wasm.as_str());
    for path in [db, cbin, toml, jsonl, wasm, ODD] {
        check(&tool, &["inspect", path]);
        check(&tool, &["explain", path]);
        check(&tool, &["run", path, "--input", "1"]);
        check(&tool, &["run", "shout.cbin", "--batch", path]);
        check(&tool, &["import", "--store", "shout.db", path]);
        check(&tool, &["census", "--task", "shout", "--store", path]);
        check(&tool, &["census", "--task", path, "--store", "shout.db"]);
        check(&tool, &["contract", "check", path, "--store", path]);
        check(&tool, &["contract", "infer", "--task", path, "--store", path]);
        check(&tool, &["contract", "infer", "--task", "shout", "--scope", path, "--store", "shout.db"]);
        check(&tool, &["contract", "infer", "--task", "shout", "--store", "shout.db", "--out", path]);
        check(&tool, &["verify", "--contract", path, "--artifact", path, "--store", path]);
        check(&tool, &["compile", "--contract", path, "--store", path, "--out", path]);
        check(&tool, &["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out", ODD]);
        check(
            &tool,
            &["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out", "x", "--pass", path],
        );
        check(
            &tool,
            &[
                "compile",
                "--contract",
                "shout.contract.toml",
                "--store",
                "shout.db",
                "--out",
                "x",
                "--trust-gate",
                path,
            ],
        );
        check(&tool, &["pass", "check", path]);
        check(&tool, &["pass", "list", "--pass", path]);
        check(&tool, &["pass", "run", path, path, path]);
        check(&tool, &["gc", "--runs", path, "--artifacts", path]);
        check(&tool, &["doctor", "--store", path, "--cache", path]);
        check(&tool, &["record", "--store", path, "--keep", path, "--", path]);
        check(&tool, &["record", "--store", path, "--", "false"]);
        check(&tool, &["run", "shout.cbin", "--input", "1", "--tool", path]);
        check(&tool, &["run", "shout.cbin", "--input", "1", "--tool", &format!("{path}=false")]);
        check(&tool, &[path]);
        check(&tool, &["inspect", "one", path]);
        check(&tool, &["run", "shout.cbin", "--fuel", path]);
    }
}

#[test]
fn names_in_recordings_and_contracts_are_shown_on_their_line() {
    let tool = Tool::with_shout();
    let odd = quoted(ODD);
    let trace = fs::read_to_string(tool.path("shout.jsonl")).unwrap();
    let named = trace
        .replace("\"task\":\"shout\"", &format!("\"task\":{odd}"))
        .replace("\"task\": \"shout\"", &format!("\"task\": {odd}"));
    let named = named
        .replace("\"name\":\"shout\"", &format!("\"name\":{odd}"))
        .replace("\"name\": \"shout\"", &format!("\"name\": {odd}"));
    assert_ne!(named, trace);
    fs::write(tool.path("odd.jsonl"), named).unwrap();
    let output = tool.run(&["import", "--store", "odd.db", "odd.jsonl"]);
    assert!(output.status.success(), "{output:?}");
    check(&tool, &["inspect", "odd.jsonl"]);
    check(&tool, &["inspect", "odd.db"]);
    check(&tool, &["census", "--task", ODD, "--store", "odd.db"]);
    check(&tool, &["census", "--task", "another", "--store", "odd.db"]);
    check(&tool, &["contract", "infer", "--task", ODD, "--store", "odd.db"]);
    // What is drafted hides nothing either, reads back, and means the same.
    let drafted = tool.run(&["contract", "infer", "--task", ODD, "--store", "odd.db", "--out", "odd.toml"]);
    assert!(drafted.status.success(), "{drafted:?}");
    let checked = tool.run(&["contract", "check", "odd.toml", "--store", "odd.db"]);
    assert!(checked.status.success(), "{checked:?}");
    assert!(printed(&checked).contains("12 of 12 recorded inputs"), "{checked:?}");
    for arguments in [
        &["contract", "check", "odd.toml", "--store", "odd.db"][..],
        &["inspect", "odd.toml"],
        &["verify", "--contract", "odd.toml", "--store", "odd.db"],
        &["compile", "--contract", "odd.toml", "--store", "odd.db", "--out", "odd.cbin"],
        &["inspect", "odd.cbin"],
        &["explain", "odd.cbin"],
        &["compile", "--contract", "odd.toml", "--store", "shout.db", "--out", "none.cbin"],
    ] {
        check(&tool, arguments);
    }
    let text = fs::read_to_string(tool.path("odd.toml")).unwrap();
    for (from, to) in [
        ("contract_version", odd.as_str()),
        ("kind = \"model_call\"", &format!("kind = {odd}")),
        ("input = ", &format!("input = {odd} #")),
    ] {
        fs::write(tool.path("bad.toml"), text.replace(from, to)).unwrap();
        check(&tool, &["contract", "check", "bad.toml"]);
        check(&tool, &["inspect", "bad.toml"]);
    }
}
