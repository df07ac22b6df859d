//! What is known of an expression from the type of the input.

use auto_json::Value;
use auto_lang::{Expr, Op, type_in};
use auto_schema::types::Type;

/// The type of the input, and those of the variables around an expression.
pub struct Context<'t> {
    input: &'t Type,
    bound: Vec<(String, Type)>,
}

impl<'t> Context<'t> {
    /// Without variables.
    pub fn new(input: &'t Type) -> Context<'t> {
        Context { input, bound: Vec::new() }
    }

    pub(crate) fn bind(&mut self, variable: &str, ty: Type) {
        self.bound.push((variable.to_owned(), ty));
    }

    pub(crate) fn unbind(&mut self) {
        self.bound.pop();
    }

    /// The type of its values, where it is defined.
    pub fn type_of(&self, expression: &Expr) -> Option<Type> {
        type_in(expression, self.input, &self.bound).ok()
    }

    /// Whether every value of it is a boolean.
    pub fn is_bool(&self, expression: &Expr) -> bool {
        self.type_of(expression) == Some(Type::Bool)
    }

    /// Whether every value of it is a text.
    pub fn is_text(&self, expression: &Expr) -> bool {
        matches!(self.type_of(expression), Some(Type::Text | Type::Bytes | Type::Enum(_)))
    }

    /// Whether every value of it is a number.
    pub fn is_number(&self, expression: &Expr) -> bool {
        matches!(self.type_of(expression), Some(Type::Int | Type::Number))
    }

    /// Whether every value of it is a list.
    pub fn is_list(&self, expression: &Expr) -> bool {
        matches!(self.type_of(expression), Some(Type::List(_)))
    }

    /// Whether it is defined for every input. What could be too long is not.
    pub fn is_total(&self, expression: &Expr) -> bool {
        match expression {
            Expr::Input | Expr::Variable(_) | Expr::Literal(_) => true,
            Expr::Field(of, name) => {
                let has = |ty| matches!(ty, Type::Record(fields) if fields.iter().any(|field| field.name == *name && !field.optional));
                self.is_total(of) && self.type_of(of).is_some_and(has)
            }
            Expr::List(items) => items.iter().all(|item| self.is_total(item)),
            Expr::Record(members) => members.iter().all(|(_, item)| self.is_total(item)),
            Expr::Call(Op::Default, parts) => parts.last().is_some_and(|last| self.is_total(last)),
            Expr::Call(op, parts) => parts.iter().all(|part| self.is_total(part)) && self.never_fails(*op, parts),
            Expr::Each { .. } => false,
        }
    }

    /// Whether an operator is defined for all values of its parts.
    fn never_fails(&self, op: Op, parts: &[Expr]) -> bool {
        let texts = || parts.iter().all(|part| self.is_text(part));
        match op {
            Op::Chars
            | Op::Starts
            | Op::Ends
            | Op::Contains
            | Op::Words
            | Op::Lines
            | Op::Trim
            | Op::Strip
            | Op::Has => texts(),
            Op::Lt | Op::Le | Op::Gt | Op::Ge => parts.iter().all(|part| self.is_number(part)),
            Op::Not | Op::And | Op::Or => parts.iter().all(|part| self.is_bool(part)),
            Op::Count | Op::Reverse | Op::Dedup => parts.iter().all(|part| self.is_list(part)),
            Op::Includes => parts.first().is_some_and(|list| self.is_list(list)),
            Op::If => parts.first().is_some_and(|condition| self.is_bool(condition)),
            Op::Eq | Op::IsNull | Op::TypeIs => true,
            _ => false,
        }
    }
}

/// A boolean that is written out.
pub(crate) fn known(expression: &Expr) -> Option<bool> {
    match expression {
        Expr::Literal(Value::Bool(value)) => Some(*value),
        _ => None,
    }
}

/// A text that is written out.
pub(crate) fn text(expression: &Expr) -> Option<&str> {
    match expression {
        Expr::Literal(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// A number that is written out and fits 64 bits.
pub(crate) fn number(expression: &Expr) -> Option<i64> {
    match expression {
        Expr::Literal(value) => value.as_i64(),
        _ => None,
    }
}
