//! Dates and times in the proleptic Gregorian calendar, years 1 to 9999, without leap
//! seconds and without the names of zones.
//!
//! A moment has as many parts as were said: a date alone, a time alone, a year and a month.
//! As a value of a program it is a text: ISO 8601 as far as that goes (`2024-03-17T09:05:00+02:00`,
//! `2024-03`, `T09:05:00`), and `--03-17`, `--03`, `---17` where the year is not known.

use super::quantity::write_padded;

/// A moment, or part of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// 1 to 9999.
    pub year: Option<u16>,
    /// 1 to 12.
    pub month: Option<u8>,
    /// From 1.
    pub day: Option<u8>,
    /// Milliseconds since midnight.
    pub time: Option<u32>,
    /// Minutes east of Greenwich.
    pub offset: Option<i16>,
}

/// Milliseconds of a day.
pub const DAY: i64 = 86_400_000;

/// Days from the beginning of year 1 to that of 10000.
const DAYS: i64 = 3_652_059;

impl Moment {
    /// Reads the text of a value.
    pub fn read(text: &str) -> Option<Moment> {
        let mut bytes = text.as_bytes();
        let mut moment = Moment::default();
        if let Some(rest) = bytes.strip_prefix(b"--") {
            bytes = rest;
            if let Some(rest) = bytes.strip_prefix(b"-") {
                bytes = rest;
            } else {
                moment.month = Some(two(&mut bytes)?);
            }
            if moment.month.is_none() || skip(&mut bytes, b'-') {
                moment.day = Some(two(&mut bytes)?);
            }
        } else if bytes.first() != Some(&b'T') {
            moment.year = Some(u16::from(two(&mut bytes)?) * 100 + u16::from(two(&mut bytes)?));
            if skip(&mut bytes, b'-') {
                moment.month = Some(two(&mut bytes)?);
                if skip(&mut bytes, b'-') {
                    moment.day = Some(two(&mut bytes)?);
                }
            }
        }
        if skip(&mut bytes, b'T') {
            moment.read_time(&mut bytes)?;
        }
        (bytes.is_empty() && moment.is_valid()).then_some(moment)
    }

    fn read_time(&mut self, bytes: &mut &[u8]) -> Option<()> {
        let hour = two(bytes)?;
        skip(bytes, b':').then_some(())?;
        let minute = two(bytes)?;
        skip(bytes, b':').then_some(())?;
        let second = two(bytes)?;
        let milli = if skip(bytes, b'.') { u32::from(two(bytes)?) * 10 + u32::from(one(bytes)?) } else { 0 };
        self.time = Some(time(hour, minute, second, milli)?);
        if skip(bytes, b'Z') {
            self.offset = Some(0);
            return Some(());
        }
        let west = skip(bytes, b'-');
        if west || skip(bytes, b'+') {
            let hours = i16::from(two(bytes)?);
            skip(bytes, b':').then_some(())?;
            let minutes = i16::from(two(bytes)?);
            (hours < 24 && minutes < 60).then_some(())?;
            let offset = hours * 60 + minutes;
            self.offset = Some(if west { -offset } else { offset });
        }
        Some(())
    }

    /// Writes the text of a value.
    pub fn write(&self, out: &mut impl FnMut(u8)) {
        let mut digits = |before: &str, value: u32, width: usize| {
            before.bytes().for_each(&mut *out);
            write_padded(u64::from(value), width, out);
        };
        match (self.year, self.month) {
            (Some(year), month) => {
                digits("", year.into(), 4);
                if let Some(month) = month {
                    digits("-", month.into(), 2);
                }
            }
            (None, Some(month)) => digits("--", month.into(), 2),
            (None, None) if self.day.is_some() => digits("--", 0, 0),
            (None, None) => {}
        }
        if let Some(day) = self.day {
            digits("-", day.into(), 2);
        }
        let Some(time) = self.time else { return };
        digits("T", time / 3_600_000, 2);
        digits(":", time / 60_000 % 60, 2);
        digits(":", time / 1_000 % 60, 2);
        if !time.is_multiple_of(1_000) {
            digits(".", time % 1_000, 3);
        }
        if let Some(offset) = self.offset {
            let minutes = u32::from(offset.unsigned_abs());
            digits(if offset < 0 { "-" } else { "+" }, minutes / 60, 2);
            digits(":", minutes % 60, 2);
        }
    }

    /// Whether its parts go together: there is such a day, and no part is missing between two.
    pub fn is_valid(&self) -> bool {
        let year = self.year.is_none_or(|year| (1..=9999).contains(&year));
        let month = self.month.is_none_or(|month| (1..=12).contains(&month));
        // A leap year where none is known.
        let most = self.month.map_or(31, |month| days_of(self.year.unwrap_or(4), month));
        let day = self.day.is_none_or(|day| (1..=most).contains(&day));
        let whole = self.day.is_none() || self.month.is_some() || self.year.is_none();
        let dated = self.year.is_some() || self.month.is_some() || self.day.is_some();
        let offset = self.offset.is_none_or(|offset| self.time.is_some() && offset.abs() < 24 * 60);
        year && month && day && whole && offset && (dated || self.time.is_some())
    }

    /// Days since the beginning of year 1, of a whole date.
    pub fn days(&self) -> Option<i64> {
        Some(days_before_year(self.year?) + days_before_month(self.year?, self.month?) + i64::from(self.day?) - 1)
    }

    /// The same at another date.
    pub fn at_day(&self, days: i64) -> Option<Moment> {
        if !(0..DAYS).contains(&days) {
            return None;
        }
        // The year is at most one more than days by the longest years say.
        let mut year = (days / 366) as u16 + 1;
        while days_before_year(year + 1) <= days {
            year += 1;
        }
        let rest = days - days_before_year(year);
        let mut month = 1;
        while month < 12 && days_before_month(year, month + 1) <= rest {
            month += 1;
        }
        let day = rest - days_before_month(year, month) + 1;
        Some(Moment { year: Some(year), month: Some(month), day: Some(day as u8), ..*self })
    }

    /// 1 for Monday to 7 for Sunday.
    pub fn weekday(&self) -> Option<u8> {
        // The first day of year 1 was a Monday.
        Some((self.days()? % 7) as u8 + 1)
    }

    /// The day of the year, from 1.
    pub fn day_of_year(&self) -> Option<i64> {
        Some(self.days()? - days_before_year(self.year?) + 1)
    }

    /// The week of ISO 8601, and the year that it belongs to.
    pub fn week(&self) -> Option<(i64, i64)> {
        let days = self.days()?;
        // The week belongs to the year of its Thursday.
        let thursday = days - days % 7 + 3;
        let year = Moment::default().at_day(thursday.min(DAYS - 1))?.year?;
        let year = if thursday >= DAYS { year + 1 } else { year };
        Some(((thursday - days_before_year(year)) / 7 + 1, i64::from(year)))
    }

    /// Milliseconds since the beginning of year 1, or since midnight where there is no date.
    pub(super) fn instant(&self) -> Option<i64> {
        let days = if self.has_date() { self.days()? } else { 0 };
        let offset = i64::from(self.offset.unwrap_or(0)) * 60_000;
        Some(days * DAY + i64::from(self.time.unwrap_or(0)) - offset)
    }

    pub(super) fn has_date(&self) -> bool {
        self.year.is_some() || self.month.is_some() || self.day.is_some()
    }
}

fn one(bytes: &mut &[u8]) -> Option<u8> {
    let (first, rest) = bytes.split_first()?;
    *bytes = rest;
    first.is_ascii_digit().then(|| first - b'0')
}

fn two(bytes: &mut &[u8]) -> Option<u8> {
    Some(one(bytes)? * 10 + one(bytes)?)
}

fn skip(bytes: &mut &[u8], byte: u8) -> bool {
    match bytes.split_first() {
        Some((first, rest)) if *first == byte => {
            *bytes = rest;
            true
        }
        _ => false,
    }
}

/// Milliseconds since midnight.
pub fn time(hour: u8, minute: u8, second: u8, milli: u32) -> Option<u32> {
    let valid = hour < 24 && minute < 60 && second < 60 && milli < 1_000;
    valid.then(|| ((u32::from(hour) * 60 + u32::from(minute)) * 60 + u32::from(second)) * 1_000 + milli)
}

fn is_leap(year: u16) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

/// How many days a month has.
pub fn days_of(year: u16, month: u8) -> u8 {
    match month {
        2 => 28 + u8::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_before_year(year: u16) -> i64 {
    let past = i64::from(year) - 1;
    past * 365 + past / 4 - past / 100 + past / 400
}

fn days_before_month(year: u16, month: u8) -> i64 {
    (1..month).map(|month| i64::from(days_of(year, month))).sum()
}

/// A part of a date that is a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Part {
    /// The year.
    Year,
    /// 1 to 12.
    Month,
    /// The day of the month.
    Day,
    /// 0 to 23.
    Hour,
    /// 0 to 59.
    Minute,
    /// 0 to 59.
    Second,
    /// 1 for Monday to 7 for Sunday.
    Weekday,
    /// 1 to 4.
    Quarter,
    /// By ISO 8601.
    Week,
    /// From 1.
    DayOfYear,
}

/// Every part with its name, in the order of their numbers.
pub const PARTS: [(&str, Part); 10] = [
    ("year", Part::Year),
    ("month", Part::Month),
    ("day", Part::Day),
    ("hour", Part::Hour),
    ("minute", Part::Minute),
    ("second", Part::Second),
    ("weekday", Part::Weekday),
    ("quarter", Part::Quarter),
    ("week", Part::Week),
    ("day_of_year", Part::DayOfYear),
];

/// The part that a byte numbers.
pub fn part_numbered(number: &[u8]) -> Option<Part> {
    PARTS.get(usize::from(*number.first()?)).map(|(_, part)| *part)
}

/// A part of a moment.
pub fn part(moment: &Moment, part: Part) -> Option<i64> {
    let time = moment.time.map(i64::from);
    match part {
        Part::Year => moment.year.map(i64::from),
        Part::Month => moment.month.map(i64::from),
        Part::Day => moment.day.map(i64::from),
        Part::Hour => Some(time? / 3_600_000),
        Part::Minute => Some(time? / 60_000 % 60),
        Part::Second => Some(time? / 1_000 % 60),
        Part::Weekday => moment.weekday().map(i64::from),
        Part::Quarter => Some((i64::from(moment.month?) + 2) / 3),
        Part::Week => Some(moment.week()?.0),
        Part::DayOfYear => moment.day_of_year(),
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn days_are_counted_without_a_gap() {
        let mut moment = Moment { year: Some(1), month: Some(1), day: Some(1), ..Moment::default() };
        for days in 0..DAYS {
            assert_eq!(moment.days(), Some(days));
            assert_eq!(Moment::default().at_day(days), Some(moment));
            assert!(moment.is_valid());
            let (year, month, day) = (moment.year.unwrap(), moment.month.unwrap(), moment.day.unwrap());
            moment = if day < days_of(year, month) {
                Moment { day: Some(day + 1), ..moment }
            } else if month < 12 {
                Moment { month: Some(month + 1), day: Some(1), ..moment }
            } else {
                Moment { year: Some(year + 1), month: Some(1), day: Some(1), ..moment }
            };
        }
        assert_eq!(Moment::default().at_day(DAYS), None);
        assert_eq!(Moment::default().at_day(-1), None);
    }

    #[test]
    fn texts_read_as_they_are_written() {
        let texts = [
            "2024-02-29",
            "2024-03",
            "2024",
            "--02-29",
            "--03",
            "---31",
            "T09:05:00",
            "2024-03-17T09:05:00.250",
            "2024-03-17T09:05:00+02:00",
            "T23:59:59-11:30",
            "2024T01:00:00",
            "--12T00:00:00",
            "---01T00:00:00",
        ];
        for text in texts {
            let moment = Moment::read(text).unwrap_or_else(|| panic!("{text}"));
            let mut bytes = std::vec::Vec::new();
            moment.write(&mut |byte| bytes.push(byte));
            assert_eq!(std::string::String::from_utf8(bytes).unwrap(), text);
        }
        let bad = [
            "",
            "T",
            "--",
            "0000",
            "2023-02-29",
            "2024-13-01",
            "2024-04-31",
            "---32",
            "T24:00:00",
            "T09:05",
            "24-03-17",
            "2024-03-17T",
            "2024-3-17",
            "2024-03-17 09:05:00",
            "T09:05:00+24:00",
            "2024-03-17T09:05:00Zx",
            "é024",
        ];
        for text in bad {
            assert_eq!(Moment::read(text), None, "{text}");
        }
    }
}
