//! Reports of search runs, written sentence by sentence, in which nothing stands that the run's
//! own files do not say.
//!
//! [`Corpus`] reads the folder of a run and makes *evidence* of it: one sentence each, with the
//! digest of the file it came from, the place in it, and the numbers in it with their units and what
//! they belong to. [`Index`] finds the few that a sentence may rest on. A [`Writer`] (templates, or
//! a model) makes a sentence of those alone. [`verify`] rules on every sentence, whoever wrote it, by
//! closed rules and exact fractions: what it cannot follow it refuses. [`write`](compose::write) lets a
//! refused sentence be written anew twice, then leaves it out and says so. [`check`] holds a report
//! that somebody may have edited against the run again.
//!
//! There is no clock, no randomness and no float here: the same run gives the same bytes. The one
//! thing that asks a model is the caller's [`Writer`].

pub mod artifacts;
pub mod check;
pub mod compose;
pub mod corpus;
pub mod draw;
pub mod evidence;
pub mod exact;
pub mod expression;
pub mod html;
pub mod index;
pub mod lexicon;
pub mod markdown;
pub mod sentence;
pub mod tables;
pub mod template;
pub mod tokens;
pub mod unit;
pub mod vectors;
pub mod verify;

pub use artifacts::{Artifact, Artifacts, Literature, Unreadable};
pub use check::{Checked, Problem};
pub use compose::{Report, write};
pub use corpus::Corpus;
pub use evidence::{Category, Evidence, Tag, Typed};
pub use exact::Exact;
pub use expression::Expression;
pub use index::Index;
pub use sentence::{Draft, Job, Section, Sentence, Writer};
pub use unit::Unit;
pub use vectors::Vectors;
pub use verify::{Reason, Ruling, verify};
