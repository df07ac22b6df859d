//! Deduction on `add`, `sub` and `mul`: the one constant that makes a column of numbers
//! into another.

use auto_json::{Number, Value};
use auto_lang::Op;

/// Constants that make `own` into `wanted` in every row: added, subtracted, subtracted
/// from (then the flag is true), or multiplied by.
pub fn constants(own: &[Number], wanted: &[Number]) -> Vec<(Op, bool, Number)> {
    let apply = |op: Op, a: &Number, b: &Number| {
        auto_lang::apply(op, &[&Value::Number(*a), &Value::Number(*b)]).and_then(|value| value.as_number().copied())
    };
    let (Some(x), Some(y)) = (own.first(), wanted.first()) else { return Vec::new() };
    let mut candidates = Vec::new();
    if let Some(difference) = apply(Op::Sub, y, x) {
        let negative = difference.parts().is_some_and(|(mantissa, _)| mantissa < 0);
        match (negative, apply(Op::Sub, x, y)) {
            (true, Some(positive)) => candidates.push((Op::Sub, false, positive)),
            _ => candidates.push((Op::Add, false, difference)),
        }
    }
    if let Some(sum) = apply(Op::Add, x, y) {
        candidates.push((Op::Sub, true, sum));
    }
    candidates.extend(ratios(x, y).into_iter().map(|ratio| (Op::Mul, false, ratio)));
    candidates.retain(|(op, swapped, constant)| {
        own.iter().zip(wanted).all(|(x, y)| {
            let value = if *swapped { apply(*op, constant, x) } else { apply(*op, x, constant) };
            value.as_ref() == Some(y)
        })
    });
    candidates
}

/// `y / x` where it has at most four decimals: as an integer and as a decimal.
fn ratios(x: &Number, y: &Number) -> Vec<Number> {
    let (Some((x, x_scale)), Some((y, y_scale))) = (x.parts(), y.parts()) else { return Vec::new() };
    if x == 0 {
        return Vec::new();
    }
    let power = |places: u16| 10i128.checked_pow(u32::from(places));
    let quotient = || -> Option<i128> {
        let top = y.checked_mul(power(x_scale)?)?.checked_mul(10_000)?;
        let bottom = x.checked_mul(power(y_scale)?)?;
        (top % bottom == 0).then(|| top / bottom)
    };
    let Some(scaled) = quotient() else { return Vec::new() };
    let whole = (scaled % 10_000 == 0).then(|| Number::integer(scaled / 10_000)).flatten();
    whole.into_iter().chain(Number::decimal(scaled, 4)).collect()
}
