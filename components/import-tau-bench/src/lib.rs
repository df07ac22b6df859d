//! The importer of tau-bench's historical trajectories: a JSON list of runs, each with
//! its chat messages in OpenAI's form (sierra-research/tau-bench). [`runs`] reads.

mod runs;

pub use auto_importer::{Batch, Fault, Importer, Source, Span, SpanKind, Trace};
pub use runs::{detect, parse};

/// The pass.
pub struct Component;

impl Importer for Component {
    const FORMAT: &'static str = "tau-bench";

    fn detect(head: &str) -> bool {
        detect(head)
    }

    fn parse(source: &Source, from: u32) -> Result<Batch, Fault> {
        parse(source, from)
    }
}

auto_importer::component!(Component);
