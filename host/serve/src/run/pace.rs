//! Which artifacts are so quick that to hand an input to another thread and its answer back takes
//! longer than to answer. Those answer on the connection's own thread.
//!
//! What was quick so far need not be: so an input that is not costs an artifact a part of its
//! standing, one that goes on for longer than an instant costs all of it, and it takes hundreds of
//! quick ones to get that back. Between them a thread is held for an instant at most.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// What is quick. A thread that was interrupted looks slow; that is rare and costs little.
const QUICK: Duration = Duration::from_micros(100);

/// The longest input that may be quick: what an artifact takes grows with its input.
const LONGEST: usize = 4 << 10;

/// The most standing there is, what is enough, and what an input costs that was not quick.
const MOST: u32 = 1_000;
const ENOUGH: u32 = 500;
const SLOW: u32 = 250;

/// How quick an artifact was so far. Threads may miss each other's counts; none is owed to anybody.
#[derive(Debug, Default)]
pub struct Pace {
    standing: AtomicU32,
}

impl Pace {
    /// Whether an input is likely to be answered at once.
    pub fn is_quick(&self, input: &str) -> bool {
        input.len() <= LONGEST && self.standing.load(Relaxed) >= ENOUGH
    }

    /// An input took so long.
    pub fn took(&self, time: Duration) {
        let before = self.standing.load(Relaxed);
        let after = if time <= QUICK { (before + 1).min(MOST) } else { before.saturating_sub(SLOW) };
        if after != before {
            self.standing.store(after, Relaxed);
        }
    }

    /// An input was not done within an instant.
    pub fn overran(&self) {
        self.standing.store(0, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_takes_many_quick_inputs_to_be_quick_and_few_slow_ones_not_to_be() {
        let (pace, quick, slow) = (Pace::default(), Duration::from_micros(3), Duration::from_millis(3));
        let often = |times: u32, took: Duration| (0..times).for_each(|_| pace.took(took));
        often(ENOUGH - 1, quick);
        assert!(!pace.is_quick("{}"));
        often(1, quick);
        assert!(pace.is_quick("{}") && !pace.is_quick(&"x".repeat(LONGEST + 1)));
        often(10 * MOST, quick);
        often(2, slow);
        assert!(pace.is_quick("{}"), "a thread may be interrupted");
        often(1, slow);
        assert!(!pace.is_quick("{}"));
        often(SLOW, quick);
        assert!(pace.is_quick("{}"));
        pace.overran();
        often(ENOUGH - 1, quick);
        assert!(!pace.is_quick("{}"), "an instant is far too long");
    }
}
