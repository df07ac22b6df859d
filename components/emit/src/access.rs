//! Members of records: where the type was checked, their place is known.

use auto_schema::types::Type;
use wasm_encoder::Instruction;

use crate::code::Body;
use crate::constants::{Constants, MEMBER, MEMBER_VALUE, POINTER};

impl Body {
    /// Turns the handle of a record into that of a member, 0 where there is none. Where a
    /// type is given, the value is there and was found to be of it.
    pub(crate) fn field(&mut self, constants: &mut Constants, ty: Option<&Type>, name: &str) {
        if let Some(position) = ty.and_then(|ty| position(ty, name)) {
            self.load(POINTER);
            self.constant(MEMBER * position + MEMBER_VALUE);
            self.op(Instruction::I32Add);
        } else {
            self.bytes(constants, name.as_bytes());
            self.constant(0);
            self.runtime("rt_field");
        }
    }
}

/// Where every record of a type has a field: no field up to it, itself included, may be
/// absent.
pub(crate) fn position(ty: &Type, name: &str) -> Option<u32> {
    let Type::Record(fields) = ty else { return None };
    let position = fields.iter().position(|field| field.name == name)?;
    fields[..=position].iter().all(|field| !field.optional).then_some(position as u32)
}

/// The type of a member, or of the items.
pub(crate) fn within<'t>(ty: &'t Type, name: Option<&str>) -> Option<&'t Type> {
    match (ty, name) {
        (Type::Optional(item), name) => within(item, name),
        (Type::List(item), None) | (Type::Map(item), Some(_)) => Some(item),
        (Type::Record(fields), Some(name)) => fields.iter().find(|field| field.name == name).map(|field| &field.ty),
        _ => None,
    }
}
