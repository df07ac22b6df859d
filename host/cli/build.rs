//! Embeds the built components, so that the one binary is the whole tool.
//!
//! Looks in `$AUTO_COMPONENTS`, else in `target/components` of this workspace; beside a
//! component's `NAME.wasm` there may be its compiled form `NAME.code`, made by
//! `auto-host pass precompile` of this same version. Without components the binary still
//! builds and says at run time what is missing.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-env-changed=AUTO_COMPONENTS");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let folder = env::var_os("AUTO_COMPONENTS").map_or_else(|| manifest.join("../../target/components"), PathBuf::from);
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect()).unwrap_or_default();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "wasm"));
    files.sort();
    let rows: String = files.iter().map(|file| row(file)).collect();
    let source = format!("/// The components, by name.\npub const COMPONENTS: &[Embedded] = &[\n{rows}];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("components.rs");
    if let Err(error) = fs::write(&out, source) {
        panic!("cannot write {}: {error}", out.display());
    }
}

fn row(file: &Path) -> String {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let include = |file: &Path| {
        println!("cargo:rerun-if-changed={}", file.display());
        let path = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        format!("include_bytes!({path:?})")
    };
    let code = file.with_extension("code");
    let code = if code.exists() { format!("Some({})", include(&code)) } else { "None".to_owned() };
    format!("    Embedded {{ name: {name:?}, wasm: {}, code: {code} }},\n", include(file))
}
