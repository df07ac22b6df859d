//! What a teacher replied: programs where they can be read, and otherwise why not.

use auto_lang::{accepts, cost, graphs, parse, type_of};

use crate::Task;
use crate::wit::{Proposal, Refusal, Round};

/// The longest text that is read as a program.
const LONGEST: usize = 20_000;

/// Marks where code begins and ends.
const FENCE: &str = "```";

/// The programs of a reply, as far as they are programs of the task's types.
pub fn read(reply: &str, task: &Task) -> Round {
    let mut round = Round { found: Vec::new(), refused: Vec::new() };
    let mut seen: Vec<String> = Vec::new();
    for text in blocks(reply) {
        if seen.len() == task.candidates {
            break;
        }
        if text.is_empty() || seen.iter().any(|known| known == text) {
            continue;
        }
        seen.push(text.to_owned());
        match program(text, task) {
            Ok(proposal) => round.found.push(proposal),
            Err(why) => {
                let shown = text[..text.floor_char_boundary(LONGEST)].to_owned();
                round.refused.push(Refusal { text: shown, why, counterexample: None });
            }
        }
    }
    if seen.is_empty() {
        let why = "there was no expression in the answer".to_owned();
        round.refused.push(Refusal { text: String::new(), why, counterexample: None });
    }
    round
}

/// What stands in fences; all of it where there are none.
fn blocks(reply: &str) -> Vec<&str> {
    if !reply.contains(FENCE) {
        return vec![reply.trim()];
    }
    // Every second part is inside; the rest of a fence's own line names a language.
    let inside = reply.split(FENCE).skip(1).step_by(2);
    inside.map(|part| part.split_once('\n').map_or(part, |(_, code)| code).trim()).collect()
}

fn program(text: &str, task: &Task) -> Result<Proposal, String> {
    if text.len() > LONGEST {
        return Err(format!("it has {} bytes, and a rule has at most {LONGEST}", text.len()));
    }
    let expression = parse(text).map_err(|error| format!("it does not parse: {error}"))?;
    let given = type_of(&expression, &task.input).map_err(|error| format!("it is ill typed: {error}"))?;
    if !accepts(&task.output, &given) {
        return Err(format!("it gives {given}, and {} is wanted", task.output));
    }
    let graph = graphs::program(&expression, &task.input, &task.output)
        .to_bytes()
        .map_err(|violations| violations.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
    Ok(Proposal { program: graph, cost: cost(&expression), text: expression.to_string() })
}
