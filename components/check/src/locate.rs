//! Where a program and an expected output part, and where a program is undefined: the
//! deepest expression that can be blamed.

use auto_json::Value;
use auto_lang::{Each, Expr, Op, eval, eval_in};

/// The expression at which the program's value and the expected one part, in text form.
pub fn parting(program: &Expr, input: &Value, expected: &Value) -> String {
    match eval(program, input) {
        None => undefined(program, input).unwrap_or_else(|| program.to_string()),
        Some(_) => descend(program, input, &[], expected).to_string(),
    }
}

/// Variables and their values, the innermost last.
type Bound<'b> = [(&'b str, &'b Value)];

fn descend<'e>(expression: &'e Expr, input: &Value, bound: &Bound, expected: &Value) -> &'e Expr {
    let value_of = |part: &Expr| eval_in(part, input, bound);
    let differs = |part: &Expr, wanted: &Value| value_of(part).as_ref() != Some(wanted);
    match (expression, expected) {
        (Expr::Record(members), Value::Record(wanted)) if wanted.len() == members.len() => {
            let parts = members.iter().map(|(key, member)| wanted.get(key).map(|value| (member, value)));
            let Some(parts) = parts.collect::<Option<Vec<_>>>() else { return expression };
            let first = parts.into_iter().find(|(member, value)| differs(member, value));
            first.map_or(expression, |(member, value)| descend(member, input, bound, value))
        }
        (Expr::List(items), Value::List(wanted)) if items.len() == wanted.len() => {
            let first = items.iter().zip(wanted).find(|(item, value)| differs(item, value));
            first.map_or(expression, |(item, value)| descend(item, input, bound, value))
        }
        (Expr::Call(Op::If, parts), expected) => match parts.as_slice() {
            [condition, yes, no] => {
                let truth = value_of(condition).and_then(|value| value.as_bool());
                let (taken, other) = if truth == Some(true) { (yes, no) } else { (no, yes) };
                // If the other branch is right, the condition is wrong.
                if differs(other, expected) { descend(taken, input, bound, expected) } else { condition }
            }
            _ => expression,
        },
        (Expr::Call(Op::Default, parts), expected) => {
            let first = parts.iter().find(|part| value_of(part).is_some());
            first.map_or(expression, |part| descend(part, input, bound, expected))
        }
        (Expr::Call(Op::Concat, parts), Value::Text(wanted)) => {
            let mut rest = wanted.as_str();
            for part in parts {
                let value = value_of(part);
                match value.as_ref().and_then(Value::as_text).and_then(|text| rest.strip_prefix(text)) {
                    Some(after) => rest = after,
                    None => return part,
                }
            }
            expression
        }
        (Expr::Call(Op::Join, parts), Value::Text(wanted)) => match parts.as_slice() {
            [list, separator] => {
                let wanted = value_of(separator).and_then(|separator| parted(wanted, separator.as_text()?));
                wanted.map_or(expression, |wanted| descend(list, input, bound, &wanted))
            }
            _ => expression,
        },
        (Expr::Each { each: Each::Map, list, variable, body }, Value::List(wanted)) => {
            let Some(Value::List(items)) = value_of(list) else { return expression };
            if items.len() != wanted.len() {
                return list;
            }
            let inside = |item| bound.iter().copied().chain([(variable.as_str(), item)]).collect::<Vec<_>>();
            let first = items
                .iter()
                .zip(wanted)
                .find(|(item, value)| eval_in(body, input, &inside(*item)).as_ref() != Some(*value));
            first.map_or(expression, |(item, value)| descend(body, input, &inside(item), value))
        }
        _ => expression,
    }
}

/// The parts of a text between separators.
fn parted(text: &str, separator: &str) -> Option<Value> {
    (!separator.is_empty()).then(|| Value::List(text.split(separator).map(Value::from).collect()))
}

/// The deepest expression that is undefined although its parts are not, in text form;
/// `None` where the program is defined.
pub fn undefined(program: &Expr, input: &Value) -> Option<String> {
    blame(program, input, &[])
}

fn blame(expression: &Expr, input: &Value, bound: &[(&str, &Value)]) -> Option<String> {
    if eval_in(expression, input, bound).is_some() {
        return None;
    }
    let own = || Some(expression.to_string());
    match expression {
        Expr::Each { list, variable, body, .. } => blame(list, input, bound).or_else(|| {
            let items = eval_in(list, input, bound)?;
            let inner = items.as_list()?.iter().find_map(|item| {
                let bound: Vec<(&str, &Value)> = bound.iter().copied().chain([(variable.as_str(), item)]).collect();
                blame(body, input, &bound)
            });
            inner.or_else(own)
        }),
        // A branch that is not taken is not to blame.
        Expr::Call(Op::If, parts) => match parts.as_slice() {
            [condition, yes, no] => blame(condition, input, bound).or_else(|| {
                let taken = match eval_in(condition, input, bound)?.as_bool() {
                    Some(true) => yes,
                    Some(false) => no,
                    None => return own(),
                };
                blame(taken, input, bound).or_else(own)
            }),
            _ => own(),
        },
        Expr::Call(Op::Default, parts) => parts.last().and_then(|part| blame(part, input, bound)).or_else(own),
        other => other.children().into_iter().find_map(|child| blame(child, input, bound)).or_else(own),
    }
}
