//! What the experiments of a run ended as, and what they wrote.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_schema::digest::Digest;

use super::{Making, RUN, codable, counted, integer, many, quotable, text, who};
use crate::artifacts::{Unreadable, blob_name};
use crate::evidence::Category;

/// What all records of experiments together are called; its digest is that of what each ended as, a line each.
pub const RECORDS: &str = "experiments/";
/// The most lines of logs that are told of a run.
const MOST_LINES: usize = 200;
/// And of one experiment.
const MOST_OF_ONE: usize = 5;

pub fn read(making: &mut Making<'_>) -> Result<(), Unreadable> {
    let mut by = BTreeMap::<String, i64>::new();
    let mut lines = 0;
    // What is counted is proved by all records together, and not by how long each took.
    let mut all = String::new();
    for name in making.artifacts.names("experiments") {
        let Some(key) = name.strip_suffix(".json") else { continue };
        let (_, record) = making.artifacts.json(&format!("experiments/{name}"))?;
        if text(&record, "key") != key {
            let why =
                format!("experiments/{name} is of another experiment: it was put there from another run, or renamed");
            return Err(Unreadable::new("other-run", why));
        }
        let Some(outcome) = record.get("outcome") else { continue };
        let ending = match (text(outcome, "ending"), integer(outcome, "with")) {
            ("exited", Some(with)) => format!("exited with {with}"),
            (ending, _) => ending.to_owned(),
        };
        all.push_str(&format!("{key} {ending}\n"));
        *by.entry(ending).or_default() += 1;
        for stream in ["stdout", "stderr"] {
            if lines < MOST_LINES {
                lines += log(making, key, stream, outcome)?;
            }
        }
    }
    if by.is_empty() {
        return Ok(());
    }
    let origin = making.origin(RECORDS, Digest::of(all.as_bytes()), false);
    let ended = |making: &mut Making<'_>, ending: &str, number: i64| {
        let Some(code) = codable(ending) else { return };
        let said = format!("{} of the run ended as `{code}`.", many(number, "experiment"));
        let value = counted("experiments", number, "experiment");
        making.say(&origin, &format!("experiments?ending={ending}"), said, &[who(RUN)], vec![value]);
    };
    for (ending, number) in &by {
        ended(making, ending, *number);
    }
    // What failed is told even where nothing did.
    let failed: i64 = by.iter().filter(|(ending, _)| *ending != "exited with 0").map(|(_, number)| number).sum();
    let said = format!("{} of the run failed.", many(failed, "experiment"));
    let value = counted("failed", failed, "experiment");
    making.say(&origin, "experiments?failed", said, &[who(RUN)], vec![value]);
    Ok(())
}

/// The first lines that an experiment wrote.
fn log(making: &mut Making<'_>, key: &str, stream: &str, outcome: &Value) -> Result<usize, Unreadable> {
    let Some(digest) = Digest::parse(text(outcome, stream)) else { return Ok(0) };
    let bytes = making.artifacts.blob(digest)?;
    let name = format!("x-{}", &key[..key.len().min(12)]);
    let mut told = 0;
    for (at, line) in String::from_utf8_lossy(&bytes).lines().enumerate().take(MOST_OF_ONE) {
        let Some(line) = quotable(line) else { continue };
        let origin = making.origin(&blob_name(digest), digest, false);
        making.lexicon.add(&name, Category::Who, &name);
        let said = format!("The {stream} of the experiment {name} says: “{line}”.");
        making.say(&origin, &format!("line {}", at + 1), said, &[who(&name)], Vec::new());
        told += 1;
    }
    Ok(told)
}
