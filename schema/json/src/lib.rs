//! Canonical JSON, the one form in which values are compared, hashed and stored.
//!
//! One reader ([`read`]), one writer ([`write`]), one number ([`Number`], an exact
//! decimal of up to 38 significant digits; no binary float anywhere). Keys are ordered
//! and strings escaped as RFC 8785 says; unlike RFC 8785, numbers keep their exact
//! decimal value, and `3` and `3.0` are different values. Every part of Auto uses this
//! crate, and the runtime inside an artifact reads its input through the same grammar,
//! so it is `no_std`, never formats and never panics on input.
#![no_std]

extern crate alloc;

mod number;
mod read;
mod value;
pub mod write;

pub use number::{MAX_DIGITS, Number, NumberKind};
pub use read::{Error, ErrorKind, MAX_DEPTH, Sink, read, unescape};
pub use value::{Canonical, Record, Value};
