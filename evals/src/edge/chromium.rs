//! Chromium, without a window: it gets one page with everything in it, and sends back what came.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use auto_export::Target;

use super::outside::{report, task, unpacked};
use super::{Run, Work};

/// How long the page may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most bytes of what comes back.
const MOST: u64 = 64 << 20;

/// V8, as the browser has it.
pub(super) fn chromium(work: &Work<'_>) -> anyhow::Result<Run> {
    let folder = unpacked(work, Target::Browser)?;
    let files = [
        ("/", "text/html", include_bytes!("page.html").to_vec()),
        ("/behavior.mjs", "text/javascript", std::fs::read(folder.path().join("behavior.mjs"))?),
        ("/driver.mjs", "text/javascript", include_bytes!("driver.mjs").to_vec()),
        ("/behavior.cbin", "application/wasm", work.file.to_vec()),
        ("/task.json", "application/json", task(work).into_bytes()),
    ];
    let listener = TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let _browser = Browser::open(&format!("http://{}/", listener.local_addr()?), folder.path())?;
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        match listener.accept() {
            Ok((stream, _)) => {
                if let Some(text) = served(stream, &files)? {
                    return report(&text);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(2))
            }
            Err(error) => return Err(error.into()),
        }
    }
    bail!("chromium sent nothing within {PATIENCE:?}")
}

/// A browser that is ended when it is let go.
struct Browser(Child);

impl Browser {
    fn open(address: &str, profile: &std::path::Path) -> anyhow::Result<Browser> {
        let mut command = Command::new("chromium");
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"]);
        command.arg(format!("--user-data-dir={}", profile.join("profile").display())).arg("--remote-debugging-port=0");
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Browser(command.spawn().context("chromium cannot be run")?))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Our own child, with a profile of its own that goes too.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Answers one request; what was sent where it is the result.
fn served(stream: TcpStream, files: &[(&str, &str, Vec<u8>)]) -> anyhow::Result<Option<String>> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(&stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.by_ref().take(1 << 16).read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        head.push(line.trim_end().to_owned());
    }
    let request = head.first().cloned().unwrap_or_default();
    let mut words = request.split(' ');
    let (method, place) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if method == "POST" {
        let length = head.iter().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<u64>().ok()).flatten()
        });
        let length = length.context("a result without a length")?;
        ensure!(length <= MOST, "a result of {length} bytes");
        let mut text = String::new();
        reader.take(length).read_to_string(&mut text)?;
        answer(&stream, "200 OK", "text/plain", b"")?;
        return Ok(Some(text));
    }
    match files.iter().find(|(at, ..)| *at == place) {
        Some((_, kind, bytes)) => answer(&stream, "200 OK", kind, bytes)?,
        None => answer(&stream, "404 Not Found", "text/plain", b"")?,
    }
    Ok(None)
}

fn answer(mut stream: &TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}
