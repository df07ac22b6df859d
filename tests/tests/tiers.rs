//! Tier 0: where an artifact does not answer, what it stands for is asked, within time and cap;
//! its answer is checked, returned and recorded, and the next compile knows it.

#[path = "../../host/model/tests/server/mod.rs"]
#[allow(dead_code, reason = "every test file uses its own part of this")]
mod server;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use auto_json::{Canonical, Value};
use auto_schema::cbin::{self, Cbin};
use auto_schema::contract::{Scope, SpanKind};
use auto_schema::digest::Digest;
use auto_store::Store;
use auto_tests::tool::{Tool, at};
use server::{Act, Received, Server, json, said};

/// What the artifact knows, and what it does not.
const KNOWN: &str = r#"{"text":"please send the blue key"}"#;
const NOVEL: &str = r#"{"text":"zyx wvu"}"#;

/// The agent that was recorded, as a process: `lines` for one that stays, `once` for one a call.
const AGENT: &str = r#"
import json, sys, time
how = sys.argv[1]
def answer(input):
    if how.endswith("hang"): time.sleep(60)
    if how.endswith("garbage"): return print("hm", flush=True)
    if how.endswith("number"): return 7
    if how.endswith("lower"): return input["text"]
    return input["text"].upper()
if how.startswith("once"):
    print(json.dumps(answer(json.load(sys.stdin))))
else:
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps({"id": asked["id"], "ok": answer(asked["input"])}), flush=True)
"#;

/// A folder with an artifact that writes texts in capitals.
struct Shouter(Tool);

impl Shouter {
    fn new() -> Shouter {
        let shouter = Shouter(Tool::with_shout());
        fs::write(shouter.path("agent.py"), AGENT).unwrap();
        shouter
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }

    fn compile(&self) {
        let command = ["compile", "--contract", "shout.contract.toml", "--store", "shout.db", "--out", "shout.cbin"];
        self.expect(0, &command);
    }

    fn host(&self, args: &[&str]) -> Command {
        let mut command = self.0.command(args);
        command.env("AUTO_SPEND_LEDGER", self.path("spend.jsonl"));
        command
    }

    /// Runs a command that must end with that code; stdout and stderr.
    fn expect(&self, code: i32, args: &[&str]) -> (String, String) {
        read(code, self.host(args))
    }

    /// Runs the artifact on an input.
    fn run(&self, code: i32, input: &str, more: &[&str]) -> (String, String) {
        self.expect(code, &[&["run", "shout.cbin", "--input", input], more].concat())
    }

    fn json(&self, code: i32, input: &str, more: &[&str]) -> Value {
        let (stdout, _) = self.run(code, input, &[more, &["--json"]].concat());
        Value::parse(&stdout).unwrap_or_else(|_| panic!("{stdout}"))
    }

    fn recorded(&self) -> Vec<String> {
        let scope = Scope::Span { kind: SpanKind::ModelCall, name: "shout".to_owned() };
        let store = Store::open_read(self.path("shout.db")).unwrap();
        store.observations("shout", &scope).unwrap().iter().map(|seen| seen.input.to_string()).collect()
    }
}

fn read(code: i32, mut command: Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
    assert_eq!(status.code(), Some(code), "{stdout}{stderr}");
    (stdout, stderr)
}

#[test]
fn an_input_that_trips_the_guard_is_answered_recorded_and_known_to_the_next_artifact() {
    let shouter = Shouter::new();
    shouter.run(3, NOVEL, &[]);
    let agent = ["--tier0", "python3 agent.py lines", "--store", "shout.db"];
    let known = shouter.json(0, KNOWN, &agent);
    assert_eq!(at(&known, &["tier"]).as_u64(), Some(1), "{known}");
    let before = shouter.recorded();

    let novel = shouter.json(0, NOVEL, &agent);
    assert_eq!((at(&novel, &["output"]).as_text(), at(&novel, &["tier"]).as_u64()), (Some("ZYX WVU"), Some(0)));
    assert_eq!(at(&novel, &["abstained", "reason"]).as_text(), Some("length"));
    assert_eq!(at(&novel, &["tier0", "recorded"]).as_bool(), Some(true), "{novel}");
    assert_eq!(novel.get("alarm"), None);
    let after = shouter.recorded();
    assert_eq!((after.len(), after.contains(&NOVEL.to_owned())), (before.len() + 1, true));
    assert!(!shouter.path("shout.db.spool").exists(), "nothing is left to take in");

    shouter.compile();
    assert_eq!(shouter.run(0, NOVEL, &[]).0, "\"ZYX WVU\"\n", "the artifact itself answers now");
}

#[test]
fn a_process_for_each_call_will_do_and_lines_say_which_tier_answered() {
    let shouter = Shouter::new();
    fs::write(shouter.path("in.jsonl"), format!("{KNOWN}\n{NOVEL}\n{{\"text\":7}}\n{NOVEL}\n")).unwrap();
    let command = ["run", "shout.cbin", "--batch", "in.jsonl", "--tier0-once", "python3 agent.py once"];
    let (stdout, _) = shouter.expect(1, &command);
    let lines: Vec<Value> = stdout.lines().map(|line| Value::parse(line).unwrap()).collect();
    let tiers: Vec<Option<u64>> = lines.iter().map(|line| at(line, &["tier"]).as_u64()).collect();
    assert_eq!(tiers, [Some(1), Some(0), None, Some(0)], "an input of another type is nobody's");
    let (stdout, _) = shouter.expect(1, &[&command[..], &["--json"]].concat());
    let counts = Value::parse(&stdout).unwrap();
    let count = |key: &str| at(&counts, &[key]).as_u64();
    assert_eq!((count("answered"), count("deopts"), count("failed")), (Some(3), Some(2), Some(1)));
}

#[test]
fn what_tier_0_answers_otherwise_than_it_must_is_neither_returned_nor_recorded() {
    let shouter = Shouter::new();
    let before = shouter.recorded();
    for (agent, more, code) in [
        ("lines-number", &[][..], "tier0-bad-answer"),
        ("lines-lower", &["--contract", "shout.contract.toml"], "tier0-bad-answer"),
        ("lines-hang", &["--tool-timeout", "1"], "tool-timeout"),
        ("lines-garbage", &[], "tool-bad-json"),
    ] {
        let agent = format!("python3 agent.py {agent}");
        let args = [&["--tier0", agent.as_str(), "--store", "shout.db"], more].concat();
        let reply = shouter.json(3, NOVEL, &args);
        assert_eq!(at(&reply, &["tier0", "error", "code"]).as_text(), Some(code), "{reply}");
        assert_eq!((reply.get("output"), at(&reply, &["code"]).as_text()), (None, Some("abstained")));
        let (stdout, stderr) = shouter.run(3, NOVEL, &args);
        assert!(stdout.is_empty() && stderr.contains("tier 0 does not answer either"), "{stdout}{stderr}");
    }
    assert_eq!(shouter.recorded(), before);
    let other = shouter.path("other.contract.toml");
    let contract = fs::read_to_string(shouter.path("shout.contract.toml")).unwrap();
    fs::write(&other, contract.replace("^[A-Z ]+$", "^[a-z ]+$")).unwrap();
    let args = ["--tier0", "python3 agent.py lines", "--contract", "other.contract.toml"];
    let reply = shouter.json(2, NOVEL, &args);
    assert_eq!(at(&reply, &["code"]).as_text(), Some("contract-mismatch"));
    assert_eq!(at(&shouter.json(1, NOVEL, &["--tier0", "no-such-command"]), &["code"]).as_text(), Some("tool-missing"));
}

const PAID: [&str; 6] = ["--tier0", "model:openai/gpt-4o", "--spend-cap-usd", "0.5", "--store", "shout.db"];

fn asking(shouter: &Shouter, url: &str, input: &str, more: &[&str]) -> Command {
    let mut command = shouter.host(&[&["run", "shout.cbin", "--input", input, "--json"], more].concat());
    command.env("OPENAI_BASE_URL", format!("{url}/v1")).env("OPENAI_API_KEY", "sk-tier-0123456789");
    command
}

/// Says the question in capitals.
fn capitals(question: &Received) -> Act {
    let body = Value::parse(&question.body).unwrap();
    let messages = at(&body, &["messages"]).as_list().unwrap();
    let asked = Value::parse(at(messages.last().unwrap(), &["content"]).as_text().unwrap()).unwrap();
    said(&at(&asked, &["text"]).as_text().unwrap().to_uppercase(), 100, 5)
}

#[test]
fn a_model_answers_under_the_cap_and_what_it_cost_is_recorded() {
    let server = Server::start(|_, question| capitals(question));
    let shouter = Shouter::new();
    fs::write(shouter.path("prompt.txt"), "Write the text in capitals.").unwrap();
    let prompt = [&PAID[..], &["--tier0-prompt", "prompt.txt"]].concat();
    let (stdout, _) = read(0, asking(&shouter, &server.url, NOVEL, &prompt));
    let reply = Value::parse(&stdout).unwrap();
    assert_eq!(at(&reply, &["output"]).as_text(), Some("ZYX WVU"), "{reply}");
    assert_eq!(at(&reply, &["tier0", "cost_micro_usd"]).as_u64(), Some(300));
    assert_eq!(at(&reply, &["tier0", "who"]).as_text(), Some("model:openai/gpt-4o"));
    let body = server.received()[0].body.clone();
    assert!(body.contains("Write the text in capitals.") && body.contains("record{text: text}"), "{body}");

    let scope = Scope::Span { kind: SpanKind::ModelCall, name: "shout".to_owned() };
    let reference = Store::open_read(shouter.path("shout.db")).unwrap().reference("shout", &scope).unwrap();
    assert!(reference.costs.contains(&Some(300)) && reference.tokens.contains(&Some(105)), "{reference:?}");
    assert_eq!(auto_model::Ledger::open(&shouter.path("spend.jsonl")).unwrap().spent().0, 300);
    let found = Command::new("grep").args(["-rla", "sk-tier", "."]).current_dir(shouter.0.folder()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "the key is in no trace, store or ledger");
}

#[test]
fn a_model_without_a_cap_or_that_goes_wrong_leaves_the_abstention() {
    let server = Server::start(|number, _| match number {
        0 => json(500, "{}"),
        1 => said("7 or so", 1, 1),
        _ => Act::Hang(std::time::Duration::from_secs(30)),
    });
    let shouter = Shouter::new();
    let code = |more: &[&str]| {
        let (stdout, _) = read(3, asking(&shouter, &server.url, NOVEL, more));
        at(&Value::parse(&stdout).unwrap(), &["tier0", "error", "code"]).as_text().map(str::to_owned)
    };
    assert_eq!(code(&PAID[..2]).as_deref(), Some("spend-cap"));
    assert_eq!(server.received().len(), 0);
    assert_eq!(code(&PAID).as_deref(), Some("model-failed"));
    let held = [&PAID[..], &["--contract", "shout.contract.toml"]].concat();
    assert_eq!(code(&held).as_deref(), Some("tier0-bad-answer"));
    assert_eq!(code(&[&PAID[..], &["--model-timeout", "1"]].concat()).as_deref(), Some("model-timeout"));
    assert!(!shouter.recorded().contains(&NOVEL.to_owned()));
}

#[test]
fn an_artifact_that_traps_or_breaks_a_limit_is_stood_in_for_and_alarms() {
    let shouter = Shouter::new();
    let trapping = trapping(&fs::read(shouter.path("shout.cbin")).unwrap());
    fs::write(shouter.path("trap.cbin"), trapping).unwrap();
    let tier0 = ["--tier0", "python3 agent.py lines"];
    for (file, limit, code) in [("trap.cbin", &[][..], "trap"), ("shout.cbin", &["--fuel", "10"], "out-of-fuel")] {
        let args = [&["run", file, "--input", KNOWN], limit].concat();
        shouter.expect(5, &args);
        let (stdout, stderr) = shouter.expect(0, &[&args[..], &tier0].concat());
        assert_eq!(stdout, "\"PLEASE SEND THE BLUE KEY\"\n");
        assert!(stderr.contains("ALARM") && stderr.contains(code), "{stderr}");
        let (stdout, _) = shouter.expect(0, &[&args[..], &tier0, &["--json"]].concat());
        let reply = Value::parse(&stdout).unwrap();
        assert_eq!(at(&reply, &["alarm", "code"]).as_text(), Some(code), "{reply}");
        assert_eq!(at(&reply, &["tier"]).as_u64(), Some(0));
    }
}

/// The same manifest over a module that always traps.
fn trapping(file: &[u8]) -> Vec<u8> {
    let module = wat::parse_str(
        r#"(module (memory (export "memory") 1)
             (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8192))
             (func (export "auto:cbin/behavior@0.1.0#run") (param i32 i32) (result i32) unreachable)
             (func (export "auto:cbin/behavior@0.1.0#resume") (param i32 i32 i32 i32 i32) (result i32) unreachable)
             (func (export "auto:cbin/behavior@0.1.0#assess") (param i32 i32) (result i32) unreachable))"#,
    );
    let module = module.unwrap();
    let mut manifest = Cbin::read(file).unwrap().manifest;
    manifest.code = Digest::of(&module);
    manifest.module_bytes = u32::try_from(module.len()).unwrap();
    (manifest.guarded, manifest.reusable) = (false, false);
    cbin::seal(&module, None, &manifest).unwrap()
}

#[test]
fn an_answer_that_the_store_does_not_take_is_returned_and_kept_beside_it() {
    let shouter = Shouter::new();
    let args = ["--tier0", "python3 break.py", "--store", "shout.db"];
    // The store breaks while tier 0 thinks: what was paid for must not be lost with it.
    fs::write(
        shouter.path("break.py"),
        "import json, sys\nfor line in sys.stdin:\n    open('shout.db', 'r+b').write(b'\\0' * 4096)\n    \
         print(json.dumps({'id': json.loads(line)['id'], 'ok': 'ZYX WVU'}), flush=True)\n",
    )
    .unwrap();
    let whole = fs::read(shouter.path("shout.db")).unwrap();
    let reply = shouter.json(0, NOVEL, &args);
    assert_eq!(at(&reply, &["output"]).as_text(), Some("ZYX WVU"));
    assert_eq!(at(&reply, &["tier0", "recorded"]).as_bool(), Some(false), "{reply}");
    fs::write(shouter.path("shout.db"), whole).unwrap();
    shouter.expect(0, &["import", "--store", "shout.db", "--spool"]);
    assert!(shouter.recorded().contains(&Canonical::of(NOVEL).unwrap().into_string()));
}
