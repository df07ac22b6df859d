//! Packages of an artifact, run where they are for: each holds its engine to what `auto-host` got.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use auto_json::Value;
use auto_tests::outside;
use auto_tests::tool::Tool;

/// An artifact and some inputs of its task, in `inputs.jsonl`.
fn tool() -> Tool {
    let tool = Tool::with_shout();
    std::fs::write(tool.path("inputs.jsonl"), "{\"text\":\"hello there\"}\n\n{\"text\":\"Zm\u{fc}r \u{1f600}\"}\n7\n")
        .unwrap();
    tool
}

fn export(tool: &Tool, target: &str) -> Value {
    let arguments = ["export", "shout.cbin", "--target", target, "--out", target, "--inputs", "inputs.jsonl", "--json"];
    let output = tool.run(&arguments);
    assert!(output.status.success(), "{output:?}");
    Value::parse(&output.stdout).unwrap()
}

fn passes(command: &mut Command, says: &str) {
    let output = command.output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains(says), "{command:?}: {told}");
}

#[test]
fn a_package_says_what_the_artifact_is() {
    let tool = tool();
    let report = export(&tool, "node");
    assert_eq!(report.get("name").and_then(Value::as_text), Some("shout"), "{report}");
    let readme = std::fs::read_to_string(tool.path("node/README.md")).unwrap();
    let id = report.get("artifact").and_then(Value::as_text).unwrap();
    assert!(readme.contains(id) && readme.contains("| input | `record{text: text}` |"), "{readme}");
    let vectors = std::fs::read_to_string(tool.path("node/vectors.jsonl")).unwrap();
    assert!(vectors.contains(r#""answer":"\"HELLO THERE\"""#), "{vectors}");
    assert!(vectors.contains(r#"{"error":"bad-input","input":"7"}"#), "{vectors}");
    assert_eq!(vectors.lines().count().to_string(), report.get("inputs").unwrap().to_string());
    assert_eq!(
        std::fs::read(tool.path("node/behavior.cbin")).unwrap(),
        std::fs::read(tool.path("shout.cbin")).unwrap()
    );
}

#[test]
fn equal_artifacts_give_equal_packages() {
    let tool = tool();
    for target in ["node", "browser", "workers", "python", "component"] {
        let files = |report: &Value, folder: &str| -> Vec<Vec<u8>> {
            let files = report.get("files").and_then(Value::as_list).unwrap_or_default();
            files.iter().map(|file| std::fs::read(tool.path(folder).join(file.as_text().unwrap())).unwrap()).collect()
        };
        let first = files(&export(&tool, target), target);
        std::fs::rename(tool.path(target), tool.path("before")).unwrap();
        assert_eq!(first, files(&export(&tool, target), target));
        std::fs::remove_dir_all(tool.path("before")).unwrap();
    }
}

#[test]
fn node_and_workers_give_what_auto_host_gives() {
    if !outside::has("node") {
        return;
    }
    let tool = tool();
    for target in ["node", "workers"] {
        export(&tool, target);
        passes(Command::new("node").args(["--test", "test.mjs"]).current_dir(tool.path(target)), "# pass 2");
    }
    // A package whose artifact was changed does not load.
    let mut bytes = std::fs::read(tool.path("node/behavior.cbin")).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(tool.path("node/behavior.cbin"), bytes).unwrap();
    let output = Command::new("node").args(["--test", "test.mjs"]).current_dir(tool.path("node")).output().unwrap();
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stdout).contains("is not the artifact"));
}

/// A web server for a folder, which ends with it.
struct Served(std::process::Child, u16);

impl Served {
    fn folder(folder: &Path) -> Served {
        let text = "import functools, http.server as http\n\
                    handler = functools.partial(http.SimpleHTTPRequestHandler, directory='.')\n\
                    server = http.ThreadingHTTPServer(('127.0.0.1', 0), handler)\n\
                    print(server.server_port, flush=True)\n\
                    server.serve_forever()";
        let mut python = Command::new("python3");
        python.args(["-c", text]).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = python.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Served(child, line.trim().parse().unwrap())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_page_for_browsers_gives_what_auto_host_gives() {
    if !outside::has("chromium") {
        return;
    }
    let tool = tool();
    let report = export(&tool, "browser");
    let served = Served::folder(&tool.path("browser"));
    let shown = || {
        let mut chromium = Command::new("chromium");
        chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]);
        chromium.arg(format!("--user-data-dir={}", tool.path("profile").display()));
        let output = chromium.arg(format!("http://127.0.0.1:{}/", served.1)).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let page = shown();
    let all = format!("all {} inputs come to what they came to elsewhere", report.get("inputs").unwrap());
    assert!(page.contains(&all), "{page}");
    // One byte that is not the artifact's, and the page says so.
    let file = tool.path("browser/behavior.cbin");
    let mut bytes = std::fs::read(&file).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).unwrap();
    let page = shown();
    assert!(page.contains("is not the artifact"), "{page}");
}

#[test]
fn the_types_of_a_package_are_those_of_the_contract() {
    let Some(npm) = outside::npm("typescript", &["typescript@5"]) else { return };
    let tool = tool();
    export(&tool, "node");
    export(&tool, "browser");
    let text = r#"
import { behavior, run, type Outcome } from "./node/index.mjs";
import { load } from "./browser/index.mjs";
const outcome: Outcome = run({ text: "hello" });
if (outcome.kind === "answer") outcome.output.toUpperCase();
if (outcome.kind === "abstain") outcome.score.toFixed(0);
if (outcome.kind === "request") behavior.resume(outcome.state, { ok: 1 });
// @ts-expect-error a text is a text
run({ text: 7 });
void load().then((behavior) => behavior.assess({ text: "hello" }).reason);
"#;
    std::fs::write(tool.path("use.mts"), text).unwrap();
    let mut tsc = Command::new(npm.join("node_modules/.bin/tsc"));
    tsc.args(["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022,dom", "use.mts"]);
    passes(tsc.current_dir(tool.folder()), "");
}

#[test]
fn python_and_components_give_what_auto_host_gives() {
    let Some(wasmtime) = outside::python("wasmtime", &["wasmtime==50.0.1"]) else { return };
    let tool = tool();
    for target in ["python", "component"] {
        export(&tool, target);
        let mut python = Command::new("python3");
        python.args(["-B", "-W", "error", "-m", "unittest", "test"]).env("PYTHONPATH", &wasmtime);
        passes(python.current_dir(tool.path(target)), "OK");
    }
}

fn refused(tool: &Tool, arguments: &[&str], code: &str, exit: i32) -> Output {
    let output = tool.run(&[&["export"], arguments, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(exit) && said.contains(&format!(r#""code":"{code}""#)), "{output:?}");
    output
}

#[test]
fn what_cannot_be_packaged_is_refused_and_leaves_nothing() {
    let tool = tool();
    let entries = |folder: &Path| std::fs::read_dir(folder).unwrap().count();
    std::fs::create_dir(tool.path("full")).unwrap();
    std::fs::write(tool.path("full/mine"), "mine").unwrap();
    std::fs::write(tool.path("long.jsonl"), format!("\"{}\"\n", "a".repeat(1 << 20))).unwrap();
    std::fs::write(tool.path("odd.jsonl"), b"\"\xff\"\n").unwrap();
    std::fs::write(tool.path("no.cbin"), "no").unwrap();
    let mut bytes = std::fs::read(tool.path("shout.cbin")).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(tool.path("damaged.cbin"), bytes).unwrap();
    let before = entries(tool.folder());
    let out = ["--target", "node", "--out"];
    let with = |file: &'static str, place: &'static str| [&[file][..], &out, &[place]].concat();
    refused(&tool, &with("shout.cbin", "full"), "not-empty", 2);
    refused(&tool, &with("shout.cbin", "shout.db"), "not-empty", 2);
    refused(&tool, &with("damaged.cbin", "new"), "digest-mismatch", 6);
    refused(&tool, &with("no.cbin", "new"), "not-wasm", 1);
    for (file, code) in [("long.jsonl", "input-too-large"), ("odd.jsonl", "bad-json")] {
        refused(&tool, &[&with("shout.cbin", "new")[..], &["--inputs", file]].concat(), code, 2);
    }
    refused(&tool, &[&with("shout.cbin", "new")[..], &["--name", "../up"]].concat(), "usage", 2);
    refused(&tool, &["shout.cbin", "--target", "toaster", "--out", "new"], "usage", 2);
    assert_eq!(entries(tool.folder()), before);
    assert_eq!(std::fs::read(tool.path("full/mine")).unwrap(), b"mine");
    std::fs::create_dir(tool.path("empty")).unwrap();
    assert!(
        tool.run(&with("shout.cbin", "empty").iter().fold(vec!["export"], |mut all, one| {
            all.push(one);
            all
        }))
        .status
        .success()
    );
    assert!(tool.path("empty/index.mjs").exists());
}
