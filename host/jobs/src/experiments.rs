//! The experiments of one run: each is run once, whatever a crash does, and no more than the run
//! may start.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use auto_files::regular;
use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::blobs::Blobs;
use crate::experiment::{Experiment, Outcome};
use crate::fault::Fault;

/// Where experiments are run.
pub trait Backend: Send + Sync {
    /// Its name in `auto:host/experiments.backend`.
    fn name(&self) -> &str;

    /// How many it runs at once.
    fn at_once(&self) -> usize;

    /// Runs one; what it leaves goes to the blobs. `folder` is its own, is not there yet, and goes
    /// afterwards. A fault is one of the machine, or a command that is not there.
    fn run(&self, experiment: &Experiment, blobs: &Blobs, folder: &Path) -> Result<Outcome, Fault>;
}

/// The most bytes of what is written down of one.
const RECORD_BYTES: u64 = 4 << 20;

/// How often one is tried that the machine keeps from being run.
const ATTEMPTS: u32 = 3;
/// The wait before the second attempt; it doubles.
const BACKOFF: Duration = Duration::from_millis(200);

/// The experiments of a run.
pub struct Experiments {
    run: PathBuf,
    blobs: Blobs,
    backends: Vec<Arc<dyn Backend>>,
    /// The most that may be started.
    budget: u32,
}

/// What a batch is to do.
enum Work<'e> {
    /// It was run before, or is the same as an earlier one of the batch, or may not be run.
    Known(Result<Outcome, Fault>),
    Same(usize),
    Run(&'e Experiment, Digest),
}

impl Experiments {
    /// Those of a run's folder, of which at most `budget` are started.
    pub fn of(run: &Path, backends: Vec<Arc<dyn Backend>>, budget: u32) -> Experiments {
        Experiments { run: run.to_owned(), blobs: Blobs::of(run), backends, budget }
    }

    /// Whether all of them are known already, so that running them costs nothing.
    pub fn known(&self, backend: &str, experiments: &[Experiment]) -> bool {
        experiments.iter().all(|experiment| self.kept(experiment, experiment.key(backend)).is_some())
    }

    /// Runs all and gives what came of each, in order.
    /// Codes of all: `unknown-backend`, `bad-experiment`, `no-blob`, `blob-damaged`, `machine`; of one:
    /// `experiment-budget`, `no-command`, `machine`.
    pub fn run(&self, backend: &str, experiments: &[Experiment]) -> Result<Vec<Result<Outcome, Fault>>, Fault> {
        let Some(runs) = self.backends.iter().find(|known| known.name() == backend) else {
            let known: Vec<&str> = self.backends.iter().map(|known| known.name()).collect();
            let message = format!("there is no backend {backend}; this run has {}", known.join(", "));
            return Err(Fault::new("unknown-backend", message));
        };
        for experiment in experiments {
            experiment.check()?;
            experiment.files.iter().try_for_each(|file| self.blobs.get(file.digest).map(drop))?;
        }
        let work = self.plan(backend, experiments);
        let results = side_by_side(runs.at_once(), &work, |work| match work {
            Work::Known(result) => Some(result.clone()),
            Work::Same(_) => None,
            Work::Run(experiment, key) => Some(self.run_one(&**runs, experiment, *key)),
        });
        let same = |at: usize| results.get(at).and_then(Clone::clone);
        let lost = || Err(Fault::machine("no thread could be started", "run it again"));
        let results = results.iter().zip(&work).map(|(result, work)| match work {
            Work::Same(first) => same(*first).unwrap_or_else(lost),
            _ => result.clone().unwrap_or_else(lost),
        });
        Ok(results.collect())
    }

    /// What has to be started, within the budget.
    fn plan<'e>(&self, backend: &str, experiments: &'e [Experiment]) -> Vec<Work<'e>> {
        let keys: Vec<Digest> = experiments.iter().map(|experiment| experiment.key(backend)).collect();
        let mut started = self.started();
        let mut work = Vec::with_capacity(keys.len());
        for (at, (experiment, key)) in experiments.iter().zip(&keys).enumerate() {
            work.push(match (self.kept(experiment, *key), keys[..at].iter().position(|earlier| earlier == key)) {
                (Some(outcome), _) => Work::Known(Ok(outcome)),
                (None, Some(first)) => Work::Same(first),
                (None, None) if started >= self.budget => {
                    let message = format!("the run may start {} experiments, and has", self.budget);
                    Work::Known(Err(Fault::new("experiment-budget", message)))
                }
                (None, None) => {
                    started += 1;
                    Work::Run(experiment, *key)
                }
            });
        }
        work
    }

    fn run_one(&self, backend: &dyn Backend, experiment: &Experiment, key: Digest) -> Result<Outcome, Fault> {
        let folder = self.run.join("work").join(&key.to_string()[..16]);
        let mut wait = BACKOFF;
        for attempt in 1.. {
            match backend.run(experiment, &self.blobs, &folder) {
                Ok(outcome) => {
                    let outcome = Outcome { attempts: attempt, ..outcome };
                    return self.keep(key, &outcome).map(|()| outcome);
                }
                Err(fault) if fault.passing && attempt < ATTEMPTS => thread::sleep(wait),
                Err(fault) => return Err(fault),
            }
            wait *= 2;
        }
        Err(Fault::machine("no attempt was made", key))
    }

    fn folder(&self) -> PathBuf {
        self.run.join("experiments")
    }

    fn file(&self, key: Digest) -> PathBuf {
        self.folder().join(format!("{key}.json"))
    }

    /// How many came to an end in this run, in this process or one before.
    fn started(&self) -> u32 {
        let files = std::fs::read_dir(self.folder()).into_iter().flatten().flatten();
        let count = files.filter(|file| file.path().extension().is_some_and(|extension| extension == "json")).count();
        u32::try_from(count).unwrap_or(u32::MAX)
    }

    fn keep(&self, key: Digest, outcome: &Outcome) -> Result<(), Fault> {
        let text = record(key, outcome.to_value());
        auto_files::replace(&self.file(key), text.as_bytes())
            .map_err(|error| Fault::machine("what came of an experiment cannot be written down", error))
    }

    /// What came of it before, if the file says it of this very experiment and its blobs are there.
    fn kept(&self, experiment: &Experiment, key: Digest) -> Option<Outcome> {
        let text = String::from_utf8(regular::read(&self.file(key), RECORD_BYTES).ok()?).ok()?;
        let outcome = Outcome::from_value(Value::parse(&text).ok()?.get("outcome")?)?;
        let mut blobs =
            [outcome.stdout, outcome.stderr].into_iter().chain(outcome.files.iter().map(|file| file.digest));
        let whole = record(key, outcome.to_value()) == text && experiment.check().is_ok();
        (whole && blobs.all(|digest| self.blobs.get(digest).is_ok())).then_some(outcome)
    }
}

fn record(key: Digest, outcome: Value) -> String {
    let record = Record::new().with("key", key.to_string()).with("outcome", outcome);
    Value::from(record).canonical().into_string()
}

/// Applies `work` to every item, so many at once.
fn side_by_side<T: Sync, R: Send>(
    at_once: usize,
    items: &[T],
    work: impl Fn(&T) -> Option<R> + Sync,
) -> Vec<Option<R>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(items.iter().map(|_| None).collect::<Vec<Option<R>>>());
    let take = || {
        while let Some((at, item)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, items.get(at)?)))
        {
            let result = work(item);
            results.lock().unwrap_or_else(PoisonError::into_inner)[at] = result;
        }
    };
    thread::scope(|scope| {
        for _ in 1..at_once.min(items.len()) {
            // Fewer threads only take longer.
            let _ = thread::Builder::new().spawn_scoped(scope, take);
        }
        take();
    });
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}
