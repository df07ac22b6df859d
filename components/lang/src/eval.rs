//! What expressions mean: the evaluator, over values in memory.
//!
//! Texts and numbers are worked on by the kernels that artifacts run; lists are vectors
//! here and arena nodes there, by the same rules.

use std::borrow::Cow;

use auto_json::{Record, Value};

use crate::apply::lists;
use crate::{Each, Expr, MAX_DEPTH, Op, apply};

/// The value of an expression for an input; `None` where it is undefined.
pub fn eval(expression: &Expr, input: &Value) -> Option<Value> {
    eval_in(expression, input, &[])
}

/// [`eval`] with variables bound, the innermost last.
pub fn eval_in(expression: &Expr, input: &Value, bound: &[(&str, &Value)]) -> Option<Value> {
    bind(expression, input, bound, None)
}

/// Binds the variables one by one on the stack, then evaluates.
fn bind(expression: &Expr, input: &Value, bound: &[(&str, &Value)], outer: Option<&Scope>) -> Option<Value> {
    match bound {
        [] => Evaluator { input }.eval(expression, outer, MAX_DEPTH).map(Cow::into_owned),
        [(name, value), rest @ ..] => bind(expression, input, rest, Some(&Scope { name, value, outer })),
    }
}

/// A bound variable, and those bound around it.
struct Scope<'a> {
    name: &'a str,
    value: &'a Value,
    outer: Option<&'a Scope<'a>>,
}

struct Evaluator<'a> {
    input: &'a Value,
}

impl<'a> Evaluator<'a> {
    fn eval<'b>(&self, expression: &'b Expr, scope: Option<&'b Scope<'b>>, fuel: usize) -> Option<Cow<'b, Value>>
    where
        'a: 'b,
    {
        let fuel = fuel.checked_sub(1)?;
        match expression {
            Expr::Input => Some(Cow::Borrowed(self.input)),
            Expr::Literal(value) => Some(Cow::Borrowed(value)),
            Expr::Variable(name) => lookup(name, scope).map(Cow::Borrowed),
            Expr::Field(of, name) => match self.eval(of, scope, fuel)? {
                Cow::Borrowed(value) => value.get(name).map(Cow::Borrowed),
                Cow::Owned(Value::Record(mut record)) => record.remove(name).map(Cow::Owned),
                Cow::Owned(_) => None,
            },
            Expr::List(items) => {
                let items: Option<Vec<Value>> =
                    items.iter().map(|item| self.eval(item, scope, fuel).map(Cow::into_owned)).collect();
                Some(Cow::Owned(Value::List(items?)))
            }
            Expr::Record(members) => {
                let mut record = Record::new();
                for (key, item) in members {
                    record.set(key.as_str(), self.eval(item, scope, fuel)?.into_owned());
                }
                Some(Cow::Owned(Value::Record(record)))
            }
            Expr::Call(op, arguments) if op.is_lazy() => self.lazy(*op, arguments, scope, fuel),
            Expr::Call(op, arguments) => {
                let arguments: Option<Vec<Cow<Value>>> =
                    arguments.iter().map(|argument| self.eval(argument, scope, fuel)).collect();
                let arguments = arguments?;
                let arguments: Vec<&Value> = arguments.iter().map(|argument| &**argument).collect();
                apply(*op, &arguments).map(Cow::Owned)
            }
            Expr::Each { each, list, variable, body } => {
                let list = self.eval(list, scope, fuel)?;
                let items = list.as_list()?;
                let mut result = Vec::new();
                for item in items {
                    let inner = Scope { name: variable, value: item, outer: scope };
                    let value = self.eval(body, Some(&inner), fuel)?;
                    match each {
                        Each::Map | Each::SortBy | Each::GroupBy => result.push(value.into_owned()),
                        Each::Filter if value.as_bool()? => result.push(item.clone()),
                        Each::Filter => {}
                    }
                }
                let result = match each {
                    Each::Map | Each::Filter => result,
                    Each::SortBy => lists::sorted_by(items, result)?,
                    Each::GroupBy => lists::grouped_by(items, result),
                };
                Some(Cow::Owned(Value::List(result)))
            }
        }
    }

    fn lazy<'b>(
        &self,
        op: Op,
        arguments: &'b [Expr],
        scope: Option<&'b Scope<'b>>,
        fuel: usize,
    ) -> Option<Cow<'b, Value>>
    where
        'a: 'b,
    {
        match (op, arguments) {
            (Op::If, [condition, yes, no]) => {
                let taken = if self.eval(condition, scope, fuel)?.as_bool()? { yes } else { no };
                self.eval(taken, scope, fuel)
            }
            (Op::Default, [first, second]) => self.eval(first, scope, fuel).or_else(|| self.eval(second, scope, fuel)),
            (Op::And | Op::Or, arguments) => {
                let stop = op == Op::Or;
                for argument in arguments {
                    if self.eval(argument, scope, fuel)?.as_bool()? == stop {
                        return Some(Cow::Owned(Value::Bool(stop)));
                    }
                }
                Some(Cow::Owned(Value::Bool(!stop)))
            }
            _ => None,
        }
    }
}

fn lookup<'b>(name: &str, mut scope: Option<&'b Scope<'b>>) -> Option<&'b Value> {
    while let Some(current) = scope {
        if current.name == name {
            return Some(current.value);
        }
        scope = current.outer;
    }
    None
}
