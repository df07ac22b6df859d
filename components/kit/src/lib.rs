//! What the author of a pass imports.
//!
//! A pass is a pure function over WIT values; what every pass does around its own work is
//! here: the types of `auto:pass/types` ([`types`], given to `wit_bindgen::generate!` with
//! `with`, so that all passes share them), [`Fault`] with its constructors, readers that
//! turn texts and bytes into values or into a fault that says where, and [`testing`].
//! What a single pass does stays in that pass.
//!
//! ```ignore
//! wit_bindgen::generate!({
//!     path: "wit/pass",
//!     world: "auto:pass/checking",
//!     with: { "auto:pass/types@0.1.0": auto_kit::types },
//! });
//! ```

#[allow(missing_docs, unused_qualifications)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../wit/pass",
        inline: "package auto:kit; world kit { import auto:pass/types@0.1.0; }",
        world: "auto:kit/kit",
        generate_all,
        additional_derives: [PartialEq],
    });
}

pub mod binomial;
mod read;
pub mod testing;

/// The interface `auto:pass/types`: what passes and drivers say to each other.
pub use bindings::auto::pass::types;

pub use auto_json::{Canonical, Record, Value};
pub use read::{Row, bytes, graph, json, rows, text, type_text};
pub use types::Fault;

impl Fault {
    /// A fault with a stable kebab-case code, and a message that says what, why, and what
    /// to do.
    pub fn new(code: &str, message: impl Into<String>) -> Fault {
        Fault { code: code.to_owned(), message: message.into(), at: None }
    }

    /// The same fault with its place: a JSON pointer, a line, a node.
    pub fn at(self, place: impl Into<String>) -> Fault {
        Fault { at: Some(place.into()), ..self }
    }
}

/// Hands the text of every panic to `sink`, before the trap.
///
/// A component on `wasm32-unknown-unknown` has no stderr: without this, a panic reaches
/// the host as a bare trap. A pass that imports `auto:host/log` calls it first thing in
/// each function with `|text| log::log(&Level::Error, text)`, and the error report then
/// holds the text. A pass without that import has nowhere to send it; return a [`Fault`].
pub fn report_panics(sink: fn(&str)) {
    std::panic::set_hook(Box::new(move |panic| sink(&panic.to_string())));
}
