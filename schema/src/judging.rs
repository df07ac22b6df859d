//! What a judge is asked: whether two outputs mean the same, where a contract leaves that to
//! one. The driver asks, `verify` asks, and the gate reads the opinions; this says about what.

use std::collections::BTreeSet;

use auto_json::Canonical;

use crate::contract::{Contract, Match};
use crate::evidence::Observation;

/// The most questions where a contract declares no `judge_calls`.
pub const QUESTIONS: u32 = 100;

/// Whether `output` means the same as `expected`, for this input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// What was given.
    pub input: Canonical,
    /// What was recorded, or is promised.
    pub expected: Canonical,
    /// What was given back.
    pub output: Canonical,
}

/// An input and an output that was given for it.
pub type Answer<'a> = (&'a Canonical, &'a Canonical);

/// The most questions that may be asked for a contract.
pub fn budget(contract: &Contract) -> u32 {
    contract.acceptance.judge_calls.unwrap_or(QUESTIONS)
}

/// About recordings: judged examples against every output that was recorded for their input.
/// Sorted, each once.
pub fn of_recordings(contract: &Contract, observations: &[Observation]) -> Vec<Question> {
    let mut questions = BTreeSet::new();
    for (input, expected) in judged_examples(contract) {
        for seen in observations.iter().filter(|seen| seen.input == input) {
            questions.extend(seen.outputs.iter().filter_map(|(output, _)| question(&input, &expected, output)));
        }
    }
    questions.into_iter().collect()
}

/// About an artifact: its answers against every output that was recorded, the rare ones too, its
/// held-out answers (input, expected, output) against the recorded one, and judged examples.
/// Sorted, each once.
pub fn of_answers(
    contract: &Contract,
    observations: &[Observation],
    answers: &[Answer<'_>],
    held_out: &[Question],
) -> Vec<Question> {
    let mut questions = BTreeSet::new();
    if contract.acceptance.compare == Match::Judged {
        for seen in observations.iter().filter(|seen| seen.errors == 0) {
            for output in given(answers, &seen.input) {
                let recorded = seen.outputs.iter().map(|(recorded, _)| recorded);
                questions.extend(recorded.filter_map(|recorded| question(&seen.input, recorded, output)));
            }
        }
        questions.extend(held_out.iter().filter(|asked| asked.expected != asked.output).cloned());
    }
    for (input, expected) in judged_examples(contract) {
        questions.extend(given(answers, &input).filter_map(|output| question(&input, &expected, output)));
    }
    questions.into_iter().collect()
}

/// The outputs that were given for an input.
fn given<'a>(answers: &'a [Answer<'a>], wanted: &'a Canonical) -> impl Iterator<Item = &'a Canonical> {
    answers.iter().filter(move |(input, _)| *input == wanted).map(|(_, output)| *output)
}

/// Inputs and outputs of the examples that are left to a judge.
fn judged_examples(contract: &Contract) -> impl Iterator<Item = (Canonical, Canonical)> {
    let judged = contract.examples.iter().filter(|example| example.compare == Match::Judged);
    judged.map(|example| (example.input.canonical(), example.output.canonical()))
}

/// What is equal needs no judge.
fn question(input: &Canonical, expected: &Canonical, output: &Canonical) -> Option<Question> {
    let asked = || Question { input: input.clone(), expected: expected.clone(), output: output.clone() };
    (expected != output).then(asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use auto_json::Value;

    fn json(text: &str) -> Canonical {
        Canonical::of(text).unwrap()
    }

    fn contract(acceptance: &str) -> Contract {
        let text = format!(
            r#"{{"contract_version":1,"task":"t","scope":{{"type":"task"}},"interface":{{"input":"int","output":"text"}},
               "example":[{{"name":"e","match":"judged","input":1,"output":"hello"}},
                          {{"name":"f","match":"exact","input":2,"output":"x"}}]{acceptance}}}"#
        );
        Contract::from_value(&Value::parse(text).unwrap()).unwrap()
    }

    fn observations() -> Vec<Observation> {
        let seen = |input: &str, outputs: &[(&str, u32)], errors| Observation {
            input: json(input),
            outputs: outputs.iter().map(|(output, count)| (json(output), *count)).collect(),
            errors,
        };
        vec![
            seen("1", &[("\"hello\"", 3), ("\"hi\"", 1), ("\"oh\"", 2)], 0),
            seen("2", &[("\"y\"", 1)], 0),
            seen("3", &[("\"z\"", 1)], 1),
        ]
    }

    fn shown(questions: Vec<Question>) -> Vec<String> {
        questions.iter().map(|asked| format!("{} {} {}", asked.input, asked.expected, asked.output)).collect()
    }

    #[test]
    fn recordings_are_asked_about_where_an_example_is_left_to_a_judge() {
        let asked = of_recordings(&contract(""), &observations());
        assert_eq!(shown(asked), [r#"1 "hello" "hi""#, r#"1 "hello" "oh""#]);
    }

    #[test]
    fn an_artifact_is_asked_about_against_every_recorded_output() {
        let inputs = ["1", "2", "3"].map(json);
        let outputs = ["\"hi\"", "\"y\"", "\"w\""].map(json);
        let answers: Vec<Answer> = inputs.iter().zip(&outputs).collect();
        let held_out = [Question { input: json("2"), expected: json("\"y\""), output: json("\"why\"") }];
        let asked = |acceptance| shown(of_answers(&contract(acceptance), &observations(), &answers, &held_out));
        assert_eq!(asked(""), [r#"1 "hello" "hi""#], "the judged example alone");
        let judged = r#","acceptance":{"match":"judged","agreement_min_ppm":900000}"#;
        assert_eq!(asked(judged), [r#"1 "hello" "hi""#, r#"1 "oh" "hi""#, r#"2 "y" "why""#]);
    }

    #[test]
    fn a_contract_declares_how_many_may_be_asked() {
        assert_eq!(budget(&contract("")), QUESTIONS);
        let declared = r#","acceptance":{"match":"judged","agreement_min_ppm":900000,"judge_calls":3}"#;
        assert_eq!(budget(&contract(declared)), 3);
    }
}
