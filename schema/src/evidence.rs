//! What was recorded of a scope, as the store finds it and everything else judges it.

use auto_json::Canonical;

use crate::digest::Digest;

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

/// The digest of what was observed: SHA-256 of the canonical text of
/// `[{"errors": n, "input": …, "outputs": [{"count": n, "output": …}, …]}, …]` in the
/// order of the list. Which runs showed it does not matter.
pub fn evidence_id(observations: &[Observation]) -> Digest {
    let items: Vec<String> = observations.iter().map(item).collect();
    Digest::of(format!("[{}]", items.join(",")).as_bytes())
}

fn item(observation: &Observation) -> String {
    let output = |(output, count): &(Canonical, u32)| format!(r#"{{"count":{count},"output":{output}}}"#);
    let outputs: Vec<String> = observation.outputs.iter().map(output).collect();
    let Observation { input, errors, .. } = observation;
    format!(r#"{{"errors":{errors},"input":{input},"outputs":[{}]}}"#, outputs.join(","))
}

#[cfg(test)]
mod tests {
    use super::{Observation, evidence_id};
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
}
