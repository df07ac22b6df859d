//! The client against a real server on a loopback port: what it sends, what it believes, what
//! it counts, and what it never shows.

mod server;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use auto_model::ledger::Totals;
use auto_model::{
    Client, Environment, Ledger, MicroUsd, Mode, ModelError, ModelId, Options, Prices, Reply, Request, Times,
};
use base64::Engine as _;
use server::{Act, Server, json, said};
use tempfile::TempDir;

const KEY: &str = "sk-loopback-0123456789abcdef";

/// A folder for what a test writes.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn ledger(&self) -> PathBuf {
        self.0.path().join("spend.jsonl")
    }

    fn options(&self, url: &str) -> Options {
        let environment = Environment::default()
            .with("OPENAI_BASE_URL", format!("{url}/v1"))
            .with("OPENAI_API_KEY", KEY)
            .with("ANTHROPIC_BASE_URL", url)
            .with("ANTHROPIC_API_KEY", KEY)
            .with("OLLAMA_HOST", url)
            .with("LLAMACPP_BASE_URL", format!("{url}/v1"));
        let times = Times { connect: Duration::from_secs(5), whole: Duration::from_secs(5) };
        Options { cap: MicroUsd(1_000_000), environment, times, ..Options::new(self.ledger(), "test") }
    }

    fn client(&self, url: &str) -> Client {
        Client::open(self.options(url)).unwrap()
    }

    /// As a new process sees it.
    fn totals(&self) -> Totals {
        Ledger::open(&self.ledger()).unwrap().totals("test")
    }

    /// Everything that was written.
    fn written(&self) -> String {
        let files = std::fs::read_dir(self.0.path()).unwrap().flatten();
        files.map(|file| String::from_utf8_lossy(&std::fs::read(file.path()).unwrap()).into_owned()).collect()
    }
}

fn request(model: &str) -> Request {
    let model = ModelId::parse(model, &Prices::built_in()).unwrap();
    Request::question(model, "Be brief.", "Is it \"so\"?", 100)
}

fn ask(client: &Client) -> Result<Reply, ModelError> {
    client.ask(&request("openai/gpt-4o"))
}

#[test]
fn each_provider_is_asked_in_its_own_way_and_costs_what_it_says() {
    let server = Server::start(|_, question| match question.line.as_str() {
        "POST /v1/chat/completions HTTP/1.1" => said("yes", 1_000, 10),
        "POST /v1/messages HTTP/1.1" => json(
            200,
            r#"{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"}],"stop_reason":"end_turn",
                "usage":{"input_tokens":900,"cache_read_input_tokens":100,"output_tokens":10}}"#,
        ),
        "POST /api/chat HTTP/1.1" => json(
            200,
            r#"{"message":{"role":"assistant","content":"yes"},"done_reason":"stop","prompt_eval_count":1000,"eval_count":10}"#,
        ),
        other => json(404, &format!(r#"{{"error":"no {other}"}}"#)),
    });
    let place = Place::new();
    let client = place.client(&server.url);
    for (model, cost) in
        [("openai/gpt-4o", 2_600), ("anthropic/claude-haiku-4-5", 1_050), ("ollama/tiny", 0), ("llamacpp/any", 0)]
    {
        let reply = client.ask(&request(model)).unwrap();
        let usage = reply.usage.unwrap();
        assert_eq!(
            (reply.text.as_str(), usage.input, usage.output, reply.cost),
            ("yes", 1_000, 10, MicroUsd(cost)),
            "{model}"
        );
    }
    let received = server.received();
    let header = |index: usize, name: &str| received[index].headers.get(name).cloned();
    assert_eq!(header(0, "authorization"), Some(format!("Bearer {KEY}")));
    assert_eq!(header(1, "x-api-key"), Some(KEY.to_owned()));
    assert_eq!(header(1, "anthropic-version"), Some("2023-06-01".to_owned()));
    assert_eq!((header(2, "authorization"), header(3, "authorization")), (None, None));
    let said = r#"{"content":"Is it \"so\"?","role":"user"}"#;
    let told = r#"{"content":"Be brief.","role":"system"}"#;
    let bodies: Vec<&str> = received.iter().map(|question| question.body.as_str()).collect();
    assert_eq!(
        bodies,
        [
            format!(r#"{{"max_tokens":100,"messages":[{told},{said}],"model":"gpt-4o","stream":false}}"#),
            format!(
                r#"{{"max_tokens":100,"messages":[{said}],"model":"claude-haiku-4-5","stream":false,"system":"Be brief."}}"#
            ),
            format!(r#"{{"messages":[{told},{said}],"model":"tiny","options":{{"num_predict":100}},"stream":false}}"#),
            format!(r#"{{"max_tokens":100,"messages":[{told},{said}],"model":"any","stream":false}}"#),
        ]
    );
    assert_eq!(place.totals(), Totals { spent: MicroUsd(3_650), calls: 4 }, "local calls cost nothing and are counted");
}

#[test]
fn without_a_cap_a_paid_model_is_not_asked_and_a_local_one_is() {
    let server = Server::start(|_, _| json(200, r#"{"message":{"content":"yes"}}"#));
    let place = Place::new();
    let client = Client::open(Options { cap: MicroUsd(0), ..place.options(&server.url) }).unwrap();
    assert_eq!(ask(&client).unwrap_err().code, "spend-cap");
    assert!(!place.ledger().exists() && server.received().is_empty());
    assert_eq!(client.ask(&request("ollama/tiny")).unwrap().text, "yes");
    assert_eq!(server.received().len(), 1);
}

#[test]
fn the_worst_case_is_reserved_so_a_cap_is_never_broken() {
    let server = Server::start(|_, _| said("yes", 50, 100));
    let place = Place::new();
    let worst = place.client(&server.url).worst_case(&request("openai/gpt-4o")).unwrap();
    // 100 tokens out at 10 USD a million, and every byte that is sent at 2.50.
    let sent = 1_000 + (2_500_000 * body_bytes() as u64).div_ceil(1_000_000);
    assert_eq!(worst, MicroUsd(sent));
    let client = Client::open(Options { cap: MicroUsd(worst.0 + 1_124), ..place.options(&server.url) }).unwrap();
    assert_eq!(ask(&client).unwrap().cost, MicroUsd(1_125));
    assert_eq!(ask(&client).unwrap_err().code, "spend-cap", "one micro-USD is missing");
    assert_eq!((server.received().len(), place.totals().spent), (1, MicroUsd(1_125)));
    let other =
        Client::open(Options { session: "other".to_owned(), cap: worst, ..place.options(&server.url) }).unwrap();
    assert!(ask(&other).is_ok(), "another session has its own cap");
}

fn body_bytes() -> usize {
    let server = Server::start(|_, _| said("yes", 1, 1));
    ask(&Place::new().client(&server.url)).unwrap();
    server.received()[0].body.len()
}

#[test]
fn what_nobody_has_a_price_or_key_for_is_not_asked() {
    let place = Place::new();
    let client = place.client("http://127.0.0.1:9");
    assert_eq!(client.ask(&request("openai/secret-model")).unwrap_err().code, "unknown-price");
    let long = Request { system: "a".repeat(200_000), ..request("anthropic/claude-haiku-4-5") };
    assert_eq!(client.ask(&long).unwrap_err().code, "unknown-price");
    let keyless = Options { environment: Environment::default(), ..place.options("") };
    assert_eq!(ask(&Client::open(keyless).unwrap()).unwrap_err().code, "no-key");
    assert!(!place.ledger().exists());
}

/// What a server does, the code that it comes to, whether the worst is counted, and how many
/// questions it gets.
fn faults() -> Vec<(&'static str, Act, &'static str, bool, usize)> {
    let header = |name, value: &str| (name, value.to_owned());
    let typed =
        |status, kind: &str, body: &str| Act::Reply(status, vec![header("Content-Type", kind)], body.to_owned());
    let again = |status| Act::Reply(status, vec![header("Retry-After", "0")], "{}".to_owned());
    let elsewhere = Act::Reply(307, vec![header("Location", "http://127.0.0.1:1/")], String::new());
    let good = r#"{"choices":[{"message":{"content":"yes"}}]}"#;
    let escaped: String = KEY.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();
    let coded = base64::engine::general_purpose::STANDARD.encode(format!("the key is {KEY}."));
    vec![
        ("hang", Act::Hang(Duration::from_secs(9)), "model-timeout", true, 1),
        ("close", Act::Close, "model-interrupted", true, 1),
        ("close inside", Act::CloseInside(good.to_owned()), "model-interrupted", true, 1),
        ("drip", Act::Drip(good.repeat(9), Duration::from_millis(40)), "model-timeout", true, 1),
        ("endless", Act::Endless, "model-too-large", true, 1),
        ("no HTTP", Act::Raw(b"SSH-2.0-x\r\n\r\n"), "model-interrupted", true, 1),
        ("garbage", json(200, "\u{0}{"), "model-bad-reply", true, 1),
        ("another form", json(200, r#"{"choices":[]}"#), "model-bad-reply", true, 1),
        ("no text", json(200, r#"{"choices":[{"message":{"content":null}}]}"#), "model-bad-reply", true, 1),
        ("another type", typed(200, "text/html", good), "model-bad-reply", true, 1),
        ("no type", Act::Reply(200, Vec::new(), good.to_owned()), "model-bad-reply", true, 1),
        ("400", json(400, r#"{"error":{"message":"too hot"}}"#), "model-refused", false, 1),
        ("401", json(401, r#"{"error":"bad key sk-loop…"}"#), "model-unauthorized", false, 1),
        ("404", json(404, "{}"), "model-refused", false, 1),
        ("redirect", elsewhere, "model-redirected", false, 1),
        ("429, again", again(429), "model-limited", false, 4),
        ("429", json(429, "{}"), "model-limited", false, 1),
        ("503, again", again(503), "model-failed", false, 4),
        ("503", json(503, "{}"), "model-failed", true, 1),
        ("500", again(500), "model-failed", true, 1),
        ("echo", json(200, &good.replace("yes", KEY)), "key-echoed", true, 1),
        ("echo, escaped", json(200, &good.replace("yes", &escaped)), "key-echoed", true, 1),
        (
            "echo, one letter escaped",
            json(400, &format!(r#"{{"error":"\u0073{}"}}"#, &KEY[1..])),
            "key-echoed",
            true,
            1,
        ),
        (
            "echo in JSON in a text",
            json(400, &format!(r#"{{"error":"{{\"key\":\"{KEY}\"}}"}}"#)),
            "key-echoed",
            true,
            1,
        ),
        ("echo in base64", json(400, &format!(r#"{{"error":"x{coded}"}}"#)), "key-echoed", true, 1),
        ("echo in an error", json(500, &format!(r#"{{"error":"{KEY}"}}"#)), "key-echoed", true, 1),
    ]
}

#[test]
fn whatever_a_server_does_has_a_code_and_is_never_counted_too_low() {
    for (name, act, code, billed, questions) in faults() {
        let server = Server::start(move |_, _| act.clone());
        let place = Place::new();
        let times = Times { whole: Duration::from_millis(700), ..Times::default() };
        let client = Client::open(Options { times, most: 1 << 16, ..place.options(&server.url) }).unwrap();
        let worst = client.worst_case(&request("openai/gpt-4o")).unwrap();
        let started = Instant::now();
        let error = ask(&client).expect_err(name);
        assert!(started.elapsed() < Duration::from_secs(5), "{name} took {:?}", started.elapsed());
        let cost = if billed { worst } else { MicroUsd(0) };
        assert_eq!((error.code, error.cost), (code, cost), "{name}: {error}");
        assert_eq!(place.totals(), Totals { spent: cost, calls: 1 }, "{name}");
        assert_eq!(server.received().len(), questions, "{name}");
    }
}

#[test]
fn a_server_that_asks_for_patience_gets_it_and_costs_once() {
    let server = Server::start(|number, _| match number {
        0 => Act::Reply(429, vec![("Retry-After", "0".to_owned())], "{}".to_owned()),
        1 => Act::Reply(503, vec![("Retry-After", "0".to_owned())], "{}".to_owned()),
        _ => said("yes", 4, 1),
    });
    let place = Place::new();
    assert_eq!(ask(&place.client(&server.url)).unwrap().text, "yes");
    assert_eq!(place.totals(), Totals { spent: MicroUsd(20), calls: 1 });
    assert_eq!(server.received().len(), 3);
}

#[test]
fn a_server_that_asks_for_more_patience_than_there_is_time_is_left_alone() {
    let server = Server::start(|_, _| Act::Reply(429, vec![("Retry-After", "3600".to_owned())], "{}".to_owned()));
    let started = Instant::now();
    assert_eq!(ask(&Place::new().client(&server.url)).unwrap_err().code, "model-limited");
    assert!(started.elapsed() < Duration::from_secs(4));
    assert_eq!(server.received().len(), 1);
}

#[test]
fn where_nobody_listens_nothing_is_spent() {
    let place = Place::new();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = ask(&place.client(&format!("http://{free}"))).unwrap_err();
    assert_eq!((error.code, error.cost, place.totals().spent), ("model-connect", MicroUsd(0), MicroUsd(0)));
}

#[test]
fn a_reply_without_counts_costs_the_worst() {
    let server =
        Server::start(|_, _| json(200, r#"{"choices":[{"message":{"content":"yes"},"finish_reason":"length"}]}"#));
    let place = Place::new();
    let client = place.client(&server.url);
    let reply = ask(&client).unwrap();
    assert_eq!((reply.usage, reply.cut_off), (None, true));
    assert_eq!(reply.cost, client.worst_case(&request("openai/gpt-4o")).unwrap());
}

#[test]
fn a_reply_that_cannot_be_booked_is_not_released() {
    let place = Place::new();
    let ledger = place.ledger();
    let server = Server::start(move |_, _| {
        std::fs::remove_file(&ledger).unwrap();
        std::fs::create_dir(&ledger).unwrap();
        said("yes", 1, 1)
    });
    assert_eq!(ask(&place.client(&server.url)).unwrap_err().code, "ledger-io");
}

#[test]
fn keys_are_in_no_message_file_or_record() {
    for (name, act, ..) in faults() {
        let server = Server::start(move |_, _| act.clone());
        let place = Place::new();
        let times = Times { whole: Duration::from_millis(300), ..Times::default() };
        let mode = Mode::Record(place.0.path().join("tape.jsonl"));
        let options = Options { times, most: 1 << 16, mode, ..place.options(&server.url) };
        let error = ask(&Client::open(options).unwrap()).expect_err(name);
        let shown = format!("{error} {error:?} {}", place.written());
        assert!(!shown.contains(KEY) && !shown.contains("sk-loop"), "{name}: {shown}");
    }
}

#[test]
fn what_was_recorded_is_replayed_once_each_and_nothing_else_is() {
    let server = Server::start(|number, _| said(["one", "two", "three"][number.min(2)], 4, 1));
    let place = Place::new();
    let tape = place.0.path().join("tape.jsonl");
    let recorder = Client::open(Options { mode: Mode::Record(tape.clone()), ..place.options(&server.url) }).unwrap();
    let other = request("openai/gpt-4o-mini");
    let recorded = [ask(&recorder), ask(&recorder), recorder.ask(&other)].map(|reply| reply.unwrap().text);
    assert_eq!(recorded, ["one", "two", "three"]);
    let spent = place.totals();

    // Nothing but the file: no server, no key, no money.
    let alone = Options {
        mode: Mode::Replay(tape),
        cap: MicroUsd(0),
        environment: Environment::default(),
        ..place.options("")
    };
    let player = Client::open(alone).unwrap();
    let replayed = [player.ask(&other), ask(&player), ask(&player)].map(|reply| reply.unwrap());
    assert_eq!(replayed.each_ref().map(|reply| reply.text.as_str()), ["three", "one", "two"]);
    assert!(replayed.iter().all(|reply| reply.cost == MicroUsd(0)));
    assert_eq!(ask(&player).unwrap_err().code, "replay-unknown", "it was recorded twice, not three times");
    let longer = Request { max_output_tokens: 101, ..request("openai/gpt-4o") };
    assert_eq!(player.ask(&longer).unwrap_err().code, "replay-unknown");
    assert_eq!((place.totals(), server.received().len()), (spent, 3));
}

#[test]
fn recordings_and_scripts_that_are_none_are_refused() {
    let place = Place::new();
    let file = place.0.path().join("file");
    let open = |mode, text: &str| {
        std::fs::write(&file, text).unwrap();
        Client::open(Options { mode, ..place.options("") }).map(|_| ()).map_err(|error| error.code)
    };
    for text in ["x", "{}", r#"{"identity":"00","status":200,"content_type":"","body":""}"#] {
        assert_eq!(open(Mode::Replay(file.clone()), text), Err("cassette-io"));
    }
    for text in ["x", "{}", r#"{"text":1}"#, r#"{"text":"a","status":200}"#, r#"{"status":70000,"body":""}"#] {
        assert_eq!(open(Mode::Scripted(file.clone()), text), Err("bad-script"));
    }
}

#[test]
fn a_script_answers_whatever_is_asked_in_every_protocol() {
    let place = Place::new();
    let file = place.0.path().join("script");
    let models = ["openai/gpt-4o", "anthropic/claude-haiku-4-5", "ollama/tiny", "llamacpp/any"];
    let bad = r#"{"status":400,"body":"{\"error\":\"too hot\"}"}"#;
    std::fs::write(&file, format!("{}{bad}\n", "{\"text\":\"so\"}\n".repeat(models.len()))).unwrap();
    let client = Client::open(Options { mode: Mode::Scripted(file), cap: MicroUsd(0), ..place.options("") }).unwrap();
    for model in models {
        assert_eq!(client.ask(&request(model)).unwrap().text, "so", "{model}");
    }
    let error = ask(&client).unwrap_err();
    assert_eq!((error.code, error.message.contains("too hot")), ("model-refused", true));
    assert_eq!(ask(&client).unwrap_err().code, "script-ended");
}

/// What the server charged is at most what the ledger holds, whatever went wrong between.
#[test]
fn on_a_bad_day_nothing_that_was_charged_is_missing_from_the_ledger() {
    for seed in 0..3 {
        let server = Server::start(|_, _| said("yes", 20, 2));
        let place = Place::new();
        let client = Client::open(Options { mode: Mode::Chaos(seed), ..place.options(&server.url) }).unwrap();
        let replies: Vec<_> = (0..25).map(|_| ask(&client)).collect();
        let charged = server.received().len() as u64 * 70;
        let counted = place.totals().spent.0;
        assert!(counted >= charged, "seed {seed}: {charged} were charged, {counted} are counted");
        let told: u64 =
            replies.iter().map(|reply| reply.as_ref().map_or_else(|error| error.cost.0, |reply| reply.cost.0)).sum();
        assert_eq!(counted, told);
        assert!(replies.iter().any(Result::is_ok) && replies.iter().any(Result::is_err));
    }
}

const CHILD: &str = "AUTO_MODEL_CHILD";

/// Not a test: the process that the next one kills.
#[test]
fn child_that_asks() {
    let Ok(url) = std::env::var(CHILD) else { return };
    let (url, ledger) = url.split_once(' ').unwrap();
    let place = Place::new();
    let client = Client::open(Options { ledger: ledger.into(), ..place.options(url) }).unwrap();
    let reply = ask(&client).unwrap();
    println!("released {}", reply.cost.0);
}

fn child(url: &str, ledger: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child_that_asks", "--nocapture"]).env(CHILD, format!("{url} {}", ledger.display()));
    command
}

/// Killed when the question is there, and at many moments around the reply.
#[test]
fn a_process_that_is_killed_between_sending_and_booking_has_spent_the_worst() {
    const CHARGED: u64 = 70;
    let mut settled = 0;
    for delay in [None, Some(0), Some(100), Some(300), Some(1_000), Some(3_000), Some(200_000)] {
        let place = Place::new();
        let (asked, question) = std::sync::mpsc::channel();
        let asked = std::sync::Mutex::new(asked);
        let server = Server::start(move |_, _| {
            asked.lock().unwrap().send(()).unwrap();
            if delay.is_some() { said("yes", 20, 2) } else { Act::Hang(Duration::from_secs(5)) }
        });
        let mut process = child(&server.url, &place.ledger()).stdout(std::process::Stdio::piped()).spawn().unwrap();
        question.recv_timeout(Duration::from_secs(30)).unwrap();
        std::thread::sleep(Duration::from_micros(delay.unwrap_or_default()));
        process.kill().unwrap();
        let printed = String::from_utf8(process.wait_with_output().unwrap().stdout).unwrap();
        let worst = place.client(&server.url).worst_case(&request("openai/gpt-4o")).unwrap();
        let totals = place.totals();
        assert!(totals.calls == 1 && [CHARGED, worst.0].contains(&totals.spent.0), "{totals:?} after {delay:?}");
        if printed.contains("released") || delay == Some(200_000) {
            assert_eq!(totals.spent.0, CHARGED, "it was released, so it was booked");
        }
        settled += u32::from(totals.spent.0 == CHARGED);
        if delay.is_none() {
            assert_eq!(totals.spent, worst);
        }
        // Another process goes on from what was spent.
        let server = Server::start(|_, _| said("yes", 20, 2));
        assert!(ask(&place.client(&server.url)).is_ok());
        assert_eq!(place.totals().spent.0, totals.spent.0 + CHARGED);
    }
    assert!(settled > 0, "no process came as far as booking");
}
