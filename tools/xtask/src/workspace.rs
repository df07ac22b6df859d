//! Where things are, and how a command is run. Every verb goes through here, so that a
//! command that fails is always named in full.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, anyhow, bail};
use auto_json::Value;

/// The checked-out tree.
pub struct Workspace {
    /// The folder of the workspace's `Cargo.toml`.
    pub root: PathBuf,
}

/// A crate that becomes a WebAssembly component.
pub struct Component {
    /// The cargo package: `auto-extract`.
    pub package: String,
    /// The folder under `components/`, and the file's name under `target/components`.
    pub name: String,
}

impl Workspace {
    /// The workspace this binary was built from.
    pub fn find() -> Result<Workspace> {
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = manifest.ancestors().nth(2).context("xtask is not in tools/xtask of a workspace")?;
        Ok(Workspace { root: root.to_owned() })
    }

    /// A path under the root.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Where built components lie; `host/cli` embeds what is there.
    pub fn components(&self) -> PathBuf {
        self.path("target/components")
    }

    /// A binary of the release build.
    pub fn binary(&self, name: &str) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| self.path("target"), PathBuf::from);
        target.join("release").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    }

    /// A `cargo` command in the root.
    pub fn cargo<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.root);
        command
    }

    /// The crates with `[package.metadata.component]`, by name.
    pub fn component_crates(&self) -> Result<Vec<Component>> {
        let text = output(&mut self.cargo(["metadata", "--no-deps", "--format-version", "1"]))?;
        let metadata = Value::parse(&text).map_err(|error| anyhow!("cargo metadata: {error}"))?;
        let mut components = Vec::new();
        for package in metadata.get("packages").and_then(Value::as_list).context("cargo metadata has no packages")? {
            let declared = package.get("metadata").and_then(|metadata| metadata.get("component"));
            if declared.is_some() {
                components.push(component(package)?);
            }
        }
        components.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(components)
    }
}

fn component(package: &Value) -> Result<Component> {
    let text = |key| package.get(key).and_then(Value::as_text).with_context(|| format!("a package without {key}"));
    let manifest = Path::new(text("manifest_path")?);
    let folder = manifest.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    Ok(Component { package: text("name")?.to_owned(), name: folder.context("a package without a folder")?.to_owned() })
}

/// Runs a command with its output shown; an error names it in full.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("could not start {}", Line(command)))?;
    if !status.success() {
        bail!("{} ended with {status}", Line(command));
    }
    Ok(())
}

/// Runs a command and returns what it printed; its stderr is shown.
pub fn output(command: &mut Command) -> Result<String> {
    let result =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("could not start {}", Line(command)))?;
    if !result.status.success() {
        bail!("{} ended with {}", Line(command), result.status);
    }
    String::from_utf8(result.stdout).with_context(|| format!("{} printed something that is not UTF-8", Line(command)))
}

/// Writes a file through a temporary one beside it, and only where the bytes differ, so
/// that what is built from it is not built again.
pub fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<bool> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    let folder = path.parent().context("a file without a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("could not make {}", folder.display()))?;
    let temporary = path.with_extension(format!("tmp{}", std::process::id()));
    std::fs::write(&temporary, bytes).with_context(|| format!("could not write {}", temporary.display()))?;
    std::fs::rename(&temporary, path).with_context(|| format!("could not write {}", path.display()))?;
    Ok(true)
}

/// A command as one would type it.
pub struct Line<'a>(pub &'a Command);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = Path::new(self.0.get_program());
        f.write_str(&program.file_name().unwrap_or(program.as_os_str()).to_string_lossy())?;
        for argument in self.0.get_args() {
            let argument = argument.to_string_lossy();
            let plain =
                !argument.is_empty() && argument.chars().all(|c| c.is_ascii_alphanumeric() || "-_./=:,@+".contains(c));
            if plain { write!(f, " {argument}")? } else { write!(f, " '{}'", argument.replace('\'', r"'\''"))? }
        }
        Ok(())
    }
}
