//! A guard that never trips.

use auto_kit::Fault;
use auto_kit::types::{Observation, Scored};

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/pass",
        world: "auto:pass/guarding",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

use bindings::exports::auto::pass::guard::{Guest, Policy};

struct Lie;

impl Guest for Lie {
    fn calibrate(_: Vec<Observation>, program: Vec<u8>, _: Vec<Scored>, _: Policy) -> Result<Vec<u8>, Fault> {
        auto_lies::with_open_guard(&program)
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Lie with_types_in bindings);
