//! Timing on a machine that does other things too.
//!
//! Subjects take turns, in another order each round, so that a slow spell hits all of them;
//! turns are much shorter than the time slices of a busy machine, so that most are whole.
//! What is reported is the median over the rounds, and for a comparison the median of the
//! rounds' own ratios.

use std::time::{Duration, Instant};

use auto_json::{Number, Value};

/// How long to measure.
#[derive(clap::Args, Clone, Debug)]
pub struct Effort {
    /// Rounds; every subject has one turn a round
    #[arg(long, default_value_t = 101)]
    pub rounds: usize,
    /// Calls in one turn, the same for every subject (for Valgrind); found by trial when left out
    #[arg(long)]
    pub calls: Option<u64>,
}

/// Something that can be done `n` times.
pub struct Subject<'a> {
    /// What to call it in the progress and the report.
    pub name: &'static str,
    turn: Box<dyn FnMut(u64) + 'a>,
}

impl<'a> Subject<'a> {
    /// `work` is one call; it keeps its result from being optimised away itself.
    pub fn new(name: &'static str, mut work: impl FnMut() + 'a) -> Subject<'a> {
        Subject::in_bulk(name, move |calls| (0..calls).for_each(|_| work()))
    }

    /// `work` makes the number of calls it is told to.
    pub fn in_bulk(name: &'static str, work: impl FnMut(u64) + 'a) -> Subject<'a> {
        Subject { name, turn: Box::new(work) }
    }
}

/// Nanoseconds a call, one entry a round.
#[derive(Clone, Debug)]
pub struct Times(Vec<f64>);

/// A turn is long enough to time and short enough that a round sees one state of the machine.
const TURN: Duration = Duration::from_micros(300);

/// Times every subject.
pub fn measure(effort: &Effort, subjects: &mut [Subject]) -> Vec<Times> {
    let calls: Vec<u64> =
        subjects.iter_mut().map(|subject| effort.calls.unwrap_or_else(|| calls_a_turn(subject))).collect();
    let mut times = vec![Times(Vec::with_capacity(effort.rounds)); subjects.len()];
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    let mut random = 0x2545_F491_4F6C_DD1D;
    for _ in 0..effort.rounds.max(1) {
        shuffle(&mut order, &mut random);
        for &index in &order {
            let start = Instant::now();
            (subjects[index].turn)(calls[index]);
            times[index].0.push(start.elapsed().as_nanos() as f64 / calls[index] as f64);
        }
    }
    for (subject, times) in subjects.iter().zip(&times) {
        eprintln!("{:>24} {:>14.1} ns", subject.name, times.median());
    }
    times
}

/// Fisher and Yates, over a generator that only needs to have no rhythm (Marsaglia's
/// xorshift, 2003).
fn shuffle(order: &mut [usize], random: &mut u64) {
    for last in (1..order.len()).rev() {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        order.swap(last, (*random >> 33) as usize % (last + 1));
    }
}

/// Doubles until a turn is long enough, which also warms the subject up.
fn calls_a_turn(subject: &mut Subject) -> u64 {
    let mut calls = 1;
    loop {
        let start = Instant::now();
        (subject.turn)(calls);
        if start.elapsed() >= TURN {
            return calls;
        }
        calls *= 2;
    }
}

impl Times {
    /// The median, in nanoseconds.
    pub fn median(&self) -> f64 {
        median(self.0.clone())
    }

    /// The median of how many times slower this was than `other` in the same round.
    pub fn ratio(&self, other: &Times) -> f64 {
        median(self.0.iter().zip(&other.0).map(|(mine, others)| mine / others).collect())
    }
}

/// The middle one of some figures.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match (values.len() / 2, values.len() % 2) {
        (_, _) if values.is_empty() => f64::NAN,
        (middle, 1) => values[middle],
        (middle, _) => (values[middle - 1] + values[middle]) / 2.0,
    }
}

/// A measured figure with `digits` decimals, as JSON; null where it is not finite.
pub fn figure(value: f64, digits: u16) -> Value {
    let scaled = (value * 10f64.powi(i32::from(digits))).round();
    if !scaled.is_finite() || scaled.abs() > 1e18 {
        return Value::Null;
    }
    Number::decimal(scaled as i128, digits).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ratios() {
        let (a, b) = (Times(vec![10.0, 1000.0, 30.0]), Times(vec![5.0, 500.0, 10.0]));
        assert_eq!((a.median(), a.ratio(&b)), (30.0, 2.0));
        assert_eq!(Times(vec![1.0, 2.0]).median(), 1.5);
        assert_eq!(figure(12.34, 1).to_string(), "12.3");
        assert_eq!(figure(f64::NAN, 1), Value::Null);
    }

    #[test]
    fn every_subject_has_one_turn_a_round() {
        let (mut first, mut second) = (0, 0);
        let effort = Effort { rounds: 4, calls: Some(3) };
        measure(&effort, &mut [Subject::new("a", || first += 1), Subject::in_bulk("b", |calls| second += calls)]);
        assert_eq!((first, second), (12, 12));
    }
}
