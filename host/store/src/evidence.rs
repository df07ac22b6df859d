//! What a scope's recordings show: observations for compiling, costs for the gate.
//! Partial traces show nothing.

use std::collections::{BTreeMap, HashMap};

use auto_json::Canonical;
use auto_schema::evidence::{Observation, Reference};

use crate::rows::Texts;
use crate::{Scope, Store, StoreError};

impl Store {
    /// What was observed of a scope of a task: sorted by input text, outputs by output
    /// text. Empty where nothing was recorded.
    ///
    /// Codes: `region-scope`, `store-damaged`, `store-io`, `store-busy`.
    pub fn observations(&self, task: &str, scope: &Scope) -> Result<Vec<Observation>, StoreError> {
        type Group = (i64, i64, bool, u32);
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
        let groups: Vec<Group> = match scope {
            Scope::Task => self.all(
                "SELECT input, output, 0, count(*) FROM trace
                 WHERE task = ?1 AND NOT partial AND input IS NOT NULL AND output IS NOT NULL
                 GROUP BY input, output",
                [task],
                read,
            )?,
            Scope::Span { kind, name } => self.all(
                "SELECT span.input, span.output, span.error IS NOT NULL, count(*)
                 FROM span JOIN trace ON trace.id = span.trace
                 WHERE trace.task = ?1 AND NOT trace.partial AND span.kind = ?2 AND span.name = ?3
                 GROUP BY 1, 2, 3",
                [task, kind.as_str(), name],
                read,
            )?,
            Scope::Region { from, to } => return Err(region(from, to)),
        };
        let mut texts = Texts::new();
        let mut found: BTreeMap<Canonical, (BTreeMap<Canonical, u32>, u32)> = BTreeMap::new();
        for (input, output, failed, count) in groups {
            let entry = found.entry(self.text_once(input, &mut texts)?.clone()).or_default();
            if failed {
                entry.1 += count;
            } else {
                *entry.0.entry(self.text_once(output, &mut texts)?.clone()).or_default() += count;
            }
        }
        let observation = |(input, (outputs, errors)): (_, (BTreeMap<_, _>, _))| Observation {
            input,
            outputs: outputs.into_iter().collect(),
            errors,
        };
        Ok(found.into_iter().map(observation).collect())
    }

    /// What the recordings of a scope of a task say about its cost.
    ///
    /// A run's duration ends with its last span. Its cost and tokens are its own
    /// attributes, or else the sums over its operations, known only where every model
    /// call says.
    ///
    /// Codes as for [`Store::observations`].
    pub fn reference(&self, task: &str, scope: &Scope) -> Result<Reference, StoreError> {
        let recordings = match scope {
            Scope::Task => self.runs(task)?,
            Scope::Span { kind, name } => self.operations(task, kind.as_str(), name)?,
            Scope::Region { from, to } => return Err(region(from, to)),
        };
        let malformed = recordings.iter().filter(|one| one.cost.malformed() || one.tokens.malformed()).count();
        let sorted = |figures: Vec<Option<u64>>| {
            let mut figures = figures;
            figures.sort_unstable();
            figures
        };
        Ok(Reference {
            durations: sorted(recordings.iter().map(|one| one.duration).collect()),
            costs: sorted(recordings.iter().map(|one| one.cost.known()).collect()),
            tokens: sorted(recordings.iter().map(|one| one.tokens.known()).collect()),
            malformed: u32::try_from(malformed).unwrap_or(u32::MAX),
        })
    }

    fn operations(&self, task: &str, kind: &str, name: &str) -> Result<Vec<Recording>, StoreError> {
        let rows: Vec<(Option<i64>, i64)> = self.all(
            "SELECT span.duration, span.attributes FROM span JOIN trace ON trace.id = span.trace
             WHERE trace.task = ?1 AND NOT trace.partial AND span.kind = ?2 AND span.name = ?3",
            [task, kind, name],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        let mut declared = Declarations::new(self);
        let recording = |(duration, attributes): (Option<i64>, i64)| {
            let (cost, tokens) = declared.of(attributes)?;
            Ok(Recording { duration: duration.map(i64::cast_unsigned), cost, tokens })
        };
        rows.into_iter().map(recording).collect()
    }

    fn runs(&self, task: &str) -> Result<Vec<Recording>, StoreError> {
        let runs: Vec<(i64, i64, i64)> = self.all(
            "SELECT id, started, attributes FROM trace
             WHERE task = ?1 AND NOT partial AND input IS NOT NULL AND output IS NOT NULL",
            [task],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let mut declared = Declarations::new(self);
        let run = |(id, started, attributes): (i64, i64, i64)| {
            let mut run = Recording::default();
            let spans: Vec<(String, i64, Option<i64>, i64)> =
                self.all("SELECT kind, started, duration, attributes FROM span WHERE trace = ?1", [id], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })?;
            for (kind, opened, duration, attributes) in spans {
                let end = duration.map(|duration| opened.cast_unsigned().saturating_add(duration.cast_unsigned()));
                run.duration = run.duration.max(end.map(|end| end.saturating_sub(started.cast_unsigned())));
                if kind != "span" {
                    let (cost, tokens) = declared.of(attributes)?;
                    run.cost = run.cost.plus(cost, kind == "model_call");
                    run.tokens = run.tokens.plus(tokens, kind == "model_call");
                }
            }
            let (cost, tokens) = declared.of(attributes)?;
            run.cost = cost.or(run.cost);
            run.tokens = tokens.or(run.tokens);
            Ok(run)
        };
        runs.into_iter().map(run).collect()
    }
}

fn region(from: &str, to: &str) -> StoreError {
    StoreError::new(
        "region-scope",
        format!("the region from {from} to {to} cannot be observed yet; give the contract a span or task scope"),
    )
}

/// What one recording says about its cost.
#[derive(Clone, Copy, Default)]
struct Recording {
    duration: Option<u64>,
    cost: Figure,
    tokens: Figure,
}

/// A figure that an agent may have declared.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Figure {
    /// Nothing was declared so far.
    #[default]
    Silent,
    /// Declared.
    Known(u64),
    /// Something that had to declare it did not.
    Incomplete,
    /// Declared, but not as a decimal `u64`.
    Malformed,
}

impl Figure {
    fn of(text: Option<&str>) -> Figure {
        match text {
            None => Figure::Silent,
            Some(text) if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) => Figure::Malformed,
            Some(text) => text.parse().map_or(Figure::Malformed, Figure::Known),
        }
    }

    fn known(self) -> Option<u64> {
        if let Figure::Known(value) = self { Some(value) } else { None }
    }

    fn malformed(self) -> bool {
        self == Figure::Malformed
    }

    fn or(self, other: Figure) -> Figure {
        if self == Figure::Silent { other } else { self }
    }

    /// The sum with one more operation, which must declare its figure if `required`.
    fn plus(self, more: Figure, required: bool) -> Figure {
        match (self, more) {
            (Figure::Malformed, _) | (_, Figure::Malformed) => Figure::Malformed,
            (Figure::Incomplete, _) => Figure::Incomplete,
            (_, Figure::Silent | Figure::Incomplete) if required => Figure::Incomplete,
            (sum, Figure::Silent | Figure::Incomplete) => sum,
            (Figure::Silent, Figure::Known(value)) => Figure::Known(value),
            (Figure::Known(sum), Figure::Known(value)) => Figure::Known(sum.saturating_add(value)),
        }
    }
}

/// Reads cost and tokens from attributes; the same attributes are read once.
struct Declarations<'a> {
    store: &'a Store,
    known: HashMap<i64, (Figure, Figure)>,
}

impl<'a> Declarations<'a> {
    fn new(store: &'a Store) -> Declarations<'a> {
        Declarations { store, known: HashMap::new() }
    }

    fn of(&mut self, attributes: i64) -> Result<(Figure, Figure), StoreError> {
        if let Some(figures) = self.known.get(&attributes) {
            return Ok(*figures);
        }
        let pairs = self.store.pairs(attributes)?;
        let figure =
            |name: &str| Figure::of(pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()));
        let figures = (figure("cost_usd_micros"), figure("tokens"));
        self.known.insert(attributes, figures);
        Ok(figures)
    }
}
