//! Deduction on `concat`: output texts are cut, in all examples at once, into texts that
//! terms give, parts of input texts between two positions, and constants (after Gulwani,
//! POPL 2011, without the product of version spaces: a state is a tuple of offsets into the
//! outputs, and only reachable ones exist). The cheapest way is found first (Dijkstra).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

use auto_json::Value;
use auto_lang::{Op, literal_cost};

use crate::cutter::{Case, Cutter};
use crate::dates::{self, DateSource};
use crate::numbers::{self, Derived, NumberSource};
use crate::positions::{Place, Source};
use crate::values::Meter;

/// A text that may be a part.
pub struct Piece<'a> {
    /// One per row; `None` where it is undefined.
    pub texts: Vec<Option<&'a str>>,
    /// Description length.
    pub cost: u32,
}

/// A part of the answer.
#[derive(Clone, Debug)]
pub enum Part {
    /// A piece, by its index.
    Piece(usize),
    /// A constant.
    Constant(String),
    /// What lies between two positions of a source, in a case.
    Cut {
        /// The source, by its index.
        source: usize,
        /// How its letters are written.
        case: Case,
        /// Where the part begins.
        from: Rc<Place>,
        /// Where it ends.
        to: Rc<Place>,
    },
    /// A number or a date, printed.
    Printed(Rc<Derived>),
}

/// What parts are made of.
pub struct Material<'a> {
    /// Texts of terms.
    pub pieces: &'a [Piece<'a>],
    /// Texts that parts are cut from.
    pub sources: &'a [Source],
    /// Numbers that may be printed.
    pub numbers: &'a [NumberSource],
    /// Dates that may be printed.
    pub dates: &'a [DateSource],
}

/// The most examples looked at together; the others are checked afterwards.
const MAX_WIDTH: usize = 12;

/// The longest output that is cut into parts, and the longest constant unless it is all that
/// the outputs have in common.
const MAX_TARGET: usize = 4096;
const MAX_CONSTANT: usize = 160;

/// The most states of one search.
const MAX_STATES: usize = 12_000;

/// The cheapest parts whose concatenation is `targets` in every row of `rows`, with their
/// cost. None that cost more than `most`, or than the texts themselves.
pub fn deduce(
    targets: &[&str],
    rows: &[usize],
    material: &Material,
    most: u32,
    meter: &mut Meter,
) -> Option<(Vec<Part>, u32)> {
    if rows.iter().any(|&row| targets[row].len() > MAX_TARGET) {
        return None;
    }
    let table: u32 = rows.iter().fold(0, |sum, &row| sum.saturating_add(literal_cost(&targets[row].into())));
    let most = most.min(table + table / 2 + 24);
    let mut sample = first_rows(targets, rows);
    loop {
        let (parts, cost) = Search::new(targets, &sample, rows, material, meter).shortest(most, meter)?;
        let wrong = rows.iter().find(|&&row| !spells(targets[row], row, &parts, material));
        match wrong {
            None => return Some((constant(related(parts, targets, rows, material), rows), cost)),
            Some(_) if sample.len() >= MAX_WIDTH || meter.spent() => return None,
            Some(&row) => sample.push(row),
        }
    }
}

/// The parts with ends of ranges told by their beginnings, where that is right too.
fn related(parts: Vec<Part>, targets: &[&str], rows: &[usize], material: &Material) -> Vec<Part> {
    let mut changed: Vec<Derived> = parts.iter().filter_map(Part::printed).cloned().collect();
    if changed.len() < 2 {
        return parts;
    }
    numbers::relate(&mut changed.iter_mut().map(|derived| &mut derived.printed).collect::<Vec<_>>());
    let mut changed = changed.into_iter();
    let swap = |part: &Part| match (part, part.printed().and_then(|_| changed.next())) {
        (_, Some(derived)) => Part::Printed(Rc::new(derived)),
        (part, None) => part.clone(),
    };
    let related: Vec<Part> = parts.iter().map(swap).collect();
    let fits = rows.iter().all(|&row| spells(targets[row], row, &related, material));
    if fits { related } else { parts }
}

/// The parts with what is printed as it is where it is the same in every row: digits that no row
/// changes are not computed, whatever happens to give them.
fn constant(parts: Vec<Part>, rows: &[usize]) -> Vec<Part> {
    let mut plain: Vec<Part> = Vec::new();
    for part in parts {
        let text = match &part {
            Part::Constant(text) => Some(text.clone()),
            Part::Printed(derived) => derived.same(rows).map(str::to_owned),
            _ => None,
        };
        match (text, plain.last_mut()) {
            (Some(text), Some(Part::Constant(before))) => before.push_str(&text),
            (Some(text), _) => plain.push(Part::Constant(text)),
            (None, _) => plain.push(part),
        }
    }
    plain
}

impl Part {
    fn printed(&self) -> Option<&Derived> {
        match self {
            Part::Printed(derived) => Some(derived),
            _ => None,
        }
    }
}

/// The longest target first, because a part of it that is empty elsewhere is seen there;
/// then some that differ most in length.
fn first_rows(targets: &[&str], rows: &[usize]) -> Vec<usize> {
    let mut by_length = rows.to_vec();
    by_length.sort_by_key(|&row| (Reverse(targets[row].len()), row));
    let few = by_length.len().min(6);
    (0..few).map(|index| by_length[index * (by_length.len() - 1) / few.max(2).saturating_sub(1)]).collect()
}

/// Whether the parts concatenate to the text in a row.
pub fn spells(target: &str, row: usize, parts: &[Part], material: &Material) -> bool {
    let mut rest = target;
    for part in parts {
        let cut;
        let text = match part {
            Part::Constant(text) => Some(text.as_str()),
            Part::Printed(printed) => printed.texts[row].as_deref(),
            Part::Piece(piece) => material.pieces[*piece].texts[row],
            Part::Cut { source, case, from, to } => {
                cut = case.part(&material.sources[*source], row, from, to);
                cut.as_deref()
            }
        };
        match text.and_then(|text| rest.strip_prefix(text)) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

/// Offsets into each sampled target, then whether a constant ends there.
type State = Box<[u32]>;

struct Search<'a> {
    /// Of the sampled rows.
    targets: Vec<&'a str>,
    sample: &'a [usize],
    pieces: &'a [Piece<'a>],
    numbers: &'a [NumberSource],
    dates: &'a [DateSource],
    cutters: Vec<Cutter<'a>>,
    /// Which pieces start where in the first sampled target.
    starts: Vec<Vec<usize>>,
}

struct Reached {
    state: State,
    cost: u32,
    from: Option<(usize, Part)>,
}

impl<'a> Search<'a> {
    fn new(
        targets: &[&'a str],
        sample: &'a [usize],
        rows: &[usize],
        material: &Material<'a>,
        meter: &mut Meter,
    ) -> Search<'a> {
        let own: Vec<&str> = sample.iter().map(|&row| targets[row]).collect();
        let cutters = material.sources.iter().enumerate();
        let cutters: Vec<Cutter> =
            cutters.flat_map(|(index, source)| Cutter::all(index, source, sample, rows, &own)).collect();
        // Each looked where every position of its source is.
        let positions: usize = cutters.iter().map(|cutter| material.sources[cutter.source()].positions.len()).sum();
        meter.take(positions * (16 + rows.len()) / 128);
        let starts = occurrences(own[0], sample, material.pieces);
        Search {
            targets: own,
            sample,
            pieces: material.pieces,
            numbers: material.numbers,
            dates: material.dates,
            cutters,
            starts,
        }
    }

    fn shortest(&mut self, most: u32, meter: &mut Meter) -> Option<(Vec<Part>, u32)> {
        let width = self.targets.len();
        let start: State = vec![0; width + 1].into();
        let mut known: HashMap<State, usize> = HashMap::from([(start.clone(), 0)]);
        let mut reached = vec![Reached { state: start, cost: 0, from: None }];
        let mut queue = BinaryHeap::from([Reverse((0u32, 0usize))]);
        while let Some(Reverse((cost, index))) = queue.pop() {
            if reached[index].cost < cost {
                continue;
            }
            let state = reached[index].state.clone();
            if self.targets.iter().zip(&state).all(|(target, &at)| at as usize == target.len()) {
                return Some((trace(&reached, index), cost + Op::Concat.info().cost));
            }
            if reached.len() > MAX_STATES || meter.spent() {
                return None;
            }
            for (next, part, edge) in self.edges(&state, meter) {
                let total = cost + edge;
                if total > most {
                    continue;
                }
                match known.get(&next) {
                    Some(&old) if reached[old].cost <= total => {}
                    Some(&old) => {
                        reached[old].cost = total;
                        reached[old].from = Some((index, part));
                        queue.push(Reverse((total, old)));
                    }
                    None => {
                        known.insert(next.clone(), reached.len());
                        queue.push(Reverse((total, reached.len())));
                        reached.push(Reached { state: next, cost: total, from: Some((index, part)) });
                    }
                }
            }
        }
        None
    }

    fn edges(&mut self, state: &State, meter: &mut Meter) -> Vec<(State, Part, u32)> {
        let width = self.targets.len();
        let rest: Vec<&str> = self.targets.iter().zip(state).map(|(target, &at)| &target[at as usize..]).collect();
        let after = |lengths: &mut dyn Iterator<Item = usize>, constant: bool| -> State {
            let moved = state.iter().zip(lengths).map(|(&at, length)| at + length as u32);
            moved.take(width).chain([u32::from(constant)]).collect()
        };
        let mut found = Vec::new();
        let mut looked = 1;
        for &index in &self.starts[state[0] as usize] {
            let piece = &self.pieces[index];
            let text = |row: usize| piece.texts[row].unwrap_or_default();
            if rest.iter().zip(self.sample).all(|(rest, &row)| rest.starts_with(text(row))) {
                let next = after(&mut self.sample.iter().map(|&row| text(row).len()), false);
                found.push((next, Part::Piece(index), piece.cost + 1));
            }
        }
        for cutter in &mut self.cutters {
            looked += cutter.parts(&rest, &mut |part, lengths, cost| {
                found.push((after(&mut lengths.iter().map(|&length| length as usize), false), part, cost + 1));
            });
        }
        for derived in self.printed(state, &rest, meter) {
            let next = after(&mut derived.lengths.iter().map(|&length| length as usize), false);
            let cost = derived.cost + 1;
            found.push((next, Part::Printed(Rc::new(derived)), cost));
        }
        // Making an edge takes longer than looking at one.
        meter.take(looked.div_ceil(8) * width + 4 * found.len());
        if state[width] == 1 {
            return found;
        }
        // A constant goes as far as all agree, and ends where a part starts or all is said.
        let common = common_start(&rest);
        let lengths = (1..=common.len()).filter(|&length| length <= MAX_CONSTANT || length == common.len());
        for length in lengths.filter(|&length| common.is_char_boundary(length)) {
            let here = state[0] as usize + length;
            let ends = rest.iter().all(|rest| rest.len() == length);
            let starts = || {
                let rest: Vec<&str> = rest.iter().map(|rest| &rest[length..]).collect();
                let begins = |rest: &&str| rest.starts_with(|first: char| first.is_alphanumeric() || first == '-');
                let printed = !(self.numbers.is_empty() && self.dates.is_empty()) && rest.iter().all(begins);
                printed || !self.starts[here].is_empty() || self.cutters.iter().any(|cutter| cutter.starts(&rest))
            };
            if ends || starts() {
                let text = common[..length].to_owned();
                let cost = literal_cost(&Value::from(text.as_str())) + 1 + unlikely(&text);
                let next = after(&mut std::iter::repeat_n(length, width), true);
                found.push((next, Part::Constant(text), cost));
            }
        }
        found
    }
}

impl Search<'_> {
    /// Numbers and dates that the outputs go on with; not in the middle of a number.
    fn printed(&self, state: &State, rest: &[&str], meter: &mut Meter) -> Vec<Derived> {
        let inside = |(target, &at): (&&str, &u32)| {
            let digit = |at: usize| target.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
            at > 0 && digit(at as usize - 1) && digit(at as usize)
        };
        if self.targets.iter().zip(state).any(inside) {
            return Vec::new();
        }
        let mut found = numbers::derive(self.numbers, rest, self.sample, meter);
        if !self.dates.is_empty() {
            found.extend(dates::derive(self.dates, rest, self.sample, meter));
        }
        found
    }
}

/// Digits and letters of an output were seldom there before the input was.
fn unlikely(constant: &str) -> u32 {
    constant
        .chars()
        .map(|character| if character.is_ascii_digit() { 4 } else { u32::from(character.is_alphabetic()) })
        .sum()
}

fn common_start<'t>(texts: &[&'t str]) -> &'t str {
    let mut common = texts[0];
    for text in &texts[1..] {
        let agree = common.bytes().zip(text.bytes()).take_while(|(a, b)| a == b).count();
        common = &common[..(0..=agree).rev().find(|&end| common.is_char_boundary(end)).unwrap_or(0)];
    }
    common
}

fn occurrences(lead: &str, sample: &[usize], pieces: &[Piece]) -> Vec<Vec<usize>> {
    let mut starts: Vec<Vec<usize>> = vec![Vec::new(); lead.len() + 1];
    // Many pieces are one text in this row; look for it once.
    let mut found: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, piece) in pieces.iter().enumerate() {
        let Some(text) = piece.texts[sample[0]].filter(|text| !text.is_empty()) else { continue };
        if sample.iter().any(|&row| piece.texts[row].is_none()) {
            continue;
        }
        let at = found.entry(text).or_insert_with(|| {
            (0..lead.len()).filter(|&at| lead.is_char_boundary(at) && lead[at..].starts_with(text)).collect()
        });
        at.iter().for_each(|&at| starts[at].push(index));
    }
    starts
}

fn trace(reached: &[Reached], end: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut at = end;
    while let Some((from, part)) = &reached[at].from {
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
        let material = Material { pieces: &pieces, sources: &[], numbers: &[], dates: &[] };
        let found = |rows: &[usize]| -> Vec<String> {
            let (parts, _) = deduce(&targets, rows, &material, u32::MAX, &mut Meter::new(100_000)).unwrap();
            let name = |part: &Part| match part {
                Part::Constant(text) => text.clone(),
                Part::Piece(piece) => piece.to_string(),
                Part::Cut { .. } | Part::Printed(_) => "another".to_owned(),
            };
            parts.iter().map(name).collect()
        };
        assert_eq!(found(&[0, 1, 2]), ["Dear ", "0", ", see ", "1", "."]);
        // The cheaper piece is right in these two.
        assert_eq!(found(&[0, 1])[1], "2");
        let none = Material { pieces: &[], sources: &[], numbers: &[], dates: &[] };
        assert!(deduce(&["ab", "cd"], &[0, 1], &none, u32::MAX, &mut Meter::new(10_000)).is_none());
    }
}
