//! Times as recorders write them, as microseconds since 1970.

use crate::Value;

/// Reads a time: RFC 3339 text, or a number of seconds, milliseconds, microseconds or
/// nanoseconds, told apart by size. None for anything else: times order spans and are no
/// content.
pub fn micros(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => scaled(number.text().split('.').next()?.parse().ok()?, &number.text()),
        Value::Text(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => scaled(text.parse().ok()?, text),
        Value::Text(text) => rfc3339(text),
        _ => None,
    }
}

/// Seconds until the year 5138, then milliseconds, then microseconds, then nanoseconds.
fn scaled(whole: u64, text: &str) -> Option<u64> {
    match whole {
        0..100_000_000_000 => {
            let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
            whole.checked_mul(1_000_000)?.checked_add(fraction_micros(fraction)?)
        }
        100_000_000_000..100_000_000_000_000 => whole.checked_mul(1_000),
        100_000_000_000_000..100_000_000_000_000_000 => Some(whole),
        _ => Some(whole / 1_000),
    }
}

/// The first six digits of a fraction.
fn fraction_micros(digits: &str) -> Option<u64> {
    let digits = digits.get(..digits.len().min(6))?;
    if digits.is_empty() {
        return Some(0);
    }
    let value: u64 = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
    Some(value * 10_u64.pow(6 - digits.len() as u32))
}

/// `2025-06-06T11:31:33.965Z`, with an offset, a blank for the `T`, or none of a zone (then UTC).
fn rfc3339(text: &str) -> Option<u64> {
    let number = |range: core::ops::Range<usize>| -> Option<i64> {
        let digits = text.get(range)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let marks = [text.get(4..5)?, text.get(7..8)?, text.get(13..14)?, text.get(16..17)?];
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    if marks != ["-", "-", ":", ":"] || !in_range {
        return None;
    }
    let rest = text.get(19..)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        None => ("", rest),
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
    };
    let seconds = days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset(zone)?;
    u64::try_from(seconds).ok()?.checked_mul(1_000_000)?.checked_add(fraction_micros(fraction)?)
}

/// Seconds east of Greenwich.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes().first() {
        None | Some(b'Z' | b'z') => return (zone.len() < 2).then_some(0),
        Some(b'+') => 1,
        Some(b'-') => -1,
        Some(_) => return None,
    };
    let digits: String = zone[1..].chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = (digits.get(..2)?, digits.get(2..4)?);
    Some(sign * (hours.parse::<i64>().ok()? * 3_600 + minutes.parse::<i64>().ok()? * 60))
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar (Hinnant, "chrono-compatible
/// low-level date algorithms", days_from_civil).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_unit_that_recorders_write() {
        let cases = [
            ("\"1970-01-01T00:00:00Z\"", Some(0)),
            ("\"2025-06-06T11:31:33.965Z\"", Some(1_749_209_493_965_000)),
            ("\"2025-06-06T13:31:33.965123456+02:00\"", Some(1_749_209_493_965_123)),
            ("\"2025-06-06 11:31:33\"", Some(1_749_209_493_000_000)),
            ("\"1749209493965000000\"", Some(1_749_209_493_965_000)),
            ("1749209493965", Some(1_749_209_493_965_000)),
            ("1749209493", Some(1_749_209_493_000_000)),
            ("1749209493.5", Some(1_749_209_493_500_000)),
            ("\"2025-13-06T11:31:33Z\"", None),
            ("\"yesterday\"", None),
            ("\"2025-06-06T11:31:33x\"", None),
            ("\"é2025-06-06T11:31:33Z\"", None),
            ("-5", None),
            ("null", None),
        ];
        for (text, expected) in cases {
            assert_eq!(micros(&Value::parse(text).unwrap()), expected, "{text}");
        }
    }
}
