//! What leaves the house for a teacher: without secrets, and written down.
//!
//! Every text is scrubbed; placeholders in the reply are put back, so that an edit of a text with an
//! address in it keeps the address. What still looks like a secret afterwards is not sent. A line
//! in `egress.jsonl` says what was sent: its digest, its size, and how much was taken out.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use auto_engine::{Consultation, Consulted, Teacher, Unanswered};
use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_schema::shown_path;
use auto_scrub::Scrubber;

use crate::failure::Failure;
use crate::models::Paid;
use crate::reply::Exit;

/// Purposes of consultations that go to the strong teacher, where there is one.
const HARD: [&str; 2] = ["cross", "escalate"];

/// A teacher who is told no secrets.
pub struct House {
    teacher: Arc<Paid>,
    /// Who is asked instead for what is hard.
    strong: Option<Arc<Paid>>,
    scrubber: Scrubber,
    log: PathBuf,
}

impl House {
    /// One whose log and key lie in the folder of a run.
    pub fn of(teacher: Arc<Paid>, run: &Path) -> Result<House, Failure> {
        let scrubber = Scrubber::beside(&run.join("egress"), &[])
            .map_err(|error| Failure::new(Exit::Refused, "no-scrub-key", error.to_string()))?;
        Ok(House { teacher, strong: None, scrubber, log: run.join("egress.jsonl") })
    }

    /// With somebody else for what is hard.
    pub fn with_strong(self, strong: Arc<Paid>) -> House {
        House { strong: Some(strong), ..self }
    }

    /// Who is asked for that.
    fn whom(&self, purpose: &str) -> &Arc<Paid> {
        self.strong.as_ref().filter(|_| HARD.contains(&purpose)).unwrap_or(&self.teacher)
    }

    /// The text as it may leave, and what stands for what.
    fn scrubbed(&self, text: &str, taken: &mut Taken) -> Result<String, Unanswered> {
        for (kind, value) in self.scrubber.findings(text) {
            *taken.counts.entry(kind).or_default() += 1;
            if let Some(placeholder) = self.scrubber.text(&value) {
                taken.values.insert(placeholder, value);
            }
        }
        let scrubbed = self.scrubber.text(text).unwrap_or_else(|| text.to_owned());
        match self.scrubber.findings(&scrubbed).first() {
            Some((kind, _)) => {
                let why =
                    format!("what was to be sent still holds what looks like a secret ({kind}); nothing was sent");
                Err(Unanswered::new("residual-secret", why))
            }
            None => Ok(scrubbed),
        }
    }

    fn write_down(&self, consultation: &Consultation, taken: &Taken) -> Result<(), Unanswered> {
        let sent = format!("{}\n{}", consultation.system, consultation.text);
        let counts =
            taken.counts.iter().fold(Record::new(), |record, (kind, count)| record.with(kind.as_str(), *count));
        let line = Record::new()
            .with("purpose", consultation.purpose.as_str())
            .with("to", self.whom(&consultation.purpose).model().to_string())
            .with("sha256", Digest::of(sent.as_bytes()).to_string())
            .with("bytes", sent.len())
            .with("taken_out", counts);
        let line = format!("{}\n", Value::from(line));
        let file = OpenOptions::new().create(true).append(true).open(&self.log);
        let written = file.and_then(|mut file| file.write_all(line.as_bytes()).and_then(|()| file.sync_data()));
        written.map_err(|error| {
            let why = format!("{} cannot be written, so nothing was sent: {error}", shown_path(&self.log));
            Unanswered::new("egress-unwritten", why)
        })
    }
}

/// What was taken out of a text.
#[derive(Default)]
struct Taken {
    counts: BTreeMap<String, u64>,
    /// Values by placeholder.
    values: BTreeMap<String, String>,
}

impl Taken {
    fn put_back(&self, text: String) -> String {
        self.values.iter().fold(text, |text, (placeholder, value)| text.replace(placeholder, value))
    }
}

impl Teacher for House {
    fn model(&self) -> String {
        match &self.strong {
            Some(strong) => format!("{}, {} where it is hard", self.teacher.model(), strong.model()),
            None => self.teacher.model().to_string(),
        }
    }

    fn ask(&self, system: &str, text: &str, max_output_tokens: u32) -> Result<String, Unanswered> {
        let (system, text) = (system.to_owned(), text.to_owned());
        let purpose = "ask".to_owned();
        self.consult(&Consultation { purpose, system, text, max_output_tokens, ordinal: 0, most: None }).said
    }

    fn consult(&self, consultation: &Consultation) -> Consulted {
        let mut taken = Taken::default();
        let scrubbed = self.scrubbed(&consultation.system, &mut taken).and_then(|system| {
            let text = self.scrubbed(&consultation.text, &mut taken)?;
            let scrubbed = Consultation { system, text, ..consultation.clone() };
            self.write_down(&scrubbed, &taken).map(|()| scrubbed)
        });
        match scrubbed {
            Ok(scrubbed) => {
                let Consulted { said, cost } = self.whom(&scrubbed.purpose).consult(&scrubbed);
                Consulted { said: said.map(|text| taken.put_back(text)), cost }
            }
            Err(why) => Consulted { said: Err(why), cost: 0 },
        }
    }
}
