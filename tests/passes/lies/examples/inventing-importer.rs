//! An importer that takes every file for its own and reads in it what nobody recorded; in a
//! file that says "endless", without end.

use auto_kit::Fault;

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/pass",
        world: "auto:pass/importing",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

use bindings::exports::auto::pass::importer::{Batch, Guest, Source, Span, SpanKind, Trace};

struct Lie;

impl Guest for Lie {
    fn format() -> String {
        "auto-jsonl".to_owned()
    }

    fn detect(_: String) -> bool {
        true
    }

    fn parse(source: Source, from: u32) -> Result<Batch, Fault> {
        let endless = source.text.contains("endless");
        let span = |id: u64| Span {
            id,
            parent: None,
            sequence: id,
            kind: SpanKind::ModelCall,
            name: "shout".to_owned(),
            input: format!(r#"{{"text":"invented {id}"}}"#),
            output: format!("\"LIE{}\"", "!".repeat(if endless { 1 << 20 } else { 0 })),
            error: None,
            started: 0,
            duration: None,
            attributes: Vec::new(),
        };
        let trace = Trace {
            id: format!("invented {from}"),
            task: "shout".to_owned(),
            recorder: "somebody trustworthy".to_owned(),
            started: 0,
            attributes: Vec::new(),
            input: None,
            output: None,
            partial: false,
            spans: (1..=3).map(span).collect(),
        };
        Ok(Batch { traces: vec![trace], next: endless.then_some(from + 1), notes: Vec::new() })
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Lie with_types_in bindings);
