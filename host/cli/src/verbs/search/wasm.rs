//! Jobs in the sandbox: the command's program is a module of the world `auto:cbin/cbin`, from whomever.
//!
//! It is given everything as one value, and what it would have written it answers: a function of its
//! files, arguments, environment and input, measured in fuel. There is no clock in it, and no chance.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use auto_jobs::{Backend, Blobs, Ending, Experiment, Fault, File, Job, Outcome, State};
use auto_json::{Record, Value};
use auto_runtime::{CallError, Class, Limits, Outcome as Answer, Sandbox};
use auto_schema::shown;

/// The backend.
pub struct Wasm {
    /// Of a call.
    pub fuel: u64,
    pub at_once: Option<usize>,
    pub ended: Mutex<BTreeMap<String, Ran>>,
}

/// What a module made of its input.
pub struct Ran {
    ending: Ending,
    files: Vec<(String, String)>,
    stdout: String,
    stderr: String,
    milliseconds: u64,
}

impl Wasm {
    /// One whose calls have so much fuel.
    pub fn new(fuel: u64, at_once: Option<usize>) -> Wasm {
        Wasm { fuel, at_once, ended: Mutex::default() }
    }

    fn ran(&self, experiment: &Experiment, blobs: &Blobs) -> Result<Ran, Fault> {
        let program = experiment.command.first().map(String::as_str).unwrap_or_default();
        let Some(file) = experiment.files.iter().find(|file| file.path == program) else {
            let message =
                format!("{} is no file of the experiment; `wasm` runs a module that lies in it", shown(program));
            return Err(fault("no-command", message));
        };
        let limits = Limits::default()
            .with_fuel(self.fuel)
            .with_memory(usize::try_from(u64::from(experiment.limits.memory_mib) << 20).unwrap_or(usize::MAX >> 1))
            .with_input(auto_jobs::MOST_BYTES)
            .with_deadline(Duration::from_secs(experiment.limits.seconds.into()));
        let sandbox = Sandbox::new(Limits { instances: 2, ..limits })
            .map_err(|error| Fault { passing: true, ..fault("machine", error.to_string()) })?;
        let input = given(experiment, program, blobs)?;
        let module = sandbox
            .load(&blobs.get(file.digest)?)
            .map_err(|error| fault("no-command", format!("{} is no module that runs here: {error}", shown(program))))?;
        let began = Instant::now();
        let answered = module.run_fresh(input.canonical().as_str());
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Ran { milliseconds, ..answer(answered)? })
    }
}

fn fault(code: &'static str, message: String) -> Fault {
    Fault { code, message, passing: false }
}

/// What a module is run on: `{"arguments", "environment", "files", "input"}`.
fn given(experiment: &Experiment, program: &str, blobs: &Blobs) -> Result<Value, Fault> {
    let mut files = Record::new();
    for file in experiment.files.iter().filter(|file| file.path != program) {
        let text = String::from_utf8(blobs.get(file.digest)?).map_err(|_| {
            fault("bad-experiment", format!("{} is no text, and a module is given texts alone", shown(&file.path)))
        })?;
        files.set(file.path.as_str(), text);
    }
    let environment: Record =
        experiment.environment.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let arguments = experiment.command[1..].iter().map(|word| Value::from(word.as_str())).collect::<Vec<_>>();
    Ok(Record::new()
        .with("arguments", arguments)
        .with("environment", environment)
        .with("files", files)
        .with("input", experiment.input.as_str())
        .into())
}

/// What it comes to: how a process would have ended.
fn answer(answered: Result<(Answer, Option<u64>), CallError>) -> Result<Ran, Fault> {
    let ran = |ending: Ending, stderr: String| {
        Ok(Ran { ending, files: Vec::new(), stdout: String::new(), stderr, milliseconds: 0 })
    };
    let error = match answered {
        Ok((Answer::Answer(text), steps)) => {
            return match files(&text) {
                Some(files) => {
                    let stdout = steps.map_or_else(String::new, |steps| format!("{{\"steps\":{steps}}}\n"));
                    Ok(Ran { ending: Ending::Exited(0), files, stdout, stderr: String::new(), milliseconds: 0 })
                }
                None => ran(Ending::Exited(1), "the answer is no {\"files\": {PATH: TEXT}}".to_owned()),
            };
        }
        Ok((Answer::Abstain { reason, .. }, _)) => return ran(Ending::Exited(3), format!("it abstains: {reason}")),
        Ok((Answer::Request { .. }, _)) => return ran(Ending::Exited(1), "it asks for an effect".to_owned()),
        Err(error) => error,
    };
    match error.class {
        Class::Machine => Err(Fault { passing: true, ..fault("machine", error.message) }),
        Class::OutOfFuel => ran(Ending::OverLimit("fuel".to_owned()), error.to_string()),
        Class::OutOfMemory => ran(Ending::OverLimit("memory".to_owned()), error.to_string()),
        Class::Deadline => ran(Ending::TimedOut, error.to_string()),
        Class::BadInput | Class::Unsupported => ran(Ending::Exited(1), error.to_string()),
        // As this program itself ends where an artifact broke a limit or trapped.
        _ => ran(Ending::Exited(5), error.to_string()),
    }
}

/// The files in an answer.
fn files(text: &str) -> Option<Vec<(String, String)>> {
    let value = Value::parse(text).ok()?;
    let record = value.as_record().filter(|record| record.iter().count() == 1)?;
    let files = record.get("files")?.as_record()?.iter();
    files.map(|(path, text)| Some((path.to_owned(), text.as_text()?.to_owned()))).collect()
}

impl Backend for Wasm {
    fn name(&self) -> &str {
        "wasm"
    }

    fn at_once(&self) -> usize {
        self.at_once.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
    }

    /// It is over when this returns.
    fn submit(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<(), Fault> {
        let ran = self.ran(experiment, blobs)?;
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).insert(job.name.clone(), ran);
        Ok(())
    }

    fn poll(&self, _: &Job) -> Result<State, Fault> {
        Ok(State::Ended)
    }

    fn cancel(&self, job: &Job) -> Result<(), Fault> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.name);
        Ok(())
    }

    fn collect(&self, job: &Job, experiment: &Experiment, blobs: &Blobs) -> Result<Outcome, Fault> {
        let ran = self.ended.lock().unwrap_or_else(PoisonError::into_inner).remove(&job.name);
        let Some(ran) = ran else {
            return Err(Fault { passing: true, ..fault("machine", "it was not run".to_owned()) });
        };
        let wanted = |path: &str| {
            experiment
                .collect
                .iter()
                .any(|asked| path == asked || path.starts_with(&format!("{}/", asked.trim_end_matches('/'))))
        };
        let mut files = Vec::new();
        let mut ending = ran.ending;
        for (path, text) in ran.files.iter().filter(|(path, _)| wanted(path)) {
            if text.len() as u64 > experiment.limits.output_bytes {
                ending = Ending::OverLimit("output".to_owned());
                continue;
            }
            files.push(File { path: path.clone(), digest: blobs.put(text.as_bytes())?, executable: false });
        }
        if files.len() > experiment.limits.files as usize {
            (ending, files) = (Ending::OverLimit("files".to_owned()), Vec::new());
        }
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Outcome {
            ending,
            stdout: blobs.put(ran.stdout.as_bytes())?,
            stderr: blobs.put(ran.stderr.as_bytes())?,
            files,
            milliseconds: ran.milliseconds,
            isolation: ["wasm", "limits", "no-network"].map(str::to_owned).to_vec(),
            attempts: 1,
        })
    }
}
