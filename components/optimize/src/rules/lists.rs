//! Lists: chains that are one step.

use auto_lang::{Each, Expr, Op};

use crate::Context;
use crate::context::{known, number};

/// `reverse(reverse(l))` is `l`, and the first of a reversed list is the last.
pub(super) fn reversed(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(op, parts) = expression else { return None };
    let [Expr::Call(Op::Reverse, inner)] = parts.as_slice() else { return None };
    match op {
        Op::Reverse => inner.first().filter(|list| context.is_list(list)).cloned(),
        Op::First => Some(Expr::Call(Op::Last, inner.clone())),
        Op::Last => Some(Expr::Call(Op::First, inner.clone())),
        Op::Count => Some(Expr::Call(*op, inner.clone())),
        _ => None,
    }
}

/// `nth(l, 0)` is `first(l)`, `drop(l, 0)` is `l`.
pub(super) fn ends(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(op, parts) = expression else { return None };
    let [list, index] = parts.as_slice() else { return None };
    match (op, number(index)?) {
        (Op::Nth, 0) => Some(Expr::Call(Op::First, vec![list.clone()])),
        (Op::Nth, -1) => Some(Expr::Call(Op::Last, vec![list.clone()])),
        (Op::Drop | Op::Slice, 0) if context.is_list(list) => Some(list.clone()),
        (Op::Substr, 0) if context.is_text(list) => Some(list.clone()),
        _ => None,
    }
}

/// `map(l, x => x)` and `filter(l, x => true)` are `l`.
pub(super) fn identity(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Each { each, list, variable, body } = expression else { return None };
    let idle = match each {
        Each::Map => **body == Expr::Variable(variable.clone()),
        Each::Filter => known(body) == Some(true),
        Each::SortBy | Each::GroupBy => false,
    };
    (idle && context.is_list(list)).then(|| (**list).clone())
}

/// `map(map(l, x => f), y => g)` is `map(l, x => g)` with `f` for `y`, where `g` looks at `y`
/// once and always.
pub(super) fn fused(_: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Each { each: Each::Map, list, variable: outer, body: last } = expression else { return None };
    let Expr::Each { each: Each::Map, list, variable, body: first } = &**list else { return None };
    // Nothing in `g` may be called as what `f` reads, or look at another `x`.
    let alone = uses(last, outer) == Some(1) && (outer == variable || uses(last, variable) == Some(0));
    alone.then(|| Expr::Each {
        each: Each::Map,
        list: list.clone(),
        variable: variable.clone(),
        body: Box::new(substituted(last, outer, first)),
    })
}

/// How often an expression reads a variable, each time that it is evaluated; `None` where that
/// cannot be said.
fn uses(expression: &Expr, name: &str) -> Option<usize> {
    match expression {
        Expr::Variable(own) => Some(usize::from(own == name)),
        Expr::Each { .. } => None,
        Expr::Call(op, _) if op.is_lazy() => None,
        other => other.children().into_iter().map(|child| uses(child, name)).sum(),
    }
}

fn substituted(expression: &Expr, name: &str, by: &Expr) -> Expr {
    let each = |items: &[Expr]| items.iter().map(|item| substituted(item, name, by)).collect();
    match expression {
        Expr::Variable(own) if own == name => by.clone(),
        Expr::Field(of, field) => substituted(of, name, by).field(field.as_str()),
        Expr::List(items) => Expr::List(each(items)),
        Expr::Call(op, items) => Expr::Call(*op, each(items)),
        Expr::Record(members) => {
            Expr::Record(members.iter().map(|(key, item)| (key.clone(), substituted(item, name, by))).collect())
        }
        other => other.clone(),
    }
}

/// `filter(filter(l, x => p), x => q)` is `filter(l, x => and(p, q))`.
pub(super) fn filters(_: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Each { each: Each::Filter, list, variable: outer, body: second } = expression else { return None };
    let Expr::Each { each: Each::Filter, list, variable, body: first } = &**list else { return None };
    (outer == variable).then(|| Expr::Each {
        each: Each::Filter,
        list: list.clone(),
        variable: variable.clone(),
        body: Box::new(Expr::Call(Op::And, vec![(**first).clone(), (**second).clone()])),
    })
}
