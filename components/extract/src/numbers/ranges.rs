//! Ranges: the end told by the beginning.

use auto_json::Value;
use auto_lang::{Expr, Op, apply};

use super::Printed;

/// A range says its end by its beginning: what is printed later and is always so much more
/// than what was rounded before becomes that and a constant, and a step that is narrower
/// than the range becomes as wide.
pub fn relate(parts: &mut [&mut Printed]) {
    for later in 1..parts.len() {
        let (before, after) = parts.split_at_mut(later);
        let Some(end) = after.first_mut() else { continue };
        for start in before.iter_mut().rev() {
            if start.op != end.op || !(start.rounded || end.rounded) || start.of == end.of {
                continue;
            }
            if let Some(moved) = moved(start, end) {
                end.of = moved;
                break;
            }
        }
    }
}

fn moved(start: &mut Printed, end: &Printed) -> Option<Expr> {
    let pairs: Vec<(&Value, &Value)> = start
        .values
        .iter()
        .zip(&end.values)
        .filter_map(|(start, end)| Some((start.as_ref()?, end.as_ref()?)))
        .collect();
    let literal = |value: Value| Expr::Literal(value);
    if start.op == Op::PrintDate {
        let minutes = Value::from("minutes");
        let first = apply(Op::DateDiff, &[pairs.first()?.1, pairs.first()?.0, &minutes])?;
        let width = first.as_number()?.as_i64()?.rem_euclid(24 * 60);
        let (count, unit) = if width % 60 == 0 { (width / 60, "hours") } else { (width, "minutes") };
        let (count, unit) = (Value::integer(count), Value::from(unit));
        let same = |(start, end): &(&Value, &Value)| apply(Op::DateAdd, &[start, &count, &unit]).as_ref() == Some(*end);
        let fits = width > 0 && pairs.iter().all(same);
        return fits.then(|| Expr::Call(Op::DateAdd, vec![start.of.clone(), literal(count), literal(unit)]));
    }
    let width = apply(Op::Sub, &[pairs.first()?.1, pairs.first()?.0])?;
    let positive = width.as_number()?.parts()?.0 > 0;
    let same = |(start, end): &(&Value, &Value)| apply(Op::Sub, &[end, start]).as_ref() == Some(&width);
    if !positive || !pairs.iter().all(same) {
        return None;
    }
    widen(start, &width);
    Some(Expr::Call(Op::Add, vec![start.of.clone(), literal(width)]))
}

/// Makes the step as wide as the range, if that gives the same.
fn widen(start: &mut Printed, width: &Value) {
    let Expr::Call(Op::Round, arguments) = &start.of else { return };
    let [number, _, rounding] = arguments.as_slice() else { return };
    let one_more = apply(Op::Add, &[width, &Value::integer(1)]);
    for step in [Some(width.clone()), one_more].into_iter().flatten() {
        let same = start.values.iter().flatten().all(|value| {
            let down = apply(Op::Round, &[value, &step, &Value::from("down")]);
            down.zip(value.as_number())
                .is_some_and(|(down, value)| down.as_number().is_some_and(|down| down.compare(value).is_eq()))
        });
        if same {
            start.of = Expr::Call(Op::Round, vec![number.clone(), Expr::Literal(step), rounding.clone()]);
            return;
        }
    }
}
