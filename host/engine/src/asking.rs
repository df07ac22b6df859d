//! Inquiries of a teacher in a driver's or a proposer's own words.
//!
//! What it replies decides nothing: a program that it proposes is checked like any other.
//! Replies are kept by content in the runs folder and paid for once. Asking is a call that
//! costs: its intent is in the journal before it is made.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use auto_files::regular;
use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use wasmtime::component::Val;

use crate::journal::{Durability, Journal, JournalError};
use crate::judge::{Teacher, Unanswered};
use crate::wire;

/// The most bytes of a kept reply.
const LARGEST: u64 = 64 << 20;

/// `auto:host/teacher.inquiry`.
pub(crate) struct Inquiry {
    system: String,
    text: String,
    max_output_tokens: u32,
}

impl Inquiry {
    /// `None` for a value of another type.
    pub(crate) fn of(value: &Val) -> Option<Inquiry> {
        let text = |name: &str| wire::field(value, name).and_then(wire::as_text).map(str::to_owned);
        match wire::field(value, "max-output-tokens") {
            Some(Val::U32(most)) => {
                Some(Inquiry { system: text("system")?, text: text("text")?, max_output_tokens: *most })
            }
            _ => None,
        }
    }
}

/// Who is asked in a job.
pub(crate) struct Asking {
    teacher: Option<Arc<dyn Teacher>>,
    folder: PathBuf,
}

impl Asking {
    pub(crate) fn new(teacher: Option<Arc<dyn Teacher>>, runs: &Path) -> Asking {
        Asking { teacher, folder: runs.join("asked") }
    }

    /// A reply, from the journal, from what was replied before, or from the teacher; `call` is
    /// what the journal knows the inquiry by. The result is `auto:host/teacher.ask`'s.
    pub(crate) fn ask(&self, journal: &mut Journal, call: Digest, inquiry: &Inquiry) -> Result<Vec<Val>, JournalError> {
        if let Some(results) = journal.next(call)? {
            return Ok(results);
        }
        let (reply, durability) = match &self.teacher {
            None => (Err(Unanswered::nobody("nobody proposes")), Durability::Cached),
            Some(teacher) => match self.kept(&**teacher, inquiry) {
                Some(reply) => (Ok(reply), Durability::Cached),
                None => {
                    journal.intend(call)?;
                    (self.replied(&**teacher, inquiry), Durability::Made)
                }
            },
        };
        let results = vec![match reply {
            Ok(reply) => wire::ok(wire::text(reply)),
            Err(why) => wire::refusal(&why.code, why.message),
        }];
        journal.record(call, &results, durability)?;
        Ok(results)
    }

    fn replied(&self, teacher: &dyn Teacher, inquiry: &Inquiry) -> Result<String, Unanswered> {
        let reply = teacher.ask(&inquiry.system, &inquiry.text, inquiry.max_output_tokens)?;
        let asked = asked(teacher, inquiry);
        let kept = Value::from(asked.clone().with("reply", reply.as_str())).canonical();
        // One that cannot be kept is paid for again another time; it is no less a reply.
        let _ = auto_files::replace(&self.file(asked), kept.as_str().as_bytes());
        Ok(reply)
    }

    /// What was replied before, if the file says it of this very inquiry.
    fn kept(&self, teacher: &dyn Teacher, inquiry: &Inquiry) -> Option<String> {
        let asked = asked(teacher, inquiry);
        let text = regular::text(&self.file(asked.clone()), LARGEST).ok()?;
        let reply = Value::parse(&text).ok()?.get("reply")?.as_text()?.to_owned();
        let same = Value::from(asked.with("reply", reply.as_str())).canonical().as_str() == text;
        same.then_some(reply)
    }

    fn file(&self, asked: Record) -> PathBuf {
        let asked = Value::from(asked).canonical();
        self.folder.join(format!("{}.json", Digest::of(asked.as_str().as_bytes())))
    }
}

fn asked(teacher: &dyn Teacher, inquiry: &Inquiry) -> Record {
    Record::new()
        .with("model", teacher.model())
        .with("system", inquiry.system.as_str())
        .with("text", inquiry.text.as_str())
        .with("max_output_tokens", inquiry.max_output_tokens)
}
