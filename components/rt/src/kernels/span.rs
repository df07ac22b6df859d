//! Arithmetic with dates: units, sums, differences, multiples.

use super::date::{DAY, Moment, days_of};
use super::number::{Rounding, multiple};

/// What is added to dates and what they are rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Unit {
    /// Sixty make a minute.
    Seconds,
    /// Sixty make an hour.
    Minutes,
    /// Twenty-four make a day.
    Hours,
    /// By the calendar.
    Days,
    /// From Monday.
    Weeks,
    /// By the calendar.
    Months,
    /// By the calendar.
    Years,
}

/// Every unit with its name, in the order of their numbers.
pub const UNITS: [(&str, Unit); 7] = [
    ("seconds", Unit::Seconds),
    ("minutes", Unit::Minutes),
    ("hours", Unit::Hours),
    ("days", Unit::Days),
    ("weeks", Unit::Weeks),
    ("months", Unit::Months),
    ("years", Unit::Years),
];

/// The unit that a byte numbers.
pub fn unit(number: &[u8]) -> Option<Unit> {
    UNITS.get(usize::from(*number.first()?)).map(|(_, unit)| *unit)
}

impl Unit {
    /// Its milliseconds, where it always has as many.
    fn length(self) -> Option<i64> {
        match self {
            Unit::Seconds => Some(1_000),
            Unit::Minutes => Some(60_000),
            Unit::Hours => Some(3_600_000),
            Unit::Days => Some(DAY),
            Unit::Weeks => Some(7 * DAY),
            Unit::Months | Unit::Years => None,
        }
    }
}

/// A moment so many units later. A day that a month does not have is its last; a time without
/// a date goes round the clock.
pub fn add(moment: &Moment, count: i64, unit: Unit) -> Option<Moment> {
    let Some(length) = unit.length() else {
        let months = count.checked_mul(if unit == Unit::Years { 12 } else { 1 })?;
        return add_months(moment, months);
    };
    if length >= DAY {
        return moment.at_day(moment.days()?.checked_add(count.checked_mul(length / DAY)?)?);
    }
    let total = i64::from(moment.time?).checked_add(count.checked_mul(length)?)?;
    let time = Some(total.rem_euclid(DAY) as u32);
    if moment.has_date() {
        return Moment { time, ..*moment }.at_day(moment.days()?.checked_add(total.div_euclid(DAY))?);
    }
    Some(Moment { time, ..*moment })
}

fn add_months(moment: &Moment, months: i64) -> Option<Moment> {
    let month = i64::from(moment.month.unwrap_or(1)) - 1;
    let total = (i64::from(moment.year?) * 12 + month).checked_add(months)?;
    if moment.month.is_none() && months % 12 != 0 {
        return None;
    }
    let year = u16::try_from(total / 12).ok().filter(|_| total > 0)?;
    let month = (total % 12) as u8 + 1;
    let day = moment.day.map(|day| day.min(days_of(year, month)));
    let later = Moment { year: Some(year), month: moment.month.map(|_| month), day, ..*moment };
    later.is_valid().then_some(later)
}

/// How many whole units lie between two moments, rounded towards zero: from `b` to `a`.
pub fn difference(a: &Moment, b: &Moment, unit: Unit) -> Option<i64> {
    if a.has_date() != b.has_date() || a.time.is_some() != b.time.is_some() || a.offset.is_some() != b.offset.is_some()
    {
        return None;
    }
    match unit.length() {
        Some(length) => (a.instant()? - b.instant()?).checked_div(length),
        None => {
            let months = |moment: &Moment| Some(i64::from(moment.year?) * 12 + i64::from(moment.month?));
            let within =
                |moment: &Moment| i64::from(moment.day.unwrap_or(1)) * DAY + i64::from(moment.time.unwrap_or(0));
            let whole = months(a)? - months(b)?;
            let rest = within(a) - within(b);
            // The last month counts when it is over.
            let whole = whole - i64::from(whole > 0 && rest < 0) + i64::from(whole < 0 && rest > 0);
            Some(if unit == Unit::Years { whole / 12 } else { whole })
        }
    }
}

/// A moment rounded to a multiple of so many units: of the day for parts of a day, of weeks
/// from Monday, of the year for months, of all years for years.
pub fn round(moment: &Moment, count: i64, unit: Unit, rounding: Rounding) -> Option<Moment> {
    if count < 1 {
        return None;
    }
    match unit {
        Unit::Seconds | Unit::Minutes | Unit::Hours => {
            let step = count.checked_mul(unit.length()?)?;
            let times = multiple(i128::from(moment.time?), i128::from(step), rounding)?;
            let whole = i64::try_from(times).ok()?.checked_mul(step)?;
            add(&Moment { time: Some(0), ..*moment }, whole / 1_000, Unit::Seconds)
        }
        Unit::Days | Unit::Weeks => {
            let step = count.checked_mul(unit.length()?)?;
            let now = moment.days()? * DAY + i64::from(moment.time.unwrap_or(0));
            let times = multiple(i128::from(now), i128::from(step), rounding)?;
            let days = i64::try_from(times).ok()?.checked_mul(step / DAY)?;
            Moment { time: moment.time.map(|_| 0), ..*moment }.at_day(days)
        }
        Unit::Months | Unit::Years => {
            let count = count.checked_mul(if unit == Unit::Years { 12 } else { 1 })?;
            let month = i64::from(moment.month?) - 1;
            // Whole years, or months within one.
            let base = if unit == Unit::Years { i64::from(moment.year?) * 12 } else { 0 };
            let below = (base + month).checked_div(count)? * count - base;
            let first = Moment { month: Some(1), day: moment.day.map(|_| 1), time: moment.time.map(|_| 0), ..*moment };
            let before = add_months(&first, below)?;
            let exact = before == *moment;
            match rounding {
                Rounding::Down | Rounding::Zero => Some(before),
                Rounding::Up if exact => Some(before),
                Rounding::Up => add_months(&first, below.checked_add(count)?),
                // Months are not of one length, so none is half.
                _ => None,
            }
        }
    }
}
