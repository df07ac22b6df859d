//! Replies from a file, one a line, whatever is asked: `{"text": …}`, or a status with a body. A
//! process that goes on with questions that another one began to ask goes on with their lines.

use std::path::Path;
use std::sync::Mutex;

use auto_files::regular;
use auto_json::{Record, Value};

use super::{Incoming, Lost, Outgoing, Transport};
use crate::error::ModelError;

pub(super) struct Script {
    lines: Vec<Line>,
    /// How many of them were used; none before the first question.
    used: Mutex<Option<usize>>,
}

/// The most bytes of a script.
const LARGEST: u64 = 64 << 20;

enum Line {
    /// What the model says.
    Text(String),
    /// What the server says.
    Status(u16, String),
}

impl Script {
    pub(super) fn open(path: &Path) -> Result<Script, ModelError> {
        let wrong = |why: &str| ModelError::new("bad-script", format!("the script {}: {why}", path.display()));
        let text = regular::text(path, LARGEST).map_err(|error| wrong(&error.to_string()))?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let lines = lines.map(|(number, line)| {
            let line = Value::parse(line).ok().and_then(|value| read(&value));
            line.ok_or_else(|| {
                let form = "neither {\"text\": TEXT} nor {\"status\": NUMBER, \"body\": TEXT}";
                wrong(&format!("line {} is {form}", number + 1))
            })
        });
        Ok(Script { lines: lines.collect::<Result<_, _>>()?, used: Mutex::new(None) })
    }
}

fn read(value: &Value) -> Option<Line> {
    let record = value.as_record()?;
    match (record.get("text"), record.get("status"), record.get("body"), record.len()) {
        (Some(Value::Text(text)), None, None, 1) => Some(Line::Text(text.clone())),
        (None, Some(status), Some(Value::Text(body)), 2) => {
            Some(Line::Status(u16::try_from(status.as_u64()?).ok()?, body.clone()))
        }
        _ => None,
    }
}

impl Transport for Script {
    fn send(&self, question: &Outgoing) -> Result<Incoming, Lost> {
        let mut used = self.used.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = used.unwrap_or_else(|| question.ordinal.saturating_sub(1) as usize);
        let line = self.lines.get(at).ok_or_else(|| Lost::before("script-ended", "the script has no more replies"))?;
        *used = Some(at + 1);
        let (status, body) = match line {
            Line::Text(text) => (200, said(question, text)),
            Line::Status(status, body) => (*status, body.clone()),
        };
        let content_type = "application/json".to_owned();
        Ok(Incoming { status, content_type, retry_after: None, body: body.into_bytes() })
    }
}

/// A reply that every protocol here can read.
pub(super) fn said(question: &Outgoing, text: &str) -> String {
    let message = Record::new().with("role", "assistant").with("content", text);
    let choice = Record::new().with("message", message.clone()).with("finish_reason", "stop");
    let block = Record::new().with("type", "text").with("text", text);
    let reply = Record::new()
        .with("choices", vec![Value::from(choice)])
        .with("content", vec![Value::from(block)])
        .with("message", message)
        .with("asked", question.identity.to_string());
    Value::from(reply).to_string()
}
