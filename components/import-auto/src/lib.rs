//! The importer of `auto-jsonl`: one JSON Lines file per agent run, format version 0, as
//! our SDK and its forerunners write it, or many traces in a file, version 1, as `store export`
//! writes them. The formats are told in docs (formats: traces); [`parse`] and [`exported`] read.

pub mod exported;
mod fields;
mod parse;

pub use auto_importer::{Batch, Fault, Importer, Source, Span, SpanKind, Trace};
pub use parse::{detect, parse};

/// The pass.
pub struct Component;

impl Importer for Component {
    const FORMAT: &'static str = "auto-jsonl";

    fn detect(head: &str) -> bool {
        detect(head)
    }

    fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
        if exported::detect(&source.text) {
            return exported::parse(source, from);
        }
        // A file holds one trace.
        let traces = if from == 0 { vec![parse(source)?] } else { Vec::new() };
        Ok(Batch { traces, notes: Vec::new(), next: None })
    }
}

auto_importer::component!(Component);
