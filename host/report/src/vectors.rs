//! A table of word vectors, by which evidence is found that says it in other words. It orders what is
//! retrieved and decides nothing, and is integers all the same, so that the order is the same
//! everywhere.

use std::collections::BTreeMap;

use crate::exact::{Exact, ten};

/// The most numbers of a word.
const MOST_DIMENSIONS: usize = 2_048;

/// Vectors of words, in thousandths.
#[derive(Debug, Default)]
pub struct Vectors {
    words: BTreeMap<String, Vec<i64>>,
}

impl Vectors {
    /// Reads a table as GloVe and word2vec write it: a word and its numbers a line, perhaps with the
    /// counts of both in the first. An error says which line is wrong.
    pub fn read(text: &str) -> Result<Vectors, String> {
        let mut words = BTreeMap::new();
        let mut width = None;
        for (at, line) in text.lines().enumerate() {
            let mut parts = line.split_ascii_whitespace();
            let Some(word) = parts.next() else { continue };
            let numbers: Option<Vec<i64>> = parts.map(thousandths).collect();
            let numbers = numbers.ok_or_else(|| format!("line {}: it is not a word and numbers", at + 1))?;
            if at == 0 && numbers.len() == 1 {
                continue;
            }
            let width = *width.get_or_insert(numbers.len());
            if numbers.len() != width || width == 0 || width > MOST_DIMENSIONS {
                return Err(format!("line {}: it has {} numbers, and the first has {width}", at + 1, numbers.len()));
            }
            words.insert(word.to_lowercase(), numbers);
        }
        if words.is_empty() { Err("it has no words".to_owned()) } else { Ok(Vectors { words }) }
    }

    /// The mean direction of a text; none where it has no word of the table.
    pub fn of(&self, text: &str) -> Option<Vec<i64>> {
        let lower = text.to_lowercase();
        let known = lower.split(|one: char| !one.is_alphanumeric()).filter_map(|word| self.words.get(word));
        known.fold(None, |sum: Option<Vec<i64>>, vector| {
            Some(match sum {
                Some(sum) => sum.iter().zip(vector).map(|(one, two)| one.saturating_add(*two)).collect(),
                None => vector.clone(),
            })
        })
    }
}

/// The cosine of two vectors, in millionths.
pub fn cosine(one: &[i64], two: &[i64]) -> i64 {
    let dot =
        |one: &[i64], two: &[i64]| -> i128 { one.iter().zip(two).map(|(a, b)| i128::from(*a) * i128::from(*b)).sum() };
    let lengths = dot(one, one).unsigned_abs().isqrt().saturating_mul(dot(two, two).unsigned_abs().isqrt());
    let Some(lengths) = i128::try_from(lengths).ok().filter(|lengths| *lengths > 0) else { return 0 };
    i64::try_from(dot(one, two).saturating_mul(1_000_000) / lengths).unwrap_or(0)
}

fn thousandths(text: &str) -> Option<i64> {
    let number = Exact::parse(text)?.value * num_rational::BigRational::from_integer(ten(3));
    i64::try_from(number.round().to_integer()).ok().filter(|number| number.abs() <= 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_read_with_its_head_or_without_and_else_refused() {
        let vectors = Vectors::read("2 2\nscore 1 0.5\nRows -1e-1 0\n").unwrap();
        assert_eq!(vectors.of("the score, and the rows"), Some(vec![900, 500]));
        assert_eq!(vectors.of("nothing known"), None);
        for bad in ["", "a 1 2\nb 1", "a x", "a NaN 1", "a"] {
            assert!(Vectors::read(bad).is_err(), "{bad}");
        }
        assert_eq!((cosine(&[3, 0], &[5, 0]), cosine(&[1, 0], &[0, 1]), cosine(&[0], &[1])), (1_000_000, 0, 0));
    }
}
