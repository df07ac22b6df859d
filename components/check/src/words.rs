//! Expressions and figures in words.

use auto_json::Value;
use auto_lang::{Expr, Op};

/// Longer values are cut.
const MOST_CHARACTERS: usize = 160;

/// A value's text, cut where it is long.
pub fn value(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MOST_CHARACTERS) {
        Some((cut, _)) => format!("{}… ({} bytes)", &text[..cut], text.len()),
        None => text,
    }
}

/// Parts per million as a percentage, exactly.
pub fn share(ppm: u32) -> String {
    let (whole, rest) = (ppm / 10_000, ppm % 10_000);
    if rest == 0 {
        return format!("{whole}%");
    }
    let digits = format!("{rest:04}");
    format!("{whole}.{}%", digits.trim_end_matches('0'))
}

/// A condition, where there is a plainer way to say it than a call.
pub fn condition(expression: &Expr) -> String {
    let Expr::Call(op, parts) = expression else { return expression.to_string() };
    let joined = |word: &str| parts.iter().map(nested).collect::<Vec<_>>().join(word);
    match (op, parts.as_slice()) {
        (Op::Lt, [a, b]) => format!("{a} < {b}"),
        (Op::Le, [a, b]) => format!("{a} <= {b}"),
        (Op::Gt, [a, b]) => format!("{a} > {b}"),
        (Op::Ge, [a, b]) => format!("{a} >= {b}"),
        (Op::Eq, [a, b]) => format!("{a} is {b}"),
        (Op::Contains, [a, b]) => format!("{a} contains {b}"),
        (Op::Starts, [a, b]) => format!("{a} starts with {b}"),
        (Op::Ends, [a, b]) => format!("{a} ends with {b}"),
        (Op::Includes, [a, b]) => format!("{a} includes {b}"),
        (Op::IsNull, [a]) => format!("{a} is null"),
        (Op::And, _) => joined(" and "),
        (Op::Or, _) => joined(" or "),
        (Op::Not, [a]) => format!("not ({})", condition(a)),
        (Op::Default, [a, Expr::Literal(Value::Bool(false))]) => format!("{} (no where undefined)", condition(a)),
        _ => expression.to_string(),
    }
}

fn nested(part: &Expr) -> String {
    match part {
        Expr::Call(Op::And | Op::Or, _) => format!("({})", condition(part)),
        part => condition(part),
    }
}
