//! What leaves the house for a teacher: without secrets, and written down.
//!
//! Every text is scrubbed; placeholders in the reply are put back, so that an edit of a text with an
//! address in it keeps the address. What still looks like a secret afterwards is not sent. A line
//! in `egress.jsonl` says what was sent: its digest, its size, and how much was taken out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use auto_engine::{Consultation, Consulted, Teacher, Unanswered};
use auto_jobs::{forms, is_withheld};
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
    /// Names of what the run hands on.
    own: BTreeSet<String>,
    log: PathBuf,
}

/// A variable as something that the scrubber looks for, whatever is in it and however it is written.
fn pattern((name, value): (String, String)) -> (String, String) {
    let name = name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }).collect();
    let literal = |form: &String| form.chars().map(|one| format!("\\x{{{:x}}}", u32::from(one))).collect::<String>();
    let mut forms = forms(&value);
    // The longest that fits is taken.
    forms.sort_by_key(|form| std::cmp::Reverse(form.len()));
    (name, forms.iter().map(literal).collect::<Vec<_>>().join("|"))
}

impl House {
    /// One whose log and key lie in a folder. What the run hands on to its commands leaves for nobody
    /// else.
    pub fn of(teacher: Arc<Paid>, folder: &Path, passed_on: Vec<(String, String)>) -> Result<House, Failure> {
        let own: Vec<(String, String)> =
            passed_on.into_iter().filter(|(_, value)| is_withheld(value)).map(pattern).collect();
        let scrubber = Scrubber::beside(&folder.join("egress"), &own)
            .map_err(|error| Failure::new(Exit::Refused, "no-scrub-key", error.to_string()))?;
        let own = own.into_iter().map(|(name, _)| name).collect();
        Ok(House { teacher, strong: None, scrubber, own, log: folder.join("egress.jsonl") })
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
            *taken.counts.entry(kind.clone()).or_default() += 1;
            // What the run hands on is not put back: it would stand in what the search makes.
            if let Some(placeholder) = self.scrubber.text(&value).filter(|_| !self.own.contains(&kind)) {
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
            // What is not sent is not written down as sent.
            self.whom(&scrubbed.purpose).refused(&scrubbed).map_or(Ok(()), Err)?;
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

    fn spent(&self) -> u64 {
        self.teacher.spent()
    }
}
