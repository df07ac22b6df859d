//! `auto:host/experiments`: commands that run somewhere else, journaled like all else.
//!
//! A batch that may spend money is a call that costs: its intent is in the journal before it is
//! made. What came of an experiment is kept by content in the run's folder, so that a batch which
//! was cut off starts only those that had not come to an end.

use auto_jobs::{Ending, Experiment, Experiments, Fault as NotRun, File, Limits, Outcome};
use auto_schema::digest::Digest;
use wasmtime::component::Val;

use crate::driver::host_fault;
use crate::fault::Fault;
use crate::journal::{Durability, Journal};
use crate::wire;

/// A call of `run`.
pub(crate) struct Batch {
    backend: String,
    experiments: Vec<Experiment>,
}

/// A code and a message of a refusal.
type Refused = (&'static str, String);

impl Batch {
    /// None for values of other types.
    pub(crate) fn of(args: &[Val]) -> Option<Result<Batch, Refused>> {
        let [Val::Variant(backend, other), Val::List(experiments)] = args else { return None };
        let backend = other.as_deref().and_then(wire::as_text).unwrap_or(backend).to_owned();
        let experiments = experiments.iter().map(experiment).collect::<Option<Result<Vec<_>, _>>>()?;
        Some(experiments.map(|experiments| Batch { backend, experiments }))
    }

    /// Answers from the journal, or runs it. A fault is one of the machine: a driver that went on
    /// without that result would make something else than it makes on a better day.
    pub(crate) fn run(
        &self,
        experiments: &Experiments,
        journal: &mut Journal,
        call: Digest,
        function: &str,
    ) -> Result<Vec<Val>, Fault> {
        let failed = |error| host_fault(error, function);
        if let Some(results) = journal.next(call).map_err(failed)? {
            return Ok(results);
        }
        let known = experiments.known(&self.experiments);
        if !known && self.experiments.iter().any(|experiment| experiment.costs) {
            journal.intend(call).map_err(failed)?;
        }
        let result = match experiments.run(&self.backend, &self.experiments) {
            Ok(results) => {
                let circumstance = results.iter().filter_map(|result| result.as_ref().err()).find(|fault| ends(fault));
                if let Some(fault) = circumstance {
                    return Err(Fault::host(fault.code, function, fault.message.clone()));
                }
                wire::ok(Val::List(results.iter().map(told).collect()))
            }
            Err(fault) if ends(&fault) => return Err(Fault::host(fault.code, function, fault.message)),
            Err(fault) => wire::refusal(fault.code, fault.message),
        };
        let results = vec![result];
        let durability = if known { Durability::Cached } else { Durability::Made };
        journal.record(call, &results, durability).map_err(failed)?;
        Ok(results)
    }
}

/// Whether a person has to mend something before the job can go on.
fn ends(fault: &NotRun) -> bool {
    fault.passing || ["no-command", "not-recorded"].contains(&fault.code)
}

fn told(result: &Result<Outcome, NotRun>) -> Val {
    match result {
        Ok(outcome) => wire::ok(outcome_of(outcome)),
        Err(fault) => wire::refusal(fault.code, fault.message.clone()),
    }
}

fn experiment(value: &Val) -> Option<Result<Experiment, Refused>> {
    let field = |name: &str| wire::field(value, name);
    let limits = field("limits")?;
    let small = |name: &str| if let Some(Val::U32(number)) = wire::field(limits, name) { Some(*number) } else { None };
    let Some(Val::U64(output_bytes)) = wire::field(limits, "output-bytes") else { return None };
    let limits = Limits {
        seconds: small("seconds")?,
        cpu_seconds: small("cpu-seconds")?,
        memory_mib: small("memory-mib")?,
        output_bytes: *output_bytes,
        files: small("files")?,
    };
    let Some(Val::Bool(costs)) = field("costs") else { return None };
    let files = wire::as_list(field("files")?)?.iter().map(file).collect::<Option<Result<Vec<_>, _>>>()?;
    let files = match files {
        Ok(files) => files,
        Err(refused) => return Some(Err(refused)),
    };
    Some(Ok(Experiment {
        command: wire::as_texts(field("command")?)?,
        environment: wire::as_list(field("environment")?)?.iter().map(pair).collect::<Option<_>>()?,
        input: wire::as_text(field("input")?)?.to_owned(),
        files,
        collect: wire::as_texts(field("collect")?)?,
        limits,
        costs: *costs,
    }))
}

fn pair(value: &Val) -> Option<(String, String)> {
    match value {
        Val::Tuple(parts) => match parts.as_slice() {
            [name, value] => Some((wire::as_text(name)?.to_owned(), wire::as_text(value)?.to_owned())),
            _ => None,
        },
        _ => None,
    }
}

fn file(value: &Val) -> Option<Result<File, Refused>> {
    let path = wire::field(value, "path").and_then(wire::as_text)?.to_owned();
    let named = wire::field(value, "digest").and_then(wire::as_text)?;
    let Some(Val::Bool(executable)) = wire::field(value, "executable") else { return None };
    let Some(digest) = Digest::parse(named) else {
        return Some(Err(("no-blob", format!("{named:?}, of the file {path:?}, is not a digest"))));
    };
    Some(Ok(File { path, digest, executable: *executable }))
}

/// `auto:host/experiments.outcome`.
fn outcome_of(outcome: &Outcome) -> Val {
    let digest = |digest: Digest| wire::text(digest.to_string());
    let ending = match &outcome.ending {
        Ending::Exited(code) => wire::case("exited", Val::S32(*code)),
        Ending::Signalled(signal) => wire::case("signalled", Val::S32(*signal)),
        Ending::TimedOut => Val::Variant("timed-out".to_owned(), None),
        Ending::OverLimit(which) => wire::case("over-limit", wire::text(which)),
    };
    let file = |file: &File| {
        wire::record([
            ("path", wire::text(&file.path)),
            ("digest", digest(file.digest)),
            ("executable", Val::Bool(file.executable)),
        ])
    };
    wire::record([
        ("ending", ending),
        ("stdout", digest(outcome.stdout)),
        ("stderr", digest(outcome.stderr)),
        ("files", Val::List(outcome.files.iter().map(file).collect())),
        ("milliseconds", Val::U64(outcome.milliseconds)),
        ("isolation", Val::List(outcome.isolation.iter().map(wire::text).collect())),
        ("attempts", Val::U32(outcome.attempts)),
    ])
}
