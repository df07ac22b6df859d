//! The roundest comparison in a gap between two numbers.

use auto_json::{Number, NumberKind};
use auto_lang::Op;

/// The roundest comparison that holds for `above` and not for `below`, the lesser number.
pub fn threshold(below: &Number, above: &Number) -> Option<(Op, Number)> {
    let (low, low_scale) = below.parts()?;
    let (high, high_scale) = above.parts()?;
    let scale = low_scale.max(high_scale);
    let widen = |mantissa: i128, own: u16| mantissa.checked_mul(10i128.checked_pow(u32::from(scale - own))?);
    let (low, high) = (widen(low, low_scale)?, widen(high, high_scale)?);
    let number = |mantissa: i128| if scale == 0 { Number::integer(mantissa) } else { short(mantissa, scale) };
    let at_least = roundest(low + 1, high);
    // `gt` of the lower end says the same, where that is rounder.
    if roundness(low, low, high) < roundness(at_least, low, high) {
        return Some((Op::Gt, number(low)?));
    }
    Some((Op::Ge, number(at_least)?))
}

/// The number as an integer where it is one.
fn short(mantissa: i128, scale: u16) -> Option<Number> {
    let decimal = Number::decimal(mantissa, scale)?;
    match decimal.parts() {
        Some((whole, 0)) if decimal.kind() == NumberKind::Decimal => Number::integer(whole),
        _ => Some(decimal),
    }
}

/// The roundest number from `low` to `high`.
fn roundest(low: i128, high: i128) -> i128 {
    let mut unit = 1i128;
    let mut best = high;
    while let Some(next) = unit.checked_mul(10) {
        if high.div_euclid(next).saturating_mul(next) < low {
            break;
        }
        unit = next;
    }
    let first = low.div_euclid(unit) + i128::from(low.rem_euclid(unit) != 0);
    let last = high.div_euclid(unit);
    for multiple in first..=last.min(first + 99) {
        let candidate = multiple * unit;
        if roundness(candidate, low, high) < roundness(best, low, high) {
            best = candidate;
        }
    }
    best
}

/// Less is rounder: fewer significant digits, then 1, 2 or 5, then other multiples of 5,
/// then near the middle.
fn roundness(number: i128, low: i128, high: i128) -> (u32, u8, u128) {
    let middle = low + (high - low) / 2;
    let (digits, rank) = figures(number);
    (digits, rank, number.abs_diff(middle))
}

/// How round a number is, less being rounder: its significant digits, and what they are.
pub fn figures_of(number: &Number) -> (u32, u8) {
    number.parts().map_or((u32::MAX, 0), |(mantissa, _)| figures(mantissa))
}

fn figures(number: i128) -> (u32, u8) {
    let mut significant = number.unsigned_abs();
    while significant != 0 && significant.is_multiple_of(10) {
        significant /= 10;
    }
    let digits = significant.checked_ilog10().map_or(0, |log| log + 1);
    let rank = match significant {
        0 | 1 | 2 | 5 => 0,
        other if other.is_multiple_of(5) => 1,
        _ => 2,
    };
    (digits, rank)
}

#[cfg(test)]
mod tests {
    use auto_json::Value;

    use super::*;

    fn at(below: &str, above: &str) -> String {
        let number = |text: &str| Value::parse(text).unwrap().as_number().copied().unwrap();
        let (op, limit) = threshold(&number(below), &number(above)).unwrap();
        format!("{op} {}", limit.text())
    }

    #[test]
    fn thresholds_are_round() {
        assert_eq!(at("499", "500"), "ge 500");
        assert_eq!(at("250", "251"), "gt 250");
        assert_eq!(at("120", "900"), "ge 500");
        assert_eq!(at("300", "450"), "ge 400");
        assert_eq!(at("960", "1480"), "ge 1000");
        assert_eq!(at("249", "260"), "ge 250");
        assert_eq!(at("-7", "3"), "ge 0");
        assert_eq!(at("0.2", "0.9"), "ge 0.5");
        assert_eq!(at("1.5", "2.25"), "ge 2");
        assert_eq!(at("3", "3.25"), "gt 3");
        assert_eq!(at("99.99", "100.0"), "ge 100");
    }
}
