//! Recorded runs of agents, compiled by the tool as a user would: what the tests of whole runs
//! share.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use auto_json::Value;

/// `auto-host` in a folder, with a cache of its own.
pub struct Tool {
    /// Where it runs.
    pub folder: tempfile::TempDir,
    binary: PathBuf,
}

impl Tool {
    /// A folder with nothing in it.
    #[expect(clippy::new_without_default, reason = "it makes a folder")]
    pub fn new() -> Tool {
        let binary = crate::tool::binary();
        Tool { folder: tempfile::tempdir().unwrap(), binary }
    }

    /// Runs a verb.
    pub fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(&self.binary);
        command.args(arguments).current_dir(self.folder.path()).env("AUTO_CACHE", self.folder.path().join("cache"));
        command.output().unwrap()
    }

    /// The JSON object a verb prints; fails unless it ends with that exit code.
    pub fn ask(&self, exit: i32, arguments: &[&str]) -> Value {
        let output = self.run(&[&["--json"], arguments].concat());
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(exit), "auto-host {arguments:?}\n{stdout}\n{stderr}");
        Value::parse(stdout.trim()).unwrap()
    }

    /// Imports files and writes a contract.
    pub fn prepare(&self, files: &[PathBuf], contract: &str) {
        let files: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
        self.ask(0, &[&["import", "--store", "s.db"], &files[..]].concat());
        std::fs::write(self.folder.path().join("c.toml"), contract).unwrap();
    }

    /// Compiles `c.toml` to `c.cbin`.
    pub fn compile(&self, exit: i32) -> Value {
        self.ask(exit, &["compile", "--contract", "c.toml", "--store", "s.db", "--out", "c.cbin"])
    }

    /// A tool process that answers as `replies`, Python for the body of a function of `name` and
    /// `input`, says; what it raises is an error.
    pub fn python(&self, replies: &str) -> String {
        let file = self.folder.path().join("tool.py");
        let text = format!(
            "import sys, json, time\ndef reply(name, input):\n{replies}\nfor line in sys.stdin:\n    \
             call = json.loads(line)\n    try: said = {{'ok': reply(call['name'], call['input'])}}\n    \
             except Exception as error: said = {{'err': str(error)}}\n    \
             print(json.dumps({{'id': call['id'], **said}}), flush=True)\n"
        );
        std::fs::write(&file, text).unwrap();
        format!("python3 '{}'", file.display())
    }

    /// A field of the artifact's manifest.
    pub fn manifest(&self, key: &str) -> Value {
        self.ask(0, &["inspect", "c.cbin"]).get("manifest").and_then(|manifest| manifest.get(key)).cloned().unwrap()
    }
}

/// Each stage with what became of it.
pub fn stages(report: &Value) -> Vec<(String, String)> {
    let stages = report.get("stages").and_then(Value::as_list).unwrap_or_default();
    let text = |stage: &Value, key: &str| stage.get(key).and_then(Value::as_text).unwrap_or_default().to_owned();
    stages.iter().map(|stage| (text(stage, "stage"), text(stage, "status"))).collect()
}

/// As [`stages`] gives them.
pub fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

/// What the last entry of a rung says.
pub fn why(report: &Value, rung: &str) -> String {
    let rungs = report.get("rungs").and_then(Value::as_list).unwrap_or_default();
    let found = rungs.iter().rfind(|one| one.get("rung").and_then(Value::as_text) == Some(rung));
    found.and_then(|rung| rung.get("why")).and_then(Value::as_text).unwrap_or_default().to_owned()
}

/// An operation: kind, name, input and output as JSON; an output that is no JSON is an error.
pub type Step<'a> = (&'a str, &'a str, &'a str, &'a str);

/// Writes a recorded run of the task `t`.
pub fn record(folder: &Path, number: usize, input: &str, output: &str, steps: &[Step]) -> PathBuf {
    let id = format!("{number:032x}");
    let mut lines = vec![format!(
        r#"{{"attrs":{{}},"sdk":"test/1","started_at_ms":1,"t":"trace","task":"t","task_input":{input},"trace_id":"{id}","v":0}}"#
    )];
    for ((kind, name, input, output), at) in steps.iter().zip(1..) {
        let (output, error) = match Value::parse(output) {
            Ok(_) => (*output, "null".to_owned()),
            Err(_) => ("null", Value::from(*output).to_string()),
        };
        lines.push(format!(
            r#"{{"attrs":{{}},"duration_ms":0,"error":{error},"input":{input},"kind":"{kind}","name":"{name}","output":{output},"parent_span_id":null,"seq":{at},"span_id":{at},"started_at_ms":1,"t":"span","trace_id":"{id}","v":0}}"#
        ));
    }
    lines.push(format!(r#"{{"output":{output},"recorded_at_ms":1,"t":"task_output","trace_id":"{id}","v":0}}"#));
    let file = folder.join(format!("{number}.jsonl"));
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    file
}

/// A contract of the task `t`, from JSON to JSON.
pub const TASK: &str = "contract_version = 0\ntask = \"t\"\nguard = \"none\"\n[scope]\ntype = \"task\"\n\
    [interface]\ninput = \"json\"\noutput = \"json\"\n";

/// As [`TASK`], for a region.
pub fn region(from: &str, to: &str) -> String {
    TASK.replace("type = \"task\"", &format!("type = \"region\"\nfrom = \"{from}\"\nto = \"{to}\""))
}

/// Inputs that are unlike each other.
pub const WORDS: [&str; 8] = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath"];
