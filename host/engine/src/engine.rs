//! The engine: its settings, its folders, and components from bytes to compiled code. How
//! their functions are called is in [`crate::dispatch`].

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use auto_json::Value;
use auto_runtime::{CACHE_BYTES, Cache, LoadError, code_name};
use auto_schema::digest::Digest;
use wasmtime::component::{Component, InstancePre, Val};
use wasmtime::{Config, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::call::{self, State};
use crate::dispatch::arguments;
use crate::fault::{Error, Fault};
use crate::limits::Limits;
use crate::pass::Pass;
use crate::providers::Providers;
use crate::trace::CallTrace;

/// How often deadlines are looked at.
const TICK: Duration = Duration::from_millis(10);

/// Calls for which there is room at once, each with as many instances as it may have: some
/// chains of the longest kind.
const CALLS: u64 = 48;

/// Bytes of the host's that describe an instance: some for each function that may be called
/// through a table, so that the largest language runtimes fit.
const INSTANCE_SIZE: usize = 16 << 20;

/// The part of a cache folder where compiled artifacts are.
pub const ARTIFACTS: &str = "artifacts";

/// How an engine is set up.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder for compiled code and results; without one both live as long as the
    /// engine or not at all.
    pub cache: Option<PathBuf>,
    /// The most bytes that folder may take; [`auto_runtime::CACHE_BYTES`] where nothing is
    /// given.
    pub cache_bytes: Option<u64>,
    /// What calls may use.
    pub limits: Limits,
    /// Make every call whose result is known again, and every other twice, and fail if the
    /// results differ.
    pub audit: bool,
}

/// Loads and calls components. Cheap to clone; all clones are one engine.
#[derive(Clone)]
pub struct Engine(pub(crate) Arc<Inner>);

/// What lies in the cache folder, a folder each.
pub(crate) struct Caches {
    /// Compiled components.
    code: Cache,
    /// Results of calls.
    pub(crate) memo: Cache,
    /// Compiled artifacts; the runtime looks after it.
    pub(crate) artifacts: Cache,
}

impl Caches {
    fn open(folder: &Path, bound: u64) -> Result<Caches, LoadError> {
        let cache = Cache::open(folder.to_owned(), bound)?;
        Ok(Caches { code: cache.part("components")?, memo: cache.part("memo")?, artifacts: cache.part(ARTIFACTS)? })
    }
}

pub(crate) struct Inner {
    wasmtime: OnceLock<Result<wasmtime::Engine, String>>,
    pub(crate) cache: Option<Caches>,
    pub(crate) options: Options,
    trace: Mutex<Vec<CallTrace>>,
    /// Where artifacts run, made when first needed.
    pub(crate) sandbox: OnceLock<Result<auto_runtime::Sandbox, String>>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine({:?})", self.0.options)
    }
}

impl Engine {
    /// Opens the cache folder; compiles and starts nothing yet.
    pub fn new(options: Options) -> Result<Engine, Error> {
        let bound = options.cache_bytes.unwrap_or(CACHE_BYTES);
        let cache = options.cache.as_deref().map(|folder| Caches::open(folder, bound)).transpose();
        let cache = cache.map_err(|error| Error {
            code: error.code(),
            label: "auto".to_owned(),
            digest: None,
            at: None,
            message: error.to_string(),
        })?;
        let inner =
            Inner { wasmtime: OnceLock::new(), cache, options, trace: Mutex::default(), sandbox: OnceLock::new() };
        Ok(Engine(Arc::new(inner)))
    }

    /// Reads a component and refuses it if it is none, or imports or exports what it may
    /// not. Compiles nothing. The label is for messages.
    pub fn load(&self, label: &str, bytes: Vec<u8>) -> Result<Arc<Pass>, Error> {
        Pass::read(label, bytes).map(Arc::new)
    }

    /// [`Engine::load`] of a component whose compiled code is at hand, so that its first
    /// call compiles nothing. Code of other bytes, of another version, or for another
    /// processor counts as absent.
    ///
    /// # Safety
    ///
    /// The code is executed. It must be what [`Engine::precompile`] made, and must have
    /// been out of everybody's reach since: part of the executable itself, not of a file.
    pub unsafe fn load_precompiled(
        &self,
        label: &str,
        bytes: Vec<u8>,
        code: &'static [u8],
    ) -> Result<Arc<Pass>, Error> {
        let pass = Pass::read(label, bytes)?;
        Ok(Arc::new(Pass { code: Some(code), ..pass }))
    }

    /// Looks at every function of a component, which [`Engine::load`] leaves until it is
    /// compiled: whether it is valid, within the profile of passes, and not too much for
    /// the compiler.
    pub fn check(&self, pass: &Pass) -> Result<(), Error> {
        pass.check()
    }

    /// Compiles a component for this version on this processor; for
    /// [`Engine::load_precompiled`]. The error says why it does not compile.
    ///
    /// `known` is what an earlier call returned: where it still holds, it is returned as
    /// it is.
    pub fn precompile(&self, pass: &Pass, known: Option<Vec<u8>>) -> Result<Vec<u8>, String> {
        let engine = self.0.wasmtime()?;
        let header = code_header(engine, pass.digest);
        if let Some(known) = known.filter(|known| known.starts_with(header.as_bytes())) {
            return Ok(known);
        }
        pass.check().map_err(|error| error.message)?;
        let code =
            engine.precompile_component(&pass.wasm).map_err(|error| format!("it does not compile: {error:#}"))?;
        Ok([header.as_bytes().as_slice(), &code].concat())
    }

    /// Calls a function of whoever provides the interface. The result is the function's
    /// own, so a function that returns a `result` may give [`Val::Result`] with an `Err`.
    pub fn call(
        &self,
        providers: &Providers,
        interface: &str,
        function: &str,
        args: &[Val],
    ) -> Result<Vec<Val>, Fault> {
        let provider = self.0.provider(providers, interface, function)?;
        self.0.call(&provider, function, args)
    }

    /// [`Engine::call`] with JSON: `args` is a list, the result is the function's result
    /// in the form of [`crate::value::to_json`], null where it has none. Where the function
    /// returns a `result`, the outcome is its `ok` value, or a fault of class
    /// [`crate::FaultClass::Refused`].
    pub fn call_json(
        &self,
        providers: &Providers,
        interface: &str,
        function: &str,
        args: &Value,
    ) -> Result<Value, Fault> {
        let provider = self.0.provider(providers, interface, function)?;
        let call = self.0.prepare(&provider, function)?;
        let args = arguments(&call, args)?;
        Ok(self.0.call_read(&call, &args)?.value)
    }

    /// [`Engine::call_json`], made even where the memo knows the answer. What it took is the
    /// last of [`Engine::take_trace`], whether it failed or not.
    pub fn call_json_anew(
        &self,
        providers: &Providers,
        interface: &str,
        function: &str,
        args: &Value,
    ) -> Result<Value, Fault> {
        let provider = self.0.provider(providers, interface, function)?;
        let call = self.0.prepare(&provider, function)?;
        let args = arguments(&call, args)?;
        self.0.call_anew(&call, &args)
    }

    /// The calls since this was last asked, in the order in which they ended.
    pub fn take_trace(&self) -> Vec<CallTrace> {
        std::mem::take(&mut *self.0.trace())
    }

    /// What calls may use.
    pub fn limits(&self) -> &Limits {
        &self.0.options.limits
    }
}

impl Inner {
    /// The compiler and its allocator, made when first needed: a job that the memo
    /// answers never needs it.
    pub(crate) fn wasmtime(&self) -> Result<&wasmtime::Engine, String> {
        let made = self.wasmtime.get_or_init(|| {
            // A pool reserves address space, which a container may refuse; without it calls
            // only start slower, and every access to memory is checked in code.
            let engine = wasmtime::Engine::new(&config(&self.options.limits, true))
                .or_else(|_| wasmtime::Engine::new(&config(&self.options.limits, false)));
            let engine = engine.map_err(|error| format!("no WebAssembly can run on this machine: {error:#}"))?;
            tick(&engine).map_err(|error| format!("no thread for deadlines could be started: {error}"))?;
            Ok(engine)
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// The component, compiled and bound, or a code and why it cannot be.
    pub(crate) fn linked(&self, pass: &Pass) -> Result<InstancePre<State>, (&'static str, String)> {
        let engine = self.wasmtime().map_err(|why| ("engine", why))?;
        // Code belongs to the engine that compiled it; a component may have met another.
        if let Some(linked) = pass.compiled.get().filter(|linked| wasmtime::Engine::same(linked.engine(), engine)) {
            return Ok(linked.clone());
        }
        let component = self.component(engine, pass)?;
        let linked = call::link(engine, pass, &component);
        let linked = linked.map_err(|error| ("compile", format!("it cannot be linked: {error:#}")))?;
        let _ = pass.compiled.set(linked.clone());
        Ok(linked)
    }

    fn component(&self, engine: &wasmtime::Engine, pass: &Pass) -> Result<Component, (&'static str, String)> {
        let header = code_header(engine, pass.digest);
        if let Some(code) = pass.code.and_then(|code| code.strip_prefix(header.as_bytes().as_slice())) {
            // SAFETY: whoever gave the code to `load_precompiled` vouches for it.
            if let Ok(component) = unsafe { Component::deserialize(engine, code) } {
                return Ok(component);
            }
        }
        let name = code_name(engine, pass.digest);
        let cache = self.cache.as_ref().map(|cache| &cache.code);
        if let Some(code) = cache.and_then(|cache| cache.read(&name)) {
            // SAFETY: the folder is closed to others and the digest says that these are the
            // bytes written below, which `serialize` made; wasmtime checks that its version
            // and settings are still the same.
            if let Ok(component) = unsafe { Component::deserialize(engine, &code) } {
                return Ok(component);
            }
        }
        pass.check().map_err(|error| (error.code, error.message))?;
        let wrong = |error: wasmtime::Error| ("compile", format!("it does not compile: {error:#}"));
        let component = Component::new(engine, &pass.wasm).map_err(wrong)?;
        if let Some(cache) = cache {
            cache.write(&name, &component.serialize().map_err(wrong)?);
        }
        Ok(component)
    }

    pub(crate) fn trace(&self) -> MutexGuard<'_, Vec<CallTrace>> {
        // A panic elsewhere leaves whole records behind.
        self.trace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everything that could make two runs of the same code differ is off or defined.
fn config(limits: &Limits, pooled: bool) -> Config {
    let mut config = Config::new();
    let stack = limits.stack().max(1);
    config
        .max_wasm_stack(stack)
        // No call runs on such a stack; it may only not be the smaller one.
        .async_stack_size(stack)
        .consume_fuel(true)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .wasm_memory64(false);
    if pooled {
        let small = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        // What is too much is refused by the limiter, not by the pool.
        let (usual, set) = (Limits::default().of(""), limits.of(""));
        let each = usual.instances.max(set.instances);
        let entries = usual.table_entries.max(set.table_entries);
        let instances = small(each.saturating_mul(CALLS));
        let mut pool = PoolingAllocationConfig::default();
        // Memories and tables take address space; instances are only counted.
        pool.total_component_instances(u32::MAX)
            .total_core_instances(u32::MAX)
            .total_memories(instances)
            .total_tables(instances)
            .max_memories_per_module(small(each))
            .max_tables_per_module(small(each))
            .table_elements(usize::try_from(entries).unwrap_or(usize::MAX))
            .max_core_instance_size(INSTANCE_SIZE)
            .max_component_instance_size(INSTANCE_SIZE)
            .total_stacks(0);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    } else {
        config.memory_reservation(0).memory_reservation_for_growth(0).memory_guard_size(0);
    }
    config
}

/// One thread that makes time pass, for as long as the engine lives.
fn tick(engine: &wasmtime::Engine) -> std::io::Result<()> {
    let engine = engine.weak();
    let thread = std::thread::Builder::new().name("auto-ticker".to_owned());
    let thread = thread.spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(TICK);
        }
    });
    thread.map(drop)
}

/// What precompiled code starts with: the component and the engine it is for.
fn code_header(engine: &wasmtime::Engine, component: Digest) -> Digest {
    Digest::of(code_name(engine, component).as_bytes())
}
