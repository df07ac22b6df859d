//! Numbers as people write them: with grouping, currency, percent, sign and padding.

use auto_json::Number;

use super::number::shifted;

/// The most digits that a format asks for on a side of the separator.
pub const MOST_PLACES: usize = 30;

/// Currency signs that may stand before or behind a number.
const SIGNS: [char; 6] = ['$', '€', '£', '¥', '₹', '₩'];

/// What multiplies a number behind which it stands, in powers of ten.
const SCALES: [(&str, u16); 7] = [("k", 3), ("K", 3), ("M", 6), ("m", 6), ("bn", 9), ("B", 9), ("T", 12)];

/// A number in a style: the decimal separator and the grouping one, or 0 for none. A space
/// also stands for one that does not break.
///
/// Also read: a sign, parentheses for a negative number, a currency sign or a code of three
/// capitals before or behind, `%`, which divides by a hundred, and `k`, `M`, `bn`, which
/// multiply.
pub fn read(text: &str, style: &[u8]) -> Option<Number> {
    let &[decimal, group] = style else { return None };
    let text = text.trim();
    let text = text.strip_suffix(SIGNS).map_or(text, str::trim_end);
    let inside = text.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let text = inside.unwrap_or(text);
    let (signed, text) = sign(text);
    let text = without_currency_before(text);
    let (signed_behind, text) = sign(text);
    let (mantissa, scale, text) = digits(text, decimal, group)?;
    let text = text.trim_start();
    let (percent, power, text) = match text.strip_prefix('%') {
        Some(rest) => (true, 0, rest),
        None => {
            let scaled = SCALES.iter().find_map(|(name, power)| {
                let rest = text.strip_prefix(name)?;
                (!rest.starts_with(|next: char| !next.is_ascii() || next.is_ascii_alphanumeric()))
                    .then_some((*power, rest))
            });
            let (power, rest) = scaled.unwrap_or((0, text));
            (false, power, rest)
        }
    };
    let signs = usize::from(inside.is_some()) + usize::from(signed.is_some()) + usize::from(signed_behind.is_some());
    if signs > 1 || !without_currency_before(text.trim_start()).is_empty() {
        return None;
    }
    let negative = inside.is_some() || signed.or(signed_behind) == Some(true);
    let mantissa = if negative { -mantissa } else { mantissa };
    if percent {
        return Number::decimal(mantissa, scale.checked_add(2)?);
    }
    match (scale.checked_sub(power), scale) {
        (None | Some(0), _) if power > 0 => Number::integer(shifted(mantissa, power - scale.min(power))?),
        (_, 0) => Number::integer(mantissa),
        (rest, _) => Number::decimal(mantissa, rest?),
    }
}

/// Whether a sign is there and says minus, and what follows.
fn sign(text: &str) -> (Option<bool>, &str) {
    if let Some(rest) = text.strip_prefix('-').or_else(|| text.strip_prefix('\u{2212}')) {
        return (Some(true), rest);
    }
    text.strip_prefix('+').map_or((None, text), |rest| (Some(false), rest))
}

fn without_currency_before(text: &str) -> &str {
    if let Some(rest) = text.strip_prefix(SIGNS) {
        return rest.trim_start();
    }
    match text.as_bytes() {
        [a, b, c, ..] if [a, b, c].iter().all(|byte| byte.is_ascii_uppercase()) => {
            let rest = text.get(3..).unwrap_or_default();
            if rest.starts_with(|next: char| !next.is_ascii() || next.is_ascii_alphabetic()) {
                text
            } else {
                rest.trim_start()
            }
        }
        _ => text,
    }
}

/// The digits of a number: mantissa, scale, and what follows.
fn digits(text: &str, decimal: u8, group: u8) -> Option<(i128, u16, &str)> {
    let mut mantissa = Mantissa { whole: 0, short: 0, width: 1 };
    let (mut count, mut scale, mut end) = (0u32, 0u16, 0usize);
    // Digits since the last grouping separator; none before the first.
    let mut grouped: Option<u32> = None;
    let mut fraction = false;
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(end) {
        if byte.is_ascii_digit() {
            mantissa.push(u64::from(byte - b'0'))?;
            count += 1;
            if fraction {
                scale += 1;
            } else if let Some(digits) = &mut grouped {
                *digits += 1;
            }
            end += 1;
            continue;
        }
        let separator = if byte == decimal { 1 } else { group_length(text, end, group) };
        if fraction || separator == 0 || !bytes.get(end + separator).is_some_and(u8::is_ascii_digit) {
            break;
        }
        if byte == decimal && grouped.is_none_or(|digits| digits == 3) {
            fraction = true;
        } else if byte != decimal && count > 0 {
            // Two digits, as in India, but three at last.
            if grouped.map_or(count > 3, |digits| !(2..=3).contains(&digits)) {
                return None;
            }
            grouped = Some(0);
        } else {
            break;
        }
        end += separator;
    }
    if count == 0 || count > 38 || grouped.is_some_and(|digits| digits != 3) {
        return None;
    }
    Some((mantissa.whole()?, scale, text.get(end..)?))
}

/// Digits, put together in words as long as they fit.
struct Mantissa {
    whole: i128,
    short: u64,
    /// A power of ten above `short`.
    width: u64,
}

impl Mantissa {
    fn push(&mut self, digit: u64) -> Option<()> {
        if self.width == 1_000_000_000_000_000_000 {
            *self = Mantissa { whole: self.whole()?, short: 0, width: 1 };
        }
        self.short = self.short * 10 + digit;
        self.width *= 10;
        Some(())
    }

    fn whole(&self) -> Option<i128> {
        if self.whole == 0 {
            return Some(i128::from(self.short));
        }
        self.whole.checked_mul(i128::from(self.width))?.checked_add(i128::from(self.short))
    }
}

/// How long the grouping separator is that stands there; 0 where there is none.
fn group_length(text: &str, at: usize, group: u8) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    match (group, rest.as_bytes().first()) {
        (0, _) | (_, None) => 0,
        (group, Some(first)) if *first == group => 1,
        (_, Some(first)) if first.is_ascii() => 0,
        (b' ', _) if rest.starts_with(['\u{A0}', '\u{202F}', '\u{2009}']) => {
            rest.chars().next().map_or(0, char::len_utf8)
        }
        (b'\'', _) if rest.starts_with('\u{2019}') => 3,
        _ => 0,
    }
}

/// The parts of an encoded format.
struct Format<'f> {
    /// Bits of [`PERCENT`] and the others.
    flags: u8,
    decimal: u8,
    /// 0 for none.
    group: u8,
    /// How many digits of the integer part are zeros where there are none, and how many
    /// more are spaces.
    integer: [usize; 2],
    /// Digits of the fraction that are always there, those that are spaces where they are
    /// zero, and those that are left out.
    fraction: [usize; 3],
    /// Before and behind, then before and behind a negative number.
    around: [&'f [u8]; 4],
}

/// A format multiplies by a hundred.
pub const PERCENT: u8 = 1;
/// A format shows a sign where its prefix has a `+`.
pub const PLUS: u8 = 2;
/// A format has other text around negative numbers.
pub const NEGATIVE: u8 = 4;

impl<'f> Format<'f> {
    fn read(format: &'f [u8]) -> Option<Format<'f>> {
        let (&[flags, decimal, group, zeros, spaces, always, padded, more], mut rest) = format.split_first_chunk()?;
        let mut around = [b"".as_slice(); 4];
        for text in &mut around {
            let (&length, after) = rest.split_first()?;
            (*text, rest) = after.split_at_checked(usize::from(length))?;
        }
        let integer = [usize::from(zeros), usize::from(spaces)];
        let fraction = [usize::from(always), usize::from(padded), usize::from(more)];
        Some(Format { flags, decimal, group, integer, fraction, around })
    }
}

/// Room for the digits of a number and of a format.
const ROOM: usize = 80;

/// A number in an encoded format, rounded half away from zero to the digits it has.
pub fn print(number: &Number, format: &[u8], out: &mut impl FnMut(u8)) -> Option<()> {
    let format = Format::read(format)?;
    let (mantissa, scale) = number.parts()?;
    let scale = i32::from(scale) - if format.flags & PERCENT != 0 { 2 } else { 0 };
    let most: usize = format.fraction.iter().sum();
    let scaled = rescaled(mantissa.unsigned_abs(), scale, most as u32)?;
    let negative = mantissa < 0 && scaled != 0;

    // Least significant first; more zeros than either part can need.
    let mut digits = [0u8; ROOM];
    let mut rest = scaled;
    let mut count = 0;
    if let Ok(mut short) = u64::try_from(scaled) {
        while short > 0 {
            *digits.get_mut(count)? = (short % 10) as u8;
            short /= 10;
            count += 1;
        }
        rest = 0;
    }
    while rest > 0 {
        *digits.get_mut(count)? = (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    let digit = |at: usize| digits.get(at).copied().unwrap_or(0);

    let behind = if format.flags & NEGATIVE != 0 && negative { 2 } else { 0 };
    if negative && format.flags & (NEGATIVE | PLUS) == 0 {
        out(b'-');
    }
    let before = *format.around.get(behind)?;
    if format.flags & PLUS != 0 && behind == 0 {
        // Signs are ASCII, so what is around one is text.
        let signed = |byte| if byte == b'+' && negative { b'-' } else { byte };
        before.iter().for_each(|byte| out(signed(*byte)));
    } else {
        before.iter().for_each(|byte| out(*byte));
    }
    integer_part(&format, count.saturating_sub(most), most, digit, out);
    fraction_part(&format, most, digit, out);
    format.around.get(behind + 1)?.iter().for_each(|byte| out(*byte));
    Some(())
}

/// A magnitude at so many places, rounded half away from zero.
fn rescaled(mantissa: u128, scale: i32, places: u32) -> Option<u128> {
    let more = places as i32 - scale;
    if let (Ok(short), Some(unit)) = (u64::try_from(mantissa), 10u64.checked_pow(more.unsigned_abs())) {
        match more {
            0.. => {
                if let Some(scaled) = short.checked_mul(unit) {
                    return Some(u128::from(scaled));
                }
            }
            _ => {
                let (quotient, rest) = (short.checked_div(unit)?, short.checked_rem(unit)?);
                return Some(u128::from(quotient) + u128::from(rest >= unit - rest));
            }
        }
    }
    if more >= 0 {
        return mantissa.checked_mul(10u128.checked_pow(more.unsigned_abs())?);
    }
    // Beyond 39 places nothing is left.
    let Some(unit) = 10u128.checked_pow(more.unsigned_abs()) else { return Some(0) };
    let (quotient, rest) = (mantissa.checked_div(unit)?, mantissa.checked_rem(unit)?);
    Some(quotient + u128::from(rest >= unit - rest))
}

fn integer_part(format: &Format, count: usize, most: usize, digit: impl Fn(usize) -> u8, out: &mut impl FnMut(u8)) {
    let [zeros, spaces] = format.integer;
    // Something is printed of zero.
    let shown = count.max(zeros).max(usize::from(most == 0 || format.fraction == [0, 0, most]));
    for at in (0..shown.max(zeros + spaces)).rev() {
        let is_shown = at < shown;
        out(if is_shown { b'0' + digit(most + at) } else { b' ' });
        if format.group != 0 && at > 0 && at % 3 == 0 {
            out(if is_shown { format.group } else { b' ' });
        }
    }
}

fn fraction_part(format: &Format, most: usize, digit: impl Fn(usize) -> u8, out: &mut impl FnMut(u8)) {
    let [always, padded, _] = format.fraction;
    let last = (0..most).find(|at| digit(*at) != 0).map_or(0, |at| most - at);
    let shown = last.max(always);
    if shown == 0 && padded == 0 {
        return;
    }
    out(format.decimal);
    for place in 0..shown.max(always + padded) {
        out(if place < shown { b'0' + digit(most - 1 - place) } else { b' ' });
    }
}

/// `1st`, `2nd`, `3rd`, `4th`.
pub fn ordinal(value: i64, out: &mut impl FnMut(u8)) {
    write_integer(value, out);
    let last = value.unsigned_abs() % 100;
    let suffix = match (last / 10, last % 10) {
        (1, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    suffix.bytes().for_each(out);
}

/// An integer in digits.
pub(super) fn write_integer(value: i64, out: &mut impl FnMut(u8)) {
    if value < 0 {
        out(b'-');
    }
    write_padded(value.unsigned_abs(), 1, out);
}

/// An integer in so many digits, or more.
pub(super) fn write_padded(value: u64, width: usize, out: &mut impl FnMut(u8)) {
    let (mut unit, mut count) = (1u64, 1);
    while value.checked_div(unit).is_some_and(|rest| rest >= 10) {
        unit *= 10;
        count += 1;
    }
    // Nothing is written of zero where nothing is asked for.
    if value == 0 && width == 0 {
        return;
    }
    (count..width).for_each(|_| out(b'0'));
    while let Some(digit) = value.checked_div(unit) {
        out(b'0' + (digit % 10) as u8);
        unit /= 10;
    }
}

/// Roman numerals and what they stand for.
const ROMAN: [(&str, i64); 13] = [
    ("M", 1000),
    ("CM", 900),
    ("D", 500),
    ("CD", 400),
    ("C", 100),
    ("XC", 90),
    ("L", 50),
    ("XL", 40),
    ("X", 10),
    ("IX", 9),
    ("V", 5),
    ("IV", 4),
    ("I", 1),
];

/// A number from 1 to 3999 in Roman numerals.
pub fn roman(value: i64, out: &mut impl FnMut(u8)) -> Option<()> {
    if !(1..4000).contains(&value) {
        return None;
    }
    let mut rest = value;
    for (name, worth) in ROMAN {
        while rest >= worth {
            name.bytes().for_each(&mut *out);
            rest -= worth;
        }
    }
    Some(())
}

/// The number that Roman numerals say, in either case, written the one usual way.
pub fn unroman(text: &str) -> Option<i64> {
    let (mut value, mut rest) = (0, text.as_bytes());
    for (name, worth) in ROMAN {
        let mut times = 0;
        // Once for those of two letters and for halves, three times for the others.
        let most = if name.len() == 2 || matches!(worth, 5 | 50 | 500) { 1 } else { 3 };
        while times < most && rest.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes())) {
            value += worth;
            rest = rest.get(name.len()..)?;
            times += 1;
        }
    }
    let mut length = 0;
    roman(value, &mut |_| length += 1)?;
    // `IXI` and such are longer than the number they seem to say.
    (rest.is_empty() && length == text.len()).then_some(value)
}

const UNITS: [&str; 20] = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
];

const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];

/// An integer below a thousand millions in English words: `one hundred twenty-three`.
pub fn spell(value: i64, out: &mut impl FnMut(u8)) -> Option<()> {
    if !(-999_999_999..=999_999_999).contains(&value) {
        return None;
    }
    let mut put = |text: &str| text.bytes().for_each(&mut *out);
    let magnitude = value.unsigned_abs() as usize;
    if value < 0 {
        put("minus ");
    }
    if magnitude == 0 {
        put("zero");
    }
    let mut separate = false;
    for (unit, name) in [(1_000_000, " million"), (1_000, " thousand"), (1, "")] {
        let part = magnitude.checked_div(unit)? % 1000;
        if part == 0 {
            continue;
        }
        if separate {
            put(" ");
        }
        separate = true;
        below_thousand(part, &mut put)?;
        put(name);
    }
    Some(())
}

/// The number that English words say: as [`spell`] writes it, also in capitals, with `and`, and with
/// spaces for hyphens.
pub fn unspell(text: &str) -> Option<i64> {
    let mut words = text.split([' ', '-']).filter(|word| !word.is_empty()).peekable();
    let is = |word: &str, wanted: &str| word.eq_ignore_ascii_case(wanted);
    let negative = words.next_if(|word| is(word, "minus")).is_some();
    // The whole, the part below the last `thousand` or `million`, and what was said last of it.
    let (mut whole, mut part, mut said) = (0i64, 0i64, Said::Nothing);
    let mut least = i64::MAX;
    while let Some(word) = words.next() {
        let unit = UNITS.iter().position(|unit| is(word, unit)).map(|at| at as i64);
        let ten = TENS.iter().position(|ten| !ten.is_empty() && is(word, ten)).map(|at| at as i64);
        match (unit, ten) {
            (Some(0), _) if whole == 0 && said == Said::Nothing && words.peek().is_none() => return Some(0),
            (Some(value @ 1..), _) if said.takes(value) => (part, said) = (part + value, Said::Units(value)),
            (_, Some(tens)) if matches!(said, Said::Nothing | Said::Hundred) => {
                (part, said) = (part + tens * 10, Said::Tens);
            }
            _ if is(word, "hundred") && matches!(said, Said::Units(1..=9)) && part < 10 => {
                (part, said) = (part * 100, Said::Hundred);
            }
            _ if is(word, "and") && (said == Said::Hundred || whole > 0 && said == Said::Nothing) => {
                words.peek()?;
            }
            _ => {
                let scale = [(1_000, "thousand"), (1_000_000, "million")];
                let (scale, _) = scale.into_iter().find(|(scale, name)| is(word, name) && *scale < least)?;
                if part == 0 {
                    return None;
                }
                (whole, part, said, least) = (whole + part * scale, 0, Said::Nothing, scale);
            }
        }
    }
    let value = whole + part;
    (value > 0).then_some(if negative { -value } else { value })
}

/// What was said last of a number below a thousand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    Hundred,
    Tens,
    Units(i64),
}

impl Said {
    /// Whether a number below twenty may follow.
    fn takes(self, value: i64) -> bool {
        match self {
            Said::Nothing | Said::Hundred => true,
            Said::Tens => value < 10,
            Said::Units(_) => false,
        }
    }
}

fn below_thousand(value: usize, put: &mut impl FnMut(&str)) -> Option<()> {
    let (hundreds, rest) = (value / 100, value % 100);
    if hundreds > 0 {
        put(UNITS.get(hundreds)?);
        put(if rest > 0 { " hundred " } else { " hundred" });
    }
    match (rest / 10, rest % 10) {
        (0, 0) => {}
        (0 | 1, _) => put(UNITS.get(rest)?),
        (tens, units) => {
            put(TENS.get(tens)?);
            if units > 0 {
                put("-");
                put(UNITS.get(units)?);
            }
        }
    }
    Some(())
}
