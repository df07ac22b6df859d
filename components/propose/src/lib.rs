//! The pass that asks a teacher for programs (`auto:pass/propose`).
//!
//! One call is one round: [`prompt`] shows the language, examples, and what was refused before;
//! [`reply`] reads programs out of the answer. Nothing here decides whether a program will do:
//! the driver has `check` look at what was shown, and at what was held back. Observations are
//! data from outside, and so is the reply: neither is more than text here.

pub mod prompt;
pub mod reply;

use auto_json::Value;
use auto_kit::{Fault, type_text, types};
use auto_schema::types::Type;

/// The world's types and functions, generated from `wit/`.
#[allow(missing_docs, unused_qualifications, clippy::all)]
pub mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/pass", "../../wit/host", "../../wit/driver"],
        world: "auto:driver/proposing",
        generate_all,
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

pub use bindings::exports::auto::pass::propose as wit;

use bindings::auto::host::log::{Level, log};
use bindings::auto::host::teacher;

/// What the host calls.
pub struct Component;

impl wit::Guest for Component {
    fn propose(on: Vec<types::Observation>, task: wit::Task, refused: Vec<wit::Refusal>) -> Result<wit::Round, Fault> {
        auto_kit::report_panics(|text| log(&Level::Error, text));
        let task = Task::read(on, &task)?;
        let inquiry = teacher::Inquiry {
            system: prompt::SYSTEM.to_owned(),
            text: prompt::text(&task, &refused),
            max_output_tokens: task.max_output_tokens,
        };
        let said = teacher::ask(&inquiry)?;
        Ok(reply::read(&said, &task))
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);

/// What a program is to do.
pub struct Task {
    /// Of `$`.
    pub input: Type,
    /// Of the value.
    pub output: Type,
    /// What is shown: inputs with their outputs.
    pub examples: Vec<(Value, Value)>,
    /// The most programs of a reply.
    pub candidates: usize,
    /// The most tokens of a reply.
    pub max_output_tokens: u32,
}

impl Task {
    /// Reads what the driver hands over; refuses evidence that no program can agree with before
    /// anybody is asked.
    ///
    /// Faults: `bad-type`, `bad-json`, `no-observations`, `conflicting-observations`.
    pub fn read(on: Vec<types::Observation>, task: &wit::Task) -> Result<Task, Fault> {
        let input = type_text(&task.input_type, "/task/input-type")?;
        let output = type_text(&task.output_type, "/task/output-type")?;
        let mut examples = Vec::new();
        for (index, row) in auto_kit::rows(on).enumerate() {
            let row = row?;
            match row.outputs.as_slice() {
                [] => {}
                [(output, _)] => examples.push((row.input, output.clone())),
                several => {
                    let message = format!(
                        "the input {} has {} different outputs, and a program gives one; nothing was asked; narrow \
                         the scope, or leave it out",
                        row.input,
                        several.len()
                    );
                    return Err(Fault::new("conflicting-observations", message).at(format!("/on/{index}/outputs")));
                }
            }
        }
        if examples.is_empty() {
            return Err(Fault::new("no-observations", "no observation has an output; nothing was asked; record some"));
        }
        let (candidates, max_output_tokens) = (task.candidates.clamp(1, 16) as usize, task.max_output_tokens);
        Ok(Task { input, output, examples, candidates, max_output_tokens })
    }
}
