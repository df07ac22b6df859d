//! `scrub`: how much of what should be taken out of texts is, and how much else is. The set is ours:
//! `evals/scrub/labelled.jsonl`, texts with what is in them, and texts with nothing in them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow};
use auto_json::{Record, Value};
use auto_scrub::Scrubber;
use clap::Args;

/// Precision and recall of scrubbing, by kind
#[derive(Args)]
pub struct Options {
    /// The labelled texts: {"text", "find": [[KIND, VALUE], …]} a line; a ~ stands for nothing, so
    /// that no scanner takes a line for a leak
    #[arg(long, default_value = "evals/scrub/labelled.jsonl")]
    data: PathBuf,
}

/// What was found of a kind.
#[derive(Clone, Copy, Default)]
struct Tally {
    right: u64,
    missed: u64,
    wrong: u64,
}

impl Tally {
    fn report(self) -> Record {
        let share = |part: u64, whole: u64| (whole > 0).then(|| part * 1_000_000 / whole);
        Record::new()
            .with("right", self.right)
            .with("missed", self.missed)
            .with("wrong", self.wrong)
            .with("precision_ppm", share(self.right, self.right + self.wrong))
            .with("recall_ppm", share(self.right, self.right + self.missed))
    }
}

impl Options {
    pub fn run(self) -> Result<Record> {
        let text = std::fs::read_to_string(&self.data).with_context(|| self.data.display().to_string())?;
        let scrubber = Scrubber::new(&[], [7; 32]).map_err(|error| anyhow!("{error}"))?;
        let (mut all, mut kinds) = (Tally::default(), BTreeMap::<String, Tally>::new());
        for (number, line) in (1..).zip(text.lines()) {
            let value = Value::parse(line).map_err(|error| anyhow!("line {number}: {error}"))?;
            let (text, expected) = labelled(&value).with_context(|| format!("line {number}"))?;
            compare(&scrubber, &text, expected, |kind, result| {
                let tally = kinds.entry(kind.to_owned()).or_default();
                for tally in [tally, &mut all] {
                    match result {
                        Outcome::Right => tally.right += 1,
                        Outcome::Missed => tally.missed += 1,
                        Outcome::Wrong => tally.wrong += 1,
                    }
                }
                if !matches!(result, Outcome::Right) {
                    eprintln!("line {number}: {kind} {}: {text:?}", result.word());
                }
            });
        }
        let kinds: Record = kinds.into_iter().map(|(kind, tally)| (kind, tally.report().into())).collect();
        Ok(all.report().with("texts", text.lines().count()).with("kinds", kinds))
    }
}

/// What became of something that was there, or was taken for it.
#[derive(Clone, Copy)]
enum Outcome {
    Right,
    Missed,
    Wrong,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Outcome::Right => "found",
            Outcome::Missed => "missed",
            Outcome::Wrong => "found, and is not there",
        }
    }
}

fn labelled(value: &Value) -> Option<(String, Vec<(String, String)>)> {
    let plain = |value: &Value| value.as_text().map(|text| text.replace('~', ""));
    let pair = |pair: &Value| match pair.as_list()? {
        [kind, found] => Some((plain(kind)?, plain(found)?)),
        _ => None,
    };
    let found = value.get("find")?.as_list()?.iter().map(pair).collect::<Option<Vec<_>>>()?;
    Some((plain(value.get("text")?)?, found))
}

/// Something counts as found where exactly it was replaced, under its kind.
fn compare(scrubber: &Scrubber, text: &str, mut expected: Vec<(String, String)>, mut tell: impl FnMut(&str, Outcome)) {
    for (kind, found) in scrubber.findings(text) {
        match expected.iter().position(|(own, value)| *own == kind && *value == found) {
            Some(at) => {
                expected.remove(at);
                tell(&kind, Outcome::Right);
            }
            None => tell(&kind, Outcome::Wrong),
        }
    }
    expected.iter().for_each(|(kind, _)| tell(kind, Outcome::Missed));
}
