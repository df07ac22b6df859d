//! The folder of one job: what it starts from, and what is read of it afterwards.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use auto_files::regular;
use auto_schema::digest::Digest;

use crate::blobs::Blobs;
use crate::collect::collect;
use crate::experiment::{Ending, Experiment, Outcome};
use crate::fault::Fault;
use crate::withheld::Withheld;

/// A shell tells of a signal by this and its number.
const SIGNALLED: i32 = 128;
const XCPU: i32 = 24;
const XFSZ: i32 = 25;

/// Sets the limits (of time, a soft one whose signal tells what it was), then runs the command; the
/// marker says that they could not be set. What is counted in a group of processes joins it first.
pub(crate) const LIMITED: &str = "[ -z \"$5\" ] || echo 0 > \"$5/cgroup.procs\" || { : > \"$4\"; exit 1; }
ulimit -c 0 && ulimit -t $(($1 + 1)) && ulimit -S -t \"$1\" && ulimit -v \"$2\" && ulimit -f \"$3\" || { : > \"$4\"; exit 1; }
shift 5
\"$@\"
exit $?";

/// How a command came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With a code, as a shell tells it: more than 128 for a signal.
    Code(i32),
    Signal(i32),
    /// It was killed for its time.
    TimedOut,
    /// Whoever ran it killed it for its memory.
    OutOfMemory,
}

/// The folder.
pub(crate) struct Place {
    pub(crate) root: PathBuf,
    pub(crate) files: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) tmp: PathBuf,
    pub(crate) stdin: PathBuf,
    pub(crate) stdout: PathBuf,
    pub(crate) stderr: PathBuf,
    /// There if the limits could not be set.
    pub(crate) unlimited: PathBuf,
}

impl Place {
    pub(crate) fn of(folder: &Path) -> Place {
        let at = |name: &str| folder.join(name);
        Place {
            root: folder.to_owned(),
            files: at("files"),
            home: at("home"),
            tmp: at("tmp"),
            stdin: at("stdin"),
            stdout: at("stdout"),
            stderr: at("stderr"),
            unlimited: at("unlimited"),
        }
    }

    /// A clean one with the files of an experiment.
    pub(crate) fn made(folder: &Path, experiment: &Experiment, blobs: &Blobs) -> Result<Place, Fault> {
        let machine = |error| Fault::machine("the folder of an experiment cannot be made", error);
        clear(folder).map_err(machine)?;
        let place = Place::of(&std::path::absolute(folder).map_err(machine)?);
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

    /// What came of the experiment that was run here.
    pub(crate) fn outcome(
        &self,
        end: End,
        experiment: &Experiment,
        blobs: &Blobs,
        withheld: &Withheld,
    ) -> Result<Outcome, Fault> {
        let most = experiment.limits.output_bytes;
        let (stdout, full) = stream(&self.stdout, most, blobs, withheld)?;
        let (stderr, overfull) = stream(&self.stderr, most, blobs, withheld)?;
        let files = collect(experiment, blobs, &self.files, withheld)?;
        let signal = signal(end);
        let ending = match (end, &files) {
            (End::TimedOut, _) => Ending::TimedOut,
            (End::OutOfMemory, _) => Ending::OverLimit("memory".to_owned()),
            _ if signal == Some(XCPU) => Ending::OverLimit("cpu".to_owned()),
            _ if full || overfull || signal == Some(XFSZ) => Ending::OverLimit("output".to_owned()),
            (_, Err(limit)) => Ending::OverLimit((*limit).to_owned()),
            (End::Code(code), Ok(_)) if signal.is_none() => Ending::Exited(code),
            (_, Ok(_)) => Ending::Signalled(signal.unwrap_or_default()),
        };
        let files = files.unwrap_or_default();
        Ok(Outcome { ending, stdout, stderr, files, milliseconds: 0, isolation: Vec::new(), attempts: 1 })
    }
}

/// The signal that ended it, as the kernel or a shell tells.
fn signal(end: End) -> Option<i32> {
    match end {
        End::Signal(signal) => Some(signal),
        End::Code(code) if (SIGNALLED + 1..=SIGNALLED + 64).contains(&code) => Some(code - SIGNALLED),
        _ => None,
    }
}

/// What was written to a stream, and whether it is at its limit. One that is not there is empty.
fn stream(path: &Path, most: u64, blobs: &Blobs, withheld: &Withheld) -> Result<(Digest, bool), Fault> {
    // Rounded up to a block when it was set.
    let bytes = match regular::read(path, most.saturating_add(512)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        read => read.map_err(|error| Fault::machine("an output cannot be read", error))?,
    };
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let full = bytes.len() >= most;
    let mut kept = withheld.taken_out(bytes, full);
    kept.truncate(most);
    Ok((blobs.put(&kept)?, full))
}

/// Removes a folder and what is in it.
pub(crate) fn clear(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
