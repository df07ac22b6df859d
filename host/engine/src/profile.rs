//! What a component may be made of: which proposals of WebAssembly, how much of everything.
//! All of it is looked at before anything is compiled, so that nobody can keep the compiler
//! busy, or make it hold much more than the file is long.
//!
//! [`structure`] is cheap and runs whenever a component is read; [`bodies`] also looks at
//! every function and runs when a component is about to be compiled. What functions may
//! cost is the same for artifacts, so the runtime has it.

use wasmparser::{
    ComponentAlias, ComponentExternalKind, ComponentInstance, ComponentOuterAliasKind, Encoding, Instance, MemoryType,
    Parser, Payload, Validator, WasmFeatures,
};

/// The longest component, in bytes. Language runtimes take up to 40 MiB.
const BYTES: usize = 64 << 20;

/// The deepest that components may be nested in each other.
const COMPONENTS: usize = 32;

/// Bytes of all type sections together, whose content takes many times as much in memory.
const TYPES: usize = 1 << 20;

/// What instances, aliases and functions of a component come to once the components in it
/// are taken apart, as often as each is instantiated.
const ITEMS: u64 = 100_000;

/// Why a component is not compiled.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Refused {
    fn large(what: String) -> Refused {
        Refused { code: "too-large", message: format!("is too large: {what}; make it smaller, or several of it") }
    }
}

/// What an instance of a component starts with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint {
    /// Core instances.
    pub(crate) instances: u64,
    /// Memories, and the bytes of all of them.
    pub(crate) memories: u64,
    pub(crate) memory: u64,
    /// Tables, and the entries of all of them.
    pub(crate) tables: u64,
    pub(crate) entries: u64,
    items: u64,
}

impl Footprint {
    fn add(&mut self, other: Footprint) {
        let Footprint { instances, memories, memory, tables, entries, items } = other;
        self.instances = self.instances.saturating_add(instances);
        self.memories = self.memories.saturating_add(memories);
        self.memory = self.memory.saturating_add(memory);
        self.tables = self.tables.saturating_add(tables);
        self.entries = self.entries.saturating_add(entries);
        self.items = self.items.saturating_add(items);
    }
}

/// What WebAssembly a component may use: nothing whose result depends on the machine, one
/// size of address, no collector, no threads, no stacks of its own.
pub(crate) fn features() -> WasmFeatures {
    WasmFeatures::WASM2
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::RELAXED_SIMD
        | WasmFeatures::COMPONENT_MODEL
}

/// The proposals that bytes are valid with and not without; none if they are not valid at
/// all.
pub(crate) fn proposals(wasm: &[u8]) -> Vec<String> {
    let valid = |features| validate(wasm, features).is_ok();
    let mut needed = WasmFeatures::all();
    if !valid(needed) {
        return Vec::new();
    }
    let ours = features();
    // Later ones build on earlier ones, so those go first.
    let flags: Vec<WasmFeatures> = (WasmFeatures::all() - ours).iter().collect();
    for flag in flags.into_iter().rev() {
        if valid(needed - flag) {
            needed -= flag;
        }
    }
    (needed - ours).iter_names().map(|(name, _)| name.to_lowercase().replace('_', "-")).collect()
}

fn validate(wasm: &[u8], features: WasmFeatures) -> Result<(), wasmparser::Error> {
    Validator::new_with_features(features).validate_all(wasm).map(drop)
}

/// Refuses what is too large, and says what an instance starts with. Bytes that are not
/// valid may pass.
pub(crate) fn structure(wasm: &[u8]) -> Result<Footprint, Refused> {
    if wasm.len() > BYTES {
        return Err(Refused::large(format!("it has {} bytes, and may have {BYTES}", wasm.len())));
    }
    let mut scan = Scan::default();
    for payload in Parser::new(0).parse_all(wasm) {
        // What is wrong with it, validation says better.
        let Ok(payload) = payload else { break };
        scan.payload(payload)?;
    }
    Ok(scan.whole)
}

/// A component or module that is being read.
#[derive(Default)]
struct Layer {
    is_module: bool,
    own: Footprint,
    /// What each instance of these comes to; none where it cannot be known.
    components: Vec<Option<Footprint>>,
    modules: Vec<Option<Footprint>>,
}

#[derive(Default)]
struct Scan {
    layers: Vec<Layer>,
    types: usize,
    whole: Footprint,
}

impl Scan {
    fn payload(&mut self, payload: Payload<'_>) -> Result<(), Refused> {
        match payload {
            Payload::Version { encoding, .. } => {
                if self.layers.len() == COMPONENTS {
                    return Err(Refused::large(format!("components nest more than {COMPONENTS} deep in it")));
                }
                self.layers.push(Layer { is_module: encoding == Encoding::Module, ..Layer::default() });
            }
            Payload::End(_) => self.end(),
            Payload::TypeSection(section) => return self.types(section.range().len()),
            Payload::CoreTypeSection(section) => return self.types(section.range().len()),
            Payload::ComponentTypeSection(section) => return self.types(section.range().len()),
            payload => {
                if let [outer @ .., layer] = self.layers.as_mut_slice() {
                    layer.section(payload, outer)?;
                    if layer.own.items > ITEMS {
                        let what = format!("its components, taken apart, come to more than {ITEMS} items");
                        return Err(Refused::large(what));
                    }
                }
            }
        }
        Ok(())
    }

    fn types(&mut self, bytes: usize) -> Result<(), Refused> {
        self.types += bytes;
        match self.types > TYPES {
            true => Err(Refused::large(format!("its types take more than {TYPES} bytes"))),
            false => Ok(()),
        }
    }

    fn end(&mut self) {
        let Some(done) = self.layers.pop() else { return };
        match self.layers.last_mut() {
            Some(outer) if done.is_module => outer.modules.push(Some(done.own)),
            Some(outer) => outer.components.push(Some(done.own)),
            None => self.whole = done.own,
        }
    }
}

impl Layer {
    /// A section; items that cannot be read are left to validation.
    fn section(&mut self, payload: Payload<'_>, outer: &[Layer]) -> Result<(), Refused> {
        match payload {
            Payload::MemorySection(memories) => memories.into_iter().flatten().for_each(|ty| self.memory(&ty)),
            Payload::TableSection(tables) => {
                for table in tables.into_iter().flatten() {
                    self.own.add(Footprint { tables: 1, entries: table.ty.initial, ..Footprint::default() });
                }
            }
            Payload::InstanceSection(instances) => {
                for instance in instances.into_iter().flatten() {
                    self.own.items += 1;
                    if let Instance::Instantiate { module_index, .. } = instance {
                        self.own.instances = self.own.instances.saturating_add(1);
                        self.instantiate(self.modules.get(module_index as usize).copied())?;
                    }
                }
            }
            Payload::ComponentInstanceSection(instances) => {
                for instance in instances.into_iter().flatten() {
                    self.own.items += 1;
                    if let ComponentInstance::Instantiate { component_index, .. } = instance {
                        self.instantiate(self.components.get(component_index as usize).copied())?;
                    }
                }
            }
            Payload::ComponentImportSection(imports) => {
                for import in imports.into_iter().flatten() {
                    self.named(import.ty.kind(), None);
                }
            }
            Payload::ComponentExportSection(exports) => {
                for export in exports.into_iter().flatten() {
                    self.named(export.kind, Some(export.index as usize));
                }
            }
            Payload::ComponentAliasSection(aliases) => {
                for alias in aliases.into_iter().flatten() {
                    self.own.items += 1;
                    self.alias(&alias, outer);
                }
            }
            Payload::ComponentCanonicalSection(functions) => self.own.items += u64::from(functions.count()),
            _ => {}
        }
        Ok(())
    }

    fn memory(&mut self, ty: &MemoryType) {
        let page = ty.page_size_log2.map_or(1 << 16, |log| 1u64.checked_shl(log).unwrap_or(u64::MAX));
        self.own.add(Footprint { memories: 1, memory: ty.initial.saturating_mul(page), ..Footprint::default() });
    }

    fn instantiate(&mut self, what: Option<Option<Footprint>>) -> Result<(), Refused> {
        match what {
            Some(Some(footprint)) => self.own.add(footprint),
            Some(None) => {
                let message = "instantiates a component or module that it is handed, so nobody can tell how much that is; define it inside";
                return Err(Refused { code: "unsupported-type", message: message.to_owned() });
            }
            // No such index: invalid, which validation says.
            None => {}
        }
        Ok(())
    }

    /// An import or export: it has an index of its own.
    fn named(&mut self, kind: ComponentExternalKind, of: Option<usize>) {
        let known = |list: &[Option<Footprint>]| of.and_then(|index| list.get(index).copied().flatten());
        match kind {
            ComponentExternalKind::Component => self.components.push(known(&self.components)),
            ComponentExternalKind::Module => self.modules.push(known(&self.modules)),
            _ => {}
        }
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>, outer: &[Layer]) {
        match alias {
            ComponentAlias::InstanceExport { kind, .. } => self.named(*kind, None),
            ComponentAlias::Outer { kind, count, index } => {
                let count = *count as usize;
                let layer = match count {
                    0 => Some(&*self),
                    count => outer.len().checked_sub(count).map(|at| &outer[at]),
                };
                let of = |list: fn(&Layer) -> &Vec<Option<Footprint>>| {
                    layer.and_then(|layer| list(layer).get(*index as usize).copied().flatten())
                };
                match kind {
                    ComponentOuterAliasKind::Component => {
                        let found = of(|layer| &layer.components);
                        self.components.push(found);
                    }
                    ComponentOuterAliasKind::CoreModule => {
                        let found = of(|layer| &layer.modules);
                        self.modules.push(found);
                    }
                    _ => {}
                }
            }
            ComponentAlias::CoreInstanceExport { .. } => {}
        }
    }
}

/// Refuses what would keep the compiler busy, then validates every function.
pub(crate) fn bodies(wasm: &[u8]) -> Result<(), Refused> {
    auto_runtime::check_cost(wasm).map_err(Refused::large)?;
    validate(wasm, features()).map_err(|error| not_valid(wasm, &error.to_string()))
}

/// What bytes that do not validate are refused with: the proposals they need, if that is it.
pub(crate) fn not_valid(wasm: &[u8], error: &str) -> Refused {
    let proposals = proposals(wasm);
    if proposals.is_empty() {
        return Refused { code: "malformed", message: format!("is damaged: {error}; get or build it again") };
    }
    let message =
        format!("uses WebAssembly that a pass may not use ({}): {error}; build it without", proposals.join(", "));
    Refused { code: "unsupported-proposal", message }
}
