//! What a contract leaves to a judge: the real `auto-host` asks a model over HTTP, within its
//! budget and cap, once for each question, and says JUDGED wherever an opinion decided.

#[path = "../../host/model/tests/server/mod.rs"]
#[allow(dead_code, reason = "every test file uses its own part of this")]
mod server;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use auto_json::Value;
use auto_tests::tool::{MODEL_KEY, Tool, at};
use server::{Act, Received, Server, said};

const NAMES: [&str; 12] = ["Ana", "Bea", "Carla", "Dov", "Emil", "Fritz", "Gus", "Hana", "Ines", "Jo", "Kemal", "Lu"];

/// A greeter that was recorded, and now and then in other words.
struct Greeter {
    tool: Tool,
    url: String,
}

/// What the greeter said to `Zoe`: twice the usual, and each of these once.
fn recorded(rare: &[&str]) -> String {
    let mut lines = vec![header()];
    let mut span = |name: &str, said: &str| {
        let number = lines.len();
        lines.push(format!(
            r#"{{"v":0,"t":"span","trace_id":"{id}","span_id":{number},"parent_span_id":null,"seq":{number},"kind":"model_call","name":"greet","input":{{"name":"{name}"}},"output":"{said}","error":null,"started_at_ms":1,"duration_ms":1,"attrs":{{}}}}"#,
            id = "ab".repeat(16)
        ));
    };
    for name in NAMES.into_iter().chain(NAMES) {
        span(name, &format!("Hello {name}!"));
    }
    span("Zoe", "Hello Zoe!");
    span("Zoe", "Hello Zoe!");
    rare.iter().for_each(|said| span("Zoe", said));
    lines.join("\n") + "\n"
}

fn header() -> String {
    let id = "ab".repeat(16);
    format!(r#"{{"v":0,"t":"trace","trace_id":"{id}","task":"greet","started_at_ms":1,"sdk":"test","attrs":{{}}}}"#)
}

impl Greeter {
    fn new(rare: &[&str], acceptance: &str, server: &Server) -> Greeter {
        let greeter = Greeter { tool: Tool::new(), url: server.url.clone() };
        fs::write(greeter.path("greet.jsonl"), recorded(rare)).unwrap();
        let contract = format!(
            "contract_version = 1\ntask = \"greet\"\n[scope]\ntype = \"span\"\nkind = \"model_call\"\nname = \"greet\"\n\
             [interface]\ninput = \"record{{name: text}}\"\noutput = \"text\"\n\
             [[example]]\nname = \"zoe\"\nmatch = \"judged\"\ninput = {{ name = \"Zoe\" }}\noutput = \"Good day, Zoe\"\n\
             [acceptance]\nmatch = \"judged\"\nagreement_min_ppm = 1000000\n{acceptance}\n"
        );
        fs::write(greeter.path("greet.contract.toml"), contract).unwrap();
        let imported = greeter.host(&["import", "--store", "greet.db", "greet.jsonl"]).output().unwrap();
        assert!(imported.status.success(), "{imported:?}");
        greeter
    }

    fn path(&self, name: &str) -> PathBuf {
        self.tool.path(name)
    }

    fn host(&self, args: &[&str]) -> Command {
        self.tool.asking(&self.url, args)
    }

    fn compile(&self, more: &[&str]) -> Command {
        let args = ["compile", "--contract", "greet.contract.toml", "--store", "greet.db", "--out", "greet.cbin"];
        self.host(&[&args, more].concat())
    }

    fn verify(&self, more: &[&str]) -> Command {
        self.host(&[&["verify", "--contract", "greet.contract.toml", "--store", "greet.db"], more].concat())
    }

    fn spent(&self) -> u64 {
        let ledger = auto_model::Ledger::open(&self.path("spend.jsonl")).unwrap();
        ledger.spent().0
    }
}

const PAID: [&str; 4] = ["--teacher", "model:openai/gpt-4o", "--spend-cap-usd", "1"];

/// Whoever greets by name says the same.
fn lenient(question: &Received) -> Act {
    let Some((_, outputs)) = question.body.split_once("First output") else { return said("what?", 1, 1) };
    said(if outputs.contains("Bye") { "different" } else { "Same." }, 400, 2)
}

fn ran(mut command: Command) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = command.output().unwrap();
    (status.code(), format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr)))
}

fn json(command: Command) -> (Option<i32>, Value) {
    let mut command = command;
    let output = command.arg("--json").output().unwrap();
    (output.status.code(), Value::parse(&output.stdout).unwrap_or_else(|_| panic!("{output:?}")))
}

#[test]
fn without_a_cap_nobody_judges_and_the_verdict_says_what_to_do() {
    let server = Server::start(|_, question| lenient(question));
    let greeter = Greeter::new(&["Hi Zoe!"], "", &server);
    let (exit, text) = ran(greeter.compile(&[]));
    assert_eq!(exit, Some(4), "{text}");
    assert!(text.contains("--teacher model:PROVIDER/NAME") && text.contains("[no-teacher]"), "{text}");
    let (exit, text) = ran(greeter.compile(&PAID[..2]));
    assert_eq!(exit, Some(4), "{text}");
    assert!(text.contains("--spend-cap-usd") && text.contains("[spend-cap]"), "{text}");
    let (exit, text) = ran(greeter.verify(&[]));
    assert_eq!(exit, Some(4), "{text}");
    assert!(text.contains("not judged [no-teacher]"), "{text}");
    assert_eq!(server.received().len(), 0);
    assert!(!greeter.path("greet.cbin").exists() && !greeter.path("spend.jsonl").exists());
}

#[test]
fn a_judge_is_asked_about_rare_recordings_and_examples_once_each_and_it_says_so_everywhere() {
    let server = Server::start(|_, question| lenient(question));
    let greeter = Greeter::new(&["Hi Zoe!", "Hey Zoe!"], "", &server);
    let (exit, report) = json(greeter.compile(&PAID));
    assert_eq!(exit, Some(0), "{report}");
    let asked = server.received().len();
    assert_eq!(asked, 3, "both rare recordings and the example");
    assert_eq!(at(&report, &["judged", "model"]).as_text(), Some("openai/gpt-4o"));
    assert_eq!(at(&report, &["judged", "opinions"]).as_u64(), Some(3));
    assert_eq!(at(&report, &["spend", "spent_micro_usd"]).as_u64(), Some(greeter.spent()));
    assert_eq!(greeter.spent(), 3 * 1_020, "400 tokens in and 2 out, at the price of the table");
    let findings = at(&report, &["findings"]).to_string();
    assert!(findings.contains("1 of them JUDGED") && findings.contains("(JUDGED the same)"), "{findings}");

    let first = fs::read(greeter.path("greet.cbin")).unwrap();
    let (exit, text) = ran(greeter.compile(&PAID));
    assert_eq!(exit, Some(0));
    assert!(text.contains("JUDGED by openai/gpt-4o: 3 opinions"), "{text}");
    assert_eq!(server.received().len(), asked, "what was said once is not asked again");
    assert!(first == fs::read(greeter.path("greet.cbin")).unwrap(), "the same opinions give the same bytes");

    let (_, text) = ran(greeter.host(&["inspect", "greet.cbin"]));
    assert!(text.contains("JUDGED by openai/gpt-4o: 3 opinions"), "{text}");
    let (_, manifest) = json(greeter.host(&["inspect", "greet.cbin"]));
    assert_eq!(at(&manifest, &["manifest", "judged", "opinions"]).as_u64(), Some(3));
    let id = at(&report, &["eval_run"]).as_text().unwrap();
    let record = Value::parse(fs::read(greeter.path("auto-runs").join(format!("{id}.json"))).unwrap()).unwrap();
    assert_eq!(at(&record, &["judged", "opinions"]).as_list().unwrap().len(), 3, "each opinion is on record");
    let (exit, text) = ran(greeter.host(&["inspect", &format!("auto-runs/{id}.json")]));
    assert!(exit == Some(0) && text.contains("JUDGED by openai/gpt-4o: 3 opinions"), "{text}");
    let (exit, ledger) = json(greeter.host(&["inspect", "spend.jsonl"]));
    assert_eq!((exit, at(&ledger, &["kind"]).as_text()), (Some(0), Some("ledger")), "{ledger}");
    assert_eq!(at(&ledger, &["spent_micro_usd"]).as_u64(), Some(3 * 1_020));
    let mut damaged = fs::read(greeter.path("spend.jsonl")).unwrap();
    damaged[200] ^= 1;
    fs::write(greeter.path("damaged.jsonl"), damaged).unwrap();
    assert_eq!(ran(greeter.host(&["inspect", "damaged.jsonl"])).0, Some(6));

    let (exit, report) = json(greeter.verify(&[&PAID[..], &["--artifact", "greet.cbin"]].concat()));
    assert_eq!(exit, Some(0), "{report}");
    assert_eq!(at(&report, &["judged", "opinions"]).as_u64(), Some(3));
    assert_eq!(server.received().len(), asked, "the artifact gives the same answers");
    let (exit, text) = ran(greeter.verify(&PAID));
    assert_eq!(exit, Some(0), "{text}");
    assert!(text.contains("(JUDGED)") && text.contains("JUDGED by openai/gpt-4o: 3 opinions"), "{text}");
}

#[test]
fn a_rare_recording_that_means_something_else_is_a_divergence() {
    let server = Server::start(|_, question| lenient(question));
    let greeter = Greeter::new(&["Hi Zoe!", "Bye Zoe!"], "", &server);
    let (exit, text) = ran(greeter.compile(&PAID));
    assert_eq!(exit, Some(1), "{text}");
    assert!(text.contains("1 divergent recordings") && text.contains("JUDGED another output"), "{text}");
    assert!(!greeter.path("greet.cbin").exists());
}

#[test]
fn the_declared_budget_holds_and_leaves_the_rest_open() {
    let server = Server::start(|_, question| lenient(question));
    let greeter = Greeter::new(&["Hi Zoe!", "Hey Zoe!"], "judge_calls = 2", &server);
    let (exit, text) = ran(greeter.compile(&PAID));
    assert_eq!(exit, Some(4), "{text}");
    assert!(text.contains("[judge-budget]") && text.contains("judge_calls"), "{text}");
    assert_eq!(server.received().len(), 2);
    assert_eq!(ran(greeter.compile(&PAID)).0, Some(4), "answers that are known count too, so it ends the same");
    assert_eq!(server.received().len(), 2);
}

#[test]
fn a_judge_that_says_neither_decides_nothing() {
    let server = Server::start(|number, _| said(if number == 0 { "It depends." } else { "same" }, 4, 4));
    let greeter = Greeter::new(&["Hi Zoe!"], "", &server);
    let (exit, text) = ran(greeter.compile(&PAID));
    assert_eq!(exit, Some(4), "{text}");
    assert_eq!(server.received().len(), 2, "the other question is asked all the same");
    assert_eq!(ran(greeter.compile(&PAID)).0, Some(0), "it is asked again, and says something this time");
}

#[test]
fn a_recorded_judge_says_the_same_without_network_key_or_money() {
    let server = Server::start(|_, question| lenient(question));
    let greeter = Greeter::new(&["Hi Zoe!"], "", &server);
    let record = [&PAID[..], &["--model-mode", "record:tape.jsonl"]].concat();
    assert_eq!(ran(greeter.compile(&record)).0, Some(0));
    let (first, spent) = (fs::read(greeter.path("greet.cbin")).unwrap(), greeter.spent());
    fs::remove_dir_all(greeter.path("auto-runs/judged")).unwrap();

    let replay = ["--teacher", "model:openai/gpt-4o", "--model-mode", "replay:tape.jsonl"];
    let mut again = greeter.compile(&replay);
    again.env_remove("OPENAI_API_MODEL_KEY").env_remove("OPENAI_BASE_URL");
    let (exit, text) = ran(again);
    assert_eq!(exit, Some(0), "{text}");
    assert!(text.contains("JUDGED by openai/gpt-4o: 2 opinions"), "{text}");
    assert!(first == fs::read(greeter.path("greet.cbin")).unwrap());
    assert_eq!((server.received().len(), greeter.spent()), (2, spent));

    fs::remove_dir_all(greeter.path("auto-runs/judged")).unwrap();
    fs::write(greeter.path("tape.jsonl"), "").unwrap();
    let (exit, text) = ran(greeter.compile(&replay));
    assert_eq!(exit, Some(4), "{text}");
    assert!(text.contains("[replay-unknown]"), "{text}");
}

/// Kills the command when the model has the question, and says how often it was asked.
fn killed(mut command: Command, server: &Server, asked: &std::sync::mpsc::Receiver<()>) -> usize {
    // Those of earlier commands.
    asked.try_iter().for_each(drop);
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    asked.recv_timeout(Duration::from_secs(120)).unwrap();
    process.kill().unwrap();
    process.wait().unwrap();
    server.received().len()
}

#[test]
fn a_question_whose_reply_a_crash_lost_is_paid_for_again_only_when_asked_to() {
    let (send, asked) = channel();
    let send = std::sync::Mutex::new(send);
    // The first question of each command gets no reply.
    let server = Server::start(move |number, question| {
        send.lock().unwrap().send(()).unwrap();
        if matches!(number, 0 | 3) { Act::Hang(Duration::from_secs(30)) } else { lenient(question) }
    });
    let greeter = Greeter::new(&["Hi Zoe!"], "", &server);
    assert_eq!(killed(greeter.compile(&PAID), &server, &asked), 1);
    let worst = greeter.spent();
    assert!(worst > 1_020, "{worst}: the worst is counted");
    for _ in 0..2 {
        let (exit, text) = ran(greeter.compile(&PAID));
        assert_eq!(exit, Some(1), "{text}");
        assert!(text.contains("journal-unanswered") && text.contains("--reissue"), "{text}");
    }
    assert_eq!((server.received().len(), greeter.spent()), (1, worst), "nothing was asked, nothing spent");
    let (exit, text) = ran(greeter.compile(&[&PAID[..], &["--reissue"]].concat()));
    assert_eq!(exit, Some(0), "{text}");
    assert_eq!((server.received().len(), greeter.spent()), (3, worst + 2 * 1_020));

    // The same for a verdict without a driver, on questions that nobody asked yet.
    fs::remove_dir_all(greeter.path("auto-runs/judged")).unwrap();
    assert_eq!(killed(greeter.verify(&PAID), &server, &asked), 4);
    let (exit, text) = ran(greeter.verify(&PAID));
    assert!(exit == Some(1) && text.contains("journal-unanswered"), "{text}");
    assert_eq!(server.received().len(), 4);
    assert_eq!(ran(greeter.verify(&[&PAID[..], &["--reissue"]].concat())).0, Some(0));
    assert_eq!(server.received().len(), 6);
}

#[test]
fn the_key_is_in_no_output_and_in_no_file() {
    let server = Server::start(|number, question| match number {
        0 => server::json(401, "{\"error\":\"sk-judge-…\"}"),
        _ => lenient(question),
    });
    let greeter = Greeter::new(&["Hi Zoe!"], "", &server);
    let mut shown = String::new();
    for more in [&["--verbose"][..], &["--json", "--verbose"], &[]] {
        let (_, text) = ran(greeter.compile(&[&PAID[..], more].concat()));
        shown.push_str(&text);
    }
    shown.push_str(&ran(greeter.verify(&PAID)).1);
    let found =
        Command::new("grep").args(["-rla", MODEL_KEY, "."]).current_dir(greeter.tool.folder()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&found.stdout), "", "files hold the key");
    assert!(!shown.contains(MODEL_KEY), "{shown}");
}
