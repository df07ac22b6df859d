//! Commands of the user's own that jobs are handed to: `sbatch`, `kubectl`, `podman`. They answer soon
//! or not at all.

use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long one may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// The most bytes of an answer.
const MOST: u64 = 16 << 20;

/// What a command said.
pub(crate) struct Said {
    pub(crate) well: bool,
    pub(crate) out: String,
    /// The end of what it complained of.
    pub(crate) complaint: String,
}

/// Runs one, with these bytes as its input. The error is that it could not be run, or did not end.
pub(crate) fn ask(command: &mut Command, input: &str) -> Result<Said, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(|error| format!("{name} cannot be run: {error}"))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(input.as_bytes())));
        let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
            scope.spawn(move || {
                let mut bytes = Vec::new();
                // What cannot be read is not there.
                let _ = pipe.map(|pipe| pipe.take(MOST).read_to_end(&mut bytes));
                String::from_utf8_lossy(&bytes).into_owned()
            })
        };
        let out = read(stdout.map(|pipe| Box::new(pipe) as Box<_>));
        let complaint = read(stderr.map(|pipe| Box::new(pipe) as Box<_>));
        let well = ended(&mut child, &name);
        let text = |thread: thread::ScopedJoinHandle<'_, String>| thread.join().unwrap_or_default();
        let (out, complaint) = (text(out), text(complaint));
        let from = complaint.ceil_char_boundary(complaint.len().saturating_sub(500));
        Ok(Said { well: well?, out, complaint: complaint[from..].trim().to_owned() })
    })
}

fn ended(child: &mut Child, name: &str) -> Result<bool, String> {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if Instant::now() < deadline => thread::sleep(pause),
            failed => {
                // Whoever has its pipes goes with it.
                let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
                let _ = child.wait();
                let why = failed.map_or_else(|error| error.to_string(), |_| "it did not end".to_owned());
                return Err(format!("{name} gave no answer: {why}"));
            }
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// A command of the configuration, which names at least its program.
pub(crate) fn command(words: &[String]) -> Command {
    let (program, arguments) = words.split_first().map_or(("", &[][..]), |(program, rest)| (program.as_str(), rest));
    let mut command = Command::new(program);
    command.args(arguments);
    command
}
