//! Numbers as they stand in a text, and the format that several have in common.

use auto_json::{Number, Value};

/// How a number is cut off the beginning of a text.
#[derive(Clone, Copy)]
pub(super) enum Extent {
    Integer,
    Grouped,
    Decimal,
    /// With the spaces that make a column of it.
    Padded,
}

/// A number as it stands in a text.
pub(super) struct Figures {
    pub(super) length: usize,
    pub(super) negative: bool,
    pub(super) integer: String,
    pub(super) decimals: Option<String>,
    pub(super) grouped: bool,
    /// Spaces before and behind.
    padding: [usize; 2],
}

pub(super) fn printed(text: &str, extent: Extent) -> Option<Figures> {
    let padded = matches!(extent, Extent::Padded);
    let before = if padded { text.len() - text.trim_start_matches(' ').len() } else { 0 };
    let bytes = text.as_bytes();
    let negative = bytes.get(before) == Some(&b'-');
    let mut at = before + usize::from(negative);
    let mut integer = String::new();
    let mut grouped = false;
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    while digit(at) {
        integer.push(char::from(bytes[at]));
        at += 1;
        let group = bytes.get(at) == Some(&b',') && (1..=3).all(|next| digit(at + next)) && !digit(at + 4);
        if group && !matches!(extent, Extent::Integer) {
            grouped = true;
            at += 1;
        }
    }
    if integer.is_empty() {
        return None;
    }
    let mut decimals = None;
    if matches!(extent, Extent::Decimal) && bytes.get(at) == Some(&b'.') && digit(at + 1) {
        let end = (at + 1..).find(|&at| !digit(at)).unwrap_or(at + 1);
        decimals = Some(text[at + 1..end].to_owned());
        at = end;
    }
    if padded && bytes.get(at) == Some(&b'.') {
        at += 1;
        while digit(at) {
            decimals.get_or_insert_with(String::new).push(char::from(bytes[at]));
            at += 1;
        }
    }
    let behind = if padded { bytes[at..].iter().take_while(|byte| **byte == b' ').count() } else { 0 };
    Some(Figures { length: at + behind, negative, integer, decimals, grouped, padding: [before, behind] })
}

/// The format that all of them have in common, and its cost.
pub(super) fn format(all: &[Figures]) -> (String, u32) {
    if let Some(column) = column(all) {
        return column;
    }
    let width = all.iter().map(|one| one.integer.len()).min().unwrap_or(1);
    let padded = all.iter().any(|one| one.integer.len() > 1 && one.integer.starts_with('0'));
    let zeros = if padded { width } else { 1 };
    let places = |one: &Figures| one.decimals.as_ref().map_or(0, String::len);
    let most = all.iter().map(places).max().unwrap_or(0);
    // Where some have fewer, none has more than it needs.
    let least = if all.iter().all(|one| places(one) == most) { most } else { 0 };
    let mut text = if all.iter().any(|one| one.grouped) { "#,##0".to_owned() } else { "0".repeat(zeros) };
    if most > 0 {
        text.push('.');
        text.push_str(&"0".repeat(least));
        text.push_str(&"#".repeat(most - least));
    }
    let cost = zeros as u32 + 2 * (most - least) as u32 + u32::from(text.starts_with('#')) * 2;
    (text, cost)
}

/// The format of numbers that stand below each other.
fn column(all: &[Figures]) -> Option<(String, u32)> {
    let any = |side: usize| all.iter().any(|one| one.padding[side] > 0);
    if !any(0) && !any(1) {
        return None;
    }
    let left = |one: &Figures| one.padding[0] + usize::from(one.negative) + one.integer.len();
    let right = |one: &Figures| one.decimals.as_ref().map_or(0, String::len) + one.padding[1];
    let spaces = if any(0) { left(&all[0]) - 1 } else { 0 };
    let decimals = if right(&all[0]) > 0 { format!(".{}", "?".repeat(right(&all[0]))) } else { String::new() };
    Some((format!("{}0{decimals}", "?".repeat(spaces)), 2 + (spaces + right(&all[0])) as u32))
}

pub(super) fn number(one: &Figures) -> Option<Number> {
    let sign = if one.negative { "-" } else { "" };
    let integer = match one.integer.trim_start_matches('0') {
        "" => "0",
        integer => integer,
    };
    let text = match &one.decimals {
        Some(decimals) => format!("{sign}{integer}.{decimals}"),
        None => format!("{sign}{integer}"),
    };
    Value::parse(&text).ok()?.as_number().copied()
}
