//! The experiments of one run: each is run once, whatever a crash does, and no more than the run
//! may start.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use auto_files::regular;
use auto_json::{Record, Value};
use auto_schema::digest::Digest;

use crate::backend::{Backend, Job, State};
use crate::blobs::Blobs;
use crate::cost::{self, Cost};
use crate::experiment::{Experiment, Outcome};
use crate::fault::Fault;
use crate::place::clear;

/// The most bytes of what is written down of one.
const RECORD_BYTES: u64 = 4 << 20;

/// How often one is tried that the machine keeps from being run.
const ATTEMPTS: u32 = 3;
/// The wait before the second attempt; it doubles.
const BACKOFF: Duration = Duration::from_millis(200);
/// The longest wait between two looks at a job.
const LOOK: Duration = Duration::from_millis(20);
/// The name of the backend that runs commands, in `auto:host/experiments.backend`.
const COMMANDS: &str = "process";

/// The experiments of a run.
pub struct Experiments {
    run: PathBuf,
    blobs: Blobs,
    backends: Vec<Arc<dyn Backend>>,
    /// What `process` is in this run.
    configured: Option<Arc<dyn Backend>>,
    /// The most that may be started.
    budget: u32,
    /// The most micro-USD that they may say they cost; no limit where nobody set one.
    most: Option<u64>,
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
        Experiments { run: run.to_owned(), blobs: Blobs::of(run), backends, configured: None, budget, most: None }
    }

    /// What is to be run as a process is run there instead.
    pub fn with_configured(self, backend: Arc<dyn Backend>) -> Experiments {
        Experiments { configured: Some(backend), ..self }
    }

    /// The same, of which none that costs is started any more once they have cost so many micro-USD.
    pub fn up_to(self, most: u64) -> Experiments {
        Experiments { most: Some(most), ..self }
    }

    /// Whether all of them are known already, so that running them costs nothing.
    pub fn known(&self, experiments: &[Experiment]) -> bool {
        experiments.iter().all(|experiment| self.kept(experiment, experiment.key()).is_some())
    }

    /// Runs all and gives what came of each, in order.
    /// Where one costs, it is asked what ([`Cost`]).
    /// Codes of all: `unknown-backend`, `bad-experiment`, `no-blob`, `blob-damaged`, `machine`; of one:
    /// `experiment-budget`, `no-command`, `machine`.
    pub fn run(&self, backend: &str, experiments: &[Experiment]) -> Result<Vec<Result<Outcome, Fault>>, Fault> {
        let configured = self.configured.as_ref().filter(|_| backend == COMMANDS);
        let Some(runs) = configured.or_else(|| self.backends.iter().find(|known| known.name() == backend)) else {
            let known = self.configured.iter().map(|_| COMMANDS).chain(self.backends.iter().map(|known| known.name()));
            let known: Vec<&str> = known.collect();
            let message = format!("there is no backend {backend}; this run has {}", known.join(", "));
            return Err(Fault::new("unknown-backend", message));
        };
        for experiment in experiments {
            experiment.check()?;
            experiment.files.iter().try_for_each(|file| self.blobs.get(file.digest).map(drop))?;
        }
        let work = self.plan(experiments);
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

    /// What has to be started, within the budget: a place in it is taken before anything is.
    fn plan<'e>(&self, experiments: &'e [Experiment]) -> Vec<Work<'e>> {
        let keys: Vec<Digest> = experiments.iter().map(Experiment::key).collect();
        let mut started = self.started();
        let (cost, most) = (self.cost(), self.most);
        let dear = most.filter(|most| cost.micro_usd >= *most);
        // What cannot be read may be any amount.
        let unknown = most.is_some() && cost.unreadable > 0;
        let mut work = Vec::with_capacity(keys.len());
        for (at, (experiment, key)) in experiments.iter().zip(&keys).enumerate() {
            work.push(match (self.kept(experiment, *key), keys[..at].iter().position(|earlier| earlier == key)) {
                (Some(outcome), _) => Work::Known(Ok(outcome)),
                (None, Some(first)) => Work::Same(first),
                // It has its place already, from before the run was cut off.
                (None, None) if self.work(*key).exists() && self.budget > 0 => Work::Run(experiment, *key),
                (None, None) if started >= self.budget => {
                    let message = format!("the run may start {} experiments, and has", self.budget);
                    Work::Known(Err(Fault::new("experiment-budget", message)))
                }
                (None, None) if experiment.costs && dear.is_some() => {
                    let message = format!("the run's commands may cost {} micro-USD, and have", dear.unwrap_or(0));
                    Work::Known(Err(Fault::new("experiment-budget", message)))
                }
                (None, None) if experiment.costs && unknown => {
                    let message = format!(
                        "{} of the run's commands left a spent.json in which there is no {{\"micro_usd\": NUMBER}}, so \
                         nobody knows whether they stay under the cap; have them write whole micro-USD, or take the cap away",
                        cost.unreadable
                    );
                    Work::Known(Err(Fault::new("unreadable-cost", message)))
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
        let work = self.work(key);
        let mut wait = BACKOFF;
        let with_cost = cost::asked_for(experiment);
        for attempt in begun(&work).max(1).. {
            let job = self.job(key, attempt, experiment.limits.seconds);
            match self.attempt(backend, &job, &with_cost) {
                Ok(outcome) => {
                    let outcome = Outcome { attempts: attempt, ..outcome };
                    self.keep(key, &outcome)?;
                    // What cannot be removed is in nobody's way.
                    let _ = clear(&work);
                    return Ok(outcome);
                }
                // It stays where it is, and is found again.
                Err(fault) if fault.code == "unreachable" => return Err(fault),
                Err(fault) => {
                    let _ = backend.cancel(&job);
                    if !fault.passing || attempt >= ATTEMPTS {
                        let _ = clear(&work);
                        return Err(fault);
                    }
                    // The next attempt is another job; its folder says that it was begun.
                    let _ = std::fs::create_dir_all(work.join((attempt + 1).to_string()));
                    thread::sleep(wait);
                }
            }
            wait *= 2;
        }
        Err(Fault::machine("no attempt was made", key))
    }

    /// Has a job run to its end.
    fn attempt(&self, backend: &dyn Backend, job: &Job, experiment: &Experiment) -> Result<Outcome, Fault> {
        backend.submit(job, experiment, &self.blobs)?;
        let mut pause = Duration::from_millis(1);
        loop {
            match backend.poll(job)? {
                State::Ended => return backend.collect(job, experiment, &self.blobs),
                State::Lost(why) => return Err(Fault::lost(&job.name, &why)),
                State::Queued | State::Running => thread::sleep(pause),
            }
            pause = (pause * 2).min(LOOK);
        }
    }

    /// Ends the jobs of a run that was cut off, wherever they are.
    pub fn cancel(&self) -> Result<(), Fault> {
        let Some(backend) = &self.configured else { return Ok(()) };
        for entry in std::fs::read_dir(self.run.join("work")).into_iter().flatten().flatten() {
            let Ok(key) = entry.file_name().into_string() else { continue };
            for attempt in 1..=begun(&entry.path()) {
                backend.cancel(&self.named(&key, attempt, 0))?;
            }
        }
        Ok(())
    }

    fn work(&self, key: Digest) -> PathBuf {
        self.run.join("work").join(&key.to_string()[..16])
    }

    fn job(&self, key: Digest, attempt: u32, seconds: u32) -> Job {
        self.named(&key.to_string()[..16], attempt, seconds)
    }

    /// The run is told by where it is: two that were given the same have jobs of their own.
    fn named(&self, key: &str, attempt: u32, seconds: u32) -> Job {
        let place = std::path::absolute(&self.run).unwrap_or_else(|_| self.run.clone());
        let run = Digest::of(place.as_os_str().as_encoded_bytes()).to_string();
        let folder = place.join("work").join(key).join(attempt.to_string());
        Job { name: format!("auto-{}-{key}-{attempt}", &run[..12]), folder, seconds }
    }

    /// How many came to an end in this run, in this process or one before, and how many were begun
    /// and did not.
    pub fn started(&self) -> u32 {
        let names = |folder: PathBuf| {
            let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
            files.filter_map(|file| file.file_name().into_string().ok())
        };
        let ended = names(self.run.join("experiments")).filter(|name| name.ends_with(".json"));
        let ended = ended.filter_map(|name| name.get(..16).map(str::to_owned));
        let all: BTreeSet<String> = ended.chain(names(self.run.join("work"))).collect();
        u32::try_from(all.len()).unwrap_or(u32::MAX)
    }

    /// What those cost that came to an end, as they say themselves.
    pub fn cost(&self) -> Cost {
        let files = std::fs::read_dir(self.run.join("experiments")).into_iter().flatten().flatten();
        let outcomes = files.filter_map(|file| {
            let record = Value::parse(regular::read(&file.path(), RECORD_BYTES).ok()?).ok()?;
            Outcome::from_value(record.get("outcome")?)
        });
        outcomes.fold(Cost::default(), |cost, outcome| cost.with(&outcome, &self.blobs))
    }

    fn keep(&self, key: Digest, outcome: &Outcome) -> Result<(), Fault> {
        let text = record(key, outcome.to_value());
        auto_files::replace(&file(&self.run, key), text.as_bytes())
            .map_err(|error| Fault::machine("what came of an experiment cannot be written down", error))
    }

    /// What came of it before.
    fn kept(&self, experiment: &Experiment, key: Digest) -> Option<Outcome> {
        recorded(&self.run, &self.blobs, experiment, key)
    }
}

/// What came of an experiment of the run in a folder, if the file says it of this very experiment and
/// its blobs are there.
pub(crate) fn recorded(run: &Path, blobs: &Blobs, experiment: &Experiment, key: Digest) -> Option<Outcome> {
    let text = String::from_utf8(regular::read(&file(run, key), RECORD_BYTES).ok()?).ok()?;
    let outcome = Outcome::from_value(Value::parse(&text).ok()?.get("outcome")?)?;
    let mut named = [outcome.stdout, outcome.stderr].into_iter().chain(outcome.files.iter().map(|file| file.digest));
    let whole = record(key, outcome.to_value()) == text && experiment.check().is_ok();
    (whole && named.all(|digest| blobs.get(digest).is_ok())).then_some(outcome)
}

fn file(run: &Path, key: Digest) -> PathBuf {
    run.join("experiments").join(format!("{key}.json"))
}

/// The last attempt that was begun; 0 before the first.
fn begun(work: &Path) -> u32 {
    let names = std::fs::read_dir(work).into_iter().flatten().flatten();
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).max().unwrap_or(0)
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
