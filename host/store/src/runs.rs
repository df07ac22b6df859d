//! Whole runs of a task or a region: what went in, what was done in between, what came out.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Range, RangeInclusive};

use auto_json::{Canonical, Value};
use auto_schema::evidence::{Operation, Run, Runs};

use crate::rows::{Kept, Recorded, RecordedSpan};
use crate::{Scope, Store, StoreError};

/// Where in a trace a run of a scope is.
pub(crate) struct Extent {
    pub(crate) input: Kept,
    pub(crate) output: Kept,
    /// How the run failed, if it did.
    pub(crate) error: Option<String>,
    /// The spans it goes over; none for a whole trace.
    pub(crate) spans: Option<RangeInclusive<usize>>,
}

/// Why a recording is no run of the scope.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Why {
    Missing(String),
    Twice(String),
    OutOfOrder,
    Inside { outer: String, inner: String },
    Uncaptured { kind: &'static str, name: String },
    OneSided,
}

/// Recordings that are no run of a scope.
pub(crate) struct LeftOut<'s> {
    scope: &'s Scope,
    counts: BTreeMap<Why, u32>,
    found: bool,
}

impl Store {
    /// The runs of a task or region scope of a task, sorted, each once; none of a span scope.
    /// Partial traces are none. A trace of a task that ends without an output is left out, and is
    /// there as a run with an error: how often something was tried in it is evidence too.
    ///
    /// Codes as for [`Store::observations`].
    pub fn runs(&self, task: &str, scope: &Scope) -> Result<Runs, StoreError> {
        if matches!(scope, Scope::Span { .. }) {
            return Ok(Runs::default());
        }
        let _snapshot = self.snapshot()?;
        let (mut runs, mut left_out) = (Vec::new(), LeftOut::of(scope));
        self.whole_traces(task, |trace| {
            match left_out.extent(trace) {
                Some(extent) => {
                    let output = self.text(extent.output.row)?;
                    let spans = extent.spans.map_or(0..trace.spans.len(), |spans| *spans.start()..spans.end() + 1);
                    runs.push(self.run_of(trace, extent.input, output, extent.error, spans)?);
                }
                None => runs.extend(self.unfinished(trace, scope)?),
            }
            Ok(())
        })?;
        left_out.check(task)?;
        runs.sort();
        runs.dedup();
        Ok(Runs { runs, left_out: left_out.sentences() })
    }

    /// A run that has no output, or that went into a region and did not come to its end.
    fn unfinished(&self, trace: &Recorded, scope: &Scope) -> Result<Option<Run>, StoreError> {
        let (input, why, first) = match scope {
            Scope::Task => match (trace.input, trace.output) {
                (Some(input), None) => (input, "it ended without an output".to_owned(), 0),
                _ => return Ok(None),
            },
            Scope::Region { from, to } => match (only(&trace.spans, from), only(&trace.spans, to)) {
                (Ok(at), Err(Why::Missing(_))) => (trace.spans[at].input, format!("it did not come to {to:?}"), at),
                _ => return Ok(None),
            },
            Scope::Span { .. } => return Ok(None),
        };
        let spans = first..trace.spans.len();
        if checked(trace, &trace.spans[spans.clone()]).is_err() {
            return Ok(None);
        }
        self.run_of(trace, input, Value::Null.canonical(), Some(why), spans).map(Some)
    }

    fn run_of(
        &self,
        trace: &Recorded,
        input: Kept,
        output: Canonical,
        error: Option<String>,
        spans: Range<usize>,
    ) -> Result<Run, StoreError> {
        let operation = |span: &RecordedSpan| {
            Ok(Operation {
                kind: span.kind.to_string(),
                name: span.name.to_string(),
                input: self.text(span.input.row)?,
                output: self.text(span.output.row)?,
                error: span.error.clone(),
            })
        };
        let spans = trace.spans.get(spans).unwrap_or_default();
        let by_id = by_id(trace);
        let steps = spans.iter().filter(|span| is_operation(span) && enclosing(span, &by_id).is_none());
        Ok(Run {
            input: self.text(input.row)?,
            output,
            error,
            steps: steps.map(operation).collect::<Result<_, StoreError>>()?,
        })
    }
}

impl<'s> LeftOut<'s> {
    pub(crate) fn of(scope: &'s Scope) -> LeftOut<'s> {
        LeftOut { scope, counts: BTreeMap::new(), found: false }
    }

    /// Where the run is in this trace; counts it where there is none.
    pub(crate) fn extent(&mut self, trace: &Recorded) -> Option<Extent> {
        match extent(trace, self.scope) {
            Ok(extent) => {
                self.found = true;
                Some(extent)
            }
            Err(why) => {
                *self.counts.entry(why).or_default() += 1;
                None
            }
        }
    }

    /// Refuses where traces were looked at and none has the region.
    pub(crate) fn check(&self, task: &str) -> Result<(), StoreError> {
        match self.scope {
            Scope::Region { from, to } if !self.found && !self.counts.is_empty() => {
                let message = format!(
                    "no recording of the task {task:?} has the region from {from:?} to {to:?} whole: {}; \
                     name two operations that a run has once each, the first before the last",
                    self.sentences().join("; ")
                );
                Err(StoreError::new("no-region", message))
            }
            _ => Ok(()),
        }
    }

    fn sentences(&self) -> Vec<String> {
        self.counts.iter().map(|(why, count)| why.sentence(*count, self.scope)).collect()
    }
}

fn is_operation(span: &RecordedSpan) -> bool {
    *span.kind != *"span"
}

fn extent(trace: &Recorded, scope: &Scope) -> Result<Extent, Why> {
    let extent = match scope {
        Scope::Region { from, to } => {
            let spans = ends(&trace.spans, from, to)?;
            let (first, last) = (&trace.spans[*spans.start()], &trace.spans[*spans.end()]);
            Extent { input: first.input, output: last.output, error: last.error.clone(), spans: Some(spans) }
        }
        _ => match (trace.input, trace.output) {
            (Some(input), Some(output)) => Extent { input, output, error: None, spans: None },
            _ => return Err(Why::OneSided),
        },
    };
    checked(trace, extent.spans.clone().map_or(&trace.spans[..], |spans| &trace.spans[spans]))?;
    Ok(extent)
}

/// Whether these spans of a trace say what was done in them.
fn checked(trace: &Recorded, spans: &[RecordedSpan]) -> Result<(), Why> {
    let by_id = by_id(trace);
    for span in spans {
        // What a tool does inside is the tool's; a model that does something inside is not
        // one step.
        let outer = enclosing(span, &by_id);
        if let Some(outer) = outer.filter(|outer| is_operation(span) && *outer.kind == *"model_call") {
            return Err(Why::Inside { outer: outer.name.to_string(), inner: span.name.to_string() });
        }
        // What a model said may be told by what follows; what was done must be done again.
        if let Some(kind) = uncaptured_act(span).filter(|_| outer.is_none()) {
            return Err(Why::Uncaptured { kind, name: span.name.to_string() });
        }
    }
    Ok(())
}

/// Whether the content of every act of a trace was captured.
pub(crate) fn is_captured(trace: &Recorded) -> bool {
    let by_id = by_id(trace);
    trace.spans.iter().all(|span| uncaptured_act(span).is_none() || enclosing(span, &by_id).is_some())
}

/// The kind of act whose content was not captured, so that the span is none of it.
fn uncaptured_act(span: &RecordedSpan) -> Option<&'static str> {
    // Attributes are canonical text; key and value stand in it as they are.
    ["tool_call", "memory_op"].into_iter().find(|kind| span.attributes.contains(&format!("\"uncaptured\":\"{kind}\"")))
}

/// Where a region begins and ends.
fn ends(spans: &[RecordedSpan], from: &str, to: &str) -> Result<RangeInclusive<usize>, Why> {
    let (first, last) = (only(spans, from)?, only(spans, to)?);
    if first < last { Ok(first..=last) } else { Err(Why::OutOfOrder) }
}

/// Where the one operation of that name is.
fn only(spans: &[RecordedSpan], name: &str) -> Result<usize, Why> {
    let mut named = (0..spans.len()).filter(|&at| is_operation(&spans[at]) && *spans[at].name == *name);
    match (named.next(), named.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => Err(Why::Missing(name.to_owned())),
        (Some(_), Some(_)) => Err(Why::Twice(name.to_owned())),
    }
}

fn by_id(trace: &Recorded) -> HashMap<u64, &RecordedSpan> {
    trace.spans.iter().map(|span| (span.id, span)).collect()
}

/// The outermost operation that a span is inside of.
fn enclosing<'t>(span: &RecordedSpan, by_id: &HashMap<u64, &'t RecordedSpan>) -> Option<&'t RecordedSpan> {
    let (mut outer, mut parent, mut seen) = (None, span.parent, HashSet::new());
    while let Some(span) = parent.filter(|id| seen.insert(*id)).and_then(|id| by_id.get(&id)) {
        outer = if is_operation(span) { Some(*span) } else { outer };
        parent = span.parent;
    }
    outer
}

impl Why {
    fn sentence(&self, count: u32, scope: &Scope) -> String {
        let recordings = if count == 1 { "1 recording has".to_owned() } else { format!("{count} recordings have") };
        match (self, scope) {
            (Why::Missing(name), _) => format!("{recordings} no operation named {name:?}"),
            (Why::Twice(name), _) => format!("{recordings} several operations named {name:?}"),
            (Why::OutOfOrder, Scope::Region { from, to }) => format!("{recordings} {to:?} before {from:?}"),
            (Why::OutOfOrder, _) => format!("{recordings} the ends in another order"),
            (Why::Inside { outer, inner }, _) => {
                format!("{recordings} {inner:?} inside the model call {outer:?}, which so is no single step")
            }
            (Why::Uncaptured { kind, name }, _) => {
                format!("{recordings} the {kind} {name:?} without its content: turn content capture on")
            }
            (Why::OneSided, _) => format!("{recordings} no task input or no task output"),
        }
    }
}
