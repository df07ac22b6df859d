//! `cargo component build` beside our own build: the same interfaces of every component.

use std::path::{Path, PathBuf};
use std::process::Command;

use auto_json::Value;
use auto_tests::root;
use auto_tests::tool::Tool;

/// The folders of the crates that become components, with their names.
fn components() -> Vec<(String, PathBuf)> {
    let folders = std::fs::read_dir(root().join("components")).unwrap();
    let is_component = |folder: &Path| {
        std::fs::read_to_string(folder.join("Cargo.toml"))
            .is_ok_and(|text| text.contains("[package.metadata.component]"))
    };
    let mut found: Vec<(String, PathBuf)> = folders
        .map(|entry| entry.unwrap().path())
        .filter(|folder| is_component(folder))
        .map(|folder| (folder.file_name().unwrap().to_string_lossy().into_owned(), folder))
        .collect();
    found.sort();
    found
}

/// What a component exports and imports.
fn shape(tool: &Tool, file: &Path) -> [Value; 2] {
    let (exit, reply) = tool.json(&["pass", "check", file.to_str().unwrap()]);
    assert_eq!(exit, Some(0), "{reply}");
    ["exports", "imports"].map(|key| reply.get(key).cloned().unwrap())
}

#[test]
#[ignore = "slow, and needs cargo-component: cargo xtask test --all"]
fn cargo_component_makes_the_same_components() {
    if !Command::new("cargo-component").arg("--version").output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no cargo-component; `cargo install cargo-component --locked` installs it");
        return;
    }
    let tool = Tool::new();
    let target = root().join("target/cargo-component");
    let all = components();
    assert!(all.len() > 10, "{all:?}");
    for (name, folder) in all {
        // It writes bindings beside the sources, which are generated otherwise here.
        let bindings = folder.join("src/bindings.rs");
        let had = bindings.exists();
        let mut build = Command::new(env!("CARGO"));
        build.args(["component", "build", "--quiet", "--profile", "component", "--target", "wasm32-unknown-unknown"]);
        build.arg("--target-dir").arg(&target).args(["-p", &format!("auto-{name}")]).current_dir(root());
        let output = build.env_remove("CARGO_INCREMENTAL").output().unwrap();
        if !had {
            let _ = std::fs::remove_file(&bindings);
        }
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let file = format!("wasm32-unknown-unknown/component/auto_{}.wasm", name.replace('-', "_"));
        let ours = shape(&tool, &root().join(format!("target/components/{name}.wasm")));
        assert_eq!(shape(&tool, &target.join(file)), ours, "{name}");
        eprintln!("{name}: the same");
    }
}
