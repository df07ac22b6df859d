//! Positions in source texts: between tokens of classes, literals that recur, and the ends
//! (FlashFill; Gulwani, POPL 2011). Every position expression over the vocabulary is
//! evaluated in every row at once, by intersecting sets of places; one is kept for each
//! distinct column, the cheapest.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::rc::Rc;

use auto_lang::pattern::{Item, Pattern, Position};
use auto_lang::{Expr, Op};
use auto_rt::kernels::class::{self, Class};

use crate::values::{Meter, Passthrough, hash_column};

mod vocabulary;

use vocabulary::{literal_cost, literals, occurrences};

/// Where a position is not in a text.
pub const NOWHERE: u32 = u32::MAX;

/// The most bytes of the texts of a source together.
const MAX_BYTES: usize = 400_000;

/// The most positions of a source.
const MAX_POSITIONS: usize = 4000;

/// Which places of a kind are named: from the first on and from the last back.
const ORDINALS: [i16; 8] = [0, -1, 1, -2, 2, -3, 3, 4];

/// As far as places are counted that one literal tells: columns of a table.
const FAR: i16 = 32;

/// The classes that positions are told by, with what naming one costs.
const CLASSES: [(Class, u32); 15] = [
    (Class::Digits, 2),
    (Class::Letters, 3),
    (Class::Upper, 3),
    (Class::Lower, 4),
    (Class::Alnum, 3),
    (Class::Proper, 4),
    (Class::Word, 3),
    (Class::Space, 3),
    (Class::Punct, 5),
    (Class::Number, 4),
    (Class::Date, 5),
    (Class::Time, 5),
    (Class::Id, 5),
    (Class::LineStart, 5),
    (Class::LineEnd, 5),
];

/// Two classes in a row that positions are told by.
const PAIRS: [[Class; 2]; 5] = [
    [Class::Space, Class::Digits],
    [Class::Space, Class::Upper],
    [Class::Digits, Class::Space],
    [Class::Letters, Class::Space],
    [Class::Punct, Class::Digits],
];

/// What naming one of them costs.
const PAIR_COST: u32 = 5;

/// As far as characters are counted, and in texts that are longer than some bytes.
const MAX_OFFSET: i32 = 40;
const NEAR_OFFSET: i32 = 12;
const SHORT: usize = 100;

/// What both sides of a position cost at most.
const MAX_PAIR_COST: u32 = 9;

/// A text in every row that parts are cut from.
pub struct Source {
    /// What gives it.
    pub expression: Expr,
    /// Its description length.
    pub cost: u32,
    /// One per row; `None` where it is undefined.
    pub texts: Vec<Option<String>>,
    /// Patterns of one item or two, with what naming one costs.
    items: Vec<(Pattern, u32)>,
    /// By row: where each item begins and where it ends, a bit for each byte of the text.
    marks: Vec<Marks>,
    /// By cost.
    pub positions: Vec<Rc<Place>>,
}

/// A position with its column.
#[derive(Clone, Debug)]
pub struct Place {
    name: Name,
    /// Description length.
    pub cost: u32,
    /// The byte in each row; [`NOWHERE`] where there is no such place.
    pub at: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Offset(i32),
    /// What ends there and what begins there, by the vocabulary.
    Between {
        left: Option<u8>,
        right: Option<u8>,
        k: i16,
        rest: bool,
    },
}

struct Marks {
    words: usize,
    /// Of each item its starts, then its ends.
    bits: Vec<u64>,
}

impl Marks {
    fn of(&self, item: usize, ends: bool) -> &[u64] {
        let from = (2 * item + usize::from(ends)) * self.words;
        &self.bits[from..from + self.words]
    }
}

impl Source {
    /// A source with all its positions. Cut short when the meter runs out.
    pub fn new(expression: Expr, cost: u32, texts: Vec<Option<String>>, meter: &mut Meter) -> Source {
        let bytes: usize = texts.iter().flatten().map(String::len).sum();
        let mut source =
            Source { expression, cost, texts, items: Vec::new(), marks: Vec::new(), positions: Vec::new() };
        if bytes > MAX_BYTES || !meter.take(bytes + source.texts.len() * 32) {
            return source;
        }
        let literals = literals(&source.texts).into_iter().map(|text| {
            let own = literal_cost(&text);
            (Pattern(vec![Item::Literal(text)]), own)
        });
        let classes = CLASSES.iter().map(|(class, cost)| (Pattern(vec![Item::Class(*class)]), *cost));
        let pairs = PAIRS.iter().map(|pair| (Pattern(pair.map(Item::Class).to_vec()), PAIR_COST));
        source.items = classes.chain(pairs).chain(literals).collect();
        source.mark();
        source.enumerate(meter);
        source
    }

    /// Finds where every item begins and ends; forgets those that are nowhere.
    fn mark(&mut self) {
        let mut seen = vec![false; self.items.len()];
        for text in &self.texts {
            let text = text.as_deref().unwrap_or_default();
            let words = text.len() / 64 + 1;
            let mut marks = Marks { words, bits: vec![0; 2 * words * self.items.len()] };
            for (index, (item, _)) in self.items.iter().enumerate() {
                let from = 2 * index * words;
                let (starts, ends) = marks.bits[from..from + 2 * words].split_at_mut(words);
                occurrences(item, text, &mut |start, end| {
                    starts[start / 64] |= 1 << (start % 64);
                    ends[end / 64] |= 1 << (end % 64);
                    seen[index] = true;
                });
            }
            self.marks.push(marks);
        }
        let kept: Vec<usize> = (0..seen.len()).filter(|&index| seen[index]).collect();
        for marks in &mut self.marks {
            marks.bits = kept.iter().flat_map(|&item| [marks.of(item, false), marks.of(item, true)].concat()).collect();
        }
        self.items = kept.iter().map(|&index| self.items[index].clone()).collect();
    }

    fn enumerate(&mut self, meter: &mut Meter) {
        let mut pool = Pool { heads: HashMap::default(), places: Vec::new() };
        let rows = self.texts.len();
        let defined = |row: usize, at: usize| if self.texts[row].is_some() { at as u32 } else { NOWHERE };
        pool.add(Place { name: Name::Offset(0), cost: 1, at: (0..rows).map(|row| defined(row, 0)).collect() });
        let length = |row: usize| self.texts[row].as_ref().map_or(NOWHERE, |text| text.len() as u32);
        pool.add(Place { name: Name::END, cost: 1, at: (0..rows).map(length).collect() });
        self.offsets(&mut pool);
        let count = self.items.len();
        let words: usize = self.marks.iter().map(|marks| marks.words).sum();
        let sides = (0..count).flat_map(|item| [(Some(item), None), (None, Some(item))]);
        let pairs = (0..count).flat_map(|left| (0..count).map(move |right| (Some(left), Some(right))));
        for (left, right) in sides.chain(pairs) {
            if self.cost_of(left) + self.cost_of(right) > MAX_PAIR_COST {
                continue;
            }
            if !meter.take(rows.div_ceil(2) + words / 32) {
                break;
            }
            self.between(left, right, &mut pool);
        }
        pool.places.sort_by_key(|place| place.cost);
        pool.places.truncate(MAX_POSITIONS);
        self.positions = pool.places.into_iter().map(Rc::new).collect();
    }

    /// Counted places: dear, because they mean little where lengths vary.
    fn offsets(&self, pool: &mut Pool) {
        // In long texts a place far from both ends is told by what stands there, or not at all.
        let longest = self.texts.iter().flatten().map(String::len).max().unwrap_or(0);
        let far = if longest <= SHORT { MAX_OFFSET } else { NEAR_OFFSET };
        for count in (1..=far).flat_map(|count| [count, -count]) {
            let place = |text: &Option<String>| {
                let text = text.as_ref()?;
                match usize::try_from(count) {
                    Ok(count) => text.char_indices().map(|(at, _)| at).chain([text.len()]).nth(count),
                    Err(_) => text.char_indices().nth_back(count.unsigned_abs() as usize - 1).map(|(at, _)| at),
                }
            };
            let at: Vec<u32> = self.texts.iter().map(|text| place(text).map_or(NOWHERE, |at| at as u32)).collect();
            let distance = count.unsigned_abs();
            let near = NEAR_OFFSET.unsigned_abs();
            let cost = 6 + distance.min(near) + distance.saturating_sub(near) / 4;
            pool.add(Place { name: Name::Offset(count), cost, at });
        }
    }

    /// All the places between two items, by their numbers.
    fn between(&self, left: Option<usize>, right: Option<usize>, pool: &mut Pool) {
        let rows = self.texts.len();
        let mut places: Vec<Vec<u32>> = Vec::with_capacity(rows);
        let mut most = 0;
        let mut without = 0;
        for marks in &self.marks {
            let mut here = Vec::new();
            for word in 0..marks.words {
                let ends = left.map_or(u64::MAX, |item| marks.of(item, true)[word]);
                let starts = right.map_or(u64::MAX, |item| marks.of(item, false)[word]);
                let mut bits = ends & starts;
                while bits != 0 && here.len() < 64 {
                    here.push((word * 64) as u32 + bits.trailing_zeros());
                    bits &= bits - 1;
                }
            }
            most = most.max(here.len());
            without += usize::from(here.is_empty());
            // Such positions are not kept.
            if without * 3 > rows * 2 {
                return;
            }
            places.push(here);
        }
        let own = 2 + self.cost_of(left) + self.cost_of(right);
        let single = left.is_none() || right.is_none();
        let is_literal =
            |item: Option<usize>| item.is_none_or(|item| matches!(self.items[item].0.0[..], [Item::Literal(_)]));
        let far = if single && is_literal(left) && is_literal(right) { FAR } else { 4 };
        for k in ORDINALS.into_iter().chain(5..=far) {
            let distance = if k < 0 { usize::from(k.unsigned_abs()) - 1 } else { usize::from(k.unsigned_abs()) };
            if distance >= most {
                continue;
            }
            let nth = |here: &Vec<u32>| {
                let index = if k < 0 { here.len().checked_sub(distance + 1) } else { Some(distance) };
                index.and_then(|index| here.get(index).copied()).unwrap_or(NOWHERE)
            };
            let at: Vec<u32> = places.iter().map(nth).collect();
            let name = Name::Between {
                left: left.map(|item| item as u8),
                right: right.map(|item| item as u8),
                k,
                rest: false,
            };
            pool.add(Place { name, cost: own + ordinal_cost(k), at });
        }
    }

    fn cost_of(&self, item: Option<usize>) -> u32 {
        item.map_or(0, |item| self.items[item].1)
    }

    /// The positions that count from `from` on: the first places after it that one item
    /// tells.
    pub fn after(&self, from: &Place) -> Vec<Place> {
        let mut found = Vec::new();
        for item in 0..self.items.len() {
            for ends in [true, false] {
                let next = |row: usize| match from.at[row] {
                    NOWHERE => NOWHERE,
                    at => next_bit(self.marks[row].of(item, ends), at),
                };
                let at: Vec<u32> = (0..self.texts.len()).map(next).collect();
                let named = Some(item as u8);
                let (left, right) = if ends { (named, None) } else { (None, named) };
                let name = Name::Between { left, right, k: 0, rest: true };
                // The next such place is nearer to what is meant than the first of the text.
                let own = self.items[item].1;
                found.push(Place { name, cost: own + u32::from(!self.is_same(from, item, ends)), at });
            }
        }
        found
    }

    /// Whether the position is where the item begins that ends next.
    fn is_same(&self, from: &Place, item: usize, ends: bool) -> bool {
        ends && matches!(from.name, Name::Between { right: Some(right), .. } if usize::from(right) == item)
    }

    /// The cheapest position with that column; counted from the start where it is at the same
    /// distance in every row and nothing else tells it.
    pub fn place(&self, at: &[u32]) -> Option<Place> {
        let known = self.positions.iter().find(|place| place.at == at).map(|place| Place::clone(place));
        known.or_else(|| {
            let count =
                |(text, &at): (&Option<String>, &u32)| text.as_ref()?.get(..at as usize).map(|t| t.chars().count());
            let mut counts = self.texts.iter().zip(at).map(count);
            let first = counts.next()??;
            let same = counts.all(|count| count == Some(first));
            let cost = 7 + first.min(24) as u32 / 4;
            same.then(|| Place { name: Name::Offset(first as i32), cost, at: at.to_vec() })
        })
    }

    /// The part between two positions as an expression of a text.
    pub fn part(&self, from: &Place, to: &Place) -> Expr {
        let root = self.expression.clone();
        if from.name == Name::Offset(0) && to.name == Name::END {
            return root;
        }
        if let Some(simple) = self.simple(&root, from, to) {
            return simple;
        }
        let (from, to) = (self.position(from).to_string(), self.position(to).to_string());
        Expr::Call(Op::Cut, vec![root, Expr::Literal(from.into()), Expr::Literal(to.into())])
    }

    /// With an operator that says the same in fewer words.
    fn simple(&self, root: &Expr, from: &Place, to: &Place) -> Option<Expr> {
        let literal = |item: Option<u8>| match item.map(|item| self.items[usize::from(item)].0.0.as_slice()) {
            Some([Item::Literal(text)]) => Some(Expr::Literal(text.as_str().into())),
            _ => None,
        };
        let left_of = |name: Name, relative: bool| match name {
            Name::Between { left: None, right, k: 0, rest } if rest || !relative => literal(right),
            _ => None,
        };
        let right_of = |name: Name| match name {
            Name::Between { left, right: None, k: 0, rest: false } => literal(left),
            _ => None,
        };
        let call = |op: Op, literals: Vec<Expr>| Some(Expr::Call(op, [vec![root.clone()], literals].concat()));
        let number = |number: i32| Expr::Literal(auto_json::Value::integer(number.into()));
        match (from.name, to.name) {
            (Name::Offset(0), to) if let Some(text) = left_of(to, false) => call(Op::Before, vec![text]),
            (from, Name::END) if let Some(text) = right_of(from) => call(Op::After, vec![text]),
            (from, to) if let (Some(left), Some(right)) = (right_of(from), left_of(to, true)) => {
                call(Op::Between, vec![left, right])
            }
            (Name::Offset(from), Name::END) => call(Op::Substr, vec![number(from)]),
            (Name::Offset(from), Name::Offset(to)) => call(Op::Substr, vec![number(from), number(to)]),
            (
                Name::Between { left: None, right: Some(item), k, rest: false },
                Name::Between { left: Some(same), right: None, k: 0, rest: true },
            ) if item == same => match self.items[usize::from(item)].0.0.as_slice() {
                [Item::Class(class)] => {
                    let name = class::CLASSES[*class as usize].0;
                    call(Op::Token, vec![Expr::Literal(name.into()), number(k.into())])
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn position(&self, place: &Place) -> Position {
        let pattern =
            |item: Option<u8>| item.map_or(Pattern::default(), |item| self.items[usize::from(item)].0.clone());
        match place.name {
            Name::Offset(count) => Position::Offset(count),
            Name::END => Position::Between {
                left: Pattern::default(),
                right: Pattern(vec![Item::Class(Class::End)]),
                k: 0,
                rest: false,
            },
            Name::Between { left, right, k, rest } => {
                Position::Between { left: pattern(left), right: pattern(right), k, rest }
            }
        }
    }
}

impl Name {
    /// The end of the text, which no item of the vocabulary is.
    const END: Name = Name::Between { left: None, right: None, k: -1, rest: false };
}

/// What naming the k-th place costs.
fn ordinal_cost(k: i16) -> u32 {
    match k {
        0 => 0,
        -1 => 1,
        1 => 2,
        -2 => 3,
        2 => 4,
        k if k < 0 => 2 * u32::from(k.unsigned_abs()),
        k => 1 + 2 * u32::from(k.unsigned_abs()),
    }
}

struct Pool {
    heads: HashMap<u64, usize, BuildHasherDefault<Passthrough>>,
    places: Vec<Place>,
}

impl Pool {
    /// Adds a position that is in at least a third of the rows, unless a cheaper one says
    /// the same.
    fn add(&mut self, place: Place) {
        let defined = place.at.iter().filter(|&&at| at != NOWHERE).count();
        if defined * 3 < place.at.len() || defined == 0 {
            return;
        }
        match self.heads.entry(hash_column(&place.at)) {
            std::collections::hash_map::Entry::Occupied(known) => {
                let known = &mut self.places[*known.get()];
                if known.at == place.at && place.cost < known.cost {
                    *known = place;
                }
            }
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(self.places.len());
                self.places.push(place);
            }
        }
    }
}

/// The first bit at `from` or later.
fn next_bit(bits: &[u64], from: u32) -> u32 {
    let mut word = from as usize / 64;
    let Some(&first) = bits.get(word) else { return NOWHERE };
    let mut rest = first & (u64::MAX << (from % 64));
    loop {
        if rest != 0 {
            return (word * 64) as u32 + rest.trailing_zeros();
        }
        word += 1;
        match bits.get(word) {
            Some(&next) => rest = next,
            None => return NOWHERE,
        }
    }
}
