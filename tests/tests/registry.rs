//! The registry as a user meets it: publish, sign, find, check, and refuse what was changed or
//! does not meet the policy.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use auto_json::Value;
use auto_tests::tool::{Tool, printed};

const INPUT: &str = r#"{"text":"please send the blue key"}"#;
const ANSWER: &str = "\"PLEASE SEND THE BLUE KEY\"\n";

/// A folder with `shout.cbin` in a registry under the name `shout`, signed with `ours.pem`.
fn shop() -> Tool {
    let tool = Tool::with_shout();
    fs::write(tool.path("inputs"), format!("{INPUT}\n")).unwrap();
    ok(&tool, "registry keygen --out ours.pem --label ours");
    ok(
        &tool,
        "registry add shout.cbin --as shout --key ours.pem --contract shout.contract.toml --runs auto-runs \
         --measure inputs",
    );
    tool
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

fn ok(tool: &Tool, line: &str) -> Output {
    ends(tool, 0, line)
}

fn ends(tool: &Tool, code: i32, line: &str) -> Output {
    let output = tool.run(&words(line));
    assert_eq!(output.status.code(), Some(code), "auto-host {line}\n{}", printed(&output));
    output
}

/// How a command ends, and the code of the object that it prints.
fn told(tool: &Tool, line: &str) -> (i32, String, Value) {
    let output = tool.run(&words(&format!("{line} --json")));
    let printed = printed(&output);
    let last = printed.lines().rev().find(|line| line.starts_with('{')).unwrap_or_else(|| panic!("{line}: {printed}"));
    let value = Value::parse(last).unwrap();
    let code = value.get("code").and_then(Value::as_text).unwrap_or_default().to_owned();
    (output.status.code().unwrap_or(-1), code, value)
}

fn refused(tool: &Tool, exit: i32, code: &str, line: &str) -> Value {
    let (got, said, value) = told(tool, line);
    assert_eq!((got, said.as_str()), (exit, code), "auto-host {line}: {value}");
    value
}

fn run(tool: &Tool, name: &str) -> Output {
    tool.run(&["run", name, "--input", INPUT])
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn what_is_published_is_found_by_name_checked_and_run() {
    let tool = shop();
    assert_eq!(String::from_utf8_lossy(&run(&tool, "shout").stdout), ANSWER);
    ok(&tool, "registry get shout --out copy.cbin");
    assert_eq!(fs::read(tool.path("copy.cbin")).unwrap(), fs::read(tool.path("shout.cbin")).unwrap());
    let value = refused(&tool, 0, "verified", "registry verify copy.cbin --explain");
    let evidence = value.get("evidence").and_then(Value::as_list).unwrap()[0].clone();
    assert_eq!(evidence.get("eval_run").and_then(|run| run.get("status")).and_then(Value::as_text), Some("pass"));
    assert!(evidence.get("latency").and_then(|of| of.get("p95_ns")).and_then(Value::as_u64).is_some());
    assert!(evidence.get("contract").and_then(|of| of.get("task")).is_some());
    assert_eq!(
        value.get("manifest").and_then(|manifest| manifest.get("out_of_fold_rows")).and_then(Value::as_u64),
        Some(12)
    );
}

#[test]
fn a_stranger_reads_numbers_that_are_enough_to_decide() {
    let tool = shop();
    let said = printed(&ok(&tool, "registry verify shout --explain"));
    let key = told(&tool, "registry keys").2;
    let key =
        key.get("keys").and_then(Value::as_list).unwrap()[0].get("key").and_then(Value::as_text).unwrap().to_owned();
    for line in [
        "yes: statement 1 of its log leads here",
        "named      since 2",
        "record{text: text} -> text",
        "12 distinct recorded inputs",
        "100% right, of 12 inputs that its like had not been shown",
        // Nothing wrong among twelve says little, and that is said.
        "0% of what it answers there is wrong, and says nothing; so few inputs do not rule out 22.1%",
        "which this program has built in",
        &format!("by {key} (ours)"),
        "1 examples, 1 properties, 0 eval cases, and no threshold",
        "pass: every recorded input is answered with its one recorded output (12 of 12 equal (100.0000%))",
        "pass: every output contains the pattern",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn a_changed_byte_is_refused_by_every_verb_that_reads() {
    let tool = shop();
    // A second statement, so that there is something to go back to and something that changed.
    ok(&tool, "compile --contract shout.contract.toml --store shout.db --out plain.cbin --no-optimize");
    ok(&tool, "registry add plain.cbin --as shout --key ours.pem");
    ok(&tool, "registry tag shout --back --key ours.pem");
    ok(&tool, "registry gc");
    // Each verb, and which it reads of index, log, statements and artifact.
    let verbs = [
        ("registry get shout --out out.cbin", "ilsa"),
        ("registry verify shout", "ilsa"),
        ("registry verify shout --explain", "ilsa"),
        ("registry list", "ilsa"),
        ("registry log shout", "il"),
        ("registry log shout --changes", "ilsa"),
        ("registry tag other shout --key ours.pem", "ilsa"),
        ("registry tag shout --back-to 1 --key ours.pem", "ilsa"),
        ("registry diff shout shout.cbin", "ilsa"),
        ("registry rotate --key ours.pem --to next.pem", "ils"),
        ("registry keys", "i"),
        ("registry gc --untagged --dry-run", "il"),
        ("registry push shout --to http://127.0.0.1:1", "ilsa"),
        ("run shout --input 1", "ilsa"),
    ];
    let all = files(&tool.path("auto-registry"));
    let index = fs::read_to_string(tool.path("auto-registry/index.json")).unwrap();
    let index = Value::parse(index.lines().next().unwrap()).unwrap();
    let id = told(&tool, "registry log shout").2;
    let id =
        id.get("entries").and_then(Value::as_list).unwrap()[0].get("id").and_then(Value::as_text).unwrap().to_owned();
    let of =
        |part: &str, key: &str| index.get(part).and_then(|of| of.get(key)).and_then(Value::as_text).unwrap().to_owned();
    let object = |name: String| tool.path("auto-registry/objects").join(name);
    let parts = [
        ('i', tool.path("auto-registry/index.json")),
        ('l', object(of("tags", "shout:latest"))),
        ('s', object(of("artifacts", &id))),
        ('a', object(id)),
    ];
    for (part, path) in parts {
        let good = &all[&path];
        for (number, (verb, _)) in verbs.iter().enumerate().filter(|(_, (_, reads))| reads.contains(part)) {
            let mut bad = good.clone();
            let at = (number + 1) * bad.len() / (verbs.len() + 2);
            bad[at] ^= 1 << (number % 8);
            for bad in [Some(&bad[..]), Some(&good[..at]), Some(b""), None] {
                match bad {
                    Some(bad) => fs::write(&path, bad).unwrap(),
                    None => fs::remove_file(&path).unwrap(),
                }
                let output = tool.run(&words(verb));
                assert_eq!(output.status.code(), Some(6), "{verb}: {}: {}", path.display(), printed(&output));
                fs::write(&path, good).unwrap();
            }
        }
    }
    let now = files(&tool.path("auto-registry"));
    assert!(all.iter().all(|(path, bytes)| now.get(path) == Some(bytes)), "nothing was changed");
    assert!(!tool.path("out.cbin").exists());
    assert_eq!(String::from_utf8_lossy(&run(&tool, "shout").stdout), ANSWER);
}

#[test]
fn a_changed_byte_of_a_file_is_refused_by_every_verb_that_reads_one() {
    let tool = shop();
    let good = fs::read(tool.path("shout.cbin")).unwrap();
    let verbs = [
        "run bad.cbin --input 1",
        "inspect bad.cbin",
        "explain bad.cbin",
        "export bad.cbin --target node --out exported",
        "verify --contract shout.contract.toml --artifact bad.cbin",
        "registry verify bad.cbin",
        "registry add bad.cbin --as other --key ours.pem",
        "registry diff shout.cbin bad.cbin",
    ];
    for (number, verb) in verbs.iter().enumerate() {
        for at in [0, 9, good.len() / 3 + number, good.len() / 2 + 31 * number, good.len() - 40, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 1 << (number % 8);
            fs::write(tool.path("bad.cbin"), bad).unwrap();
            let output = tool.run(&words(verb));
            assert_eq!(output.status.code(), Some(6), "{verb}: byte {at}: {}", printed(&output));
        }
    }
    assert!(!tool.path("exported").exists());
    refused(&tool, 1, "unknown-name", "registry get other --out x.cbin");
}

#[test]
fn a_changed_byte_in_what_lies_beside_a_file_is_refused() {
    let tool = shop();
    ok(&tool, "registry get shout --out copy.cbin");
    fs::remove_dir_all(tool.path("auto-registry/objects")).unwrap();
    fs::remove_file(tool.path("auto-registry/index.json")).unwrap();
    ok(&tool, "registry trust ours.pem.pub");
    ok(&tool, "registry verify copy.cbin");
    let beside = tool.path("copy.cbin.intoto.jsonl");
    let good = fs::read(&beside).unwrap();
    for at in (0..good.len()).step_by(good.len() / 24) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&beside, bad).unwrap();
        let output = tool.run(&["registry", "verify", "copy.cbin"]);
        // In the id of the key it makes another key, which nobody knows.
        assert!(matches!(output.status.code(), Some(6 | 1)), "byte {at}: {}", printed(&output));
        let is_unknown = output.status.code() == Some(1);
        let added = tool.run(&words("registry add copy.cbin --key ours.pem"));
        assert_eq!(added.status.code(), Some(if is_unknown { 0 } else { 6 }), "byte {at}: {}", printed(&added));
    }
}

#[test]
fn three_answers_are_given_apart() {
    let tool = shop();
    let part = |value: &Value, part: &str| value.get(part).and_then(|part| part.get("ok")).cloned().unwrap();
    let all = |value: &Value| ["integrity", "signature", "policy"].map(|name| part(value, name).to_string());
    let good = refused(&tool, 0, "verified", "registry verify shout");
    assert_eq!(all(&good), ["true", "true", "true"]);

    fs::write(tool.path("auto.toml"), "[registry.policy]\nmin_held_out = 1000\n").unwrap();
    let value = refused(&tool, 1, "policy", "registry verify shout");
    assert_eq!(all(&value), ["true", "true", "false"]);
    fs::remove_file(tool.path("auto.toml")).unwrap();

    ok(&tool, "registry keygen --out theirs.pem --no-trust");
    ok(&tool, "registry add shout.cbin --registry theirs --as shout --key theirs.pem");
    let value = refused(&tool, 1, "unknown-key", "registry get shout --registry theirs --out o.cbin");
    assert!(value.get("message").and_then(Value::as_text).unwrap().contains("not trusted here"));
    ok(&tool, "registry trust theirs.pem.pub --registry theirs");
    ok(&tool, "registry get shout --registry theirs --out o.cbin");
    let value = refused(&tool, 1, "unknown-key", "registry verify o.cbin --registry none");
    assert_eq!(all(&value), ["true", "false", "false"]);

    let mut bytes = fs::read(tool.path("o.cbin")).unwrap();
    bytes[900] ^= 1;
    fs::write(tool.path("o.cbin"), bytes).unwrap();
    let value = refused(&tool, 6, "digest-mismatch", "registry verify o.cbin --registry theirs");
    assert_eq!(all(&value), ["false", "null", "null"]);
}

#[test]
fn run_refuses_by_rule_what_does_not_meet_the_policy_of_auto_toml() {
    let tool = shop();
    ok(&tool, "registry get shout --out copy.cbin");
    fs::copy(tool.path("shout.cbin"), tool.path("bare.cbin")).unwrap();
    let key = told(&tool, "registry keys").2;
    let key = key.get("keys").and_then(Value::as_list).unwrap()[0].get("key").and_then(Value::as_text).unwrap();
    let gate = told(&tool, "inspect shout.cbin").2;
    let passes = gate.get("manifest").and_then(|of| of.get("passes")).and_then(Value::as_list).unwrap().to_vec();
    let text = |pass: &Value, key: &str| pass.get(key).and_then(Value::as_text).unwrap().to_owned();
    let gate = passes.iter().find(|pass| text(pass, "interface").starts_with("auto:pass/gate@")).unwrap();
    let gate = text(gate, "digest");
    let other = "0".repeat(64);
    for (rules, refusal) in [
        (
            format!(
                "keys = [\"{key}\"]\ngates = [\"{gate}\"]\npredicates = [\"contract\", \"eval-run\", \"latency\", \"machine\"]\nmin_agreement_ppm = 1000000\nmax_silent_error_ppm = 0\nmin_held_out = 12\nallow_unguarded = false\ncapabilities = []"
            ),
            "",
        ),
        (format!("keys = [\"{other}\"]"), "keys:"),
        (format!("gates = [\"{other}\"]"), "gates:"),
        ("predicates = [\"https://slsa.dev/provenance/v1\"]".to_owned(), "predicates:"),
        ("signatures = 2".to_owned(), "signatures:"),
        ("min_held_out = 13".to_owned(), "min_held_out:"),
    ] {
        fs::write(tool.path("auto.toml"), format!("[registry.policy]\n{rules}\n")).unwrap();
        for name in ["shout", "copy.cbin", "shout.cbin"] {
            let output = run(&tool, name);
            let said = printed(&output);
            match refusal {
                "" => assert_eq!(said, ANSWER, "{rules}"),
                rule => {
                    assert_eq!(output.status.code(), Some(1), "{name}, {rules}: {said}");
                    assert!(said.contains("error[policy]") && said.contains(rule), "{name}, {rules}: {said}");
                    assert!(output.stdout.is_empty(), "{name}, {rules}: {said}");
                }
            }
        }
    }
    fs::write(tool.path("auto.toml"), "[registry.policy]\n").unwrap();
    let bare = tool.run(&["run", "bare.cbin", "--input", INPUT, "--registry", "none"]);
    assert_eq!(bare.status.code(), Some(1));
    assert!(printed(&bare).contains("error[unsigned]"), "{}", printed(&bare));
    let allowed = tool.run(&["run", "bare.cbin", "--input", INPUT, "--registry", "none", "--allow-unsigned"]);
    assert_eq!(printed(&allowed), ANSWER);
}

#[test]
fn a_flag_goes_before_the_environment_and_that_before_auto_toml() {
    let tool = shop();
    fs::write(tool.path("auto.toml"), "[limits]\nfuel = 10\n[registry]\npath = \"elsewhere\"\n").unwrap();
    let ran = run(&tool, "shout.cbin");
    assert!(ran.status.code() == Some(5) && printed(&ran).contains("out-of-fuel"), "{}", printed(&ran));
    let flagged = tool.run(&["run", "shout.cbin", "--input", INPUT, "--fuel", "100000000"]);
    assert_eq!(printed(&flagged), ANSWER);

    fs::write(tool.path("auto.toml"), "[registry]\npath = \"elsewhere\"\n").unwrap();
    refused(&tool, 2, "no-registry", "registry list");
    let variable = |extra: &[&str]| {
        let mut command = tool.command(&["registry", "log", "shout"]);
        printed(&command.args(extra).env("AUTO_REGISTRY", "auto-registry").output().unwrap())
    };
    assert!(variable(&[]).contains("signed by"));
    assert!(variable(&["--registry", "nowhere"]).contains("no-registry"));

    fs::write(tool.path("other.toml"), "[registy]\n").unwrap();
    let value = refused(&tool, 2, "unknown-key", "registry list --config other.toml");
    assert_eq!(value.get("at").and_then(Value::as_text), Some("other.toml:1:2 registy"));
    refused(&tool, 2, "unreadable", "registry list --config absent.toml");
    let cache = tool.path("kept");
    fs::write(tool.path("auto.toml"), "[cache]\nfolder = \"kept\"\n").unwrap();
    refused(&tool, 2, "only-named", "registry list");
    fs::rename(tool.path("auto.toml"), tool.path("mine.toml")).unwrap();
    let mut command = tool.command(&["run", "shout.cbin", "--input", INPUT, "--config", "mine.toml"]);
    assert!(command.output().unwrap().status.success() && !cache.exists(), "the variable goes first");
    assert!(command.env_remove("AUTO_CACHE").output().unwrap().status.success() && cache.exists());
}

/// Compiles `whisper.cbin`: the same inputs, answered in small letters, without a guard.
fn whisper(tool: &Tool) {
    let recorded = fs::read_to_string(tool.path("shout.jsonl")).unwrap();
    let quiet = |line: &str| match line.split_once("\"output\":\"") {
        Some((before, rest)) => {
            let (output, after) = rest.split_once('"').unwrap();
            format!("{before}\"output\":\"{}\"{after}\n", output.to_lowercase())
        }
        None => format!("{line}\n"),
    };
    fs::write(tool.path("whisper.jsonl"), recorded.lines().map(quiet).collect::<String>()).unwrap();
    let contract = fs::read_to_string(tool.path("shout.contract.toml")).unwrap();
    let (claims, rest) = contract.split_once("[scope]").unwrap();
    let scope = rest.split("[[").next().unwrap();
    fs::write(tool.path("whisper.toml"), format!("guard = \"none\"\n{claims}[scope]{scope}")).unwrap();
    ok(tool, "import --store whisper.db whisper.jsonl");
    ok(tool, "compile --contract whisper.toml --store whisper.db --out whisper.cbin");
}

#[test]
fn names_move_with_a_log_and_back_and_say_what_changed() {
    let tool = shop();
    whisper(&tool);
    ok(&tool, "registry add whisper.cbin --as shout --key ours.pem --note quiet");
    let value = refused(&tool, 0, "different", "registry diff shout.cbin shout");
    let changed: Vec<&str> = value
        .get("changes")
        .and_then(Value::as_list)
        .unwrap()
        .iter()
        .map(|change| change.get("part").and_then(Value::as_text).unwrap())
        .collect();
    for (part, differs) in [("interface", false), ("program", true), ("guard", true), ("evidence", true)] {
        assert_eq!(changed.contains(&part), differs, "{part}: {changed:?}");
    }
    let lines = value.get("program").and_then(Value::as_list).unwrap();
    let starts = |with: &str| lines.iter().any(|line| line.as_text().unwrap().starts_with(with));
    assert!(starts("- ") && starts("+ "), "{lines:?}");
    ok(&tool, "registry tag shout --back --key ours.pem");
    // The changelog says the same of each step.
    let log = refused(&tool, 0, "log", "registry log shout --changes");
    let steps = log.get("entries").and_then(Value::as_list).unwrap();
    let of = |step: &Value, key: &str| step.get(key).and_then(Value::as_text).map(str::to_owned);
    let parts = |step: &Value| -> Vec<Option<String>> {
        let changes = step.get("changes").and_then(Value::as_list).unwrap_or_default();
        changes.iter().map(|change| of(change, "part")).collect()
    };
    assert!(parts(&steps[0]).contains(&Some("guard".to_owned())) && parts(&steps[2]).is_empty(), "{log}");
    assert_eq!(parts(&steps[0]), parts(&steps[1]), "back again");
    let text = printed(&ok(&tool, "registry log shout --changes"));
    assert!(text.contains("guarded: true -> false") && text.contains("guarded: false -> true"), "{text}");
    let value = refused(&tool, 0, "log", "registry log shout");
    let entries = value.get("entries").and_then(Value::as_list).unwrap();
    let field = |at: usize, key: &str| entries[at].get(key).unwrap().clone();
    assert_eq!(entries.len(), 3);
    assert_eq!((field(0, "id"), field(0, "note")), (field(2, "id"), "back to 1".into()));
    assert_eq!(field(1, "note"), "quiet".into());
    refused(&tool, 0, "same", "registry diff shout.cbin shout");
    refused(&tool, 1, "unknown-number", "registry tag shout --back-to 9 --key ours.pem");
    refused(&tool, 2, "usage", "registry get ../../etc/passwd --out x.cbin");
    refused(&tool, 2, "usage", "registry tag a/../b shout --key ours.pem");
}

#[test]
fn keys_follow_each_other_and_end() {
    let tool = shop();
    let old = told(&tool, "registry keys").2;
    let old = old.get("keys").and_then(Value::as_list).unwrap()[0].get("key").and_then(Value::as_text).unwrap();
    let rotated = refused(&tool, 0, "rotated", "registry rotate --key ours.pem --to next.pem --label next");
    assert_eq!(rotated.get("signed_again").and_then(Value::as_u64), Some(2));
    refused(&tool, 0, "revoked", &format!("registry revoke {old} --key next.pem --reason retired"));
    assert_eq!(printed(&run(&tool, "shout")), ANSWER);
    refused(&tool, 6, "revoked-key", "registry add shout.cbin --as late --key ours.pem");
    refused(&tool, 6, "revoked-key", "registry tag late shout --key ours.pem");
    refused(&tool, 1, "unknown-name", "registry get late --out x.cbin");
    // Nor does a key that nobody trusts take a name over from one that somebody does.
    ok(&tool, "registry keygen --out theirs.pem --no-trust");
    refused(&tool, 1, "unknown-key", "registry tag shout --back-to 1 --key theirs.pem");
    let added = printed(&ok(&tool, "registry add shout.cbin --as theirs --key theirs.pem"));
    assert!(added.contains("its key is not trusted here"), "{added}");
    assert_eq!(printed(&run(&tool, "shout")), ANSWER);
    refused(&tool, 6, "revoked-key", "registry rotate --key ours.pem --to more.pem");
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(tool.path("next.pem")).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    fs::set_permissions(tool.path("next.pem"), std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    refused(&tool, 1, "key-open", "registry tag shout --back-to 1 --key next.pem");
    refused(&tool, 1, "key-exists", "registry keygen --out next.pem");
    refused(&tool, 2, "no-key", "registry tag shout --back-to 1");
}

#[test]
fn evidence_of_another_compile_is_refused() {
    let tool = shop();
    fs::write(
        tool.path("other.toml"),
        fs::read_to_string(tool.path("shout.contract.toml")).unwrap().replace("\"shout\"", "\"other\""),
    )
    .unwrap();
    refused(&tool, 6, "other-contract", "registry add shout.cbin --key ours.pem --contract other.toml");
    fs::create_dir(tool.path("none")).unwrap();
    refused(&tool, 2, "unreadable", "registry add shout.cbin --key ours.pem --runs none");
    for entry in fs::read_dir(tool.path("auto-runs")).unwrap().flatten() {
        fs::write(tool.path("none").join(entry.file_name()), "{\"status\":\"pass\"}").unwrap();
    }
    refused(&tool, 6, "other-eval-run", "registry add shout.cbin --key ours.pem --runs none");
}
