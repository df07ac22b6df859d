//! `auto-host` as tests run it: the built binary, in a folder of its own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use auto_json::Value;
use tempfile::TempDir;

use crate::root;

/// The binary under test: `$AUTO_HOST`, or the one of this build's profile.
pub fn binary() -> PathBuf {
    let built = || {
        let test = std::env::current_exe().expect("the path of this test");
        test.ancestors().nth(2).expect("target/PROFILE").join("auto-host")
    };
    let binary = std::env::var_os("AUTO_HOST").map_or_else(built, PathBuf::from);
    assert!(binary.exists(), "no {}; build it with `cargo xtask build`", binary.display());
    binary
}

/// `PATH`, where `python3` is the interpreter itself and not a launcher of one: that of pyenv is a script
/// that takes four times as long as Python to start, and searches start it hundreds of times.
pub fn path() -> &'static OsString {
    static PATH: OnceLock<OsString> = OnceLock::new();
    PATH.get_or_init(|| {
        let given = std::env::var_os("PATH").unwrap_or_default();
        let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let told = asked.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
        let folder = Path::new(told.trim()).parent().filter(|folder| folder.is_absolute()).map(Path::to_owned);
        std::env::join_paths(folder.into_iter().chain(std::env::split_paths(&given))).unwrap_or(given)
    })
}

/// An empty folder in memory, where there is such a place, and else on disk: for tests that write thousands
/// of small files, each of which waits for the disk. A process that is killed loses nothing there either.
pub fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

/// The key that [`Tool::asking`] hands on; it belongs into no output.
pub const MODEL_KEY: &str = "sk-test-0123456789abcdef";

/// A folder with a recorded task, its contract and its artifact, to run the binary in.
pub struct Tool {
    folder: TempDir,
    binary: PathBuf,
}

impl Tool {
    /// An empty folder.
    #[allow(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Tool {
        Tool { folder: tempfile::tempdir().expect("a temporary folder"), binary: binary() }
    }

    /// `shout.jsonl`, `shout.contract.toml`, `shout.db` and `shout.cbin`.
    pub fn with_shout() -> Tool {
        let tool = Tool::new();
        for file in ["shout.jsonl", "shout.contract.toml"] {
            fs::copy(root().join("tests/cli/fixtures").join(file), tool.path(file)).expect("a fixture");
        }
        for line in [
            "import --store shout.db shout.jsonl",
            "compile --contract shout.contract.toml --store shout.db --out shout.cbin",
        ] {
            let output = tool.run(&line.split(' ').collect::<Vec<_>>());
            assert!(output.status.success(), "auto-host {line}: {output:?}");
        }
        tool
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command with a cache of its own, without input.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.folder()).env("AUTO_CACHE", self.path("cache"));
        command.env_remove("AUTO_TRACE_FILE").env_remove("AUTO_STORE").stdin(Stdio::null());
        command
    }

    /// A command that may ask the model of that server; what it spends is in `spend.jsonl`.
    pub fn asking(&self, server: &str, arguments: &[&str]) -> Command {
        let mut command = self.command(arguments);
        command.env("OPENAI_BASE_URL", format!("{server}/v1")).env("OPENAI_API_KEY", MODEL_KEY);
        command.env("AUTO_SPEND_LEDGER", self.path("spend.jsonl"));
        command
    }

    /// What it prints and how it ends.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("auto-host starts")
    }

    /// What it prints as JSON, and its exit code.
    pub fn json(&self, arguments: &[&str]) -> (Option<i32>, Value) {
        let output = self.run(&[arguments, &["--json"]].concat());
        (output.status.code(), Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}")))
    }

    /// The same with a file as its input.
    pub fn run_on(&self, input: &str, arguments: &[&str]) -> Output {
        let input = fs::File::open(self.path(input)).expect("a file for stdin");
        self.command(arguments).stdin(input).output().expect("auto-host starts")
    }
}

/// What is in a value under these keys; null where there is nothing.
pub fn at<'v>(value: &'v Value, path: &[&str]) -> &'v Value {
    path.iter().fold(value, |value, key| value.get(key).unwrap_or(&Value::Null))
}

/// Both outputs as text.
pub fn printed(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}
