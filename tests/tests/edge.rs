//! One artifact, the same thousand inputs, every engine that is here: equal bytes.

use std::process::Command;

use auto_json::Value;
use auto_tests::outside;
use auto_tests::tool::{Tool, binary};

/// What `auto-evals edge` says of the engines, with more in its environment.
fn measured(with: &[(&str, std::path::PathBuf)]) -> Value {
    let evals = binary().with_file_name("auto-evals");
    assert!(evals.exists(), "no {}; build it with `cargo xtask build`", evals.display());
    let tool = Tool::with_shout();
    let mut command = Command::new(evals);
    command
        .args(["edge", "--artifact", "shout.cbin", "--input", r#"{"text":"hello there"}"#])
        .current_dir(tool.folder());
    command.envs(with.iter().map(|(name, value)| (name, value)));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report = Value::parse(String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default()).unwrap();
    assert_eq!(report.get("inputs").map(Value::to_string).as_deref(), Some("1000"), "{report}");
    report.get("engines").cloned().unwrap()
}

/// Whether an engine was measured; what gave other bytes ends the command.
fn was_measured(engines: &Value, name: &str) -> bool {
    engines.get(name).is_some_and(|engine| engine.get("call_ns").is_some())
}

#[test]
fn every_engine_gives_the_same_bytes() {
    let wasmtime = outside::python("wasmtime", &["wasmtime==50.0.1"]);
    let engines = measured(&wasmtime.map(|folder| ("PYTHONPATH", folder)).into_iter().collect::<Vec<_>>());
    for (name, engine) in engines.as_record().unwrap().iter() {
        if let Some(why) = engine.get("missing") {
            eprintln!("skipped: {name}: {why}");
        }
    }
    for name in ["wasmtime", "wasmi"] {
        assert!(was_measured(&engines, name), "{engines}");
    }
    // Where a program is there, it was measured.
    for (name, program) in [("node", "node"), ("chromium", "chromium")] {
        assert!(!outside::has(program) || was_measured(&engines, name), "{engines}");
    }
}

#[test]
#[ignore = "slow, and fetches workerd: cargo xtask test --all"]
fn a_worker_gives_the_same_bytes() {
    let Some(folder) = outside::npm("workerd", &["workerd@1.20261117.1"]) else { return };
    let engines = measured(&[("WORKERD", folder.join("node_modules/.bin/workerd"))]);
    assert!(was_measured(&engines, "workerd"), "{engines}");
}
