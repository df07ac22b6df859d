//! The search: generations of proposals, each measured and checked, until one of the reasons to stop.
//! Straight-line code; the host answers every call as it was answered before, where the job was cut
//! off, so nothing here knows of crashes.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::Value;
use auto_search::amount::decimal;

use crate::archive::{Population, cell};
use crate::bench::{Bench, Course};
use crate::genome::{Genome, PROGRAM};
use crate::individual::{Individual, Operator, Proposal, RunOf, Status};
use crate::lent::{Fault, Lent};
use crate::measure::{Judged, Measured};
use crate::promote::Confirmed;
use crate::propose::{BUILT_IN, Maker, Place};
use crate::sanity::Check;
use crate::settings::{Settings, Subject};
use crate::stats::{alike, mean, trigrams};

/// Faults of a teacher that are not named after the model.
const TEACHER: [&str; 3] = ["no-teacher", "residual-secret", "egress-unwritten"];

/// Why it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// As many generations as it may.
    Generations,
    /// The jobs are used up, apart from those that the end needs.
    Jobs,
    /// The money is.
    Spend,
    /// The score that was asked for.
    Target,
    /// Generations without anything better.
    Stagnation,
    /// Somebody ended it.
    Cancelled,
    /// The teacher cannot be asked; what was found so far is not confirmed.
    Failed(Fault),
}

impl Stop {
    /// Its name in reports, and what it means.
    pub fn words(&self) -> (&str, &str) {
        match self {
            Stop::Generations => ("generations", "no generation is left"),
            Stop::Jobs => ("jobs", "no job is left beside those that the end needs"),
            Stop::Spend => ("spend", "the money is used up"),
            Stop::Target => ("target_reached", "the score that was asked for is reached"),
            Stop::Stagnation => ("stagnation", "nothing better came for too many generations"),
            Stop::Failed(fault) => (&fault.code, &fault.message),
            Stop::Cancelled => ("cancelled", "it was ended before its end; nothing was confirmed"),
        }
    }
}

/// A search.
pub struct Search<'s, L: Lent> {
    pub(crate) lent: &'s mut L,
    pub(crate) settings: &'s Settings,
    /// The table that they were read from.
    pub(crate) table: &'s Value,
    pub(crate) bench: Bench<'s>,
    pub(crate) base: Genome,
    /// Fields that were made of the answer.
    pub(crate) derived: Vec<String>,
    /// Everybody so far.
    pub(crate) all: Vec<Individual>,
    pub(crate) population: Population,
    /// What counts.
    pub(crate) incumbent: usize,
    /// The baseline's scores, a row for each seed.
    pub(crate) baseline: Vec<Vec<i64>>,
    /// What was there, in its normal form.
    seen: BTreeSet<String>,
    grams: Vec<Vec<u64>>,
    pub(crate) checked: BTreeMap<usize, Vec<Check>>,
    /// Micro-USD of the teacher.
    pub(crate) paid: u64,
    pub(crate) calls: u64,
    pub(crate) timeline: Vec<Value>,
    pub(crate) generations: Vec<Value>,
    pub(crate) confirmed: Option<Confirmed>,
    pub(crate) notes: Vec<String>,
    /// How many proposals were not new.
    pub(crate) known: u64,
    /// Whether the teacher's next question may cost more than is left.
    pub(crate) poor: bool,
}

impl<'s, L: Lent> Search<'s, L> {
    /// Measures the baseline. Codes beside the host's: `baseline-invalid`, `not-reproducible`.
    pub fn begin(
        lent: &'s mut L,
        (settings, table): (&'s Settings, &'s Value),
        bench: Bench<'s>,
        base: Genome,
    ) -> Result<Search<'s, L>, Fault> {
        let derived = bench.rows.derived(settings.checks.derived);
        let mut search = Search {
            lent,
            settings,
            table,
            bench,
            base: base.clone(),
            derived,
            all: Vec::new(),
            population: Population::of(settings.control.islands),
            incumbent: 0,
            baseline: Vec::new(),
            seen: BTreeSet::new(),
            grams: Vec::new(),
            checked: BTreeMap::new(),
            paid: 0,
            calls: 0,
            timeline: Vec::new(),
            generations: Vec::new(),
            confirmed: None,
            notes: Vec::new(),
            known: 0,
            poor: false,
        };
        if !search.derived.is_empty() {
            let fields = search.derived.join(", ");
            search.notes.push(format!("the label can be told from {fields} alone: whoever needs that is quarantined"));
        }
        let first = Proposal {
            genome: base,
            parents: Vec::new(),
            operator: Operator::Baseline,
            idea: "baseline".to_owned(),
            by: "given".to_owned(),
            prompt: None,
        };
        let number = search.born(first, 0, 0);
        search.evaluate(&[number])?;
        let own = &search.all[number];
        let Some(whole) = own.whole().cloned().filter(|_| own.status == Status::Valid) else {
            let message = format!("the baseline itself does not count: {}; {}", own.reason, own.feedback);
            return Err(Fault::new("baseline-invalid", message));
        };
        search.baseline.push(whole.scores.clone());
        search.reproducible(&whole)?;
        search.settle(number);
        Ok(search)
    }

    /// The same run leaves the same, or nothing that is measured means anything.
    fn reproducible(&mut self, whole: &Measured) -> Result<(), Fault> {
        if !self.settings.checks.rerun {
            return Ok(());
        }
        let course = Course { again: 1, purpose: "rerun".to_owned(), ..self.course() };
        let base = self.base.clone();
        match self.bench.measure(self.lent, &[(&base, &course)])?.first() {
            Some(Judged::Good(again)) if again.output == whole.output => Ok(()),
            _ => {
                let message = "the baseline, run again with the same seed, leaves something else; let the evaluator take \
                    all chance from AUTO_SEED, or set `rerun` of [learning.evolve.checks] to false";
                Err(Fault::new("not-reproducible", message))
            }
        }
    }

    /// Generations until one of the reasons to stop; then what was found is confirmed.
    pub fn run(&mut self, cancel: bool) -> Result<Stop, Fault> {
        self.warn();
        let stop = match self.generations() {
            Ok(stop) => stop,
            // Whoever is cancelled may start nothing any more; else the host's own count was lower.
            Err(fault) if fault.code == "experiment-budget" => {
                if cancel {
                    Stop::Cancelled
                } else {
                    Stop::Jobs
                }
            }
            Err(fault) if cancel && fault.code == "no-teacher" => Stop::Cancelled,
            Err(fault) if fault.code.starts_with("model-") || TEACHER.contains(&fault.code.as_str()) => {
                Stop::Failed(fault)
            }
            Err(fault) => return Err(fault),
        };
        if !matches!(stop, Stop::Cancelled | Stop::Failed(_)) && self.incumbent != 0 {
            match self.confirm() {
                Err(fault) if fault.code == "experiment-budget" && cancel => return Ok(Stop::Cancelled),
                confirmed => self.confirmed = Some(confirmed?),
            }
        }
        Ok(stop)
    }

    /// A budget that hardly permits anything is told of.
    fn warn(&mut self) {
        let left = self.jobs_left() / self.settings.jobs_each().max(1);
        if left < 3 {
            self.notes.push(format!("the jobs permit {left} proposals, and a search wants at least three"));
        }
    }

    fn generations(&mut self) -> Result<Stop, Fault> {
        let control = &self.settings.control;
        let mut stale = 0;
        for generation in 1..=control.generations {
            if let Some(stop) = self.stopped(stale) {
                return Ok(stop);
            }
            self.lent.progress("generation", generation.into(), Some(control.generations.into()));
            let before = self.incumbent;
            let tried = self.generation(generation)?;
            stale = if self.incumbent == before { stale + 1 } else { 0 };
            self.told(generation, before, &tried);
            self.change_places(generation, stale);
        }
        Ok(self.stopped(stale).filter(|stop| *stop == Stop::Target).unwrap_or(Stop::Generations))
    }

    fn stopped(&self, stale: u32) -> Option<Stop> {
        let control = &self.settings.control;
        let score = self.all[self.incumbent].score.unwrap_or(0);
        if control.target.is_some_and(|target| score >= target) {
            return Some(Stop::Target);
        }
        if stale >= control.stagnation {
            return Some(Stop::Stagnation);
        }
        if self.jobs_left() < self.settings.jobs_each() {
            return Some(Stop::Jobs);
        }
        if self.poor {
            return Some(Stop::Spend);
        }
        if control.job_cost > 0 && self.money_left() < control.job_cost.saturating_mul(self.settings.jobs_each()) {
            return Some(Stop::Spend);
        }
        None
    }

    /// Jobs that may be started, without those that the end needs.
    fn jobs_left(&self) -> u64 {
        let end = self.settings.jobs_of_checks() + self.settings.jobs_to_confirm();
        self.settings.control.max_jobs.saturating_sub(self.bench.jobs).saturating_sub(end)
    }

    /// Micro-USD that may be spent, without those that the end needs.
    pub(crate) fn money_left(&self) -> u64 {
        let end = self.settings.jobs_of_checks() + self.settings.jobs_to_confirm();
        self.settings
            .control
            .max_spend
            .saturating_sub(self.spent())
            .saturating_sub(self.settings.control.job_cost.saturating_mul(end))
    }

    /// Micro-USD: of the teacher, and of jobs at their price.
    pub(crate) fn spent(&self) -> u64 {
        self.paid.saturating_add(self.settings.control.job_cost.saturating_mul(self.bench.jobs))
    }

    /// One generation: who was tried.
    fn generation(&mut self, generation: u32) -> Result<Vec<usize>, Fault> {
        let proposals = self.proposals(generation)?;
        let mut born = Vec::new();
        for (island, proposal) in proposals {
            born.push(self.born(proposal, generation, island));
        }
        let able: Vec<usize> = born.iter().copied().filter(|number| self.may_be_run(*number)).collect();
        self.evaluate(&able)?;
        able.iter().for_each(|number| self.settle(*number));
        self.promote()?;
        Ok(born)
    }

    /// What is tried, no more than there are jobs for.
    fn proposals(&mut self, generation: u32) -> Result<Vec<(usize, Proposal)>, Fault> {
        let control = &self.settings.control;
        let each = self.settings.jobs_each().max(1);
        let mut most = self.jobs_left() / each;
        if control.job_cost > 0 {
            most = most.min(self.money_left() / control.job_cost.saturating_mul(each).max(1));
        }
        let count = control.offspring.min(usize::try_from(most).unwrap_or(usize::MAX));
        let mut found = self.taught(generation, count)?;
        for slot in found.len()..count {
            let place = Place { island: slot % control.islands, generation, slot: slot / control.islands };
            let maker =
                Maker { settings: self.settings, base: &self.base, all: &self.all, population: &self.population };
            let among = |genome: &Genome| found.iter().any(|(_, other)| other.genome.normal() == genome.normal());
            match maker.propose(place, |genome| !among(genome) && self.is_new(genome)) {
                Some(proposal) => found.push((place.island, proposal)),
                None => self.known += 1,
            }
        }
        Ok(found)
    }

    /// Whether nothing like it was there before.
    pub(crate) fn is_new(&self, genome: &Genome) -> bool {
        let normal = genome.normal();
        let limit = self.settings.control.novelty;
        if self.seen.contains(&normal) || limit >= 1_000_000 {
            return !self.seen.contains(&normal);
        }
        let runs = trigrams(&normal);
        self.grams.iter().all(|other| alike(&runs, other) < limit)
    }

    fn born(&mut self, proposal: Proposal, generation: u32, island: usize) -> usize {
        let number = self.all.len();
        let before = proposal.parents.first().map(|parent| self.all[*parent].genome.clone());
        let base = before.or_else(|| (number > 0).then(|| self.base.clone()));
        let normal = proposal.genome.normal();
        if self.settings.control.novelty < 1_000_000 {
            self.grams.push(trigrams(&normal));
        }
        self.seen.insert(normal);
        self.all.push(Individual::of(proposal, number, generation, island, base.as_ref()));
        number
    }

    /// Holds one to the hard constraints: what breaks them costs nothing.
    fn may_be_run(&mut self, number: usize) -> bool {
        let genome = &self.all[number].genome;
        let broken = match &self.settings.subject {
            Subject::Program { interface, .. } => {
                let text = genome.files.get(PROGRAM).map(String::as_str).unwrap_or_default();
                interface.read(text).err().map(|why| ("interface-changed", why))
            }
            Subject::Files { space, frozen } => {
                let of_space = space.check(&genome.params).map_err(|why| ("not-of-the-space", why));
                of_space.and_then(|()| frozen.check(&self.base.files, &genome.files)).err()
            }
        };
        if let Some((code, why)) = broken {
            let own = &mut self.all[number];
            (own.status, own.reason) = (Status::Refused, format!("{why} [{code}]"));
            return false;
        }
        true
    }

    pub(crate) fn course(&self) -> Course {
        Course::whole(self.settings.control.seed)
    }

    /// Measures some, stage by stage.
    fn evaluate(&mut self, numbers: &[usize]) -> Result<(), Fault> {
        let mut left = numbers.to_vec();
        let stages = self.settings.stages.clone();
        for (at, stage) in stages.iter().enumerate() {
            let purpose = format!("stage-{}", at + 1);
            let course = Course { share: stage.share, purpose: purpose.clone(), ..self.course() };
            self.measure(&left, &course)?;
            let of = |own: &Individual| {
                let run = own.runs.iter().find(|run| run.purpose == purpose)?;
                mean(&run.measured.scores)
            };
            let bar = self.all.get(self.incumbent).and_then(of).map(|score| score - stage.below);
            for number in &left {
                let own = &mut self.all[*number];
                let score = of(own);
                if let (Some(score), Some(bar)) = (score.filter(|_| own.operator != Operator::Baseline), bar)
                    && score < bar
                {
                    let words = format!(
                        "{} on a part of the rows, and {} is the least",
                        decimal(score).text(),
                        decimal(bar).text()
                    );
                    (own.status, own.reason) = (Status::Dropped, format!("{words} [{purpose}]"));
                }
            }
            left.retain(|number| self.all[*number].status == Status::Valid);
        }
        let course = self.course();
        self.measure(&left, &course)
    }

    fn measure(&mut self, numbers: &[usize], course: &Course) -> Result<(), Fault> {
        if numbers.is_empty() {
            return Ok(());
        }
        let genomes: Vec<Genome> = numbers.iter().map(|number| self.all[*number].genome.clone()).collect();
        let on: Vec<(&Genome, &Course)> = genomes.iter().map(|genome| (genome, course)).collect();
        let judged = self.bench.measure(self.lent, &on)?;
        for (number, judged) in numbers.iter().zip(judged) {
            let own = &mut self.all[*number];
            own.cost = own.cost.saturating_add(self.settings.control.job_cost);
            match judged {
                Judged::Good(measured) => own.runs.push(RunOf { purpose: course.purpose.clone(), measured }),
                Judged::Bad(bad) => {
                    own.status = if bad.cheat { Status::Quarantined } else { Status::Invalid };
                    own.reason = format!("{} [{}]", bad.why, bad.code);
                    own.feedback = bad.said;
                }
            }
        }
        Ok(())
    }

    /// Scores one that was measured, and gives it its places.
    pub(crate) fn settle(&mut self, number: usize) {
        let (known, parsimony) = (&self.settings.metrics, self.settings.control.parsimony);
        let own = &mut self.all[number];
        own.scored(known, parsimony);
        if own.rank().is_some() {
            own.cell = Some(cell(&own.genome, &self.base));
            self.population.insert(&self.all, number, self.settings.control.population);
        }
        if self.all[number].status == Status::Quarantined {
            self.tell_quarantined(number);
        }
    }

    /// Migration and restarts, when they are due.
    fn change_places(&mut self, generation: u32, stale: u32) {
        let control = &self.settings.control;
        if generation.is_multiple_of(control.migration_every) {
            self.population.migrate(&self.all, generation, control.population);
        }
        let stagnant = stale > 0 && stale % control.restart_every.max(2) == control.restart_every / 2;
        if generation.is_multiple_of(control.restart_every) || stagnant {
            // One island at a time, so that the others keep what they have.
            let at = (generation / control.restart_every.min(generation)) as usize % control.islands;
            self.population.restart(&self.all, at, generation, control.elites);
        }
    }

    /// The module of a program, for those who want to run it.
    pub(crate) fn module(&mut self, genome: &Genome) -> Option<Vec<u8>> {
        let Subject::Program { interface, .. } = &self.settings.subject else { return None };
        let program = interface.read(genome.files.get(PROGRAM)?).ok()?;
        let graph = interface.graph(&program)?;
        self.lent.emit(&graph).ok()
    }

    /// Whether anybody but the built-in proposer proposed something.
    pub(crate) fn proposers(&self) -> BTreeSet<&str> {
        let by = self.all.iter().map(|own| own.by.as_str());
        by.filter(|by| *by != "given").chain([BUILT_IN]).collect()
    }
}
