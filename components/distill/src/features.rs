//! Which texts of an input a model reads.

use auto_json::Value;
use auto_schema::types::{Field, Type};

/// The most texts of one input.
const MOST: usize = 64;

/// The places of an input that a model reads, as texts.
pub(crate) struct Features {
    pub(crate) places: Vec<Place>,
}

/// A place: a way through records, and what is at its end.
pub(crate) struct Place {
    path: Vec<String>,
    pub(crate) kind: Kind,
}

/// What is at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    /// A number or a truth value, by its canonical text.
    Scalar,
    /// A list of texts, one line each.
    Texts,
}

impl Features {
    /// Those of inputs like these; `None` where there is nothing to read.
    pub(crate) fn of(inputs: &[&Value]) -> Option<Features> {
        let mut places = Vec::new();
        collect(&Type::infer(inputs.iter().copied()), &mut Vec::new(), &mut places);
        places.truncate(MOST);
        (!places.is_empty()).then_some(Features { places })
    }

    /// The texts of an input, one for each place; empty where there is nothing of the kind.
    pub(crate) fn texts(&self, input: &Value) -> Vec<String> {
        self.places.iter().map(|place| place.text(input).unwrap_or_default()).collect()
    }

    /// The same as an expression of the language.
    pub(crate) fn expression(&self) -> String {
        let texts: Vec<String> = self.places.iter().map(Place::expression).collect();
        format!("[{}]", texts.join(", "))
    }
}

fn collect(ty: &Type, path: &mut Vec<String>, places: &mut Vec<Place>) {
    let mut found = |kind| places.push(Place { path: path.clone(), kind });
    match ty {
        Type::Text | Type::Bytes | Type::Enum(_) => found(Kind::Text),
        Type::Int | Type::Number | Type::Bool => found(Kind::Scalar),
        Type::List(item) if matches!(**item, Type::Text | Type::Enum(_)) => found(Kind::Texts),
        Type::Optional(inner) => collect(inner, path, places),
        Type::Record(fields) => {
            for Field { name, ty, .. } in fields {
                path.push(name.clone());
                collect(ty, path, places);
                path.pop();
            }
        }
        _ => {}
    }
}

impl Place {
    /// What an input has there.
    pub(crate) fn value<'v>(&self, input: &'v Value) -> Option<&'v Value> {
        self.path.iter().try_fold(input, |value, name| value.get(name))
    }

    fn text(&self, input: &Value) -> Option<String> {
        match (self.kind, self.value(input)?) {
            (Kind::Text, Value::Text(text)) => Some(text.clone()),
            (Kind::Scalar, value @ (Value::Number(_) | Value::Bool(_))) => Some(value.to_string()),
            (Kind::Texts, Value::List(items)) => {
                let texts: Option<Vec<&str>> = items.iter().map(Value::as_text).collect();
                texts.map(|texts| texts.join("\n"))
            }
            _ => None,
        }
    }

    /// The way there, as an expression.
    pub(crate) fn at(&self) -> String {
        let mut at = "$".to_owned();
        for name in &self.path {
            at.push('.');
            let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit());
            at.push_str(&if plain { name.clone() } else { Value::from(name.as_str()).to_string() });
        }
        at
    }

    fn expression(&self) -> String {
        let at = self.at();
        // `trim`-like calls are undefined of what is no text, which the default then stands for.
        match self.kind {
            Kind::Text => format!("default(concat({at}), \"\")"),
            Kind::Scalar => format!("default(text({at}), \"\")"),
            Kind::Texts => format!("default(join({at}, \"\\n\"), \"\")"),
        }
    }
}
