//! Scores, shares and money as integers: millionths of one, millionths of a dollar. A decimal
//! text is exact to six places or refused; no float takes part.

use auto_json::Number;

/// One, in millionths.
pub const ONE: i64 = 1_000_000;

/// Places after the point that a millionth has.
const PLACES: u16 = 6;

/// The number in millionths, where it has no more than six places.
pub fn exact(number: &Number) -> Option<i64> {
    let (mantissa, scale) = number.parts()?;
    match scale {
        ..=PLACES => i64::try_from(mantissa.checked_mul(10i128.pow(u32::from(PLACES - scale)))?).ok(),
        // In lowest terms: what has more places is no whole number of millionths.
        _ => None,
    }
}

/// The number in whole millionths, towards zero.
pub fn truncated(number: &Number) -> Option<i64> {
    let (mantissa, scale) = number.parts()?;
    match scale.checked_sub(PLACES) {
        None | Some(0) => exact(number),
        Some(more) if more > 38 => Some(0),
        Some(more) => i64::try_from(mantissa / 10i128.pow(u32::from(more))).ok(),
    }
}

/// Millionths as a decimal number.
pub fn decimal(micros: i64) -> Number {
    // At most 19 digits, so it is never `None`.
    Number::decimal(micros.into(), PLACES).unwrap_or_else(|| unreachable!("an i64 has 19 digits"))
}

/// The mean of some scores in whole millionths, down; none of none.
pub fn mean(scores: &[i64]) -> Option<i64> {
    let sum: i128 = scores.iter().map(|&score| i128::from(score)).sum();
    i64::try_from(sum.checked_div_euclid(i128::try_from(scores.len()).ok()?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::from_lexeme(text.as_bytes()).expect("a number")
    }

    #[test]
    fn decimals_are_exact_to_six_places_or_refused() {
        for (text, micros) in [("0.01", Some(10_000)), ("5", Some(5_000_000)), ("-1.5", Some(-1_500_000))] {
            assert_eq!(exact(&number(text)), micros, "{text}");
        }
        for text in ["0.0000001", "1e13", "99999999999999999999"] {
            assert_eq!(exact(&number(text)), None, "{text}");
        }
        assert_eq!(truncated(&number("0.33333333333")), Some(333_333));
        assert_eq!(truncated(&number("1e-300")), None.or(truncated(&number("0.0"))));
        assert_eq!(decimal(690_000).text(), "0.69");
    }

    #[test]
    fn a_mean_of_nothing_is_none() {
        assert_eq!(mean(&[]), None);
        assert_eq!(mean(&[ONE, 0, 0]), Some(333_333));
    }
}
