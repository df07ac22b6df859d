//! `auto-host serve`, the real binary over real sockets: inputs through the tiers, who may ask for
//! what, versions that take over, drift, and what operators see.

#[path = "../../host/model/tests/server/mod.rs"]
#[allow(dead_code, reason = "every test file uses its own part of this")]
mod model;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use auto_json::Value;
use auto_schema::contract::{Scope, SpanKind};
use auto_store::Store;
use auto_tests::agent;
use auto_tests::server::{Client, Reply, Server, wait};
use auto_tests::tool::{Tool, binary};
use model::{Act, Received, Server as ModelServer, json, said};

const KNOWN: &str = r#"{"text":"please send the blue key"}"#;
const NOVEL: &str = r#"{"text":"zyx wvu"}"#;

/// The agent behind the artifact: a process that stays.
const AGENT: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    text = asked["input"]["text"]
    print(json.dumps({"id": asked["id"], "ok": text.lower() if sys.argv[1:] == ["lower"] else text.upper()}), flush=True)
"#;

/// A folder with a registry in which `shout` writes texts in capitals.
fn shout() -> Tool {
    let tool = Tool::with_shout();
    fs::write(tool.path("agent.py"), AGENT).unwrap();
    fs::create_dir(tool.path("reg")).unwrap();
    publish(&tool);
    tool
}

/// Puts the artifact in its place at once, as whoever publishes has to.
fn publish(tool: &Tool) {
    fs::copy(tool.path("shout.cbin"), tool.path("reg/.new")).unwrap();
    fs::rename(tool.path("reg/.new"), tool.path("reg/shout.cbin")).unwrap();
}

fn serve(tool: &Tool, more: &[&str]) -> Server {
    Server::start(command(tool, more))
}

fn command(tool: &Tool, more: &[&str]) -> Command {
    let fixed = ["serve", "--registry", "reg", "--addr", "127.0.0.1:0", "--reload-ms", "20"];
    let mut command = tool.command(&[&fixed, more].concat());
    command.env("AUTO_SPEND_LEDGER", tool.path("spend.jsonl"));
    command
}

fn recorded(tool: &Tool) -> Vec<(String, u32)> {
    let scope = Scope::Span { kind: SpanKind::ModelCall, name: "shout".to_owned() };
    let observations = Store::open_read(tool.path("shout.db")).unwrap().observations("shout", &scope).unwrap();
    let count = |outputs: &[(auto_json::Canonical, u32)]| outputs.iter().map(|(_, count)| count).sum();
    observations.iter().map(|seen| (seen.input.to_string(), count(&seen.outputs))).collect()
}

#[test]
fn inputs_are_answered_abstained_on_or_refused_with_a_code_singly_and_in_lines() {
    let tool = shout();
    let server = serve(&tool, &[]);
    let reply = server.run("shout", KNOWN);
    assert_eq!((reply.status, reply.text(&["output"])), (200, "PLEASE SEND THE BLUE KEY".to_owned()), "{reply:?}");
    let id = reply.text(&["artifact"]);
    assert_eq!((reply.at(&["tier"]).as_u64(), id.len()), (Some(1), 64));
    assert_eq!(server.run(&id, KNOWN).body, reply.body, "by id as by name");
    // What follows comes to an artifact that is known to be quick, on the connection's own thread.
    let mut client = Client::connect(server.address);
    let request =
        format!("POST /run/shout HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{KNOWN}", KNOWN.len());
    assert!((0..600).all(|_| client.exchange(&request).body == reply.body));

    let reply = server.run("shout", NOVEL);
    assert_eq!((reply.status, reply.code().as_str()), (409, "abstained"));
    assert_eq!(reply.text(&["abstained", "reason"]), "length");
    for (input, why) in [("{\"text\":7}", "expected text"), ("{\"text\":", ""), ("", ""), ("nonsense", "")] {
        let reply = server.run("shout", input);
        assert_eq!((reply.status, reply.code().as_str()), (400, "bad-input"), "{input}: {reply:?}");
        assert!(reply.text(&["message"]).contains(why), "{reply:?}");
    }
    let lines = format!("{KNOWN}\n\n{NOVEL}\n{{\"text\":7}}\n{KNOWN}");
    let reply = server.post("/run/shout", &lines, &["Content-Type: application/x-ndjson"]);
    let lines: Vec<Value> = reply.body.lines().map(|line| Value::parse(line).unwrap()).collect();
    let has = |line: &Value| ["output", "abstained", "error"].into_iter().find(|key| line.get(key).is_some());
    let found: Vec<_> = lines.iter().map(|line| has(line).unwrap()).collect();
    assert_eq!(found, ["output", "abstained", "error", "output"], "{reply:?}");
    assert_eq!(lines[2].get("error").and_then(|error| error.get("line")).and_then(Value::as_u64), Some(4));

    let reply = server.post("/run/shout", KNOWN, &["Content-Type: image/png"]);
    assert_eq!((reply.status, reply.code().as_str()), (415, "wrong-type"));
    let reply = server.get("/run/shout", &[]);
    assert_eq!((reply.status, reply.code().as_str()), (405, "wrong-method"));
    assert!(reply.head.contains("allow: post"), "{reply:?}");
    assert_eq!(server.get("/ready", &[]).at(&["artifacts"]).as_u64(), Some(1));
}

#[test]
fn a_guard_trip_is_answered_by_tier_0_recorded_once_and_known_to_the_next_version() {
    let tool = shout();
    let server = serve(&tool, &["--tier0", "shout=python3 agent.py", "--store", "shout.db"]);
    let before = recorded(&tool);
    let reply = server.run("shout", NOVEL);
    assert_eq!((reply.status, reply.text(&["output"])), (200, "ZYX WVU".to_owned()), "{reply:?}");
    assert_eq!((reply.at(&["tier"]).as_u64(), reply.at(&["tier0", "recorded"]).as_bool()), (Some(0), Some(true)));
    assert_eq!(reply.text(&["abstained", "reason"]), "length");
    assert_eq!(server.run("shout", KNOWN).at(&["tier"]).as_u64(), Some(1));
    wait("the store has it", || recorded(&tool).len() == before.len() + 1);
    assert!(recorded(&tool).contains(&(NOVEL.to_owned(), 1)));

    let command = "compile --contract shout.contract.toml --store shout.db --out shout.cbin";
    assert!(tool.run(&command.split(' ').collect::<Vec<_>>()).status.success());
    publish(&tool);
    wait("the new version answers", || server.run("shout", NOVEL).at(&["tier"]).as_u64() == Some(1));
    server.signal("TERM");
    let (status, printed) = server.wait();
    assert!(status.success() && printed.contains("by tier 0"), "{printed}");
    assert!(!tool.path("shout.db.spool").exists(), "nothing is left to take in");
}

#[test]
fn another_version_takes_over_and_no_request_is_dropped_or_fails() {
    let tool = shout();
    let first = fs::read(tool.path("shout.cbin")).unwrap();
    let agent = ["run", "shout.cbin", "--input", NOVEL, "--tier0", "python3 agent.py", "--store", "shout.db"];
    assert!(tool.run(&agent).status.success());
    let compile = "compile --contract shout.contract.toml --store shout.db --out shout.cbin";
    assert!(tool.run(&compile.split(' ').collect::<Vec<_>>()).status.success());
    let second = fs::read(tool.path("shout.cbin")).unwrap();
    assert_ne!(first, second);
    let server = serve(&tool, &[]);
    let (over, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    let request =
        format!("POST /run/shout HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{KNOWN}", KNOWN.len());
    let ids = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut client = Client::connect(server.address);
                    let mut ids = std::collections::BTreeSet::new();
                    while !over.load(Relaxed) {
                        let reply = client.exchange(&request);
                        assert_eq!((reply.status, reply.text(&["output"]).len()), (200, 24), "{reply:?}");
                        ids.insert(reply.text(&["artifact"]));
                        asked.fetch_add(1, Relaxed);
                    }
                    ids
                })
            })
            .collect();
        for turn in 0..10 {
            fs::write(tool.path("shout.cbin"), [&first, &second][turn % 2]).unwrap();
            publish(&tool);
            let before = asked.load(Relaxed);
            wait("requests go on", || asked.load(Relaxed) > before + 20);
            std::thread::sleep(Duration::from_millis(40));
        }
        over.store(true, Relaxed);
        asking.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<std::collections::BTreeSet<_>>()
    });
    assert_eq!(ids.len(), 2, "both versions answered");
    // One that cannot be loaded leaves the name with what it has, and says so.
    fs::write(tool.path("shout.cbin"), [&first[..100], b"damaged"].concat()).unwrap();
    publish(&tool);
    server.wait_for("is not taken");
    assert_eq!(server.run("shout", KNOWN).status, 200);
    let state = server.get("/state", &[]);
    assert_eq!(state.at(&["held"]).as_list().map(<[Value]>::len), Some(1), "{state:?}");
    fs::remove_file(tool.path("reg/shout.cbin")).unwrap();
    wait("what is gone is not served", || server.run("shout", KNOWN).status == 404);
}

/// Does it, and says what went wrong where that is not done.
fn done(tool: &Tool, line: &str) -> Value {
    let (code, value) = tool.json(&line.split_whitespace().collect::<Vec<_>>());
    assert_eq!(code, Some(0), "auto-host {line}: {value}");
    value
}

#[test]
fn what_is_trusted_no_longer_is_served_no_longer() {
    let tool = Tool::with_shout();
    done(&tool, "compile --contract shout.contract.toml --store shout.db --out plain.cbin --no-optimize");
    let key = done(&tool, "registry keygen --out ours.pem --registry reg").get("key").cloned().unwrap();
    done(&tool, "registry add shout.cbin --registry reg --as shout --key ours.pem");
    let loose = done(&tool, "registry add plain.cbin --registry reg --key ours.pem");
    let loose = loose.get("id").and_then(Value::as_text).unwrap().to_owned();
    let server = serve(&tool, &[]);
    assert_eq!((server.run("shout", KNOWN).status, server.run(&loose, KNOWN).status), (200, 200));
    let key = key.as_text().unwrap().to_owned();
    done(&tool, &format!("registry revoke {key} --registry reg --key ours.pem --reason stolen"));
    wait("a revoked key is noticed", || server.run("shout", KNOWN).status == 503);
    assert_eq!(server.run("shout", KNOWN).code(), "revoked-key");
    wait("by its id too", || server.run(&loose, KNOWN).code() == "revoked-key");
    server.wait_for("what was served is trusted no longer");
    let state = server.get("/state", &[]);
    assert_eq!(state.at(&["held"]).as_list().map(<[Value]>::len), Some(1), "{state:?}");
}

#[test]
fn artifacts_as_files_are_held_to_the_policy_where_there_is_one() {
    let tool = shout();
    done(&tool, "registry keygen --out ours.pem");
    done(&tool, "registry add shout.cbin --as shout --key ours.pem");
    let served = |rules: &str| {
        fs::write(tool.path("auto.toml"), format!("[registry.policy]\n{rules}\n")).unwrap();
        let reply = serve(&tool, &[]).run("shout", KNOWN);
        (reply.status, reply.code(), reply.text(&["message"]))
    };
    assert_eq!(served("min_held_out = 12").0, 200, "the registry beside has what is signed of it");
    let (status, code, message) = served("min_held_out = 13");
    assert_eq!((status, code.as_str()), (503, "policy"));
    assert!(message.contains("min_held_out"), "{message}");
    // Without the registry nobody has signed it; with what lies beside the file and the key, somebody has.
    fs::remove_file(tool.path("auto.toml")).unwrap();
    done(&tool, "registry get shout --out got.cbin");
    fs::remove_dir_all(tool.path("auto-registry")).unwrap();
    assert_eq!(served("signatures = 1").1, "unsigned");
    fs::rename(tool.path("got.cbin.intoto.jsonl"), tool.path("reg/shout.cbin.intoto.jsonl")).unwrap();
    assert_eq!(served("signatures = 1").1, "unknown-key");
    done(&tool, "registry trust ours.pem.pub");
    assert_eq!(served("signatures = 1").0, 200);
    // A policy that comes to be met no longer ends it, too.
    let server = serve(&tool, &[]);
    let said = tool.path("reg/shout.cbin.intoto.jsonl");
    let text = fs::read_to_string(&said).unwrap();
    let at = text.find("\"sig\":\"").unwrap() + 10;
    let other = if text.as_bytes()[at] == b'A' { "B" } else { "A" };
    fs::write(&said, format!("{}{other}{}", &text[..at], &text[at + 1..])).unwrap();
    wait("a wrong signature is noticed", || server.run("shout", KNOWN).code() == "bad-signature");
}

#[test]
fn a_registry_whose_index_is_gone_is_not_taken_for_a_folder_of_files() {
    let tool = Tool::with_shout();
    done(&tool, "registry keygen --out ours.pem --registry reg");
    done(&tool, "registry add shout.cbin --registry reg --as shout --key ours.pem");
    fs::remove_file(tool.path("reg/index.json")).unwrap();
    let ended = command(&tool, &[]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(6) && said.contains("registry-damaged"), "{said}");
}

/// A contract of a task that looks something up, its artifact, and the tool it needs.
fn look_up() -> agent::Tool {
    let tool = agent::Tool::new();
    let written: Vec<_> = agent::WORDS
        .iter()
        .enumerate()
        .map(|(number, word)| {
            let (order, status) = (format!(r#"{{"order":"{word}"}}"#), format!(r#"{{"status":"{word}-{number}"}}"#));
            let output = format!("\"{word}-{number}\"");
            agent::record(tool.folder.path(), number, &order, &output, &[("tool_call", "look", &order, &status)])
        })
        .collect();
    tool.prepare(&written, agent::TASK);
    tool.compile(0);
    let folder = tool.folder.path();
    fs::create_dir(folder.join("reg")).unwrap();
    fs::copy(folder.join("c.cbin"), folder.join("reg/look.cbin")).unwrap();
    let python = "import json, sys, time\nfor line in sys.stdin:\n    asked = json.loads(line)\n    \
        order = asked['input']['order']\n    time.sleep(60 if order == 'hang' else 0)\n    \
        print(json.dumps({'id': asked['id'], 'ok': {'status': order + '!'}}), flush=True)\n";
    fs::write(folder.join("tool.py"), python).unwrap();
    tool
}

fn serve_look_up(folder: &Path, more: &[&str]) -> Server {
    let mut command = Command::new(binary());
    command.current_dir(folder).env("AUTO_CACHE", folder.join("cache"));
    command.args(["serve", "--registry", "reg", "--addr", "127.0.0.1:0"]).args(more);
    Server::start(command)
}

const TOKENS: &str = r#"
[[token]]
name = "may"
secret = "may-0123456789abcdef"
tools = ["look"]
operator = true
[[token]]
name = "may-not"
secret = "may-not-0123456789abcdef"
max_tool_calls = 1
[[token]]
name = "elsewhere"
secret = "elsewhere-0123456789abcdef"
artifacts = ["other"]
"#;

fn tokens(folder: &Path, text: &str) {
    fs::write(folder.join("tokens.toml"), text).unwrap();
    fs::set_permissions(folder.join("tokens.toml"), fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn a_token_says_which_artifacts_and_tools_its_bearer_may_use() {
    let tool = look_up();
    let folder = tool.folder.path();
    tokens(folder, TOKENS);
    let server = serve_look_up(folder, &["--tool", "look=python3 tool.py", "--token-file", "tokens.toml"]);
    let ask = |token: &str| server.post("/run/look", r#"{"order":"x"}"#, &[&format!("Authorization: Bearer {token}")]);
    let reply = ask("may-0123456789abcdef");
    assert_eq!((reply.status, reply.text(&["output"])), (200, "x!".to_owned()), "{reply:?}");
    assert_eq!(reply.at(&["effects"]).as_list().map(<[Value]>::len), Some(1));
    let refused = |reply: Reply| (reply.status, reply.code());
    assert_eq!(refused(ask("may-not-0123456789abcdef")), (403, "tool-not-allowed".to_owned()));
    assert_eq!(refused(ask("elsewhere-0123456789abcdef")), (404, "unknown-artifact".to_owned()));
    for wrong in ["may-0123456789abcdeF", "may-0123456789abcdef0", "may", ""] {
        assert_eq!(refused(ask(wrong)), (401, "bad-token".to_owned()), "{wrong:?}");
    }
    assert_eq!(refused(server.run("look", "{}")), (401, "no-token".to_owned()));
    for path in ["/metrics", "/state"] {
        let with = |token: &str| server.get(path, &[&format!("Authorization: Bearer {token}")]);
        assert_eq!(refused(server.get(path, &[])), (401, "no-token".to_owned()));
        assert_eq!(refused(with("may-not-0123456789abcdef")), (403, "no-operator".to_owned()));
        assert_eq!(with("may-0123456789abcdef").status, 200);
    }
    let listed = server.get("/artifacts", &["Authorization: Bearer elsewhere-0123456789abcdef"]);
    assert_eq!(listed.at(&["artifacts"]).as_list().map(<[Value]>::len), Some(0), "what may not be asked is not shown");
    assert_eq!((server.get("/health", &[]).status, server.get("/", &[]).status), (200, 200));
}

#[test]
fn a_tool_that_hangs_ends_its_own_run_alone_and_calls_are_counted() {
    let tool = look_up();
    let folder = tool.folder.path();
    let server = serve_look_up(folder, &["--tool", "look=python3 tool.py", "--tool-timeout", "8"]);
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| server.run("look", r#"{"order":"hang"}"#));
        std::thread::sleep(Duration::from_millis(200));
        let reply = server.run("look", r#"{"order":"y"}"#);
        assert_eq!((reply.status, reply.text(&["output"])), (200, "y!".to_owned()));
        assert!(!hanging.is_finished(), "it hangs, and nobody else waits");
        let reply = hanging.join().unwrap();
        assert_eq!(
            (reply.status, reply.text(&["abstained", "reason"])),
            (409, "effect-failed".to_owned()),
            "{reply:?}"
        );
        assert!(reply.body.contains("tool-timeout"), "{reply:?}");
    });
    let server = serve_look_up(folder, &["--tool", "look=python3 tool.py", "--max-tool-calls", "0"]);
    let reply = server.run("look", r#"{"order":"y"}"#);
    assert_eq!((reply.status, reply.code().as_str()), (500, "effect-budget"), "{reply:?}");
    let server = serve_look_up(folder, &[]);
    assert_eq!(server.run("look", r#"{"order":"y"}"#).code(), "not-granted");
}

/// Says the question in capitals, for 300 micro-USD.
fn capitals(question: &Received) -> Act {
    let body = Value::parse(&question.body).unwrap();
    let messages = body.get("messages").and_then(Value::as_list).unwrap();
    let asked = messages.last().unwrap().get("content").and_then(Value::as_text).unwrap();
    let asked = Value::parse(asked).unwrap();
    said(&asked.get("text").and_then(Value::as_text).unwrap().to_uppercase(), 100, 5)
}

#[test]
fn a_token_spends_what_it_was_given_and_nobody_elses() {
    let models = ModelServer::start(|_, question| capitals(question));
    let tool = shout();
    let given = |name: &str, cap: u32| {
        format!("[[token]]\nname = \"{name}\"\nsecret = \"{name}-0123456789abcdef\"\nspend_cap_micro_usd = {cap}\n")
    };
    tokens(tool.folder(), &[given("rich", 1_000_000), given("poor", 0), given("modest", 3_200)].concat());
    let args = ["--tier0", "shout=model:openai/gpt-4o", "--tier0-tokens", "50", "--token-file", "tokens.toml"];
    let start = || {
        let mut command = command(&tool, &[&args[..], &["--store", "shout.db"]].concat());
        command.env("OPENAI_BASE_URL", format!("{}/v1", models.url)).env("OPENAI_API_KEY", "sk-serve-0123456789");
        Server::start(command)
    };
    let server = start();
    let ask = |server: &Server, name: &str, word: &str| {
        let token = format!("Authorization: Bearer {name}-0123456789abcdef");
        server.post("/run/shout", &format!(r#"{{"text":"{word}"}}"#), &[&token])
    };
    let reply = ask(&server, "rich", "ab");
    assert_eq!((reply.status, reply.at(&["tier0", "cost_micro_usd"]).as_u64()), (200, Some(300)), "{reply:?}");
    let reply = ask(&server, "poor", "cd");
    assert_eq!((reply.status, reply.text(&["tier0", "error", "code"])), (409, "spend-cap".to_owned()), "{reply:?}");
    let mut answered = 0;
    for round in 0..12 {
        let reply = ask(&server, "modest", &format!("m{round}"));
        answered += u32::from(reply.status == 200);
    }
    assert!(
        (1..12).contains(&answered),
        "{answered} of 12 for 3200 micro-USD at 300 each, with the worst case set aside"
    );
    // The cap outlasts the server.
    drop(server);
    let server = start();
    assert_eq!(ask(&server, "modest", "again").text(&["tier0", "error", "code"]), "spend-cap");
    assert_eq!(ask(&server, "rich", "ef").status, 200);
    let spent = models.received().len();
    assert_eq!(spent as u32, answered + 2, "nothing was sent beyond the caps");
}

#[test]
fn what_tier_0_gets_wrong_leaves_the_abstention_and_is_not_recorded() {
    let models = ModelServer::start(|number, _| match number {
        0 => Act::Hang(Duration::from_secs(30)),
        1 => Act::Raw(b"\0\0 no http at all"),
        2 => Act::Endless,
        3 => Act::CloseInside("{\"choices\":".to_owned()),
        4 => json(500, "{}"),
        _ => said("7", 1, 1),
    });
    let tool = shout();
    let args =
        ["--tier0", "*=model:openai/gpt-4o", "--spend-cap-usd", "5", "--model-timeout", "1", "--store", "shout.db"];
    let mut command = command(&tool, &[&args[..], &["--contract", "shout.contract.toml"]].concat());
    command.env("OPENAI_BASE_URL", format!("{}/v1", models.url)).env("OPENAI_API_KEY", "sk-serve-0123456789");
    let server = Server::start(command);
    let before = recorded(&tool);
    let mut codes = Vec::new();
    for _ in 0..6 {
        let reply = server.run("shout", NOVEL);
        assert_eq!(reply.status, 409, "{reply:?}");
        codes.push(reply.text(&["tier0", "error", "code"]));
    }
    assert_eq!(codes[0], "model-timeout");
    assert_eq!(codes[5], "tier0-bad-answer", "{codes:?}");
    assert!(codes[1..5].iter().all(|code| code.starts_with("model-")), "{codes:?}");
    assert_eq!(server.run("shout", KNOWN).status, 200);
    let metrics = server.get("/metrics", &[]).body;
    assert!(metrics.contains("auto_tier0_failures_total{name=\"shout\",code=\"model-timeout\"} 1\n"), "{metrics}");
    server.signal("TERM");
    assert!(server.wait().0.success());
    assert_eq!(recorded(&tool), before);
}

#[test]
fn drift_is_measured_on_a_sample_alarms_and_suspends_until_another_version_comes() {
    let tool = shout();
    let drift = ["--drift-sample", "1000000", "--drift-fewest", "5", "--on-drift", "suspend", "--store", "shout.db"];
    let server = serve(&tool, &[&["--tier0", "shout=python3 agent.py lower"][..], &drift].concat());
    let mut replies: Vec<Option<u64>> = Vec::new();
    wait("tier 0 answers in its place", || {
        let reply = server.run("shout", KNOWN);
        assert_eq!(reply.status, 200, "{reply:?}");
        reply.at(&["tier"]).as_u64() == Some(0) && reply.text(&["abstained", "reason"]) == "drift"
    });
    replies.push(server.run("shout", KNOWN).at(&["tier"]).as_u64());
    assert_eq!(replies, [Some(0)]);
    server.wait_for("ALARM shout: drift");
    let metrics = server.get("/metrics", &[]).body;
    assert!(metrics.contains("auto_drift_agreed_total{name=\"shout\"} 0\n"), "{metrics}");
    drop(server);
    // What agrees alarms nobody.
    let server = serve(&tool, &[&["--tier0", "shout=python3 agent.py"][..], &drift[..6]].concat());
    for _ in 0..40 {
        assert_eq!(server.run("shout", KNOWN).at(&["tier"]).as_u64(), Some(1));
    }
    let sampled = |metrics: &str| {
        let line = metrics.lines().find_map(|line| line.strip_prefix("auto_drift_agreed_total{name=\"shout\"} "));
        line.unwrap_or_default().parse::<u64>().unwrap()
    };
    wait("all are compared", || sampled(&server.get("/metrics", &[]).body) == 40);
    assert!(!server.said().contains("ALARM"), "{}", server.said());
}

#[test]
fn spans_go_to_a_collector_and_a_trace_goes_on() {
    let collector = ModelServer::start(|_, _| json(200, "{}"));
    let tool = shout();
    let server = serve(&tool, &["--otlp", &collector.url]);
    let parent = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    assert_eq!(server.post("/run/shout", KNOWN, &[parent]).status, 200);
    wait("the span is there", || !collector.received().is_empty());
    let received = collector.received().remove(0);
    assert!(received.line.starts_with("POST /v1/traces"), "{received:?}");
    for part in ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "run shout", "\"answered\""] {
        assert!(received.body.contains(part), "{part}: {received:?}");
    }
    assert!(!received.body.contains("blue key"), "neither input nor output leaves with it");
    // A collector that is gone holds nobody up.
    let server = serve(&tool, &["--otlp", "http://127.0.0.1:1"]);
    assert_eq!(server.run("shout", KNOWN).status, 200);
    wait("it is counted", || server.get("/metrics", &[]).body.contains("auto_spans_dropped_total 1\n"));
}

#[test]
fn machines_can_read_what_there_is() {
    let tool = shout();
    let server = serve(&tool, &[]);
    assert_eq!((server.run("shout", KNOWN).status, server.run("shout", NOVEL).status), (200, 409));
    let document = server.get("/openapi.json", &[]);
    let input = ["paths", "/run/shout", "post", "requestBody", "content", "application/json", "schema", "properties"];
    assert_eq!(document.at(&input).canonical().as_str(), r#"{"text":{"type":"string"}}"#);
    let metrics = server.get("/metrics", &[]);
    for line in [
        "auto_answers_total{name=\"shout\",tier=\"1\"} 1",
        "auto_abstained_total{name=\"shout\",reason=\"length\"} 1",
        "auto_requests_total{route=\"/run\",status=\"409\"} 1",
        "auto_answer_seconds_count{name=\"shout\"} 2",
    ] {
        assert!(metrics.body.contains(&format!("{line}\n")), "{line}: {}", metrics.body);
    }
    let families: Vec<&str> = metrics.body.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let names: std::collections::BTreeSet<&str> = families.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names.len(), families.len(), "each family once");
    let list = server.get("/artifacts", &[]);
    let first = list.at(&["artifacts"]).as_list().unwrap()[0].clone();
    assert_eq!(first.get("input").and_then(Value::as_text), Some("record{text: text}"));
}

#[test]
fn a_server_that_others_would_reach_without_tokens_does_not_start() {
    let tool = shout();
    let code = |args: &[&str]| {
        let output = tool.run(&[&["--json", "serve", "--registry", "reg"], args].concat());
        let reply = Value::parse(&output.stdout).unwrap();
        (output.status.code(), reply.get("code").and_then(Value::as_text).unwrap().to_owned())
    };
    assert_eq!(code(&["--addr", "0.0.0.0:0"]), (Some(2), "open-address".to_owned()));
    assert_eq!(code(&["--addr", "nowhere"]), (Some(1), "address".to_owned()));
    tokens(tool.folder(), TOKENS);
    fs::set_permissions(tool.path("tokens.toml"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(code(&["--token-file", "tokens.toml"]), (Some(2), "bad-tokens".to_owned()));
    assert_eq!(code(&["--tier0", "python3 agent.py"]), (Some(2), "bad-tool".to_owned()));
    assert_eq!(code(&["--otlp", "nonsense"]), (Some(2), "bad-otlp".to_owned()));
    let held = serve(&tool, &[]);
    assert_eq!(code(&["--addr", &held.address.to_string()]), (Some(1), "address".to_owned()));
}
