//! Makes `rt.wasm`, the runtime for the linker to take apart.

#[path = "build/runtime.rs"]
mod runtime;

use std::env;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let root = here.ancestors().nth(2).ok_or("emit is not in a workspace")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for input in ["components/rt/src", "components/rt/Cargo.toml", "schema/json/src", "schema/json/Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", root.join(input).display());
    }
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build/runtime.rs");
    let built = runtime::build(root, &out.join("rt"))?;
    std::fs::write(out.join("rt.wasm"), without_names(&std::fs::read(built)?)?)?;
    Ok(())
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
