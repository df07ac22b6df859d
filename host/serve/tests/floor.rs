//! The floor of every server: what nobody gets more of than they may, over real sockets.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use auto_json::{Record, Value};
use auto_serve::http::{self, Body, Bounds, Ended, Listener, Problem, Stop};

/// A server in a thread of its own, which echoes bodies at `/echo` and takes its time at `/slow`.
struct Running {
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<Ended>>,
}

fn small() -> Bounds {
    Bounds {
        connections: 4,
        head: 1024,
        head_time: Duration::from_millis(300),
        body: 1000,
        body_time: Duration::from_millis(300),
        stall: Duration::from_millis(300),
        drain: Duration::from_secs(20),
    }
}

impl Running {
    fn start(bounds: Bounds) -> Running {
        let (send, started) = std::sync::mpsc::channel();
        let thread = std::thread::spawn(move || {
            http::runtime(2).unwrap().block_on(async move {
                let listener = Listener::bind("127.0.0.1:0").await.unwrap();
                let stop = Stop::default();
                send.send((listener.address, stop.clone())).unwrap();
                let echo = {
                    let bounds = bounds.clone();
                    async move |request: axum::extract::Request| match bounds.read_body(request.into_body()).await {
                        Ok(body) => Ok(Body::from(body)),
                        Err(problem) => Err(problem),
                    }
                };
                let slow = || async {
                    tokio::time::sleep(Duration::from_millis(400)).await;
                    "done"
                };
                let endless = || async { "x".repeat(64 << 20) };
                let router = http::router()
                    .route("/echo", axum::routing::post(echo))
                    .route("/slow", axum::routing::get(slow))
                    .route("/endless", axum::routing::get(endless));
                let router = http::health(router, Arc::new(|| Ok(Record::new().with("artifacts", 3u32))));
                listener.serve(router, bounds, &stop).await
            })
        });
        let (address, stop) = started.recv().unwrap();
        Running { address, stop, thread: Some(thread) }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream
    }

    /// Sends bytes and reads to the end.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // A server that has seen enough does not read the rest.
        let _ = stream.write_all(bytes);
        rest(&mut stream)
    }

    fn end(mut self) -> Ended {
        self.stop.ask();
        self.thread.take().unwrap().join().unwrap()
    }
}

fn rest(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset after the reply is an end too.
    let _ = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn code(reply: &str) -> String {
    let body = reply.split("\r\n\r\n").nth(1).unwrap_or_else(|| panic!("no body in {reply:?}"));
    let body = Value::parse(body).unwrap_or_else(|_| panic!("{reply}"));
    assert!(body.get("message").and_then(Value::as_text).is_some(), "{reply}");
    body.get("code").and_then(Value::as_text).unwrap().to_owned()
}

fn get(path: &str, more: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{more}\r\n").into_bytes()
}

fn post(length: usize, body: &str) -> Vec<u8> {
    format!("POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

#[test]
fn what_is_asked_for_is_served_and_what_is_not_there_is_said_in_json() {
    let server = Running::start(small());
    assert!(server.raw(&post(5, "hello")).ends_with("hello"));
    assert!(server.raw(&get("/health", "")).ends_with("{\"ok\":true}"));
    assert!(server.raw(&get("/ready", "")).ends_with("{\"artifacts\":3,\"ok\":true}"));
    let reply = server.raw(&get("/nothing/here", ""));
    assert!(reply.starts_with("HTTP/1.1 404"), "{reply}");
    assert_eq!(code(&reply), "no-route");
    let reply = server.raw(&get("/echo", ""));
    assert!(reply.starts_with("HTTP/1.1 405") && reply.to_lowercase().contains("allow: post"), "{reply}");
    assert_eq!(code(&reply), "wrong-method");
    assert_eq!(server.end(), Ended::Drained);
}

#[test]
fn a_head_that_is_too_large_is_431_and_one_that_never_ends_is_closed() {
    let server = Running::start(small());
    let reply = server.raw(&get("/health", &format!("X-Long: {}\r\n", "x".repeat(1000))));
    assert!(reply.starts_with("HTTP/1.1 431"), "{reply}");
    assert_eq!(code(&reply), "head-too-large");
    let reply = server.raw(&get(&format!("/{}", "x".repeat(1100)), ""));
    assert_eq!(code(&reply), "head-too-large");
    let reply = server.raw(&get("/health", &format!("X-Long: {}\r\n", "x".repeat(100_000))));
    assert!(reply.starts_with("HTTP/1.1 431"), "{reply}");
    let begun = Instant::now();
    assert_eq!(server.raw(b"GET /health HTTP/1.1\r\nHost: loc"), "", "half a head is waited for, and no longer");
    assert!(begun.elapsed() >= Duration::from_millis(250));
    assert!(server.raw(&get("/health", "")).ends_with("{\"ok\":true}"), "and the others are served");
}

#[test]
fn a_body_that_is_too_large_is_413_and_one_that_does_not_come_is_408() {
    let server = Running::start(small());
    for (length, body) in [(1001, String::new()), (1_000_000, "x".repeat(1_000_000))] {
        let reply = server.raw(&post(length, &body));
        assert!(reply.starts_with("HTTP/1.1 413"), "{reply}");
        assert_eq!(code(&reply), "body-too-large");
    }
    let chunked = "POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = format!("400\r\n{}\r\n", "x".repeat(0x400));
    assert_eq!(code(&server.raw(format!("{chunked}{chunk}").as_bytes())), "body-too-large");
    let reply = server.raw(&post(10, "hel"));
    assert!(reply.starts_with("HTTP/1.1 408"), "{reply}");
    assert_eq!(code(&reply), "body-timeout");
    let reply = server.raw(format!("{chunked}zz\r\n").as_bytes());
    assert_eq!(code(&reply), "body-cut-off", "{reply}");
}

#[test]
fn what_is_no_http_is_refused_and_the_next_is_served() {
    let server = Running::start(small());
    for garbage in [&b"\x16\x03\x01\x02\x00\x01"[..], b"GET / HTTP/9.9\r\n\r\n", b"G\0T / HTTP/1.1\r\n\r\n"] {
        let reply = server.raw(&[garbage, b"\r\n\r\n"].concat());
        assert!(reply.starts_with("HTTP/1.1 400"), "{garbage:?}: {reply:?}");
    }
    let twice = "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd";
    assert!(server.raw(twice.as_bytes()).starts_with("HTTP/1.1 400"), "two lengths are a way to smuggle");
    assert!(server.raw(&get("/health", "")).ends_with("{\"ok\":true}"));
}

#[test]
fn more_connections_than_there_may_be_are_told_to_come_again() {
    let server = Running::start(Bounds { head_time: Duration::from_secs(20), ..small() });
    let mut held: Vec<TcpStream> = (0..4).map(|_| server.connect()).collect();
    for stream in &mut held {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut reply = [0; 15];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"HTTP/1.1 200 OK");
    }
    let reply = server.raw(&get("/health", ""));
    assert!(reply.starts_with("HTTP/1.1 503") && reply.contains("Retry-After: 1\r\n"), "{reply}");
    assert_eq!(code(&reply), "too-many-connections");
    held.pop();
    let served = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        server.raw(&get("/health", "")).ends_with("{\"ok\":true}")
    });
    assert!(served, "the place of one that left is free");
}

#[test]
fn one_slow_client_holds_nobody_else_and_one_that_does_not_read_is_let_go() {
    let server = Running::start(Bounds { connections: 2, ..small() });
    let mut greedy = server.connect();
    greedy.write_all(&get("/endless", "")).unwrap();
    let begun = Instant::now();
    assert!(server.raw(&get("/health", "")).ends_with("{\"ok\":true}"));
    assert!(begun.elapsed() < Duration::from_secs(10));
    std::thread::sleep(Duration::from_millis(900));
    let both: Vec<TcpStream> = (0..2).map(|_| server.connect()).collect();
    for mut stream in both {
        stream.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut reply = [0; 15];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"HTTP/1.1 200 OK", "the place of the one that did not read is free");
    }
    drop(greedy);
}

#[test]
fn a_server_that_is_to_end_answers_what_it_has_begun_and_takes_nothing_new() {
    let server = Running::start(Bounds { head_time: Duration::from_secs(60), ..small() });
    let mut slow = server.connect();
    slow.write_all(&get("/slow", "")).unwrap();
    let idle = server.connect();
    std::thread::sleep(Duration::from_millis(100));
    let address = server.address;
    assert_eq!(server.end(), Ended::Drained, "an idle connection holds nothing up");
    assert!(rest(&mut slow).ends_with("done"));
    assert!(TcpStream::connect(address).is_err());
    drop(idle);
}

#[test]
fn a_server_that_is_told_twice_ends_at_once() {
    let server = Running::start(small());
    let mut slow = server.connect();
    slow.write_all(&get("/slow", "")).unwrap();
    std::thread::sleep(Duration::from_millis(100));
    server.stop.ask();
    assert_eq!(server.end(), Ended::CutOff(1));
}

#[test]
fn a_page_of_another_site_gets_nothing_from_a_server_of_this_machine() {
    let server = Running::start(small());
    let reply = server.raw(b"GET /health HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert!(reply.starts_with("HTTP/1.1 421"), "{reply}");
    assert_eq!(code(&reply), "foreign-host");
    let reply = server.raw(&get("/health", "Origin: https://evil.example\r\n"));
    assert!(reply.starts_with("HTTP/1.1 403"), "{reply}");
    assert_eq!(code(&reply), "foreign-origin");
}

#[test]
fn problems_are_objects_with_a_code() {
    let problem = Problem::busy("busy", "too much").with("queued", 7u32);
    let expected = r#"{"code":"busy","help":"come again after `Retry-After` seconds","message":"too much","queued":7}"#;
    assert_eq!(problem.to_value().canonical().as_str(), expected);
}
