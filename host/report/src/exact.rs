//! Exact numbers: fractions of integers of any length, and how many digits of one are shown.

use std::fmt;

use auto_json::Number;
use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One as _, Pow as _, Signed as _, Zero as _};

/// The most digits of a number in a text; a longer one is refused.
const MOST_DIGITS: usize = 40;

/// A number, and how many digits after the point it is known to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    /// The number.
    pub value: BigRational,
    /// Digits after the point; none where it is known to all of them.
    pub places: Option<u32>,
}

impl Exact {
    /// An integer that was counted.
    pub fn count(value: impl Into<BigInt>) -> Exact {
        Exact { value: BigRational::from_integer(value.into()), places: None }
    }

    /// So many millionths.
    pub fn micros(micros: i64) -> Exact {
        Exact { value: BigRational::new(micros.into(), 1_000_000.into()), places: Some(6) }
    }

    /// A number as JSON has it; `None` where its plain form is too long.
    pub fn of(number: &Number) -> Option<Exact> {
        let (mantissa, scale) = number.parts()?;
        let value = BigRational::new(mantissa.into(), ten(scale.into()));
        // What was written as an integer is one.
        Some(Exact { value, places: number.as_i128().is_none().then_some(scale.into()) })
    }

    /// What a lexeme says: digits with groups of three (`1,221`), a point, an exponent; a sign
    /// before. `None` for anything else.
    pub fn parse(text: &str) -> Option<Exact> {
        let (negative, rest) = match text.strip_prefix(['-', '\u{2212}']) {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (plain, exponent) = match rest.split_once(['e', 'E']) {
            Some((plain, exponent)) => (plain, exponent.parse::<i32>().ok().filter(|at| at.abs() <= 60)?),
            None => (rest, 0),
        };
        let (whole, part) = plain.split_once('.').unwrap_or((plain, ""));
        let digits = ungrouped(whole)? + part;
        let written = !plain.ends_with('.') && part.bytes().all(|byte| byte.is_ascii_digit());
        if !written || digits.len() > MOST_DIGITS {
            return None;
        }
        let mantissa: BigInt = digits.parse().ok()?;
        let places = i32::try_from(part.len()).ok()? - exponent;
        let value = match u32::try_from(places) {
            Ok(places) => BigRational::new(mantissa, ten(places)),
            Err(_) => BigRational::from_integer(mantissa * ten(places.unsigned_abs())),
        };
        let value = if negative { -value } else { value };
        Some(Exact { value, places: Some(u32::try_from(places).unwrap_or(0)) })
    }

    /// Whether a number that is shown with `shown.places` digits is this one: not further off than
    /// half of its last digit, after `factor` (how many of its unit one of ours is).
    pub fn is_shown_by(&self, shown: &Exact, factor: &BigRational) -> bool {
        let off = (&self.value * factor - &shown.value).abs();
        off <= half_digit(shown.places.unwrap_or(0))
    }

    /// The number with so many digits after the point, the last one rounded half away from zero.
    pub fn shown(&self, places: u32) -> String {
        let scaled = &self.value * BigRational::from_integer(ten(places));
        let half = BigRational::new(1.into(), 2.into());
        let rounded = (scaled.abs() + half).floor().to_integer();
        let digits = rounded.to_string();
        let places = places as usize;
        let digits = format!("{digits:0>width$}", width = places + 1);
        let (whole, part) = digits.split_at(digits.len() - places);
        let sign = if self.value.is_negative() && !rounded.is_zero() { "-" } else { "" };
        if part.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
    }
}

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.places {
            Some(places) => f.write_str(&self.shown(places)),
            None if self.value.is_integer() => write!(f, "{}", self.value.to_integer()),
            None => write!(f, "{}", self.value),
        }
    }
}

/// Ten to the power of `power`.
pub fn ten(power: u32) -> BigInt {
    BigInt::from(10).pow(power)
}

/// Half of the last of so many digits.
fn half_digit(places: u32) -> BigRational {
    BigRational::new(BigInt::one(), ten(places) * 2)
}

/// Digits without the commas that group them in threes; `None` where they do not.
fn ungrouped(whole: &str) -> Option<String> {
    let groups: Vec<&str> = whole.split(',').collect();
    let digits = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let grouped = groups.len() == 1 || (groups[0].len() <= 3 && groups[1..].iter().all(|group| group.len() == 3));
    (groups.iter().all(digits) && grouped).then(|| groups.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shows(value: &str, shown: &str) -> bool {
        Exact::parse(value).unwrap().is_shown_by(&Exact::parse(shown).unwrap(), &BigRational::one())
    }

    #[test]
    fn a_number_is_shown_within_half_of_the_last_digit_and_no_further() {
        for (value, shown) in [("0.947195", "0.947195"), ("0.947195", "0.95"), ("94.7195", "94.7"), ("1221", "1,221")] {
            assert!(shows(value, shown), "{value} as {shown}");
        }
        for (value, shown) in [("94.7195", "94.8"), ("94.7195", "94.6"), ("94.4", "95"), ("473", "472"), ("-1", "1")] {
            assert!(!shows(value, shown), "{value} as {shown}");
        }
        // Half of the last digit is still within it.
        assert!(shows("0.125", "0.13") && shows("0.125", "0.12") && !shows("0.1250000001", "0.12"));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-", "1.", ".5", "1,22", "1,2210", "1e", "1e99", "0x1", "1.2.3", "--1", "٣", "1_000"] {
            assert!(Exact::parse(text).is_none(), "{text}");
        }
        assert!(Exact::parse(&"9".repeat(41)).is_none());
    }

    #[test]
    fn it_is_written_as_it_was_read() {
        for text in ["0.947195", "-0.50", "1221", "0.000001", "94.7"] {
            assert_eq!(Exact::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Exact::micros(-1).to_string(), "-0.000001");
        assert_eq!(Exact::parse("0.0449").unwrap().shown(2), "0.04");
        assert_eq!(Exact::parse("-0.004").unwrap().shown(2), "0.00");
    }
}
