//! HTTP as tests speak it: bytes on a socket, so that nothing stands between a test and what a
//! server does; a provider that answers as it is told; and a server of ours as a process.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::tool::Tool;

/// What a server answered.
#[derive(Debug)]
pub struct Reply {
    /// The status; 0 where nothing came.
    pub status: u16,
    /// The head, as it came.
    pub head: String,
    /// The body, without its chunks.
    pub body: Vec<u8>,
    /// Whether the body came to its end.
    pub whole: bool,
}

/// Sends a request on a connection of its own and reads what comes.
pub fn ask(to: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    ask_on(&mut stream, method, path, headers, body)
}

/// The same on a connection that is there.
pub fn ask_on(stream: &mut TcpStream, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut request = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n", body.len());
    headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
    request += "\r\n";
    let _ = stream.write_all(request.as_bytes()).and_then(|()| stream.write_all(body));
    read(stream)
}

fn read(stream: &mut TcpStream) -> Reply {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).is_ok_and(|read| read > 0) {}
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let lower = head.to_ascii_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
    let mut body = Vec::new();
    let whole = if lower.contains("transfer-encoding: chunked") {
        chunks(&mut reader, &mut body)
    } else if let Some(length) = length {
        body.resize(length, 0);
        reader.read_exact(&mut body).is_ok()
    } else {
        reader.read_to_end(&mut body).is_ok()
    };
    Reply { status, head, body, whole }
}

fn chunks(reader: &mut impl std::io::BufRead, body: &mut Vec<u8>) -> bool {
    loop {
        let mut line = String::new();
        let Ok(size) = reader.read_line(&mut line).map(|_| usize::from_str_radix(line.trim(), 16)) else {
            return false;
        };
        let Ok(size) = size else { return false };
        let start = body.len();
        body.resize(start + size, 0);
        let mut end = [0; 2];
        if reader.read_exact(&mut body[start..]).is_err() || reader.read_exact(&mut end).is_err() {
            return false;
        }
        if size == 0 {
            return true;
        }
    }
}

/// A request as a provider got it.
pub struct Asked {
    /// The line and the headers.
    pub head: String,
    /// The body, without its chunks.
    pub body: Vec<u8>,
}

/// A provider: what it answers is up to the test. Connections stay open until one side closes.
pub fn provider(answer: impl Fn(&Asked, &mut TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (Ok(mut stream), answer) = (stream, answer.clone()) else { continue };
            std::thread::spawn(move || {
                while let Some(asked) = asked(&stream) {
                    answer(&asked, &mut stream);
                }
            });
        }
    });
    address
}

fn asked(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_ascii_lowercase();
    let mut body = Vec::new();
    if lower.contains("transfer-encoding: chunked") {
        chunks(&mut reader, &mut body);
    } else {
        let length = lower.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse().ok());
        body.resize(length.unwrap_or(0), 0);
        reader.read_exact(&mut body).ok()?;
    }
    Some(Asked { head, body })
}

/// An answer of that length and kind.
pub fn answer(kind: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// A server of ours: `auto-host VERB`, until it is told to stop.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
    told: Option<std::thread::JoinHandle<String>>,
}

impl Server {
    /// Starts a verb, which gets `--addr 127.0.0.1:0`.
    pub fn start(tool: &Tool, arguments: &[&str]) -> Server {
        let arguments = [arguments, &["--addr", "127.0.0.1:0"]].concat();
        Server::spawn(tool.command(&arguments))
    }

    /// The same of a command that starts it.
    pub fn spawn(mut command: Command) -> Server {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap_or_else(|| panic!("{line}")).parse().unwrap();
        let told = std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = stderr.read_to_string(&mut rest);
            rest
        });
        Server { child, address, told: Some(told) }
    }

    /// Asks it to stop; what it printed: stdout and stderr.
    pub fn stop(mut self) -> (String, String) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        let mut stdout = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        let status = self.child.wait().unwrap();
        let stderr = self.told.take().unwrap().join().unwrap();
        assert!(status.success(), "{status}: {stdout}{stderr}");
        (stdout, stderr)
    }

    /// Kills it, as a crash would.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits until something it says of itself is so.
    pub fn wait_for(&self, path: &str, word: &str) {
        let start = Instant::now();
        loop {
            let reply = ask(self.address, "GET", path, &[("Connection", "close")], b"");
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            if text.contains(word) {
                return;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{word} is not in: {text}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
