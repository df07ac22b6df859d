//! Experiments as processes of this machine.
//!
//! Each gets a folder of its own, an environment of what it was given and nothing else, limits that
//! the kernel enforces, and a process group that is killed whole at its end. Where the system lets
//! this user make namespaces, it also gets one of processes, so that nothing it started outlives
//! it, and one of networks with nothing in it; where processes can be counted, there is a limit on
//! those too. What held is said in the outcome. This keeps apart programs that err; against one
//! that means harm, run it in a container.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::backend::{Backend, Job, State};
use crate::blobs::Blobs;
use crate::counted::Counted;
use crate::experiment::{Experiment, Outcome};
use crate::fault::Fault;
use crate::place::{End, LIMITED, Place};
use crate::withheld::Withheld;

/// The most processes of an experiment, where nobody says otherwise.
pub const PROCESSES: u32 = 512;

/// How long after its time a process is ended that nobody ended, in seconds.
const LATE: u32 = 5;

/// How the backend works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many at once; as many as there are cores where it is none.
    pub at_once: Option<usize>,
    /// Whether they may use the network.
    pub network: bool,
    /// Variables that are handed on, such as keys: they are in no key and no record, and what a
    /// command leaves is kept without them.
    pub environment: BTreeMap<String, String>,
    /// The most processes and threads of one, where they can be counted.
    pub processes: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { at_once: None, network: false, environment: BTreeMap::new(), processes: PROCESSES }
    }
}

/// The backend.
pub struct Process {
    settings: Settings,
    withheld: Withheld,
    /// What goes before the command.
    wrapper: OnceLock<Wrapper>,
    running: Mutex<BTreeMap<String, Running>>,
}

/// What goes before a command to keep it apart.
#[derive(Default)]
struct Wrapper {
    /// Ends it when this process dies.
    tied: Vec<&'static str>,
    /// Ends it when its time is up, even where this process died before it: what makes a namespace of
    /// users is tied no more.
    timed: bool,
    /// Puts it into namespaces.
    namespaces: Vec<&'static str>,
    /// Whether a limit on processes counts those in the namespace alone.
    counts: bool,
}

/// A process that was started.
struct Running {
    child: Child,
    started: Instant,
    deadline: Instant,
    isolation: Vec<String>,
    counted: Option<Counted>,
    ended: Option<(End, u64)>,
}

impl Process {
    /// One that works so.
    pub fn new(settings: Settings) -> Process {
        let withheld = Withheld::of(&settings.environment);
        Process { withheld, settings, wrapper: OnceLock::new(), running: Mutex::default() }
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wrapper(&self) -> &Wrapper {
        self.wrapper.get_or_init(|| {
            let kinds: [&[&str]; 3] = match (is_root(), self.settings.network) {
                (true, false) => [&["-n", "-p"], &["-n", "-p"], &["-p"]],
                (true, true) => [&["-p"]; 3],
                (false, false) => [&["-c", "-n", "-p"], &["-r", "-n", "-p"], &["-r", "-p"]],
                (false, true) => [&["-c", "-p"], &["-r", "-p"], &["-r", "-p"]],
            };
            let wrapper = |kinds: &[&'static str]| [&["unshare"], kinds, &["-f", "--kill-child=KILL", "--"]].concat();
            let namespaces = kinds.into_iter().map(wrapper).find(|wrapper| works(wrapper)).unwrap_or_default();
            let tied =
                Some(vec!["setpriv", "--pdeathsig", "KILL", "--"]).filter(|tied| works(tied)).unwrap_or_default();
            // The kernel counts by user and namespace of users, and root without end.
            let counts = !is_root() && !namespaces.is_empty() && works(&["prlimit", "--nproc=64", "--"]);
            let timed = !is_root() && works(&["timeout", "-s", "KILL", "60"]);
            Wrapper { tied, timed, namespaces, counts }
        })
    }

    fn isolation(&self, counted: bool) -> Vec<String> {
        let has = |flag: &str| self.wrapper().namespaces.contains(&flag);
        let held = [
            ("process-group", true),
            ("limits", true),
            ("process-namespace", has("-p")),
            ("no-network", has("-n")),
            ("process-count", counted),
        ];
        held.into_iter().filter(|(_, held)| *held).map(|(name, _)| name.to_owned()).collect()
    }

    fn command(&self, experiment: &Experiment, place: &Place, counted: Option<&Counted>) -> Result<Command, Fault> {
        let program = program(experiment, &place.files)?;
        let wrapper = self.wrapper();
        let most = format!("--nproc={}", self.settings.processes);
        let late = experiment.limits.seconds.saturating_add(LATE).to_string();
        let timed: &[&str] = if wrapper.timed { &["timeout", "-s", "KILL", &late] } else { &[] };
        let mut words: Vec<&str> = [wrapper.tied.as_slice(), timed, &wrapper.namespaces].concat();
        if wrapper.counts {
            words.extend(["prlimit", &most, "--"]);
        }
        words.push("sh");
        let mut command = Command::new(words[0]);
        command.args(&words[1..]);
        let limits = &experiment.limits;
        command.args(["-c", LIMITED, "sh"]).arg(limits.cpu_seconds.to_string());
        // In KiB and blocks of 512 bytes, as POSIX says.
        command
            .arg((u64::from(limits.memory_mib) << 10).to_string())
            .arg(limits.output_bytes.div_ceil(512).to_string());
        command.arg(&place.unlimited).arg(counted.map_or(Path::new(""), |counted| &counted.folder));
        command.arg(program).args(&experiment.command[1..]);
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", &place.home).env("TMPDIR", &place.tmp).env("LANG", "C.UTF-8");
        command.envs(&self.settings.environment).envs(experiment.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(&place.files).process_group(0);
        Ok(command)
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a command may be started under this.
fn works(wrapper: &[&str]) -> bool {
    let Some((program, flags)) = wrapper.split_first() else { return false };
    let mut command = Command::new(program);
    command.args(flags).arg("true").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Where the program is. Code: `no-command`.
fn program(experiment: &Experiment, files: &Path) -> Result<PathBuf, Fault> {
    let name = experiment.command.first().map(String::as_str).unwrap_or_default();
    let runs =
        |path: &Path| path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    let found = if name.contains('/') {
        Some(files.join(name)).filter(|path| runs(path))
    } else {
        let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| runs(path))
    };
    found.ok_or_else(|| Fault::no_command(name))
}

impl Backend for Process {
    fn name(&self) -> &str {
        "process"
    }

    fn at_once(&self) -> usize {
        self.settings.at_once.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    /// What another process of the host started died with it, and is started anew in the same place.
    fn submit(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<(), Fault> {
        let machine = |error| Fault::machine("a process cannot be started", error);
        let place = Place::made(&job.folder, experiment, blobs)?;
        let counted = if is_root() { Counted::of(&job.name, self.settings.processes) } else { None };
        let written = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path).map_err(machine);
        let mut command = self.command(experiment, &place, counted.as_ref())?;
        command.stdin(fs::File::open(&place.stdin).map_err(machine)?);
        command.stdout(written(&place.stdout)?).stderr(written(&place.stderr)?);
        let started = Instant::now();
        let child = command.spawn().map_err(machine)?;
        let deadline = started + Duration::from_secs(job.seconds.into());
        let isolation = self.isolation(counted.is_some() || self.wrapper().counts);
        let running = Running { child, started, deadline, isolation, counted, ended: None };
        self.running().insert(job.name.clone(), running);
        Ok(())
    }

    fn poll(&self, job: &Job) -> Result<State, Fault> {
        match self.running().get_mut(&job.name) {
            None => Ok(State::Lost("this process did not start it".to_owned())),
            Some(running) => running.look().map_err(|error| Fault::machine("a process cannot be waited for", error)),
        }
    }

    fn cancel(&self, job: &Job) -> Result<(), Fault> {
        if let Some(mut running) = self.running().remove(&job.name)
            && running.ended.is_none()
        {
            let _ = running.killed();
        }
        Ok(())
    }

    fn collect(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<Outcome, Fault> {
        let running = self.running().remove(&job.name);
        let Some(Running { ended: Some((end, milliseconds)), isolation, counted, .. }) = running else {
            return Err(Fault::machine("nothing can be collected", "the process did not end"));
        };
        drop(counted);
        let place = Place::of(&job.folder);
        if place.unlimited.exists() {
            return Err(Fault::machine("the limits of a process cannot be set", "the limits of the host are lower"));
        }
        Ok(Outcome { milliseconds, isolation, ..place.outcome(end, experiment, blobs, &self.withheld)? })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let running = std::mem::take(&mut *self.running());
        running.into_values().filter(|running| running.ended.is_none()).for_each(|mut running| drop(running.killed()));
    }
}

impl Running {
    /// Whether it has ended, by itself or because its time was up; then everything that it started
    /// is killed.
    fn look(&mut self) -> io::Result<State> {
        if self.ended.is_some() {
            return Ok(State::Ended);
        }
        // It stays a zombie, so that its group is nobody else's yet.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let exited = waitid(WaitId::Pid(Pid::from_child(&self.child)), options)?.is_some();
        if !exited && Instant::now() < self.deadline {
            return Ok(State::Running);
        }
        let milliseconds = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let status = self.killed()?;
        self.ended = Some((if exited { end(status) } else { End::TimedOut }, milliseconds));
        Ok(State::Ended)
    }

    /// Kills its whole group.
    fn killed(&mut self) -> io::Result<ExitStatus> {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        self.child.wait()
    }
}

fn end(status: ExitStatus) -> End {
    match status.signal() {
        Some(signal) => End::Signal(signal),
        None => End::Code(status.code().unwrap_or_default()),
    }
}
