//! How a server is told to end: once to finish what it has begun, twice to end at once.

use std::io;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// A stop that may be asked for. Clones are of the same.
#[derive(Clone)]
pub struct Stop {
    asked: Arc<watch::Sender<u32>>,
}

impl Default for Stop {
    fn default() -> Stop {
        Stop { asked: Arc::new(watch::Sender::new(0)) }
    }
}

impl Stop {
    /// One that SIGINT and SIGTERM ask for. Needs a tokio runtime.
    pub fn on_signals() -> io::Result<Stop> {
        let stop = Stop::default();
        for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
            let (mut signals, stop) = (signal(kind)?, stop.clone());
            tokio::spawn(async move {
                while signals.recv().await.is_some() {
                    stop.ask();
                }
            });
        }
        Ok(stop)
    }

    /// Asks for it.
    pub fn ask(&self) {
        self.asked.send_modify(|times| *times += 1);
    }

    /// Whether it was asked for.
    pub fn is_asked(&self) -> bool {
        *self.asked.borrow() > 0
    }

    /// Until it is asked for.
    pub async fn asked(&self) {
        self.asked_times(1).await;
    }

    /// Until it is asked for a second time.
    pub async fn insisted(&self) {
        self.asked_times(2).await;
    }

    async fn asked_times(&self, times: u32) {
        // The sender lives as long as this.
        let _ = self.asked.subscribe().wait_for(|asked| *asked >= times).await;
    }
}
