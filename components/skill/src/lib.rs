//! The skill compiler: a driver that edits the `SKILL.md` of a package one unit at a time.
//!
//! A unit is a section, or a paragraph of one. A judge scores every unit in every dimension from
//! runs of an agent with the skill; the cell with the largest gap gets an edit, which must keep the
//! headings; the agent is run with it, with the same seeds; a judge compares the two, and the pass
//! that admits decides, with the share of runs that time out, and that a verifier passes, as guards.
//!
//! [`machine`] is the search over a [`world::World`]. The rest is the world: the host's teacher,
//! experiments and blobs. Every call of it is answered by the host as it was before if the job was
//! cut off, so nothing here knows of crashes.
//!
//! The configuration and the report are those of `docs/search.md`.

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/pass", "../../wit/host", "../../wit/driver"],
        world: "auto:driver/skill",
        generate_all,
        additional_derives: [PartialEq],
    });
}

mod ask;
mod commit;
mod config;
mod document;
mod edit;
mod job;
mod machine;
mod matrix;
mod reply;
mod report;
mod rollout;
#[cfg(test)]
mod tests;
mod world;

use bindings::auto::pass::types::Fault;

/// The component.
pub struct Skill;

impl bindings::exports::auto::driver::job::Guest for Skill {
    fn run(config: String) -> Result<String, Fault> {
        job::run(&config)
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Skill with_types_in bindings);

fn fault(code: &str, message: impl Into<String>) -> Fault {
    Fault { code: code.into(), message: message.into(), at: None }
}
