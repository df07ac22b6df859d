//! The Python SDK's own tests, run from here so that one command runs everything.

use std::process::Command;

use auto_tests::outside;

#[test]
fn the_python_sdk_passes_its_own_tests() {
    let mut python = Command::new("python3");
    python.args(["-B", "-W", "error", "-m", "unittest", "discover", "-s", "tests"]);
    python.current_dir(auto_tests::root().join("tools/sdk/python"));
    if let Some(clients) = outside::python("clients", &["openai==3.*", "anthropic==2.*"]) {
        python.env("PYTHONPATH", clients);
    }
    match python.output() {
        Ok(output) => {
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success() && told.contains("Ran "), "{told}");
        }
        Err(error) => eprintln!("skipped: python3 cannot be run: {error}"),
    }
}
