//! Agents whose rules are known, from recordings to artifacts: `auto-evals policies`, on the data that
//! lies beside the project. Skipped where that is not there.

use std::process::Command;

use auto_json::Value;
use auto_tests::shared_data;

fn count(report: &Value, path: &[&str]) -> u64 {
    path.iter().fold(report, |value, key| value.get(key).unwrap_or(&Value::Null)).as_u64().unwrap_or_else(|| {
        panic!("{path:?} in {report}");
    })
}

/// The policy itself, which is wrong on nothing where the amount or the tier of a known request is
/// changed.
#[test]
fn requests_are_routed_by_the_policy_that_was_recorded() {
    let Some(data) = shared_data("auto-bench") else { return };
    let test = std::env::current_exe().unwrap();
    let evals = test.ancestors().nth(2).unwrap().join("auto-evals");
    assert!(evals.exists(), "no {}; build it with `cargo xtask build`", evals.display());
    let output = Command::new(evals).args(["policies", "--folds", "2", "--data"]).arg(data).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let report = Value::parse(String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default()).unwrap();

    let route = report.get("f4").unwrap();
    assert_eq!(route.get("status").and_then(Value::as_text), Some("sealed"), "{route}");
    assert!(count(route, &["edited", "rows"]) > 800, "{route}");
    assert_eq!(count(route, &["edited", "wrong"]), 0, "{route}");
    let program = route.get("program").and_then(Value::as_text).unwrap();
    for part in ["500", "5000", "20000", "blocked", "preferred"] {
        assert!(program.contains(part), "{program}");
    }
    let extract = report.get("f3").unwrap();
    assert_eq!(extract.get("status").and_then(Value::as_text), Some("sealed"), "{extract}");
}
