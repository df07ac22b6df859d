//! Programs that a teacher proposes: the real `auto-host` shows a model the language and examples
//! over HTTP, checks what it writes, tells it what was wrong, holds a part of the examples back, and
//! asks nobody about evidence that no program can agree with.

#[path = "../../host/model/tests/server/mod.rs"]
#[allow(dead_code, reason = "every test file uses its own part of this")]
mod server;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use auto_json::{Record, Value};
use auto_tests::tool::Tool;
use server::{Act, Received, Server, json};

/// An agent that writes texts in capitals, from the fixtures.
struct Shouter {
    tool: Tool,
    url: String,
}

impl Shouter {
    fn new(server: &Server, more: &[(&str, &str)]) -> Shouter {
        let shouter = Shouter { tool: Tool::new(), url: server.url.clone() };
        let fixtures = auto_tests::root().join("tests/cli/fixtures");
        fs::copy(fixtures.join("shout.contract.toml"), shouter.path("shout.contract.toml")).unwrap();
        let mut trace = fs::read_to_string(fixtures.join("shout.jsonl")).unwrap();
        for (number, (input, output)) in (100..).zip(more) {
            trace.push_str(&format!(
                r#"{{"attrs":{{}},"duration_ms":1,"error":null,"input":{{"text":"{input}"}},"kind":"model_call","name":"shout","output":"{output}","parent_span_id":null,"seq":{number},"span_id":{number},"started_at_ms":1700000000001,"t":"span","trace_id":"0123456789abcdef0123456789abcdef","v":0}}"#
            ));
            trace.push('\n');
        }
        fs::write(shouter.path("shout.jsonl"), trace).unwrap();
        let imported = shouter.host(&["import", "--store", "shout.db", "shout.jsonl"]).output().unwrap();
        assert!(imported.status.success(), "{imported:?}");
        shouter
    }

    fn path(&self, name: &str) -> PathBuf {
        self.tool.path(name)
    }

    fn host(&self, args: &[&str]) -> Command {
        self.tool.asking(&self.url, args)
    }

    /// Compiles with a teacher; the exit code and the report.
    fn compile(&self, more: &[&str]) -> (Option<i32>, Value) {
        let args = ["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out", "shout.cbin"];
        let teacher = ["--json", "--synth", "teacher", "--teacher", "model:openai/gpt-4o"];
        let output = self.host(&[&args[..], &teacher, more].concat()).output().unwrap();
        (output.status.code(), Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}")))
    }
}

const CAP: [&str; 2] = ["--spend-cap-usd", "1"];

/// A model that writes a program, in a fence.
fn wrote(program: &str) -> Act {
    let message = Record::new().with("role", "assistant").with("content", format!("```\n{program}\n```"));
    let choice = Record::new().with("message", message).with("finish_reason", "stop");
    let usage = Record::new().with("prompt_tokens", 900).with("completion_tokens", 9);
    let reply = Record::new().with("choices", vec![Value::from(choice)]).with("usage", usage);
    json(200, &Value::from(reply).to_string())
}

/// What a model is asked.
fn asked(question: &Received) -> String {
    let body = Value::parse(&question.body).unwrap();
    let messages = body.get("messages").and_then(Value::as_list).unwrap();
    messages.last().and_then(|last| last.get("content")).and_then(Value::as_text).unwrap().to_owned()
}

/// The rungs of a report, a line each.
fn rungs(report: &Value) -> String {
    let part = |rung: &Value, key: &str| rung.get(key).and_then(Value::as_text).unwrap_or_default().to_owned();
    let rungs = report.get("rungs").and_then(Value::as_list).unwrap_or_default();
    rungs.iter().map(|rung| ["rung", "status", "why"].map(|key| part(rung, key)).join(" ") + "\n").collect()
}

fn program(report: &Value) -> &str {
    report.get("program").and_then(Value::as_text).unwrap_or("none")
}

#[test]
fn a_program_that_is_right_on_what_is_shown_and_what_is_held_back_is_sealed() {
    let server = Server::start(|_, _| wrote("upper($.text)"));
    let shouter = Shouter::new(&server, &[]);
    let (exit, report) = shouter.compile(&CAP);
    assert_eq!((exit, program(&report)), (Some(0), "upper($.text)"), "{report}");
    let said = rungs(&report);
    assert!(said.contains("propose passed the teacher's program of round 1"), "{said}");
    assert!(said.contains("in 1 folds"), "{said}");
    let question = asked(&server.received()[0]);
    assert!(question.contains("- upper(text) -> text") && question.contains("# Examples"), "{question}");
    let shown = question.matches("input:  ").count();
    assert!((1..12).contains(&shown), "{shown} of 12 inputs are shown");

    let first = fs::read(shouter.path("shout.cbin")).unwrap();
    fs::remove_dir_all(shouter.path("cache")).unwrap();
    assert_eq!(shouter.compile(&CAP).0, Some(0));
    assert_eq!(server.received().len(), 1, "what was answered once is not asked again");
    assert!(first == fs::read(shouter.path("shout.cbin")).unwrap(), "the same reply gives the same bytes");
}

#[test]
fn what_was_wrong_is_told_in_the_next_round() {
    let server = Server::start(|number, question| match number {
        0 => wrote("lower($.text)"),
        1 => {
            let question = asked(question);
            assert!(question.contains("# What was refused\n\n```\nlower($.text)\n```"), "{question}");
            assert!(question.contains("expected: ") && question.contains("it gives: "), "{question}");
            wrote("upper($.txt)")
        }
        2 => {
            assert!(asked(question).contains("it is ill typed: "), "{}", asked(question));
            wrote("shout($)")
        }
        _ => {
            assert!(asked(question).contains("it does not parse: "), "{}", asked(question));
            wrote("upper($.text)")
        }
    });
    let shouter = Shouter::new(&server, &[]);
    let (exit, report) = shouter.compile(&CAP);
    assert_eq!((exit, program(&report)), (Some(0), "upper($.text)"), "{report}");
    assert!(rungs(&report).contains("program of round 4"), "{report}");
    assert_eq!(server.received().len(), 4);
}

/// Everything that is shown, as a table.
fn memorised(question: &str) -> String {
    let part = |prefix: &str| -> Vec<String> {
        question.lines().filter_map(|line| line.strip_prefix(prefix)).map(str::to_owned).collect()
    };
    let rows: Vec<String> = part("input:  ")
        .iter()
        .zip(part("output: "))
        .map(|(input, output)| format!("{{\"i\": {input}, \"o\": {output}}}"))
        .collect();
    format!("first(filter([{}], row => eq(row.i, $))).o", rows.join(", "))
}

#[test]
fn what_memorises_or_is_constant_is_refused_and_not_told_where() {
    let server = Server::start(|number, question| match number {
        0 => wrote(&memorised(&asked(question))),
        1 => {
            let question = asked(question);
            assert!(question.contains("examples that are held back"), "{question}");
            let told = question.split_once("# What was refused").unwrap().1;
            assert!(!told.contains("expected: "), "nothing of what is held back is told: {told}");
            wrote("\"CALL ME TOMORROW\"")
        }
        _ => wrote("\"ORDER THREE CHAIRS\""),
    });
    let shouter = Shouter::new(&server, &[]);
    let (_, report) = shouter.compile(&[&CAP[..], &["--rounds", "3"]].concat());
    let said = rungs(&report);
    assert!(said.contains("propose remark round 1") && said.contains("held back"), "{said}");
    assert!(!said.contains("propose passed"), "{said}");
    assert_eq!(server.received().len(), 3, "as many rounds as are allowed");
    // The extractor goes on from there.
    assert_eq!(program(&report), "upper($.text)");
}

#[test]
fn nobody_is_asked_about_evidence_that_contradicts_itself_or_is_empty() {
    let server = Server::start(|_, _| wrote("upper($.text)"));
    let shouter = Shouter::new(&server, &[("call me tomorrow", "CALL ME NOW")]);
    let (exit, report) = shouter.compile(&CAP);
    assert_eq!(exit, Some(1), "{report}");
    assert!(rungs(&report).contains("propose refused 1 inputs have several outputs"), "{report}");

    let alone = Shouter::new(&server, &[]);
    let contract = fs::read_to_string(alone.path("shout.contract.toml")).unwrap();
    fs::write(alone.path("shout.contract.toml"), contract.replace("name = \"shout\"", "name = \"whisper\"")).unwrap();
    let (exit, report) = alone.compile(&CAP);
    assert_ne!(exit, Some(0), "{report}");
    assert_eq!(server.received().len(), 0);
}

#[test]
fn without_a_cap_nothing_is_asked_and_the_extractor_works_alone() {
    let server = Server::start(|_, _| wrote("lower($.text)"));
    let shouter = Shouter::new(&server, &[]);
    let (exit, report) = shouter.compile(&[]);
    assert!(rungs(&report).contains("[spend-cap]"), "{report}");
    assert_eq!((exit, program(&report), server.received().len()), (Some(0), "upper($.text)", 0));
}

#[test]
fn a_teacher_that_nobody_named_is_a_mistake_of_usage() {
    let server = Server::start(|_, _| wrote("$"));
    let shouter = Shouter::new(&server, &[]);
    let args = ["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out", "shout.cbin"];
    let output = shouter.host(&[&args[..], &["--synth", "teacher"]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--teacher model:"), "{output:?}");
}

/// The pass alone asks nobody: only a driver's job lends the teacher.
#[test]
fn the_pass_by_itself_has_nobody_to_ask() {
    let server = Server::start(|_, _| wrote("$"));
    let shouter = Shouter::new(&server, &[]);
    let on = r#"[{"input": "1", "outputs": [{"output": "2", "count": 1}], "errors": 0}]"#;
    let task = r#"{"input_type": "int", "output_type": "int", "candidates": 1, "max_output_tokens": 10}"#;
    let wasm = auto_tests::root().join("target/components/propose.wasm");
    let arguments = format!("[{on}, {task}, []]");
    let output = shouter.host(&["pass", "run", wasm.to_str().unwrap(), "propose", &arguments]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("it asks a teacher"), "{output:?}");
    assert_eq!(server.received().len(), 0);
}
