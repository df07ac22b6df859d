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
//! [`Outcome::Request`], and the caller decides. [`Session::run_with`] goes on until there is an
//! answer, asking [`Tools`] that the caller brings. Who hands a state out and takes it back from
//! somebody else has it sealed ([`Session::run_sealed`]), since an artifact cannot tell a state
//! that was made up from one of its own.

mod abi;
mod cache;
mod canonical;
mod cost;
mod effects;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod limits;
mod live;
mod module;
mod program;
mod sandbox;
mod seals;
mod ticker;

pub use cache::{CACHE_BYTES, Cache, code_name, is_precompiled};
pub use cost::check_cost;
pub use effects::{Effect, EffectError, EffectRecord, RunLimits, Tools};
pub use error::{CallError, Class, LoadError};
pub use limits::Limits;
pub use module::{Module, Novelty, Outcome};
pub use program::{Program, Session};
pub use sandbox::Sandbox;
pub use seals::Seals;
