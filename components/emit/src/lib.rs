//! The pass that turns a program into WebAssembly: expressions, type checks and guards
//! become code, the runtime functions they call are linked in, and the result is a module
//! of the world `auto:cbin/cbin` with zero imports.
//!
//! [`emit`] is the pass; the rest goes graph to [`program`], program to code ([`entry`],
//! [`expression`], [`types`], [`guard`]; [`flow`] for graphs that choose, loop or ask), code to module ([`link`]), module to bytes
//! ([`module`], [`meter`]). Nothing here looks at the evidence or decides anything.

mod access;
mod code;
mod constants;
mod entry;
mod expression;
mod flow;
mod guard;
mod link;
mod meter;
mod model;
mod module;
mod program;
mod types;

#[allow(missing_docs, unused_qualifications)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/pass"],
        world: "auto:pass/emission",
        with: { "auto:pass/types@0.1.0": auto_kit::types },
    });
}

use auto_kit::Fault;
use auto_lang::graphs::well_typed;
use auto_schema::digest::Digest;
pub use bindings::exports::auto::pass::emit::Emitted;

/// `auto-rt`, relocatable (build.rs).
static RUNTIME: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/rt.wasm"));

/// The most pages a module may start with: half of what a call may have.
const MAX_PAGES: u32 = 512;

/// Compiles the canonical bytes of a graph to a module and its metered twin. The same
/// graph gives the same bytes.
///
/// Faults: `bad-graph` (not a valid graph), `bad-expression` and `bad-type` (an expression that
/// does not parse, or is undefined for every input of its node),
/// `unsupported-node` (a node without code generation, named in `at`), `too-large` (an
/// expression of too many nodes, a way through the graph that is too long, or constants that
/// leave a call no memory).
pub fn emit(graph: &[u8]) -> Result<Emitted, Fault> {
    let id = Digest::of(graph);
    let graph = auto_kit::graph(graph)?;
    well_typed(&graph).map_err(|error| Fault::new(error.code, error.message).at(error.at))?;
    let unit = if flow::is_flow(&graph) {
        entry::compile_flow(&graph, id.as_bytes())?
    } else {
        entry::compile(&program::Program::of(&graph)?)
    };
    let built = || -> Result<(module::Module, Vec<u8>), link::LinkError> {
        let linked = link::link(&link::Object::parse(RUNTIME)?, &unit)?;
        let metered = linked.encode_metered()?;
        Ok((linked, metered))
    };
    let (linked, metered) = built().map_err(|error| Fault::new("internal", error.to_string()))?;
    if linked.pages > MAX_PAGES {
        let message =
            format!("the program's constants need {} KiB of memory; {} are allowed", linked.pages * 64, MAX_PAGES * 64);
        return Err(Fault::new("too-large", message));
    }
    Ok(Emitted { module: linked.encode(), metered })
}

/// The pass.
pub struct Component;

impl bindings::exports::auto::pass::emit::Guest for Component {
    fn emit(graph: Vec<u8>) -> Result<Emitted, Fault> {
        emit(&graph)
    }
}

#[cfg(target_arch = "wasm32")]
bindings::export!(Component with_types_in bindings);
