//! The twelve rules as an engineer would write them by hand, JSON text to JSON text.

use std::borrow::Cow;
use std::fmt::Write;

/// The text that a JSON string says; borrowed where it has no escapes.
fn text(input: &str) -> Option<Cow<'_, str>> {
    let inside = input.trim_ascii().strip_prefix('"')?.strip_suffix('"')?;
    string(inside)
}

fn string(inside: &str) -> Option<Cow<'_, str>> {
    if inside.bytes().any(|byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
        // None of the inputs has one; whoever has takes the slow way.
        let value = auto_json::Value::parse(format!("\"{inside}\"")).ok()?;
        return value.as_text().map(|text| Cow::Owned(text.to_owned()));
    }
    Some(Cow::Borrowed(inside))
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    push_escaped(&mut json, text);
    json.push('"');
    json
}

fn push_escaped(json: &mut String, text: &str) {
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        json.push_str(text);
        return;
    }
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\t' => json.push_str("\\t"),
            '\r' => json.push_str("\\r"),
            control if control < ' ' => {
                let _ = write!(json, "\\u{:04x}", u32::from(control));
            }
            other => json.push(other),
        }
    }
}

/// From the last capital before a small letter on.
pub fn last_name(input: &str) -> Option<String> {
    let text = text(input)?;
    let mut next_is_lower = false;
    for (at, character) in text.char_indices().rev() {
        if character.is_uppercase() && next_is_lower {
            return Some(quoted(&text[at..]));
        }
        next_is_lower = character.is_lowercase();
    }
    None
}

pub fn initials(input: &str) -> Option<String> {
    let text = text(input)?;
    let mut initials = String::new();
    let mut inside = false;
    for character in text.chars() {
        let word = character.is_alphanumeric() || (inside && character == '\'');
        if word && !inside {
            initials.extend(character.to_uppercase());
        }
        inside = word;
    }
    Some(quoted(&initials))
}

pub fn domain(input: &str) -> Option<String> {
    let text = text(input)?;
    let at = text.find('@')?;
    let (local, after) = (&text.as_bytes()[..at], &text.as_bytes()[at + 1..]);
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || b"._%+-".contains(byte);
    if !local.last().is_some_and(named) {
        return None;
    }
    let end = after.iter().position(|byte| !byte.is_ascii_alphanumeric() && !b".-".contains(byte));
    let domain = text[at + 1..].get(..end.unwrap_or(after.len()))?.trim_end_matches(['.', '-']);
    domain.contains('.').then(|| quoted(&domain.to_ascii_lowercase()))
}

pub fn file_stem(input: &str) -> Option<String> {
    let text = text(input)?;
    let (from, to) = (text.rfind('/')? + 1, text.rfind('.')?);
    text.get(from..to).map(quoted)
}

pub fn phone(input: &str) -> Option<String> {
    let text = text(input)?;
    let mut groups = text.split(|character: char| !character.is_ascii_digit()).filter(|group| !group.is_empty());
    let (area, exchange, line) = (groups.next()?, groups.next()?, groups.next()?);
    Some(quoted(&format!("({area}) {exchange}-{line}")))
}

pub fn money(input: &str) -> Option<String> {
    let text = text(input)?;
    let text = text.trim();
    let text = text.strip_prefix('$').unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut cents: i128 = 0;
    for byte in whole.bytes().filter(|byte| *byte != b',') {
        cents = cents * 10 + i128::from(byte.is_ascii_digit().then(|| byte - b'0')?);
    }
    let mut digits = fraction.bytes();
    for _ in 0..2 {
        let digit = digits.next().unwrap_or(b'0');
        cents = cents * 10 + i128::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    cents += i128::from(digits.next().is_some_and(|digit| digit >= b'5'));
    let whole = (cents / 100).to_string();
    let mut grouped = String::from("$");
    for (at, digit) in whole.bytes().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(char::from(digit));
    }
    let _ = write!(grouped, ".{:02}", cents % 100);
    Some(quoted(&grouped))
}

pub fn bucket(input: &str) -> Option<String> {
    let number: i64 = input.trim().parse().ok()?;
    let low = number.div_euclid(25) * 25;
    Some(format!("\"{low}-{}\"", low + 24))
}

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

pub fn date(input: &str) -> Option<String> {
    let text = text(input)?;
    let mut parts = text.trim().split('/');
    let mut next = |least: usize, most: usize| -> Option<i64> {
        let part = parts.next()?;
        let digits = (least..=most).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse().ok())?
    };
    let (month, day, year) = (next(1, 2)?, next(1, 2)?, next(4, 4)?);
    if parts.next().is_some() || !(1..=12).contains(&month) || year == 0 {
        return None;
    }
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, 28 + i64::from(leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    if day < 1 || day > lengths[month as usize - 1] {
        return None;
    }
    let before: i64 = lengths[..month as usize - 1].iter().sum();
    let past = year - 1;
    let days = past * 365 + past / 4 - past / 100 + past / 400 + before + day - 1;
    Some(format!("\"{} {day} {} {year:04}\"", DAYS[(days % 7) as usize], MONTHS[month as usize - 1]))
}

pub fn half_hour(input: &str) -> Option<String> {
    let text = text(input)?;
    let mut parts = text.trim().split(':');
    let mut next = |least: usize, below: u32| -> Option<u32> {
        let part = parts.next()?;
        let digits = (least..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| part.parse().ok())?.filter(|value| *value < below)
    };
    let (hour, minute, _) = (next(1, 24)?, next(2, 60)?, next(2, 60)?);
    if parts.next().is_some() {
        return None;
    }
    let half = if hour < 12 { "AM" } else { "PM" };
    Some(format!("\"{}:{:02}{half}\"", (hour + 11) % 12 + 1, minute / 30 * 30))
}

pub fn slug(input: &str) -> Option<String> {
    let text = text(input)?;
    let mut slug = String::with_capacity(text.len());
    let mut begin = false;
    let mut previous_lower = false;
    for character in text.chars() {
        let plain = match character {
            'à'..='å' => 'a',
            'ç' => 'c',
            'è'..='ë' => 'e',
            'ì'..='ï' => 'i',
            'ñ' => 'n',
            'ò'..='ö' => 'o',
            'ù'..='ü' => 'u',
            other => other,
        };
        if !plain.is_alphanumeric() {
            begin = !slug.is_empty();
            previous_lower = false;
            continue;
        }
        if begin || (previous_lower && plain.is_uppercase()) {
            slug.push('-');
        }
        begin = false;
        previous_lower = !plain.is_uppercase();
        slug.extend(plain.to_lowercase());
    }
    Some(quoted(&slug))
}

pub fn total(input: &str) -> Option<String> {
    let text = text(input)?;
    let groups = text.split(|character: char| !character.is_ascii_digit()).filter(|group| !group.is_empty());
    let mut total: i128 = 0;
    for group in groups {
        total += group.parse::<i128>().ok()?;
    }
    Some(total.to_string())
}

pub fn triage(input: &str) -> Option<String> {
    // Members in any order, each once.
    let mut rest = input.trim().strip_prefix('{')?.strip_suffix('}')?;
    let (mut amount, mut subject, mut tier) = (None, None, None);
    while !rest.is_empty() {
        let (key, after) = rest.trim_start().strip_prefix('"')?.split_once('"')?;
        let after = after.trim_start().strip_prefix(':')?.trim_start();
        let value;
        if let Some(inside) = after.strip_prefix('"') {
            let end = closing(inside)?;
            value = &inside[..end];
            rest = &inside[end + 1..];
        } else {
            let end = after.find([',', ' ', '\n', '\t', '\r']).unwrap_or(after.len());
            value = &after[..end];
            rest = &after[end..];
        }
        rest = rest.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest);
        match key {
            "amount" if amount.is_none() => amount = Some(value.parse::<i64>().ok()?),
            "subject" if subject.is_none() => subject = Some(string(value)?),
            "tier" if tier.is_none() => tier = Some(string(value)?),
            _ => return None,
        }
    }
    let (amount, subject, tier) = (amount?, subject?, tier?);
    let level = match amount {
        1000.. => "urgent",
        _ if tier == "gold" => "urgent",
        250.. => "high",
        _ => "normal",
    };
    let mut json = String::with_capacity(64 + subject.len());
    let _ = write!(json, "{{\"level\":\"{level}\",\"reply\":\"About ");
    push_escaped(&mut json, subject.trim());
    json.push_str(": ");
    json.push_str(id(&subject)?);
    json.push_str("\"}");
    Some(json)
}

fn closing(inside: &str) -> Option<usize> {
    let bytes = inside.as_bytes();
    let mut at = 0;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The first of words of letters and digits with `-` or `_` between them, a digit among them.
fn id(text: &str) -> Option<&str> {
    let pieces = text.split(|character: char| !character.is_ascii_alphanumeric() && !"-_".contains(character));
    let joined = |piece: &&str| {
        let parts = piece.split(['-', '_']);
        parts.clone().count() > 1
            && parts.clone().all(|part| !part.is_empty())
            && piece.bytes().any(|byte| byte.is_ascii_digit())
    };
    pieces.into_iter().find(joined)
}
