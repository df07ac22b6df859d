//! Trained models over values.

use super::arena::allocate_many;
use super::node::{Handle, Member, Node, UNDEFINED, items, put};
use crate::kernels::linear::{Counts, Met, Weights, shortfall};

/// What the model says of a list of texts: `{"doubt": ..., "unsure": ..., "value": ...}`.
/// Undefined where it is no list of texts. `idf` has one byte for each of `2^bits` buckets,
/// `rows` for each bucket a byte for each two classes; `numbers` are the scales of the classes, their
/// biases, then the ranges of `doubt` and `unsure`: 32 bits each, little-endian, not aligned;
/// `values` is the list of the classes' values.
#[unsafe(no_mangle)]
unsafe extern "C" fn rt_linear(
    texts: Handle,
    bits: u32,
    classes: usize,
    idf: *const u8,
    rows: *const u8,
    numbers: *const u8,
    values: Handle,
) -> Handle {
    let Some(texts) = items(texts) else { return UNDEFINED };
    let buckets = 1 << bits;
    // SAFETY: `emit` passes a model it has checked: idf has one byte per bucket, rows one for each
    // bucket and two classes, numbers two for each class and four more.
    let (idf, rows, numbers) = unsafe {
        (
            core::slice::from_raw_parts(idf, buckets),
            core::slice::from_raw_parts(rows, classes.div_ceil(2) << bits),
            core::slice::from_raw_parts(numbers, 4 * (2 * classes + 4)),
        )
    };
    let (slots, met) = (allocate_many::<u16>(buckets), allocate_many::<Met>(buckets));
    let all = allocate_many::<i32>(3 * classes + 4);
    // SAFETY: just allocated, and nothing else has them. Memory of an instance always holds bytes,
    // any of which are such numbers; neither counts nor scores care which, and the rest is written.
    let (slots, met, all) = unsafe {
        for (index, number) in numbers.as_chunks::<4>().0.iter().enumerate() {
            all.add(classes + index).write(i32::from_le_bytes(*number));
        }
        (
            core::slice::from_raw_parts_mut(slots, buckets),
            core::slice::from_raw_parts_mut(met, buckets),
            core::slice::from_raw_parts_mut(all, 3 * classes + 4),
        )
    };
    let Some((scores, numbers)) = all.split_at_mut_checked(classes) else { return UNDEFINED };
    let Some((scales, numbers)) = numbers.split_at_checked(classes) else { return UNDEFINED };
    let Some((biases, &[doubt_low, doubt_high, unsure_low, unsure_high])) = numbers.split_at_checked(classes) else {
        return UNDEFINED;
    };
    let Some(mut counts) = Counts::new(slots, met) else { return UNDEFINED };
    for (salt, text) in (0..).zip(texts) {
        let Some(text) = text.as_text() else { return UNDEFINED };
        counts.text(text.as_bytes(), salt);
    }
    let Some(best) = (Weights { idf, rows, scales, biases }).classify(&counts, scores) else { return UNDEFINED };
    let Some(value) = items(values).and_then(|values| values.get(best.class)) else { return UNDEFINED };
    let members = allocate_many::<Member>(3);
    let member = |key: &'static [u8], value| Member { key: key.as_ptr() as u32, key_length: key.len() as u32, value };
    let number = |share: u32| Node::small(i64::from(share));
    // SAFETY: just allocated for three.
    let members = unsafe {
        members.write(member(b"doubt", number(shortfall(best.score, doubt_low, doubt_high))));
        members.add(1).write(member(b"unsure", number(shortfall(best.lead, unsure_low, unsure_high))));
        members.add(2).write(member(b"value", *value));
        core::slice::from_raw_parts(members, 3)
    };
    put(Node::of_record(members))
}
