//! The types of expressions: which programs can ever be defined, and of what type their
//! values are.
//!
//! The rules refuse what is undefined for every input of the type (`lower` of a number).
//! What is undefined for some inputs only (a missing optional field, a `json` that turns
//! out to be a list) is left to evaluation, which abstains.

use std::fmt;

use auto_json::{NumberKind, Value};
use auto_schema::types::{Field, Type};

use crate::{Each, Expr, Op};

/// Why an expression is undefined whatever the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// The expression that is, in text form.
    pub at: String,
    /// What does not fit.
    pub message: String,
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "in `{}`: {}", self.at, self.message)
    }
}

impl std::error::Error for TypeError {}

/// The type of an expression's values, where it is defined, for inputs of a type. A
/// literal text is of the enumeration of itself, so that choices among literals are enums.
pub fn type_of(expression: &Expr, input: &Type) -> Result<Type, TypeError> {
    Types { input, bound: Vec::new() }.of(expression)
}

/// [`type_of`] with variables bound, the innermost last.
pub fn type_in(expression: &Expr, input: &Type, bound: &[(String, Type)]) -> Result<Type, TypeError> {
    let bound = bound.iter().map(|(name, ty)| (name.as_str(), ty.clone())).collect();
    Types { input, bound }.of(expression)
}

/// Whether a value of type `given` can be of type `wanted`.
pub fn accepts(wanted: &Type, given: &Type) -> bool {
    match (wanted, given) {
        (Type::Json, _) | (_, Type::Json) => true,
        (Type::Optional(wanted), given) => *given == Type::Unit || accepts(wanted, given),
        (wanted, Type::Optional(given)) => *wanted == Type::Unit || accepts(wanted, given),
        (Type::Int | Type::Number, Type::Int | Type::Number) => true,
        (Type::Enum(some), Type::Enum(others)) => some.iter().any(|label| others.contains(label)),
        (Type::Text | Type::Bytes | Type::Enum(_), Type::Text | Type::Bytes | Type::Enum(_)) => true,
        (Type::List(wanted), Type::List(given)) => accepts(wanted, given),
        (Type::Map(wanted), Type::Map(given)) => accepts(wanted, given),
        (Type::Map(item), Type::Record(fields)) | (Type::Record(fields), Type::Map(item)) => {
            fields.iter().all(|field| field.optional || accepts(&field.ty, item))
        }
        (Type::Record(wanted), Type::Record(given)) => {
            let fits = |field: &Field, others: &[Field]| match others.iter().find(|other| other.name == field.name) {
                Some(other) => field.optional || other.optional || accepts(&field.ty, &other.ty),
                None => field.optional,
            };
            wanted.iter().all(|field| fits(field, given)) && given.iter().all(|field| fits(field, wanted))
        }
        (wanted, given) => wanted == given,
    }
}

/// A type that has all values of both.
pub fn join(a: Type, b: Type) -> Type {
    match (a, b) {
        (a, b) if a == b => a,
        (Type::Json, _) | (_, Type::Json) => Type::Json,
        (Type::Unit, other) | (other, Type::Unit) => match other {
            Type::Optional(_) => other,
            other => Type::optional(other),
        },
        (Type::Optional(a), b) | (b, Type::Optional(a)) => {
            let b = if let Type::Optional(b) = b { *b } else { b };
            Type::optional(join(*a, b))
        }
        (Type::Int | Type::Number, Type::Int | Type::Number) => Type::Number,
        (Type::Enum(mut a), Type::Enum(b)) => {
            a.extend(b);
            a.sort();
            a.dedup();
            Type::Enum(a).canonical()
        }
        (Type::Text | Type::Bytes | Type::Enum(_), Type::Text | Type::Bytes | Type::Enum(_)) => Type::Text,
        (Type::List(a), Type::List(b)) => Type::list(join(*a, *b)),
        (Type::Map(a), Type::Map(b)) => Type::map(join(*a, *b)),
        (Type::Record(a), Type::Record(b)) => Type::Record(join_fields(a, b)).canonical(),
        _ => Type::Json,
    }
}

/// [`join`] of all, in pairs: enumerations grow with every join, so one after the other would take
/// long for a table.
fn join_all(mut types: Vec<Type>) -> Option<Type> {
    while types.len() > 1 {
        let mut rest = types.into_iter();
        let mut pairs = Vec::new();
        while let Some(first) = rest.next() {
            pairs.push(match rest.next() {
                Some(second) => join(first, second),
                None => first,
            });
        }
        types = pairs;
    }
    types.pop()
}

fn join_fields(a: Vec<Field>, mut b: Vec<Field>) -> Vec<Field> {
    let mut fields = Vec::new();
    for field in a {
        match b.iter().position(|other| other.name == field.name) {
            Some(at) => {
                let other = b.remove(at);
                let optional = field.optional || other.optional;
                fields.push(Field { name: field.name, optional, ty: join(field.ty, other.ty) });
            }
            None => fields.push(Field { optional: true, ..field }),
        }
    }
    fields.extend(b.into_iter().map(|field| Field { optional: true, ..field }));
    fields
}

struct Types<'a> {
    input: &'a Type,
    bound: Vec<(&'a str, Type)>,
}

impl<'a> Types<'a> {
    fn of(&mut self, expression: &'a Expr) -> Result<Type, TypeError> {
        match expression {
            Expr::Input => Ok(self.input.clone()),
            Expr::Literal(value) => Ok(literal(value)),
            Expr::Variable(name) => match self.bound.iter().rev().find(|(bound, _)| bound == name) {
                Some((_, ty)) => Ok(ty.clone()),
                None => fail(expression, format!("`{name}` is not bound")),
            },
            Expr::Field(inner, name) => {
                let ty = self.of(inner)?;
                member(&ty, name).map_or_else(|| fail(expression, format!("{ty} has no field `{name}`")), Ok)
            }
            Expr::List(items) => {
                let types: Result<Vec<Type>, TypeError> = items.iter().map(|item| self.of(item)).collect();
                Ok(Type::list(join_all(types?).unwrap_or(Type::Json)))
            }
            Expr::Record(members) => {
                let fields: Result<Vec<Field>, TypeError> =
                    members.iter().map(|(key, item)| Ok(Field::new(key, self.of(item)?))).collect();
                Ok(Type::Record(fields?))
            }
            Expr::Each { each, list, variable, body } => {
                let list_type = self.of(list)?;
                let item = items_of(expression, &list_type)?;
                self.bound.push((variable, item.clone()));
                let result = self.of(body);
                self.bound.pop();
                let result = result?;
                match each {
                    Each::SortBy if accepts(&Type::Text, &result) || accepts(&Type::Number, &result) => {
                        Ok(Type::list(item))
                    }
                    Each::SortBy => fail(expression, format!("`sort_by` takes texts or numbers, not {result}")),
                    Each::GroupBy => Ok(Type::list(Type::Record(vec![
                        Field::new("items", Type::list(item)),
                        Field::new("key", result),
                    ]))),
                    Each::Map => Ok(Type::list(result)),
                    Each::Filter => want(expression, &Type::Bool, &result).map(|()| Type::list(item)),
                }
            }
            Expr::Call(op, arguments) => {
                let types: Result<Vec<Type>, TypeError> = arguments.iter().map(|argument| self.of(argument)).collect();
                call(expression, *op, types?)
            }
        }
    }
}

fn call(at: &Expr, op: Op, types: Vec<Type>) -> Result<Type, TypeError> {
    let info = op.info();
    if types.len() < info.least || types.len() > info.most {
        return fail(at, format!("`{op}` takes {}", info.types));
    }
    for (index, literal) in op.literals() {
        let given = literals(at).nth(*index).flatten();
        let checked = given.map_or_else(|| Err("it is written out".to_owned()), |text| literal.check(text));
        if let Err(why) = checked {
            return fail(at, format!("`{op}` takes {}: {why}", info.types));
        }
    }
    let all = |wanted: &[Type]| -> Result<(), TypeError> {
        // The last wanted type stands for every argument from there on.
        let last = wanted.len().saturating_sub(1);
        types.iter().enumerate().try_for_each(|(index, given)| want(at, &wanted[index.min(last)], given))
    };
    let item = || items_of(at, &types[0]);
    let texts = Type::list(Type::Text);
    match op {
        Op::Lower | Op::Upper | Op::Title | Op::Trim | Op::Collapse | Op::Concat | Op::Replace | Op::Strip => {
            all(&[Type::Text]).map(|()| Type::Text)
        }
        Op::Before | Op::After | Op::Between | Op::Digits | Op::Letters => all(&[Type::Text]).map(|()| Type::Text),
        Op::Split | Op::Words | Op::Lines => all(&[Type::Text]).map(|()| texts),
        Op::Join => all(&[texts, Type::Text]).map(|()| Type::Text),
        Op::Chars => all(&[Type::Text]).map(|()| Type::Int),
        Op::Substr => all(&[Type::Text, Type::Int]).map(|()| Type::Text),
        Op::Every => all(&[Type::Text, Type::Int]).map(|()| Type::Text),
        Op::Starts | Op::Ends | Op::Contains => all(&[Type::Text]).map(|()| Type::Bool),
        Op::Number => all(&[Type::Text]).map(|()| Type::Number),
        Op::Text if types[0] == Type::Bool => Ok(Type::Text),
        Op::Text => all(&[Type::Number]).map(|()| Type::Text),
        Op::Cut | Op::Substitute => all(&[Type::Text]).map(|()| Type::Text),
        Op::Matches | Op::SplitOn => all(&[Type::Text]).map(|()| texts),
        Op::Has => all(&[Type::Text]).map(|()| Type::Bool),
        Op::Token | Op::Match => all(&[Type::Text, Type::Text, Type::Int]).map(|()| Type::Text),
        Op::First | Op::Last => item(),
        Op::Nth => all(&[Type::list(Type::Json), Type::Int]).and_then(|()| item()),
        Op::Take | Op::Drop | Op::Slice => {
            all(&[Type::list(Type::Json), Type::Int]).and_then(|()| item()).map(Type::list)
        }
        Op::Reverse | Op::Dedup => item().map(Type::list),
        Op::Sort => {
            let item = item()?;
            if accepts(&Type::Text, &item) || accepts(&Type::Number, &item) {
                return Ok(Type::list(item));
            }
            fail(at, format!("`sort` takes texts or numbers, not {item}"))
        }
        Op::Pad => all(&[Type::Text, Type::Int, Type::Text]).map(|()| Type::Text),
        Op::Mirror | Op::Recase | Op::Unaccent | Op::Normalize => all(&[Type::Text]).map(|()| Type::Text),
        Op::Find | Op::Occurrences => all(&[Type::Text]).map(|()| Type::Int),
        Op::Flatten => items_of(at, &item()?).map(Type::list),
        Op::Zip => {
            let items = join(item()?, items_of(at, &types[1])?);
            Ok(Type::list(Type::list(items)))
        }
        Op::Transpose => items_of(at, &item()?).map(|cell| Type::list(Type::list(cell))),
        Op::IndexOf => item().map(|_| Type::Int),
        Op::Get => {
            want(at, &Type::Text, &types[1])?;
            members_of(at, &types[0])
        }
        Op::Keys => members_of(at, &types[0]).map(|_| texts),
        Op::Values => members_of(at, &types[0]).map(Type::list),
        Op::Entries => {
            let value = members_of(at, &types[0])?;
            Ok(Type::list(Type::Record(vec![Field::new("key", Type::Text), Field::new("value", value)])))
        }
        Op::Gather => match item()? {
            Type::Record(fields) => {
                let entry = [Field::new("key", Type::Text), Field::new("value", Type::Json)];
                want(at, &Type::Record(entry.to_vec()), &Type::Record(fields.clone()))?;
                Ok(Type::map(member(&Type::Record(fields), "value").unwrap_or(Type::Json)))
            }
            _ => members_of(at, &item()?).map(|_| Type::map(Type::Json)),
        },
        Op::Merge => Ok(Type::map(join(members_of(at, &types[0])?, members_of(at, &types[1])?))),
        Op::Pick | Op::Omit => {
            want(at, &texts, &types[1])?;
            members_of(at, &types[0]).map(Type::map)
        }
        Op::Rename => {
            types.iter().skip(1).try_for_each(|name| want(at, &Type::Text, name))?;
            members_of(at, &types[0]).map(Type::map)
        }
        Op::ReadPairs | Op::ReadQuery => all(&[Type::Text]).map(|()| Type::map(Type::Text)),
        Op::ReadCsv => all(&[Type::Text]).map(|()| texts),
        Op::ReadJson => all(&[Type::Text]).map(|()| Type::Json),
        Op::PrintJson => Ok(Type::Text),
        Op::Digest => Ok(Type::Int),
        Op::Count => item().map(|_| Type::Int),
        Op::Sum | Op::Min | Op::Max => {
            let item = item()?;
            want(at, &Type::Number, &item).map(|()| if item == Type::Int { Type::Int } else { Type::Number })
        }
        Op::Includes => item().map(|_| Type::Bool),
        Op::Add | Op::Sub | Op::Mul | Op::Mod | Op::Neg | Op::Abs => {
            let whole = types.iter().all(|ty| *ty == Type::Int);
            all(&[Type::Number]).map(|()| if whole { Type::Int } else { Type::Number })
        }
        Op::Div => all(&[Type::Number]).map(|()| Type::Int),
        Op::Ratio => all(&[Type::Number, Type::Number, Type::Int]).map(|()| Type::Number),
        Op::Round => {
            let whole = types[1] == Type::Int;
            all(&[Type::Number, Type::Number, Type::Text]).map(|()| if whole { Type::Int } else { Type::Number })
        }
        Op::ReadDate | Op::PrintDate => all(&[Type::Text]).map(|()| Type::Text),
        Op::DatePart => all(&[Type::Text]).map(|()| Type::Int),
        Op::DateAdd => all(&[Type::Text, Type::Int, Type::Text]).map(|()| Type::Text),
        Op::DateDiff => all(&[Type::Text]).map(|()| Type::Int),
        Op::DateRound => all(&[Type::Text, Type::Int, Type::Text]).map(|()| Type::Text),
        Op::ReadNumber => all(&[Type::Text]).map(|()| Type::Number),
        Op::PrintNumber => all(&[Type::Number, Type::Text]).map(|()| Type::Text),
        Op::Ordinal | Op::Roman | Op::Spell => all(&[Type::Int]).map(|()| Type::Text),
        Op::Unroman | Op::Unspell => all(&[Type::Text]).map(|()| Type::Int),
        Op::Lt | Op::Le | Op::Gt | Op::Ge => all(&[Type::Number]).map(|()| Type::Bool),
        Op::And | Op::Or | Op::Not => all(&[Type::Bool]).map(|()| Type::Bool),
        Op::Eq | Op::IsNull | Op::TypeIs => Ok(Type::Bool),
        Op::If => {
            want(at, &Type::Bool, &types[0])?;
            Ok(join(types[1].clone(), types[2].clone()))
        }
        Op::Default => Ok(join(types[0].clone(), types[1].clone())),
    }
}

/// The arguments of a call: their texts, where they are literals.
fn literals(call: &Expr) -> impl Iterator<Item = Option<&str>> {
    call.children().into_iter().map(|argument| match argument {
        Expr::Literal(value) => value.as_text(),
        _ => None,
    })
}

fn want(at: &Expr, wanted: &Type, given: &Type) -> Result<(), TypeError> {
    if accepts(wanted, given) { Ok(()) } else { fail(at, format!("expected {wanted}, got {given}")) }
}

/// The type of a list's items.
pub fn items(ty: &Type) -> Option<Type> {
    match ty {
        Type::List(item) => Some((**item).clone()),
        Type::Optional(inner) => items(inner),
        Type::Json => Some(Type::Json),
        _ => None,
    }
}

fn items_of(at: &Expr, ty: &Type) -> Result<Type, TypeError> {
    items(ty).map_or_else(|| fail(at, format!("expected a list, got {ty}")), Ok)
}

/// A type of all members of a record.
fn members_of(at: &Expr, ty: &Type) -> Result<Type, TypeError> {
    match ty {
        Type::Map(item) => Ok((**item).clone()),
        Type::Record(fields) => Ok(fields.iter().map(|field| field.ty.clone()).reduce(join).unwrap_or(Type::Json)),
        Type::Optional(inner) => members_of(at, inner),
        Type::Json => Ok(Type::Json),
        other => fail(at, format!("expected a record, got {other}")),
    }
}

fn member(ty: &Type, name: &str) -> Option<Type> {
    match ty {
        Type::Json => Some(Type::Json),
        Type::Optional(inner) => member(inner, name),
        Type::Map(item) => Some((**item).clone()),
        Type::Record(fields) => fields.iter().find(|field| field.name == name).map(|field| field.ty.clone()),
        _ => None,
    }
}

fn literal(value: &Value) -> Type {
    match value {
        Value::Null => Type::Unit,
        Value::Bool(_) => Type::Bool,
        Value::Number(number) if number.kind() == NumberKind::Integer => Type::Int,
        Value::Number(_) => Type::Number,
        Value::Text(text) => Type::Enum(vec![text.clone()]),
        Value::List(_) | Value::Record(_) => Type::infer([value].into_iter()),
    }
}

fn fail<T>(at: &Expr, message: String) -> Result<T, TypeError> {
    Err(TypeError { at: at.to_string(), message })
}
