//! `store prune`: retention.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use auto_json::Record;
use auto_schema::cbin::Cbin;
use auto_schema::shown_path;
use auto_store::{Pin, Pruned, Retention};
use clap::{ArgGroup, Args};

use super::existing;
use crate::failure::Failure;
use crate::files;
use crate::options::StoreOption;
use crate::reply::{Exit, Reply, count};
use crate::verbs::gc;

/// Microseconds of a day.
const DAY: u64 = 86_400_000_000;

/// Remove traces by age or number, but none that an artifact rests on
///
/// A trace goes where everything that is said holds of it. What shows anything of a scope that is
/// pinned stays: the scopes of eval runs that let an artifact through (in --runs), of the artifacts
/// and of the contracts that are named. Removed space is used again; `store compact` gives it back.
#[derive(Args)]
#[command(group(ArgGroup::new("rule").required(true).multiple(true).args(["older_than", "before", "keep", "partial"])))]
#[command(after_help = "Example:\n  auto-host store prune --store auto.db --older-than 90 --dry-run\n  \
    auto-host store prune --store auto.db --task tickets --keep 10000 --artifacts deployed/ --contract tickets.contract.toml")]
pub struct Opts {
    #[command(flatten)]
    store: StoreOption,
    /// Only traces of this task
    #[arg(long)]
    task: Option<String>,
    /// Only traces that began more than so many days ago
    #[arg(long, value_name = "DAYS", conflicts_with = "before")]
    older_than: Option<u64>,
    /// Only traces that began before this day (UTC)
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    before: Option<u64>,
    /// Only traces that are not among the last so many of their task
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Only traces that were cut off; they witness nothing
    #[arg(long)]
    partial: bool,
    /// The folder with records of eval runs [default: auto-runs, where it is there]
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// An artifact, or a folder of artifacts, whose evidence stays
    #[arg(long, value_name = "PATH")]
    artifacts: Vec<PathBuf>,
    /// A contract whose evidence stays
    #[arg(long, value_name = "FILE")]
    contract: Vec<PathBuf>,
    /// Remove also where nothing says what has to stay
    #[arg(long)]
    unpinned: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
}

impl Opts {
    pub fn run(self) -> Result<Reply, Failure> {
        let retention = Retention {
            task: self.task.clone(),
            before: self.before.or_else(|| self.older_than.map(days_ago)),
            keep: self.keep,
            partial: self.partial,
            pinned: self.pinned()?,
        };
        let pruned = existing(&self.store.store)?.prune(&retention, self.dry_run)?;
        Ok(told(&pruned, self.dry_run, &retention))
    }

    /// The scopes that something rests on.
    fn pinned(&self) -> Result<BTreeSet<Pin>, Failure> {
        let mut pinned = BTreeSet::new();
        let default = PathBuf::from("auto-runs");
        let runs = self.runs.as_ref().or_else(|| default.is_dir().then_some(&default));
        if let Some(runs) = runs {
            pinned.extend(gc::let_through(runs)?.into_iter().map(|(task, scope)| Pin { task, scope }));
        }
        for path in &self.artifacts {
            for file in gc::artifacts(path)? {
                let bytes = files::read(&file)?;
                let artifact = Cbin::read(&bytes).map_err(|damage| Failure::from(damage).at(shown_path(&file)))?;
                pinned.insert(Pin { task: artifact.manifest.task, scope: artifact.manifest.scope });
            }
        }
        for path in &self.contract {
            let (contract, _) = files::contract(path)?;
            pinned.insert(Pin { scope: contract.scope.to_string(), task: contract.task });
        }
        let said = runs.is_some() || !self.artifacts.is_empty() || !self.contract.is_empty();
        if !said && !self.unpinned {
            let message = "nothing says what has to stay: there is no folder of eval runs here";
            return Err(Failure::new(Exit::Usage, "nothing-pinned", message).help(
                "name the runs folder, artifacts or contracts whose evidence is in this store, or say --unpinned",
            ));
        }
        Ok(pinned)
    }
}

fn told(pruned: &Pruned, dry_run: bool, retention: &Retention) -> Reply {
    let verb = if dry_run { "would go" } else { "removed" };
    let (traces, spans) = (count(pruned.traces, "trace"), count(pruned.spans, "span"));
    let mut text = format!("{verb}: {traces} ({} cut off) with {spans}", pruned.partial);
    if !dry_run {
        text += &format!("; {} that nothing names any more", count(pruned.values, "value"));
    }
    text += &format!("\n{} left", count(pruned.kept, "trace"));
    if pruned.pinned > 0 {
        text += &format!(", {} of them only because something rests on them:", pruned.pinned);
        for pin in retention.pinned.iter().filter(|pin| retention.task.as_ref().is_none_or(|task| *task == pin.task)) {
            text += &format!("\n  {} of the task {:?}", pin.scope, pin.task);
        }
    }
    let fields = Record::new()
        .with("dry_run", dry_run)
        .with("traces", pruned.traces)
        .with("partial", pruned.partial)
        .with("spans", pruned.spans)
        .with("values", pruned.values)
        .with("pinned", pruned.pinned)
        .with("kept", pruned.kept);
    Reply::done("pruned", text, fields)
}

fn days_ago(days: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_micros());
    u64::try_from(now).unwrap_or(u64::MAX).saturating_sub(days.saturating_mul(DAY))
}

/// A day as the microseconds from 1970 to its beginning.
fn day(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is no day from 1970 on, as YYYY-MM-DD");
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts[..] else { return Err(wrong()) };
    let digits = |text: &str, length: usize| text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(year, 4) || !digits(month, 2) || !digits(day, 2) {
        return Err(wrong());
    }
    let number = |text: &str| text.parse::<u64>().map_err(|_| wrong());
    let (year, month, day) = (number(year)?, number(month)?, number(day)?);
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let february = if leap(year) { 29 } else { 28 };
    let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month).ok().and_then(|month| month.checked_sub(1)).filter(|month| *month < 12);
    let before = before.ok_or_else(wrong)?;
    if year < 1970 || day == 0 || day > lengths[before] {
        return Err(wrong());
    }
    let years: u64 = (1970..year).map(|year| if leap(year) { 366 } else { 365 }).sum();
    Ok((years + lengths[..before].iter().sum::<u64>() + day - 1) * DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_the_microseconds_to_its_beginning() {
        let days = |text| day(text).map(|micros| micros / DAY);
        assert_eq!((days("1970-01-01"), days("2000-03-01"), days("2024-02-29")), (Ok(0), Ok(11_017), Ok(19_782)));
        for wrong in [
            "2023-02-29",
            "2024-00-01",
            "2024-13-01",
            "2024-01-00",
            "1969-12-31",
            "24-01-01",
            "2024-1-1",
            "",
            "2024-01-01-",
        ] {
            assert!(day(wrong).is_err(), "{wrong}");
        }
    }
}
