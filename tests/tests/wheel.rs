//! The Python package over the runtime: built, installed by pip, and held to what `auto-host` got.

use std::path::PathBuf;
use std::process::Command;

use auto_tests::root;
use auto_tests::tool::{Tool, printed};

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let told = format!("{}{}", printed(&output), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {told}");
    told
}

/// The wheel, and a folder that it was installed into.
fn installed(tool: &Tool) -> PathBuf {
    let made = run(Command::new(env!("CARGO")).args(["xtask", "wheel"]).current_dir(root()));
    let wheel = made.lines().find(|line| line.ends_with(".whl")).expect("a wheel");
    let again = run(Command::new(env!("CARGO")).args(["xtask", "wheel"]).current_dir(root()));
    assert!(again.contains(wheel), "{again}");
    let folder = tool.path("site");
    run(Command::new("python3").args(["-m", "pip", "install", "--quiet", "--target"]).arg(&folder).arg(wheel));
    folder
}

const TEST: &str = r#"
import base64, json, pathlib, threading
import auto_cbin

behavior = auto_cbin.Behavior(pathlib.Path("shout.cbin").read_bytes())

def outcome(text):
    try:
        came = behavior.run_text(text)
    except auto_cbin.BehaviorError as error:
        return {"error": error.code}
    match came:
        case auto_cbin.Answer(text):
            return {"answer": text}
        case auto_cbin.Abstain(reason, score, limit):
            return {"abstain": {"reason": reason, "score": score, "limit": limit}}
        case auto_cbin.Request(capability, input, state):
            return {"request": {"capability": capability, "input": input, "state": base64.b64encode(state).decode()}}

lines = pathlib.Path("python/vectors.jsonl").read_text(encoding="utf-8").splitlines()
for line in lines:
    vector = json.loads(line)
    text = vector.pop("input")
    assert outcome(text) == vector, (text, outcome(text), vector)
known = {"text": "hello there"}
assert behavior.run(known).value == "HELLO THERE"
assert behavior.id == "ID" and behavior.manifest["task"] == "shout", behavior.manifest
assert behavior.assess(known).score <= behavior.assess(known).limit
for file in [b"", b"\0asm"]:
    try:
        auto_cbin.Behavior(file)
    except ValueError:
        continue
    raise AssertionError(file)
damaged = bytearray(pathlib.Path("shout.cbin").read_bytes())
damaged[len(damaged) // 2] ^= 1
try:
    auto_cbin.Behavior(bytes(damaged))
    raise AssertionError("a damaged file")
except ValueError as error:
    assert "digest" in str(error), error
few = auto_cbin.Behavior(pathlib.Path("shout.cbin").read_bytes(), fuel=10)
long = auto_cbin.Behavior(pathlib.Path("shout.cbin").read_bytes(), max_input=4)
for limited, code in [(few, "out-of-fuel"), (long, "input-too-large")]:
    try:
        limited.run(known)
        raise AssertionError(code)
    except auto_cbin.BehaviorError as error:
        assert error.code == code, error.code
try:
    behavior.resume(b"")
    raise AssertionError("neither a reply nor an error")
except TypeError:
    pass

wrong = []
def many():
    for number in range(2000):
        if behavior.run(known) != auto_cbin.Answer('"HELLO THERE"'):
            wrong.append(number)
threads = [threading.Thread(target=many) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not wrong, wrong[:5]
print("all", len(lines), "vectors")
"#;

#[test]
#[ignore = "slow: cargo xtask test --all"]
fn the_package_over_the_runtime_gives_what_auto_host_gives() {
    let tool = Tool::with_shout();
    let site = installed(&tool);
    std::fs::write(tool.path("inputs.jsonl"), "{\"text\":\"hello there\"}\n{\"text\":\"Zm\u{fc}r \u{1f600}\"}\n7\n")
        .unwrap();
    let report = tool.json(&["inspect", "shout.cbin"]).1;
    let id = auto_tests::tool::at(&report, &["id"]).as_text().unwrap_or_default().to_owned();
    let export = ["export", "shout.cbin", "--target", "python", "--out", "python", "--inputs", "inputs.jsonl"];
    assert!(tool.run(&export).status.success());
    let mut python = Command::new("python3");
    let told = run(python
        .args(["-B", "-W", "error", "-c", &TEST.replace("ID", &id)])
        .env("PYTHONPATH", site)
        .current_dir(tool.folder()));
    assert!(told.contains("vectors"), "{told}");
}
