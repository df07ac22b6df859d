//! `collect` as an exporter finds it: pieces in any order, two encodings, partial success, bodies
//! that are refused, and nothing lost that was accepted.

use std::io::Write as _;
use std::process::Command;

use auto_json::Value;
use auto_store::{Store, Trace};
use auto_tests::disk::Disk;
use auto_tests::tool::Tool;
use auto_tests::wire::{Reply, Server, ask};

const JSON: (&str, &str) = ("Content-Type", "application/json");
const PROTOBUF: (&str, &str) = ("Content-Type", "application/x-protobuf");

fn collector(tool: &Tool, more: &[&str]) -> Server {
    let times: &[&str] = if more.contains(&"--quiet") { &[] } else { &["--quiet", "300", "--patience", "3000"] };
    Server::start(tool, &[&["collect", "--store", "s.db", "--task", "t"], times, more].concat())
}

fn send(server: &Server, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    ask(server.address, "POST", "/v1/traces", headers, body)
}

/// A span as OTLP/JSON: a model call with content.
fn span(trace: u32, id: u32, parent: Option<u32>, answer: &str) -> String {
    let parent = parent.map(|parent| format!(r#""parentSpanId":"{parent:016x}","#)).unwrap_or_default();
    let text =
        |key: &str, value: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":{}}}}}"#, Value::from(value));
    let message =
        |role: &str, text: &str| format!(r#"[{{"role":"{role}","parts":[{{"type":"text","content":"{text}"}}]}}]"#);
    let attributes = [
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.request.model", "m"),
        text("gen_ai.input.messages", &message("user", &format!("q{id}"))),
        text("gen_ai.output.messages", &message("assistant", answer)),
    ];
    format!(
        r#"{{"traceId":"{trace:032x}","spanId":"{id:016x}",{parent}"name":"chat m","startTimeUnixNano":"{}","endTimeUnixNano":"{}","attributes":[{}]}}"#,
        u64::from(id) * 1_000_000,
        u64::from(id) * 1_000_000 + 5_000,
        attributes.join(",")
    )
}

fn request(spans: &[String]) -> String {
    format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn traces(tool: &Tool) -> Vec<Trace> {
    let store = Store::open_read(tool.path("s.db")).unwrap();
    store.verify().unwrap();
    store.traces_of("t").unwrap()
}

fn code(reply: &Reply) -> String {
    let value = Value::parse(&reply.body).unwrap_or_else(|_| panic!("{reply:?}"));
    value.get("code").and_then(Value::as_text).unwrap_or_default().to_owned()
}

#[test]
fn pieces_come_in_any_order_and_encoding_and_make_one_trace() {
    let tool = Tool::new();
    let server = collector(&tool, &[]);
    let pieces = [
        vec![span(1, 3, Some(2), "c")],
        vec![span(1, 2, Some(1), "b"), span(2, 1, None, "other")],
        vec![span(1, 1, None, "a")],
    ];
    for (number, piece) in pieces.iter().enumerate() {
        let body = request(piece);
        let packed = gzip(body.as_bytes());
        let reply = match number {
            0 => send(&server, &[JSON], body.as_bytes()),
            1 => send(
                &server,
                &[("Content-Type", "application/json; charset=utf-8"), ("Content-Encoding", "gzip")],
                &packed,
            ),
            _ => send(&server, &[JSON], body.as_bytes()),
        };
        assert_eq!((reply.status, &reply.body[..]), (200, &b"{}"[..]), "{reply:?}");
    }
    server.wait_for("/ready", "\"traces\":2");
    assert_eq!(
        std::fs::read_dir(tool.path("s.db.collect")).unwrap().count(),
        0,
        "what is in the store is nowhere else"
    );
    let (stdout, _) = server.stop();
    assert!(stdout.contains("2 traces with 4 spans recorded"), "{stdout}");
    let traces = traces(&tool);
    let whole = traces.iter().find(|trace| trace.spans.len() == 3).unwrap();
    let shape: Vec<_> =
        whole.spans.iter().map(|span| (span.id, span.parent, span.sequence, span.output.as_str())).collect();
    assert_eq!(
        shape,
        [
            (1, None, 1, r#"{"content":"a"}"#),
            (2, Some(1), 2, r#"{"content":"b"}"#),
            (3, Some(2), 3, r#"{"content":"c"}"#)
        ]
    );
    assert!(whole.spans.iter().all(|span| span.kind.name() == "model_call" && span.duration == Some(5)));
}

#[test]
fn protobuf_is_answered_in_protobuf() {
    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        assert!(bytes.len() < 128);
        [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
    }
    let span = |id: u8| [field(1, &[7; 16]), field(2, &[0, 0, 0, 0, 0, 0, 0, id]), field(5, b"run")].concat();
    let request = |spans: &[Vec<u8>]| {
        let spans: Vec<u8> = spans.iter().flat_map(|span| field(2, span)).collect();
        field(1, &field(2, &spans))
    };
    let tool = Tool::new();
    let server = collector(&tool, &[]);
    let reply = send(&server, &[PROTOBUF], &request(&[span(1)]));
    assert!(reply.status == 200 && reply.body.is_empty(), "{reply:?}");
    assert!(reply.head.to_ascii_lowercase().contains("content-type: application/x-protobuf"));
    // One without an id: field 1 (partial success) with field 1 (rejected spans) of 1.
    let nameless = [field(1, &[7; 16]), field(5, b"nameless")].concat();
    let reply = send(&server, &[PROTOBUF], &request(&[nameless, span(2)]));
    assert_eq!((reply.status, reply.body[0], &reply.body[2..4]), (200, 1 << 3 | 2, &[1 << 3, 1][..]));
    let reply = send(&server, &[PROTOBUF], b"\xff\xff\xff");
    assert_eq!((reply.status, code(&reply).as_str()), (400, "bad-request"));
    server.stop();
    assert_eq!(traces(&tool)[0].spans.len(), 2);
}

#[test]
fn what_is_no_request_is_refused_with_its_status_and_takes_nothing_along() {
    let tool = Tool::new();
    let server = collector(&tool, &["--max-body", "100000"]);
    let good = request(&[span(1, 1, None, "a")]);
    assert_eq!(send(&server, &[JSON], good.as_bytes()).status, 200);
    let bomb = gzip(&vec![b' '; 50 << 20]);
    let packed = gzip(good.as_bytes());
    /// A path, headers, a body; the status, and what the reply says.
    type Case<'c> = (&'c str, &'c [(&'c str, &'c str)], &'c [u8], u16, &'c str);
    let cases: [Case<'_>; 9] = [
        ("no JSON", &[JSON], b"{\"resourceSpans\":", 400, "bad-request"),
        ("no object", &[JSON], b"[1]", 400, "bad-request"),
        ("no UTF-8", &[JSON], b"{\"a\":\"\xff\n\"}", 400, "bad-request"),
        ("another type", &[("Content-Type", "text/plain")], good.as_bytes(), 415, "unsupported-content-type"),
        ("no type", &[], good.as_bytes(), 415, "unsupported-content-type"),
        ("an unknown encoding", &[JSON, ("Content-Encoding", "br")], good.as_bytes(), 415, "unsupported-encoding"),
        ("no gzip", &[JSON, ("Content-Encoding", "gzip")], &packed[..20], 400, "bad-encoding"),
        ("a bomb", &[JSON, ("Content-Encoding", "gzip")], &bomb, 413, "body-too-large"),
        ("too large", &[JSON], &[b' '; 100_001], 413, "body-too-large"),
    ];
    for (name, headers, body, status, word) in cases {
        let reply = send(&server, headers, body);
        assert_eq!((reply.status, code(&reply).as_str()), (status, word), "{name}");
    }
    assert_eq!(ask(server.address, "GET", "/v1/traces", &[], b"").status, 405);
    assert_eq!(ask(server.address, "POST", "/v1/metrics", &[JSON], b"{}").status, 404);
    assert_eq!(send(&server, &[JSON], b"{}").status, 200, "a request may hold nothing");
    server.wait_for("/ready", "\"traces\":1");
    server.stop();
    assert_eq!(traces(&tool).len(), 1);
}

#[test]
fn duplicates_are_taken_once_conflicts_and_latecomers_are_rejected_in_part() {
    let tool = Tool::new();
    let server = collector(&tool, &[]);
    let first = request(&[span(1, 1, None, "a"), span(1, 2, Some(1), "b")]);
    assert_eq!(&send(&server, &[JSON], first.as_bytes()).body, b"{}");
    assert_eq!(&send(&server, &[JSON], first.as_bytes()).body, b"{}", "an exporter that had no answer sends again");
    let other = request(&[span(1, 2, Some(1), "something else"), span(1, 3, Some(1), "c")]);
    let reply = send(&server, &[JSON], other.as_bytes());
    let partial = Value::parse(&reply.body).unwrap();
    let rejected = |value: &Value| {
        value.get("partialSuccess").and_then(|one| one.get("rejectedSpans")).and_then(Value::as_text).map(str::to_owned)
    };
    assert_eq!((reply.status, rejected(&partial).as_deref()), (200, Some("1")), "{partial}");
    server.wait_for("/ready", "\"traces\":1");
    // The trace is complete; one of its spans comes after all, and one again.
    let late = send(&server, &[JSON], request(&[span(1, 9, Some(1), "late")]).as_bytes());
    assert!(late.status == 200 && String::from_utf8_lossy(&late.body).contains("complete already"), "{late:?}");
    server.stop();
    let [trace] = &traces(&tool)[..] else { panic!() };
    let outputs: Vec<&str> = trace.spans.iter().map(|span| span.output.as_str()).collect();
    assert_eq!(outputs, [r#"{"content":"a"}"#, r#"{"content":"b"}"#, r#"{"content":"c"}"#]);
}

#[test]
fn what_was_accepted_outlives_a_collector_that_is_killed() {
    let tool = Tool::new();
    let server = collector(&tool, &["--quiet", "60000", "--patience", "60000"]);
    assert_eq!(send(&server, &[JSON], request(&[span(1, 2, Some(1), "b")]).as_bytes()).status, 200);
    assert_eq!(send(&server, &[JSON], request(&[span(2, 1, None, "x")]).as_bytes()).status, 200);
    server.kill();
    let server = collector(&tool, &[]);
    assert_eq!(send(&server, &[JSON], request(&[span(1, 1, None, "a")]).as_bytes()).status, 200);
    server.wait_for("/ready", "\"traces\":2");
    server.stop();
    let mut sizes: Vec<usize> = traces(&tool).iter().map(|trace| trace.spans.len()).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 2]);
}

#[test]
fn a_trace_whose_root_never_comes_is_taken_as_it_is_and_clocks_may_jump() {
    let tool = Tool::new();
    let server = collector(&tool, &[]);
    let backwards = span(1, 5, Some(4), "a").replace("\"endTimeUnixNano\":\"5005000\"", "\"endTimeUnixNano\":\"1000\"");
    assert_eq!(send(&server, &[JSON], request(&[backwards]).as_bytes()).status, 200);
    server.wait_for("/ready", "\"traces\":1");
    server.stop();
    let [trace] = &traces(&tool)[..] else { panic!() };
    assert_eq!((trace.spans[0].parent, trace.spans[0].duration), (None, Some(0)));
    assert!(trace.attributes.contains(&("missing_parents".into(), "1".into())));
}

#[test]
fn spans_without_content_are_counted_and_witness_nothing() {
    let tool = Tool::new();
    let server = collector(&tool, &[]);
    let bare = r#"{"traceId":"01","spanId":"01","name":"chat m","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}}]}"#;
    assert_eq!(send(&server, &[JSON], request(&[bare.to_owned()]).as_bytes()).status, 200);
    let (stdout, _) = server.stop();
    assert!(stdout.contains("1 spans without captured content"), "{stdout}");
    let census = tool.run(&["census", "--task", "t", "--store", "s.db"]);
    let told = String::from_utf8_lossy(&census.stdout).into_owned();
    assert!(told.contains("without captured content: 1 operation"), "{told}");
}

#[test]
fn a_store_that_is_locked_for_long_delays_and_loses_nothing() {
    let tool = Tool::new();
    let server = collector(&tool, &[]);
    let script = "import sqlite3, sys, time\nc = sqlite3.connect(sys.argv[1], isolation_level=None)\nc.execute('BEGIN IMMEDIATE')\nprint('locked', flush=True)\ntime.sleep(3)\n";
    let mut locker = Command::new("python3");
    locker.args(["-c", script]).arg(tool.path("s.db")).stdout(std::process::Stdio::piped());
    let Ok(mut locker) = locker.spawn() else { return eprintln!("skipped: python3 cannot be run") };
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(locker.stdout.take().unwrap()), &mut line).unwrap();
    assert_eq!(send(&server, &[JSON], request(&[span(1, 1, None, "a")]).as_bytes()).status, 200);
    server.wait_for("/ready", "\"traces\":1");
    locker.wait().unwrap();
    server.stop();
    assert_eq!(traces(&tool).len(), 1);
}

#[test]
fn a_full_disk_is_told_with_503_and_what_was_accepted_before_is_not_lost() {
    let Some(disk) = Disk::new("2m") else { return };
    let tool = Tool::new();
    let path = disk.0.join("s.db");
    let store = path.to_str().unwrap();
    let server = Server::start(&tool, &["collect", "--store", store, "--task", "t", "--quiet", "100"]);
    assert_eq!(send(&server, &[JSON], request(&[span(1, 1, None, "a")]).as_bytes()).status, 200);
    server.wait_for("/ready", "\"traces\":1");
    // One that is accepted and whose trace is not whole yet.
    assert_eq!(send(&server, &[JSON], request(&[span(2, 2, Some(1), "b")]).as_bytes()).status, 200);
    disk.fill();
    let reply = send(&server, &[JSON], request(&[span(3, 1, None, "c")]).as_bytes());
    assert_eq!((reply.status, code(&reply).as_str()), (503, "unwritable"));
    assert!(reply.head.to_ascii_lowercase().contains("retry-after:"), "{}", reply.head);
    disk.free();
    // As an exporter does: it sends again.
    for spans in [[span(3, 1, None, "c")], [span(2, 1, None, "a")]] {
        assert_eq!(send(&server, &[JSON], request(&spans).as_bytes()).status, 200);
    }
    server.wait_for("/ready", "\"traces\":3");
    server.stop();
    assert_eq!(Store::open_read(&path).unwrap().traces_of("t").unwrap().len(), 3);
}
