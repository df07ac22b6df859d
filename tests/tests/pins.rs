//! `pass pin` and `pass list`: which passes are used, told by their digests, and what is said of them.

use auto_json::Value;
use auto_schema::digest::Digest;
use auto_tests::root;
use auto_tests::tool::{Tool, at};

/// A folder with `mine.wasm`, a guard that is not the built-in one though it does the same, and
/// `other.wasm`, which does not.
fn tool() -> Tool {
    let tool = Tool::with_shout();
    let guard = std::fs::read(root().join("target/components/guard.wasm")).unwrap();
    // A custom section more: another digest.
    std::fs::write(tool.path("mine.wasm"), [guard.as_slice(), b"\0\x05\x04mine"].concat()).unwrap();
    let open = root().join("target/test-components/open-guard.wasm");
    std::fs::copy(open, tool.path("other.wasm")).unwrap();
    tool
}

fn digest(tool: &Tool, file: &str) -> String {
    Digest::of(&std::fs::read(tool.path(file)).unwrap()).to_string()
}

const COMPILE: [&str; 7] = ["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out", "x.cbin"];

fn compile(tool: &Tool, pass: &str) -> (Option<i32>, Value) {
    tool.json(&[COMPILE.as_slice(), &["--pass", pass]].concat())
}

fn text<'v>(reply: &'v Value, key: &str) -> &'v str {
    at(reply, &[key]).as_text().unwrap_or_default()
}

#[test]
fn where_passes_are_pinned_no_other_is_used() {
    let tool = tool();
    assert_eq!(compile(&tool, "mine.wasm").0, Some(0), "nothing is pinned");
    std::fs::write(tool.path("auto.toml"), "# ours\n[limits]\ndeadline = 60\n").unwrap();
    let (exit, reply) = tool.json(&["pass", "pin", "mine.wasm"]);
    assert_eq!((exit, text(&reply, "code"), text(&reply, "name")), (Some(0), "pinned", "mine"));
    let (mine, other) = (digest(&tool, "mine.wasm"), digest(&tool, "other.wasm"));
    let written = std::fs::read_to_string(tool.path("auto.toml")).unwrap();
    assert_eq!(written, format!("# ours\n[limits]\ndeadline = 60\n\n[passes.pins]\n\"mine\" = \"{mine}\"\n"));
    assert_eq!(text(&tool.json(&["pass", "pin", "mine.wasm"]).1, "code"), "unchanged");
    assert_eq!(compile(&tool, "mine.wasm").0, Some(0));

    let (exit, reply) = compile(&tool, "other.wasm");
    assert_eq!((exit, text(&reply, "code")), (Some(1), "unpinned-pass"), "{reply}");
    assert!(
        text(&reply, "message").contains(&other) && text(&reply, "help").ends_with("auto-host pass pin other.wasm")
    );

    // What was pinned is not what lies there now.
    std::fs::copy(tool.path("other.wasm"), tool.path("mine.wasm")).unwrap();
    let (exit, reply) = compile(&tool, "mine.wasm");
    assert_eq!((exit, text(&reply, "code")), (Some(1), "changed-pass"), "{reply}");
    assert!(text(&reply, "help").ends_with("auto-host pass pin mine.wasm"));

    // A folder of passes is held to it too.
    std::fs::create_dir(tool.path("passes")).unwrap();
    std::fs::copy(tool.path("other.wasm"), tool.path("passes/other.wasm")).unwrap();
    let (exit, reply) = tool.json(&[COMPILE.as_slice(), &["--passes", "passes"]].concat());
    assert_eq!((exit, text(&reply, "code")), (Some(1), "unpinned-pass"), "{reply}");

    assert_eq!(text(&tool.json(&["pass", "pin", "mine.wasm"]).1, "code"), "pinned");
    let written = std::fs::read_to_string(tool.path("auto.toml")).unwrap();
    assert!(written.contains(&format!("\"mine\" = \"{other}\"\n")) && !written.contains(&mine), "{written}");
    // By its digest, whatever the file is called.
    let (exit, reply) = compile(&tool, "other.wasm");
    assert_eq!((exit, text(&reply, "code")), (Some(1), "guard-open"), "it lies, and the host says so: {reply}");
}

#[test]
fn a_file_that_cannot_be_changed_by_hand_stays_as_it_is() {
    let tool = tool();
    let inline = "passes = { pins = { } }\n";
    std::fs::write(tool.path("auto.toml"), inline).unwrap();
    let (exit, reply) = tool.json(&["pass", "pin", "mine.wasm"]);
    assert_eq!((exit, text(&reply, "code")), (Some(1), "not-pinned"), "{reply}");
    assert!(text(&reply, "help").contains(&digest(&tool, "mine.wasm")), "{reply}");
    assert_eq!(std::fs::read_to_string(tool.path("auto.toml")).unwrap(), inline);

    std::fs::write(tool.path("auto.toml"), "[passes.pins]\nmine = \"abc\"\n").unwrap();
    let (exit, reply) = compile(&tool, "mine.wasm");
    assert_eq!((exit, text(&reply, "code")), (Some(2), "bad-value"), "{reply}");
    std::fs::remove_file(tool.path("auto.toml")).unwrap();
    std::fs::write(tool.path("named.toml"), "[limits]\nfuel = 10000000000\n").unwrap();
    let (exit, reply) = tool.json(&["pass", "pin", "mine.wasm", "--config", "named.toml"]);
    assert_eq!((exit, text(&reply, "code")), (Some(0), "pinned"), "{reply}");
    assert!(std::fs::read_to_string(tool.path("named.toml")).unwrap().contains(&digest(&tool, "mine.wasm")));
    std::fs::write(tool.path("words.wasm"), "words").unwrap();
    assert_eq!(text(&tool.json(&["pass", "pin", "words.wasm"]).1, "code"), "not-wasm");
    assert!(!tool.path("auto.toml").exists());
}

#[test]
fn the_list_says_who_serves_what_whether_it_is_pinned_and_what_a_call_costs() {
    let tool = tool();
    assert_eq!(tool.json(&["pass", "pin", "mine.wasm"]).0, Some(0));
    let (exit, reply) = tool.json(&["pass", "list", "--pass", "mine.wasm", "--pass", "other.wasm"]);
    assert_eq!((exit, text(&reply, "code")), (Some(0), "passes"), "{reply}");
    let rows = at(&reply, &["passes"]).as_list().unwrap();
    let row = |name: &str| rows.iter().find(|row| text(row, "name") == name).unwrap();
    let pinned = ["guard", "mine.wasm", "other.wasm"].map(|name| at(row(name), &["pinned"]).clone());
    assert_eq!(pinned, [Value::Null, Value::Bool(true), Value::Bool(false)]);
    const GUARD: &str = "auto:pass/guard@0.1.0";
    let fuel = |name: &str, interface: &str| at(row(name), &["fuel", interface]).as_u64();
    assert!(fuel("guard", GUARD).is_some_and(|fuel| fuel > 1000));
    assert_eq!(fuel("guard", GUARD), fuel("mine.wasm", GUARD), "the same code takes the same");
    assert!(fuel("extract", "auto:pass/extract@0.1.0").is_some_and(|fuel| fuel > 1000));
    let stacks = at(&reply, &["stacks"]).as_list().unwrap();
    let guards = stacks.iter().find(|stack| text(stack, "interface") == GUARD).unwrap();
    let expected = ["other.wasm", "mine.wasm"].map(|file| digest(&tool, file));
    let providers: Vec<&str> =
        at(guards, &["providers"]).as_list().unwrap().iter().filter_map(Value::as_text).collect();
    assert_eq!(providers[..2], expected);
    assert_eq!(providers[2], text(row("guard"), "digest"));
    let said = auto_tests::tool::printed(&tool.run(&["pass", "list", "--pass", "mine.wasm"]));
    assert!(said.contains("auto:pass/guard@0.1.0: mine.wasm over guard"), "{said}");
    assert!(said.contains(", pinned)") && said.contains("(a small call: "), "{said}");
}

#[test]
fn where_keys_are_named_a_pass_has_to_be_signed_by_one_of_them() {
    let tool = tool();
    for key in ["ours.pem", "theirs.pem"] {
        assert_eq!(tool.json(&["registry", "keygen", "--out", key, "--no-trust"]).0, Some(0));
    }
    std::fs::write(tool.path("auto.toml"), "[passes]\nsigners = [\"ours.pem.pub\"]\n").unwrap();
    let (exit, reply) = compile(&tool, "mine.wasm");
    assert_eq!((exit, text(&reply, "code")), (Some(1), "unsigned-pass"), "{reply}");
    assert!(text(&reply, "help").contains("auto-host pass sign mine.wasm --key"), "{reply}");

    // Nobody here knows that key.
    let (exit, reply) = tool.json(&["pass", "sign", "mine.wasm", "--key", "theirs.pem"]);
    assert_eq!((exit, text(&reply, "code")), (Some(0), "signed"), "{reply}");
    let theirs = text(&reply, "key").to_owned();
    let (exit, reply) = compile(&tool, "mine.wasm");
    assert_eq!((exit, text(&reply, "code")), (Some(1), "unsigned-pass"), "{reply}");
    assert!(text(&reply, "message").contains(&theirs), "{reply}");

    // Both signatures are of one statement.
    let (exit, reply) = tool.json(&["pass", "sign", "mine.wasm", "--key", "ours.pem"]);
    assert_eq!(exit, Some(0), "{reply}");
    let ours = text(&reply, "key").to_owned();
    let beside = tool.path("mine.wasm.intoto.jsonl");
    let said = std::fs::read_to_string(&beside).unwrap();
    assert!(said.lines().count() == 1 && said.contains(&ours) && said.contains(&theirs), "{said}");
    assert_eq!(compile(&tool, "mine.wasm").0, Some(0));
    let (_, reply) = tool.json(&["pass", "list", "--pass", "mine.wasm"]);
    let rows = at(&reply, &["passes"]).as_list().unwrap();
    let mine = rows.iter().find(|row| text(row, "name") == "mine.wasm").unwrap();
    assert_eq!(at(mine, &["signed_by"]).to_string(), format!("[\"{ours}\"]"));
    let shown = auto_tests::tool::printed(&tool.run(&["pass", "list", "--pass", "mine.wasm"]));
    assert!(shown.contains(&format!("  signed by {ours}\n  signed, it says, by {theirs}, which")), "{shown}");

    // A signature is of these bytes, and of nothing else.
    std::fs::copy(tool.path("other.wasm"), tool.path("mine.wasm")).unwrap();
    assert_eq!(text(&compile(&tool, "mine.wasm").1, "code"), "unsigned-pass");

    // Whose name is on it is not who signed it.
    std::fs::copy(&beside, tool.path("other.wasm.intoto.jsonl")).unwrap();
    assert_eq!(tool.json(&["pass", "sign", "other.wasm", "--key", "theirs.pem"]).0, Some(0));
    let said = std::fs::read_to_string(tool.path("other.wasm.intoto.jsonl")).unwrap();
    let forged: Vec<String> = said.lines().skip(1).map(|line| line.replace(&theirs, &ours)).collect();
    std::fs::write(tool.path("other.wasm.intoto.jsonl"), forged.join("\n")).unwrap();
    let (exit, reply) = compile(&tool, "other.wasm");
    assert_eq!((exit, text(&reply, "code")), (Some(6), "bad-signature"), "{reply}");
    std::fs::write(tool.path("other.wasm.intoto.jsonl"), "words\n").unwrap();
    let (exit, reply) = compile(&tool, "other.wasm");
    assert_eq!((exit, text(&reply, "code")), (Some(6), "bad-envelope"), "{reply}");

    std::fs::write(tool.path("auto.toml"), "[passes]\nsigners = [\"nobody.pub\"]\n").unwrap();
    assert_eq!(text(&compile(&tool, "mine.wasm").1, "code"), "unreadable");
    assert_eq!(text(&tool.json(&["pass", "sign", "mine.wasm"]).1, "code"), "no-key");
}
