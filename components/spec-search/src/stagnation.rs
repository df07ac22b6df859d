//! When the loop over sessions ends: a session failed, nothing got better so often, or the money
//! is gone; looked at in that order. The best score moves only on an improvement, so slow gains
//! add up against a fixed reference. It starts at the score of the first spec.

use crate::Refusal;

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A session failed.
    Failed,
    /// Nothing got better `k` times in a row.
    Stagnation,
    /// What all sessions may cost is spent.
    Budget,
    /// As many sessions as there may be.
    Sessions,
    /// As many experiments as there may be.
    Experiments,
}

impl Stop {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Stop::Failed => "failed",
            Stop::Stagnation => "stagnation",
            Stop::Budget => "budget",
            Stop::Sessions => "sessions",
            Stop::Experiments => crate::bench::STARVED,
        }
    }
}

/// What a session came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whether it failed.
    pub failed: bool,
    /// The overall score after it, in millionths; none where it was not measured.
    pub score: Option<i64>,
    /// Micro-USD.
    pub cost: u64,
    /// Whether it says something about stagnation: not where all that it proposed waits.
    pub counts: bool,
}

/// The state of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    k: u32,
    eps: i64,
    most: u64,
    /// The best score so far.
    pub best: i64,
    /// Sessions since it got better.
    pub streak: u32,
    /// Micro-USD of all sessions.
    pub total: u64,
    /// How many sessions there were.
    pub sessions: u32,
}

impl Loop {
    /// A loop that begins at a score. Code: `bad-settings`.
    pub fn new(k: u32, eps: i64, most: u64, start: i64) -> Result<Loop, Refusal> {
        if k == 0 {
            return Err(Refusal::new("bad-settings", "stagnation_k has to be 1 at least").at("/stagnation_k"));
        }
        if most == 0 {
            let message = "max_total_cost_usd has to be more than nothing";
            return Err(Refusal::new("bad-settings", message).at("/max_total_cost_usd"));
        }
        Ok(Loop { k, eps, most, best: start, streak: 0, total: 0, sessions: 0 })
    }

    /// The same after sessions and spending of before.
    pub fn after(self, sessions: u32, total: u64) -> Loop {
        Loop { sessions, total, ..self }
    }

    /// Whether nothing is left to spend.
    pub fn spent(&self) -> bool {
        self.total >= self.most
    }

    /// Takes a session in.
    pub fn took(&mut self, session: Ended) -> Option<Stop> {
        self.sessions += 1;
        self.total = self.total.saturating_add(session.cost);
        if session.failed {
            return Some(Stop::Failed);
        }
        let score = session.score.unwrap_or(0);
        if score > self.best.saturating_add(self.eps) {
            self.best = score;
            self.streak = 0;
        } else if session.counts {
            self.streak += 1;
        }
        if self.streak >= self.k {
            Some(Stop::Stagnation)
        } else if self.spent() {
            Some(Stop::Budget)
        } else {
            None
        }
    }

    /// What a session may still cost, with a cap of its own.
    pub fn left(&self, own: u64) -> u64 {
        own.min(self.most.saturating_sub(self.total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CENT: u64 = 10_000;

    /// Runs sessions with these scores (the last one for ever) and the same cost.
    fn run(mut state: Loop, scores: &[i64], cost: u64) -> (Stop, Loop) {
        for at in 0.. {
            let score = scores.get(at).or(scores.last()).copied();
            let ended = Ended { failed: false, score, cost, counts: true };
            if let Some(stop) = state.took(ended) {
                return (stop, state);
            }
        }
        unreachable!("the loop ends")
    }

    fn defaults(start: i64) -> Loop {
        Loop::new(5, 1_000, 50_000_000, start).expect("sound")
    }

    #[test]
    fn the_known_vectors_hold_from_a_start_of_nothing() {
        let (stop, state) = run(defaults(0), &[600_000], CENT);
        assert_eq!((stop, state.sessions), (Stop::Stagnation, 6));
        let (stop, state) = run(defaults(0), &[0], CENT);
        assert_eq!((stop, state.sessions), (Stop::Stagnation, 5));
        let (stop, state) = run(defaults(0), &[600_000], 60_000_000);
        assert_eq!((stop, state.sessions), (Stop::Budget, 1));
        let two = Loop::new(2, 1_000, 50_000_000, 0).expect("sound");
        let (stop, state) = run(two, &[500_000, 500_500, 500_900], CENT);
        assert_eq!((stop, state.sessions, state.best), (Stop::Stagnation, 3, 500_000));
        let (stop, state) = run(defaults(0), &[650_000, 720_000], 9 * CENT);
        assert_eq!((stop, state.sessions, state.best, state.total), (Stop::Stagnation, 7, 720_000, 63 * CENT));
    }

    #[test]
    fn the_first_session_does_not_always_improve() {
        let (stop, state) = run(defaults(600_000), &[600_000], CENT);
        assert_eq!((stop, state.sessions), (Stop::Stagnation, 5));
    }

    #[test]
    fn slow_gains_add_up_against_a_fixed_reference() {
        let (_, state) = run(Loop::new(3, 1_000, 1_000_000, 500_000).expect("sound"), &[500_600, 501_200], CENT);
        assert_eq!(state.best, 501_200, "neither step alone is more than a thousandth");
    }

    #[test]
    fn failed_comes_before_stagnation_and_stagnation_before_budget() {
        let mut one = Loop::new(1, 0, 1, 0).expect("sound");
        let ended = Ended { failed: true, score: None, cost: 5, counts: true };
        assert_eq!(one.took(ended), Some(Stop::Failed));
        let mut one = Loop::new(1, 0, 1, 0).expect("sound");
        assert_eq!(one.took(Ended { failed: false, ..ended }), Some(Stop::Stagnation));
    }

    #[test]
    fn sessions_that_wait_for_a_person_are_no_stagnation() {
        let mut state = Loop::new(1, 0, 1_000_000, 0).expect("sound");
        let waiting = Ended { failed: false, score: Some(0), cost: 0, counts: false };
        assert_eq!(state.took(waiting), None);
        assert_eq!(state.streak, 0);
    }

    #[test]
    fn a_session_may_cost_no_more_than_what_is_left_of_all() {
        let mut state = Loop::new(5, 0, 8_000_000, 0).expect("sound");
        assert_eq!(state.left(5_000_000), 5_000_000);
        state.took(Ended { failed: false, score: Some(1), cost: 5_000_000, counts: true });
        assert_eq!(state.left(5_000_000), 3_000_000);
    }

    #[test]
    fn a_loop_that_could_not_end_is_refused() {
        assert_eq!(Loop::new(0, 0, 1, 0).expect_err("k").at, "/stagnation_k");
        assert_eq!(Loop::new(1, 0, 0, 0).expect_err("most").at, "/max_total_cost_usd");
    }
}
