//! What the gate is given, with every JSON text read. The types mirror the WIT interface;
//! reading them is the only thing that can go wrong here.

use std::collections::BTreeMap;

use auto_json::Value;
use auto_kit::{Fault, json, types};

use crate::wit;

pub use auto_kit::Row as Observation;

/// What is judged, and by which recordings.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// One for each distinct recorded input.
    pub observations: Vec<Observation>,
    /// The recordings themselves or an artifact.
    pub subject: Subject,
    /// What predicates and a judge said.
    pub hearings: Hearings,
}

/// What was asked of others about outputs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hearings {
    /// By property, input and output.
    rulings: BTreeMap<(usize, Value, Value), Ruling>,
    /// Whether they mean the same, by input, expected and actual output.
    opinions: BTreeMap<(Value, Value, Value), bool>,
}

/// What a predicate says of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ruling {
    /// It holds.
    Holds,
    /// It does not; why.
    Broken(String),
    /// The predicate failed: how.
    Failed(String),
}

impl Hearings {
    /// What the predicate of a property says, if it was asked.
    pub(crate) fn ruling(&self, property: usize, input: &Value, output: &Value) -> Option<&Ruling> {
        self.rulings.get(&(property, input.clone(), output.clone()))
    }

    /// Whether a judge calls an output the same as the expected one, if one was asked.
    pub(crate) fn same(&self, input: &Value, expected: &Value, output: &Value) -> Option<bool> {
        self.opinions.get(&(input.clone(), expected.clone(), output.clone())).copied()
    }

    /// Adds what a predicate said.
    pub fn rule(&mut self, property: usize, input: Value, output: Value, ruling: Ruling) {
        self.rulings.insert((property, input, output), ruling);
    }

    /// Adds what a judge said.
    pub fn opine(&mut self, input: Value, expected: Value, output: Value, same: bool) {
        self.opinions.insert((input, expected, output), same);
    }

    fn read(evidence: &wit::Evidence) -> Result<Hearings, Fault> {
        let mut hearings = Hearings::default();
        for (index, ruled) in evidence.rulings.iter().enumerate() {
            let text = |text: &str, key: &str| json(text, format_args!("/rulings/{index}/{key}"));
            let ruling = match &ruled.ruling {
                wit::Ruling::Holds => Ruling::Holds,
                wit::Ruling::Broken(why) => Ruling::Broken(why.clone()),
                wit::Ruling::Failed(how) | wit::Ruling::Other(how) => Ruling::Failed(how.clone()),
            };
            let (input, output) = (text(&ruled.input, "input")?, text(&ruled.output, "output")?);
            hearings.rule(ruled.property as usize, input, output, ruling);
        }
        for (index, opinion) in evidence.opinions.iter().enumerate() {
            let text = |text: &str, key: &str| json(text, format_args!("/opinions/{index}/{key}"));
            let (input, expected) = (text(&opinion.input, "input")?, text(&opinion.expected, "expected")?);
            hearings.opine(input, expected, text(&opinion.output, "output")?, opinion.same);
        }
        Ok(hearings)
    }
}

/// What is judged.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// The recordings.
    Recordings(Reference),
    /// An artifact.
    Artifact(Candidate),
}

/// What the recordings say about cost: one entry a recording, `None` where it is silent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reference {
    /// Microseconds.
    pub durations: Vec<Option<u64>>,
    /// Micro-USD.
    pub costs: Vec<Option<u64>>,
    /// Tokens.
    pub tokens: Vec<Option<u64>>,
    /// Recordings whose cost or token figure could not be read.
    pub malformed: u32,
}

/// An artifact under judgement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// The names it can ask for.
    pub capabilities: Vec<String>,
    /// Whether a guard is inside.
    pub guarded: bool,
    /// Bytes of the module.
    pub size: u32,
    /// Whether steps were counted.
    pub metered: bool,
    /// Whether a trained model is inside.
    pub learned: bool,
    /// Microseconds of a call, the 95th percentile, where the contract asks.
    pub latency_us_p95: Option<u64>,
    /// Every observation, example and eval case, run in the sandbox.
    pub replays: Vec<Replay>,
    /// Answers by programs that had not been shown the input.
    pub held_out: Vec<Scored>,
}

/// An input that was run.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// The input.
    pub input: Value,
    /// How the call ended.
    pub outcome: Outcome,
    /// Metered steps it took.
    pub steps: u64,
}

/// An answer for an input that the program had not been shown.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// The fold it was held out of.
    pub fold: u32,
    /// The input.
    pub input: Value,
    /// The recorded output.
    pub expected: Value,
    /// How the call ended.
    pub outcome: Outcome,
}

/// How a sandboxed call ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// With an answer.
    Answer(Value),
    /// The artifact does not know; the reason, and score and limit in parts per million.
    Abstain(String, u32, u32),
    /// It asked for a capability.
    Request(String),
    /// It failed, trapped or broke a limit.
    Failed(String),
}

impl Evidence {
    /// Reads every text. Fault: `bad-json`, with a pointer to the text that is none.
    pub(crate) fn read(evidence: wit::Evidence) -> Result<Evidence, Fault> {
        let hearings = Hearings::read(&evidence)?;
        let subject = match evidence.subject {
            wit::Subject::Recordings(reference) => Subject::Recordings(Reference {
                durations: reference.durations,
                costs: reference.costs,
                tokens: reference.tokens,
                malformed: reference.malformed,
            }),
            wit::Subject::Artifact(candidate) => Subject::Artifact(Candidate {
                replays: candidate.replays.into_iter().enumerate().map(replay).collect::<Result<_, _>>()?,
                held_out: candidate.held_out.into_iter().enumerate().map(scored).collect::<Result<_, _>>()?,
                capabilities: candidate.capabilities,
                guarded: candidate.guarded,
                size: candidate.size,
                metered: candidate.metered,
                learned: candidate.learned,
                latency_us_p95: candidate.latency_us_p95,
            }),
        };
        Ok(Evidence {
            observations: auto_kit::rows(evidence.observations).collect::<Result<_, _>>()?,
            subject,
            hearings,
        })
    }
}

fn replay((index, replay): (usize, types::Replay)) -> Result<Replay, Fault> {
    let input = json(&replay.input, format_args!("/replays/{index}/input"))?;
    Ok(Replay { input, outcome: outcome(replay.outcome), steps: replay.steps })
}

fn scored((index, scored): (usize, types::Scored)) -> Result<Scored, Fault> {
    Ok(Scored {
        fold: scored.fold,
        input: json(&scored.input, format_args!("/held-out/{index}/input"))?,
        expected: json(&scored.expected, format_args!("/held-out/{index}/expected"))?,
        outcome: outcome(scored.outcome),
    })
}

/// An answer that is not JSON is a failure of the artifact, not of the evidence.
fn outcome(outcome: types::Outcome) -> Outcome {
    match outcome {
        types::Outcome::Answer(text) => match Value::parse(&text) {
            Ok(value) => Outcome::Answer(value),
            Err(error) => Outcome::Failed(format!("the answer is not JSON: {error}")),
        },
        types::Outcome::Abstain(novelty) => Outcome::Abstain(novelty.reason, novelty.score, novelty.limit),
        types::Outcome::Request(effect) => Outcome::Request(effect.capability),
        types::Outcome::Failed(why) => Outcome::Failed(why),
    }
}
