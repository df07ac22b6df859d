//! Choices, connectives and negations.

use auto_json::Value;
use auto_lang::{Expr, Op};
use auto_schema::types::Type;

use crate::Context;
use crate::context::{known, text};

fn choices(expression: &Expr) -> Option<[&Expr; 3]> {
    match expression {
        Expr::Call(Op::If, parts) => <[&Expr; 3]>::try_from(parts.iter().collect::<Vec<_>>()).ok(),
        _ => None,
    }
}

fn choose(condition: Expr, yes: &Expr, no: &Expr) -> Expr {
    Expr::Call(Op::If, vec![condition, yes.clone(), no.clone()])
}

fn not(condition: &Expr) -> Expr {
    Expr::Call(Op::Not, vec![condition.clone()])
}

/// A choice whose condition is known, or does not matter, or is the answer.
pub(super) fn choice(context: &Context, expression: &Expr) -> Option<Expr> {
    let [condition, yes, no] = choices(expression)?;
    if let Some(truth) = known(condition) {
        return Some(if truth { yes } else { no }.clone());
    }
    if yes == no && context.is_total(condition) && context.is_bool(condition) {
        return Some(yes.clone());
    }
    if let Expr::Call(Op::Not, parts) = condition {
        return Some(choose(parts.first()?.clone(), no, yes));
    }
    match (known(yes), known(no)) {
        (Some(true), Some(false)) if context.is_bool(condition) => Some(condition.clone()),
        (Some(false), Some(true)) => Some(not(condition)),
        _ => None,
    }
}

/// `if(a, x, if(b, x, y))` is `if(or(a, b), x, y)`; `if(a, if(b, x, y), y)` is
/// `if(and(a, b), x, y)`.
pub(super) fn merged(_: &Context, expression: &Expr) -> Option<Expr> {
    let [condition, yes, no] = choices(expression)?;
    let both = |op, other: &Expr| Expr::Call(op, vec![condition.clone(), other.clone()]);
    if let Some([other, x, y]) = choices(no)
        && x == yes
    {
        return Some(choose(both(Op::Or, other), x, y));
    }
    match choices(yes) {
        Some([other, x, y]) if y == no => Some(choose(both(Op::And, other), x, y)),
        _ => None,
    }
}

/// A branch that asks what is known by then.
pub(super) fn again(_: &Context, expression: &Expr) -> Option<Expr> {
    let [condition, yes, no] = choices(expression)?;
    if let Some([other, x, _]) = choices(yes)
        && other == condition
    {
        return Some(choose(condition.clone(), x, no));
    }
    match choices(no) {
        Some([other, _, y]) if other == condition => Some(choose(condition.clone(), yes, y)),
        _ => None,
    }
}

fn connective(expression: &Expr) -> Option<(Op, &[Expr])> {
    match expression {
        Expr::Call(op @ (Op::And | Op::Or), parts) => Some((*op, parts)),
        _ => None,
    }
}

/// `and(a, and(b, c))` is `and(a, b, c)`.
pub(super) fn nested(_: &Context, expression: &Expr) -> Option<Expr> {
    let (op, parts) = connective(expression)?;
    let inner = |part: &Expr| connective(part).filter(|(own, _)| *own == op).map(|(_, parts)| parts.to_vec());
    if !parts.iter().any(|part| inner(part).is_some()) {
        return None;
    }
    Some(Expr::Call(op, parts.iter().flat_map(|part| inner(part).unwrap_or_else(|| vec![part.clone()])).collect()))
}

/// Parts that are asked before, that are always `true` in an `and`, or that are never reached.
pub(super) fn idle(context: &Context, expression: &Expr) -> Option<Expr> {
    let (op, parts) = connective(expression)?;
    let stop = op == Op::Or;
    let mut kept: Vec<Expr> = Vec::new();
    for part in parts {
        if known(part) == Some(!stop) || kept.contains(part) {
            continue;
        }
        kept.push(part.clone());
        if known(part) == Some(stop) {
            break;
        }
    }
    match kept.as_slice() {
        [] => Some(Expr::Literal(Value::Bool(!stop))),
        [only] if known(only).is_some() || context.is_bool(only) => Some(only.clone()),
        _ => (kept.len() < parts.len()).then_some(Expr::Call(op, kept)),
    }
}

/// `not(not(a))` is `a`, and `not(lt(a, b))` is `ge(a, b)`.
pub(super) fn negation(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(Op::Not, parts) = expression else { return None };
    let Expr::Call(op, inner) = parts.first()? else { return None };
    let opposite = match op {
        Op::Not => return inner.first().filter(|inner| context.is_bool(inner)).cloned(),
        Op::Lt => Op::Ge,
        Op::Ge => Op::Lt,
        Op::Gt => Op::Le,
        Op::Le => Op::Gt,
        _ => return None,
    };
    Some(Expr::Call(opposite, inner.clone()))
}

/// `eq(a, true)` is `a`, and `eq(a, false)` is `not(a)`.
pub(super) fn truth(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(Op::Eq, parts) = expression else { return None };
    let [side, literal] = parts.as_slice() else { return None };
    let truth = known(literal)?;
    context.is_bool(side).then(|| if truth { side.clone() } else { not(side) })
}

/// A label that an enumeration does not have is never met.
pub(super) fn label(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(Op::Eq, parts) = expression else { return None };
    let [side, literal] = parts.as_slice() else { return None };
    let label = text(literal)?;
    match context.type_of(side)? {
        Type::Enum(labels) if !labels.iter().any(|own| own == label) && context.is_total(side) => {
            Some(Expr::Literal(Value::Bool(false)))
        }
        _ => None,
    }
}
