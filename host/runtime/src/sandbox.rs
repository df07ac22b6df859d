//! The engine that programs run in: what WebAssembly they may use, and their limits.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::cache::Cache;
use crate::cost::TABLE_ENTRIES;
use crate::error::LoadError;
use crate::limits::Limits;
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
    /// None where the limits leave no room for it, or the machine.
    swift: Option<Arc<Clocked>>,
    /// Made when it is needed, where there is a swift one: most processes that run an artifact
    /// or two need no other.
    metered: OnceLock<Result<Arc<Clocked>, LoadError>>,
}

/// How the calls in an engine are kept within bounds. Counting fuel and looking at the clock
/// each make code about a fifth slower, so code that is run over and over first gets a try
/// without the counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// By fuel and deadline, as the limits say. What it decides holds.
    Metered,
    /// By the clock alone, and by [`SWIFT`]. A call that is done in that time has used less
    /// fuel than the limit, which is at least [`SWIFT_FUEL`]; one that is not, or that
    /// traps, is made again in the other lane. Only for code without memory of its own,
    /// for which a second run is the same as the first.
    Swift,
}

/// How long a call may last in the swift lane; up to twice that, by the clock's ticks.
const SWIFT: Duration = Duration::from_millis(10);

/// Fuel that nothing uses up in twice [`SWIFT`]: 20 instructions a nanosecond.
const SWIFT_FUEL: u64 = 400_000_000;

/// An engine and its clock. A module keeps the one that it was compiled for.
pub(crate) struct Clocked {
    ticker: Ticker,
    pub(crate) engine: Engine,
}

impl Sandbox {
    /// A sandbox that compiles every module it loads.
    pub fn new(limits: Limits) -> Result<Sandbox, LoadError> {
        Sandbox::with_cache(limits, None)
    }

    /// A sandbox that keeps compiled code in a private folder.
    pub fn with_cache(limits: Limits, cache: Option<Cache>) -> Result<Sandbox, LoadError> {
        let fits = limits.fuel >= SWIFT_FUEL && limits.deadline >= SWIFT * 2;
        let swift = fits.then(|| Clocked::new(&limits, Lane::Swift).ok()).flatten();
        let sandbox = Sandbox { inner: Arc::new(Inner { limits, cache, swift, metered: OnceLock::new() }) };
        if !sandbox.has_swift_lane() {
            sandbox.clocked(Lane::Metered)?;
        }
        Ok(sandbox)
    }

    /// Loads a module of the world `auto:cbin/cbin`, sealed or not: a core module without
    /// imports that exports the world by the canonical ABI.
    pub fn load(&self, module: &[u8]) -> Result<Module, LoadError> {
        Module::load(self, module, Lane::Metered)
    }

    /// What each call may use.
    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    /// Whether there is a swift lane.
    pub(crate) fn has_swift_lane(&self) -> bool {
        self.inner.swift.is_some()
    }

    /// The engine of a lane; the metered one where there is no swift one.
    pub(crate) fn clocked(&self, lane: Lane) -> Result<Arc<Clocked>, LoadError> {
        match (lane, &self.inner.swift) {
            (Lane::Swift, Some(swift)) => Ok(swift.clone()),
            _ => {
                let make = || Clocked::new(&self.inner.limits, Lane::Metered);
                self.inner.metered.get_or_init(make).clone()
            }
        }
    }

    pub(crate) fn compile(&self, engine: &Engine, module: &[u8]) -> Result<wasmtime::Module, LoadError> {
        match &self.inner.cache {
            Some(cache) => cache.compile(engine, module),
            None => wasmtime::Module::new(engine, module),
        }
        .map_err(|error| LoadError::Invalid(format!("{error:#}")))
    }
}

impl Clocked {
    fn new(limits: &Limits, lane: Lane) -> Result<Arc<Clocked>, LoadError> {
        let engine = engine(limits, lane)?;
        let (deadline, period) = match lane {
            Lane::Metered => {
                let tenth = limits.deadline / 10;
                (limits.deadline, tenth.clamp(Duration::from_millis(1), Duration::from_millis(20)))
            }
            Lane::Swift => (SWIFT, SWIFT),
        };
        let ticker = Ticker::start(&engine, deadline, period)
            .map_err(|error| LoadError::Sandbox(format!("no thread for deadlines: {error}")))?;
        Ok(Arc::new(Clocked { ticker, engine }))
    }

    /// Starts the clock for a call and returns its deadline in ticks.
    #[inline]
    pub(crate) fn call_starts(&self) -> u64 {
        self.ticker.call_starts();
        self.ticker.ticks
    }
}

/// The engine. Where the address space for a pool cannot be had (a `ulimit -v`, say),
/// instances are allocated one by one, in as little as they need: slower, since every access
/// to memory is then checked in code, and with the same limits.
fn engine(limits: &Limits, lane: Lane) -> Result<Engine, LoadError> {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(limits.instances)
        .total_memories(limits.instances)
        .total_tables(limits.instances)
        // What is too much is refused before it is compiled, not by the pool.
        .max_core_instance_size(INSTANCE_SIZE)
        .max_memories_per_module(1)
        .max_tables_per_module(1)
        .table_elements(TABLE_ENTRIES)
        // The limiter keeps memories below their limit; the pool keeps room for any.
        .max_memory_size(1 << 32)
        .linear_memory_keep_resident(KEEP_RESIDENT)
        .table_keep_resident(TABLE_ENTRIES);
    // No call runs on a stack of its own; a thousand of them cost 3 ms to set up.
    #[cfg(feature = "async")]
    pool.total_stacks(0);
    let mut pooled = config(limits, lane);
    pooled.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    let mut frugal = config(limits, lane);
    frugal.memory_reservation(0).memory_reservation_for_growth(0).memory_guard_size(0);
    Engine::new(&pooled).or_else(|_| Engine::new(&frugal)).map_err(|error| LoadError::Sandbox(format!("{error:#}")))
}

/// Bytes that describe an instance: more than the functions and globals of an artifact can take.
const INSTANCE_SIZE: usize = 16 << 20;

/// Bytes of a memory that are zeroed in place when its instance ends, rather than given
/// back to the system and faulted in again.
const KEEP_RESIDENT: usize = 256 << 10;

/// What artifacts may use: nothing whose result depends on the machine, one 32-bit memory.
fn config(limits: &Limits, lane: Lane) -> Config {
    let mut config = Config::new();
    let stack = limits.stack.max(1);
    config
        .max_wasm_stack(stack)
        // No call runs on such a stack; it may only not be the smaller one.
        .async_stack_size(stack)
        .consume_fuel(lane == Lane::Metered)
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .wasm_relaxed_simd(false)
        .wasm_multi_memory(false)
        .wasm_memory64(false);
    config
}
