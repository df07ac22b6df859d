//! `search show`: what came of a run, and how.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use auto_json::Value;
use auto_schema::{shown, shown_path};
use clap::Args;

use super::folder::{Run, is_failed};
use super::{RunsFolder, diff, page, story};
use crate::failure::Failure;
use crate::files;
use crate::options::Global;
use crate::reply::{Exit, Reply};

/// Show what came of a run: every edit, why it was kept or not, and what it cost
#[derive(Args)]
#[command(after_help = "Example:\n  auto-host search show skill-3f2a9c01d5e4 --diff")]
pub struct Opts {
    /// The run
    run: String,
    #[command(flatten)]
    runs: RunsFolder,
    /// What each edit changed, too
    #[arg(long)]
    diff: bool,
    /// Write the page of the run
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Opts {
    pub fn run(self, global: &Global) -> Result<Reply, Failure> {
        let run = Run::load(&self.runs.folder(global), &self.run)?;
        let Some(report) = run.report()? else {
            let message = format!("the run {} has not come to its end", run.id);
            return Err(Failure::new(Exit::Refused, "unfinished", message).help(format!(
                "go on with it: auto-host search {} --resume {}",
                run.verb(),
                run.id
            )));
        };
        write_page(self.html.as_deref(), &run, &report)?;
        let mut reply = reply(&run, &report);
        if self.diff {
            reply.text = text(&run, &report, true);
        }
        reply.code = "shown".to_owned();
        (reply.exit, reply.failed) = (Exit::Done, false);
        Ok(reply)
    }

    /// Whether stdout is for the page.
    pub fn owns_stdout(&self) -> bool {
        self.html.as_deref().is_some_and(files::is_stdout)
    }
}

/// Writes the page, where it is wanted.
pub fn write_page(html: Option<&Path>, run: &Run, report: &Value) -> Result<(), Failure> {
    html.map_or(Ok(()), |path| files::write(path, page::page(&run.id, report).as_bytes()))
}

/// What a run came to.
pub fn reply(run: &Run, report: &Value) -> Reply {
    let part = |key: &str| report.get(key).and_then(Value::as_text).unwrap_or_default();
    let fields = report.as_record().cloned().unwrap_or_default();
    let fields = fields.with("run", run.id.as_str()).with("folder", run.folder.display().to_string());
    let mut reply = Reply::done(&part("status").replace('_', "-"), text(run, report, false), fields);
    if is_failed(report) {
        reply.code = part("stop").to_owned();
        (reply.exit, reply.failed) = (Exit::Refused, true);
        let help = format!(
            "\nwhat was kept before stands; to go on from there, mend it and run: auto-host search {} --resume {}",
            run.verb(),
            run.id
        );
        reply.text.push_str(&help);
    }
    reply
}

/// The states of a skill that can be gone back to, by the edits that made them.
fn states(report: &Value) -> String {
    let state = |of: &Value| Some(of.get("commit")?.as_text()?.get(..12)?.to_owned());
    let edits = report.get("timeline").and_then(Value::as_list).unwrap_or_default();
    let name = |entry: &Value| shown(entry.get("id").and_then(Value::as_text).unwrap_or_default()).to_string();
    let given = report.get("before").and_then(state).map(|state| format!("{state} as it was given"));
    let made = edits.iter().filter_map(|entry| Some(format!("{} after {}", state(entry)?, name(entry))));
    let states: Vec<String> = given.into_iter().chain(made).collect();
    if states.is_empty() { String::new() } else { format!("states: {}\n", states.join(", ")) }
}

fn text(run: &Run, report: &Value, with_diffs: bool) -> String {
    let part = |key: &str| report.get(key).and_then(Value::as_text).unwrap_or_default();
    let number = |key: &str| report.get(key).and_then(Value::as_u64).unwrap_or(0);
    let mut text = format!("{}  {}: {} ({})\n", run.id, shown(part("status")), shown(part("why")), shown(part("stop")));
    for entry in report.get("timeline").and_then(Value::as_list).unwrap_or_default() {
        text.push_str(&line(entry));
        for (mark, line) in diff::of(entry).iter().filter(|_| with_diffs) {
            let _ = writeln!(text, "      {mark}{}", shown(line));
        }
    }
    for one in report.get("scores").and_then(Value::as_list).unwrap_or_default() {
        let _ = writeln!(text, "{}", score(one));
    }
    text.push_str(&states(report));
    if let (Some(before), Some(after)) = (bytes(report, "before"), bytes(report, "after")) {
        let _ = writeln!(text, "length {before} -> {after} bytes");
    }
    let own = report.get("runs_micro_usd").and_then(Value::as_u64);
    let own = own.map(|cost| format!(" that say they cost {}", usd(cost))).unwrap_or_default();
    let _ = write!(
        text,
        "{} calls of the teacher, {}, {} runs{own}; all of it in {}",
        number("calls"),
        usd(number("spent_micro_usd")),
        number("experiments"),
        shown_path(&run.folder)
    );
    text
}

fn line(entry: &Value) -> String {
    let part = |key: &str| shown(entry.get(key).and_then(Value::as_text).unwrap_or_default()).to_string();
    let delta = entry.get("delta_micros").and_then(Value::as_i64).map(|delta| format!(" {}", signed(delta)));
    format!(
        "  {:<4} {:<14} {}{}  {}\n",
        part("id"),
        shown(story::status(entry)).to_string(),
        part("target"),
        delta.unwrap_or_default(),
        part("reason")
    )
}

fn bytes(report: &Value, side: &str) -> Option<u64> {
    report.get(side)?.get("bytes")?.as_u64()
}

/// A score before and after, in words.
pub fn score(score: &Value) -> String {
    let part = |key: &str| shown(score.get(key).and_then(Value::as_text).unwrap_or_default()).to_string();
    let side =
        |key: &str| match score.get(key).and_then(|side| Some((side.get("mean")?.as_i64()?, side.get("n")?.as_u64()?)))
        {
            Some((mean, n)) => format!("{} of {n}", percent(mean)),
            None => "not measured".to_owned(),
        };
    let stratum = if part("stratum") == "all" { String::new() } else { format!(" ({})", part("stratum")) };
    format!("{}{stratum} {} -> {}", part("metric"), side("before"), side("after"))
}

/// Micros of one, in percent.
pub fn percent(micros: i64) -> String {
    let tenths = micros.div_euclid(1_000) + i64::from(micros.rem_euclid(1_000) >= 500);
    if tenths % 10 == 0 { format!("{}%", tenths / 10) } else { format!("{}.{}%", tenths / 10, tenths % 10) }
}

/// Micros with a sign.
pub fn signed(micros: i64) -> String {
    let (whole, part) = (micros.unsigned_abs() / 1_000_000, micros.unsigned_abs() % 1_000_000);
    let sign = if micros < 0 { '-' } else { '+' };
    let part = format!("{part:06}");
    let part = part.trim_end_matches('0');
    if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

/// Micro-USD.
pub fn usd(micros: u64) -> String {
    format!("${}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use auto_json::Record;

    #[test]
    fn numbers_are_shown_exactly() {
        assert_eq!([percent(1_000_000), percent(333_333), percent(0)], ["100%", "33.3%", "0%"]);
        assert_eq!([signed(2_000_000), signed(-500_000), signed(0)], ["+2", "-0.5", "+0"]);
        assert_eq!(usd(1_000_001), "$1.000001");
        let score = Record::new()
            .with("metric", "pass_rate")
            .with("stratum", "all")
            .with("before", Record::new().with("mean", 0_i64).with("n", 3_u32))
            .with("after", Value::Null);
        assert_eq!(super::score(&score.into()), "pass_rate 0% of 3 -> not measured");
    }
}
