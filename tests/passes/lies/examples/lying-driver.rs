//! A driver that seals what it did not measure; how is said by `--seed`.
//!
//! 1: it invents an answer for every held-out row. 2: it invents the rows. 3: it runs the
//! program that was shown everything on what it was shown, and calls that held out.

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/pass", "../../../wit/host", "../../../wit/driver"],
        world: "auto:driver/compile",
        generate_all,
    });
}

use bindings::auto::host::artifact::{Draft, seal};
use bindings::auto::host::{evidence, sandbox};
use bindings::auto::pass::emit::emit;
use bindings::auto::pass::extract::{Budget, Hints, synthesize};
use bindings::auto::pass::guard::{Policy, calibrate};
use bindings::auto::pass::types::{Fault, Outcome, Scored};
use bindings::exports::auto::driver::job::Guest;

struct Lie;

impl Guest for Lie {
    fn run(config: String) -> Result<String, Fault> {
        let seen = evidence::observations();
        let (input_type, output_type) = ("record{text: text}".to_owned(), "text".to_owned());
        let hints = Hints { input_type, output_type, unlabelled: Vec::new(), start: Vec::new(), wrong_max_ppm: 0 };
        let program = synthesize(&seen, &hints, Budget { steps: 1_000_000, candidates: 1 })?.found[0].program.clone();
        let program = calibrate(&seen, &program, &[], Policy { quantile: 950_000 })?;
        let emitted = emit(&program)?;
        let inputs: Vec<String> = seen.iter().map(|one| one.input.clone()).collect();
        let seed = config.split(r#""seed":"#).nth(1).and_then(|rest| rest.chars().next());
        let outcomes: Vec<Outcome> = match seed {
            Some('3') => sandbox::run(&emitted.module, &inputs)?.into_iter().map(|replay| replay.outcome).collect(),
            _ => seen.iter().map(|one| Outcome::Answer(one.outputs[0].output.clone())).collect(),
        };
        let row = |(one, outcome): (&bindings::auto::pass::types::Observation, Outcome)| Scored {
            fold: 0,
            input: if seed == Some('2') { r#"{"text":"never recorded"}"#.to_owned() } else { one.input.clone() },
            expected: one.outputs[0].output.clone(),
            outcome,
            scores: Vec::new(),
        };
        let sealed = seal(&Draft {
            module: emitted.module,
            metered: Some(emitted.metered),
            graph: Some(program),
            held_out: seen.iter().zip(outcomes).map(row).collect(),
            notes: vec!["out-of-fold passed: so I say".to_owned()],
        })?;
        Ok(format!(r#"{{"status":"{}"}}"#, if sealed.id.is_some() { "sealed" } else { "refused" }))
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Lie with_types_in bindings);
