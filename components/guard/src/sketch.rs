//! The sketches of the witnesses' texts, and how novel a text is to a sketch that was made
//! without it.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_rt::kernels::novelty::{sketch_insert, sketch_score};
use auto_schema::ir::{Check, Step, parse_path, visit};

use crate::calibrate::HeldOut;

/// The smallest and the largest table, as the logarithm of its bits; the graph allows no
/// others.
const LEAST_BITS: u32 = 3;
const MOST_BITS: u32 = 24;

/// One bit in this many is set, at most: so much of a text of unknown windows passes for
/// known, on average.
const LOAD: u64 = 8;

/// The texts of one place.
pub(crate) struct Sketch {
    path: String,
    steps: Vec<Step>,
    bits: u32,
    table: Vec<u8>,
}

impl Sketch {
    /// The sketch of all witnesses, in the smallest table that is sparse enough.
    pub(crate) fn of(path: &str, witnesses: &[Value]) -> Option<Sketch> {
        let mut sketch = Sketch { path: path.to_owned(), steps: parse_path(path)?, bits: 0, table: Vec::new() };
        for bits in LEAST_BITS..=MOST_BITS {
            sketch.bits = bits;
            sketch.table = sketch.table_of(witnesses.iter());
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
        let own: Vec<Vec<u8>> = witnesses.iter().map(|witness| self.table_of([witness])).collect();
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
        let mut folds: BTreeMap<u32, Vec<&Value>> = BTreeMap::new();
        rows.iter().for_each(|row| folds.entry(row.fold).or_default().push(&row.input));
        let tables: BTreeMap<u32, Vec<u8>> = folds
            .into_iter()
            .map(|(fold, mut inputs)| {
                inputs.sort_unstable();
                let outside = witnesses.iter().filter(|witness| inputs.binary_search(witness).is_err());
                (fold, self.table_of(outside))
            })
            .collect();
        rows.iter().map(|row| tables.get(&row.fold).map_or(0, |table| self.score(&row.input, table))).collect()
    }

    fn table_of<'a>(&self, inputs: impl IntoIterator<Item = &'a Value>) -> Vec<u8> {
        let mut table = vec![0; 1 << (self.bits - LEAST_BITS)];
        for input in inputs {
            self.texts(input, |text| sketch_insert(text, self.bits, &mut table));
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
                prop_assert_eq!(scores[index], sketch.score(witness, &sketch.table_of(others)));
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
                let smaller = Sketch { bits: sketch.bits - 1, steps: sketch.steps.clone(), path: String::new(), table: vec![] };
                prop_assert!(set(&smaller.table_of(&witnesses)) * LOAD > 1 << smaller.bits);
            }
        }
    }
}
