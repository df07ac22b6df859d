//! The language that programs inside artifacts are written in.
//!
//! A small, total, pure expression language over JSON values: one input `$`, partial
//! operators, no recursion. An expression is undefined rather than wrong where an
//! operator does not apply, and an undefined program abstains. Here are its text form
//! ([`parse`], `Display`), its operators ([`ops`]), its types ([`type_of`]), its meaning
//! ([`eval()`]) and its description length ([`cost()`]). `emit` compiles it to WebAssembly;
//! both call the same kernels (`auto_rt::kernels`), so they cannot disagree.

mod apply;
mod cost;
mod eval;
mod expr;
pub mod format;
pub mod graphs;
pub mod layout;
mod literals;
pub mod ops;
mod parse;
pub mod pattern;
mod types;

pub use apply::apply;
pub use auto_rt::kernels::text::MAX_TEXT;
pub use cost::{FIELD_COST, cost, literal_cost};
pub use eval::{eval, eval_in};
pub use expr::{EACH, Each, Expr};
pub use literals::Literal;
pub use ops::Op;
pub use parse::{MAX_DEPTH, ParseError, parse};
pub use types::{TypeError, accepts, items, join, type_in, type_of};
