//! A folder with the quickstart of spec search in it, the real `auto-host`, and a teacher that is a
//! server.

#![allow(dead_code, reason = "each test uses a part")]

#[path = "../../../host/model/tests/server/mod.rs"]
pub mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use auto_json::{Record, Value};
use auto_tests::tool::{self, binary};
use server::{Act, Received, Server, said};
use tempfile::TempDir;

/// A folder with `evals/search/spec` in it.
pub struct Bench {
    folder: TempDir,
}

pub const SEARCH: [&str; 4] = ["search", "spec", "--config", "auto.toml"];

impl Bench {
    pub fn new() -> Bench {
        let folder = tool::scratch();
        let from = auto_tests::root().join("evals/search/spec");
        let copied = Command::new("cp").arg("-r").arg(from.join(".")).arg(folder.path()).status().unwrap();
        assert!(copied.success());
        Bench { folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn edit(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.path(name)).unwrap();
        assert!(text.contains(from), "{name}: {text}");
        fs::write(self.path(name), text.replace(from, to)).unwrap();
    }

    pub fn host(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.args(args).arg("--json");
        self.here(command)
    }

    fn here(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("AUTO_SPEND_LEDGER", self.path("spend.jsonl")).env("USER", "ann");
        command.env("PATH", tool::path());
        // Compiled once for all tests of this file.
        command.env("AUTO_CACHE", std::env::temp_dir().join(format!("auto-spec-search-{}", std::process::id())));
        command
    }

    /// The same with a server as its teacher.
    pub fn asking(&self, server: &Server, args: &[&str]) -> Command {
        self.under(server, self.host(args))
    }

    /// The same for a command of any kind.
    pub fn under(&self, server: &Server, command: Command) -> Command {
        let mut command = self.here(command);
        command.env("OPENAI_BASE_URL", format!("{}/v1", server.url)).env("OPENAI_API_KEY", "sk-spec-0123456789");
        command
    }

    pub fn asked(&self, server: &Server, args: &[&str]) -> (i32, Value) {
        told(self.asking(server, args))
    }

    /// One whose teacher is no script, and that leaves nothing to a person.
    pub fn live() -> Bench {
        let bench = Bench::new();
        bench.edit("auto.toml", "model_mode = \"scripted:replies.jsonl\"", "");
        bench.edit("auto.toml", "claude-opus-4-6", "openai/gpt-4o");
        bench.edit("auto.toml", "autonomy_mode = \"tiered\"", "autonomy_mode = \"auto\"");
        bench
    }

    /// A line of the table.
    pub fn set(&self, line: &str) {
        self.edit("auto.toml", "stagnation_k = 2", &format!("stagnation_k = 2\n{line}"));
    }

    /// With fewer tasks, so that it is quick: so many of each kind and split.
    pub fn small(&self, diagnose: usize, gate: usize, confirm: usize) {
        let tasks = fs::read_to_string(self.path("tasks.jsonl")).unwrap();
        let mut seen: BTreeMap<(String, &str), usize> = BTreeMap::new();
        let kept = tasks.lines().filter(|line| {
            let task = Value::parse(line).unwrap();
            let (split, most) = match split(text(&task, "id")) {
                0..40 => ("diagnose", diagnose),
                40..80 => ("gate", gate),
                _ => ("confirm", confirm),
            };
            let count = seen.entry((text(&task, "category").to_owned(), split)).or_default();
            *count += 1;
            *count <= most
        });
        let kept: String = kept.map(|line| format!("{line}\n")).collect();
        fs::write(self.path("tasks.jsonl"), kept).unwrap();
    }

    /// What the tasks expect, by their input.
    pub fn expected(&self) -> BTreeMap<String, String> {
        let tasks = fs::read_to_string(self.path("tasks.jsonl")).unwrap();
        let tasks = tasks.lines().map(|line| Value::parse(line).unwrap());
        tasks.map(|task| (task.get("input").unwrap().to_string(), text(&task, "expected").to_owned())).collect()
    }

    /// A server that knows.
    pub fn teacher(&self) -> Server {
        let expected = self.expected();
        Server::start(move |_, question| knowing(question, &expected))
    }

    pub fn said(&self, args: &[&str]) -> (i32, Value) {
        told(self.host(args))
    }

    pub fn run(&self) -> PathBuf {
        let mut runs = fs::read_dir(self.path("search-runs")).unwrap();
        runs.next().unwrap().unwrap().path()
    }

    pub fn made(&self) -> Value {
        Value::parse(fs::read_to_string(self.run().join("made/spec.json")).unwrap()).unwrap()
    }
}

pub fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_text).unwrap_or_else(|| panic!("no {key}: {value}"))
}

pub fn edits(report: &Value) -> Vec<String> {
    let timeline = report.get("timeline").and_then(Value::as_list).unwrap().iter();
    timeline.filter(|one| text(one, "kind") == "edit").map(|one| text(one, "status").to_owned()).collect()
}

pub fn score(report: &Value, stratum: &str, side: &str) -> i64 {
    let scores = report.get("scores").and_then(Value::as_list).unwrap();
    let own = scores.iter().find(|score| text(score, "stratum") == stratum).unwrap();
    own.get(side).and_then(|of| of.get("mean")?.as_i64()).unwrap()
}

pub fn default_agent(spec: &Value) -> &Value {
    spec.get("agents").and_then(|agents| agents.get("default")).unwrap()
}

pub fn told(mut command: Command) -> (i32, Value) {
    let output = command.output().unwrap();
    let value = Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code().unwrap(), value)
}

pub fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {key}: {value}"))
}

/// What a task is used for, out of a hundred: as the driver splits them.
fn split(task: &str) -> u64 {
    let digest = auto_schema::digest::Digest::of(format!("split\0clerk_v1\0{task}").as_bytes());
    digest.as_bytes()[..8].iter().fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)) % 100
}

/// A teacher that is a function of the question alone: it sees what fails, does every task right,
/// and knows one edit for each kind of task.
pub fn knowing(question: &Received, expected: &BTreeMap<String, String>) -> Act {
    let body = Value::parse(&question.body).unwrap();
    let messages = body.get("messages").and_then(Value::as_list).unwrap();
    let [system, asked] = [0, 1].map(|at| text(&messages[at], "content"));
    let kinds = [
        ("total", r#"{"op":"set_agent_param","payload":{"param":"max_steps","value":8}}"#),
        ("due", r#"{"op":"add_tool_to_agent","payload":{"tool_name":"calendar"}}"#),
        ("sender", r#"{"op":"replace_system_prompt","payload":{"new_content":"The sender is in the last line."}}"#),
    ];
    let reply = if system.starts_with("You diagnose") {
        let fails = |kind: &str| {
            asked.lines().any(|line| line.contains(&format!("(category {kind})")) && line.contains("scored 0.0"))
        };
        let clusters = kinds.iter().filter(|(kind, _)| fails(kind));
        let one = |(kind, _): &(&str, &str)| format!(r#"{{"id":"{kind}","description":"x","category":"{kind}"}}"#);
        format!("[{}]", clusters.map(one).collect::<Vec<_>>().join(","))
    } else if system.starts_with("You make") {
        let clusters = asked.split("The clusters:").nth(1).unwrap();
        let first = kinds.iter().find(|(kind, _)| clusters.contains(&format!(r#""id":"{kind}""#))).unwrap();
        format!(r#"[{{"targets":["{}"],"edits":[{}]}}]"#, first.0, first.1)
    } else {
        expected[asked].clone()
    };
    let escaped = Value::from(reply).to_string();
    said(&escaped[1..escaped.len() - 1], 400, 40)
}

/// A report without money: what a crash may have paid for counts, and nothing else is another.
pub fn without_money(report: &Value) -> Value {
    match report {
        Value::Record(record) => {
            let money = ["folder", "spent_micro_usd", "teacher_cost_micro_usd"];
            let kept = record.iter().filter(|(key, _)| !money.contains(key));
            Value::from(kept.map(|(key, value)| (key.to_owned(), without_money(value))).collect::<Record>())
        }
        Value::List(items) => items.iter().map(without_money).collect::<Vec<Value>>().into(),
        other => other.clone(),
    }
}
