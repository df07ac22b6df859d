//! The guard pass: puts a node between a program's input and the rest that lets through
//! what is like the witnessed inputs and abstains on everything else.
//!
//! Two parts. The *profile* (shape, lengths, kinds of characters, ranges of numbers) is
//! what every witness keeps to, with margins; breaking it is an abstention, whatever the
//! limit. The *sketch* measures how much of a text is made of three-byte windows that no
//! witness has; its limit is calibrated on inputs that the sketch had not been shown.
//! Every witnessed input passes both. The arithmetic is `auto_rt`'s, so that artifact and
//! pass agree bit for bit.
//!
//! What this promises: if the next input is exchangeable with the witnesses, the sketch
//! admits it with at least the probability asked for (split conformal prediction, Vovk,
//! Gammerman and Shafer 2005). It promises nothing about answers: an input that looks
//! like the witnesses can still be answered wrongly, which is what out-of-fold accuracy
//! measures.

mod assess;
mod calibrate;
mod narrow;
mod profile;
mod risk;
mod sketch;

pub use assess::{Novelty, assess};
pub use calibrate::{HeldOut, calibrate};
pub use narrow::{Answer, Narrowed, agree, narrow};
pub use risk::{Answered, Controlled, Policy, control};

use auto_json::Value;
use auto_kit::{Fault, json, types};

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        world: "rule-guarding",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

use bindings::exports::auto::pass::{guard as wit, narrow as wit_narrow, risk as wit_risk};

/// What the host calls.
pub struct Component;

impl wit::Guest for Component {
    fn calibrate(
        on: Vec<types::Observation>,
        program: Vec<u8>,
        held_out: Vec<types::Scored>,
        policy: wit::Policy,
    ) -> Result<Vec<u8>, Fault> {
        // An input that was only ever an error shows nothing about what can be answered. One with
        // several outputs is as many witnesses: a reply that different things came of was
        // given in different places.
        let mut witnesses: Vec<Value> = Vec::with_capacity(on.len());
        for (number, one) in on.into_iter().enumerate() {
            let input = json(&one.input, format_args!("/on/{number}/input"))?;
            witnesses.extend(std::iter::repeat_n(input, one.outputs.len()));
        }
        let held_out = held_out.iter().enumerate().map(read_held_out).collect::<Result<Vec<_>, _>>()?;
        let guarded = calibrate(&witnesses, auto_kit::graph(&program)?, &held_out, policy.quantile)?;
        guarded.to_bytes().map_err(|violations| {
            let all: Vec<String> = violations.iter().map(ToString::to_string).collect();
            Fault::new("bad-graph", format!("the guard does not fit the program: {}", all.join("; ")))
        })
    }
}

impl wit_risk::Guest for Component {
    fn control(
        program: Vec<u8>,
        held_out: Vec<types::Scored>,
        policy: wit_risk::Policy,
    ) -> Result<wit_risk::Controlled, Fault> {
        let answered = |(index, row): (usize, &types::Scored)| -> Result<Answered, Fault> {
            let wrong = read_held_out((index, row))?.wrong;
            let scores = matches!(row.outcome, types::Outcome::Answer(_)).then(|| row.scores.clone());
            Ok(Answered { scores, wrong })
        };
        let rows = held_out.iter().enumerate().map(answered).collect::<Result<Vec<_>, Fault>>()?;
        let wit_risk::Policy { quantile, silent_error, confidence } = policy;
        let policy = Policy { quantile, silent_error, confidence };
        let (program, controlled) = control(auto_kit::graph(&program)?, &rows, &policy)?;
        Ok(wit_risk::Controlled {
            program: program.to_bytes().map_err(|_| Fault::new("bad-graph", "the limits do not fit the program"))?,
            rows: rows.len() as u32,
            answered: controlled.answered,
            wrong: controlled.wrong,
            at_most: controlled.at_most,
            promised: controlled.promised,
        })
    }
}

impl wit_narrow::Guest for Component {
    fn narrow(
        program: Vec<u8>,
        known: Vec<String>,
        held_out: Vec<types::Scored>,
        least: u32,
    ) -> Result<wit_narrow::Narrowed, Fault> {
        let known = read_known(&known)?;
        let answers = held_out.iter().enumerate().map(read_answer).collect::<Result<Vec<_>, Fault>>()?;
        let narrowed = narrow(auto_kit::graph(&program)?, &known, &answers, least)?;
        Ok(wit_narrow::Narrowed {
            program: narrowed.program.to_bytes().map_err(|_| Fault::new("bad-graph", "the branches do not fit"))?,
            held: narrowed.held,
            branches: narrowed.branches,
        })
    }

    fn agree(program: Vec<u8>, others: Vec<Vec<u8>>, known: Vec<String>) -> Result<Vec<u8>, Fault> {
        let others = others.iter().map(|other| auto_kit::graph(other)).collect::<Result<Vec<_>, Fault>>()?;
        let agreed = agree(auto_kit::graph(&program)?, others, &read_known(&known)?)?;
        agreed.to_bytes().map_err(|_| Fault::new("bad-graph", "the others are not of the program's type"))
    }
}

fn read_known(known: &[String]) -> Result<Vec<Value>, Fault> {
    known.iter().enumerate().map(|(index, input)| json(input, format_args!("/known/{index}"))).collect()
}

fn read_answer((index, row): (usize, &types::Scored)) -> Result<Answer, Fault> {
    let answer = match &row.outcome {
        types::Outcome::Answer(answer) => Some(json(answer, format_args!("/held-out/{index}/outcome"))?),
        types::Outcome::Abstain(_) => None,
        // What fails is not right.
        _ => Some(Value::Null),
    };
    let input = json(&row.input, format_args!("/held-out/{index}/input"))?;
    let expected = json(&row.expected, format_args!("/held-out/{index}/expected"))?;
    Ok(Answer { input, expected, answer })
}

fn read_held_out((index, row): (usize, &types::Scored)) -> Result<HeldOut, Fault> {
    let input = json(&row.input, format_args!("/held-out/{index}/input"))?;
    let expected = json(&row.expected, format_args!("/held-out/{index}/expected"))?;
    // What is no JSON is no answer; whether the artifact may give it is the gate's matter.
    let wrong = match &row.outcome {
        types::Outcome::Answer(answer) => Value::parse(answer).is_ok_and(|answer| answer != expected),
        _ => false,
    };
    Ok(HeldOut { fold: row.fold, input, wrong })
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wit::Guest;

    fn calibrate(on: Vec<types::Observation>, program: Vec<u8>, held_out: Vec<types::Scored>) -> Fault {
        let policy = wit::Policy { quantile: 950_000 };
        Component::calibrate(on, program, held_out, policy).expect_err("refused")
    }

    #[test]
    fn what_cannot_be_read_is_a_fault_with_its_place() {
        let seen = || auto_kit::testing::observations([("1", "2")]);
        let row = |input: &str| types::Scored {
            fold: 0,
            input: input.to_owned(),
            expected: "1".to_owned(),
            outcome: types::Outcome::Answer("1".to_owned()),
            scores: Vec::new(),
        };
        let mut bad = seen();
        bad[0].input = "{".to_owned();
        let fault = calibrate(bad, vec![], vec![]);
        assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-json", Some("/on/0/input")));
        let fault = calibrate(seen(), vec![], vec![row("1"), row("")]);
        assert_eq!((fault.code.as_str(), fault.at.as_deref()), ("bad-json", Some("/held-out/1/input")));
        assert_eq!(calibrate(seen(), vec![0; 40], vec![]).code, "bad-graph");
    }
}
