//! The engine that programs run in: what WebAssembly they may use, and their limits.

use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::cache::Cache;
use crate::error::LoadError;
use crate::limits::Limits;
use crate::live::TABLE_ELEMENTS;
use crate::module::Module;
use crate::ticker::Ticker;

/// Where programs run. Cheap to clone; clones share one engine and one clock. One sandbox
/// for a whole process is the usual case.
#[derive(Clone)]
pub struct Sandbox {
    inner: Arc<Inner>,
}

struct Inner {
    limits: Limits,
    cache: Option<Cache>,
    ticker: Ticker,
    engine: Engine,
}

impl Sandbox {
    /// A sandbox that compiles every module it loads.
    pub fn new(limits: Limits) -> Result<Sandbox, LoadError> {
        Sandbox::with_cache(limits, None)
    }

    /// A sandbox that keeps compiled code in a folder of its own (made if it is not there,
    /// refused unless private to this user).
    pub fn with_cache(limits: Limits, folder: Option<PathBuf>) -> Result<Sandbox, LoadError> {
        let cache = folder.map(Cache::open).transpose()?;
        let engine = engine(&limits)?;
        let ticker = Ticker::start(&engine, limits.deadline)
            .map_err(|error| LoadError::Sandbox(format!("no thread for deadlines: {error}")))?;
        Ok(Sandbox { inner: Arc::new(Inner { limits, cache, ticker, engine }) })
    }

    /// Loads a module of the world `auto:cbin/cbin`, sealed or not: a core module without
    /// imports that exports the world by the canonical ABI.
    pub fn load(&self, module: &[u8]) -> Result<Module, LoadError> {
        Module::load(self, module)
    }

    /// What each call may use.
    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.inner.engine
    }

    pub(crate) fn compile(&self, module: &[u8]) -> Result<wasmtime::Module, LoadError> {
        match &self.inner.cache {
            Some(cache) => cache.compile(&self.inner.engine, module),
            None => wasmtime::Module::new(&self.inner.engine, module),
        }
        .map_err(|error| LoadError::Invalid(format!("{error:#}")))
    }

    /// Starts the clock for a call and returns its deadline in ticks.
    #[inline]
    pub(crate) fn call_starts(&self) -> u64 {
        self.inner.ticker.call_starts();
        self.inner.ticker.ticks
    }
}

/// The engine. Where the address space for a pool cannot be had (a `ulimit -v`, say),
/// instances are allocated one by one: slower, with the same limits.
fn engine(limits: &Limits) -> Result<Engine, LoadError> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(limits.instances)
        .total_memories(limits.instances)
        .total_tables(limits.instances)
        .max_memories_per_module(1)
        .max_tables_per_module(1)
        .table_elements(TABLE_ELEMENTS)
        // The limiter keeps memories below their limit; the pool keeps room for any.
        .max_memory_size(1 << 32)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(TABLE_ELEMENTS);
    let mut config = config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let pooled = Engine::new(&config);
    pooled.or_else(|_| Engine::new(&self::config())).map_err(|error| LoadError::Sandbox(format!("{error:#}")))
}

/// Bytes of a memory that are zeroed in place when its instance ends, rather than given
/// back to the system and faulted in again.
const KEEP_RESIDENT: usize = 256 << 10;

/// What artifacts may use: nothing whose result depends on the machine, one 32-bit memory.
fn config() -> Config {
    let mut config = Config::new();
    config
        .consume_fuel(true)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false);
    config
}
