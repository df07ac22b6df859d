//! An OCI registry in memory that lies as it is told.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use auto_schema::digest::Digest;

/// What it answers.
#[derive(Clone, Debug, Default)]
pub struct Said {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

/// What it has: blobs and manifests by path, and uploads.
#[derive(Default)]
struct Kept {
    files: HashMap<String, Vec<u8>>,
    uploads: HashMap<String, Vec<u8>>,
}

/// Makes another answer of an honest one, of this method and path; none is never to answer.
type Twist = dyn Fn(&str, &str, Said) -> Option<Said> + Send + Sync;

pub struct Liar {
    pub address: String,
    twist: Arc<Mutex<Arc<Twist>>>,
}

impl Liar {
    /// Starts it, honest.
    pub fn start() -> Liar {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let honest: Arc<Twist> = Arc::new(|_, _, said| Some(said));
        let liar = Liar { address, twist: Arc::new(Mutex::new(honest)) };
        let (twist, kept) = (liar.twist.clone(), Arc::new(Mutex::new(Kept::default())));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (twist, kept) = (twist.clone(), kept.clone());
                std::thread::spawn(move || answer(stream, &twist, &kept));
            }
        });
        liar
    }

    /// Lets it lie from now on.
    pub fn lie(&self, twist: impl Fn(&str, &str, Said) -> Option<Said> + Send + Sync + 'static) {
        *self.twist.lock().unwrap() = Arc::new(twist);
    }
}

fn answer(mut stream: TcpStream, twist: &Mutex<Arc<Twist>>, kept: &Mutex<Kept>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
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
        let mut words = head.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let honest = kept.lock().unwrap().serve(method, path, &body);
        let told = twist.lock().unwrap().clone();
        let Some(said) = told(method, path, honest) else {
            std::thread::sleep(Duration::from_secs(30));
            return;
        };
        let headers: String = said.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let reply = format!("HTTP/1.1 {} X\r\nContent-Length: {}\r\n{headers}\r\n", said.status, said.body.len());
        let body = if method == "HEAD" { &[] } else { said.body.as_slice() };
        if stream.write_all(&[reply.as_bytes(), body].concat()).is_err() || head.contains("HTTP/1.0\r\n") {
            return;
        }
    }
}

impl Kept {
    fn serve(&mut self, method: &str, path: &str, body: &[u8]) -> Said {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let is_upload = path.contains("/blobs/uploads/");
        match method {
            "POST" => {
                let place = format!("{path}{}", self.uploads.len());
                self.uploads.insert(place.clone(), Vec::new());
                self.at(202, &place)
            }
            "PATCH" => {
                self.uploads.entry(path.to_owned()).or_default().extend_from_slice(body);
                self.at(202, path)
            }
            "PUT" if is_upload => {
                let digest = query.trim_start_matches("digest=").replace("%3A", ":");
                let bytes = self.uploads.remove(path).unwrap_or_default();
                let whole = digest == format!("sha256:{}", Digest::of(&bytes));
                let repository = path.split("/blobs/").next().unwrap_or_default();
                self.files.insert(format!("{repository}/blobs/{digest}"), bytes);
                Said { status: if whole { 201 } else { 400 }, ..Said::default() }
            }
            "PUT" => {
                self.files.insert(path.to_owned(), body.to_vec());
                Said { status: 201, ..Said::default() }
            }
            _ if is_upload => self.at(204, path),
            _ => match self.files.get(path) {
                Some(found) => Said {
                    status: 200,
                    headers: vec![("Docker-Content-Digest", format!("sha256:{}", Digest::of(found)))],
                    body: found.clone(),
                },
                None => Said { status: 404, ..Said::default() },
            },
        }
    }

    /// How far an upload is.
    fn at(&self, status: u16, place: &str) -> Said {
        let last = self.uploads.get(place).map_or(0, |bytes| bytes.len().saturating_sub(1));
        let headers = vec![("Location", place.to_owned()), ("Range", format!("0-{last}"))];
        Said { status, headers, body: Vec::new() }
    }
}
