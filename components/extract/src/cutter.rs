//! Parts of a source that an output goes on with: pairs of positions whose text, in every
//! sampled row, is what the rest of the output begins with.

use std::collections::HashMap;
use std::rc::Rc;

use auto_json::Value;
use auto_lang::{Expr, Op};

use crate::concat::Part;
use crate::positions::{NOWHERE, Place, Source};

/// How the letters of a part are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// As in the source.
    Same,
    /// By an operator.
    By(Op),
}

/// What taking a part costs.
const CUT_COST: u32 = 3;

impl Case {
    /// Every way, the plain one first.
    const ALL: [Case; 4] = [Case::Same, Case::By(Op::Lower), Case::By(Op::Upper), Case::By(Op::Title)];

    fn write(self, text: &str) -> Option<String> {
        match self {
            Case::Same => Some(text.to_owned()),
            Case::By(op) => auto_lang::apply(op, &[&Value::from(text)])?.as_text().map(str::to_owned),
        }
    }

    fn cost(self) -> u32 {
        match self {
            Case::Same => 0,
            Case::By(op) => op.info().cost,
        }
    }

    /// The part of a row.
    pub fn part(self, source: &Source, row: usize, from: &Place, to: &Place) -> Option<String> {
        let text = source.texts[row].as_deref()?;
        let (from, to) = (from.at[row], to.at[row]);
        if from == NOWHERE || to == NOWHERE || from > to {
            return None;
        }
        self.write(text.get(from as usize..to as usize)?)
    }

    /// The part as an expression.
    pub fn expr(self, part: Expr) -> Expr {
        match self {
            Case::Same => part,
            Case::By(op) => Expr::Call(op, vec![part]),
        }
    }
}

/// A position, and its bytes in the sampled rows.
type Sampled = (Rc<Place>, Box<[u32]>);

/// A source in a case, over sampled rows.
pub struct Cutter<'a> {
    index: usize,
    source: &'a Source,
    case: Case,
    sample: &'a [usize],
    /// Of the sampled rows, in the case.
    texts: Vec<String>,
    /// The positions that are in every row, with their bytes in the sampled ones.
    places: Vec<Sampled>,
    /// Places by their byte in the first sampled row.
    at: Vec<Vec<u32>>,
    /// Bytes at which a part can begin, by the byte that stands there in the first row.
    by_byte: HashMap<u8, Vec<u32>>,
    /// The positions that count from another, once they were asked for.
    after: HashMap<u32, Rc<[Sampled]>>,
}

impl<'a> Cutter<'a> {
    /// The source in every case that makes a difference and in which its parts could be
    /// parts of the targets.
    pub fn all(
        index: usize,
        source: &'a Source,
        sample: &'a [usize],
        rows: &[usize],
        targets: &[&str],
    ) -> Vec<Cutter<'a>> {
        let plain: Option<Vec<&str>> = sample.iter().map(|&row| source.texts[row].as_deref()).collect();
        let Some(plain) = plain else { return Vec::new() };
        let mut cutters: Vec<Cutter> = Vec::new();
        for case in Case::ALL {
            let texts: Option<Vec<String>> = plain.iter().map(|text| case.write(text)).collect();
            let Some(texts) = texts else { continue };
            // Positions are those of the source, so every character must keep its place.
            let same_places = texts.iter().zip(&plain).all(|(text, plain)| {
                text.len() == plain.len() && text.char_indices().zip(plain.char_indices()).all(|(a, b)| a.0 == b.0)
            });
            let has_upper = targets.iter().any(|target| target.chars().any(char::is_uppercase));
            let needless = case != Case::Same && cutters.iter().any(|cutter| cutter.texts == texts);
            let hopeless = matches!(case, Case::By(Op::Upper | Op::Title)) && !has_upper;
            if same_places && !needless && !hopeless {
                cutters.push(Cutter::new(index, source, case, sample, rows, texts));
            }
        }
        cutters
    }

    fn new(
        index: usize,
        source: &'a Source,
        case: Case,
        sample: &'a [usize],
        rows: &[usize],
        texts: Vec<String>,
    ) -> Cutter<'a> {
        let mut cutter = Cutter {
            index,
            source,
            case,
            sample,
            at: vec![Vec::new(); texts[0].len() + 1],
            texts,
            places: Vec::new(),
            by_byte: HashMap::new(),
            after: HashMap::new(),
        };
        for place in &source.positions {
            if rows.iter().any(|&row| place.at[row] == NOWHERE) {
                continue;
            }
            let own = cutter.sampled(place);
            let number = cutter.places.len() as u32;
            cutter.at[own[0] as usize].push(number);
            if cutter.begins(&own)
                && let Some(&byte) = cutter.texts[0].as_bytes().get(own[0] as usize)
            {
                cutter.by_byte.entry(byte).or_default().push(number);
            }
            cutter.places.push((place.clone(), own));
        }
        cutter
    }

    /// Which source it cuts.
    pub fn source(&self) -> usize {
        self.index
    }

    fn sampled(&self, place: &Place) -> Box<[u32]> {
        self.sample.iter().map(|&row| place.at[row]).collect()
    }

    /// Whether a part may begin there: `title` of a part looks at the part alone.
    fn begins(&self, at: &[u32]) -> bool {
        self.case != Case::By(Op::Title)
            || at.iter().zip(&self.texts).all(|(&at, text)| {
                let before = text[..at as usize].chars().next_back();
                before.is_none_or(|before| !before.is_alphanumeric() && before != '\'')
            })
    }

    /// Whether any part begins what is left of the targets.
    pub fn starts(&self, rest: &[&str]) -> bool {
        let Some(&byte) = rest[0].as_bytes().first() else { return false };
        let fits = |number: &u32| {
            let at = &self.places[*number as usize].1;
            // Empty elsewhere is possible, but nowhere to begin with after a constant.
            rest.iter().zip(&self.texts).zip(at).all(|((rest, text), &at)| {
                rest.is_empty() || text.as_bytes().get(at as usize) == rest.as_bytes().first()
            })
        };
        self.by_byte.get(&byte).is_some_and(|numbers| numbers.iter().any(fits))
    }

    /// Every part that begins what is left of the targets, with its length in each row and
    /// its cost; gives how many were looked at.
    pub fn parts(&mut self, rest: &[&str], each: &mut impl FnMut(Part, &[u32], u32)) -> usize {
        let Some(&byte) = rest[0].as_bytes().first() else { return 0 };
        let numbers = self.by_byte.get(&byte).cloned().unwrap_or_default();
        let mut looked = numbers.len();
        let mut reach = vec![0u32; rest.len()];
        let mut lengths = vec![0u32; rest.len()];
        for number in numbers {
            let (from, begin) = {
                let (from, begin) = &self.places[number as usize];
                (from.clone(), begin.clone())
            };
            for (row, reach) in reach.iter_mut().enumerate() {
                let text = &self.texts[row].as_bytes()[begin[row] as usize..];
                *reach = text.iter().zip(rest[row].as_bytes()).take_while(|(a, b)| a == b).count() as u32;
            }
            let base = self.source.cost + self.case.cost() + from.cost + CUT_COST;
            let mut offer = |to: &Rc<Place>, end: &[u32], cutter: &Cutter| {
                for (row, length) in lengths.iter_mut().enumerate() {
                    match end[row].checked_sub(begin[row]) {
                        Some(own) if own <= reach[row] => *length = own,
                        _ => return,
                    }
                }
                let whole = begin.iter().all(|&at| at == 0)
                    && end.iter().zip(&cutter.texts).all(|(&end, text)| end as usize == text.len());
                let cost = if whole { cutter.source.cost + cutter.case.cost() } else { base + to.cost };
                let part = Part::Cut { source: cutter.index, case: cutter.case, from: from.clone(), to: to.clone() };
                each(part, &lengths, cost);
            };
            for end in begin[0] + 1..=begin[0] + reach[0] {
                for &to in &self.at[end as usize] {
                    looked += 1;
                    let (to, end) = &self.places[to as usize];
                    offer(to, end, self);
                }
            }
            let after = self.after(number, &from);
            looked += after.len();
            for (to, end) in after.iter() {
                if end[0] > begin[0] {
                    offer(to, end, self);
                }
            }
        }
        looked
    }

    fn after(&mut self, number: u32, from: &Place) -> Rc<[Sampled]> {
        if let Some(known) = self.after.get(&number) {
            return known.clone();
        }
        let found = self.source.after(from).into_iter().map(|to| {
            let end = self.sampled(&to);
            (Rc::new(to), end)
        });
        let found: Rc<[_]> = found.filter(|(_, end)| !end.contains(&NOWHERE)).collect();
        self.after.insert(number, found.clone());
        found
    }
}
