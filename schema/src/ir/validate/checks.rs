//! Whether a guard's checks make sense, and can ever meet what they measure.

use auto_json::{Number, Value};

use super::Place;
use crate::ir::{Check, Guard, Node, PPM, Step, parse_path, type_at};
use crate::types::Type;
use crate::violation::{Quoted, Violations, brief};

/// Reports what is wrong with a guard.
pub(super) fn check(node: &Node, guard: &Guard, wrong: &mut Violations) {
    if guard.limit > PPM {
        wrong.add("guard", Place(node), format!("the limit is {} of {PPM} parts per million", guard.limit));
    }
    if guard.checks.is_empty() {
        wrong.add("guard", Place(node), "a guard without checks guards nothing");
    }
    let input = node.inputs.first().map(|port| &port.ty);
    for (index, check) in guard.checks.iter().enumerate() {
        if let Err(why) = check_makes_sense(check).and_then(|()| check_reaches(check, input)) {
            wrong.add("guard", format!("{}, check {index}", Place(node)), why);
        }
    }
}

/// The most a score may be scaled by: the whole range of 64 bits is not reached.
const MAX_SCALE: u64 = 1_000_000_000_000;

fn check_makes_sense(check: &Check) -> Result<(), String> {
    match check {
        Check::Shape { ty } => ty.check().map_err(str::to_owned),
        Check::Length { min, max, .. } if min > max => Err(format!("no length is in {min}..={max}")),
        Check::Characters { classes, .. } if *classes > 0xFF => {
            Err(format!("{classes:#b} has bits beyond the eight classes"))
        }
        Check::Range { min, max, .. } => match (canonical_number(min), canonical_number(max)) {
            (Some(low), Some(high)) if low.compare(&high).is_gt() => {
                Err(format!("no number is in {}..={}", Quoted(min), Quoted(max)))
            }
            (Some(_), Some(_)) => Ok(()),
            (None, _) => Err(format!("{} is not the canonical text of a number", Quoted(min))),
            (_, None) => Err(format!("{} is not the canonical text of a number", Quoted(max))),
        },
        Check::Sketch { bits, .. } if !(3..=24).contains(bits) => {
            Err(format!("a table has 2^3 to 2^24 bits, not 2^{bits}"))
        }
        Check::Sketch { bits, table, .. } if table.len() != 1 << (bits - 3) => {
            Err(format!("a table of 2^{bits} bits has {} bytes, this one {}", 1u32 << (bits - 3), table.len()))
        }
        Check::Score { scale, .. } if *scale > MAX_SCALE => {
            Err(format!("a score is scaled by at most {MAX_SCALE} parts per million, not {scale}"))
        }
        _ => Ok(()),
    }
}

fn canonical_number(text: &str) -> Option<Number> {
    let number = *Value::parse(text).ok()?.as_number()?;
    (number.text() == text).then_some(number)
}

/// Whether the check can ever meet a value it measures. One that cannot would score 0
/// for ever and guard nothing.
fn check_reaches(check: &Check, input: Option<&Type>) -> Result<(), String> {
    let (path, wanted) = match check {
        Check::Shape { .. } => return Ok(()),
        Check::Length { path, .. } => (path, "text or a list"),
        Check::Characters { path, .. } | Check::Sketch { path, .. } => (path, "text"),
        Check::Range { path, .. } | Check::Score { path, .. } => (path, "a number"),
    };
    let steps: Vec<Step> = parse_path(path)
        .ok_or_else(|| format!("{} is not a JSON pointer (empty, or `/` and segments)", Quoted(path)))?;
    let Some(input) = input else { return Ok(()) };
    let Some(ty) = type_at(input, &steps) else {
        return Err(format!("{} meets nothing in `{}`", Quoted(path), brief(input)));
    };
    let measured = match (check, ty) {
        (_, Type::Json) => true,
        (Check::Range { .. } | Check::Score { .. }, ty) => matches!(ty, Type::Int | Type::Number),
        (Check::Length { .. }, Type::List(_)) => true,
        (_, ty) => matches!(ty, Type::Text | Type::Bytes | Type::Enum(_)),
    };
    if measured { Ok(()) } else { Err(format!("{} meets `{}`, not {wanted}", Quoted(path), brief(ty))) }
}
