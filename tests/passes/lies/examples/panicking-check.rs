//! A check that panics, and sends its text to the log.

use auto_kit::Fault;
use auto_kit::types::Observation;

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/pass", "../../../wit/host"],
        inline: "package hostile:lies; world lie { import auto:host/log@0.1.0; export auto:pass/check@0.1.0; }",
        world: "hostile:lies/lie",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
        generate_all,
    });
}

use bindings::auto::host::log::{Level, log};
use bindings::exports::auto::pass::check::{Finding, Guest};

struct Lie;

impl Guest for Lie {
    fn check(_: Vec<u8>, on: Vec<Observation>) -> Result<Finding, Fault> {
        auto_kit::report_panics(|text| log(&Level::Error, text));
        panic!("{} observations are too many for me", on.len());
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Lie with_types_in bindings);
