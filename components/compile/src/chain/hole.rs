//! One problem of a chain: what an expression over the environment must give, run by run.

use std::collections::{BTreeMap, BTreeSet};

use auto_json::Value;
use auto_schema::digest::Digest;

use crate::bindings::auto::host::jobs::{self, Backend, Task};
use crate::bindings::auto::host::{progress, sandbox};
use crate::bindings::auto::pass::check::check;
use crate::bindings::auto::pass::emit::emit;
use crate::bindings::auto::pass::extract::{Budget, Hints, Search};
use crate::bindings::auto::pass::types::{Fault, Observation, Outcome, Witness};
use crate::trust::Tally;
use crate::{SYNTHESIZE, search_result, table, unexplained, wire};

/// A place for an expression.
#[derive(Clone)]
pub struct Hole {
    /// For people: `what tool_call lookup is given`.
    pub place: String,
    /// What it must give.
    pub rows: Vec<Row>,
    /// The expression.
    pub program: String,
}

/// What the expression must give in one run.
#[derive(Clone)]
pub struct Row {
    /// Of the run's input, among the distinct ones: what is held out together.
    pub group: usize,
    /// `$`.
    pub input: Value,
    /// What it must be.
    pub output: Value,
}

/// A program that was found, and its text.
#[derive(Clone)]
struct Found {
    program: Vec<u8>,
    text: String,
}

/// What was told of runs that were held out.
#[derive(Clone, Copy, Default)]
pub struct Told {
    /// By programs that were found without them.
    pub tally: Tally,
    /// How many were of a fold without which none was found.
    pub without: u64,
}

/// Fills holes, each problem once.
pub struct Holes {
    /// The extractor's budget for one.
    steps: u64,
    /// By the arguments of the search: the program, or why there is none.
    searched: BTreeMap<Digest, Result<Found, String>>,
    /// Places for which there was no program.
    unfilled: BTreeSet<String>,
    /// Whether those are not looked at again.
    keeps: bool,
    /// Places of which no program is believed, and why.
    doubted: BTreeMap<String, String>,
}

impl Holes {
    /// Nothing has been looked for.
    pub fn new(steps: u64) -> Holes {
        Holes { steps, searched: BTreeMap::new(), unfilled: BTreeSet::new(), keeps: false, doubted: BTreeMap::new() }
    }

    /// How many places there are for which there was no program.
    pub fn unfilled(&self) -> usize {
        self.unfilled.len()
    }

    /// From here on, no program is looked for where there was none.
    pub fn keep_unfilled(&mut self) {
        self.keeps = true;
    }

    /// From here on, no program is believed at the place of this one.
    pub fn doubt(&mut self, hole: &Hole, why: &str) {
        self.doubted.insert(named(&hole.place, &hole.rows), why.to_owned());
    }

    /// Takes back a doubt.
    pub fn believe(&mut self, hole: &Hole) {
        self.doubted.remove(&named(&hole.place, &hole.rows));
    }

    /// Whether no program is believed there.
    pub fn is_doubted(&self, place: &str, rows: &[Row]) -> bool {
        self.doubted.contains_key(&named(place, rows))
    }

    /// Finds an expression for every row, or says why there is none.
    pub fn fill(&mut self, place: &str, rows: Vec<Row>) -> Result<Result<Hole, String>, Fault> {
        progress::report(place, 0, None);
        let observations = match observed(rows.iter()) {
            Ok(observations) => observations,
            Err(why) => return Ok(Err(why)),
        };
        let named = named(place, &rows);
        if let Some(why) = self.doubted.get(&named) {
            return Ok(Err(why.clone()));
        }
        if self.keeps && self.unfilled.contains(&named) {
            return Ok(Err("there is no program for all runs".to_owned()));
        }
        let task = self.task(&observations);
        let key = Digest::of(task.arguments.as_bytes());
        let found = match self.searched.get(&key) {
            Some(found) => found.clone(),
            None => {
                let found = searched(jobs::run(&Backend::Wasm, &[task])?.into_iter().next())?;
                let found = match found {
                    Ok(found) => confirmed(&found.program, &observations)?.map(|()| found),
                    Err(why) => Err(why),
                };
                self.searched.insert(key, found.clone());
                found
            }
        };
        if found.is_err() {
            self.unfilled.insert(named);
        } else {
            self.unfilled.remove(&named);
        }
        Ok(found.map(|found| Hole { place: place.to_owned(), program: found.text, rows }))
    }

    /// The table of the rows; none where the same environment led to different things.
    pub fn table(&self, place: &str, rows: Vec<Row>) -> Option<Hole> {
        let source = table::source(&observed(rows.iter()).ok()?)?;
        Some(Hole { place: place.to_owned(), program: source, rows })
    }

    /// Looks for an expression for every hole without the rows of each fold, on all cores, so
    /// that whoever asks for one of them next finds it.
    pub fn ahead(&mut self, holes: &[&Hole], folds: &[Vec<usize>]) -> Result<(), Fault> {
        let mut wanted: BTreeMap<Digest, (Task, Vec<Observation>)> = BTreeMap::new();
        for fold in folds {
            for hole in holes {
                let rows = hole.rows.iter().filter(|row| fold.binary_search(&row.group).is_err());
                let Ok(observations) = observed(rows) else { continue };
                let task = self.task(&observations);
                let key = Digest::of(task.arguments.as_bytes());
                if !self.searched.contains_key(&key) {
                    wanted.insert(key, (task, observations));
                }
            }
        }
        progress::report("extract", 0, Some(wanted.len() as u64));
        let tasks: Vec<Task> = wanted.values().map(|(task, _)| task.clone()).collect();
        let results = jobs::run(&Backend::Wasm, &tasks)?;
        progress::report("extract", tasks.len() as u64, Some(tasks.len() as u64));
        for ((key, (_, observations)), result) in wanted.into_iter().zip(results) {
            let found = match searched(Some(result))? {
                Ok(found) => confirmed(&found.program, &observations)?.map(|()| found),
                Err(why) => Err(why),
            };
            self.searched.insert(key, found);
        }
        Ok(())
    }

    /// What the programs that were found without each fold ([`Holes::ahead`]) say of its rows.
    pub fn held_out(&self, hole: &Hole, folds: &[Vec<usize>]) -> Result<Told, Fault> {
        let mut told = Told::default();
        for fold in folds {
            let (held, shown): (Vec<&Row>, Vec<&Row>) =
                hole.rows.iter().partition(|row| fold.binary_search(&row.group).is_ok());
            let (Ok(held), Ok(shown)) = (observed(held.into_iter()), observed(shown.into_iter())) else { continue };
            let key = Digest::of(self.task(&shown).arguments.as_bytes());
            let Some(Ok(found)) = self.searched.get(&key) else {
                told.without += held.len() as u64;
                continue;
            };
            if held.is_empty() {
                continue;
            }
            told.tally.rows += held.len() as u64;
            let module = emit(&found.program)?.module;
            let inputs: Vec<String> = held.iter().map(|one| one.input.clone()).collect();
            for (one, replay) in held.iter().zip(sandbox::run(&module, &inputs)?) {
                match replay.outcome {
                    Outcome::Answer(answer) if answer == one.outputs[0].output => told.tally.right += 1,
                    // What is undefined abstains.
                    Outcome::Abstain(_) => {}
                    _ => told.tally.wrong += 1,
                }
            }
        }
        Ok(told)
    }

    fn task(&self, observations: &[Observation]) -> Task {
        let any = || "json".to_owned();
        let hints = Hints {
            input_type: any(),
            output_type: any(),
            unlabelled: Vec::new(),
            start: Vec::new(),
            wrong_max_ppm: 0,
        };
        let rows: Vec<&Observation> = observations.iter().collect();
        let budget = Budget { steps: self.steps, candidates: 1 };
        Task { target: SYNTHESIZE.into(), arguments: wire::synthesis(&rows, &hints, &budget) }
    }
}

/// The best program of a search, or why there is none; a fault where extract broke.
fn searched(result: Option<Result<String, Fault>>) -> Result<Result<Found, String>, Fault> {
    let Some(result) = result else { return Ok(Err("the jobs returned nothing".to_owned())) };
    let search: Search = match search_result(result.and_then(|text| wire::search(&text)))? {
        Ok(search) => search,
        Err(fault) => return Ok(Err(fault.message)),
    };
    let none = unexplained(&search);
    let found = search.found.into_iter().next();
    Ok(found.map(|found| Found { program: found.program, text: found.text }).ok_or(none))
}

/// Whether check finds the program right for every observation.
fn confirmed(program: &[u8], observations: &[Observation]) -> Result<Result<(), String>, Fault> {
    let finding = check(program, observations)?;
    Ok(match finding.counterexamples.first() {
        Some(wrong) => {
            Err(format!("the program of extract is wrong for {}; recorded was {}", wrong.input, wrong.expected))
        }
        None => Ok(()),
    })
}

/// A place, with what is known there.
fn named(place: &str, rows: &[Row]) -> String {
    let known = rows.first().and_then(|row| row.input.as_record());
    let names: Vec<&str> = known.into_iter().flat_map(|record| record.iter().map(|(name, _)| name)).collect();
    format!("{place} of {names:?}")
}

/// Rows as observations; an error where the same environment led to different things.
fn observed<'r>(rows: impl Iterator<Item = &'r Row>) -> Result<Vec<Observation>, String> {
    let mut found: BTreeMap<String, (String, u32)> = BTreeMap::new();
    for row in rows {
        let (input, output) = (row.input.canonical().into_string(), row.output.canonical().into_string());
        let entry = found.entry(input).or_insert_with(|| (output.clone(), 0));
        if entry.0 != output {
            return Err(format!("the same came before it and it was different: {} and {output}", entry.0));
        }
        entry.1 += 1;
    }
    let observation =
        |(input, (output, count))| Observation { input, outputs: vec![Witness { output, count }], errors: 0 };
    Ok(found.into_iter().map(observation).collect())
}
