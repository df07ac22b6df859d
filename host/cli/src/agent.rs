//! Running somebody's agent: what stops us, stops it, and we wait for it.

use std::io::IsTerminal as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpgrp, kill_process, kill_process_group, waitid};
use rustix::termios::tcgetpgrp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;
use signal_hook::iterator::Signals;

/// How an agent ended.
pub struct End {
    /// Its status.
    pub status: ExitStatus,
    /// The signal we were told to stop with, if we were.
    pub told: Option<i32>,
}

impl End {
    /// The exit code as shells give it: 128 and the signal's number for one that was killed.
    pub fn code(&self) -> u8 {
        let code = self.status.code().or_else(|| self.status.signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
    }

    /// The same in words.
    pub fn how(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("the agent ended with exit code {code}"),
            (_, Some(signal)) => format!("the agent was stopped by {}", name(signal)),
            _ => "the agent ended".to_owned(),
        }
    }
}

/// The name of a signal.
pub fn name(signal: i32) -> String {
    signal_hook::low_level::signal_name(signal).map_or_else(|| format!("signal {signal}"), str::to_owned)
}

/// Starts the agent and waits until it has ended. SIGINT, SIGTERM and SIGHUP go to it; a
/// second of them kills it. One that comes after its end ends us, as if we listened to none.
///
/// At a terminal the agent stays in our process group, which the terminal itself tells of
/// Ctrl-C and of hanging up. Elsewhere it leads a group of its own, and all of it is told.
pub fn run(command: &mut Command) -> std::io::Result<End> {
    let listened: Vec<i32> = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal)).collect();
    let over = Arc::new(AtomicBool::new(false));
    for signal in &listened {
        flag::register_conditional_default(*signal, over.clone())?;
    }
    let mut signals = Signals::new(listened)?;
    let handle = signals.handle();
    let terminal = at_terminal();
    if !terminal {
        command.process_group(0);
    }
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let listening = std::thread::spawn(move || {
        let mut told = None;
        for signal in signals.forever() {
            let again = told.is_some();
            told.get_or_insert(signal);
            // The agent may be gone already; then there is nobody to tell.
            let _ = match (again, terminal) {
                (true, true) => kill_process(pid, Signal::KILL),
                (true, false) => kill_process_group(pid, Signal::KILL),
                (false, true) if signal != SIGTERM => Ok(()),
                (false, true) => kill_process(pid, Signal::TERM),
                (false, false) => {
                    Signal::from_named_raw(signal).map_or(Ok(()), |signal| kill_process_group(pid, signal))
                }
            };
        }
        told
    });
    // Not reaped yet, so that its number is nobody else's while it may be sent a signal.
    let ended = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    while ended().is_err_and(|error| error == Errno::INTR) {}
    over.store(true, Ordering::Relaxed);
    handle.close();
    let told = listening.join().ok().flatten();
    Ok(End { status: child.wait()?, told })
}

/// Whether we are in the foreground of a terminal.
fn at_terminal() -> bool {
    let stdin = std::io::stdin();
    stdin.is_terminal() && tcgetpgrp(&stdin).is_ok_and(|group| group == getpgrp())
}

/// Whether whoever started us wants a signal ignored (`nohup`); then so do we.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (signal - 1) & 1 == 1
}
