//! A folder that the real `auto-host` searches in: with an example that is shipped, or with a trainer
//! of the tests' own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use auto_json::{Record, Value};
use tempfile::TempDir;

use crate::tool::binary;
use crate::{outside, root};

/// What starts an evolution in a bench.
pub const EVOLVE: [&str; 4] = ["search", "evolve", "--config", "auto.toml"];

/// The folder.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    /// An empty one.
    pub fn empty() -> Bench {
        Bench { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    /// One with what is in this folder of the project.
    pub fn of(example: &str) -> Bench {
        let bench = Bench::empty();
        let copied = Command::new("cp").arg("-r").arg(root().join(example).join(".")).arg(bench.folder()).status();
        assert!(copied.expect("cp").success(), "{example}");
        bench
    }

    /// One with a trainer whose tricks are parameters, and with these tables before its own.
    pub fn trainer(tables: &str, tricks: &[&str]) -> Bench {
        let bench = Bench::empty();
        let names: Vec<String> = tricks.iter().map(|trick| format!("\"{trick}\"")).collect();
        bench.write("auto.toml", format!("{tables}\n{}", TABLE.replace("TRICKS", &names.join(", "))));
        bench.write("trainer.py", include_str!("trainer.py"));
        let row = |at: usize| format!("{{\"x\":{at},\"label\":\"{}\"}}\n", ["a", "b"][at % 2]);
        bench.write("rows.jsonl", (0..240).map(row).collect::<String>());
        bench
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// What is in one.
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Writes one.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Replaces something that is there.
    pub fn edit(&self, name: &str, from: &str, to: &str) {
        let text = self.read(name);
        assert!(text.contains(from), "{name} has no {from:?}: {text}");
        self.write(name, text.replace(from, to));
    }

    /// The same command in it, without input, with a ledger of its own, and with Python itself.
    pub fn under(&self, mut command: Command) -> Command {
        command.current_dir(self.folder()).stdin(Stdio::null()).env("PATH", outside::path());
        command.env("AUTO_SPEND_LEDGER", self.path("spend.jsonl")).env("USER", "ann");
        // Compiled once for all tests of a file.
        command.env("AUTO_CACHE", std::env::temp_dir().join(format!("auto-bench-{}", std::process::id())));
        command
    }

    /// `auto-host` in it, which answers in JSON.
    pub fn host(&self, args: &[&str]) -> Command {
        let mut command = self.under(Command::new(binary()));
        command.args(args).arg("--json");
        command
    }

    /// What that says, and how it ends.
    pub fn said(&self, args: &[&str]) -> (i32, Value) {
        told(self.host(args))
    }

    /// The folder of its only run.
    pub fn run(&self) -> PathBuf {
        let runs = fs::read_dir(self.path("search-runs")).expect("search-runs");
        let mut runs: Vec<PathBuf> = runs.flatten().map(|entry| entry.path()).collect();
        assert_eq!(runs.len(), 1, "{runs:?}");
        runs.remove(0)
    }

    /// What that run made.
    pub fn made(&self, name: &str) -> String {
        let path = self.run().join("made").join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// How many experiments of its runs came to an end.
    pub fn ended(&self) -> usize {
        let runs = fs::read_dir(self.path("search-runs")).into_iter().flatten().flatten();
        runs.map(|run| fs::read_dir(run.path().join("experiments")).map_or(0, Iterator::count)).sum()
    }
}

/// What a command says in JSON, and how it ends.
pub fn told(mut command: Command) -> (i32, Value) {
    let output = command.output().expect("it starts");
    let value = Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code().expect("an exit code"), value)
}

/// A text of a record.
pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_text).unwrap_or_else(|| panic!("no {key}: {value}"))
}

/// A number of a record.
pub fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {key}: {value}"))
}

/// A list of a record.
pub fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_list).unwrap_or_else(|| panic!("no {key}: {value}"))
}

/// A record without what stands under these keys.
pub fn without(value: &Value, keys: &[&str]) -> Value {
    let mut record: Record = value.as_record().unwrap_or_else(|| panic!("{value}")).clone();
    for key in keys {
        assert!(record.remove(key).is_some(), "no {key}: {value}");
    }
    record.into()
}

/// What a finished search found and how, without where: the same wherever it was run.
pub fn found(report: &Value) -> String {
    assert_eq!(text(report, "status"), "complete", "{:?}", report.get("why"));
    without(report, &["run", "folder", "backend", "isolation"]).canonical().into_string()
}

/// The table of the trainer.
const TABLE: &str = r#"
[learning.evolve]
seed = 7
max_generations = 12
offspring = 8
islands = 2
max_jobs = 400
random_share = 0.3
files = ["trainer.py"]
at_once = 2

[learning.evolve.evaluator]
command = ["python3", "-S", "trainer.py"]
seconds = 60
cpu_seconds = 4
memory_mib = 256
output_bytes = 1000000

[learning.evolve.rows]
files = ["rows.jsonl"]
label = "label"
select = 0.35
confirm = 0.35

[learning.evolve.space]
skill = { kind = "whole", min = 0, max = 50, default = 2 }
trick = { kind = "choice", choices = [TRICKS], default = "none" }
"#;
