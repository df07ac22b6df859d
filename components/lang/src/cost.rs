//! Description length: what a program costs to say, in bits. The less, the more likely
//! that it is what the recorded behaviour does and not a table of it.

use auto_json::Value;

use crate::Expr;

/// The description length of an expression, in bits; saturating.
pub fn cost(expression: &Expr) -> u32 {
    let own = match expression {
        Expr::Input | Expr::Variable(_) => 1,
        Expr::Literal(value) => literal_cost(value),
        Expr::Field(..) => FIELD_COST,
        Expr::List(_) => 4,
        // Keys are the output type's, not the program's choice.
        Expr::Record(members) => 2 + members.len() as u32,
        // Each argument past the least is another choice.
        Expr::Call(op, arguments) => {
            let extra = arguments.len().saturating_sub(op.info().least) as u32;
            op.info().cost.saturating_add(extra)
        }
        Expr::Each { each, .. } => each.cost(),
    };
    let part = |index: usize, part: &Expr| match (expression, part) {
        (Expr::Call(op, _), Expr::Literal(Value::Text(text))) => {
            op.literal(index).map_or_else(|| cost(part), |literal| literal.cost(text))
        }
        _ => cost(part),
    };
    expression
        .children()
        .into_iter()
        .enumerate()
        .fold(own, |sum, (index, child)| sum.saturating_add(part(index, child)))
}

/// What a field access costs.
pub const FIELD_COST: u32 = 2;

/// What a scalar costs: round numbers less than odd ones, texts by their length.
pub fn literal_cost(value: &Value) -> u32 {
    match value {
        Value::Null | Value::Bool(_) => 2,
        Value::Number(number) => {
            let text = number.text();
            let significant = text.trim_start_matches('-').trim_matches(['0', '.']).len() as u32;
            let places = text.len() as u32 - significant.min(text.len() as u32);
            2 + 2 * significant + places.div_ceil(2)
        }
        Value::Text(text) => 3u32.saturating_add((text.chars().count() as u32).saturating_mul(3)),
        Value::List(items) => items.iter().fold(4, |sum, item| literal_cost(item).saturating_add(sum)),
        Value::Record(record) => record.iter().fold(4, |sum, (_, item)| literal_cost(item).saturating_add(sum)),
    }
}
