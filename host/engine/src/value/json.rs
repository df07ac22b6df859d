//! The JSON form of values: how arguments and results look on the command line, in
//! `auto:host/jobs` and in tests.
//!
//! | type | JSON |
//! |---|---|
//! | bool, integers, string, char | boolean, integer, text |
//! | floats | a decimal; non-finite ones have no JSON form |
//! | `list<u8>` | base64 text |
//! | list, tuple | list |
//! | record | object; a field `code-id` is written `code_id`, both are read |
//! | variant | `"case"`, or `{"case": payload}` where the case has one |
//! | enum | `"case"` |
//! | option | null or the value; `{"some": value}` where the value itself can be null |
//! | result | `{"ok": value}` or `{"err": value}` |
//! | flags | list of names |

use auto_json::{Number, Record, Value};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use wasmtime::component::Val;

use crate::shape::Ty;

/// A JSON value that does not fit the type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// JSON pointer to the part that does not fit.
    pub at: String,
    /// What was expected, and what was found.
    pub message: String,
}

/// Writes a value as JSON. Fails only on a non-finite float and on a value that is not of
/// the type.
pub fn to_json(value: &Val, ty: &Ty) -> Result<Value, Mismatch> {
    match (value, ty) {
        (Val::Bool(value), Ty::Bool) => Ok(Value::Bool(*value)),
        (Val::S8(value), Ty::S8) => Ok(Value::integer((*value).into())),
        (Val::U8(value), Ty::U8) => Ok(Value::integer((*value).into())),
        (Val::S16(value), Ty::S16) => Ok(Value::integer((*value).into())),
        (Val::U16(value), Ty::U16) => Ok(Value::integer((*value).into())),
        (Val::S32(value), Ty::S32) => Ok(Value::integer((*value).into())),
        (Val::U32(value), Ty::U32) => Ok(Value::integer((*value).into())),
        (Val::S64(value), Ty::S64) => Ok(Value::integer(*value)),
        (Val::U64(value), Ty::U64) => Ok(Value::from(*value)),
        (Val::Float32(value), Ty::F32) => float(f64::from(*value).is_finite(), format!("{value:?}")),
        (Val::Float64(value), Ty::F64) => float(value.is_finite(), format!("{value:?}")),
        (Val::Char(value), Ty::Char) => Ok(Value::Text(value.to_string())),
        (Val::String(value), Ty::String) => Ok(Value::Text(value.clone())),
        (Val::List(items), Ty::List(ty)) if **ty == Ty::U8 => bytes_to_json(items),
        (Val::List(items), Ty::List(ty)) => list_to_json(items.iter().map(|item| (item, &**ty))),
        (Val::Tuple(items), Ty::Tuple(types)) => list_to_json(items.iter().zip(types.iter())),
        (Val::Record(fields), Ty::Record(types)) => {
            let pairs = fields.iter().zip(types.iter());
            pairs
                .map(|((name, value), (_, ty))| Ok((snake(name), under(name, to_json(value, ty))?)))
                .collect::<Result<Record, _>>()
                .map(Value::Record)
        }
        (Val::Variant(case, payload), Ty::Variant(cases)) => {
            match (payload, cases.iter().find(|(name, _)| name == case)) {
                (None, Some((_, None))) => Ok(Value::from(case.as_str())),
                (Some(value), Some((_, Some(ty)))) => Ok(single(case, under(case, to_json(value, ty))?)),
                _ => Err(not_of(ty)),
            }
        }
        (Val::Enum(case), Ty::Enum(_)) => Ok(Value::from(case.as_str())),
        (Val::Option(None), Ty::Option(_)) => Ok(Value::Null),
        (Val::Option(Some(value)), Ty::Option(ty)) if nullable(ty) => Ok(single("some", to_json(value, ty)?)),
        (Val::Option(Some(value)), Ty::Option(ty)) => to_json(value, ty),
        (Val::Result(Ok(value)), Ty::Result(types)) => Ok(single("ok", optional_to_json(value, &types.0)?)),
        (Val::Result(Err(value)), Ty::Result(types)) => Ok(single("err", optional_to_json(value, &types.1)?)),
        (Val::Flags(names), Ty::Flags(_)) => {
            Ok(Value::List(names.iter().map(|name| Value::from(name.as_str())).collect()))
        }
        (_, ty) => Err(not_of(ty)),
    }
}

/// Reads a value of a type from JSON.
pub fn from_json(value: &Value, ty: &Ty) -> Result<Val, Mismatch> {
    Ok(match ty {
        Ty::Bool => Val::Bool(value.as_bool().ok_or_else(|| expected("a boolean", value))?),
        Ty::S8 => Val::S8(integer(value, ty)?),
        Ty::U8 => Val::U8(integer(value, ty)?),
        Ty::S16 => Val::S16(integer(value, ty)?),
        Ty::U16 => Val::U16(integer(value, ty)?),
        Ty::S32 => Val::S32(integer(value, ty)?),
        Ty::U32 => Val::U32(integer(value, ty)?),
        Ty::S64 => Val::S64(integer(value, ty)?),
        Ty::U64 => Val::U64(integer(value, ty)?),
        Ty::F32 => Val::Float32(read_float(value, |float: &f32| float.is_finite())?),
        Ty::F64 => Val::Float64(read_float(value, |float: &f64| float.is_finite())?),
        Ty::Char => {
            let mut chars = text(value, "a text of one character")?.chars();
            match (chars.next(), chars.next()) {
                (Some(char), None) => Val::Char(char),
                _ => return Err(expected("a text of one character", value)),
            }
        }
        Ty::String => Val::String(text(value, "text")?.to_owned()),
        Ty::List(ty) if **ty == Ty::U8 => bytes_from_json(value)?,
        Ty::List(ty) => {
            let items = value.as_list().ok_or_else(|| expected("a list", value))?;
            Val::List(
                items.iter().enumerate().map(|(at, item)| under(at, from_json(item, ty))).collect::<Result<_, _>>()?,
            )
        }
        Ty::Tuple(types) => tuple_from_json(value, types)?,
        Ty::Record(types) => record_from_json(value, types)?,
        Ty::Variant(cases) => variant_from_json(value, cases)?,
        Ty::Enum(cases) => Val::Enum(label(value, cases)?),
        Ty::Option(_) if *value == Value::Null => Val::Option(None),
        Ty::Option(ty) if nullable(ty) => match lone(value) {
            Some(("some", inner)) => Val::Option(Some(Box::new(under("some", from_json(inner, ty))?))),
            _ => return Err(expected("null or {\"some\": value}", value)),
        },
        Ty::Option(ty) => Val::Option(Some(Box::new(from_json(value, ty)?))),
        Ty::Result(types) => match lone(value) {
            Some(("ok", inner)) => Val::Result(Ok(under("ok", optional_from_json(inner, &types.0))?)),
            Some(("err", inner)) => Val::Result(Err(under("err", optional_from_json(inner, &types.1))?)),
            _ => return Err(expected("{\"ok\": value} or {\"err\": value}", value)),
        },
        Ty::Flags(flags) => {
            let names = value.as_list().ok_or_else(|| expected("a list of names", value))?;
            let names = names.iter().enumerate().map(|(at, name)| under(at, label(name, flags)));
            Val::Flags(names.collect::<Result<_, _>>()?)
        }
    })
}

fn tuple_from_json(value: &Value, types: &[Ty]) -> Result<Val, Mismatch> {
    let items = value.as_list().filter(|items| items.len() == types.len());
    let items = items.ok_or_else(|| expected(&format!("a list of {}", types.len()), value))?;
    let items = items.iter().zip(types).enumerate().map(|(at, (item, ty))| under(at, from_json(item, ty)));
    Ok(Val::Tuple(items.collect::<Result<_, _>>()?))
}

fn record_from_json(value: &Value, types: &[(String, Ty)]) -> Result<Val, Mismatch> {
    let members = value.as_record().ok_or_else(|| expected("an object", value))?;
    if let Some((key, _)) = members.iter().find(|(key, _)| !types.iter().any(|(name, _)| names(name, key))) {
        return Err(at(key, "there is no such field".to_owned()));
    }
    let fields = types.iter().map(|(name, ty)| match (members.get(name), members.get(&snake(name)), ty) {
        (Some(_), Some(_), _) if snake(name) != *name => Err(at(name, format!("given twice, also as {}", snake(name)))),
        (Some(value), ..) | (None, Some(value), _) => Ok((name.clone(), under(name, from_json(value, ty))?)),
        (None, None, Ty::Option(_)) => Ok((name.clone(), Val::Option(None))),
        (None, None, _) => Err(at(name, "the field is missing".to_owned())),
    });
    Ok(Val::Record(fields.collect::<Result<_, _>>()?))
}

fn variant_from_json(value: &Value, cases: &[(String, Option<Ty>)]) -> Result<Val, Mismatch> {
    let known = || cases.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    if let Some((case, payload)) = lone(value) {
        let Some((name, ty)) = cases.iter().find(|(name, _)| names(name, case)) else {
            return Err(at(case, format!("no such case; there are {}", known().join(", "))));
        };
        return match ty {
            Some(ty) => Ok(Val::Variant(name.clone(), Some(Box::new(under(case, from_json(payload, ty))?)))),
            None => Err(at(case, format!("this case carries nothing; write it as \"{name}\""))),
        };
    }
    let case = label(value, &known())?;
    match cases.iter().find(|(name, _)| *name == case) {
        Some((_, None)) => Ok(Val::Variant(case, None)),
        _ => Err(expected(&format!("{{\"{case}\": payload}}"), value)),
    }
}

fn label(value: &Value, known: &[String]) -> Result<String, Mismatch> {
    let text = value.as_text().and_then(|text| known.iter().find(|name| names(name, text)));
    text.cloned().ok_or_else(|| expected(&format!("one of {}", known.join(", ")), value))
}

/// Whether a key stands for a WIT name: as it is, or with underscores.
fn names(name: &str, key: &str) -> bool {
    key == name || key == snake(name)
}

fn snake(name: &str) -> String {
    name.replace('-', "_")
}

fn single(key: &str, value: Value) -> Value {
    Value::Record(Record::new().with(key, value))
}

fn lone(value: &Value) -> Option<(&str, &Value)> {
    value.as_record().filter(|record| record.len() == 1).and_then(|record| record.iter().next())
}

/// Whether a value of the type can have the JSON form `null`.
fn nullable(ty: &Ty) -> bool {
    matches!(ty, Ty::Option(_))
}

fn optional_to_json(value: &Option<Box<Val>>, ty: &Option<Ty>) -> Result<Value, Mismatch> {
    match (value, ty) {
        (Some(value), Some(ty)) => to_json(value, ty),
        (None, None) => Ok(Value::Null),
        (_, ty) => {
            Err(Mismatch { at: String::new(), message: format!("not {}", ty.as_ref().map_or("empty", Ty::kind)) })
        }
    }
}

fn optional_from_json(value: &Value, ty: &Option<Ty>) -> Result<Option<Box<Val>>, Mismatch> {
    match ty {
        Some(ty) => Ok(Some(Box::new(from_json(value, ty)?))),
        None if *value == Value::Null => Ok(None),
        None => Err(expected("null", value)),
    }
}

fn list_to_json<'a>(items: impl Iterator<Item = (&'a Val, &'a Ty)>) -> Result<Value, Mismatch> {
    let items = items.enumerate().map(|(at, (item, ty))| under(at, to_json(item, ty)));
    items.collect::<Result<_, _>>().map(Value::List)
}

fn bytes_to_json(items: &[Val]) -> Result<Value, Mismatch> {
    let bytes = items.iter().map(|item| if let Val::U8(byte) = item { Ok(*byte) } else { Err(not_of(&Ty::U8)) });
    Ok(Value::Text(STANDARD.encode(bytes.collect::<Result<Vec<_>, _>>()?)))
}

fn bytes_from_json(value: &Value) -> Result<Val, Mismatch> {
    let bytes = STANDARD.decode(text(value, "base64 text")?);
    let bytes = bytes.map_err(|error| Mismatch { at: String::new(), message: format!("not base64: {error}") })?;
    Ok(Val::List(bytes.into_iter().map(Val::U8).collect()))
}

fn text<'a>(value: &'a Value, what: &str) -> Result<&'a str, Mismatch> {
    value.as_text().ok_or_else(|| expected(what, value))
}

fn integer<T: TryFrom<i128>>(value: &Value, ty: &Ty) -> Result<T, Mismatch> {
    let number = value.as_number().and_then(Number::as_i128);
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| expected(&format!("an integer ({})", ty.kind()), value))
}

fn float(finite: bool, text: String) -> Result<Value, Mismatch> {
    // Rust writes a finite float as JSON does: digits, point, optional exponent.
    let number = Value::parse(&text).ok().filter(|_| finite);
    number.ok_or_else(|| Mismatch { at: String::new(), message: format!("{text} has no JSON form") })
}

fn read_float<T: std::str::FromStr>(value: &Value, finite: impl Fn(&T) -> bool) -> Result<T, Mismatch> {
    let float = value.as_number().and_then(|number| number.text().parse().ok()).filter(finite);
    float.ok_or_else(|| expected("a number", value))
}

fn expected(what: &str, found: &Value) -> Mismatch {
    let found = match found {
        Value::Text(text) if text.len() < 60 => format!("\"{text}\""),
        Value::Number(number) => number.text(),
        other => other.kind().to_owned(),
    };
    Mismatch { at: String::new(), message: format!("expected {what}, found {found}") }
}

fn not_of(ty: &Ty) -> Mismatch {
    Mismatch { at: String::new(), message: format!("the value is no {}", ty.kind()) }
}

fn at(key: &str, message: String) -> Mismatch {
    Mismatch { at: format!("/{}", escape(key)), message }
}

/// Puts a place in front of where a mismatch was found.
fn under<T>(key: impl ToString, result: Result<T, Mismatch>) -> Result<T, Mismatch> {
    result.map_err(|mismatch| Mismatch { at: format!("/{}{}", escape(&key.to_string()), mismatch.at), ..mismatch })
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
