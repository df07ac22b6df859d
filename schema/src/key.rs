//! Key policies: what of a recorded request is *the input*.
//!
//! A chat agent sends its whole history with every request, so no request is ever seen twice.
//! A policy says which part of it a decision depends on: a place in it, the last message, the
//! messages of some roles, the holes of a template. It is a claim of whoever sets it; where it
//! leaves out what mattered, the census shows inputs with several outputs.
//!
//! As JSON a part is a text (a pointer: `/messages/-1/content`, where a negative index counts from
//! the end), or an object with `last`, `roles`, `template` or `fields`. A part that does not fit a
//! request gives nothing, and the request has no key: it is left out, and counted.

mod template;

use core::fmt;

use auto_json::{Record, Value};

pub use template::Template;

/// Which part of a request is the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The value at a place.
    Pointer(Pointer),
    /// The last message, or the last of a role, of the list at a place.
    Last {
        /// The role; any where none.
        role: Option<String>,
        /// Where the messages are.
        of: Pointer,
    },
    /// The messages of some roles, in their order.
    Roles {
        /// The roles.
        roles: Vec<String>,
        /// Where the messages are.
        of: Pointer,
    },
    /// What stands in the holes of a text.
    Template {
        /// The text with its holes.
        template: Template,
        /// The text it must fit.
        of: Box<Part>,
    },
    /// Several parts, by name.
    Fields(Vec<(String, Part)>),
}

/// A JSON pointer (RFC 6901) in which an index may count from the end: `-1` is the last item.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pointer(Vec<String>);

/// Why a policy cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadPolicy {
    /// Where in the policy.
    pub at: String,
    /// What is wrong, and what is right.
    pub message: String,
}

impl fmt::Display for BadPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.at, self.message) }
    }
}

fn bad(at: &str, message: impl Into<String>) -> BadPolicy {
    BadPolicy { at: at.to_owned(), message: message.into() }
}

/// How deep parts may nest.
const DEEPEST: usize = 8;

impl Part {
    /// Reads a policy as people write it: a pointer as it is, anything else as JSON.
    pub fn parse(text: &str) -> Result<Part, BadPolicy> {
        let text = text.trim();
        if text.is_empty() || text.starts_with('/') {
            return Ok(Part::Pointer(Pointer::parse(text, "")?));
        }
        let value = Value::parse(text)
            .map_err(|error| bad("", format!("neither a pointer such as /messages/-1 nor JSON: {error}")))?;
        Part::from_value(&value)
    }

    /// Reads the JSON form.
    pub fn from_value(value: &Value) -> Result<Part, BadPolicy> {
        read(value, "", DEEPEST)
    }

    /// The JSON form.
    pub fn to_value(&self) -> Value {
        match self {
            Part::Pointer(pointer) => pointer.to_string().into(),
            Part::Last { role, of } => Record::new().with("last", role.as_deref()).with("of", of.to_string()).into(),
            Part::Roles { roles, of } => {
                let roles: Vec<Value> = roles.iter().map(|role| role.as_str().into()).collect();
                Record::new().with("roles", roles).with("of", of.to_string()).into()
            }
            Part::Template { template, of } => {
                Record::new().with("template", template.to_string()).with("of", of.to_value()).into()
            }
            Part::Fields(fields) => {
                let fields: Record = fields.iter().map(|(name, part)| (name.clone(), part.to_value())).collect();
                Record::new().with("fields", fields).into()
            }
        }
    }

    /// The key of a request; none where the policy does not fit it.
    pub fn of(&self, request: &Value) -> Option<Value> {
        match self {
            Part::Pointer(pointer) => pointer.of(request).cloned(),
            Part::Last { role, of } => {
                let fits = |message: &&Value| role.as_deref().is_none_or(|role| is_of(message, role));
                of.of(request)?.as_list()?.iter().rev().find(fits).cloned()
            }
            Part::Roles { roles, of } => {
                let fits = |message: &&Value| roles.iter().any(|role| is_of(message, role));
                let found: Vec<Value> = of.of(request)?.as_list()?.iter().filter(fits).cloned().collect();
                (!found.is_empty()).then(|| found.into())
            }
            Part::Template { template, of } => template.of(of.of(request)?.as_text()?).map(Value::from),
            Part::Fields(fields) => {
                let field = |(name, part): &(String, Part)| Some((name.clone(), part.of(request)?));
                fields.iter().map(field).collect::<Option<Record>>().map(Value::from)
            }
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Part::Pointer(pointer) => write!(f, "{pointer}"),
            other => write!(f, "{}", other.to_value()),
        }
    }
}

fn is_of(message: &Value, role: &str) -> bool {
    message.get("role").and_then(Value::as_text) == Some(role)
}

fn read(value: &Value, at: &str, depth: usize) -> Result<Part, BadPolicy> {
    if depth == 0 {
        return Err(bad(at, format!("parts nest more than {DEEPEST} deep")));
    }
    let record = match value {
        Value::Text(text) => return Ok(Part::Pointer(Pointer::parse(text, at)?)),
        Value::Record(record) => record,
        other => return Err(bad(at, format!("{} where a pointer or an object belongs", other.kind()))),
    };
    let of = || match record.get("of") {
        None => Ok(Pointer::default()),
        Some(Value::Text(text)) => Pointer::parse(text, &format!("{at}/of")),
        Some(other) => Err(bad(&format!("{at}/of"), format!("{} where a pointer belongs", other.kind()))),
    };
    let kinds = ["last", "roles", "template", "fields"];
    let kind = kinds.into_iter().find(|kind| record.get(kind).is_some());
    let kind = kind.ok_or_else(|| bad(at, "the object has none of last, roles, template and fields"))?;
    if let Some((other, _)) = record.iter().find(|(key, _)| *key != kind && (*key != "of" || kind == "fields")) {
        return Err(bad(at, format!("{other:?} does not go with {kind:?}")));
    }
    let place = format!("{at}/{kind}");
    match (kind, record.get(kind)) {
        ("last", Some(Value::Null)) => Ok(Part::Last { role: None, of: of()? }),
        ("last", Some(Value::Text(role))) => Ok(Part::Last { role: Some(role.clone()), of: of()? }),
        ("roles", Some(Value::List(roles))) if !roles.is_empty() => {
            let role = |role: &Value| role.as_text().map(str::to_owned).ok_or_else(|| bad(&place, "a role is text"));
            Ok(Part::Roles { roles: roles.iter().map(role).collect::<Result<_, _>>()?, of: of()? })
        }
        ("template", Some(Value::Text(text))) => {
            let template = text.parse().map_err(|message: String| bad(&place, message))?;
            let of = record.get("of").ok_or_else(|| bad(at, "a template needs \"of\": the text it must fit"))?;
            Ok(Part::Template { template, of: Box::new(read(of, &format!("{at}/of"), depth - 1)?) })
        }
        ("fields", Some(Value::Record(fields))) if !fields.is_empty() => {
            let field = |(name, part): (&str, &Value)| {
                Ok((name.to_owned(), read(part, &format!("{place}/{name}"), depth - 1)?))
            };
            Ok(Part::Fields(fields.iter().map(field).collect::<Result<_, BadPolicy>>()?))
        }
        (kind, _) => {
            let right = match kind {
                "last" => "a role, or null for the last message of any",
                "roles" => "a list of roles",
                "template" => "a text with holes such as {name}",
                _ => "an object of parts",
            };
            Err(bad(&place, format!("{kind:?} must be {right}")))
        }
    }
}

impl Pointer {
    fn parse(text: &str, at: &str) -> Result<Pointer, BadPolicy> {
        if !text.is_empty() && !text.starts_with('/') {
            return Err(bad(at, format!("the pointer {text:?} must be empty or begin with a slash")));
        }
        let name = |name: &str| name.replace("~1", "/").replace("~0", "~");
        Ok(Pointer(text.split('/').skip(1).map(name).collect()))
    }

    /// The pointer to a member or an item of what this one points to.
    #[must_use]
    pub fn child(&self, name: &str) -> Pointer {
        Pointer([&self.0[..], &[name.to_owned()]].concat())
    }

    /// The value at the place; none where there is none.
    pub fn of<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, name| match value {
            Value::Record(record) => record.get(name),
            Value::List(items) => match name.strip_prefix('-') {
                Some(back) => items.len().checked_sub(back.parse().ok().filter(|back| *back > 0)?).map(|at| &items[at]),
                None => items.get(name.parse::<usize>().ok()?),
            },
            _ => None,
        })
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|name| write!(f, "/{}", name.replace('~', "~0").replace('/', "~1")))
    }
}
