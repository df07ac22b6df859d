//! A key policy live: whole requests come to `run` and `serve`, the artifact gets what the policy says
//! is its input, tier 0 and the store get all of it, and the next compile learns from that.

use std::fs;

use auto_json::Value;
use auto_schema::contract::{Scope, SpanKind};
use auto_store::Store;
use auto_tests::server::{Server, wait};
use auto_tests::tool::{Tool, at, printed};

/// Answers the last message in capitals; needs the whole request for it.
const AGENT: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    messages = asked["input"]["messages"]
    text = messages[-1]["content"] if messages else "nothing"
    print(json.dumps({"id": asked["id"], "ok": text.upper()}), flush=True)
"#;

/// A request whose last message is the text, after so many others.
fn request(before: usize, text: &str) -> String {
    let history: String =
        (0..before).map(|turn| format!("{{\"role\":\"assistant\",\"content\":\"turn {turn}\"}},")).collect();
    format!("{{\"messages\":[{history}{{\"role\":\"user\",\"content\":{}}}]}}", Value::from(text))
}

/// A folder in which an agent was recorded with all of its history in each request.
fn shout() -> Tool {
    let tool = Tool::with_shout();
    let recorded = fs::read_to_string(tool.path("shout.jsonl")).unwrap();
    let lines = recorded.lines().enumerate().map(|(turn, line)| {
        let Ok(Value::Record(mut fields)) = Value::parse(line) else { panic!("{line}") };
        if let Some(text) = fields.get("input").and_then(|input| input.get("text")).and_then(Value::as_text) {
            let whole = Value::parse(request(turn, text)).unwrap();
            fields.set("input", whole);
        }
        format!("{}\n", Value::from(fields))
    });
    fs::write(tool.path("whole.jsonl"), lines.collect::<String>()).unwrap();
    fs::write(tool.path("agent.py"), AGENT).unwrap();
    for line in [
        "import --store whole.db whole.jsonl",
        r#"key set --task shout --store whole.db {"fields":{"text":"/messages/-1/content"}}"#,
    ] {
        let output = tool.run(&line.split(' ').collect::<Vec<_>>());
        assert!(output.status.success(), "{line}: {}", printed(&output));
    }
    fs::create_dir(tool.path("reg")).unwrap();
    compile(&tool);
    tool
}

fn compile(tool: &Tool) {
    let line = "compile --contract shout.contract.toml --store whole.db --out reg/.new";
    let output = tool.run(&line.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{}", printed(&output));
    fs::rename(tool.path("reg/.new"), tool.path("reg/shout.cbin")).unwrap();
}

/// The inputs of the operation as the policy makes them.
fn known(tool: &Tool) -> Vec<String> {
    let scope = Scope::Span { kind: SpanKind::ModelCall, name: "shout".to_owned() };
    let observations = Store::open_read(tool.path("whole.db")).unwrap().observations("shout", &scope).unwrap();
    observations.iter().map(|seen| seen.input.to_string()).collect()
}

const KEYED: [&str; 2] = ["--key-policies", "whole.db"];
const BEHIND: [&str; 4] = ["--tier0", "python3 agent.py", "--store", "whole.db"];

#[test]
fn a_request_with_another_history_is_answered_and_a_novel_one_is_learnt_whole() {
    let tool = shout();
    let run = |input: &str, more: &[&str]| tool.json(&[&["run", "reg/shout.cbin", "--input", input], more].concat());
    let seen = request(40, "please send the blue key");
    let (code, reply) = run(&seen, &KEYED);
    assert_eq!((code, at(&reply, &["output"]).as_text()), (Some(0), Some("PLEASE SEND THE BLUE KEY")), "{reply}");
    let (code, reply) = run(&seen, &[]);
    assert_eq!(
        (code, at(&reply, &["code"]).as_text()),
        (Some(1), Some("bad-input")),
        "without it, it is no input: {reply}"
    );

    let novel = request(3, "zyx wvu");
    assert_eq!(run(&novel, &KEYED).0, Some(3));
    let before = known(&tool).len();
    let (code, reply) = run(&novel, &[&KEYED[..], &BEHIND].concat());
    assert_eq!((code, at(&reply, &["output"]).as_text()), (Some(0), Some("ZYX WVU")), "{reply}");
    assert_eq!(at(&reply, &["tier0", "recorded"]).as_bool(), Some(true), "{reply}");
    let after = known(&tool);
    assert_eq!((after.len(), after.contains(&r#"{"text":"zyx wvu"}"#.to_owned())), (before + 1, true), "{after:?}");
    compile(&tool);
    let (code, reply) = run(&request(9, "zyx wvu"), &KEYED);
    assert_eq!((code, at(&reply, &["output"]).as_text()), (Some(0), Some("ZYX WVU")), "{reply}");

    // What the policy does not fit, the artifact has nothing to say to; what is no JSON, nobody.
    let empty = r#"{"messages":[]}"#;
    let (code, reply) = run(empty, &KEYED);
    assert_eq!((code, at(&reply, &["abstained", "reason"]).as_text()), (Some(3), Some("no-key")), "{reply}");
    let (code, reply) = run(empty, &[&KEYED[..], &BEHIND].concat());
    assert_eq!((code, at(&reply, &["output"]).as_text()), (Some(0), Some("NOTHING")), "{reply}");
    assert_eq!(known(&tool).len(), after.len(), "and is no evidence for it");
    let (code, reply) = run("{\"messages\":", &[&KEYED[..], &BEHIND].concat());
    assert_eq!((code, at(&reply, &["code"]).as_text()), (Some(1), Some("bad-input")), "{reply}");
}

#[test]
fn a_server_takes_whole_requests_and_its_tier_0_gets_them_whole() {
    let tool = shout();
    let serve = ["serve", "--registry", "reg", "--addr", "127.0.0.1:0", "--reload-ms", "20"];
    let behind = ["--tier0", "shout=python3 agent.py", "--store", "whole.db", "--contract", "shout.contract.toml"];
    let server = Server::start(tool.command(&[&serve[..], &KEYED, &behind].concat()));
    let reply = server.run("shout", &request(40, "please send the blue key"));
    assert_eq!((reply.status, reply.at(&["tier"]).as_u64()), (200, Some(1)), "{reply:?}");
    let before = known(&tool).len();
    let reply = server.run("shout", &request(3, "zyx wvu"));
    assert_eq!((reply.status, reply.text(&["output"])), (200, "ZYX WVU".to_owned()), "{reply:?}");
    assert_eq!(reply.at(&["tier"]).as_u64(), Some(0));
    let reply = server.run("shout", r#"{"messages":[]}"#);
    assert_eq!((reply.status, reply.text(&["abstained", "reason"])), (200, "no-key".to_owned()), "{reply:?}");
    let reply = server.run("shout", "nonsense");
    assert_eq!((reply.status, reply.code().as_str()), (400, "bad-input"), "{reply:?}");
    wait("the store has it", || known(&tool).len() == before + 1);
    compile(&tool);
    wait("the new version answers", || server.run("shout", &request(5, "zyx wvu")).at(&["tier"]).as_u64() == Some(1));
}
