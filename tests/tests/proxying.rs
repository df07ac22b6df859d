//! `proxy` between raw sockets: what is relayed is what came, byte for byte; what is recorded is
//! what was asked and answered; and whatever goes wrong with either has a status code or a count.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use auto_json::Value;
use auto_store::{Store, Trace};
use auto_tests::disk::Disk;
use auto_tests::tool::Tool;
use auto_tests::wire::{Server, answer, ask, ask_on, provider};

const KEY: &str = "sk-proj-c0ffeec0ffeec0ffee";
const CHAT: &str = "/v1/chat/completions";

fn request(text: &str, more: &str) -> String {
    format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]{more}}}"#)
}

fn said(text: &str) -> String {
    format!(
        r#"{{"id":"c-{text}","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"total_tokens":7}}}}"#
    )
}

/// A proxy in front of that provider.
fn proxy(tool: &Tool, upstream: std::net::SocketAddr, more: &[&str]) -> Server {
    let upstream = format!("http://{upstream}");
    Server::start(tool, &[&["proxy", "--upstream", &upstream, "--store", "s.db", "--task", "t"], more].concat())
}

fn traces(tool: &Tool) -> Vec<Trace> {
    let store = Store::open_read(tool.path("s.db")).unwrap();
    store.verify().unwrap();
    store.traces_of("t").unwrap()
}

fn counts(stdout: &str) -> String {
    stdout.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_stream_is_relayed_byte_for_byte_and_recorded_joined() {
    let events = [
        r#"{"id":"c","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"Hé"}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{"content":"llo"}}]}"#,
        r#"{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        "[DONE]",
    ];
    let stream: String = events.iter().map(|event| format!(": comment\ndata: {event}\n\n")).collect();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let (sent, seen) = (stream.clone(), heads.clone());
    let upstream = provider(move |asked, to| {
        seen.lock().unwrap().push(asked.head.clone());
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Own: kept\r\nTransfer-Encoding: chunked\r\n\r\n";
        to.write_all(head.as_bytes()).unwrap();
        // Chunks that are cut in the middle of a character.
        for piece in sent.as_bytes().chunks(7) {
            to.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).unwrap();
            to.write_all(piece).unwrap();
            to.write_all(b"\r\n").unwrap();
        }
        to.write_all(b"0\r\n\r\n").unwrap();
    });
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &[]);
    let headers = [
        ("Authorization", &*format!("Bearer {KEY}")),
        ("X-Mine", "as it is"),
        ("Connection", "X-Hop"),
        ("X-Hop", "gone"),
    ];
    let body = request(&format!("my key is {KEY}"), r#","stream":true"#);
    let reply = ask(server.address, "POST", &format!("{CHAT}?v=1"), &headers, body.as_bytes());
    assert_eq!((reply.status, reply.whole), (200, true));
    assert_eq!(String::from_utf8(reply.body).unwrap(), stream);
    assert!(reply.head.to_ascii_lowercase().contains("x-own: kept"), "{}", reply.head);
    let head = heads.lock().unwrap()[0].to_ascii_lowercase();
    assert!(head.starts_with(&format!("post {CHAT}?v=1")) && head.contains(&format!("authorization: bearer {KEY}")));
    assert!(
        head.contains("x-mine: as it is") && !head.contains("x-hop") && !head.contains("connection: x-hop"),
        "{head}"
    );
    let (stdout, stderr) = server.stop();
    assert!(counts(&stdout).starts_with("1 exchanges recorded, 0 put aside, 0 lost"), "{stdout}");
    let [trace] = &traces(&tool)[..] else { panic!() };
    assert_eq!(trace.spans[0].output.as_str(), r#"{"content":"Héllo"}"#);
    assert!(trace.spans[0].input.as_str().contains("my key is [key]") && trace.spans[0].duration.is_some());
    // The caller's key is nowhere: not in the store, not in what was said.
    for file in std::fs::read_dir(tool.folder()).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        let bytes = std::fs::read(file.path()).unwrap();
        let found = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
        assert!(!found, "the key is in {}", file.path().display());
    }
    assert!(!stdout.contains(KEY) && !stderr.contains(KEY));
}

#[test]
fn tool_calls_are_structure_and_their_results_tool_calls() {
    let turn = AtomicUsize::new(0);
    let upstream = provider(move |_, to| {
        let call = r#"{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_x","type":"function","function":{"name":"look","arguments":"{\"a\": 1}"}}]},"finish_reason":"tool_calls"}]}"#;
        let body = if turn.fetch_add(1, SeqCst) == 0 { call.to_owned() } else { said("done") };
        to.write_all(answer("application/json", &body).as_bytes()).unwrap();
    });
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &[]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let first = ask_on(&mut stream, "POST", CHAT, &[], request("x", "").as_bytes());
    let second = r#"{"model":"m","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"call_x","type":"function","function":{"name":"look","arguments":"{\"a\": 1}"}}]},{"role":"tool","tool_call_id":"call_x","content":"found"}]}"#;
    let second = ask_on(&mut stream, "POST", CHAT, &[], second.as_bytes());
    assert_eq!((first.status, second.status), (200, 200));
    drop(stream);
    server.stop();
    let traces = traces(&tool);
    let spans: Vec<_> = traces
        .iter()
        .flat_map(|trace| &trace.spans)
        .map(|span| (span.kind.name(), span.name.as_str(), span.output.as_str()))
        .collect();
    let call = r#"{"content":null,"tool_calls":[{"arguments":{"a":1},"name":"look"}]}"#;
    assert!(
        spans.contains(&("model_call", "m", call)) && spans.contains(&("tool_call", "look", r#""found""#)),
        "{spans:?}"
    );
    assert_eq!(spans.len(), 3);
}

#[test]
fn a_response_that_goes_on_from_an_earlier_one_is_recorded_with_all_that_was_said() {
    let turn = AtomicUsize::new(0);
    let upstream = provider(move |_, to| {
        let number = turn.fetch_add(1, SeqCst);
        let body = format!(
            r#"{{"id":"resp_{number}","status":"completed","output":[{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"answer {number}"}}]}}]}}"#
        );
        // The second comes as a stream.
        let reply = match number {
            1 => answer(
                "text/event-stream",
                &format!(
                    "event: response.created\ndata: {{\"type\":\"response.created\",\"response\":{{\"id\":\"resp_1\",\"output\":[]}}}}\n\n\
                     event: response.completed\ndata: {{\"type\":\"response.completed\",\"response\":{body}}}\n\n"
                ),
            ),
            _ => answer("application/json", &body),
        };
        to.write_all(reply.as_bytes()).unwrap();
    });
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &[]);
    for number in 0..4 {
        let before = match number {
            0 => String::new(),
            // The last goes on from an answer that nobody saw.
            3 => r#","previous_response_id":"resp_of_another""#.to_owned(),
            _ => format!(r#","previous_response_id":"resp_{}""#, number - 1),
        };
        let body = format!(r#"{{"model":"m","input":"question {number}"{before}}}"#);
        assert_eq!(ask(server.address, "POST", "/v1/responses", &[], body.as_bytes()).status, 200);
        server.wait_for("/_auto/health", &format!("\"recorded\":{}", number + 1));
    }
    let (stdout, _) = server.stop();
    assert!(counts(&stdout).starts_with("4 exchanges recorded, 0 put aside, 0 lost"), "{stdout}");
    let traces = traces(&tool);
    assert_eq!(traces.len(), 4, "what was said before is there once");
    let spans: Vec<_> = traces.iter().map(|trace| &trace.spans[0]).collect();
    let third = spans[2].input.as_str();
    let places: Vec<Option<usize>> = ["question 0", "answer 0", "question 1", "answer 1", "question 2"]
        .iter()
        .map(|said| third.find(said))
        .collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{third}");
    let kinds: Vec<&str> = spans.iter().map(|span| span.kind.name()).collect();
    assert_eq!(kinds, ["model_call", "model_call", "model_call", "span"], "the last is uncaptured");
}

#[test]
fn other_routes_and_methods_pass_through_and_are_not_recorded() {
    let upstream = provider(|asked, to| {
        let line = asked.head.lines().next().unwrap_or_default();
        let body = format!("{line} {}", String::from_utf8_lossy(&asked.body));
        let reply = format!("HTTP/1.1 418 Teapot\r\nX-Own: yes\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        to.write_all(reply.as_bytes()).unwrap();
    });
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &[]);
    for (method, path, body) in
        [("GET", "/v1/models", ""), ("DELETE", "/v1/files/a%20b?x=%2F", ""), ("POST", "/anything", "{not JSON")]
    {
        let reply = ask(server.address, method, path, &[], body.as_bytes());
        assert_eq!(reply.status, 418, "{method} {path}");
        assert!(String::from_utf8_lossy(&reply.body).starts_with(&format!("{method} {path} HTTP/1.1 {body}")));
        assert!(reply.head.to_ascii_lowercase().contains("x-own: yes"));
    }
    let (stdout, _) = server.stop();
    assert!(counts(&stdout).starts_with("0 exchanges recorded, 0 put aside, 0 lost"), "{stdout}");
}

#[test]
fn a_provider_that_is_not_there_hangs_resets_or_streams_garbage_is_told_from_an_answer() {
    let upstream = provider(|asked, to| {
        let text = String::from_utf8_lossy(&asked.body).into_owned();
        if text.contains("hang") {
            std::thread::sleep(Duration::from_secs(20));
        } else if text.contains("reset") {
            to.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"choices\":",
            )
            .unwrap();
            let _ = to.shutdown(std::net::Shutdown::Both);
        } else if text.contains("garbage") {
            to.write_all(answer("text/event-stream", "\u{0}\u{1}data: {{{\n\ndata: \"x\n\n").as_bytes()).unwrap();
        } else if text.contains("no key") {
            let body = r#"{"error":{"message":"Incorrect API key"}}"#;
            to.write_all(format!("HTTP/1.1 401 No\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes())
                .unwrap();
        } else {
            let body = r#"{"error":{"message":"slow down"}}"#;
            to.write_all(
                format!("HTTP/1.1 429 Slow\r\nRetry-After: 3\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                    .as_bytes(),
            )
            .unwrap();
        }
    });
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &["--upstream-silence", "1"]);
    let ask = |text: &str| ask(server.address, "POST", CHAT, &[], request(text, "").as_bytes());
    let hung = ask("hang");
    assert_eq!(hung.status, 504, "{hung:?}");
    assert!(String::from_utf8_lossy(&hung.body).contains("upstream-timeout"));
    let reset = ask("reset");
    assert_eq!((reset.status, reset.whole), (200, false), "what came is relayed, and that it broke off");
    assert_eq!((ask("garbage").status, ask("no key").status), (200, 401));
    let slow = ask("slow");
    assert_eq!(slow.status, 429);
    assert!(slow.head.to_ascii_lowercase().contains("retry-after: 3"));
    let (stdout, _) = server.stop();
    assert!(counts(&stdout).starts_with("3 exchanges recorded, 0 put aside, 0 lost"), "{stdout}");
    let errors: Vec<String> =
        traces(&tool).iter().map(|trace| trace.spans[0].error.clone().unwrap_or_default()).collect();
    assert!(errors.iter().all(|error| !error.is_empty()), "none of these is a witness: {errors:?}");
    assert!(errors.contains(&"slow down".to_owned()), "{errors:?}");
    // Nobody there at all.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = proxy(&tool, gone, &[]);
    let reply = auto_tests::wire::ask(server.address, "POST", CHAT, &[], request("x", "").as_bytes());
    assert_eq!(reply.status, 502);
    let problem = Value::parse(&reply.body).unwrap();
    assert_eq!(problem.get("code").and_then(Value::as_text), Some("upstream-unreachable"));
    server.stop();
}

#[test]
fn hundreds_at_once_each_get_their_own_answer() {
    let upstream = provider(|asked, to| {
        std::thread::sleep(Duration::from_millis(20));
        let text = String::from_utf8_lossy(&asked.body).into_owned();
        let word =
            text.split("content\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default().to_owned();
        to.write_all(answer("application/json", &said(&word)).as_bytes()).unwrap();
    });
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &[]);
    let address = server.address;
    let workers: Vec<_> = (0..200)
        .map(|number| {
            std::thread::spawn(move || {
                // Two on one connection: it is kept alive.
                let mut stream = TcpStream::connect(address).unwrap();
                stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
                for turn in 0..2 {
                    let word = format!("w{number}-{turn}");
                    let reply = ask_on(&mut stream, "POST", CHAT, &[], request(&word, "").as_bytes());
                    assert_eq!(reply.status, 200);
                    assert!(String::from_utf8_lossy(&reply.body).contains(&format!("\"content\":\"{word}\"")));
                }
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let (stdout, _) = server.stop();
    assert!(counts(&stdout).starts_with("400 exchanges recorded, 0 put aside, 0 lost"), "{stdout}");
    for trace in traces(&tool) {
        let word = trace.spans[0].output.as_str().split('"').nth(3).unwrap_or_default().to_owned();
        assert!(trace.spans[0].input.as_str().contains(&format!("\"{word}\"")), "{trace:?}");
    }
}

#[test]
fn a_client_that_leaves_takes_its_request_along_and_leaves_no_witness() {
    let left = Arc::new(AtomicUsize::new(0));
    let noticed = left.clone();
    let upstream = provider(move |_, to| {
        to.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            .unwrap();
        for _ in 0..400 {
            let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n";
            if to.write_all(format!("{:x}\r\n{event}\r\n", event.len()).as_bytes()).is_err() {
                noticed.fetch_add(1, SeqCst);
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &[]);
    let mut stream = TcpStream::connect(server.address).unwrap();
    let body = request("x", r#","stream":true"#);
    let head = format!("POST {CHAT} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).unwrap();
    let mut some = [0; 300];
    assert!(stream.read(&mut some).unwrap() > 0);
    drop(stream);
    let start = Instant::now();
    while left.load(SeqCst) == 0 {
        assert!(start.elapsed() < Duration::from_secs(15), "the provider goes on for nobody");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.stop();
    let [trace] = &traces(&tool)[..] else { panic!() };
    assert!(trace.spans[0].error.as_deref().is_some_and(|error| error.contains("ended")), "{:?}", trace.spans[0].error);
}

#[test]
fn what_the_store_does_not_take_is_put_aside_and_can_be_taken_in() {
    let upstream = provider(|_, to| to.write_all(answer("application/json", &said("hi")).as_bytes()).unwrap());
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &[]);
    // Somebody puts something else in the place of the store.
    std::fs::remove_file(tool.path("s.db")).unwrap();
    std::fs::write(tool.path("s.db"), "no store at all, and longer than a page would be".repeat(40)).unwrap();
    let reply = ask(server.address, "POST", CHAT, &[], request("x", "").as_bytes());
    assert_eq!(reply.status, 200, "the caller sees nothing of it");
    let (stdout, stderr) = server.stop();
    assert!(counts(&stdout).starts_with("0 exchanges recorded, 1 put aside, 0 lost"), "{stdout}");
    assert!(stderr.contains("--spool"), "{stderr}");
    std::fs::remove_file(tool.path("s.db")).unwrap();
    let output = tool.run(&["import", "--store", "s.db", "--spool"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(traces(&tool).len(), 1);
}

#[test]
fn a_body_beyond_the_bound_is_relayed_and_not_recorded() {
    let upstream = provider(|asked, to| {
        to.write_all(answer("application/json", &said(&asked.body.len().to_string())).as_bytes()).unwrap()
    });
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &["--max-recorded", "1000"]);
    let body = request(&"x".repeat(200_000), "");
    let reply = ask(server.address, "POST", CHAT, &[], body.as_bytes());
    assert!(reply.status == 200 && String::from_utf8_lossy(&reply.body).contains(&body.len().to_string()));
    server.wait_for("/_auto/health", "\"lost\":1");
    let (stdout, _) = server.stop();
    assert!(counts(&stdout).starts_with("0 exchanges recorded, 0 put aside, 1 lost"), "{stdout}");
}

#[test]
fn an_answer_that_is_a_bomb_is_relayed_as_it_came_and_one_that_is_not_what_it_says_is_too() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(&vec![b' '; 64 << 20]).unwrap();
    let bomb = packed.finish().unwrap();
    let sent = bomb.clone();
    let upstream = provider(move |asked, to| {
        let bytes = if asked.body.ends_with(b"bomb\"}]}") { &sent[..] } else { &b"no gzip at all"[..] };
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\n";
        to.write_all(format!("{head}Content-Length: {}\r\n\r\n", bytes.len()).as_bytes()).unwrap();
        to.write_all(bytes).unwrap();
    });
    let tool = Tool::new();
    let server = proxy(&tool, upstream, &["--max-recorded", "1000000"]);
    let reply = ask(server.address, "POST", CHAT, &[], request("bomb", "").as_bytes());
    assert!(reply.status == 200 && reply.body == bomb, "{} bytes", reply.body.len());
    let reply = ask(server.address, "POST", CHAT, &[], request("x", "").as_bytes());
    assert_eq!((reply.status, &reply.body[..]), (200, &b"no gzip at all"[..]));
    server.wait_for("/_auto/health", "\"lost\":2");
    server.stop();
}

#[test]
fn a_full_disk_costs_the_caller_nothing_and_no_exchange() {
    let Some(disk) = Disk::new("2m") else { return };
    let upstream = provider(|_, to| to.write_all(answer("application/json", &said("hi")).as_bytes()).unwrap());
    let tool = Tool::new();
    let path = disk.0.join("s.db");
    let upstream = format!("http://{upstream}");
    let verb = ["proxy", "--upstream", &upstream, "--store", path.to_str().unwrap(), "--task", "t"];
    let server = Server::start(&tool, &verb);
    let status = |text: &str| ask(server.address, "POST", CHAT, &[], request(text, "").as_bytes()).status;
    assert_eq!(status("before"), 200);
    server.wait_for("/_auto/health", "\"recorded\":1");
    disk.fill();
    // The store gives back the room of its log, which is enough for what it did not take.
    assert_eq!(status(&"while it is full".repeat(500)), 200);
    server.wait_for("/_auto/health", "\"aside\":1,\"lost\":0");
    disk.free();
    assert_eq!(status("after"), 200);
    server.wait_for("/_auto/health", "\"recorded\":2");
    server.stop();
    let output = tool.run(&["import", "--store", path.to_str().unwrap(), "--spool"]);
    assert!(output.status.success(), "{output:?}");
    let store = Store::open_read(&path).unwrap();
    store.verify().unwrap();
    assert_eq!(store.traces_of("t").unwrap().len(), 3);
}

#[test]
fn what_is_no_upstream_or_no_free_address_is_refused() {
    let tool = Tool::new();
    let output = tool.run(&["proxy", "--upstream", "api.openai.com", "--store", "s.db"]);
    assert!(output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("bad-upstream"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap().to_string();
    let output = tool.run(&["proxy", "--upstream", "http://127.0.0.1:1", "--store", "s.db", "--addr", &addr]);
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).contains("cannot-listen"));
}
