//! `auto-host watch`: what a store learns takes its name in the registry, if the gate passes it,
//! and a running server takes it from there; what is refused changes nothing; and whenever it is
//! killed, the next start makes good what was not done.

use std::cell::RefCell;
use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use auto_json::Value;
use auto_schema::contract::{Scope, SpanKind};
use auto_store::Store;
use auto_tests::server::{Server, wait};
use auto_tests::tool::{Tool, printed};

const KNOWN: &str = r#"{"text":"please send the blue key"}"#;
const NOVEL: &str = r#"{"text":"zyx wvu"}"#;
const AGENT: &str = "import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n    \
    print(json.dumps({'id': asked['id'], 'ok': asked['input']['text'].upper()}), flush=True)\n";

/// A store with a recorded task, its contract, a key that signs and counts.
fn shout() -> Tool {
    let tool = Tool::with_shout();
    fs::write(tool.path("agent.py"), AGENT).unwrap();
    let output = tool.run(&["registry", "keygen", "--out", "ours.pem"]);
    assert!(output.status.success(), "{}", printed(&output));
    tool
}

const WATCH: [&str; 7] = ["watch", "--store", "shout.db", "--contract", "shout.contract.toml", "--key", "ours.pem"];

fn once(tool: &Tool, more: &[&str]) -> (Option<i32>, Value) {
    let output = tool.run(&[&["--json"], &WATCH[..], &["--once"], more].concat());
    let value = Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{}", printed(&output)));
    (output.status.code(), value)
}

fn became(reply: &Value) -> Vec<&str> {
    let contracts = reply.get("contracts").and_then(Value::as_list).unwrap();
    contracts.iter().map(|one| one.get("became").and_then(Value::as_text).unwrap()).collect()
}

/// The id that a name leads to.
fn leads_to(tool: &Tool, name: &str) -> Option<String> {
    let output = tool.run(&["--json", "registry", "get", name, "--out", "got.cbin"]);
    let reply = Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{}", printed(&output)));
    reply.get("id").and_then(Value::as_text).map(str::to_owned)
}

/// Records another run of the agent, in which it answered in small letters.
fn change_its_mind(tool: &Tool) {
    let recorded = fs::read_to_string(tool.path("shout.jsonl")).unwrap();
    let lines = recorded.lines().map(|line| {
        let Ok(Value::Record(mut fields)) = Value::parse(line) else { panic!("{line}") };
        let id = fields.get("trace_id").and_then(Value::as_text).unwrap().to_owned();
        fields.set("trace_id", id.chars().rev().collect::<String>());
        if let Some(output) = fields.get("output").and_then(Value::as_text).map(str::to_lowercase) {
            fields.set("output", output);
        }
        format!("{}\n", Value::from(fields))
    });
    fs::write(tool.path("changed.jsonl"), lines.collect::<String>()).unwrap();
    let output = tool.run(&["import", "--store", "shout.db", "changed.jsonl"]);
    assert!(output.status.success(), "{}", printed(&output));
}

#[test]
fn what_is_new_is_published_what_is_not_is_left_alone_and_what_is_refused_keeps_the_old() {
    let tool = shout();
    let (code, reply) = once(&tool, &[]);
    assert_eq!((code, became(&reply)), (Some(0), vec!["published"]), "{reply}");
    let first = leads_to(&tool, "shout").unwrap();
    assert_eq!(
        fs::read(tool.path("got.cbin")).unwrap(),
        fs::read(tool.path("shout.cbin")).unwrap(),
        "as `compile` makes it"
    );
    assert_eq!(became(&once(&tool, &[]).1), ["unchanged"]);

    let ask = ["run", "shout.cbin", "--input", NOVEL, "--tier0", "python3 agent.py", "--store", "shout.db"];
    assert!(tool.run(&ask).status.success());
    assert_eq!(became(&once(&tool, &[]).1), ["published"], "a new input");
    let second = leads_to(&tool, "shout").unwrap();
    assert_ne!(first, second);

    change_its_mind(&tool);
    let (code, reply) = once(&tool, &[]);
    assert_eq!((code, became(&reply)), (Some(1), vec!["refused"]), "{reply}");
    assert_eq!(leads_to(&tool, "shout").unwrap(), second, "the name keeps what it has");
    let why = reply.get("contracts").and_then(Value::as_list).unwrap()[0].get("why").unwrap().to_string();
    assert!(why.len() > 20, "{why}");
}

#[test]
fn what_is_published_says_what_calls_take_and_on_which_machine() {
    let tool = shout();
    fs::write(
        tool.path("auto.toml"),
        "[registry.policy]\npredicates = [\"contract\", \"eval-run\", \"latency\", \"machine\"]\n",
    )
    .unwrap();
    let (code, reply) = once(&tool, &[]);
    assert_eq!((code, became(&reply)), (Some(0), vec!["published"]), "{reply}");
    let said = printed(&tool.run(&["registry", "verify", "shout", "--explain"]));
    assert!(said.contains("of 60 calls on "), "twelve inputs, five times: {said}");
}

#[test]
fn a_server_takes_what_the_watch_publishes_and_drops_nothing() {
    let tool = shout();
    assert_eq!(became(&once(&tool, &[]).1), ["published"]);
    let serve = ["serve", "--addr", "127.0.0.1:0", "--reload-ms", "20", "--store", "shout.db"];
    let server = Server::start(tool.command(&[&serve[..], &["--tier0", "shout=python3 agent.py"]].concat()));
    let watching = background(&tool, &["--interval-ms", "50"]);
    assert_eq!(server.run("shout", KNOWN).at(&["tier"]).as_u64(), Some(1));
    assert_eq!(server.run("shout", NOVEL).at(&["tier"]).as_u64(), Some(0));
    wait("the once novel input is tier 1's", || {
        let reply = server.run("shout", NOVEL);
        assert_eq!((reply.status, reply.text(&["output"])), (200, "ZYX WVU".to_owned()), "{reply:?}");
        reply.at(&["tier"]).as_u64() == Some(1)
    });
    let output = end(watching);
    assert!(output.status.success() && printed(&output).contains("shout:latest: leads to "), "{}", printed(&output));
}

#[test]
fn an_artifact_that_drifted_gives_its_name_back_to_the_one_before_it_and_then_to_tier_0() {
    let tool = shout();
    once(&tool, &[]);
    let first = leads_to(&tool, "shout").unwrap();
    let ask = ["run", "shout.cbin", "--input", NOVEL, "--tier0", "python3 agent.py", "--store", "shout.db"];
    assert!(tool.run(&ask).status.success());
    once(&tool, &[]);
    let second = leads_to(&tool, "shout").unwrap();
    assert_ne!(first, second);

    // What both artifacts stand for has changed its mind since.
    fs::write(tool.path("agent.py"), AGENT.replace("upper", "lower")).unwrap();
    let serve = ["serve", "--addr", "127.0.0.1:0", "--reload-ms", "20", "--store", "shout.db", "--key", "ours.pem"];
    let drift = ["--drift-sample", "1000000", "--drift-fewest", "5", "--on-drift", "roll-back"];
    let tier0 = ["--tier0", "shout=python3 agent.py"];
    let server = Server::start(tool.command(&[&serve[..], &tier0, &drift].concat()));
    let answered = RefCell::new(Vec::new());
    wait("tier 0 answers in the place of both", || {
        let reply = server.run("shout", KNOWN);
        assert_eq!(reply.status, 200, "{reply:?}");
        answered.borrow_mut().push(reply.text(&["artifact"]));
        let drifted = reply.at(&["tier"]).as_u64() == Some(0) && reply.text(&["abstained", "reason"]) == "drift";
        drifted && reply.text(&["artifact"]) == first
    });
    let mut answered = answered.into_inner();
    answered.dedup();
    assert_eq!(answered, [second.as_str(), first.as_str()], "{}", server.said());
    assert!(server.said().contains(&format!("{first} answers again")), "{}", server.said());
    assert_eq!(leads_to(&tool, "shout").unwrap(), first, "whoever asks the registry gets it too");
    let log = printed(&tool.run(&["registry", "log", "shout"]));
    assert!(log.contains("drift"), "{log}");
}

#[test]
fn one_contract_that_cannot_be_compiled_keeps_none_of_the_others() {
    let tool = shout();
    let contract = fs::read_to_string(tool.path("shout.contract.toml")).unwrap();
    fs::write(tool.path("other.contract.toml"), contract.replace("\"shout\"", "\"nothing-recorded\"")).unwrap();
    fs::write(tool.path("broken.contract.toml"), "contract_version = ").unwrap();
    let more = ["--contract", "a/other=other.contract.toml", "--contract", "broken.contract.toml"];
    let (code, reply) = once(&tool, &more);
    assert_eq!(became(&reply), ["published", "refused", "refused"], "{reply}");
    assert!(code.is_some_and(|code| code != 0));
    let refuses = |more: &[&str]| {
        let output = tool.run(&[&["--json"], &WATCH[..], &["--once"], more].concat());
        Value::parse(&output.stdout).unwrap().get("code").and_then(Value::as_text).unwrap().to_owned()
    };
    assert_eq!(refuses(&["--contract", "SHOUT=other.contract.toml"]), "bad-name");
    assert_eq!(refuses(&["--contract", "shout=other.contract.toml"]), "bad-name");
    // What one that goes on is told of is said once.
    let said = tool.path("said");
    let mut command = tool.command(&[&WATCH[..], &more[..], &["--interval-ms", "20"]].concat());
    let watching = command.stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
    let alarms = || fs::read_to_string(&said).unwrap().matches("ALARM").count();
    wait("both are told", || alarms() >= 2);
    std::thread::sleep(Duration::from_millis(500));
    end(watching);
    assert_eq!(alarms(), 2, "{}", fs::read_to_string(&said).unwrap());
}

fn background(tool: &Tool, more: &[&str]) -> Child {
    let mut command = tool.command(&[&WATCH[..], more].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Asks it to end, and waits for it.
fn end(child: Child) -> Output {
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    child.wait_with_output().unwrap()
}

#[test]
fn killed_at_any_point_it_is_made_good_by_the_next_start_and_no_observation_is_lost_or_doubled() {
    let expected = {
        let tool = shout();
        once(&tool, &[]);
        leads_to(&tool, "shout").unwrap()
    };
    let tool = shout();
    let seen = || {
        let scope = Scope::Span { kind: SpanKind::ModelCall, name: "shout".to_owned() };
        Store::open_read(tool.path("shout.db")).unwrap().observations("shout", &scope).unwrap()
    };
    // What a recorder left is taken in by it too.
    fs::create_dir(tool.path("shout.db.spool")).unwrap();
    fs::copy(tool.path("shout.jsonl"), tool.path("shout.db.spool/run-left.jsonl")).unwrap();
    let before = seen();
    for round in 0..14u64 {
        let mut watching = background(&tool, &["--interval-ms", "10"]);
        std::thread::sleep(Duration::from_millis(5 + 25 * round));
        watching.kill().unwrap();
        watching.wait().unwrap();
        assert_eq!(seen(), before, "round {round}");
    }
    let (code, reply) = once(&tool, &[]);
    assert_eq!(code, Some(0), "{reply}");
    assert_eq!(leads_to(&tool, "shout").unwrap(), expected);
    assert_eq!(seen(), before);
    assert!(!tool.path("shout.db.spool").exists(), "what was left is in the store");
    assert!(tool.run(&["registry", "list"]).status.success());
}
