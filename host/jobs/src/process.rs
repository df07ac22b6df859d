//! Experiments as processes of this machine.
//!
//! Each gets a folder of its own, an environment of what it was given and nothing else, limits that
//! the kernel enforces, and a process group that is killed whole at its end. Where the system lets
//! this user make namespaces, it also gets one of processes, so that nothing it started outlives
//! it, and one of networks with nothing in it. What held is said in the outcome. This keeps apart
//! programs that err; against one that means harm, run the host in a container.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use auto_files::regular;
use auto_schema::digest::Digest;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::blobs::Blobs;
use crate::collect::collect;
use crate::experiment::{Ending, Experiment, Outcome};
use crate::experiments::Backend;
use crate::fault::Fault;
use crate::withheld::Withheld;

/// Sets the limits (of time, a soft one whose signal tells what it was), then runs the command; the
/// marker says that they could not be set.
const LIMITED: &str =
    "ulimit -c 0 && ulimit -t $(($1 + 1)) && ulimit -S -t \"$1\" && ulimit -v \"$2\" && ulimit -f \"$3\" || { : > \"$4\"; exit 1; }
shift 4
\"$@\"
exit $?";

/// A shell tells of a signal by this and its number.
const SIGNALLED: i32 = 128;
const XCPU: i32 = 24;
const XFSZ: i32 = 25;

/// How the backend works.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// How many at once; as many as there are cores where it is none.
    pub at_once: Option<usize>,
    /// Whether they may use the network.
    pub network: bool,
    /// Variables that are handed on, such as keys: they are in no key and no record, and what a
    /// command leaves is kept without them.
    pub environment: BTreeMap<String, String>,
}

/// The backend.
pub struct Process {
    settings: Settings,
    withheld: Withheld,
    /// How to get namespaces; none where that is not to be had.
    namespaces: OnceLock<Option<Vec<&'static str>>>,
}

impl Process {
    /// One that works so.
    pub fn new(settings: Settings) -> Process {
        Process { withheld: Withheld::of(&settings.environment), settings, namespaces: OnceLock::new() }
    }

    /// What goes before the command, and what it is kept apart by.
    fn namespaces(&self) -> Option<&[&'static str]> {
        let found = self.namespaces.get_or_init(|| {
            let kinds: [&[&str]; 3] = match (rustix::process::geteuid().is_root(), self.settings.network) {
                (true, false) => [&["-n", "-p"], &["-n", "-p"], &["-p"]],
                (true, true) => [&["-p"]; 3],
                (false, false) => [&["-c", "-n", "-p"], &["-r", "-n", "-p"], &["-r", "-p"]],
                (false, true) => [&["-c", "-p"], &["-r", "-p"], &["-r", "-p"]],
            };
            let wrapper = |kinds: &[&'static str]| [&["unshare"], kinds, &["-f", "--kill-child=KILL", "--"]].concat();
            kinds.into_iter().map(wrapper).find(|wrapper| works(wrapper))
        });
        found.as_deref()
    }

    fn isolation(&self) -> Vec<String> {
        let namespaces = self.namespaces().unwrap_or_default();
        let has = |flag: &str| namespaces.contains(&flag);
        let held =
            [("process-group", true), ("limits", true), ("process-namespace", has("-p")), ("no-network", has("-n"))];
        held.into_iter().filter(|(_, held)| *held).map(|(name, _)| name.to_owned()).collect()
    }

    fn command(&self, experiment: &Experiment, place: &Place) -> Result<Command, Fault> {
        let program = program(experiment, &place.files)?;
        let namespaces = self.namespaces().unwrap_or_default();
        let mut command = match namespaces.split_first() {
            Some((unshare, flags)) => {
                let mut command = Command::new(unshare);
                command.args(flags).arg("sh");
                command
            }
            None => Command::new("sh"),
        };
        let limits = &experiment.limits;
        command.args(["-c", LIMITED, "sh"]).arg(limits.cpu_seconds.to_string());
        // In KiB and blocks of 512 bytes, as POSIX says.
        command
            .arg((u64::from(limits.memory_mib) << 10).to_string())
            .arg(limits.output_bytes.div_ceil(512).to_string());
        command.arg(&place.unlimited).arg(program).args(&experiment.command[1..]);
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", &place.home).env("TMPDIR", &place.tmp).env("LANG", "C.UTF-8");
        command.envs(&self.settings.environment).envs(experiment.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(&place.files).process_group(0);
        Ok(command)
    }
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
    found.ok_or_else(|| {
        let message = format!("there is no program {name:?}, or it may not be run; install it, or mend the command");
        Fault::new("no-command", message)
    })
}

/// The folder of one experiment.
struct Place {
    files: PathBuf,
    home: PathBuf,
    tmp: PathBuf,
    stdin: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
    /// There if the limits could not be set.
    unlimited: PathBuf,
}

impl Place {
    fn made(folder: &Path, experiment: &Experiment, blobs: &Blobs) -> Result<Place, Fault> {
        let machine = |error| Fault::machine("the folder of an experiment cannot be made", error);
        clear(folder).map_err(machine)?;
        let folder = std::path::absolute(folder).map_err(machine)?;
        let at = |name: &str| folder.join(name);
        let place = Place {
            files: at("files"),
            home: at("home"),
            tmp: at("tmp"),
            stdin: at("stdin"),
            stdout: at("stdout"),
            stderr: at("stderr"),
            unlimited: at("unlimited"),
        };
        for folder in [&place.files, &place.home, &place.tmp] {
            fs::create_dir_all(folder).map_err(machine)?;
        }
        fs::write(&place.stdin, &experiment.input).map_err(machine)?;
        for file in &experiment.files {
            let path = place.files.join(&file.path);
            let bytes = blobs.get(file.digest)?;
            let mode = if file.executable { 0o755 } else { 0o644 };
            fs::create_dir_all(auto_files::folder_of(&path)).map_err(machine)?;
            let mut options = OpenOptions::new();
            let opened = options.write(true).create_new(true).mode(mode).open(&path);
            opened.and_then(|mut file| file.write_all(&bytes)).map_err(machine)?;
        }
        Ok(place)
    }
}

/// Removes what an earlier attempt left.
fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Backend for Process {
    fn name(&self) -> &str {
        "process"
    }

    fn at_once(&self) -> usize {
        self.settings.at_once.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    fn run(&self, experiment: &Experiment, blobs: &Blobs, folder: &Path) -> Result<Outcome, Fault> {
        let place = Place::made(folder, experiment, blobs)?;
        let outcome = self.ran(experiment, blobs, &place);
        // What cannot be removed is removed before the next one in its place.
        let _ = clear(folder);
        outcome
    }
}

impl Process {
    fn ran(&self, experiment: &Experiment, blobs: &Blobs, place: &Place) -> Result<Outcome, Fault> {
        let machine = |error| Fault::machine("a process cannot be started", error);
        let written = |path: &Path| OpenOptions::new().write(true).create_new(true).open(path).map_err(machine);
        let mut command = self.command(experiment, place)?;
        command.stdin(fs::File::open(&place.stdin).map_err(machine)?);
        command.stdout(written(&place.stdout)?).stderr(written(&place.stderr)?);
        let started = Instant::now();
        let child = command.spawn().map_err(machine)?;
        let ended = ended(child, started + Duration::from_secs(experiment.limits.seconds.into())).map_err(machine)?;
        let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        if place.unlimited.exists() {
            return Err(Fault::machine("the limits of a process cannot be set", "the limits of the host are lower"));
        }
        let most = experiment.limits.output_bytes;
        let (stdout, full) = self.stream(&place.stdout, most, blobs)?;
        let (stderr, overfull) = self.stream(&place.stderr, most, blobs)?;
        let files = collect(experiment, blobs, &place.files, &self.withheld)?;
        let ending = match (ended, &files) {
            (None, _) => Ending::TimedOut,
            (Some(status), _) if signal(status) == Some(XCPU) => Ending::OverLimit("cpu".to_owned()),
            (Some(status), _) if full || overfull || signal(status) == Some(XFSZ) => {
                Ending::OverLimit("output".to_owned())
            }
            (Some(_), Err(limit)) => Ending::OverLimit((*limit).to_owned()),
            (Some(status), Ok(_)) => match signal(status) {
                Some(signal) => Ending::Signalled(signal),
                None => Ending::Exited(status.code().unwrap_or_default()),
            },
        };
        let files = files.unwrap_or_default();
        Ok(Outcome { ending, stdout, stderr, files, milliseconds, isolation: self.isolation(), attempts: 1 })
    }

    /// What was written to a stream, and whether it is at its limit.
    fn stream(&self, path: &Path, most: u64, blobs: &Blobs) -> Result<(Digest, bool), Fault> {
        // Rounded up to a block when it was set.
        let bytes = regular::read(path, most.saturating_add(512))
            .map_err(|error| Fault::machine("an output cannot be read", error))?;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let full = bytes.len() >= most;
        let mut kept = self.withheld.taken_out(bytes, full);
        kept.truncate(most);
        Ok((blobs.put(&kept)?, full))
    }
}

/// The signal that ended it, as the kernel or the shell tells.
fn signal(status: ExitStatus) -> Option<i32> {
    status.signal().or_else(|| {
        status.code().filter(|code| (SIGNALLED + 1..=SIGNALLED + 64).contains(code)).map(|code| code - SIGNALLED)
    })
}

/// Waits for the end, or until the time is up; then everything that it started is killed. None where
/// the time was up.
fn ended(mut child: Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    let pid = Pid::from_child(&child);
    let mut pause = Duration::from_millis(1);
    let exited = loop {
        // It stays a zombie, so that its group is nobody else's yet.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(pid), options) {
            Ok(Some(_)) => break true,
            Ok(None) if Instant::now() >= deadline => break false,
            Ok(None) => thread::sleep(pause),
            Err(error) => {
                let _ = kill_process_group(pid, Signal::KILL);
                let _ = child.wait();
                return Err(error.into());
            }
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let _ = kill_process_group(pid, Signal::KILL);
    let status = child.wait()?;
    Ok(exited.then_some(status))
}
