//! Traces that are not whole yet: their spans as they come, and when one is whole.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use auto_store::{Span, Trace};

/// How many spans a trace may have at most; one of more is no run of an agent.
const MOST: usize = 100_000;

/// A trace as far as it came.
pub struct Pending {
    trace: Trace,
    spans: HashMap<u64, Span>,
    /// The files that its spans lie in.
    pub files: BTreeSet<u64>,
    began: Instant,
    latest: Instant,
}

/// What became of the spans of a piece.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// New ones.
    pub new: usize,
    /// Those with the id of another that says something else.
    pub conflicting: u64,
    /// Those beyond what a trace may have.
    pub beyond: u64,
}

impl Pending {
    /// A trace of which nothing has come.
    pub fn new(head: &Trace, now: Instant) -> Pending {
        let trace = Trace { spans: Vec::new(), ..head.clone() };
        Pending { trace, spans: HashMap::new(), files: BTreeSet::new(), began: now, latest: now }
    }

    /// What would become of the spans of a piece. Nothing is added yet: it is not on the disk.
    pub fn consider(&self, piece: &Trace) -> Added {
        let mut added = Added::default();
        for span in &piece.spans {
            match self.spans.get(&span.id) {
                Some(known) if same(known, span) => {}
                Some(_) => added.conflicting += 1,
                None if self.spans.len() + added.new >= MOST => added.beyond += 1,
                None => added.new += 1,
            }
        }
        added
    }

    /// Adds a piece; of spans with one id the first one stays.
    pub fn add(&mut self, piece: Trace, file: u64, now: Instant) {
        self.latest = now;
        self.files.insert(file);
        self.trace.started = self.trace.started.min(piece.started);
        for span in piece.spans {
            if self.spans.len() < MOST {
                self.spans.entry(span.id).or_insert(span);
            }
        }
        let known: BTreeSet<String> = self.trace.attributes.iter().map(|(key, _)| key.clone()).collect();
        self.trace.attributes.extend(piece.attributes.into_iter().filter(|(key, _)| !known.contains(key)));
        // Only a piece with the root says these.
        self.trace.input = self.trace.input.take().or(piece.input);
        self.trace.output = self.trace.output.take().or(piece.output);
    }

    /// Whether its root is there and no parent is missing.
    fn is_whole(&self) -> bool {
        let mut roots = 0;
        for span in self.spans.values() {
            match span.parent {
                None => roots += 1,
                Some(parent) if !self.spans.contains_key(&parent) => return false,
                Some(_) => {}
            }
        }
        roots > 0
    }

    /// Whether nothing more is waited for.
    pub fn is_due(&self, now: Instant, quiet: Duration, patience: Duration) -> bool {
        let still = now.saturating_duration_since(self.latest);
        let age = now.saturating_duration_since(self.began);
        // A trace that is still being added to is given more time, but not for ever.
        (still >= quiet && self.is_whole()) || still >= patience || age >= patience * 10
    }

    /// Waits again: the store did not take it.
    pub fn wait(&mut self, now: Instant) {
        self.latest = now;
        self.began = now;
    }

    /// The trace, its spans in the order of their opening. Where parents never came, their
    /// children stand alone, and the trace says how many.
    pub fn to_trace(&self) -> Trace {
        let (mut trace, spans) = (self.trace.clone(), self.spans.clone());
        let missing = spans.values().filter(|span| span.parent.is_some_and(|parent| !spans.contains_key(&parent)));
        let missing = missing.count();
        if missing > 0 {
            trace.attributes.retain(|(key, _)| key != "missing_parents");
            trace.attributes.push(("missing_parents".into(), missing.to_string()));
        }
        trace.spans = ordered(spans);
        trace
    }
}

/// Whether two spans of one id say the same: an exporter that had no answer sends again.
fn same(known: &Span, span: &Span) -> bool {
    *known == Span { sequence: known.sequence, ..span.clone() }
}

/// By start, a parent before its children whatever the clocks say; numbered in that order.
fn ordered(mut spans: HashMap<u64, Span>) -> Vec<Span> {
    let mut places: HashMap<u64, (u64, usize)> = HashMap::new();
    let ids: BTreeSet<u64> = spans.keys().copied().collect();
    for id in &ids {
        place(*id, &mut spans, &mut places);
    }
    let mut order: Vec<((u64, usize), u64)> = ids.into_iter().map(|id| (places[&id], id)).collect();
    order.sort_unstable();
    let numbered = |(sequence, (_, id)): (u64, (_, u64))| spans.remove(&id).map(|span| Span { sequence, ..span });
    (1..).zip(order).filter_map(numbered).collect()
}

/// When a span opened at the earliest, and how deep it is. Follows parents up to the first that
/// is known or missing, and comes down again; a circle is cut where it closes.
fn place(id: u64, spans: &mut HashMap<u64, Span>, places: &mut HashMap<u64, (u64, usize)>) {
    let (mut line, mut seen, mut next) = (Vec::new(), BTreeSet::new(), Some(id));
    while let Some(id) = next.filter(|id| !places.contains_key(id)) {
        seen.insert(id);
        line.push(id);
        let parent = spans.get(&id).and_then(|span| span.parent);
        next = parent.filter(|parent| spans.contains_key(parent) && !seen.contains(parent));
        if next.is_none()
            && let Some(span) = spans.get_mut(&id)
        {
            span.parent = None;
        }
    }
    for id in line.into_iter().rev() {
        let Some(span) = spans.get(&id) else { continue };
        let above = span.parent.and_then(|parent| places.get(&parent)).copied();
        let at = above.map_or((span.started, 0), |(opened, depth)| (span.started.max(opened), depth + 1));
        places.insert(id, at);
    }
}

#[cfg(test)]
mod tests {
    use auto_json::Canonical;
    use auto_store::SpanKind;

    use super::*;

    fn span(id: u64, parent: Option<u64>, started: u64) -> Span {
        Span {
            id,
            parent,
            sequence: 1,
            kind: SpanKind::Structural,
            name: format!("s{id}"),
            input: Canonical::of("null").unwrap(),
            output: Canonical::of("null").unwrap(),
            error: None,
            started,
            duration: None,
            attributes: Vec::new(),
        }
    }

    fn piece(spans: Vec<Span>) -> Trace {
        Trace {
            id: "t".into(),
            task: "x".into(),
            recorder: "r".into(),
            started: spans.iter().map(|span| span.started).min().unwrap_or(0),
            attributes: Vec::new(),
            input: None,
            output: None,
            partial: false,
            spans,
        }
    }

    fn shape(pending: Pending) -> Vec<(u64, Option<u64>, u64)> {
        pending.to_trace().spans.into_iter().map(|span| (span.id, span.parent, span.sequence)).collect()
    }

    #[test]
    fn pieces_in_any_order_come_to_the_same_trace() {
        let now = Instant::now();
        let (quiet, patience) = (Duration::from_secs(5), Duration::from_secs(60));
        let spans = [span(3, Some(2), 30), span(1, None, 10), span(2, Some(1), 20), span(4, Some(1), 5)];
        let mut results = Vec::new();
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let mut pending = Pending::new(&piece(Vec::new()), now);
            for (number, at) in order.into_iter().enumerate() {
                let before = pending.is_due(now + quiet, quiet, patience);
                assert!(!before || number == 3, "the root or a parent is missing still");
                pending.add(piece(vec![spans[at].clone()]), number as u64, now);
            }
            assert!(pending.is_due(now + quiet, quiet, patience) && !pending.is_due(now, quiet, patience));
            results.push(shape(pending));
        }
        assert_eq!(results[0], [(1, None, 1), (4, Some(1), 2), (2, Some(1), 3), (3, Some(2), 4)]);
        assert!(results.iter().all(|result| *result == results[0]));
    }

    #[test]
    fn a_trace_whose_root_never_comes_is_waited_for_and_then_taken_as_it_is() {
        let now = Instant::now();
        let (quiet, patience) = (Duration::from_secs(5), Duration::from_secs(60));
        let mut pending = Pending::new(&piece(Vec::new()), now);
        pending.add(piece(vec![span(2, Some(1), 20)]), 0, now);
        assert!(!pending.is_due(now + quiet, quiet, patience) && pending.is_due(now + patience, quiet, patience));
        let trace = pending.to_trace();
        assert_eq!((trace.spans[0].parent, trace.attributes[0].1.as_str()), (None, "1"));
    }

    #[test]
    fn circles_are_cut_and_conflicts_counted() {
        let now = Instant::now();
        let mut pending = Pending::new(&piece(Vec::new()), now);
        pending.add(piece(vec![span(1, Some(2), 1), span(2, Some(1), 2), span(3, Some(3), 3)]), 0, now);
        let again = piece(vec![span(1, Some(2), 1), span(2, Some(1), 9), span(4, None, 4)]);
        assert_eq!(pending.consider(&again), Added { new: 1, conflicting: 1, beyond: 0 });
        let spans = pending.to_trace().spans;
        let mut opened = BTreeSet::new();
        for span in &spans {
            assert!(span.parent.is_none_or(|parent| opened.contains(&parent)), "{spans:?}");
            opened.insert(span.id);
        }
        assert_eq!(spans.len(), 3);
    }
}
