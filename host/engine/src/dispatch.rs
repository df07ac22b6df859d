//! From a name and arguments to a result: who serves the interface, whether the memo
//! knows the answer, and the call itself where it does not.

use std::sync::Arc;
use std::time::Instant;

use auto_json::Value;
use wasmtime::component::Val;

use crate::call::{Call, Served, Spent};
use crate::engine::Inner;
use crate::fault::{Fault, FaultClass};
use crate::memo;
use crate::name::InterfaceName;
use crate::providers::{Provider, Providers};
use crate::shape::{Interface, Ty};
use crate::trace::CallTrace;
use crate::value;

/// How many components may call each other in a row, each on top of the stack of the last.
const MAX_CHAIN: usize = 12;

/// Stack that the host itself uses for each call of a chain, at most.
const HOST_STACK: usize = 768 << 10;

/// The stack of a component that fits on any thread beside what the thread did before.
const SMALL_STACK: usize = 512 << 10;

impl Inner {
    /// Who serves an interface, or why nobody does.
    pub(crate) fn provider(&self, providers: &Providers, interface: &str, function: &str) -> Result<Provider, Fault> {
        let missing = |class, message: String| Fault {
            pass: "host".to_owned(),
            digest: None,
            function: format!("{interface}#{function}"),
            class,
            message,
            at: Some(interface.to_owned()),
            log: Vec::new(),
            callers: Vec::new(),
        };
        let Some(wanted) = InterfaceName::parse(interface) else {
            let message = "this is no interface name; write package:name/interface@version".to_owned();
            return Err(missing(FaultClass::BadArguments, message));
        };
        if let Some(provider) = providers.provider(&wanted) {
            return Ok(provider);
        }
        Err(match providers.other_version(&wanted) {
            Some((pass, name)) => missing(FaultClass::Version, unfit(&pass.label, name, &wanted)),
            None => {
                let message = format!("no component provides {wanted}; add one that exports it with --pass");
                missing(FaultClass::MissingImport, message)
            }
        })
    }

    /// Who serves a component's import, once the two sides are known to mean the same.
    pub(crate) fn import_provider(
        &self,
        below: &Providers,
        name: &InterfaceName,
        wanted: &Interface,
        function: &str,
    ) -> Result<Provider, Fault> {
        let provider = self.provider(below, &name.to_string(), function)?;
        let offered = &provider.pass.offers[&provider.interface];
        match Interface::difference(wanted, offered) {
            Some(difference) => Err(mismatch(&provider, function, &difference)),
            None => Ok(provider),
        }
    }

    pub(crate) fn call(
        self: &Arc<Inner>,
        provider: &Provider,
        function: &str,
        args: &[Val],
    ) -> Result<Vec<Val>, Fault> {
        self.call_for(provider, function, None, args)
    }

    /// The same; `services` are of the driver that calls, if one does.
    pub(crate) fn call_for(
        self: &Arc<Inner>,
        provider: &Provider,
        function: &str,
        services: Option<&Served>,
        args: &[Val],
    ) -> Result<Vec<Val>, Fault> {
        let call = self.prepare(provider, function)?;
        let params = &call.signature.params;
        if args.len() != params.len() {
            let message = format!("takes {} arguments, not {}", params.len(), args.len());
            return Err(call.fault(FaultClass::BadArguments, message));
        }
        if let Some((name, ty)) =
            args.iter().zip(params).find_map(|(arg, (name, ty))| (!value::fits(arg, ty)).then_some((name, ty)))
        {
            let fault = call.fault(FaultClass::BadArguments, format!("the argument `{name}` is no {}", ty.kind()));
            return Err(Fault { at: Some(name.clone()), ..fault });
        }
        match services {
            Some(services) if provider.needs_services() => match call.oversized(args) {
                Some(fault) => Err(fault),
                None => self.served(&call, services.clone(), args),
            },
            _ => Ok(self.memoised(&call, args)?.results),
        }
    }

    /// Calls with arguments that [`arguments`] read, and writes the result as JSON.
    pub(crate) fn call_read(self: &Arc<Inner>, call: &Call<'_>, args: &[Val]) -> Result<Read, Fault> {
        let Answer { results, memo_hit } = self.memoised(call, args)?;
        Ok(Read { value: written(call, &results)?, results, memo_hit })
    }

    /// The same without a look at the memo.
    pub(crate) fn call_anew(self: &Arc<Inner>, call: &Call<'_>, args: &[Val]) -> Result<Value, Fault> {
        match call.oversized(args).or_else(|| unserved(call)) {
            None => written(call, &self.made(call, args)?.0),
            Some(fault) => Err(fault),
        }
    }

    pub(crate) fn prepare<'a>(&self, provider: &'a Provider, function: &'a str) -> Result<Call<'a>, Fault> {
        let interface = &provider.pass.offers[&provider.interface];
        let budget = self.options.limits.of(&provider.interface.to_string());
        let Some(signature) = interface.functions.get(function) else {
            let known = interface.functions.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return Err(Fault {
                pass: provider.pass.label.clone(),
                digest: Some(provider.pass.digest),
                function: format!("{}#{function}", provider.interface),
                class: FaultClass::BadArguments,
                message: format!("there is no such function; there are {known}"),
                at: None,
                log: Vec::new(),
                callers: Vec::new(),
            });
        };
        let call = Call { provider, function, signature, budget };
        match chain(provider) {
            Some(length) if length <= MAX_CHAIN => Ok(call),
            _ => Err(call.fault(
                FaultClass::MissingImport,
                format!("more than {MAX_CHAIN} components call each other in a row; leave some out"),
            )),
        }
    }

    fn memoised(self: &Arc<Inner>, call: &Call<'_>, args: &[Val]) -> Result<Answer, Fault> {
        if let Some(fault) = call.oversized(args).or_else(|| unserved(call)) {
            return Err(fault);
        }
        let Some(cache) = &self.cache else {
            let (results, _) = self.made(call, args)?;
            self.audit(call, args, &results)?;
            return Ok(Answer { results, memo_hit: false });
        };
        let key = memo::key(call.provider.identity(), &call.name(), &call.budget, args);
        let started = Instant::now();
        if let Some((results, fuel)) = memo::read(&cache.memo, key) {
            self.audit(call, args, &results)?;
            self.record(call, Spent { fuel, own: started.elapsed(), ..Spent::default() }, true, None);
            return Ok(Answer { results, memo_hit: true });
        }
        let (results, fuel) = self.made(call, args)?;
        self.audit(call, args, &results)?;
        memo::write(&cache.memo, key, results.iter(), fuel);
        Ok(Answer { results, memo_hit: false })
    }

    /// Makes a call and records it; its results and the fuel it took.
    fn made(self: &Arc<Inner>, call: &Call<'_>, args: &[Val]) -> Result<(Vec<Val>, u64), Fault> {
        let (results, spent) = self.fresh(call, args);
        let fuel = spent.fuel;
        self.record(call, spent, false, results.as_ref().err());
        Ok((results?, fuel))
    }

    /// Runs a call in an instance of its own; on a stack that is large enough where it may
    /// lead to further calls.
    fn fresh(self: &Arc<Inner>, call: &Call<'_>, args: &[Val]) -> (Result<Vec<Val>, Fault>, Spent) {
        let stack = self.options.limits.stack();
        if call.provider.pass.component_needs().next().is_none() && stack <= SMALL_STACK {
            return call.run(self, None, args);
        }
        on_large_stack(stack, || call.run(self, None, args)).unwrap_or_else(|| no_thread(call))
    }

    /// Runs a driver: never from the memo.
    pub(crate) fn drive(
        self: &Arc<Inner>,
        provider: &Provider,
        function: &str,
        services: Served,
        args: &[Val],
    ) -> Result<Vec<Val>, Fault> {
        self.served(&self.prepare(provider, function)?, services, args)
    }

    /// Runs what services are lent to: never from the memo, since what they give is not of the
    /// arguments alone.
    fn served(self: &Arc<Inner>, call: &Call<'_>, services: Served, args: &[Val]) -> Result<Vec<Val>, Fault> {
        let stack = self.options.limits.stack();
        let ran = on_large_stack(stack, || call.run(self, Some(services), args));
        let (results, spent) = ran.unwrap_or_else(|| no_thread(call));
        self.record(call, spent, false, results.as_ref().err());
        results
    }

    /// Makes a call again whose result is known; without `--audit`, does nothing.
    fn audit(self: &Arc<Inner>, call: &Call<'_>, args: &[Val], known: &[Val]) -> Result<(), Fault> {
        if !self.options.audit {
            return Ok(());
        }
        let again = self.fresh(call, args).0?;
        if memo::same(&again, known) {
            return Ok(());
        }
        let message = "gave another result than it gave before for the same arguments; it is not a pure function";
        Err(call.fault(FaultClass::BadOutput, message))
    }

    fn record(&self, call: &Call<'_>, spent: Spent, memo_hit: bool, fault: Option<&Fault>) {
        let micros = u64::try_from(spent.own.as_micros()).unwrap_or(u64::MAX);
        self.trace().push(CallTrace {
            pass: call.provider.pass.label.clone(),
            digest: call.provider.pass.digest,
            interface: call.provider.interface.to_string(),
            function: call.function.to_owned(),
            fuel: spent.fuel,
            micros,
            memory: spent.memory,
            memo_hit,
            log: spent.log,
            fault: fault.map(|fault| fault.class.code().to_owned()),
        });
    }
}

/// Why a call cannot be made by itself, where it needs what only a driver's job lends.
fn unserved(call: &Call<'_>) -> Option<Fault> {
    let why = "it asks a teacher, who is lent to nobody but a driver that calls it directly; `auto-host compile \
               --synth teacher` does";
    call.provider.needs_services().then(|| call.fault(FaultClass::MissingImport, why))
}

/// What a call came to, and whether it was made.
struct Answer {
    results: Vec<Val>,
    memo_hit: bool,
}

/// [`Answer`], in JSON too.
pub(crate) struct Read {
    pub(crate) value: Value,
    pub(crate) results: Vec<Val>,
    pub(crate) memo_hit: bool,
}

/// Why one version does not serve another, and which side to upgrade.
fn unfit(label: &str, had: &InterfaceName, wanted: &InterfaceName) -> String {
    let side = match had.version > wanted.version {
        true => "the one that asks for it is older: rebuild it against the newer version",
        false => "the component is older: use a newer build of it",
    };
    format!("{label} provides {had}, and {wanted} is asked for; {side}")
}

fn mismatch(provider: &Provider, function: &str, difference: &str) -> Fault {
    Fault {
        pass: provider.pass.label.clone(),
        digest: Some(provider.pass.digest),
        function: format!("{}#{function}", provider.interface),
        class: FaultClass::Version,
        message: format!(
            "the two sides mean different things by {}: {difference}; rebuild both against one text",
            provider.interface
        ),
        at: Some(provider.interface.to_string()),
        log: Vec::new(),
        callers: Vec::new(),
    }
}

pub(crate) fn arguments(call: &Call<'_>, args: &Value) -> Result<Vec<Val>, Fault> {
    let params = &call.signature.params;
    let wrong = |at: Option<String>, message: String| Fault { at, ..call.fault(FaultClass::BadArguments, message) };
    let items = args.as_list().filter(|items| items.len() == params.len()).ok_or_else(|| {
        let names = params.iter().map(|(name, ty)| format!("{name}: {}", ty.kind())).collect::<Vec<_>>().join(", ");
        wrong(None, format!("takes a list of {} arguments ({names})", params.len()))
    })?;
    let convert = |(item, (name, ty)): (&Value, &(String, Ty))| {
        value::from_json(item, ty).map_err(|mismatch| {
            wrong(Some(format!("{name}{}", mismatch.at)), format!("the argument `{name}`: {}", mismatch.message))
        })
    };
    items.iter().zip(params).map(convert).collect()
}

/// What a function returned, as JSON.
fn written(call: &Call<'_>, results: &[Val]) -> Result<Value, Fault> {
    match (results.first(), &call.signature.result) {
        (Some(result), Some(ty)) => outcome(call, result, ty),
        _ => Ok(Value::Null),
    }
}

/// The function's `ok` value, or its own fault.
fn outcome(call: &Call<'_>, result: &Val, ty: &Ty) -> Result<Value, Fault> {
    let json = |value: &Val, ty: &Ty| {
        value::to_json(value, ty).map_err(|mismatch| {
            let fault = call.fault(FaultClass::BadOutput, mismatch.message);
            Fault { at: Some(mismatch.at), ..fault }
        })
    };
    match (result, ty) {
        (Val::Result(Ok(None)), _) => Ok(Value::Null),
        (Val::Result(Ok(Some(value))), Ty::Result(types)) => {
            types.0.as_ref().map_or(Ok(Value::Null), |ty| json(value, ty))
        }
        (Val::Result(Err(refusal)), Ty::Result(types)) => {
            let text = match (refusal, &types.1) {
                (Some(refusal), Some(ty)) => Some(json(refusal, ty)?),
                _ => None,
            };
            Err(refused(call, refusal.as_deref(), text))
        }
        (value, ty) => json(value, ty),
    }
}

/// The component's own fault record, or whatever else it calls an error.
pub(crate) fn refused(call: &Call<'_>, refusal: Option<&Val>, text: Option<Value>) -> Fault {
    let (code, message, at) = refusal.and_then(refusal_of).unwrap_or_else(|| {
        ("refused".to_owned(), text.map_or_else(String::new, |text| text.canonical().into_string()), None)
    });
    Fault { at, ..call.fault(FaultClass::Refused(code), message) }
}

/// Reads `auto:pass/types.fault`: a record with `code` and `message` texts, and a place.
fn refusal_of(refusal: &Val) -> Option<(String, String, Option<String>)> {
    let Val::Record(fields) = refusal else { return None };
    let field = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
    let (Some(Val::String(code)), Some(Val::String(message))) = (field("code"), field("message")) else { return None };
    let at = match field("at") {
        Some(Val::Option(Some(at))) => match &**at {
            Val::String(at) => Some(at.clone()),
            _ => None,
        },
        _ => None,
    };
    Some((code.clone(), message.clone(), at))
}

/// The longest row of calls that a provider may start.
fn chain(provider: &Provider) -> Option<usize> {
    let deeper = provider
        .pass
        .component_needs()
        .map(|(name, _)| provider.below.provider(name).map_or(Some(0), |next| chain(&next)));
    let longest = deeper.collect::<Option<Vec<_>>>()?.into_iter().max().unwrap_or(0);
    Some(longest + 1).filter(|length| *length <= MAX_CHAIN)
}

fn no_thread(call: &Call<'_>) -> (Result<Vec<Val>, Fault>, Spent) {
    let message = "no thread with room for the call could be started; give less --stack";
    (Err(call.fault(FaultClass::Host("thread"), message)), Spent::default())
}

/// Runs on a thread with room for a chain of calls, each with a stack of that size; `None`
/// where none can be started. A panic goes on in the caller.
fn on_large_stack<T: Send>(stack: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    let room = stack.saturating_add(HOST_STACK).saturating_mul(MAX_CHAIN);
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(room).spawn_scoped(scope, work).ok()?;
        Some(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}
