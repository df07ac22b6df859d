//! The syntax tree and its canonical text.

use std::fmt;

use auto_json::{Value, write};

use crate::{Op, layout};

/// An expression.
///
/// The parser gives, and all makers of expressions keep, these invariants: literals are
/// scalars; record keys are unique and in canonical order; calls have the arity of
/// [`crate::ops::OPS`]; the class of `token` and the kind of `type_is` are literals;
/// variables are bound by an enclosing [`Expr::Each`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Expr {
    /// `$`, the input.
    Input,
    /// The variable of a `map` or `filter` around it.
    Variable(String),
    /// `null`, a boolean, a number or a text.
    Literal(Value),
    /// `e.name`, a member of a record.
    Field(Box<Expr>, String),
    /// `[a, b]`.
    List(Vec<Expr>),
    /// `{"k": a}`.
    Record(Vec<(String, Expr)>),
    /// `name(a, b)`.
    Call(Op, Vec<Expr>),
    /// `map(list, x => body)`, `filter`, `sort_by` or `group_by`.
    Each {
        /// Which of them.
        each: Each,
        /// Over what.
        list: Box<Expr>,
        /// The name bound in the body.
        variable: String,
        /// Evaluated with the variable bound to each item in turn.
        body: Box<Expr>,
    },
}

/// What is done with the items of a list. Undefined as soon as the body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Each {
    /// The body's values.
    Map,
    /// The items for which the body is true.
    Filter,
    /// The items in rising order of the body's values, which are texts or numbers, equal ones as
    /// they were.
    SortBy,
    /// Records of a `key`, each distinct value of the body where it first occurs, and the `items`
    /// for which it is that.
    GroupBy,
}

/// All that is done with items.
pub const EACH: [Each; 4] = [Each::Map, Each::Filter, Each::SortBy, Each::GroupBy];

impl Each {
    /// Its name in the text form.
    pub fn name(self) -> &'static str {
        match self {
            Each::Map => "map",
            Each::Filter => "filter",
            Each::SortBy => "sort_by",
            Each::GroupBy => "group_by",
        }
    }

    /// What it adds to a program's description length, in bits.
    pub fn cost(self) -> u32 {
        match self {
            Each::Map => 5,
            Each::Filter => 6,
            Each::SortBy | Each::GroupBy => 7,
        }
    }
}

impl Expr {
    /// An expression that always gives `value`.
    pub fn constant(value: &Value) -> Expr {
        match value {
            Value::List(items) => Expr::List(items.iter().map(Expr::constant).collect()),
            Value::Record(record) => {
                Expr::Record(record.iter().map(|(key, item)| (key.to_owned(), Expr::constant(item))).collect())
            }
            scalar => Expr::Literal(scalar.clone()),
        }
    }

    /// `self.name`.
    #[must_use]
    pub fn field(self, name: impl Into<String>) -> Expr {
        Expr::Field(Box::new(self), name.into())
    }

    /// The direct parts, in order.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Input | Expr::Variable(_) | Expr::Literal(_) => Vec::new(),
            Expr::Field(inner, _) => vec![inner],
            Expr::List(items) | Expr::Call(_, items) => items.iter().collect(),
            Expr::Record(members) => members.iter().map(|(_, item)| item).collect(),
            Expr::Each { list, body, .. } => vec![list, body],
        }
    }

    fn children_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Expr::Input | Expr::Variable(_) | Expr::Literal(_) => Vec::new(),
            Expr::Field(inner, _) => vec![inner],
            Expr::List(items) | Expr::Call(_, items) => items.iter_mut().collect(),
            Expr::Record(members) => members.iter_mut().map(|(_, item)| item).collect(),
            Expr::Each { list, body, .. } => vec![list, body],
        }
    }

    /// The same, but of two numbers that are day and month the other one is the day, wherever a date is
    /// read; none where no date is read from such. What fits both ways does not say which is meant.
    pub fn day_and_month_exchanged(&self) -> Option<Expr> {
        fn exchange(expression: &mut Expr) -> bool {
            let mut any = false;
            if let Expr::Call(Op::ReadDate, arguments) = expression
                && let Some(Expr::Literal(layouts)) = arguments.get_mut(1)
                && let Some(other) = layouts.as_text().and_then(layout::exchanged)
            {
                *layouts = Value::Text(other);
                any = true;
            }
            expression.children_mut().into_iter().fold(any, |any, child| exchange(child) || any)
        }
        let mut other = self.clone();
        exchange(&mut other).then_some(other)
    }

    /// How many nodes.
    pub fn size(&self) -> usize {
        1 + self.children().into_iter().map(Expr::size).sum::<usize>()
    }
}

/// Whether a name can be written without quotes.
pub(crate) fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expr::Input => f.write_str("$"),
            Expr::Variable(name) => f.write_str(name),
            Expr::Literal(value) => write!(f, "{value}"),
            Expr::Field(inner, name) if is_plain(name) => write!(f, "{inner}.{name}"),
            Expr::Field(inner, name) => {
                write!(f, "{inner}.")?;
                quoted(f, name)
            }
            Expr::List(items) => {
                f.write_str("[")?;
                separated(f, items)?;
                f.write_str("]")
            }
            Expr::Record(members) => {
                f.write_str("{")?;
                for (index, (key, item)) in members.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    quoted(f, key)?;
                    write!(f, ": {item}")?;
                }
                f.write_str("}")
            }
            Expr::Call(op, arguments) => {
                write!(f, "{op}(")?;
                separated(f, arguments)?;
                f.write_str(")")
            }
            Expr::Each { each, list, variable, body } => write!(f, "{}({list}, {variable} => {body})", each.name()),
        }
    }
}

fn separated(f: &mut fmt::Formatter<'_>, items: &[Expr]) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        f.write_str(if index > 0 { ", " } else { "" })?;
        write!(f, "{item}")?;
    }
    Ok(())
}

fn quoted(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    write::string(text.as_bytes(), &mut |byte| bytes.push(byte));
    // The writer copies UTF-8 and adds ASCII.
    f.write_str(&String::from_utf8_lossy(&bytes))
}
