//! `auto-host serve` and its like as tests run them, and a client that sees every byte.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use auto_json::Value;

/// How long anything may take before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server of ours, killed when the test ends.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    said: Arc<Mutex<String>>,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Line and headers, in lower case.
    pub head: String,
    /// The body.
    pub body: String,
}

impl Reply {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        Value::parse(self.body.trim()).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// A value in the body.
    pub fn at(&self, path: &[&str]) -> Value {
        let body = self.json();
        path.iter().try_fold(&body, |value, key| value.get(key)).cloned().unwrap_or(Value::Null)
    }

    /// A text in the body.
    pub fn text(&self, path: &[&str]) -> String {
        self.at(path).as_text().unwrap_or_default().to_owned()
    }

    /// Its stable code.
    pub fn code(&self) -> String {
        self.text(&["code"])
    }
}

impl Server {
    /// Starts a command that says on stderr where it listens; give it `--addr 127.0.0.1:0`.
    pub fn start(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the server starts");
        let stderr = child.stderr.take().expect("a pipe");
        let (send, address) = std::sync::mpsc::channel();
        let said = Arc::new(Mutex::new(String::new()));
        let heard = said.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some(rest) = line.strip_prefix("listening on http://") {
                    let _ = send.send(rest.split(' ').next().and_then(|address| address.parse().ok()));
                }
                heard.lock().expect("no panic").push_str(&format!("{line}\n"));
            }
        });
        match address.recv_timeout(PATIENCE) {
            Ok(Some(address)) => Server { child, address, said },
            other => {
                let _ = child.kill();
                panic!("the server does not listen ({other:?}): {}", said.lock().expect("no panic"))
            }
        }
    }

    /// What it has said on stderr.
    pub fn said(&self) -> String {
        self.said.lock().expect("no panic").clone()
    }

    /// Waits until it has said something.
    pub fn wait_for(&self, text: &str) {
        wait(text, || self.said().contains(text));
    }

    /// Sends an input.
    pub fn run(&self, name: &str, input: &str) -> Reply {
        self.post(&format!("/run/{name}"), input, &[])
    }

    /// Sends a body with more headers.
    pub fn post(&self, path: &str, body: &str, headers: &[&str]) -> Reply {
        let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = body.len();
        let head = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{more}\r\n");
        Client::connect(self.address).exchange(&format!("{head}{body}"))
    }

    /// Asks for something.
    pub fn get(&self, path: &str, headers: &[&str]) -> Reply {
        let more: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        Client::connect(self.address).exchange(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{more}\r\n"))
    }

    /// Sends a signal by its name and number: `("TERM", 15)`.
    pub fn signal(&self, name: &str) {
        let killed = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(killed.expect("kill").success());
    }

    /// Waits for its end: how, and what it printed.
    pub fn wait(mut self) -> (ExitStatus, String) {
        let begun = Instant::now();
        while self.child.try_wait().expect("a child").is_none() {
            assert!(begun.elapsed() < PATIENCE, "the server does not end: {}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut printed = String::new();
        let _ = self.child.stdout.take().expect("a pipe").read_to_string(&mut printed);
        (self.child.wait().expect("a child"), printed)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds.
pub fn wait(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A connection.
pub struct Client(BufReader<TcpStream>);

impl Client {
    /// Connects.
    pub fn connect(address: SocketAddr) -> Client {
        Client::of(TcpStream::connect(address).expect("a connection"))
    }

    /// On a connection that is there.
    pub fn of(stream: TcpStream) -> Client {
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Client(BufReader::new(stream))
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: &str) {
        self.0.get_mut().write_all(bytes.as_bytes()).expect("a socket that takes it");
    }

    /// Sends a request and reads its reply.
    pub fn exchange(&mut self, request: &str) -> Reply {
        // A server that has seen enough does not read the rest.
        let _ = self.0.get_mut().write_all(request.as_bytes());
        self.reply().unwrap_or_else(|| panic!("no reply to {request:.200}"))
    }

    /// The next reply, if one comes.
    pub fn reply(&mut self) -> Option<Reply> {
        let mut head = String::new();
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if line.trim().is_empty() {
                break;
            }
            head.push_str(&line.to_lowercase());
        }
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name).map(str::trim));
        let mut body = Vec::new();
        match header("content-length:") {
            Some(length) => {
                body.resize(length.parse().ok()?, 0);
                self.0.read_exact(&mut body).ok()?;
            }
            None if header("transfer-encoding:").is_some() => {
                while let Some(chunk) = self.chunk().filter(|chunk| !chunk.is_empty()) {
                    body.extend(chunk);
                }
            }
            None => {}
        }
        Some(Reply { status, head, body: String::from_utf8(body).ok()? })
    }

    fn chunk(&mut self) -> Option<Vec<u8>> {
        let mut line = String::new();
        self.0.read_line(&mut line).ok()?;
        let mut chunk = vec![0; usize::from_str_radix(line.trim(), 16).ok()? + 2];
        self.0.read_exact(&mut chunk).ok()?;
        chunk.truncate(chunk.len() - 2);
        Some(chunk)
    }
}
