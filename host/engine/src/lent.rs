//! What a running driver is lent: the functions of `auto:host`, each answered from the journal or
//! made and journaled.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use auto_jobs::{Blobs, Experiments};
use auto_json::Value;
use auto_schema::digest::Digest;
use auto_schema::manifest::PassRef;
use wasmtime::component::Val;

use crate::asking::{Asking, Consultation, Inquiry};
use crate::call::Services;
use crate::driver::{Progress, host_fault};
use crate::engine::Inner;
use crate::exchange::Exchanges;
use crate::experimenting;
use crate::fault::{Fault, FaultClass};
use crate::journal::{Durability, Journal};
use crate::judge::{Judge, question};
use crate::name::InterfaceName;
use crate::providers::{Provider, Providers};
use crate::sandbox::NotABehavior;
use crate::seal::{Court, Draft, Provenance, SealError};
use crate::{jobs, keeping, memo, value, wire};

/// What a running job leaves for its end.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) journal: Option<Journal>,
    pub(crate) provenance: Provenance,
    pub(crate) artifact: Option<Vec<u8>>,
    pub(crate) eval_run: Option<Value>,
    /// The faults of tasks whose components broke.
    pub(crate) broken: Vec<Fault>,
}

impl Shared {
    /// The fault that a driver ends with: where it is one that it was told of, that one, with
    /// the log of whoever broke. A journal keeps no more of it than the driver was told.
    pub(crate) fn handed_on(&self, fault: Fault) -> Fault {
        let same = |known: &&Fault| known.class == fault.class && wire::told(known) == fault.message;
        match self.broken.iter().find(same) {
            Some(known) => {
                let mut known = known.clone();
                known.callers.push(format!("{}, {}", fault.pass, fault.function));
                known
            }
            None => fault,
        }
    }
}

pub(crate) fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // A panic elsewhere leaves it as it was between two calls.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Provenance {
    /// Adds a component that was called and all that serves it.
    pub(crate) fn add(&mut self, provider: &Provider) {
        let reference = PassRef { interface: provider.interface.to_string(), digest: provider.pass.digest };
        if self.passes.contains(&reference) {
            return;
        }
        self.passes.push(reference);
        // What a driver imports is added when it calls it.
        if !provider.pass.is_driver() {
            let served = provider.pass.component_needs().filter_map(|(name, _)| provider.below.provider(name));
            served.for_each(|provider| self.add(&provider));
        }
    }
}

/// A contract before a court.
pub(crate) struct Case {
    pub(crate) court: Court,
    pub(crate) judge: Judge,
}

/// What is lent to one driver.
pub(crate) struct Lent {
    pub(crate) engine: Arc<Inner>,
    pub(crate) providers: Providers,
    /// What the job is judged by; none where it is not about a contract.
    pub(crate) case: Option<Case>,
    pub(crate) builtin: BTreeSet<Digest>,
    pub(crate) progress: Progress,
    pub(crate) asking: Asking,
    pub(crate) blobs: Blobs,
    pub(crate) experiments: Option<Experiments>,
    pub(crate) shared: Arc<Mutex<Shared>>,
}

impl Services for Lent {
    fn call(&mut self, interface: &InterfaceName, function: &str, args: &[Val]) -> Result<Vec<Val>, Fault> {
        let name = format!("{}#{function}", interface.interface);
        match (name.as_str(), args) {
            ("progress#report", [Val::String(stage), Val::U64(done), Val::Option(total)]) => {
                let total =
                    total.as_deref().and_then(|total| if let Val::U64(total) = total { Some(*total) } else { None });
                (self.progress)(stage, *done, total);
                Ok(Vec::new())
            }
            ("evidence#observations" | "evidence#contract" | "evidence#runs" | "evidence#left-out", []) => {
                let case = self.case.as_ref().ok_or_else(|| no_case(interface, function))?;
                Ok(vec![evidence(&case.court, function)])
            }
            ("artifact#seal" | "sandbox#run-recorded" | "teacher#judge", _) if self.case.is_none() => {
                let fault = no_case(interface, function);
                Ok(vec![wire::refusal(fault.class.code(), fault.message)])
            }
            ("sandbox#run" | "sandbox#run-recorded", _) => {
                let answered = function == "run-recorded";
                let results = self.journaled(interface, function, args, |lent, args| lent.sandbox(args, answered))?;
                lock(&self.shared).provenance.measured(&results);
                Ok(results)
            }
            ("jobs#run", _) => self.jobs(interface, function, args),
            ("artifact#seal", _) => self.seal(interface, function, args),
            ("teacher#judge", [asked]) => self.hear(interface, function, args, asked),
            ("teacher#ask", [asked]) => self.ask(interface, function, args, asked),
            ("teacher#consult", [asked]) => self.consult(interface, function, args, asked),
            ("blobs#put" | "blobs#get", _) => {
                // What they give depends on nothing but what they are given.
                let kept = keeping::blob(&self.blobs, function, args).ok_or_else(|| unserved(interface, function))?;
                kept.map_err(|fault| Fault::host(fault.code, &format!("{interface}#{function}"), fault.message))
            }
            ("blobs#head" | "blobs#move-head", _) => self.journaled(interface, function, args, |lent, args| {
                let kept = keeping::head(&lent.blobs, function, args)?;
                let failed = |fault: auto_jobs::Fault| Fault::host(fault.code, function, fault.message);
                Some(kept.map(|results| (results, Durability::Made)).map_err(failed))
            }),
            ("experiments#run", _) => self.experiments(interface, function, args),
            _ => Err(unserved(interface, function)),
        }
    }

    fn saw(&mut self, provider: &Provider, function: &str, results: &[Val]) {
        let emitted = self.emitted(provider, function, results);
        let mut shared = lock(&self.shared);
        shared.provenance.add(provider);
        shared.provenance.emitted.extend(emitted);
    }
}

/// The module in what `auto:pass/emit#emit` returned.
fn emitted(results: &[Val]) -> Option<Vec<u8>> {
    match results {
        [Val::Result(Ok(Some(emitted)))] => wire::as_bytes(wire::field(emitted, "module")?),
        _ => None,
    }
}

/// The function's results and what it would take to have them again.
type Made = Result<(Vec<Val>, Durability), Fault>;

impl Lent {
    /// Answers from the journal, or makes the call and journals it.
    fn journaled(
        &mut self,
        interface: &InterfaceName,
        function: &str,
        args: &[Val],
        make: impl FnOnce(&mut Lent, &[Val]) -> Option<Made>,
    ) -> Result<Vec<Val>, Fault> {
        let call = call_id(interface, function, args);
        let Some(mut journal) = lock(&self.shared).journal.take() else {
            return Err(unserved(interface, function));
        };
        let results = self.recorded_or_made(&mut journal, call, || unserved(interface, function), args, make);
        lock(&self.shared).journal = Some(journal);
        results
    }

    fn recorded_or_made(
        &mut self,
        journal: &mut Journal,
        call: Digest,
        unserved: impl Fn() -> Fault,
        args: &[Val],
        make: impl FnOnce(&mut Lent, &[Val]) -> Option<Made>,
    ) -> Result<Vec<Val>, Fault> {
        let failed = |error| host_fault(error, &unserved().function);
        let recorded = match journal.next(call).map_err(failed)? {
            Some(results) if !self.engine.options.audit => return Ok(results),
            recorded => recorded,
        };
        let (results, durability) = make(self, args).unwrap_or_else(|| Err(unserved()))?;
        match recorded {
            None => journal.record(call, &results, durability).map_err(failed)?,
            Some(recorded) if memo::same(&recorded, &results) => {}
            Some(_) => {
                let why = "gave another result than before the job was cut off; what it calls is not pure";
                return Err(Fault { class: FaultClass::BadOutput, message: why.to_owned(), ..unserved() });
            }
        }
        Ok(results)
    }

    /// Asks the judge. A call that costs is not made twice to audit it.
    fn hear(
        &mut self,
        interface: &InterfaceName,
        function: &str,
        args: &[Val],
        asked: &Val,
    ) -> Result<Vec<Val>, Fault> {
        let Some(question) = question(asked) else {
            return Ok(vec![wire::refusal("bad-json", "a question to the judge is not three JSON texts")]);
        };
        let call = call_id(interface, function, args);
        let mut shared = lock(&self.shared);
        let (Some(journal), Some(case)) = (shared.journal.as_mut(), self.case.as_mut()) else {
            return Err(unserved(interface, function));
        };
        let heard = case.judge.hear(journal, call, &question);
        heard.map_err(|error| host_fault(error, &unserved(interface, function).function))
    }

    /// Asks the teacher, for the driver or a proposer that works for it.
    fn ask(&mut self, interface: &InterfaceName, function: &str, args: &[Val], asked: &Val) -> Result<Vec<Val>, Fault> {
        let unserved = || unserved(interface, function);
        let inquiry = Inquiry::of(asked).ok_or_else(unserved)?;
        let call = call_id(interface, function, args);
        let mut shared = lock(&self.shared);
        let journal = shared.journal.as_mut().ok_or_else(unserved)?;
        self.asking.ask(journal, call, &inquiry).map_err(|error| host_fault(error, &unserved().function))
    }

    /// The same, with what it costs.
    fn consult(
        &mut self,
        interface: &InterfaceName,
        function: &str,
        args: &[Val],
        asked: &Val,
    ) -> Result<Vec<Val>, Fault> {
        let unserved = || unserved(interface, function);
        let consultation = Consultation::of(asked).ok_or_else(unserved)?;
        let call = call_id(interface, function, args);
        let mut shared = lock(&self.shared);
        let journal = shared.journal.as_mut().ok_or_else(unserved)?;
        self.asking.consult(journal, call, &consultation).map_err(|error| host_fault(error, &unserved().function))
    }

    /// Runs experiments; those that may spend money are calls that cost.
    fn experiments(&mut self, interface: &InterfaceName, function: &str, args: &[Val]) -> Result<Vec<Val>, Fault> {
        let unserved = || unserved(interface, function);
        let batch = match experimenting::Batch::of(args).ok_or_else(unserved)? {
            Ok(batch) => batch,
            Err((code, why)) => return Ok(vec![wire::refusal(code, why)]),
        };
        let Some(experiments) = &self.experiments else {
            return Ok(vec![wire::refusal("no-experiments", "this job lends no experiments")]);
        };
        let call = call_id(interface, function, args);
        let mut shared = lock(&self.shared);
        let journal = shared.journal.as_mut().ok_or_else(unserved)?;
        batch.run(experiments, journal, call, &unserved().function)
    }

    /// Runs a module; `answered`: by what was recorded.
    fn sandbox(&mut self, args: &[Val], answered: bool) -> Option<Made> {
        let [module, inputs] = args else { return None };
        let nothing = Exchanges::default();
        let recorded = self.case.as_ref().filter(|_| answered).map(|case| &case.court.exchanges);
        let exchanges = recorded.unwrap_or(&nothing);
        let ran = self.engine.replay(&wire::as_bytes(module)?, &wire::as_texts(inputs)?, exchanges);
        Some(Ok(match ran {
            Ok(ran) => {
                let replays = ran.replays.iter().map(wire::Replay::to_val).collect();
                (vec![wire::ok(Val::List(replays))], durability(ran.memo_hit))
            }
            Err(NotABehavior { code, why }) => (vec![wire::refusal(code, why)], Durability::Cached),
        }))
    }

    /// The journal also keeps which modules a built-in emit made.
    fn jobs(&mut self, interface: &InterfaceName, function: &str, args: &[Val]) -> Result<Vec<Val>, Fault> {
        let results = self.journaled(interface, function, args, |lent, args| {
            let done = match jobs::run(&lent.engine, &lent.providers, args)? {
                Ok(done) => done,
                Err(fault) => return Some(Err(fault)),
            };
            lock(&lent.shared).broken.extend(done.broken);
            let seen = done.seen.iter();
            let emitted = seen.filter_map(|(provider, function, results)| lent.emitted(provider, function, results));
            let emitted = emitted.map(|digest| wire::text(digest.to_string())).collect();
            Some(Ok((vec![done.result, Val::List(emitted)], done.durability)))
        })?;
        let mut results = results.into_iter();
        let answer = results.next().ok_or_else(|| unserved(interface, function))?;
        if matches!(answer, Val::Result(Ok(_))) {
            let mut shared = lock(&self.shared);
            let called = jobs::targets(&self.engine, &self.providers, args);
            called.iter().for_each(|provider| shared.provenance.add(provider));
            let emitted = results.next().as_ref().and_then(wire::as_texts).unwrap_or_default();
            shared.provenance.emitted.extend(emitted.iter().filter_map(|digest| Digest::parse(digest)));
        }
        Ok(vec![answer])
    }

    /// The module that a call made, where it was one of a built-in emit.
    fn emitted(&self, provider: &Provider, function: &str, results: &[Val]) -> Option<Digest> {
        let name = &provider.interface;
        let emit = name.package == "auto:pass" && name.interface == "emit" && function == "emit";
        let alone = provider.pass.component_needs().next().is_none();
        let ours = emit && alone && self.builtin.contains(&provider.pass.digest);
        ours.then(|| emitted(results)).flatten().map(|module| Digest::of(&module))
    }

    /// The journal keeps the file and the record too, which the driver does not see.
    fn seal(&mut self, interface: &InterfaceName, function: &str, args: &[Val]) -> Result<Vec<Val>, Fault> {
        let results = self.journaled(interface, function, args, |lent, args| {
            let draft = Draft::from_val(args.first()?)?;
            let Case { court, judge } = lent.case.as_ref()?;
            let shared = lock(&lent.shared);
            Some(match court.seal(&lent.engine, &draft, &shared.provenance, judge.opinions()) {
                Ok(sealed) => {
                    let record = wire::text(sealed.eval_run.canonical().into_string());
                    let file = wire::option(sealed.artifact.as_deref().map(wire::bytes));
                    Ok((vec![wire::ok(sealed.to_val()), record, file], sealed.durability))
                }
                Err(SealError::Refused(code, why)) => Ok((vec![wire::refusal(code, why)], Durability::Cached)),
                Err(SealError::Gate(fault)) => Err(fault),
            })
        })?;
        let mut results = results.into_iter();
        let answer = results.next().ok_or_else(|| unserved(interface, function))?;
        let mut shared = lock(&self.shared);
        shared.eval_run = results.next().as_ref().and_then(wire::as_text).and_then(|text| Value::parse(text).ok());
        shared.artifact = results.next().as_ref().and_then(wire::as_option).flatten().and_then(wire::as_bytes);
        Ok(vec![answer])
    }
}

/// A call and its arguments.
fn call_id(interface: &InterfaceName, function: &str, args: &[Val]) -> Digest {
    let mut bytes = Vec::new();
    value::encode(&[wire::text(format!("{interface}#{function}"))], &mut bytes);
    value::encode(args, &mut bytes);
    Digest::of(&bytes)
}

fn durability(memo_hit: bool) -> Durability {
    if memo_hit { Durability::Cached } else { Durability::Made }
}

/// What a function of `auto:host/evidence` gives.
fn evidence(court: &Court, function: &str) -> Val {
    match function {
        "observations" => wire::observations(&court.observations),
        "contract" => wire::text(court.contract.to_value().canonical().into_string()),
        "runs" => wire::runs(&court.runs.runs),
        _ => Val::List(court.runs.left_out.iter().map(wire::text).collect()),
    }
}

/// The job is about no contract.
fn no_case(interface: &InterfaceName, function: &str) -> Fault {
    let message = "this job is about no contract: nothing was observed, and there is no gate to seal by";
    Fault::host("no-case", &format!("{interface}#{function}"), message)
}

/// A driver was let in with an import that nothing here answers: the published text and
/// this file have parted.
fn unserved(interface: &InterfaceName, function: &str) -> Fault {
    Fault::host(
        "unserved",
        &format!("{interface}#{function}"),
        "this host publishes the function but does not serve it",
    )
}
