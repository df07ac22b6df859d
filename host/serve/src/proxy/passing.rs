//! An exchange while it passes: copies of both bodies, within bounds, until both sides are done
//! with it. Whatever happens to it then, a client that leaves or a provider that breaks off, it
//! is handed over as far as it went, and says whether that was to the end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use auto_json::{Record, Value};
use axum::http::{HeaderMap, StatusCode, header};

use crate::decode::decode;
use crate::recorder::{Document, Held, Recorder, unique};

/// An exchange; clones are of the same, and the last one that is dropped hands it over.
#[derive(Clone)]
pub struct Passing(Arc<Inner>);

struct Inner {
    format: &'static str,
    path: String,
    began: Instant,
    started: u64,
    /// What must not be written: the caller's key.
    secrets: Vec<Vec<u8>>,
    request_encoding: String,
    most: usize,
    recorder: Arc<Recorder>,
    so_far: Mutex<SoFar>,
}

struct SoFar {
    request: Copied,
    response: Copied,
    status: Option<u16>,
    encoding: String,
    streamed: bool,
    /// How long the answer says it is, and how much of it came.
    length: Option<u64>,
    came: u64,
    complete: bool,
    forgotten: bool,
    duration: u64,
    held: Option<Held>,
}

/// A copy of a body, as long as it stays within the bound.
#[derive(Default)]
struct Copied {
    bytes: Vec<u8>,
    too_large: bool,
}

/// Headers that may hold the caller's key.
const KEYS: [&str; 5] = ["authorization", "x-api-key", "api-key", "x-goog-api-key", "cookie"];

/// A key is at least so long; shorter values are words that bodies hold too.
const SHORTEST: usize = 8;

impl Passing {
    /// An exchange that begins now.
    pub fn new(format: &'static str, path: &str, headers: &HeaderMap, recorder: Arc<Recorder>, most: usize) -> Passing {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let so_far = SoFar {
            request: Copied::default(),
            response: Copied::default(),
            status: None,
            encoding: String::new(),
            streamed: false,
            length: None,
            came: 0,
            complete: false,
            forgotten: false,
            duration: 0,
            held: Some(recorder.held()),
        };
        Passing(Arc::new(Inner {
            format,
            path: path.to_owned(),
            began: Instant::now(),
            started: started.as_micros() as u64,
            secrets: secrets(headers),
            request_encoding: encoding(headers),
            most,
            recorder,
            so_far: Mutex::new(so_far),
        }))
    }

    fn so_far(&self) -> MutexGuard<'_, SoFar> {
        self.0.so_far.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some of the request.
    pub fn asked(&self, bytes: &[u8]) {
        let mut guard = self.so_far();
        let SoFar { request, held, .. } = &mut *guard;
        request.add(bytes, self.0.most, held);
    }

    /// The answer's head.
    pub fn begins(&self, status: StatusCode, headers: &HeaderMap) {
        let mut so_far = self.so_far();
        so_far.status = Some(status.as_u16());
        so_far.encoding = encoding(headers);
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        so_far.streamed = kind.starts_with("text/event-stream");
        let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        so_far.length = length.and_then(|length| length.parse().ok());
    }

    /// Some of the answer.
    pub fn answered(&self, bytes: &[u8]) {
        let mut guard = self.so_far();
        let SoFar { response, held, .. } = &mut *guard;
        response.add(bytes, self.0.most, held);
        guard.came += bytes.len() as u64;
        // A server that knows the length does not ask for more when it has it.
        if guard.length == Some(guard.came) {
            guard.end(&self.0);
        }
    }

    /// The answer's end.
    pub fn ends(&self) {
        self.so_far().end(&self.0);
    }

    /// Nothing came of it: the provider was never reached.
    pub fn forget(&self) {
        self.so_far().forgotten = true;
    }
}

impl Copied {
    fn add(&mut self, bytes: &[u8], most: usize, held: &mut Option<Held>) {
        let fits = self.bytes.len() + bytes.len() <= most;
        if self.too_large || !fits || !held.as_mut().is_some_and(|held| held.take(bytes.len())) {
            self.too_large = true;
            self.bytes = Vec::new();
            return;
        }
        self.bytes.extend_from_slice(bytes);
    }
}

fn encoding(headers: &HeaderMap) -> String {
    headers.get(header::CONTENT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn secrets(headers: &HeaderMap) -> Vec<Vec<u8>> {
    let values = KEYS.iter().flat_map(|name| headers.get_all(*name)).map(|value| value.as_bytes());
    let key = |value: &[u8]| value.split(|byte| *byte == b' ').next_back().unwrap_or_default().to_vec();
    values.map(key).filter(|key| key.len() >= SHORTEST).collect()
}

impl Drop for Inner {
    fn drop(&mut self) {
        let so_far = std::mem::replace(self.so_far.get_mut().unwrap_or_else(PoisonError::into_inner), SoFar::empty());
        // What a provider says of a key it does not take may repeat the key; and it says nothing
        // about what was asked.
        if so_far.forgotten || matches!(so_far.status, None | Some(401 | 403)) {
            return;
        }
        match self.document(so_far) {
            Some(document) => self.recorder.submit(document),
            None => self.recorder.lost(),
        }
    }
}

impl SoFar {
    fn end(&mut self, of: &Inner) {
        self.complete = true;
        self.duration = of.began.elapsed().as_micros() as u64;
    }

    fn empty() -> SoFar {
        SoFar {
            request: Copied::default(),
            response: Copied::default(),
            status: None,
            encoding: String::new(),
            streamed: false,
            length: None,
            came: 0,
            complete: false,
            forgotten: true,
            duration: 0,
            held: None,
        }
    }
}

impl Inner {
    /// What is recorded of it; none where a body is too large or of an unknown encoding.
    fn document(&self, mut so_far: SoFar) -> Option<Document> {
        if so_far.request.too_large || so_far.response.too_large {
            return None;
        }
        let request = self.text(&decode(&self.request_encoding, &so_far.request.bytes, self.most).ok()?);
        let response = match decode(&so_far.encoding, &so_far.response.bytes, self.most) {
            Ok(bytes) => self.text(&bytes),
            // A stream that broke off is cut in its encoding too.
            Err(_) if !so_far.complete => String::new(),
            Err(_) => return None,
        };
        let duration = if so_far.complete { so_far.duration } else { self.began.elapsed().as_micros() as u64 };
        let response = if so_far.streamed { Value::Text(response) } else { read(response) };
        let value = Record::new()
            .with("id", unique())
            .with("recorder", "proxy")
            .with("path", self.path.as_str())
            .with("status", so_far.status.map(u32::from))
            .with("complete", so_far.complete)
            .with("started_us", self.started)
            .with("duration_us", duration)
            .with("request", read(request))
            .with("response", response);
        Some(Document { format: self.format, value: value.into(), held: so_far.held.take()? })
    }

    /// A body as text, without the caller's key.
    fn text(&self, bytes: &[u8]) -> String {
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for secret in self.secrets.iter().filter_map(|secret| std::str::from_utf8(secret).ok()) {
            if text.contains(secret) {
                text = text.replace(secret, "[key]");
            }
        }
        text
    }
}

fn read(text: String) -> Value {
    Value::parse(&text).unwrap_or(Value::Text(text))
}
