//! What functions look like: the signatures of imported and exported interfaces, and where
//! two signatures part. [`crate::read`] finds them in a component's bytes.
//!
//! Types are compared by structure, as the component model does; names of types do not
//! count, names of fields and cases do.

use std::collections::{BTreeMap, HashSet};
use std::fmt::{self, Write as _};
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

/// The most bytes of a signature or type in a message: a small component can have types whose
/// text would be gigabytes.
const MOST_SHOWN: usize = 4_000;

impl Interface {
    /// The first place where what is wanted and what is had part: a function that is
    /// missing or looks different. More functions than wanted are no difference.
    pub fn difference(wanted: &Interface, had: &Interface) -> Option<String> {
        Interface::differences(wanted, had).next()
    }

    /// The same for every function.
    pub fn differences(wanted: &Interface, had: &Interface) -> impl Iterator<Item = String> {
        let mut comparison = Comparison::default();
        wanted.functions.iter().filter_map(move |(name, wanted)| match had.functions.get(name) {
            None => Some(format!("function `{}` is missing", shortened(name))),
            Some(had) => {
                let what = comparison.signatures(wanted, had)?;
                Some(format!("function `{}`: {what}", shortened(name)))
            }
        })
    }
}

/// As WIT writes it, with records and variants by the names of their members alone; cut off where
/// it is long.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Text::of(|text| {
            text.write_str("func(")?;
            for (index, (name, ty)) in self.params.iter().enumerate() {
                text.write_str(if index == 0 { "" } else { ", " })?;
                text.write_str(name)?;
                text.write_str(": ")?;
                ty.write(text)?;
            }
            text.write_str(")")?;
            let Some(result) = &self.result else { return Ok(()) };
            text.write_str(" -> ")?;
            result.write(text)
        }))
    }
}

/// See [`Signature`]'s text.
impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Text::of(|text| self.write(text)))
    }
}

/// A text that takes no more than it may show.
struct Text(String);

impl Text {
    /// What is written, up to where there is no more room.
    fn of(write: impl FnOnce(&mut Text) -> fmt::Result) -> String {
        let mut text = Text(String::new());
        if write(&mut text).is_err() {
            text.0.push('…');
        }
        text.0
    }
}

impl fmt::Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = MOST_SHOWN - self.0.len();
        self.0.push_str(&more[..more.floor_char_boundary(room)]);
        if more.len() > room { Err(fmt::Error) } else { Ok(()) }
    }
}

/// A name as far as a message shows it.
fn shortened(name: &str) -> String {
    Text::of(|text| text.write_str(name))
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

    fn write(&self, text: &mut Text) -> fmt::Result {
        match self {
            Ty::List(item) | Ty::Option(item) => {
                text.write_str(self.kind())?;
                text.write_str("<")?;
                item.write(text)?;
                text.write_str(">")
            }
            Ty::Result(types) => {
                text.write_str("result<")?;
                write_or_none(types.0.as_ref(), text)?;
                text.write_str(", ")?;
                write_or_none(types.1.as_ref(), text)?;
                text.write_str(">")
            }
            Ty::Tuple(items) => {
                text.write_str("tuple<")?;
                for (index, item) in items.iter().enumerate() {
                    text.write_str(if index == 0 { "" } else { ", " })?;
                    item.write(text)?;
                }
                text.write_str(">")
            }
            Ty::Record(fields) => self.write_names(text, fields.iter().map(|(name, _)| name)),
            Ty::Variant(cases) => self.write_names(text, cases.iter().map(|(name, _)| name)),
            Ty::Enum(names) | Ty::Flags(names) => self.write_names(text, names.iter()),
            plain => text.write_str(plain.kind()),
        }
    }

    fn write_names<'n>(&self, text: &mut Text, names: impl Iterator<Item = &'n String>) -> fmt::Result {
        text.write_str(self.kind())?;
        for (index, name) in names.enumerate() {
            text.write_str(if index == 0 { " { " } else { ", " })?;
            text.write_str(name)?;
        }
        text.write_str(" }")
    }

    /// Where the parts of a type are kept, which several types may share.
    fn shared(&self) -> Option<*const ()> {
        match self {
            Ty::List(item) | Ty::Option(item) => Some(Arc::as_ptr(item).cast()),
            Ty::Record(fields) => Some(Arc::as_ptr(fields).cast()),
            Ty::Tuple(items) => Some(Arc::as_ptr(items).cast()),
            Ty::Variant(cases) => Some(Arc::as_ptr(cases).cast()),
            Ty::Enum(names) | Ty::Flags(names) => Some(Arc::as_ptr(names).cast()),
            Ty::Result(types) => Some(Arc::as_ptr(types).cast()),
            _ => None,
        }
    }
}

fn write_or_none(ty: Option<&Ty>, text: &mut Text) -> fmt::Result {
    match ty {
        Some(ty) => ty.write(text),
        None => text.write_str("_"),
    }
}

/// Looks for the first place where types part. Types share their parts, so that a small file can
/// say a large tree: what was once found equal is not looked at again.
#[derive(Default)]
struct Comparison {
    equal: HashSet<(*const (), *const ())>,
}

/// The way to a place, from the inside out; a text only once something is found there.
#[derive(Clone, Copy)]
struct At<'a> {
    within: Option<&'a At<'a>>,
    what: &'a str,
    name: &'a str,
}

impl<'a> At<'a> {
    fn new(what: &'a str, name: &'a str) -> At<'a> {
        At { within: None, what, name }
    }

    fn then(&'a self, what: &'a str, name: &'a str) -> At<'a> {
        At { within: Some(self), what, name }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(within) = self.within {
            write!(f, "{within}, ")?;
        }
        match self.name {
            "" => f.write_str(self.what),
            name => write!(f, "{} `{}`", self.what, shortened(name)),
        }
    }
}

impl Comparison {
    fn signatures(&mut self, wanted: &Signature, had: &Signature) -> Option<String> {
        if wanted.params.len() != had.params.len() {
            return Some(format!("expected {} parameters, found {}", wanted.params.len(), had.params.len()));
        }
        for ((name, wanted), (other, had)) in wanted.params.iter().zip(&had.params) {
            if name != other {
                return Some(format!("expected the parameter `{}`, found `{}`", shortened(name), shortened(other)));
            }
            if let Some(found) = self.types(wanted, had, At::new("parameter", name)) {
                return Some(found);
            }
        }
        self.optional(wanted.result.as_ref(), had.result.as_ref(), At::new("result", ""))
    }

    fn types(&mut self, wanted: &Ty, had: &Ty, at: At<'_>) -> Option<String> {
        let pair = wanted.shared().zip(had.shared());
        if pair.is_some_and(|(wanted, had)| wanted == had || self.equal.contains(&(wanted, had))) {
            return None;
        }
        let found = self.parts(wanted, had, at);
        if let (None, Some(pair)) = (&found, pair) {
            self.equal.insert(pair);
        }
        found
    }

    fn parts(&mut self, wanted: &Ty, had: &Ty, at: At<'_>) -> Option<String> {
        match (wanted, had) {
            (Ty::List(wanted), Ty::List(had)) => self.types(wanted, had, at.then("each item", "")),
            (Ty::Option(wanted), Ty::Option(had)) => self.types(wanted, had, at),
            (Ty::Result(wanted), Ty::Result(had)) => self
                .optional(wanted.0.as_ref(), had.0.as_ref(), at.then("ok", ""))
                .or_else(|| self.optional(wanted.1.as_ref(), had.1.as_ref(), at.then("err", ""))),
            (Ty::Tuple(wanted), Ty::Tuple(had)) if wanted.len() == had.len() => {
                let mut items = wanted.iter().zip(had.iter()).enumerate();
                items.find_map(|(index, (wanted, had))| self.types(wanted, had, at.then(&format!("item {index}"), "")))
            }
            (Ty::Record(wanted), Ty::Record(had)) => {
                let names = labels(wanted.iter().map(|(name, _)| name), had.iter().map(|(name, _)| name), at, "field");
                names.or_else(|| {
                    let mut pairs = wanted.iter().zip(had.iter());
                    pairs.find_map(|((name, wanted), (_, had))| self.types(wanted, had, at.then("field", name)))
                })
            }
            (Ty::Variant(wanted), Ty::Variant(had)) => {
                let names = labels(wanted.iter().map(|(name, _)| name), had.iter().map(|(name, _)| name), at, "case");
                names.or_else(|| {
                    let mut pairs = wanted.iter().zip(had.iter());
                    pairs.find_map(|((name, wanted), (_, had))| {
                        self.optional(wanted.as_ref(), had.as_ref(), at.then("case", name))
                    })
                })
            }
            (Ty::Enum(wanted), Ty::Enum(had)) => labels(wanted.iter(), had.iter(), at, "case"),
            (Ty::Flags(wanted), Ty::Flags(had)) => labels(wanted.iter(), had.iter(), at, "flag"),
            // What has parts was told apart above, where it is of one kind.
            (wanted, had) if wanted.shared().is_none() && wanted == had => None,
            (wanted, had) => Some(format!("{at}: expected {wanted}, found {had}")),
        }
    }

    fn optional(&mut self, wanted: Option<&Ty>, had: Option<&Ty>, at: At<'_>) -> Option<String> {
        match (wanted, had) {
            (None, None) => None,
            (Some(wanted), Some(had)) => self.types(wanted, had, at),
            (Some(wanted), None) => Some(format!("{at}: expected {}, found nothing", wanted.kind())),
            (None, Some(had)) => Some(format!("{at}: expected nothing, found {}", had.kind())),
        }
    }
}

/// The first name that differs or stands elsewhere.
fn labels<'n>(
    wanted: impl Iterator<Item = &'n String> + Clone,
    had: impl Iterator<Item = &'n String> + Clone,
    at: At<'_>,
    what: &str,
) -> Option<String> {
    if wanted.clone().eq(had.clone()) {
        return None;
    }
    let known: HashSet<&String> = had.clone().collect();
    if let Some(name) = wanted.clone().find(|name| !known.contains(name)) {
        return Some(format!("{at}: {what} `{}` is missing", shortened(name)));
    }
    let known: HashSet<&String> = wanted.clone().collect();
    if let Some(name) = had.clone().find(|name| !known.contains(name)) {
        return Some(format!("{at}: {what} `{}` is not expected", shortened(name)));
    }
    let moved = wanted.zip(had).find(|(wanted, had)| wanted != had);
    moved
        .map(|(wanted, had)| format!("{at}: expected {what} `{}` where `{}` stands", shortened(wanted), shortened(had)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with a long name, doubled by tuples: a few kilobytes that say gigabytes.
    fn doubled(times: usize) -> Ty {
        let record = Ty::Record([("a".repeat(50_000), Ty::U8)].into());
        (0..times).fold(record, |ty, _| Ty::Tuple([ty.clone(), ty].into()))
    }

    fn interface(ty: &Ty) -> Interface {
        let signature = |ty: &Ty| Signature { params: vec![("p".to_owned(), ty.clone())], result: Some(ty.clone()) };
        Interface { functions: (0..40).map(|at| (format!("f{at}"), signature(ty))).collect() }
    }

    #[test]
    fn types_that_are_large_as_text_are_compared_and_shown_in_little_time_and_space() {
        let (one, other) = (doubled(60), doubled(60));
        assert_eq!(Interface::difference(&interface(&one), &interface(&other)), None);
        let found = Interface::difference(&interface(&one), &interface(&Ty::U8)).unwrap();
        assert!(found.len() < 2 * MOST_SHOWN && found.ends_with("found u8"), "{found}");
        let text = interface(&one).functions["f0"].to_string();
        assert!(text.len() <= MOST_SHOWN + '…'.len_utf8() && text.ends_with('…'), "{text}");
        let deeper = Interface::difference(&interface(&one), &interface(&doubled(61))).unwrap();
        assert!(deeper.len() < 4 * MOST_SHOWN, "{}", deeper.len());
        let names = |more: &str| -> Arc<[String]> { (0..100_000).map(|at| format!("n{at}{more}")).collect() };
        assert_eq!(Comparison::default().types(&Ty::Flags(names("")), &Ty::Flags(names("")), At::new("p", "")), None);
        let last = Comparison::default().types(&Ty::Flags(names("")), &Ty::Flags(names("x")), At::new("p", ""));
        assert_eq!(last.as_deref(), Some("p: flag `n0` is missing"));
    }
}
