//! What happened, for people: on stderr, and the last of it on the page.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use auto_schema::shown;

/// The most events that are kept.
const KEPT: usize = 100;

/// Something that happened.
#[derive(Clone, Debug)]
pub struct Event {
    /// Seconds since the start.
    pub at: u64,
    /// To which name.
    pub name: String,
    /// A stable word.
    pub code: String,
    /// What.
    pub message: String,
    /// Whether somebody should look.
    pub alarm: bool,
    /// How often in a row.
    pub times: u64,
}

/// The last events.
#[derive(Debug)]
pub struct Events {
    started: Instant,
    last: Mutex<VecDeque<Event>>,
    /// Alarms since the start.
    pub alarms: AtomicU64,
}

impl Default for Events {
    fn default() -> Events {
        Events { started: Instant::now(), last: Mutex::default(), alarms: AtomicU64::new(0) }
    }
}

impl Events {
    /// Something happened.
    pub fn note(&self, name: &str, code: &str, message: &str) {
        self.add(name, code, message, false);
    }

    /// Something happened that somebody should look at.
    pub fn alarm(&self, name: &str, code: &str, message: &str) {
        self.alarms.fetch_add(1, Relaxed);
        self.add(name, code, message, true);
    }

    /// An alarm about the whole service, once for as long as it stays the last event.
    pub fn once(&self, code: &str, message: &str) {
        if !self.all().first().is_some_and(|last| last.name.is_empty() && last.code == code) {
            self.alarm("", code, message);
        }
    }

    /// The last ones, the newest first.
    pub fn all(&self) -> Vec<Event> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).iter().rev().cloned().collect()
    }

    fn add(&self, name: &str, code: &str, message: &str, alarm: bool) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let at = self.started.elapsed().as_secs();
        // The same over and over is one event, and one line.
        if let Some(event) = last.back_mut().filter(|event| event.name == name && event.code == code && event.alarm) {
            event.times += 1;
            event.at = at;
            return;
        }
        let event = Event { at, name: name.into(), code: code.into(), message: message.into(), alarm, times: 1 };
        let whose = if name.is_empty() { String::new() } else { format!("{}: ", shown(name)) };
        eprintln!("{}{whose}{}: {}", if alarm { "ALARM " } else { "" }, shown(code), shown(message));
        last.push_back(event);
        if last.len() > KEPT {
            last.pop_front();
        }
    }
}
