//! Random agents, compiled and held against themselves on inputs nobody has seen: whatever
//! compiles is silent or right, in what it answers and in what it does.

use std::process::Command;

use auto_json::Value;

/// How many agents: few enough for every run of the tests, each a minute's work at most.
const AGENTS: &str = "6";

#[test]
fn no_random_agent_differs_silently_from_what_was_compiled_of_it() {
    let script = auto_tests::root().join("evals/chains/agents.py");
    let count = std::env::var("AUTO_AGENTS").unwrap_or(AGENTS.to_owned());
    let mut command = Command::new("python3");
    command
        .arg("-B")
        .arg(script)
        .args(["--unseen", "5", "--seeds", &count])
        .arg("--host")
        .arg(auto_tests::tool::binary());
    let Ok(output) = command.output() else {
        eprintln!("skipped: python3 cannot be run");
        return;
    };
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let tally = Value::parse(stdout.lines().last().unwrap_or_default()).unwrap();
    let figure = |name: &str| tally.get(name).and_then(Value::as_u64).unwrap_or_default();
    assert_eq!(figure("different"), 0, "{stderr}");
    // Silence alone would be no test: most compile, and most of what compiles answers.
    assert!(figure("sealed") * 2 > figure("agents"), "{tally}\n{stderr}");
    assert!(figure("right") > 2 * figure("abstained"), "{tally}\n{stderr}");
}
