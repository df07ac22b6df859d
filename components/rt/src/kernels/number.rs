//! Exact decimal arithmetic. Integers stay integers; one decimal operand makes the result
//! a decimal; what does not fit in 38 digits is undefined.

use auto_json::{Number, NumberKind};

/// Reads a plain decimal: an optional `-`, digits, and optionally a point and digits.
pub fn parse(text: &str) -> Option<Number> {
    let bytes = text.as_bytes();
    let unsigned = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let mut digits_before = 0usize;
    let mut digits_after = 0usize;
    let mut point = false;
    for &byte in unsigned {
        match byte {
            b'0'..=b'9' if point => digits_after += 1,
            b'0'..=b'9' => digits_before += 1,
            b'.' if !point => point = true,
            _ => return None,
        }
    }
    if digits_before == 0 || (point && digits_after == 0) {
        return None;
    }
    Number::from_lexeme(bytes).ok()
}

/// `a + b`.
pub fn add(a: &Number, b: &Number) -> Option<Number> {
    let (a_mantissa, b_mantissa, scale) = aligned(a, b)?;
    build(a, b, a_mantissa.checked_add(b_mantissa)?, scale)
}

/// `a - b`.
pub fn sub(a: &Number, b: &Number) -> Option<Number> {
    let (a_mantissa, b_mantissa, scale) = aligned(a, b)?;
    build(a, b, a_mantissa.checked_sub(b_mantissa)?, scale)
}

/// `a * b`.
pub fn mul(a: &Number, b: &Number) -> Option<Number> {
    let (a_mantissa, a_scale) = a.parts()?;
    let (b_mantissa, b_scale) = b.parts()?;
    build(a, b, a_mantissa.checked_mul(b_mantissa)?, a_scale.checked_add(b_scale)?)
}

/// `-a`.
pub fn neg(a: &Number) -> Option<Number> {
    let (mantissa, scale) = a.parts()?;
    build(a, a, -mantissa, scale)
}

/// The magnitude of `a`.
pub fn abs(a: &Number) -> Option<Number> {
    let (mantissa, scale) = a.parts()?;
    // At most 38 digits, so it is never the least i128.
    build(a, a, mantissa.wrapping_abs(), scale)
}

fn build(a: &Number, b: &Number, mantissa: i128, scale: u16) -> Option<Number> {
    if a.kind() == NumberKind::Integer && b.kind() == NumberKind::Integer {
        Number::integer(mantissa)
    } else {
        Number::decimal(mantissa, scale)
    }
}

/// Both mantissas at the larger of the two scales.
fn aligned(a: &Number, b: &Number) -> Option<(i128, i128, u16)> {
    let (a_mantissa, a_scale) = a.parts()?;
    let (b_mantissa, b_scale) = b.parts()?;
    let scale = a_scale.max(b_scale);
    Some((shifted(a_mantissa, scale - a_scale)?, shifted(b_mantissa, scale - b_scale)?, scale))
}

fn shifted(mantissa: i128, places: u16) -> Option<i128> {
    if mantissa == 0 {
        return Some(0);
    }
    mantissa.checked_mul(10i128.checked_pow(u32::from(places))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(text: &str) -> Number {
        parse(text).unwrap()
    }

    #[test]
    fn plain_decimals_only() {
        assert_eq!(parse("007"), parse("7"));
        assert_eq!(parse("-0"), parse("0"));
        assert_ne!(parse("7.0"), parse("7"));
        for bad in ["", "-", ".", "1.", ".5", "+1", "1e3", "1 ", "1_0", "--1", "1.2.3", "é"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(parse(&"9".repeat(39)), None);
    }

    #[test]
    fn arithmetic_is_exact() {
        assert_eq!(add(&n("0.1"), &n("0.2")), Some(n("0.3")));
        assert_eq!(add(&n("1"), &n("2")), Some(n("3")));
        assert_eq!(sub(&n("1"), &n("1.0")), Some(n("0.0")));
        assert_eq!(mul(&n("1.5"), &n("4")), Some(n("6.0")));
        assert_eq!(neg(&n("0")), Some(n("0")));
        assert_eq!(abs(&n("-2.5")), Some(n("2.5")));
        let most = n(&"9".repeat(38));
        assert_eq!(add(&most, &n("1")), None);
        assert_eq!(mul(&most, &most), None);
        assert_eq!(sub(&most, &most), Some(n("0")));
    }
}
