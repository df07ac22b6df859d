//! The peer's end-to-end flow, on its own trace and contract files (version 0): record,
//! census, verify at span and task scope, compile, run, a wrong module blocked, the guard
//! tripped. Where the public data is not there, the test says so and passes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use auto_json::Value;
use auto_tests::shared_data as shared;
use auto_tests::tool::binary;

/// The right shape, the wrong answer: `"nonsense"` to everything.
const WRONG: &str = r#"(module
  (memory (export "memory") 1)
  (data (i32.const 1024) "\00\00\00\00\00\00\00\00\00\08\00\00\0a\00\00\00")
  (data (i32.const 2048) "\22nonsense\22")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 4096))
  (func (export "auto:cbin/behavior@0.1.0#run") (param i32 i32) (result i32) (i32.const 1024))
  (func (export "auto:cbin/behavior@0.1.0#resume") (param i32 i32 i32 i32 i32) (result i32) (i32.const 1024))
  (func (export "auto:cbin/behavior@0.1.0#assess") (param i32 i32) (result i32) (i32.const 1024)))"#;

/// `auto-host` in a folder, with a cache of its own.
struct Tool {
    folder: tempfile::TempDir,
    binary: PathBuf,
}

impl Tool {
    fn new() -> Tool {
        let binary = binary();
        Tool { folder: tempfile::tempdir().unwrap(), binary }
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.folder.path()).env("AUTO_CACHE", self.folder.path().join("cache"));
        command.output().unwrap()
    }

    /// The JSON object a verb prints; fails unless it ends with that exit code.
    fn ask(&self, exit: i32, arguments: &[&str]) -> Value {
        let output = self.run(&[&["--json"], arguments].concat());
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(exit), "auto-host {arguments:?}\n{stdout}\n{stderr}");
        Value::parse(stdout.trim()).unwrap()
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn the_whole_flow_runs_on_the_peers_own_files() {
    let Some(peer) = shared("peer-v0") else { return };
    let tool = Tool::new();
    let file = |name: &str| peer.join(name);
    let (span, task) = (file("toy.contract.toml"), file("toy-task.contract.toml"));

    // Each trace is one recorded run of the toy agent.
    for number in 1..=8 {
        let copy = format!("cp '{}' \"$AUTO_TRACE_FILE\"", file(&format!("toy-{number}.jsonl")).display());
        let recorded = tool.ask(0, &["record", "--store", "toy.db", "--", "sh", "-c", &copy]);
        assert_eq!(recorded.get("added"), Some(&Value::integer(1)));
    }
    let census = tool.ask(0, &["census", "--task", "toy-agent", "--store", "toy.db"]);
    assert_eq!(census.get("traces"), Some(&Value::integer(8)));
    let runs = census.get("runs").and_then(|runs| runs.get("deterministic")).and_then(|runs| runs.get("spans"));
    assert_eq!(runs, Some(&Value::integer(8)), "the task-level section");

    for contract in [&span, &task] {
        let verified = tool.ask(0, &["verify", "--contract", text(contract), "--store", "toy.db"]);
        assert_eq!(verified.get("status").and_then(Value::as_text), Some("pass"));
    }

    let compile = ["compile", "--contract", text(&span), "--store", "toy.db", "--out"];
    let sealed = tool.ask(0, &[compile.as_slice(), &["toy.cbin"]].concat());
    assert_eq!(sealed.get("status").and_then(Value::as_text), Some("sealed"));
    let seen = r#"{"prompt":"The quick brown fox jumps over the lazy dog near the riverbank."}"#;
    let answer = tool.ask(0, &["run", "toy.cbin", "--input", seen]);
    assert_eq!(answer.get("output"), Some(&Value::from("brown jumps quick")));

    std::fs::write(tool.folder.path().join("wrong.wasm"), wat::parse_str(WRONG).unwrap()).unwrap();
    let blocked = tool.ask(1, &[compile.as_slice(), &["wrong.cbin", "--module", "wrong.wasm"]].concat());
    let rungs = blocked.get("rungs").and_then(Value::as_list).unwrap();
    let gate = rungs.last().unwrap();
    assert_eq!(gate.get("rung").and_then(Value::as_text), Some("gate"));
    assert!(gate.get("why").and_then(Value::as_text).unwrap().contains("replay/agreement fail"), "{gate}");
    assert!(!tool.folder.path().join("wrong.cbin").exists());

    let far = r#"{"prompt":"Ο γρήγορος καφέ αλεπού πηδά πάνω από το τεμπέλικο σκυλί."}"#;
    let tripped = tool.run(&["run", "toy.cbin", "--input", far]);
    assert_eq!((tripped.status.code(), tripped.stdout.len()), (Some(3), 0));

    // The task contract compiles as well, into a program that asks for the memory it appends to.
    let whole = tool.ask(0, &["compile", "--contract", text(&task), "--store", "toy.db", "--out", "task.cbin"]);
    let stages = whole.get("stages").map(Value::to_string).unwrap_or_default();
    assert!(stages.contains("memory_op append") && stages.contains("memory:append"), "{stages}");
}

#[test]
fn two_folders_give_the_same_bytes() {
    let fixtures = auto_tests::root().join("tests/cli/fixtures");
    let built = [Tool::new(), Tool::new()].map(|tool| {
        tool.ask(0, &["import", "--store", "shout.db", text(&fixtures.join("shout.jsonl"))]);
        let contract = fixtures.join("shout.contract.toml");
        tool.ask(0, &["compile", "--contract", text(&contract), "--store", "shout.db", "--out", "shout.cbin"]);
        std::fs::read(tool.folder.path().join("shout.cbin")).unwrap()
    });
    assert_eq!(built[0], built[1]);
}

#[test]
fn a_full_disk_under_stdout_is_no_success() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
    let tool = Tool::new();
    let status = Command::new(&tool.binary)
        .args(["pass", "list"])
        .env("AUTO_CACHE", tool.folder.path().join("cache"))
        .stdout(full)
        .status();
    assert_eq!(status.unwrap().code(), Some(1));
}
