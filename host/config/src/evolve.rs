//! `[learning.evolve]`: what the host itself has to know of it. The rest is handed to the driver as it
//! stands, which reads it strictly.

use std::path::{Path, PathBuf};

use auto_json::{Record, Value};

use crate::learning::{Teacher, mode};
use crate::table::{ConfigError, Table};

/// `[learning.evolve]`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evolve {
    /// `files` of `[.rows]`: what everything is measured on.
    pub rows: Vec<PathBuf>,
    /// `files`: what the evaluator or the scorer finds beside an individual.
    pub files: Vec<PathBuf>,
    /// `folder` of `[.code]`: the files of the first individual.
    pub code: Option<PathBuf>,
    /// `probe` of `[.program]`: what a program is run on.
    pub probe: Option<PathBuf>,
    /// `network`: whether experiments may use it.
    pub network: bool,
    /// `pass_environment`: names of variables that are handed on and kept nowhere.
    pub pass_environment: Vec<String>,
    /// `at_once`: how many experiments at once.
    pub at_once: Option<u64>,
    /// `max_jobs`: the most that are started.
    pub max_jobs: u64,
    /// The table without what is above, `max_jobs` included.
    pub settings: Record,
    /// Who is asked.
    pub teacher: Teacher,
    /// `strong_teacher`: who is asked instead for what is hard.
    pub strong: Option<String>,
}

type Result<T> = core::result::Result<T, ConfigError>;

/// The keys that are the host's alone.
const OURS: [&str; 6] = ["files", "network", "pass_environment", "at_once", "model_mode", "max_cost_usd"];

pub(crate) fn read(table: &Table<'_>, folder: &Path) -> Result<Evolve> {
    let place = |path: &String| folder.join(path);
    let mut settings = table.to_record()?;
    OURS.iter().for_each(|key| drop(settings.remove(key)));
    let rows = match (table.table("rows")?, table.table("ab")?) {
        (Some(rows), _) => rows.texts("files")?.unwrap_or_default(),
        // An A/B test has no rows: its command brings the counts.
        (None, Some(_)) => Vec::new(),
        (None, None) => return Err(table.absent("rows")),
    };
    take(&mut settings, "rows", "files");
    take(&mut settings, "code", "folder");
    take(&mut settings, "program", "probe");
    let inner = |key: &str, path: &str| -> Result<Option<PathBuf>> {
        let Some(inner) = table.table(key)? else { return Ok(None) };
        Ok(inner.text(path)?.as_ref().map(place))
    };
    let cap = table.micros("max_cost_usd", 0..=1_000_000_000_000)?;
    // What a teacher may cost is part of what all may cost.
    if let Some(cap) = cap.filter(|_| settings.get("max_spend_usd").is_none()) {
        settings.set(
            "max_spend_usd",
            Value::Number(exact(cap).ok_or_else(|| table.bad("max_cost_usd", "it is too large"))?),
        );
    }
    Ok(Evolve {
        rows: rows.iter().map(place).collect(),
        files: table.texts("files")?.unwrap_or_default().iter().map(place).collect(),
        code: inner("code", "folder")?,
        probe: inner("program", "probe")?,
        network: table.bool("network")?.unwrap_or(false),
        pass_environment: table.texts("pass_environment")?.unwrap_or_default(),
        at_once: table.number("at_once", 1..=1024)?,
        max_jobs: table.number("max_jobs", 1..=10_000_000)?.unwrap_or(500),
        settings,
        teacher: Teacher { model: table.text("teacher")?, mode: mode(table, folder)?, cap },
        strong: table.text("strong_teacher")?,
    })
}

/// Millionths as a decimal number.
fn exact(micros: u64) -> Option<auto_json::Number> {
    auto_json::Number::decimal(micros.into(), 6)
}

/// Takes a member of a member out.
fn take(settings: &mut Record, key: &str, inner: &str) {
    if let Some(Value::Record(mut own)) = settings.remove(key) {
        own.remove(inner);
        settings.set(key, own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;

    fn parse(text: &str) -> core::result::Result<Evolve, ConfigError> {
        Config::parse(&format!("[learning.evolve]\n{text}"), Path::new("conf/auto.toml"))
            .map(|config| config.learning.evolve.unwrap())
    }

    #[test]
    fn what_is_the_host_s_is_taken_out_and_the_rest_handed_on_as_it_stands() {
        let evolve = parse(
            "files = [\"trainer.py\"]\nmax_jobs = 70\nmax_cost_usd = 0.5\nnetwork = true\nteacher = \"model:openai/gpt-4o\"\n\
             [learning.evolve.rows]\nfiles = [\"/data/rows.jsonl\"]\nlabel = \"label\"\n\
             [learning.evolve.code]\nfolder = \"base\"\neditable = [\"a.py\"]\n",
        )
        .unwrap();
        assert_eq!((evolve.rows, evolve.files), (vec!["/data/rows.jsonl".into()], vec!["conf/trainer.py".into()]));
        assert_eq!((evolve.code, evolve.probe, evolve.max_jobs), (Some("conf/base".into()), None, 70));
        assert_eq!((evolve.network, evolve.teacher.cap), (true, Some(500_000)));
        assert_eq!(
            Value::from(evolve.settings).to_string(),
            "{\"code\":{\"editable\":[\"a.py\"]},\"max_jobs\":70,\"max_spend_usd\":0.5,\"rows\":{\"label\":\"label\"},\
             \"teacher\":\"model:openai/gpt-4o\"}"
        );
    }

    #[test]
    fn what_is_not_understood_is_an_error_at_its_place() {
        for (text, code, at) in [
            ("network = 1\n[learning.evolve.rows]\n", "wrong-type", "conf/auto.toml:2:11 learning.evolve.network"),
            ("max_jobs = 0\n[learning.evolve.rows]\n", "bad-value", "conf/auto.toml:2:12 learning.evolve.max_jobs"),
            ("max_jobs = 1\n", "missing-key", "conf/auto.toml:2:1 learning.evolve.rows"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!((error.code, error.at.as_str()), (code, at), "{text}: {}", error.message);
        }
    }
}
