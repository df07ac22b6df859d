//! The formats the parts agree on: digests, types, the IR graph, the manifest, the
//! contract, and the container that makes a module a `.cbin`.
//!
//! Components and host both depend on this crate, so it builds for wasm, does no input
//! or output and trusts no byte: a reader checks everything, says everything that is
//! wrong, and accepts only the canonical bytes that the writer would make.
//!
//! `src/generated` is made from the schemas and checked in; these commands, run in this
//! folder, make it again:
//!
//! ```text
//! flatc --rust -o src/generated ir.fbs manifest.fbs      (flatc 25.12.19)
//! cargo xtask codegen                                    (that, and cbin-*.component-type)
//! ```

pub mod cbin;
pub mod contract;
pub mod digest;
pub mod evidence;
mod flat;
pub mod ir;
pub mod judging;
pub mod key;
pub mod manifest;
mod shown;
pub mod spec_search;
pub mod types;
mod violation;

/// The codes of faults by which the host tells a driver that a component broke a limit or
/// fell over, rather than said no. (One that ran too long ends the job.)
pub const BREAKAGES: [&str; 11] = [
    "trap",
    "bad-output",
    "out-of-fuel",
    "out-of-memory",
    "out-of-table",
    "out-of-stack",
    "out-of-instances",
    "output-too-large",
    "value-too-deep",
    "arguments-too-large",
    "log-too-large",
];

pub use shown::{is_unseen, shown, shown_lines, shown_path};
pub use violation::{MAX_VIOLATIONS, Violation};

/// What `flatc` made. Reached only through [`ir`] and [`manifest`].
#[rustfmt::skip]
#[allow(missing_docs, unused_qualifications, clippy::all, mismatched_lifetime_syntaxes)]
mod generated {
    #[path = "ir_generated.rs"]
    pub mod ir;
    #[path = "manifest_generated.rs"]
    pub mod manifest;
}
