//! The text form of types: one reader, one writer.
//!
//! ```text
//! type   = "unit" | "bool" | "int" | "number" | "text" | "bytes" | "json"
//!        | ("list" | "optional" | "map") "<" type ">"
//!        | "enum" "{" string ("," string)* "}"
//!        | "record" "{" [field ("," field)*] "}"
//! field  = (name | string) ["?"] ":" type
//! ```
//!
//! A string is JSON's. White space may stand between any two of these; a comma may end a
//! list. `float` is read as `number`, the name that version 0 contracts use.

use core::fmt;
use core::str::FromStr;

use auto_json::Value;
use auto_json::write::compare_keys;

use super::{Field, MAX_DEPTH, Type};

pub(super) const TOO_DEEP: &str = "the type nests too deep";
pub(super) const FIELD_TWICE: &str = "the same field twice in one record";
pub(super) const LABEL_TWICE: &str = "the same label twice in one enum";
pub(super) const NO_LABELS: &str = "an enum needs at least one label";

/// A text that is not a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadType {
    /// The byte at which reading stopped.
    pub offset: usize,
    /// What was expected there.
    pub message: String,
}

impl fmt::Display for BadType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} of the type", self.message, self.offset)
    }
}

impl core::error::Error for BadType {}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Unit => f.write_str("unit"),
            Type::Bool => f.write_str("bool"),
            Type::Int => f.write_str("int"),
            Type::Number => f.write_str("number"),
            Type::Text => f.write_str("text"),
            Type::Bytes => f.write_str("bytes"),
            Type::Json => f.write_str("json"),
            Type::List(item) => write!(f, "list<{item}>"),
            Type::Optional(item) => write!(f, "optional<{item}>"),
            Type::Map(item) => write!(f, "map<{item}>"),
            Type::Enum(labels) => {
                let mut labels: Vec<&String> = labels.iter().collect();
                labels.sort_by(|a, b| compare_keys(a.as_bytes(), b.as_bytes()));
                f.write_str("enum{")?;
                separated(f, &labels, |f, label| string(f, label))?;
                f.write_str("}")
            }
            Type::Record(fields) => {
                let mut fields: Vec<&Field> = fields.iter().collect();
                fields.sort_by(|a, b| compare_keys(a.name.as_bytes(), b.name.as_bytes()));
                f.write_str("record{")?;
                separated(f, &fields, |f, field| {
                    if is_name(&field.name) { f.write_str(&field.name) } else { string(f, &field.name) }?;
                    write!(f, "{}: {}", if field.optional { "?" } else { "" }, field.ty)
                })?;
                f.write_str("}")
            }
        }
    }
}

fn separated<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(index, item)| {
        f.write_str(if index > 0 { ", " } else { "" })?;
        write(f, item)
    })
}

fn string(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str(Value::from(text).canonical().as_str())
}

/// Whether a field's name needs no quotes.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first == b'_' || first.is_ascii_alphabetic()) && bytes.all(is_name_byte)
}

fn is_name_byte(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

impl FromStr for Type {
    type Err = BadType;

    fn from_str(text: &str) -> Result<Type, BadType> {
        let mut reader = Reader { text, at: 0 };
        let ty = reader.ty(MAX_DEPTH)?;
        reader.white_space();
        if reader.at == text.len() { Ok(ty) } else { Err(reader.bad("expected the end")) }
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn bad(&self, message: impl Into<String>) -> BadType {
        BadType { offset: self.at, message: message.into() }
    }

    fn ty(&mut self, depth: usize) -> Result<Type, BadType> {
        self.white_space();
        let depth = depth.checked_sub(1).ok_or_else(|| self.bad(TOO_DEEP))?;
        let start = self.at;
        match self.name() {
            "unit" => Ok(Type::Unit),
            "bool" => Ok(Type::Bool),
            "int" => Ok(Type::Int),
            "number" | "float" | "decimal" => Ok(Type::Number),
            "text" => Ok(Type::Text),
            "bytes" => Ok(Type::Bytes),
            "json" => Ok(Type::Json),
            "list" => self.item(depth).map(Type::List),
            "optional" => self.item(depth).map(Type::Optional),
            "map" => self.item(depth).map(Type::Map),
            "enum" => self.labels().map(Type::Enum),
            "record" => self.fields(depth).map(Type::Record),
            _ => {
                self.at = start;
                Err(self.bad(
                    "expected unit, bool, int, number, text, bytes, json, list<…>, optional<…>, map<…>, enum{…} or record{…}",
                ))
            }
        }
    }

    fn item(&mut self, depth: usize) -> Result<Box<Type>, BadType> {
        self.expect('<')?;
        let item = self.ty(depth)?;
        self.expect('>')?;
        Ok(Box::new(item))
    }

    fn labels(&mut self) -> Result<Vec<String>, BadType> {
        let start = self.at;
        let mut labels = self.braced(|reader| reader.string())?;
        let fault = |message| BadType { offset: start, message: String::from(message) };
        if labels.is_empty() {
            return Err(fault(NO_LABELS));
        }
        labels.sort_by(|a, b| compare_keys(a.as_bytes(), b.as_bytes()));
        if labels.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(fault(LABEL_TWICE));
        }
        Ok(labels)
    }

    fn fields(&mut self, depth: usize) -> Result<Vec<Field>, BadType> {
        let start = self.at;
        let mut fields = self.braced(|reader| reader.field(depth))?;
        fields.sort_by(|a, b| compare_keys(a.name.as_bytes(), b.name.as_bytes()));
        if fields.windows(2).any(|pair| pair[0].name == pair[1].name) {
            return Err(BadType { offset: start, message: FIELD_TWICE.into() });
        }
        Ok(fields)
    }

    fn field(&mut self, depth: usize) -> Result<Field, BadType> {
        self.white_space();
        let bare = self.name().to_owned();
        let name = match bare.as_bytes().first() {
            None => self.string()?,
            Some(first) if first.is_ascii_digit() => {
                self.at -= bare.len();
                return Err(self.bad("a field name that starts with a digit needs quotes"));
            }
            Some(_) => bare,
        };
        let optional = self.accept('?');
        self.expect(':')?;
        Ok(Field { name, optional, ty: self.ty(depth)? })
    }

    /// `{`, items with commas between (and perhaps after) them, `}`.
    fn braced<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T, BadType>) -> Result<Vec<T>, BadType> {
        self.expect('{')?;
        let mut items = Vec::new();
        while !self.accept('}') {
            items.push(item(self)?);
            if !self.accept(',') {
                self.expect('}')?;
                break;
            }
        }
        Ok(items)
    }

    fn string(&mut self) -> Result<String, BadType> {
        self.white_space();
        let rest = &self.text.as_bytes()[self.at..];
        if rest.first() != Some(&b'"') {
            return Err(self.bad("expected a name or a JSON string"));
        }
        let mut end = 1;
        while rest.get(end).is_some_and(|&byte| byte != b'"') {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        let raw = rest.get(..end + 1).ok_or_else(|| self.bad("a string without its closing quote"))?;
        match Value::parse(raw) {
            Ok(Value::Text(text)) => {
                self.at += raw.len();
                Ok(text)
            }
            Ok(_) => Err(self.bad("expected a JSON string")),
            Err(error) => Err(BadType { offset: self.at + error.offset, message: error.kind.message().into() }),
        }
    }

    /// The longest run of letters, digits and `_` here; may be empty.
    fn name(&mut self) -> &str {
        let start = self.at;
        self.at += self.text.as_bytes()[start..].iter().take_while(|&&byte| is_name_byte(byte)).count();
        &self.text[start..self.at]
    }

    fn accept(&mut self, punctuation: char) -> bool {
        self.white_space();
        let found = self.text[self.at..].starts_with(punctuation);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, punctuation: char) -> Result<(), BadType> {
        if self.accept(punctuation) { Ok(()) } else { Err(self.bad(format!("expected `{punctuation}`"))) }
    }

    fn white_space(&mut self) {
        self.at += self.text.as_bytes()[self.at..]
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'))
            .count();
    }
}
