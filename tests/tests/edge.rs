//! One artifact, the same thousand inputs, every engine that is here: equal bytes.

use std::process::Command;

use auto_json::Value;
use auto_tests::outside;
use auto_tests::tool::{Tool, binary};

#[test]
fn every_engine_gives_the_same_bytes() {
    let evals = binary().with_file_name("auto-evals");
    assert!(evals.exists(), "no {}; build it with `cargo xtask build`", evals.display());
    let tool = Tool::with_shout();
    let mut command = Command::new(evals);
    command
        .args(["edge", "--artifact", "shout.cbin", "--input", r#"{"text":"hello there"}"#])
        .current_dir(tool.folder());
    if let Some(wasmtime) = outside::python("wasmtime", &["wasmtime==50.0.1"]) {
        command.env("PYTHONPATH", wasmtime);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report = Value::parse(String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default()).unwrap();
    assert_eq!(report.get("inputs").map(Value::to_string).as_deref(), Some("1000"), "{report}");
    let engines = report.get("engines").and_then(Value::as_record).unwrap();
    for (name, engine) in engines.iter() {
        match engine.get("missing") {
            Some(why) => eprintln!("skipped: {name}: {why}"),
            None => assert!(engine.get("call_ns").is_some(), "{report}"),
        }
    }
    for name in ["wasmtime", "wasmi"] {
        assert!(engines.get(name).unwrap().get("call_ns").is_some(), "{report}");
    }
    // Where a program is there, it was measured.
    for (name, program) in [("node", "node"), ("chromium", "chromium")] {
        assert!(!outside::has(program) || engines.get(name).unwrap().get("missing").is_none(), "{report}");
    }
}
