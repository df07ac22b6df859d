//! The order of spans that were written as they closed, or arrived in pieces.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::{Notes, Span};

/// Puts the spans of a trace into the order in which they opened: by start, a parent before
/// its children. Numbers them. Parents that are not there are forgotten, unless the source is
/// a piece of what is still to come.
pub fn settle(spans: Vec<Span>, piece: bool, notes: &mut Notes, place: &str) -> Vec<Span> {
    let mut kept: Vec<Span> = Vec::with_capacity(spans.len());
    let mut by_id: HashMap<u64, usize> = HashMap::new();
    for span in spans {
        match by_id.get(&span.id) {
            None => {
                by_id.insert(span.id, kept.len());
                kept.push(span);
            }
            Some(&known) if kept[known] == span => {
                notes.remark("duplicate-span", "spans that are there twice, and alike", place)
            }
            Some(_) => notes.unusable("conflicting-span", "spans with the id of another; the first one counts", place),
        }
    }
    let ids: HashSet<u64> = by_id.into_keys().collect();
    for span in &mut kept {
        if let Some(parent) = span.parent.filter(|parent| !ids.contains(parent))
            && !piece
        {
            notes.remark("no-parent", "spans whose parent is not in the file; they stand alone", place);
            span.parent = None;
            crate::set(&mut span.attributes, "parent", format!("{parent:016x}"));
        }
    }
    ordered(kept)
}

/// Depth first from the roots, children by start and then by id. A circle of parents is cut.
fn ordered(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| (span.started, span.id));
    let ids: HashSet<u64> = spans.iter().map(|span| span.id).collect();
    let mut children: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut open: Vec<usize> = Vec::new();
    for (at, span) in spans.iter().enumerate() {
        match span.parent.filter(|parent| ids.contains(parent) && *parent != span.id) {
            Some(parent) => children.entry(parent).or_default().push(at),
            None => open.push(at),
        }
    }
    let roots = open.len();
    let mut order: Vec<usize> = Vec::with_capacity(spans.len());
    let mut seen = vec![false; spans.len()];
    // What only a circle leads to comes after everything else, each span a root.
    let circles = (0..spans.len()).collect::<Vec<_>>();
    for (number, root) in open.into_iter().chain(circles).enumerate() {
        if seen[root] {
            continue;
        }
        if number >= roots || spans[root].parent == Some(spans[root].id) {
            spans[root].parent = None;
        }
        let mut stack = vec![root];
        while let Some(at) = stack.pop() {
            if core::mem::replace(&mut seen[at], true) {
                continue;
            }
            order.push(at);
            stack.extend(children.get(&spans[at].id).into_iter().flatten().rev().filter(|&&child| !seen[child]));
        }
    }
    // By start over the whole tree, where that keeps parents before children.
    let mut place: Vec<(u64, usize)> = Vec::with_capacity(order.len());
    let mut latest: HashMap<u64, u64> = HashMap::new();
    for &at in &order {
        let span = &spans[at];
        let after = span.parent.and_then(|parent| latest.get(&parent)).copied().unwrap_or(0);
        let opened = span.started.max(after);
        latest.insert(span.id, opened);
        place.push((opened, at));
    }
    // Stable: what opened at the same time stays in the order of the tree.
    place.sort_by_key(|(opened, _)| *opened);
    let mut slots: Vec<Option<Span>> = spans.into_iter().map(Some).collect();
    let mut result = Vec::with_capacity(slots.len());
    for (sequence, (_, at)) in (1..).zip(place) {
        if let Some(span) = slots[at].take() {
            result.push(Span { sequence, ..span });
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SpanKind, span};

    fn one(id: u64, parent: Option<u64>, started: u64) -> Span {
        Span { id, parent, started, ..span(SpanKind::Structural, format!("s{id}")) }
    }

    fn order(spans: Vec<Span>) -> Vec<(u64, Option<u64>)> {
        let mut notes = Notes::default();
        settle(spans, false, &mut notes, "").into_iter().map(|span| (span.id, span.parent)).collect()
    }

    #[test]
    fn parents_come_first_and_the_rest_by_start() {
        let spans = vec![one(3, Some(2), 30), one(2, Some(1), 20), one(4, Some(1), 25), one(1, None, 10)];
        assert_eq!(order(spans), [(1, None), (2, Some(1)), (4, Some(1)), (3, Some(2))]);
        // A child whose clock was behind its parent's.
        assert_eq!(order(vec![one(2, Some(1), 5), one(1, None, 10)]), [(1, None), (2, Some(1))]);
    }

    #[test]
    fn lost_parents_are_forgotten_and_circles_cut() {
        assert_eq!(order(vec![one(2, Some(9), 5)]), [(2, None)]);
        assert_eq!(order(vec![one(1, Some(2), 5), one(2, Some(1), 6)]), [(1, None), (2, Some(1))]);
        assert_eq!(order(vec![one(1, Some(1), 5)]), [(1, None)]);
    }

    #[test]
    fn duplicates_are_dropped_and_conflicts_said() {
        let mut notes = Notes::default();
        let spans = settle(vec![one(1, None, 1), one(1, None, 1), one(1, None, 2)], false, &mut notes, "");
        assert_eq!(spans.len(), 1);
        let notes: Vec<_> = notes.finish().into_iter().map(|note| (note.code, note.usable)).collect();
        assert_eq!(notes, [("duplicate-span".into(), true), ("conflicting-span".into(), false)]);
    }

    #[test]
    fn a_piece_keeps_parents_that_are_still_to_come() {
        let mut notes = Notes::default();
        assert_eq!(settle(vec![one(2, Some(9), 5)], true, &mut notes, "")[0].parent, Some(9));
        assert!(notes.finish().is_empty());
    }
}
