//! What is looked at before an individual may become what counts. What is too good to be true is
//! quarantined; what is not yet better than chance gains is left as it is, and may have children.

use std::collections::BTreeMap;

use auto_json::{Record, Value};
use auto_search::amount;

use crate::bench::{Bench, Course};
use crate::data::{Split, counts};
use crate::genome::Genome;
use crate::individual::Individual;
use crate::lent::{Fault, Lent};
use crate::measure::{Judged, Measured};
use crate::settings::Checks;
use crate::stats::{apart, beyond_noise, gains, mean};

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name; stable.
    pub name: &'static str,
    /// Whether it holds.
    pub ok: bool,
    /// Whether what fails it is quarantined.
    pub grave: bool,
    /// What was found.
    pub detail: String,
}

impl Check {
    /// As it stands in the report.
    pub fn to_value(&self) -> Value {
        Record::new().with("name", self.name).with("ok", self.ok).with("detail", self.detail.as_str()).into()
    }
}

/// What all are held against.
pub struct Sanity<'c> {
    /// What is checked.
    pub checks: &'c Checks,
    /// The baseline.
    pub base: &'c Genome,
    /// The baseline's scores, a row for each seed that was run.
    pub baseline: &'c mut Vec<Vec<i64>>,
    /// What the baseline predicts.
    pub predicted: &'c BTreeMap<String, u64>,
    /// Fields that were made of the answer.
    pub derived: &'c [String],
    /// The seed of the first run.
    pub seed: u64,
}

impl Sanity<'_> {
    /// What can be told without a run.
    pub fn free(&self, own: &Individual, bench: &Bench<'_>) -> Vec<Check> {
        let mut found = Vec::new();
        let Some(whole) = own.whole() else { return found };
        let score = mean(&whole.scores).unwrap_or(0);
        found.push(Check {
            name: "ceiling",
            ok: score <= self.checks.ceiling,
            grave: true,
            detail: format!(
                "it scores {}, and {} is what nobody reaches honestly",
                shown(score),
                shown(self.checks.ceiling)
            ),
        });
        if let Some(most) = self.checks.apart.filter(|_| !whole.predicted.is_empty()) {
            let right = counts(&bench.rows.of(Split::Select, 1_000_000));
            let far = apart(&whole.predicted, &right);
            // A baseline that is weak is far itself; whoever is nearer than it is only better.
            let most = most.max(apart(self.predicted, &right));
            let (found_far, bound) = (shown(far), shown(most));
            found.push(Check {
                name: "label-distribution",
                ok: far <= most,
                grave: true,
                detail: format!(
                    "what it predicts is {found_far} from what is right (total variation, at most {bound})"
                ),
            });
        }
        let first =
            self.baseline.first().map(|run| gains(std::slice::from_ref(run), std::slice::from_ref(&whole.scores)));
        found.push(noise(&first.unwrap_or_default(), 1, self.checks.noise));
        found
    }

    /// What takes runs.
    pub fn paid(&mut self, lent: &mut impl Lent, own: &Individual, bench: &mut Bench<'_>) -> Result<Vec<Check>, Fault> {
        let Some(whole) = own.whole().cloned() else { return Ok(Vec::new()) };
        let first = Course::whole(self.seed);
        let named = |purpose: &str| Course { purpose: purpose.to_owned(), ..first.clone() };
        let (base, genome) = (self.base, &own.genome);
        let mut courses: Vec<(&Genome, Course)> = Vec::new();
        if self.checks.rerun {
            courses.push((genome, Course { again: 1, ..named("rerun") }));
        }
        if self.checks.shuffled.is_some() {
            courses.push((genome, Course { shuffled: true, ..named("shuffled-labels") }));
        }
        if !self.derived.is_empty() && self.checks.shuffled.is_some() {
            courses.push((genome, Course { without: self.derived.to_vec(), ..named("without-derived") }));
        }
        let seeded = |count: u64| Course { seed: self.seed.wrapping_add(count), ..named("seed") };
        for count in 1..u64::from(self.checks.seeds) {
            courses.push((genome, seeded(count)));
            if self.baseline.len() as u64 <= count {
                courses.push((base, Course { purpose: "baseline-seed".to_owned(), ..seeded(count) }));
            }
        }
        let on: Vec<(&Genome, &Course)> = courses.iter().map(|(genome, course)| (*genome, course)).collect();
        let judged = bench.measure(lent, &on)?;
        let (mut found, mut runs) = (Vec::new(), vec![whole.scores.clone()]);
        for ((_, course), judged) in courses.iter().zip(&judged) {
            match (course.purpose.as_str(), judged) {
                ("rerun", judged) => found.push(rerun(&whole, judged)),
                ("shuffled-labels", judged) => found.push(self.shuffled(judged, bench)),
                ("without-derived", judged) => found.push(self.derived_used(&whole, judged)),
                ("seed", Judged::Good(measured)) => runs.push(measured.scores.clone()),
                ("baseline-seed", Judged::Good(measured)) => self.baseline.push(measured.scores.clone()),
                (purpose, Judged::Good(_)) => {
                    return Err(Fault::new("bad-state", format!("nobody asked for {purpose}")));
                }
                (purpose, Judged::Bad(bad)) => found.push(Check {
                    name: "seeds",
                    ok: false,
                    grave: false,
                    detail: format!("a run ({purpose}) with another seed did not count: {} [{}]", bad.why, bad.code),
                }),
            }
        }
        let count = runs.len().min(self.baseline.len());
        found.push(noise(&gains(&self.baseline[..count], &runs[..count]), count, self.checks.noise));
        Ok(found)
    }

    fn shuffled(&self, judged: &Judged, bench: &Bench<'_>) -> Check {
        let labels = counts(&bench.rows.of(Split::Select, 1_000_000));
        let all: u64 = labels.values().sum();
        let most = labels.values().max().copied().unwrap_or(0);
        let chance = i64::try_from(most * 1_000_000 / all.max(1)).unwrap_or(1_000_000);
        let bound = chance + self.checks.shuffled.unwrap_or(0);
        let (ok, detail) = match judged {
            Judged::Good(measured) => {
                let score = mean(&measured.scores).unwrap_or(0);
                let words =
                    format!("taught shuffled labels it scores {}, and chance is {}", shown(score), shown(chance));
                (score <= bound, words)
            }
            Judged::Bad(bad) => (false, format!("taught shuffled labels it did not count: {} [{}]", bad.why, bad.code)),
        };
        Check { name: "shuffled-labels", ok, grave: true, detail }
    }

    fn derived_used(&self, whole: &Measured, judged: &Judged) -> Check {
        let fields = self.derived.join(", ");
        let (ok, detail) = match judged {
            Judged::Good(measured) => {
                let (with, without) = (mean(&whole.scores).unwrap_or(0), mean(&measured.scores).unwrap_or(0));
                let lost = with - without;
                let words = format!(
                    "the label can be told from {fields} alone; without, it scores {} and not {}",
                    shown(without),
                    shown(with)
                );
                (lost <= self.checks.shuffled.unwrap_or(0), words)
            }
            Judged::Bad(bad) => (false, format!("without {fields} it did not count: {} [{}]", bad.why, bad.code)),
        };
        Check { name: "target-derived", ok, grave: true, detail }
    }
}

/// Whether what it gains over the baseline is beyond the noise of the rows, runs added up.
pub fn noise(gains: &[i64], runs: usize, z: i64) -> Check {
    let sum: i64 = gains.iter().sum();
    let samples = i64::try_from(gains.len() * runs.max(1)).unwrap_or(i64::MAX).max(1);
    Check {
        name: "beyond-noise",
        ok: beyond_noise(gains, z),
        grave: false,
        detail: format!(
            "it gains {} over the baseline on {} rows and {runs} runs, which has to be {} standard deviations",
            shown(sum / samples),
            gains.len(),
            shown(z)
        ),
    }
}

fn rerun(whole: &Measured, judged: &Judged) -> Check {
    let (ok, detail) = match judged {
        Judged::Good(again) if again.output == whole.output => (true, "run again it leaves the same".to_owned()),
        Judged::Good(_) => (false, "run again with the same seed it leaves something else".to_owned()),
        Judged::Bad(bad) => (false, format!("run again it did not count: {} [{}]", bad.why, bad.code)),
    };
    Check { name: "exact-rerun", ok, grave: true, detail }
}

fn shown(micros: i64) -> String {
    amount::decimal(micros).text()
}
