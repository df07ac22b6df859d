//! The interfaces published in `wit/`, as signatures, so that a component built against
//! another text of the same name is refused with the item that differs. An interface
//! that is not here is none of the host's business and passes through.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use wit_parser::{Resolve, SourceMap};

use crate::name::InterfaceName;
use crate::shape::Interface;

include!(concat!(env!("OUT_DIR"), "/wit_files.rs"));

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
        let shape = Interface::read(&resolve, id).map_err(anyhow::Error::msg)?;
        if let Some(name) = name {
            found.insert(name, shape);
        }
    }
    Ok(found)
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
