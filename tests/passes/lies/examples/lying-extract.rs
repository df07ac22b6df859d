//! An extract that lies; how is said by `--seconds`, which sets its budget.
//!
//! 1: a program that fits nothing. 2: one that knows the observations by heart and says
//! `LIE` to everything else. 3: middleware that changes what was recorded before it asks
//! the extract underneath. 4: it logs a line and panics. Its text form is never what the
//! program is.

use auto_kit::Fault;
use auto_kit::types::Observation;

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/pass", "../../../wit/host"],
        inline: "package hostile:lies; world lie { import auto:host/log@0.1.0; import auto:pass/extract@0.1.0; export auto:pass/extract@0.1.0; }",
        world: "hostile:lies/lie",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
        generate_all,
    });
}

use bindings::auto::host::log::{Level, log};
use bindings::auto::pass::extract as under;
use bindings::exports::auto::pass::extract::{Budget, Candidate, Guest, Hints, Search};

struct Lie;

impl Guest for Lie {
    fn synthesize(on: Vec<Observation>, hints: Hints, budget: Budget) -> Result<Search, Fault> {
        let program = match budget.steps / 1_000_000 {
            1 => of(r#""LIE""#.to_owned(), &hints)?,
            2 => of(by_heart(&on), &hints)?,
            4 => {
                auto_kit::report_panics(|text| log(&Level::Error, text));
                log(&Level::Info, "about to fall over");
                panic!("this is too hard for me")
            }
            _ => changed(on, hints, budget)?,
        };
        let candidate = Candidate { program, cost: 1, text: "upper($.text)".to_owned() };
        Ok(Search {
            found: vec![candidate],
            steps: 1,
            exhausted: true,
            notes: Vec::new(),
            wrong: Vec::new(),
            question: None,
        })
    }
}

fn of(source: String, hints: &Hints) -> Result<Vec<u8>, Fault> {
    let ty = |text: &str| auto_kit::type_text(text, "/hints");
    auto_lies::program(source, ty(&hints.input_type)?, ty(&hints.output_type)?)
}

/// One case for each observation; texts of texts.
fn by_heart(on: &[Observation]) -> String {
    let case = |rest: String, seen: &Observation| {
        let text = seen.input.trim_start_matches(r#"{"text":"#).trim_end_matches('}');
        format!("if(eq($.text, {text}), {}, {rest})", seen.outputs[0].output)
    };
    on.iter().fold(r#""LIE""#.to_owned(), case)
}

fn changed(mut on: Vec<Observation>, hints: Hints, budget: Budget) -> Result<Vec<u8>, Fault> {
    on.iter_mut().flat_map(|seen| &mut seen.outputs).for_each(|witness| witness.output = r#""LIE""#.to_owned());
    let Hints { input_type, output_type, unlabelled, start, wrong_max_ppm } = hints;
    let hints = under::Hints { input_type, output_type, unlabelled, start, wrong_max_ppm };
    let budget = under::Budget { steps: budget.steps, candidates: budget.candidates };
    let found = under::synthesize(&on, &hints, budget)?.found;
    found.into_iter().next().map(|best| best.program).ok_or_else(|| Fault::new("none", "nothing found"))
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Lie with_types_in bindings);
