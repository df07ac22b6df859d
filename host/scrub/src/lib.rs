//! Takes secrets and personal data out of traces before anything is written.
//!
//! What is found is replaced by a placeholder that says its kind and stands for its value:
//! `<email:3f2a9c01d5e47b86>`. Equal values have equal placeholders, so what repeats still repeats;
//! the name is a keyed hash, so that a short value cannot be guessed from it. The key lies beside
//! the store and never in it. Patterns miss things: [`Scrubber::residual`] looks again at what is to
//! leave the house, and names what it finds.

mod cut;
mod kinds;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use auto_json::{Canonical, Record, Value};
use auto_store::Trace;
use regex::Regex;

pub use kinds::Kind;
use kinds::{Found, Rule};

/// Finds and replaces.
pub struct Scrubber {
    rules: Vec<Rule>,
    key: [u8; 32],
    counts: Mutex<BTreeMap<String, u64>>,
}

/// Why a scrubber cannot be made.
#[derive(Debug)]
pub enum ScrubError {
    /// A pattern of one's own is none.
    BadPattern {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The key cannot be read or made.
    Key(PathBuf, std::io::Error),
}

impl fmt::Display for ScrubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScrubError::BadPattern { name, why } => write!(f, "the pattern {name} is none: {why}"),
            ScrubError::Key(path, error) => write!(f, "the key {} cannot be read or made: {error}", path.display()),
        }
    }
}

/// Something that would have to be taken out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residual {
    /// Its kind.
    pub kind: String,
    /// The span or the part of the trace that it is in.
    pub at: String,
}

impl Scrubber {
    /// One with every kind of ours and patterns of one's own, under a key.
    pub fn new(own: &[(String, String)], key: [u8; 32]) -> Result<Scrubber, ScrubError> {
        let mut rules = Vec::new();
        for (name, pattern) in own {
            let bad = |why: String| ScrubError::BadPattern { name: name.clone(), why };
            if name.is_empty() || !name.chars().all(|one| one.is_ascii_alphanumeric() || one == '-' || one == '_') {
                return Err(bad("its name must be of letters, digits, - and _".into()));
            }
            let regex = Regex::new(pattern).map_err(|error| bad(error.to_string()))?;
            if regex.is_match("") {
                return Err(bad("it matches nothing at all, so everywhere".into()));
            }
            rules.push(Rule::own(name, regex));
        }
        rules.extend(kinds::all());
        Ok(Scrubber { rules, key, counts: Mutex::default() })
    }

    /// One whose key lies beside a store; the key is made where there is none.
    pub fn beside(store: &Path, own: &[(String, String)]) -> Result<Scrubber, ScrubError> {
        let path = auto_store::beside(store, ".scrub-key");
        let key = key(&path).map_err(|error| ScrubError::Key(path, error))?;
        Scrubber::new(own, key)
    }

    /// Replaces what is found in a trace, in every text that it holds.
    pub fn trace(&self, trace: &mut Trace) {
        let value = |text: &mut Canonical| {
            if let Some(scrubbed) = self.value(&text.value(), None) {
                *text = scrubbed.canonical();
            }
        };
        let notes = |notes: &mut Vec<(String, String)>| {
            for (key, text) in notes {
                let scrubbed = self.member(key, text).or_else(|| self.text(text));
                *text = scrubbed.unwrap_or_else(|| std::mem::take(text));
            }
        };
        trace.input.iter_mut().chain(&mut trace.output).for_each(value);
        notes(&mut trace.attributes);
        for span in &mut trace.spans {
            value(&mut span.input);
            value(&mut span.output);
            notes(&mut span.attributes);
            for text in span.error.iter_mut().chain([&mut span.name]) {
                if let Some(scrubbed) = self.text(text) {
                    *text = scrubbed;
                }
            }
        }
    }

    /// The value without what was found; none where nothing was.
    pub fn value(&self, value: &Value, key: Option<&str>) -> Option<Value> {
        match value {
            Value::Text(text) => {
                key.and_then(|key| self.member(key, text)).or_else(|| self.text(text)).map(Value::Text)
            }
            // A number may be a card's or a phone's as well.
            Value::Number(number) => self.text(&number.text()).map(Value::Text),
            Value::List(items) => {
                let mended = self.mended(items);
                let items = mended.as_ref().unwrap_or(items);
                let scrubbed: Vec<Option<Value>> = items.iter().map(|item| self.value(item, key)).collect();
                (mended.is_some() || scrubbed.iter().any(Option::is_some)).then(|| {
                    scrubbed
                        .into_iter()
                        .zip(items)
                        .map(|(new, old)| new.unwrap_or_else(|| old.clone()))
                        .collect::<Vec<_>>()
                        .into()
                })
            }
            Value::Record(record) => self.record(record),
            _ => None,
        }
    }

    fn record(&self, record: &Record) -> Option<Value> {
        let mut changed = false;
        let members = record.iter().map(|(key, value)| {
            let name = self.text(key);
            let scrubbed = self.value(value, Some(key));
            changed |= name.is_some() || scrubbed.is_some();
            (name.unwrap_or_else(|| key.to_owned()), scrubbed.unwrap_or_else(|| value.clone()))
        });
        let members: Record = members.collect();
        changed.then(|| members.into())
    }

    /// The text without what was found; none where nothing was.
    pub fn text(&self, text: &str) -> Option<String> {
        let found = self.find(text);
        if found.is_empty() {
            return None;
        }
        let (mut out, mut at) = (String::with_capacity(text.len()), 0);
        for one in found {
            out.push_str(&text[at..one.range.start]);
            out.push_str(&self.placeholder(one.kind, &text[one.range.clone()]));
            self.count(one.kind);
            at = one.range.end;
        }
        out.push_str(&text[at..]);
        Some(out)
    }

    /// What stands under a name that only secrets have.
    fn member(&self, key: &str, text: &str) -> Option<String> {
        is_secret(key, text).then(|| {
            self.count(Kind::Secret.name());
            self.placeholder(Kind::Secret.name(), text)
        })
    }

    /// What is found in a text, in its order; of what overlaps the first kind counts.
    fn find<'s>(&'s self, text: &str) -> Vec<Found<'s>> {
        let mut found: Vec<Found<'s>> = Vec::new();
        for rule in &self.rules {
            for range in rule.find(text) {
                let apart = |one: &Found<'_>| one.range.end <= range.start || range.end <= one.range.start;
                if found.iter().all(apart)
                    && !is_placeholder(&text[range.clone()])
                    && !in_placeholder(text, range.start)
                {
                    found.push(Found { kind: rule.name(), range });
                }
            }
        }
        found.sort_by_key(|one| one.range.start);
        found
    }

    /// What would be taken out of a text: kind and value, in its order.
    pub fn findings(&self, text: &str) -> Vec<(String, String)> {
        self.find(text).into_iter().map(|one| (one.kind.to_owned(), text[one.range].to_owned())).collect()
    }

    fn placeholder(&self, kind: &str, value: &str) -> String {
        let hash = hmac_sha256::HMAC::mac(value.as_bytes(), self.key);
        let name: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        format!("<{kind}:{name}>")
    }

    fn count(&self, kind: &str) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry(kind.to_owned()).or_default() += 1;
    }

    /// How much was replaced so far, by kind.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What of a trace would have to be taken out.
    pub fn residual(&self, trace: &Trace) -> Vec<Residual> {
        let mut looking = Looking { scrubber: self, found: Vec::new() };
        trace.input.iter().chain(&trace.output).for_each(|value| looking.value(&value.value(), None, "the run"));
        trace.attributes.iter().for_each(|(key, text)| looking.text(Some(key), text, "an attribute of the run"));
        for span in &trace.spans {
            let at = format!("span {} ({})", span.sequence, span.kind);
            [&span.input, &span.output].into_iter().for_each(|value| looking.value(&value.value(), None, &at));
            span.attributes.iter().for_each(|(key, text)| looking.text(Some(key), text, &at));
            span.error.iter().chain([&span.name]).for_each(|text| looking.text(None, text, &at));
        }
        looking.found
    }
}

/// Looks for what would have to be taken out.
struct Looking<'s> {
    scrubber: &'s Scrubber,
    found: Vec<Residual>,
}

impl Looking<'_> {
    fn note(&mut self, kind: &str, at: &str) {
        self.found.push(Residual { kind: kind.to_owned(), at: at.to_owned() });
    }

    /// A text, and the key that it stands under.
    fn text(&mut self, key: Option<&str>, text: &str, at: &str) {
        if key.is_some_and(|key| is_secret(key, text)) {
            self.note(Kind::Secret.name(), at);
        } else {
            self.scrubber.find(text).into_iter().for_each(|one| self.note(one.kind, at));
        }
    }

    /// Every text in a value; keys too.
    fn value(&mut self, value: &Value, key: Option<&str>, at: &str) {
        match value {
            Value::Text(text) => self.text(key, text, at),
            Value::Number(number) => self.text(None, &number.text(), at),
            Value::List(items) => {
                self.scrubber.cut_kinds(items).iter().for_each(|kind| self.note(kind, at));
                items.iter().for_each(|item| self.value(item, key, at));
            }
            Value::Record(record) => record.iter().for_each(|(key, value)| {
                self.text(None, key, at);
                self.value(value, Some(key), at);
            }),
            _ => {}
        }
    }
}

/// Whether a text stands under a name that only secrets have.
fn is_secret(key: &str, text: &str) -> bool {
    kinds::names_a_secret(key) && !text.is_empty() && !is_placeholder(text)
}

fn is_placeholder(text: &str) -> bool {
    let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
    inner.and_then(|inner| inner.split_once(':')).is_some_and(|(_, name)| is_name(name))
}

fn is_name(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a place is inside of a placeholder that stands in the text already.
fn in_placeholder(text: &str, at: usize) -> bool {
    let Some(open) = text[..at].rfind('<') else { return false };
    text[open..].find('>').is_some_and(|close| open + close > at && is_placeholder(&text[open..=open + close]))
}

/// The key in a file; made where there is none, for its owner alone.
fn key(path: &Path) -> std::io::Result<[u8; 32]> {
    let wrong = || std::io::Error::other("it does not hold 32 bytes; equal values would get other placeholders");
    match auto_files::regular::read(path, 32) {
        Ok(bytes) => bytes.try_into().map_err(|_| wrong()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(|_| std::io::Error::other("this machine gives no random numbers"))?;
            match auto_files::create_private(path, &key) {
                // Somebody else was first.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                    auto_files::regular::read(path, 32)?.try_into().map_err(|_| wrong())
                }
                made => made.map(|()| key),
            }
        }
        Err(error) => Err(error),
    }
}
