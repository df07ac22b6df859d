//! What tests that cross crates share: where things are, and what cargo knows of them.

pub mod agent;
pub mod bench;
pub mod browser;
pub mod disk;
pub mod outside;
pub mod server;
pub mod text;
pub mod tool;
pub mod wire;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, anyhow, ensure};
use auto_json::Value;

/// The folder of the workspace's `Cargo.toml`.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// A file or folder of the public data, in `$AUTO_SHARED_DATA` or beside the project; none, said on
/// stderr, where it is not there.
pub fn shared_data(path: &str) -> Option<PathBuf> {
    let data = std::env::var_os("AUTO_SHARED_DATA").map(PathBuf::from);
    let path = data.unwrap_or_else(|| root().join("../shared/data")).join(path);
    if path.exists() {
        return path.canonicalize().ok();
    }
    eprintln!("skipped: no {}; set AUTO_SHARED_DATA to the folder of public data", path.display());
    None
}

/// A crate of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crate {
    /// Its name.
    pub name: String,
    /// Its folder, relative to the root: `components/extract`.
    pub folder: PathBuf,
    /// The workspace's crates it needs to build, without those only its tests need.
    pub needs: Vec<String>,
    /// The world it is built to, from `[package.metadata.component]`; none for what is no
    /// component.
    pub world: Option<String>,
}

/// Every crate of the workspace, by name.
pub fn crates() -> Result<Vec<Crate>> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root());
    let printed = command.output().context("could not start cargo")?;
    ensure!(printed.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&printed.stderr));
    let metadata = Value::parse(&printed.stdout).map_err(|error| anyhow!("cargo metadata: {error}"))?;
    let packages = metadata.get("packages").and_then(Value::as_list).context("cargo metadata has no packages")?;
    let mut crates = packages.iter().map(read).collect::<Option<Vec<Crate>>>().context("an unusual package")?;
    crates.sort_by(|a, b| a.name.cmp(&b.name));
    let names: Vec<String> = crates.iter().map(|one| one.name.clone()).collect();
    for one in &mut crates {
        one.needs.retain(|need| names.contains(need));
    }
    Ok(crates)
}

fn read(package: &Value) -> Option<Crate> {
    let manifest = Path::new(package.get("manifest_path")?.as_text()?);
    let folder = manifest.parent()?.strip_prefix(root()).ok()?.to_owned();
    let needs = |dependency: &Value| match dependency.get("kind")?.as_text() {
        Some("dev") => None,
        _ => Some(dependency.get("name")?.as_text()?.to_owned()),
    };
    let component = package.get("metadata").and_then(|metadata| metadata.get("component"));
    let world = component.and_then(|component| component.get("target")?.get("world")?.as_text());
    Some(Crate {
        name: package.get("name")?.as_text()?.to_owned(),
        folder,
        needs: package.get("dependencies")?.as_list()?.iter().filter_map(needs).collect(),
        world: world.map(str::to_owned),
    })
}

/// A component that `cargo xtask build` made.
pub struct Built {
    /// The crate it is made from.
    pub made_from: Crate,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Every component crate with its built file.
pub fn built() -> Result<Vec<Built>> {
    let components = crates()?.into_iter().filter(|one| one.world.is_some());
    components
        .map(|made_from| {
            let name = made_from.folder.file_name().unwrap_or_default();
            let path = root().join("target/components").join(name).with_extension("wasm");
            let bytes = std::fs::read(&path).with_context(|| {
                format!("{} is not there; run: cargo xtask build --components-only", path.display())
            })?;
            Ok(Built { made_from, bytes })
        })
        .collect()
}
