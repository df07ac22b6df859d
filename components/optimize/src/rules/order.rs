//! One order for what has several.

use auto_lang::{Expr, Op};

use crate::Context;

/// Literals stand on the right: `gt(3, a)` is `lt(a, 3)`.
pub(super) fn literal_right(_: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(op, parts) = expression else { return None };
    let [left @ Expr::Literal(_), right] = parts.as_slice() else { return None };
    if matches!(right, Expr::Literal(_)) {
        return None;
    }
    let turned = match op {
        Op::Eq | Op::Add | Op::Mul => *op,
        Op::Lt => Op::Gt,
        Op::Gt => Op::Lt,
        Op::Le => Op::Ge,
        Op::Ge => Op::Le,
        _ => return None,
    };
    Some(Expr::Call(turned, vec![right.clone(), left.clone()]))
}
