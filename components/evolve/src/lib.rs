//! Evolutionary code search: a driver whose candidates are programs, files or parameters.
//!
//! A generation is proposed, held to hard constraints, measured stage by stage, and ranked; whoever is
//! better than what counts is checked before it counts; what was found is confirmed at the end on
//! rows that nothing saw. What evolves: [`genome`], [`space`], [`program`], [`code`]. What it is
//! measured on and by: [`data`], [`mod@measure`], [`bench`], [`stats`]. Who survives: [`individual`],
//! [`archive`]. What is believed: [`sanity`]. The search over them: [`propose`], [`search`], with
//! what the host lends in [`lent`]. A program of the language is run in the sandbox.

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/pass", "../../wit/host", "../../wit/driver"],
        world: "auto:driver/evolve",
        generate_all,
    });
}

pub mod ab;
pub mod archive;
mod asking;
pub mod bench;
pub mod code;
pub mod commit;
mod component;
pub mod data;
pub mod genome;
pub mod individual;
pub mod lent;
pub mod measure;
pub mod program;
pub mod promote;
pub mod propose;
mod race;
mod report;
pub mod run;
pub mod sanity;
pub mod search;
pub mod settings;
pub mod space;
pub mod stats;
pub mod teacher;
mod telling;

pub use component::Evolve;
