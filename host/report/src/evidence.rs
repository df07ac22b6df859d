//! Evidence: a sentence of which a file of the run is the proof, with the numbers in it.

use std::collections::BTreeSet;

use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::exact::Exact;
use crate::unit::Unit;

/// What kind of thing a tag names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// A candidate, an edit, a check: what something is said of.
    Who,
    /// The rows or tasks that something was measured on.
    Where,
    /// A generation, island or stage.
    When,
    /// What became of something.
    Status,
    /// What was measured.
    What,
}

/// All of them.
pub const CATEGORIES: [Category; 5] =
    [Category::Who, Category::Where, Category::When, Category::Status, Category::What];

/// Something that a number, or a whole evidence, belongs to.
pub type Tag = (Category, String);

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// More is.
    Higher,
    /// Less is.
    Lower,
}

/// A number in an evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    /// Its name in the evidence.
    pub name: String,
    /// The number.
    pub number: Exact,
    /// What it is a number of.
    pub unit: Unit,
    /// What it belongs to.
    pub tags: BTreeSet<Tag>,
    /// Which way is better, where that is known.
    pub sense: Option<Sense>,
    /// Its interval, where one was computed.
    pub interval: Option<(Exact, Exact)>,
}

/// A sentence, what proves it, and the numbers in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// Its name: the digest of all else.
    pub id: Digest,
    /// The digest of the file.
    pub artifact: Digest,
    /// The name of the file in the run's folder, or of a text that was given.
    pub source: String,
    /// Where in it: a path into JSON, or a line.
    pub locator: String,
    /// Whether somebody else's text was given, so that it may be quoted and nothing more.
    pub literature: bool,
    /// The sentence.
    pub text: String,
    /// What it says something of.
    pub tags: BTreeSet<Tag>,
    /// The numbers in it.
    pub values: Vec<Typed>,
}

impl Typed {
    /// A number with its name.
    pub fn new(name: &str, number: Exact, unit: Unit) -> Typed {
        Typed { name: name.to_owned(), number, unit, tags: BTreeSet::new(), sense: None, interval: None }
    }

    /// With something that it belongs to.
    pub fn of(mut self, category: Category, name: &str) -> Typed {
        self.tags.insert((category, name.to_owned()));
        self
    }

    /// With which way is better.
    pub fn better(mut self, sense: Sense) -> Typed {
        self.sense = Some(sense);
        self
    }

    /// The names of what it belongs to of a category.
    pub fn tagged(&self, category: Category) -> BTreeSet<&str> {
        tagged(&self.tags, category)
    }
}

/// The names of the tags of a category.
pub fn tagged(tags: &BTreeSet<Tag>, category: Category) -> BTreeSet<&str> {
    tags.iter().filter(|tag| tag.0 == category).map(|tag| tag.1.as_str()).collect()
}

/// Where an evidence came from.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The digest of the file.
    pub artifact: Digest,
    /// Its name.
    pub source: String,
    /// Whether it was given by somebody else.
    pub literature: bool,
}

impl Evidence {
    /// One with its name; what the whole belongs to, each of its numbers does.
    pub fn new(origin: &Origin, locator: &str, text: String, tags: &[Tag], values: Vec<Typed>) -> Evidence {
        let tags: BTreeSet<Tag> = tags.iter().cloned().collect();
        let with = |mut value: Typed| {
            value.tags.extend(tags.iter().cloned());
            value
        };
        let values: Vec<Typed> = values.into_iter().map(with).collect();
        let mut evidence = Evidence {
            id: Digest([0; 32]),
            artifact: origin.artifact,
            source: origin.source.clone(),
            locator: locator.to_owned(),
            literature: origin.literature,
            text,
            tags,
            values,
        };
        evidence.id = Digest::of(Value::from(evidence.to_record()).canonical().as_str().as_bytes());
        evidence
    }

    /// The short form of its name, which stands in a report.
    pub fn short(&self) -> String {
        short(self.id)
    }

    /// A number by its name.
    pub fn value(&self, name: &str) -> Option<&Typed> {
        self.values.iter().find(|value| value.name == name)
    }

    /// All but its name, for machines.
    pub fn to_record(&self) -> Record {
        let tag = |tag: &Tag| Value::from(format!("{:?}:{}", tag.0, tag.1));
        let value = |value: &Typed| {
            let interval = value.interval.as_ref();
            let interval = interval.map(|(low, high)| vec![Value::from(low.to_string()), high.to_string().into()]);
            let record = Record::new()
                .with("name", value.name.as_str())
                .with("number", value.number.to_string())
                .with("unit", value.unit.name())
                .with("sense", value.sense.map(|sense| if sense == Sense::Higher { "higher" } else { "lower" }))
                .with("interval", interval.map_or(Value::Null, Value::List))
                .with("of", value.tags.iter().map(tag).collect::<Vec<_>>());
            Value::from(record)
        };
        Record::new()
            .with("artifact", self.artifact.to_string())
            .with("source", self.source.as_str())
            .with("locator", self.locator.as_str())
            .with("literature", self.literature)
            .with("text", self.text.as_str())
            .with("values", self.values.iter().map(value).collect::<Vec<_>>())
    }
}

/// The first digits of a digest.
pub fn short(digest: Digest) -> String {
    digest.to_string()[..12].to_owned()
}
