//! A real HTTP server on a loopback port, in the test's own process, that does what it is told:
//! answer, or go wrong in every way that servers do.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// What a server does with a question.
#[derive(Clone, Debug)]
pub enum Act {
    /// Status, headers, body.
    Reply(u16, Vec<(&'static str, String)>, String),
    /// Says nothing for so long.
    Hang(Duration),
    /// Closes without a word.
    Close,
    /// Promises a body and closes in the middle of it.
    CloseInside(String),
    /// A byte at a time, with so much time between.
    Drip(String, Duration),
    /// A body without end.
    Endless,
    /// Bytes that are no HTTP.
    Raw(&'static [u8]),
}

/// A question as it came.
#[derive(Clone, Debug)]
pub struct Received {
    pub line: String,
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

pub struct Server {
    pub url: String,
    received: Arc<Mutex<Vec<Received>>>,
}

pub fn json(status: u16, body: &str) -> Act {
    Act::Reply(status, vec![("Content-Type", "application/json".to_owned())], body.to_owned())
}

/// A reply of OpenAI's.
pub fn said(text: &str, input: u64, output: u64) -> Act {
    json(
        200,
        &format!(
            r#"{{"choices":[{{"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}],"usage":{{"prompt_tokens":{input},"completion_tokens":{output}}}}}"#
        ),
    )
}

impl Server {
    /// Serves until the test ends; the number counts questions from 0.
    pub fn start(act: impl Fn(usize, &Received) -> Act + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (kept, act) = (received.clone(), Arc::new(act));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, act) = (kept.clone(), act.clone());
                thread::spawn(move || {
                    let Some(question) = read(&stream) else { return };
                    let number = {
                        let mut kept = kept.lock().unwrap();
                        kept.push(question.clone());
                        kept.len() - 1
                    };
                    let _ = perform(stream, act(number, &question));
                });
            }
        });
        Server { url, received }
    }

    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

fn read(stream: &TcpStream) -> Option<Received> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers.get("content-length")?.parse().ok()?];
    reader.read_exact(&mut body).ok()?;
    Some(Received { line: line.trim().to_owned(), headers, body: String::from_utf8(body).ok()? })
}

fn perform(mut stream: TcpStream, act: Act) -> std::io::Result<()> {
    let head = |length: usize| {
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n")
    };
    match act {
        Act::Reply(status, headers, body) => {
            let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
            write!(stream, "HTTP/1.1 {status} X\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
        }
        Act::Hang(time) => {
            thread::sleep(time);
            Ok(())
        }
        Act::Close => Ok(()),
        Act::CloseInside(body) => write!(stream, "{}{body}", head(body.len() + 100)),
        Act::Drip(body, pause) => {
            write!(stream, "{}", head(body.len()))?;
            for byte in body.bytes() {
                stream.write_all(&[byte])?;
                thread::sleep(pause);
            }
            Ok(())
        }
        Act::Endless => {
            write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")?;
            loop {
                stream.write_all(&[b' '; 4096])?;
            }
        }
        Act::Raw(bytes) => stream.write_all(bytes),
    }
}
