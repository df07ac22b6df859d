//! Texts: what is done for nothing, and plain operators in the place of patterns.

use auto_json::Value;
use auto_lang::pattern::{Item, Pattern, Position};
use auto_lang::{Expr, Op};
use auto_rt::kernels::class::{CLASSES, Class};

use crate::Context;
use crate::context::text;

fn literal(text: &str) -> Expr {
    Expr::Literal(Value::Text(text.to_owned()))
}

/// Texts in texts in a row, and literals next to one another.
pub(super) fn concat(_: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(Op::Concat, parts) = expression else { return None };
    let mut joined: Vec<Expr> = Vec::new();
    for part in parts {
        let inner = match part {
            Expr::Call(Op::Concat, inner) => inner.as_slice(),
            part => std::slice::from_ref(part),
        };
        for part in inner {
            match (joined.last().and_then(text), text(part)) {
                (Some(before), Some(more)) => {
                    let both = literal(&format!("{before}{more}"));
                    joined.pop();
                    joined.push(both);
                }
                _ => joined.push(part.clone()),
            }
        }
    }
    if joined.len() > 1 {
        joined.retain(|part| text(part) != Some(""));
    }
    let changed = joined.len() < parts.len() || parts.iter().any(|part| matches!(part, Expr::Call(Op::Concat, _)));
    (changed && !joined.is_empty()).then_some(Expr::Call(Op::Concat, joined))
}

/// What has no effect the second time.
pub(super) fn twice(_: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(op, parts) = expression else { return None };
    let inner = parts.first()?;
    let Expr::Call(again, inside) = inner else { return None };
    let idempotent = matches!(
        op,
        Op::Lower
            | Op::Upper
            | Op::Trim
            | Op::Collapse
            | Op::Digits
            | Op::Letters
            | Op::Sort
            | Op::Dedup
            | Op::Abs
            | Op::Unaccent
    );
    let same_set = *op == Op::Strip && parts.get(1) == inside.get(1);
    (op == again && (idempotent || same_set)).then(|| inner.clone())
}

/// A pattern that is one literal or one class.
pub(super) fn pattern(_: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(op, parts) = expression else { return None };
    let (subject, rest) = (parts.first()?, parts.get(2..).unwrap_or_default());
    if !matches!(op, Op::Match | Op::Has | Op::SplitOn | Op::Substitute) {
        return None;
    }
    let pattern = Pattern::parse(text(parts.get(1)?)?).ok()?;
    let [item] = pattern.0.as_slice() else { return None };
    let (plain, argument) = match (op, item) {
        (Op::Match, Item::Class(class)) => (Op::Token, name(*class)),
        (Op::Has, Item::Literal(part)) => (Op::Contains, part.as_str()),
        (Op::SplitOn, Item::Literal(part)) => (Op::Split, part.as_str()),
        (Op::Substitute, Item::Literal(part)) => (Op::Replace, part.as_str()),
        _ => return None,
    };
    let arguments = [subject.clone(), literal(argument)].into_iter().chain(rest.iter().cloned());
    Some(Expr::Call(plain, arguments.collect()))
}

fn name(class: Class) -> &'static str {
    CLASSES.iter().find(|(_, own)| *own == class).map_or("", |(name, _)| name)
}

/// A cut at the first place of a literal.
pub(super) fn cut(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(Op::Cut, parts) = expression else { return None };
    let [subject, from, to] = parts.as_slice() else { return None };
    let (from, to) = (Position::parse(text(from)?).ok()?, Position::parse(text(to)?).ok()?);
    let (start, end) = (from == Position::Offset(0), is_end(&to));
    match (behind(&from), before(&to)) {
        _ if start && end && context.is_text(subject) => Some(subject.clone()),
        (_, Some((part, _))) if start => Some(Expr::Call(Op::Before, vec![subject.clone(), literal(&part)])),
        (Some(part), _) if end => Some(Expr::Call(Op::After, vec![subject.clone(), literal(&part)])),
        (Some(left), Some((right, true))) => {
            Some(Expr::Call(Op::Between, vec![subject.clone(), literal(&left), literal(&right)]))
        }
        _ => None,
    }
}

fn is_end(position: &Position) -> bool {
    match position {
        Position::Between { left, right, .. } => {
            left.0.is_empty() && right.0 == [Item::Class(Class::End)] && is_first(position)
        }
        Position::Offset(_) => false,
    }
}

/// Whether it is the first of its places; of the end of a text there is one.
fn is_first(position: &Position) -> bool {
    matches!(position, Position::Between { k: 0, .. })
}

/// The literal that it is right behind, in the whole text.
fn behind(position: &Position) -> Option<String> {
    match position {
        Position::Between { left, right, k: 0, rest: false } if right.0.is_empty() => only(left),
        _ => None,
    }
}

/// The literal that it is right before, and whether it is looked for in the rest alone.
fn before(position: &Position) -> Option<(String, bool)> {
    match position {
        Position::Between { left, right, k: 0, rest } if left.0.is_empty() => Some((only(right)?, *rest)),
        _ => None,
    }
}

fn only(pattern: &Pattern) -> Option<String> {
    match pattern.0.as_slice() {
        [Item::Literal(text)] => Some(text.clone()),
        _ => None,
    }
}

/// `join(split(x, a), b)` is `replace(x, a, b)`.
pub(super) fn replace(context: &Context, expression: &Expr) -> Option<Expr> {
    let Expr::Call(Op::Join, parts) = expression else { return None };
    let [Expr::Call(Op::Split, split), to] = parts.as_slice() else { return None };
    let [subject, from] = split.as_slice() else { return None };
    context.is_text(to).then(|| Expr::Call(Op::Replace, vec![subject.clone(), from.clone(), to.clone()]))
}
