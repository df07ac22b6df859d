//! Tokens that have a shape: numbers, amounts, addresses, dates. All within ASCII, apart
//! from currency signs; each function finds the first token at `from` or later.

type Span = Option<(usize, usize)>;

/// Currency signs, in UTF-8.
const SIGNS: [&[u8]; 6] = [b"$", "€".as_bytes(), "£".as_bytes(), "¥".as_bytes(), "₹".as_bytes(), "₩".as_bytes()];

/// Currency codes.
const CODES: [&[u8; 3]; 12] =
    [b"USD", b"EUR", b"GBP", b"JPY", b"CHF", b"CAD", b"AUD", b"INR", b"CNY", b"SEK", b"NOK", b"DKK"];

/// The first three letters of the months.
pub(super) const MONTHS: [&[u8; 3]; 12] =
    [b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec"];

/// ASCII letters and digits; shorter than `core`'s, and it is asked of every byte.
#[inline(always)]
fn is_alphanumeric(byte: u8) -> bool {
    ((byte | 0x20).wrapping_sub(b'a') < 26) | (byte.wrapping_sub(b'0') < 10)
}

fn is(text: &[u8], at: usize, inside: impl Fn(u8) -> bool) -> bool {
    text.get(at).is_some_and(|byte| inside(*byte))
}

fn is_digit(text: &[u8], at: usize) -> bool {
    is(text, at, |byte| byte.is_ascii_digit())
}

/// Whether a letter or a digit precedes.
fn is_joined(text: &[u8], at: usize) -> bool {
    at.checked_sub(1).is_some_and(|before| is(text, before, is_alphanumeric))
}

/// Behind all that is inside from there on.
fn past(text: &[u8], mut at: usize, inside: impl Fn(u8) -> bool) -> usize {
    while is(text, at, &inside) {
        at += 1;
    }
    at
}

/// Before all that is inside up to there, but not before `from`.
fn back(text: &[u8], from: usize, mut at: usize, inside: impl Fn(u8) -> bool) -> usize {
    while at > from && is(text, at - 1, &inside) {
        at -= 1;
    }
    at
}

pub(super) fn id(text: &[u8], from: usize) -> Span {
    let mut at = from;
    while let Some(byte) = text.get(at) {
        if !is_alphanumeric(*byte) {
            at += 1;
            continue;
        }
        let start = at;
        let (mut joints, mut digit) = (0, false);
        loop {
            while let Some(&byte) = text.get(at)
                && is_alphanumeric(byte)
            {
                // Among those, digits come first.
                digit |= byte <= b'9';
                at += 1;
            }
            // A joint has letters or digits on both sides.
            match text.get(at..at + 2) {
                Some([b'-' | b'_', next]) if is_alphanumeric(*next) => at += 1,
                _ => break,
            }
            joints += 1;
        }
        if joints > 0 && digit {
            return Some((start, at));
        }
    }
    None
}

pub(super) fn number(text: &[u8], from: usize) -> Span {
    let digit = from + text.get(from..)?.iter().position(u8::is_ascii_digit)?;
    let signed = digit > from && is(text, digit - 1, |byte| matches!(byte, b'-' | b'+'));
    let free = digit < 2 || !is(text, digit - 2, |byte| is_alphanumeric(byte) || byte.is_ascii_punctuation());
    let start = if signed && free { digit - 1 } else { digit };
    let mut end = past(text, digit, |byte| byte.is_ascii_digit());
    while is(text, end, |byte| matches!(byte, b'.' | b',')) && is_digit(text, end + 1) {
        end = past(text, end + 1, |byte| byte.is_ascii_digit());
    }
    Some((start, end))
}

pub(super) fn money(text: &[u8], mut from: usize) -> Span {
    let first = from;
    while let Some((start, end)) = number(text, from) {
        let before = currency_before(text, first, start);
        // `$2.5M` and `EUR 40k`.
        let scaled = is(text, end, |byte| b"kKmMbB".contains(&byte)) && !is(text, end + 1, is_alphanumeric);
        let end = if scaled { end + 1 } else { end };
        let behind = currency_behind(text, end);
        if before.is_some() || behind.is_some() {
            let start = before.unwrap_or(start);
            let signed = start > first && is(text, start - 1, |byte| byte == b'-') && !is_joined(text, start - 1);
            return Some((if signed { start - 1 } else { start }, behind.unwrap_or(end)));
        }
        from = end;
    }
    None
}

fn currency_before(text: &[u8], from: usize, start: usize) -> Option<usize> {
    let before = text.get(from..start)?;
    let before = before.strip_suffix(b" ").unwrap_or(before);
    let sign = SIGNS.iter().find_map(|sign| before.strip_suffix(*sign));
    let code = || CODES.iter().find_map(|code| before.strip_suffix(code.as_slice()));
    let rest = sign.or_else(code)?;
    let at = from + rest.len();
    (sign.is_some() || !is_joined(text, at)).then_some(at)
}

fn currency_behind(text: &[u8], end: usize) -> Option<usize> {
    let behind = text.get(end..)?;
    let behind = behind.strip_prefix(b" ").unwrap_or(behind);
    let sign = SIGNS.iter().find_map(|sign| behind.strip_prefix(*sign));
    // A dollar sign behind a number belongs to the next one where there is one.
    if let Some(rest) = sign.filter(|rest| !is_digit(rest, 0)) {
        return Some(text.len() - rest.len());
    }
    let rest = CODES.iter().find_map(|code| behind.strip_prefix(code.as_slice()))?;
    (!is(rest, 0, is_alphanumeric)).then_some(text.len() - rest.len())
}

pub(super) fn email(text: &[u8], from: usize) -> Span {
    let mut at = from;
    loop {
        at += text.get(at..)?.iter().position(|byte| *byte == b'@')?;
        let start =
            back(text, from, at, |byte| is_alphanumeric(byte) || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-'));
        let start = past(text, start, |byte| byte == b'.');
        let end = past(text, at + 1, |byte| is_alphanumeric(byte) || matches!(byte, b'.' | b'-'));
        let end = back(text, at + 1, end, |byte| matches!(byte, b'.' | b'-'));
        let domain = text.get(at + 1..end)?;
        if start < at && domain.first() != Some(&b'.') && super::text::find(domain, b".").is_some() {
            return Some((start, end));
        }
        at = end.max(at + 1);
    }
}

pub(super) fn url(text: &[u8], from: usize) -> Span {
    let mut at = from;
    while at < text.len() {
        let rest = text.get(at..)?;
        let start = if rest.starts_with(b"://") {
            let start = back(text, from, at, |byte| is_alphanumeric(byte) || b"+-.".contains(&byte));
            let start = past(text, start, |byte| !byte.is_ascii_alphabetic());
            (start < at).then_some(start)
        } else {
            (rest.starts_with(b"www.") && !is_joined(text, at)).then_some(at)
        };
        if let Some(start) = start {
            let end = past(text, at, |byte| byte > b' ' && byte < 0x7F && !b"<>\"`{}|\\^".contains(&byte));
            let end = back(text, at, end, |byte| b".,;:!?)]'".contains(&byte));
            if end > at + 3 {
                return Some((start, end));
            }
        }
        at += 1;
    }
    None
}

pub(super) fn hex(text: &[u8], mut from: usize) -> Span {
    loop {
        let start = from + text.get(from..)?.iter().position(|byte| is_alphanumeric(*byte))?;
        let end = past(text, start, is_alphanumeric);
        let token = text.get(start..end)?;
        let digits = token.strip_prefix(b"0x").unwrap_or(token);
        if digits.len() > 1 && digits.iter().all(u8::is_ascii_hexdigit) && digits.iter().any(u8::is_ascii_digit) {
            return Some((start, end));
        }
        from = end;
    }
}

pub(super) fn uuid(text: &[u8], from: usize) -> Span {
    let mut start = from;
    loop {
        start += text.get(start..)?.iter().position(u8::is_ascii_hexdigit)?;
        let end = start + 36;
        if !is_joined(text, start) && is_uuid(text.get(start..end)?) && !is(text, end, is_alphanumeric) {
            return Some((start, end));
        }
        start += 1;
    }
}

fn is_uuid(text: &[u8]) -> bool {
    text.iter().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    })
}

pub(super) fn date(text: &[u8], from: usize) -> Span {
    let mut start = from;
    while start < text.len() {
        if !is_joined(text, start)
            && !continues(text, start)
            && let Some(end) = date_at(text, start)
            && !is(text, end, is_alphanumeric)
            && !is_separated(text, end)
        {
            return Some((start, end));
        }
        start += 1;
    }
    None
}

/// Whether a separator with something before it precedes.
fn continues(text: &[u8], start: usize) -> bool {
    start.checked_sub(1).is_some_and(|before| is(text, before, is_separator) && is_joined(text, before))
}

/// Whether a separator with a digit behind it follows.
fn is_separated(text: &[u8], end: usize) -> bool {
    is(text, end, is_separator) && is_digit(text, end + 1)
}

/// What joins figures to a date, or to something longer that is none.
fn is_separator(byte: u8) -> bool {
    b"/-.".contains(&byte)
}

/// The end of the date that begins there.
fn date_at(text: &[u8], start: usize) -> Option<usize> {
    let first = past(text, start, is_alphanumeric);
    if month(text, start, first) {
        // `March 30, 2002`
        let day = is(text, first, |byte| byte == b' ').then_some(first + 1)?;
        let behind = figures(text, day, 1, 2)?;
        let year = behind + text.get(behind..).map_or(0, |rest| if rest.starts_with(b",") { 1 } else { 0 });
        let year = is(text, year, |byte| byte == b' ').then_some(year + 1)?;
        return figures(text, year, 4, 4);
    }
    let first = figures(text, start, 1, 4)?;
    let separator = *text.get(first)?;
    if separator != b' ' && !is_separator(separator) {
        return None;
    }
    let second = past(text, first + 1, is_alphanumeric);
    if !month(text, first + 1, second) && (separator == b' ' || figures(text, first + 1, 1, 2)? != second) {
        return None;
    }
    let third = is(text, second, |byte| byte == separator).then_some(second + 1)?;
    let end = figures(text, third, 1, 4)?;
    // One of the two is a year, or both are of two digits at most.
    ((end - third).max(first - start) != 3 && (end - third < 3 || first - start < 3)).then_some(end)
}

/// Whether letters are the name of a month, whole or cut.
fn month(text: &[u8], start: usize, end: usize) -> bool {
    let word = text.get(start..end).unwrap_or_default();
    (3..=9).contains(&word.len())
        && word.iter().all(u8::is_ascii_alphabetic)
        && word.get(..3).is_some_and(|three| MONTHS.iter().any(|month| three.eq_ignore_ascii_case(*month)))
}

/// The end of so many digits, no more following.
fn figures(text: &[u8], start: usize, least: usize, most: usize) -> Option<usize> {
    let end = past(text, start, |byte| byte.is_ascii_digit());
    (least..=most).contains(&(end - start)).then_some(end)
}

pub(super) fn time(text: &[u8], mut from: usize) -> Span {
    loop {
        let start = from + text.get(from..)?.iter().position(u8::is_ascii_digit)?;
        let hours = past(text, start, |byte| byte.is_ascii_digit());
        if hours - start <= 2 && !is_joined(text, start) {
            let mut end = hours;
            let mut parts = 0;
            while parts < 2 && is(text, end, |byte| byte == b':') && figures(text, end + 1, 2, 2).is_some() {
                end += 3;
                parts += 1;
            }
            if parts == 2 && is(text, end, |byte| byte == b'.') && is_digit(text, end + 1) {
                end = past(text, end + 1, |byte| byte.is_ascii_digit());
            }
            let half = half_of_day(text, end);
            let end = half.unwrap_or(end);
            if (parts > 0 || half.is_some()) && !is(text, end, is_alphanumeric) {
                return Some((start, end));
            }
        }
        from = hours;
    }
}

/// The end of `am` or `pm`, also with points, behind at most one space.
fn half_of_day(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let rest = rest.strip_prefix(b" ").unwrap_or(rest);
    let (letter, rest) = rest.split_first()?;
    if !b"aApP".contains(letter) {
        return None;
    }
    let pointed = rest.strip_prefix(b".");
    let rest = pointed.unwrap_or(rest);
    let rest = rest.strip_prefix(b"m").or_else(|| rest.strip_prefix(b"M"))?;
    let rest = if pointed.is_some() { rest.strip_prefix(b".")? } else { rest };
    Some(text.len() - rest.len())
}

pub(super) fn quoted(text: &[u8], from: usize) -> Span {
    let mut start = None;
    for (at, byte) in text.iter().enumerate().skip(from) {
        match (byte, start) {
            (b'"', None) => start = Some(at),
            (b'"', Some(start)) => return Some((start, at + 1)),
            (b'\n', _) => start = None,
            _ => {}
        }
    }
    None
}
