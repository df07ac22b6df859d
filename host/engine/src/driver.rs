//! Runs a driver: links it to components by name, lends it `auto:host`, and journals what
//! its calls return, so that the job survives a crash. What each function that it is lent does is
//! in [`crate::lent`].

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use auto_files::Holder;
use auto_jobs::{Blobs, Experiments};
use auto_json::{Record, Value};
use auto_schema::contract::Contract;
use auto_schema::digest::{Digest, Hasher};
use auto_schema::evidence::{Observation, Runs};
use wasmtime::component::Val;

use crate::asking::Asking;
use crate::dispatch::refused;
use crate::engine::{Engine, Inner};
use crate::fault::{Fault, FaultClass};
use crate::journal::{Journal, JournalError, Opening, Owner};
use crate::judge::{Judge, Teacher};
use crate::lent::{Case, Lent, Shared, lock};
use crate::name::InterfaceName;
use crate::pass::Pass;
use crate::predicate::Predicates;
use crate::providers::{Provider, Providers};
use crate::seal::{self, Court};
use crate::wire;

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
    /// What it is about, and who decides; none for a job that seals nothing, such as a search.
    pub matter: Option<Matter>,
    /// Where the journal, blobs and the head are kept; made if it is not there.
    pub run_dir: PathBuf,
    /// What runs its experiments; nothing unless somebody lends it.
    pub experiments: Option<Experiments>,
    /// The components that came with the host: only code of their `emit` may be reused
    /// from call to call.
    pub builtin: BTreeSet<Digest>,
    /// Told how far it is.
    pub progress: Progress,
    /// Told who runs the same job in the same folder, before waiting for its end.
    pub waiting: Waiting,
    /// Who is asked what a contract leaves to a judge; nobody unless somebody pays.
    pub teacher: Option<Arc<dyn Teacher>>,
    /// Make a call again that costs and whose reply a crash lost.
    pub reissue: bool,
}

/// A contract, what was recorded, and who decides.
pub struct Matter {
    /// What the result must do.
    pub contract: Contract,
    /// What was recorded of the contract's scope.
    pub observations: Vec<Observation>,
    /// What was done in its runs; none for the scope of a span.
    pub runs: Runs,
    /// The gate that decides.
    pub pinned_gate: Arc<Pass>,
    /// Whether the user put that gate in place of the built-in one; the manifest says so.
    pub trusted_gate: bool,
    /// The components that the contract's predicates pin.
    pub predicates: Vec<Arc<Pass>>,
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

impl Matter {
    /// Brings it before the gates.
    fn case(
        self,
        driver: &Provider,
        builtin: &BTreeSet<Digest>,
        teacher: Option<Arc<dyn Teacher>>,
        runs: &Path,
    ) -> Result<Case, Fault> {
        let without = if self.trusted_gate { builtin.clone() } else { BTreeSet::new() };
        let gates = seal::gates(&self.pinned_gate, &driver.below, &without)?;
        let trusted = self.trusted_gate.then_some(self.pinned_gate.digest);
        let predicates = Predicates::bind(&self.contract, &self.predicates)?;
        let court = seal::court(self.contract, self.observations, gates, trusted, predicates).with_runs(self.runs);
        let judge = Judge::new(teacher, &court.contract, runs);
        Ok(Case { court, judge })
    }
}

impl Engine {
    /// The file in which the calls of a job without a matter are journaled: there while the job runs,
    /// and after it was cut off.
    pub fn journal(&self, driver: &Arc<Pass>, providers: &Providers, job: &Job) -> Result<PathBuf, Fault> {
        let provider = job_provider(driver, providers)?;
        let served = provider.below.list().map(|pass| pass.digest);
        let teacher = job.teacher.as_ref().map(|teacher| teacher.model()).unwrap_or_default();
        let config = job.config.canonical().into_string();
        Ok(self.0.owner(driver.digest, served, None, &teacher, &config).path(&job.run_dir))
    }

    /// Runs a job. After a crash, running it again goes on where it was. Waits while the
    /// same job runs in the same folder.
    ///
    /// Faults beside those of calls: `journal-foreign`, `journal-damaged`,
    /// `journal-diverged`, `journal-unanswered`, `journal-io`.
    pub fn run_driver(&self, driver: &Arc<Pass>, providers: &Providers, job: Job) -> Result<Ended, Fault> {
        let provider = job_provider(driver, providers)?;
        let teacher = job.teacher;
        let case = match job.matter {
            Some(matter) => Some(matter.case(&provider, &job.builtin, teacher.clone(), &job.run_dir)?),
            None => None,
        };
        let config = job.config.canonical().into_string();
        let asking = Asking::new(teacher, &job.run_dir);
        let served = provider.below.list().map(|pass| pass.digest);
        let owner = self.0.owner(
            provider.pass.digest,
            served,
            case.as_ref().map(|case| &case.court),
            asking.model().as_str(),
            &config,
        );
        let opening = Opening { reissue: job.reissue, waiting: &job.waiting };
        let journal = Journal::open(&job.run_dir, &owner, &opening).map_err(|error| host_fault(error, "run"))?;

        let shared = Arc::new(Mutex::new(Shared { journal: Some(journal), ..Shared::default() }));
        lock(&shared).provenance.add(&provider);
        let lent = Lent {
            engine: self.0.clone(),
            providers: providers.clone(),
            case,
            builtin: job.builtin,
            progress: job.progress,
            asking,
            blobs: Blobs::of(&job.run_dir),
            experiments: job.experiments,
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
    /// Everything that the results of a driver's calls depend on; `teacher` is who is asked.
    pub(crate) fn owner(
        &self,
        driver: Digest,
        served: impl Iterator<Item = Digest>,
        court: Option<&Court>,
        teacher: &str,
        config: &str,
    ) -> Owner {
        let mut setup = Hasher::new();
        let trusted = court.and_then(|court| court.trusted_gate);
        setup.update(format!("{} {:?} {:?}\n", env!("CARGO_PKG_VERSION"), self.options.limits, trusted));
        let gates = court.map(|court| court.gates.as_slice()).unwrap_or_default();
        let components = served.chain(gates.iter().map(|gate| gate.pass.digest));
        components.for_each(|digest| setup.update(digest.as_bytes()));
        setup.update(teacher);
        let mut config = Record::new().with("config", config);
        if let Some(court) = court {
            config.set("contract", court.contract.id().to_string());
        }
        Owner {
            driver,
            config: Digest::of(Value::from(config).canonical().as_str().as_bytes()),
            evidence: court.map_or_else(|| Digest::of(b"none"), |court| court.evidence),
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

pub(crate) fn host_fault(error: JournalError, function: &str) -> Fault {
    Fault::host(error.code, function, error.message)
}
