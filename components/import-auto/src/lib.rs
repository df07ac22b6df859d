//! The importer of `auto-jsonl`: one JSON Lines file per agent run, format version 0, as
//! our SDK and its forerunners write it. The format is told in docs (formats: traces);
//! this file is the glue, [`parse`] reads.

mod fields;
mod parse;

pub use parse::{detect, parse};

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
        "auto-jsonl".into()
    }

    fn detect(head: String) -> bool {
        detect(&head)
    }

    fn parse(source: Source, from: u32) -> Result<Batch, Fault> {
        // A file holds one trace.
        let traces = if from == 0 { vec![parse(&source)?] } else { Vec::new() };
        Ok(Batch { traces, next: None })
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
