//! Servers for the tests of push and pull: ours, Debian's OCI registry, and some that misbehave.
#![allow(dead_code, reason = "each test file uses some of these")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use auto_tests::tool::Tool;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use tempfile::TempDir;

/// `auto-host registry serve` in a folder of its own.
pub struct Served {
    pub url: String,
    pub folder: Tool,
    child: Child,
}

impl Served {
    pub fn start(folder: Tool, more: &[&str]) -> Served {
        let mut command = folder.command(&["registry", "serve", "--addr", "127.0.0.1:0"]);
        let mut child = command.args(more).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap_or_default().to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{line}");
        // Whatever else it says is let through, so that it never waits for somebody to read it.
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Served { url, folder, child }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `docker-registry`, with its blobs in a folder of its own.
pub struct Docker {
    pub address: String,
    folder: TempDir,
    child: Child,
}

impl Docker {
    /// Starts it, for everybody or for one user; none where it is not installed.
    pub fn start(user: Option<(&'static str, &'static str)>) -> Option<Docker> {
        if Command::new("docker-registry").arg("--version").output().is_err() {
            eprintln!("skipped: docker-registry is not there; apt-get install -y docker-registry");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let auth = user.map(|user| tokens(folder.path(), user)).unwrap_or_default();
        for _ in 0..5 {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
            let config = format!(
                "version: 0.1\nlog:\n  level: error\nstorage:\n  filesystem:\n    rootdirectory: {}\nhttp:\n  addr: \
                 {address}\n  secret: for-tests\n{auth}",
                folder.path().join("blobs").display()
            );
            fs::write(folder.path().join("config.yml"), config).unwrap();
            let mut child = Command::new("docker-registry")
                .arg("serve")
                .arg(folder.path().join("config.yml"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            for _ in 0..200 {
                if TcpStream::connect(&address).is_ok() {
                    return Some(Docker { address, folder, child });
                }
                if child.try_wait().unwrap().is_some() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(25));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        panic!("docker-registry does not start");
    }
}

impl Drop for Docker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = self.folder.path();
    }
}

/// A server that gives tokens for a password, and the part of a configuration that sends there.
fn tokens(folder: &Path, (user, password): (&'static str, &'static str)) -> String {
    let (key, certificate) = (folder.join("key.pem"), folder.join("cert.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=tokens", "-days", "2", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl is needed: apt-get install -y openssl");
    assert!(made.status.success(), "{made:?}");
    let chain: String =
        fs::read_to_string(&certificate).unwrap().lines().filter(|line| !line.starts_with('-')).collect();
    let expected = format!("Basic {}", STANDARD.encode(format!("{user}:{password}")));
    let signer = folder.to_owned();
    let server = Fake::with_head(move |path, head| {
        let allowed = head.lines().any(|line| {
            line.split_once(": ")
                .is_some_and(|(name, value)| name.eq_ignore_ascii_case("authorization") && value == expected)
        });
        if !allowed {
            return Some((401, b"{}".to_vec()));
        }
        let scope = path.split("scope=repository%3A").nth(1).unwrap_or_default().split('&').next().unwrap_or_default();
        let scope = scope.replace("%2F", "/").replace("%3A", ":").replace("%2C", ",");
        let (name, actions) = scope.rsplit_once(':').unwrap_or_default();
        let actions: Vec<String> = actions.split(',').map(|action| format!("{action:?}")).collect();
        let head = format!("{{\"typ\":\"JWT\",\"alg\":\"RS256\",\"x5c\":[\"{chain}\"]}}");
        let body = format!(
            "{{\"iss\":\"tokens\",\"sub\":\"{user}\",\"aud\":\"registry\",\"exp\":4000000000,\"nbf\":1,\"iat\":1,\
             \"jti\":\"1\",\"access\":[{{\"type\":\"repository\",\"name\":\"{name}\",\"actions\":[{}]}}]}}",
            actions.join(",")
        );
        let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(body));
        fs::write(signer.join("signed"), &signed).unwrap();
        let signature = Command::new("openssl")
            .args(["dgst", "-sha256", "-sign"])
            .arg(signer.join("key.pem"))
            .arg(signer.join("signed"))
            .output()
            .unwrap();
        assert!(signature.status.success());
        let token = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.stdout));
        Some((200, format!("{{\"token\":\"{token}\"}}").into_bytes()))
    });
    let url = server.url.clone();
    // It lives as long as the test.
    std::mem::forget(server);
    format!(
        "auth:\n  token:\n    realm: {url}/token\n    service: registry\n    issuer: tokens\n    rootcertbundle: {}\n",
        certificate.display()
    )
}

/// What a server that answers as it is told says: a status and a body, or nothing, for ever.
type Answer = Option<(u16, Vec<u8>)>;

/// A server that answers as it is told.
pub struct Fake {
    pub url: String,
}

impl Fake {
    pub fn start(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Fake {
        Fake::with_head(move |path, _| answer(path))
    }

    pub fn with_head(answer: impl Fn(&str, &str) -> Answer + Send + Sync + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let answer = Arc::new(answer);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answer = answer.clone();
                std::thread::spawn(move || serve(stream, &*answer));
            }
        });
        Fake { url }
    }
}

fn serve(mut stream: TcpStream, answer: &dyn Fn(&str, &str) -> Answer) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let path = head.split(' ').nth(1).unwrap_or_default();
    match answer(path, &head) {
        Some((status, body)) => {
            let reply = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(&[reply.as_bytes(), &body].concat());
        }
        None => std::thread::sleep(Duration::from_secs(30)),
    }
}

/// Relays to a registry, and loses every third chunk with its connection; or once half of one.
pub struct Cutting {
    pub address: String,
    cuts: Arc<AtomicU64>,
    sent: Arc<AtomicU64>,
}

impl Cutting {
    pub fn start(to: &str, half: bool) -> Cutting {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let cutting = Cutting { address, cuts: Arc::default(), sent: Arc::default() };
        let (to, cuts, sent, chunks) = (to.to_owned(), cutting.cuts.clone(), cutting.sent.clone(), AtomicU64::new(0));
        let chunks = Arc::new(chunks);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (to, cuts, sent, chunks) = (to.clone(), cuts.clone(), sent.clone(), chunks.clone());
                std::thread::spawn(move || relay(stream, &to, half, [&cuts, &sent, &chunks]));
            }
        });
        cutting
    }

    pub fn cuts(&self) -> u64 {
        self.cuts.load(SeqCst)
    }

    /// Bytes of chunks that were let through.
    pub fn sent(&self) -> u64 {
        self.sent.load(SeqCst)
    }
}

/// One request after the other, each as a whole.
fn relay(mut from: TcpStream, to: &str, half: bool, [cuts, sent, chunks]: [&AtomicU64; 3]) {
    let Ok(mut onward) = TcpStream::connect(to) else { return };
    let mut back = onward.try_clone().unwrap();
    let mut answer_to = from.try_clone().unwrap();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut back, &mut answer_to);
        let _ = answer_to.shutdown(Shutdown::Both);
    });
    let mut reader = BufReader::new(from.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                let _ = onward.shutdown(Shutdown::Both);
                return;
            }
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
        });
        let mut body = vec![0; length.unwrap_or(0)];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let is_third = head.starts_with("PATCH") && chunks.fetch_add(1, SeqCst) % 3 == 2;
        if is_third && (!half || cuts.load(SeqCst) == 0) {
            cuts.fetch_add(1, SeqCst);
            if half {
                let _ = onward.write_all(&[head.as_bytes(), &body[..body.len() / 2]].concat());
                std::thread::sleep(Duration::from_millis(50));
            }
            let _ = onward.shutdown(Shutdown::Both);
            let _ = from.shutdown(Shutdown::Both);
            return;
        }
        let _ = onward.write_all(head.as_bytes());
        if head.starts_with("PATCH") {
            sent.fetch_add(body.len() as u64, SeqCst);
        }
        let _ = onward.write_all(&body);
        let _ = from.flush();
    }
}

/// Status and body of a request, as any client makes it.
pub fn request(base: &str, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, Vec<u8>) {
    let host = base.trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!("{method} {path} HTTP/1.0\r\nHost: {host}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
    stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    let end = reply.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    let status = String::from_utf8_lossy(&reply[..end]).split(' ').nth(1).unwrap().parse().unwrap();
    (status, reply[end..].to_vec())
}

/// The same of a GET.
pub fn get(base: &str, path: &str) -> (u16, Vec<u8>) {
    request(base, "GET", path, "", b"")
}
