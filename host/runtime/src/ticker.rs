//! The clock behind deadlines: one thread that raises the engine's epoch.
//!
//! A call must not pay for it. All a call does is read one flag that is normally already
//! set; the ticker clears the flag now and then, and when nobody has set it again for longer
//! than any call may last, it goes to sleep until somebody does. A call that started just
//! before the flag was cleared is over by then, because the deadline ended it.

use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use wasmtime::Engine;

/// Owns the thread; dropping it stops the thread.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    /// How many ticks make the deadline.
    pub(crate) ticks: u64,
}

#[derive(Default)]
struct Shared {
    /// Some call started since the ticker last looked.
    recent: AtomicBool,
    /// The ticker is asleep, or about to be.
    parked: AtomicBool,
    stop: AtomicBool,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Ticker {
    /// Starts a ticker for calls that last at most `deadline`, give or take a `period`.
    pub(crate) fn start(engine: &Engine, deadline: Duration, period: Duration) -> std::io::Result<Ticker> {
        // The first tick may come at once, so one more than fits.
        let ticks = u64::try_from(deadline.as_nanos().div_ceil(period.as_nanos())).unwrap_or(u64::MAX / 4) + 1;
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new().name("auto-runtime epoch".into()).spawn({
            let (engine, shared) = (engine.clone(), shared.clone());
            move || shared.tick(&engine, period, ticks.saturating_add(2))
        })?;
        Ok(Ticker { shared, thread: Some(thread), ticks })
    }

    /// To be called when a call starts.
    #[inline]
    pub(crate) fn call_starts(&self) {
        if !self.shared.recent.load(Relaxed) {
            self.shared.mark();
        }
    }

    /// Whether the thread sleeps; for tests.
    #[cfg(test)]
    pub(crate) fn sleeps(&self) -> bool {
        self.shared.parked.load(SeqCst)
    }
}

impl Shared {
    #[cold]
    fn mark(&self) {
        self.recent.store(true, SeqCst);
        if self.parked.load(SeqCst) {
            // The lock orders this with the ticker between its last look and its sleep.
            let _held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.wake.notify_all();
        }
    }

    fn tick(&self, engine: &Engine, period: Duration, longest_call: u64) {
        // Asleep until the first call.
        let mut quiet = u64::MAX;
        let mut held = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
        while !self.stop.load(SeqCst) {
            if quiet > longest_call {
                self.parked.store(true, SeqCst);
                while !self.recent.load(SeqCst) && !self.stop.load(SeqCst) {
                    held = self.wake.wait(held).unwrap_or_else(PoisonError::into_inner);
                }
                self.parked.store(false, SeqCst);
            }
            quiet = if self.recent.swap(false, SeqCst) { 0 } else { quiet.saturating_add(1) };
            held = self.wake.wait_timeout(held, period).unwrap_or_else(PoisonError::into_inner).0;
            engine.increment_epoch();
        }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.stop.store(true, SeqCst);
        {
            let _held = self.shared.lock.lock().unwrap_or_else(PoisonError::into_inner);
            self.shared.wake.notify_all();
        }
        if let Some(thread) = self.thread.take() {
            // It cannot panic; and if it did, there would be nothing to do about it here.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use wasmtime::Config;

    use super::*;

    fn wait_until(what: impl Fn() -> bool) -> bool {
        // Generous: only a ticker that never does it fails.
        (0..2000).any(|_| {
            std::thread::sleep(Duration::from_millis(5));
            what()
        })
    }

    #[test]
    fn it_sleeps_when_nobody_calls_and_wakes_when_somebody_does() {
        let engine = Engine::new(Config::new().epoch_interruption(true)).unwrap();
        let ticker = Ticker::start(&engine, Duration::from_millis(10), Duration::from_millis(1)).unwrap();
        for _ in 0..3 {
            assert!(wait_until(|| ticker.sleeps()));
            ticker.call_starts();
            assert!(wait_until(|| !ticker.sleeps()));
        }
    }

    #[test]
    fn dropping_it_stops_the_thread_awake_or_asleep() {
        let engine = Engine::new(&Config::new()).unwrap();
        let awake = Ticker::start(&engine, Duration::from_secs(3600), Duration::from_millis(20)).unwrap();
        awake.call_starts();
        assert!(wait_until(|| !awake.sleeps()));
        drop(awake);
        let asleep = Ticker::start(&engine, Duration::from_millis(1), Duration::from_millis(1)).unwrap();
        assert!(wait_until(|| asleep.sleeps()));
        drop(asleep);
    }
}
