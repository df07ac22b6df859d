//! What can go wrong around a server: clients that are slow, rude or many, inputs that are no
//! inputs, artifacts that never end, stores that are locked or full, a clock that jumps, and a
//! kill in the middle of anything. Each has its code, and nothing that was answered is lost.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use auto_json::Value;
use auto_schema::cbin::{self, Cbin};
use auto_schema::contract::{Scope, SpanKind};
use auto_schema::digest::Digest;
use auto_store::Store;
use auto_tests::server::{Client, Reply, Server, wait};
use auto_tests::tool::{Tool, binary};

const KNOWN: &str = r#"{"text":"please send the blue key"}"#;

/// Answers in capitals; a text that ends in `free` removes what fills the disk, in `slow` takes a while.
const AGENT: &str = r#"
import json, os, sys, time
for line in sys.stdin:
    asked = json.loads(line)
    text = asked["input"]["text"]
    if text.endswith("free"): os.remove("shout.db.spool/filler")
    if text.endswith("slow"): time.sleep(3)
    print(json.dumps({"id": asked["id"], "ok": text.upper()}), flush=True)
"#;

fn shout() -> Tool {
    let tool = Tool::with_shout();
    fs::write(tool.path("agent.py"), AGENT).unwrap();
    fs::create_dir(tool.path("reg")).unwrap();
    fs::copy(tool.path("shout.cbin"), tool.path("reg/shout.cbin")).unwrap();
    tool
}

const SERVE: [&str; 5] = ["serve", "--registry", "reg", "--addr", "127.0.0.1:0"];
const BEHIND: [&str; 4] = ["--tier0", "shout=python3 agent.py", "--store", "shout.db"];

fn serve(tool: &Tool, more: &[&str]) -> Server {
    Server::start(tool.command(&[&SERVE, more].concat()))
}

/// An input that the artifact abstains on: none that was recorded has a digit.
fn novel(what: &str) -> String {
    format!("{{\"text\":\"zyx 1 {what}\"}}")
}

/// How often each new input is in the store.
fn recorded(tool: &Tool) -> BTreeMap<String, u32> {
    let scope = Scope::Span { kind: SpanKind::ModelCall, name: "shout".to_owned() };
    let observations = Store::open_read(tool.path("shout.db")).unwrap().observations("shout", &scope).unwrap();
    let seen = observations.iter().map(|seen| {
        let count: u32 = seen.outputs.iter().map(|(_, count)| *count).sum();
        (seen.input.to_string(), count)
    });
    seen.filter(|(input, _)| input.contains("zyx")).collect()
}

#[test]
fn rude_clients_get_a_code_or_nothing_and_the_next_is_served() {
    let tool = shout();
    let server = serve(&tool, &["--client-timeout", "1", "--max-body", "2000", "--max-head", "1024"]);
    let raw = |bytes: &str| {
        let mut client = Client::connect(server.address);
        client.send(bytes);
        client.reply().map_or((0, String::new()), |reply| {
            let code = if reply.body.is_empty() { String::new() } else { reply.code() };
            (reply.status, code)
        })
    };
    let post = |path: &str, more: &str, body: &str| {
        let length = body.len();
        raw(&format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{more}\r\n{body}"))
    };
    let code = |status: u16, code: &str| (status, code.to_owned());
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(3_000));
    assert_eq!(post("/run/shout", "", &large), code(413, "body-too-large"));
    assert_eq!(post("/run/shout", &format!("X: {}\r\n", "x".repeat(1_000)), KNOWN), code(431, "head-too-large"));
    assert_eq!(
        raw("POST /run/shout HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{\"te"),
        code(408, "body-timeout")
    );
    assert_eq!(raw("POST /run/shout HTTP/1.1\r\nHost: lo"), (0, String::new()), "closed");
    assert_eq!(raw("\0\u{1}\r\n\r\n").0, 400);
    assert_eq!(post("/run/shout", "", &format!("{}{}", "[".repeat(900), "]".repeat(900))), code(400, "bad-input"));
    let deep = format!("{{\"text\":{}1{}}}", "{\"a\":".repeat(300), "}".repeat(300));
    assert_eq!(post("/run/shout", "", &deep), code(400, "bad-input"));
    for twice in [r#"{"text":"a","text":"b"}"#, r#"{"text":"\ud800"}"#, r#"{"text":1e999}"#, "{\"text\":\"a\"} {}"] {
        assert_eq!(post("/run/shout", "", twice), code(400, "bad-input"), "{twice}");
    }
    assert_eq!(post("/run/shout", "", KNOWN).0, 200);
}

#[test]
fn no_name_leads_anywhere_but_to_an_artifact() {
    let tool = shout();
    fs::copy(tool.path("shout.cbin"), tool.path("reg/.hidden.cbin")).unwrap();
    let server = serve(&tool, &[]);
    let names = [
        "../shout",
        "..%2fshout",
        "%2e%2e/reg/shout",
        "shout/",
        "shout/../shout",
        "shout%00",
        "shout.cbin",
        ".hidden",
        "SHOUT",
        "%73hout%",
        "%ff",
        "//shout",
        "reg/shout",
        &"a".repeat(5_000),
        &Digest::of(b"nothing").to_string(),
    ];
    for name in names {
        let reply = server.run(name, KNOWN);
        assert_eq!((reply.status, reply.code().as_str()), (404, "unknown-artifact"), "{name}: {reply:?}");
    }
    assert_eq!(server.run("%73hout", KNOWN).status, 200, "an escaped letter is the letter");
    assert_eq!(server.get("/../../etc/passwd", &[]).status, 404);
}

/// The same manifest over a module that never ends.
fn endless(file: &[u8]) -> Vec<u8> {
    let module = wat::parse_str(
        r#"(module (memory (export "memory") 1)
             (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 8192))
             (func (export "auto:cbin/behavior@0.1.0#run") (param i32 i32) (result i32) (loop (br 0)) unreachable)
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
fn inputs_that_take_long_wait_for_each_other_are_told_when_there_are_too_many_and_hold_nobody_else() {
    let tool = shout();
    fs::write(tool.path("reg/endless.cbin"), endless(&fs::read(tool.path("shout.cbin")).unwrap())).unwrap();
    let slow = ["--deadline", "6", "--fuel", "1000000000000", "--threads", "1", "--max-queue", "1"];
    let server = serve(&tool, &slow);
    std::thread::scope(|scope| {
        let asked: Vec<_> = (0..4).map(|_| scope.spawn(|| server.run("endless", KNOWN))).collect();
        wait("some are told", || asked.iter().filter(|one| one.is_finished()).count() >= 2);
        for _ in 0..5 {
            assert_eq!(server.run("shout", KNOWN).status, 200, "others are answered meanwhile");
        }
        assert!(asked.iter().any(|one| !one.is_finished()), "and did not wait for the slow ones");
        let replies: Vec<_> = asked.into_iter().map(|one| one.join().unwrap()).collect();
        let of = |status: u16| replies.iter().filter(|reply| reply.status == status).collect::<Vec<_>>();
        let (busy, ended) = (of(503).len(), of(504).len());
        assert!(busy >= 1 && ended >= 1 && busy + ended == 4, "one runs, one may wait, others are told: {replies:?}");
        assert!(of(503).iter().all(|reply| reply.code() == "busy" && reply.head.contains("retry-after: 1")));
        assert!(of(504).iter().all(|reply| reply.code() == "deadline"));
    });
    assert!(server.said().contains("ALARM endless: deadline"), "{}", server.said());
}

#[test]
fn a_locked_store_holds_nobody_up_and_gets_what_was_answered_once_it_is_free() {
    let tool = shout();
    let server = serve(&tool, &BEHIND);
    let lock = "import sqlite3, sys\nstore = sqlite3.connect('shout.db', isolation_level=None)\n\
        store.execute('BEGIN EXCLUSIVE')\nprint('locked', flush=True)\nsys.stdin.read()\n";
    let mut holder = Command::new("python3");
    let holder = holder.args(["-c", lock]).current_dir(tool.folder()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut [0; 7]).unwrap();
    for number in 0..3 {
        let reply = server.run("shout", &novel(&number.to_string()));
        assert_eq!((reply.status, reply.at(&["tier0", "recorded"]).as_bool()), (200, Some(true)), "{reply:?}");
    }
    let spool = || fs::read_dir(tool.path("shout.db.spool")).map_or(0, Iterator::count);
    assert!(spool() > 0, "they wait beside the store");
    drop(holder.stdin.take());
    holder.wait().unwrap();
    wait("all are in the store", || recorded(&tool).len() == 3);
    assert!(recorded(&tool).values().all(|count| *count == 1));
}

#[test]
fn a_full_disk_loses_no_answer_and_what_is_recorded_waits_for_room() {
    let tool = shout();
    fs::create_dir(tool.path("shout.db.spool")).unwrap();
    let script = "mount -t tmpfs -o size=16k none shout.db.spool || exit 99
        head -c 100000 /dev/zero > shout.db.spool/filler 2>/dev/null
        exec \"$HOST\" \"$@\"";
    let mut command = Command::new("unshare");
    command.arg(if rustix::process::geteuid().is_root() { "-m" } else { "-rm" }).args(["sh", "-c", script, "sh"]);
    command.args(SERVE).args(BEHIND).current_dir(tool.folder()).stdin(Stdio::null());
    command.env("HOST", binary()).env("AUTO_CACHE", tool.path("cache"));
    let server = Server::start(command);
    let reply = server.run("shout", &novel("full"));
    assert_eq!((reply.status, reply.text(&["output"])), (200, "ZYX 1 FULL".to_owned()), "{reply:?}");
    assert_eq!(reply.at(&["tier0", "recorded"]).as_bool(), Some(false), "{reply:?}");
    assert_eq!(reply.text(&["tier0", "not_recorded", "code"]), "unwritable");
    assert_eq!(server.run("shout", KNOWN).status, 200);
    assert_eq!(server.run("shout", &novel("free")).status, 200);
    wait("both are in the store", || recorded(&tool).len() == 2);
    assert!(recorded(&tool).values().all(|count| *count == 1));
}

/// Sends an input; none where the server is gone.
fn try_asking(server: &Server, input: &str) -> Option<Reply> {
    let mut stream = TcpStream::connect(server.address).ok()?;
    let length = input.len();
    let head = format!("POST /run/shout HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{input}").as_bytes()).ok()?;
    Client::of(stream).reply()
}

#[test]
fn a_kill_at_any_point_loses_and_doubles_nothing_that_was_answered() {
    let tool = shout();
    let mut answered = Vec::new();
    for round in 0..8u64 {
        let (server, count) = (serve(&tool, &BEHIND), AtomicU64::new(0));
        let killed = std::thread::scope(|scope| {
            let asking = scope.spawn(|| {
                let mut answered = Vec::new();
                loop {
                    let input = novel(&format!("{round} {}", answered.len()));
                    match try_asking(&server, &input) {
                        Some(reply) => {
                            assert_eq!(reply.at(&["tier0", "recorded"]).as_bool(), Some(true), "{reply:?}");
                            answered.push(input);
                            count.fetch_add(1, Relaxed);
                        }
                        None => return answered,
                    }
                }
            });
            // Another moment each time, from the first answers on.
            wait("some are answered", || count.load(Relaxed) > round % 4);
            std::thread::sleep(Duration::from_millis(3 * round));
            server.signal("KILL");
            asking.join().unwrap()
        });
        answered.extend(killed);
    }
    let server = serve(&tool, &BEHIND);
    server.signal("TERM");
    assert!(server.wait().0.success());
    let recorded = recorded(&tool);
    assert!(answered.len() >= 16, "only {} answers came before the kills", answered.len());
    let lost: Vec<&String> = answered.iter().filter(|input| !recorded.contains_key(*input)).collect();
    assert!(lost.is_empty(), "{} of {} lost: {lost:?}", lost.len(), answered.len());
    let doubled: Vec<_> = recorded.iter().filter(|(_, count)| **count != 1).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
}

/// Shifts the time of day by what a file says.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    long told = syscall(SYS_clock_gettime, id, at);
    if (told == 0 && id == CLOCK_REALTIME) {
        FILE *file = fopen("jump", "r");
        long jump = 0;
        if (file) { if (fscanf(file, "%ld", &jump) != 1) jump = 0; fclose(file); }
        at->tv_sec += jump;
    }
    return (int)told;
}
"#;

#[test]
fn a_clock_that_jumps_changes_no_answer_and_mixes_up_no_recording() {
    let tool = shout();
    fs::write(tool.path("shim.c"), SHIM).unwrap();
    let made =
        Command::new("cc").args(["-shared", "-fPIC", "-o", "shim.so", "shim.c"]).current_dir(tool.folder()).status();
    assert!(made.expect("a C compiler, which Rust needs as well").success());
    fs::write(tool.path("jump"), "0").unwrap();
    let mut command = tool.command(&[&SERVE[..], &BEHIND].concat());
    command.env("LD_PRELOAD", tool.path("shim.so"));
    let server = Server::start(command);
    let year = 365 * 24 * 3600;
    for (number, jump) in [0, year, -10 * year, 0, -10 * year, year].into_iter().enumerate() {
        fs::write(tool.path("jump"), jump.to_string()).unwrap();
        let reply = server.run("shout", &novel(&format!("at {number}")));
        assert_eq!((reply.status, reply.at(&["tier0", "recorded"]).as_bool()), (200, Some(true)), "{jump}: {reply:?}");
        assert!(reply.at(&["tier0", "micros"]).as_u64().unwrap() < 30_000_000, "{reply:?}");
        assert_eq!(server.run("shout", KNOWN).status, 200);
    }
    wait("all are in the store", || recorded(&tool).len() == 6);
    assert!(recorded(&tool).values().all(|count| *count == 1));
    let dates = |reply: &Reply| reply.head.lines().any(|line| line.starts_with("date:"));
    assert!(dates(&server.run("shout", KNOWN)));
}

#[test]
fn what_has_begun_is_answered_before_the_end() {
    let tool = shout();
    let server = serve(&tool, &BEHIND);
    let address = server.address;
    let (printed, reply) = std::thread::scope(|scope| {
        let slow = scope.spawn(move || {
            let input = novel("slow");
            let head =
                format!("POST /run/shout HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", input.len());
            Client::connect(address).exchange(&format!("{head}{input}"))
        });
        std::thread::sleep(Duration::from_millis(500));
        server.signal("TERM");
        (server.wait(), slow.join().unwrap())
    });
    assert_eq!((reply.status, reply.text(&["output"])), (200, "ZYX 1 SLOW".to_owned()), "{reply:?}");
    assert!(printed.0.success() && printed.1.contains("1 by tier 0"), "{printed:?}");
    assert_eq!(recorded(&tool).get(&novel("slow")), Some(&1), "and it is in the store");
    let value = Value::parse(&reply.body).unwrap();
    assert!(value.get("artifact").is_some());
}
