//! Loaders that were written from the page on formats, held to what `auto-host` gives.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use auto_json::{Record, Value};
use auto_schema::cbin::{COMPONENT_TYPE_SECTION, sections};
use auto_schema::digest::Digest;
use auto_tests::tool::Tool;
use auto_tests::{outside, root};

const INPUTS: [&str; 14] = [
    r#"{"text":"hello there"}"#,
    " { \"text\" : \"hello there\" } ",
    r#"{"text":"Zmür 😀"}"#,
    r#"{"text":"\u0041\n\ud83d\ude00"}"#,
    r#"{"text":"\ud800"}"#,
    r#"{"text":""}"#,
    r#"{"text":7}"#,
    r#"{"text":"a","text":"b"}"#,
    r#"{"other":"a"}"#,
    "7",
    "\"hello\"",
    "[1,",
    "1e99999",
    "null",
];

fn run(command: &mut Command, loader: &str, file: &Path, lines: &[&str]) -> Output {
    command.arg(root().join("tests/loaders").join(loader)).arg(file);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    child.wait_with_output().unwrap()
}

/// What the page says that `auto-host` prints, as the loaders print it.
fn expected(tool: &Tool, input: &str) -> String {
    let output = tool.run(&["run", "shout.cbin", "--input", input, "--json"]);
    let reply = Value::parse(output.stdout.trim_ascii()).unwrap();
    let part = |name: &str| reply.get(name).filter(|part| **part != Value::Null).cloned();
    if let Some(answer) = part("output") {
        return format!("{{\"answer\":{answer}}}");
    }
    if let Some(abstained) = part("abstained") {
        let field = |name: &str| abstained.get(name).cloned().unwrap_or(Value::Null);
        let [reason, score, limit] = ["reason", "score", "limit"].map(field);
        return format!("{{\"abstain\":{{\"reason\":{reason},\"score\":{score},\"limit\":{limit}}}}}");
    }
    let failure = Record::new().with(reply.get("code").unwrap().as_text().unwrap(), reply.get("message").cloned());
    format!("{{\"failed\":{}}}", Value::from(failure))
}

fn holds(tool: &Tool, command: impl Fn() -> Command, loader: &str) {
    let output = run(&mut command(), loader, &tool.path("shout.cbin"), &INPUTS);
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    let got: Vec<&str> = told.lines().collect();
    assert_eq!(got.len(), INPUTS.len(), "{told}");
    for (input, got) in INPUTS.iter().zip(got) {
        assert_eq!(got, expected(tool, input), "{loader} of {input}");
    }
    // Damage, wherever it is.
    let whole = std::fs::read(tool.path("shout.cbin")).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 5) {
        let mut file = whole.clone();
        file[at] ^= 1;
        std::fs::write(tool.path("damaged.cbin"), file).unwrap();
        let output = run(&mut command(), loader, &tool.path("damaged.cbin"), &INPUTS[..1]);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]), "{loader} of byte {at}");
    }
}

#[test]
fn a_loader_written_from_the_page_gives_what_auto_host_gives() {
    if outside::has("node") {
        holds(&Tool::with_shout(), || Command::new("node"), "loader.mjs");
    }
}

#[test]
#[ignore = "slow, and fetches wasm3: cargo xtask test --all"]
fn another_engine_with_a_loader_written_from_the_page_gives_the_same() {
    let Some(wasm3) = outside::python("wasm3", &["pywasm3==0.5.0"]) else { return };
    let python = || {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", &wasm3);
        python
    };
    holds(&Tool::with_shout(), python, "loader.py");
}

#[test]
fn the_page_has_the_digest_of_the_world_that_artifacts_have() {
    let tool = Tool::with_shout();
    let file = std::fs::read(tool.path("shout.cbin")).unwrap();
    let all = sections(&file).unwrap();
    let world = all.iter().find(|section| section.name == Some(COMPONENT_TYPE_SECTION)).unwrap();
    let page = std::fs::read_to_string(root().join("docs/formats.md")).unwrap();
    let said = format!(
        "a section of {} bytes with the SHA-256 `{}`",
        world.range.len(),
        Digest::of(&file[world.range.clone()])
    );
    assert!(page.contains(&said), "{said}");
}
