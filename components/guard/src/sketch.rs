//! The sketches of the witnesses' texts, and how novel a text is to a sketch that was made
//! without it.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use auto_json::Value;
use auto_rt::kernels::novelty::{sketch_index, sketch_score, windows};
use auto_schema::ir::{Check, Step, parse_path, visit};

use crate::calibrate::HeldOut;

/// The smallest and the largest table, as the logarithm of its bits; the graph allows no
/// others.
const LEAST_BITS: u32 = 3;
const MOST_BITS: u32 = 24;

/// One bit in this many is set, at most: so much of a text of unknown windows passes for
/// known, on average.
const LOAD: u64 = 8;

/// How often each window of three bytes is in some texts; the bytes from the lowest.
type Windows = HashMap<u32, u32, BuildHasherDefault<Spread>>;

/// A hash for windows: there are few enough to need no keyed one, and so many to count that its
/// cost decides (Knuth's multiplicative hashing).
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, window: u32) {
        let product = (self.0 ^ u64::from(window)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The texts of one place.
pub(crate) struct Sketch {
    path: String,
    steps: Vec<Step>,
    bits: u32,
    table: Vec<u8>,
    /// The windows of all witnesses.
    windows: Windows,
}

impl Sketch {
    /// The sketch of all witnesses, in the smallest table that is sparse enough.
    pub(crate) fn of(path: &str, witnesses: &[Value]) -> Option<Sketch> {
        let (steps, windows) = (parse_path(path)?, Windows::default());
        let mut sketch = Sketch { path: path.to_owned(), steps, bits: 0, table: Vec::new(), windows };
        sketch.windows = sketch.windows_of(witnesses);
        for bits in LEAST_BITS..=MOST_BITS {
            sketch.bits = bits;
            sketch.table = sketch.table_of(sketch.windows.keys());
            let set: u64 = sketch.table.iter().map(|byte| u64::from(byte.count_ones())).sum();
            if set * LOAD <= 1 << bits {
                break;
            }
        }
        Some(sketch)
    }

    pub(crate) fn into_check(self) -> Check {
        Check::Sketch { path: self.path, bits: self.bits, table: self.table }
    }

    /// How novel each witness is to the sketch of all the others.
    pub(crate) fn leave_one_out(&self, witnesses: &[Value]) -> Vec<u32> {
        let own: Vec<Vec<u8>> =
            witnesses.iter().map(|witness| self.table_of(self.windows_of([witness]).keys())).collect();
        let mut once = vec![0; self.table.len()];
        let mut twice = vec![0; self.table.len()];
        for table in &own {
            for ((once, twice), byte) in once.iter_mut().zip(&mut twice).zip(table) {
                *twice |= *once & byte;
                *once |= byte;
            }
        }
        // What others have: all that two witnesses have, and what one has that is not this.
        let others = |table: &[u8]| -> Vec<u8> {
            once.iter().zip(&twice).zip(table).map(|((once, twice), own)| twice | (once & !own)).collect()
        };
        witnesses.iter().zip(&own).map(|(witness, own)| self.score(witness, &others(own))).collect()
    }

    /// How novel each held-out input is to the sketch of the witnesses outside its fold.
    pub(crate) fn out_of_fold(&self, witnesses: &[Value], rows: &[HeldOut]) -> Vec<u32> {
        let mut folds: HashMap<&Value, Vec<u32>> = HashMap::new();
        rows.iter().for_each(|row| folds.entry(&row.input).or_default().push(row.fold));
        let mut inside: BTreeMap<u32, Vec<&Value>> = rows.iter().map(|row| (row.fold, Vec::new())).collect();
        for witness in witnesses {
            let mut own = folds.get(witness).cloned().unwrap_or_default();
            own.dedup();
            own.iter().for_each(|fold| inside.entry(*fold).or_default().push(witness));
        }
        let outside = |inputs: Vec<&Value>| {
            let own = self.windows_of(inputs);
            self.table_of(
                self.windows
                    .iter()
                    .filter(|(window, count)| own.get(*window) != Some(*count))
                    .map(|(window, _)| window),
            )
        };
        let tables: BTreeMap<u32, Vec<u8>> = inside.into_iter().map(|(fold, inputs)| (fold, outside(inputs))).collect();
        rows.iter().map(|row| tables.get(&row.fold).map_or(0, |table| self.score(&row.input, table))).collect()
    }

    fn windows_of<'a>(&self, inputs: impl IntoIterator<Item = &'a Value>) -> Windows {
        let mut found = Windows::default();
        for input in inputs {
            self.texts(input, |text| windows(text, |[a, b, c]| *found.entry(a | b << 8 | c << 16).or_default() += 1));
        }
        found
    }

    fn table_of<'a>(&self, windows: impl Iterator<Item = &'a u32>) -> Vec<u8> {
        let mut table = vec![0; 1 << (self.bits - LEAST_BITS)];
        for window in windows {
            let [a, b, c, _] = window.to_le_bytes();
            let index = sketch_index([a, b, c], self.bits);
            table[(index >> 3) as usize] |= 1 << (index & 7);
        }
        table
    }

    fn score(&self, input: &Value, table: &[u8]) -> u32 {
        let mut highest = 0;
        self.texts(input, |text| highest = highest.max(sketch_score(text, self.bits, table)));
        highest
    }

    fn texts(&self, input: &Value, mut each: impl FnMut(&[u8])) {
        visit(input, &self.steps, &mut |value| {
            if let Value::Text(text) = value {
                each(text.as_bytes());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn leaving_one_out_is_making_the_sketch_of_the_others(texts in prop::collection::vec("[a-d]{0,6}", 1..10)) {
            let witnesses: Vec<Value> = texts.iter().map(|text| text.as_str().into()).collect();
            let sketch = Sketch::of("", &witnesses).unwrap();
            let scores = sketch.leave_one_out(&witnesses);
            for (index, witness) in witnesses.iter().enumerate() {
                let others = witnesses.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, other)| other);
                prop_assert_eq!(scores[index], sketch.score(witness, &sketch.table_of(sketch.windows_of(others).keys())));
            }
            let rows: Vec<HeldOut> = (0..).zip(&witnesses)
                .map(|(fold, input)| HeldOut { fold, input: input.clone(), wrong: false })
                .collect();
            let distinct: std::collections::BTreeSet<&Value> = witnesses.iter().collect();
            if distinct.len() == witnesses.len() {
                prop_assert_eq!(sketch.out_of_fold(&witnesses, &rows), scores);
            }
        }

        #[test]
        fn the_table_is_sparse_and_the_smallest(texts in prop::collection::vec("[a-z]{0,30}", 1..10)) {
            let witnesses: Vec<Value> = texts.iter().map(|text| text.as_str().into()).collect();
            let sketch = Sketch::of("", &witnesses).unwrap();
            let set = |table: &[u8]| table.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            prop_assert!(set(&sketch.table) * LOAD <= 1 << sketch.bits);
            if sketch.bits > LEAST_BITS {
                let smaller = Sketch { bits: sketch.bits - 1, steps: sketch.steps.clone(), path: String::new(), table: vec![], windows: Windows::default() };
                prop_assert!(set(&smaller.table_of(sketch.windows.keys())) * LOAD > 1 << smaller.bits);
            }
        }
    }
}
