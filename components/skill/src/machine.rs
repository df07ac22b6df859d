//! The search: one cell at a time, an edit of one unit, rollouts, a paired comparison, a decision.
//!
//! Straight-line code over a [`World`], so that a host that answers every call of the world as it
//! was answered before can end the process anywhere and go on.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Unit, paragraphs, sections};
use crate::edit::{Level, edited};
use crate::matrix::{Cell, Coordinate, Matrix, Micros, SCORES};
use crate::world::{Admission, Comparison, Config, Decision, Ended, Measure, Rejection, Report, Step, Trace, World};

/// Searches until there is nothing left to do.
///
/// `traces` are runs with this very document, one for each seed; without any they are made first.
pub fn search<W: World>(config: &Config, document: &str, traces: Vec<Trace>, world: &mut W) -> Report<W::Error> {
    let mut search = Search {
        config,
        world,
        document: document.to_owned(),
        traces,
        seeds: (0..config.rollouts.max(1)).collect(),
        blocked: BTreeSet::new(),
        rejected: BTreeMap::new(),
        decisions: Vec::new(),
        levels: Vec::new(),
    };
    let seeded = search.seed();
    let first = search.traces.clone();
    let error = seeded.and_then(|()| search.run()).err();
    let Search { document, traces, decisions, levels, .. } = search;
    Report { document, first, traces, decisions, levels, error }
}

struct Search<'c, W> {
    config: &'c Config,
    world: &'c mut W,
    document: String,
    traces: Vec<Trace>,
    seeds: Vec<u32>,
    /// Sections' cells that nothing more is done about.
    blocked: BTreeSet<Coordinate>,
    /// By level and cell, since the unit last changed.
    rejected: BTreeMap<(Level, Coordinate), Vec<Rejection>>,
    decisions: Vec<Decision>,
    levels: Vec<Ended>,
}

/// One level while it is worked on.
struct Run {
    level: Level,
    /// The section whose paragraphs these are.
    section: Option<String>,
    matrix: Matrix,
    active: Option<String>,
    iterations: u32,
    refreshes: u32,
    after_accept: bool,
}

impl<W: World> Search<'_, W> {
    /// Makes the runs that there are none of yet.
    fn seed(&mut self) -> Result<(), W::Error> {
        if self.traces.is_empty() {
            self.traces = self.world.rollouts(&self.document, &self.seeds)?;
        }
        of_seeds(&self.traces, &self.seeds)
    }

    fn run(&mut self) -> Result<(), W::Error> {
        let mut run = self.begin(Level::Section, None, None)?;
        let mut descents = 0;
        loop {
            let ended = self.level(&mut run)?;
            let exhausted = ended.exhausted.clone();
            self.levels.push(ended);
            let Some(at) = exhausted else { return Ok(()) };
            let low = run.matrix.cells.get(&at).is_some_and(|cell| cell.score <= self.config.descend_at);
            let section = sections(&self.document).into_iter().find(|unit| unit.id == at.unit);
            let many = section.is_some_and(|section| paragraphs(&self.document, &section).len() >= 2);
            if low && many && descents < self.config.descents {
                descents += 1;
                let mut inner = self.begin(Level::Paragraph, Some(at.unit.clone()), Some(at.dimension.clone()))?;
                let ended = self.level(&mut inner)?;
                self.levels.push(ended);
                if self.decisions.iter().any(|one| one.accepted && one.level == Level::Paragraph) {
                    run.matrix.stale.extend(self.config.dimensions.iter().cloned());
                    self.refresh(&mut run)?;
                }
            }
            // One cell that cannot be mended keeps nobody from the rest of its dimension.
            self.blocked.insert(at);
            if run.iterations >= self.config.section_iterations {
                return Ok(());
            }
        }
    }

    fn begin(&mut self, level: Level, section: Option<String>, active: Option<String>) -> Result<Run, W::Error> {
        let mut matrix = Matrix { dimensions: self.config.dimensions.clone(), ..Matrix::default() };
        matrix.stale = self.config.dimensions.iter().cloned().collect();
        let mut run = Run { level, section, matrix, active, iterations: 0, refreshes: 0, after_accept: false };
        self.rescore(&mut run)?;
        Ok(run)
    }

    /// The units of a level, as the document is now.
    fn units(&self, run: &Run) -> Vec<Unit> {
        let all = sections(&self.document);
        match &run.section {
            None => all,
            Some(id) => all
                .iter()
                .find(|unit| unit.id == *id)
                .map(|section| paragraphs(&self.document, section))
                .unwrap_or_default(),
        }
    }

    /// Scores the dimensions whose scores are older than the text.
    fn rescore(&mut self, run: &mut Run) -> Result<(), W::Error> {
        let units = self.units(run);
        run.matrix.units = units.iter().map(|unit| unit.id.clone()).collect();
        for dimension in self.config.dimensions.iter().filter(|one| run.matrix.stale.contains(*one)) {
            let cells = self.world.score(&self.document, &units, dimension, &self.traces)?;
            if cells.len() != units.len() {
                return Err(format!("{} scores of {dimension} for {} units", cells.len(), units.len()).into());
            }
            for (unit, mut cell) in units.iter().zip(cells) {
                in_range(cell.score, dimension)?;
                // What rests on no run that there was, rests on nothing.
                cell.evidence.retain(|id| self.traces.iter().any(|trace| trace.id == *id));
                run.matrix.cells.insert(Coordinate { unit: unit.id.clone(), dimension: dimension.clone() }, cell);
            }
        }
        run.matrix.stale.clear();
        Ok(())
    }

    fn refresh(&mut self, run: &mut Run) -> Result<(), W::Error> {
        run.refreshes += 1;
        self.rescore(run)
    }

    fn excluded(&self, run: &Run) -> BTreeSet<Coordinate> {
        let often = |list: &Vec<Rejection>| list.len() >= self.config.rejections.max(1) as usize;
        let rejected = self.rejected.iter().filter(|((level, _), list)| *level == run.level && often(list));
        let blocked = self.blocked.iter().filter(|_| run.level == Level::Section);
        rejected.map(|((_, at), _)| at).chain(blocked).cloned().collect()
    }

    fn level(&mut self, run: &mut Run) -> Result<Ended, W::Error> {
        let config = self.config;
        let most = match run.level {
            Level::Section => config.section_iterations,
            Level::Paragraph => config.paragraph_iterations,
        };
        let ended = |run: &Run, reason, exhausted| Ended {
            level: run.level,
            iterations: run.iterations,
            refreshes: run.refreshes,
            reason,
            exhausted,
        };
        while run.iterations < most {
            let excluded = self.excluded(run);
            let selected = run.matrix.select(config.threshold, run.active.as_deref(), &excluded, config.reading);
            let Some(at) = selected else {
                if !run.matrix.stale.is_empty() {
                    self.refresh(run)?;
                } else if run.active.take().is_none() {
                    let converged = run.matrix.converged(config.threshold);
                    let reason = if converged { "normalized_gap_converged" } else { "available_coordinates_exhausted" };
                    return Ok(ended(run, reason, None));
                }
                continue;
            };
            run.active = Some(at.dimension.clone());
            self.iteration(run, &at)?;
            run.iterations += 1;
            if self.excluded(run).contains(&at) {
                return Ok(ended(run, "coordinate_exhausted", Some(at)));
            }
        }
        let reason = match (run.matrix.converged(config.threshold), run.after_accept) {
            (true, _) => "normalized_gap_converged",
            (false, true) => "max_iterations_after_accept",
            (false, false) => "max_iterations",
        };
        Ok(ended(run, reason, None))
    }

    fn iteration(&mut self, run: &mut Run, at: &Coordinate) -> Result<(), W::Error> {
        let Some(unit) = self.units(run).into_iter().find(|unit| unit.id == at.unit) else {
            return Err(format!("the unit {} is gone", at.unit).into());
        };
        let key = (run.level, at.clone());
        let before = self.rejected.get(&key).cloned().unwrap_or_default();
        let old = unit.text(&self.document).to_owned();
        let refused = |old: String, new: String, why: &str| Tried {
            old,
            new,
            delta: 0,
            verdict: Err(why.to_owned()),
            candidate: None,
        };
        let Some((text, document)) = self.generated(run, at, &unit, &before)? else {
            return self.decide(run, at, refused(old, String::new(), "edit_validation_exhausted"));
        };
        if before.iter().any(|one| one.text == text) {
            return self.decide(run, at, refused(old, text, "exact_duplicate_rejected_edit"));
        }
        let traces = self.world.rollouts(&document, &self.seeds)?;
        of_seeds(&traces, &self.seeds)?;
        let comparison = self.world.compare(&old, &text, at, &self.traces, &traces)?;
        in_range(comparison.incumbent, &at.dimension)?;
        in_range(comparison.candidate, &at.dimension)?;
        let known = |id: &String| self.traces.iter().chain(&traces).any(|trace| trace.id == *id);
        if let Some(foreign) = comparison.evidence.iter().find(|id| !known(id)) {
            return Err(format!("the comparison rests on {foreign}, which is no run of either").into());
        }
        let delta = comparison.candidate - comparison.incumbent;
        let step = self.step(at, &comparison, &traces);
        let verdict = verdict(self.world.admit(&step)?, &comparison);
        let candidate = Some(Candidate { document, traces, score: comparison.candidate });
        self.decide(run, at, Tried { old, new: text, delta, verdict, candidate })
    }

    /// A text that keeps the shape of the document, and the document with it.
    fn generated(
        &mut self,
        run: &Run,
        at: &Coordinate,
        unit: &Unit,
        before: &[Rejection],
    ) -> Result<Option<(String, String)>, W::Error> {
        let mut feedback: Vec<String> = before.iter().map(|one| format!("{}: {}", one.reason, one.text)).collect();
        let cell = run.matrix.cells.get(at).cloned().unwrap_or(Cell {
            score: *SCORES.start(),
            evidence: vec![],
            reason: String::new(),
        });
        for _ in 0..self.config.attempts.max(1) {
            let text = self.world.edit(&self.document, unit, at, &cell, &feedback)?;
            match edited(&self.document, unit, run.level, &text, self.config.most_bytes) {
                Ok(document) => return Ok(Some((text.trim().to_owned(), document))),
                Err(why) => feedback.push(format!("structural_validation_failed: {why}: {text}")),
            }
        }
        Ok(None)
    }

    /// What the edit is admitted by: the cell as it was judged, and what the runs show.
    fn step(&self, at: &Coordinate, comparison: &Comparison, traces: &[Trace]) -> Step {
        let cell = Measure {
            metric: CELL,
            stratum: format!("{}: {}", at.unit, at.dimension),
            before: Some((comparison.incumbent, 1)),
            after: Some((comparison.candidate, 1)),
            higher_is_better: true,
            bound: self.config.accept,
        };
        let guard = |metric, higher_is_better, holds: &dyn Fn(&Trace) -> Option<bool>| Measure {
            metric,
            stratum: "all".to_owned(),
            before: rate(&self.traces, holds),
            after: rate(traces, holds),
            higher_is_better,
            bound: 0,
        };
        let mut measures = vec![cell, guard(TIMEOUTS, false, &|trace| Some(trace.timed_out))];
        // Where nobody verifies, it says nothing; where somebody did, it has to say it again.
        let passes = guard(PASSES, true, &|trace| trace.passed);
        measures.extend((passes.before.is_some() || passes.after.is_some()).then_some(passes));
        let regressions = (NO_REGRESSION.to_owned(), comparison.regressions.is_empty());
        Step { measures, checks: vec![(RELEVANT.to_owned(), comparison.relevant), regressions] }
    }

    /// Keeps what was decided; only then it counts.
    fn decide(&mut self, run: &mut Run, at: &Coordinate, tried: Tried) -> Result<(), W::Error> {
        let Tried { old, new, delta, verdict, candidate } = tried;
        let (accepted, reason) = match verdict {
            Ok(reason) => (candidate.is_some(), reason),
            Err(reason) => (false, reason),
        };
        let taken = candidate.filter(|_| accepted);
        let document = taken.as_ref().map_or(&self.document, |candidate| &candidate.document);
        let decision = Decision {
            level: run.level,
            at: at.clone(),
            accepted,
            reason: reason.clone(),
            delta,
            bytes: document.len(),
            old,
            new: new.clone(),
        };
        self.world.decided(document, &decision)?;
        run.after_accept = accepted;
        match taken {
            Some(Candidate { document, traces, score }) => {
                (self.document, self.traces) = (document, traces);
                if let Some(cell) = run.matrix.cells.get_mut(at) {
                    cell.score = score;
                    cell.evidence.clear();
                }
                let others = self.config.dimensions.iter().filter(|one| **one != at.dimension);
                run.matrix.stale.extend(others.cloned());
                // What was refused was refused of another text.
                self.rejected.retain(|(level, other), _| *level != run.level || other.unit != at.unit);
            }
            None => {
                let rejection = Rejection { reason, text: new, delta };
                self.rejected.entry((run.level, at.clone())).or_default().push(rejection);
            }
        }
        self.decisions.push(decision);
        Ok(())
    }
}

/// An edit, and what came of trying it.
struct Tried {
    old: String,
    new: String,
    delta: Micros,
    verdict: Result<String, String>,
    candidate: Option<Candidate>,
}

/// A document with an edit in it, its runs, and what the cell is judged to be.
struct Candidate {
    document: String,
    traces: Vec<Trace>,
    score: Micros,
}

/// What steps are measured by.
const CELL: &str = "cell";
const TIMEOUTS: &str = "timeout_rate";
const PASSES: &str = "pass_rate";
const RELEVANT: &str = "task_relevant";
const NO_REGRESSION: &str = "no_regression";

/// Why an edit is taken, or why not.
fn verdict(admission: Admission, comparison: &Comparison) -> Result<String, String> {
    let axes = match admission {
        Admission::Accept => return Ok("target_improved_without_runtime_regression".to_owned()),
        Admission::Unmeasurable(axes) => return Err(format!("unmeasurable:{}", axes.join(","))),
        Admission::Reject(axes) => axes,
    };
    let broke = |name: &str| axes.iter().any(|axis| axis.split('/').next() == Some(name));
    let mut regressions = comparison.regressions.clone();
    regressions.extend(broke(TIMEOUTS).then(|| "timeout".to_owned()));
    regressions.extend(broke(PASSES).then(|| "verifier".to_owned()));
    Err(match (broke(RELEVANT), regressions.is_empty()) {
        (true, _) => "target_unit_not_task_relevant".to_owned(),
        (false, false) => format!("runtime_regressed:{}", regressions.join(",")),
        (false, true) => "target_cell_did_not_improve".to_owned(),
    })
}

/// The share of runs of which something holds, of those of which anybody can say.
pub fn rate(traces: &[Trace], holds: &dyn Fn(&Trace) -> Option<bool>) -> Option<(Micros, u32)> {
    let said: Vec<bool> = traces.iter().filter_map(holds).collect();
    let of = u32::try_from(said.len()).ok().filter(|of| *of > 0)?;
    let count = said.iter().filter(|holds| **holds).count();
    Some((Micros::try_from(count).ok()? * 1_000_000 / Micros::from(of), of))
}

fn of_seeds<E: From<String>>(traces: &[Trace], seeds: &[u32]) -> Result<(), E> {
    if traces.iter().map(|trace| trace.seed).eq(seeds.iter().copied()) {
        return Ok(());
    }
    Err("the runs are not of the seeds that were asked for".to_owned().into())
}

fn in_range<E: From<String>>(score: Micros, dimension: &str) -> Result<(), E> {
    if SCORES.contains(&score) {
        return Ok(());
    }
    Err(format!("a score of {score} micro-units in {dimension}; they are from 1 to 5").into())
}
