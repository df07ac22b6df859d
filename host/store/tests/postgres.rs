//! A store in a real PostgreSQL server says the same as one in a file, to the digit; its writers may be
//! many, an older one is brought up to date, and what was acknowledged is there after a kill.
//!
//! The server is Debian's (`postgresql`). Where it is not installed, the tests say that they are skipped.
#![cfg(feature = "postgres")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use auto_json::Canonical;
use auto_schema::contract::SpanKind as Kind;
use auto_schema::key::Part;
use auto_store::{Retention, Scope, Span, SpanKind, Store, Trace, csv, jsonl};
use postgres::{Client, NoTls};

/// A server of this test's alone, on a socket in a folder of its own.
struct Server {
    folder: tempfile::TempDir,
    programs: PathBuf,
    running: Child,
}

impl Server {
    /// Makes a cluster and starts it; none where PostgreSQL is not installed.
    fn start() -> Option<Server> {
        let Some(programs) = programs() else {
            eprintln!("skipped: no PostgreSQL in /usr/lib/postgresql; `apt-get install postgresql` brings it");
            return None;
        };
        let folder = tempfile::Builder::new().prefix("auto-pg").tempdir_in("/tmp").unwrap();
        if is_root() {
            // A server does not run for root.
            assert!(Command::new("chown").arg("postgres").arg(folder.path()).status().unwrap().success());
        }
        let data = folder.path().join("data");
        let made = as_postgres(&programs.join("initdb"))
            .args(["-U", "auto", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let running = run(&programs, folder.path());
        let server = Server { folder, programs, running };
        server.wait();
        Some(server)
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://auto@{}/{database}", self.folder.path().display().to_string().replace('/', "%2F"))
    }

    fn client(&self, database: &str) -> Result<Client, postgres::Error> {
        Client::connect(&self.url(database), NoTls)
    }

    fn wait(&self) {
        let start = Instant::now();
        while let Err(error) = self.client("postgres") {
            assert!(start.elapsed() < Duration::from_secs(60), "the server does not come up: {error}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// An empty database.
    fn database(&self, name: &str) -> String {
        self.client("postgres").unwrap().batch_execute(&format!("CREATE DATABASE {name}")).unwrap();
        self.url(name)
    }

    /// Ends the server as a power cut would, and starts it again.
    fn kill(&mut self) {
        self.stop();
        self.running = run(&self.programs, self.folder.path());
        self.wait();
    }

    fn stop(&mut self) {
        let stop = as_postgres(&self.programs.join("pg_ctl"))
            .args(["stop", "-m", "immediate", "-D"])
            .arg(self.folder.path().join("data"))
            .stdout(Stdio::null())
            .status();
        let _ = stop.and_then(|_| self.running.wait());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}

fn run(programs: &Path, folder: &Path) -> Child {
    as_postgres(&programs.join("postgres"))
        .arg("-D")
        .arg(folder.join("data"))
        .arg("-k")
        .arg(folder)
        .args(["-c", "listen_addresses=", "-c", "max_connections=40"])
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let bins = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    bins.filter(|bin| bin.join("initdb").is_file()).max()
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n")
}

fn as_postgres(program: &Path) -> Command {
    let mut command = Command::new(if is_root() { Path::new("setpriv") } else { program });
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
    }
    command.current_dir("/tmp");
    command
}

fn json(text: &str) -> Canonical {
    Canonical::of(text).unwrap()
}

/// A run with texts that a database may not like.
fn trace(number: u64, task: &str) -> Trace {
    let span = |place: u64, kind: SpanKind, name: &str| Span {
        id: u64::MAX - 9 + place,
        parent: (place > 0).then_some(u64::MAX - 9),
        sequence: place,
        kind,
        name: name.into(),
        input: json(&format!("{{\"id\":\"{task}{}\",\"text\":\"é\\u0000 {}\"}}", number / 2, number % 5)),
        output: json(&format!("[{},2.50]", number % 5 / 2 + u64::from(number.is_multiple_of(11)))),
        error: number.is_multiple_of(13).then(|| "broke\0off \u{1}0".into()),
        started: u64::MAX - number,
        duration: Some(if place == 1 { u64::MAX } else { 7 }),
        attributes: vec![("cost_usd_micros".into(), number.to_string()), ("tokens".into(), "3".into())],
    };
    Trace {
        id: format!("{task}/{number}\0ü"),
        task: task.into(),
        recorder: "test".into(),
        started: number,
        attributes: vec![("host".into(), "hére\u{1}".into())],
        input: Some(json(&(number % 3).to_string())),
        output: (!number.is_multiple_of(4)).then(|| json("\"done\"")),
        partial: number % 10 == 9,
        spans: vec![
            span(0, SpanKind::Structural, "run"),
            span(1, SpanKind::ModelCall, "m\0"),
            span(2, SpanKind::ToolCall, "Look"),
            span(3, SpanKind::ToolCall, "look"),
            span(4, SpanKind::Other("Ünusual".into()), ""),
        ],
    }
}

fn traces(task: &str) -> Vec<Trace> {
    (0..60).map(|number| trace(number, task)).collect()
}

/// Everything that is asked of a store, as text.
fn answers(store: &Store) -> Vec<String> {
    let mut answers = vec![format!("{:?}", store.tasks().unwrap())];
    for task in ["a", "b"] {
        answers.push(format!("{:?}", store.census(task).unwrap()));
        answers.push(store.census(task).unwrap().to_string());
        for scope in [Scope::Task, Scope::Span { kind: Kind::ToolCall, name: "look".into() }] {
            answers.push(format!("{:?}", store.observations(task, &scope).unwrap()));
            answers.push(format!("{:?}", store.reference(task, &scope).unwrap()));
            answers.push(format!("{:?}", store.runs(task, &scope).unwrap()));
        }
        answers.push(format!("{:?}", store.propose_keys(task, "model_call", "m\0").unwrap()));
        let mut traces = store.traces_of(task).unwrap();
        traces.sort_by(|one, other| one.id.cmp(&other.id));
        answers.extend(traces.iter().map(|trace| jsonl(trace) + &csv(trace)));
    }
    store.verify().unwrap();
    answers
}

fn assert_same(file: &Path, url: &str, when: &str) {
    let (expected, found) = (answers(&Store::open_read(file).unwrap()), answers(&Store::open_read(url).unwrap()));
    assert_eq!(expected.len(), found.len());
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(expected, found, "{when}");
    }
}

#[test]
fn a_server_says_what_a_file_says_whoever_wrote_and_whatever_went() {
    let Some(mut server) = Server::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (file, url) = (folder.path().join("s.db"), server.database("fleet"));
    assert_eq!(Store::open_read(&url).unwrap_err().code, "no-store");
    Store::create_or_open(&file).unwrap().ingest(&traces("a")).unwrap();
    Store::create_or_open(&file).unwrap().ingest(&traces("b")).unwrap();

    // Recorders that know nothing of each other, some with the same traces.
    std::thread::scope(|scope| {
        for recorder in 0..6_usize {
            let url = &url;
            scope.spawn(move || {
                let task = if recorder.is_multiple_of(2) { "a" } else { "b" };
                let own: Vec<Trace> = traces(task).into_iter().skip(recorder / 2 * 15).take(30).collect();
                for together in own.chunks(5) {
                    Store::create_or_open(url).unwrap().ingest(together).unwrap();
                }
            });
        }
    });
    assert_same(&file, &url, "after concurrent writers");

    // A key policy, and traces that go.
    let key = Part::parse("/text").unwrap();
    let retention = Retention { task: Some("a".into()), before: Some(20), ..Retention::default() };
    let pruned = [file.to_str().unwrap(), &url].map(|place| {
        let mut store = Store::create_or_open(place).unwrap();
        store.set_key("a", "model_call", None, Some(&key)).unwrap();
        let pruned = store.prune(&retention, false).unwrap();
        store.compact().unwrap();
        pruned
    });
    assert_eq!(pruned[0], pruned[1]);
    assert!(pruned[0].traces == 20 && pruned[0].values > 0, "{:?}", pruned[0]);
    assert_same(&file, &url, "after pruning");

    // What was acknowledged is there after the power went, and the recorder goes on.
    let mut store = Store::create_or_open(&url).unwrap();
    let more = [trace(100, "a"), trace(101, "b")];
    store.ingest(&more[..1]).unwrap();
    server.kill();
    let error = store.ingest(&more[1..]).unwrap_err();
    assert!(error.code == "store-io" && !error.message.contains("damaged"), "{error}");
    Store::create_or_open(&url).unwrap().ingest(&more[1..]).unwrap();
    Store::create_or_open(&file).unwrap().ingest(&more).unwrap();
    assert_same(&file, &url, "after a kill");

    older_and_newer_versions(&server, &file, &url);
    what_is_wrong_is_said(&server, &url);
}

fn older_and_newer_versions(server: &Server, file: &Path, url: &str) {
    let mut other = server.client("fleet").unwrap();
    // As version 3 left it: with nothing summed up.
    other
        .batch_execute(
            "DROP TABLE auto.tally, auto.operation, auto.summary; DELETE FROM auto.seal WHERE id = 2;
             UPDATE auto.meta SET version = 3",
        )
        .unwrap();
    let error = Store::open_read(url).unwrap_err();
    assert!(error.code == "store-version" && error.message.contains("version 3"), "{error}");
    // Several recorders bring it up to date at once, and one of them does.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| Store::create_or_open(url).map(drop).unwrap());
        }
    });
    assert_same(file, url, "after an update");
    other.batch_execute("UPDATE auto.meta SET version = 99").unwrap();
    for error in [Store::open_read(url).unwrap_err(), Store::create_or_open(url).unwrap_err()] {
        assert!(error.code == "store-version" && error.message.contains("99"), "{error}");
    }
    other.batch_execute("UPDATE auto.meta SET version = 4").unwrap();
}

fn what_is_wrong_is_said(server: &Server, url: &str) {
    let mut other = server.client("fleet").unwrap();
    let census = || Store::open_read(url).unwrap().census("a");
    other.batch_execute("UPDATE auto.tally SET spans = spans + 1").unwrap();
    let error = census().unwrap_err();
    assert!(error.is_integrity() && error.message.contains("auto@"), "{error}");
    other.batch_execute("UPDATE auto.tally SET spans = spans - 1").unwrap();
    census().unwrap();
    other.batch_execute("DROP TABLE auto.policy").unwrap();
    assert_eq!(census().unwrap_err().code, "store-damaged");

    let long = Trace { id: long(), ..trace(200, "a") };
    let fresh = server.database("long");
    let error = Store::create_or_open(&fresh).unwrap().ingest(&[long]).unwrap_err();
    assert!(error.code == "bad-trace" && error.message.contains("2,600"), "{error}");

    let absent = server.url("absent");
    let error = Store::create_or_open(&absent).unwrap_err();
    assert!(error.code == "store-io" && error.message.contains("absent"), "{error}");
    let error = Store::create_or_open("postgres://ann:s3cret@127.0.0.1:1/none").unwrap_err();
    assert!(error.code == "store-io" && !error.message.contains("s3cret"), "{error}");
    std::io::stderr().flush().unwrap();
}

/// A name that no index of the server's takes, however it is packed.
fn long() -> String {
    let digest = |number: u32| auto_schema::digest::Digest::of(&number.to_be_bytes()).to_string();
    (0..200).map(digest).collect()
}
