//! The components this binary carries or was told to use, and the engine that runs them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use auto_engine::{ARTIFACTS, Engine, Limits, Options, Pass, Providers, check_predicate};
use auto_importing::{IMPORTER, Importers};
use auto_runtime::{CACHE_BYTES, Cache};
use auto_schema::contract::Predicate;
use auto_schema::digest::Digest;
use auto_schema::shown_path;

use crate::failure::Failure;
use crate::files;
use crate::inputs;
use crate::options::Global;
use crate::reply::Exit;
use crate::signed::{self, Signed};

/// A component that came with the binary.
pub struct Embedded {
    /// Its name.
    pub name: &'static str,
    /// Its bytes.
    pub wasm: &'static [u8],
    /// Its compiled code, where the build had it.
    pub code: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/components.rs"));

/// The interface every compile asks before anything is sealed.
pub const GATE: &str = "auto:pass/gate@0.1.0";
const JOB: &str = "auto:driver/job@0.1.0";

/// Whether this program has a gate built in.
pub fn is_built_in_gate(digest: Digest) -> bool {
    COMPONENTS.iter().any(|embedded| embedded.name == "gate" && Digest::of(embedded.wasm) == digest)
}

/// Where compiled artifacts are kept, if anywhere.
pub fn artifact_cache(global: &Global) -> Result<Option<Cache>, Failure> {
    let Some(folder) = global.cache_folder() else { return Ok(None) };
    let cache = Cache::open(folder, global.cache_bytes.unwrap_or(CACHE_BYTES))?;
    Ok(Some(cache.part(ARTIFACTS)?))
}

/// What becomes of a component that is not pinned where others are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pins {
    /// It is refused.
    Held,
    /// It is told.
    Shown,
}

/// Whether `auto.toml` pins a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinned {
    /// It came with the binary, or nothing is pinned.
    Unasked,
    /// It does, by its digest.
    Yes,
    /// It pins others.
    No,
    /// It pins another digest under the name of this file.
    Changed,
}

/// The name under which a component is pinned: that of its file, without its ending.
pub fn pin_name(label: &str) -> String {
    Path::new(label).file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The loaded components and the engine.
pub struct Toolbox {
    /// The engine.
    pub engine: Engine,
    /// The passes, the topmost last.
    pub providers: Providers,
    /// Everything loaded, in order.
    pub all: Vec<Arc<Pass>>,
    /// The components that came with the binary.
    pub builtin: BTreeSet<Digest>,
    /// Who signed the others.
    pub signed: BTreeMap<Digest, Signed>,
}

impl Toolbox {
    /// Loads the components and puts `extra` on top of the stack of providers.
    pub fn open(global: &Global, extra: &[PathBuf]) -> Result<Toolbox, Failure> {
        Toolbox::open_with(global, global.cache_folder(), global.limits(), extra, false)
    }

    /// The same with another cache folder and other limits than the usual; with `audit`, what is
    /// known is run again, all else twice, and compared.
    pub fn open_with(
        global: &Global,
        cache: Option<PathBuf>,
        limits: Limits,
        extra: &[PathBuf],
        audit: bool,
    ) -> Result<Toolbox, Failure> {
        Toolbox::gathered(global, Options { cache, cache_bytes: global.cache_bytes, limits, audit }, extra, Pins::Held)
    }

    /// The same as [`Toolbox::open`], to be looked at: what is not pinned is not refused.
    pub fn open_unpinned(global: &Global, extra: &[PathBuf]) -> Result<Toolbox, Failure> {
        let (cache, cache_bytes, limits) = (global.cache_folder(), global.cache_bytes, global.limits());
        Toolbox::gathered(global, Options { cache, cache_bytes, limits, audit: false }, extra, Pins::Shown)
    }

    fn gathered(global: &Global, options: Options, extra: &[PathBuf], pins: Pins) -> Result<Toolbox, Failure> {
        if let Some(folder) = &options.cache {
            inputs::note_folder(folder);
        }
        let engine = Engine::new(options)?;
        let (builtin, signed) = (BTreeSet::new(), BTreeMap::new());
        let mut toolbox = Toolbox { engine, providers: Providers::new(), all: Vec::new(), builtin, signed };
        match &global.passes {
            // The gate that came with the binary decides all the same: one in the folder tightens.
            Some(folder) => {
                toolbox.add_embedded(|name| name == "gate")?;
                toolbox.add_folder(global, folder, pins)?;
            }
            None => toolbox.add_embedded(|_| true)?,
        }
        for file in extra {
            let label = shown_path(file);
            let pass = toolbox.engine.load(&label, files::read(file)?)?;
            toolbox.admit(global, &pass, file, pins)?;
            toolbox.add(pass);
        }
        Ok(toolbox)
    }

    fn add_embedded(&mut self, wanted: impl Fn(&str) -> bool) -> Result<(), Failure> {
        for Embedded { name, wasm, code } in COMPONENTS.iter().filter(|embedded| wanted(embedded.name)) {
            let pass = match code {
                // SAFETY: the code is part of this executable, put there by its
                // build, which had it from `precompile` of these same bytes.
                Some(code) => unsafe { self.engine.load_precompiled(name, wasm.to_vec(), code) }?,
                None => self.engine.load(name, wasm.to_vec())?,
            };
            self.builtin.insert(pass.digest);
            self.add(pass);
        }
        Ok(())
    }

    fn add_folder(&mut self, global: &Global, folder: &Path, pins: Pins) -> Result<(), Failure> {
        let entries = fs::read_dir(folder).map_err(|error| files::unreadable(folder, &error))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "wasm"));
        paths.sort();
        for path in paths {
            let label = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let pass = self.engine.load(&label, files::read_regular(&path)?)?;
            if !self.builtin.contains(&pass.digest) {
                self.admit(global, &pass, &path, pins)?;
                self.add(pass);
            }
        }
        Ok(())
    }

    /// Refuses a component that `auto.toml` does not pin, where it pins any, or that none of the keys
    /// signed that it names, where it names any.
    fn admit(&mut self, global: &Global, pass: &Pass, file: &Path, pins: Pins) -> Result<(), Failure> {
        let signed = signed::of(global, file, pass.digest)?;
        if pins == Pins::Held && !self.builtin.contains(&pass.digest) {
            signed::demand(global, pass, file, &signed)?;
        }
        self.signed.insert(pass.digest, signed);
        let name = pin_name(&pass.label);
        let (code, why) = match self.pinned(global, pass) {
            Pinned::No => ("unpinned-pass", "it is not among the passes that auto.toml pins"),
            Pinned::Changed => ("changed-pass", "it is not what auto.toml pins under that name"),
            Pinned::Unasked | Pinned::Yes => return Ok(()),
        };
        if pins == Pins::Shown {
            return Ok(());
        }
        let message = format!("{name} ({}) is not used: {why}", pass.digest);
        let help = format!("if you trust it as it is: auto-host pass pin {}", shown_path(file));
        Err(Failure::new(Exit::Refused, code, message).at(shown_path(file)).help(help))
    }

    /// Whether `auto.toml` pins a component.
    pub fn pinned(&self, global: &Global, pass: &Pass) -> Pinned {
        let Some(pins) = global.file.passes.pins.as_ref().filter(|_| !self.builtin.contains(&pass.digest)) else {
            return Pinned::Unasked;
        };
        if pins.values().any(|digest| *digest == pass.digest) {
            Pinned::Yes
        } else if pins.contains_key(&pin_name(&pass.label)) {
            Pinned::Changed
        } else {
            Pinned::No
        }
    }

    /// The providers under a component; all of them where it is none.
    pub fn beneath(&self, pass: &Pass) -> Providers {
        let stack: Vec<&Arc<Pass>> = self.providers.list().collect();
        let mut beneath = Providers::new();
        let under = stack.into_iter().rev().take_while(|one| one.digest != pass.digest);
        under.for_each(|one| beneath.push(one.clone()));
        beneath
    }

    fn add(&mut self, pass: Arc<Pass>) {
        // Importers and drivers are chosen by name, not by interface: there are several.
        if ![IMPORTER, JOB].iter().any(|interface| exports(&pass, interface)) {
            self.providers.push(pass.clone());
        }
        self.all.push(pass);
    }

    /// The trace importers.
    pub fn importing(&self) -> Importers {
        let alone = |pass: &Arc<Pass>| {
            let mut providers = Providers::new();
            providers.push(pass.clone());
            (pass.clone(), providers)
        };
        let importers = self.all.iter().filter(|pass| exports(pass, IMPORTER)).map(alone).collect();
        Importers::new(self.engine.clone(), importers)
    }

    /// The driver of that name; a later one of the same name wins.
    pub fn driver(&self, name: &str) -> Result<Arc<Pass>, Failure> {
        let found = self.all.iter().rev().find(|pass| pass.label == name && exports(pass, JOB));
        found.cloned().ok_or_else(|| missing(&format!("the driver {name}")))
    }

    /// The components that a contract's predicates pin, loaded and fit to be asked.
    pub fn predicates(&self, given: Vec<Predicate>) -> Result<Vec<Arc<Pass>>, Failure> {
        let loaded = |predicate: Predicate| -> Result<Arc<Pass>, Failure> {
            let pass = self.engine.load(&predicate.file, predicate.bytes)?;
            check_predicate(&pass)?;
            Ok(pass)
        };
        let placed = |predicate: Predicate| {
            let place = predicate.place.clone();
            loaded(predicate).map_err(|failure| {
                let at = failure.at.as_ref().map_or_else(|| place.clone(), |at| format!("{place} ({at})"));
                failure.at(at)
            })
        };
        given.into_iter().map(placed).collect()
    }

    /// The gate that decides: the built-in one, or the one `trusted` names by digest.
    pub fn gate(&self, trusted: Option<Digest>) -> Result<Arc<Pass>, Failure> {
        let mut gates = self.all.iter().filter(|pass| exports(pass, GATE));
        match trusted {
            None => gates.find(|pass| self.builtin.contains(&pass.digest)).cloned().ok_or_else(|| {
                missing("the gate that comes with the tool")
                    .help("build with `cargo xtask build`, or name another gate by its digest: --trust-gate DIGEST")
            }),
            Some(digest) => gates.find(|pass| pass.digest == digest).cloned().ok_or_else(|| {
                Failure::new(Exit::Usage, "unknown-gate", format!("no component given has the digest {digest}"))
                    .help("give the gate with --pass FILE; `auto-host pass list --pass FILE` shows its digest")
            }),
        }
    }
}

/// Whether a component exports that interface.
pub fn exports(pass: &Pass, interface: &str) -> bool {
    pass.exports.iter().any(|export| export == interface)
}

fn missing(what: &str) -> Failure {
    Failure::new(Exit::Refused, "no-components", format!("{what} is not among the components"))
        .help("build with `cargo xtask build`, or name a folder of components with --passes DIR")
}
