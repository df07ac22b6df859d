//! The one question that tells which of several programs is meant: an input on which they
//! part. Inputs that were recorded without an output come first; then witnessed ones with
//! a field of another in place of their own.

use auto_json::Value;
use auto_lang::{Expr, eval};

use super::{Problem, Question};

/// Programs that say so many bits more than the first are not taken for what is meant.
const NEAR: u32 = 6;

/// How many inputs are made up at most.
const MADE_UP: usize = 64;

/// The first other program that is about as short as the first and makes something else of an
/// input, with that input.
pub fn between<'p>(programs: &'p [(Expr, u32)], problem: &Problem) -> Option<(&'p Expr, Question)> {
    let ((program, own), others) = programs.split_first()?;
    let near = || others.iter().filter(|(_, cost)| *cost <= own.saturating_add(NEAR));
    near().next()?;
    let made_up = crossed(problem);
    let inputs = || problem.unlabelled.iter().chain(&made_up);
    near().find_map(|(other, _)| {
        let apart = inputs().find_map(|input| {
            let (one, another) = (eval(program, input)?, eval(other, input)?);
            (one != another).then(|| Question { input: input.clone(), answers: [one, another] })
        });
        apart.map(|question| (other, question))
    })
}

/// Inputs like those that were witnessed: each has one field of the next.
fn crossed(problem: &Problem) -> Vec<Value> {
    let examples = problem.examples;
    let step = (examples.len() / MADE_UP).max(1);
    let mut found: Vec<Value> = Vec::new();
    for (at, example) in examples.iter().enumerate().step_by(step) {
        let next = &examples[(at + step) % examples.len()].input;
        let (Some(own), Some(next)) = (example.input.as_record(), next.as_record()) else { continue };
        for (key, value) in next.iter() {
            if found.len() >= MADE_UP {
                return found;
            }
            if own.get(key).is_some_and(|known| known != value) && own.len() > 1 {
                let mut made = own.clone();
                made.set(key, value.clone());
                let made = Value::Record(made);
                if examples.iter().take(1000).all(|example| example.input != made) {
                    found.push(made);
                }
            }
        }
    }
    found
}
