//! All that a run proves, sentence by sentence.

mod edits;
mod evolution;
mod experiments;
mod given;
mod literature;
mod scores;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use auto_json::Value;

use crate::artifacts::{Artifact, Artifacts, Literature, Unreadable, Whole};
use crate::evidence::{Category, Evidence, Origin, Tag, Typed};
use crate::exact::Exact;
use crate::lexicon::Lexicon;
use crate::unit::Unit;

/// What the whole run is called.
pub const RUN: &str = "the run";

/// The evidence of a run, the names of its things, and the files it rests on.
pub struct Corpus {
    run: String,
    whole: Whole,
    evidence: Vec<Evidence>,
    by_id: BTreeMap<String, usize>,
    lexicon: Lexicon,
    artifacts: Vec<Artifact>,
    left_out: Vec<String>,
    names: BTreeMap<&'static str, String>,
}

/// A corpus that is being made.
struct Making<'a> {
    artifacts: &'a Artifacts,
    whole: &'a Whole,
    evidence: Vec<Evidence>,
    lexicon: Lexicon,
    files: BTreeMap<String, Artifact>,
    left_out: Vec<String>,
    names: BTreeMap<&'static str, String>,
}

impl Corpus {
    /// What the files of a run prove, and what the given texts say.
    pub fn of(artifacts: &Artifacts, literature: &[Literature]) -> Result<Corpus, Unreadable> {
        let whole = artifacts.run_and_report()?;
        let mut making = Making {
            artifacts,
            whole: &whole,
            evidence: Vec::new(),
            lexicon: Lexicon::default(),
            files: BTreeMap::new(),
            left_out: Vec::new(),
            names: BTreeMap::new(),
        };
        for phrase in [RUN, "the search", artifacts.run()] {
            making.lexicon.add(phrase, Category::Who, RUN);
        }
        evolution::names(&mut making);
        given::read(&mut making)?;
        scores::read(&mut making);
        evolution::read(&mut making)?;
        edits::read(&mut making);
        experiments::read(&mut making)?;
        literature::read(&mut making, literature);
        let Making { evidence, lexicon, files, left_out, names, .. } = making;
        let mut unique = Vec::<Evidence>::new();
        let mut by_id = BTreeMap::new();
        for evidence in evidence {
            if let Entry::Vacant(free) = by_id.entry(evidence.short()) {
                free.insert(unique.len());
                unique.push(evidence);
            }
        }
        let artifacts_read = files.into_values().collect();
        let run = artifacts.run().to_owned();
        Ok(Corpus { run, whole, evidence: unique, by_id, lexicon, artifacts: artifacts_read, left_out, names })
    }

    /// The name of the run.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Which search it was.
    pub fn kind(&self) -> &str {
        &self.whole.kind
    }

    /// What came of it, for tables and drawings.
    pub fn report(&self) -> &Value {
        &self.whole.report
    }

    /// All of it.
    pub fn evidence(&self) -> &[Evidence] {
        &self.evidence
    }

    /// One by the short form of its name.
    pub fn find(&self, id: &str) -> Option<&Evidence> {
        self.by_id.get(id).and_then(|at| self.evidence.get(*at))
    }

    /// The names of the run's things.
    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    /// The files that evidence was made of.
    pub fn artifacts(&self) -> &[Artifact] {
        &self.artifacts
    }

    /// What was given and is not in it, with why.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// What the run calls something of its own: `before`, `after`.
    pub fn name(&self, of: &str) -> Option<&str> {
        self.names.get(of).map(String::as_str)
    }

    /// The evidence with such a number of such things: the first whose tags are exactly these and that
    /// has a number of that name.
    pub fn with_value(&self, name: &str, tags: &[(Category, &str)]) -> Option<&Evidence> {
        self.evidence.iter().find(|evidence| {
            let all = tags
                .iter()
                .all(|(category, of)| evidence.value(name).is_some_and(|value| value.tagged(*category).contains(of)));
            all && evidence.value(name).is_some() && !evidence.literature
        })
    }

    /// The evidence from that place.
    pub fn at(&self, locator: &str) -> Option<&Evidence> {
        self.evidence.iter().find(|evidence| evidence.locator == locator && !evidence.literature)
    }
}

impl Making<'_> {
    fn origin_of_report(&mut self) -> Origin {
        self.origin("report.json", self.whole.came, false)
    }

    fn origin_of_given(&mut self) -> Origin {
        self.origin("run.json", self.whole.given, false)
    }

    fn origin(&mut self, name: &str, digest: auto_schema::digest::Digest, literature: bool) -> Origin {
        self.files.insert(name.to_owned(), Artifact { name: name.to_owned(), digest });
        Origin { artifact: digest, source: name.to_owned(), literature }
    }

    fn say(&mut self, origin: &Origin, locator: &str, text: String, tags: &[Tag], values: Vec<Typed>) {
        self.evidence.push(Evidence::new(origin, locator, text, tags, values));
    }

    /// The same of the run as a whole.
    fn say_of_run(&mut self, locator: &str, text: String, values: Vec<Typed>) {
        let origin = self.origin_of_report();
        self.say(&origin, locator, text, &[who(RUN)], values);
    }
}

fn who(name: &str) -> Tag {
    (Category::Who, name.to_owned())
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_list).unwrap_or_default()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_text).unwrap_or_default()
}

fn integer(value: &Value, key: &str) -> Option<i64> {
    value.get(key).and_then(Value::as_i64)
}

fn counted(name: &str, number: i64, noun: &str) -> Typed {
    Typed::new(name, Exact::count(number), Unit::count(noun))
}

/// A text as it may stand in a quotation: on one line, without quotation marks of its own.
fn quotable(text: &str) -> Option<String> {
    let plain = text.trim();
    let fits = !plain.is_empty() && plain.chars().count() <= 300;
    let clean = !plain.chars().any(|one| matches!(one, '“' | '”') || auto_schema::is_unseen(one));
    (fits && clean).then(|| plain.to_owned())
}

/// A text as it may stand between backticks.
fn codable(text: &str) -> Option<String> {
    quotable(text).filter(|text| !text.contains('`'))
}

/// So many of a noun, in words that people use.
fn many(number: i64, noun: &str) -> String {
    let plural = match noun.strip_suffix('y') {
        _ if number == 1 => noun.to_owned(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    format!("{number} {plural}")
}
