//! Exact decimal numbers: a coefficient of up to 38 digits and a power of ten.

use alloc::string::String;
use core::cmp::Ordering;

use crate::ErrorKind;

/// The most significant digits a number may have; what an `i128` always holds.
pub const MAX_DIGITS: usize = 38;

/// The largest coefficient.
const MOST: u128 = 10u128.pow(MAX_DIGITS as u32) - 1;

/// Digits of a lexeme shorter than this fit a word.
const SHORT: usize = 20;

/// Exponents beyond this (in either direction) are refused; binary64 needs 324.
const MAX_EXPONENT: i32 = 9999;

/// Whether a number was written as an integer (`3`) or with a fraction or exponent
/// (`3.0`, `3e0`). The two never compare equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NumberKind {
    /// Written with digits alone.
    Integer,
    /// Written with a fraction or an exponent.
    Decimal,
}

/// `(-1)^negative * coefficient * 10^exponent`, in lowest terms for decimals.
///
/// Integers have exponent 0. A decimal's coefficient has no trailing zero (zero itself
/// is `0 * 10^0`). Negative zero is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number {
    kind: NumberKind,
    negative: bool,
    coefficient: u128,
    exponent: i16,
}

impl Number {
    /// An integer; `None` above 38 digits.
    pub fn integer(value: i128) -> Option<Number> {
        Number::new(NumberKind::Integer, value, 0)
    }

    /// `mantissa * 10^-scale` as a decimal; `None` above 38 digits.
    pub fn decimal(mantissa: i128, scale: u16) -> Option<Number> {
        Number::new(NumberKind::Decimal, mantissa, -i32::from(scale))
    }

    fn new(kind: NumberKind, mantissa: i128, exponent: i32) -> Option<Number> {
        Number::normal(kind, mantissa < 0, mantissa.unsigned_abs(), exponent)
    }

    fn normal(kind: NumberKind, negative: bool, mut coefficient: u128, mut exponent: i32) -> Option<Number> {
        if kind == NumberKind::Decimal {
            (coefficient, exponent) = without_zeros(coefficient, exponent);
        }
        if coefficient == 0 {
            exponent = 0;
        }
        if coefficient > MOST || exponent.abs() > MAX_EXPONENT {
            return None;
        }
        Some(Number { kind, negative: negative && coefficient != 0, coefficient, exponent: exponent as i16 })
    }

    /// Reads a lexeme that already obeys JSON's number grammar (the reader checks it).
    ///
    /// Fails with [`ErrorKind::NumberTooLong`] or [`ErrorKind::ExponentTooLarge`].
    pub fn from_lexeme(lexeme: &[u8]) -> Result<Number, ErrorKind> {
        let (mut coefficient, mut short): (u128, u64) = (0, 0);
        let scanned = if lexeme.len() < SHORT {
            let scanned = scan(lexeme, |places, digit| {
                (0..places).for_each(|_| short = short.wrapping_mul(10));
                short = short.wrapping_add(u64::from(digit));
            });
            coefficient = u128::from(short);
            scanned?
        } else {
            scan(lexeme, |places, digit| coefficient = shifted(coefficient, places) + u128::from(digit))?
        };
        let Scanned { kind, negative, exponent } = scanned;
        Number::normal(kind, negative, coefficient, exponent).ok_or(ErrorKind::ExponentTooLarge)
    }

    /// Whether [`Number::from_lexeme`] would read the lexeme, without its arithmetic.
    pub fn check(lexeme: &[u8]) -> Result<(), ErrorKind> {
        let mut zero = true;
        let exponent = scan(lexeme, |_, digit| zero &= digit == 0)?.exponent;
        if zero || exponent.abs() <= MAX_EXPONENT { Ok(()) } else { Err(ErrorKind::ExponentTooLarge) }
    }

    /// Whether it was written as an integer.
    pub fn kind(&self) -> NumberKind {
        self.kind
    }

    /// The value as `i64`, if it is an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        self.as_i128().and_then(|value| i64::try_from(value).ok())
    }

    /// The value as `u64`, if it is an integer that fits.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_i128().and_then(|value| u64::try_from(value).ok())
    }

    /// The value as `i128`, if it is an integer.
    pub fn as_i128(&self) -> Option<i128> {
        (self.kind == NumberKind::Integer).then(|| self.signed())
    }

    /// `(mantissa, scale)` with value `mantissa * 10^-scale`; `None` where the plain form
    /// has more than 38 digits.
    pub fn parts(&self) -> Option<(i128, u16)> {
        if self.exponent <= 0 {
            return Some((self.signed(), -self.exponent as u16));
        }
        if digits(self.coefficient) + self.exponent as usize > MAX_DIGITS {
            return None;
        }
        let mantissa = self.coefficient * 10u128.pow(self.exponent as u32);
        Some((if self.negative { -(mantissa as i128) } else { mantissa as i128 }, 0))
    }

    fn signed(&self) -> i128 {
        // At most 38 digits, so it fits an i128.
        if self.negative { -(self.coefficient as i128) } else { self.coefficient as i128 }
    }

    /// Compares the values, whatever the kind: `3` and `3.0` are `Equal` here.
    pub fn compare(&self, other: &Number) -> Ordering {
        match (self.negative, other.negative) {
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            _ => {}
        }
        let order = compare_magnitude(self, other);
        if self.negative { order.reverse() } else { order }
    }

    /// Appends the canonical text: integers as digits; decimals in plain form with at
    /// least one digit after the point where that takes at most 38 digits, and as
    /// `d.ddde±n` beyond.
    pub fn write(&self, out: &mut impl FnMut(u8)) {
        let mut buffer = [0u8; 40];
        let digits = digits_of(self.coefficient, &mut buffer);
        let (length, exponent) = (digits.len() as i32, i32::from(self.exponent));
        // The positions of the first and past the last character, and of the point, which
        // stands before its position; digits are at 0 to `length`, zeros around them.
        let most = MAX_DIGITS as i32;
        let (first, last, point, power) = match self.kind {
            NumberKind::Integer => (0, length, i32::MAX, None),
            _ if exponent >= 0 && length + exponent <= most => (0, length + exponent + 1, length + exponent, None),
            _ if exponent < 0 && -exponent <= most => {
                let point = length + exponent;
                (0.min(point - 1), length, point, None)
            }
            _ => (0, length, 1, Some(exponent + length - 1)),
        };
        if self.negative {
            out(b'-');
        }
        for at in first..last {
            if at == point {
                out(b'.');
            }
            out(usize::try_from(at).ok().and_then(|at| digits.get(at)).copied().unwrap_or(b'0'));
        }
        let Some(power) = power else { return };
        out(b'e');
        if power < 0 {
            out(b'-');
        }
        let mut buffer = [0u8; 40];
        digits_of(power.unsigned_abs().into(), &mut buffer).iter().for_each(|&digit| out(digit));
    }

    /// The canonical text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut |byte| text.push(char::from(byte)));
        text
    }
}

/// What a lexeme says beside its digits.
struct Scanned {
    kind: NumberKind,
    negative: bool,
    exponent: i32,
}

/// Goes through a lexeme and calls `append` for what makes the coefficient: multiply by so
/// many tens, add the digit.
fn scan(lexeme: &[u8], mut append: impl FnMut(u32, u8)) -> Result<Scanned, ErrorKind> {
    let (negative, rest) = match lexeme {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (mut kind, mut exponent, mut significant) = (NumberKind::Integer, 0i32, 0);
    // Zeros are held back until a later digit needs them, so that 1.000… is not too long.
    let mut held: u32 = 0;
    let mut bytes = rest.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'0'..=b'9' => {
                exponent -= i32::from(kind == NumberKind::Decimal);
                if byte == b'0' {
                    held += u32::from(significant != 0);
                } else {
                    significant += held as usize + 1;
                    if significant > MAX_DIGITS {
                        return Err(ErrorKind::NumberTooLong);
                    }
                    append(held + 1, byte - b'0');
                    held = 0;
                }
            }
            b'.' => kind = NumberKind::Decimal,
            _ => {
                kind = NumberKind::Decimal;
                exponent = exponent.saturating_add(read_exponent(bytes.as_slice())?);
                break;
            }
        }
    }
    if held > 0 {
        if kind == NumberKind::Decimal {
            exponent = exponent.saturating_add(held as i32);
        } else if significant + held as usize > MAX_DIGITS {
            return Err(ErrorKind::NumberTooLong);
        } else {
            append(held, 0);
        }
    }
    Ok(Scanned { kind, negative, exponent })
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    /// By value, then integers before decimals, so that it agrees with `Eq`.
    fn cmp(&self, other: &Number) -> Ordering {
        self.compare(other).then(self.kind.cmp(&other.kind))
    }
}

fn compare_magnitude(a: &Number, b: &Number) -> Ordering {
    if a.exponent == b.exponent || a.coefficient == 0 || b.coefficient == 0 {
        return a.coefficient.cmp(&b.coefficient);
    }
    let (a_digits, b_digits) = (digits(a.coefficient) as i32, digits(b.coefficient) as i32);
    let top = (a_digits + i32::from(a.exponent)).cmp(&(b_digits + i32::from(b.exponent)));
    if top != Ordering::Equal {
        return top;
    }
    // Equal leading place: pad the shorter coefficient to the longer one's digits.
    let widen = |coefficient: u128, own: i32, other: i32| shifted(coefficient, (other - own).max(0) as u32);
    widen(a.coefficient, a_digits, b_digits).cmp(&widen(b.coefficient, b_digits, a_digits))
}

/// The same value with no zero at the end of its coefficient; short ones in one word.
fn without_zeros(mut coefficient: u128, mut exponent: i32) -> (u128, i32) {
    while u64::try_from(coefficient).is_err() {
        let (tenth, 0) = divided(coefficient, 10) else { return (coefficient, exponent) };
        coefficient = tenth;
        exponent += 1;
    }
    let mut short = coefficient as u64;
    while short != 0 && short.is_multiple_of(10) {
        short /= 10;
        exponent += 1;
    }
    (u128::from(short), exponent)
}

fn digits(value: u128) -> usize {
    let (mut rest, mut count) = (value, 1);
    while u64::try_from(rest).is_err() {
        rest = divided(rest, 10).0;
        count += 1;
    }
    let mut short = rest as u64;
    while short >= 10 {
        short /= 10;
        count += 1;
    }
    count
}

/// `value * 10^places`, which the caller knows to fit.
#[inline(never)]
fn shifted(value: u128, places: u32) -> u128 {
    (0..places).fold(value, |value, _| value.wrapping_mul(10))
}

/// Quotient and remainder, one 32-bit limb after the other: 128-bit division by anything
/// is slow, and its code is ten times this.
fn divided(value: u128, by: u32) -> (u128, u32) {
    let by = u64::from(by);
    let (mut quotient, mut rest) = (0, 0);
    for shift in [96, 64, 32, 0] {
        let limb = rest << 32 | u64::from((value >> shift) as u32);
        // The divisors are constants, and not zero.
        quotient |= u128::from(limb.checked_div(by).unwrap_or(0)) << shift;
        rest = limb.checked_rem(by).unwrap_or(0);
    }
    (quotient, rest as u32)
}

fn digits_of(mut value: u128, buffer: &mut [u8; 40]) -> &[u8] {
    const AT_ONCE: u32 = 9;
    let (mut low, mut left) = (0, 0);
    let mut count = 0;
    for place in buffer.iter_mut().rev() {
        if left == 0 {
            (value, low) = divided(value, 1_000_000_000);
            left = AT_ONCE;
        }
        *place = b'0' + (low % 10) as u8;
        low /= 10;
        left -= 1;
        count += 1;
        if low == 0 && value == 0 {
            break;
        }
    }
    buffer.get(buffer.len() - count..).unwrap_or_default()
}

fn read_exponent(text: &[u8]) -> Result<i32, ErrorKind> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut value: i32 = 0;
    for &byte in text {
        value = value * 10 + i32::from(byte - b'0');
        if value > 2 * MAX_EXPONENT {
            return Err(ErrorKind::ExponentTooLarge);
        }
    }
    Ok(if negative { -value } else { value })
}
