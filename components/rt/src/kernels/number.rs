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

/// How a number is rounded to a multiple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rounding {
    /// To the one below.
    Down,
    /// To the one above.
    Up,
    /// To the one nearer to zero.
    Zero,
    /// To the nearest; half way, away from zero.
    HalfUp,
    /// To the nearest; half way, towards zero.
    HalfDown,
    /// To the nearest; half way, to the even multiple.
    HalfEven,
}

/// Every way to round with its name, in the order of their numbers.
pub const ROUNDINGS: [(&str, Rounding); 6] = [
    ("down", Rounding::Down),
    ("up", Rounding::Up),
    ("zero", Rounding::Zero),
    ("half_up", Rounding::HalfUp),
    ("half_down", Rounding::HalfDown),
    ("half_even", Rounding::HalfEven),
];

/// A number rounded to a multiple of `step`, which is above zero; an integer where the step
/// is one.
pub fn round(a: &Number, step: &Number, rounding: Rounding) -> Option<Number> {
    let (value, unit, scale) = aligned(a, step)?;
    let multiple = product(multiple(value, unit, rounding)?, unit)?;
    if step.kind() == NumberKind::Integer {
        if scale == 0 {
            return Number::integer(multiple);
        }
        return Number::integer(divided(multiple, 10i128.checked_pow(u32::from(scale))?)?.0);
    }
    Number::decimal(multiple, scale)
}

/// [`round`] in a way that a byte numbers.
pub fn round_by(a: &Number, step: &Number, rounding: &[u8]) -> Option<Number> {
    round(a, step, self::rounding(rounding)?)
}

/// The way to round that a byte numbers.
pub fn rounding(number: &[u8]) -> Option<Rounding> {
    ROUNDINGS.get(usize::from(*number.first()?)).map(|(_, rounding)| *rounding)
}

/// How many times `unit` a value is, rounded.
pub(super) fn multiple(value: i128, unit: i128, rounding: Rounding) -> Option<i128> {
    if unit <= 0 {
        return None;
    }
    let (below, rest) = divided(value, unit)?;
    let twice = rest.cmp(&(unit - rest));
    let up = rest != 0
        && match rounding {
            Rounding::Down => false,
            Rounding::Up => true,
            Rounding::Zero => value < 0,
            Rounding::HalfUp => twice.is_gt() || (twice.is_eq() && value > 0),
            Rounding::HalfDown => twice.is_gt() || (twice.is_eq() && value < 0),
            Rounding::HalfEven => twice.is_gt() || (twice.is_eq() && below & 1 != 0),
        };
    Some(below + i128::from(up))
}

/// The product; of short ones in one word.
fn product(a: i128, b: i128) -> Option<i128> {
    if let (Ok(a), Ok(b)) = (i64::try_from(a), i64::try_from(b))
        && let Some(product) = a.checked_mul(b)
    {
        return Some(i128::from(product));
    }
    a.checked_mul(b)
}

/// The whole quotient, rounded down, and what is left over.
fn divided(a: i128, b: i128) -> Option<(i128, i128)> {
    if let (Ok(a), Ok(b)) = (i64::try_from(a), i64::try_from(b))
        && let (Some(quotient), Some(rest)) = (a.checked_div(b), a.checked_rem(b))
    {
        let below = i64::from(rest != 0 && (rest < 0) != (b < 0));
        return Some((i128::from(quotient - below), i128::from(rest + below * b)));
    }
    let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
    let below = i128::from(rest != 0 && (rest < 0) != (b < 0));
    Some((quotient - below, rest + below * b))
}

/// How many whole times `b` goes into `a`, rounded down. Undefined for zero.
pub fn div(a: &Number, b: &Number) -> Option<Number> {
    let (a, b, _) = aligned(a, b)?;
    Number::integer(divided(a, b)?.0)
}

/// What is left of `a` then; it has the sign of `b`.
pub fn modulo(a: &Number, b: &Number) -> Option<Number> {
    let (a_mantissa, b_mantissa, scale) = aligned(a, b)?;
    build(a, b, divided(a_mantissa, b_mantissa)?.1, scale)
}

/// `a / b` with so many decimals, half way to the even one. An integer for no decimals.
pub fn ratio(a: &Number, b: &Number, places: i64) -> Option<Number> {
    let places = u16::try_from(places).ok().filter(|places| *places <= 18)?;
    let (a, b, _) = aligned(a, b)?;
    let (a, b) = if b < 0 { (-a, -b) } else { (a, b) };
    let quotient = multiple(shifted(a, places)?, b, Rounding::HalfEven)?;
    if places == 0 { Number::integer(quotient) } else { Number::decimal(quotient, places) }
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

pub(super) fn shifted(mantissa: i128, places: u16) -> Option<i128> {
    if mantissa == 0 || places == 0 {
        return Some(mantissa);
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
    fn rounding_to_a_multiple() {
        let all =
            |value: &str, step: &str| ROUNDINGS.map(|(_, rounding)| round(&n(value), &n(step), rounding).unwrap());
        assert_eq!(all("2.5", "1"), [n("2"), n("3"), n("2"), n("3"), n("2"), n("2")]);
        assert_eq!(all("-2.5", "1"), [n("-3"), n("-2"), n("-2"), n("-3"), n("-2"), n("-2")]);
        assert_eq!(
            all("19.57", "0.05").map(|number| number.text()),
            ["19.55", "19.6", "19.55", "19.55", "19.55", "19.55"]
        );
        assert_eq!(all("7", "25"), [n("0"), n("25"), n("0"), n("0"), n("0"), n("0")]);
        assert_eq!(round(&n("1"), &n("0"), Rounding::Up), None);
        assert_eq!(round(&n("1"), &n("-1"), Rounding::Up), None);
    }

    #[test]
    fn quotients() {
        assert_eq!((div(&n("-7"), &n("2")), modulo(&n("-7"), &n("2"))), (Some(n("-4")), Some(n("1"))));
        assert_eq!((div(&n("7"), &n("-2")), modulo(&n("7"), &n("-2"))), (Some(n("-4")), Some(n("-1"))));
        assert_eq!((div(&n("7.5"), &n("2")), modulo(&n("7.5"), &n("2"))), (Some(n("3")), Some(n("1.5"))));
        assert_eq!((div(&n("1"), &n("0")), modulo(&n("1"), &n("0.0"))), (None, None));
        assert_eq!(ratio(&n("1"), &n("-3"), 2), Some(n("-0.33")));
        assert_eq!(ratio(&n("5"), &n("2"), 0), Some(n("2")));
        assert_eq!(ratio(&n("5"), &n("0"), 0), None);
        let most = n(&"9".repeat(38));
        assert_eq!(div(&most, &n("-1")), Some(neg(&most).unwrap()));
        assert_eq!(div(&Number::integer(i64::MIN.into()).unwrap(), &n("-1")), Number::integer(1i128 << 63));
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
