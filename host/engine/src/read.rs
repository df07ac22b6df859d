//! Reads what a component imports and exports from its bytes, before anything is compiled
//! and without believing any of it: structure and types are validated on the way, function
//! bodies when the component is compiled.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use wasmparser::component_types::{
    ComponentDefinedType, ComponentDefinedTypeId, ComponentEntityType, ComponentFuncTypeId, ComponentInstanceTypeId,
    ComponentValType,
};
use wasmparser::types::{Types, TypesRef};
use wasmparser::{Parser, Payload, PrimitiveValType, ValidPayload, Validator};

use crate::profile;
use crate::shape::{Interface, Signature, Ty};

/// The deepest a type may nest.
const MAX_NESTING: usize = 100;

/// What a component has on one side: interfaces by name, with what cannot cross in those
/// that have such a thing, and the names of everything that is no interface.
#[derive(Default)]
pub(crate) struct Side {
    pub(crate) interfaces: BTreeMap<String, Result<Interface, String>>,
    pub(crate) others: Vec<String>,
}

/// Both sides of a component: imports and exports.
/// The error says what is wrong with the bytes.
pub(crate) fn component(wasm: &[u8]) -> Result<(Side, Side), String> {
    let (types, imports, exports) = validate(wasm)?;
    let mut reader = Reader { types: types.as_ref(), known: HashMap::new() };
    let mut side = |names: Vec<String>, imported: bool| {
        let mut side = Side::default();
        for name in names {
            let item = match imported {
                true => reader.types.component_item_for_import(&name),
                false => reader.types.component_item_for_export(&name),
            };
            match item.map(|item| item.ty) {
                Some(ComponentEntityType::Instance(id)) => {
                    let interface = reader.interface(id);
                    side.interfaces.insert(name, interface);
                }
                // A type by itself can always be provided.
                Some(ComponentEntityType::Type { .. }) => {}
                _ => side.others.push(name),
            }
        }
        side
    };
    Ok((side(imports, true), side(exports, false)))
}

/// The types of the outermost component and the names of its imports and exports.
fn validate(wasm: &[u8]) -> Result<(Types, Vec<String>, Vec<String>), String> {
    let wrong = |error: wasmparser::Error| error.to_string();
    let mut validator = Validator::new_with_features(profile::features());
    let (mut imports, mut exports) = (Vec::new(), Vec::new());
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload.map_err(wrong)?;
        match &payload {
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section.clone() {
                    imports.push(import.map_err(wrong)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section.clone() {
                    exports.push(export.map_err(wrong)?.name.name.to_owned());
                }
            }
            _ => {}
        }
        match validator.payload(&payload).map_err(wrong)? {
            ValidPayload::Parser(_) => depth += 1,
            ValidPayload::End(types) if depth == 0 => return Ok((types, imports, exports)),
            ValidPayload::End(_) => depth -= 1,
            ValidPayload::Ok | ValidPayload::Func(..) => {}
        }
    }
    // The parser itself reports a file that ends too early.
    Err("the component does not end".to_owned())
}

struct Reader<'a> {
    types: TypesRef<'a>,
    /// Types are shared, so reading each once keeps a small file from becoming a large tree.
    known: HashMap<ComponentDefinedTypeId, Ty>,
}

impl Reader<'_> {
    fn interface(&mut self, id: ComponentInstanceTypeId) -> Result<Interface, String> {
        let mut interface = Interface::default();
        let types = self.types;
        for (name, item) in &types[id].exports {
            match item.ty {
                ComponentEntityType::Func(id) => {
                    let signature = self.signature(id).map_err(|what| format!("{what} in function `{name}`"))?;
                    interface.functions.insert(name.clone(), signature);
                }
                ComponentEntityType::Type { created, .. } => {
                    if matches!(created, wasmparser::component_types::ComponentAnyTypeId::Resource(_)) {
                        return Err(format!("the resource `{name}`"));
                    }
                }
                _ => return Err(format!("`{name}`, which is neither a function nor a type")),
            }
        }
        Ok(interface)
    }

    fn signature(&mut self, id: ComponentFuncTypeId) -> Result<Signature, String> {
        let types = self.types;
        let ty = &types[id];
        if ty.async_ {
            return Err("async".to_owned());
        }
        let params = ty.params.iter().map(|(name, ty)| Ok((name.to_string(), self.ty(*ty, 0)?)));
        let params = params.collect::<Result<_, String>>()?;
        Ok(Signature { params, result: ty.result.map(|ty| self.ty(ty, 0)).transpose()? })
    }

    fn ty(&mut self, ty: ComponentValType, depth: usize) -> Result<Ty, String> {
        let id = match ty {
            ComponentValType::Primitive(ty) => return primitive(ty),
            ComponentValType::Type(id) => id,
        };
        if depth > MAX_NESTING {
            return Err("a type that nests too deep".to_owned());
        }
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let ty = self.defined(id, depth + 1)?;
        self.known.insert(id, ty.clone());
        Ok(ty)
    }

    fn defined(&mut self, id: ComponentDefinedTypeId, depth: usize) -> Result<Ty, String> {
        let types = self.types;
        Ok(match &types[id] {
            ComponentDefinedType::Primitive(ty) => primitive(*ty)?,
            ComponentDefinedType::List { element, .. } => Ty::List(Arc::new(self.ty(*element, depth)?)),
            ComponentDefinedType::Option { ty, .. } => Ty::Option(Arc::new(self.ty(*ty, depth)?)),
            ComponentDefinedType::Result { ok, err, .. } => {
                Ty::Result(Arc::new((self.optional(*ok, depth)?, self.optional(*err, depth)?)))
            }
            ComponentDefinedType::Record(record) => {
                let fields = record.fields.iter().map(|(name, ty)| Ok((name.to_string(), self.ty(*ty, depth)?)));
                Ty::Record(fields.collect::<Result<_, String>>()?)
            }
            ComponentDefinedType::Tuple(tuple) => {
                Ty::Tuple(tuple.types.iter().map(|ty| self.ty(*ty, depth)).collect::<Result<_, String>>()?)
            }
            ComponentDefinedType::Variant(variant) => {
                let cases = variant.cases.iter();
                let cases = cases.map(|(name, case)| Ok((name.to_string(), self.optional(case.ty, depth)?)));
                Ty::Variant(cases.collect::<Result<_, String>>()?)
            }
            ComponentDefinedType::Enum(names) => Ty::Enum(names.iter().map(ToString::to_string).collect()),
            ComponentDefinedType::Flags(names) => Ty::Flags(names.iter().map(ToString::to_string).collect()),
            ComponentDefinedType::Own(_) | ComponentDefinedType::Borrow(_) => return Err("a resource".to_owned()),
            ComponentDefinedType::Future { .. } => return Err("a future".to_owned()),
            ComponentDefinedType::Stream { .. } => return Err("a stream".to_owned()),
            ComponentDefinedType::Map { .. } => return Err("a map".to_owned()),
            ComponentDefinedType::FixedLengthList { .. } => return Err("a fixed-length list".to_owned()),
        })
    }

    fn optional(&mut self, ty: Option<ComponentValType>, depth: usize) -> Result<Option<Ty>, String> {
        ty.map(|ty| self.ty(ty, depth)).transpose()
    }
}

fn primitive(ty: PrimitiveValType) -> Result<Ty, String> {
    Ok(match ty {
        PrimitiveValType::Bool => Ty::Bool,
        PrimitiveValType::S8 => Ty::S8,
        PrimitiveValType::U8 => Ty::U8,
        PrimitiveValType::S16 => Ty::S16,
        PrimitiveValType::U16 => Ty::U16,
        PrimitiveValType::S32 => Ty::S32,
        PrimitiveValType::U32 => Ty::U32,
        PrimitiveValType::S64 => Ty::S64,
        PrimitiveValType::U64 => Ty::U64,
        PrimitiveValType::F32 => Ty::F32,
        PrimitiveValType::F64 => Ty::F64,
        PrimitiveValType::Char => Ty::Char,
        PrimitiveValType::String => Ty::String,
        PrimitiveValType::ErrorContext => return Err("an error-context".to_owned()),
    })
}
