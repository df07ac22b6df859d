//! What a run left, read strictly. The score is made here, of predictions and labels: what a run says
//! of itself is held against it. A run that is not whole is invalid; one that tries to be taken for
//! better than it is is quarantined.

use std::collections::BTreeMap;

use auto_json::{Record, Value};
use auto_schema::digest::Digest;
use auto_search::amount;

use crate::data::Row;
use crate::lent::File;
use crate::settings::Metric;

/// A million: right.
const RIGHT: i64 = 1_000_000;
/// How far a claimed accuracy may be from the one that is found: what four places round off.
const CLAIM: i64 = 100;

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judged {
    /// It counts.
    Good(Measured),
    /// It does not.
    Bad(Bad),
}

/// A run that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// Of each row, in the rows' order, in millionths.
    pub scores: Vec<i64>,
    /// The declared numbers.
    pub metrics: BTreeMap<String, i64>,
    /// The tracker's id of this run.
    pub tracker: Option<String>,
    /// How often each label was predicted; empty where there are none.
    pub predicted: BTreeMap<String, u64>,
    /// The digest of all that it left.
    pub output: String,
    /// What it left.
    pub files: Vec<File>,
    /// The run's id.
    pub run: String,
}

/// A run that does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Whether it was an attempt to be taken for better than it is.
    pub cheat: bool,
    /// Stable, kebab-case.
    pub code: &'static str,
    /// What and why.
    pub why: String,
    /// What it said last, for whoever mends it.
    pub said: String,
}

impl Bad {
    /// A run that is not whole.
    pub fn new(code: &'static str, why: impl Into<String>) -> Bad {
        Bad { cheat: false, code, why: why.into(), said: String::new() }
    }

    /// One that cheats.
    pub fn cheat(code: &'static str, why: impl Into<String>) -> Bad {
        Bad { cheat: true, ..Bad::new(code, why) }
    }
}

type Read<T> = Result<T, Bad>;

/// What a run wrote about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The declared numbers, in millionths.
    pub metrics: BTreeMap<String, i64>,
    /// The tracker's id of it.
    pub tracker: Option<String>,
}

/// Reads `metrics.json` of the run of that id.
pub fn metrics(text: &[u8], run: &str, known: &BTreeMap<String, Metric>) -> Read<Told> {
    let value = json(text, "metrics.json")?;
    let record = value.as_record().ok_or_else(|| Bad::new("bad-metrics", "metrics.json is no object"))?;
    let own = record.get("run").and_then(Value::as_text);
    if own != Some(run) {
        let why = format!("metrics.json is of the run {:?}, and this is {run:?}", own.unwrap_or_default());
        return Err(Bad::cheat("other-run", why));
    }
    let tracker = match record.get("tracker") {
        None | Some(Value::Null) => None,
        Some(Value::Text(text)) if text.len() <= 200 => Some(text.clone()),
        Some(_) => return Err(Bad::new("bad-metrics", "`tracker` is no short text")),
    };
    let mut told = Told { metrics: BTreeMap::new(), tracker };
    for (name, value) in record.iter().filter(|(name, _)| !["run", "tracker"].contains(name)) {
        let metric = known
            .get(name)
            .ok_or_else(|| Bad::new("unknown-metric", format!("metrics.json has {name:?}, which is not declared")))?;
        if let Some(Value::Text(text)) = Some(value).filter(|value| value.as_text().is_some_and(is_not_finite)) {
            return Err(Bad::cheat("not-finite", format!("the metric {name} is {text:?}")));
        }
        let number = value.as_number().and_then(amount::truncated).ok_or_else(|| {
            Bad::new("bad-metrics", format!("the metric {name} is {value}, which is no number that can be kept"))
        })?;
        if !(metric.range.0..=metric.range.1).contains(&number) {
            return Err(Bad::new("metric-out-of-range", format!("the metric {name} is {value}")));
        }
        told.metrics.insert(name.to_owned(), number);
    }
    match known.iter().find(|(name, metric)| metric.required && !told.metrics.contains_key(*name)) {
        Some((name, _)) => Err(Bad::new("metric-missing", format!("metrics.json has no {name}"))),
        None => Ok(told),
    }
}

/// Reads `config.json`: the parameters that the run was told to use.
pub fn config(text: &[u8], params: &Record) -> Read<()> {
    let value = json(text, "config.json")?;
    match value.as_record() == Some(params) {
        true => Ok(()),
        false => Err(Bad::cheat("other-config", "config.json is not what the run was told to use")),
    }
}

/// Reads `predictions.jsonl`, one for each row, and scores each.
pub fn predictions(text: &[u8], rows: &[&Row]) -> Read<(Vec<i64>, BTreeMap<String, u64>)> {
    let own = by_id(text, "predictions.jsonl", "label", rows)?;
    let mut predicted = BTreeMap::new();
    let mut scores = Vec::with_capacity(rows.len());
    for row in rows {
        let label = own.get(row.id.as_str()).and_then(Value::as_text);
        let label =
            label.ok_or_else(|| Bad::new("bad-predictions", format!("what is predicted for {} is no text", row.id)))?;
        *predicted.entry(label.to_owned()).or_default() += 1;
        scores.push(if row.label.as_deref() == Some(label) { RIGHT } else { 0 });
    }
    Ok((scores, predicted))
}

/// Reads `scores.jsonl`, one from 0 to 1 for each row.
pub fn scores(text: &[u8], rows: &[&Row]) -> Read<Vec<i64>> {
    let own = by_id(text, "scores.jsonl", "score", rows)?;
    let one = |row: &&Row| {
        let value = own.get(row.id.as_str());
        let score = value.and_then(Value::as_number).and_then(amount::truncated);
        score.filter(|score| (0..=RIGHT).contains(score)).ok_or_else(|| {
            let shown = value.map_or_else(String::new, Value::to_string);
            Bad::new("bad-scores", format!("the score of {} is {shown}, and has to be from 0 to 1", row.id))
        })
    };
    rows.iter().map(one).collect()
}

/// Holds a claimed accuracy against the one that was found.
pub fn claim(told: &Told, scores: &[i64]) -> Read<()> {
    let (Some(claimed), Some(found)) = (told.metrics.get("accuracy"), amount::mean(scores)) else { return Ok(()) };
    match (claimed - found).abs() <= CLAIM {
        true => Ok(()),
        false => {
            let [claimed, found] = [*claimed, found].map(|number| amount::decimal(number).text());
            Err(Bad::cheat("claim-differs", format!("it says that its accuracy is {claimed}, and it is {found}")))
        }
    }
}

/// A digest of what a run left: equal for equal runs.
pub fn output(files: &[File]) -> String {
    let all: String = files.iter().map(|file| format!("{} {}\n", file.path, file.digest)).collect();
    Digest::of(all.as_bytes()).to_string()
}

fn by_id(text: &[u8], name: &str, key: &str, rows: &[&Row]) -> Read<BTreeMap<String, Value>> {
    let wanted: BTreeMap<&str, ()> = rows.iter().map(|row| (row.id.as_str(), ())).collect();
    let mut found = BTreeMap::new();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        let value = json(line, name)?;
        let record = value.as_record().filter(|record| record.len() == 2);
        let id = record.and_then(|record| record.get("id")?.as_text());
        let (Some(id), Some(own)) = (id, record.and_then(|record| record.get(key))) else {
            let why = format!("line {} of {name} is not {{\"id\", \"{key}\"}}", at + 1);
            return Err(Bad::new("bad-predictions", why));
        };
        if !wanted.contains_key(id) {
            return Err(Bad::cheat("foreign-id", format!("{name} has {id:?}, which was not asked for")));
        }
        if found.insert(id.to_owned(), own.clone()).is_some() {
            return Err(Bad::new("bad-predictions", format!("{name} has {id:?} twice")));
        }
    }
    match wanted.keys().find(|id| !found.contains_key(**id)) {
        Some(id) => Err(Bad::new(
            "prediction-missing",
            format!("{name} has {} of {} rows; not {id:?}", found.len(), rows.len()),
        )),
        None => Ok(found),
    }
}

fn json(text: &[u8], name: &str) -> Read<Value> {
    Value::parse(text).map_err(|error| {
        if is_not_finite(&String::from_utf8_lossy(text)) {
            return Bad::cheat("not-finite", format!("{name} has a number that is none (NaN or infinity)"));
        }
        Bad::new("not-json", format!("{name} is no JSON: {error}"))
    })
}

/// Whether a word of a text is a number that is none.
fn is_not_finite(text: &str) -> bool {
    let words = text.split(|one: char| !one.is_ascii_alphanumeric());
    words.into_iter().any(|word| ["nan", "inf", "infinity"].contains(&word.to_ascii_lowercase().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Split;

    fn known() -> BTreeMap<String, Metric> {
        let metric = Metric { range: (0, 2_000_000), required: true, at_most: None, at_least: None, weight: None };
        let seconds = Metric { required: false, range: (0, i64::MAX), ..metric.clone() };
        BTreeMap::from([("accuracy".to_owned(), metric), ("seconds".to_owned(), seconds)])
    }

    fn code<T: std::fmt::Debug>(read: Read<T>) -> (&'static str, bool) {
        let bad = read.unwrap_err();
        (bad.code, bad.cheat)
    }

    #[test]
    fn metrics_are_typed_finite_in_range_and_of_this_run() {
        let read = |text: &str| metrics(text.as_bytes(), "r1", &known());
        let told = read(r#"{"run":"r1","accuracy":0.123456789,"tracker":"mlflow:7"}"#).unwrap();
        assert_eq!((told.metrics["accuracy"], told.tracker.as_deref()), (123_456, Some("mlflow:7")));
        for (text, expected) in [
            (r#"{"run":"r2","accuracy":0.5}"#, ("other-run", true)),
            (r#"{"accuracy":0.5}"#, ("other-run", true)),
            (r#"{"run":"r1","accuracy":NaN}"#, ("not-finite", true)),
            (r#"{"run":"r1","accuracy":-Infinity}"#, ("not-finite", true)),
            (r#"{"run":"r1","accuracy":"nan"}"#, ("not-finite", true)),
            (r#"{"run":"r1","accuracy":true}"#, ("bad-metrics", false)),
            (r#"{"run":"r1","accuracy":null}"#, ("bad-metrics", false)),
            (r#"{"run":"r1","accuracy":2.5}"#, ("metric-out-of-range", false)),
            (r#"{"run":"r1","accuracy":-0.1}"#, ("metric-out-of-range", false)),
            (r#"{"run":"r1","seconds":1}"#, ("metric-missing", false)),
            (r#"{"run":"r1","accuracy":0.5,"loss":1}"#, ("unknown-metric", false)),
            (r#"{"run":"r1","accuracy":0.5,"seconds":1e300}"#, ("bad-metrics", false)),
            (r#"{"run":"r1","accuracy":0.5,"tracker":5}"#, ("bad-metrics", false)),
            ("[]", ("bad-metrics", false)),
            ("{", ("not-json", false)),
            ("", ("not-json", false)),
        ] {
            assert_eq!(code(read(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_configuration_is_the_one_that_was_asked_for() {
        let params = Record::new().with("n", 3_u32);
        assert_eq!(config(br#"{"n":3}"#, &params), Ok(()));
        assert_eq!(code(config(br#"{"n":4}"#, &params)), ("other-config", true));
        assert_eq!(code(config(b"", &params)), ("not-json", false));
    }

    #[test]
    fn predictions_are_one_for_each_row_that_was_asked_for() {
        let row =
            |id: &str| Row { id: id.to_owned(), input: Value::Null, label: Some("x".to_owned()), split: Split::Select };
        let all = [row("a"), row("b")];
        let rows: Vec<&Row> = all.iter().collect();
        let (found, counts) =
            predictions(b"{\"id\":\"b\",\"label\":\"y\"}\n{\"id\":\"a\",\"label\":\"x\"}\n", &rows).unwrap();
        assert_eq!((found, counts["y"]), (vec![RIGHT, 0], 1));
        for (text, expected) in [
            ("{\"id\":\"a\",\"label\":\"x\"}\n", ("prediction-missing", false)),
            ("{\"id\":\"c\",\"label\":\"x\"}\n", ("foreign-id", true)),
            ("{\"id\":\"a\",\"label\":\"x\"}\n{\"id\":\"a\",\"label\":\"x\"}", ("bad-predictions", false)),
            ("{\"id\":\"a\",\"label\":NaN}", ("not-finite", true)),
            ("{\"id\":\"a\",\"label\":1}\n{\"id\":\"b\",\"label\":\"x\"}", ("bad-predictions", false)),
            ("{\"id\":\"a\",\"label\":\"x\",\"score\":1}", ("bad-predictions", false)),
            ("", ("prediction-missing", false)),
        ] {
            assert_eq!(code(predictions(text.as_bytes(), &rows)), expected, "{text}");
        }
        for text in ["1.5", "-1", "NaN", "\"1\"", "1e400"] {
            let text = format!("{{\"id\":\"a\",\"score\":{text}}}\n{{\"id\":\"b\",\"score\":0}}");
            assert!(scores(text.as_bytes(), &rows).is_err(), "{text}");
        }
    }

    #[test]
    fn a_claim_is_held_against_what_was_found() {
        let told = |accuracy| Told { metrics: BTreeMap::from([("accuracy".to_owned(), accuracy)]), tracker: None };
        assert_eq!(claim(&told(500_000), &[RIGHT, 0]), Ok(()));
        assert_eq!(code(claim(&told(990_000), &[RIGHT, 0])), ("claim-differs", true));
    }
}
