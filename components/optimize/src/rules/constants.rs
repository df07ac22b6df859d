//! What can be known without the input.

use auto_json::Value;
use auto_lang::{Expr, Op, eval};

use crate::Context;
use crate::context::text;

/// The longest text of a value that is written out in the place of what computes it.
const LONGEST: usize = 200;

/// A call that reads nothing is its value.
pub(super) fn fold(_: &Context, expression: &Expr) -> Option<Expr> {
    if !matches!(expression, Expr::Call(..) | Expr::Each { .. } | Expr::Field(..))
        || !is_closed(expression, &mut Vec::new())
    {
        return None;
    }
    let value = eval(expression, &Value::Null)?;
    (value.canonical().as_str().len() <= LONGEST.max(expression.to_string().len())).then(|| Expr::constant(&value))
}

/// Whether it reads neither the input nor a variable from outside.
fn is_closed<'e>(expression: &'e Expr, bound: &mut Vec<&'e str>) -> bool {
    match expression {
        Expr::Input => false,
        Expr::Variable(name) => bound.contains(&name.as_str()),
        Expr::Each { list, variable, body, .. } => {
            let list = is_closed(list, bound);
            bound.push(variable);
            let body = is_closed(body, bound);
            bound.pop();
            list && body
        }
        other => other.children().into_iter().all(|child| is_closed(child, bound)),
    }
}

/// `{"a": x, "b": y}.a` is `x` where `y` is defined.
pub(super) fn member(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Field(of, name) = expression else { return None };
    let Expr::Record(members) = &**of else { return None };
    let (_, found) = members.iter().find(|(key, _)| key == name)?;
    let others = members.iter().filter(|(key, _)| key != name);
    others.into_iter().all(|(_, item)| context.is_total(item)).then(|| found.clone())
}

/// `default(x, y)` is `x` where that is defined, and where `y` is the same.
pub(super) fn default(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(Op::Default, parts) = expression else { return None };
    let [first, second] = parts.as_slice() else { return None };
    if first == second || context.is_total(first) {
        return Some(first.clone());
    }
    // What is undefined whatever the input.
    (is_closed(first, &mut Vec::new()) && eval(first, &Value::Null).is_none()).then(|| second.clone())
}

/// Whether a value is of a kind, where its type says so.
pub(super) fn kind(context: &Context, expression: &Expr) -> Option<Expr> {
    use auto_schema::types::Type;
    let (of, wanted) = match expression {
        Expr::Call(Op::TypeIs, parts) => match parts.as_slice() {
            [of, kind] => (of, text(kind)?),
            _ => return None,
        },
        Expr::Call(Op::IsNull, parts) => (parts.first()?, "null"),
        _ => return None,
    };
    let kind = match context.type_of(of)? {
        Type::Unit => "null",
        Type::Bool => "bool",
        Type::Int | Type::Number => "number",
        Type::Text | Type::Bytes | Type::Enum(_) => "text",
        Type::List(_) => "list",
        Type::Record(_) | Type::Map(_) => "record",
        Type::Json | Type::Optional(_) => return None,
    };
    context.is_total(of).then(|| Expr::Literal(Value::Bool(kind == wanted)))
}
