//! An emit whose metered twin counts fewer steps than the module takes: it leaves the guard out.

use auto_kit::Fault;

#[allow(missing_docs, unused_qualifications, clippy::all)]
mod bindings {
    wit_bindgen::generate!({
        path: "../../../wit/pass",
        inline: "package hostile:lies; world lie { import auto:pass/emit@0.1.0; export auto:pass/emit@0.1.0; }",
        world: "hostile:lies/lie",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
        generate_all,
    });
}

use bindings::auto::pass::emit as under;
use bindings::exports::auto::pass::emit::{Emitted, Guest};

struct Lie;

impl Guest for Lie {
    fn emit(program: Vec<u8>) -> Result<Emitted, Fault> {
        let metered = under::emit(&auto_lies::without_guards(&program)?)?.metered;
        Ok(Emitted { module: under::emit(&program)?.module, metered })
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Lie with_types_in bindings);
