//! Runs of the agent with a skill, and what the verifier says of them.

use auto_json::{Record, Value};

use crate::ask::Stop;
use crate::bindings::auto::host::blobs;
use crate::bindings::auto::host::experiments::{Backend, Ending, Experiment, File, Outcome, run};
use crate::bindings::auto::pass::types::Fault;
use crate::config::{Command, Config};
use crate::world::Trace;

/// The most bytes of what a run said that a judge is shown: the end of it.
const SHOWN: usize = 6_000;

/// A run, and what can be told of it.
#[derive(Clone, Debug)]
pub struct Rollout {
    pub trace: Trace,
    /// How it ended.
    pub ending: String,
    /// What it said, and what the verifier said of it.
    pub transcript: String,
    /// How it was kept apart.
    pub isolation: Vec<String>,
}

/// Runs the agent with these files of a package, once for each seed; `skill` is the digest of its
/// text.
pub fn rollouts(config: &Config, package: &[File], skill: &str, seeds: &[u32]) -> Result<Vec<Rollout>, Stop> {
    let mut files = config.agent.files.clone();
    files
        .extend(package.iter().map(|file| File { path: format!("{}/{}", config.skill_at, file.path), ..file.clone() }));
    let batch: Vec<Experiment> = seeds
        .iter()
        .map(|seed| {
            let (input, collect) = (config.prompt.clone(), config.collect.clone());
            experiment(&config.agent, *seed, files.clone(), input, collect, config.agent_costs)
        })
        .collect();
    let outcomes = all(&batch)?;
    let verdicts = match &config.verify {
        Some(verify) => verified(verify, seeds, &outcomes)?,
        None => vec![None; outcomes.len()],
    };
    let told = seeds.iter().zip(outcomes).zip(verdicts);
    told.map(|((seed, outcome), verdict)| rollout(*seed, skill, &outcome, verdict)).collect()
}

/// What a verifier said.
type Verdict = Option<(bool, String)>;

/// Asks the verifier about what each run left. One that does not say ends the search: what could
/// not be measured is no failure.
fn verified(verify: &Command, seeds: &[u32], outcomes: &[Outcome]) -> Result<Vec<Verdict>, Stop> {
    let timed_out = |outcome: &Outcome| outcome.ending == Ending::TimedOut;
    let batch: Vec<Experiment> = seeds
        .iter()
        .zip(outcomes)
        .filter(|(_, outcome)| !timed_out(outcome))
        .map(|(seed, outcome)| {
            let about = Record::new().with("seed", *seed).with("ending", ending(&outcome.ending));
            let files = verify.files.iter().chain(&outcome.files).cloned().collect();
            experiment(verify, *seed, files, format!("{}\n", Value::from(about)), Vec::new(), false)
        })
        .collect();
    let mut said = all(&batch)?.into_iter();
    let verdict = |outcome: &Outcome| {
        if timed_out(outcome) {
            return Ok(Some((false, "the run timed out".to_owned())));
        }
        let Some(said) = said.next() else { return Ok(None) };
        let text = format!("{}{}", shown(&said.stdout)?, shown(&said.stderr)?);
        match said.ending {
            Ending::Exited(0) => Ok(Some((true, text))),
            Ending::Exited(1) => Ok(Some((false, text))),
            other => {
                let why = format!(
                    "the verifier ended with {}, and it has to exit with 0 for a pass or 1 for a failure: {text}",
                    ending(&other)
                );
                Err(Stop::new("verifier-failed", why))
            }
        }
    };
    outcomes.iter().map(verdict).collect()
}

fn experiment(
    what: &Command,
    seed: u32,
    files: Vec<File>,
    input: String,
    collect: Vec<String>,
    costs: bool,
) -> Experiment {
    let mut environment = what.environment.clone();
    environment.push(("AUTO_SEED".to_owned(), seed.to_string()));
    let (command, limits) = (what.command.clone(), what.limits);
    Experiment { command, environment, input, files, collect, limits, costs }
}

fn all(batch: &[Experiment]) -> Result<Vec<Outcome>, Stop> {
    let results = run(&Backend::Process, batch).map_err(stop)?;
    if results.len() != batch.len() {
        return Err(Stop::new("bad-output", "the host returned fewer results than experiments"));
    }
    results.into_iter().map(|result| result.map_err(stop)).collect()
}

fn rollout(seed: u32, skill: &str, outcome: &Outcome, verdict: Verdict) -> Result<Rollout, Stop> {
    let mut transcript = shown(&outcome.stdout)?;
    let stderr = shown(&outcome.stderr)?;
    if !stderr.is_empty() {
        transcript.push_str(&format!("\n[stderr]\n{stderr}"));
    }
    let passed = verdict.map(|(passed, said)| {
        transcript.push_str(&format!("\n[verifier]\n{said}"));
        passed
    });
    let id = format!("{}-{seed}", skill.get(..12).unwrap_or(skill));
    let trace = Trace { id, seed, timed_out: outcome.ending == Ending::TimedOut, passed };
    Ok(Rollout { trace, ending: ending(&outcome.ending), transcript, isolation: outcome.isolation.clone() })
}

/// The end of a text.
fn shown(digest: &str) -> Result<String, Stop> {
    let bytes = blobs::get(digest).map_err(stop)?;
    Ok(last_of(&String::from_utf8_lossy(&bytes)))
}

/// As much as is shown.
pub fn last_of(text: &str) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(SHOWN));
    if start > 0 { format!("…{}", &text[start..]) } else { text.to_owned() }
}

/// How something ended, in words.
fn ending(ending: &Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit {code}"),
        Ending::Signalled(signal) => format!("signal {signal}"),
        Ending::TimedOut => "timeout".to_owned(),
        Ending::OverLimit(which) => format!("over its limit of {which}"),
        Ending::Other(how) => how.clone(),
    }
}

pub fn stop(fault: Fault) -> Stop {
    Stop { code: fault.code, message: fault.message }
}
