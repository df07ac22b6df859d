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
use auto_schema::shown_path;
use wasmtime::component::Val;

use crate::journal::{Durability, Journal, JournalError};
use crate::judge::{Consulted, Teacher, Unanswered};
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

/// `auto:host/teacher.consultation`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the fields of that record")]
pub struct Consultation {
    pub purpose: String,
    pub system: String,
    pub text: String,
    pub max_output_tokens: u32,
    pub ordinal: u32,
    pub most: Option<u64>,
}

impl Consultation {
    /// `None` for a value of another type.
    pub(crate) fn of(value: &Val) -> Option<Consultation> {
        let Inquiry { system, text, max_output_tokens } = Inquiry::of(value)?;
        let purpose = wire::field(value, "purpose").and_then(wire::as_text)?.to_owned();
        let Some(Val::U32(ordinal)) = wire::field(value, "ordinal") else { return None };
        let most = match wire::as_option(wire::field(value, "most")?)? {
            Some(Val::U64(most)) => Some(*most),
            Some(_) => return None,
            None => None,
        };
        Some(Consultation { purpose, system, text, max_output_tokens, ordinal: *ordinal, most })
    }
}

/// Who is asked in a job.
pub(crate) struct Asking {
    teacher: Option<Arc<dyn Teacher>>,
    folder: PathBuf,
    /// Where the consultation that is on its way is written down.
    flight: PathBuf,
}

/// A consultation that is on its way.
struct Flight {
    call: String,
    /// What the teacher had spent before.
    spent: u64,
    /// The most that it may cost.
    most: Option<u64>,
    /// What attempts before this one may have cost.
    lost: u64,
}

impl Flight {
    fn text(&self) -> String {
        let record = Record::new().with("call", self.call.as_str()).with("spent_micro_usd", self.spent);
        let record = record.with("most_micro_usd", self.most).with("lost_micro_usd", self.lost);
        Value::from(record).canonical().into_string()
    }

    fn read(text: &str) -> Option<Flight> {
        let value = Value::parse(text).ok()?;
        let number = |key: &str| value.get(key)?.as_u64();
        Some(Flight {
            call: value.get("call")?.as_text()?.to_owned(),
            spent: number("spent_micro_usd")?,
            most: number("most_micro_usd"),
            lost: number("lost_micro_usd")?,
        })
    }
}

impl Asking {
    pub(crate) fn new(teacher: Option<Arc<dyn Teacher>>, runs: &Path) -> Asking {
        Asking { teacher, folder: runs.join("asked"), flight: runs.join("in-flight.json") }
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

    /// Who is asked; empty where nobody is.
    pub(crate) fn model(&self) -> String {
        self.teacher.as_ref().map(|teacher| teacher.model()).unwrap_or_default()
    }

    /// As [`Asking::ask`], with what it costs: `auto:host/teacher.consult`.
    pub(crate) fn consult(
        &self,
        journal: &mut Journal,
        call: Digest,
        asked: &Consultation,
    ) -> Result<Vec<Val>, JournalError> {
        if let Some(results) = journal.next(call)? {
            return Ok(results);
        }
        let (consulted, durability) = match &self.teacher {
            None => (Consulted { said: Err(Unanswered::nobody("nobody is asked")), cost: 0 }, Durability::Cached),
            Some(teacher) => match self.consulted_before(&**teacher, asked) {
                Some(consulted) => (consulted, Durability::Cached),
                None => {
                    journal.intend(call)?;
                    (self.consulted(&**teacher, call, asked), Durability::Made)
                }
            },
        };
        let said = match consulted.said {
            Ok(reply) => wire::ok(wire::text(reply)),
            Err(why) => wire::refusal(&why.code, why.message),
        };
        let results = vec![wire::record([
            ("said", said),
            ("cost", Val::U64(consulted.cost)),
            ("model", wire::text(self.model())),
        ])];
        journal.record(call, &results, durability)?;
        // Its cost is in the journal now.
        let _ = std::fs::remove_file(&self.flight);
        Ok(results)
    }

    /// Asks. What a crash left of the same call may have been paid for: that counts as its cost,
    /// and is no longer there to be spent.
    fn consulted(&self, teacher: &dyn Teacher, call: Digest, asked: &Consultation) -> Consulted {
        let flight = self.flight(teacher, call, asked.most);
        let lost = flight.lost;
        if let Err(error) = auto_files::replace(&self.flight, flight.text().as_bytes()) {
            let why = format!("{} cannot be written, so nothing was asked: {error}", shown_path(&self.flight));
            return Consulted { said: Err(Unanswered::new("in-flight-unwritten", why)), cost: lost };
        }
        let left = Consultation { most: flight.most, ..asked.clone() };
        let consulted = teacher.consult(&left);
        let consulted = Consulted { cost: consulted.cost.saturating_add(lost), ..consulted };
        if let Ok(reply) = &consulted.said {
            let kept =
                Value::from(consultation(teacher, asked).with("reply", reply.as_str()).with("cost", consulted.cost));
            // As above.
            let file = self.file(consultation(teacher, asked));
            let _ = auto_files::replace(&file, kept.canonical().as_str().as_bytes());
        }
        consulted
    }

    /// A call before it is made, with what earlier attempts at it may have cost.
    fn flight(&self, teacher: &dyn Teacher, call: Digest, most: Option<u64>) -> Flight {
        let spent = teacher.spent();
        let text = regular::text(&self.flight, LARGEST).unwrap_or_default();
        let lost = Flight::read(&text).filter(|before| before.call == call.to_string()).map_or(0, |before| {
            let since = spent.saturating_sub(before.spent);
            before.lost.saturating_add(before.most.map_or(since, |most| since.min(most)))
        });
        Flight { call: call.to_string(), spent, most: most.map(|most| most.saturating_sub(lost)), lost }
    }

    /// What was replied before, and what it cost then.
    fn consulted_before(&self, teacher: &dyn Teacher, asked: &Consultation) -> Option<Consulted> {
        let record = consultation(teacher, asked);
        let text = regular::text(&self.file(record.clone()), LARGEST).ok()?;
        let kept = Value::parse(&text).ok()?;
        let (reply, cost) = (kept.get("reply")?.as_text()?.to_owned(), kept.get("cost")?.as_u64()?);
        let same = Value::from(record.with("reply", reply.as_str()).with("cost", cost)).canonical().as_str() == text;
        same.then_some(Consulted { said: Ok(reply), cost })
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

/// What a consultation is known by; how much it may cost does not change what is said.
fn consultation(teacher: &dyn Teacher, asked: &Consultation) -> Record {
    let Consultation { system, text, max_output_tokens, ordinal, .. } = asked;
    Record::new()
        .with("model", teacher.model())
        .with("system", system.as_str())
        .with("text", text.as_str())
        .with("max_output_tokens", *max_output_tokens)
        .with("ordinal", *ordinal)
}
