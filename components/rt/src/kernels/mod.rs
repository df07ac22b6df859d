//! The one implementation of every primitive of the expression language and of the
//! guard's arithmetic.
//!
//! The evaluator of `auto-lang` calls these natively; the runtime inside an artifact
//! calls the very same code in wasm, so the two cannot disagree. Nothing here allocates,
//! formats, or panics; what is longer than its argument goes to a sink.

mod case;
pub mod category;
pub mod class;
pub mod date;
pub mod fields;
pub mod fold;
pub mod layout;
pub mod linear;
pub mod normal;
pub mod novelty;
pub mod number;
pub mod pattern;
pub mod quantity;
pub mod recase;
mod shape;
pub mod span;
pub mod text;
