//! What a look at a component's bytes finds, for `pass check`: who it is, what it needs and
//! offers, and every reason to refuse it.

use auto_schema::digest::Digest;

use crate::engine::Engine;
use crate::fault::Error;
use crate::name::InterfaceName;
use crate::pass::{HOST_PACKAGE, Pass};
use crate::published;
use crate::shape::Interface;

/// A component, looked at and not compiled. Made by [`Engine::examine`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// Bytes.
    pub size: usize,
    /// Whether it runs jobs.
    pub driver: bool,
    /// What it imports, and where that comes from.
    pub imports: Vec<(String, &'static str)>,
    /// What it exports.
    pub exports: Vec<Export>,
    /// Every reason to refuse it; none where it can be loaded.
    pub problems: Vec<Error>,
}

/// An exported interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// With its version.
    pub interface: String,
    /// Whether it is one of those that the host publishes, as it publishes it.
    pub published: bool,
    /// Its functions, as WIT writes them.
    pub functions: Vec<(String, String)>,
}

impl Engine {
    /// Looks at a component as [`Engine::load`] does, and says all that it found.
    pub fn examine(&self, label: &str, bytes: Vec<u8>) -> Report {
        let (digest, size) = (Digest::of(&bytes), bytes.len());
        match Pass::examine(label, bytes) {
            Ok((pass, mut problems)) => {
                problems.extend(pass.check().err());
                Report {
                    digest,
                    size,
                    driver: pass.is_driver(),
                    imports: pass.imports.iter().map(|name| (name.clone(), source(&pass, &problems, name))).collect(),
                    exports: pass.exports.iter().map(|name| export(&pass, name)).collect(),
                    problems,
                }
            }
            Err(error) => {
                let (imports, exports) = (Vec::new(), Vec::new());
                Report { digest, size, driver: false, imports, exports, problems: vec![error] }
            }
        }
    }
}

/// Where an import comes from.
fn source(pass: &Pass, problems: &[Error], import: &str) -> &'static str {
    if problems.iter().any(|problem| problem.at.as_deref() == Some(import)) {
        return "refused";
    }
    let Some((name, _)) = pass.needs.iter().find(|(name, _)| name.to_string() == import) else {
        return if import.starts_with("wasi:") { "lent, and grants nothing" } else { "types alone" };
    };
    if name.package == HOST_PACKAGE {
        "lent by the host"
    } else if pass.offers.keys().any(|own| own.same_interface(name)) {
        "the provider beneath"
    } else {
        "another component"
    }
}

fn export(pass: &Pass, name: &str) -> Export {
    let shape = InterfaceName::parse(name).and_then(|name| Some((pass.offers.get(&name)?, name)));
    let as_published = |name: &InterfaceName, own: &Interface| {
        published::find(name).is_some_and(|(_, text)| Interface::difference(text, own).is_none())
    };
    Export {
        interface: name.to_owned(),
        published: shape.as_ref().is_some_and(|(own, name)| as_published(name, own)),
        functions: shape.map_or_else(Vec::new, |(own, _)| {
            own.functions.iter().map(|(name, signature)| (name.clone(), signature.to_string())).collect()
        }),
    }
}
