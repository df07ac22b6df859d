//! What functions look like: the signatures of imported and exported interfaces, and where
//! two signatures part. [`crate::read`] finds them in a component's bytes.
//!
//! Types are compared by structure, as the component model does; names of types do not
//! count, names of fields and cases do.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A type of the component model, without resources, streams and futures: those cannot
/// be copied, so they do not cross from one instance to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the component model's own names")]
pub enum Ty {
    Bool,
    S8,
    U8,
    S16,
    U16,
    S32,
    U32,
    S64,
    U64,
    F32,
    F64,
    Char,
    String,
    List(Arc<Ty>),
    Record(Arc<[(String, Ty)]>),
    Tuple(Arc<[Ty]>),
    Variant(Arc<[(String, Option<Ty>)]>),
    Enum(Arc<[String]>),
    Option(Arc<Ty>),
    Result(Arc<(Option<Ty>, Option<Ty>)>),
    Flags(Arc<[String]>),
}

/// A function's parameters and result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// In order, with their names.
    pub params: Vec<(String, Ty)>,
    /// None for a function that returns nothing.
    pub result: Option<Ty>,
}

/// The functions of an interface. Empty for one that only defines types.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// By name.
    pub functions: BTreeMap<String, Signature>,
}

impl Interface {
    /// The first place where what is wanted and what is had part: a function that is
    /// missing or looks different. More functions than wanted are no difference.
    pub fn difference(wanted: &Interface, had: &Interface) -> Option<String> {
        Interface::differences(wanted, had).next()
    }

    /// The same for every function.
    pub fn differences(wanted: &Interface, had: &Interface) -> impl Iterator<Item = String> {
        wanted.functions.iter().filter_map(|(name, wanted)| match had.functions.get(name) {
            None => Some(format!("function `{name}` is missing")),
            Some(had) => Signature::difference(wanted, had).map(|what| format!("function `{name}`: {what}")),
        })
    }
}

impl Signature {
    fn difference(wanted: &Signature, had: &Signature) -> Option<String> {
        if wanted.params.len() != had.params.len() {
            return Some(format!("expected {} parameters, found {}", wanted.params.len(), had.params.len()));
        }
        let mut params = wanted.params.iter().zip(&had.params);
        if let Some(found) = params.find_map(|((name, wanted), (other, had))| {
            if name != other {
                return Some(format!("expected the parameter `{name}`, found `{other}`"));
            }
            Ty::difference(wanted, had, &format!("parameter `{name}`"))
        }) {
            return Some(found);
        }
        optional(&wanted.result, &had.result, "result")
    }
}

/// As WIT writes it, with records and variants by the names of their members alone.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let params: Vec<String> = self.params.iter().map(|(name, ty)| format!("{name}: {ty}")).collect();
        write!(f, "func({})", params.join(", "))?;
        self.result.as_ref().map_or(Ok(()), |result| write!(f, " -> {result}"))
    }
}

/// See [`Signature`]'s text.
impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |names: Vec<&str>| format!("{} {{ {} }}", self.kind(), names.join(", "));
        let or_none = |ty: &Option<Ty>| ty.as_ref().map_or_else(|| "_".to_owned(), Ty::to_string);
        match self {
            Ty::List(item) => write!(f, "list<{item}>"),
            Ty::Option(item) => write!(f, "option<{item}>"),
            Ty::Result(types) => write!(f, "result<{}, {}>", or_none(&types.0), or_none(&types.1)),
            Ty::Tuple(items) => {
                write!(f, "tuple<{}>", items.iter().map(Ty::to_string).collect::<Vec<_>>().join(", "))
            }
            Ty::Record(fields) => f.write_str(&names(fields.iter().map(|(name, _)| name.as_str()).collect())),
            Ty::Variant(cases) => f.write_str(&names(cases.iter().map(|(name, _)| name.as_str()).collect())),
            Ty::Enum(cases) => f.write_str(&names(cases.iter().map(String::as_str).collect())),
            Ty::Flags(flags) => f.write_str(&names(flags.iter().map(String::as_str).collect())),
            plain => f.write_str(plain.kind()),
        }
    }
}

impl Ty {
    /// What it is, in a word, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Ty::Bool => "bool",
            Ty::S8 => "s8",
            Ty::U8 => "u8",
            Ty::S16 => "s16",
            Ty::U16 => "u16",
            Ty::S32 => "s32",
            Ty::U32 => "u32",
            Ty::S64 => "s64",
            Ty::U64 => "u64",
            Ty::F32 => "f32",
            Ty::F64 => "f64",
            Ty::Char => "char",
            Ty::String => "string",
            Ty::List(_) => "list",
            Ty::Record(_) => "record",
            Ty::Tuple(_) => "tuple",
            Ty::Variant(_) => "variant",
            Ty::Enum(_) => "enum",
            Ty::Option(_) => "option",
            Ty::Result(_) => "result",
            Ty::Flags(_) => "flags",
        }
    }

    fn difference(wanted: &Ty, had: &Ty, at: &str) -> Option<String> {
        match (wanted, had) {
            (Ty::List(wanted), Ty::List(had)) => Ty::difference(wanted, had, &format!("{at}, each item")),
            (Ty::Option(wanted), Ty::Option(had)) => Ty::difference(wanted, had, at),
            (Ty::Result(wanted), Ty::Result(had)) => optional(&wanted.0, &had.0, &format!("{at}, ok"))
                .or_else(|| optional(&wanted.1, &had.1, &format!("{at}, err"))),
            (Ty::Tuple(wanted), Ty::Tuple(had)) if wanted.len() == had.len() => {
                let mut items = wanted.iter().zip(had.iter()).enumerate();
                items.find_map(|(index, (wanted, had))| Ty::difference(wanted, had, &format!("{at}, item {index}")))
            }
            (Ty::Record(wanted), Ty::Record(had)) => members(wanted, had, at, "field", Ty::difference),
            (Ty::Variant(wanted), Ty::Variant(had)) => members(wanted, had, at, "case", optional),
            (Ty::Enum(wanted), Ty::Enum(had)) => labels(wanted, had, at, "case"),
            (Ty::Flags(wanted), Ty::Flags(had)) => labels(wanted, had, at, "flag"),
            (wanted, had) if wanted == had => None,
            (wanted, had) => Some(format!("{at}: expected {wanted}, found {had}")),
        }
    }
}

fn optional(wanted: &Option<Ty>, had: &Option<Ty>, at: &str) -> Option<String> {
    match (wanted, had) {
        (None, None) => None,
        (Some(wanted), Some(had)) => Ty::difference(wanted, had, at),
        (Some(wanted), None) => Some(format!("{at}: expected {}, found nothing", wanted.kind())),
        (None, Some(had)) => Some(format!("{at}: expected nothing, found {}", had.kind())),
    }
}

/// Fields and cases: the first that differs in name, place or type.
fn members<T>(
    wanted: &[(String, T)],
    had: &[(String, T)],
    at: &str,
    what: &str,
    difference: impl Fn(&T, &T, &str) -> Option<String>,
) -> Option<String> {
    let names = |members: &[(String, T)]| members.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    labels(&names(wanted), &names(had), at, what).or_else(|| {
        let mut pairs = wanted.iter().zip(had);
        pairs.find_map(|((name, wanted), (_, had))| difference(wanted, had, &format!("{at}, {what} `{name}`")))
    })
}

fn labels(wanted: &[String], had: &[String], at: &str, what: &str) -> Option<String> {
    if let Some(name) = wanted.iter().find(|name| !had.contains(name)) {
        return Some(format!("{at}: {what} `{name}` is missing"));
    }
    if let Some(name) = had.iter().find(|name| !wanted.contains(name)) {
        return Some(format!("{at}: {what} `{name}` is not expected"));
    }
    let moved = wanted.iter().zip(had).find(|(wanted, had)| wanted != had);
    moved.map(|(wanted, had)| format!("{at}: expected {what} `{wanted}` where `{had}` stands"))
}
