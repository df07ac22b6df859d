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
    let at_least = roundest(low + 1, high, scale);
    // `gt` of the lower end says the same, where that is rounder.
    if roundness(low, low, high, scale) < roundness(at_least, low, high, scale) {
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

/// The roundest number from `low` to `high`, in units of the last place.
fn roundest(low: i128, high: i128, scale: u16) -> i128 {
    let mut candidates = vec![low, high];
    let mut unit = 1i128;
    loop {
        let first = low.div_euclid(unit) + i128::from(low.rem_euclid(unit) != 0);
        let last = high.div_euclid(unit);
        if first > last {
            break;
        }
        // The first of a unit have the fewest digits, and one near the middle is there too.
        let middle = first + (last - first) / 2;
        candidates.extend((first..=last.min(first + 9)).map(|multiple| multiple * unit));
        candidates.extend((first.max(middle - 9)..=last.min(middle + 9)).map(|multiple| multiple * unit));
        candidates.extend(
            [1, 2, 5, -1, -2, -5]
                .map(|figure| figure * unit)
                .into_iter()
                .filter(|number| (low..=high).contains(number)),
        );
        let Some(next) = unit.checked_mul(10) else { break };
        unit = next;
    }
    candidates.into_iter().min_by_key(|&candidate| (roundness(candidate, low, high, scale), candidate)).unwrap_or(high)
}

/// Less is rounder: 1, 2 or 5 times a power of ten first, then fewer significant digits, then
/// multiples of 5, then fewer digits as it is written, then near the middle.
fn roundness(number: i128, low: i128, high: i128, scale: u16) -> (Round, u128) {
    let middle = low + (high - low) / 2;
    (figures(number, scale), number.abs_diff(middle))
}

/// How round a number is, less being rounder: whether it is more than 1, 2 or 5 times a power of
/// ten, its significant digits, whether they are no multiple of 5, and all digits that are written.
pub type Round = (bool, u32, bool, u32);

/// How round a number is.
pub fn figures_of(number: &Number) -> Round {
    number.parts().map_or((true, u32::MAX, true, u32::MAX), |(mantissa, scale)| figures(mantissa, scale))
}

fn figures(number: i128, scale: u16) -> Round {
    let mut significant = number.unsigned_abs();
    let mut zeros = 0;
    while significant != 0 && significant.is_multiple_of(10) {
        significant /= 10;
        zeros += 1;
    }
    let digits = significant.checked_ilog10().map_or(0, |log| log + 1);
    let after_point = u32::from(scale).saturating_sub(zeros);
    let before_point = (digits + zeros).saturating_sub(u32::from(scale));
    let round = matches!(significant, 0 | 1 | 2 | 5);
    (!round, digits, !significant.is_multiple_of(5) && !round, before_point + after_point)
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
        assert_eq!(at("4900", "15000"), "ge 5000");
        assert_eq!(at("499", "1200"), "ge 500");
        assert_eq!(at("700", "1900"), "ge 1000");
        assert_eq!(at("0.04", "0.3"), "ge 0.2");
        assert_eq!(at("61", "89"), "ge 70");
    }
}
