//! What generated guards and type checks ask about a value.

use super::node::{Handle, LIST, NUMBER, TEXT, get, items, text};
use super::numbers::compare;
use crate::kernels::novelty::{MOST, Sketch, ascii_classes, character_classes, scaled};
use crate::kernels::text::chars;

fn score(broken: bool) -> u32 {
    if broken { MOST } else { 0 }
}

/// Of a text's code points or a list's items.
#[unsafe(no_mangle)]
extern "C" fn rt_length(a: Handle, min: u64, max: u64) -> u32 {
    let length = match get(a) {
        Some(node) if node.kind == TEXT => node.as_text().map_or(0, chars),
        Some(node) if node.kind == LIST => node.length as usize,
        _ => return 0,
    };
    score(!(min..=max).contains(&(length as u64)))
}

#[unsafe(no_mangle)]
extern "C" fn rt_characters(a: Handle, classes: u32) -> u32 {
    score(text(a).is_some_and(|text| character_classes(text) & !classes != 0))
}

/// [`rt_characters`] where both classes beyond ASCII are in the mask, or neither: it needs
/// no tables.
#[unsafe(no_mangle)]
extern "C" fn rt_characters_ascii(a: Handle, classes: u32) -> u32 {
    score(text(a).is_some_and(|text| ascii_classes(text) & !classes != 0))
}

#[unsafe(no_mangle)]
extern "C" fn rt_range(a: Handle, min: Handle, max: Handle) -> u32 {
    let (Some(value), Some(min), Some(max)) = (get(a), get(min), get(max)) else { return 0 };
    let below = compare(value, min).is_some_and(|order| order.is_lt());
    score(below || compare(value, max).is_some_and(|order| order.is_gt()))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rt_sketch(a: Handle, bits: u32, table: *const u8, enough: u32) -> u32 {
    // SAFETY: generated code passes the table of a guard, `2^bits` bits long.
    let table = unsafe { core::slice::from_raw_parts(table, 1 << bits >> 3) };
    match (text(a), Sketch::new(bits, table)) {
        (Some(text), Some(sketch)) => sketch.score(text.as_bytes(), enough),
        _ => 0,
    }
}

/// Of a whole number; see [`scaled`].
#[unsafe(no_mangle)]
extern "C" fn rt_score(a: Handle, scale: u64) -> u32 {
    match get(a) {
        Some(node) => node.as_integer().map_or(MOST, |value| scaled(value, scale)),
        None => 0,
    }
}

/// Whether it is a number written as an integer.
#[unsafe(no_mangle)]
extern "C" fn rt_is_integer(a: Handle) -> bool {
    get(a).is_some_and(|node| node.kind == NUMBER && node.is_integer())
}

/// Whether it is a text that the list has.
#[unsafe(no_mangle)]
extern "C" fn rt_is_label(a: Handle, labels: Handle) -> bool {
    let Some(text) = text(a) else { return false };
    items(labels).unwrap_or_default().iter().any(|label| label.as_text() == Some(text))
}
