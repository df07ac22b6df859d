//! Deduction on `concat`: output texts are cut, in all examples at once, into texts that
//! terms give and constants in between (after Gulwani, POPL 2011, without the product of
//! version spaces: a state is a tuple of positions, and only reachable ones exist).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use auto_json::Value;
use auto_lang::{Op, literal_cost};

use crate::values::Meter;

/// A text that may be a part.
pub struct Piece<'a> {
    /// One per row; `None` where it is undefined.
    pub texts: Vec<Option<&'a str>>,
    /// Description length.
    pub cost: u32,
}

/// A part of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// A piece, by its index.
    Piece(usize),
    /// A constant.
    Constant(String),
}

/// The most examples looked at together; the others are checked afterwards.
const MAX_WIDTH: usize = 6;

/// The most states of one search.
const MAX_STATES: usize = 20_000;

/// The cheapest parts whose concatenation is `targets` in every row of `rows`, with their
/// cost. Costs more than the texts themselves: none.
pub fn deduce(targets: &[&str], rows: &[usize], pieces: &[Piece], meter: &mut Meter) -> Option<(Vec<Part>, u32)> {
    let table: u32 = rows.iter().fold(0, |sum, &row| sum.saturating_add(literal_cost(&targets[row].into())));
    let mut sample = vec![*rows.first()?];
    // The example that differs most in length tells most.
    let first = targets[sample[0]].len();
    if let Some(&other) = rows.iter().skip(1).max_by_key(|&&row| targets[row].len().abs_diff(first)) {
        sample.push(other);
    }
    loop {
        let (parts, cost) = shortest(targets, &sample, pieces, table, meter)?;
        let wrong = rows.iter().find(|&&row| !spells(targets[row], row, &parts, pieces));
        match wrong {
            None => return Some((parts, cost)),
            Some(_) if sample.len() == MAX_WIDTH || meter.spent() => return None,
            Some(&row) => sample.push(row),
        }
    }
}

/// Whether the parts concatenate to the text in a row.
pub fn spells(target: &str, row: usize, parts: &[Part], pieces: &[Piece]) -> bool {
    let mut rest = target;
    for part in parts {
        let text = match part {
            Part::Constant(text) => Some(text.as_str()),
            Part::Piece(piece) => pieces[*piece].texts[row],
        };
        match text.and_then(|text| rest.strip_prefix(text)) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

/// Positions in each sampled target, and whether a constant ends here.
type State = ([u32; MAX_WIDTH], bool);

struct Reached {
    cost: u32,
    from: Option<(State, Part)>,
}

fn shortest(
    targets: &[&str],
    sample: &[usize],
    pieces: &[Piece],
    most: u32,
    meter: &mut Meter,
) -> Option<(Vec<Part>, u32)> {
    let lead = targets[sample[0]];
    let starts = occurrences(lead, sample, pieces);
    let mut goal = [0u32; MAX_WIDTH];
    sample.iter().enumerate().for_each(|(index, &row)| goal[index] = targets[row].len() as u32);
    let start: State = ([0; MAX_WIDTH], false);
    let mut reached: HashMap<State, Reached> = HashMap::from([(start, Reached { cost: 0, from: None })]);
    let mut queue = BinaryHeap::from([Reverse((0u32, start))]);
    while let Some(Reverse((cost, state))) = queue.pop() {
        if reached.get(&state).is_some_and(|known| known.cost < cost) {
            continue;
        }
        if state.0 == goal {
            return Some((trace(&reached, state), cost + Op::Concat.info().cost));
        }
        if reached.len() > MAX_STATES || !meter.take(sample.len()) {
            return None;
        }
        for (next, part, edge) in edges(targets, sample, pieces, &starts, &state, &goal) {
            let total = cost + edge;
            if total > most || reached.get(&next).is_some_and(|known| known.cost <= total) {
                continue;
            }
            reached.insert(next, Reached { cost: total, from: Some((state, part)) });
            queue.push(Reverse((total, next)));
        }
    }
    None
}

/// Which pieces start where in the first sampled target.
fn occurrences(lead: &str, sample: &[usize], pieces: &[Piece]) -> Vec<Vec<usize>> {
    let mut starts: Vec<Vec<usize>> = vec![Vec::new(); lead.len() + 1];
    // Many pieces are one text in this row; look for it once.
    let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, piece) in pieces.iter().enumerate() {
        let Some(text) = piece.texts[sample[0]].filter(|text| !text.is_empty()) else { continue };
        if sample.iter().any(|&row| piece.texts[row].is_none_or(str::is_empty)) {
            continue;
        }
        let at = found.entry(text).or_insert_with(|| {
            (0..lead.len()).filter(|&at| lead.is_char_boundary(at) && lead[at..].starts_with(text)).collect()
        });
        at.iter().for_each(|&at| starts[at].push(index));
    }
    starts
}

fn edges(
    targets: &[&str],
    sample: &[usize],
    pieces: &[Piece],
    starts: &[Vec<usize>],
    state: &State,
    goal: &[u32; MAX_WIDTH],
) -> Vec<(State, Part, u32)> {
    let rest = |index: usize| &targets[sample[index]][state.0[index] as usize..];
    let mut found = Vec::new();
    for &index in &starts[state.0[0] as usize] {
        let piece = &pieces[index];
        let mut next = state.0;
        let fits = sample.iter().enumerate().all(|(at, &row)| {
            let text = piece.texts[row].unwrap_or_default();
            next[at] += text.len() as u32;
            rest(at).starts_with(text)
        });
        if fits {
            found.push(((next, false), Part::Piece(index), piece.cost + 1));
        }
    }
    if state.1 {
        return found;
    }
    // A constant goes as far as all agree, and ends where a piece starts or all is said.
    let mut common = rest(0);
    for at in 1..sample.len() {
        let agree = common.bytes().zip(rest(at).bytes()).take_while(|(a, b)| a == b).count();
        common = &common[..(0..=agree).rev().find(|&end| common.is_char_boundary(end)).unwrap_or(0)];
    }
    for length in (1..=common.len()).filter(|&length| common.is_char_boundary(length)) {
        let mut next = state.0;
        next.iter_mut().take(sample.len()).for_each(|at| *at += length as u32);
        if next == *goal || !starts[next[0] as usize].is_empty() {
            let text = common[..length].to_owned();
            let cost = literal_cost(&Value::from(text.as_str())) + 1;
            found.push(((next, true), Part::Constant(text), cost));
        }
    }
    found
}

fn trace(reached: &HashMap<State, Reached>, end: State) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = end;
    while let Some((from, part)) = reached.get(&at).and_then(|reached| reached.from.as_ref()) {
        parts.push(part.clone());
        at = *from;
    }
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_at_pieces_and_constants() {
        let targets = ["Dear Ana, see A-1.", "Dear Bo, see A-77.", "Dear Ann Li, see B-3."];
        let pieces = [
            Piece { texts: vec![Some("Ana"), Some("Bo"), Some("Ann Li")], cost: 3 },
            Piece { texts: vec![Some("A-1"), Some("A-77"), Some("B-3")], cost: 9 },
            Piece { texts: vec![Some("Ana"), Some("Bo"), Some("Ann")], cost: 2 },
        ];
        let found = deduce(&targets, &[0, 1, 2], &pieces, &mut Meter::new(10_000)).unwrap().0;
        let constant = |text: &str| Part::Constant(text.to_owned());
        assert_eq!(found, [constant("Dear "), Part::Piece(0), constant(", see "), Part::Piece(1), constant(".")]);
        // The cheaper piece is right in these two.
        let found = deduce(&targets, &[0, 1], &pieces, &mut Meter::new(10_000)).unwrap().0;
        assert_eq!(found[1], Part::Piece(2));
        assert_eq!(deduce(&["ab", "cd"], &[0, 1], &[], &mut Meter::new(10_000)), None);
    }
}
