//! Runs a driver: links it to components by name, lends it `auto:host`, and journals what
//! its calls return, so that the job survives a crash.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use auto_files::Holder;
use auto_json::{Record, Value};
use auto_schema::contract::Contract;
use auto_schema::digest::{Digest, Hasher};
use auto_schema::evidence::{Observation, Runs};
use auto_schema::manifest::PassRef;
use wasmtime::component::Val;

use crate::asking::{Asking, Inquiry};
use crate::call::Services;
use crate::dispatch::refused;
use crate::engine::{Engine, Inner};
use crate::exchange::Exchanges;
use crate::fault::{Fault, FaultClass};
use crate::journal::{Durability, Journal, JournalError, Opening, Owner};
use crate::judge::{Judge, Teacher, question};
use crate::name::InterfaceName;
use crate::pass::Pass;
use crate::predicate::Predicates;
use crate::providers::{Provider, Providers};
use crate::sandbox::NotABehavior;
use crate::seal::{self, Court, Draft, Provenance, SealError};
use crate::{jobs, memo, value, wire};

/// The interface of drivers.
const JOB: &str = "auto:driver/job@0.1.0";

/// Told how far a job is: stage, done, total.
pub type Progress = Box<dyn Fn(&str, u64, Option<u64>) + Send + Sync>;

/// Told who is waited for.
pub type Waiting = Box<dyn Fn(&Holder) + Send + Sync>;

/// What a driver is to work on.
pub struct Job {
    /// The driver's own configuration.
    pub config: Value,
    /// What the result must do.
    pub contract: Contract,
    /// What was recorded of the contract's scope.
    pub observations: Vec<Observation>,
    /// What was done in its runs; none for the scope of a span.
    pub runs: Runs,
    /// Where the journal is kept; made if it is not there.
    pub run_dir: PathBuf,
    /// The gate that decides.
    pub pinned_gate: Arc<Pass>,
    /// Whether the user put that gate in place of the built-in one; the manifest says so.
    pub trusted_gate: bool,
    /// The components that came with the host: only code of their `emit` may be reused
    /// from call to call.
    pub builtin: BTreeSet<Digest>,
    /// The components that the contract's predicates pin.
    pub predicates: Vec<Arc<Pass>>,
    /// Told how far it is.
    pub progress: Progress,
    /// Told who runs the same job in the same folder, before waiting for its end.
    pub waiting: Waiting,
    /// Who is asked what a contract leaves to a judge; nobody unless somebody pays.
    pub teacher: Option<Arc<dyn Teacher>>,
    /// Make a call again that costs and whose reply a crash lost.
    pub reissue: bool,
}

/// What a driver came to.
#[derive(Clone, Debug, PartialEq)]
pub struct JobReport {
    /// The driver's own report.
    pub report: Value,
    /// The sealed file of the last seal, where the gate passed it.
    pub artifact: Option<Vec<u8>>,
    /// The eval-run record of the last seal. Its id is the SHA-256 of its canonical text.
    pub eval_run: Option<Value>,
}

/// A job that came to its end. Its journal stays until [`Ended::close`], so that a crash
/// before what it made is in its place costs no call again.
#[derive(Debug)]
#[must_use = "close it once what the job made is in its place"]
pub struct Ended {
    /// What it came to.
    pub report: JobReport,
    journal: Option<Journal>,
}

impl Ended {
    /// What the job made is where it belongs: its journal goes.
    pub fn close(self) -> JobReport {
        if let Some(journal) = self.journal {
            journal.finish();
        }
        self.report
    }
}

impl Engine {
    /// Runs a job. After a crash, running it again goes on where it was. Waits while the
    /// same job runs in the same folder.
    ///
    /// Faults beside those of calls: `journal-foreign`, `journal-damaged`,
    /// `journal-diverged`, `journal-unanswered`, `journal-io`.
    pub fn run_driver(&self, driver: &Arc<Pass>, providers: &Providers, job: Job) -> Result<Ended, Fault> {
        let provider = job_provider(driver, providers)?;
        let without = if job.trusted_gate { job.builtin.clone() } else { BTreeSet::new() };
        let gates = seal::gates(&job.pinned_gate, providers, &without)?;
        let trusted = job.trusted_gate.then_some(job.pinned_gate.digest);
        let predicates = Predicates::bind(&job.contract, &job.predicates)?;
        let court = seal::court(job.contract, job.observations, gates, trusted, predicates).with_runs(job.runs);
        let config = job.config.canonical().into_string();
        let asking = Asking::new(job.teacher.clone(), &job.run_dir);
        let judge = Judge::new(job.teacher, &court.contract, &job.run_dir);
        let served = provider.below.list().map(|pass| pass.digest);
        let owner = self.0.owner(provider.pass.digest, served, &court, &judge, &config);
        let opening = Opening { reissue: job.reissue, waiting: &job.waiting };
        let journal = Journal::open(&job.run_dir, &owner, &opening).map_err(|error| host_fault(error, "run"))?;

        let shared = Arc::new(Mutex::new(Shared { journal: Some(journal), ..Shared::default() }));
        lock(&shared).provenance.add(&provider);
        let lent = Lent {
            engine: self.0.clone(),
            providers: providers.clone(),
            court,
            builtin: job.builtin,
            progress: job.progress,
            judge,
            asking,
            shared: shared.clone(),
        };
        let results = self.0.drive(&provider, "run", Arc::new(Mutex::new(lent)), &[wire::text(config)])?;
        let mut shared = lock(&shared);
        let journal = shared.journal.take();
        match self.0.report(&provider, &results) {
            Ok(report) => {
                let (artifact, eval_run) = (shared.artifact.take(), shared.eval_run.take());
                Ok(Ended { report: JobReport { report, artifact, eval_run }, journal })
            }
            // A driver that says no has come to its end, too.
            Err(fault) => {
                let fault = shared.handed_on(fault);
                if let Some(journal) = journal {
                    journal.finish();
                }
                Err(fault)
            }
        }
    }
}

impl Inner {
    /// Everything that the results of a driver's calls depend on.
    pub(crate) fn owner(
        &self,
        driver: Digest,
        served: impl Iterator<Item = Digest>,
        court: &Court,
        judge: &Judge,
        config: &str,
    ) -> Owner {
        let mut setup = Hasher::new();
        setup.update(format!("{} {:?} {:?}\n", env!("CARGO_PKG_VERSION"), self.options.limits, court.trusted_gate));
        let components = served.chain(court.gates.iter().map(|gate| gate.pass.digest));
        components.for_each(|digest| setup.update(digest.as_bytes()));
        setup.update(&judge.opinions().model);
        let config = Record::new().with("config", config).with("contract", court.contract.id().to_string());
        Owner {
            driver,
            config: Digest::of(Value::from(config).canonical().as_str().as_bytes()),
            evidence: court.evidence,
            components: setup.finish(),
        }
    }

    fn report(&self, driver: &Provider, results: &[Val]) -> Result<Value, Fault> {
        let call = self.prepare(driver, "run")?;
        match results.first() {
            Some(Val::Result(Ok(Some(report)))) => {
                let text = wire::as_text(report).unwrap_or_default();
                Value::parse(text)
                    .map_err(|error| call.fault(FaultClass::BadOutput, format!("its report is not JSON: {error}")))
            }
            Some(Val::Result(Err(refusal))) => {
                let fault = refused(&call, refusal.as_deref(), None);
                let class = FaultClass::handed_on(fault.class.code()).unwrap_or(fault.class);
                Err(Fault { class, ..fault })
            }
            _ => Err(call.fault(FaultClass::BadOutput, "it returned no report")),
        }
    }
}

fn job_provider(driver: &Arc<Pass>, providers: &Providers) -> Result<Provider, Fault> {
    let found = InterfaceName::parse(JOB).and_then(|name| Some((driver.offer(&name)?.0.clone(), name)));
    match found {
        Some((interface, _)) => Ok(Provider { pass: driver.clone(), interface, below: providers.clone() }),
        None => Err(Fault {
            pass: driver.label.clone(),
            digest: Some(driver.digest),
            function: format!("{JOB}#run"),
            class: FaultClass::MissingImport,
            message: format!("it is no driver: it does not export {JOB}"),
            at: None,
            log: Vec::new(),
            callers: Vec::new(),
        }),
    }
}

/// What a running job leaves for its end.
#[derive(Default)]
struct Shared {
    journal: Option<Journal>,
    provenance: Provenance,
    artifact: Option<Vec<u8>>,
    eval_run: Option<Value>,
    /// The faults of tasks whose components broke.
    broken: Vec<Fault>,
}

impl Shared {
    /// The fault that a driver ends with: where it is one that it was told of, that one, with
    /// the log of whoever broke. A journal keeps no more of it than the driver was told.
    fn handed_on(&self, fault: Fault) -> Fault {
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

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    // A panic elsewhere leaves it as it was between two calls.
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Provenance {
    /// Adds a component that was called and all that serves it.
    fn add(&mut self, provider: &Provider) {
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

/// What is lent to one driver.
struct Lent {
    engine: Arc<Inner>,
    providers: Providers,
    court: Court,
    builtin: BTreeSet<Digest>,
    progress: Progress,
    judge: Judge,
    asking: Asking,
    shared: Arc<Mutex<Shared>>,
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
            ("evidence#observations", []) => Ok(vec![wire::observations(&self.court.observations)]),
            ("evidence#contract", []) => Ok(vec![wire::text(self.court.contract.to_value().canonical().into_string())]),
            ("evidence#runs", []) => Ok(vec![wire::runs(&self.court.runs.runs)]),
            ("evidence#left-out", []) => Ok(vec![Val::List(self.court.runs.left_out.iter().map(wire::text).collect())]),
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
        let Some(journal) = shared.journal.as_mut() else { return Err(unserved(interface, function)) };
        let heard = self.judge.hear(journal, call, &question);
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

    /// Runs a module; `answered`: by what was recorded.
    fn sandbox(&mut self, args: &[Val], answered: bool) -> Option<Made> {
        let [module, inputs] = args else { return None };
        let nothing = Exchanges::default();
        let exchanges = if answered { &self.court.exchanges } else { &nothing };
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
            let shared = lock(&lent.shared);
            Some(match lent.court.seal(&lent.engine, &draft, &shared.provenance, lent.judge.opinions()) {
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

pub(crate) fn host_fault(error: JournalError, function: &str) -> Fault {
    Fault::host(error.code, function, error.message)
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
