//! One call of one component: a fresh instance under its limits, its imports forwarded
//! by name, and every way to fail told apart.
//!
//! What an import leads to is looked up in the store when it is called, so that one
//! linked component serves under every stack of providers.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use wasmtime::component::{Component, InstancePre, Linker, Val};
use wasmtime::{PoolConcurrencyLimitError, Store, StoreContextMut, Trap, UpdateDeadline, WasmBacktrace};

use crate::engine::Inner;
use crate::fault::{Fault, FaultClass};
use crate::limits::{Budget, Limiter};
use crate::log::Log;
use crate::name::InterfaceName;
use crate::pass::{HOST_PACKAGE, LOG, Pass};
use crate::providers::{Provider, Providers};
use crate::shape::{Interface, Signature};
use crate::value;
use crate::wasi::{self, Wasi};

/// Frames of a backtrace that go into a message.
const FRAMES: usize = 6;

/// The most handles of resources in a call; a component could else make the host keep as
/// many as it has fuel for.
const MAX_HANDLES: usize = 100_000;

/// What is served to a driver besides components and the log; also while a proposer works for
/// it.
pub(crate) type Served = Arc<Mutex<dyn Services>>;

/// What serves a driver.
pub(crate) trait Services: Send {
    /// Calls a function of an `auto:host` interface.
    fn call(&mut self, interface: &InterfaceName, function: &str, args: &[Val]) -> Result<Vec<Val>, Fault>;

    /// A component was called for the driver and gave this.
    fn saw(&mut self, provider: &Provider, function: &str, results: &[Val]);
}

/// What a store knows during a call.
pub(crate) struct State {
    engine: Arc<Inner>,
    below: Providers,
    services: Option<Served>,
    limiter: Limiter,
    clock: Clock,
    pub(crate) log: Log,
    /// Made when first used.
    wasi: Option<Box<Wasi>>,
    /// The fault of something that was called, to be handed on as it is.
    callee: Option<Fault>,
}

impl State {
    /// The state of WASI, with the log that it writes to.
    pub(crate) fn wasi(&mut self) -> (&mut Wasi, &mut Log) {
        (self.wasi.get_or_insert_default(), &mut self.log)
    }

    /// Logs what was written last and ends in no line.
    fn end_lines(&mut self) {
        if let Some(wasi) = &mut self.wasi {
            wasi.end_lines(&mut self.log);
        }
    }
}

/// Time of a call's own.
struct Clock {
    started: Instant,
    elsewhere: Duration,
    allowed: Duration,
    expired: bool,
}

impl Clock {
    fn own(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.elsewhere)
    }

    fn has_expired(&mut self) -> bool {
        self.expired = self.expired || self.own() > self.allowed;
        self.expired
    }
}

/// What a call came to, besides its results.
#[derive(Default)]
pub(crate) struct Spent {
    pub(crate) fuel: u64,
    pub(crate) own: Duration,
    /// Not known of a call that the memo answers.
    pub(crate) memory: Option<u64>,
    /// Empty where the call failed: its fault has the log.
    pub(crate) log: Vec<String>,
}

/// A function of a component, about to be called.
pub(crate) struct Call<'a> {
    pub(crate) provider: &'a Provider,
    pub(crate) function: &'a str,
    pub(crate) signature: &'a Signature,
    pub(crate) budget: Budget,
}

impl Call<'_> {
    pub(crate) fn name(&self) -> String {
        format!("{}#{}", self.provider.interface, self.function)
    }

    pub(crate) fn fault(&self, class: FaultClass, message: impl Into<String>) -> Fault {
        Fault {
            pass: self.provider.pass.label.clone(),
            digest: Some(self.provider.pass.digest),
            function: self.name(),
            class,
            message: message.into(),
            at: None,
            log: Vec::new(),
            callers: Vec::new(),
        }
    }

    /// Runs it in a fresh instance. What it took is known of a failed call too.
    pub(crate) fn run(
        &self,
        engine: &Arc<Inner>,
        services: Option<Served>,
        args: &[Val],
    ) -> (Result<Vec<Val>, Fault>, Spent) {
        match self.start(engine, services) {
            Ok((linked, mut store)) => {
                let results = self.finish(&linked, &mut store, args);
                let fuel = self.budget.fuel.saturating_sub(store.get_fuel().unwrap_or(0));
                let state = store.data_mut();
                let memory = Some(state.limiter.memory());
                (results, Spent { fuel, own: state.clock.own(), memory, log: state.log.take() })
            }
            Err(fault) => (Err(fault), Spent::default()),
        }
    }

    fn start(
        &self,
        engine: &Arc<Inner>,
        services: Option<Served>,
    ) -> Result<(InstancePre<State>, Store<State>), Fault> {
        if let Some(fault) = self.too_large() {
            return Err(fault);
        }
        let linked = engine.linked(&self.provider.pass);
        let linked = linked.map_err(|(code, message)| self.fault(FaultClass::Host(code), message))?;
        Ok((linked, self.store(engine, services)?))
    }

    fn finish(&self, linked: &InstancePre<State>, store: &mut Store<State>, args: &[Val]) -> Result<Vec<Val>, Fault> {
        let mut results = vec![Val::Bool(false); usize::from(self.signature.result.is_some())];
        let called = self.call(linked, store, args, &mut results);
        store.data_mut().end_lines();
        called.map_err(|error| self.failed(&error, store))?;
        match self.excess(&results, store.data_mut()) {
            None => Ok(results),
            Some(fault) => Err(Fault { log: store.data_mut().log.take(), ..fault }),
        }
    }

    fn store(&self, engine: &Arc<Inner>, services: Option<Served>) -> Result<Store<State>, Fault> {
        let clock =
            Clock { started: Instant::now(), elsewhere: Duration::ZERO, allowed: self.budget.deadline, expired: false };
        let state = State {
            engine: engine.clone(),
            below: self.provider.below.clone(),
            services,
            limiter: Limiter::new(&self.budget),
            clock,
            log: Log::new(self.budget.log),
            wasi: None,
            callee: None,
        };
        let wasmtime = engine.wasmtime().map_err(|why| self.fault(FaultClass::Host("engine"), why))?;
        let mut store = Store::new(wasmtime, state);
        store.limiter(|state| &mut state.limiter);
        store.set_fuel(self.budget.fuel).map_err(|error| self.fault(FaultClass::Host("engine"), error.to_string()))?;
        store.set_hostcall_fuel(self.transfer());
        store.set_max_component_handles(MAX_HANDLES);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| {
            let clock = &mut store.data_mut().clock;
            if clock.has_expired() { Ok(UpdateDeadline::Interrupt) } else { Ok(UpdateDeadline::Continue(1)) }
        });
        Ok(store)
    }

    fn call(
        &self,
        linked: &InstancePre<State>,
        store: &mut Store<State>,
        args: &[Val],
        results: &mut [Val],
    ) -> wasmtime::Result<()> {
        let instance = linked.instantiate(&mut *store)?;
        let interface = instance.get_export_index(&mut *store, None, &self.provider.interface.to_string());
        let function = interface.and_then(|at| instance.get_export_index(&mut *store, Some(&at), self.function));
        let function = function.and_then(|at| instance.get_func(&mut *store, at));
        let function = function.ok_or_else(|| wasmtime::format_err!("the export is not a function"))?;
        function.call(&mut *store, args, results)
    }

    /// The limit that the component exceeds before it does anything.
    fn too_large(&self) -> Option<Fault> {
        let (budget, starts) = (&self.budget, &self.provider.pass.footprint);
        let instances = [(starts.instances, "instances"), (starts.memories, "memories"), (starts.tables, "tables")];
        if let Some((count, what)) = instances.into_iter().find(|(count, _)| *count > budget.instances) {
            let what = format!("{} {what} (it consists of {count})", budget.instances);
            return Some(self.exceeded(FaultClass::OutOfInstances, what));
        }
        match starts {
            _ if budget.stack == 0 => Some(self.exceeded(FaultClass::OutOfStack, "0 bytes of stack")),
            starts if starts.memory > budget.memory => Some(self.out_of_memory(starts.memory)),
            starts if starts.entries > budget.table_entries => Some(self.out_of_table(starts.entries)),
            _ => None,
        }
    }

    fn out_of_memory(&self, wanted: u64) -> Fault {
        let what = format!("{} bytes of memory (it wanted {wanted})", self.budget.memory);
        self.exceeded(FaultClass::OutOfMemory, what)
    }

    fn out_of_table(&self, wanted: u64) -> Fault {
        let what = format!("{} entries of tables (it wanted {wanted})", self.budget.table_entries);
        self.exceeded(FaultClass::OutOfTable, what)
    }

    /// What a failed call failed of. In this order: a callee's fault is not the caller's;
    /// our own limits are recorded where they strike; the rest is what wasmtime says.
    fn failed(&self, error: &wasmtime::Error, store: &mut Store<State>) -> Fault {
        let state = store.data_mut();
        if let Some(fault) = state.callee.take() {
            return self.called(fault, state);
        }
        let trap = error.downcast_ref::<Trap>();
        let fault = self.broken(trap, state).unwrap_or_else(|| match trap {
            Some(trap) => self.fault(FaultClass::Trap, trap_text(*trap, error, &state.log)),
            None => self.refused(error),
        });
        Fault { log: state.log.take(), ..fault }
    }

    /// Hands on the fault of something that was called.
    fn called(&self, mut fault: Fault, state: &mut State) -> Fault {
        let label = &self.provider.pass.label;
        fault.callers.push(format!("{label}, {}", self.name()));
        fault.log.extend(state.log.take().iter().map(|line| format!("{label}: {line}")));
        fault
    }

    /// The limit that ended the call, if one did.
    fn broken(&self, trap: Option<&Trap>, state: &State) -> Option<Fault> {
        let budget = &self.budget;
        let (class, what) = match trap {
            _ if state.clock.expired => return Some(self.too_long()),
            _ if state.log.excess().is_some() => return state.log.excess().map(|written| self.too_loud(written)),
            Some(Trap::OutOfFuel) => (FaultClass::OutOfFuel, format!("{} units of fuel", budget.fuel)),
            Some(Trap::StackOverflow) => (FaultClass::OutOfStack, format!("{} bytes of stack", budget.stack)),
            // These are arithmetic's, whatever was refused before.
            Some(Trap::IntegerDivisionByZero | Trap::IntegerOverflow | Trap::BadConversionToInteger) => return None,
            _ => match (state.limiter.refused_memory(), state.limiter.refused_table()) {
                (Some(wanted), _) => return Some(self.out_of_memory(wanted)),
                (None, wanted) => return wanted.map(|wanted| self.out_of_table(wanted)),
            },
        };
        Some(self.exceeded(class, what))
    }

    /// What wasmtime refused without a trap.
    fn refused(&self, error: &wasmtime::Error) -> Fault {
        if error.is::<PoolConcurrencyLimitError>() {
            let message = format!("no room for another instance, so many are in use: {error}; run fewer jobs at once");
            return self.fault(FaultClass::Host("busy"), message);
        }
        if let Some(message) = wasi::ended(error) {
            return self.fault(FaultClass::Trap, message);
        }
        // Only the host asks the machine for anything: what that refuses is not the component's.
        if let Some(error) = error.root_cause().downcast_ref::<std::io::Error>() {
            let message = format!("the machine refused what an instance needs: {error}; try again when it has room");
            return self.fault(FaultClass::Host("engine"), message);
        }
        let cause = error.root_cause().to_string();
        // These two are no types of wasmtime's public interface; tests hold the texts.
        if cause.contains("fuel allocated for hostcalls has been exhausted") {
            // It struck inside the component if that was handing arguments to an import.
            return match error.is::<WasmBacktrace>() {
                true => {
                    self.exceeded(FaultClass::ArgumentsTooLarge, format!("{} bytes of arguments", self.budget.value))
                }
                false => self.exceeded(FaultClass::OutputTooLarge, format!("{} bytes of output", self.budget.output)),
            };
        }
        if cause.contains("store handle limit exceeded") {
            let what =
                format!("it holds more than {MAX_HANDLES} handles of resources; it has to drop those it is done with");
            return self.fault(FaultClass::Trap, what);
        }
        if cause.starts_with("resource limit exceeded") {
            return self.exceeded(FaultClass::OutOfInstances, format!("{} instances ({cause})", self.budget.instances));
        }
        self.fault(FaultClass::BadOutput, format!("what it handed over breaks the component ABI: {cause}"))
    }

    pub(crate) fn exceeded(&self, class: FaultClass, what: impl fmt::Display) -> Fault {
        let flag = class.flag().unwrap_or_default();
        let interface = &self.provider.interface;
        let message = format!("more than the {what} that a call of {interface} may use; raise it with {flag}");
        self.fault(class, message)
    }

    fn too_long(&self) -> Fault {
        self.exceeded(FaultClass::Deadline, format!("{} s", self.budget.deadline.as_secs_f64()))
    }

    fn too_loud(&self, written: u64) -> Fault {
        let what = format!("{} bytes of log (it wrote {written})", self.budget.log);
        self.exceeded(FaultClass::LogTooLarge, what)
    }

    /// The limit that a call broke which came to its end.
    fn excess(&self, results: &[Val], state: &mut State) -> Option<Fault> {
        let (size, depth) = results.first().map_or((0, 0), value::measure);
        if size > self.budget.output {
            let what = format!("{} bytes of output (it returned {size})", self.budget.output);
            return Some(self.exceeded(FaultClass::OutputTooLarge, what));
        }
        // Also what it took to lift the results.
        self.too_deep(depth).or_else(|| state.clock.has_expired().then(|| self.too_long()))
    }

    /// Whether arguments may be handed over.
    pub(crate) fn oversized<'v>(&self, args: impl IntoIterator<Item = &'v Val>) -> Option<Fault> {
        let sizes = args.into_iter().map(value::measure);
        let (size, depth) = sizes.fold((0, 0), |(size, depth), (own, deep)| (size + own, depth.max(deep)));
        if size > self.budget.value {
            let what = format!("{} bytes of arguments (they take {size})", self.budget.value);
            return Some(self.exceeded(FaultClass::ArgumentsTooLarge, what));
        }
        self.too_deep(depth)
    }

    fn too_deep(&self, depth: usize) -> Option<Fault> {
        let allowed = self.budget.depth;
        (depth as u64 > allowed).then(|| {
            let what = format!("{allowed} levels of nesting in a value (this one has {depth})");
            self.exceeded(FaultClass::ValueTooDeep, what)
        })
    }

    /// What wasmtime may allocate for one transfer out of a component: a `Val` a byte in
    /// the worst case, so a list of bytes of an eighth of the limit always fits, and texts
    /// of all of it. One amount holds for results and for arguments of imports.
    fn transfer(&self) -> usize {
        let Budget { output, value, .. } = self.budget;
        let largest = if self.provider.pass.needs.is_empty() { output } else { output.max(value) };
        usize::try_from(largest.saturating_mul(4).saturating_add(1 << 20)).unwrap_or(usize::MAX)
    }
}

fn trap_text(trap: Trap, error: &wasmtime::Error, log: &Log) -> String {
    let names: Vec<String> = match error.downcast_ref::<WasmBacktrace>() {
        Some(trace) => trace.frames().iter().filter_map(|frame| frame.func_name()).map(readable).collect(),
        None => Vec::new(),
    };
    let panicked = trap == Trap::UnreachableCodeReached && names.iter().any(|name| name.contains("panicking::"));
    let mut text = match log.panic() {
        Some(panic) => format!("{panic} ({trap})"),
        None if panicked => format!("it panicked, and logs no panic texts: see auto_kit::report_panics ({trap})"),
        None => trap.to_string(),
    };
    // A panic passes through the standard library before it stops.
    let own: Vec<&str> = names.iter().map(String::as_str).filter(|name| !is_standard(name)).take(FRAMES).collect();
    if !own.is_empty() {
        text += &format!("; in {}", own.join(" < "));
    }
    text
}

/// A function's name without the hash that Rust adds.
fn readable(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}

fn is_standard(name: &str) -> bool {
    let name = name.trim_start_matches(['<', '&']);
    ["core::", "std::", "alloc::", "__rustc", "rust_", "__rust_"].iter().any(|start| name.starts_with(start))
}

/// Compiles nothing: binds every import of a compiled component to what forwards it.
pub(crate) fn link(
    engine: &wasmtime::Engine,
    pass: &Pass,
    component: &Component,
) -> wasmtime::Result<InstancePre<State>> {
    let mut linker = Linker::<State>::new(engine);
    for (name, interface) in &pass.needs {
        let mut instance = linker.instance(&name.to_string())?;
        for function in interface.functions.keys() {
            if format!("{}/{}", name.package, name.interface) == LOG {
                instance.func_new(function, |store, _, args, _| log(store, args))?;
                continue;
            }
            let (name, interface, function_name) = (name.clone(), interface.clone(), function.clone());
            instance.func_new(function, move |store, _, args, results| {
                forward(store, &name, &interface, &function_name, args, results)
            })?;
        }
    }
    if pass.wasi {
        wasi::link(&mut linker)?;
    }
    linker.instantiate_pre(component)
}

/// An import is called: by a service if the host lends it, else by who provides it.
fn forward(
    mut store: StoreContextMut<'_, State>,
    name: &InterfaceName,
    interface: &Interface,
    function: &str,
    args: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let left = Instant::now();
    let state = store.data_mut();
    let called = match &state.services {
        Some(services) if name.package == HOST_PACKAGE => lock(services).call(name, function, args),
        services => state.engine.import_provider(&state.below, name, interface, function).and_then(|provider| {
            let results = state.engine.call_for(&provider, function, services.as_ref(), args)?;
            if let Some(services) = services {
                lock(services).saw(&provider, function, &results);
            }
            Ok(results)
        }),
    };
    let state = store.data_mut();
    state.clock.elsewhere += left.elapsed();
    match called {
        Ok(values) if values.len() == results.len() => {
            results.iter_mut().zip(values).for_each(|(result, value)| *result = value);
            Ok(())
        }
        Ok(_) => Err(wasmtime::format_err!("{name}#{function} gave no result")),
        Err(fault) => {
            state.callee = Some(fault);
            Err(wasmtime::format_err!("a call failed"))
        }
    }
}

fn lock<'a>(services: &'a Mutex<dyn Services + 'static>) -> MutexGuard<'a, dyn Services + 'static> {
    // A panic elsewhere leaves them as they were between two calls.
    services.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `auto:host/log#log`.
fn log(mut store: StoreContextMut<'_, State>, args: &[Val]) -> wasmtime::Result<()> {
    let [Val::Variant(level, payload), Val::String(message)] = args else {
        return Err(wasmtime::format_err!("log takes a level and a message"));
    };
    let level = match payload.as_deref() {
        Some(Val::String(other)) => other,
        _ => level,
    };
    let log = &mut store.data_mut().log;
    log.push(level, message);
    match log.excess() {
        None => Ok(()),
        Some(_) => Err(wasmtime::format_err!("the log is full")),
    }
}
