//! Jobs that somebody else runs in a folder that both see: a batch system, a cluster, a container.
//!
//! Whoever it is, it is asked for three things: to start a job, to say whether it is still there, to
//! end it. What came of a job is what its [script](crate::script) wrote down in the folder, and no
//! word of a scheduler's: one that loses a job, starts it twice, or answers late changes only how long
//! it takes.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use auto_files::regular;

use crate::backend::{Backend, Job, State};
use crate::blobs::Blobs;
use crate::experiment::{Experiment, Limits, Outcome};
use crate::fault::Fault;
use crate::place::{End, Place};
use crate::process::Settings;
use crate::script::Script;
use crate::withheld::Withheld;

/// How many jobs are there at once, where nobody says otherwise.
const AT_ONCE: usize = 16;
/// The most bytes of what a script writes down.
const EXIT_BYTES: u64 = 4 << 10;
/// The end of what a scheduler's own log says of a job, in bytes.
const SAID_BYTES: u64 = 64 << 10;

/// How long somebody who runs jobs is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// Between two questions about a job.
    pub poll: Duration,
    /// For a job to begin.
    pub queue: Duration,
    /// Beyond a job's limit, for it to be killed and to write down how it ended.
    pub grace: Duration,
    /// For what a job left to be seen here after it ended, or for a job to be known at all.
    pub settle: Duration,
    /// For somebody who does not answer.
    pub unreachable: Duration,
}

impl Patience {
    /// The usual grace.
    pub const GRACE: Duration = Duration::from_secs(30);
}

/// What a scheduler says of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Waiting,
    Running,
    /// In the scheduler's own words.
    Ended(String),
    /// Ended, because it took more memory than it asked for.
    OutOfMemory,
    Absent,
}

/// Somebody who runs jobs. An error of `launch` says that the job was not accepted, as far as anybody
/// knows; one of the others that nobody answered.
pub(crate) trait Scheduler: Send + Sync {
    fn name(&self) -> &'static str;
    /// Starts what lies in the job's folder; where a job of the name is there already, that is well.
    fn launch(&self, job: &Job, limits: &Limits, settings: &Settings) -> Result<(), String>;
    fn look(&self, job: &Job) -> Result<Seen, String>;
    /// Ends all jobs of the name.
    fn stop(&self, job: &Job) -> Result<(), String>;
    /// Does away with what is left of a job when it was collected.
    fn tidy(&self, _job: &Job) {}
    /// How it keeps a job apart, whatever the script does.
    fn kept(&self, _settings: &Settings) -> Vec<&'static str> {
        Vec::new()
    }
}

/// The backend of a scheduler.
pub(crate) struct Posted<S> {
    scheduler: S,
    settings: Settings,
    patience: Patience,
    withheld: Withheld,
    watched: Mutex<BTreeMap<String, Watch>>,
}

/// Since when a job is as it is.
struct Watch {
    asked: Option<Instant>,
    state: State,
    /// Since when it waits, runs, or is neither; what it is begins anew when it changes.
    since: Instant,
    phase: &'static str,
    silent: Option<Instant>,
    out_of_memory: bool,
}

/// What a script wrote down.
struct Exit {
    ended: String,
    seconds: u64,
    kept: Vec<String>,
}

impl<S: Scheduler> Posted<S> {
    pub(crate) fn new(scheduler: S, settings: Settings, patience: Patience) -> Posted<S> {
        let withheld = Withheld::of(&settings.environment);
        Posted { scheduler, settings, patience, withheld, watched: Mutex::default() }
    }

    /// How it ended; none while nobody said so. Code: `foreign-output`.
    fn exit(&self, job: &Job) -> Result<Option<Exit>, Fault> {
        let Ok(bytes) = regular::read(&job.folder.join("exit"), EXIT_BYTES) else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut lines = text.lines();
        let mut next = |key: &str| lines.next().and_then(|line| line.strip_prefix(key)).map(str::to_owned);
        let said = (next("name "), next("ended "), next("seconds "), next("kept "));
        let (Some(name), Some(ended), Some(seconds), Some(kept)) = said else {
            return Err(Fault::foreign(&job.name, "something that is no end of a job"));
        };
        if name != job.name {
            return Err(Fault::foreign(&job.name, &format!("what {name} left")));
        }
        let kept = kept.split_whitespace().map(str::to_owned).collect();
        Ok(Some(Exit { ended, seconds: seconds.parse().unwrap_or(0), kept }))
    }

    /// Asks where the job is, and judges how long that is still well.
    fn asked(&self, job: &Job, watch: &mut Watch) -> Result<State, Fault> {
        let now = Instant::now();
        watch.asked = Some(now);
        let seen = match self.scheduler.look(job) {
            Ok(seen) => seen,
            Err(why) => {
                let silent = *watch.silent.get_or_insert(now);
                if silent.elapsed() > self.patience.unreachable {
                    return Err(Fault::unreachable(&format!("{} does not answer", self.scheduler.name()), why));
                }
                return Ok(watch.state.clone());
            }
        };
        watch.silent = None;
        let (phase, most, state, why) = match &seen {
            Seen::Waiting => ("waiting", self.patience.queue, State::Queued, "it did not begin".to_owned()),
            Seen::Running => {
                let most = Duration::from_secs(job.seconds.into()) + self.patience.grace;
                ("running", most, State::Running, "it ran on past its limit".to_owned())
            }
            Seen::OutOfMemory => {
                watch.out_of_memory = true;
                return Ok(State::Ended);
            }
            Seen::Ended(how) => {
                ("ended", self.patience.settle, State::Running, format!("it ended ({how}) and left nothing"))
            }
            Seen::Absent => {
                let why = format!("{} knows of no such job", self.scheduler.name());
                ("absent", self.patience.settle, State::Queued, why)
            }
        };
        if watch.phase != phase {
            (watch.phase, watch.since) = (phase, now);
        }
        if watch.since.elapsed() > most {
            return Ok(State::Lost(format!("{why}{}", self.said(job))));
        }
        Ok(state)
    }

    /// The last line of what the scheduler wrote of the job.
    fn said(&self, job: &Job) -> String {
        let text = regular::read(&job.folder.join("said"), SAID_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().rfind(|line| !line.trim().is_empty()).map_or_else(String::new, |line| format!(": {}", line.trim()))
    }

    fn script(&self, job: &Job, experiment: &Experiment) -> String {
        let handed: Vec<String> = self.settings.environment.keys().cloned().collect();
        let Settings { network, processes, .. } = self.settings;
        Script { name: &job.name, experiment, network, handed: &handed, processes }.text()
    }
}

/// What a job's folder is told apart by; written last, so that a folder that has it is whole.
fn marker(job: &Job) -> PathBuf {
    job.folder.join("name")
}

impl<S: Scheduler> Backend for Posted<S> {
    fn name(&self) -> &str {
        self.scheduler.name()
    }

    fn at_once(&self) -> usize {
        self.settings.at_once.unwrap_or(AT_ONCE).max(1)
    }

    fn submit(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<(), Fault> {
        let machine = |error| Fault::machine("the folder of a job cannot be made", error);
        let begun = marker(job).exists();
        if !begun {
            let place = Place::made(&job.folder, experiment, blobs)?;
            fs::write(place.root.join("job.sh"), self.script(job, experiment)).map_err(machine)?;
            auto_files::replace(&marker(job), job.name.as_bytes()).map_err(machine)?;
        }
        // What was begun before is there, unless whoever runs jobs says that it is not: then it is
        // posted again, and begins once whatever becomes of the first.
        let posted =
            begun && (job.folder.join("claim").exists() || !matches!(self.scheduler.look(job), Ok(Seen::Absent)));
        if !posted {
            self.scheduler
                .launch(job, &experiment.limits, &self.settings)
                .map_err(|why| Fault::machine(&format!("{} did not take a job", self.scheduler.name()), why))?;
        }
        let watch = Watch {
            asked: None,
            state: State::Queued,
            since: Instant::now(),
            phase: "posted",
            silent: None,
            out_of_memory: false,
        };
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).insert(job.name.clone(), watch);
        Ok(())
    }

    fn poll(&self, job: &Job) -> Result<State, Fault> {
        if self.exit(job)?.is_some() {
            return Ok(State::Ended);
        }
        let watched = || self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        // Others go on while the scheduler is asked.
        let Some(mut watch) = watched().remove(&job.name) else {
            return Ok(State::Lost("nobody submitted it".to_owned()));
        };
        let due = watch.asked.is_none_or(|asked| asked.elapsed() >= self.patience.poll);
        let asked = if due { self.asked(job, &mut watch) } else { Ok(watch.state.clone()) };
        // Where nobody answers, the job is watched as before.
        let state = match asked {
            Ok(state) => state,
            Err(fault) => {
                watched().insert(job.name.clone(), watch);
                return Err(fault);
            }
        };
        watch.state = state;
        // It may have come to its end while the scheduler was asked.
        if matches!(watch.state, State::Lost(_)) && self.exit(job)?.is_some() {
            watch.state = State::Ended;
        }
        let state = watch.state.clone();
        watched().insert(job.name.clone(), watch);
        Ok(state)
    }

    fn cancel(&self, job: &Job) -> Result<(), Fault> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.name);
        self.scheduler
            .stop(job)
            .map_err(|why| Fault::unreachable(&format!("{} ends no job", self.scheduler.name()), why))
    }

    fn collect(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<Outcome, Fault> {
        let watch = self.watched.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.name);
        let exit = match self.exit(job)? {
            Some(exit) => exit,
            None if watch.is_some_and(|watch| watch.out_of_memory) => {
                Exit { ended: "out-of-memory".to_owned(), seconds: 0, kept: Vec::new() }
            }
            None => return Err(Fault::lost(&job.name, "what it left is gone")),
        };
        let code = |text: &str| text.strip_prefix("exited ").and_then(|code| code.parse().ok());
        let end = match exit.ended.as_str() {
            "timed-out" => End::TimedOut,
            "out-of-memory" => End::OutOfMemory,
            "no-command" => return Err(Fault::no_command(experiment.command.first().map_or("", String::as_str))),
            "unlimited" => {
                return Err(Fault::machine("the limits of a job cannot be set", "those of where it ran are lower"));
            }
            ended => End::Code(code(ended).ok_or_else(|| Fault::foreign(&job.name, "an end that is none"))?),
        };
        let outcome = Place::of(&job.folder).outcome(end, experiment, blobs, &self.withheld)?;
        self.scheduler.tidy(job);
        let kept = self.scheduler.kept(&self.settings).into_iter().map(str::to_owned);
        let mut isolation: Vec<String> = exit.kept.into_iter().chain(kept).collect();
        isolation.sort();
        isolation.dedup();
        isolation.insert(0, self.scheduler.name().to_owned());
        Ok(Outcome { milliseconds: exit.seconds.saturating_mul(1_000), isolation, ..outcome })
    }
}
