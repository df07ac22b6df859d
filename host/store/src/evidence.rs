//! What a scope's recordings show: observations for compiling, costs for the gate.
//! Partial traces show nothing.

use std::collections::HashMap;
use std::rc::Rc;

use auto_schema::evidence::{Observation, Reference};

use crate::key::{Input, Keys};
use crate::rows::{Kept, Recorded, RecordedSpan};
use crate::runs::{LeftOut, is_captured};
use crate::{Digest, Scope, Store, StoreError};

impl Store {
    /// What was observed of a scope of a task: sorted by input text, outputs by output
    /// text. Empty where nothing was recorded. The input of an operation with a key policy is
    /// its key; what the policy does not fit is left out.
    ///
    /// Codes: `no-region`, `store-damaged`, `store-io`, `store-busy`.
    pub fn observations(&self, task: &str, scope: &Scope) -> Result<Vec<Observation>, StoreError> {
        let _snapshot = self.snapshot()?;
        let mut groups: HashMap<Digest, Group> = HashMap::new();
        let mut places: HashMap<(Digest, Digest), usize> = HashMap::new();
        let mut left_out = LeftOut::of(scope);
        let mut keys = self.keys(task)?;
        let mut add = |(digest, input): (Digest, Input), output: Kept, failed: bool| {
            let group = groups.entry(digest).or_insert_with(|| Group::new(input));
            if failed {
                group.errors += 1;
                return;
            }
            let place = *places.entry((digest, output.digest)).or_insert(group.outputs.len());
            match group.outputs.get_mut(place) {
                Some((_, count)) => *count += 1,
                None => group.outputs.push((output, 1)),
            }
        };
        self.whole_traces(task, |trace| {
            match scope {
                Scope::Task => {
                    if let (Some(input), Some(output)) = (trace.input, trace.output)
                        && is_captured(trace)
                    {
                        add((input.digest, Input::whole(input)), output, false);
                    }
                }
                Scope::Span { kind, name } => {
                    for span in trace.spans.iter().filter(|span| span.is(kind.as_str(), name)) {
                        if let Some(input) = keys.input(span)? {
                            add(input, span.output, span.error.is_some());
                        }
                    }
                }
                Scope::Region { .. } => {
                    if let Some(extent) = left_out.extent(trace) {
                        let input = (extent.input.digest, Input::whole(extent.input));
                        add(input, extent.output, extent.error.is_some());
                    }
                }
            }
            Ok(())
        })?;
        left_out.check(task)?;
        drop(places);
        let mut observations =
            groups.into_values().map(|group| self.observation(group, &keys)).collect::<Result<Vec<_>, _>>()?;
        observations.sort_by(|a, b| a.input.cmp(&b.input));
        Ok(observations)
    }

    fn observation(&self, group: Group, keys: &Keys<'_>) -> Result<Observation, StoreError> {
        let output = |(output, count): (Kept, u32)| Ok((self.text(output.row)?, count));
        let mut outputs = group.outputs.into_iter().map(output).collect::<Result<Vec<_>, StoreError>>()?;
        outputs.sort();
        Ok(Observation { input: keys.text(group.input)?, outputs, errors: group.errors })
    }

    /// What the recordings of a scope of a task say about its cost.
    ///
    /// A run's duration ends with its last span. Its cost and tokens are its own
    /// attributes, or else the sums over its operations, known only where every model
    /// call says.
    ///
    /// Codes as for [`Store::observations`].
    pub fn reference(&self, task: &str, scope: &Scope) -> Result<Reference, StoreError> {
        let _snapshot = self.snapshot()?;
        let mut declared = Declarations::new(self);
        let mut recordings: Vec<Recording> = Vec::new();
        let mut left_out = LeftOut::of(scope);
        self.whole_traces(task, |trace| {
            match scope {
                Scope::Task if trace.input.is_none() || trace.output.is_none() => {}
                Scope::Task => {
                    let run = spans(&trace.spans, trace.started, &mut declared)?;
                    let (cost, tokens) = declared.of(&trace.attributes)?;
                    recordings.push(Recording { cost: cost.or(run.cost), tokens: tokens.or(run.tokens), ..run });
                }
                Scope::Span { kind, name } => {
                    for span in trace.spans.iter().filter(|span| span.is(kind.as_str(), name)) {
                        let (cost, tokens) = declared.of(&span.attributes)?;
                        recordings.push(Recording { duration: span.duration, cost, tokens });
                    }
                }
                Scope::Region { .. } => {
                    if let Some(range) = left_out.extent(trace).and_then(|extent| extent.spans) {
                        let inside = &trace.spans[range];
                        recordings.push(spans(inside, inside[0].started, &mut declared)?);
                    }
                }
            }
            Ok(())
        })?;
        left_out.check(task)?;
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

    /// Hands over the traces of a task that count.
    pub(crate) fn whole_traces(
        &self,
        task: &str,
        mut take: impl FnMut(&Recorded) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.recordings(task, |trace| if trace.partial { Ok(()) } else { take(trace) }).map(drop)
    }
}

/// What was seen of one input.
struct Group {
    input: Input,
    outputs: Vec<(Kept, u32)>,
    errors: u32,
}

impl Group {
    fn new(input: Input) -> Group {
        Group { input, outputs: Vec::new(), errors: 0 }
    }
}

/// What spans that begin at `started` say together.
fn spans(spans: &[RecordedSpan], started: u64, declared: &mut Declarations<'_>) -> Result<Recording, StoreError> {
    let mut run = Recording::default();
    for span in spans {
        let end = span.duration.map(|duration| span.started.saturating_add(duration));
        run.duration = run.duration.max(end.map(|end| end.saturating_sub(started)));
        if *span.kind != *"span" {
            let (cost, tokens) = declared.of(&span.attributes)?;
            run.cost = run.cost.plus(cost, *span.kind == *"model_call");
            run.tokens = run.tokens.plus(tokens, *span.kind == *"model_call");
        }
    }
    Ok(run)
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
pub(crate) enum Figure {
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

    pub(crate) fn known(self) -> Option<u64> {
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

/// How many attributes are remembered with what they say.
const MOST_KNOWN: usize = 100_000;

/// Reads cost and tokens from attributes; the same attributes are read once, as long as they are few.
pub(crate) struct Declarations<'a> {
    store: &'a Store,
    known: HashMap<Rc<str>, (Figure, Figure)>,
}

impl<'a> Declarations<'a> {
    pub(crate) fn new(store: &'a Store) -> Declarations<'a> {
        Declarations { store, known: HashMap::new() }
    }

    pub(crate) fn of(&mut self, attributes: &Rc<str>) -> Result<(Figure, Figure), StoreError> {
        if let Some(figures) = self.known.get(attributes) {
            return Ok(*figures);
        }
        let pairs = self.store.pairs(attributes)?;
        let figure =
            |name: &str| Figure::of(pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str()));
        let figures = (figure("cost_usd_micros"), figure("tokens"));
        if self.known.len() >= MOST_KNOWN {
            self.known.clear();
        }
        self.known.insert(attributes.clone(), figures);
        Ok(figures)
    }
}
