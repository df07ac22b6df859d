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
        Some(verify) => verified(verify, seeds, &outcomes, config.failures + 1)?,
        None => vec![None; outcomes.len()],
    };
    let told = seeds.iter().zip(outcomes).zip(verdicts);
    told.map(|((seed, outcome), verdict)| rollout(*seed, skill, &outcome, verdict)).collect()
}

/// What a verifier said.
type Verdict = Option<(bool, String)>;

/// Asks the verifier about what each run left. One that does not say is asked once more, and then
/// ends the search: what could not be measured is no failure.
fn verified(verify: &Command, seeds: &[u32], outcomes: &[Outcome], attempt: u32) -> Result<Vec<Verdict>, Stop> {
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
    let mut said = all(&batch)?;
    let silent = |outcome: &Outcome| !matches!(outcome.ending, Ending::Exited(0 | 1));
    let again: Vec<usize> = (0..said.len()).filter(|at| silent(&said[*at])).collect();
    if !again.is_empty() {
        let another = |at: &usize| {
            let mut experiment = batch[*at].clone();
            // The host runs the same once.
            experiment.environment.push(("AUTO_ATTEMPT".to_owned(), attempt.to_string()));
            experiment
        };
        let batch: Vec<Experiment> = again.iter().map(another).collect();
        again.into_iter().zip(all(&batch)?).for_each(|(at, outcome)| said[at] = outcome);
    }
    let mut said = said.into_iter();
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

/// As much as is shown. The host takes secrets out of what leaves by what they look like, and half
/// of one looks like none: so a word, a number or a key is never cut in two.
pub fn last_of(text: &str) -> String {
    let start = text.ceil_char_boundary(text.len().saturating_sub(SHOWN));
    if start > 0 { format!("…{}", whole(&text[..start], &text[start..])) } else { text.to_owned() }
}

/// The end of a text, without what began before it.
fn whole<'t>(head: &str, tail: &'t str) -> &'t str {
    // A private key has lines.
    let open = head.rfind(BEGIN).is_some_and(|begun| !head[begun..].contains(END));
    let ended = tail.find(END).filter(|end| !tail[..*end].contains(BEGIN));
    let tail = match ended {
        Some(end) => tail[end..].trim_start_matches(|one| one != '\n'),
        None if open => "",
        None => tail,
    };
    // What a secret of one piece is made of.
    let joins = |one: char| one.is_ascii_graphic() && !"\"'`,;&()[]{}<>".contains(one);
    let tail = if head.ends_with(joins) { tail.trim_start_matches(joins) } else { tail };
    // Cards, accounts and telephones have gaps.
    let coded = |one: char| one.is_ascii_digit() || one.is_ascii_uppercase() || " ().+-".contains(one);
    let code = &tail[..tail.len() - tail.trim_start_matches(coded).len()];
    let code = &code[..code.len().min(LONGEST_CODE)];
    if code.contains(|one: char| one.is_ascii_digit()) { &tail[code.len()..] } else { tail }
}

/// How keys begin and end.
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// The longest number or code with gaps in it, in bytes.
const LONGEST_CODE: usize = 48;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_a_secret_that_is_cut_wherever_it_is() {
        let key = "-----BEGIN PRIVATE KEY-----\nMIIEvQ\nIBADAN\n-----END PRIVATE KEY-----";
        for (secret, parts) in [
            ("jane.doe@corp.example", ["doe", "corp"]),
            ("4111 1111 1111 1111", ["1111", "11"]),
            ("DE89 3704 0044 0532 0130 00", ["0532", "00"]),
            ("eyJhbGciOi.eyJzdWIi.c2lnbmF0", ["eyJ", "c2l"]),
            (key, ["MII", "IBAD"]),
        ] {
            let text = format!("write to {secret} is told");
            for cut in 1..secret.len() {
                let (head, tail) = text.split_at("write to ".len() + cut);
                let shown = whole(head, tail);
                assert!(parts.iter().all(|part| !shown.contains(part)), "{secret} at {cut}: {shown}");
            }
        }
    }

    #[test]
    fn the_end_is_shown_of_what_is_long_and_all_of_what_is_short() {
        assert_eq!(last_of("short"), "short");
        let long = last_of(&format!("{}the end", "one ".repeat(SHOWN)));
        assert!(long.starts_with('…') && long.ends_with("one the end") && long.len() > SHOWN - 10, "{long}");
    }
}
