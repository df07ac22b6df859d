//! `store`: how a store of recordings behaves when it is large. Makes one with the store's own ingest,
//! of runs that are made up from a seed, and then asks of it what people ask.

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use auto_json::{Canonical, Record, Value};
use auto_schema::contract::SpanKind as Kind;
use auto_store::{Ingested, Scope, Span, SpanKind, Store, Trace};
use clap::Args;

/// Time, space and memory of a store with many spans
///
/// Each run has a structural span, two model calls and tool calls for the rest. A share of the
/// operations has an input that nothing had before; the others have one of `--pool` inputs, of which
/// one in a hundred has several outputs.
#[derive(Args)]
pub struct Options {
    /// How many spans
    #[arg(long, default_value_t = 1_000_000)]
    spans: u64,
    /// Spans of a run
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(4..=1_000))]
    run: u64,
    /// Of a million operations, so many have an input of their own
    #[arg(long, default_value_t = 300_000)]
    fresh_ppm: u64,
    /// How many inputs the others share
    #[arg(long, default_value_t = 20_000)]
    pool: u64,
    /// Runs that are ingested at once
    #[arg(long, default_value_t = 200)]
    batch: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where the store is made; it must not be there. In a temporary folder when left out
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Ask the store at --store, which is there, and add nothing
    #[arg(long, requires = "store")]
    only_ask: bool,
}

const TASK: &str = "load";

impl Options {
    pub fn run(self) -> Result<Record> {
        let folder = tempfile::tempdir()?;
        let path = self.store.clone().unwrap_or_else(|| folder.path().join("load.db"));
        let mut report = Record::new().with("spans", self.spans);
        if !self.only_ask {
            ensure!(!path.exists(), "{} is there already", path.display());
            report = self.fill(&path, report)?;
        }
        self.ask(&path, report)
    }

    fn fill(&self, path: &PathBuf, report: Record) -> Result<Record> {
        let mut store = Store::create_or_open(path).context("the store")?;
        let mut random = Random(self.seed | 1);
        let (mut total, start, mut said) = (Ingested::default(), Instant::now(), 0);
        let mut rates = Vec::new();
        let runs = self.spans.div_ceil(self.run);
        let (mut number, mut since, mut since_spans) = (0, Instant::now(), 0);
        while number < runs {
            let end = (number + self.batch).min(runs);
            let traces: Vec<Trace> = (number..end).map(|number| self.trace(number, &mut random)).collect();
            total += store.ingest(&traces)?;
            number = end;
            if number * 10 / runs > said {
                said = number * 10 / runs;
                let rate = (total.spans - since_spans) as f64 / since.elapsed().as_secs_f64();
                eprintln!("{} spans, {rate:.0} a second", total.spans);
                rates.push(Value::from(rate as u64));
                (since, since_spans) = (Instant::now(), total.spans);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        // What is still in the log goes into the file when it is closed.
        drop(store);
        let bytes = std::fs::metadata(path)?.len();
        Ok(report
            .with("ingested", total.spans)
            .with("ingest_ms", (seconds * 1_000.0) as u64)
            .with("ingest_per_s", (total.spans as f64 / seconds) as u64)
            .with("ingest_per_s_by_tenth", rates)
            .with("ingest_peak_bytes", peak())
            .with("file_bytes", bytes))
    }

    fn ask(&self, path: &PathBuf, report: Record) -> Result<Record> {
        // What was needed to make it is not what is needed to ask it.
        reset_peak();
        let before = peak();
        let start = Instant::now();
        let store = Store::open_read(path)?;
        let tasks = store.tasks()?;
        let opened = start.elapsed();
        eprintln!("opened in {opened:?}: {tasks:?}");
        let start = Instant::now();
        let census = store.census(TASK)?;
        let (counted, census_peak) = (start.elapsed(), peak());
        eprintln!("census in {counted:?}, at most {census_peak} bytes of memory");
        reset_peak();
        let scope = Scope::Span { kind: Kind::ToolCall, name: "look-0".into() };
        let start = Instant::now();
        let seen = store.observations(TASK, &scope)?;
        let observed = start.elapsed();
        eprintln!("{} observations in {observed:?}", seen.len());
        Ok(report
            .with("open_ms", opened.as_millis() as u64)
            .with("census_ms", counted.as_millis() as u64)
            .with("census_spans", census.total.all.spans)
            .with("census_inputs", census.total.all.inputs)
            .with("idle_bytes", before)
            .with("census_peak_bytes", census_peak)
            .with("observations", seen.len())
            .with("observations_ms", observed.as_millis() as u64)
            .with("observations_peak_bytes", peak()))
    }

    fn trace(&self, number: u64, random: &mut Random) -> Trace {
        let started = 1_700_000_000_000_000 + number * 1_000_000;
        let span = |place: u64| self.span(place, number, started, random);
        Trace {
            id: format!("{number:032x}"),
            task: TASK.into(),
            recorder: "auto-evals".into(),
            started,
            attributes: vec![("host".into(), "load".into())],
            input: Some(json(Record::new().with("ticket", number % self.pool))),
            output: Some(json(Record::new().with("done", true))),
            partial: false,
            spans: (0..self.run).map(span).collect(),
        }
    }

    fn span(&self, place: u64, run: u64, started: u64, random: &mut Random) -> Span {
        let (kind, name) = match place {
            0 => (SpanKind::Structural, "run".to_owned()),
            1 | 2 => (SpanKind::ModelCall, "planner".to_owned()),
            _ => (SpanKind::ToolCall, format!("look-{}", place % 5)),
        };
        let own = random.below(1_000_000) < self.fresh_ppm;
        let subject = if own { format!("{run}-{place}") } else { format!("p{}", random.below(self.pool)) };
        let answer = match !own && subject.ends_with("00") {
            true => random.below(3),
            false => subject.len() as u64,
        };
        let attributes = match place {
            1 | 2 => vec![
                ("tokens".to_owned(), (100 + random.below(400)).to_string()),
                ("cost_usd_micros".to_owned(), (10 + random.below(40)).to_string()),
            ],
            _ => Vec::new(),
        };
        let text = format!("Please look up what is known of {subject}, and say it in a sentence that fits the form.");
        Span {
            id: place + 1,
            parent: (place > 0).then_some(1),
            sequence: place + 1,
            input: json(Record::new().with("subject", subject.as_str()).with("text", text)),
            output: json(Record::new().with("answer", answer).with("of", subject)),
            error: (random.below(1_000) == 0).then(|| "timeout".to_owned()),
            started: started + place * 1_000,
            duration: Some(200 + random.below(800)),
            attributes,
            kind,
            name,
        }
    }
}

fn json(record: Record) -> Canonical {
    Value::from(record).canonical()
}

/// A small generator (xorshift, Marsaglia 2003): the same seed gives the same store everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}

/// The most memory that this process had at once, in bytes; 0 where the system does not say.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1_024
}

/// Begins to count anew from what there is now.
fn reset_peak() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_store_that_is_measured_is_the_one_that_was_asked_for() {
        let options = Options {
            spans: 1_000,
            run: 10,
            fresh_ppm: 300_000,
            pool: 50,
            batch: 7,
            seed: 1,
            store: None,
            only_ask: false,
        };
        let report = options.run().unwrap();
        let figure = |key: &str| report.get(key).and_then(Value::as_u64).unwrap();
        assert_eq!((figure("ingested"), figure("census_spans")), (1_000, 900));
        let inputs = figure("census_inputs");
        assert!((250..700).contains(&inputs), "{inputs}");
        assert!(figure("observations") > 0 && figure("file_bytes") > 100_000);
    }
}
