//! Units: what a number is a number of, which words say so, and how one is converted into another.

use num_rational::BigRational;
use num_traits::One as _;

use crate::exact::ten;

/// What a number is a number of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// A number without one, such as a score; also shown in percent.
    Share,
    /// A difference of two shares; shown as it is, or in percentage points, and never in percent.
    Points,
    /// Hundredths of something: a change in proportion to what was before.
    Percent,
    /// How many times as much.
    Times,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// US dollars.
    Dollars,
    /// A plain number of nothing, such as a seed or a parameter.
    Plain,
    /// So many of something, by its name in the singular: `generation`.
    Count(String),
}

/// A unit as a text shows it: of what, and how many of the unit one of ours is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Which units it is a way to show.
    pub of: Kind,
    /// How many of these one of ours is.
    pub factor: BigRational,
    /// How many words it takes.
    pub words: usize,
}

/// What a unit in a text may be the unit of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `%`, of a share or a change.
    Percent,
    /// Percentage points.
    Points,
    /// Times as much.
    Times,
    /// Bytes and what is made of them.
    Bytes,
    /// Seconds and what is made of them.
    Seconds,
    /// Dollars.
    Dollars,
}

impl Unit {
    /// The one of a counted thing.
    pub fn count(noun: &str) -> Unit {
        Unit::Count(noun.to_owned())
    }

    /// Whether a text may show it so.
    pub fn is_shown_in(&self, kind: Kind) -> bool {
        matches!(
            (self, kind),
            (Unit::Share | Unit::Percent, Kind::Percent)
                | (Unit::Points, Kind::Points)
                | (Unit::Times, Kind::Times)
                | (Unit::Bytes, Kind::Bytes)
                | (Unit::Seconds, Kind::Seconds)
                | (Unit::Dollars, Kind::Dollars)
        )
    }

    /// Whether a text may show it without any unit.
    pub fn is_shown_bare(&self) -> bool {
        matches!(self, Unit::Share | Unit::Points | Unit::Plain)
    }

    /// Its name, for people and for ids.
    pub fn name(&self) -> &str {
        match self {
            Unit::Share => "share",
            Unit::Points => "difference of shares",
            Unit::Percent => "percent",
            Unit::Times => "times",
            Unit::Bytes => "bytes",
            Unit::Seconds => "seconds",
            Unit::Dollars => "US dollars",
            Unit::Plain => "number",
            Unit::Count(noun) => noun,
        }
    }
}

/// Whether a word is the noun of a count, in the singular or plural.
pub fn is_noun(noun: &str, word: &str) -> bool {
    let plural = match noun.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    };
    word == noun || word == plural
}

/// The unit that words after a number name; none where they name none that is known.
pub fn after(words: &[&str]) -> Option<Shown> {
    let thousands = |power: u32| BigRational::new(1.into(), ten(power));
    let binary = |power: u32| BigRational::new(1.into(), num_bigint::BigInt::from(1_u64 << power));
    let seconds = |seconds: u32| BigRational::new(1.into(), seconds.into());
    let hundred = || BigRational::from_integer(100.into());
    let (of, factor, words) = match words {
        ["percentage", "point" | "points", ..] => (Kind::Points, hundred(), 2),
        ["%" | "percent", ..] => (Kind::Percent, hundred(), 1),
        ["times" | "x" | "×" | "fold", ..] => (Kind::Times, BigRational::one(), 1),
        ["byte" | "bytes" | "B", ..] => (Kind::Bytes, BigRational::one(), 1),
        ["kB" | "KB" | "kilobytes" | "kilobyte", ..] => (Kind::Bytes, thousands(3), 1),
        ["MB" | "megabytes" | "megabyte", ..] => (Kind::Bytes, thousands(6), 1),
        ["KiB" | "kibibytes", ..] => (Kind::Bytes, binary(10), 1),
        ["MiB" | "mebibytes", ..] => (Kind::Bytes, binary(20), 1),
        ["second" | "seconds" | "s", ..] => (Kind::Seconds, BigRational::one(), 1),
        ["millisecond" | "milliseconds" | "ms", ..] => (Kind::Seconds, BigRational::from_integer(ten(3)), 1),
        ["microsecond" | "microseconds" | "µs" | "us", ..] => (Kind::Seconds, BigRational::from_integer(ten(6)), 1),
        ["minute" | "minutes" | "min", ..] => (Kind::Seconds, seconds(60), 1),
        ["hour" | "hours" | "h", ..] => (Kind::Seconds, seconds(3600), 1),
        ["dollar" | "dollars" | "USD", ..] => (Kind::Dollars, BigRational::one(), 1),
        ["US", "dollar" | "dollars", ..] => (Kind::Dollars, BigRational::one(), 2),
        ["cent" | "cents", ..] => (Kind::Dollars, hundred(), 1),
        ["micro-USD", ..] => (Kind::Dollars, BigRational::from_integer(ten(6)), 1),
        _ => return None,
    };
    Some(Shown { of, factor, words })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::Exact;

    #[test]
    fn a_percentage_is_not_a_difference_of_percentages() {
        assert!(Unit::Share.is_shown_in(Kind::Percent) && !Unit::Share.is_shown_in(Kind::Points));
        assert!(Unit::Points.is_shown_in(Kind::Points) && !Unit::Points.is_shown_in(Kind::Percent));
    }

    #[test]
    fn units_are_converted_exactly() {
        let shows = |value: &str, words: &[&str], shown: &str| {
            let unit = after(words).unwrap();
            Exact::parse(value).unwrap().is_shown_by(&Exact::parse(shown).unwrap(), &unit.factor)
        };
        assert!(shows("0.947195", &["%"], "94.7195") && shows("90", &["minutes"], "1.5"));
        assert!(shows("2048", &["KiB"], "2") && !shows("2048", &["kB"], "2.00") && shows("2048", &["kB"], "2.048"));
        assert!(shows("0.25", &["cents"], "25") && shows("0.000001", &["micro-USD"], "1"));
        assert!(shows("0.599", &["ms"], "599") && !shows("0.599", &["s"], "599"));
        assert!(after(&["elephants"]).is_none());
    }

    #[test]
    fn a_noun_has_its_plural() {
        assert!(is_noun("retry", "retries") && is_noun("run", "runs") && is_noun("run", "run"));
        assert!(!is_noun("run", "rung") && !is_noun("row", "generations"));
    }
}
