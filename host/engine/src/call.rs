//! One call of one component: a fresh instance under its limits, its imports forwarded
//! by name, and every way to fail told apart.
//!
//! What an import leads to is looked up in the store when it is called, so that one
//! linked component serves under every stack of providers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{Component, InstancePre, Linker, Val};
use wasmtime::{Store, StoreContextMut, Trap, UpdateDeadline, WasmBacktrace};

use crate::engine::Inner;
use crate::fault::{Fault, FaultClass};
use crate::limits::{Budget, Limit, MAX_DEPTH, MemoryLimiter};
use crate::name::InterfaceName;
use crate::pass::{HOST_PACKAGE, LOG, Pass};
use crate::providers::{Provider, Providers};
use crate::shape::{Interface, Signature};
use crate::value;

/// The most log lines that are kept of a call (the last ones), and the longest line.
const MAX_LOG: usize = 200;
const MAX_LINE: usize = 4096;

/// Frames of a backtrace that go into a message.
const FRAMES: usize = 6;

/// What is served to a driver besides components and the log.
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
    services: Option<Box<dyn Services>>,
    memory: MemoryLimiter,
    clock: Clock,
    pub(crate) log: Vec<String>,
    /// The fault of something that was called, to be handed on as it is.
    callee: Option<Fault>,
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
}

/// What a call came to, besides its results.
pub(crate) struct Spent {
    pub(crate) fuel: u64,
    pub(crate) own: Duration,
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
        }
    }

    /// Runs it in a fresh instance.
    pub(crate) fn run(
        &self,
        engine: &Arc<Inner>,
        services: Option<Box<dyn Services>>,
        args: &[Val],
    ) -> Result<(Vec<Val>, Spent), Fault> {
        let linked =
            engine.linked(&self.provider.pass).map_err(|message| self.fault(FaultClass::Host("compile"), message))?;
        let mut store = self.store(engine, services)?;
        let mut results = vec![Val::Bool(false); usize::from(self.signature.result.is_some())];
        let called = self.call(&linked, &mut store, args, &mut results);
        let spent = Spent {
            fuel: self.budget.fuel.saturating_sub(store.get_fuel().unwrap_or(0)),
            own: store.data().clock.own(),
        };
        called.map_err(|error| self.failed(&error, &mut store))?;
        self.check(&results).map_err(|fault| Fault { log: std::mem::take(&mut store.data_mut().log), ..fault })?;
        Ok((results, spent))
    }

    fn store(&self, engine: &Arc<Inner>, services: Option<Box<dyn Services>>) -> Result<Store<State>, Fault> {
        let clock =
            Clock { started: Instant::now(), elsewhere: Duration::ZERO, allowed: self.budget.deadline, expired: false };
        let state = State {
            engine: engine.clone(),
            below: self.provider.below.clone(),
            services,
            memory: MemoryLimiter::new(self.budget.memory),
            clock,
            log: Vec::new(),
            callee: None,
        };
        let wasmtime = engine.wasmtime().map_err(|why| self.fault(FaultClass::Host("engine"), why))?;
        let mut store = Store::new(wasmtime, state);
        store.limiter(|state| &mut state.memory);
        store.set_fuel(self.budget.fuel).map_err(|error| self.fault(FaultClass::Host("engine"), error.to_string()))?;
        store.set_hostcall_fuel(transfer(self.budget.output));
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|mut store| {
            let clock = &mut store.data_mut().clock;
            clock.expired = clock.own() > clock.allowed;
            if clock.expired { Ok(UpdateDeadline::Interrupt) } else { Ok(UpdateDeadline::Continue(1)) }
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

    /// What a failed call failed of. In this order: a callee's fault is not the caller's;
    /// our own limits are recorded where they strike; the rest is what wasmtime says.
    fn failed(&self, error: &wasmtime::Error, store: &mut Store<State>) -> Fault {
        let state = store.data_mut();
        if let Some(fault) = state.callee.take() {
            return fault;
        }
        let log = std::mem::take(&mut state.log);
        let trap = error.downcast_ref::<Trap>();
        let (class, message) = if state.clock.expired || trap == Some(&Trap::Interrupt) {
            (FaultClass::Deadline, self.exceeded(Limit::Deadline, format!("{} s", self.budget.deadline.as_secs_f64())))
        } else if trap == Some(&Trap::OutOfFuel) {
            (FaultClass::OutOfFuel, self.exceeded(Limit::Fuel, format!("{} units of fuel", self.budget.fuel)))
        } else if let Some(wanted) = state.memory.refused {
            let limit = format!("{} bytes of memory (it wanted {wanted})", self.budget.memory);
            (FaultClass::OutOfMemory, self.exceeded(Limit::Memory, limit))
        } else if let Some(trap) = trap {
            (FaultClass::Trap, trap_text(*trap, error, &log))
        } else {
            let cause = error.root_cause().to_string();
            match cause.contains("hostcalls has been exhausted") {
                true => (
                    FaultClass::BadOutput,
                    self.exceeded(Limit::Output, format!("{} bytes of output", self.budget.output)),
                ),
                false => (FaultClass::BadOutput, format!("what it handed over breaks the component ABI: {cause}")),
            }
        };
        Fault { log, ..self.fault(class, message) }
    }

    fn exceeded(&self, limit: Limit, what: String) -> String {
        format!(
            "more than the {what} that a call of {} may use; raise it with {}",
            self.provider.interface,
            limit.flag()
        )
    }

    fn check(&self, results: &[Val]) -> Result<(), Fault> {
        let (size, depth) = results.first().map_or((0, 0), value::measure);
        if size > self.budget.output {
            let message =
                self.exceeded(Limit::Output, format!("{} bytes of output (it returned {size})", self.budget.output));
            return Err(self.fault(FaultClass::BadOutput, message));
        }
        if depth > MAX_DEPTH {
            let message = format!(
                "it returned a value nested {depth} deep; values crossing the host nest at most {MAX_DEPTH} deep"
            );
            return Err(self.fault(FaultClass::BadOutput, message));
        }
        Ok(())
    }
}

/// What wasmtime may allocate for one transfer out of a component: a `Val` a byte in the
/// worst case, so a list of bytes of an eighth of the output limit always fits, and texts
/// of all of it.
fn transfer(output: u64) -> usize {
    usize::try_from(output.saturating_mul(4).saturating_add(1 << 20)).unwrap_or(usize::MAX)
}

fn trap_text(trap: Trap, error: &wasmtime::Error, log: &[String]) -> String {
    let mut text = match log.iter().rev().find(|line| line.contains("panicked")) {
        Some(panic) => format!("{} ({trap})", panic.trim_start_matches("error: ")),
        None => trap.to_string(),
    };
    let frames = error.downcast_ref::<WasmBacktrace>().map(|trace| {
        let names = trace.frames().iter().filter_map(|frame| frame.func_name());
        names.take(FRAMES).collect::<Vec<_>>().join(" < ")
    });
    if let Some(frames) = frames.filter(|frames| !frames.is_empty()) {
        text += &format!("; in {frames}");
    }
    text
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
    let called = match &mut state.services {
        Some(services) if name.package == HOST_PACKAGE => services.call(name, function, args),
        services => state.engine.import_provider(&state.below, name, interface, function).and_then(|provider| {
            let results = state.engine.call(&provider, function, args)?;
            if let Some(services) = services {
                services.saw(&provider, function, &results);
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

/// `auto:host/log#log`.
fn log(mut store: StoreContextMut<'_, State>, args: &[Val]) -> wasmtime::Result<()> {
    let [Val::Variant(level, payload), Val::String(message)] = args else {
        return Err(wasmtime::format_err!("log takes a level and a message"));
    };
    let level = match payload.as_deref() {
        Some(Val::String(other)) => other,
        _ => level,
    };
    let mut line = format!("{level}: {message}");
    if line.len() > MAX_LINE {
        line.truncate(line.floor_char_boundary(MAX_LINE));
        line.push('…');
    }
    let lines = &mut store.data_mut().log;
    if lines.len() == MAX_LOG {
        lines.remove(0);
    }
    lines.push(line);
    Ok(())
}
