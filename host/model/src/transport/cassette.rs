//! Answers kept in a file, one exchange a line: what was asked, and what came back. Neither
//! headers nor keys are in it.

use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use auto_files::regular;
use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use super::http::Http;
use super::{Incoming, Lost, Outgoing, Transport};
use crate::error::ModelError;

/// Asks the network and keeps what it answers.
pub(super) struct Recorder {
    http: Http,
    file: Mutex<File>,
}

impl Recorder {
    pub(super) fn new(path: &Path, http: Http) -> Result<Recorder, ModelError> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let file = file.map_err(|error| unusable(path, &error.to_string()))?;
        Ok(Recorder { http, file: Mutex::new(file) })
    }
}

impl Transport for Recorder {
    fn send(&self, question: &Outgoing) -> Result<Incoming, Lost> {
        let incoming = self.http.send(question)?;
        let echoed = question.key.as_ref().is_some_and(|key| key.is_in(&incoming.body));
        if echoed {
            // It is refused for that further up; a file shall not hold it either.
            return Ok(incoming);
        }
        let line = format!("{}\n", Value::from(written(question, &incoming)));
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let kept = file.write_all(line.as_bytes()).and_then(|()| file.sync_data());
        kept.map_err(|error| Lost::after("cassette-io", format!("the reply could not be recorded: {error}")))?;
        Ok(incoming)
    }
}

/// The most bytes of recorded exchanges that are read.
const LARGEST: u64 = 1 << 30;

/// Answers from a file, each recorded answer once, in their order.
pub(super) struct Player {
    answers: Mutex<BTreeMap<Digest, VecDeque<Incoming>>>,
}

impl Player {
    pub(super) fn open(path: &Path) -> Result<Player, ModelError> {
        let text = regular::text(path, LARGEST).map_err(|error| unusable(path, &error.to_string()))?;
        let mut answers: BTreeMap<Digest, VecDeque<Incoming>> = BTreeMap::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let (identity, incoming) = Value::parse(line)
                .ok()
                .and_then(|value| read(&value))
                .ok_or_else(|| unusable(path, &format!("line {} is no recorded exchange", number + 1)))?;
            answers.entry(identity).or_default().push_back(incoming);
        }
        Ok(Player { answers: Mutex::new(answers) })
    }
}

impl Transport for Player {
    fn send(&self, question: &Outgoing) -> Result<Incoming, Lost> {
        let mut answers = self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let answer = answers.get_mut(&question.identity).and_then(VecDeque::pop_front);
        answer.ok_or_else(|| {
            Lost::before(
                "replay-unknown",
                "nothing that was recorded answers this question, or not as often as it is asked",
            )
        })
    }
}

fn written(question: &Outgoing, incoming: &Incoming) -> Record {
    // A provider that refuses a key may quote it in part.
    let body = if matches!(incoming.status, 401 | 403) { &[][..] } else { &incoming.body };
    let body = String::from_utf8_lossy(body).into_owned();
    Record::new()
        .with("identity", question.identity.to_string())
        .with("request", Value::parse(&question.body).unwrap_or(Value::Null))
        .with("status", u32::from(incoming.status))
        .with("content_type", incoming.content_type.as_str())
        .with("retry_after_s", incoming.retry_after.map(|wait| wait.as_secs()))
        .with("body", body)
}

fn read(line: &Value) -> Option<(Digest, Incoming)> {
    let text = |key: &str| line.get(key).and_then(Value::as_text);
    let incoming = Incoming {
        status: line.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok())?,
        content_type: text("content_type")?.to_owned(),
        retry_after: line.get("retry_after_s").and_then(Value::as_u64).map(Duration::from_secs),
        body: text("body")?.as_bytes().to_vec(),
    };
    Some((Digest::parse(text("identity")?)?, incoming))
}

fn unusable(path: &Path, why: &str) -> ModelError {
    ModelError::new("cassette-io", format!("the recording {} cannot be used: {why}", path.display()))
}
