//! The interfaces published in `wit/`, as signatures, so that a component built against
//! another text of the same name is refused with the item that differs. An interface
//! that is not here is none of the host's business and passes through.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use wit_parser::{Function, InterfaceId, Resolve, SourceMap, Type, TypeDefKind};

use crate::name::InterfaceName;
use crate::shape::{Interface, Signature, Ty};

include!(concat!(env!("OUT_DIR"), "/wit_files.rs"));

/// The published texts: `(package folder, file name, text)`.
pub fn wit_files() -> &'static [(&'static str, &'static str, &'static str)] {
    FILES
}

/// Every published interface.
pub(crate) fn interfaces() -> &'static BTreeMap<InterfaceName, Interface> {
    static INTERFACES: OnceLock<BTreeMap<InterfaceName, Interface>> = OnceLock::new();
    // The texts are compiled in and a test reads them, so the fallback is never taken.
    INTERFACES.get_or_init(|| read().unwrap_or_default())
}

/// The published interface that a name asks for, in the version that serves it.
pub(crate) fn find(name: &InterfaceName) -> Option<(&'static InterfaceName, &'static Interface)> {
    interfaces().iter().find(|(own, _)| own.serves(name) || name.serves(own))
}

/// The published name of the same interface in a version that does not go with `name`.
pub(crate) fn other_version(name: &InterfaceName) -> Option<&'static InterfaceName> {
    match find(name) {
        Some(_) => None,
        None => interfaces().keys().rev().find(|own| own.same_interface(name)),
    }
}

fn read() -> anyhow::Result<BTreeMap<InterfaceName, Interface>> {
    let mut resolve = Resolve::default();
    let mut packages: Vec<&str> = FILES.iter().map(|(package, ..)| *package).collect();
    packages.dedup();
    for package in packages {
        let mut sources = SourceMap::default();
        for (_, name, text) in FILES.iter().filter(|(own, ..)| *own == package) {
            sources.push_str(&format!("wit/{package}/{name}"), *text);
        }
        let group = sources.parse().map_err(|(_, error)| anyhow::anyhow!("{error}"))?;
        resolve.push_group(group)?;
    }
    let mut found = BTreeMap::new();
    for (id, _) in resolve.interfaces.iter() {
        let name = resolve.id_of(id).and_then(|name| InterfaceName::parse(&name));
        let shape = interface(&resolve, id).map_err(anyhow::Error::msg)?;
        if let Some(name) = name {
            found.insert(name, shape);
        }
    }
    Ok(found)
}

fn interface(resolve: &Resolve, id: InterfaceId) -> Result<Interface, String> {
    let functions = resolve.interfaces[id].functions.iter();
    let functions = functions.map(|(name, function)| Ok((name.clone(), signature(resolve, function)?)));
    functions.collect::<Result<_, String>>().map(|functions| Interface { functions })
}

fn signature(resolve: &Resolve, function: &Function) -> Result<Signature, String> {
    let params = function.params.iter().map(|param| Ok((param.name.clone(), value(resolve, param.ty)?)));
    let params = params.collect::<Result<_, String>>()?;
    Ok(Signature { params, result: function.result.map(|ty| value(resolve, ty)).transpose()? })
}

fn value(resolve: &Resolve, ty: Type) -> Result<Ty, String> {
    Ok(match ty {
        Type::Bool => Ty::Bool,
        Type::S8 => Ty::S8,
        Type::U8 => Ty::U8,
        Type::S16 => Ty::S16,
        Type::U16 => Ty::U16,
        Type::S32 => Ty::S32,
        Type::U32 => Ty::U32,
        Type::S64 => Ty::S64,
        Type::U64 => Ty::U64,
        Type::F32 => Ty::F32,
        Type::F64 => Ty::F64,
        Type::Char => Ty::Char,
        Type::String => Ty::String,
        Type::ErrorContext => return Err("an error-context is published".to_owned()),
        Type::Id(id) => defined(resolve, &resolve.types[id].kind)?,
    })
}

fn defined(resolve: &Resolve, kind: &TypeDefKind) -> Result<Ty, String> {
    let value = |ty: Type| value(resolve, ty);
    let optional = |ty: Option<Type>| ty.map(value).transpose();
    Ok(match kind {
        TypeDefKind::Type(ty) => value(*ty)?,
        TypeDefKind::List(ty) => Ty::List(Arc::new(value(*ty)?)),
        TypeDefKind::Option(ty) => Ty::Option(Arc::new(value(*ty)?)),
        TypeDefKind::Result(result) => Ty::Result(Arc::new((optional(result.ok)?, optional(result.err)?))),
        TypeDefKind::Record(record) => {
            let fields = record.fields.iter().map(|field| Ok((field.name.clone(), value(field.ty)?)));
            Ty::Record(fields.collect::<Result<_, String>>()?)
        }
        TypeDefKind::Tuple(tuple) => Ty::Tuple(tuple.types.iter().map(|ty| value(*ty)).collect::<Result<_, String>>()?),
        TypeDefKind::Variant(variant) => {
            let cases = variant.cases.iter().map(|case| Ok((case.name.clone(), optional(case.ty)?)));
            Ty::Variant(cases.collect::<Result<_, String>>()?)
        }
        TypeDefKind::Enum(names) => Ty::Enum(names.cases.iter().map(|case| case.name.clone()).collect()),
        TypeDefKind::Flags(flags) => Ty::Flags(flags.flags.iter().map(|flag| flag.name.clone()).collect()),
        other => return Err(format!("a {} is published", other.as_str())),
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_published_texts_are_read() {
        let found = super::read().unwrap();
        for name in ["auto:pass/gate@0.1.0", "auto:host/artifact@0.1.0", "auto:driver/job@0.1.0"] {
            let name = crate::name::InterfaceName::parse(name).unwrap();
            assert!(!found[&name].functions.is_empty(), "{name}");
        }
    }
}
