//! What was recorded of a scope, as the store finds it and everything else judges it.

use auto_json::{Canonical, Value};

use crate::digest::{Digest, Hasher};
use crate::ir::{Capability, MemoryEffect};

/// One distinct recorded input, with every output seen for it. Lists of observations are
/// sorted by input text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// What was given.
    pub input: Canonical,
    /// Each distinct output and how often it was seen, by output text.
    pub outputs: Vec<(Canonical, u32)>,
    /// How many recordings of this input ended in an error.
    pub errors: u32,
}

/// What the recordings of a scope say about its cost: one entry per recording in each
/// list, `None` where a recording does not say. The lists are sorted each by itself.
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

/// A recorded run of a scope: what it was given, the operations in it in the order in which
/// they began, and what it gave. Lists of runs are sorted and hold each run once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    /// What was given.
    pub input: Canonical,
    /// What came of it; `null` where it ended in an error.
    pub output: Canonical,
    /// How it failed, if it did. Such a run teaches nothing, but its operations are known.
    pub error: Option<String>,
    /// The operations that are not part of others.
    pub steps: Vec<Operation>,
}

/// One operation in a run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// The kind, as traces have it: `model_call`, `tool_call`, `env_read`, `memory_op`,
    /// `branch`, or one of a format's own.
    pub kind: String,
    /// Which model, tool, variable or decision.
    pub name: String,
    /// What it was given.
    pub input: Canonical,
    /// What it gave.
    pub output: Canonical,
    /// How it failed, if it did.
    pub error: Option<String>,
}

impl Operation {
    /// The name under which an artifact asks for it; none where it cannot be asked for.
    pub fn capability(&self) -> Option<String> {
        match self.kind.as_str() {
            "tool_call" => Some(format!("tool:{}", self.name)),
            "model_call" => Some(format!("model:{}", self.name)),
            "memory_op" => MemoryEffect::parse(&self.name).map(|effect| Capability::Memory(effect).to_string()),
            _ => None,
        }
    }
}

/// The runs of a scope, and what was recorded but is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// The runs.
    pub runs: Vec<Run>,
    /// Sentences: how many recordings are no run of the scope, and why.
    pub left_out: Vec<String>,
}

/// The digest of what was observed of a scope with operations in it: as [`evidence_id`], of
/// `[OBSERVATIONS, RUNS]`; without runs it is that of the observations alone.
pub fn chain_evidence_id(observations: &[Observation], runs: &[Run]) -> Digest {
    if runs.is_empty() {
        return evidence_id(observations);
    }
    let observed: Vec<String> = observations.iter().map(item).collect();
    let runs: Vec<String> = runs.iter().map(run).collect();
    Digest::of(format!("[[{}],[{}]]", observed.join(","), runs.join(",")).as_bytes())
}

fn run(run: &Run) -> String {
    let error = |error: &Option<String>| Value::from(error.clone()).canonical().into_string();
    let step = |step: &Operation| {
        let [kind, name] = [&step.kind, &step.name].map(|text| Value::from(text.as_str()).canonical());
        let (failed, input, output) = (error(&step.error), &step.input, &step.output);
        format!(r#"{{"error":{failed},"input":{input},"kind":{kind},"name":{name},"output":{output}}}"#)
    };
    let steps: Vec<String> = run.steps.iter().map(step).collect();
    let (failed, input, output) = (error(&run.error), &run.input, &run.output);
    format!(r#"{{"error":{failed},"input":{input},"output":{output},"steps":[{}]}}"#, steps.join(","))
}

/// The digest of what was observed: SHA-256 of the canonical text of
/// `[{"errors": n, "input": …, "outputs": [{"count": n, "output": …}, …]}, …]` in the
/// order of the list. Which runs showed it does not matter.
pub fn evidence_id(observations: &[Observation]) -> Digest {
    let mut hasher = Hasher::new();
    hasher.update("[");
    for (index, observation) in observations.iter().enumerate() {
        hasher.update(if index == 0 { "" } else { "," });
        hasher.update(item(observation));
    }
    hasher.update("]");
    hasher.finish()
}

fn item(observation: &Observation) -> String {
    let output = |(output, count): &(Canonical, u32)| format!(r#"{{"count":{count},"output":{output}}}"#);
    let outputs: Vec<String> = observation.outputs.iter().map(output).collect();
    let Observation { input, errors, .. } = observation;
    format!(r#"{{"errors":{errors},"input":{input},"outputs":[{}]}}"#, outputs.join(","))
}

#[cfg(test)]
mod tests {
    use super::{Observation, Operation, Run, chain_evidence_id, evidence_id};
    use crate::digest::Digest;
    use auto_json::Value;

    #[test]
    fn the_id_is_that_of_the_canonical_text() {
        let text = |text: &str| Value::from(text).canonical();
        let one = Observation { input: text("a"), outputs: vec![(text("b"), 2), (text("c"), 1)], errors: 0 };
        let value =
            Value::parse(r#"[{"input":"a","errors":0,"outputs":[{"output":"b","count":2},{"output":"c","count":1}]}]"#);
        let canonical = value.map(|value| value.canonical().into_string()).unwrap_or_default();
        assert_eq!(evidence_id(&[one]), Digest::of(canonical.as_bytes()));
        assert_eq!(evidence_id(&[]), Digest::of(b"[]"));
    }
    #[test]
    fn what_happened_inside_is_part_of_the_id() {
        let text = |text: &str| Value::from(text).canonical();
        let step = |output: &str| Operation {
            kind: "tool_call".to_owned(),
            name: "look \"up\"".to_owned(),
            input: text("a"),
            output: text(output),
            error: None,
        };
        let run = |output: &str| Run { input: text("a"), output: text("b"), error: None, steps: vec![step(output)] };
        assert_eq!(chain_evidence_id(&[], &[]), evidence_id(&[]));
        let canonical = Value::parse(
            r#"[[],[{"input":"a","output":"b","error":null,"steps":[
                {"kind":"tool_call","name":"look \"up\"","input":"a","output":"c","error":null}]}]]"#,
        );
        let canonical = canonical.map(|value| value.canonical().into_string()).unwrap_or_default();
        assert_eq!(chain_evidence_id(&[], &[run("c")]), Digest::of(canonical.as_bytes()));
        assert_ne!(chain_evidence_id(&[], &[run("d")]), Digest::of(canonical.as_bytes()));
    }
}
