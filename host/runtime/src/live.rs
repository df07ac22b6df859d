//! One instance and the calls on it.
//!
//! Limits are set anew before each call. Whoever holds a [`Live`] drops it after any
//! failure that is not the artifact's own answer: a guest that trapped may have left its
//! memory in any state.

use wasmtime::{Global, Instance, Memory, ResourceLimiter, Store, Trap, TypedFunc, Val, WasmBacktrace};

use crate::abi::{Returned, bad};
use crate::cost::TABLE_ENTRIES;
use crate::error::{CallError, Class};
use crate::limits::Limits;
use crate::module::{Module, Novelty, Outcome};
use crate::sandbox::Lane;

/// An instance with its exports found.
pub(crate) struct Live {
    store: Store<Limiter>,
    memory: Memory,
    realloc: TypedFunc<(u32, u32, u32, u32), u32>,
    run: TypedFunc<(u32, u32), u32>,
    assess: TypedFunc<(u32, u32), u32>,
    resume: TypedFunc<(u32, u32, u32, u32, u32), u32>,
    steps: Option<Global>,
    /// Where the guest wants inputs, once it is known, if it always wants them there.
    inputs_at: Option<u32>,
    /// Whether it is code of our emit, which does.
    ours: bool,
}

/// Refuses growth above the memory limit and remembers that it did: to the guest a
/// refusal is only a -1, and what it does then looks like any other trap.
pub(crate) struct Limiter {
    memory: usize,
    refused: Option<usize>,
    refused_table: Option<usize>,
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = desired <= self.memory;
        // A guest that asks for less after a refusal is not out of memory.
        self.refused = (!allowed).then_some(desired);
        Ok(allowed)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let allowed = desired <= TABLE_ENTRIES;
        self.refused_table = (!allowed).then_some(desired);
        Ok(allowed)
    }
}

impl Live {
    /// A new instance. Starting it uses the first call's fuel. `ours`: it is code of our emit.
    pub(crate) fn new(module: &Module, ours: bool) -> Result<Live, CallError> {
        let limits = module.sandbox.limits();
        let mut store =
            Store::new(&module.clocked.engine, Limiter { memory: limits.memory, refused: None, refused_table: None });
        store.limiter(|limiter| limiter);
        refill(&mut store, module)?;
        match Live::start(&mut store, module) {
            Ok(exports) => Ok(exports.into_live(store, ours)),
            Err(error) => Err(classify(&error, store.data(), limits)),
        }
    }

    fn start(store: &mut Store<Limiter>, module: &Module) -> wasmtime::Result<Exports> {
        let instance = module.pre.instantiate(&mut *store)?;
        if module.has_initialize {
            instance.get_typed_func::<(), ()>(&mut *store, "_initialize")?.call(&mut *store, ())?;
        }
        Exports::of(store, &instance, module)
    }

    /// Calls `run`.
    #[inline(always)]
    pub(crate) fn run(&mut self, module: &Module, input: &str, checked: bool) -> Result<Outcome, CallError> {
        self.begin(module, input.len())?;
        let at = self.place_input(input.as_bytes(), module)?;
        let returned = self.run.call(&mut self.store, (at, length(input.as_bytes())));
        let returned = self.settle(returned, module)?;
        Returned { memory: self.memory.data(&self.store), checked }.result(returned)
    }

    /// Calls `assess`.
    pub(crate) fn assess(&mut self, module: &Module, input: &str) -> Result<Novelty, CallError> {
        self.begin(module, input.len())?;
        let at = self.place(input.as_bytes(), module)?;
        let returned = self.assess.call(&mut self.store, (at, length(input.as_bytes())));
        let returned = self.settle(returned, module)?;
        Returned { memory: self.memory.data(&self.store), checked: false }.novelty(returned)
    }

    /// Calls `resume` with the reply to a request.
    pub(crate) fn resume(
        &mut self,
        module: &Module,
        state: &[u8],
        reply: Result<&str, &str>,
        checked: bool,
    ) -> Result<Outcome, CallError> {
        let (case, text) = match reply {
            Ok(text) => (0, text.as_bytes()),
            Err(text) => (1, text.as_bytes()),
        };
        self.begin(module, state.len().saturating_add(text.len()))?;
        let state_at = self.place(state, module)?;
        let text_at = self.place(text, module)?;
        let arguments = (state_at, length(state), case, text_at, length(text));
        let returned = self.resume.call(&mut self.store, arguments);
        let returned = self.settle(returned, module)?;
        Returned { memory: self.memory.data(&self.store), checked }.result(returned)
    }

    /// The metered twin's count of the last call; none for other modules.
    pub(crate) fn steps(&mut self) -> Option<u64> {
        match self.steps?.get(&mut self.store) {
            Val::I64(steps) => Some(steps.cast_unsigned()),
            _ => None,
        }
    }

    /// Checks the size of the arguments and gives the call its own limits.
    #[inline(always)]
    fn begin(&mut self, module: &Module, input: usize) -> Result<(), CallError> {
        check_input(module.sandbox.limits(), input)?;
        check_nothing(module.sandbox.limits())?;
        let limiter = self.store.data_mut();
        (limiter.refused, limiter.refused_table) = (None, None);
        refill(&mut self.store, module)
    }

    /// Puts the input of a call where the guest wants it. Code of our emit begins each call with an
    /// empty arena at the same place, and takes an input that was put there unasked; so it is
    /// asked once, and again for what needs more memory than there is.
    #[inline(always)]
    fn place_input(&mut self, bytes: &[u8], module: &Module) -> Result<u32, CallError> {
        if let Some(at) = self.inputs_at {
            let rest = self.memory.data_mut(&mut self.store).get_mut(at as usize..);
            if let Some(place) = rest.and_then(|rest| rest.get_mut(..bytes.len())) {
                place.copy_from_slice(bytes);
                return Ok(at);
            }
        }
        let at = self.place(bytes, module)?;
        // Nothing is allocated for nothing.
        self.inputs_at = (self.ours && !bytes.is_empty()).then_some(at);
        Ok(at)
    }

    /// Puts bytes where the guest wants them.
    #[cold]
    fn place(&mut self, bytes: &[u8], module: &Module) -> Result<u32, CallError> {
        let size = length(bytes);
        let at = self.realloc.call(&mut self.store, (0, 0, 1, size));
        let at = self.settle(at, module)?;
        let memory = self.memory.data_mut(&mut self.store);
        let held = memory.len();
        match (at as usize).checked_add(bytes.len()).and_then(|end| memory.get_mut(at as usize..end)) {
            Some(place) => place.copy_from_slice(bytes),
            None => return Err(bad(format!("room for {size} bytes at {at}, outside its memory of {held} bytes"))),
        }
        Ok(at)
    }

    #[inline(always)]
    fn settle(&self, returned: wasmtime::Result<u32>, module: &Module) -> Result<u32, CallError> {
        returned.map_err(|error| classify(&error, self.store.data(), module.sandbox.limits()))
    }
}

/// The exports of an instance, before they move in with their store.
struct Exports {
    memory: Memory,
    realloc: TypedFunc<(u32, u32, u32, u32), u32>,
    run: TypedFunc<(u32, u32), u32>,
    assess: TypedFunc<(u32, u32), u32>,
    resume: TypedFunc<(u32, u32, u32, u32, u32), u32>,
    steps: Option<Global>,
}

impl Exports {
    fn of(store: &mut Store<Limiter>, instance: &Instance, module: &Module) -> wasmtime::Result<Exports> {
        let mut export = |index| instance.get_module_export(&mut *store, index);
        let missing = || wasmtime::Error::msg("an export went missing");
        let memory = export(&module.exports.memory).and_then(|e| e.into_memory()).ok_or_else(missing)?;
        let realloc = export(&module.exports.realloc).and_then(|e| e.into_func()).ok_or_else(missing)?;
        let run = export(&module.exports.run).and_then(|e| e.into_func()).ok_or_else(missing)?;
        let assess = export(&module.exports.assess).and_then(|e| e.into_func()).ok_or_else(missing)?;
        let resume = export(&module.exports.resume).and_then(|e| e.into_func()).ok_or_else(missing)?;
        let steps = module.exports.steps.as_ref().and_then(&mut export).and_then(|e| e.into_global());
        Ok(Exports {
            memory,
            realloc: realloc.typed(&*store)?,
            run: run.typed(&*store)?,
            assess: assess.typed(&*store)?,
            resume: resume.typed(&*store)?,
            steps,
        })
    }

    fn into_live(self, store: Store<Limiter>, ours: bool) -> Live {
        let Exports { memory, realloc, run, assess, resume, steps } = self;
        Live { store, memory, realloc, run, assess, resume, steps, inputs_at: None, ours }
    }
}

/// Whether an input may be handed over at all.
#[inline(always)]
pub(crate) fn check_input(limits: &Limits, size: usize) -> Result<(), CallError> {
    // Lengths cross the ABI as 32 bits, whatever the limit says.
    if size > limits.input || u32::try_from(size).is_err() {
        let message = format!("the input has {size} bytes, allowed are {}; raise it with --max-input", limits.input);
        return Err(CallError::new(Class::InputTooLarge, message));
    }
    Ok(())
}

/// A limit of nothing is one that every call exceeds, however fast or small.
#[inline(always)]
fn check_nothing(limits: &Limits) -> Result<(), CallError> {
    if limits.deadline.is_zero() {
        let message = "the artifact may run for 0 ms; raise it with --deadline";
        return Err(CallError::new(Class::Deadline, message));
    }
    if limits.stack == 0 {
        return Err(CallError::new(Class::OutOfStack, "the artifact has 0 bytes of stack; raise it with --stack"));
    }
    Ok(())
}

#[inline(always)]
fn refill(store: &mut Store<Limiter>, module: &Module) -> Result<(), CallError> {
    let sandbox = &module.sandbox;
    if module.lane == Lane::Metered {
        let set = store.set_fuel(sandbox.limits().fuel);
        set.map_err(|error| CallError::new(Class::Trap, format!("no fuel could be given: {error}")))?;
    }
    store.set_epoch_deadline(module.clocked.call_starts());
    Ok(())
}

/// What a failed call was, from what wasmtime and the limiter say.
#[cold]
fn classify(error: &wasmtime::Error, limiter: &Limiter, limits: &Limits) -> CallError {
    let out_of_memory = |bytes: usize| {
        let message = format!(
            "the artifact asked for {bytes} bytes of memory, allowed are {}; raise it with --memory",
            limits.memory
        );
        CallError::new(Class::OutOfMemory, message)
    };
    let out_of_table = |entries: usize| {
        let message = format!(
            "the artifact asked for {entries} entries in its table, and artifacts may have {TABLE_ENTRIES}; \
             no flag raises that"
        );
        CallError::new(Class::OutOfTable, message)
    };
    let refused = limiter.refused.map(out_of_memory).or_else(|| limiter.refused_table.map(out_of_table));
    match error.downcast_ref::<Trap>() {
        Some(Trap::OutOfFuel) => {
            let message = format!("the artifact used up its {} units of fuel; raise it with --fuel", limits.fuel);
            CallError::new(Class::OutOfFuel, message)
        }
        Some(Trap::Interrupt) => {
            let message =
                format!("the artifact ran longer than {} ms; raise it with --deadline", limits.deadline.as_millis());
            CallError::new(Class::Deadline, message)
        }
        Some(Trap::StackOverflow) => {
            let message = format!("the artifact used up its {} bytes of stack; raise it with --stack", limits.stack);
            CallError::new(Class::OutOfStack, message)
        }
        Some(trap) => refused
            .unwrap_or_else(|| CallError::new(Class::Trap, format!("the artifact trapped: {trap}{}", place(error)))),
        None if error.is::<wasmtime::PoolConcurrencyLimitError>() => {
            let message = format!("{} instances are alive already, as many as allowed: {error}", limits.instances);
            CallError::new(Class::OutOfMemory, message)
        }
        None if error.root_cause().is::<std::io::Error>() => {
            CallError::new(Class::Machine, format!("this machine could not run the artifact: {error:#}"))
        }
        None => {
            refused.unwrap_or_else(|| CallError::new(Class::Trap, format!("the artifact could not be run: {error:#}")))
        }
    }
}

/// Where it trapped: the innermost function, by name where the module has names.
fn place(error: &wasmtime::Error) -> String {
    let frame = error.downcast_ref::<WasmBacktrace>().and_then(|backtrace| backtrace.frames().first());
    match frame {
        None => String::new(),
        Some(frame) => match frame.func_name() {
            Some(name) => format!(" in function {} ({name})", frame.func_index()),
            None => format!(" in function {}", frame.func_index()),
        },
    }
}

/// A length that [`check_input`] has seen.
fn length(bytes: &[u8]) -> u32 {
    // Cannot saturate: larger inputs were refused.
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}
