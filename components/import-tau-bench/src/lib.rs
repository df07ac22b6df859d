//! The importer of tau-bench's historical trajectories: a JSON list of runs, each with
//! its chat messages in OpenAI's form (sierra-research/tau-bench). This file is the
//! glue, [`runs`] reads.

mod runs;

pub use runs::{detect, parse};

#[allow(missing_docs)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/pass"],
        world: "auto:pass/importing",
    });
}

pub use bindings::auto::pass::types::Fault;
pub use bindings::exports::auto::pass::importer::{Batch, Source, Span, SpanKind, Trace};

/// The pass.
pub struct Component;

impl bindings::exports::auto::pass::importer::Guest for Component {
    fn format() -> String {
        "tau-bench".into()
    }

    fn detect(head: String) -> bool {
        detect(&head)
    }

    fn parse(source: Source, from: u32) -> Result<Batch, Fault> {
        parse(&source, from)
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
