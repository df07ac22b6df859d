//! Loads WebAssembly components and lets them call each other by interface name.
//!
//! The engine knows no pass: it reads what a component imports and exports, finds for
//! each imported interface the component that exports it ([`Providers`]), and forwards
//! calls as values. Every call runs in a fresh instance under the limits of one table
//! ([`Limits`]); a pure call that was made before is answered from the memo; a failed one
//! says who failed, where, how and why ([`Fault`]).
//!
//! Running artifacts (`.cbin`) is `auto-runtime`'s; where traces and artifacts are kept
//! is `auto-store`'s.

mod asking;
mod call;
mod dispatch;
mod driver;
mod engine;
mod exchange;
mod experimenting;
mod fault;
#[doc(hidden)]
pub mod fuzzing;
mod hearing;
mod jobs;
mod journal;
mod judge;
mod keeping;
mod lent;
mod limits;
mod log;
mod memo;
mod name;
mod parallel;
mod pass;
mod predicate;
mod profile;
mod providers;
mod published;
mod read;
mod report;
mod sandbox;
mod seal;
pub mod shape;
mod strangers;
mod trace;
mod twin;
pub mod value;
mod verdict;
#[cfg(feature = "wasi")]
mod wasi;
#[cfg(not(feature = "wasi"))]
#[path = "no_wasi.rs"]
mod wasi;
mod wire;

pub use asking::Consultation;
pub use auto_files::Holder;
pub use auto_jobs::{Blobs, Experiments};
pub use auto_schema::evidence::{Observation, Operation, Reference, Run, Runs};
pub use driver::{Ended, Job, JobReport, Matter, Progress, Waiting};
pub use engine::{ARTIFACTS, Engine, Options};
pub use fault::{Error, Fault, FaultClass};
pub use hearing::{Hearing, Verdicts};
pub use judge::{Consulted, Opinions, Teacher, Unanswered};
pub use limits::{Budget, Limits};
pub use name::InterfaceName;
pub use pass::Pass;
pub use predicate::check_predicate;
pub use providers::{Provider, Providers};
pub use published::wit_files;
pub use report::{Export, Report};
pub use trace::CallTrace;
