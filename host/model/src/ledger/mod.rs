//! What was spent: an append-only file that is written and synced before money can be spent,
//! and before a reply is seen.
//!
//! A `reserve` line holds the worst that a call can cost; a `settle` line what it did cost. A
//! reservation without a settlement counts in full, for ever: whoever made it may have paid.
//! Several processes may write to one ledger; each sees the lines of the others before it
//! reserves. Spending is counted by session, which is what a cap is for.
//!
//! Reading it needs no tool: it is JSON Lines.

mod lines;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use auto_files::{Lock, regular};
use auto_json::{Record, Value};

use crate::error::ModelError;
use crate::money::MicroUsd;
use lines::{Chain, Next};

/// The layout of the lines.
const VERSION: u32 = 1;

/// The most bytes of a ledger that are read.
const LARGEST: u64 = 1 << 30;

/// A ledger, as far as it was read.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    /// Bytes of whole lines.
    end: u64,
    chain: Chain,
    sessions: BTreeMap<String, Totals>,
    /// Calls that were reserved and not settled: their session and their worst.
    open: BTreeMap<u64, (String, MicroUsd)>,
    /// The number of the next line.
    next: u64,
}

/// What a session came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// What calls did cost, and the worst of those that nobody settled.
    pub spent: MicroUsd,
    /// How many calls were reserved.
    pub calls: u64,
}

/// A call that may be made now.
#[derive(Debug)]
#[must_use = "a reservation that is not settled counts in full"]
pub struct Reservation {
    call: u64,
    /// The worst that it can cost.
    pub worst: MicroUsd,
}

/// What a reservation is for.
pub struct Purpose<'a> {
    /// Whose money.
    pub session: &'a str,
    /// The most that the session may spend.
    pub cap: MicroUsd,
    /// Who is asked.
    pub model: &'a str,
}

/// What became of a call.
pub struct Outcome<'a> {
    /// `ok`, or the code of an error.
    pub how: &'a str,
    /// What it cost; none for the worst.
    pub cost: Option<MicroUsd>,
    /// Tokens in and out, where the provider said.
    pub tokens: Option<(u64, u64)>,
}

impl Ledger {
    /// Opens the ledger of a file, which is made by the first reservation. Codes:
    /// `ledger-damaged`, `ledger-io`.
    pub fn open(path: &Path) -> Result<Ledger, ModelError> {
        let mut ledger = Ledger::none(path);
        ledger.catch_up()?;
        Ok(ledger)
    }

    fn none(path: &Path) -> Ledger {
        Ledger {
            path: path.to_owned(),
            end: 0,
            chain: Chain::start(),
            sessions: BTreeMap::new(),
            open: BTreeMap::new(),
            next: 0,
        }
    }

    /// Whether a file begins as a ledger does.
    pub fn starts(bytes: &[u8]) -> bool {
        bytes.starts_with(lines::OPEN.as_bytes())
    }

    /// Reads the bytes of a ledger, of which the path is told in errors. Code: `ledger-damaged`.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Ledger, ModelError> {
        let mut ledger = Ledger::none(path);
        ledger.count(bytes)?;
        Ok(ledger)
    }

    /// Every session and what it came to.
    pub fn sessions(&self) -> impl Iterator<Item = (&str, &Totals)> {
        self.sessions.iter().map(|(session, totals)| (session.as_str(), totals))
    }

    /// What a session came to, as far as was read.
    pub fn totals(&self, session: &str) -> Totals {
        self.sessions.get(session).copied().unwrap_or_default()
    }

    /// Everything that was spent, as far as was read.
    pub fn spent(&self) -> MicroUsd {
        self.sessions.values().fold(MicroUsd(0), |sum, totals| sum.plus(totals.spent))
    }

    /// Whether a call may be made for what is left, as far as was read. Code: `spend-cap`.
    pub fn affords(&self, purpose: &Purpose<'_>, worst: MicroUsd) -> Result<(), ModelError> {
        let spent = self.totals(purpose.session).spent;
        if worst > purpose.cap.less(spent) { Err(over(purpose, spent, worst)) } else { Ok(()) }
    }

    /// Sets the worst case of a call aside, on disk before this returns. Codes: `spend-cap`,
    /// `ledger-damaged`, `ledger-io`.
    pub fn reserve(&mut self, purpose: &Purpose<'_>, worst: MicroUsd) -> Result<Reservation, ModelError> {
        if worst > purpose.cap {
            // Nobody's spending could make room for it, so the ledger need not be there.
            return Err(over(purpose, MicroUsd(0), worst));
        }
        let _lock = self.lock()?;
        self.catch_up()?;
        let spent = self.totals(purpose.session).spent;
        if worst > purpose.cap.less(spent) {
            return Err(over(purpose, spent, worst));
        }
        if self.next == 0 {
            self.append(Record::new().with("event", "ledger").with("version", VERSION))?;
        }
        let call = self.next;
        let record = Record::new()
            .with("event", "reserve")
            .with("call", call)
            .with("session", purpose.session)
            .with("model", purpose.model)
            .with("worst_micro_usd", worst.0)
            .with("at_ms", now());
        self.append(record)?;
        Ok(Reservation { call, worst })
    }

    /// Says what a reserved call came to, on disk before this returns; gives what is counted for
    /// it. On an error the reservation goes on counting in full.
    pub fn settle(&mut self, reservation: &Reservation, outcome: &Outcome<'_>) -> Result<MicroUsd, ModelError> {
        let cost = outcome.cost.unwrap_or(reservation.worst);
        let mut record = Record::new()
            .with("event", "settle")
            .with("call", reservation.call)
            .with("outcome", outcome.how)
            .with("cost_micro_usd", cost.0)
            .with("measured", outcome.cost.is_some())
            .with("at_ms", now());
        if let Some((input, output)) = outcome.tokens {
            record = record.with("input_tokens", input).with("output_tokens", output);
        }
        let _lock = self.lock()?;
        self.catch_up()?;
        self.append(record)?;
        Ok(cost)
    }

    fn lock(&self) -> Result<Lock, ModelError> {
        auto_files::make_folder(auto_files::folder_of(&self.path)).map_err(|error| self.unusable(&error))?;
        let lock = Lock::take(&self.path.with_added_extension("lock"), |_| {});
        lock.map_err(|error| self.unusable(&error))
    }

    /// Reads what was written since, by us or by others.
    fn catch_up(&mut self) -> Result<(), ModelError> {
        let mut bytes = Vec::new();
        match regular::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.end == 0 => return Ok(()),
            opened => {
                let mut file = opened.map_err(|error| self.unusable(&error))?;
                let length = file.seek(SeekFrom::End(0)).map_err(|error| self.unusable(&error))?;
                if length < self.end {
                    return Err(self.damaged());
                }
                let read =
                    file.seek(SeekFrom::Start(self.end)).and_then(|_| regular::read_at_most(file, LARGEST, &mut bytes));
                read.map_err(|error| self.unusable(&error))?
            }
        };
        self.count(&bytes)
    }

    /// Counts every whole line.
    fn count(&mut self, bytes: &[u8]) -> Result<(), ModelError> {
        let mut rest = bytes;
        loop {
            match self.chain.read(rest) {
                Next::Line(record, after) => {
                    self.take(&record).ok_or_else(|| self.damaged())?;
                    self.end += (rest.len() - after.len()) as u64;
                    rest = after;
                }
                Next::Torn => return Ok(()),
                Next::Damaged => return Err(self.damaged()),
            }
        }
    }

    /// Counts a line; none where it makes no sense after those before.
    fn take(&mut self, record: &Record) -> Option<()> {
        let number = |key: &str| record.get(key).and_then(Value::as_u64);
        match (record.get("event").and_then(Value::as_text)?, self.next) {
            ("ledger", 0) => (number("version")? == u64::from(VERSION)).then_some(())?,
            ("reserve", 1..) => {
                let session = record.get("session").and_then(Value::as_text)?;
                let worst = MicroUsd(number("worst_micro_usd")?);
                (number("call")? == self.next).then_some(())?;
                let totals = self.sessions.entry(session.to_owned()).or_default();
                *totals = Totals { spent: totals.spent.plus(worst), calls: totals.calls + 1 };
                self.open.insert(self.next, (session.to_owned(), worst));
            }
            ("settle", 1..) => {
                let (session, worst) = self.open.remove(&number("call")?)?;
                let totals = self.sessions.get_mut(&session)?;
                totals.spent = totals.spent.less(worst).plus(MicroUsd(number("cost_micro_usd")?));
            }
            _ => return None,
        }
        self.next += 1;
        Some(())
    }

    /// Writes a line behind the last whole one, and counts it.
    fn append(&mut self, record: Record) -> Result<(), ModelError> {
        let mut chain = self.chain;
        let line = chain.write(record.clone());
        self.write(&line).map_err(|error| self.unusable(&error))?;
        self.take(&record).ok_or_else(|| self.damaged())?;
        (self.chain, self.end) = (chain, self.end + line.len() as u64);
        Ok(())
    }

    fn write(&self, line: &str) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let mut file = regular::open_with(&mut options, &self.path)?;
        // What a crash left of a line goes.
        file.set_len(self.end)?;
        file.seek(SeekFrom::Start(self.end))?;
        file.write_all(line.as_bytes())?;
        file.sync_data()?;
        if self.end == 0 { auto_files::sync_folder(auto_files::folder_of(&self.path)) } else { Ok(()) }
    }

    fn unusable(&self, error: &io::Error) -> ModelError {
        let message =
            format!("the ledger {} cannot be used: {error}; nothing is spent without it", self.path.display());
        ModelError::new("ledger-io", message).help("mend that, or name another with --spend-ledger")
    }

    fn damaged(&self) -> ModelError {
        let message = format!(
            "the ledger {} is damaged at byte {}, so what was spent is not known, and nothing is spent",
            self.path.display(),
            self.end
        );
        ModelError::new("ledger-damaged", message)
            .help("look at the provider's bill; then move the file away, and a new one is begun")
    }
}

fn over(purpose: &Purpose<'_>, spent: MicroUsd, worst: MicroUsd) -> ModelError {
    let message = format!(
        "asking {} can cost {worst} USD, the cap is {} USD, and {spent} USD of it are spent; nothing was sent",
        purpose.model, purpose.cap
    );
    ModelError::new("spend-cap", message).help("raise it with --spend-cap-usd")
}

/// For people; nothing is decided by it.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
