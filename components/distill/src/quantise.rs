//! From weights of floating point to the bytes that an artifact has.

use auto_json::Value;
use auto_rt::kernels::linear::classify_values;
use auto_schema::ir::model::Linear;

use crate::train::{Data, Weights};

/// The fewest and the most buckets, as logarithms. More than the most were not measured to
/// decide better.
pub(crate) const LEAST_BITS: u32 = 8;
const MOST_BITS: u32 = 13;

/// The most buckets that fit, as a logarithm.
pub(crate) fn bits(classes: usize, max_bytes: u32) -> Option<u32> {
    (LEAST_BITS..=MOST_BITS).rev().find(|bits| (classes as u64) << bits <= u64::from(max_bytes))
}

/// The model, and how many rows it decides otherwise than the weights did.
pub(crate) fn linear(data: &Data, weights: &Weights, classes: Vec<Value>) -> (Linear, usize) {
    let largest = weights.rows.iter().fold(0f32, |largest, weight| largest.max(weight.abs()));
    let scale = if largest > 0.0 { 127.0 / largest } else { 1.0 };
    let rows: Vec<i8> = weights.rows.iter().map(|weight| (weight * scale).round() as i8).collect();
    // Values are of length 2^14 here.
    let biases: Vec<i32> = weights.biases.iter().map(|bias| (bias * scale * 16384.0).round() as i32).collect();
    let mut scores = biases.clone();
    let (mut differ, mut top, mut lead) = (0, i32::MIN, 1);
    for row in &data.rows {
        scores.copy_from_slice(&biases);
        let values = row.iter().map(|(bucket, value)| (usize::from(*bucket), *value));
        let Some(best) = classify_values(values.clone(), &rows, &mut scores) else { continue };
        differ += usize::from(best.class != unquantised(weights, values));
        (top, lead) = (top.max(best.score), lead.max(best.lead));
    }
    // A text of which nothing is known scores the biases.
    let nothing = biases.iter().copied().max().unwrap_or(0);
    let doubt = (nothing, top.max(nothing.saturating_add(1)));
    (Linear { bits: data.bits, idf: data.idf.clone(), rows, biases, doubt, unsure: (0, lead), classes }, differ)
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
