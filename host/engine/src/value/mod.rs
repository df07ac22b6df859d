//! Values of the component model: their JSON form, their bytes for keys and records, and
//! whether one fits a type. Types come from [`crate::shape`], so none of this needs a
//! compiled component.

mod binary;
mod json;

pub use binary::{Sink, decode, encode, encode_each};
pub use json::{Mismatch, from_json, to_json};

use wasmtime::component::Val;

use crate::shape::Ty;

/// Bytes that a value takes and how deep it nests: one byte for a small scalar, the
/// length for a text, one per byte of a byte list. A case or flag is its name: the host keeps one
/// for each.
pub fn measure(value: &Val) -> (u64, usize) {
    match value {
        Val::Bool(_) | Val::S8(_) | Val::U8(_) => (1, 0),
        Val::S16(_) | Val::U16(_) => (2, 0),
        Val::S32(_) | Val::U32(_) | Val::Float32(_) | Val::Char(_) => (4, 0),
        Val::S64(_) | Val::U64(_) | Val::Float64(_) => (8, 0),
        Val::String(text) => (4 + text.len() as u64, 0),
        Val::Enum(name) => (named(name), 0),
        Val::Flags(names) => (names.iter().map(|name| named(name)).sum(), 0),
        Val::List(items) | Val::Tuple(items) | Val::FixedLengthList(items) => measure_all(items.iter()),
        Val::Record(fields) => measure_all(fields.iter().map(|(_, value)| value)),
        Val::Map(entries) => measure_all(entries.iter().flat_map(|(key, value)| [key, value])),
        Val::Variant(name, payload) => {
            let (size, depth) = measure_all(payload.as_deref().into_iter());
            (size + name.len() as u64, depth)
        }
        Val::Option(payload) => measure_all(payload.as_deref().into_iter()),
        Val::Result(Ok(payload) | Err(payload)) => measure_all(payload.as_deref().into_iter()),
        Val::Resource(_) | Val::Future(_) | Val::Stream(_) | Val::ErrorContext(_) => (4, 0),
    }
}

fn named(name: &str) -> u64 {
    4 + name.len() as u64
}

fn measure_all<'a>(items: impl Iterator<Item = &'a Val>) -> (u64, usize) {
    let (mut size, mut depth) = (4, 0);
    for (item_size, item_depth) in items.map(measure) {
        size += item_size;
        depth = depth.max(item_depth);
    }
    (size, depth + 1)
}

/// Whether a value is of a type.
pub fn fits(value: &Val, ty: &Ty) -> bool {
    let optional = |value: &Option<Box<Val>>, ty: &Option<Ty>| match (value, ty) {
        (Some(value), Some(ty)) => fits(value, ty),
        (None, None) => true,
        _ => false,
    };
    match (value, ty) {
        (Val::Bool(_), Ty::Bool)
        | (Val::S8(_), Ty::S8)
        | (Val::U8(_), Ty::U8)
        | (Val::S16(_), Ty::S16)
        | (Val::U16(_), Ty::U16)
        | (Val::S32(_), Ty::S32)
        | (Val::U32(_), Ty::U32)
        | (Val::S64(_), Ty::S64)
        | (Val::U64(_), Ty::U64)
        | (Val::Float32(_), Ty::F32)
        | (Val::Float64(_), Ty::F64)
        | (Val::Char(_), Ty::Char)
        | (Val::String(_), Ty::String) => true,
        (Val::List(items), Ty::List(ty)) => items.iter().all(|item| fits(item, ty)),
        (Val::Tuple(items), Ty::Tuple(types)) => {
            items.len() == types.len() && items.iter().zip(types.iter()).all(|(item, ty)| fits(item, ty))
        }
        (Val::Record(fields), Ty::Record(types)) => {
            fields.len() == types.len()
                && fields.iter().zip(types.iter()).all(|((name, value), (own, ty))| name == own && fits(value, ty))
        }
        (Val::Variant(case, payload), Ty::Variant(cases)) => {
            cases.iter().any(|(name, ty)| name == case && optional(payload, ty))
        }
        (Val::Enum(case), Ty::Enum(cases)) => cases.contains(case),
        (Val::Flags(names), Ty::Flags(flags)) => names.iter().all(|name| flags.contains(name)),
        (Val::Option(None), Ty::Option(_)) => true,
        (Val::Option(Some(value)), Ty::Option(ty)) => fits(value, ty),
        (Val::Result(Ok(value)), Ty::Result(types)) => optional(value, &types.0),
        (Val::Result(Err(value)), Ty::Result(types)) => optional(value, &types.1),
        _ => false,
    }
}
