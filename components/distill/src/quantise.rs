//! From weights of floating point to the bytes that an artifact has.

use auto_json::Value;
use auto_rt::kernels::linear::{Weights as Known, packed};
use auto_schema::ir::model::Linear;

use crate::train::{Data, Weights};

/// The fewest and the most buckets, as logarithms. More than the most were not measured to
/// decide better.
pub(crate) const LEAST_BITS: u32 = 8;
const MOST_BITS: u32 = 13;

/// Bytes of weights: one for each bucket and two classes.
pub(crate) fn bytes(classes: usize, bits: u32) -> u64 {
    (classes.div_ceil(2) as u64) << bits
}

/// The most buckets that fit, as a logarithm.
pub(crate) fn bits(classes: usize, max_bytes: u32) -> Option<u32> {
    (LEAST_BITS..=MOST_BITS).rev().find(|bits| bytes(classes, *bits) <= u64::from(max_bytes))
}

/// The largest weight of a class, in four bits.
const LARGEST: f32 = 7.0;

/// A scale of the class with the largest weight.
const SCALE: f32 = 4096.0;

/// The model, and how many rows it decides otherwise than the weights did.
pub(crate) fn linear(data: &Data, weights: &Weights, classes: Vec<Value>) -> (Linear, usize) {
    let count = classes.len();
    // The largest weight of each class, and of all.
    let mut largest = vec![f32::MIN_POSITIVE; count];
    for row in weights.rows.chunks_exact(count) {
        largest.iter_mut().zip(row).for_each(|(largest, weight)| *largest = largest.max(weight.abs()));
    }
    let whole = largest.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let quantised = |class: usize, weight: f32| (weight / largest[class] * LARGEST).round() as i8;
    let mut rows = Vec::with_capacity(count.div_ceil(2) << data.bits);
    for row in weights.rows.chunks_exact(count) {
        for (pair, two) in row.chunks(2).enumerate() {
            let second = two.get(1).map_or(0, |weight| quantised(2 * pair + 1, *weight));
            rows.push(packed(quantised(2 * pair, two[0]), second));
        }
    }
    let scales: Vec<i32> = largest.iter().map(|largest| (largest / whole * SCALE).round().max(1.0) as i32).collect();
    // Values are of length 2^14; a score is a sum times a scale, in 256ths.
    let unit = 16384.0 * LARGEST * SCALE / 256.0 / whole;
    let most = (1 << 30) as f32;
    let biases: Vec<i32> = weights.biases.iter().map(|bias| (bias * unit).round().clamp(-most, most) as i32).collect();
    let known = Known { idf: &data.idf, rows: &rows, scales: &scales, biases: &biases };
    let mut scores = vec![0; count];
    let (mut differ, mut top, mut lead) = (0, i32::MIN, 1);
    for row in &data.rows {
        let values = row.iter().map(|(bucket, value)| (usize::from(*bucket), *value));
        let Some(best) = known.classify_values(values.clone(), &mut scores) else { continue };
        differ += usize::from(best.class != unquantised(weights, values));
        (top, lead) = (top.max(best.score), lead.max(best.lead));
    }
    // A text of which nothing is known scores the biases.
    let nothing = biases.iter().copied().max().unwrap_or(0);
    let doubt = (nothing, top.max(nothing.saturating_add(1)));
    (Linear { bits: data.bits, idf: data.idf.clone(), rows, scales, biases, doubt, unsure: (0, lead), classes }, differ)
}

/// The class of texts that the weights decide for.
pub(crate) fn decided(data: &Data, weights: &Weights, texts: &[String]) -> usize {
    unquantised(weights, data.values(texts).into_iter())
}

/// The class that the weights decide for.
fn unquantised(weights: &Weights, values: impl Iterator<Item = (usize, i32)>) -> usize {
    let mut scores = weights.biases.clone();
    let classes = scores.len();
    for (bucket, value) in values {
        for (score, weight) in scores.iter_mut().zip(&weights.rows[bucket * classes..(bucket + 1) * classes]) {
            *score += weight * value as f32 / 16384.0;
        }
    }
    let first_best = |best: usize, class: usize| if scores[class] > scores[best] { class } else { best };
    (0..classes).fold(0, first_best)
}
