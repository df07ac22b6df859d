//! Dates and times as people write them, by layouts: fields and the text between them.

use super::date::{Moment, time};
use super::quantity::write_padded;

/// A field of a layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Field {
    /// Four digits.
    Year,
    /// Two digits: 50 to 99 are of the 20th century, others of the 21st.
    ShortYear,
    /// One or two digits.
    Month,
    /// Two digits.
    LongMonth,
    /// Three letters.
    MonthName,
    /// The whole name.
    LongMonthName,
    /// One or two digits.
    Day,
    /// Two digits.
    LongDay,
    /// With `st`, `nd`, `rd` or `th`.
    OrdinalDay,
    /// Three letters.
    Weekday,
    /// The whole name.
    LongWeekday,
    /// 0 to 23, one or two digits.
    Hour,
    /// 0 to 23, two digits.
    LongHour,
    /// 1 to 12, one or two digits.
    HalfHour,
    /// 1 to 12, two digits.
    LongHalfHour,
    /// One or two digits.
    Minute,
    /// Two digits.
    LongMinute,
    /// One or two digits.
    Second,
    /// Two digits.
    LongSecond,
    /// Milliseconds, three digits.
    Milli,
    /// `AM` or `PM`; read in either case, and with points.
    Half,
    /// `am` or `pm`.
    LowerHalf,
    /// `a.m.` or `p.m.`.
    PointedHalf,
    /// `+02:00`, or `Z` for none; read without the colon too.
    Offset,
    /// The day of the year, one to three digits.
    DayOfYear,
    /// 1 to 4; not read.
    Quarter,
    /// The week of ISO 8601; not read.
    Week,
}

/// Every field with its text form, in the order of their numbers.
pub const FIELDS: [(&str, Field); 27] = [
    ("yyyy", Field::Year),
    ("yy", Field::ShortYear),
    ("M", Field::Month),
    ("MM", Field::LongMonth),
    ("MMM", Field::MonthName),
    ("MMMM", Field::LongMonthName),
    ("d", Field::Day),
    ("dd", Field::LongDay),
    ("ddd", Field::OrdinalDay),
    ("EEE", Field::Weekday),
    ("EEEE", Field::LongWeekday),
    ("H", Field::Hour),
    ("HH", Field::LongHour),
    ("h", Field::HalfHour),
    ("hh", Field::LongHalfHour),
    ("m", Field::Minute),
    ("mm", Field::LongMinute),
    ("s", Field::Second),
    ("ss", Field::LongSecond),
    ("SSS", Field::Milli),
    ("a", Field::Half),
    ("aa", Field::LowerHalf),
    ("aaa", Field::PointedHalf),
    ("Z", Field::Offset),
    ("D", Field::DayOfYear),
    ("Q", Field::Quarter),
    ("w", Field::Week),
];

/// Begins an item that is text: its length and its bytes follow.
pub const TEXT: u8 = 0x80;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

#[derive(Clone, Copy)]
enum Item<'l> {
    Field(Field),
    /// UTF-8, since layouts are texts.
    Text(&'l [u8]),
}

/// The first item, and the layout without it.
fn item(layout: &[u8]) -> Option<(Item<'_>, &[u8])> {
    let (&kind, rest) = layout.split_first()?;
    if kind < TEXT {
        return Some((Item::Field(FIELDS.get(usize::from(kind))?.1), rest));
    }
    let (&length, rest) = rest.split_first()?;
    let (text, rest) = rest.split_at_checked(usize::from(length))?;
    Some((Item::Text(text), rest))
}

impl Field {
    /// How many digits it has at least and at most, and what numbers it may say.
    fn digits(self) -> Option<(usize, usize)> {
        Some(match self {
            Field::Year => (4, 4),
            Field::Month | Field::Day | Field::Hour | Field::HalfHour | Field::Minute | Field::Second => (1, 2),
            Field::ShortYear
            | Field::LongMonth
            | Field::LongDay
            | Field::LongHour
            | Field::LongHalfHour
            | Field::LongMinute
            | Field::LongSecond => (2, 2),
            Field::Milli => (3, 3),
            Field::DayOfYear => (1, 3),
            _ => return None,
        })
    }
}

/// What was read so far.
#[derive(Default)]
struct Read {
    moment: Moment,
    hour: Option<u8>,
    half_hour: Option<u8>,
    minute: Option<u8>,
    second: Option<u8>,
    milli: u32,
    afternoon: Option<bool>,
    weekday: Option<u8>,
    day_of_year: Option<u16>,
}

/// The moment that a text says in the first of some layouts, each encoded behind its length,
/// that it is wholly in. White space around it does not matter, and one space in a layout
/// stands for any.
pub fn read(text: &str, mut layouts: &[u8]) -> Option<Moment> {
    let text = text.trim();
    while let Some((&length, rest)) = layouts.split_first() {
        let (layout, rest) = rest.split_at_checked(usize::from(length))?;
        if let Some(moment) = read_one(text, layout) {
            return Some(moment);
        }
        layouts = rest;
    }
    None
}

fn read_one(text: &str, mut layout: &[u8]) -> Option<Moment> {
    let (mut rest, mut read) = (text, Read::default());
    while !layout.is_empty() {
        let (item, after) = item(layout)?;
        layout = after;
        rest = match item {
            Item::Text(text) => skip_text(rest, text)?,
            Item::Field(field) => match field.digits() {
                Some((least, most)) => {
                    let length = width(rest, least, most, layout)?;
                    let (digits, rest) = rest.split_at_checked(length)?;
                    let value = digits.bytes().fold(0, |all, digit| all * 10 + u16::from(digit - b'0'));
                    read.number(field, value)?;
                    rest
                }
                None => read.named(field, rest)?,
            },
        };
    }
    if rest.is_empty() { read.moment() } else { None }
}

/// Behind a text; a space stands for any white space.
fn skip_text<'t>(rest: &'t str, text: &[u8]) -> Option<&'t str> {
    // Bytes of whole code points, so it ends between two.
    let mut at = 0;
    for &byte in text {
        if byte == b' ' {
            let after = rest.get(at..)?;
            let trimmed = after.trim_start();
            if trimmed.len() == after.len() {
                return None;
            }
            at += after.len() - trimmed.len();
        } else if rest.as_bytes().get(at) == Some(&byte) {
            at += 1;
        } else {
            return None;
        }
    }
    rest.get(at..)
}

/// How many digits a field has: as many as can be, but those are left that must follow it.
fn width(rest: &str, least: usize, most: usize, mut layout: &[u8]) -> Option<usize> {
    let run = rest.bytes().take_while(u8::is_ascii_digit).count();
    let mut following = 0;
    while let Some((Item::Field(field), after)) = item(layout)
        && let Some((least, _)) = field.digits()
    {
        following += least;
        layout = after;
    }
    let width = run.checked_sub(following)?.min(most);
    (width >= least).then_some(width)
}

impl Read {
    fn number(&mut self, field: Field, value: u16) -> Option<()> {
        // Of at most two digits, except where it is not narrowed.
        let small = value as u8;
        match field {
            Field::Year => set(&mut self.moment.year, value),
            Field::ShortYear => set(&mut self.moment.year, if value < 50 { 2000 + value } else { 1900 + value }),
            Field::Month | Field::LongMonth => set(&mut self.moment.month, small),
            Field::Day | Field::LongDay => set(&mut self.moment.day, small),
            Field::Hour | Field::LongHour => set(&mut self.hour, small),
            Field::HalfHour | Field::LongHalfHour if (1..=12).contains(&value) => set(&mut self.half_hour, small),
            Field::Minute | Field::LongMinute => set(&mut self.minute, small),
            Field::Second | Field::LongSecond => set(&mut self.second, small),
            Field::Milli => {
                self.milli = u32::from(value);
                Some(())
            }
            Field::DayOfYear => set(&mut self.day_of_year, value),
            _ => None,
        }
    }

    /// Reads a field that is more than digits; gives what follows.
    fn named<'t>(&mut self, field: Field, rest: &'t str) -> Option<&'t str> {
        match field {
            Field::MonthName | Field::LongMonthName => {
                let (index, rest) = name(rest, &MONTHS, field == Field::MonthName)?;
                set(&mut self.moment.month, index)?;
                Some(rest)
            }
            Field::Weekday | Field::LongWeekday => {
                let (index, rest) = name(rest, &WEEKDAYS, field == Field::Weekday)?;
                set(&mut self.weekday, index)?;
                Some(rest)
            }
            Field::OrdinalDay => {
                let (digits, after) = rest.split_at_checked(width(rest, 1, 2, &[])?)?;
                let value = digits.bytes().fold(0, |all, digit| all * 10 + (digit - b'0'));
                set(&mut self.moment.day, value)?;
                ["st", "nd", "rd", "th"].iter().find_map(|suffix| after.strip_prefix(suffix))
            }
            Field::Half | Field::LowerHalf | Field::PointedHalf => {
                let (letter, after) = rest.as_bytes().split_first()?;
                let pointed = after.strip_prefix(b".");
                let after = pointed.unwrap_or(after);
                let after = after.strip_prefix(b"m").or_else(|| after.strip_prefix(b"M"))?;
                let after = if pointed.is_some() { after.strip_prefix(b".")? } else { after };
                let afternoon = match letter {
                    b'a' | b'A' => false,
                    b'p' | b'P' => true,
                    _ => return None,
                };
                set(&mut self.afternoon, afternoon)?;
                rest.get(rest.len() - after.len()..)
            }
            Field::Offset => {
                if let Some(rest) = rest.strip_prefix('Z') {
                    self.moment.offset = Some(0);
                    return Some(rest);
                }
                let sign = *rest.as_bytes().first()?;
                let (hours, after) = two_digits(rest.get(1..)?)?;
                let (minutes, after) = two_digits(after.strip_prefix(':').unwrap_or(after))?;
                let offset = i16::from(hours) * 60 + i16::from(minutes);
                (minutes < 60 && (sign == b'+' || sign == b'-')).then_some(())?;
                set(&mut self.moment.offset, if sign == b'-' { -offset } else { offset })?;
                Some(after)
            }
            _ => None,
        }
    }

    fn moment(mut self) -> Option<Moment> {
        let hour = match (self.hour, self.half_hour, self.afternoon) {
            (Some(hour), None, None) => Some(hour),
            // `18:25 PM` is said, and wrong where the halves differ.
            (Some(hour), None, Some(afternoon)) if (hour >= 12) == afternoon => Some(hour),
            (None, Some(hour), Some(afternoon)) => Some(hour % 12 + if afternoon { 12 } else { 0 }),
            (None, None, None) if self.minute.is_none() && self.second.is_none() => None,
            _ => return None,
        };
        if let Some(hour) = hour {
            self.moment.time = Some(time(hour, self.minute.unwrap_or(0), self.second.unwrap_or(0), self.milli)?);
        }
        if let Some(day) = self.day_of_year {
            let first = Moment { month: Some(1), day: Some(1), ..self.moment };
            let found = first.at_day(first.days()? + i64::from(day) - 1)?;
            (day > 0 && found.year == self.moment.year && self.moment.month.is_none()).then_some(())?;
            self.moment = found;
        }
        let agrees = self.weekday.is_none_or(|weekday| self.moment.weekday().is_none_or(|known| known == weekday));
        (agrees && self.moment.is_valid()).then_some(self.moment)
    }
}

/// Sets what was not said before otherwise.
fn set<T: PartialEq>(place: &mut Option<T>, value: T) -> Option<()> {
    let agrees = place.as_ref().is_none_or(|known| *known == value);
    *place = Some(value);
    agrees.then_some(())
}

fn two_digits(text: &str) -> Option<(u8, &str)> {
    match text.as_bytes() {
        [a, b, ..] if a.is_ascii_digit() && b.is_ascii_digit() => Some(((a - b'0') * 10 + (b - b'0'), text.get(2..)?)),
        _ => None,
    }
}

/// Which of some names, whole or cut to three letters, begins a text, from 1; and what
/// follows it.
fn name<'t>(text: &'t str, names: &[&str], short: bool) -> Option<(u8, &'t str)> {
    for (index, name) in (1..).zip(names) {
        let name = if short { name.get(..3)? } else { name };
        if text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name)) {
            return Some((index, text.get(name.len()..)?));
        }
    }
    None
}

/// A moment in a layout. Undefined where it lacks a part that the layout has.
pub fn print(moment: &Moment, mut layout: &[u8], out: &mut impl FnMut(u8)) -> Option<()> {
    while !layout.is_empty() {
        let (item, after) = item(layout)?;
        layout = after;
        match item {
            Item::Text(text) => text.iter().for_each(|byte| out(*byte)),
            Item::Field(field) => print_field(moment, field, out)?,
        }
    }
    Some(())
}

fn print_field(moment: &Moment, field: Field, out: &mut impl FnMut(u8)) -> Option<()> {
    let hour = || moment.time.map(|time| time / 3_600_000);
    let half_hour = || hour().map(|hour| (hour + 11) % 12 + 1);
    let (value, width): (u32, usize) = match field {
        Field::Year => (moment.year?.into(), 4),
        Field::ShortYear => ((moment.year? % 100).into(), 2),
        Field::Month => (moment.month?.into(), 1),
        Field::LongMonth => (moment.month?.into(), 2),
        Field::Day | Field::OrdinalDay => (moment.day?.into(), 1),
        Field::LongDay => (moment.day?.into(), 2),
        Field::Hour => (hour()?, 1),
        Field::LongHour => (hour()?, 2),
        Field::HalfHour => (half_hour()?, 1),
        Field::LongHalfHour => (half_hour()?, 2),
        Field::Minute => (moment.time? / 60_000 % 60, 1),
        Field::LongMinute => (moment.time? / 60_000 % 60, 2),
        Field::Second => (moment.time? / 1_000 % 60, 1),
        Field::LongSecond => (moment.time? / 1_000 % 60, 2),
        Field::Milli => (moment.time? % 1_000, 3),
        Field::DayOfYear => (moment.day_of_year()? as u32, 1),
        Field::Quarter => (u32::from(moment.month?).div_ceil(3), 1),
        Field::Week => (moment.week()?.0 as u32, 1),
        named => return print_named(moment, named, out),
    };
    if field == Field::OrdinalDay {
        super::quantity::ordinal(value.into(), out);
    } else {
        write_padded(value.into(), width, out);
    }
    Some(())
}

fn print_named(moment: &Moment, field: Field, out: &mut impl FnMut(u8)) -> Option<()> {
    let afternoon = || moment.time.map(|time| time >= 12 * 3_600_000);
    let choose = |morning: &'static str, evening: &'static str| Some(if afternoon()? { evening } else { morning });
    let named = |names: &[&'static str], index: u8| names.get(usize::from(index).checked_sub(1)?).copied();
    let text = match field {
        Field::MonthName => named(&MONTHS, moment.month?)?.get(..3)?,
        Field::LongMonthName => named(&MONTHS, moment.month?)?,
        Field::Weekday => named(&WEEKDAYS, moment.weekday()?)?.get(..3)?,
        Field::LongWeekday => named(&WEEKDAYS, moment.weekday()?)?,
        Field::Half => choose("AM", "PM")?,
        Field::LowerHalf => choose("am", "pm")?,
        Field::PointedHalf => choose("a.m.", "p.m.")?,
        Field::Offset => {
            let offset = moment.offset?;
            let minutes = u64::from(offset.unsigned_abs());
            out(if offset < 0 { b'-' } else { b'+' });
            write_padded(minutes / 60, 2, out);
            out(b':');
            write_padded(minutes % 60, 2, out);
            return Some(());
        }
        _ => return None,
    };
    text.bytes().for_each(out);
    Some(())
}
