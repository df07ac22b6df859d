//! `serve`: how much `auto-host serve` takes, by `wrk`, beside a server that does nothing.
//!
//! Server and client share the machine, and it does other things too: so the plain server, of the
//! same library, has its turn in the same seconds, and what is comparable elsewhere are ratios to
//! it and the processor time of a request.

mod plain;
mod server;
mod wrk;

use std::path::PathBuf;

use anyhow::{Context, ensure};
use auto_json::{Record, Value};

use crate::clock::{figure, median};
use server::Server;
use wrk::{Load, Measured};

/// Puts `auto-host serve` under load with wrk, beside a plain server
///
/// Prints a table on stderr. At half load each of the most connections waits between its requests, for
/// whole milliseconds, so that about half comes of what was taken without waiting.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  auto-evals serve --artifact demo.cbin --input '{\"text\": \"hello\"}' --artifact model.cbin --input '{\"text\": \"hello\"}'"
)]
pub struct Options {
    /// An artifact; may be given more than once
    #[arg(long, required = true)]
    artifact: Vec<PathBuf>,
    /// What each is asked, a JSON text
    #[arg(long, required = true)]
    input: Vec<String>,
    /// Connections at the same time
    #[arg(long, value_delimiter = ',', default_value = "1,8,64")]
    connections: Vec<usize>,
    /// Rounds; each subject has a turn with each number of connections in each
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Seconds of a turn
    #[arg(long, default_value_t = 2)]
    seconds: u64,
}

/// A server, and what it is asked.
struct Subject {
    name: String,
    url: String,
    process: u32,
    body: String,
}

/// What one number of connections came to, a row a round.
struct Row {
    subject: usize,
    what: String,
    rounds: Vec<Measured>,
}

impl Options {
    /// Measures, and returns the report.
    pub fn run(self) -> anyhow::Result<Record> {
        ensure!(self.artifact.len() == self.input.len(), "give one --input for each --artifact");
        ensure!(self.connections.iter().all(|count| *count > 0), "there is no load without connections");
        let plain = plain::start()?;
        let server = Server::start(&self.artifact)?;
        let mut subjects = vec![Subject {
            name: "plain".to_owned(),
            url: format!("http://{plain}/run/plain"),
            process: std::process::id(),
            body: self.input[0].clone(),
        }];
        for (at, (path, input)) in self.artifact.iter().zip(&self.input).enumerate() {
            let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
            let url = format!("http://{}/run/{}", server.address, server::name(at));
            subjects.push(Subject { name, url, process: server.process(), body: input.clone() });
        }
        let rows = self.measure(&subjects)?;
        eprint!("{}", table(&subjects, &rows));
        Ok(report(&subjects, &rows))
    }

    fn measure(&self, subjects: &[Subject]) -> anyhow::Result<Vec<Row>> {
        let mut rows: Vec<Row> = Vec::new();
        for subject in subjects {
            // A server has to have seen that an artifact is quick.
            Load { connections: 8, seconds: 1, delay: 0 }.put_on(&subject.url, &subject.body, subject.process)?;
        }
        for round in 0..self.rounds.max(1) {
            let mut next = 0;
            let mut keep = |subject: usize, what: String, measured: Measured| {
                eprintln!("round {round}: {} {what}: {measured}", subjects[subject].name);
                if rows.len() == next {
                    rows.push(Row { subject, what, rounds: Vec::new() });
                }
                rows[next].rounds.push(measured);
                next += 1;
            };
            for &connections in &self.connections {
                for (at, subject) in subjects.iter().enumerate() {
                    let load = Load { connections, seconds: self.seconds, delay: 0 };
                    let measured = load.put_on(&subject.url, &subject.body, subject.process)?;
                    keep(at, format!("{connections} connections"), measured);
                    if Some(&connections) == self.connections.iter().max() {
                        // Each waits for so long that half as many requests come, or somewhat more.
                        let between = connections as f64 / (measured.rate / 2.0) * 1e3 - measured.p50 / 1e3;
                        let delay = between.floor().max(1.0) as u64;
                        let half = Load { delay, ..load }.put_on(&subject.url, &subject.body, subject.process)?;
                        keep(at, format!("{connections} connections, half load"), half);
                    }
                }
            }
        }
        Ok(rows)
    }
}

impl Row {
    fn median(&self, of: impl Fn(&Measured) -> f64) -> f64 {
        median(self.rounds.iter().map(of).collect())
    }

    /// How much of the plain server's, in the same round.
    fn ratio(&self, plain: &Row) -> f64 {
        median(self.rounds.iter().zip(&plain.rounds).map(|(mine, plain)| mine.rate / plain.rate).collect())
    }
}

fn plain_of<'r>(rows: &'r [Row], row: &Row) -> anyhow::Result<&'r Row> {
    rows.iter().find(|plain| plain.subject == 0 && plain.what == row.what).context("the plain server had no turn")
}

fn table(subjects: &[Subject], rows: &[Row]) -> String {
    let mut table = "| server | load | requests/s | of the plain one's | p50 | p99 | p99/p50 | processor a request |\n\
                     |---|---|---:|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for row in rows {
        let ratio = plain_of(rows, row).map_or(f64::NAN, |plain| row.ratio(plain));
        table.push_str(&format!(
            "| {} | {} | {:.0} | {ratio:.2} | {:.0} µs | {:.0} µs | {:.1} | {:.1} µs |\n",
            subjects[row.subject].name,
            row.what,
            row.median(|one| one.rate),
            row.median(|one| one.p50),
            row.median(|one| one.p99),
            row.median(|one| one.p99 / one.p50),
            row.median(|one| one.processor),
        ));
    }
    table
}

fn report(subjects: &[Subject], rows: &[Row]) -> Record {
    let row = |row: &Row| {
        Value::from(
            Record::new()
                .with("server", subjects[row.subject].name.as_str())
                .with("load", row.what.as_str())
                .with("rate", figure(row.median(|one| one.rate), 0))
                .with("of_plain", plain_of(rows, row).map_or(Value::Null, |plain| figure(row.ratio(plain), 3)))
                .with("p50_micros", figure(row.median(|one| one.p50), 1))
                .with("p99_micros", figure(row.median(|one| one.p99), 1))
                .with("p99_to_p50", figure(row.median(|one| one.p99 / one.p50), 2))
                .with("processor_micros", figure(row.median(|one| one.processor), 2)),
        )
    };
    Record::new().with("rows", rows.iter().map(row).collect::<Vec<Value>>())
}
