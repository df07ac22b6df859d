//! A loaded component: who it is, what it needs and what it offers, all read from its
//! bytes before anything is compiled; and every reason to refuse one.
//!
//! A pass may import interfaces without functions, `auto:host/log`, WASI (which grants it
//! nothing), and the interface it exports itself (then it is middleware); one that proposes
//! programs may ask the teacher. A driver, which is what exports an interface
//! of `auto:driver`, may also import the host's services and whatever some component
//! provides; whether one does is known only when it runs.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use auto_schema::digest::Digest;
use wasmtime::component::InstancePre;

use crate::call::State;
use crate::fault::Error;
use crate::name::InterfaceName;
use crate::profile::{self, Footprint, Refused};
use crate::published;
use crate::read::{self, Side};
use crate::shape::Interface;
use crate::wasi;

/// The interface every component may import.
pub(crate) const LOG: &str = "auto:host/log";
/// The package of what the host lends.
pub(crate) const HOST_PACKAGE: &str = "auto:host";
const DRIVER_PACKAGE: &str = "auto:driver";
/// The interface whose passes may ask a teacher, the teacher, and how.
const PROPOSE: &str = "auto:pass/propose";
const TEACHER: &str = "auto:host/teacher";
const ASK: &str = "ask";
/// How the names of WASI's packages start.
const WASI: &str = "wasi:";

/// Interfaces by name.
type Interfaces = BTreeMap<InterfaceName, Interface>;

/// A component that may be called. Made by [`crate::Engine::load`].
pub struct Pass {
    /// The file or name it was loaded under.
    pub label: String,
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// The interfaces it imports, those without functions too.
    pub imports: Vec<String>,
    /// The interfaces it exports, those without functions too.
    pub exports: Vec<String>,
    /// Bytes.
    pub size: usize,
    pub(crate) wasm: Vec<u8>,
    /// Compiled code that came with it.
    pub(crate) code: Option<&'static [u8]>,
    /// What an instance of it starts with.
    pub(crate) footprint: Footprint,
    /// Whether it imports WASI.
    pub(crate) wasi: bool,
    /// Imported interfaces that have functions, without those of WASI.
    pub(crate) needs: Interfaces,
    /// Exported interfaces that have functions.
    pub(crate) offers: Interfaces,
    pub(crate) compiled: OnceLock<InstancePre<State>>,
}

impl std::fmt::Debug for Pass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pass({}, {})", self.label, self.digest)
    }
}

impl Pass {
    /// Whether it runs jobs.
    pub fn is_driver(&self) -> bool {
        self.offers.keys().any(|name| name.package == DRIVER_PACKAGE)
    }

    /// The functions of an exported interface.
    pub fn interface(&self, name: &str) -> Option<&Interface> {
        let wanted = InterfaceName::parse(name)?;
        self.offer(&wanted).map(|(_, interface)| interface)
    }

    /// Whether it imports what only a driver's job lends.
    pub(crate) fn needs_services(&self) -> bool {
        self.needs.keys().any(|name| name.package == HOST_PACKAGE && !is(name, LOG))
    }

    pub(crate) fn offer(&self, wanted: &InterfaceName) -> Option<(&InterfaceName, &Interface)> {
        self.offers.iter().find(|(own, _)| own.serves(wanted))
    }

    /// What it imports from other components.
    pub(crate) fn component_needs(&self) -> impl Iterator<Item = (&InterfaceName, &Interface)> {
        self.needs.iter().filter(|(name, _)| name.package != HOST_PACKAGE)
    }

    /// Looks at every function too, as is done before it is compiled.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refusal = Refusal { label: &self.label, digest: self.digest };
        profile::bodies(&self.wasm).map_err(|refused| refusal.profile(refused))
    }

    /// Reads and judges the bytes.
    pub(crate) fn read(label: &str, wasm: Vec<u8>) -> Result<Pass, Error> {
        let (pass, problems) = Pass::examine(label, wasm)?;
        problems.into_iter().next().map_or(Ok(pass), Err)
    }

    /// The same, with every reason to refuse it. The error is for what cannot be read.
    pub(crate) fn examine(label: &str, wasm: Vec<u8>) -> Result<(Pass, Vec<Error>), Error> {
        let refusal = Refusal { label, digest: Digest::of(&wasm) };
        refusal.container(&wasm)?;
        let footprint = profile::structure(&wasm).map_err(|refused| refusal.profile(refused))?;
        let (imports, exports) =
            read::component(&wasm).map_err(|error| refusal.profile(profile::not_valid(&wasm, &error)))?;
        let mut problems = Vec::new();
        let wasi = refusal.wasi(&imports, &mut problems);
        let imports = refusal.imports(imports, &mut problems);
        let exports = refusal.exports(exports, &mut problems);
        let names = |items: &Interfaces| items.keys().map(ToString::to_string).collect::<Vec<_>>();
        let functions =
            |items: Interfaces| items.into_iter().filter(|(_, interface)| !interface.functions.is_empty()).collect();
        let pass = Pass {
            label: label.to_owned(),
            digest: refusal.digest,
            imports: [names(&imports), wasi.clone()].concat(),
            exports: names(&exports),
            size: wasm.len(),
            wasm,
            wasi: !wasi.is_empty(),
            needs: functions(imports),
            offers: functions(exports),
            footprint,
            code: None,
            compiled: OnceLock::new(),
        };
        refusal.judge(&pass, &mut problems);
        Ok((pass, problems))
    }
}

/// Says no, with the component's name in it.
struct Refusal<'a> {
    label: &'a str,
    digest: Digest,
}

impl Refusal<'_> {
    fn error(&self, code: &'static str, at: Option<String>, message: impl Into<String>) -> Error {
        Error { code, label: self.label.to_owned(), digest: Some(self.digest), at, message: message.into() }
    }

    fn profile(&self, refused: Refused) -> Error {
        self.error(refused.code, None, refused.message)
    }

    /// The outermost layer: a component, and all of it.
    fn container(&self, wasm: &[u8]) -> Result<(), Error> {
        const MAGIC: &[u8] = b"\0asm";
        const CORE: &[u8] = &[1, 0, 0, 0];
        const COMPONENT: &[u8] = &[13, 0, 1, 0];
        let refuse = |code, message: &str| Err(self.error(code, None, message));
        let Some((magic, rest)) = wasm.split_at_checked(4).filter(|(magic, _)| *magic == MAGIC) else {
            if auto_runtime::is_precompiled(wasm) {
                return refuse(
                    "precompiled-code",
                    "is precompiled code, which would be executed unchecked; give the component it was compiled from",
                );
            }
            return refuse("not-wasm", "is not WebAssembly: it does not start with \\0asm; give a component");
        };
        debug_assert_eq!(magic, MAGIC);
        match rest.get(..4) {
            Some(CORE) => refuse(
                "core-module",
                "is a core module, not a component; make one of it with `cargo component build` or `wasm-tools component new`",
            ),
            Some(COMPONENT) => match sections(rest.get(4..).unwrap_or_default()) {
                true => Ok(()),
                false => refuse("truncated", "is cut off: its last section is longer than the file; get it again"),
            },
            Some(_) => refuse("not-wasm", "is WebAssembly of a version that this host does not know"),
            None => refuse("truncated", "is cut off inside its header; get it again"),
        }
    }

    /// The interfaces of WASI that are imported.
    fn wasi(&self, side: &Side, problems: &mut Vec<Error>) -> Vec<String> {
        let names: Vec<String> = side.interfaces.keys().filter(|name| name.starts_with(WASI)).cloned().collect();
        let refused = names.iter().filter_map(|name| Some((name, wasi::serves(name).err()?)));
        problems.extend(refused.map(|(name, (code, message))| self.error(code, Some(name.clone()), message)));
        names
    }

    fn imports(&self, side: Side, problems: &mut Vec<Error>) -> Interfaces {
        // A function of no interface: nothing can be linked to one by name.
        problems.extend(side.others.iter().map(|name| self.unknown(name)));
        let mut found = Interfaces::new();
        for (text, interface) in side.interfaces.into_iter().filter(|(text, _)| !text.starts_with(WASI)) {
            match (InterfaceName::parse(&text), interface) {
                (None, _) => problems.push(self.unknown(&text)),
                (Some(name), Ok(interface)) => drop(found.insert(name, interface)),
                (Some(_), Err(item)) => problems.push(self.uncrossable(&text, &item)),
            }
        }
        found
    }

    fn exports(&self, side: Side, problems: &mut Vec<Error>) -> Interfaces {
        let mut found = Interfaces::new();
        for (text, interface) in side.interfaces {
            // What is exported under no interface name cannot be asked for.
            let Some(name) = InterfaceName::parse(&text) else { continue };
            match interface {
                Ok(interface) => drop(found.insert(name, interface)),
                Err(item) => problems.push(self.uncrossable(&text, &item)),
            }
        }
        found
    }

    fn uncrossable(&self, interface: &str, item: &str) -> Error {
        let message =
            format!("{interface} uses {item}, which cannot cross from one component to another; pass plain data");
        self.error("unsupported-type", Some(interface.to_owned()), message)
    }

    fn judge(&self, pass: &Pass, problems: &mut Vec<Error>) {
        for (name, interface) in pass.needs.iter().chain(&pass.offers) {
            problems.extend(self.version(name, pass));
            problems.extend(self.published(name, interface, pass.needs.contains_key(name)));
        }
        // What was left out for a problem is no lack.
        if pass.offers.is_empty() && problems.is_empty() {
            let message = "exports no interface with functions, so there is nothing to call (a WIT package has types but no code)";
            problems.push(self.error("no-exports", None, message));
        }
        let proposes = pass.offers.keys().any(|offer| is(offer, PROPOSE));
        for (name, interface) in &pass.needs {
            let own = pass.offers.keys().any(|offer| offer.same_interface(name));
            let asks = proposes && is(name, TEACHER) && interface.functions.keys().all(|function| function == ASK);
            let known = name.package != HOST_PACKAGE || published::find(name).is_some();
            if !(is(name, LOG) || own || asks || pass.is_driver() && known) {
                problems.push(self.unknown(&name.to_string()));
            }
        }
    }

    /// An interface we know, in a version we do not. A component may export it beside one
    /// that we know.
    fn version(&self, name: &InterfaceName, pass: &Pass) -> Option<Error> {
        let known = published::other_version(name)?;
        if pass.offers.contains_key(name) && pass.offers.contains_key(known) {
            return None;
        }
        let advice = if name.version > known.version {
            "it is newer than this host: upgrade auto-host, or use a build of the component for the older version"
        } else {
            "it is older than this host: rebuild the component against the newer version, or ask its author to"
        };
        let message = format!("is built for {name}, and this host has {known}; {advice}");
        Some(self.error("version", Some(name.to_string()), message))
    }

    /// An interface we know, with another text: an error for every function that differs.
    fn published(&self, name: &InterfaceName, interface: &Interface, imported: bool) -> Vec<Error> {
        let Some((known, text)) = published::find(name) else { return Vec::new() };
        let differences = match imported {
            true => Interface::differences(interface, text),
            false => Interface::differences(text, interface),
        };
        let error = |difference| {
            let message = format!(
                "does not have {known} as it is published: {difference}; rebuild it against the published text (wit/), which never changes within a version"
            );
            self.error("interface-mismatch", Some(name.to_string()), message)
        };
        differences.map(error).collect()
    }

    fn unknown(&self, import: &str) -> Error {
        let message =
            format!("imports {import}; a pass may import nothing but {LOG}, WASI, and the interface it exports itself");
        self.error("unknown-import", Some(import.to_owned()), message)
    }
}

/// Whether a name is of an interface, in whatever version.
fn is(name: &InterfaceName, interface: &str) -> bool {
    interface.split_once('/') == Some((&name.package, &name.interface))
}

/// Whether the sections after the header end where the bytes end.
fn sections(mut rest: &[u8]) -> bool {
    while let Some((_, after)) = rest.split_first() {
        let mut reader = wasmparser::BinaryReader::new(after, 0);
        let Ok(size) = reader.read_var_u32() else { return false };
        match after.get(reader.current_position() + size as usize..) {
            Some(next) => rest = next,
            None => return false,
        }
    }
    true
}
