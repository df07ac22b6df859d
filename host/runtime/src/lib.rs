//! Runs one `.cbin` inside another Rust program.
//!
//! A `.cbin` is a core WebAssembly module with no imports. [`Program::load`] checks its
//! digest and manifest and compiles it; [`Program::session`] runs it, keeping an instance
//! warm where the manifest says that the code was made to be reused. Every call has its
//! own fuel, memory, input and time limits ([`Limits`]), and no pointer, length or case that
//! the guest returns is believed unchecked.
//!
//! ```no_run
//! use auto_runtime::{Limits, Outcome, Program, Sandbox};
//!
//! let sandbox = Sandbox::new(Limits::default())?;
//! let program = Program::load(&sandbox, &std::fs::read("triage.cbin")?)?;
//! let mut session = program.session();
//! match session.run(r#"{"subject": "Where is my refund?"}"#)? {
//!     Outcome::Answer(text) => println!("{text}"),
//!     Outcome::Abstain { reason, .. } => println!("ask the model: {reason}"),
//!     Outcome::Request { capability, .. } => println!("it needs {capability}"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No component linking, no registry, no tools: what an artifact asks for comes back as
//! [`Outcome::Request`], and the caller decides.

mod abi;
mod cache;
mod canonical;
mod cost;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod limits;
mod live;
mod module;
mod program;
mod sandbox;
mod ticker;

pub use cache::{Cache, code_name};
pub use cost::check_cost;
pub use error::{CallError, Class, LoadError};
pub use limits::Limits;
pub use module::{Module, Novelty, Outcome};
pub use program::{Program, Session};
pub use sandbox::Sandbox;
