//! The component: the host's services as [`Lent`], and the door through which the host calls.

use crate::bindings::auto::host::experiments::{self, Backend, Ending, Experiment, Limits};
use crate::bindings::auto::host::teacher::{Consultation, consult};
use crate::bindings::auto::host::{blobs, progress};
use crate::bindings::auto::pass::admit as wit;
use crate::bindings::auto::pass::types::Fault as HostFault;
use crate::bindings::exports::auto::driver::job::Guest;
use crate::gate::{Axis, Decision, Policy, Reason, SCORE, Snapshot};
use crate::lent::{Ask, Fault, File, Job, Lent, Ran, Told};
use crate::run::run;

/// The most files that a command may bring back.
const MOST_FILES: u32 = 64;

/// The component.
pub struct SpecSearch;

impl Guest for SpecSearch {
    fn run(config: String) -> Result<String, HostFault> {
        match run(&mut Host, &config) {
            Ok(report) => Ok(report.canonical().into_string()),
            Err(Fault { code, message }) => Err(HostFault { code, message, at: None }),
        }
    }
}

#[cfg(target_arch = "wasm32")]
crate::bindings::export!(SpecSearch with_types_in crate::bindings);

/// What the host lends, as it lends it.
struct Host;

impl From<HostFault> for Fault {
    fn from(fault: HostFault) -> Fault {
        Fault { code: fault.code, message: fault.message }
    }
}

impl Lent for Host {
    fn ask(&mut self, ask: &Ask) -> Told {
        let consulted = consult(&Consultation {
            purpose: ask.purpose.to_owned(),
            system: ask.system.to_owned(),
            text: ask.text.clone(),
            max_output_tokens: ask.max_output_tokens,
            ordinal: ask.ordinal,
            most: Some(ask.most),
        });
        Told { said: consulted.said.map_err(Fault::from), cost: consulted.cost }
    }

    fn admit(&mut self, before: &Snapshot, after: &Snapshot, policy: &Policy) -> Decision {
        let drift = policy.drift.as_ref().map(|drift| wit::Drift {
            anchor: snapshot(&drift.anchor),
            metric: SCORE.to_owned(),
            sense: wit::Sense::Higher,
            loss: drift.loss,
        });
        let policy = wit::Policy {
            axes: policy.axes.iter().map(axis).collect(),
            rest: policy.rest.as_ref().map(axis),
            min_n: policy.min_n,
            must_pass: Vec::new(),
            drift,
        };
        let reasons = |reasons: Vec<wit::Reason>| {
            let reason = |one: wit::Reason| Reason { axis: one.axis, gain: one.gain, code: one.code };
            reasons.into_iter().map(reason).collect()
        };
        match wit::decide(&snapshot(before), &snapshot(after), &policy) {
            wit::Decision::Accept => Decision::Accept,
            wit::Decision::Reject(why) => Decision::Reject(reasons(why)),
            wit::Decision::Unmeasurable(why) => Decision::Unmeasurable(reasons(why)),
            // What this version does not know is no acceptance.
            wit::Decision::Other(code) => {
                Decision::Unmeasurable(vec![Reason { axis: "decision".to_owned(), gain: None, code }])
            }
        }
    }

    fn run(&mut self, jobs: &[Job]) -> Result<Vec<Result<Ran, Fault>>, Fault> {
        let jobs: Vec<Experiment> = jobs.iter().map(experiment).collect();
        let outcomes = experiments::run(&Backend::Process, &jobs)?;
        let ran = |outcome: experiments::Outcome| Ran {
            ending: ending(&outcome.ending),
            stdout: outcome.stdout,
            files: outcome.files.into_iter().map(File::from).collect(),
            isolation: outcome.isolation,
        };
        Ok(outcomes.into_iter().map(|outcome| outcome.map(ran).map_err(Fault::from)).collect())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<String, Fault> {
        Ok(blobs::put(bytes)?)
    }

    fn get(&mut self, digest: &str) -> Result<Vec<u8>, Fault> {
        Ok(blobs::get(digest)?)
    }

    fn head(&mut self) -> Result<Option<String>, Fault> {
        Ok(blobs::head()?)
    }

    fn move_head(&mut self, since: Option<&str>, to: &str) -> Result<(), Fault> {
        Ok(blobs::move_head(since, to)?)
    }

    fn progress(&mut self, stage: &str, done: u64, total: Option<u64>) {
        progress::report(stage, done, total);
    }
}

impl From<experiments::File> for File {
    fn from(file: experiments::File) -> File {
        File { path: file.path, digest: file.digest, executable: file.executable }
    }
}

fn experiment(job: &Job) -> Experiment {
    let file = |file: &File| experiments::File {
        path: file.path.clone(),
        digest: file.digest.clone(),
        executable: file.executable,
    };
    let command = &job.command;
    let mut environment = command.environment.clone();
    environment.push(("AUTO_SEED".to_owned(), job.seed.to_string()));
    Experiment {
        command: command.command.clone(),
        environment,
        input: String::new(),
        files: job.files.iter().map(file).collect(),
        collect: job.collect.clone(),
        limits: Limits {
            seconds: command.seconds,
            cpu_seconds: command.cpu_seconds,
            memory_mib: command.memory_mib,
            output_bytes: command.output_bytes,
            files: MOST_FILES,
        },
        costs: command.costs,
    }
}

fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exited {code}"),
        Ending::Signalled(signal) => format!("signalled {signal}"),
        Ending::TimedOut => "timed out".to_owned(),
        Ending::OverLimit(what) => format!("over its limit of {what}"),
        Ending::Other(other) => other.clone(),
    }
}

fn snapshot(of: &Snapshot) -> wit::Snapshot {
    let measure = |one: &crate::gate::Measure| wit::Measure {
        metric: one.metric.clone(),
        stratum: one.stratum.clone(),
        mean: one.mean,
        n: one.n,
    };
    wit::Snapshot {
        subject: of.subject.clone(),
        evaluator: of.evaluator.clone(),
        sample: of.sample.clone(),
        measures: of.measures.iter().map(measure).collect(),
        checks: Vec::new(),
    }
}

fn axis(of: &Axis) -> wit::Axis {
    wit::Axis {
        metric: of.metric.clone(),
        stratum: of.stratum.clone(),
        sense: wit::Sense::Higher,
        comparison: if of.strict { wit::Comparison::Gt } else { wit::Comparison::Ge },
        bound: of.bound,
    }
}
