//! Money, in whole millionths of a US dollar.

use std::fmt;
use std::str::FromStr;

/// An amount in micro-USD; sums end at the largest rather than wrap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroUsd(pub u64);

const DIGITS: usize = 6;
const DOLLAR: u64 = 1_000_000;

impl MicroUsd {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: MicroUsd) -> MicroUsd {
        MicroUsd(self.0.saturating_add(other.0))
    }

    /// What is left of it, at least nothing.
    #[must_use]
    pub fn less(self, other: MicroUsd) -> MicroUsd {
        MicroUsd(self.0.saturating_sub(other.0))
    }
}

/// In dollars: `0.25`, `3`.
impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (dollars, rest) = (self.0 / DOLLAR, self.0 % DOLLAR);
        if rest == 0 {
            return write!(f, "{dollars}");
        }
        let digits = format!("{rest:06}");
        write!(f, "{dollars}.{}", digits.trim_end_matches('0'))
    }
}

/// Reads dollars, exactly: digits, and at most six behind a point.
impl FromStr for MicroUsd {
    type Err = String;

    fn from_str(text: &str) -> Result<MicroUsd, String> {
        let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(part) {
            return Err("give dollars as digits with a point, such as 0.25".to_owned());
        }
        if part.trim_end_matches('0').len() > DIGITS {
            return Err("a millionth of a dollar is the smallest amount".to_owned());
        }
        let micros = format!("{:0<6}", part.trim_end_matches('0'));
        let amount = whole.parse::<u64>().ok().and_then(|whole| whole.checked_mul(DOLLAR));
        let amount = amount.and_then(|amount| amount.checked_add(micros.parse().ok()?));
        amount.map(MicroUsd).ok_or_else(|| "that is too much".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dollars_are_read_exactly_and_shown_as_they_were() {
        for (text, micros) in [("0", 0), ("1", DOLLAR), ("0.25", 250_000), ("0.000001", 1), ("12.5", 12_500_000)] {
            assert_eq!(text.parse(), Ok(MicroUsd(micros)));
            assert_eq!(MicroUsd(micros).to_string(), text);
        }
        assert_eq!("0.1000000".parse(), Ok(MicroUsd(100_000)));
        assert_eq!("18446744073709.551615".parse(), Ok(MicroUsd(u64::MAX)));
    }

    #[test]
    fn what_is_no_exact_amount_is_refused() {
        for text in ["", ".5", "1.", "-1", "+1", "1e3", "0.0000001", "NaN", "1,5", " 1", "18446744073709.551616"] {
            assert!(text.parse::<MicroUsd>().is_err(), "{text:?} was read");
        }
    }
}
