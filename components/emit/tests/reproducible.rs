//! The runtime's bytes do not depend on the folder it is built in. Artifacts then cannot
//! either: what emit adds is a function of the graph.

#[path = "../build/runtime.rs"]
mod runtime;

use std::fs;
use std::path::Path;

/// Copies what a build reads.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name();
        if entry.file_type().unwrap().is_dir() {
            let skipped = ["target", ".git", "node_modules"].iter().any(|skipped| *skipped == name);
            if !skipped {
                copy(&entry.path(), &to.join(&name));
            }
        } else {
            fs::copy(entry.path(), to.join(&name)).unwrap();
        }
    }
}

#[test]
#[ignore = "builds the runtime twice, in copies of the repository"]
fn the_runtime_is_the_same_in_every_folder() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let built: Vec<Vec<u8>> = ["one", "another/and/deeper"]
        .iter()
        .map(|folder| {
            let checkout = scratch.path().join(folder);
            copy(root, &checkout);
            fs::read(runtime::build(&checkout, &checkout.join("out")).unwrap()).unwrap()
        })
        .collect();
    assert!(built[0] == built[1], "{} and {} bytes", built[0].len(), built[1].len());
    let folder = scratch.path().to_str().unwrap().as_bytes();
    assert!(!built[0].windows(folder.len()).any(|window| window == folder), "a path of this machine is inside");
}
