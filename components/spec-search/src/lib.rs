//! Spec search: makes an agent better by editing its configuration, the spec.
//!
//! A session diagnoses what the agent fails at, asks a teacher for edits, applies each to a copy,
//! and keeps what the gate admits. What is here is a library of pure parts; the driver that calls
//! them in a row is the component.
//!
//! The spec and its edits: [`spec`], [`catalog`], [`edit`], [`mod@apply`], [`patch`]. What a teacher
//! says: [`reply`], [`cluster`], [`plan`]. What it may see: [`trace`], [`mod@held_out`], [`corpora`]. Who decides:
//! [`autonomy`], [`gate`], [`sample`], [`stagnation`], [`reward`], [`budget`]. The driver over them:
//! [`mod@run`], [`driver`], with what the host lends in [`lent`].

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/pass", "../../wit/host", "../../wit/driver"],
        world: "auto:driver/spec-search",
        generate_all,
    });
}

pub mod apply;
pub mod autonomy;
pub mod bench;
pub mod budget;
pub mod catalog;
pub mod cluster;
pub mod commit;
mod component;
pub mod corpora;
mod decide;
mod diagnose;
pub mod driver;
pub mod edit;
pub mod gate;
pub mod held_out;
pub mod lent;
pub mod plan;
mod report;
pub mod reward;
pub mod run;
pub mod sample;
pub mod session;
pub mod settings;
pub mod spec;
pub mod stagnation;
pub mod tools;
pub mod trace;
pub mod train;
pub mod words;

pub use auto_search::{Fields, Refusal, amount, patch, reply};
pub use component::SpecSearch;
