//! Builds `auto-rt` to wasm, relocations included, for the linker to take apart.
//!
//! A nested cargo with a target folder of its own, so that it waits for no lock of the
//! outer one; machine paths are mapped away, so that the bytes are the same everywhere.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let root = here.ancestors().nth(2).ok_or("emit is not in a workspace")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for input in ["components/rt/src", "components/rt/Cargo.toml", "schema/json/src", "schema/json/Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    let built = build(root, &out.join("rt"))?;
    std::fs::write(out.join("rt.wasm"), without_names(&std::fs::read(built)?)?)?;
    Ok(())
}

fn build(root: &Path, target: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![
        "-Clink-arg=--emit-relocs".to_owned(),
        // One segment a constant, so that each can be dropped alone.
        "-Clink-arg=--no-merge-data-segments".to_owned(),
        remap(root, "auto"),
    ];
    if let Some(home) = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo"))) {
        flags.push(remap(&home, "cargo"));
    }
    let mut command = Command::new(env::var_os("CARGO").ok_or("not run by cargo")?);
    // What was said about the outer build is not about this one.
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let kept = ["CARGO_HOME", "CARGO_MAKEFLAGS", "CARGO_TERM_COLOR", "CARGO_NET_OFFLINE", "CARGO_HTTP_CAINFO"];
        if (name.starts_with("CARGO") && !kept.contains(&name.as_str()))
            || name.starts_with("RUSTC")
            || name.ends_with("RUSTFLAGS")
            || name == "CLIPPY_ARGS"
        {
            command.env_remove(name);
        }
    }
    command
        .current_dir(root)
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        // Measured: 2 is 5% faster and 12% larger on the demo; what is hot is inlined by hand.
        .env("CARGO_PROFILE_COMPONENT_OPT_LEVEL", "s")
        .env("CARGO_PROFILE_COMPONENT_STRIP", "none")
        .args(["rustc", "--package", "auto-rt", "--lib", "--crate-type", "cdylib", "--features", "artifact"])
        .args(["--profile", "component", "--target", "wasm32-unknown-unknown", "--target-dir"])
        .arg(target);
    if !command.status()?.success() {
        return Err("auto-rt does not build for wasm32-unknown-unknown; `rustup target add wasm32-unknown-unknown` \
                    adds the target where that is what is missing"
            .into());
    }
    Ok(target.join("wasm32-unknown-unknown/component/auto_rt.wasm"))
}

/// The module without the custom sections that the linker does not read. All that is
/// left are sections, relocations and the symbol table.
fn without_names(module: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let (header, mut rest) = module.split_at_checked(8).ok_or("not a wasm module")?;
    let mut kept = header.to_vec();
    while let Some((&id, after_id)) = rest.split_first() {
        let mut body = after_id;
        let length = read_leb(&mut body).ok_or("a damaged section")?;
        let (payload, next) = body.split_at_checked(length).ok_or("a section that is cut off")?;
        let mut name = payload;
        let dropped = id == 0
            && read_leb(&mut name)
                .and_then(|length| name.get(..length))
                .is_some_and(|name| !name.starts_with(b"reloc.") && name != b"linking");
        // Sections keep their place where relocations count them: custom ones come last.
        if !dropped {
            kept.extend_from_slice(&rest[..rest.len() - next.len()]);
        }
        rest = next;
    }
    Ok(kept)
}

fn read_leb(bytes: &mut &[u8]) -> Option<usize> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= usize::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
