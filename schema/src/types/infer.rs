//! The smallest type of some values: a join over what has been seen.

use core::cmp::Ordering;

use auto_json::write::compare_keys;
use auto_json::{NumberKind, Value};

use super::{Field, Type};

impl Type {
    /// A type that accepts all the values, in canonical form; the same whatever their
    /// order.
    ///
    /// A field that some values lack is optional, and so is the type of what was `null`
    /// and something else; integers among other numbers are numbers; what has nothing in
    /// common, or was never seen (the items of an empty list), is `json`. It never
    /// guesses an enum, a map or bytes.
    pub fn infer<'a>(values: impl Iterator<Item = &'a Value>) -> Type {
        values.map(Seen::of).fold(Seen::NOTHING, Seen::join).finish()
    }
}

/// The most labels of an enumeration that is guessed, and how often each must have been
/// seen on average.
const MOST_LABELS: usize = 12;
const LABEL_SUPPORT: usize = 3;

/// How many different keys objects have at least that are taken for data, and of what share of
/// the objects each is in at most, in parts of all.
const LEAST_KEYS: usize = 8;
const KEY_SHARE: usize = 2;

impl Type {
    /// The type with each text that took few values, each seen often, as an enumeration of
    /// them: a draft for a person to read, since the next value may be a new one.
    #[must_use]
    pub fn with_labels(self, values: &[&Value]) -> Type {
        self.redrafted(values, &|ty, values| match ty {
            Type::Text => labels(values).map(Type::Enum),
            _ => None,
        })
    }

    /// The type with all objects as maps whose keys look like data: many, of values of one type, and
    /// none in half of the objects. A draft, like [`Type::with_labels`].
    #[must_use]
    pub fn with_maps(self, values: &[&Value]) -> Type {
        self.redrafted(values, &|ty, values| match ty {
            Type::Record(fields) => item_of_map(fields, values).map(Type::map),
            _ => None,
        })
    }

    /// The type with parts replaced by what `draft` says of them and of the values there.
    fn redrafted(self, values: &[&Value], draft: &dyn Fn(&Type, &[&Value]) -> Option<Type>) -> Type {
        match draft(&self, values).unwrap_or(self) {
            Type::List(item) => {
                let items: Vec<&Value> = values.iter().filter_map(|value| value.as_list()).flatten().collect();
                Type::list(item.redrafted(&items, draft))
            }
            Type::Optional(inner) => {
                let present: Vec<&Value> = values.iter().copied().filter(|value| **value != Value::Null).collect();
                Type::optional(inner.redrafted(&present, draft))
            }
            Type::Record(fields) => {
                let fields = fields.into_iter().map(|field| {
                    let members: Vec<&Value> = values.iter().filter_map(|value| value.get(&field.name)).collect();
                    Field { ty: field.ty.redrafted(&members, draft), ..field }
                });
                Type::Record(fields.collect())
            }
            Type::Map(item) => {
                let records = values.iter().filter_map(|value| value.as_record());
                let members: Vec<&Value> = records.flat_map(|record| record.iter().map(|(_, value)| value)).collect();
                Type::map(item.redrafted(&members, draft))
            }
            other => other,
        }
    }
}

/// The type of what is in a map, where the objects look like one.
fn item_of_map(fields: &[Field], values: &[&Value]) -> Option<Type> {
    let item = &fields.first()?.ty;
    let often = |field: &Field| values.iter().filter(|value| value.get(&field.name).is_some()).count();
    let is_data = |field: &Field| field.optional && field.ty == *item && often(field) * KEY_SHARE < values.len();
    (fields.len() >= LEAST_KEYS && fields.iter().all(is_data)).then(|| item.clone())
}

fn labels(values: &[&Value]) -> Option<Vec<String>> {
    let texts = values.iter().map(|value| value.as_text()).collect::<Option<Vec<&str>>>()?;
    let distinct: std::collections::BTreeSet<&str> = texts.iter().copied().collect();
    let few = distinct.len() > 1 && distinct.len() <= MOST_LABELS && texts.len() >= distinct.len() * LABEL_SUPPORT;
    let mut labels: Vec<String> = distinct.into_iter().filter(|_| few).map(str::to_owned).collect();
    labels.sort_by(|a, b| compare_keys(a.as_bytes(), b.as_bytes()));
    few.then_some(labels)
}

/// What was seen in one place.
struct Seen {
    null: bool,
    kind: Kind,
}

enum Kind {
    Nothing,
    Bool,
    Int,
    Number,
    Text,
    List(Box<Seen>),
    /// In canonical key order; `true` where some record lacked the field.
    Record(Vec<(String, bool, Seen)>),
    Anything,
}

impl Seen {
    const NOTHING: Seen = Seen { null: false, kind: Kind::Nothing };

    fn of(value: &Value) -> Seen {
        let kind = match value {
            Value::Null => return Seen { null: true, kind: Kind::Nothing },
            Value::Bool(_) => Kind::Bool,
            Value::Number(number) if number.kind() == NumberKind::Integer => Kind::Int,
            Value::Number(_) => Kind::Number,
            Value::Text(_) => Kind::Text,
            Value::List(items) => Kind::List(Box::new(items.iter().map(Seen::of).fold(Seen::NOTHING, Seen::join))),
            Value::Record(record) => {
                Kind::Record(record.iter().map(|(key, value)| (key.to_owned(), false, Seen::of(value))).collect())
            }
        };
        Seen { null: false, kind }
    }

    fn join(self, other: Seen) -> Seen {
        let null = self.null || other.null;
        let kind = match (self.kind, other.kind) {
            (Kind::Nothing, kind) | (kind, Kind::Nothing) => kind,
            (Kind::Bool, Kind::Bool) => Kind::Bool,
            (Kind::Int, Kind::Int) => Kind::Int,
            (Kind::Int | Kind::Number, Kind::Int | Kind::Number) => Kind::Number,
            (Kind::Text, Kind::Text) => Kind::Text,
            (Kind::List(a), Kind::List(b)) => Kind::List(Box::new(a.join(*b))),
            (Kind::Record(a), Kind::Record(b)) => Kind::Record(join_fields(a, b)),
            _ => Kind::Anything,
        };
        Seen { null, kind }
    }

    fn finish(self) -> Type {
        let ty = match self.kind {
            Kind::Nothing => return if self.null { Type::Unit } else { Type::Json },
            Kind::Anything => return Type::Json,
            Kind::Bool => Type::Bool,
            Kind::Int => Type::Int,
            Kind::Number => Type::Number,
            Kind::Text => Type::Text,
            Kind::List(item) => Type::list(item.finish()),
            Kind::Record(fields) => Type::Record(
                fields.into_iter().map(|(name, optional, seen)| Field { name, optional, ty: seen.finish() }).collect(),
            ),
        };
        if self.null { Type::optional(ty) } else { ty }
    }
}

/// Merges two lists of fields in canonical order.
fn join_fields(a: Vec<(String, bool, Seen)>, b: Vec<(String, bool, Seen)>) -> Vec<(String, bool, Seen)> {
    let mut joined = Vec::with_capacity(a.len().max(b.len()));
    let (mut a, mut b) = (a.into_iter().peekable(), b.into_iter().peekable());
    loop {
        let order = match (a.peek(), b.peek()) {
            (Some((a, ..)), Some((b, ..))) => compare_keys(a.as_bytes(), b.as_bytes()),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return joined,
        };
        let lone = |(name, _, seen): (String, bool, Seen)| (name, true, seen);
        match order {
            Ordering::Less => joined.extend(a.next().map(lone)),
            Ordering::Greater => joined.extend(b.next().map(lone)),
            Ordering::Equal => {
                if let (Some((name, in_a, seen)), Some((_, in_b, other))) = (a.next(), b.next()) {
                    joined.push((name, in_a || in_b, seen.join(other)));
                }
            }
        }
    }
}
