//! What the author of a trace importer imports.
//!
//! Every importer has the same glue and the same questions: which documents a file holds
//! ([`documents`]), how a chat message of some provider reads in one form ([`chat`]), in which
//! order spans go that were written as they closed ([`tree`]), and what of it was no use
//! ([`Notes`]). What a format means is decided in the importer of that format.
//!
//! ```ignore
//! pub struct Component;
//!
//! impl auto_importer::Importer for Component {
//!     const FORMAT: &'static str = "my-format";
//!     fn detect(head: &str) -> bool { … }
//!     fn parse(source: &Source, from: u32) -> Result<Batch, Fault> { … }
//! }
//!
//! auto_importer::component!(Component);
//! ```

#[allow(missing_docs, unused_qualifications)]
pub mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        world: "auto:pass/importing",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
        additional_derives: [PartialEq],
        pub_export_macro: true,
        default_bindings_module: "auto_importer::bindings",
    });
}

pub mod chat;
pub mod csv;
mod documents;
pub mod exchange;
mod notes;
pub mod observed;
pub mod stream;
mod time;
pub mod tree;
mod values;

pub use auto_kit::{Canonical, Fault, Record, Value};
pub use bindings::exports::auto::pass::importer::{Batch, Note, Source, Span, SpanKind, Trace};
pub use documents::{Document, documents, first};
pub use notes::Notes;
pub use time::micros;
pub use values::{as_json, at, identity, json, micro_usd, number_of, pairs, text_of};

/// How much canonical text goes into one batch, in bytes. Inputs are whole histories, so a
/// file's spans are many times the file.
pub const BATCH: usize = 4 << 20;

impl Source {
    /// A text file, whole, with no wishes.
    pub fn of(name: &str, text: impl Into<String>) -> Source {
        Source {
            name: name.to_owned(),
            text: text.into(),
            undecodable: 0,
            binary: None,
            recover_partial: false,
            piece: false,
            task: None,
        }
    }
}

/// An importer: the three functions of `auto:pass/importer`, in the order in which they are
/// asked.
pub trait Importer {
    /// The name of the format, as `--format` takes it.
    const FORMAT: &'static str;

    /// Whether a file that starts like this is of the format.
    fn detect(head: &str) -> bool;

    /// The traces from the `from`-th on, as many as make a few mebibytes.
    fn parse(source: &Source, from: u32) -> Result<Batch, Fault>;
}

impl<T: Importer> bindings::exports::auto::pass::importer::Guest for T {
    fn format() -> String {
        T::FORMAT.into()
    }

    fn detect(head: String) -> bool {
        <T as Importer>::detect(&head)
    }

    fn parse(source: Source, from: u32) -> Result<Batch, Fault> {
        <T as Importer>::parse(&source, from)
    }
}

/// Makes the crate a component that exports the importer.
#[macro_export]
macro_rules! component {
    ($importer:ident) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::export!($importer with_types_in $crate::bindings);
    };
}

/// A fault of code `bad-trace`, at a place in the file; an empty place is the file.
pub fn bad(at: &str, why: impl core::fmt::Display) -> Fault {
    let message = if at.is_empty() { why.to_string() } else { format!("{at}: {why}") };
    let fault = Fault::new("bad-trace", message);
    if at.is_empty() { fault } else { fault.at(at) }
}

/// Refuses a file that ends inside a character, or is of a binary format.
pub fn check_text(source: &Source) -> Result<(), Fault> {
    if source.undecodable > 0 {
        return Err(bad("", "the file ends inside a character; it is cut off: fetch it again"));
    }
    if source.binary.is_some() {
        return Err(bad("", "the format is text, and this is not"));
    }
    Ok(())
}

/// The traces from the `from`-th on, as many as fill a batch; the notes go with the last one,
/// since they are about the whole file.
pub fn batch(traces: Vec<Trace>, from: u32, notes: Notes) -> Batch {
    let mut batch = Batch { traces: Vec::new(), next: None, notes: Vec::new() };
    let mut size = 0;
    for (number, trace) in (0..).zip(traces).skip(from as usize) {
        if size >= BATCH {
            batch.next = Some(number);
            return batch;
        }
        size += trace.spans.iter().map(|span| span.input.len() + span.output.len() + 64).sum::<usize>() + 64;
        batch.traces.push(trace);
    }
    batch.notes = notes.finish();
    batch
}

/// A span with nothing in it but its kind and name; `null` in and out.
pub fn span(kind: SpanKind, name: impl Into<String>) -> Span {
    Span {
        id: 0,
        parent: None,
        sequence: 0,
        kind,
        name: name.into(),
        input: "null".into(),
        output: "null".into(),
        error: None,
        started: 0,
        duration: None,
        attributes: Vec::new(),
    }
}

/// The attribute that says of a structural span which operation it would be, had its content
/// been captured.
pub const UNCAPTURED: &str = "uncaptured";

/// Makes an operation whose content was not captured a structural span, which witnesses
/// nothing, and says so. What there is of its content stays.
pub fn uncaptured(span: &mut Span, notes: &mut Notes, place: &str) {
    let was = kind_name(&span.kind).to_owned();
    notes.unusable("uncaptured", &format!("{was} spans without captured content: turn content capture on"), place);
    span.kind = SpanKind::Structural;
    set(&mut span.attributes, UNCAPTURED, was);
}

/// The name of a kind, as traces and contracts say it.
pub fn kind_name(kind: &SpanKind) -> &str {
    match kind {
        SpanKind::ModelCall => "model_call",
        SpanKind::ToolCall => "tool_call",
        SpanKind::EnvRead => "env_read",
        SpanKind::MemoryOp => "memory_op",
        SpanKind::Branch => "branch",
        SpanKind::Structural => "span",
        SpanKind::Other(name) => name,
    }
}

/// Sets an attribute, replacing one of the same key: a key is given once.
pub fn set(attributes: &mut Vec<(String, String)>, key: &str, value: impl Into<String>) {
    match attributes.iter_mut().find(|(own, _)| own == key) {
        Some((_, own)) => *own = value.into(),
        None => attributes.push((key.to_owned(), value.into())),
    }
}
