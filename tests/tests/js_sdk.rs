//! The JavaScript SDK's own tests, with the official clients, and its types.

use std::process::Command;

use auto_tests::{outside, root};

fn passes(command: &mut Command, says: &str) {
    let output = command.output().unwrap();
    let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains(says), "{command:?}: {told}");
}

#[test]
fn the_javascript_sdk_passes_its_own_tests() {
    if !outside::has("node") {
        return;
    }
    let mut node = Command::new("node");
    node.args(["--test", "test/"]).current_dir(root().join("tools/sdk/js"));
    if let Some(clients) = outside::npm("clients", &["openai@7", "@anthropic-ai/sdk@1"]) {
        node.env("AUTO_SDK_CLIENTS", clients);
    }
    passes(&mut node, "# fail 0");
}

#[test]
fn the_javascript_sdk_has_the_types_it_says() {
    let Some(npm) = outside::npm("node-types", &["typescript@5", "@types/node@20"]) else { return };
    let mut tsc = Command::new(npm.join("node_modules/.bin/tsc"));
    tsc.args(["--noEmit", "-p", ".", "--typeRoots"]).arg(npm.join("node_modules/@types"));
    passes(tsc.current_dir(root().join("tools/sdk/js")), "");
}

#[test]
fn what_it_records_is_taken_in() {
    if !outside::has("node") {
        return;
    }
    let tool = auto_tests::tool::Tool::new();
    let sdk = root().join("tools/sdk/js/src/index.js");
    let agent = format!(
        "import * as auto from {:?};\nawait auto.trace('toy', {{ taskInput: {{ word: 'é' }} }}, async (run) => {{\n  \
         await auto.toolCall('shout', 'é', async () => 'É');\n  run.taskOutput('É');\n}});\n",
        sdk.to_str().unwrap()
    );
    std::fs::write(tool.path("agent.mjs"), agent).unwrap();
    let output = tool.run(&["record", "--store", "s.db", "--", "node", "agent.mjs"]);
    assert!(output.status.success(), "{output:?}");
    let output = tool.run(&["census", "--task", "toy", "--store", "s.db"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("tool_call"), "{told}");
}
