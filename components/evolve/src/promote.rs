//! Who counts: checks, the gate, and the rows that confirm.

use std::collections::BTreeMap;

use crate::bench::{Bench, Course};
use crate::data::Split;
use crate::genome::Genome;
use crate::individual::{Individual, RunOf, Status};
use crate::lent::{Axis, Decision, Fault, Lent, Measure, Snapshot};
use crate::measure::{Judged, Measured};
use crate::sanity::{Check, Sanity, noise};
use crate::search::Search;
use crate::stats::{gains, mean};

/// The most that are checked with runs in one generation.
const MOST_CHECKED: u32 = 3;
/// Seeds of runs that confirm begin here.
const CONFIRM_SEED: u64 = 1_000;

/// What came of the rows that confirm.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confirmed {
    /// Whether what was found holds.
    pub holds: bool,
    /// Why, or why not.
    pub checks: Vec<Check>,
    /// The baseline's scores.
    pub before: Vec<i64>,
    /// The scores of what was found.
    pub after: Vec<i64>,
}

impl<'s, L: Lent> Search<'s, L> {
    /// Whoever is better than what counts is checked, and counts if it holds up.
    pub(crate) fn promote(&mut self) -> Result<(), Fault> {
        let mut paid = 0;
        loop {
            let better = |own: &&Individual| {
                own.rank() > self.all[self.incumbent].rank() && !self.checked.contains_key(&own.number)
            };
            let Some(number) = self.all.iter().filter(better).max_by_key(|own| own.rank()).map(|own| own.number) else {
                return Ok(());
            };
            let sure = self.settings.control.max_jobs.saturating_sub(self.bench.jobs);
            let can_pay = sure >= self.settings.jobs_of_checks() + self.settings.jobs_to_confirm();
            let free = self.sanity(|sanity, own, bench, _| Ok(sanity.free(own, bench)), number)?;
            let mut checks = free;
            if checks.iter().all(|check| check.ok) {
                if paid >= MOST_CHECKED || !can_pay {
                    return Ok(());
                }
                paid += 1;
                let more = self.sanity(|sanity, own, bench, lent| sanity.paid(lent, own, bench), number)?;
                checks.retain(|check| check.name != "beyond-noise");
                checks.extend(more);
            }
            let accepted = checks.iter().all(|check| check.ok) && self.admitted(number, &checks);
            let grave = checks.iter().find(|check| !check.ok && check.grave).cloned();
            self.checked.insert(number, checks);
            if let Some(check) = grave {
                let own = &mut self.all[number];
                (own.status, own.reason) = (Status::Quarantined, format!("{} [{}]", check.detail, check.name));
                self.population.banish(&self.all, number);
                self.tell_quarantined(number);
            } else if accepted {
                self.tell_applied(number);
                self.incumbent = number;
                return Ok(());
            }
        }
    }

    fn sanity<T>(
        &mut self,
        ask: impl FnOnce(&mut Sanity<'_>, &Individual, &mut Bench<'s>, &mut L) -> Result<T, Fault>,
        number: usize,
    ) -> Result<T, Fault> {
        let none = BTreeMap::new();
        let mut sanity = Sanity {
            checks: &self.settings.checks,
            base: &self.base,
            baseline: &mut self.baseline,
            predicted: self.all[0].whole().map_or(&none, |whole| &whole.predicted),
            derived: &self.derived,
            seed: self.settings.control.seed,
        };
        ask(&mut sanity, &self.all[number], &mut self.bench, self.lent)
    }

    /// Asks the gate whether one may count instead of the incumbent.
    fn admitted(&mut self, number: usize, checks: &[Check]) -> bool {
        let course = self.course();
        let (evaluator, sample) = (self.bench.evaluator(), self.bench.sample(&course));
        let side = |own: &Individual, checks: Vec<(String, bool)>| Snapshot {
            subject: own.digest.clone(),
            evaluator: evaluator.clone(),
            sample: sample.clone(),
            measures: vec![
                Measure { metric: "feasible".to_owned(), mean: i64::from(own.feasible), n: count(own.scores()) },
                Measure { metric: "score".to_owned(), mean: own.score.unwrap_or(0), n: count(own.scores()) },
            ],
            checks,
        };
        let (before, after) = (&self.all[self.incumbent], &self.all[number]);
        // One that keeps its limits stands above all that do not, whatever these score.
        let gains_limits = after.feasible && !before.feasible;
        let mut axes = vec![Axis { metric: "feasible".to_owned(), strict: gains_limits, bound: 0 }];
        if !gains_limits {
            axes.push(Axis { metric: "score".to_owned(), strict: true, bound: 0 });
        }
        let before = side(before, Vec::new());
        let after = side(after, checks.iter().map(|check| (check.name.to_owned(), check.ok)).collect());
        matches!(self.lent.admit(&before, &after, &axes, 1), Decision::Accept)
    }

    /// Scores the baseline and what was found on rows that nobody saw, once.
    pub(crate) fn confirm(&mut self) -> Result<Confirmed, Fault> {
        self.lent.progress("confirm", 0, None);
        let seed = self.settings.control.seed.wrapping_add(CONFIRM_SEED);
        let course = Course { split: Split::Confirm, purpose: "confirm".to_owned(), ..Course::whole(seed) };
        let (base, own) = (self.base.clone(), self.all[self.incumbent].genome.clone());
        let judged = self.bench.measure(self.lent, &[(&base, &course), (&own, &course)])?;
        let mut confirmed = Confirmed::default();
        let mut sides = Vec::new();
        for judged in judged {
            match judged {
                Judged::Good(measured) => sides.push(measured),
                Judged::Bad(bad) => {
                    let detail = format!("{} [{}]", bad.why, bad.code);
                    confirmed.checks.push(Check { name: "confirm", ok: false, grave: true, detail });
                }
            }
        }
        if let [before, after] = sides.as_slice() {
            let gained = gains(std::slice::from_ref(&before.scores), std::slice::from_ref(&after.scores));
            confirmed.checks.push(noise(&gained, 1, self.settings.checks.noise));
            let (sample, evaluator) = (self.bench.sample(&course), self.bench.evaluator());
            let side = |genome: &Genome, measured: &Measured, checks: &[Check]| Snapshot {
                subject: genome.digest(),
                evaluator: evaluator.clone(),
                sample: sample.clone(),
                measures: vec![Measure {
                    metric: "score".to_owned(),
                    mean: mean(&measured.scores).unwrap_or(0),
                    n: count(&measured.scores),
                }],
                checks: checks.iter().map(|check| (check.name.to_owned(), check.ok)).collect(),
            };
            let axes = [Axis { metric: "score".to_owned(), strict: true, bound: 0 }];
            let (one, other) = (side(&base, before, &[]), side(&own, after, &confirmed.checks));
            confirmed.holds = matches!(self.lent.admit(&one, &other, &axes, 1), Decision::Accept);
            (confirmed.before, confirmed.after) = (before.scores.clone(), after.scores.clone());
            for (number, measured) in [(0, before), (self.incumbent, after)] {
                self.all[number].runs.push(RunOf { purpose: "confirm".to_owned(), measured: measured.clone() });
            }
        }
        Ok(confirmed)
    }
}

fn count(scores: &[i64]) -> u32 {
    u32::try_from(scores.len()).unwrap_or(u32::MAX)
}
