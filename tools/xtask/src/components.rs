//! Builds the component crates and wraps each as a component, then the binaries that embed
//! them. The bytes must not depend on the folder: pass digests enter every manifest.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use wit_component::ComponentEncoder;

use crate::workspace::{Component, Workspace, output, run, write_if_changed};

/// What components are built for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// Components, then every binary. `auto-host` is built twice where a component changed: the
/// first one compiles the components to machine code, which the second embeds beside them.
///
/// Always both packages: together they have the features that the whole workspace has, so
/// that wasmtime is built once for this and for the tests.
pub fn build_all(workspace: &Workspace) -> Result<()> {
    let names = build(workspace)?;
    let binaries = || workspace.cargo(["build", "--release", "-p", "auto-host", "-p", "auto-evals"]);
    eprintln!("building auto-host and auto-evals");
    run(&mut binaries())?;
    let files = names.iter().map(|name| workspace.components().join(format!("{name}.wasm")));
    run(Command::new(workspace.binary("auto-host")).args(["pass", "precompile"]).args(files))?;
    run(&mut binaries())
}

/// Every component crate into `target/components/NAME.wasm`; files of crates that are gone
/// are removed. Returns the names.
pub fn build(workspace: &Workspace) -> Result<Vec<String>> {
    let crates = workspace.component_crates()?;
    eprintln!("building {} components", crates.len());
    let flags = rust_flags(workspace)?;
    for component in &crates {
        run(&mut cargo_rustc(workspace, component, &flags))?;
        let core =
            workspace.path(&format!("target/wasm/{TARGET}/component/{}.wasm", component.package.replace('-', "_")));
        let bytes = encode(&core).with_context(|| format!("{} is not a component", component.package))?;
        let file = workspace.components().join(format!("{}.wasm", component.name));
        let changed = write_if_changed(&file, &bytes)?;
        if changed {
            remove_if_there(&file.with_extension("code"))?;
        }
        let note = if changed { "" } else { ", unchanged" };
        eprintln!("  {:<18} {:>7} bytes{note}", component.name, bytes.len());
    }
    let names: Vec<String> = crates.into_iter().map(|component| component.name).collect();
    remove_others(&workspace.components(), &names)?;
    Ok(names)
}

/// The components that lie, each an example of `tests/passes/lies`, into
/// `target/test-components/NAME.wasm`.
pub fn build_tests(workspace: &Workspace) -> Result<()> {
    eprintln!("building the components of the tests");
    let mut command = workspace.cargo(["build", "--quiet", "--profile", "component", "--target", TARGET]);
    command.args(["--target-dir", "target/wasm", "-p", "auto-lies", "--examples"]);
    run(command
        .env("CARGO_ENCODED_RUSTFLAGS", rust_flags(workspace)?)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_INCREMENTAL"))?;
    let sources = workspace.path("tests/passes/lies/examples");
    for entry in std::fs::read_dir(&sources).with_context(|| format!("could not read {}", sources.display()))? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|stem| stem.to_str()).context("a file without a name")?;
        let core = format!("target/wasm/{TARGET}/component/examples/{}.wasm", name.replace('-', "_"));
        let bytes = encode(&workspace.path(&core)).with_context(|| format!("{name} is not a component"))?;
        write_if_changed(&workspace.path(&format!("target/test-components/{name}.wasm")), &bytes)?;
    }
    Ok(())
}

/// The `cargo` command for one crate. The crate type is narrowed to `cdylib`: with an
/// `rlib` beside it cargo leaves link-time optimisation out. Whether the host is built
/// incrementally changes no byte of a component.
fn cargo_rustc(workspace: &Workspace, component: &Component, flags: &str) -> Command {
    let mut command = workspace.cargo(["rustc", "--quiet", "--profile", "component", "--crate-type", "cdylib"]);
    command.args(["--target", TARGET, "--target-dir", "target/wasm", "-p", &component.package]);
    command.env("CARGO_ENCODED_RUSTFLAGS", flags).env_remove("RUSTFLAGS").env_remove("CARGO_INCREMENTAL");
    command
}

/// The lints on what only the wasm target compiles.
pub fn clippy(workspace: &Workspace) -> Result<Command> {
    let mut command = workspace.cargo(["clippy", "--profile", "component", "--lib"]);
    command.args(["--target", TARGET, "--target-dir", "target/wasm"]).env_remove("CARGO_INCREMENTAL");
    for component in workspace.component_crates()? {
        command.args(["-p", &component.package]);
    }
    command.args(["--", "-D", "warnings"]);
    Ok(command)
}

/// Maps this machine's folders to fixed names: the workspace, cargo's home, and the
/// standard library's sources (which have a fixed name unless they are installed).
fn rust_flags(workspace: &Workspace) -> Result<String> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(&workspace.root))?;
    let version = output(Command::new("rustc").arg("-vV").current_dir(&workspace.root))?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: ")).unwrap_or("unknown");
    let library = Path::new(sysroot.trim()).join("lib/rustlib/src/rust");
    let cargo_home = std::env::var_os("CARGO_HOME")
        .map(std::path::PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
        .context("neither CARGO_HOME nor a home folder is known")?;
    let flags = [
        format!("--remap-path-prefix={}=/cargo", cargo_home.display()),
        format!("--remap-path-prefix={}=/rustc/{commit}", library.display()),
        format!("--remap-path-prefix={}=/auto", workspace.root.display()),
    ];
    Ok(flags.join("\x1f"))
}

/// A core module with embedded WIT metadata, as a validated component.
fn encode(core: &Path) -> Result<Vec<u8>> {
    let module = std::fs::read(core).with_context(|| format!("could not read {}", core.display()))?;
    ComponentEncoder::default().validate(true).module(&module)?.encode()
}

fn remove_if_there(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

fn remove_others(folder: &Path, names: &[String]) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let path = entry?.path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if !names.iter().any(|name| name == stem) {
            remove_if_there(&path)?;
        }
    }
    ensure!(!names.is_empty(), "no crate under components/ has [package.metadata.component]");
    Ok(())
}
